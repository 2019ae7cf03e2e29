"""Moves of folders inside one root that never put one in the place of another by chance.

Linux can exchange two folders in one step, and move one only where nothing is. Elsewhere, and on
file systems that know neither, a look and then a plain rename stand for it: between the two lies a
moment, in which a killed process leaves the folder under its spare name.
"""

import ctypes
import errno
import os
from functools import cache
from typing import Any

from prowess.errors import PathError
from prowess.host.files.containment import Root
from prowess.host.files.handles import BY_HANDLE, reported
from prowess.safety.paths import shown

_NO_REPLACE, _EXCHANGE = 1, 2
_UNKNOWN = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)


def move(root: Root, old: str, new: str) -> None:
    """Move what is at `old` to `new`, where nothing may be.

    Raises:
        PathError: the new place is taken, or it cannot be moved.
        ContainmentError: a link is in the way.
    """
    if not _renamed(root, old, new, _NO_REPLACE):
        root.rename(old, new)


def exchange(root: Root, one: str, other: str, spare: str) -> None:
    """Let two entries change places; `spare` is a free name that the other may pass through.

    Raises:
        PathError: one of them is missing or cannot be moved; both are where they were.
        ContainmentError: a link is in the way.
    """
    if _renamed(root, one, other, _EXCHANGE):
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


def _renamed(root: Root, old: str, new: str, how: int) -> bool:
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
            return _failed(ctypes.get_errno(), old, new)
        with reported(new, "moved"):
            os.fsync(target)
            os.fsync(source)
    return True


def _failed(number: int, old: str, new: str) -> bool:
    if number in _UNKNOWN:
        return False
    if number == errno.EEXIST:
        raise PathError(shown(new), "exists already: move it away.")
    with reported(old, "moved"):
        raise OSError(number, os.strerror(number), old)
    return False
