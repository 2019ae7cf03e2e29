"""The fast lane of `prowess hook`: from standard input to standard output, and always exit code 0.

Coding agents wait for it at every prompt, so it imports nothing that it does not need, asks a
running gateway first, and ends the process without tidying up. Whatever goes wrong, the agent goes
on as if there were no hook.
"""

import gc
import os
import sys
from contextlib import suppress

from prowess.host.harness.hook_client import ask, current_folder, read_input, state_folder

_MOST_BYTES = 1024 * 1024
# No harness waits longer for a prompt; a hook that hangs must not outlive its caller for ever.
_MOST_SECONDS = 20.0
_LAST_SECONDS = 1.0


def run_and_leave() -> None:
    """Answer the payload on standard input and end the process at once.

    Threads that still load something are of no use any more, and what was opened is on the disk.
    """
    gc.disable()
    # Before numpy is loaded: one message is no work to share, and threads that wait for some take
    # the processor from whoever else runs.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    limit_time(_MOST_SECONDS)
    run()
    # The caller may have gone.
    with suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
    os._exit(0)


def run() -> int:
    """Answer the payload on standard input; return the exit code, which is always zero."""
    # Whoever answers notes what went wrong; the rest is a caller that has gone, or no standard
    # input: nobody can do anything about it, and the agent must not be disturbed.
    with suppress(Exception):
        _run()
    return 0


def _run() -> None:
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        return
    if sys.stdin.isatty():
        sys.stderr.write(
            "prowess hook: coding agents call this with a payload on standard input;"
            " `prowess connect` registers it.\n"
        )
        return
    raw = read_input(stream, _MOST_BYTES + 1)
    current = current_folder()
    state = state_folder(os.environ, current)
    if len(raw) > _MOST_BYTES:
        _note(state, "too large")
        return
    if not raw.strip():
        return
    answer = ask(state, raw, os.environ, current)
    if answer is not None:
        _show(answer.decode("ascii"))
        return
    from prowess.wiring.hook import answer_alone

    answer_alone(raw, os.environ, current, state, _show)


def _note(state: str, problem: str) -> None:
    """Leave a line in the log about a call that never came as far as to an answer."""
    import time

    from prowess.host.harness.call_records import HookLog

    HookLog(state).note_unknown(time.time_ns() // 1_000_000, problem)


def _show(text: str) -> None:
    # Answers are ASCII, and go out as such: no variable may make another encoding of them.
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:
        sys.stdout.write(text)
    else:
        stream.write(text.encode("ascii"))
    sys.stdout.flush()


def limit_time(seconds: float) -> None:
    """End this process, as if all were well, if it goes on for longer."""
    import signal

    if not hasattr(signal, "setitimer"):
        return

    def end(_number: int, _frame: object) -> None:
        # Whatever holds the process up may hold up the log as well.
        signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
        signal.setitimer(signal.ITIMER_REAL, _LAST_SECONDS)
        with suppress(Exception):
            _note(state_folder(os.environ, current_folder()), "out of time")
        os._exit(0)

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
