"""The alarm that stops a scan, and the peace that it leaves behind."""

import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.fixtures.scanning.cases import read_cases

from prowess.host.safety import deadline
from prowess.runtime.scan import Target
from prowess.safety.model import ScanVerdict
from prowess.wiring.library import open_runtime


def _endless() -> None:
    while True:
        pass


def _work(seconds: float) -> None:
    begun = time.thread_time()
    while time.thread_time() - begun < seconds:
        pass


def _stubborn(swallowed: list[int]) -> None:
    while not swallowed:
        try:
            _endless()
        except TimeoutError:
            swallowed.append(1)
    _endless()


def test_work_that_takes_too_long_is_interrupted() -> None:
    begun = time.thread_time()

    with pytest.raises(TimeoutError, match=r"stopped after 0\.1 s"), deadline(0.1):
        _endless()

    assert time.thread_time() - begun < 5


def test_time_that_others_use_sets_no_alarm_off() -> None:
    stop = threading.Event()

    def burn() -> None:
        while not stop.is_set():
            pass

    thread = threading.Thread(target=burn)
    thread.start()
    try:
        with deadline(0.2):
            time.sleep(0.8)
    finally:
        stop.set()
        thread.join()


def test_an_interruption_that_is_swallowed_comes_again() -> None:
    swallowed: list[int] = []

    with pytest.raises(TimeoutError), deadline(0.3):
        _stubborn(swallowed)

    assert swallowed == [1]


def test_work_in_time_leaves_the_alarm_of_others_as_it_was() -> None:
    handler, outer = (
        signal.getsignal(signal.SIGVTALRM),
        signal.setitimer(signal.ITIMER_VIRTUAL, 500),
    )
    try:
        with deadline(900):
            assert signal.getitimer(signal.ITIMER_VIRTUAL)[0] > 500
            _work(0.1)

        assert 400 < signal.getitimer(signal.ITIMER_VIRTUAL)[0] < 499.95
        assert signal.getsignal(signal.SIGVTALRM) is handler
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, *outer)


def test_work_in_time_leaves_no_alarm_behind() -> None:
    outer = signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    try:
        with deadline(60):
            pass

        assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, *outer)


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


@pytest.mark.slow
def test_a_scan_beside_eight_busy_processes_says_what_it_says_alone(tmp_path: Path) -> None:
    cases = [case.files for case in read_cases("evasion")[:10]]
    # Long enough for several seconds of waiting, and far from the limit in processor time.
    script = "var a=[1,2,3];function f(x){return x.map(y=>y+1)};f(a);" * 6000
    long = {"SKILL.md": b"---\nname: a\ndescription: Tides.\n---\n\nRead.\n"}
    long |= {f"dist/{number}.js": script.encode() for number in range(3)}
    targets = [
        Target(path=str(number), name="a", files=files)
        for number, files in enumerate([*cases, long])
    ]
    # A state folder each: what was found alone must not be looked up beside the others.
    first, second = (open_runtime(tmp_path, home=tmp_path / each).scanning for each in "ab")
    alone = [replace(first.scan_target(one).report, took_ms=0) for one in targets]

    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(8)]
    try:
        beside = [replace(second.scan_target(one).report, took_ms=0) for one in targets]
    finally:
        for process in busy:
            process.kill()
            process.wait()

    assert beside == alone
    assert alone[-1].verdict is ScanVerdict.WARN
