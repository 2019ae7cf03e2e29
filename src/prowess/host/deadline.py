"""A stop that work cannot overlook: after so many seconds an alarm interrupts it.

The scanner looks at the clock itself, but between two looks a hostile text may keep one step busy.
The alarm reaches into such a step. It exists where the system has timers, and for the main thread
alone; elsewhere the scanner's own looks are all there is.
"""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

# Asked again, should something inside take the first interruption for a failure of its own.
_AGAIN_S, _SOON_S = 0.25, 0.001


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Interrupt what runs inside after `seconds`.

    Raises:
        TimeoutError: the time is up.
    """
    if not hasattr(signal, "setitimer") or not _is_main():
        yield
        return

    def stop(_number: int, _frame: object) -> None:
        raise TimeoutError(f"stopped after {seconds:g} s")

    before, begun = signal.signal(signal.SIGALRM, stop), time.monotonic()
    left, again = signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:
            # A program around us has an alarm of its own running; it may be due by now.
            left = max(left - (time.monotonic() - begun), _SOON_S)
            signal.setitimer(signal.ITIMER_REAL, left, again)


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()
