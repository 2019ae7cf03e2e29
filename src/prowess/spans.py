"""Pieces of work: how long each took, how long it may take, and that its failure stays inside.

Events go through the standard library's log, so that a program that embeds Prowess decides about
them as about all others, and where nobody listens nothing is measured: a word for what happened,
ids, and how long it took, never a text of anybody. What takes time is told once it is over, and
knows what it was a part of: whoever wants spans makes them of the same events.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from typing import TYPE_CHECKING

from prowess.data import compile_late, dataclass

if TYPE_CHECKING:
    # Most commands log nothing.
    import logging

# The level of that name; to look it up would load what most commands do not need.
_DEBUG = 10
# As far as the values of a log go: no texts, no objects.
Id = str | int | float | bool


@dataclass(slots=True, kw_only=True)
class Timed:
    """Something that takes time: when it began, what it is a part of, and how it ended."""

    what: str
    parent: "Timed | None" = None
    # Of all that belongs to one request, and of this part alone; random, as tracing wants them.
    trace_id: int = field(default_factory=lambda: _make_id(16))
    span_id: int = field(default_factory=lambda: _make_id(8))
    began_ns: int = field(default_factory=time.time_ns)
    took_ns: int = 0
    # What kind of error ended it; empty where none did.
    failed: str = ""
    ids: dict[str, Id] = field(default_factory=dict)
    # Whether it is somebody else's, of whom only the ids are known; None where it is ours.
    sampled_elsewhere: bool | None = None


_TRACEPARENT = compile_late(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")


def read_traceparent(text: str) -> Timed | None:
    """Return what a request is a part of, as the header `traceparent` says; None where none is."""
    found = _TRACEPARENT.fullmatch(text.strip())
    if found is None or text.startswith("ff"):
        return None
    trace_id, span_id, flags = (int(part, 16) for part in found.groups())
    if not trace_id or not span_id:
        return None
    is_sampled = bool(flags & 1)
    return Timed(what="", trace_id=trace_id, span_id=span_id, sampled_elsewhere=is_sampled)


def _make_id(size: int) -> int:
    # Nothing but zeros would be no id.
    return int.from_bytes(os.urandom(size), "big") or 1


_running: ContextVar[Timed | None] = ContextVar("running", default=None)


@contextmanager
def timed(
    log: "logging.Logger", what: str, part_of: Timed | None = None, /, **ids: Id
) -> Iterator[dict[str, Id]]:
    """Log what is done in this block once it is over; more ids may be put into what it yields."""
    if not log.isEnabledFor(_DEBUG):
        yield {}
        return
    parent = _running.get() or part_of
    event = Timed(what=what, parent=parent, ids=ids)
    if parent is not None:
        event.trace_id = parent.trace_id
    token, began = _running.set(event), time.perf_counter_ns()
    is_whole = False
    try:
        yield event.ids
        is_whole = True
    finally:
        _running.reset(token)
        kind = sys.exc_info()[0]
        event.failed = "" if is_whole or kind is None else kind.__name__
        event.took_ns = time.perf_counter_ns() - began
        ended = {"failed": event.failed} if event.failed else {}
        extra = {**event.ids, **ended, "ms": round(event.took_ns / 1e6, 1), "timed": event}
        log.debug(what, extra=extra)


@contextmanager
def contain(tell: Callable[[Exception], object]) -> Iterator[None]:
    """Let nothing that is raised inside go further, and tell of it instead.

    For outermost frames alone: a thread, a hook, a turn of a chat, the code of others. What can be
    expected is caught inside, by its name.
    """
    try:
        yield
    # Nobody can list ahead what it may be.
    except Exception as error:  # noqa: BLE001
        tell(error)


@contextmanager
def heard(handler: "logging.Handler", level: int, name: str = "prowess") -> Iterator[None]:
    """Let a handler hear our log from a level on; what others hear stays as it is."""
    # Late: most commands log nothing.
    import logging

    log = logging.getLogger(name)
    before = log.level
    log.addHandler(handler)
    log.setLevel(min(level, before) if before else level)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)


# Asked again, should something inside take the first interruption for a failure of its own.
_AGAIN_S, _SOON_S = 0.25, 0.001


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Interrupt what runs inside after `seconds` of processor time.

    A scanner looks at the clock itself, but between two looks a hostile text may keep one step
    busy: this reaches into such a step, and nobody else's work sets it off. It exists where the
    system has timers, and for the main thread alone.

    Raises:
        TimeoutError: the time is up.
    """
    # Late: hooks and routes interrupt nothing.
    import signal
    import threading

    is_main = threading.current_thread() is threading.main_thread()
    if not hasattr(signal, "setitimer") or not is_main:
        yield
        return

    def stop(_number: int, _frame: object) -> None:
        # The timer runs on while other threads work.
        if time.thread_time() - begun >= seconds:
            raise TimeoutError(f"stopped after {seconds:g} s of processor time")

    before, begun = signal.signal(signal.SIGVTALRM, stop), time.thread_time()
    left, again = signal.setitimer(signal.ITIMER_VIRTUAL, seconds, _AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        if left:
            # A program around us has an alarm of its own running; it may be due by now.
            left = max(left - (time.thread_time() - begun), _SOON_S)
            signal.setitimer(signal.ITIMER_VIRTUAL, left, again)
