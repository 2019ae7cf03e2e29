"""Small files of the state folder: replaced in one step, by one writer at a time, and private."""

import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:
    # Windows has no such locks; a race there costs the loser its change.
    fcntl = None  # type: ignore[assignment]


_PREFIX, _SUFFIX = ".prowess-", ".tmp"
# No write takes so long: whoever began such a file was ended before it could remove it.
_LEFT_S = 3_600


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
    _sweep(target.parent)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=_PREFIX, suffix=_SUFFIX)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(stat.S_IRUSR | stat.S_IWUSR)
        Path(name).replace(target)
    finally:
        Path(name).unlink(missing_ok=True)


def _sweep(folder: Path) -> None:
    """Remove what a writer left behind that was ended in the middle: it may hold a secret."""
    before = time.time() - _LEFT_S
    # A folder that cannot be read keeps it, and others may sweep at the same moment.
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if not (entry.name.startswith(_PREFIX) and entry.name.endswith(_SUFFIX)):
                continue
            with suppress(OSError):
                found = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(found.st_mode) and found.st_mtime < before:
                    os.unlink(entry.path)
