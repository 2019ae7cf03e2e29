"""The log of hook calls: who called, when, how long it took and whether something was said.

Never a prompt, a path or the words of an error: a line is written at every prompt of every day. The
file is private and bounded, and where it cannot be written the hook answers all the same.
"""

import json
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module

from prowess.hooks.harness import Harness, HookCall, Moment

FILE_NAME = "hooks.jsonl"
MOST_BYTES = 256 * 1024
_LONGEST_PROBLEM = 80
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

    def last(self) -> Mapping[Harness, HookCall]:
        """Return the newest call of each harness; none where the log cannot be read."""
        found: dict[Harness, HookCall] = {}
        with suppress(OSError):
            for line in self._read().splitlines():
                call = _call(line)
                if call is not None:
                    found[call.harness] = call
        return found

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
        files = import_module("prowess.host.files.private_files")
        files.write_private(self._path, kept.decode("utf-8", "replace"))

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
