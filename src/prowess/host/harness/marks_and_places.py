"""What hooks leave behind from one call to the next: marks, and places for background work.

Marks are empty files with hashed names: a hook is a new process each time, several run at once, and
to make or remove a file is one step, so no lock is needed.

An agent that ends a turn every second would start work faster than it ends. So there are a few
places for processes that learn in the background. A place is a lock on a file, free again however
its holder ended; where the system has no such locks, or the state folder cannot be written, there
is always one.
"""

import hashlib
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

FOLDER = "hook-marks"
MOST_MARKS = 512
_MARK_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)


def is_first(state: str, key: str) -> bool:
    """Return whether this was not seen before in a state folder; from now on it was."""
    folder = os.path.join(state, FOLDER)
    name = hashlib.sha256(f"learned\0{key}".encode("utf-8", "surrogatepass")).hexdigest()
    try:
        os.makedirs(folder, stat.S_IRWXU, exist_ok=True)
        os.close(os.open(os.path.join(folder, name), _MARK_FLAGS, stat.S_IRUSR | stat.S_IWUSR))
    except OSError:
        # It is there already, or nothing can be kept: then nothing is done twice either.
        return False
    _forget_oldest(folder)
    return True


def _forget_oldest(folder: str) -> None:
    with suppress(OSError):
        with os.scandir(folder) as entries:
            found = [(entry.stat().st_mtime_ns, entry.path) for entry in entries]
        for _, path in sorted(found)[: max(len(found) - MOST_MARKS, 0)]:
            with suppress(OSError):
                os.unlink(path)


try:
    import fcntl
except ImportError:
    # Windows has no such locks; there everybody has a place.
    fcntl = None  # type: ignore[assignment]

PLACES = 4
_PATIENCE_S, _LOOK_S = 60.0, 0.1
_SLOT_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


@contextmanager
def place_to_learn(state: str, patience: float = _PATIENCE_S) -> Iterator[bool]:
    """Hold a place meanwhile; gives False where none got free within so many seconds."""
    if fcntl is None:
        yield True
        return
    try:
        handle = _wait_for_slot(state, time.monotonic() + patience)
    except OSError:
        # Nothing can be kept here: then nothing can be learned either, which shows by itself.
        yield True
        return
    try:
        yield handle is not None
    finally:
        if handle is not None:
            os.close(handle)


@contextmanager
def place_to_index(state: str) -> Iterator[bool]:
    """Hold the one place for making an index meanwhile; gives False where somebody has it."""
    handle = None
    # Nothing can be kept here: then no index can be either.
    with suppress(OSError):
        os.makedirs(state, stat.S_IRWXU, exist_ok=True)
        handle = _lock_slot(os.path.join(state, "hook-indexing.lock"))
    try:
        yield handle is not None
    finally:
        if handle is not None:
            os.close(handle)


def _wait_for_slot(state: str, until: float) -> int | None:
    os.makedirs(state, stat.S_IRWXU, exist_ok=True)
    while True:
        for number in range(PLACES):
            handle = _lock_slot(os.path.join(state, f"hook-learning-{number}.lock"))
            if handle is not None:
                return handle
        if time.monotonic() >= until:
            return None
        time.sleep(_LOOK_S)


def _lock_slot(path: str) -> int | None:
    handle = os.open(path, _SLOT_FLAGS, stat.S_IRUSR | stat.S_IWUSR)
    if fcntl is None:
        return handle
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle
