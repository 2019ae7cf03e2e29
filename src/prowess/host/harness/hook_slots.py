"""A few places for processes that learn in the background, and a wait for more of them.

An agent that ends a turn every second would otherwise start work faster than it ends. A place is a
lock on a file, so that it is free again however its holder ended; where the system has no such
locks, or the state folder cannot be written, there is always one.
"""

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager

try:
    import fcntl
except ImportError:
    # Windows has no such locks; there everybody has a place.
    fcntl = None  # type: ignore[assignment]

PLACES = 4
_PATIENCE_S, _LOOK_S = 60.0, 0.1
_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


@contextmanager
def place_to_learn(state: str, patience: float = _PATIENCE_S) -> Iterator[bool]:
    """Hold a place meanwhile; gives False where none got free within so many seconds."""
    if fcntl is None:
        yield True
        return
    try:
        handle = _waited(state, time.monotonic() + patience)
    except OSError:
        # Nothing can be kept here: then nothing can be learned either, which shows by itself.
        yield True
        return
    try:
        yield handle is not None
    finally:
        if handle is not None:
            os.close(handle)


def _waited(state: str, until: float) -> int | None:
    os.makedirs(state, stat.S_IRWXU, exist_ok=True)
    while True:
        for number in range(PLACES):
            handle = _locked(os.path.join(state, f"hook-learning-{number}.lock"))
            if handle is not None:
                return handle
        if time.monotonic() >= until:
            return None
        time.sleep(_LOOK_S)


def _locked(path: str) -> int | None:
    handle = os.open(path, _FLAGS, stat.S_IRUSR | stat.S_IWUSR)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle
