"""Ends a child process with all that it started.

A child that leads a session of its own is found again by it, and so is every process group that it
made there, also after the child is gone. What escaped into yet another session is out of reach.
On Windows there are no sessions: the tree below the child is ended by the system's `taskkill`.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable

_LOOK_AGAIN_S, _LAST_S = 0.01, 2.0
_ZOMBIE = "Z"


def end_session(leader: int, pause: Callable[[float], object], grace: float) -> bool:
    """Ask all processes of a session to end, then make them; return whether they are gone.

    Args:
        leader: the child that was started with a session of its own.
        pause: waits for so many seconds at most.
        grace: how many seconds they have to end by themselves.
    """
    if os.name == "nt":
        return _end_tree(leader)
    if not _send(leader, signal.SIGTERM):
        return True
    try:
        _wait(leader, pause, grace)
    finally:
        # Also where the wait is interrupted: who is in a hurry leaves nothing behind either.
        until = time.monotonic() + _LAST_S
        while _send(leader, signal.SIGKILL) and time.monotonic() < until:
            pause(_LOOK_AGAIN_S)
    return not _groups(leader)


def _wait(leader: int, pause: Callable[[float], object], seconds: float) -> None:
    until = time.monotonic() + seconds
    while _groups(leader) and time.monotonic() < until:
        pause(_LOOK_AGAIN_S)


def _send(leader: int, number: signal.Signals) -> bool:
    """Signal every group of the session; return whether there was any."""
    groups = _groups(leader)
    for group in groups:
        try:
            os.killpg(group, number)
        except (ProcessLookupError, PermissionError):
            # It ended meanwhile, or became another user's: no signal of ours reaches it.
            continue
    return bool(groups)


def _groups(leader: int) -> set[int]:
    """Return the process groups of the session in which somebody is alive."""
    if os.path.exists("/proc/self/stat"):
        return _groups_by_system(leader)
    try:
        os.killpg(leader, 0)
    except (ProcessLookupError, PermissionError):
        return set()
    return {leader}


def _groups_by_system(leader: int) -> set[int]:
    """Look at all processes: the dead that nobody reaps (in some containers) do not count."""
    found = set()
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                line = file.read()
        except OSError:
            # It ended while we looked.
            continue
        # The program's name stands in brackets and may hold anything.
        state, _parent, group, session = line[line.rfind(b")") + 2 :].split()[:4]
        if int(session) == leader and state.decode() != _ZOMBIE:
            found.add(int(group))
    return found


def _end_tree(leader: int) -> bool:
    argv = ("taskkill", "/PID", str(leader), "/T", "/F")
    # No shell, a fixed program of the system, and a number that we were given by it.
    subprocess.run(argv, capture_output=True, check=False)  # noqa: S603
    return True
