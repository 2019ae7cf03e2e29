"""A program in our place on the terminal, as if it had been started directly, and its prompt file.

It has our streams, our process group and our terminal. We stay behind it, take no signal ourselves
and hand on what was sent to us alone. What a terminal sends (Ctrl-C, Ctrl-Z, a new window size)
reaches the whole group: to hand that on would deliver it twice. The signal's own record tells the
two apart. A signal that a process sends to the whole group cannot be told from one to us: the
program gets that one twice. When the program is stopped we stop too, so that the shell notices.

Signals are blocked in the calling thread, which has to be the main one, and taken one by one; other
threads that leave them open would take some. Systems that cannot do that (macOS) have handlers
instead, which hold a signal of the terminal to be one while our group has the terminal. On Windows
the console tells every program of Ctrl-C, and we only wait.

The file with the skills prompt is private and lives as long as the block. It is there for an empty
prompt, too, so that readers need no special case.
"""

import logging
import os
import shutil
import signal
import stat
import subprocess
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, nullcontext

from prowess.errors import PathError
from prowess.host.processes.facts import (
    NOT_RUNNABLE,
    FoundProgram,
    explain_failed_start,
    find_program,
)
from prowess.runtime.ports import ChildCommand

_LOOK_AGAIN_S = 1.0
_SIGNAL_BASE = 128
# What a signal's record says where a process sent it, by kill or its kin, on Linux and on BSDs.
_BY_A_PROCESS = frozenset({0, -1, -6, 0x10001, 0x10002, 0x10007})


def _find_signals(*names: str) -> frozenset[int]:
    return frozenset(int(getattr(signal, name)) for name in names if hasattr(signal, name))


_JOB_CONTROL = _find_signals("SIGTSTP", "SIGTTIN", "SIGTTOU")
_OF_TERMINAL = _JOB_CONTROL | _find_signals("SIGHUP", "SIGINT", "SIGQUIT", "SIGWINCH", "SIGINFO")
# Each of these would end us and leave the program behind. Those that tell of a fault in our own
# code (SIGSEGV and its like) are not among them: nobody could go on after one.
_ENDING = _find_signals(
    "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGXCPU", "SIGXFSZ",
    "SIGPIPE", "SIGIO", "SIGPOLL", "SIGPWR", "SIGSTKFLT", "SIGLOST", "SIGABRT",
)  # fmt: skip
_REAL_TIME = frozenset(
    range(signal.SIGRTMIN, signal.SIGRTMAX + 1) if hasattr(signal, "SIGRTMIN") else ()
)
# CONT is among them for a program that was stopped together with us.
_HANDED_ON = _OF_TERMINAL | _ENDING | _REAL_TIME | _find_signals("SIGCONT")
_WAITED_FOR = _HANDED_ON | _find_signals("SIGCHLD")
# Python ignores these for itself; a program expects them as they are by default.
_AS_BY_DEFAULT = _find_signals("SIGPIPE", "SIGXFSZ", "SIGCHLD")


@contextmanager
def holding_signals() -> Iterator[Collection[int]]:
    """Keep signals waiting within the block, and yield those that waited before it.

    For what has to be undone after a program: no signal comes between, and none is lost.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield ()
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, _WAITED_FOR)
        yield before
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def run_foreground(
    argv: Sequence[str],
    environment: Mapping[str, str],
    folder: str = "",
    *,
    tell: Callable[[str], object] | None = None,
    held: Collection[int] | None = None,
) -> int:
    """Run a program on our terminal to its end and return its exit code, or 128 and a signal.

    Args:
        argv: the program and its arguments.
        environment: all of the program's variables.
        folder: where it runs; by default the current folder.
        tell: takes a sentence where it did not start; the code is then 126 or 127.
        held: what `signals_held` yielded, for callers within such a block.
    """
    whole = os.path.abspath(folder) if folder else ""
    command = ChildCommand(argv=tuple(argv), environment=environment, folder=whole)
    program = _program(command)
    if not program.problem:
        try:
            return (
                _run_on_windows(command, program.path)
                if os.name == "nt"
                else _run(command, program.path, held)
            )
        except _NotStartedError as error:
            program = error.program
    if tell is not None:
        tell(program.problem)
    return program.code


class _NotStartedError(Exception):
    """The system did not start a program that is there."""

    def __init__(self, program: FoundProgram) -> None:
        super().__init__(program.problem)
        self.program = program


def _program(command: ChildCommand) -> FoundProgram:
    if command.folder and not os.path.isdir(command.folder):
        problem = f"The folder {command.folder} does not exist: make it first."
        return FoundProgram(problem=problem, code=NOT_RUNNABLE)
    name = command.argv[0] if command.argv else ""
    # Relative entries of the search path count: that is how a shell would start it, too.
    return find_program(name, command.environment, command.folder, relative=True)


def _run(command: ChildCommand, path: str, held: Collection[int] | None) -> int:
    with _report_children(), holding_signals() as before:
        mask = before if held is None else held
        child = _spawn(command, path, mask)
        if hasattr(signal, "sigtimedwait"):
            return _watch(child)
        return _watch_with_handlers(child, mask)


def _spawn(command: ChildCommand, path: str, mask: Collection[int]) -> int:
    """Start the program with the signals that we had, and with every file it was to inherit."""
    try:
        with chdir(command.folder) if command.folder else nullcontext():
            return os.posix_spawn(
                path, command.argv, command.environment, setsigmask=mask, setsigdef=_AS_BY_DEFAULT
            )
    except (OSError, ValueError) as error:
        raise _NotStartedError(explain_failed_start(command.argv[0], error)) from error


@contextmanager
def _report_children() -> Iterator[None]:
    """See to it that the system keeps exit codes: who ignores dead children is told none."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        yield
    finally:
        # None stands for one that was not set by Python, and cannot be.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL if before is None else before)


def _watch(child: int) -> int:
    """Take signals one by one until the program ends."""
    while True:
        received = signal.sigtimedwait(_WAITED_FOR, _LOOK_AGAIN_S)
        if received is not None and not _has_already(child, received):
            _hand_on(child, received.si_signo)
        code = _code(child, os.waitpid(child, os.WNOHANG | os.WUNTRACED))
        if code is not None:
            break
    while signal.sigtimedwait(_WAITED_FOR, 0) is not None:
        # It was for the program, which is gone.
        continue
    return code


def _has_already(child: int, received: signal.struct_siginfo) -> bool:
    """Say whether the program got this signal by itself, or has nothing to do with it."""
    if received.si_signo == signal.SIGCHLD:
        return True
    if received.si_code in _BY_A_PROCESS:
        # Its own doing, such as a signal to its whole group, does not come back to it; and ours,
        # such as a line for an error stream that nobody reads, is none of its business.
        return received.si_pid in {child, os.getpid()}
    # A terminal that goes away tells only the leader of the session.
    is_told_alone = received.si_signo == signal.SIGHUP and os.getsid(0) == os.getpid()
    return received.si_signo in _OF_TERMINAL and not is_told_alone


def _watch_with_handlers(child: int, mask: Collection[int]) -> int:
    """Do the same where signals cannot be taken one by one; nothing says who sent them."""

    def hand_on(number: int, _frame: object) -> None:
        if number not in _OF_TERMINAL or not _has_terminal():
            _hand_on(child, number)

    # What Python ignores does not end us, and here nothing would tell ours from somebody else's.
    handed_on = _HANDED_ON - _AS_BY_DEFAULT
    before = {number: signal.signal(number, hand_on) for number in handed_on}
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        code = None
        while code is None:
            code = _code(child, os.waitpid(child, os.WUNTRACED))
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, _WAITED_FOR)
        for number, old in before.items():
            signal.signal(number, signal.SIG_DFL if old is None else old)
    return code


def _hand_on(child: int, number: int) -> None:
    try:
        os.kill(child, number)
    except PermissionError:
        # It became another user's, as sudo does; whoever sent this could not have reached it.
        return


def _code(child: int, waited: tuple[int, int]) -> int | None:
    """Return the exit code once there is one; stop with a program that was stopped."""
    found, status = waited
    if found != child:
        return None
    if os.WIFSTOPPED(status):
        _stop_as_well(os.WSTOPSIG(status))
        return None
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else _SIGNAL_BASE - code


def _stop_as_well(number: int) -> None:
    """Stop like the program, so that the shell takes the terminal back, until it continues us."""
    if number == signal.SIGSTOP and _has_terminal():
        os.kill(os.getpid(), number)
    if number not in _JOB_CONTROL:
        return
    before = signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    mask = signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    # Here we stand still.
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    signal.signal(number, signal.SIG_DFL if before is None else before)


def _has_terminal() -> bool:
    """Say whether keys that are pressed send their signals to our group."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _run_on_windows(command: ChildCommand, path: str) -> int:
    try:
        # No shell: the program was found by us, and its words are passed one by one.
        child = subprocess.Popen(  # noqa: S603
            command.argv,
            executable=path,
            env=dict(command.environment),
            cwd=command.folder or None,
            close_fds=False,
        )
    except (OSError, ValueError) as error:
        raise _NotStartedError(explain_failed_start(command.argv[0], error)) from error
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:
            # The console told the program, too: it decides.
            continue


VARIABLE = "PROWESS_SKILLS_PROMPT_FILE"
_FILE_NAME = "skills-prompt.md"
_log = logging.getLogger(__name__)


@contextmanager
def write_prompt_file(text: str) -> Iterator[str]:
    """Write `text` to a private file, yield its path, and remove it in any case.

    Raises:
        PathError: the folder for temporary files takes none.
    """
    folder = ""
    try:
        folder = _write(text)
        yield os.path.join(folder, _FILE_NAME)
    finally:
        _remove(folder)


def _write(text: str) -> str:
    try:
        folder = tempfile.mkdtemp(prefix="prowess-run-")
    except OSError as error:
        raise _no_room(error) from error
    path = os.path.join(folder, _FILE_NAME)
    try:
        private = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stat.S_IRUSR | stat.S_IWUSR)
        with os.fdopen(private, "wb") as file:
            file.write(text.encode("utf-8", "replace"))
    except OSError as error:
        _remove(folder)
        raise _no_room(error) from error
    return folder


def _no_room(error: OSError) -> PathError:
    reason = error.strerror or "it cannot be written"
    return PathError(
        "the folder for temporary files",
        f"takes no file ({reason}): set TMPDIR to a folder that can be written.",
    )


def _remove(folder: str) -> None:
    try:
        if os.path.islink(folder):
            _remove_link(folder)
        elif folder:
            shutil.rmtree(folder)
    except FileNotFoundError:
        # The program tidied up by itself.
        return
    except OSError as error:
        # What the program returned matters more than a file that is private anyway.
        said = error.strerror or "the system does not say why"
        _log.warning("the skills prompt stays in %s, remove it yourself (%s)", folder, said)


def _remove_link(folder: str) -> None:
    """Remove a link that the program put in the place of our folder, and nothing behind it."""
    os.unlink(folder)
    _log.warning(
        "the command put a link in the place of %s: the link is removed, and what it leads to"
        " is as it was",
        folder,
    )
