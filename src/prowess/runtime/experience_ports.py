"""What learning from traces needs from the world, and what it answers with."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from prowess.experience.draft_facts import DraftFacts
from prowess.experience.lessons.alignment import Aligned
from prowess.experience.lessons.skill import LearnedSkill
from prowess.runtime.workshop.proposals import Proposals
from prowess.safety.model import Finding, ScanReport
from prowess.settings import SpecMode
from prowess.transcripts.traces_part import Trace
from prowess.workshop.proposal import Proposal


class ShelvedDraft(Protocol):
    """A draft as it lies on the disk."""

    @property
    def stem(self) -> str:
        """Its name: the moment it was written and its task, without an ending."""

    @property
    def path(self) -> str:
        """The file that holds its text."""

    @property
    def script(self) -> str:
        """Its replay script; empty where it has none."""

    @property
    def script_text(self) -> str:
        """What the script says; empty where there is none."""

    @property
    def text(self) -> str:
        """What it says."""


class DraftShelf(Protocol):
    """The drafts of one workspace and their replay scripts."""

    @property
    def problems(self) -> Sequence[str]:
        """What was found where drafts lie and cannot be read as one."""

    def lock(self) -> AbstractContextManager[None]:
        """Keep every other writer of drafts out, in this process and in others."""

    def listed(self) -> Sequence[ShelvedDraft]:
        """Return the drafts, newest first."""

    def write(
        self, stem: str, text: str, script: str | None, *, as_folder: bool
    ) -> tuple[str, str]:
        """Write a draft and its script, over nothing, and return where they are."""

    def places(self, stem: str, *, scripted: bool, as_folder: bool) -> tuple[str, str]:
        """Return where `write` would put a draft and its script; empty for what it has not."""

    def remove(self, draft: ShelvedDraft, *, now: float) -> str:
        """Move a draft and its script to the trash, and return the id to restore them by."""

    def trashed(self) -> Sequence["TrashedDraft"]:
        """Return what of this workspace is in the trash, newest first."""

    def restore(self, trash_id: str) -> str:
        """Bring a removed draft back, over nothing, and return where it is."""

    def orphan_scripts(self) -> Sequence[str]:
        """Return the replay scripts whose draft is gone."""

    def remove_script(self, path: str, *, now: float) -> str:
        """Move a script without a draft to the trash, and return its id there."""


class TrashedDraft(Protocol):
    """A draft, or a script without one, that was removed and can come back."""

    @property
    def id(self) -> str:
        """By what it is restored."""

    @property
    def path(self) -> str:
        """Where it was."""

    @property
    def removed_at(self) -> float:
        """Seconds since 1970."""

    @property
    def has_script(self) -> bool:
        """Whether a replay script comes back with it."""


class TraceMemory(Protocol):
    """The traces that were seen, so that several of one goal can be told."""

    def add(self, trace: Trace) -> bool:
        """Keep a trace; False where it was known."""

    def all(self) -> Sequence[Trace]:
        """Return all that are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperienceTools:
    """The world, as learning from traces sees it."""

    enabled: Callable[[], bool]
    spec_mode: Callable[[], SpecMode]
    # From an agent's id, empty for the default agent, to its workspace folder.
    workspace: Callable[[str], str]
    shelf: Callable[[str], DraftShelf]
    memory: Callable[[str], TraceMemory]
    # Scans a draft and its script, by its name and its files, as text that an agent wrote.
    scan: Callable[[str, Mapping[str, bytes]], ScanReport]
    # Says what is wrong with a script's syntax; empty where nothing is or nobody can tell.
    check_script: Callable[[str], str]
    proposals: Proposals
    # The proposals of a workspace, in any state.
    proposed: Callable[[str], Sequence[Proposal]]
    # Whether the operator switched the workshop on.
    workshop_enabled: Callable[[], bool]
    # From a skill's name and an agent's id to where another skill of that name lies, or nothing.
    elsewhere: Callable[[str, str], str]
    # How alike two tasks are by what they mean, from 0 to 1.
    likeness: Callable[[str, str], float]
    # Lets the skills service look at the files again.
    refresh: Callable[[], object]
    # Seconds since 1970, and the local time of day that they stand for (`YYYYMMDD-HHMMSS`).
    now: Callable[[], float]
    stamp: Callable[[float], str]
    # As ISO 8601, for the document.
    moment: Callable[[float], str]
    # The same world for as long as it is open, but that its proposals are gone afterwards.
    rehearse: Callable[[], AbstractContextManager["ExperienceTools"]]


class DraftStatus(StrEnum):
    """What became of the draft of one trace."""

    WRITTEN = "written"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"
    REFUSED = "refused"
    WOULD_WRITE = "would-write"


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftOutcome:
    """A trace and the draft that stands for it."""

    trace: Trace
    status: DraftStatus
    facts: DraftFacts
    id: str = ""
    # Where the two are, or in a dry run would be.
    path: str = ""
    script: str = ""
    # The drafts that it took the place of.
    replaced: tuple[str, ...] = ()
    # Why it is as it is.
    reason: str = ""
    findings: tuple[Finding, ...] = ()


class LessonStatus(StrEnum):
    """What became of a goal that several traces share."""

    PROPOSED = "proposed"
    KNOWN = "known"
    OFF = "off"
    REFUSED = "refused"
    WOULD_PROPOSE = "would-propose"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """What several traces of one goal teach, and whether it was proposed."""

    aligned: Aligned
    skill: LearnedSkill
    status: LessonStatus
    name: str
    proposal: Proposal | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What came of a heap of traces."""

    enabled: bool
    drafts: tuple[DraftOutcome, ...] = ()
    lessons: tuple[Lesson, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDraft:
    """A draft of a workspace, as it is now."""

    id: str
    path: str
    script: str
    facts: DraftFacts
    # Whether somebody changed it since it was written.
    edited: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafts:
    """The drafts of a workspace, newest first, and what could not be read."""

    known: tuple[KnownDraft, ...]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoted:
    """A draft that became a skill."""

    draft: str
    skill: str
    # Where the skill is, or would be.
    path: str
    proposal: Proposal | None = None
    # How the draft can be brought back.
    trash: str = ""
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """A draft or a script that is not needed any more."""

    id: str
    path: str
    why: str
    # How it can be brought back; empty in a dry run.
    trash: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaned:
    """What a clean-up removed, or would."""

    dry_run: bool
    drafts: tuple[Removed, ...] = ()
    scripts: tuple[Removed, ...] = field(default=())
