"""Child processes whose output we read: started without a shell, bounded, and ended for sure.

Each child leads a session of its own, without a terminal, and whatever of it is left when the call
ends is ended too, also after a normal end: every process group that was made in the session is
found, and only what escaped into yet another one is out of reach. A child that a signal ended has
the code that shells give it, 128 and the signal's number. `start_detached` alone leaves a child
behind, on purpose. Programs that belong on the user's terminal are for `foreground`; nothing else
starts processes.

Reading never waits for the end of a pipe: a grandchild may hold it open for ever. On Windows output
arrives at the end, from temporary files, and `taskkill` ends the tree.

What programs say of themselves, `--help`, is asked once in a sandbox and kept, and only where a
person wants it (`prowess fresh --ask-help`). No command of a skill is: only `PROGRAM --help` and
`PROGRAM SUBCOMMAND --help`, of programs on the PATH that do not lie in the workspace or among
skills. The sandbox sees no network and can write nothing; where the system has none, nothing is
asked.
"""

import codecs
import glob
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import Enum, auto
from hashlib import sha256
from threading import Event
from typing import IO

from prowess.host.files.handles import stamp_file
from prowess.host.files.state_files import KeptFiles
from prowess.host.processes.facts import FoundProgram, explain_failed_start, find_program
from prowess.runtime.ports import ChildCommand, ChildResult, Output

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
        argv = ("taskkill", "/PID", str(leader), "/T", "/F")
        # No shell, a fixed program of the system, and a number that we were given by it.
        subprocess.run(argv, capture_output=True, check=False)  # noqa: S603
        return True
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


def end_all_with(variable: str) -> None:
    """Make all processes end that have a variable, in whatever session they are by now."""
    for path in glob.glob("/proc/[0-9]*/environ"):
        # What has ended meanwhile, or is somebody else's, cannot be read and need not end.
        with suppress(OSError), open(path, "rb") as file:
            if variable.encode() in file.read().split(b"\0"):
                os.kill(int(path.split("/")[2]), signal.SIGKILL)


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


_PIECE = 65_536


class BoundedText:
    """The beginning and the end of a long text, and how much was left out between."""

    def __init__(self, most_chars: int) -> None:
        self._head_room = max(most_chars, 0) // 2
        self._tail_room = max(most_chars, 0) - self._head_room
        self._head: list[str] = []
        self._tail: deque[str] = deque()
        self._tail_chars = 0
        self._left_out = 0

    @property
    def cut(self) -> bool:
        """Whether something was left out."""
        return self._left_out > 0 or self._tail_chars > self._tail_room

    def add(self, text: str) -> None:
        """Take the next piece."""
        if self._head_room:
            self._head.append(text[: self._head_room])
            text = text[self._head_room :]
            self._head_room -= len(self._head[-1])
        if not text:
            return
        self._tail.append(text)
        self._tail_chars += len(text)
        # A whole piece goes once the others fill the room: what is held stays below both.
        while self._tail_chars - len(self._tail[0]) >= self._tail_room:
            gone = len(self._tail.popleft())
            self._tail_chars -= gone
            self._left_out += gone
            if not self._tail:
                return

    def text(self) -> str:
        """Return it all, with a line in the place of what was left out."""
        tail = "".join(self._tail)
        excess = max(len(tail) - self._tail_room, 0)
        missing = self._left_out + excess
        note = f"\n[... {missing} characters left out ...]\n" if missing else ""
        return "".join(self._head) + note + tail[excess:]


class Stream:
    """One stream of a child: bytes in, whole characters out."""

    def __init__(self, name: str, most_chars: int, output: Output | None) -> None:
        self._name, self._output = name, output
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.kept = BoundedText(most_chars)

    def feed(self, raw: bytes, *, last: bool = False) -> None:
        """Take bytes as they come; a character may end in the next ones."""
        text = self._decoder.decode(raw, final=last)
        if not text:
            return
        self.kept.add(text)
        if self._output is not None:
            self._output(self._name, text)


class Pipes:
    """The pipes of one child, watched together."""

    def __init__(self, stdin: bytes, out: Stream, err: Stream) -> None:
        self._left = memoryview(stdin)
        self._out, self._err = out, err
        self._selector = selectors.DefaultSelector()
        self._pipes: list[IO[bytes]] = []
        self._end = -1
        self.stdin = subprocess.PIPE if stdin else subprocess.DEVNULL
        self.stdout = self.stderr = subprocess.PIPE

    def attach(self, child: subprocess.Popen[bytes]) -> None:
        """Begin to watch the pipes of `child`."""
        self._pipes = [pipe for pipe in (child.stdin, child.stdout, child.stderr) if pipe]
        for pipe, stream in ((child.stdout, self._out), (child.stderr, self._err)):
            if pipe is not None:
                self._selector.register(pipe, selectors.EVENT_READ, stream)
        if child.stdin is not None:
            os.set_blocking(child.stdin.fileno(), False)
            self._selector.register(child.stdin, selectors.EVENT_WRITE)
        self._watch_for_end(child.pid)

    def _watch_for_end(self, pid: int) -> None:
        """Wake up when the child ends, where the system can; elsewhere the next look finds out."""
        if not hasattr(os, "pidfd_open"):
            return
        try:
            self._end = os.pidfd_open(pid)
        except OSError:
            # An older system, or one without files left.
            return
        self._selector.register(self._end, selectors.EVENT_READ)

    @property
    def speaking(self) -> bool:
        """Whether somebody still holds a stream that we read."""
        return any(key.data is not None for key in self._selector.get_map().values())

    def pump(self, seconds: float) -> None:
        """Move what can be moved, waiting for it `seconds` at most."""
        for key, _events in self._selector.select(seconds):
            if key.fd == self._end:
                # Once is enough: from now on it would wake us all the time.
                self._selector.unregister(key.fd)
            elif key.data is None:
                self._write(key.fd)
            else:
                self._read(key.fd, key.data)

    def _read(self, pipe: int, stream: Stream) -> None:
        raw = os.read(pipe, _PIECE)
        if not raw:
            self._selector.unregister(pipe)
        stream.feed(raw, last=not raw)

    def _write(self, pipe: int) -> None:
        try:
            self._left = self._left[os.write(pipe, self._left[:_PIECE]) :]
        except BrokenPipeError:
            # The child does not want to hear more, which is its right.
            self._left = self._left[:0]
        if not self._left:
            self._selector.unregister(pipe)
            self._pipes.pop(0).close()

    def finish(self) -> None:
        """Say what is left of a character that never ended."""
        for key in list(self._selector.get_map().values()):
            if key.data is not None:
                key.data.feed(b"", last=True)

    def close(self) -> None:
        """Let go of every pipe, whoever holds its other end."""
        self._selector.close()
        for pipe in self._pipes:
            pipe.close()
        if self._end >= 0:
            os.close(self._end)
            self._end = -1


class Files:
    """Temporary files in the place of pipes: nothing to watch, and all of it at the end."""

    speaking = False

    def __init__(self, stdin: bytes, out: Stream, err: Stream) -> None:
        self._streams = (out, err)
        # Closed by `close`, which outlives this function.
        self.stdin, self.stdout, self.stderr = (tempfile.TemporaryFile() for _ in range(3))  # noqa: SIM115
        self.stdin.write(stdin)
        self.stdin.seek(0)

    def attach(self, child: subprocess.Popen[bytes]) -> None:
        """Do nothing: the child has the files already."""

    def pump(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)

    def finish(self) -> None:
        """Read what the child wrote."""
        for file, stream in zip((self.stdout, self.stderr), self._streams, strict=True):
            file.seek(0)
            while raw := file.read(_PIECE):
                stream.feed(raw)
            stream.feed(b"", last=True)

    def close(self) -> None:
        """Let go of the files, which are gone then."""
        for file in (self.stdin, self.stdout, self.stderr):
            file.close()


_TICK_S, _LINGER_S, _GRACE_S = 0.05, 0.5, 1.0
_SIGNAL_BASE = 128
_NOT_ENDED = "It does not end: it belongs to another user, or waits for a device."
_CODE_LOST = "Its exit code is lost: the program around us ignores SIGCHLD."
# Signals whose handlers may raise while a child is being started.
_HELD = ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM")


class _Ending(Enum):
    EXITED = auto()
    TIMED_OUT = auto()
    STOPPED = auto()


class ChildProcesses:
    """Starts programs and waits for them; threads may share it."""

    def __init__(self, *, grace: float = _GRACE_S) -> None:
        # Seconds between asking a child to end and making it.
        self._grace = grace

    def run(
        self, command: ChildCommand, output: Output | None = None, stop: Event | None = None
    ) -> ChildResult:
        """Run a program to its end, its time or `stop`; nothing that it started is left behind."""
        if stop is not None and stop.is_set():
            return ChildResult(code=None, stopped=True)
        program = _program(command)
        if program.problem:
            return ChildResult(code=None, problem=program.problem)
        child = _Child(command, output, self._grace)
        try:
            problem = child.start(program.path)
            if problem:
                return ChildResult(code=None, problem=problem)
            return child.finish(child.wait(stop))
        finally:
            child.close()


def start_detached(
    argv: Sequence[str], *, stdin: bytes, environment: Mapping[str, str], folder: str
) -> bool:
    """Start a program that goes on after us and that nobody hears; False where it cannot start.

    It reads `stdin` from a file without a name, so that starting it waits for nothing. It is the
    one child that is meant to be left behind: give it a bounded job.
    """
    with tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        try:
            # No shell: the words are ours, and passed one by one.
            process = subprocess.Popen(  # noqa: S603
                list(argv),
                cwd=folder,
                env=dict(environment),
                stdin=given,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                creationflags=getattr(subprocess, "DETACHED_PROCESS", 0),
            )
        except (OSError, ValueError):
            return False
        # Nobody waits for it: whoever calls this ends first, and the system reaps what is left.
        process.returncode = 0
    return True


def _program(command: ChildCommand) -> FoundProgram:
    if command.folder and not os.path.isdir(command.folder):
        return FoundProgram(problem=f"The folder {command.folder} does not exist: make it first.")
    name = command.argv[0] if command.argv else ""
    return find_program(name, command.environment, _folder(command))


def _folder(command: ChildCommand) -> str:
    """Return where the child runs, whole: what is found from there is started from there."""
    return os.path.abspath(command.folder) if command.folder else ""


class _Child:
    """One child process, from its start until nothing of it is left."""

    def __init__(self, command: ChildCommand, output: Output | None, grace: float) -> None:
        self._command, self._grace = command, grace
        self._out = Stream("stdout", command.most_chars, output)
        self._err = Stream("stderr", command.most_chars, output)
        streams = Files if os.name == "nt" else Pipes
        text = command.stdin.encode("utf-8", "replace")
        self._ends: Files | Pipes = streams(text, self._out, self._err)
        self._process: subprocess.Popen[bytes] | None = None
        self._is_lost = False

    def start(self, path: str) -> str:
        """Start the program at `path`; return why that failed, or nothing."""
        try:
            with _interrupts_held():
                # No shell: the program was found by us, and its words are passed one by one.
                self._process = subprocess.Popen(  # noqa: S603
                    self._command.argv,
                    executable=path,
                    cwd=_folder(self._command) or None,
                    env=dict(self._command.environment),
                    stdin=self._ends.stdin,
                    stdout=self._ends.stdout,
                    stderr=self._ends.stderr,
                    start_new_session=True,
                    creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
                )
                self._ends.attach(self._process)
        except (OSError, ValueError) as error:
            return explain_failed_start(self._command.argv[0], error).problem
        return ""

    def wait(self, stop: Event | None) -> _Ending:
        """Wait until the child ends, its time is over, or somebody wants it to stop."""
        until = time.monotonic() + self._command.seconds
        while self._is_running():
            left = until - time.monotonic()
            if stop is not None and stop.is_set():
                return _Ending.STOPPED
            if left <= 0:
                return _Ending.TIMED_OUT
            self._ends.pump(min(_TICK_S, left))
        return _Ending.EXITED

    def finish(self, ending: _Ending) -> ChildResult:
        """End what is left, read what it said meanwhile, and say what became of the child."""
        until = time.monotonic() + _LINGER_S
        # The last words of a child that ended may come from one of its own children.
        while ending is _Ending.EXITED and self._ends.speaking and time.monotonic() < until:
            self._ends.pump(_TICK_S)
        code, problem = self._end(self._ends.pump)
        self._ends.pump(0)
        self._ends.finish()
        return ChildResult(
            code=code if ending is _Ending.EXITED else None,
            stdout=self._out.kept.text(),
            stderr=self._err.kept.text(),
            timed_out=ending is _Ending.TIMED_OUT,
            stopped=ending is _Ending.STOPPED,
            cut=self._out.kept.cut or self._err.kept.cut,
            problem=problem,
        )

    def close(self) -> None:
        """Let go of everything; after an exception that includes the child itself."""
        try:
            # Whoever takes the output may be what failed: it is not called again.
            self._end(time.sleep)
        finally:
            self._ends.close()

    def _is_running(self) -> bool:
        """Look without reaping: the number must stay the child's own until all of it is ended."""
        if self._process is None:
            return False
        if not hasattr(os, "waitid"):
            return self._process.poll() is None
        try:
            options = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, self._process.pid, options) is None
        except ChildProcessError:
            self._is_lost = True
            return False

    def _end(self, wait: Callable[[float], object]) -> tuple[int | None, str]:
        """End whatever is left of the child; return its code, or a problem with that."""
        if self._process is None:
            return None, ""

        def pause(seconds: float) -> None:
            self._is_running()
            wait(seconds)

        is_over = end_session(self._process.pid, pause, self._grace) and not self._is_running()
        process, self._process = self._process, None
        if not is_over:
            return None, _NOT_ENDED
        code = process.wait()
        if self._is_lost:
            return None, _CODE_LOST
        return (code if code >= 0 else _SIGNAL_BASE - code), ""


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Keep Ctrl-C and its like until the child is known to us: before, nobody could end it."""
    if threading.current_thread() is not threading.main_thread():
        # Python runs its handlers in the main thread alone.
        yield
        return
    caught: list[int] = []
    numbers = [getattr(signal, name) for name in _HELD if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    mine = {number: old for number, old in before.items() if callable(old)}
    for number in mine:
        signal.signal(number, lambda received, _frame: caught.append(received))
    try:
        yield
    finally:
        for number, old in mine.items():
            signal.signal(number, old)
        for number in caught:
            signal.raise_signal(number)


_FOLDER, _MOST_KEPT, _SECONDS, _MOST_CHARS = "help-pages", 2_000, 5.0, 100_000
# Everything that is mounted becomes read-only, and there is no network but an empty one.
_READ_ONLY = 'mount --make-rprivate / && mount -o remount,bind,ro / && exec "$@"'
_UNSHARE = ("--user", "--map-root-user", "--mount", "--net", "--pid", "--fork", "--kill-child")
_BWRAP = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all")
_SEATBELT = "(version 1)(allow default)(deny network*)(deny file-write*)"


class HelpPages:
    """The pages of one state folder."""

    def __init__(self, state: str, environ: Mapping[str, str], workspace: str) -> None:
        """Open nothing yet; no program below `workspace` is ever asked."""
        self._kept = KeptFiles(os.path.join(state, _FOLDER), made_by="1", most=_MOST_KEPT)
        self._environ = environ
        self._workspace = os.path.realpath(workspace)

    def read(self, words: Sequence[str]) -> str:
        """Return the page of a program or of one of its subcommands; empty where none is kept."""
        path = self._locate(words[0])
        found = self._kept.load(self._key(path, words)) if path else None
        return (found or b"").decode("utf-8", "replace")

    def ask(self, words: Sequence[str]) -> str:
        """Return the page, asked for where none is kept; empty where it cannot be had."""
        known = self.read(words)
        path = self._locate(words[0])
        if known or not path or any(word.startswith("-") for word in words):
            return known
        wrapped = self._sandbox((path, *words[1:], "--help"))
        if not wrapped:
            return ""
        bare = {"PATH": self._environ.get("PATH", os.defpath), "LC_ALL": "C", "TERM": "dumb"}
        command = ChildCommand(
            argv=wrapped,
            environment={**bare, "HOME": "/nonexistent", "NO_COLOR": "1", "PAGER": "cat"},
            folder="/",
            seconds=_SECONDS,
            most_chars=_MOST_CHARS,
        )
        done = ChildProcesses().run(command)
        text = done.stdout if done.code == 0 else ""
        if text:
            self._kept.save(self._key(path, words), text.encode("utf-8", "replace"))
        return text

    def _locate(self, name: str) -> str:
        """Return the program's file, where it is one of the machine and not of a project."""
        found = find_program(name, self._environ).path if "/" not in name else ""
        real = os.path.realpath(found) if found else ""
        inside = real.startswith(f"{self._workspace}{os.sep}")
        return "" if not real or inside or f"{os.sep}skills{os.sep}" in real else found

    def _key(self, path: str, words: Sequence[str]) -> str:
        stamp = stamp_file(os.path.realpath(path))
        return sha256(repr((path, stamp, tuple(words[1:]))).encode()).hexdigest()

    def _sandbox(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """Return a command that runs another one shut in; nothing where that cannot be done."""
        search = self._environ.get("PATH", os.defpath)
        if sys.platform == "darwin":
            tool = shutil.which("sandbox-exec", path=search)
            return (tool, "-p", _SEATBELT, *argv) if tool else ()
        tool = shutil.which("bwrap", path=search)
        if tool:
            return (tool, *_BWRAP, "--die-with-parent", "--", *argv)
        tool = shutil.which("unshare", path=search)
        return (tool, *_UNSHARE, "--", "/bin/sh", "-c", _READ_ONLY, "sh", *argv) if tool else ()
