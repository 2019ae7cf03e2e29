"""The folder of one skill: read whole, and changed as a whole or not at all.

A change of several files cannot be one step on a disk. So what is there before goes to a journal
first: each change has a folder with the files that it replaces, and while it is being made one note
beside those folders names it; to remove that note is what makes the change last. Whoever takes the
lock next and finds a change that was cut off puts back what was there: after a crash the skill is
the old one or the new one, never a mix.

Every step goes through `containment.Root`, so nothing outside is touched whatever is swapped. The
folder of all skills is such a step too: it is taken from the handle of the folder above it, each
time anew, and never through a link.
"""

import hashlib
import json
import os
import re
import secrets
import stat
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from prowess.errors import ContainmentError, PathError, StaleChangeError
from prowess.host.files.containment import Hook, Root
from prowess.host.files.state_files import locked
from prowess.host.files.transaction import hidden_name, is_stray_file
from prowess.runtime.workshop.ports import DEFAULT_LIMITS, SKILL_FILE, FolderLimits
from prowess.safety.model import content_hash
from prowess.safety.paths import PathRefused, collision_key, segments, shown

KEPT_CHANGES = 20
_NOTE, _RECORD, _OLD = "open.json", "record.json", "old"
_ID = re.compile(r"[0-9]{20}-[0-9a-f]{8}\Z")
_MAX_RECORD = 4 * 1024 * 1024
_MAX_FILE = 64 * 1024 * 1024
_PRIVATE = 0o600


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedChange:
    """Which files a change replaces, and what it puts on the disk on its way."""

    id: str
    # By path: the permissions of the file that is there, and the digest of the one that will be.
    old: Mapping[str, int | None]
    new: Mapping[str, str | None]
    # By path: where the new file waits.
    temporaries: Mapping[str, str]
    # The folders that the change makes, from the root on, the deepest last.
    folders: tuple[str, ...]

    def dump(self) -> bytes:
        """Return it as JSON."""
        fields = {"old": self.old, "new": self.new, "temporaries": self.temporaries}
        return json.dumps({**fields, "folders": self.folders}).encode()

    @classmethod
    def parse(cls, change: str, found: Mapping[str, Any]) -> "NotedChange":
        """Read what `dump` wrote."""
        old, new = found["old"], found["new"]
        return cls(
            id=change,
            old={str(path): None if mode is None else int(mode) for path, mode in old.items()},
            new={str(path): None if new[path] is None else str(new[path]) for path in old},
            temporaries={str(path): str(place) for path, place in found["temporaries"].items()},
            folders=tuple(map(str, found["folders"])),
        )


class ChangeJournal:
    """The notes about one skill, in a folder of their own."""

    def __init__(self, folder: Root) -> None:
        self._folder = folder

    def begin(self, change: NotedChange, files: Mapping[str, bytes]) -> None:
        """Keep the files that will be replaced, then note that the change is open."""
        for path in self.ids()[: -(KEPT_CHANGES - 1)]:
            self._folder.remove_tree(path)
        for path, data in files.items():
            kept = f"{change.id}/{_OLD}/{path}"
            self._folder.write(kept, data, mode=_PRIVATE, exclusive=True)
        self._folder.write(f"{change.id}/{_RECORD}", change.dump(), mode=_PRIVATE)
        self.note(change)

    def note(self, change: NotedChange) -> None:
        """Note that the change is open."""
        if not self._folder.exists(_NOTE):
            note = json.dumps({"change": change.id}).encode()
            self._folder.write(_NOTE, note, mode=_PRIVATE)

    def close(self) -> None:
        """Let the change last, or say that it has been taken back."""
        self._folder.unlink(_NOTE)

    def cut_off(self) -> NotedChange | None:
        """Return the change that was begun and never closed.

        Raises:
            PathError: what is noted cannot be read.
        """
        if not self._folder.exists(_NOTE):
            return None
        return self.load(str(self._json(_NOTE).get("change", "")))

    def load(self, change: str) -> NotedChange:
        """Return what is noted about a change.

        Raises:
            PathError: nothing is, or it cannot be read.
        """
        if not _ID.match(change):
            raise PathError(shown(change), "is not a change that is kept for this skill.")
        found = self._json(f"{change}/{_RECORD}")
        try:
            return NotedChange.parse(change, found)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self._describe_damage(change) from error

    def old_files(self, change: NotedChange) -> Iterator[tuple[str, bytes | None]]:
        """Yield the files as they were before the change; None for one that was not there."""
        for path, mode in change.old.items():
            kept = f"{change.id}/{_OLD}/{path}"
            yield path, None if mode is None else self._folder.read(kept, _MAX_FILE)

    def ids(self) -> tuple[str, ...]:
        """Return the ids of all changes that are kept, oldest first."""
        return tuple(name for name, _ in self._folder.list() if _ID.match(name))

    def _json(self, path: str) -> dict[str, Any]:
        try:
            found = json.loads(self._folder.read(path, _MAX_RECORD))
        except ValueError as error:
            raise self._describe_damage(path) from error
        return found if isinstance(found, dict) else {}

    def _describe_damage(self, path: str) -> PathError:
        problem = "is damaged: look at the skill, then delete this folder."
        return PathError(str(self._folder.path / path), problem)


_NEW_FILE, _PERMISSIONS = 0o644, 0o777
# Stands for the digest of what is no regular file.
_NO_FILE = "no file"


@dataclass(frozen=True, slots=True)
class Recovered:
    """A change that was cut off and has been taken back."""

    change: str
    # Files that somebody else has written since; they were left as they are.
    left: tuple[str, ...]


class _File(NamedTuple):
    data: bytes
    mode: int


class SkillFolder:
    """One skill below a skills root; what is remembered of its changes is in a state folder."""

    def __init__(
        self, root: Path, name: str, state: Path, *, swap_hook: Hook | None = None
    ) -> None:
        """Nothing is read or made yet; `swap_hook` lets a test change the disk at each step.

        Raises:
            PathError: the name is not one plain folder name.
        """
        try:
            self.name = segments(name, max_depth=1)[0]
        except PathRefused as error:
            raise PathError(shown(name), f"cannot be a skill's folder: {error.problem}") from error
        self.recovered: Recovered | None = None
        # The folder above is held to where it is now; its last step is taken by handle.
        self._above, self._step = Path(os.path.realpath(root.parent)), root.name
        self._root = self._above / self._step
        # Two spellings of one folder must wait for each other.
        key = hashlib.sha256(f"{self._root}\0{collision_key(name)}".encode()).hexdigest()[:32]
        self._state = Path(state) / "skill-changes" / key
        self._hook: Hook = swap_hook or (lambda _step: None)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other writers out, in this process and in others; a change cut off is taken back.

        Raises:
            PathError: the state folder cannot be used, or what was cut off cannot be taken back.
        """
        with ExitStack() as stack:
            try:
                stack.enter_context(locked(str(self._state / "change")))
            except OSError as error:
                problem = f"cannot be locked: {error.strerror}."
                raise PathError(str(self._state), problem) from error
            self._recover()
            yield

    def read_all(self, limits: FolderLimits = DEFAULT_LIMITS) -> dict[str, bytes]:
        """Return every file of the skill by path; none where there is no such skill.

        Raises:
            PathError: a file is a link or cannot be read, or there is more than the limits allow.
        """
        with self._skills() as root:
            return {} if root is None else _contents(self._read(root, limits))

    def apply(self, files: Mapping[str, bytes | None], expected: str) -> str:
        """Write and delete all of `files` or none, and return the id of what was there before.

        The caller holds the lock.

        Raises:
            StaleChangeError: the skill is not the one with the hash `expected`.
            PathError: a file cannot be written; the skill is as it was.
        """
        with (
            self._made_skills() as root,
            Root.open(self._state, create=True, swap_hook=self._hook) as state,
        ):
            before = self._read(root)
            self._refuse_stale(before, expected)
            change, journal = self._plan(root, before, files), ChangeJournal(state)
            journal.begin(change, {path: before[path].data for path in files if path in before})
            try:
                self._hook("noted")
                self._stage(root, change, files)
                self._hook("staged")
                self._refuse_stale(self._read(root, without=change.temporaries.values()), expected)
                self._publish(root, change)
                self._hook("published")
                journal.close()
            except BaseException as error:
                self._take_back(root, journal, change, error)
                raise
            # An empty folder is no part of a skill, so this may as well be cut off.
            for place in reversed(self._folders([p for p, new in change.new.items() if not new])):
                root.remove_empty(place)
        return change.id

    def previous(self, change: str) -> dict[str, bytes | None]:
        """Return the files that a change replaced, as they were; None for one that was not there.

        Raises:
            PathError: nothing is kept of that change.
        """
        with Root.open(self._state) as state:
            journal = ChangeJournal(state)
            return dict(journal.old_files(journal.load(change)))

    def last_change(self, files: Mapping[str, bytes | None]) -> str:
        """Return the id of the last change if it wrote exactly these files, else nothing.

        Raises:
            PathError: what is kept cannot be read.
        """
        if not self._state.is_dir():
            return ""
        with Root.open(self._state) as state:
            journal = ChangeJournal(state)
            last = journal.ids()[-1:]
            wanted = {path: None if body is None else _digest(body) for path, body in files.items()}
            return last[0] if last and journal.load(last[0]).new == wanted else ""

    @contextmanager
    def _skills(self) -> Iterator[Root | None]:
        """Hold the folder of all skills; None where there is none."""
        with ExitStack() as stack:
            if not self._above.is_dir():
                yield None
                return
            above = stack.enter_context(self._held_above())
            is_there = above.exists(self._step)
            yield stack.enter_context(above.inside(self._step)) if is_there else None

    @contextmanager
    def _made_skills(self) -> Iterator[Root]:
        """Hold the folder of all skills, which is made where it is missing."""
        with self._held_above(create=True) as above:
            if not above.exists(self._step):
                above.make_folder(self._step)
            with above.inside(self._step) as root:
                yield root

    @contextmanager
    def _held_above(self, *, create: bool = False) -> Iterator[Root]:
        with Root.open(self._above, create=create, swap_hook=self._hook) as above:
            if above.path != self._above:
                problem = "has become a link since it was looked at: try again."
                raise ContainmentError(shown(str(self._above)), problem)
            yield above

    def _read(
        self,
        root: Root,
        limits: FolderLimits = DEFAULT_LIMITS,
        *,
        without: Collection[str] = (),
    ) -> dict[str, _File]:
        """Read every file but the temporary ones of the change that is being made."""
        files: dict[str, _File] = {}
        if not root.exists(self.name):
            return files
        left = limits.max_bytes
        entries = root.walk(self.name, max_files=limits.max_files, max_depth=limits.max_depth)
        for place, state in entries:
            path = place[len(self.name) + 1 :]
            if path in without:
                continue
            data = root.read(place, limits.max_file_bytes)
            left -= len(data)
            if left < 0:
                raise PathError(shown(self.name), f"is larger than {limits.max_bytes} bytes.")
            files[path] = _File(data, stat.S_IMODE(state.st_mode) & _PERMISSIONS)
        return files

    def _refuse_stale(self, files: Mapping[str, _File], expected: str) -> None:
        found = content_hash(_contents(files))
        if found != expected:
            problem = "the skill changed while the change was made"
            raise StaleChangeError(self.name, problem, expected=expected, found=found)

    def _plan(
        self, root: Root, before: Mapping[str, _File], files: Mapping[str, bytes | None]
    ) -> NotedChange:
        written = [path for path, data in files.items() if data is not None]
        return NotedChange(
            id=f"{time.time_ns():020d}-{secrets.token_hex(4)}",
            old={path: before[path].mode if path in before else None for path in files},
            new={path: None if data is None else _digest(data) for path, data in files.items()},
            temporaries={path: _temporary(path) for path in written},
            folders=tuple(place for place in self._folders(files) if not root.exists(place)),
        )

    def _folders(self, files: Collection[str]) -> list[str]:
        """Return the skill's folder and those of the files, the deepest last."""
        return sorted({place for path in files for place in _parents(f"{self.name}/{path}")})

    def _stage(self, root: Root, change: NotedChange, files: Mapping[str, bytes | None]) -> None:
        """Write every new file beside its place, down to the disk."""
        for path, temporary in change.temporaries.items():
            old = change.old[path]
            mode = _NEW_FILE if old is None else old
            place = f"{self.name}/{temporary}"
            try:
                root.write(place, files[path] or b"", mode=mode, exclusive=True)
            except ContainmentError:
                raise
            except PathError as error:
                # A person knows the file, and not the name under which it waits.
                raise PathError(shown(f"{self.name}/{path}"), error.problem) from error

    def _publish(self, root: Root, change: NotedChange) -> None:
        """Let every new file take its name, `SKILL.md` last: it speaks of the others."""
        for path in sorted(change.temporaries, key=lambda path: (path == SKILL_FILE, path)):
            old, new = f"{self.name}/{change.temporaries[path]}", f"{self.name}/{path}"
            root.rename(old, new, replace=True)
            self._hook("renamed")
        for path, new_digest in change.new.items():
            if new_digest is None and change.old[path] is not None:
                root.unlink(f"{self.name}/{path}")
                self._hook("deleted")

    def _take_back(
        self, root: Root, journal: ChangeJournal, change: NotedChange, error: BaseException
    ) -> None:
        """Put the old files back; where that fails too, the note stays for whoever comes next."""
        try:
            # It is gone already where the last step of the change was the one that failed.
            journal.note(change)
            left = self._undo(root, journal, change)
            journal.close()
        except PathError as second:
            error.add_note(f"The files could not be put back yet: {second}")
        else:
            if left:
                error.add_note(f"Somebody else has written {', '.join(left)} meanwhile.")

    def _recover(self) -> None:
        with self._skills() as root, Root.open(self._state, swap_hook=self._hook) as state:
            if root is None:
                return
            journal = ChangeJournal(state)
            change = journal.cut_off()
            if change is not None:
                self.recovered = Recovered(change.id, self._undo(root, journal, change))
                journal.close()

    def _undo(self, root: Root, journal: ChangeJournal, change: NotedChange) -> tuple[str, ...]:
        """Bring back the old files; it may run again and again until it comes to its end."""
        # A skill that somebody has removed since stays removed.
        if not root.exists(self.name):
            return ()
        # A full disk has room again once the new files are gone.
        self._sweep(root, change)
        left = []
        for path, old in journal.old_files(change):
            place, wanted = f"{self.name}/{path}", None if old is None else _digest(old)
            found = _digest_of(root, place)
            if found == wanted:
                continue
            if found not in (None, change.new[path]):
                left.append(path)
            elif old is None:
                root.unlink(place)
            else:
                root.write(place, old, mode=change.old[path] or _NEW_FILE)
        for place in reversed(change.folders):
            root.remove_empty(place)
        return tuple(left)

    def _sweep(self, root: Root, change: NotedChange) -> None:
        """Remove the temporary files of a change, and those of a write that was killed."""
        for folder in self._folders(change.new):
            if not root.exists(folder):
                continue
            for name, state in root.list(folder):
                if is_stray_file(name, state):
                    root.unlink(f"{folder}/{name}")


def _contents(files: Mapping[str, _File]) -> dict[str, bytes]:
    return {path: file.data for path, file in files.items()}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _temporary(path: str) -> str:
    name = f"{hidden_name()}.tmp"
    folder = path.rpartition("/")[0]
    return f"{folder}/{name}" if folder else name


def _parents(place: str) -> Iterator[str]:
    steps = place.split("/")
    return ("/".join(steps[:end]) for end in range(1, len(steps)))


def _digest_of(root: Root, place: str) -> str | None:
    """Return the digest of a file as it is now; None where there is none."""
    state = root.state(place)
    if state is None:
        return None
    if not stat.S_ISREG(state.st_mode):
        return _NO_FILE
    return _digest(root.read(place, state.st_size))
