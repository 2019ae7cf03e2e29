"""One draft per trace: made, compared with those that are there, scanned, and only then written.

A draft that a person has edited is never replaced: it is their work by then. What is replaced goes
to the trash after its successor is written, so that a cut in between leaves one too many, not none.
What learning from traces needs from the world, and what it answers with, stands here as well.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Protocol, TypeAlias

from prowess.errors import DraftError, PathError
from prowess.experience.draft import write_draft
from prowess.experience.draft_facts import (
    DraftFacts,
    compare_drafts,
    is_untouched,
    make_mixed_slug,
    make_stem,
    make_strict_slug,
    read_facts,
)
from prowess.experience.draft_facts import make_facts as trace_facts
from prowess.experience.lessons.alignment import Aligned
from prowess.experience.lessons.skill import LearnedSkill
from prowess.experience.redaction import HIDDEN, hide_people
from prowess.experience.replay.script import write_replay_script
from prowess.language.corrections import is_question
from prowess.runtime.workshop.drafts import refusal_of
from prowess.runtime.workshop.ports import SKILL_FILE
from prowess.runtime.workshop.proposals import Proposals
from prowess.safety.model import Finding, ScanReport
from prowess.settings import SpecMode
from prowess.transcripts.traces import Trace
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


class DraftFolder(Protocol):
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
class ExperiencePorts:
    """The world, as learning from traces sees it."""

    enabled: Callable[[], bool]
    spec_mode: Callable[[], SpecMode]
    # From an agent's id, empty for the default agent, to its workspace folder.
    workspace: Callable[[str], str]
    shelf: Callable[[str], DraftFolder]
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
    rehearse: Callable[[], AbstractContextManager["ExperiencePorts"]]


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
class ExperienceLesson:
    """What several traces of one goal teach, and whether it was proposed."""

    aligned: Aligned
    skill: LearnedSkill
    status: LessonStatus
    name: str
    proposal: Proposal | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltExperience:
    """What came of a heap of traces."""

    enabled: bool
    drafts: tuple[DraftOutcome, ...] = ()
    lessons: tuple[ExperienceLesson, ...] = ()


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
class RemovedDraft:
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
    drafts: tuple[RemovedDraft, ...] = ()
    scripts: tuple[RemovedDraft, ...] = field(default=())


REPLAY_FILE = "scripts/replay.sh"
# What a script may take on the shelf, and a little less: a longer one is for no person to read.
MOST_SCRIPT = 900_000
# Told what is being done, how many are done, and how many there are.
Progress: TypeAlias = Callable[[str, int, int], None]
# A name is a second and a task: many alike in one heap take the seconds that follow.
_MOST_SECONDS = 3_600


@dataclass(frozen=True, slots=True, kw_only=True)
class _NewDraft:
    """A draft before it is written."""

    name: str
    text: str
    facts: DraftFacts
    script: str = ""
    # Why it has no script where it could have one.
    problem: str = ""

    @property
    def files(self) -> Mapping[str, bytes]:
        """The draft as a skill would hold it, for the scanner."""
        page = {SKILL_FILE: self.text.encode()}
        return {**page, REPLAY_FILE: self.script.encode()} if self.script else page


class _DraftIndex:
    """The drafts that are there and those that this build made, found by what makes two the same.

    A draft that is made now has no place yet where it could be removed from: it stands for itself.
    """

    def __init__(self, drafts: Iterable[ShelvedDraft]) -> None:
        self._by_mark: dict[str, list[tuple[ShelvedDraft | None, DraftFacts]]] = {}
        self.traces: dict[str, ShelvedDraft] = {}
        for draft in drafts:
            facts = read_shelved_facts(draft)
            self.add(facts, draft)
            if facts.trace_id:
                self.traces.setdefault(facts.trace_id, draft)

    def add(self, facts: DraftFacts, draft: ShelvedDraft | None = None) -> None:
        for mark in _list_marks(facts):
            self._by_mark.setdefault(mark, []).append((draft, facts))

    def forget(self, draft: ShelvedDraft) -> None:
        """Forget a draft that was replaced."""
        for rows in self._by_mark.values():
            rows[:] = [row for row in rows if row[0] is not draft]

    def find_same(self, facts: DraftFacts) -> list[ShelvedDraft | None]:
        """Return the drafts of the same work, each once; None for one of this build."""
        rows = [row for mark in _list_marks(facts) for row in self._by_mark.get(mark, ())]
        found = {id(old): draft for draft, old in rows if compare_drafts(facts, old)}
        return list(found.values())


def _list_marks(facts: DraftFacts) -> tuple[str, ...]:
    """Return what two drafts of the same work share at least one of."""
    marks = {"flow": facts.flow, "way": facts.behaviour, "slug": make_mixed_slug(facts.task)}
    return tuple(f"{kind} {mark}" for kind, mark in marks.items() if mark)


class DraftMaker:
    """Makes the drafts of one heap of traces; the shelf is locked by the caller."""

    def __init__(
        self, ports: ExperiencePorts, shelf: DraftFolder, *, seen: frozenset[str], dry_run: bool
    ) -> None:
        self._ports, self._shelf, self._seen, self._dry_run = ports, shelf, seen, dry_run
        self._strict = ports.spec_mode() is SpecMode.STRICT
        drafts = shelf.listed()
        self._known = _DraftIndex(drafts)
        self._names = {draft.stem for draft in drafts}

    def make_drafts(self, traces: Sequence[Trace], progress: Progress) -> tuple[DraftOutcome, ...]:
        """Return what becomes of each trace; the last of several copies stands for all of them.

        Raises:
            DraftError: a draft cannot be named.
        """
        outcomes: list[DraftOutcome] = []
        # From the last to the first: whatever is refused leaves its place to an earlier copy.
        for done, trace in enumerate(reversed(traces)):
            progress("drafting", done, len(traces))
            outcomes.append(self._make(trace))
        return tuple(reversed(outcomes))

    def _make(self, trace: Trace) -> DraftOutcome:
        own = self._known.traces.get(trace.id)
        facts = trace_facts(trace, generated_at="") if own is None else read_shelved_facts(own)
        outcome = DraftOutcome(trace=trace, status=DraftStatus.UNCHANGED, facts=facts)
        found = None if own is None else (own, "it has a draft already")
        unchanged = found or self._find_unchanged(trace, facts)
        if unchanged is not None:
            there, reason = unchanged
            if there is None:
                return replace(outcome, reason=reason)
            at = replace(outcome, id=there.stem, path=there.path, script=there.script)
            return replace(at, facts=read_shelved_facts(there), reason=reason)
        if is_question(trace.task):
            why = "it answers a question, which is nothing to do again"
            return replace(outcome, reason=why)
        text, report = self._scan(trace, self._write(trace))
        why = refusal_of(report)
        outcome = replace(
            outcome, facts=text.facts, reason=why or text.problem, findings=report.findings
        )
        if why:
            return replace(outcome, status=DraftStatus.REFUSED)
        try:
            return self._put(outcome, text)
        except PathError as error:
            # One that cannot be written must not keep the others from it.
            return replace(outcome, status=DraftStatus.REFUSED, reason=str(error))

    def _find_unchanged(
        self, trace: Trace, facts: DraftFacts
    ) -> tuple[ShelvedDraft | None, str] | None:
        """Return the draft that stands for a trace already, if any, and why; None for a new one."""
        copies = self._known.find_same(facts)
        there = [draft for draft in copies if draft is not None]
        edited = next((draft for draft in there if not is_untouched(draft.text)), None)
        if edited is not None:
            return edited, "somebody has edited the draft of the same work"
        if len(there) < len(copies):
            return None, "a later trace of the same work is drafted instead"
        if trace.id in self._seen:
            if there:
                return there[0], "a later trace of the same work has a draft"
            return None, "it was seen before, and its draft was promoted or removed"
        return None

    def _write(self, trace: Trace, name: str = "", *, scripted: bool = True) -> _NewDraft:
        at = self._ports.now()
        task = hide_people(trace).task.replace(HIDDEN, " ")
        slug = make_strict_slug(task) if self._strict else make_mixed_slug(task)
        name = name or self._choose_name(at, slug)
        script = (write_replay_script(trace, name=name) or "") if scripted else ""
        wrong = self._check_script(script) if script else ""
        text = write_draft(
            trace,
            stem=name,
            generated_at=self._ports.moment(at),
            script=f"scripts/auto/{name}.sh" if script and not wrong else "",
            strict=self._strict,
        )
        facts = read_facts(text)
        if facts is None:
            raise DraftError(f"the draft {name} cannot be read back: this is a fault of Prowess")
        problem = f"no replay script: {wrong}" if wrong else ""
        return _NewDraft(
            name=name, text=text, facts=facts, script="" if wrong else script, problem=problem
        )

    def _check_script(self, script: str) -> str:
        if len(script.encode()) > MOST_SCRIPT:
            return f"it would be larger than {MOST_SCRIPT} bytes"
        return self._ports.check_script(script)

    def _choose_name(self, at: float, slug: str) -> str:
        """Return the first name from a moment on that nobody has."""
        for name in _try_names(self._ports, at, slug):
            if name not in self._names:
                self._names.add(name)
                return name
        raise DraftError(f"too many drafts are called {slug}: run `prowess experience clean`")

    def _scan(self, trace: Trace, text: _NewDraft) -> tuple[_NewDraft, ScanReport]:
        """Scan a draft; where only its script is refused, it goes without one."""
        report = self._ports.scan(text.name, text.files)
        why = refusal_of(report)
        if not why or not text.script:
            return text, report
        bare = self._write(trace, text.name, scripted=False)
        alone = self._ports.scan(bare.name, bare.files)
        if refusal_of(alone):
            return text, report
        return replace(bare, problem=f"no replay script: the scanner refuses it: {why}"), alone

    def _put(self, outcome: DraftOutcome, text: _NewDraft) -> DraftOutcome:
        copies = [draft for draft in self._known.find_same(text.facts) if draft is not None]
        outcome = replace(outcome, id=text.name, replaced=tuple(one.stem for one in copies))
        if self._dry_run:
            self._known.add(text.facts)
            path, script = self._shelf.places(
                text.name, scripted=bool(text.script), as_folder=self._strict
            )
            return replace(outcome, status=DraftStatus.WOULD_WRITE, path=path, script=script)
        path, script = self._shelf.write(
            text.name, text.text, text.script or None, as_folder=self._strict
        )
        self._known.add(text.facts)
        for copy in copies:
            self._shelf.remove(copy, now=self._ports.now())
            self._known.forget(copy)
        status = DraftStatus.REPLACED if copies else DraftStatus.WRITTEN
        return replace(outcome, status=status, path=path, script=script)


def read_shelved_facts(draft: ShelvedDraft) -> DraftFacts:
    """Return what a draft says of itself; of one that says nothing, its name is the task."""
    found = read_facts(draft.text)
    return DraftFacts(task=draft.stem) if found is None else found


def _try_names(ports: ExperiencePorts, at: float, slug: str) -> Iterator[str]:
    for seconds in range(_MOST_SECONDS):
        yield make_stem(ports.stamp(at + seconds), slug)
