"""The way back from `prowess connect` where no kept copy explains what is there now."""

import json
from pathlib import Path

import pytest
from tests.integration.connect_world import world

from prowess.cli.main import main

__all__ = ["world"]

GUARDED = """{
  "hooks": {
    // my guard
    "PreToolUse": [
      {"matcher": "Bash", "hooks": [{"type": "command", "command": "guard.sh"}]}
    ],
    "Stop": [
      // nothing here yet
    ]
  }
}
"""


def _put(world: Path, name: str, text: str) -> Path:
    path = world / "home" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def _connect(*args: str) -> int:
    return main(["connect", *args, "--yes"])


def _lose_backups(world: Path) -> None:
    for path in world.rglob("*.prowess-backup-*"):
        path.unlink()


def _records(world: Path) -> Path:
    return world / "state" / "connections.json"


def test_a_comment_keeps_its_own_list_and_no_entry_of_ours(world: Path) -> None:
    path = _put(world, ".claude/settings.json", GUARDED)
    assert _connect("claude-code") == 0
    path.write_text(path.read_text().replace("guard.sh", "guard2.sh"))

    assert _connect("claude-code", "--remove") == 0

    assert path.read_text() == GUARDED.replace("guard.sh", "guard2.sh")


def test_without_a_record_our_entries_go_from_a_file_with_comments_too(world: Path) -> None:
    path = _put(world, ".claude/settings.json", GUARDED)
    assert _connect("claude-code") == 0
    _records(world).unlink()
    path.write_text(path.read_text().replace("guard.sh", "guard2.sh"))

    assert _connect("claude-code", "--remove") == 0

    left = path.read_text()
    assert "prowess" not in left
    assert "UserPromptSubmit" not in left
    assert "SessionStart" not in left
    assert "// nothing here yet" in left


def test_what_we_put_at_the_top_of_a_file_goes_and_what_others_added_stays(world: Path) -> None:
    path = _put(world, ".cursor/hooks.json", '{\n  "hooks": {}\n}\n')
    assert _connect("cursor") == 0
    document = json.loads(path.read_text())
    document["hooks"]["afterFileEdit"] = [{"command": "fmt"}]
    path.write_text(json.dumps(document, indent=2))

    assert _connect("cursor", "--remove") == 0

    assert json.loads(path.read_text()) == {"hooks": {"afterFileEdit": [{"command": "fmt"}]}}


def test_a_version_that_somebody_changed_or_wrote_is_not_ours_to_take(world: Path) -> None:
    path = _put(world, ".cursor/hooks.json", '{"version": 1, "hooks": {}}')
    assert _connect("cursor") == 0
    _lose_backups(world)

    assert _connect("cursor", "--remove") == 0

    assert json.loads(path.read_text()) == {"version": 1, "hooks": {}}


@pytest.mark.parametrize(
    ("harness", "name", "text"),
    [
        ("claude-code", ".claude/settings.json", ""),
        ("claude-code", ".claude/settings.json", "{\n}\n"),
        ("claude-code", ".claude/settings.json", '{"hooks": {"Stop": []}}'),
        ("cursor", ".cursor/hooks.json", '{\n  "hooks": {}\n}\n'),
        ("gemini", ".gemini/settings.json", '{"mcpServers": {}, "hooks": {}}\n'),
        ("codex", ".codex/config.toml", 'model = "x"'),
        ("codex", ".codex/config.toml", ""),
    ],
)
def test_without_the_kept_copy_the_bytes_come_back_all_the_same(
    world: Path, harness: str, name: str, text: str
) -> None:
    path = _put(world, name, text)
    assert _connect(harness) == 0
    _lose_backups(world)

    assert _connect(harness, "--remove") == 0

    assert path.read_bytes() == text.encode()


@pytest.mark.parametrize(
    "broken",
    ["", "{", "[]", '{"files": []}', '{"files": {"PATH": 3}}', '{"files": {"PATH": {"was": 1}}}',
     '{"files": {"PATH": {"was": "", "made": "x", "folders": []}}}',
     '{"files": {"PATH": {"was": "", "made": [], "folders": ["../.."]}}}'],
)  # fmt: skip
def test_a_record_that_makes_no_sense_is_as_good_as_none(world: Path, broken: str) -> None:
    path = _put(world, ".claude/settings.json", GUARDED)
    assert _connect("claude-code", "--no-mcp") == 0
    _records(world).write_text(broken.replace("PATH", str(path)))
    path.write_text(path.read_text().replace("guard.sh", "guard2.sh"))

    assert _connect("claude-code", "--no-mcp", "--remove") == 0

    assert "prowess" not in path.read_text()
    assert "guard2.sh" in path.read_text()


def test_a_record_that_lies_takes_nothing_that_is_not_ours(world: Path) -> None:
    text = '{"model": "opus", "hooks": {"Stop": [{"hooks": [{"command": "bell"}]}]}}'
    path = _put(world, ".claude/settings.json", text)
    assert _connect("claude-code", "--no-mcp") == 0
    lie = {
        "was": "",
        "made": [["model"], ["hooks"], ["hooks", "Stop"]],
        "folders": [str(world / "home"), str(path.parent)],
    }
    _records(world).write_text(json.dumps({"files": {str(path): lie}}))
    _lose_backups(world)

    assert _connect("claude-code", "--no-mcp", "--remove") == 0

    left = json.loads(path.read_text())
    assert left["model"] == "opus"
    assert left["hooks"]["Stop"] == [{"hooks": [{"command": "bell"}]}]
    assert "prowess" not in path.read_text()


def test_a_state_file_that_holds_contents_of_settings_would_be_a_leak(world: Path) -> None:
    _put(world, ".claude/settings.json", '{"env": {"API_KEY": "very-secret"}}')

    assert _connect("claude-code") == 0

    assert "very-secret" not in _records(world).read_text()
    assert "API_KEY" not in _records(world).read_text()


@pytest.mark.parametrize("scope", ["--user", "--project"])
@pytest.mark.parametrize(
    "harness", ["claude-code", "codex", "cursor", "gemini", "copilot", "vscode"]
)
def test_no_folder_of_ours_stays_behind(world: Path, harness: str, scope: str) -> None:
    assert _connect(harness, scope) == 0
    assert _connect(harness, scope, "--remove") == 0

    assert list((world / "home").iterdir()) == []
    assert list((world / "work").iterdir()) == []


def test_what_is_not_edited_stays_and_nothing_is_offered_that_would_fail_too(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _put(world, ".openclaw/openclaw.json", "{ agents: {{}} }")

    assert _connect("openclaw") == 1

    assert "--no-mcp" not in capsys.readouterr().err
    assert path.read_text() == "{ agents: {{}} }"


def test_no_folder_of_two_harnesses_stays_behind(world: Path) -> None:
    for action in ((), ("--remove",)):
        for harness in ("copilot", "vscode"):
            assert _connect(harness, "--project", *action) == 0

    assert list((world / "work").iterdir()) == []


def test_a_folder_that_was_there_or_is_used_by_now_stays(world: Path) -> None:
    (world / "home" / ".cursor").mkdir()
    assert _connect("cursor") == 0
    assert _connect("gemini") == 0
    (world / "home" / ".gemini" / "history").mkdir()

    assert _connect("cursor", "--remove") == 0
    assert _connect("gemini", "--remove") == 0

    assert sorted(one.name for one in (world / "home").iterdir()) == [".cursor", ".gemini"]


def test_an_event_that_we_no_longer_register_is_still_taken_out(world: Path) -> None:
    assert _connect("vscode") == 0
    path = world / "work" / ".github" / "hooks" / "prowess-vscode.json"
    document = json.loads(path.read_text())
    assert "PreCompact" not in document["hooks"]
    document["hooks"]["PreCompact"] = document["hooks"]["Stop"]
    path.write_text(json.dumps(document))

    assert _connect("vscode", "--remove") == 0

    assert not path.exists()


def test_a_hook_of_ours_in_the_other_file_of_codex_is_not_written_twice(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "prowess hook"\n'
    toml = _put(world, ".codex/config.toml", text)

    assert _connect("codex") == 0

    hooks = json.loads((world / "home" / ".codex" / "hooks.json").read_text())["hooks"]
    assert sorted(hooks) == ["SessionEnd", "SessionStart", "UserPromptSubmit"]
    assert f"{toml} calls us at Stop already" in capsys.readouterr().out
    assert _connect("codex", "--remove") == 0
    assert toml.read_text() == text
    assert "take it out by hand" in capsys.readouterr().out


def test_an_inline_table_is_refused_with_the_line_to_write_and_the_way_around(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _put(world, ".codex/config.toml", 'mcp_servers = { fs = { command = "npx" } }\n')

    assert _connect("codex") == 1

    said = capsys.readouterr().err
    assert "prowess = { command = " in said
    assert "--no-mcp" in said
    assert path.read_text() == 'mcp_servers = { fs = { command = "npx" } }\n'
    assert _connect("codex", "--no-mcp") == 0


@pytest.mark.usefixtures("world")
def test_whoever_is_connected_elsewhere_already_is_told_before_it_is_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert _connect("codex", "--user") == 0
    assert "hook may run twice" not in capsys.readouterr().out

    assert main(["connect", "codex", "--project", "--dry-run"]) == 0

    said = " ".join(capsys.readouterr().out.split())
    assert "each hook may run twice" in said
    assert "prowess connect codex --user --remove" in said


@pytest.mark.usefixtures("world")
def test_who_runs_the_same_hook_once_is_not_warned_of_a_second_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for harness in ("claude-code", "gemini", "qwen"):
        assert _connect(harness, "--user") == 0

        assert main(["connect", harness, "--project", "--dry-run"]) == 0

        assert "hook may run twice" not in " ".join(capsys.readouterr().out.split()), harness


def test_a_read_only_file_is_spoken_of_in_the_plan(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _put(world, ".claude/settings.json", "{}")
    path.chmod(0o444)

    assert main(["connect", "claude-code", "--dry-run"]) == 0

    assert f"{path} is marked read-only" in " ".join(capsys.readouterr().out.split())


def test_a_session_that_was_forked_is_told_of_skills_too(world: Path) -> None:
    assert _connect("claude-code") == 0

    document = json.loads((world / "home" / ".claude" / "settings.json").read_text())
    assert "fork" in document["hooks"]["SessionStart"][0]["matcher"].split("|")
