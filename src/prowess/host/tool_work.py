"""The empty folder in which a package manager runs, gone afterwards whoever ended the install.

A folder in use is locked by its own handle, and the system lets go of that lock when its owner
dies. So a later install can tell what is left over from what is in use, without trusting the number
of a process, which another one may have by then.
"""

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from prowess.errors import PathError
from prowess.host.files.containment import Root
from prowess.host.files.handles import BY_HANDLE
from prowess.host.files.private_files import locked

try:
    import fcntl
except ImportError:
    # Windows has no such locks: nobody can tell what is left over, so it stays.
    fcntl = None  # type: ignore[assignment]

PREFIX = ".work-"
# No skill's folder has such a name, so no install of a skill waits for this lock.
_LOCK = os.path.join(".locks", ".work")


@contextmanager
def work_folder(tools: Root) -> Iterator[str]:
    """Hold an empty folder of ours in the tools folder, having removed those of the dead.

    Raises:
        OSError: it cannot be made, or not be removed.
    """
    place = str(tools.path)
    # The lock goes last: until then the folder is ours to remove.
    with ExitStack() as lock, ExitStack() as stack:
        # A folder that is made and not yet locked looks like one that is left over.
        with locked(os.path.join(place, _LOCK)):
            _clear(tools)
            folder = stack.enter_context(tempfile.TemporaryDirectory(dir=place, prefix=PREFIX))
            if BY_HANDLE and fcntl is not None:
                _lock(lock.enter_context(tools.handle(os.path.basename(folder))))
        yield folder


def _clear(tools: Root) -> None:
    if not BY_HANDLE or fcntl is None:
        return
    for name, state in tools.list():
        is_ours = stat.S_ISDIR(state.st_mode) and state.st_uid == os.getuid()
        if not name.startswith(PREFIX) or not is_ours:
            continue
        try:
            with tools.handle(name) as handle:
                if _lock(handle):
                    tools.remove_tree(name)
        except PathError:
            # Swapped meanwhile, or not to be removed: an install does not fail for that.
            continue


def _lock(handle: int) -> bool:
    """Take the lock of a folder, and say whether nobody else has it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        # In use; or a file system without locks, on which nothing can be told.
        return False
    return True
