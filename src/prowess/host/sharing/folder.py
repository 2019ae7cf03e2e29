"""A folder of skills with the lock beside it, changed together: old and old, or new and new.

A skill and its lock are two files on a disk and cannot change in one step. So what is about to
happen is noted first; then the skill changes, in one step (`host/writers/change`); then the lock.
Whoever reads after a kill compares the skill with the note: where it is the new one, the lock
counts as the new one too, and the next writer writes it down.
"""

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prowess.errors import ArchiveError, LockError, PathError, explain_failure
from prowess.host.files.archives import read_archive
from prowess.host.files.containment import Root
from prowess.host.files.state_files import locked, read_mapping, write_private
from prowess.host.files.transaction import is_stray_folder
from prowess.host.writers.change import SkillFolder
from prowess.host.writers.export import pack_build
from prowess.host.writers.trash import SkillRemoval
from prowess.runtime.harness.export import Build
from prowess.runtime.sharing.ports import Package, hash_package
from prowess.runtime.sharing.sync import CopiedFile
from prowess.safety.paths import content_hash, is_hidden, shown
from prowess.sharing.lock import (
    LOCK_FILE,
    NOT_A_FILE,
    PREFIX,
    Files,
    Lock,
    LockEntry,
    content_digest,
    dump,
    parse,
)

_MOST_LOCK, _MOST_ENTRIES, _CHUNK = 64 << 20, 20_000, 1 << 20
_PLAIN, _EXECUTABLE = 0o644, 0o755
_OPENING = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_PENDING, _PACKAGES = "sharing", "packages"


class LockedFolder:
    """Skills below `skills`, and `prowess.lock` in the folder `top`."""

    def __init__(
        self, top: str, skills: str, state: str, *, source: str, now: Callable[[], float]
    ) -> None:
        """Nothing is read yet; `source` is what the trash calls the folder's tier."""
        self.top, self.skills, self._state = top, skills, state
        self._source, self._now = source, now
        self.lock_path = os.path.join(top, LOCK_FILE)
        key = hashlib.sha256(os.fsencode(os.path.realpath(self.lock_path))).hexdigest()[:32]
        self._pending = os.path.join(state, _PENDING, f"{key}.json")

    def locate(self, name: str) -> str:
        """Return where the folder of a skill is, or would be."""
        return os.path.join(self.skills, name)

    def relate(self, path: str) -> str:
        """Return the way to a path from the lock's folder."""
        return os.path.relpath(os.path.realpath(path), os.path.realpath(self.top)).replace(
            os.sep, "/"
        )

    def resolve(self, path: str) -> str:
        """Return the whole path of a way from the lock's folder."""
        return os.path.normpath(os.path.join(self.top, path))

    def has_lock(self) -> bool:
        """Return whether there is a lock, or was about to be one."""
        return os.path.lexists(self.lock_path) or os.path.exists(self._pending)

    def read_lock(self) -> Lock:
        """Return the lock, with what a killed process had already done; empty where none is."""
        return self._with_pending(self._read_file())

    def settle(self) -> None:
        """Bring to its end, or clear away, what killed processes left; nothing is lost by it."""
        if os.path.exists(self._pending) or self._has_strays():
            with self._hold():
                pass

    def hash(self, name: str) -> Files | None:
        """Return the digests of a skill's files; None where there is no such folder."""
        return hash_folder(self.locate(name))

    def read(self, name: str) -> Package:
        """Return the files of a skill; none where there is no such folder."""
        folder = self.locate(name)
        modes = {
            path: os.lstat(os.path.join(folder, path)).st_mode for path in self.hash(name) or {}
        }
        files = SkillFolder(Path(self.skills), name, Path(self._state)).read_all()
        return {
            path: CopiedFile(content, bool(modes.get(path, 0) & stat.S_IXUSR))
            for path, content in files.items()
        }

    def place(self, name: str, files: Package, entry: LockEntry) -> None:
        """Write a skill and its entry; a kill leaves both old or both new."""
        folder = SkillFolder(Path(self.skills), name, Path(self._state))
        with self._hold() as lock, folder.lock():
            before = folder.read_all()
            change: dict[str, bytes | None] = dict.fromkeys(before)
            change.update({path: file.content for path, file in files.items()})
            modes = {
                path: _EXECUTABLE if file.executable else _PLAIN for path, file in files.items()
            }
            with self._note(name, entry, content_digest(hash_package(files))):
                if before != {path: file.content for path, file in files.items()}:
                    folder.apply(change, content_hash(before), modes)
                self._write(lock.put(name, entry))

    def note(self, name: str, entry: LockEntry | None) -> None:
        """Change the lock alone."""
        with self._hold() as lock:
            self._write(lock.drop(name) if entry is None else lock.put(name, entry))

    def remove(self, name: str) -> str:
        """Move a skill to the trash, drop its entry, and return its id there, if it was there."""
        with self._hold() as lock, self._note(name, None, ""):
            gone = self._trash(name)
            self._write(lock.drop(name))
        return gone

    def set_aside(self, name: str) -> None:
        """Put a skill into the trash as it is, for what takes its place in one step."""
        try:
            SkillFolder(Path(self.skills), name, Path(self._state)).read_all()
        except PathError:
            # With a link in it, or too large, it cannot be changed as a whole: it goes itself.
            self._trash(name)
        else:
            self._trash(name, stays=True)

    def _trash(self, name: str, *, stays: bool = False) -> str:
        removal, now = SkillRemoval(self._state), self._now()
        gone = removal.put(self.locate(name), self.skills, self._source, now, stays=stays)
        return "" if gone is None else gone.id

    def list_unmanaged(self) -> tuple[str, ...]:
        """Return the folders with a skill that the lock does not name."""
        known = self.read_lock().skills
        try:
            names = sorted(os.listdir(self.skills))
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise PathError(
                shown(self.skills), f"cannot be read: {explain_failure(error)}."
            ) from error
        return tuple(
            name
            for name in names
            if name not in known
            and not name.startswith(".")
            and os.path.isfile(os.path.join(self.skills, name, "SKILL.md"))
        )

    def _read_file(self) -> Lock:
        try:
            with Root.open(self.top) as root:
                if not root.exists(LOCK_FILE):
                    return Lock()
                return parse(root.read(LOCK_FILE, _MOST_LOCK), self.lock_path)
        except PathError as error:
            if not os.path.isdir(self.top):
                return Lock()
            raise LockError(shown(self.lock_path), error.problem) from error

    def _write(self, lock: Lock) -> None:
        with Root.open(self.top, create=True) as root:
            root.write(LOCK_FILE, dump(lock))

    @contextmanager
    def _hold(self) -> Iterator[Lock]:
        """Keep other writers out, and give the lock with what was left undone."""
        try:
            with locked(self._pending):
                self._settle_changes()
                lock = self.read_lock()
                if os.path.exists(self._pending):
                    self._write(lock)
                    os.unlink(self._pending)
                yield lock
        except OSError as error:
            problem = f"cannot be locked: {explain_failure(error)}."
            raise PathError(shown(self._pending), problem) from error

    def _has_strays(self) -> bool:
        try:
            return any(map(is_stray_folder, os.listdir(self.skills)))
        except OSError:
            # Whoever reads or writes there next says what is wrong with it.
            return False

    def _settle_changes(self) -> None:
        """Settle what was cut off of changes to skills that are locked, or were about to be."""
        if not self._has_strays():
            return
        noted = str(self._read_note().get("skill") or "")
        for name in sorted({*self._read_file().skills, noted} - {""}):
            folder = SkillFolder(Path(self.skills), name, Path(self._state))
            if folder.is_cut_off:
                with folder.lock():
                    pass

    @contextmanager
    def _note(self, name: str, entry: LockEntry | None, digest: str) -> Iterator[None]:
        """Write down what is about to happen, for as long as it may be left half done."""
        one = Lock() if entry is None else Lock(skills={name: entry})
        note = {"skill": name, "digest": digest, "lock": dump(one).decode()}
        write_private(self._pending, json.dumps(note))
        try:
            yield
        finally:
            # After a failure the skill is as it was, and so is its entry.
            os.unlink(self._pending)

    def _with_pending(self, lock: Lock) -> Lock:
        note = self._read_note()
        if not note:
            return lock
        try:
            name, digest = str(note["skill"]), str(note["digest"])
            entry = parse(str(note["lock"]).encode(), self._pending).skills.get(name)
        except (ValueError, KeyError) as error:
            raise self._describe_damage() from error
        found = self.hash(name)
        if ("" if found is None else content_digest(found)) != digest:
            return lock
        return lock.drop(name) if entry is None else lock.put(name, entry)

    def _read_note(self) -> Mapping[str, Any]:
        try:
            return read_mapping(self._pending)
        except (OSError, ValueError) as error:
            raise self._describe_damage() from error

    def _describe_damage(self) -> LockError:
        return LockError(shown(self._pending), "is damaged: remove this file.")


def hash_folder(folder: str) -> Files | None:
    """Return the digest of every file below a folder; None where there is no such folder.

    Raises:
        PathError: it, or something in it, cannot be read.
    """
    try:
        if not stat.S_ISDIR(os.lstat(folder).st_mode):
            return {"": NOT_A_FILE}
        return dict(_hash_all(folder))
    except FileNotFoundError:
        if not os.path.lexists(folder):
            return None
        raise PathError(shown(folder), "changed while it was read: try again.") from None
    except OSError as error:
        place = str(error.filename or folder)
        raise PathError(shown(place), f"cannot be read: {explain_failure(error)}.") from error


def list_files(folder: str) -> tuple[str, ...]:
    """Return the paths of all files below a folder, as far as it can be read."""
    found = []
    for above, _, names in os.walk(folder):
        base = os.path.relpath(above, folder).replace(os.sep, "/")
        found += [name if base == "." else f"{base}/{name}" for name in names]
    return tuple(path for path in found if not is_hidden(path))


def _hash_all(folder: str) -> Iterator[tuple[str, str]]:
    waiting, seen = [""], 0
    while waiting:
        above = waiting.pop()
        with os.scandir(os.path.join(folder, above)) as entries:
            for entry in entries:
                seen += 1
                path = f"{above}/{entry.name}" if above else entry.name
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(path)
                elif not is_hidden(entry.name):
                    yield path, _hash_entry(entry)
        if seen > _MOST_ENTRIES:
            raise PathError(shown(folder), f"has more than {_MOST_ENTRIES} entries.")


def _hash_entry(entry: "os.DirEntry[str]") -> str:
    if not entry.is_file(follow_symlinks=False):
        return NOT_A_FILE
    handle = os.open(entry.path, _OPENING)
    try:
        hashed = hashlib.sha256()
        while chunk := os.read(handle, _CHUNK):
            hashed.update(chunk)
        return hashed.hexdigest()
    finally:
        os.close(handle)


class KeptPackages:
    """Packages as `.skill` files in the state folder, each under its digest."""

    def __init__(self, state: str) -> None:
        self._folder = os.path.join(state, _PACKAGES)

    def has(self, digest: str) -> bool:
        """Return whether one is kept, without reading it."""
        return os.path.isfile(os.path.join(self._folder, _name(digest)))

    def keep(self, name: str, files: Package) -> None:
        """Keep a package."""
        digest = content_digest(hash_package(files))
        if self.load(digest) is not None:
            return
        content = pack_build(Build(name=name, files=files))
        try:
            with Root.open(self._folder, create=True) as root:
                root.write(_name(digest), content, mode=0o600)
        except PathError as error:
            # A person knows the folder, and no digest.
            raise PathError(shown(self._folder), error.problem) from error

    def load(self, digest: str) -> Package | None:
        """Return a package that has that digest, checked; None where none is kept."""
        try:
            with open(os.path.join(self._folder, _name(digest)), "rb") as file:
                archive = read_archive(file, strip=1)
        except (OSError, ArchiveError):
            # Not there, or damaged: it is fetched again, and what is fetched is checked.
            return None
        files = {one.path: CopiedFile(one.content, one.executable) for one in archive.members}
        return files if content_digest(hash_package(files)) == digest else None


def _name(digest: str) -> str:
    return f"{digest.removeprefix(PREFIX)}.skill"
