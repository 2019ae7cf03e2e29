"""A hook on this machine: how it asks a running gateway, what it leaves, what it is about.

This is the fast lane: it imports next to nothing and does not even read the payload, which the
gateway does. Whatever goes wrong here means that the hook has to find its answer by itself.

A request is a line with the sizes of three parts (variables, folder, payload), then the parts. An
answer is a line that says whether it is one, then the text for standard output. Nearly every caller
writes its payload and closes; one that keeps its end open would be waited for until it gives up
itself, so reading ends with a complete payload too.

A line of the log says who called, when, how long it took and whether something was said: never a
prompt, a path or the words of an error. The file is private and bounded, and where it cannot be
written the hook answers all the same.

What a payload says is not trusted: a transcript is followed only where its real place lies below a
folder in which a harness keeps sessions.
"""

import os
import stat
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    import socket

    from prowess.hooks.answers import Incoming
    from prowess.hooks.harness import Harness, HookCall


FILE_NAME = "hook.sock"
GREETING = b"prowess-hook-1"
ANSWERED = b"answer\n"
MOST_ANSWER_BYTES = 1 << 23
# Where the machine is busy, to find the answer alone takes longer than to wait for it.
DEADLINE_S = 1.5
# Zero would mean to wait for nothing at all, which is another kind of error.
_NO_TIME_S = 0.001
# All that callers are told by; nothing else of the environment leaves the process.
TOLD_BY = (
    "CLAUDE_PROJECT_DIR",
    "CODEX_HOME",
    "CURSOR_PROJECT_DIR",
    "CURSOR_VERSION",
    "GEMINI_CWD",
    "GEMINI_PROJECT_DIR",
    "GEMINI_SESSION_ID",
)


def current_folder() -> str:
    """Return where this process runs; its user's home where that folder is gone."""
    try:
        return os.getcwd()
    except OSError:
        return os.path.expanduser("~")


def state_folder(environ: Mapping[str, str], current: str) -> str:
    """Return the state folder as everything else finds it, without importing what does."""
    home = environ.get("HOME") or os.path.expanduser("~")
    given = environ.get("PROWESS_HOME", "")
    if not given:
        return os.path.join(home, ".prowess")
    if given == "~" or given.startswith("~/"):
        given = home + given[1:]
    return os.path.normpath(os.path.join(current, given))


def ask(
    state: str, raw: bytes, environ: Mapping[str, str], folder: str, *, seconds: float = DEADLINE_S
) -> bytes | None:
    """Return the answer of the gateway on this state folder; None where none answers in time."""
    path = os.path.join(state, FILE_NAME)
    if not _is_ours(path):
        return None
    # Late: without a gateway nothing else needs it.
    import socket

    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            deadline = time.monotonic() + seconds
            line.settimeout(seconds)
            line.connect(path)
            line.sendall(request(raw, environ, folder))
            answer = _answer(_receive(line, deadline))
    # A path that is too long for a socket is no ordinary error of the system.
    except (OSError, ValueError):
        return None
    return answer


def request(raw: bytes, environ: Mapping[str, str], folder: str) -> bytes:
    """Return the bytes of a request."""
    told = ((name, environ[name]) for name in TOLD_BY if environ.get(name))
    variables = b"\0".join(_bytes(f"{name}={value}") for name, value in told)
    parts = (variables, _bytes(folder), raw)
    sizes = b" ".join(str(len(part)).encode() for part in parts)
    return GREETING + b" " + sizes + b"\n" + b"".join(parts)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _is_ours(path: str) -> bool:
    """Return whether a socket of this user lies there; nobody else is told what is typed."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    # A system without such sockets finds none.
    return stat.S_ISSOCK(found.st_mode) and found.st_uid == os.geteuid()


def _receive(line: "socket.socket", deadline: float) -> Iterable[bytes]:
    left = MOST_ANSWER_BYTES
    while left > 0:
        # Of the whole answer: one that comes byte by byte is as late as one that never comes.
        line.settimeout(max(deadline - time.monotonic(), _NO_TIME_S))
        chunk = line.recv(1 << 16)
        if not chunk:
            return
        left -= len(chunk)
        yield chunk


def _answer(chunks: Iterable[bytes]) -> bytes | None:
    whole = b"".join(chunks)
    # The last byte says that nothing was cut off.
    if not whole.startswith(ANSWERED) or not whole.endswith(b"\0"):
        return None
    said = whole[len(ANSWERED) : -1]
    # Ours are objects in ASCII. What else answers here must not come before an agent.
    return said if not said or (said.startswith(b"{") and said.isascii()) else None


_CHUNK, _TAIL = 1 << 16, 64
# After an end that looks like one: whoever closes has done so by then.
_CLOSES_S = 0.02


def read_input(stream: BinaryIO, most: int, *, silence_s: float = 2.0, all_s: float = 5.0) -> bytes:
    """Return what is written to `stream`, at most `most` bytes.

    Args:
        stream: standard input, of which nothing was read yet.
        most: where to stop.
        silence_s: how long to wait for more once something came.
        all_s: how long to wait altogether.
    """
    try:
        number = stream.fileno()
    # Not a file of the system, such as a test's: its `read` never waits.
    except (OSError, AttributeError):
        return stream.read(most)
    # It can wait for sockets only.
    if sys.platform == "win32":
        return stream.read(most)
    return _read(number, most, silence_s, all_s)


def _read(number: int, most: int, silence_s: float, all_s: float) -> bytes:
    # Late, and through the module: a system without it never comes here.
    from select import select

    deadline = time.monotonic() + all_s
    read, patience = bytearray(), all_s
    while len(read) < most:
        left = max(0.0, min(patience, deadline - time.monotonic()))
        is_end = read[-_TAIL:].rstrip().endswith(b"}")
        if is_end and not select((number,), (), (), min(left, _CLOSES_S))[0] and _is_whole(read):
            break
        if not select((number,), (), (), left)[0]:
            break
        chunk = os.read(number, min(_CHUNK, most - len(read)))
        if not chunk:
            break
        read += chunk
        patience = silence_s
    return bytes(read)


def _is_whole(read: bytearray) -> bool:
    """Return whether it is JSON to its end."""
    import json

    try:
        json.loads(read)
    except (ValueError, RecursionError):
        return False
    return True


LOG_FILE = "hooks.jsonl"
MOST_LOG_BYTES = 256 * 1024
_LONGEST_PROBLEM = 80
_UNKNOWN = "unknown payload"
_MOST_RECENT = 50
_LOG_FLAGS = (
    os.O_APPEND
    | os.O_CREAT
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
)


class HookLog:
    """A private file of JSON lines in the state folder, the newest last."""

    def __init__(self, state: str, begun: float | None = None) -> None:
        """Count a call from `begun`, by the monotonic clock; by default from now."""
        self._path = os.path.join(state, LOG_FILE)
        self._begun = time.monotonic() if begun is None else begun

    def note_end(
        self, incoming: "Incoming | None", *, spoke: bool = False, problem: str = ""
    ) -> None:
        """Add a call that ends now, of nobody we know where none could be read; it never fails."""
        took = round((time.monotonic() - self._begun) * 1_000)
        at = time.time_ns() // 1_000_000 - took
        if incoming is None:
            self._add({"at": at, "problem": (problem or _UNKNOWN)[:_LONGEST_PROBLEM]})
            return
        # Late: a call that a gateway answers leaves its line there.
        from prowess.hooks.harness import HookCall

        harness, moment = incoming.harness, incoming.moment
        self.note(
            HookCall(
                harness=harness, moment=moment, at_ms=at, took_ms=took, spoke=spoke, problem=problem
            )
        )

    def note(self, call: "HookCall") -> None:
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

    def recent(self, harness: "Harness") -> "Sequence[HookCall]":
        """Return the last calls of a harness, newest last; none where the log cannot be read."""
        try:
            lines = self._read().splitlines()
        except OSError:
            return ()
        found = [call for call in map(_read_call, lines) if call is not None]
        return [call for call in found if call.harness is harness][-_MOST_RECENT:]

    def _add(self, row: Mapping[str, object]) -> None:
        # Late: a call that a gateway answers leaves its line there.
        import json

        line = json.dumps(row).encode() + b"\n"
        # Whoever waits for an answer must not lose it to a full disk.
        with suppress(OSError):
            os.makedirs(os.path.dirname(self._path), stat.S_IRWXU, exist_ok=True)
            handle = os.open(self._path, os.O_WRONLY | _LOG_FLAGS, stat.S_IRUSR | stat.S_IWUSR)
            try:
                # One write, so that two processes never mix their lines.
                os.write(handle, line)
                is_full = os.fstat(handle).st_size > MOST_LOG_BYTES
            finally:
                os.close(handle)
            if is_full:
                self._shorten()

    def _shorten(self) -> None:
        """Keep the newer half; a line that comes meanwhile may be lost, which nobody misses."""
        kept = self._read()[-MOST_LOG_BYTES // 2 :].partition(b"\n")[2]
        from prowess.host.files.state_files import write_private

        write_private(self._path, kept.decode("utf-8", "replace"))

    def _read(self) -> bytes:
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        handle = os.open(self._path, flags)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return b""
            file.seek(max(0, os.fstat(handle).st_size - 2 * MOST_LOG_BYTES))
            return file.read(2 * MOST_LOG_BYTES)


def _read_call(line: bytes) -> "HookCall | None":
    # Late, as above: who writes a line knows all of it.
    import json

    from prowess.hooks.harness import Harness, HookCall, Moment

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


_CODEX_FOLDERS = ("sessions", "archived_sessions")
_CODE_STORAGE = os.path.join("Code", "User", "workspaceStorage")


def list_session_roots(
    home: str, environ: Mapping[str, str]
) -> "Mapping[Harness, tuple[str, ...]]":
    """Return the folders in which each harness keeps transcripts, whether they exist or not."""
    from prowess.hooks.harness import Harness

    claude = _follow_variable(environ, "CLAUDE_CONFIG_DIR", home, ".claude")
    codex = _follow_variable(environ, "CODEX_HOME", home, ".codex")
    copilot = _follow_variable(environ, "COPILOT_HOME", home, ".copilot")
    gemini = os.path.join(_follow_variable(environ, "GEMINI_CLI_HOME", home, ""), ".gemini")
    cursor = os.path.join(home, ".cursor")
    data = _follow_variable(environ, "XDG_DATA_HOME", home, os.path.join(".local", "share"))
    claw = _follow_variable(environ, "OPENCLAW_STATE_DIR", home, ".openclaw")
    return {
        Harness.CLAUDE_CODE: (os.path.join(claude, "projects"),),
        Harness.CODEX: tuple(os.path.join(codex, name) for name in _CODEX_FOLDERS),
        Harness.CURSOR: (os.path.join(cursor, "projects"), os.path.join(cursor, "chats")),
        Harness.GEMINI: (os.path.join(gemini, "tmp"),),
        Harness.COPILOT: (
            os.path.join(copilot, "session-state"),
            os.path.join(copilot, "history-session-state"),
        ),
        Harness.VSCODE: _code_folders(home, environ),
        Harness.QWEN: (os.path.join(home, ".qwen", "projects"),),
        Harness.OPENCODE: (os.path.join(data, "opencode"),),
        Harness.OPENCLAW: (os.path.join(claw, "agents"),),
    }


def is_in_roots(path: str, roots: tuple[str, ...]) -> bool:
    """Return whether the real place of `path` lies below one of `roots`."""
    if not path or "\0" in path or not os.path.isabs(path):
        return False
    real = os.path.normcase(os.path.realpath(path))
    bases = (os.path.normcase(os.path.realpath(root)).rstrip(os.sep) for root in roots)
    return any(base and real.startswith(base + os.sep) for base in bases)


def _follow_variable(environ: Mapping[str, str], variable: str, home: str, usual: str) -> str:
    """Return the folder that a variable names, or the usual one below the home folder."""
    given = environ.get(variable, "")
    if given == "~" or given.startswith(("~/", "~\\")):
        given = home + given[1:]
    # A relative one would depend on where the harness happened to be started.
    return given if os.path.isabs(given) else os.path.join(home, usual)


def _code_folders(home: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    bases = (
        _follow_variable(environ, "XDG_CONFIG_HOME", home, ".config"),
        os.path.join(home, "Library", "Application Support"),
        _follow_variable(environ, "APPDATA", home, os.path.join("AppData", "Roaming")),
    )
    return tuple(os.path.join(base, _CODE_STORAGE) for base in dict.fromkeys(bases))
