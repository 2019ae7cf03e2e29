"""What the workshop needs from the world, and what its tool answers with.

The store decides alone whether a proposal is new and whether it is still as it was: two processes
may ask at the same moment.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

from prowess.safety.model import ScanReport
from prowess.safety.paths import MAX_DEPTH
from prowess.settings import WorkshopSettings
from prowess.workshop.proposal import (
    NOBODY,
    Begun,
    By,
    EventKind,
    Proposal,
    ProposalEvent,
    ProposalSource,
    State,
    Subject,
)
from prowess.workshop.similar import Neighbour

SKILL_FILE = "SKILL.md"
# A review is a conversation too, and must not be reviewed.
REVIEW_SESSION_PREFIX = "skill-workshop-review-"
EVERYTHING = Subject()


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderLimits:
    """How much of a skill is read; a larger one is refused, never read in part."""

    max_files: int = 500
    max_file_bytes: int = 2 * 1024 * 1024
    max_bytes: int = 16 * 1024 * 1024
    max_depth: int = MAX_DEPTH


DEFAULT_LIMITS = FolderLimits()


class SkillFolderPort(Protocol):
    """The folder of one skill on the disk; `PathError` where it cannot be read or written."""

    @property
    def name(self) -> str:
        """The name of the skill."""

    def lock(self) -> AbstractContextManager[None]:
        """Keep every other writer of this skill out, in this process and in others."""

    def read_all(self, limits: FolderLimits = DEFAULT_LIMITS) -> Mapping[str, bytes]:
        """Return every file of the skill by path; none where there is no such skill."""

    def apply(self, files: Mapping[str, bytes | None], expected: str) -> str:
        """Write and delete all of `files` or none, and return the id of what was there before.

        Raises:
            StaleChangeError: the skill is not the one with the hash `expected`.
        """

    def previous(self, change: str) -> Mapping[str, bytes | None]:
        """Return the files that a change replaced; None for one that was not there."""

    def last_change(self, files: Mapping[str, bytes | None]) -> str:
        """Return the id of the last change if it wrote exactly these files, else nothing."""


class ProposalStore(Protocol):
    """Keeps proposals by workspace, and a log of all that happened to them.

    Every method raises `StoreError` where the store cannot be used.
    """

    def add(self, proposal: Proposal, caps: Mapping[State, int]) -> Proposal:
        """Keep a new proposal, or return the one that is the same.

        Whoever is the oldest in a state above its cap goes, and each one that goes is an event.
        """

    def change(
        self, was: Proposal, now: Proposal, kind: EventKind, note: str = "", by: By = NOBODY
    ) -> bool:
        """Replace `was` by `now` and log it; False where it is no longer what it was.

        To be applied or rolled back is the end of the write that began for it.
        """

    def begin(self, begun: Begun) -> None:
        """Note that the files of a skill are about to be written; if this fails they must not."""

    def unfinished(self, workspace: str) -> tuple[Begun, ...]:
        """Return the writes that began and did not come to an end, oldest first."""

    def abandon(self, begun: Begun, at: float, note: str) -> None:
        """Forget a write that did not last, and log that it was interrupted."""

    def get(self, workspace: str, proposal_id: str) -> Proposal | None:
        """Return one proposal of a workspace."""

    def listed(self, workspace: str, state: State | None = None) -> tuple[Proposal, ...]:
        """Return the proposals of a workspace, newest first."""

    def applied(self, workspace: str, skill: str) -> tuple[Proposal, ...]:
        """Return what was applied to a skill and still is, the last one first."""

    def events(
        self, workspace: str, after: int = 0, most: int = 200, about: Subject = EVERYTHING
    ) -> tuple[ProposalEvent, ...]:
        """Return what happened after event number `after`, oldest first."""


# The word `kind` tells them apart for whoever shows them.
@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """How many proposals a workspace has, by state."""

    workspace: str
    counts: Mapping[State, int]
    kind: Literal["counted"] = "counted"


@dataclass(frozen=True, slots=True)
class ListedProposals:
    """Proposals, newest first."""

    proposals: tuple[Proposal, ...]
    kind: Literal["listed"] = "listed"


@dataclass(frozen=True, slots=True)
class Inspected:
    """One proposal, as it is."""

    proposal: Proposal
    kind: Literal["inspected"] = "inspected"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What became of a proposal just now."""

    proposal: Proposal
    # Set where the skill was written.
    skill_path: str = ""
    # Whether it was pending before, or came back to that from the skill.
    rolled_back: bool = False
    kind: Literal["decided"] = "decided"


@dataclass(frozen=True, slots=True)
class Written:
    """A support file that was written."""

    file_path: str
    kind: Literal["written"] = "written"


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What happened, oldest first, and what was applied to a skill, the last one first."""

    events: tuple[ProposalEvent, ...]
    # The number to ask with for what comes after.
    cursor: int
    # Whether more has happened already.
    more: bool = False
    # Of one skill, where the question is about one; only the first can be rolled back.
    versions: tuple[Proposal, ...] = ()
    kind: Literal["history"] = "history"


Answer = Counted | ListedProposals | Inspected | Decided | Written | History


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkshopPorts:
    """The world, as the workshop sees it."""

    # Asked each time, so that a change in the file holds from the next turn.
    settings: Callable[[], WorkshopSettings]
    # From an agent's id, empty for the default agent, to its workspace folder.
    workspace: Callable[[str], str]
    store: ProposalStore
    # From a workspace, a skill's name and the folder of skills that it is in (empty for that of
    # the workspace) to its own folder, whether there is one or not.
    folder: Callable[[str, str, str], SkillFolderPort]
    # Scans the whole of a skill, by its name and its files, as text that an agent wrote.
    scan: Callable[[str, Mapping[str, bytes]], ScanReport]
    # From a message and an agent's id to the writable skill that it clearly belongs to.
    route: Callable[[str, str], tuple[str, float] | None]
    # Lets the skills service look at the files again.
    refresh: Callable[[], object]
    # Seconds since 1970.
    now: Callable[[], float]
    # From a skill's name to the id of a new proposal.
    new_id: Callable[[str], str]
    # From an answer to what a client sees.
    show: Callable[[Answer], dict[str, object]]
    # From an agent's id, or nothing for the default one, to its id.
    agent: Callable[[str], str] = str
    # From a skill's name and an agent's id to where another skill of that name lies, or nothing.
    elsewhere: Callable[[str, str], str] = lambda _skill, _agent: ""
    # From an agent's id to the writable skills that a new one is compared with.
    neighbours: Callable[[str], Sequence[Neighbour]] = lambda _agent: ()
    # From a text and an agent's id to what the router says of skills, by name, from 0 to 1.
    scores: Callable[[str, str], Mapping[str, float]] = lambda _text, _agent: {}
    # From a text and others to how nearly each of them means the same, from 0 to 1.
    compare: Callable[[str, Sequence[str]], Sequence[float]] = lambda _text, all_: [0.0] * len(all_)
    # From an agent's id to what says of a skill, by its name, whether its model may know of it.
    sight: Callable[[str], Callable[[str], bool]] = lambda _agent: lambda _skill: True

    def sight_of(self, source: ProposalSource, agent_id: str) -> Callable[[str], bool]:
        """Return what says whether somebody may know of a skill: a person may know of each."""
        return self.sight(agent_id) if source is ProposalSource.TOOL else lambda _skill: True


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """What happened since the last review."""

    turns: int = 0
    tool_calls: int = 0
    # Reviews in a row that came to no readable end.
    failures: int = 0
    # Seconds since 1970; zero where there was none.
    last_review_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What was said last about a turn from which nothing came."""

    # Seconds since 1970.
    at: float
    text: str


class CounterStore(Protocol):
    """Keeps the counters of each workspace; `StoreError` where it cannot be used."""

    def load(self, workspace: str) -> Counters:
        """Return the counters; those of an unknown workspace are all zero."""

    def save(self, workspace: str, counters: Counters) -> None:
        """Keep the counters in place of the ones before."""


class NoteStore(Protocol):
    """Keeps what the phrases and the reviewer said last, for whoever asks why nothing came."""

    def keep(self, workspace: str, speaker: str, note: Note) -> None:
        """Keep a note in place of the one before."""

    def notes(self, workspace: str) -> Mapping[str, Note]:
        """Return what each speaker said last."""
