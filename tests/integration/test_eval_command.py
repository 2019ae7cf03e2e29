import json
from pathlib import Path

import pytest

from prowess.cli.main import main

BREAD = (
    '---\nname: bread-baker\ndescription: Bakes bread. Use when asked "bake a loaf".\n---\nKnead.\n'
)
BIKES = "---\nname: bike-repair\ndescription: Repairs bicycles, chain and brakes.\n---\nOil it.\n"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PROWESS_HOME", str(tmp_path / "state"))
    for name, text in (("bread-baker", BREAD), ("bike-repair", BIKES)):
        folder = tmp_path / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(text, encoding="utf-8")
    return tmp_path


def _suite(shop: Path, *cases: dict[str, object], name: str = "suite.json") -> str:
    path = shop / name
    path.write_text(json.dumps({"skills": "skills", "cases": cases}), encoding="utf-8")
    return str(path)


RIGHT: dict[str, object] = {"prompt": "please bake a loaf of bread", "expect": "bread-baker"}
WRONG: dict[str, object] = {"prompt": "please bake a loaf of bread", "expect": "bike-repair"}


def test_a_suite_passes_above_its_bar_and_fails_below(shop: Path) -> None:
    assert main(["eval", _suite(shop, RIGHT), "--min", "0.9", "-w", str(shop)]) == 0
    assert main(["eval", _suite(shop, RIGHT, WRONG), "--min", "90", "-w", str(shop)]) == 1


def test_the_figures_name_who_took_whose_prompt(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["eval", _suite(shop, WRONG), "--baseline", "bm25", "--json", "-w", str(shop)])

    found = json.loads(capsys.readouterr().out)
    assert found["total"]["hit1"] == 0
    assert found["collisions"][0]["skills"] == ["bike-repair", "bread-baker"]
    assert found["baselines"]["bm25"]["cases"] == 1


def test_what_cannot_be_read_is_told_and_the_rest_is_measured(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = shop / "broken.json"
    broken.write_text("{", encoding="utf-8")

    code = main(
        ["eval", str(broken), _suite(shop, RIGHT, {"expect": "x"}), "--json", "-w", str(shop)]
    )

    found = json.loads(capsys.readouterr().out)
    assert code == 1
    assert found["total"]["hit1"] == 100
    assert any("broken.json" in problem for problem in found["problems"])
    assert any("cases[1]" in problem for problem in found["problems"])


def test_a_case_that_was_not_run_is_none_that_came_out_right(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unknown: dict[str, object] = {"prompt": "mend my bike", "expect": "bike-repairs"}

    assert main(["eval", _suite(shop, RIGHT, unknown), "-w", str(shop)]) == 1

    said = capsys.readouterr().out
    assert "1 of 1 came out as they should" in said
    assert "every case" not in said


def test_a_dry_run_of_a_calibration_keeps_nothing(shop: Path) -> None:
    none: dict[str, object] = {"prompt": "hello there", "expect": "none"}
    command = ["eval", _suite(shop, RIGHT, none), "--calibrate", "-w", str(shop)]

    main([*command, "--dry-run"])
    assert not (shop / "state" / "routing-thresholds.json").exists()
    main(command)
    assert (shop / "state" / "routing-thresholds.json").exists()


def test_options_that_do_not_go_together_are_refused(shop: Path) -> None:
    assert main(["eval", "--bench", str(shop), "--calibrate"]) == 2
    assert main(["eval", "--dry-run"]) == 2
