"""Moving a folder or a file from one root to another: by handles, and only what was looked at."""

import errno
import os
import secrets
import stat
from pathlib import Path
from typing import NamedTuple

from prowess.errors import ContainmentError, PathError
from prowess.host.files.containment import TEMPORARY_PREFIX, Root
from prowess.host.files.handles import BY_HANDLE
from prowess.safety.paths import shown

_CHUNK = 1 << 20
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)


class Place(NamedTuple):
    """A name in a folder of a root."""

    root: Root
    parent: str
    name: str

    @property
    def relative(self) -> str:
        """The way from the root."""
        return f"{self.parent}/{self.name}" if self.parent else self.name

    @property
    def path(self) -> Path:
        """The whole path, for messages."""
        return self.root.path / self.relative

    def hidden(self) -> "Place":
        """Return a place beside it that nothing looks at."""
        return self._replace(name=f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}")


def state_of(place: Place) -> os.stat_result | None:
    """Return the state of what is there, of a link its own; None where nothing is.

    Raises:
        PathError: the folder around it is missing, or lies behind a link.
    """
    return dict(place.root.list(place.parent)).get(place.name)


def move(old: Place, new: Place, expected: os.stat_result) -> None:
    """Move what has the state `expected` from `old` to `new`, to another disk if need be.

    Raises:
        ContainmentError: something else was there when it was moved; it is where it was.
        PathError: it cannot be moved.
        OSError: the system refuses.
    """
    try:
        rename(old, new)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _move_over(old, new, expected)
    else:
        _check(old, new, expected)


def rename(old: Place, new: Place) -> None:
    """Move whatever is at `old` now, in one step; a link itself."""
    if not BY_HANDLE:
        os.rename(old.path, new.path)
        return
    with old.root.handle(old.parent) as source, new.root.handle(new.parent) as target:
        os.rename(old.name, new.name, src_dir_fd=source, dst_dir_fd=target)
        os.fsync(target)
        os.fsync(source)


def _check(old: Place, new: Place, expected: os.stat_result) -> None:
    """Move back what is not the folder that was looked at."""
    found = state_of(new)
    if found is None or (found.st_dev, found.st_ino) != (expected.st_dev, expected.st_ino):
        if found is not None:
            rename(new, old)
        raise ContainmentError(shown(str(old.path)), "was swapped meanwhile: look at it again.")


def _move_over(old: Place, new: Place, expected: os.stat_result) -> None:
    """Copy to the other disk, then let the copy appear and the original go."""
    copy, leaving = new.hidden(), old.hidden()
    try:
        _copy(old, copy, expected)
        rename(old, leaving)
        _check(old, leaving, expected)
        rename(copy, new)
    except BaseException:
        if leaving.root.exists(leaving.relative) and not old.root.exists(old.relative):
            rename(leaving, old)
        if copy.root.exists(copy.relative):
            copy.root.remove_tree(copy.relative)
        raise
    leaving.root.remove_tree(leaving.relative)


def _copy(old: Place, new: Place, expected: os.stat_result) -> None:
    with old.root.handle(old.parent) as source, new.root.handle(new.parent) as target:
        if stat.S_ISLNK(expected.st_mode):
            os.symlink(os.readlink(old.name, dir_fd=source), new.name, dir_fd=target)
            return
        if stat.S_ISREG(expected.st_mode):
            _copy_file(source, old.name, target, new.name)
            return
    new.root.make_folder(new.relative)
    with old.root.handle(old.relative) as source, new.root.handle(new.relative) as target:
        for folder, folders, files, here in os.fwalk(".", dir_fd=source, follow_symlinks=False):
            for name in (*folders, *files):
                _copy_entry(here, name, target, os.path.join(folder, name))


def _copy_entry(here: int, name: str, target: int, path: str) -> None:
    """Copy one entry; the copy is private until it is whole, so its path can be used as it is."""
    state = os.stat(name, dir_fd=here, follow_symlinks=False)
    if stat.S_ISDIR(state.st_mode):
        os.mkdir(path, stat.S_IMODE(state.st_mode) | stat.S_IRWXU, dir_fd=target)
    elif stat.S_ISLNK(state.st_mode):
        os.symlink(os.readlink(name, dir_fd=here), path, dir_fd=target)
    elif stat.S_ISREG(state.st_mode):
        _copy_file(here, name, target, path)
    else:
        raise PathError(shown(path), "is neither a file nor a folder: it cannot be copied.")


def _copy_file(here: int, name: str, target: int, path: str) -> None:
    source = os.open(name, _READ, dir_fd=here)
    try:
        mode = stat.S_IMODE(os.fstat(source).st_mode) & 0o777
        written = os.open(path, _CREATE, mode, dir_fd=target)
        try:
            while chunk := os.read(source, _CHUNK):
                rest = memoryview(chunk)
                while rest:
                    rest = rest[os.write(written, rest) :]
            os.fsync(written)
        finally:
            os.close(written)
    finally:
        os.close(source)
