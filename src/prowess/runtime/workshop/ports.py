"""What the workshop needs from the world, and what its tool answers with.

The store decides alone whether a proposal is new and whether it is still as it was: two processes
may ask at the same moment.

How a reviewed change becomes a skill: under a lock, against what is there, scanned as a whole.

Nothing that was stored about the change is believed. What counts is what the disk holds now, what
the change would make of it, and what the scanner says of that: two harmless additions can be one
attack, and a status in a file can be edited.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, Protocol

from prowess.errors import PathError, QuarantinedError, StaleChangeError
from prowess.safety.model import ScanReport, ScanVerdict, content_hash
from prowess.safety.paths import MAX_DEPTH, PathRefused, check_all, shown, support_file
from prowess.settings import WorkshopSettings
from prowess.workshop.proposal import (
    NOBODY,
    Begun,
    By,
    Change,
    Event,
    EventKind,
    Proposal,
    State,
    Subject,
    change_hash,
    result_of,
)
from prowess.workshop.similar import Neighbour

SKILL_FILE = "SKILL.md"
# A verdict that is not in here stops the change, so an unknown one does too.
_PASSES = (ScanVerdict.CLEAN, ScanVerdict.WARN)


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderLimits:
    """How much of a skill is read; a larger one is refused, never read in part."""

    max_files: int = 500
    max_file_bytes: int = 2 * 1024 * 1024
    max_bytes: int = 16 * 1024 * 1024
    max_depth: int = MAX_DEPTH


DEFAULT_LIMITS = FolderLimits()


class SkillFolderPort(Protocol):
    """The folder of one skill on the disk."""

    @property
    def name(self) -> str:
        """The name of the skill."""

    def lock(self) -> AbstractContextManager[None]:
        """Keep every other writer of this skill out, in this process and in others."""

    def read_all(self, limits: FolderLimits = DEFAULT_LIMITS) -> Mapping[str, bytes]:
        """Return every file of the skill by path; none where there is no such skill.

        Raises:
            PathError: a file cannot be read, or there is more than the limits allow.
        """

    def apply(self, files: Mapping[str, bytes | None], expected: str) -> str:
        """Write and delete all of `files` or none, and return the id of what was there before.

        Raises:
            StaleChangeError: the skill is not the one with the hash `expected`.
            PathError: a file cannot be written.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """A change that was made: what the skill was, what it is, and what the scanner said."""

    skill: str
    before: str
    after: str
    report: ScanReport
    # Names the files that were replaced, for a way back.
    backup: str


def apply_change(
    change: Change,
    *,
    reviewed_hash: str,
    base_hash: str,
    folder: SkillFolderPort,
    scan: Callable[[Mapping[str, bytes]], ScanReport],
) -> Applied:
    """Make the change, if it is the one that was reviewed and the skill is still the same.

    Raises:
        StaleChangeError: the skill or the change is not what was reviewed.
        QuarantinedError: the scanner refuses the skill that would come out, or could not read it.
        PathError: a path is not allowed, or a file cannot be read or written.
    """
    if folder.name != change.skill:
        raise PathError(shown(change.skill), f"is not the skill of the folder {folder.name}.")
    with folder.lock():
        current = folder.read_all()
        before = content_hash(current)
        if before != base_hash:
            problem = "the skill changed since the change was made"
            raise StaleChangeError(change.skill, problem, expected=base_hash, found=before)
        result = result_of(current, change)
        report = _passed(change.skill, scan(MappingProxyType(result)))
        revision = change_hash(change)
        if revision != reviewed_hash:
            problem = "the change is not the one that was reviewed"
            raise StaleChangeError(change.skill, problem, expected=reviewed_hash, found=revision)
        check_result(change, result)
        backup = folder.apply(change.files, before)
    return Applied(
        skill=change.skill,
        before=before,
        after=content_hash(result),
        report=report,
        backup=backup,
    )


def check_result(change: Change, result: Mapping[str, bytes]) -> None:
    """Refuse a change to any other file than `SKILL.md` and support files, or beyond the limits.

    Raises:
        PathError: a path is not allowed, or the skill would become too large or lose `SKILL.md`.
    """
    if SKILL_FILE not in result:
        raise PathError(SKILL_FILE, "would be missing: remove the skill instead.")
    try:
        for path in change.files:
            _check_path(path)
        # What was there before counts too: `skill.md` beside `SKILL.md` is one file elsewhere.
        check_all(result)
    except PathRefused as error:
        raise PathError(shown(error.path), error.problem) from error
    sizes = [len(data) for data in result.values()]
    limits = DEFAULT_LIMITS
    if len(sizes) > limits.max_files or sum(sizes) > limits.max_bytes:
        problem = f"would have more than {limits.max_files} files or {limits.max_bytes} bytes."
        raise PathError(change.skill, problem)
    if max(sizes) > limits.max_file_bytes:
        raise PathError(change.skill, f"would have a file above {limits.max_file_bytes} bytes.")


def _check_path(path: str) -> None:
    if path != SKILL_FILE and "/".join(support_file(path)) != path:
        raise PathRefused(path, "segment", "must be written with forward slashes.")


def _passed(skill: str, report: ScanReport) -> ScanReport:
    if report.verdict in _PASSES:
        return report
    if report.verdict is ScanVerdict.ERROR:
        reason = report.error or "nothing was said"
        raise QuarantinedError(skill, f"the scan did not finish ({reason}).", report.findings)
    heaviest = min(report.findings, key=lambda finding: finding.level.rank, default=None)
    reason = heaviest.message if heaviest else "the scanner refuses it."
    raise QuarantinedError(skill, reason, report.findings)


EVERYTHING = Subject()


class KeptFolder(SkillFolderPort, Protocol):
    """The folder of one skill, with what its changes replaced."""

    def previous(self, change: str) -> Mapping[str, bytes | None]:
        """Return the files that a change replaced; None for one that was not there.

        Raises:
            PathError: nothing is kept of that change.
        """

    def last_change(self, files: Mapping[str, bytes | None]) -> str:
        """Return the id of the last change if it wrote exactly these files, else nothing.

        Raises:
            PathError: what is kept cannot be read.
        """


class ProposalStore(Protocol):
    """Keeps proposals by workspace, and a log of all that happened to them."""

    def add(self, proposal: Proposal, caps: Mapping[State, int]) -> Proposal:
        """Keep a new proposal, or return the one that is the same.

        Whoever is the oldest in a state above its cap goes, and each one that goes is an event.

        Raises:
            StoreError: it cannot be kept.
        """

    def change(
        self, was: Proposal, now: Proposal, kind: EventKind, note: str = "", by: By = NOBODY
    ) -> bool:
        """Replace `was` by `now` and log it; False where it is no longer what it was.

        To be applied or rolled back is the end of the write that began for it.

        Raises:
            StoreError: it cannot be kept.
        """

    def begin(self, begun: Begun) -> None:
        """Note that the files of a skill are about to be written.

        Raises:
            StoreError: it cannot be kept, so nothing must be written.
        """

    def unfinished(self, workspace: str) -> tuple[Begun, ...]:
        """Return the writes that began and did not come to an end, oldest first.

        Raises:
            StoreError: they cannot be read.
        """

    def abandon(self, begun: Begun, at: float, note: str) -> None:
        """Forget a write that did not last, and log that it was interrupted.

        Raises:
            StoreError: it cannot be kept.
        """

    def get(self, workspace: str, proposal_id: str) -> Proposal | None:
        """Return one proposal of a workspace.

        Raises:
            StoreError: it cannot be read.
        """

    def listed(self, workspace: str, state: State | None = None) -> tuple[Proposal, ...]:
        """Return the proposals of a workspace, newest first.

        Raises:
            StoreError: they cannot be read.
        """

    def counts(self, workspace: str) -> Mapping[State, int]:
        """Return how many proposals there are in each state that has any.

        Raises:
            StoreError: they cannot be read.
        """

    def applied(self, workspace: str, skill: str) -> tuple[Proposal, ...]:
        """Return what was applied to a skill and still is, the last one first.

        Raises:
            StoreError: they cannot be read.
        """

    def events(
        self, workspace: str, after: int = 0, most: int = 200, about: Subject = EVERYTHING
    ) -> tuple[Event, ...]:
        """Return what happened after event number `after`, oldest first.

        Raises:
            StoreError: they cannot be read.
        """


# The word `kind` tells them apart for whoever shows them.
@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """How many proposals a workspace has, by state."""

    workspace: str
    counts: Mapping[State, int]
    kind: Literal["counted"] = "counted"


@dataclass(frozen=True, slots=True)
class Listed:
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

    events: tuple[Event, ...]
    # The number to ask with for what comes after.
    cursor: int
    # Whether more has happened already.
    more: bool = False
    # Of one skill, where the question is about one; only the first can be rolled back.
    versions: tuple[Proposal, ...] = ()
    kind: Literal["history"] = "history"


Answer = Counted | Listed | Inspected | Decided | Written | History


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkshopTools:
    """The world, as the workshop sees it."""

    # Asked each time, so that a change in the file holds from the next turn.
    settings: Callable[[], WorkshopSettings]
    # From an agent's id, empty for the default agent, to its workspace folder.
    workspace: Callable[[str], str]
    store: ProposalStore
    # From a workspace and a skill's name to its folder, whether there is one or not.
    folder: Callable[[str, str], KeptFolder]
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
    # From a skill's name and an agent's id to where another skill of that name lies, or nothing.
    elsewhere: Callable[[str, str], str] = lambda _skill, _agent: ""
    # From an agent's id to the writable skills that a new one is compared with.
    neighbours: Callable[[str], Sequence[Neighbour]] = lambda _agent: ()
    # From a text and an agent's id to what the router says of skills, by name, from 0 to 1.
    scores: Callable[[str, str], Mapping[str, float]] = lambda _text, _agent: {}
    # From an agent's id to what says of a skill, by its name, whether the agent may know of it.
    sight: Callable[[str], Callable[[str], bool]] = lambda _agent: lambda _skill: True
    # Whether nobody is asked before a call changes something: then what another agent proposed is
    # left to a person.
    unasked: bool = False
