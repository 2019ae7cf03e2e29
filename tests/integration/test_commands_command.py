"""`prowess commands` and `prowess invoke` on real skills: what is listed, shown and never run."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from prowess.cli.main import main

REVIEW = """---
name: code-review
description: Reviews code.
argument-hint: "[file] [branch]"
arguments: [file, branch]
---
Look at $file on $branch in ${CLAUDE_PROJECT_DIR}, session ${CLAUDE_SESSION_ID}.
!`touch hacked`
"""
NOTIFY = """---
name: notify
description: Sends a note.
command-dispatch: Tool
command-tool: send_note
---
"""
HIDDEN = "---\nname: review\ndescription: Ours.\ndisable-model-invocation: true\n---\nRead it.\n"
CLOSED = "---\nname: closed\ndescription: Not for people.\nuser-invocable: false\n---\nNo.\n"
NEEDY = (
    "---\nname: needy\ndescription: Needs much.\n"
    "metadata: {openclaw: {requires: {bins: [no-such-program]}}}\n---\nNo.\n"
)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PROWESS_HOME", str(tmp_path / "state"))
    (tmp_path / "home").mkdir()
    work = tmp_path / "work"
    texts = {
        "code-review": REVIEW,
        "notify": NOTIFY,
        "review": HIDDEN,
        "closed": CLOSED,
        "needy": NEEDY,
    }
    for name, text in texts.items():
        folder = work / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(text, encoding="utf-8")
    monkeypatch.chdir(work)
    return work


def _json(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, Any]:
    capsys.readouterr()
    code = main([*args, "--json"])
    return code, json.loads(capsys.readouterr().out)


def _text(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str]:
    capsys.readouterr()
    code = main(list(args))
    written = capsys.readouterr()
    return code, written.out + written.err


@pytest.mark.usefixtures("world")
def test_the_list_holds_what_a_person_may_call(capsys: pytest.CaptureFixture[str]) -> None:
    code, listed = _json(capsys, "commands")

    ours = {row["name"]: row for row in listed["commands"] if "openclaw-workspace" in row.values()}
    assert (code, listed["agentId"]) == (0, "main")
    assert set(ours) == {"code_review", "notify", "review_2"}
    assert ours["notify"]["dispatch"] == {"kind": "tool", "toolName": "send_note", "argMode": "raw"}
    assert ours["review_2"]["modelVisible"] is False


def test_a_command_in_the_list_has_the_promised_shape(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, listed = _json(capsys, "commands")

    assert listed["commands"][0] == {
        "name": "code_review",
        "skillName": "code-review",
        "description": "Reviews code.",
        "argumentHint": "[file] [branch]",
        "dispatch": None,
        "modelVisible": True,
        "skillFile": str(world / "skills" / "code-review" / "SKILL.md"),
        "skillSource": "openclaw-workspace",
        "problems": [],
    }


@pytest.mark.usefixtures("world")
def test_the_table_names_command_arguments_tool_and_skill(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, shown = _text(capsys, "commands")

    lines = {line.split()[0]: line for line in shown.splitlines()}
    assert code == 0
    assert lines["/code_review"].split()[1:3] == ["[file]", "[branch]"]
    assert lines["/code_review"].split()[3] == "code-review"
    assert "[tool: send_note] Sends a note." in lines["/notify"]


def test_a_mode_that_is_not_known_is_shown_below_the_table(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = NOTIFY.replace("Tool\n", "tool\ncommand-arg-mode: parsed\n")
    (world / "skills" / "notify" / "SKILL.md").write_text(text, encoding="utf-8")

    _, shown = _text(capsys, "commands")

    assert "! notify: command-arg-mode: parsed is not known" in shown


def test_an_agent_without_skills_has_no_commands(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = '{"agents": {"list": [{"id": "bare", "skills": []}]}}'
    state = world.parent / "state"
    state.mkdir(exist_ok=True)
    (state / "prowess.json").write_text(config, encoding="utf-8")

    code, shown = _text(capsys, "commands", "--agent", "bare")

    assert code == 0
    assert "No skill gives a command" in shown


def test_an_instruction_is_shown_filled_and_its_commands_are_not_run(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, shown = _json(capsys, "invoke", '/code-review "my file.py" main', "--session", "s1")

    assert (code, shown["kind"], shown["toolCall"]) == (0, "instruction", None)
    assert shown["arguments"] == '"my file.py" main'
    assert shown["body"].splitlines() == [
        f"Look at my file.py on main in {world}, session s1.",
        "!`touch hacked`",
    ]
    assert str(world / "skills" / "code-review" / "SKILL.md") in shown["message"]
    assert len(shown["notes"]) == 1
    assert not (world / "hacked").exists()


@pytest.mark.usefixtures("world")
def test_an_instruction_in_the_terminal_cannot_pose_as_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, shown = _text(capsys, "invoke", "/skill review one\n! all is well")

    assert code == 0
    assert "/review_2 uses the skill review" in shown
    assert "\n  ! all is well" in shown
    assert "\n! all is well" not in shown


@pytest.mark.usefixtures("world")
def test_a_tool_call_is_shown_and_not_made(capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = _json(capsys, "invoke", "/notify hello  there")

    assert (code, shown["kind"], shown["toolName"]) == (0, "tool", "send_note")
    assert shown["toolCall"] == {
        "command": "hello  there",
        "commandName": "notify",
        "skillName": "notify",
    }
    assert "calls the tool send_note" in _text(capsys, "invoke", "/notify", "hi")[1]


@pytest.mark.usefixtures("world")
def test_a_tool_that_the_agent_lacks_is_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    assert _text(capsys, "invoke", "/notify x", "--tools", "bash, send_note")[0] == 0
    code, shown = _text(capsys, "invoke", "/notify x", "--tools", "bash")

    assert code == 1
    assert "! Tool not available: send_note" in shown


@pytest.mark.usefixtures("world")
def test_ordinary_text_may_name_skills(capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = _json(capsys, "invoke", "use $code-review, then $review")

    assert (code, shown["kind"], shown["problems"]) == (0, "references", [])
    assert shown["names"] == ["code-review", "review"]
    assert shown["prefix"].splitlines()[2].endswith("/skills/review/SKILL.md")
    assert "names the skills review" in _text(capsys, "invoke", "$review")[1]


@pytest.mark.usefixtures("world")
def test_naming_a_skill_that_may_not_be_called_is_a_finding(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, shown = _text(capsys, "invoke", "use $needy")

    assert code == 1
    assert "prowess why needy" in shown


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/code_revue x", "did you mean /code_review"),
        ("/review", "did you mean /review_2"),
        ("/skill cod", "did you mean /code_review"),
        ("/skill", "name a skill"),
        ("/help", "a command of the chat itself"),
        ("/zzz", "prowess commands"),
        ("/", "prowess commands"),
        ("/closed", "user-invocable: false"),
        ("/skill needy now", "prowess why needy"),
        ("hello", "calls no skill"),
        ("use $code-revue", "Did you mean /code_review"),
        ("", "calls no skill"),
    ],
)
def test_text_that_calls_nothing_says_what_is_near(
    text: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, shown = _text(capsys, "invoke", text)

    assert code == 1
    assert said in shown


@pytest.mark.usefixtures("world")
def test_programs_get_the_near_names_too(capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = _json(capsys, "invoke", "/code_revue")

    assert (code, shown["error"]["code"]) == (1, "command.not_found")
    assert shown["error"]["near"][0] == "code_review"


@pytest.mark.usefixtures("world")
def test_the_text_may_come_from_standard_input_with_its_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("/notify one\n two\n"))

    _, shown = _json(capsys, "invoke", "-")

    assert shown["toolCall"]["command"] == "one\n two"
