"""What hooks leave behind from one call to the next: a log, marks, and places for background work.

A line of the log says who called, when, how long it took and whether something was said: never a
prompt, a path or the words of an error. The file is private and bounded, and where it cannot be
written the hook answers all the same. Marks are empty files with hashed names: a hook is a new
process each time, several run at once, and to make or remove a file is one step, so no lock is
needed.

An agent that ends a turn every second would start work faster than it ends. So there are a few
places for processes that learn in the background. A place is a lock on a file, free again however
its holder ended; where the system has no such locks, or the state folder cannot be written, there
is always one.
"""

import hashlib
import json
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from prowess.hooks.harness import Harness, HookCall, Moment

FILE_NAME = "hooks.jsonl"
MOST_BYTES = 256 * 1024
_LONGEST_PROBLEM = 80
_MOST_RECENT = 50
_FLAGS = (
    os.O_APPEND
    | os.O_CREAT
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
)


class HookLog:
    """A private file of JSON lines in the state folder, the newest last."""

    def __init__(self, state: str) -> None:
        self._path = os.path.join(state, FILE_NAME)

    def note(self, call: HookCall) -> None:
        """Add a call; it never fails."""
        self._add(
            {
                "at": call.at_ms,
                "harness": call.harness.value,
                "moment": call.moment.value,
                "took": call.took_ms,
                "spoke": call.spoke,
                "problem": call.problem[:_LONGEST_PROBLEM],
            }
        )

    def note_unknown(self, at_ms: int, problem: str) -> None:
        """Add a call by nobody we know; it never fails."""
        self._add({"at": at_ms, "problem": problem[:_LONGEST_PROBLEM]})

    def recent(self, harness: Harness) -> Sequence[HookCall]:
        """Return the last calls of a harness, newest last; none where the log cannot be read."""
        try:
            lines = self._read().splitlines()
        except OSError:
            return ()
        found = [call for call in map(_call, lines) if call is not None]
        return [call for call in found if call.harness is harness][-_MOST_RECENT:]

    def _add(self, row: Mapping[str, object]) -> None:
        line = json.dumps(row).encode() + b"\n"
        # Whoever waits for an answer must not lose it to a full disk.
        with suppress(OSError):
            os.makedirs(os.path.dirname(self._path), stat.S_IRWXU, exist_ok=True)
            handle = os.open(self._path, os.O_WRONLY | _FLAGS, stat.S_IRUSR | stat.S_IWUSR)
            try:
                # One write, so that two processes never mix their lines.
                os.write(handle, line)
                is_full = os.fstat(handle).st_size > MOST_BYTES
            finally:
                os.close(handle)
            if is_full:
                self._shorten()

    def _shorten(self) -> None:
        """Keep the newer half; a line that comes meanwhile may be lost, which nobody misses."""
        kept = self._read()[-MOST_BYTES // 2 :].partition(b"\n")[2]
        from prowess.host.files.state_files import write_private

        write_private(self._path, kept.decode("utf-8", "replace"))

    def _read(self) -> bytes:
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        handle = os.open(self._path, flags)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return b""
            file.seek(max(0, os.fstat(handle).st_size - 2 * MOST_BYTES))
            return file.read(2 * MOST_BYTES)


def _call(line: bytes) -> HookCall | None:
    try:
        row = json.loads(line)
        return HookCall(
            harness=Harness(row["harness"]),
            moment=Moment(row["moment"]),
            at_ms=int(row["at"]),
            took_ms=int(row["took"]),
            spoke=row["spoke"] is True,
            problem=str(row.get("problem", "")),
        )
    except (ValueError, OverflowError, KeyError, TypeError, AttributeError, RecursionError):
        # A line of a newer version, cut off, or by a caller that nobody knows.
        return None


FOLDER = "hook-marks"
MOST_MARKS = 512
_MARK_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)


class HookMarks:
    """Marks in a private folder of the state folder."""

    def __init__(self, state: str) -> None:
        self._folder = os.path.join(state, FOLDER)

    def is_first(self, key: str) -> bool:
        """Return whether a turn was not seen before; from now on it was."""
        return self._set(_name("learned", (key,)))

    def _set(self, name: str) -> bool:
        path = os.path.join(self._folder, name)
        try:
            os.makedirs(self._folder, stat.S_IRWXU, exist_ok=True)
            os.close(os.open(path, _MARK_FLAGS, stat.S_IRUSR | stat.S_IWUSR))
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
