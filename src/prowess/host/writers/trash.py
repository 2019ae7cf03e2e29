"""Removal of skills: into a trash folder first, from where they can come back.

What is removed is the folder that was looked at, known by its number on the disk and moved by the
handles of the folders around it. A link is moved itself and never followed, so a skill that is a
link goes away and what it points to stays.
"""

import json
import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from prowess.errors import PathError, RemovalError
from prowess.host.files.containment import Hook, Root
from prowess.host.writers import folder_move
from prowess.host.writers.folder_move import Place
from prowess.safety.contents import content_hash
from prowess.safety.paths import shown
from prowess.skills.model import Tier

# Bundled skills, plugins and the folders of other programs are not ours to remove.
REMOVABLE = frozenset(("managed", "workspace", Tier.MANAGED.source_id, Tier.WORKSPACE.source_id))
_SKILL, _RECORD = "skill", "record.json"
_ID = re.compile(r"[0-9]{12}-[0-9a-f]{12}\Z")
_MAX_RECORD = 64 * 1024
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

    def remove(self, skill: Path, root: Path, *, source: str, now: float) -> Trashed:
        """Move the skill folder `skill`, which lies inside `root`, to the trash.

        The caller holds the skill's lock, so that no change is being made to it.

        Raises:
            RemovalError: it is not a skill that may be removed, or was swapped meanwhile.
        """
        if source not in REMOVABLE:
            problem = f"comes from {shown(source)}: only managed and workspace skills are removed."
            raise RemovalError(shown(str(skill)), problem)
        relative = _relative(skill, root)
        with _reported(skill), self._opened(root) as (held, trash):
            place = Place(held, *_split(relative))
            state = _skill_state(place)
            removed = self._trashed(place, source, now)
            trash.make_folder(removed.id, mode=0o700)
            trash.write(f"{removed.id}/{_RECORD}", _dump(removed, held, relative), mode=0o600)
            self._hook("ready")
            try:
                folder_move.move(place, Place(trash, removed.id, _SKILL), state)
            except BaseException:
                # Never with the skill in it: it may have arrived before something else failed.
                if not trash.exists(f"{removed.id}/{_SKILL}"):
                    trash.remove_tree(removed.id)
                raise
        return removed

    def restore(self, removed: str, root: Path) -> Path:
        """Put a removed skill back where it was below `root`, and return its folder.

        Raises:
            RemovalError: it is not in the trash, was changed there, or its place is taken.
        """
        with _reported(Path(removed)), self._opened(root) as (held, trash):
            record = _load(trash, removed)
            # The record is a file like any other: it may not choose the root.
            if record.get("root") != str(held.path):
                raise RemovalError(removed, f"was not removed from {held.path}.")
            relative, kept = str(record.get("place", "")), Place(trash, removed, _SKILL)
            state = folder_move.state_of(kept)
            if state is None:
                raise RemovalError(removed, "is not in the trash any more.")
            if record.get("hash") != _hash(kept):
                raise RemovalError(removed, "was changed in the trash: look at it there.")
            if held.exists(relative):
                raise RemovalError(removed, f"cannot go back: {relative} exists already.")
            target = Place(held, *_split(relative))
            if target.parent:
                held.make_folder(target.parent)
            folder_move.move(kept, target, state)
            trash.remove_tree(removed)
            return held.path / relative

    def entries(self) -> tuple[Trashed, ...]:
        """Return what is in the trash, oldest first."""
        if not self._folder.is_dir():
            return ()
        with Root.open(self._folder) as trash:
            return tuple(_parse(trash, name) for name in _ids(trash))

    def purge(self, older_than: float) -> tuple[str, ...]:
        """Delete for good what was removed before that time, and return the ids."""
        old = tuple(entry.id for entry in self.entries() if entry.removed_at < older_than)
        if old:
            with _reported(self._folder), Root.open(self._folder, swap_hook=self._hook) as trash:
                for removed in old:
                    trash.remove_tree(removed)
        return old

    @contextmanager
    def _opened(self, root: Path) -> Iterator[tuple[Root, Root]]:
        with Root.open(root, swap_hook=self._hook) as held:
            if self._folder.is_relative_to(held.path) or held.path.is_relative_to(self._folder):
                problem = "cannot be the trash of a skills root that it lies in or around."
                raise RemovalError(str(self._folder), problem)
            with Root.open(self._folder, create=True, swap_hook=self._hook) as trash:
                yield held, trash

    def _trashed(self, place: Place, source: str, now: float) -> Trashed:
        # The number first, so that the order of names is that of time.
        chosen = f"{max(int(now), 0):012d}-{secrets.token_hex(6)}"
        return Trashed(
            id=chosen,
            path=self._folder / chosen / _SKILL,
            original=place.path,
            source=source,
            removed_at=now,
            hash=_hash(place),
        )


def _relative(skill: Path, root: Path) -> str:
    """Return the way from the root to the skill by their names alone."""
    text = os.fspath(skill)
    if ".." in text.replace("\\", "/").split("/"):
        raise RemovalError(shown(text), "has a `..` step: give its plain path.")
    named = Path(os.path.abspath(text))
    for base in (Path(os.path.abspath(root)), Path(os.path.realpath(root))):
        if named == base:
            raise RemovalError(shown(text), "is the skills root itself: name one skill in it.")
        if named.is_relative_to(base):
            return named.relative_to(base).as_posix()
    raise RemovalError(shown(text), f"is not inside {shown(str(root))}.")


def _skill_state(place: Place) -> os.stat_result:
    """Return the state of a skill's folder, or of the link that stands for one."""
    state = folder_move.state_of(place)
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


def _hash(place: Place) -> str:
    """Return the hash of all files of a skill; a link is not followed, so it has none."""
    state = folder_move.state_of(place)
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


def _split(relative: str) -> tuple[str, str]:
    parent, _, name = relative.rpartition("/")
    return parent, name


def _dump(removed: Trashed, held: Root, relative: str) -> bytes:
    fields = {**asdict(removed), "path": str(removed.path), "original": str(removed.original)}
    return json.dumps({**fields, "root": str(held.path), "place": relative}, indent=2).encode()


def _ids(trash: Root) -> list[str]:
    return [name for name, _ in trash.list() if _ID.match(name)]


def _load(trash: Root, removed: str) -> Mapping[str, Any]:
    if not _ID.match(removed) or not trash.exists(f"{removed}/{_RECORD}"):
        raise RemovalError(shown(removed), "is not in the trash.")
    try:
        found = json.loads(trash.read(f"{removed}/{_RECORD}", _MAX_RECORD))
    except ValueError as error:
        raise RemovalError(removed, "has a damaged record: move it back by hand.") from error
    return found if isinstance(found, dict) else {}


def _parse(trash: Root, removed: str) -> Trashed:
    """Return an entry; one whose record is lost has at least the time in its name."""
    try:
        record = _load(trash, removed)
    except RemovalError:
        record = {}
    noted = record.get("removed_at")
    return Trashed(
        id=removed,
        path=trash.path / removed / _SKILL,
        original=Path(str(record.get("original", ""))),
        source=str(record.get("source", "")),
        removed_at=float(noted if isinstance(noted, int | float) else removed.partition("-")[0]),
        hash=str(record.get("hash", "")),
    )


@contextmanager
def _reported(path: Path) -> Iterator[None]:
    try:
        yield
    except PathError as error:
        raise RemovalError(error.path, error.problem) from error
    except OSError as error:
        raise RemovalError(shown(str(path)), f"cannot be moved: {error.strerror}.") from error
