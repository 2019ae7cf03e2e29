"""The folder of one skill: read whole, and changed as a whole or not at all.

A change of several files cannot be one step on a disk, but to exchange two folders is. So the whole
skill is made anew where nobody looks, and then takes the place of the old one: every reader finds
the old skill or the new one, whenever the writer is killed, and has nothing to settle. What was
there before is kept in the state folder first, for the way back.

Some file systems can exchange nothing (`files/transaction`). There the new skill is marked as ready
before the old one goes, and for a moment there is none: whoever takes the lock next finds the mark
and brings the change to its end.

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
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from prowess.errors import ContainmentError, PathError, StaleChangeError
from prowess.host.files.containment import Hook, Root
from prowess.host.files.handles import reporting
from prowess.host.files.state_files import Hold, hold_alone
from prowess.host.files.transaction import (
    READY,
    SPARE,
    RootPlace,
    copy_over,
    is_other_disk,
    move,
    swap,
)
from prowess.runtime.workshop.ports import DEFAULT_LIMITS, SKILL_FILE, FolderLimits
from prowess.safety.paths import (
    TEMPORARY_PREFIX,
    PathRefused,
    collision_key,
    content_hash,
    is_hidden,
    segments,
    shown,
)
from prowess.sharing.lock import digest_of
from prowess.workshop.proposal import Change, result_of

KEPT_CHANGES = 20
_RECORD, _OLD = "record.json", "old"
_ID = re.compile(r"[0-9]{20}-[0-9a-f]{8}\Z")
_MAX_RECORD = 4 * 1024 * 1024
_MAX_FILE = 64 * 1024 * 1024
_PRIVATE, _PRIVATE_FOLDER, _NEW_FILE, _PERMISSIONS = 0o600, 0o700, 0o644, 0o777


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedChange:
    """Which files a change replaces, and by what."""

    id: str
    # By path: the permissions of the file that is there, and the digest of the one that will be.
    old: Mapping[str, int | None]
    new: Mapping[str, str | None]

    def dump(self) -> bytes:
        """Return it as JSON."""
        return json.dumps({"old": self.old, "new": self.new}).encode()

    @classmethod
    def parse(cls, change: str, found: Mapping[str, Any]) -> "NotedChange":
        """Read what `dump` wrote."""
        old, new = found["old"], found["new"]
        return cls(
            id=change,
            old={str(path): None if mode is None else int(mode) for path, mode in old.items()},
            new={str(path): None if new[path] is None else str(new[path]) for path in old},
        )


class ChangeJournal:
    """The notes about one skill, in a folder of their own."""

    def __init__(self, folder: Root) -> None:
        self._folder = folder

    def keep(self, change: NotedChange, files: Mapping[str, bytes]) -> None:
        """Keep the files that a change will replace, and what it replaces them by."""
        for path in self.ids()[: -(KEPT_CHANGES - 1)]:
            self._folder.remove_tree(path)
        for path, data in files.items():
            kept = f"{change.id}/{_OLD}/{path}"
            self._folder.write(kept, data, mode=_PRIVATE, exclusive=True)
        self._folder.write(f"{change.id}/{_RECORD}", change.dump(), mode=_PRIVATE)

    def forget(self, change: str) -> None:
        """Drop what was kept for a change that was never made."""
        if self._folder.exists(change):
            self._folder.remove_tree(change)

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


class _File(NamedTuple):
    data: bytes
    mode: int


class SkillFolder:
    """One skill below a skills root; what is remembered of its changes is in a state folder."""

    def __init__(
        self,
        root: Path,
        name: str,
        state: Path,
        *,
        swap_hook: Hook | None = None,
        hold: Hold | None = None,
    ) -> None:
        """Nothing is read or made yet; `swap_hook` lets a test change the disk at each step.

        `hold` keeps other machines out that write the same folder, by its path.

        Raises:
            PathError: the name is not one plain folder name.
        """
        try:
            self.name = segments(name, max_depth=1)[0]
        except PathRefused as error:
            raise PathError(shown(name), f"cannot be a skill's folder: {error.problem}") from error
        # The folder above is held to where it is now; its last step is taken by handle.
        self._above, self._step = Path(os.path.realpath(root.parent)), root.name
        self._root = self._above / self._step
        # Two spellings of one folder must wait for each other.
        key = hashlib.sha256(f"{self._root}\0{collision_key(name)}".encode()).hexdigest()[:32]
        self._state = Path(state) / "skill-changes" / key
        # Known without a note: what lies there while nobody holds the lock was cut off.
        own = hashlib.sha256(os.fsencode(os.path.realpath(self._state))).hexdigest()[:16]
        self._staging = f"{TEMPORARY_PREFIX}{own}"
        self._hook: Hook = swap_hook or (lambda _step: None)
        self._hold: Hold = hold or (lambda _path: nullcontext())

    @property
    def is_cut_off(self) -> bool:
        """Whether a change goes on, or was killed: then whoever takes the lock settles it."""
        return os.path.lexists(self._root / self._staging)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other writers out, in this process and in others; what was cut off is cleared away.

        Raises:
            PathError: the state folder cannot be used, or a change cannot be brought to its end.
        """
        with (
            hold_alone(str(self._state / "change"), str(self._state)),
            self._hold(str(self._root / self.name)),
        ):
            self._recover()
            yield

    def read_all(self, limits: FolderLimits = DEFAULT_LIMITS) -> dict[str, bytes]:
        """Return every file of the skill by path; none where there is no such skill.

        Raises:
            PathError: a file is a link or cannot be read, or there is more than the limits allow.
        """
        with self._skills() as root:
            return {} if root is None else _contents(self._read(root, self.name, limits))

    def apply(
        self,
        files: Mapping[str, bytes | None],
        expected: str,
        modes: Mapping[str, int] | None = None,
    ) -> str:
        """Write and delete all of `files` or none, and return the id of what was there before.

        The caller holds the lock. `modes` are for files that get others than they had.

        Raises:
            StaleChangeError: the skill is not the one with the hash `expected`.
            PathError: a file cannot be written; the skill is as it was.
        """
        with (
            self._make_skills() as root,
            Root.open(self._state, create=True, swap_hook=self._hook) as state,
        ):
            before, journal = self._read(root, self.name), ChangeJournal(state)
            self._refuse_stale(before, expected)
            change = _note(before, files)
            kept = {path: before[path].data for path in files if path in before}
            outcome = result_of(_contents(before), Change(self.name, files))
            try:
                root.make_folder(self._staging, mode=_PRIVATE_FOLDER)
                journal.keep(change, kept)
                self._hook("noted")
                self._stage(root, change, files, modes or {})
                self._hook("staged")
                self._refuse_stale(self._read(root, self._place(change.id)), content_hash(outcome))
                self._refuse_stale(self._read(root, self.name), expected)
                self._publish(root, change, expected, is_left=bool(outcome))
                self._hook("published")
            finally:
                # Clearing away now is a kindness: whoever takes the lock next does it all the same.
                with suppress(PathError):
                    self._clear(root, journal)
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
            wanted = {path: None if new is None else digest_of(new) for path, new in files.items()}
            return last[0] if last and journal.load(last[0]).new == wanted else ""

    @contextmanager
    def _skills(self) -> Iterator[Root | None]:
        """Hold the folder of all skills; None where there is none."""
        with ExitStack() as stack:
            if not self._above.is_dir():
                yield None
                return
            above = stack.enter_context(self._hold_above())
            is_there = above.exists(self._step)
            yield stack.enter_context(above.inside(self._step)) if is_there else None

    @contextmanager
    def _make_skills(self) -> Iterator[Root]:
        """Hold the folder of all skills, which is made where it is missing."""
        with self._hold_above(create=True) as above:
            if not above.exists(self._step):
                above.make_folder(self._step)
            with above.inside(self._step) as root:
                yield root

    @contextmanager
    def _hold_above(self, *, create: bool = False) -> Iterator[Root]:
        with Root.open(self._above, create=create, swap_hook=self._hook) as above:
            if above.path != self._above:
                problem = "has become a link since it was looked at: try again."
                raise ContainmentError(shown(str(self._above)), problem)
            yield above

    def _read(
        self, root: Root, folder: str, limits: FolderLimits = DEFAULT_LIMITS
    ) -> dict[str, _File]:
        """Read every file of a folder but what writers leave behind."""
        files: dict[str, _File] = {}
        if not root.exists(folder):
            return files
        left = limits.max_bytes
        entries = root.walk(folder, max_files=limits.max_files, max_depth=limits.max_depth)
        for place, state in entries:
            path = place[len(folder) + 1 :]
            if is_hidden(path):
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

    def _place(self, name: str) -> str:
        return f"{self._staging}/{name}"

    def _stage(
        self,
        root: Root,
        change: NotedChange,
        files: Mapping[str, bytes | None],
        modes: Mapping[str, int],
    ) -> None:
        """Make the whole skill as it will be, down to the disk."""
        new = self._place(change.id)
        if root.exists(self.name):
            with reporting(self.name, "copied", shown(str(root.path))):
                copy_over(RootPlace(root, self.name), RootPlace(root, new), is_hidden)
        for path, data in files.items():
            try:
                if data is not None:
                    mode = modes.get(path) or change.old[path] or _NEW_FILE
                    root.write(f"{new}/{path}", data, mode=mode)
                elif change.old[path] is not None:
                    self._drop(root, f"{new}/{path}")
            except ContainmentError:
                raise
            except PathError as error:
                # A person knows the file, and not the name under which it waits.
                raise PathError(shown(f"{self.name}/{path}"), error.problem) from error

    def _drop(self, root: Root, place: str) -> None:
        """Remove a file, and the folders that held nothing else."""
        root.unlink(place)
        above = place.rpartition("/")[0]
        while above != self._staging:
            root.remove_empty(above)
            above = above.rpartition("/")[0]

    def _publish(self, root: Root, change: NotedChange, expected: str, *, is_left: bool) -> None:
        """Let the new skill take the place of the old one, if that is still what was looked at."""
        new, spare = self._place(change.id), self._place(SPARE)
        if not root.exists(self.name):
            move(root, new, self.name)
        elif not is_left:
            move(root, self.name, spare)
            self._keep_foreign(root, spare, expected)
        elif swap(root, new, self.name):
            self._keep_foreign(root, new, expected)
        else:
            root.rename(new, self._place(READY))
            self._hook("ready")
            self._finish(root)

    def _keep_foreign(self, root: Root, old: str, expected: str) -> None:
        """Put back what somebody wrote to in the last moment.

        Raises:
            StaleChangeError: somebody did.
        """
        self._hook("swapped")
        try:
            self._refuse_stale(self._read(root, old), expected)
        except (PathError, StaleChangeError):
            if root.exists(self.name):
                swap(root, old, self.name)
            else:
                move(root, old, self.name)
            raise

    def _finish(self, root: Root) -> None:
        """Let a skill that is ready take its place where two folders cannot be exchanged."""
        if root.exists(self.name):
            try:
                root.rename(self.name, self._place(SPARE))
            except PathError as error:
                if not is_other_disk(error):
                    raise
                self._pour(root)
                return
        self._hook("gone")
        root.rename(self._place(READY), self.name)

    def _pour(self, root: Root) -> None:
        """Write a skill that is ready over one that cannot be moved, as in the layers of an image.

        Without its `SKILL.md` nobody finds it meanwhile, and that is written last.
        """
        ready, page = self._read(root, self._place(READY)), f"{self.name}/{SKILL_FILE}"
        if root.exists(page):
            root.unlink(page)
        self._hook("gone")
        for path in self._read(root, self.name).keys() - ready.keys():
            root.unlink(f"{self.name}/{path}")
        for path in sorted(ready, key=lambda path: (path == SKILL_FILE, path)):
            root.write(f"{self.name}/{path}", ready[path].data, mode=ready[path].mode)
        root.remove_tree(self._place(READY))

    def _recover(self) -> None:
        if not self._state.is_dir():
            return
        with self._skills() as root, Root.open(self._state, swap_hook=self._hook) as state:
            if root is not None and root.exists(self._staging):
                if root.exists(self._place(READY)):
                    self._finish(root)
                # In a folder that cannot be written it stays, and nobody looks at it.
                with suppress(PathError):
                    self._clear(root, ChangeJournal(state))

    def _clear(self, root: Root, journal: ChangeJournal) -> None:
        """Remove what is left of a change, and what was kept for one that was never made."""
        # What is ready may be all that there is of the skill.
        if not root.exists(self._staging) or root.exists(self._place(READY)):
            return
        for name, _ in root.list(self._staging):
            if _ID.match(name) and not self._is_made(root, journal, name):
                journal.forget(name)
        root.remove_tree(self._staging)

    def _is_made(self, root: Root, journal: ChangeJournal, change: str) -> bool:
        try:
            noted = journal.load(change).new
        except PathError:
            # It was cut off before all of it was kept.
            return False
        found = self._read(root, self.name)
        return all(
            (None if path not in found else digest_of(found[path].data)) == digest
            for path, digest in noted.items()
        )


def _note(before: Mapping[str, _File], files: Mapping[str, bytes | None]) -> NotedChange:
    return NotedChange(
        id=f"{time.time_ns():020d}-{secrets.token_hex(4)}",
        old={path: before[path].mode if path in before else None for path in files},
        new={path: None if data is None else digest_of(data) for path, data in files.items()},
    )


def _contents(files: Mapping[str, _File]) -> dict[str, bytes]:
    return {path: file.data for path, file in files.items()}
