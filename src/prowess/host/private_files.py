"""Small files of the state folder: replaced in one step, by one writer at a time, and private."""

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:
    # Windows has no such locks; a race there costs the loser its change.
    fcntl = None  # type: ignore[assignment]


@contextmanager
def locked(path: str) -> Iterator[None]:
    """Let one process at a time read, change and write: a second one would undo the first.

    Raises:
        OSError: the lock file cannot be made.
    """
    os.makedirs(os.path.dirname(path), stat.S_IRWXU, exist_ok=True)
    handle = os.open(path + ".lock", os.O_RDWR | os.O_CREAT, stat.S_IRUSR | stat.S_IWUSR)
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def write_private(path: str, text: str) -> None:
    """Replace `path` in one step, so that a power cut leaves the old or the new file.

    Raises:
        OSError: it cannot be written.
    """
    # A link to a dotfiles folder stays a link: its target is what gets replaced.
    target = Path(os.path.realpath(path))
    target.parent.mkdir(stat.S_IRWXU, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".prowess-", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(stat.S_IRUSR | stat.S_IWUSR)
        Path(name).replace(target)
    finally:
        Path(name).unlink(missing_ok=True)
