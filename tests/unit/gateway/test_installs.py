"""The installs that a gateway knows of: bounded, told at begin and end, and forgotten in time."""

import pytest

from prowess.gateway.calls import Json
from prowess.gateway.methods.services import KEPT_SECONDS, MOST_ENDED, MOST_OUTPUT, STATE, Installs
from prowess.runtime.install import InstallReport

DONE = InstallReport(ok=True, message="Installed", warnings=("read it",))


class Board:
    """Installs with a clock that stands, and what was told."""

    def __init__(self) -> None:
        self.now, self.told = 1_000.0, list[tuple[str, Json]]()
        self.installs = Installs(lambda *said: self.told.append(said), lambda: self.now)

    def run(self, skill: str, result: InstallReport = DONE) -> None:
        with self.installs.running(skill, "get", "main") as running:
            running.ended(result)


@pytest.fixture
def board() -> Board:
    return Board()


def test_one_that_runs_is_listed_with_what_it_wrote_last(board: Board) -> None:
    with board.installs.running("frames", "get", "main") as running:
        running.wrote("x" * 3 * MOST_OUTPUT)
        running.wrote("\x1b[31mthe end\n")
        running.received(5, 10)
        (found,) = board.installs.listed()

    assert (found["skill"], found["installId"], found["state"]) == ("frames", "get", "running")
    assert found["output"].endswith("the end\n")
    assert "\x1b" not in found["output"]
    assert len(found["output"]) <= MOST_OUTPUT
    assert (found["received"], found["total"], found["endedAt"]) == (5, 10, None)


def test_its_end_is_listed_and_begin_and_end_are_told_without_its_output(board: Board) -> None:
    board.run("frames", InstallReport(ok=False, message="It failed.", stderr="no such package"))

    (found,) = board.installs.listed()
    assert (found["state"], found["message"]) == ("failed", "It failed.")
    assert found["output"] == "no such package"
    about = {"skill": "frames", "installId": "get"}
    assert board.told == [
        (STATE, {**about, "state": "running"}),
        (STATE, {**about, "state": "failed"}),
    ]


def test_one_that_breaks_off_has_failed(board: Board) -> None:
    with pytest.raises(OSError, match="full"), board.installs.running("frames", "get", "main"):
        raise OSError("the disk is full")

    (found,) = board.installs.listed()
    assert found["state"] == "failed"
    assert "full" not in found["message"]
    assert board.told[-1][1]["state"] == "failed"


def test_what_ended_is_forgotten_in_time_and_in_number_and_what_runs_is_not(board: Board) -> None:
    with board.installs.running("slow", "get", "main"):
        for number in range(MOST_ENDED + 5):
            board.run(f"skill-{number}")
        names = [one["skill"] for one in board.installs.listed()]
        board.now += KEPT_SECONDS + 1
        later = [one["skill"] for one in board.installs.listed()]

    assert len(names) == MOST_ENDED + 1
    assert names[0] == f"skill-{MOST_ENDED + 4}"
    assert later == ["slow"]
