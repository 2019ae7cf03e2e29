"""The fast lane of `prowess hook`: from standard input to standard output, and always exit code 0.

Coding agents wait for it at every prompt, so it imports nothing that it does not need, asks a
running gateway first, and ends the process without tidying up. Whatever goes wrong, the agent goes
on as if there were no hook.
"""

import gc
import os
import sys
from contextlib import suppress
from importlib import import_module

from prowess.host.hook_client import ask, current_folder, state_folder

_MOST_BYTES = 1024 * 1024
# No harness waits longer for a prompt; a hook that hangs must not outlive its caller for ever.
_MOST_SECONDS = 20.0


def run_and_leave() -> None:
    """Answer the payload on standard input and end the process at once.

    Threads that still load something are of no use any more, and what was opened is on the disk.
    """
    gc.disable()
    _limit_time()
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
    raw = stream.read(_MOST_BYTES + 1)
    if len(raw) > _MOST_BYTES or not raw.strip():
        return
    current = current_folder()
    state = state_folder(os.environ, current)
    answer = ask(state, raw, os.environ, current)
    if answer is not None:
        _show(answer.decode("utf-8"))
        return
    import_module("prowess.wiring.hooking").answer_alone(raw, os.environ, current, state, _show)


def _show(text: str) -> None:
    # Answers are ASCII, so that no console's encoding can break them.
    sys.stdout.write(text)
    sys.stdout.flush()


def _limit_time() -> None:
    signal = import_module("signal")
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, lambda _number, _frame: os._exit(0))
        signal.setitimer(signal.ITIMER_REAL, _MOST_SECONDS)
