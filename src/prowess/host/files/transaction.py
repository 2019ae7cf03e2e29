"""Changes to folders that happen as a whole: made ready where nobody looks, then moved in one step.

Linux and macOS can exchange two folders in one step, and move one only where nothing is. Elsewhere,
and on file systems that know neither, a look and then a plain rename stand for it: between the two
lies a moment, in which a killed process leaves the folder under its spare name.

Whatever a killed process leaves behind has a name that begins with `TEMPORARY_PREFIX`: nobody
copies or serves it, whoever holds the lock next removes it, and so does after a day whoever comes
across it, unless it is the only place where something still is.
"""

import ctypes
import errno
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, Protocol

from prowess.errors import PathError
from prowess.host.files.containment import Root
from prowess.host.files.handles import BY_HANDLE, reporting
from prowess.safety.paths import TEMPORARY_PREFIX, shown

_PLAIN, _EXECUTABLE, _PRIVATE = 0o644, 0o755, 0o700
# A file that was being written, or a folder that was being filled.
_STRAY_FILE = re.compile(re.escape(TEMPORARY_PREFIX) + r"(?:[0-9a-f]{16}|[0-9a-z_]{8})\.tmp\Z")
_STRAY_FOLDER = re.compile(re.escape(TEMPORARY_PREFIX) + r"[0-9a-f]{16}\Z")


class NewFile(Protocol):
    """A file to write: its bytes, and whether it may be run."""

    @property
    def content(self) -> bytes:
        """All of it."""

    @property
    def executable(self) -> bool:
        """Whether it is a program."""


# No write takes so long: whoever began it was ended before it could clear away.
_STALE_S = 86_400
# What lies in a staging folder under these names may be the only copy of what is to be changed.
READY, SPARE = "ready", "spare"


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


def sweep_stale(folder: str) -> None:
    """Remove what killed writers left in a folder more than a day ago, as far as that is allowed.

    What may be the only copy of something is left to whoever holds its lock.
    """
    before = time.time() - _STALE_S
    # Somebody else's folder, or one that cannot be written: there it stays, and nobody looks at it.
    with suppress(PathError), Root.open(folder) as root:
        for name, state in root.list():
            if state.st_mtime >= before or not is_stray(name, state):
                continue
            inner = {one for one, _ in root.list(name)} if stat.S_ISDIR(state.st_mode) else set()
            if inner.isdisjoint((READY, SPARE)):
                root.remove_tree(name)


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


# By system: the function that renames with conditions, and how it spells them.
_BY_SYSTEM: Mapping[str, tuple[str, Mapping[str, int]]] = {
    "linux": ("renameat2", {"no-replace": 1, "exchange": 2}),
    "darwin": ("renameatx_np", {"no-replace": 4, "exchange": 2}),
}
_UNKNOWN = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)


def move(root: Root, old: str, new: str) -> None:
    """Move what is at `old` to `new`, where nothing may be.

    Raises:
        PathError: the new place is taken, or it cannot be moved.
        ContainmentError: a link is in the way.
    """
    if not _rename_by_system(root, old, new, "no-replace"):
        root.rename(old, new)


def exchange(root: Root, one: str, other: str, spare: str) -> None:
    """Let two entries change places; `spare` is a free name that the other may pass through.

    Raises:
        PathError: one of them is missing or cannot be moved; both are where they were.
        ContainmentError: a link is in the way.
    """
    if swap(root, one, other):
        return
    root.rename(other, spare)
    try:
        root.rename(one, other)
    except PathError:
        root.rename(spare, other)
        raise
    root.rename(spare, one)


def swap(root: Root, one: str, other: str) -> bool:
    """Let two entries change places in one step; False where that cannot be done here.

    Raises:
        PathError: one of them is missing or cannot be moved; both are where they were.
        ContainmentError: a link is in the way.
    """
    try:
        return _rename_by_system(root, one, other, "exchange")
    except PathError as error:
        if is_other_disk(error):
            return False
        raise


def is_other_disk(error: PathError) -> bool:
    """Return whether something could not be moved because it lies on another disk or layer."""
    return isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.EXDEV


@cache
# A function of the system: whether there is one is known only at run time.
def _rename_function() -> Any:  # noqa: ANN401
    if not BY_HANDLE or sys.platform not in _BY_SYSTEM:
        return None
    return getattr(ctypes.CDLL(None, use_errno=True), _BY_SYSTEM[sys.platform][0], None)


def _rename_by_system(root: Root, old: str, new: str, how: str) -> bool:
    """Return whether the system knew how to do it.

    Raises:
        PathError: it knew, and could not.
    """
    call = _rename_function()
    if call is None:
        return False
    (old_parent, _, old_name), (new_parent, _, new_name) = old.rpartition("/"), new.rpartition("/")
    with root.handle(old_parent) as source, root.handle(new_parent) as target:
        names = os.fsencode(old_name), os.fsencode(new_name)
        flags = _BY_SYSTEM[sys.platform][1][how]
        if call(source, names[0], target, names[1], flags) != 0:
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
