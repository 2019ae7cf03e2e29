"""The gateway's end of the hooks' socket: private, bounded, one answer to each request.

Sizes, time and the number of callers at once are bounded; whoever comes beyond that waits for a
moment, and is then sent away without an answer to look for it alone, which takes far more of the
machine. A request without a payload asks only whether somebody is there. Nothing that a caller does
ends the server.
"""

import logging
import os
import socket
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple

from prowess.hooks.answers import LONGEST_PAYLOAD
from prowess.host.harness.hook_client import ANSWERED, FILE_NAME, GREETING
from prowess.spans import contain

log = logging.getLogger(__name__)

_MOST_AT_ONCE = 8
# Agents in parallel call in bursts; an answer takes milliseconds, and a caller waits for a second.
_MOST_WAITING = 64
_WAIT_S = 0.3
_SECONDS = 5.0
_LONGEST_LINE, _CHUNK = 64, 1 << 16
_MOST_BYTES = (16_384, 4_096, LONGEST_PAYLOAD)


class HookQuestion(NamedTuple):
    """What a hook sent: its caller's variables, where it runs, and the payload as it came."""

    environ: Mapping[str, str]
    folder: str
    raw: bytes


# None sends the caller away to find the answer by itself.
Answer = Callable[[HookQuestion], str | None]


class _BrokenRequestError(ValueError):
    """A request that breaks the rules; never leaves this module."""


class HookSocket:
    """Listens on `hook.sock` of a state folder until it is closed."""

    def __init__(self, state: str, answer: Answer) -> None:
        self._state, self._answer = state, answer
        self._path = os.path.join(state, FILE_NAME)
        self._places = threading.BoundedSemaphore(_MOST_AT_ONCE)
        self._line: socket.socket | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> bool:
        """Begin to listen; False where this system or folder has no such sockets."""
        if not hasattr(socket, "AF_UNIX"):
            return False
        try:
            self._line = self._bind()
        except OSError as error:
            # Hooks work without it, only slower.
            log.warning("hooks.no-socket: %s: %s", self._path, error.strerror or error)
            return False
        self._thread = threading.Thread(target=self._serve, name="hooks", daemon=True)
        self._thread.start()
        return True

    def close(self) -> None:
        """Stop listening and take the socket away; calls that are under way end by themselves."""
        if self._line is None:
            return
        with suppress(OSError):
            os.unlink(self._path)
        with suppress(OSError):
            # Wakes the thread that waits for the next caller.
            self._line.shutdown(socket.SHUT_RDWR)
        self._line.close()
        if self._thread is not None:
            self._thread.join(_SECONDS)
        self._line = self._thread = None

    def _bind(self) -> socket.socket:
        """Bind where nobody else looks, make it private, and only then give it its name."""
        os.makedirs(self._state, stat.S_IRWXU, exist_ok=True)
        line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with tempfile.TemporaryDirectory(prefix=".h", dir=self._state) as folder:
                path = os.path.join(folder, "s")
                line.bind(path)
                os.chmod(path, stat.S_IRUSR | stat.S_IWUSR)
                line.listen(_MOST_WAITING)
                # The lock of the gateway says that whoever made the old one is gone.
                os.replace(path, self._path)
        except OSError:
            line.close()
            raise
        return line

    def _serve(self) -> None:
        line = self._line
        while line is not None:
            try:
                caller, _ = line.accept()
            except OSError:
                # Closed from outside: the only way out.
                return
            if not self._places.acquire(timeout=_WAIT_S):
                caller.close()
                continue
            threading.Thread(target=self._answer_one, args=(caller,), daemon=True).start()

    def _answer_one(self, caller: socket.socket) -> None:
        try:
            # The caller answers itself then.
            with contain(lambda error: log.warning("hooks.call-failed: %s", type(error).__name__)):
                self._reply(caller)
        finally:
            self._places.release()

    def _reply(self, caller: socket.socket) -> None:
        try:
            with caller:
                asked = _read(caller, time.monotonic() + _SECONDS)
                said = self._answer(asked) if asked.raw else ""
                if said is not None:
                    caller.settimeout(_SECONDS)
                    caller.sendall(ANSWERED + said.encode("utf-8", "replace") + b"\0")
        except (OSError, _BrokenRequestError) as error:
            log.info("hooks.call-lost: %s", type(error).__name__)


def _read(caller: socket.socket, deadline: float) -> HookQuestion:
    given = _Given(caller, deadline)
    sizes = _sizes(given.line())
    variables, folder, raw = (given.part(size) for size in sizes)
    pairs = (part.partition("=") for part in _text(variables).split("\0") if part)
    return HookQuestion({name: value for name, _, value in pairs}, _text(folder), raw)


def _sizes(line: bytes) -> list[int]:
    words = line.split()
    if len(words) != 1 + len(_MOST_BYTES) or words[0] != GREETING:
        raise _BrokenRequestError("no greeting")
    if not all(word.isdigit() for word in words[1:]):
        raise _BrokenRequestError("no sizes")
    sizes = [int(word) for word in words[1:]]
    if any(size > most for size, most in zip(sizes, _MOST_BYTES, strict=True)):
        raise _BrokenRequestError("too large")
    return sizes


class _Given:
    """What a caller sends, until a moment: who sends byte by byte holds a place no longer."""

    def __init__(self, caller: socket.socket, deadline: float) -> None:
        self._caller, self._deadline = caller, deadline
        self._held = bytearray()

    def line(self) -> bytes:
        """Return the first line, without its end."""
        while b"\n" not in self._held:
            if len(self._held) > _LONGEST_LINE:
                raise _BrokenRequestError("no line")
            self._read_more()
        line, _, rest = bytes(self._held).partition(b"\n")
        self._held = bytearray(rest)
        return line[:_LONGEST_LINE]

    def part(self, size: int) -> bytes:
        """Return the next so many bytes."""
        while len(self._held) < size:
            self._read_more()
        part = bytes(self._held[:size])
        del self._held[:size]
        return part

    def _read_more(self) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._caller.settimeout(left)
        chunk = self._caller.recv(_CHUNK)
        if not chunk:
            raise _BrokenRequestError("cut off")
        self._held += chunk


def _text(part: bytes) -> str:
    return part.decode("utf-8", "surrogateescape")
