"""Copies an agent's usable skills to a sandbox: read, scanned, planned, and only then written.

What was scanned is what is copied: a file that changes between the two is refused. Skills are read
before the target is locked, so that a slow scan keeps nobody else waiting; once it is locked they
are read again, and scanned again only if they are others by then.

What a copy would change is decided from marks alone. A folder in the target belongs to the copy
only if the copy noted it down and it still holds exactly what was noted. Everything else belongs
to somebody: it is a conflict, never something to replace.
"""

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import PurePath
from typing import Protocol

from prowess.errors import PathError
from prowess.runtime.scan import ScanService, Target
from prowess.runtime.service import SkillsService
from prowess.safety.model import Finding, Level, Profile, ScanReport, ScanVerdict
from prowess.safety.paths import PathRefused, collision_key, content_hash, segments, shown
from prowess.skills.model import SKIPPED_FOLDERS, Skill

KEPT = ".prowess-kept"
_LONGEST_NAME, _LONGEST_SLUG, _HASH_DIGITS = 100, 60, 8
_NOT_IN_SLUG = re.compile(r"[^a-z0-9]+")


class SyncAction(Enum):
    """What becomes of one folder or one skill."""

    ADD = "add"
    UPDATE = "update"
    REMOVE = "remove"
    KEEP = "keep"
    CONFLICT = "conflict"
    REFUSED = "refused"
    SKIPPED = "skipped"


class FolderState(Enum):
    """How a folder that was copied once stands now."""

    GONE = "gone"
    UNCHANGED = "unchanged"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class FileMark:
    """What is remembered of a copied file."""

    sha256: str
    executable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyRecord:
    """What is remembered of a copied folder."""

    source: str
    skill: str
    files: Mapping[str, FileMark]


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedCopy:
    """A skill that is to be in the target: its files, or why it cannot be there."""

    skill: str
    source: str
    files: Mapping[str, FileMark] = field(default_factory=dict)
    problem: str = ""
    # The scanner refuses it: then an earlier copy of it goes, too.
    distrusted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetStanding:
    """How the target stands before anything is done."""

    records: Mapping[str, CopyRecord] = field(default_factory=dict)
    states: Mapping[str, FolderState] = field(default_factory=dict)
    # Names in it that the copy did not write.
    others: frozenset[str] = frozenset()

    def state(self, folder: str) -> FolderState:
        """Return how a folder stands; one that was never copied is not there."""
        return self.states.get(folder, FolderState.GONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncStep:
    """One line of the plan."""

    action: SyncAction
    skill: str
    source: str
    folder: str = ""
    reason: str = ""
    old: CopyRecord | None = None
    new: CopyRecord | None = None
    # What somebody changed is moved aside instead of being in the way.
    keeps_changed: bool = False
    # Where it is now.
    kept_at: str = ""


def make_plan(
    wanted: Sequence[WantedCopy], standing: TargetStanding, *, force: bool = False
) -> tuple[SyncStep, ...]:
    """Return what to do, in the order of folders."""
    names = name_folders((one.source for one in wanted), standing.records)
    taken = {collision_key(name): name for name in standing.others}
    steps: list[SyncStep] = []
    for one in wanted:
        folder = names[one.source]
        clash = taken.get(collision_key(folder), "")
        steps += _steps_of(one, folder, standing, clash=clash, force=force)
    held = set(names.values())
    for folder, record in standing.records.items():
        if folder not in held:
            steps += _plan_stale(folder, record, standing)
    return tuple(sorted(steps, key=lambda step: (step.folder, step.action.value, step.source)))


def list_remaining(steps: Iterable[SyncStep]) -> dict[str, CopyRecord]:
    """Return what stays noted of folders that the plan does not touch."""
    found: dict[str, CopyRecord] = {}
    for step in steps:
        if step.action is SyncAction.KEEP and step.new is not None:
            found[step.folder] = step.new
        elif step.action in {SyncAction.CONFLICT, SyncAction.REFUSED} and step.old is not None:
            found[step.folder] = step.old
    return found


def name_folders(sources: Iterable[str], records: Mapping[str, CopyRecord]) -> dict[str, str]:
    """Return the folder of each source: the one it has already, else one after its own name.

    Who has a name keeps it, then plain names are given out, then numbered ones: a third skill never
    renames the first two.
    """
    waiting = sorted(set(sources))
    before: dict[str, str] = {}
    for folder in sorted(records):
        before.setdefault(records[folder].source, folder)
    names = {source: before[source] for source in waiting if source in before}
    taken = {collision_key(name) for name in names.values()}
    clashing = []
    for source in (source for source in waiting if source not in names):
        name = choose_base_name(source)
        if collision_key(name) in taken:
            clashing.append(source)
        else:
            names[source] = name
            taken.add(collision_key(name))
    for source in clashing:
        names[source] = _number(choose_base_name(source), taken)
        taken.add(collision_key(names[source]))
    return names


def choose_base_name(source: str) -> str:
    """Return the name of the source's folder, or a plain one where that could not be one."""
    name = PurePath(source).name
    if is_folder_name(name) and len(name.encode()) <= _LONGEST_NAME:
        return name
    slug = _NOT_IN_SLUG.sub("-", name.lower())[:_LONGEST_SLUG].strip("-") or "skill"
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_DIGITS]
    return f"{slug}-{digest}"


def is_folder_name(name: str) -> bool:
    """Return whether a skill's folder may have that name on every system and is seen there."""
    try:
        plain = len(segments(name, max_depth=1)) == 1
    except PathRefused:
        return False
    return plain and not name.startswith(".") and name not in SKIPPED_FOLDERS


def _number(name: str, taken: Collection[str]) -> str:
    number = 2
    while collision_key(f"{name}-{number}") in taken:
        number += 1
    return f"{name}-{number}"


def _steps_of(
    one: WantedCopy, folder: str, standing: TargetStanding, *, clash: str, force: bool
) -> list[SyncStep]:
    """Return what a wanted skill leads to; with `clash` somebody else's entry has its place."""
    old = standing.records.get(folder)
    new = CopyRecord(source=one.source, skill=one.skill, files=one.files)
    step = SyncStep(
        action=SyncAction.KEEP, skill=one.skill, source=one.source, folder=folder, old=old
    )
    if one.problem:
        return _plan_refused(one, step, standing)
    if clash:
        reason = f"skills/{clash} was not written by sync: move or rename it, then sync again."
        return [replace(step, action=SyncAction.CONFLICT, reason=reason)]
    state = standing.state(folder)
    if old is None or state is FolderState.GONE:
        return [replace(step, action=SyncAction.ADD, old=None, new=new)]
    if state is FolderState.CHANGED:
        return [_plan_changed(step, new, force=force)]
    action = SyncAction.KEEP if old.files == one.files else SyncAction.UPDATE
    return [replace(step, action=action, new=new)]


def _plan_changed(step: SyncStep, new: CopyRecord, *, force: bool) -> SyncStep:
    if force:
        return replace(step, action=SyncAction.UPDATE, new=new, keeps_changed=True)
    reason = (
        f"skills/{step.folder} was changed since the last sync: move it away, or give --force to"
        f" replace it and keep the changed version in skills/{KEPT}."
    )
    return replace(step, action=SyncAction.CONFLICT, reason=reason)


def _plan_refused(one: WantedCopy, step: SyncStep, standing: TargetStanding) -> list[SyncStep]:
    refused = replace(step, action=SyncAction.REFUSED, reason=one.problem)
    if step.old is None or standing.state(step.folder) is FolderState.GONE:
        return [replace(refused, old=None)]
    if not one.distrusted:
        return [refused]
    # What the scanner refuses now is not left where an agent reads it.
    return [replace(refused, old=None), *_plan_stale(step.folder, step.old, standing)]


def _plan_stale(folder: str, record: CopyRecord, standing: TargetStanding) -> list[SyncStep]:
    step = SyncStep(
        action=SyncAction.REMOVE,
        skill=record.skill,
        source=record.source,
        folder=folder,
        old=record,
    )
    state = standing.state(folder)
    if state is FolderState.GONE:
        return []
    if state is FolderState.UNCHANGED:
        return [step]
    reason = (
        f"skills/{folder} is no longer wanted, but was changed since the last sync: it is left"
        " alone; move it away if you need it, else delete it."
    )
    return [replace(step, action=SyncAction.CONFLICT, reason=reason)]


SKILL_FILE = "skill.md"
_WRITES = (SyncAction.ADD, SyncAction.UPDATE, SyncAction.REMOVE)
_PASSES = (ScanVerdict.CLEAN, ScanVerdict.WARN)

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class CopiedFile:
    """One file on its way."""

    content: bytes = field(repr=False)
    executable: bool = False


@dataclass(frozen=True, slots=True)
class LeftOutFile:
    """Something of a skill that is not copied, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class SkillCopy:
    """The files of one skill as they are copied."""

    files: Mapping[str, CopiedFile]
    left_out: tuple[LeftOutFile, ...] = ()


class SkillReader(Protocol):
    """Reads the folders of skills."""

    def read(self, skill: Skill) -> SkillCopy:
        """Return what is copied of a skill.

        Raises:
            PathError: it cannot be read, or is too large.
        """

    def whole(self, skill: Skill) -> Target:
        """Return everything in a skill's folder, as a person scans it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderChange:
    """One folder to add (no `old`), to replace, or to remove (no `new`)."""

    folder: str
    old: CopyRecord | None
    new: CopyRecord | None
    # Gives the files when it is their turn, so that only one skill is in memory.
    content: Callable[[], Mapping[str, CopiedFile]]
    keeps_changed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeOutcome:
    """How a change ended: well, or with a problem; `conflict` where somebody was in the way."""

    problem: str = ""
    conflict: bool = False
    kept_at: str = ""


class SyncTarget(Protocol):
    """A target that nobody else copies to as long as it is open."""

    def standing(self) -> TargetStanding:
        """Return how it stands."""

    def apply(
        self, changes: Sequence[FolderChange], kept: Mapping[str, CopyRecord]
    ) -> Mapping[str, ChangeOutcome]:
        """Make the changes and note what is there afterwards; `kept` is what stays noted.

        Raises:
            PathError: the target cannot be written; the next sync puts it right.
        """


class SyncTargets(Protocol):
    """Opens targets."""

    def check(self, target: str, sources: Sequence[str]) -> str:
        """Return the real path of a folder that skills may be copied to.

        Raises:
            PathError: it is none, or copying there would be copying into a source.
        """

    def open(self, target: str, *, dry_run: bool) -> AbstractContextManager[SyncTarget]:
        """Hold a target; in a dry run nothing is made and nothing is written.

        Raises:
            PathError: it cannot be opened, or somebody else holds it.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncRequest:
    """What a person asks for."""

    target: str
    agent_id: str | None = None
    dry_run: bool = False
    force: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncWarning:
    """Something of a skill that is missing in its copy."""

    skill: str
    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReport:
    """What was done, or in a dry run would be."""

    target: str
    dry_run: bool
    steps: tuple[SyncStep, ...]
    warnings: tuple[SyncWarning, ...] = ()

    def of(self, action: SyncAction) -> tuple[SyncStep, ...]:
        """Return the steps of one kind."""
        return tuple(step for step in self.steps if step.action is action)

    @property
    def is_clean(self) -> bool:
        """True where nothing was in the way and nothing was refused."""
        return not (self.of(SyncAction.CONFLICT) or self.of(SyncAction.REFUSED))

    @property
    def changes_anything(self) -> bool:
        """True where a folder is added, replaced or removed."""
        return any(step.action in _WRITES for step in self.steps)


class SyncService:
    """Copies the skills of an agent to a target."""

    def __init__(
        self,
        skills: SkillsService,
        reader: SkillReader,
        scanning: ScanService,
        targets: SyncTargets,
    ) -> None:
        self._skills = skills
        self._reader = reader
        self._judge = _Judge(reader, scanning)
        self._targets = targets

    def sync(self, request: SyncRequest, progress: Progress | None = None) -> SyncReport:
        """Bring the target up to date and return what was done.

        Raises:
            PathError: the target cannot be used, or is held by another process.
            UnknownAgentError: there is no such agent.
        """
        usable = self._list_usable(request.agent_id)
        folders, texts = _split(usable)
        target = self._targets.check(request.target, self._sources(request.agent_id, usable))
        for done, skill in enumerate(folders):
            if progress is not None:
                progress("scanning skills", done, len(folders))
            self._look(skill)
        with self._targets.open(target, dry_run=request.dry_run) as held:
            looks = [self._look(skill) for skill in folders]
            wanted = [look.wanted for look in looks]
            plan = make_plan(wanted, held.standing(), force=request.force)
            if not request.dry_run:
                plan = self._apply(held, plan, folders)
        return SyncReport(
            target=target,
            dry_run=request.dry_run,
            steps=(*plan, *(_skip(skill) for skill in texts)),
            warnings=tuple(warning for look in looks for warning in look.warnings),
        )

    def _list_usable(self, agent_id: str | None) -> list[Skill]:
        report = self._skills.status(agent_id)
        # What the scanner blocks is named as refused, with its finding: nobody wonders why.
        found = [one.skill for one in report.skills if one.usable or one.is_blocked]
        return sorted(found, key=lambda skill: (skill.name, skill.folder))

    def _sources(self, agent_id: str | None, usable: Sequence[Skill]) -> list[str]:
        state = self._skills.workspace(agent_id).state(self._skills.settings)
        roots = [source.root for source in state.scan.sources]
        return [*roots, *(skill.folder for skill in usable if _has_folder(skill))]

    def _look(self, skill: Skill) -> "_Look":
        """Read and judge one skill."""
        wanted = WantedCopy(skill=skill.name, source=skill.folder)
        try:
            copy = self._reader.read(skill)
        except PathError as error:
            return _Look(replace(wanted, problem=str(error)))
        warnings = tuple(
            SyncWarning(skill=skill.name, path=left.path, reason=left.reason)
            for left in copy.left_out
        )
        problem = self._judge.problem(skill, copy)
        if problem:
            return _Look(replace(wanted, problem=problem, distrusted=True), warnings)
        return _Look(replace(wanted, files=_marks(copy.files)), warnings)

    def _apply(
        self, held: SyncTarget, plan: Sequence[SyncStep], skills: Sequence[Skill]
    ) -> tuple[SyncStep, ...]:
        known = {skill.folder: skill for skill in skills}
        changes = [self._change(step, known) for step in plan if step.action in _WRITES]
        outcomes = held.apply(changes, list_remaining(plan))
        return tuple(
            _finish(step, outcomes.get(step.folder)) if step.action in _WRITES else step
            for step in plan
        )

    def _change(self, step: SyncStep, known: Mapping[str, Skill]) -> FolderChange:
        new = step.new

        def content() -> Mapping[str, CopiedFile]:
            if new is None:
                return {}
            files = self._reader.read(known[new.source]).files
            if _marks(files) != new.files:
                raise PathError(shown(new.source), "changed while it was copied: sync again.")
            return files

        return FolderChange(
            folder=step.folder,
            old=step.old,
            new=new,
            content=content,
            keeps_changed=step.keeps_changed,
        )


@dataclass(frozen=True, slots=True)
class _Look:
    wanted: WantedCopy
    warnings: tuple[SyncWarning, ...] = ()


class _Judge:
    """Scans what would be copied, each content once."""

    def __init__(self, reader: SkillReader, scanning: ScanService) -> None:
        self._reader = reader
        self._scanning = scanning
        self._known: dict[tuple[str, str], str] = {}

    def problem(self, skill: Skill, copy: SkillCopy) -> str:
        """Return why the scanner refuses a skill; empty where it does not."""
        files = {path: file.content for path, file in copy.files.items()}
        key = skill.path, content_hash(files)
        if key not in self._known:
            self._known[key] = self._scan(skill, files)
        return self._known[key]

    def _scan(self, skill: Skill, files: Mapping[str, bytes]) -> str:
        profile = Profile.BUNDLED if skill.bundled else Profile.PACKAGE
        target = Target(path=skill.folder, name=skill.name, files=files, profile=profile)
        report = self._scanning.scan_target(target).report
        if report.verdict in _PASSES:
            return ""
        if report.verdict is ScanVerdict.ERROR:
            return f"the scan failed: {report.error}."
        found = [one for one in report.findings if one.level is Level.CRITICAL]
        if found and self._is_accepted(skill, files, found):
            return ""
        return _explain(skill, report)

    def _is_accepted(
        self, skill: Skill, files: Mapping[str, bytes], found: Sequence[Finding]
    ) -> bool:
        """Return whether the operator accepted each finding, in the folder as it is as a whole.

        A yes is bound to every file of the folder, those that are not copied included.
        """
        if not self._scanning.accepted():
            return False
        target = self._reader.whole(skill)
        if any(target.files.get(path) != content for path, content in files.items()):
            return False
        accepted = {
            _identity(one)
            for one in self._scanning.scan_target(target).report.findings
            if "accepted" in one.lowered_by
        }
        return all(_identity(one) in accepted for one in found)


def _identity(finding: Finding) -> tuple[str, str, str]:
    return finding.rule_id, finding.file, finding.evidence_hash


def _explain(skill: Skill, report: ScanReport) -> str:
    critical = [one for one in report.findings if one.level is Level.CRITICAL]
    one = critical[0] if critical else report.findings[0]
    more = f" and {len(critical) - 1} more" if len(critical) > 1 else ""
    return (
        f"the scanner finds {one.rule_id} in {shown(one.file)}:{one.line}{more}: look at it with"
        f" `prowess scan {shown(skill.name)}` and remove it, or accept it with"
        " `prowess scan accept`."
    )


def _marks(files: Mapping[str, CopiedFile]) -> dict[str, FileMark]:
    return {
        path: FileMark(hashlib.sha256(file.content).hexdigest(), file.executable)
        for path, file in files.items()
    }


def _split(usable: Sequence[Skill]) -> tuple[list[Skill], list[Skill]]:
    folders = [skill for skill in usable if _has_folder(skill)]
    return folders, [skill for skill in usable if not _has_folder(skill)]


def _has_folder(skill: Skill) -> bool:
    return skill.path.replace("\\", "/").rpartition("/")[2].lower() == SKILL_FILE


def _skip(skill: Skill) -> SyncStep:
    reason = "is a single text, not a folder with a SKILL.md: only folders are copied."
    return SyncStep(action=SyncAction.SKIPPED, skill=skill.name, source=skill.path, reason=reason)


def _finish(step: SyncStep, outcome: ChangeOutcome | None) -> SyncStep:
    if outcome is None or not outcome.problem:
        return step if outcome is None else replace(step, kept_at=outcome.kept_at)
    action = SyncAction.CONFLICT if outcome.conflict else SyncAction.REFUSED
    return replace(step, action=action, reason=outcome.problem, kept_at=outcome.kept_at)
