"""Changes to folders that happen as a whole: made ready where nobody looks, then moved in one step.

Linux can exchange two folders in one step, and move one only where nothing is. Elsewhere, and on
file systems that know neither, a look and then a plain rename stand for it: between the two lies a
moment, in which a killed process leaves the folder under its spare name.

Whatever a killed process leaves behind has a name that begins with `TEMPORARY_PREFIX`, so whoever
holds the lock next knows it and may remove it.
"""

import ctypes
import errno
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, Protocol

from prowess.errors import PathError
from prowess.host.files.containment import TEMPORARY_PREFIX, Root
from prowess.host.files.handles import BY_HANDLE, reporting
from prowess.safety.paths import shown

_PLAIN, _EXECUTABLE, _PRIVATE = 0o644, 0o755, 0o700
# A file that was being written, or a folder that was being filled.
_STRAY_FILE = re.compile(re.escape(TEMPORARY_PREFIX) + r"[0-9a-f]{16}\.tmp\Z")
_STRAY_FOLDER = re.compile(re.escape(TEMPORARY_PREFIX) + r"[0-9a-f]{16}\Z")


class NewFile(Protocol):
    """A file to write: its bytes, and whether it may be run."""

    @property
    def content(self) -> bytes:
        """All of it."""

    @property
    def executable(self) -> bool:
        """Whether it is a program."""


def hidden_name() -> str:
    """Return a new name that nothing looks at."""
    return f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}"


def is_stray_file(name: str, state: os.stat_result) -> bool:
    """Return whether something is what a write leaves behind that was killed."""
    return stat.S_ISREG(state.st_mode) and _STRAY_FILE.match(name) is not None


def is_stray(name: str, state: os.stat_result) -> bool:
    """Return whether something is what a write, or a move to another disk, left behind."""
    return is_stray_file(name, state) or is_stray_folder(name)


def is_stray_folder(name: str) -> bool:
    """Return whether a name is one under which folders, or copies from other disks, wait."""
    return _STRAY_FOLDER.match(name) is not None


@contextmanager
def staging(root: Root) -> Iterator[str]:
    """Hold a private folder inside `root`, and remove it with all that is left in it.

    Raises:
        PathError: it cannot be made or removed.
    """
    name = hidden_name()
    root.make_folder(name, mode=_PRIVATE)
    try:
        yield name
    finally:
        root.remove_tree(name)


@contextmanager
def moving(root: Root) -> Iterator[Callable[[str, str], None]]:
    """Hold a way to move entries inside `root`; where anything fails, all of them go back."""
    done: list[tuple[str, str]] = []

    def move_one(old: str, new: str) -> None:
        root.rename(old, new)
        done.append((old, new))

    try:
        yield move_one
    except BaseException:
        for old, new in reversed(done):
            # The rest goes back whatever becomes of one entry.
            with suppress(PathError):
                root.rename(new, old)
        raise


def write_files(root: Root, folder: str, files: Mapping[str, NewFile]) -> None:
    """Make a folder and write files into it, down to the disk.

    Raises:
        PathError: one cannot be written, or is there already.
    """
    root.make_folder(folder)
    with root.inside(folder) as inner:
        for path, file in files.items():
            mode = _EXECUTABLE if file.executable else _PLAIN
            inner.write(path, file.content, mode=mode, exclusive=True)


_NO_REPLACE, _EXCHANGE = 1, 2
_UNKNOWN = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)


def move(root: Root, old: str, new: str) -> None:
    """Move what is at `old` to `new`, where nothing may be.

    Raises:
        PathError: the new place is taken, or it cannot be moved.
        ContainmentError: a link is in the way.
    """
    if not _rename_by_system(root, old, new, _NO_REPLACE):
        root.rename(old, new)


def exchange(root: Root, one: str, other: str, spare: str) -> None:
    """Let two entries change places; `spare` is a free name that the other may pass through.

    Raises:
        PathError: one of them is missing or cannot be moved; both are where they were.
        ContainmentError: a link is in the way.
    """
    if _rename_by_system(root, one, other, _EXCHANGE):
        return
    root.rename(other, spare)
    try:
        root.rename(one, other)
    except PathError:
        root.rename(spare, other)
        raise
    root.rename(spare, one)


@cache
# A function of the system: whether there is one is known only at run time.
def _renameat2() -> Any:  # noqa: ANN401
    if not BY_HANDLE or os.name != "posix":
        return None
    return getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)


def _rename_by_system(root: Root, old: str, new: str, how: int) -> bool:
    """Return whether the system knew how to do it.

    Raises:
        PathError: it knew, and could not.
    """
    call = _renameat2()
    if call is None:
        return False
    (old_parent, _, old_name), (new_parent, _, new_name) = old.rpartition("/"), new.rpartition("/")
    with root.handle(old_parent) as source, root.handle(new_parent) as target:
        names = os.fsencode(old_name), os.fsencode(new_name)
        if call(source, names[0], target, names[1], how) != 0:
            return _report_failure(ctypes.get_errno(), old, new)
        with reporting(new, "moved"):
            os.fsync(target)
            os.fsync(source)
    return True


def _report_failure(number: int, old: str, new: str) -> bool:
    if number in _UNKNOWN:
        return False
    if number == errno.EEXIST:
        raise PathError(shown(new), "exists already: move it away.")
    with reporting(old, "moved"):
        raise OSError(number, os.strerror(number), old)
    return False
