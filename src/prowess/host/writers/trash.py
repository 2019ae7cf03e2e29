"""Removal of skills: into the trash of the state folder first, from where they can come back.

What is removed is the folder that was looked at. A skill that is a link goes away itself, and what
it points to stays. `SkillTrash` moves folders safely and knows no locks; in `SkillRemoval` a
removal waits for the end of a change of the same skill, and no two processes sort the trash at
once. The root is resolved once; if it is another folder by the time of the move, the skill goes
back to where it was taken from.
"""

import json
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from prowess.errors import PathError, RemovalError, explain_failure
from prowess.host.files.containment import Hook, Root, contain
from prowess.host.files.state_files import locked
from prowess.host.files.transaction import (
    MAIN,
    RECORD,
    RootPlace,
    copy_over,
    is_stray_folder,
    list_ids,
    move_place,
    new_id,
    read_record,
    rename_place,
)
from prowess.host.writers.change import SkillFolder
from prowess.runtime.library import RemovedSkill
from prowess.safety.paths import content_hash, shown
from prowess.skills.model import Tier

REMOVABLE = frozenset(
    name for tier in Tier if tier.is_removable for name in (tier.name.lower(), tier.source_id)
)
# Beyond this a skill is removed all the same, only without a hash.
_MAX_HASHED_FILES, _MAX_HASHED_DEPTH, _MAX_HASHED_BYTES = 10_000, 40, 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Trashed:
    """A removed skill: where it was, when it went, and its place in the trash."""

    id: str
    path: Path
    original: Path
    source: str
    # Seconds since 1970.
    removed_at: float
    # Of all its files; empty for a link and for what is too large.
    hash: str


class SkillTrash:
    """The folder that removed skills go to."""

    def __init__(self, folder: Path, *, swap_hook: Hook | None = None) -> None:
        """Nothing is made yet; `swap_hook` lets a test change the disk at each step."""
        self._folder = Path(os.path.realpath(folder))
        self._hook: Hook = swap_hook or (lambda _step: None)

    def remove(
        self, skill: Path, root: Path, *, source: str, now: float, stays: bool = False
    ) -> Trashed:
        """Move the skill folder `skill`, which lies inside `root`, to the trash.

        The caller holds the skill's lock, so that no change is being made to it. With `stays` the
        trash gets a copy.

        Raises:
            RemovalError: it is not a skill that may be removed, or was swapped meanwhile.
        """
        if source not in REMOVABLE:
            problem = f"comes from {shown(source)}: only managed and workspace skills are removed."
            raise RemovalError(shown(str(skill)), problem)
        if ".." in os.fspath(skill).replace("\\", "/").split("/"):
            raise RemovalError(shown(str(skill)), "has a `..` step: give its plain path.")
        relative = _make_relative(skill, root)
        with _report_problems(skill), self._open(root) as (held, trash):
            place = RootPlace(held, relative)
            state = None if stays else _skill_state(place)
            removed = self._make_trashed(place, source, now)
            trash.make_folder(removed.id, mode=0o700)
            trash.write(f"{removed.id}/{RECORD}", _dump(removed, held, relative), mode=0o600)
            self._hook("ready")
            try:
                _put(place, RootPlace(trash, f"{removed.id}/{MAIN}"), state)
            except BaseException:
                # Never with the skill in it: it may have arrived before something else failed.
                if not trash.exists(f"{removed.id}/{MAIN}"):
                    trash.remove_tree(removed.id)
                raise
        return removed

    def restore(self, removed: str, root: Path) -> Path:
        """Put a removed skill back where it was below `root`, and return its folder.

        Raises:
            RemovalError: it is not in the trash, was changed there, or its place is taken.
        """
        with _report_problems(Path(removed)), self._open(root) as (held, trash):
            record = read_record(trash, removed)
            # The record is a file like any other: it may not choose the root.
            if record.get("root") != str(held.path):
                raise RemovalError(removed, f"was not removed from {held.path}.")
            relative, kept = str(record.get("place", "")), RootPlace(trash, f"{removed}/{MAIN}")
            state = kept.state
            if state is None:
                raise RemovalError(removed, "is not in the trash any more.")
            if record.get("hash") != _hash(kept):
                raise RemovalError(removed, "was changed in the trash: look at it there.")
            if held.exists(relative):
                raise RemovalError(removed, f"cannot go back: {relative} exists already.")
            target = RootPlace(held, relative)
            if target.parent:
                held.make_folder(target.parent)
            move_place(kept, target, state)
            trash.remove_tree(removed)
            return held.path / relative

    def entries(self) -> tuple[Trashed, ...]:
        """Return what is in the trash, oldest first."""
        if not self._folder.is_dir():
            return ()
        with Root.open(self._folder) as trash:
            return tuple(_parse(trash, name) for name in list_ids(trash))

    def purge(self, older_than: float) -> tuple[str, ...]:
        """Delete for good what was removed before that time, and return the ids."""
        old = tuple(entry.id for entry in self.entries() if entry.removed_at < older_than)
        if old:
            with (
                _report_problems(self._folder),
                Root.open(self._folder, swap_hook=self._hook) as trash,
            ):
                for removed in old:
                    trash.remove_tree(removed)
        return old

    @contextmanager
    def _open(self, root: Path) -> Iterator[tuple[Root, Root]]:
        with Root.open(root, swap_hook=self._hook) as held:
            if self._folder.is_relative_to(held.path) or held.path.is_relative_to(self._folder):
                problem = "cannot be the trash of a skills root that it lies in or around."
                raise RemovalError(str(self._folder), problem)
            with Root.open(self._folder, create=True, swap_hook=self._hook) as trash:
                yield held, trash

    def _make_trashed(self, place: RootPlace, source: str, now: float) -> Trashed:
        chosen = new_id(now)
        return Trashed(
            id=chosen,
            path=self._folder / chosen / MAIN,
            original=place.path,
            source=source,
            removed_at=now,
            hash=_hash(place),
        )


def _put(place: RootPlace, kept: RootPlace, expected: os.stat_result | None) -> None:
    """Move what is as expected, or copy it where it stays: whole, or not to be seen."""
    if expected is not None:
        move_place(place, kept, expected)
        return
    hidden = kept.hidden()
    copy_over(place, hidden)
    rename_place(hidden, kept)


def _make_relative(skill: Path | str, root: Path | str) -> str:
    """Return the way from the root to the skill by their names alone."""
    text = os.fspath(skill)
    named = Path(os.path.abspath(text))
    for base in (Path(os.path.abspath(root)), Path(os.path.realpath(root))):
        if named == base:
            raise RemovalError(shown(text), "is the skills root itself: name one skill in it.")
        if named.is_relative_to(base):
            return named.relative_to(base).as_posix()
    raise RemovalError(shown(text), f"is not inside {shown(str(root))}.")


def _skill_state(place: RootPlace) -> os.stat_result:
    """Return the state of a skill's folder, or of the link that stands for one."""
    state = place.state
    if state is None:
        raise RemovalError(shown(str(place.path)), "is not there.")
    if stat.S_ISLNK(state.st_mode):
        return state
    if not stat.S_ISDIR(state.st_mode):
        raise RemovalError(shown(str(place.path)), "is not a skill folder.")
    names = {name.lower(): found for name, found in place.root.list(place.relative)}
    file = names.get("skill.md")
    if file is None or not stat.S_ISREG(file.st_mode):
        problem = "has no SKILL.md of its own, so it is not removed as a skill."
        raise RemovalError(shown(str(place.path)), problem)
    return state


def _hash(place: RootPlace) -> str:
    """Return the hash of all files of a skill; a link is not followed, so it has none."""
    state = place.state
    if state is None or not stat.S_ISDIR(state.st_mode):
        return ""
    files, left = {}, _MAX_HASHED_BYTES
    try:
        for path, found in place.root.walk(
            place.relative, max_files=_MAX_HASHED_FILES, max_depth=_MAX_HASHED_DEPTH
        ):
            if stat.S_ISREG(found.st_mode):
                data = place.root.read(path, left)
                left -= len(data)
                files[path[len(place.relative) + 1 :]] = data
    except PathError:
        # Too large or not readable: no reason to keep a skill that somebody wants to be rid of.
        return ""
    return content_hash(files)


def _dump(removed: Trashed, held: Root, relative: str) -> bytes:
    fields = {**asdict(removed), "path": str(removed.path), "original": str(removed.original)}
    return json.dumps({**fields, "root": str(held.path), "place": relative}, indent=2).encode()


def _parse(trash: Root, removed: str) -> Trashed:
    """Return an entry; one whose record is lost has at least the time in its name."""
    try:
        record = read_record(trash, removed)
    except PathError:
        record = {}
    noted = record.get("removed_at")
    return Trashed(
        id=removed,
        path=trash.path / removed / MAIN,
        original=Path(str(record.get("original", ""))),
        source=str(record.get("source", "")),
        removed_at=float(noted if isinstance(noted, int | float) else removed.partition("-")[0]),
        hash=str(record.get("hash", "")),
    )


TRASH_FOLDER = "trash"


class SkillRemoval:
    """The trash of one state folder."""

    def __init__(self, state: Path | str, *, swap_hook: Hook | None = None) -> None:
        """Nothing is made yet; `swap_hook` lets a test change the disk at each step."""
        self._state = Path(state)
        self._folder = self._state / TRASH_FOLDER
        self._trash = SkillTrash(self._folder, swap_hook=swap_hook)
        self._hook: Hook = swap_hook or (lambda _step: None)

    def exists(self, folder: str) -> bool:
        """Return whether anything is at that path, be it a link that leads nowhere."""
        return os.path.lexists(folder)

    def put(
        self, folder: str, root: str, source: str, now: float, *, stays: bool = False
    ) -> RemovedSkill | None:
        """Move a skill's folder out of its root, while nobody changes it; None where it is gone.

        With `stays` it is copied, for what takes its place in one step.
        """
        real, relative = Path(os.path.realpath(root)), _make_relative(folder, root)
        with self._hold(folder, real, relative):
            if not os.path.lexists(folder):
                return None
            # A link to elsewhere is somebody's own arrangement, and not a skill of this root.
            contain(root, folder, strictly=True)
            removed = self._trash.remove(real / relative, real, source=source, now=now, stays=stays)
            self._refuse_swapped(removed, real, relative)
        return _show(removed)

    def take_back(self, removed: RemovedSkill, roots: Sequence[str]) -> str:
        """Put a skill back where it was, which must be inside one of the roots."""
        original = Path(removed.original)
        around = [
            real for real in map(Path, map(os.path.realpath, roots)) if real in original.parents
        ]
        if not around:
            problem = (
                f"was removed from {shown(str(original.parent))}, which is no skills folder of the"
                f" agent now: it is still in {self._folder / removed.id}."
            )
            raise RemovalError(shown(removed.id), problem)
        root = max(around, key=lambda real: len(real.parts))
        with self._hold(removed.original, root, str(original.relative_to(root))):
            return str(self._trash.restore(removed.id, root))

    def entries(self) -> tuple[RemovedSkill, ...]:
        """Return what can come back, oldest first."""
        with _report_problems(self._folder):
            # One that was cut off before its move has a record and no skill.
            found = [entry for entry in self._trash.entries() if os.path.lexists(entry.path)]
        return tuple(_show(entry) for entry in found)

    def purge(self, before: float) -> tuple[str, ...]:
        """Delete for good what was removed before that time, and return the ids."""
        if not self._folder.is_dir():
            return ()
        with _report_problems(self._folder), locked(str(self._folder)):
            self._settle()
            return self._trash.purge(before)

    def _settle(self) -> None:
        """Bring to its end what was killed between two disks, once the original was out of its way.

        Until then the original is where it was, and the copy is of no use.
        """
        for entry in self._trash.entries():
            # Drafts are moved under another lock, and settled by whoever holds it.
            is_ours = entry.source in REMOVABLE
            if not is_ours or os.path.lexists(entry.path) or os.path.lexists(entry.original):
                continue
            with Root.open(self._folder) as trash:
                copies = [name for name, _ in trash.list(entry.id) if is_stray_folder(name)]
                if len(copies) == 1:
                    kept = f"{entry.id}/{entry.path.name}"
                    trash.rename(f"{entry.id}/{copies[0]}", kept)

    def _refuse_swapped(self, removed: Trashed, real: Path, relative: str) -> None:
        if removed.original == real / relative:
            return
        steps = len(Path(relative).parts)
        self._trash.restore(removed.id, removed.original.parents[steps - 1])
        problem = "was swapped for another folder meanwhile: look at it again."
        raise RemovalError(shown(str(real)), problem)

    @contextmanager
    def _hold(self, path: str, root: Path, relative: str) -> Iterator[None]:
        """Keep everybody else from the skill, and from the trash."""
        with _report_problems(path), ExitStack() as stack:
            # All that lies below a folder of the root is changed under the lock of that folder.
            first = Path(relative).parts[0]
            try:
                skill = SkillFolder(root, first, self._state)
            except PathError:
                # Nobody can be writing it: whoever writes skills refuses the name just so.
                pass
            else:
                stack.enter_context(skill.lock())
            stack.enter_context(locked(str(self._folder)))
            self._hook("locked")
            yield


def _show(entry: Trashed) -> RemovedSkill:
    return RemovedSkill(
        id=entry.id, original=str(entry.original), source=entry.source, removed_at=entry.removed_at
    )


@contextmanager
def _report_problems(path: Path | str) -> Iterator[None]:
    """Turn what is wrong with a path into an error of a removal."""
    try:
        yield
    except PathError as error:
        raise RemovalError(error.path, error.problem) from error
    except OSError as error:
        raise RemovalError(
            shown(str(path)), f"cannot be moved: {explain_failure(error)}."
        ) from error
