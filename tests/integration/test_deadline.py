"""The alarm that stops a scan, and the peace that it leaves behind."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from prowess.safety.scan import TIME_LIMIT
from prowess.spans import deadline


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


# Says when it begins, scans, and shows what came of it.
_SCAN = """
import sys
from dataclasses import replace
from pathlib import Path
from prowess.runtime.scan import Target
from prowess.wiring.library import open_runtime
scanning = open_runtime(Path(sys.argv[1]), home=Path(sys.argv[2])).scanning
files = {path: Path(sys.argv[1], path).read_bytes() for path in sys.argv[3:]}
print("begun", flush=True)
print(replace(scanning.scan_target(Target(path="0", name="a", files=files)).report, took_ms=0))
"""


@pytest.mark.slow
def test_a_scan_that_is_kept_from_the_processor_says_what_it_says_otherwise(tmp_path: Path) -> None:
    # Far from the limit in processor time, and long enough to be stopped in the middle of it.
    script = "var a=[1,2,3];function f(x){return x.map(y=>y+1)};f(a);" * 6000
    texts = {"SKILL.md": "---\nname: a\ndescription: Tides.\n---\n\nRead.\n", "a.js": script}
    for path, text in texts.items():
        (tmp_path / path).write_text(text, encoding="utf-8")

    # A state folder each: what was found by one must not be looked up by the other.
    said = [_scan(tmp_path, tmp_path / each, texts, each) for each in ("at once", "kept")]

    assert said[0] == said[1]
    assert "ScanVerdict.WARN" in said[0]


def _scan(folder: Path, state: Path, paths: Iterable[str], how: str) -> str:
    """Scan in a process that is stopped meanwhile for longer than a scan may take, if it is to."""
    command = [sys.executable, "-c", _SCAN, str(folder), str(state), *paths]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        if how == "kept":
            process.send_signal(signal.SIGSTOP)
            threading.Event().wait(TIME_LIMIT + 2)
            assert process.poll() is None
            process.send_signal(signal.SIGCONT)
        said: str = process.communicate()[0]
    return said
