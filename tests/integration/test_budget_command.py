"""`prowess budget` as a person meets it: which descriptions are shown, and what to do about it."""

import json
from pathlib import Path
from typing import Any

import pytest

from prowess.cli.main import main
from prowess.runtime.usage import Use
from prowess.wiring import open_runtime

# What Claude Code brings along itself takes 6,200 of the characters that these leave.
WINDOW, NARROW = "185000", "165000"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PROWESS_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("SLASH_COMMAND_TOOL_CHAR_BUDGET", raising=False)
    (tmp_path / "home").mkdir()
    (tmp_path / "state").mkdir()
    config = '{"skills": {"allowBundled": ["none of them"]}}'
    (tmp_path / "state" / "prowess.json").write_text(config, encoding="utf-8")
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


def _skill(root: Path, name: str, length: int = 60) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    description = ("Use it for words. " * 200)[: length - 1] + "x"
    text = f"---\nname: {name}\ndescription: {description}\n---\nDo it.\n"
    (folder / "SKILL.md").write_text(text, encoding="utf-8")
    return folder / "SKILL.md"


def _json(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, Any]:
    capsys.readouterr()
    code = main(["budget", *args, "--json"])
    return code, json.loads(capsys.readouterr().out)


def _text(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str]:
    capsys.readouterr()
    code = main(["budget", *args])
    done = capsys.readouterr()
    return code, done.out + done.err


def test_in_a_subfolder_the_skills_of_the_project_count(
    world: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _skill(world / ".claude" / "skills", "notes")
    (world / "src" / "part").mkdir(parents=True)
    monkeypatch.chdir(world / "src" / "part")

    _, report = _json(capsys, "--harness", "claude-code")

    assert [one["name"] for one in report["harnesses"][0]["entries"]] == ["notes"]


def test_all_is_well_where_everything_fits(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _skill(world / ".claude" / "skills", "notes")

    code, said = _text(capsys)

    assert code == 0
    assert "Every description is shown." in said
    assert all(name in said for name in ("claude-code", "codex", "cursor", "openclaw", "prowess"))


def test_the_json_of_a_budget_has_the_promised_shape(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _skill(world / ".agents" / "skills", "notes", 60)

    _, report = _json(capsys, "--harness", "codex", "--window", "100000")

    (harness,) = report["harnesses"]
    assert (report["agentId"], report["window"], report["whole"]) == ("main", 100_000, True)
    assert (harness["limit"], harness["unit"], harness["fix"]) == (2_000, "tokens", None)
    assert harness["counts"] == {"shown": 1, "cut": 0, "name-only": 0, "dropped": 0}
    assert harness["entries"] == [
        {
            "order": 1,
            "name": "notes",
            "location": str(world / ".agents" / "skills" / "notes" / "SKILL.md"),
            "fate": "shown",
            "chars": 60,
            "shownChars": 60,
        }
    ]


def test_descriptions_that_do_not_fit_are_named_in_order_with_the_cheapest_fix(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, length in (("alpha", 900), ("beta", 200), ("gamma", 900)):
        _skill(world / ".claude" / "skills", name, length)

    code, report = _json(capsys, "--harness", "claude", "--window", WINDOW)

    (harness,) = report["harnesses"]
    assert (code, report["whole"], harness["limit"]) == (1, False, 7_400)
    assert [(one["order"], one["name"], one["fate"]) for one in harness["entries"]] == [
        (1, "alpha", "shown"),
        (2, "beta", "shown"),
        (3, "gamma", "name-only"),
    ]
    assert [step["name"] for step in harness["fix"]["shorten"]] == ["alpha", "gamma"]
    assert harness["fix"]["hide"] == []


def test_the_fix_works_when_it_is_done(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {
        name: _skill(world / ".claude" / "skills", name, length)
        for name, length in (("alpha", 900), ("beta", 200), ("gamma", 700))
    }
    _, before = _json(capsys, "--harness", "claude-code", "--window", WINDOW)

    for step in before["harnesses"][0]["fix"]["shorten"]:
        file = files[step["name"]]
        first, _, rest = file.read_text(encoding="utf-8").partition("description: ")
        description, _, body = rest.partition("\n")
        assert len(description) == step["chars"]
        file.write_text(f"{first}description: {description[: step['to']]}\n{body}", "utf-8")
    code, after = _json(capsys, "--harness", "claude-code", "--window", WINDOW)

    assert (code, after["harnesses"][0]["fix"]) == (0, None)


def test_what_people_use_keeps_its_description(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("alpha", "beta"):
        _skill(world / ".claude" / "skills", name, 300)
    with open_runtime() as runtime:
        runtime.record_use("beta")

    _, report = _json(capsys, "--harness", "claude", "--window", NARROW)

    fates = {one["name"]: one["fate"] for one in report["harnesses"][0]["entries"]}
    assert fates == {"alpha": "name-only", "beta": "shown"}


def test_what_the_log_of_uses_says_counts_too(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("alpha", "beta"):
        _skill(world / ".claude" / "skills", name, 300)
    with open_runtime() as runtime:
        runtime.usage.note(Use.LOADED, ["beta"], "main")

    _, said = _text(capsys, "--harness", "claude", "--window", NARROW)

    lines = {line.split()[1]: line for line in said.splitlines() if line[:1].isdigit()}
    assert "name only" in lines["alpha"]
    assert "shown" in lines["beta"]
    assert "Cheapest fix:" in said


def test_skills_that_a_harness_does_not_look_for_are_counted_and_may_be_asked_about(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _skill(world / "skills", "notes")

    _, said = _text(capsys, "--harness", "claude")
    _, report = _json(capsys, "--harness", "claude", "--every-skill")

    assert "does not look where 1 skill of yours" in said
    assert "0 skills" in said
    assert ".claude/skills" in said
    assert [one["name"] for one in report["harnesses"][0]["entries"]] == ["notes"]


def test_our_own_numbers_are_those_of_the_prompt(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(30):
        _skill(world / "skills", f"s{number:02}", 1_000)

    code, report = _json(capsys, "--harness", "prowess")
    with open_runtime() as runtime:
        block = runtime.skills.prompt()

    (harness,) = report["harnesses"]
    assert code == 1
    assert harness["used"] == len(block.text)
    assert {one["shownChars"] for one in harness["entries"]} == {block.description_chars}


def test_long_lists_are_cut_in_the_overview_and_whole_for_one_harness(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(30):
        _skill(world / ".claude" / "skills", f"s{number:02}", 900)

    overview, one = _text(capsys)[1], _text(capsys, "--harness", "claude")[1]

    assert "more: --harness claude-code" in overview
    assert all(f"s{number:02}" in one for number in range(30))
    assert "SLASH_COMMAND_TOOL_CHAR_BUDGET" in one


@pytest.mark.parametrize("args", [("--harness", "emacs"), ("--window", "0"), ("--window", "x")])
def test_nonsense_is_refused_as_usage(
    world: Path, capsys: pytest.CaptureFixture[str], args: tuple[str, ...]
) -> None:
    del world

    assert _text(capsys, *args)[0] == 2
