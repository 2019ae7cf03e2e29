"""What a copy of skills would change, decided from marks alone: no file is opened here.

A folder in the target belongs to the copy only if the copy noted it down and it still holds exactly
what was noted. Everything else belongs to somebody: it is a conflict, never something to replace.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import PurePath

from prowess.safety.paths import PathRefused, collision_key, segments
from prowess.skills.model import SKIPPED_FOLDERS

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
            steps += _stale(folder, record, standing)
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
    return [replace(refused, old=None), *_stale(step.folder, step.old, standing)]


def _stale(folder: str, record: CopyRecord, standing: TargetStanding) -> list[SyncStep]:
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
