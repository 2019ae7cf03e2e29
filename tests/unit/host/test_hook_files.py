"""What hooks leave on the disk: a bounded, private log, and marks that tell nothing."""

import json
import os
import stat
import threading
from contextlib import ExitStack
from pathlib import Path

from prowess.hooks.harness import Harness, HookCall, Moment
from prowess.host.harness.hook_client import LOG_FILE, MOST_LOG_BYTES, HookLog
from prowess.host.harness.marks_and_places import (
    FOLDER,
    MOST_MARKS,
    PLACES,
    is_first,
    place_to_learn,
)


def _call(at_ms: int = 1, harness: Harness = Harness.CODEX, problem: str = "") -> HookCall:
    return HookCall(
        harness=harness, moment=Moment.PROMPT, at_ms=at_ms, took_ms=12, spoke=True, problem=problem
    )


def test_the_calls_of_each_harness_are_found_again(tmp_path: Path) -> None:
    log = HookLog(str(tmp_path / "state"))

    log.note(_call(1))
    log.note(_call(2))
    log.note(_call(3, Harness.GEMINI, "StoreError"))

    assert log.recent(Harness.CODEX) == [_call(1), _call(2)]
    assert log.recent(Harness.GEMINI) == [_call(3, Harness.GEMINI, "StoreError")]


def test_the_log_is_private(tmp_path: Path) -> None:
    HookLog(str(tmp_path)).note(_call())

    mode = stat.S_IMODE((tmp_path / LOG_FILE).stat().st_mode)
    assert mode == stat.S_IRUSR | stat.S_IWUSR


def test_the_log_stays_small_and_keeps_the_newest(tmp_path: Path) -> None:
    path = tmp_path / LOG_FILE
    path.write_bytes(b'{"at": 1}\n' * (MOST_LOG_BYTES // 10))

    HookLog(str(tmp_path)).note(_call(7, problem="x" * 500))
    HookLog(str(tmp_path)).note(_call(8))

    assert path.stat().st_size < MOST_LOG_BYTES
    assert HookLog(str(tmp_path)).recent(Harness.CODEX)[-1].at_ms == 8
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_a_log_that_was_damaged_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    log = HookLog(str(tmp_path))
    log.note(_call(1))
    with (tmp_path / LOG_FILE).open("ab") as file:
        file.write(
            b'{"harness": "codex", "moment": "prompt", "at": 1e999, "took": 1, "spoke": true}\n'
        )
        file.write(b'\xff\n[]\n{"harness": "nobody"}\n{"harness": "codex"}\nnull\n{"cut')

    assert log.recent(Harness.CODEX) == [_call(1)]


def test_a_log_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / LOG_FILE)

    HookLog(str(tmp_path / "file")).note(_call())
    HookLog(str(tmp_path)).note(_call())
    HookLog(str(tmp_path)).note_end(None)

    assert HookLog(str(tmp_path)).recent(Harness.CODEX) == []
    assert HookLog(str(tmp_path / "none")).recent(Harness.CODEX) == ()


def test_a_link_in_the_place_of_the_log_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("kept")
    (tmp_path / LOG_FILE).symlink_to(target)

    HookLog(str(tmp_path)).note(_call())

    assert target.read_text() == "kept"


def test_a_turn_is_first_once(tmp_path: Path) -> None:
    assert is_first(str(tmp_path), "a turn")
    assert not is_first(str(tmp_path), "a turn")


def test_marks_tell_nothing_and_stay_few(tmp_path: Path) -> None:
    for number in range(MOST_MARKS + 20):
        is_first(str(tmp_path), f"session-{number}")

    names = [path.name for path in (tmp_path / FOLDER).iterdir()]
    assert len(names) == MOST_MARKS
    assert not any("session" in name for name in names)


def test_marks_that_cannot_be_kept_are_no_failure(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("")

    assert not is_first(str(tmp_path), "a turn")


def test_only_a_few_processes_learn_at_a_time_and_a_place_is_free_again(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    with ExitStack() as held:
        taken = [held.enter_context(place_to_learn(state, 0)) for _ in range(PLACES + 1)]

    assert taken == [True] * PLACES + [False]
    with place_to_learn(state, 0) as is_free:
        assert is_free


def test_whoever_finds_no_place_waits_for_one(tmp_path: Path) -> None:
    state = str(tmp_path)
    with ExitStack() as held:
        for _ in range(PLACES):
            held.enter_context(place_to_learn(state, 0))
        later = threading.Timer(0.05, held.pop_all().close)
        later.start()

        with place_to_learn(state, 30) as is_free:
            assert is_free
    later.join()


def test_a_state_folder_that_cannot_be_written_keeps_nobody_from_trying(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")

    with place_to_learn(str(tmp_path / "state")) as is_free:
        assert is_free
