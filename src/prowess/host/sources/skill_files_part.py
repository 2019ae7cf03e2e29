"""All files of a skill as bytes, for the scanner: nothing is followed and nothing is passed over.

One walker by folder handle. A link, a device or a file that cannot be read becomes an entry of the
ledger that says so, as does everything beyond the limits; no name or ignore file keeps a file out.
"""

import os
import stat
from dataclasses import dataclass, field

from prowess.errors import PathError
from prowess.host.files.handles import Folder, is_folder, open_file, open_real, step
from prowess.safety.intake.ledger import Limits
from prowess.safety.model import Handling, LedgerEntry

_CHUNK = 1 << 18
_MOST_ENTRIES = 20_000
# Of a repository's insides these take effect by themselves; the rest is its history.
_GIT = ".git"
_GIT_FILES = frozenset(("config", "config.worktree", "attributes"))
_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISDIR, "a folder that is reached through a link"),
)


@dataclass(frozen=True, slots=True)
class Gathered:
    """The files of a skill by their paths inside it, and what became of all others."""

    files: dict[str, bytes] = field(default_factory=dict)
    # Not read: each is a finding.
    refused: tuple[LedgerEntry, ...] = ()
    # Not read and no finding: what belongs to the history of a repository.
    noted: tuple[LedgerEntry, ...] = ()


def gather(folder: str, limits: Limits) -> Gathered:
    """Read every file below `folder`, which itself may be a link.

    Raises:
        PathError: the folder itself cannot be read.
    """
    walker = _Walker(limits)
    try:
        top = open_real(os.path.realpath(folder), create=False)
    except OSError as error:
        raise PathError(folder, f"cannot be read: {error.strerror}.") from error
    try:
        walker.enter(top, "", 0)
    finally:
        if top.fd is not None:
            os.close(top.fd)
    return walker.result()


def read_file(path: str, limits: Limits) -> Gathered:
    """Read one file as a skill of its own.

    Raises:
        PathError: it cannot be read.
    """
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise PathError(path, f"cannot be read: {error.strerror}.") from error
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise PathError(path, "is not a regular file.")
        return Gathered({os.path.basename(path): _read(handle, limits.file_bytes + 1)})
    except OSError as error:
        raise PathError(path, f"cannot be read: {error.strerror}.") from error
    finally:
        os.close(handle)


def _read(handle: int, limit: int) -> bytes:
    chunks: list[bytes] = []
    left = limit
    while left > 0 and (chunk := os.read(handle, min(left, _CHUNK))):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)


@dataclass(slots=True)
class _Walker:
    """Goes through one skill, in the order of names."""

    limits: Limits
    files: dict[str, bytes] = field(default_factory=dict)
    refused: list[LedgerEntry] = field(default_factory=list)
    bytes_read: int = 0
    entries_seen: int = 0
    history_files: int = 0
    history_bytes: int = 0

    def enter(self, folder: Folder, prefix: str, depth: int) -> None:
        """Take all that a folder holds."""
        try:
            entries = folder.entries(_MOST_ENTRIES)
        except OSError as error:
            self.refuse(prefix.removesuffix("/"), 0, f"cannot be listed: {error.strerror}")
            return
        except PathError as error:
            self.refuse(prefix.removesuffix("/"), 0, error.problem.removesuffix("."))
            return
        for name, state in entries:
            if self.is_full(prefix + name):
                return
            self.entries_seen += 1
            try:
                self.take(folder, name, prefix, state, depth)
            except PathError as error:
                self.refuse(prefix + name, 0, error.problem.removesuffix("."))
            except OSError as error:
                self.refuse(prefix + name, 0, f"cannot be read: {error.strerror}")

    def is_full(self, path: str) -> bool:
        """Return whether the skill has more entries than are read; the first left out is named."""
        if self.entries_seen == _MOST_ENTRIES:
            self.refuse(path, 0, f"more than {_MOST_ENTRIES} entries: this and the rest is unread")
            self.entries_seen += 1
        return self.entries_seen > _MOST_ENTRIES

    def take(
        self, folder: Folder, name: str, prefix: str, state: os.stat_result, depth: int
    ) -> None:
        """Take one entry: go into a folder, read a file, name anything else."""
        path = prefix + name
        if stat.S_ISLNK(state.st_mode):
            self.refuse(path, 0, _link(folder, name))
        elif is_folder(state):
            if depth >= self.limits.depth:
                self.refuse(path, 0, f"lies deeper than {self.limits.depth} folders")
                return
            with step(folder, name, path) as inner:
                self.enter(inner, f"{path}/", depth + 1)
        elif not stat.S_ISREG(state.st_mode):
            self.refuse(path, 0, f"is {_kind(state.st_mode)}, not a file")
        elif _is_history(path):
            self.history_files += 1
            self.history_bytes += state.st_size
        else:
            self.read(folder, name, path, state.st_size)

    def read(self, folder: Folder, name: str, path: str, size: int) -> None:
        """Read one file, at most one byte more than the scanner takes."""
        if len(self.files) >= self.limits.files:
            self.refuse(path, size, f"the skill has more than {self.limits.files} files")
            return
        if self.bytes_read > self.limits.total_bytes:
            self.refuse(path, size, f"the skill is larger than {self.limits.total_bytes} bytes")
            return
        handle = open_file(folder, name, path)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                self.refuse(path, 0, "was swapped while it was opened")
                return
            data = _read(handle, self.limits.file_bytes + 1)
        finally:
            os.close(handle)
        self.bytes_read += len(data)
        self.files[path] = data

    def refuse(self, path: str, size: int, reason: str) -> None:
        """Name something that was not read."""
        self.refused.append(LedgerEntry(path or ".", Handling.REFUSED, size, reason))

    def result(self) -> Gathered:
        """Return what was gathered."""
        noted: tuple[LedgerEntry, ...] = ()
        if self.history_files:
            reason = (
                f"{self.history_files} files of a repository's history were not read;"
                " its hooks and its config were"
            )
            noted = (LedgerEntry(_GIT, Handling.HARMLESS, self.history_bytes, reason),)
        return Gathered(self.files, tuple(self.refused), noted)


def _is_history(path: str) -> bool:
    """Return whether a file only records what a repository was; hooks and config act."""
    parts = path.split("/")
    if _GIT not in parts[:-1]:
        return False
    inside = parts[parts.index(_GIT) + 1 :]
    return "hooks" not in inside[:-1] and inside[-1] not in _GIT_FILES


def _kind(mode: int) -> str:
    return next((kind for is_kind, kind in _KINDS if is_kind(mode)), "something unknown")


def _link(folder: Folder, name: str) -> str:
    """Say what a link leads to, without opening it."""
    try:
        target = os.readlink(folder.at(name), dir_fd=folder.fd)
        found = os.stat(folder.at(name), dir_fd=folder.fd)
    except FileNotFoundError:
        return "is a link to nothing"
    except OSError as error:
        return f"is a link that leads nowhere: {error.strerror}"
    plain = stat.S_ISREG(found.st_mode)
    kind = "a file" if plain else "a folder" if is_folder(found) else _kind(found.st_mode)
    away = " outside its folder" if os.path.isabs(target) or ".." in target.split("/") else ""
    return f"is a link to {kind}{away}, and links are not followed"
