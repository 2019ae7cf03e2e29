"""Child processes as they are: loud, stubborn, forgetful of their own children, or not there."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.host.processes import children as processes
from prowess.host.processes.children import BoundedText, ChildProcesses, Files, Stream
from prowess.runtime.ports import ChildCommand, ChildResult, Output

ENVIRONMENT = {"PATH": os.environ["PATH"]}
LONG = 60.0


def _run(
    *argv: str,
    output: Output | None = None,
    stop: threading.Event | None = None,
    grace: float = 0.2,
    **given: object,
) -> ChildResult:
    fields: dict[str, object] = {"environment": ENVIRONMENT, "seconds": LONG, **given}
    # Whatever the test gives is what the command takes: it says so if not.
    command = ChildCommand(argv=argv, **fields)  # type: ignore[arg-type]
    return ChildProcesses(grace=grace).run(command, output, stop)


def _sh(script: str, **given: object) -> ChildResult:
    # The same: passed on as given.
    return _run("sh", "-c", script, **given)  # type: ignore[arg-type]


def _python(script: str, **given: object) -> ChildResult:
    # The same: passed on as given.
    return _run(sys.executable, "-c", script, **given)  # type: ignore[arg-type]


def _in_time(attempt: Callable[[float], ChildResult], needed: str) -> ChildResult:
    """Run a child whose time will be over, with enough of it to say what is needed before.

    A machine with much else to do may take longer than that to start a shell: then once more.
    """
    for seconds in (0.3, 3.0):
        result = attempt(seconds)
        if needed in result.stdout:
            return result
    return attempt(LONG / 2)


def _alive(pid: int) -> bool:
    """Say whether a process runs; one that is dead and not reaped does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat[stat.rfind(")") + 2] != "Z"


def test_both_streams_and_the_code_come_back() -> None:
    result = _sh("echo said; echo complained >&2; exit 3")

    assert result == ChildResult(code=3, stdout="said\n", stderr="complained\n")


def test_a_child_that_a_signal_ended_has_the_code_that_shells_give_it() -> None:
    assert _sh("kill -SEGV $$").code == 128 + signal.SIGSEGV


def test_output_is_told_as_it_comes(tmp_path: Path) -> None:
    told: list[tuple[str, str]] = []
    answer = tmp_path / "answer"
    os.mkfifo(answer)

    def output(stream: str, text: str) -> None:
        told.append((stream, text))
        if text == "first\n":
            answer.write_text("heard\n", encoding="utf-8")

    # The child goes on only once we heard its first word: told late, it would never end.
    result = _sh(f"echo first; read heard <{answer}; echo $heard >&2", output=output)

    assert told == [("stdout", "first\n"), ("stderr", "heard\n")]
    assert (result.stdout, result.stderr) == ("first\n", "heard\n")


def test_input_is_given_and_then_closed() -> None:
    text = "grüße\n" * 100_000

    result = _run("cat", stdin=text, most_chars=len(text))

    assert result.stdout == text
    assert _run("cat").stdout == ""


def test_a_child_that_does_not_read_its_input_is_left_in_peace() -> None:
    assert _sh("exit 4", stdin="x" * 1_000_000).code == 4


def test_a_character_that_comes_in_pieces_is_whole_and_bytes_that_are_no_text_are_replaced() -> (
    None
):
    told: list[str] = []
    script = (
        "import fcntl, os, termios\n"
        "for byte in 'ä€😀'.encode():\n"
        "    os.write(1, bytes([byte]))\n"
        # Until it was read: what is written meanwhile would come with it.
        "    while any(fcntl.ioctl(1, termios.FIONREAD, b'0000')):\n"
        "        os.sched_yield()\n"
        "os.write(1, b'\\xff|\\xe2\\x82')\n"
    )

    result = _python(script, output=lambda _stream, text: told.append(text))

    assert result.stdout == "ä€😀\ufffd|\ufffd"
    assert "".join(told) == result.stdout
    assert told[0] == "ä"


def test_the_environment_is_exactly_what_was_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OURS", "secret")

    result = _run("env", environment={**ENVIRONMENT, "THEIRS": "value"})

    lines = set(result.stdout.splitlines())
    assert lines == {f"PATH={ENVIRONMENT['PATH']}", "THEIRS=value"}


def test_a_program_is_looked_up_in_the_path_that_was_passed(tmp_path: Path) -> None:
    program = tmp_path / "only-here"
    program.write_text("#!/bin/sh\necho found\n", encoding="utf-8")
    program.chmod(0o700)

    assert _run("only-here").problem.startswith("only-here is not found in PATH")
    assert _run("only-here", environment={"PATH": str(tmp_path)}).stdout == "found\n"


def test_the_folder_that_a_child_runs_in_does_not_decide_which_program_it_is(
    tmp_path: Path,
) -> None:
    trap = tmp_path / "ls"
    trap.write_text("#!/bin/sh\necho trapped\n", encoding="utf-8")
    trap.chmod(0o700)

    result = _run("ls", environment={"PATH": f".::{os.environ['PATH']}"}, folder=str(tmp_path))

    assert result.stdout == "ls\n"
    assert _run("./ls", folder=str(tmp_path)).stdout == "trapped\n"


def test_a_child_runs_in_its_folder(tmp_path: Path) -> None:
    assert _run("pwd", folder=str(tmp_path)).stdout == f"{tmp_path}\n"


def test_what_cannot_be_started_is_a_sentence(tmp_path: Path) -> None:
    plain, script = tmp_path / "plain", tmp_path / "script"
    plain.write_text("#!/bin/sh\n", encoding="utf-8")
    script.write_text("#!/no/such/interpreter\n", encoding="utf-8")
    script.chmod(0o700)
    words = tmp_path / "words"
    words.write_text("no program\n", encoding="utf-8")
    words.chmod(0o700)
    cases: dict[str, ChildResult] = {
        "does not exist": _run(str(tmp_path / "gone")),
        "is a folder": _run(str(tmp_path)),
        "make it executable": _run(str(plain)),
        "interpreter": _run(str(script)),
        "does not know its kind": _run(str(words)),
        "NUL byte": _run("echo", "a\0b"),
        "No program is given": _run(),
        "The folder": _run("pwd", folder=str(tmp_path / "gone")),
        "too long": _run("true", *["x" * 100_000] * 100),
    }

    for part, result in cases.items():
        assert part in result.problem, result
        assert result.problem.endswith(".")
        assert (result.code, result.stdout, result.timed_out) == (None, "", False)


def test_no_problem_repeats_a_secret() -> None:
    result = _run("true", environment={**ENVIRONMENT, "TOKEN": "canary\0"})

    assert result.problem
    assert "canary" not in result.problem
    assert "canary" not in repr(ChildCommand(argv=("true",), environment={"TOKEN": "canary"}))


def test_time_that_is_over_ends_child_and_grandchildren() -> None:
    script = "sleep 1000 & echo $!; sleep 1000 & echo $!; echo both; wait"

    result = _in_time(lambda seconds: _sh(script, seconds=seconds), "both")

    assert (result.code, result.timed_out, result.stopped) == (None, True, False)
    pids = [int(line) for line in result.stdout.split()[:-1]]
    assert len(pids) == 2
    assert not any(_alive(pid) for pid in pids)


def test_a_child_that_ignores_the_request_to_end_is_ended_all_the_same() -> None:
    script = 'trap "echo no" TERM; echo $$; while :; do sleep 0.01; done'

    result = _in_time(lambda seconds: _sh(script, seconds=seconds, grace=seconds), "no")

    assert result.timed_out
    assert "no" in result.stdout
    assert not _alive(int(result.stdout.split()[0]))


def test_last_words_after_the_request_to_end_are_heard() -> None:
    script = 'trap "echo bye; exit 0" TERM; sleep 1000 & wait'

    result = _in_time(lambda seconds: _sh(script, seconds=seconds, grace=seconds), "bye")

    assert (result.code, result.stdout) == (None, "bye\n")


def test_a_stop_ends_the_child() -> None:
    stop = threading.Event()

    result = _sh("echo $$; sleep 1000", stop=stop, output=lambda *_told: stop.set())

    assert (result.code, result.stopped, result.timed_out) == (None, True, False)
    assert not _alive(int(result.stdout))


def test_after_a_stop_nothing_is_started(tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()

    result = _run("touch", str(tmp_path / "started"), stop=stop)

    assert result == ChildResult(code=None, stopped=True)
    assert not list(tmp_path.iterdir())


def test_a_grandchild_that_keeps_the_pipe_open_does_not_hold_us_up_and_is_ended() -> None:
    begun = time.monotonic()

    result = _sh("sleep 1000 & echo $!; exit 5")

    assert result.code == 5
    assert not _alive(int(result.stdout))
    assert time.monotonic() - begun < LONG / 2


def test_a_grandchild_in_the_background_without_our_pipes_is_ended_too() -> None:
    result = _sh("sleep 1000 </dev/null >/dev/null 2>&1 & echo $!")

    assert result.code == 0
    assert not _alive(int(result.stdout))


def test_a_grandchild_in_a_group_of_its_own_is_ended_too() -> None:
    # Job control gives each command in the background its own group within the session.
    result = _run("bash", "-c", "set -m; sleep 1000 >/dev/null 2>&1 & echo $!")

    assert result.code == 0
    assert not _alive(int(result.stdout))


def test_one_that_left_our_session_with_the_pipe_does_not_hold_us_up(tmp_path: Path) -> None:
    begun, ready = time.monotonic(), tmp_path / "ready"
    os.mkfifo(ready)

    result = _sh(f"setsid sh -c 'echo $$; echo >{ready}; exec sleep 1000' & read ready <{ready}")

    try:
        assert result.code == 0
        assert time.monotonic() - begun < LONG / 2
    finally:
        os.kill(int(result.stdout), signal.SIGKILL)


def test_the_last_words_of_a_grandchild_that_outlives_the_child_are_heard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # They come soon, but nobody knows how soon on a machine that has much else to do.
    monkeypatch.setattr(processes, "_LINGER_S", LONG)

    result = _sh("(sleep 0.05; echo late) & exit 0")

    assert result.stdout == "late\n"


def test_an_output_that_fails_leaves_nothing_behind() -> None:
    pids: list[int] = []

    def output(_stream: str, text: str) -> None:
        pids.append(int(text))
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        _sh("echo $$; sleep 1000", output=output)

    assert not _alive(pids[0])


def test_an_interruption_leaves_nothing_behind() -> None:
    pids: list[int] = []

    def output(_stream: str, text: str) -> None:
        pids.append(int(text))
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        _sh('trap "" TERM INT; echo $$; while :; do sleep 1; done', output=output)

    assert not _alive(pids[0])


def test_an_interruption_during_the_start_waits_until_the_child_can_be_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    # The real one, and Ctrl-C at the worst moment: the child is there and nobody knows of it.
    def interrupted(*args: object, **given: object) -> subprocess.Popen[bytes]:
        # Whatever the adapter passes is what the real one takes.
        started.append(subprocess.Popen(*args, **given))  # type: ignore[call-overload]
        signal.raise_signal(signal.SIGINT)
        return started[0]

    class Interrupting:
        PIPE, DEVNULL, Popen = subprocess.PIPE, subprocess.DEVNULL, staticmethod(interrupted)

    monkeypatch.setattr(processes, "subprocess", Interrupting)

    with pytest.raises(KeyboardInterrupt):
        _sh("sleep 1000")

    assert started[0].returncode is not None


def test_fifty_megabytes_are_kept_within_bounds() -> None:
    told = 0

    def output(_stream: str, text: str) -> None:
        nonlocal told
        told += len(text)

    result = _sh("printf begin; head -c 50000000 /dev/zero | tr '\\0' x; printf end", output=output)

    assert told == 50_000_008
    assert result.cut
    assert result.stdout.startswith("beginxxx")
    assert result.stdout.endswith("xxxend")
    assert "[... 49800008 characters left out ...]" in result.stdout
    assert len(result.stdout) < 200_100


def test_a_flood_does_not_outlive_its_time() -> None:
    result = _in_time(lambda seconds: _run("yes", seconds=seconds), "characters left out")

    assert (result.timed_out, result.cut) == (True, True)


def test_threads_run_children_side_by_side() -> None:
    shared, results = ChildProcesses(), dict[int, str]()

    def work(number: int) -> None:
        command = ChildCommand(argv=("echo", str(number)), environment=ENVIRONMENT)
        results[number] = shared.run(command).stdout

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == {number: f"{number}\n" for number in range(16)}


def test_nothing_stays_open() -> None:
    # What others left to be closed must not be closed in between.
    gc.collect()
    before = set(os.listdir("/proc/self/fd"))  # noqa: PTH208 - it lists itself while it is read

    for script in ("exit 0", "sleep 1000 & exit 0", "cat"):
        _sh(script, stdin="x", seconds=0.5)

    assert set(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - the same


def test_a_code_that_the_system_threw_away_is_not_taken_for_success() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        result = _sh("exit 3")
    finally:
        signal.signal(signal.SIGCHLD, before)

    assert result.code is None
    assert "SIGCHLD" in result.problem


def test_a_child_has_no_terminal_to_ask_on() -> None:
    assert _sh("exec 3</dev/tty").code != 0


def test_where_pipes_cannot_be_watched_files_take_their_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processes, "Pipes", Files)

    result = _sh("cat; echo complained >&2; sleep 1000 & exit 3", stdin="grüße")

    assert result == ChildResult(code=3, stdout="grüße", stderr="complained\n")


@given(st.lists(st.text(max_size=20)), st.integers(0, 60))
def test_what_is_kept_is_the_beginning_and_the_end(pieces: list[str], most: int) -> None:
    kept, whole = BoundedText(most), "".join(pieces)

    for piece in pieces:
        kept.add(piece)

    assert kept.cut == (len(whole) > most)
    if not kept.cut:
        assert kept.text() == whole
        return
    note = f"\n[... {len(whole) - most} characters left out ...]\n"
    tail = most - most // 2
    assert kept.text() == whole[: most // 2] + note + (whole[-tail:] if tail else "")


@given(st.binary(max_size=40), st.lists(st.integers(0, 40)))
def test_pieces_decode_to_what_the_whole_decodes_to(raw: bytes, cuts: list[int]) -> None:
    told: list[str] = []
    stream = Stream("stdout", 1000, lambda _name, text: told.append(text))
    places = sorted({0, len(raw), *(cut for cut in cuts if cut < len(raw))})

    for start, end in pairwise(places):
        stream.feed(raw[start:end])
    stream.feed(b"", last=True)

    assert "".join(told) == stream.kept.text() == raw.decode("utf-8", "replace")
