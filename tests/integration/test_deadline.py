"""The alarm that stops a scan, and the peace that it leaves behind."""

import signal
import threading
import time

import pytest

from prowess.host.safety import deadline


def _endless() -> None:
    while True:
        pass


def _stubborn(swallowed: list[int]) -> None:
    while not swallowed:
        try:
            _endless()
        except TimeoutError:
            swallowed.append(1)
    _endless()


def test_work_that_takes_too_long_is_interrupted() -> None:
    begun = time.monotonic()

    with pytest.raises(TimeoutError, match=r"stopped after 0\.1 s"), deadline(0.1):
        _endless()

    assert time.monotonic() - begun < 60


def test_an_interruption_that_is_swallowed_comes_again() -> None:
    swallowed: list[int] = []

    with pytest.raises(TimeoutError), deadline(0.3):
        _stubborn(swallowed)

    assert swallowed == [1]


def test_work_in_time_leaves_the_alarm_of_others_as_it_was() -> None:
    handler, outer = signal.getsignal(signal.SIGALRM), signal.setitimer(signal.ITIMER_REAL, 500)
    try:
        with deadline(900):
            assert signal.getitimer(signal.ITIMER_REAL)[0] > 500
            time.sleep(0.1)

        assert 400 < signal.getitimer(signal.ITIMER_REAL)[0] < 499.95
        assert signal.getsignal(signal.SIGALRM) is handler
    finally:
        signal.setitimer(signal.ITIMER_REAL, *outer)


def test_work_in_time_leaves_no_alarm_behind() -> None:
    outer = signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        with deadline(60):
            pass

        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, *outer)


def test_in_another_thread_there_is_no_alarm_and_the_work_goes_on() -> None:
    done: list[int] = []

    def work() -> None:
        with deadline(0.01):
            time.sleep(0.05)
            done.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert done == [1]
