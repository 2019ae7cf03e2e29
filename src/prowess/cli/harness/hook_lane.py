"""The fast lane of `prowess hook`: from standard input to standard output, and always exit code 0.

Coding agents wait for it at every prompt, so it imports nothing that it does not need, asks a
running gateway first, and ends the process without tidying up. Whatever goes wrong, the agent goes
on as if there were no hook.
"""

import gc
import os
import sys
import time
from contextlib import suppress

from prowess.host.harness.hook_client import ask, current_folder, read_input, state_folder

_MOST_BYTES = 1024 * 1024
# A hook that hangs must not outlive its caller for ever, where nobody says how long that waits.
_MOST_SECONDS = 20.0
# What is left of a caller's patience when the process gives up, and for its last words.
_EARLIER, _LEAST_SECONDS, _LAST_SECONDS = 0.9, 0.5, 1.6
_OUT_OF_TIME, _ENDED = "out of time", "ended by its caller"
# From which part of its time on a process that is ended has used it up.
_WHOLE = 0.9
# Which field behind the name of a process, in what Linux tells of it, says when it was started.
_STARTED = 19


def run_and_leave() -> None:
    """Answer the payload on standard input and end the process at once.

    Threads that still load something are of no use any more, and what was opened is on the disk.
    """
    gc.disable()
    # Before numpy is loaded: one message is no work to share, and threads that wait for some take
    # the processor from whoever else runs.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _call.begun = _find_begin()
    # Where all of it went before we began, there is still enough to say so.
    limit_time(max(_LEAST_SECONDS, _count_seconds()))
    _answer()
    # The caller may have gone.
    with suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
    os._exit(0)


def _count_seconds() -> float:
    """Return for how many seconds this may still go on, a little less than its caller waits."""
    given = os.environ.get("PROWESS_HOOK_SECONDS", "")
    whole = int(given) * _EARLIER if given.isdecimal() and int(given) else _MOST_SECONDS
    return whole - (time.monotonic() - _call.begun)


def run() -> int:
    """Answer the payload on standard input; return the exit code, which is always zero."""
    # The process may be older than the call.
    _call.begun, _call.payload = time.monotonic(), None
    _answer()
    return 0


def _answer() -> None:
    # Whoever answers notes what went wrong; the rest is a caller that has gone, or no standard
    # input: nobody can do anything about it, and the agent must not be disturbed.
    with suppress(Exception):
        _run()


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
    _call.payload = raw
    current = current_folder()
    state = state_folder(os.environ, current)
    if len(raw) > _MOST_BYTES:
        _note("too large")
        return
    if not raw.strip():
        return
    if _count_seconds() <= 0:
        _note(_OUT_OF_TIME)
        return
    answer = ask(state, raw, os.environ, current)
    if answer is not None:
        _show(answer.decode("ascii"))
        return
    from prowess.wiring.hook import HookPlace, answer_alone

    answer_alone(raw, os.environ, HookPlace(current, state, _call.begun), _show)


def _find_begin() -> float:
    """Return when this process was started, by the monotonic clock: its caller waits since then.

    On a machine that is busy, or has to fetch us from a slow disk, it takes long to come as far.
    """
    now = time.monotonic()
    try:
        handle = os.open("/proc/self/stat", os.O_RDONLY)
        with os.fdopen(handle, "rb") as file:
            told = file.read()
        ticks = int(told.rpartition(b")")[2].split()[_STARTED])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        # Another system, or a world whose clock is hidden: then it begins here.
        return now
    return now - age if 0 < age < _MOST_SECONDS else now


class _Call:
    """The call at hand, as whoever ends the process has to tell of it."""

    begun = time.monotonic()
    # Once it was read.
    payload: bytes | None = None


_call = _Call()


def _note(problem: str) -> None:
    """Leave a line in the log about a call that never came as far as to an answer."""
    from prowess.host.harness.call_records import HookLog

    log = HookLog(state_folder(os.environ, current_folder()))
    now_ms, took_ms = time.time_ns() // 1_000_000, round((time.monotonic() - _call.begun) * 1_000)
    from prowess.hooks.answers import read
    from prowess.hooks.harness import HookCall, Moment

    payload = _read_waiting() if _call.payload is None else _call.payload
    caller = read(payload, os.environ)
    if caller is None:
        log.note_unknown(now_ms, problem)
        return
    if problem == _ENDED and caller.moment in (Moment.TURN_END, Moment.SESSION_END):
        # A program that ends takes its hooks with it, as in print mode: nothing went wrong.
        return
    log.note(
        HookCall(
            harness=caller.harness,
            moment=caller.moment,
            at_ms=now_ms - took_ms,
            took_ms=took_ms,
            spoke=False,
            problem=problem,
        )
    )


def _read_waiting() -> bytes:
    """Return what stands on standard input by now: time may be over before it is read."""
    import select

    return os.read(0, _MOST_BYTES) if select.select([0], [], [], 0)[0] else b""


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
    began = time.monotonic()

    def end(number: int, _frame: object) -> None:
        # Whatever holds the process up may hold up the log as well.
        signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
        signal.setitimer(signal.ITIMER_REAL, _LAST_SECONDS)
        with suppress(Exception):
            is_early = number == signal.SIGTERM and time.monotonic() < began + _WHOLE * seconds
            _note(_ENDED if is_early else _OUT_OF_TIME)
        os._exit(0)

    signal.signal(signal.SIGALRM, end)
    signal.signal(signal.SIGTERM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
