"""Child processes whose output we read: started without a shell, bounded, and ended for sure.

Each child leads a session of its own, without a terminal, and whatever of it is left when the call
ends is ended too, also after a normal end: nothing goes on in the background. A child that a signal
ended has the code that shells give it, 128 and the signal's number. Programs that belong on the
user's terminal are for `foreground`; nothing else starts processes. `start_detached` alone leaves
a child behind, on purpose.

On Windows output arrives at the end, from temporary files, and `taskkill` ends the tree.
"""

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum, auto
from threading import Event

from prowess.host.processes.child_sessions import end_session
from prowess.host.processes.child_streams import Files, Pipes, Stream
from prowess.host.processes.facts import Program, find_program, start_problem
from prowess.runtime.ports import ChildCommand, ChildResult, Output

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


def _program(command: ChildCommand) -> Program:
    if command.folder and not os.path.isdir(command.folder):
        return Program(problem=f"The folder {command.folder} does not exist: make it first.")
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
            return start_problem(self._command.argv[0], error).problem
        return ""

    def wait(self, stop: Event | None) -> _Ending:
        """Wait until the child ends, its time is over, or somebody wants it to stop."""
        until = time.monotonic() + self._command.seconds
        while self._running():
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

    def _running(self) -> bool:
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
            self._running()
            wait(seconds)

        is_over = end_session(self._process.pid, pause, self._grace) and not self._running()
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
