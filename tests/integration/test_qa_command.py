"""`prowess qa`: the scenarios of the repository, and scenarios that fail or cannot be read."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from prowess.cli.main import main
from prowess.evaluation.scenarios import Scenario
from prowess.host.evaluation import read_scenarios
from prowess.wiring.scenarios import run_scenarios

SCENARIOS = Path(__file__).parents[2] / "qa" / "scenarios"
NAMES = sorted(path.stem for path in SCENARIOS.glob("*/*.yaml"))
PENDING = "skill-workshop-pending-approval"

CONFIG = """\
  - config:
      plugins:
        entries: {"skill-workshop": {enabled: true, config: {reviewMode: "heuristic"}}}
"""
CORRECTION = """\
  - title: The user corrects the agent
    turn:
      - role: user
        content: Next time make sure to verify the frames of the GIF, please.
"""
WAITS = '  - title: It waits\n    expect: {"proposals": [{"status": "pending"}]}\n'
HEAD = "title: Good\nsummary: It works.\nsteps:\n"
STEPS = f"{CONFIG}{CORRECTION}{WAITS}"
GOOD = f"{HEAD}{STEPS}"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in, and a folder of our own for temporary files."""
    for name in ("home", "temporary", "work"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PROWESS_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def _scenario(world: Path, name: str, text: str) -> Path:
    path = world / "qa/scenarios" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def _json(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, Any]:
    capsys.readouterr()
    code = main(["qa", *args, "--json"])
    return code, json.loads(capsys.readouterr().out)


def _text(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(["qa", *args])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def _left(world: Path) -> list[str]:
    return sorted(path.name for path in (world.parent / "temporary").iterdir())


@pytest.mark.parametrize("name", NAMES)
def test_a_scenario_of_the_repository_goes_as_it_should(
    name: str, world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, report = _json(capsys, "suite", "--folder", str(SCENARIOS), "--scenario", name)

    failed = [step for step in report["scenarios"][0]["steps"] if step["outcome"] != "passed"]
    assert failed == []
    assert (code, report["passed"], report["problems"]) == (0, 1, [])
    assert _left(world) == []
    assert list(world.iterdir()) == []
    assert not (world.parent / "state").exists()


def test_two_runs_of_one_scenario_at_once_do_not_meet(world: Path) -> None:
    found = read_scenarios([PENDING, "skill-workshop-reviewer-autonomous"], [str(SCENARIOS)])
    scenarios = [file.scenario for file in found if isinstance(file.scenario, Scenario)]

    finished = list(run_scenarios([*scenarios, *scenarios], concurrency=4, keep=True))

    assert all(one.passed for one in finished)
    assert [one.scenario.name for one in finished] == [one.name for one in scenarios * 2]
    folders = {Path(one.folder) for one in finished}
    assert len(folders) == 4
    pages = [list((folder / "work").rglob("SKILL.md")) for folder in folders]
    assert [len(own) for own in pages] == [1, 1, 1, 1]
    assert len(_left(world)) == 4


def test_what_was_expected_and_what_was_seen_is_said(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = GOOD.replace('"status": "pending"', '"status": "applied"')
    _scenario(world, "wrong", wrong + CORRECTION)

    code, shown, _ = _text(capsys, "suite")

    assert code == 1
    lines = shown.splitlines()
    assert lines[0].startswith("wrong: failed")
    assert "  ✓ The user corrects the agent (line 7)" in lines
    assert "  ✗ It waits (line 11)" in lines
    assert "      proposals[0].status" in lines
    assert '        expected: "applied"' in lines
    assert '        seen:     "pending"' in lines
    assert "  · The user corrects the agent (line 13)" in lines
    assert lines[-1] == "0 passed, 1 failed"


def test_a_broken_file_is_named_with_its_line_and_the_others_are_played(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _scenario(world, "good", GOOD)
    broken = _scenario(world, "broken", GOOD + '  - expect: {"proposal": []}\n')
    _scenario(world, "bytes", "x").write_bytes(b"# One\n\n\xff\n")

    code, shown, error = _text(capsys, "suite")

    assert code == 1
    assert shown.startswith("good: passed")
    assert f"{broken}:13: `proposal` is not known here: did you mean proposals?" in error
    assert "bytes.yaml:3: is not UTF-8" in error
    assert _json(capsys, "suite")[1]["problems"] == _json(capsys, "list")[1]["problems"]


def test_scenarios_are_found_by_name_and_by_path_and_played_once(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _scenario(world, "good", GOOD)
    _scenario(world, "other", GOOD)
    (path.parent / "README.md").write_text("No scenario at all.", encoding="utf-8")

    _, report = _json(capsys, "suite", "-s", "good", "-s", str(path), "-s", "good.yaml")
    _, listed = _json(capsys, "list")

    assert [one["name"] for one in report["scenarios"]] == ["good"]
    assert [one["name"] for one in listed["scenarios"]] == ["good", "other"]
    assert listed["scenarios"][0]["summary"] == "It works."


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["-s", "god"], "god: is no scenario: did you mean good?"),
        (["-s", "oo"], "did you mean good?"),
        (["-s", "zzz"], "`prowess qa list` shows all."),
        (["-s", ""], "is no scenario"),
        (["-s", "a\0b"], "is no scenario"),
        (["--folder", "nowhere"], "nowhere: is not a folder"),
        (["--folder", "empty"], "holds no scenarios"),
        (["-s", "twice"], "is the name of 2 scenarios: give the path of one"),
    ],
)
def test_what_cannot_be_found_is_said_and_nothing_is_played(
    args: list[str], said: str, world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _scenario(world, "good", GOOD)
    _scenario(world, "a/twice", GOOD)
    _scenario(world, "b/twice", GOOD)
    (world / "empty").mkdir()

    code, shown, error = _text(capsys, "suite", *args)

    assert (code, shown) == (1, "")
    assert said in error


def test_kept_folders_are_named_and_hold_what_was_made(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _scenario(world, "good", GOOD)

    _, shown, _ = _text(capsys, "suite", "--keep")

    [name] = _left(world)
    folder = world.parent / "temporary" / name
    assert f"  left in {folder}" in shown.splitlines()
    assert (folder / "state/prowess.db").exists()


@pytest.mark.parametrize(
    ("text", "place", "seen"),
    [
        (
            HEAD + CONFIG.replace("reviewMode", "reviewMood") + STEPS,
            "config",
            "plugins.entries.skill-workshop.config.reviewMood is not known here; it is kept",
        ),
        (GOOD + '  - call: {"action": "dance"}\n', "the call", "error: unknown action"),
        (GOOD + '  - call: {"action": "status"}\n    error: no way\n', "the call", '"pending": 1'),
        (GOOD + '  - reviewer: {"action": "none"}\n', "reviewer", "0 questions"),
        (
            HEAD + CONFIG.replace("heuristic", "llm") + CORRECTION + STEPS,
            "questions to the reviewer",
            "1",
        ),
        (GOOD + '  - expect: {"files": {"a.md": true}}\n', "a.md", "no file"),
        (GOOD + '  - expect: {"snapshot": {"lists": ["gif"]}}\n', "snapshot", "prowess-"),
        (GOOD + '  - expect: {"log": ["applied..."]}\n', "log", "queued animated-gif"),
        (GOOD + '  - expect: {"reviewer": {"saw": ["x"]}}\n', "last question", '""'),
    ],
)
def test_each_kind_of_failure_says_what_was_seen(
    text: str, place: str, seen: str, world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _scenario(world, "wrong", text)

    code, report = _json(capsys, "suite")

    [found] = [step for step in report["scenarios"][0]["steps"] if step["outcome"] == "failed"]
    assert code == 1
    assert found["mismatches"][0]["place"] == place
    assert seen in found["mismatches"][0]["seen"]


def test_nothing_of_the_user_is_on_a_stage(
    world: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = world.parent / "home/.claude/skills/mine/SKILL.md"
    page.parent.mkdir(parents=True)
    page.write_text("---\nname: mine\ndescription: Mine alone.\n---\n", encoding="utf-8")
    monkeypatch.setenv("PROWESS_MODEL", "anthropic:never-asked")
    text = GOOD.replace('"proposals"', '"snapshot": {"lacks": ["mine"]}, "proposals"')
    _scenario(world, "good", text)

    code, _ = _json(capsys, "suite")

    assert code == 0
    assert not (world.parent / "state").exists()


def test_the_terminal_plays_several_at_once_in_a_pipe(world: Path) -> None:
    for name in ("one", "two", "three"):
        _scenario(world, name, GOOD)

    done = subprocess.run(
        [sys.executable, "-m", "prowess", "qa", "suite", "--concurrency", "3"],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )

    assert (done.returncode, done.stderr) == (0, "")
    heads = [line for line in done.stdout.splitlines() if not line.startswith(" ")]
    assert [head.split(":")[0] for head in heads[:-1]] == ["one", "three", "two"]
    assert heads[-1] == "3 passed, 0 failed"


@pytest.mark.parametrize("number", ["0", "33", "many"])
def test_a_number_that_makes_no_sense_is_wrong_usage(
    number: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _text(capsys, "suite", "--concurrency", number)[0] == 2
