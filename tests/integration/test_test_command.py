"""`prowess new` and `prowess test`: a skill that passes from the start, and all tests in one go."""

import json
import time
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from prowess.cli.main import main


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROWESS_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def _new(name: str, does: str, *more: str) -> int:
    return main(["new", name, "--does", does, *more])


def test_a_new_skill_passes_the_standard_and_its_own_tests(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = _new(
        "release-notes", "writes release notes: from merged changes", "--when",
        'write the "release notes" for 2.0', "--unless", "write a poem about the sea",
    )  # fmt: skip

    assert code == 0
    folder = tmp_path / "skills" / "release-notes"
    assert main(["validate", "--strict", str(folder / "SKILL.md")]) == 0
    capsys.readouterr()
    assert main(["test", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["counts"]["triggers"] == {"tests": 2, "failed": 0}
    assert {kind: row["failed"] for kind, row in found["counts"].items()} == dict.fromkeys(
        ("validation", "scan", "freshness", "triggers", "budget"), 0
    )


def test_no_terminal_and_no_answer_is_refused_and_nothing_is_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "a-skill"]) == 2
    assert main(["new", "No Name", "--does", "x", "--when", "y"]) == 2
    assert "--does" in capsys.readouterr().err
    assert _new("a-skill", "sorts", "--when", "sort it") == 0
    text = (tmp_path / "skills" / "a-skill" / "SKILL.md").read_text()
    assert _new("a-skill", "other", "--when", "sort it") == 1
    assert (tmp_path / "skills" / "a-skill" / "SKILL.md").read_text() == text


def test_what_fails_is_told_to_people_and_in_every_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _new("builds", "builds the thing", "--when", "build the thing")
    page = tmp_path / "skills" / "builds" / "SKILL.md"
    page.write_text(page.read_text() + "\nRun `make <b>` or `make releese`.\n")
    (tmp_path / "Makefile").write_text("release:\n\ttrue\n")
    suite = tmp_path / "skills" / "builds" / "evals" / "triggers.yaml"
    suite.write_text("cases:\n  - prompt: build <the> thing & more\n    not: builds\n")
    capsys.readouterr()

    code = main(["test", "--junit", "j.xml", "--sarif", "s.sarif", "--markdown", "m/m.md"])

    said = capsys.readouterr().out
    assert code == 1
    assert "✗ freshness: builds" in said
    assert "✗ triggers: build <the> thing & more" in said
    suites = ET.parse("j.xml").getroot()  # noqa: S314
    failed = {one.get("name"): one.get("failures") for one in suites}
    assert (failed["freshness"], failed["triggers"], failed["validation"]) == ("1", "1", "0")
    sarif = json.loads(Path("s.sarif").read_text())
    assert {one["ruleId"] for one in sarif["runs"][0]["results"]} == {"freshness", "triggers"}
    assert "| freshness | 0 | 1 |" in Path("m/m.md").read_text()


def test_an_answer_of_nothing_but_spaces_is_none(tmp_path: Path) -> None:
    assert _new("quiet", "  ", "--when", "be quiet") == 2
    assert _new("quiet", "keeps quiet", "--when", " ", "--unless", "") == 2
    assert _new("quiet", "keeps quiet", "--when", "be quiet", "--when", "", "--unless", " ") == 0

    assert main(["test", "skills/quiet", "--json"]) == 0
    assert "Not for" not in (tmp_path / "skills/quiet/SKILL.md").read_text()


def test_the_workflow_and_the_hook_are_written_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["test", "--init", "github"]) == 0
    assert main(["test", "--init", "pre-commit"]) == 0
    assert "prowess test" in (tmp_path / ".github/workflows/skills.yml").read_text()
    assert main(["test", "--init", "github"]) == 1
    # As it is written, so that it can be copied.
    assert "\n      - run: pip install prowess\n" in capsys.readouterr().out


def test_validate_says_what_loads_and_what_the_standard_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "skills" / "Loose_Name"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: Loose_Name\ndescription: Does it.\n---\n\nDo.\n")

    code = main(["validate", str(folder)])
    said = capsys.readouterr().out
    main(["validate", str(folder), "--json"])
    shown = json.loads(capsys.readouterr().out)

    assert code == 0
    assert "loads here; the standard refuses it" in said
    assert "standard: 0 pass, 1 do not" in said
    assert (shown["files"][0]["valid"], shown["files"][0]["standard"]) == (True, False)


def test_tests_of_known_messages_cost_less_than_two_and_a_half_milliseconds_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(50):
        folder = tmp_path / "skills" / f"job-{number}"
        cases = [f"  - prompt: do job {number} on part {part}" for part in range(20)]
        text = "\n".join(["cases:", *(f"{one}\n    expect: {folder.name}" for one in cases), ""])
        (folder / "evals").mkdir(parents=True)
        page = f"---\nname: {folder.name}\ndescription: Does job {number}.\n---\n\nDo it.\n"
        (folder / "SKILL.md").write_text(page)
        (folder / "evals" / "triggers.yaml").write_text(text)
    main(["test"])
    capsys.readouterr()
    started = time.process_time()

    main(["test", "--json"])

    took = time.process_time() - started
    assert json.loads(capsys.readouterr().out)["counts"]["triggers"]["tests"] == 1_000
    assert took < 2.5
