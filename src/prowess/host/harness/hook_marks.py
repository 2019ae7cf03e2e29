"""What hooks remember from one call to the next: empty files with hashed names, and few of them.

A hook is a new process each time, and several run at once: making and removing a file is one step
for the system, so no lock is needed. No name tells of a session or of what was said.
"""

import hashlib
import os
import stat
from collections.abc import Iterable
from contextlib import suppress

from prowess.hooks.harness import Harness

FOLDER = "hook-marks"
MOST_MARKS = 512
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)


class HookMarks:
    """Marks in a private folder of the state folder."""

    def __init__(self, state: str) -> None:
        self._folder = os.path.join(state, FOLDER)

    def note(self, harness: Harness, session: str) -> None:
        """Remember that a session was compacted; it never fails."""
        if session:
            self._set(_name("compacted", (harness.value, session)))

    def take(self, harness: Harness, session: str) -> bool:
        """Return whether a session was compacted since this was asked last."""
        try:
            os.unlink(os.path.join(self._folder, _name("compacted", (harness.value, session))))
        except OSError:
            return False
        return True

    def is_first(self, key: str) -> bool:
        """Return whether a turn was not seen before; from now on it was."""
        return self._set(_name("learned", (key,)))

    def _set(self, name: str) -> bool:
        path = os.path.join(self._folder, name)
        try:
            os.makedirs(self._folder, stat.S_IRWXU, exist_ok=True)
            os.close(os.open(path, _FLAGS, stat.S_IRUSR | stat.S_IWUSR))
        except OSError:
            # It is there already, or nothing can be kept: then nothing is done twice either.
            return False
        self._forget_oldest()
        return True

    def _forget_oldest(self) -> None:
        with suppress(OSError):
            with os.scandir(self._folder) as entries:
                found = [(entry.stat().st_mtime_ns, entry.path) for entry in entries]
            if len(found) <= MOST_MARKS:
                return
            for _, path in sorted(found)[: len(found) - MOST_MARKS]:
                with suppress(OSError):
                    os.unlink(path)


def _name(kind: str, parts: Iterable[str]) -> str:
    text = "\0".join((kind, *parts)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()
