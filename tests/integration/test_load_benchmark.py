"""The load benchmark in small: its figures are there, and they fit together."""

import json
from pathlib import Path

import pytest
from benchmarks.load import gateway
from benchmarks.load.figures import memory_figures, slope, summary

_TIMES = ("p50", "p95", "p99", "max")


def test_a_small_load_gives_figures_that_fit_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "figures.json"
    plan = ["--clients", "5", "--skills", "10", "--seconds", "2", "--json", str(file)]

    outcome = gateway.main(plan)

    figures = json.loads(file.read_text(encoding="utf-8"))
    load, memory = figures["load"], figures["memory"]
    assert (outcome, load["errors"]) == (0, {})
    assert figures["asked"] == {"clients": 5, "skills": 10, "seconds": 2.0}
    assert set(load["methods"]) == {"health", "skills.route", "skills.status"}
    for part in ("alone", "echo", "load"):
        for row in figures[part]["methods"].values():
            assert row["count"] > 0
            assert sorted(row[name] for name in _TIMES) == [row[name] for name in _TIMES]
    assert load["counts"]["hostileRounds"] == load["counts"]["hostileThrownOut"] > 0
    assert memory["startMiB"] > 0
    assert memory["mostMiB"] >= max(memory["startMiB"], memory["endMiB"])
    assert memory["flat"] is None
    assert all(ratio > 0 for ratio in figures["ratios"].values())
    shown = capsys.readouterr().out
    assert all(name in shown for name in (*figures["ratios"], "memory slope", "errors: none"))


def test_percentiles_are_those_of_the_times() -> None:
    row = summary([number / 1000 for number in range(1, 101)], 10.0)

    assert row == {
        "count": 100,
        "perSecond": 10.0,
        "p50": 51.0,
        "p95": 96.0,
        "p99": 100.0,
        "max": 100.0,
    }


def test_a_line_through_points_has_their_slope() -> None:
    assert slope([(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]) == pytest.approx(2.0)
    assert slope([(1.0, 1.0)]) == slope([(1.0, 1.0), (1.0, 2.0)]) == 0.0


@pytest.mark.parametrize(("growth", "flat"), [(0.0, True), (0.001, True), (0.02, False)])
def test_memory_that_grows_is_told_from_memory_that_settles(growth: float, flat: object) -> None:
    points = [(float(at), 100.0 + growth * at + (10 if at > 20 else at / 2)) for at in range(181)]

    found = memory_figures(points)

    assert found["flat"] is flat
    assert found["slopeMiBPerMinute"] == pytest.approx(60 * growth, abs=0.001)
    assert len(found["minutesMiB"]) == 3


def test_a_short_run_says_nothing_of_memory() -> None:
    assert memory_figures([(0.0, 1.0), (30.0, 9.0)])["flat"] is None
