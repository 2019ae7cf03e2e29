"""`prowess connect` on real files: what it writes, what it leaves alone, and the way back."""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.integration.connect_world import world

from prowess.cli.main import main
from prowess.errors import PathError
from prowess.hooks.harness import Harness
from prowess.hooks.registrations import ConnectScope
from prowess.host.harness.settings_files import find_own_program
from prowess.runtime.harness.connect import Connecting, ConnectRequest
from prowess.wire.studio import compare_files
from prowess.wiring import open_runtime
from prowess.wiring.doctor import open_connecting

__all__ = ["world"]

# Put together here: nothing in this file looks like a key to whoever scans it.
KEY = "sk-ant-" + "api03-" + "Zq7" + "m3N8pQ2rT6vX9bK4wL1yD5" * 3
AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
COMMENTED = """{
    // my own settings, please keep
    "model": "opus", /* the big one */
    "hooks": {
        "Stop": [
            {"hooks": [{"type": "command", "command": "say 'prowess hook' is done"}]}, // mine
        ],
    },
    "env": {"API_KEY": "KEY"},
}
""".replace('"KEY"', f'"{KEY}"')


@pytest.fixture
def connecting(world: Path) -> Connecting:
    return open_connecting(open_runtime(world / "work"), str(world / "work"))


def _settings(world: Path, text: str = COMMENTED) -> Path:
    path = world / "home" / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(text.encode())
    return path


def _backups(path: Path) -> list[Path]:
    return sorted(path.parent.glob(path.name + ".prowess-backup-*"))


def _hooks_only(*, remove: bool = False) -> ConnectRequest:
    return ConnectRequest(harness=Harness.CLAUDE_CODE, with_mcp=False, remove=remove)


def _files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".prowess-backup-" not in path.name and "state" not in path.parts
    }


@pytest.mark.parametrize(
    ("harness", "scope"),
    [
        (one.value, scope)
        for one in Harness
        for scope in ("--user", "--project")
        # It has one configuration, whatever the project.
        if (one, scope) != (Harness.OPENCLAW, "--project")
    ],
)
def test_each_harness_is_connected_once_and_removed_without_a_trace(
    harness: str, scope: str, world: Path
) -> None:
    assert main(["connect", harness, scope, "--yes"]) == 0
    first = _files(world)
    assert main(["connect", harness, scope, "--yes"]) == 0
    second = _files(world)
    assert main(["connect", harness, scope, "--yes", "--remove"]) == 0

    assert first
    assert first == second
    assert _files(world) == {}


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("cloude-code", "claude-code"), ("Claude", "claude-code"), ("codx", "codex"),
     ("open-claw", "openclaw"), ("vs-code", "vscode"), ("gemini-cli", "gemini")],
)  # fmt: skip
def test_a_mistyped_harness_is_answered_with_the_near_one(
    typed: str, meant: str, world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["connect", typed, "--yes"]) != 0

    assert f"did you mean {meant}" in capsys.readouterr().err
    assert not (world / "home" / ".claude").exists()


def test_a_harness_with_one_configuration_is_not_connected_for_a_project(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["connect", "openclaw", "--project", "--yes"]) != 0

    assert "prowess connect openclaw --user" in capsys.readouterr().err
    assert _files(world) == {}


# As OpenClaw's own pages show it.
JSON5 = """// mine
{
  agents: {
    defaults: { workspace: '~/it\\'s // mine', timeout: +0x10 }, // keep, { this }
  },
  gateway: { "port": 18789, bind: "loopback", },
  mcp: {
    servers: {
      $docs: { command: "uvx", args: ['docs',], },
    },
  },
  /* and } this */
}
"""


@pytest.mark.parametrize(
    ("harness", "name", "text"),
    [
        ("claude-code", ".claude/settings.json", '{"model": "opus", "hooks": {"Stop": []}}'),
        ("codex", ".codex/config.toml", 'model = "m" # mine\n\n[features]\nhooks = true\n'),
        ("gemini", ".gemini/settings.json", '{"general": {"disableAutoUpdate": true}}\n'),
        ("qwen", ".qwen/settings.json", '{\n  // mine\n  "model": {"name": "q"},\n}\n'),
        ("opencode", ".config/opencode/opencode.json", '{"mcp": {}, "model": "a/b"}'),
        ("openclaw", ".openclaw/openclaw.json", '{\n\t"plugins": { "entries": {} } // keep\n}'),
        ("openclaw", ".openclaw/openclaw.json", '{"mcp": {"servers": {"x": {"command": "y"}}}}'),
        ("openclaw", ".openclaw/openclaw.json", JSON5),
        ("openclaw", ".openclaw/openclaw.json", JSON5.replace("\n", "\r\n").replace("  ", "\t")),
        ("openclaw", ".openclaw/openclaw.json", "{mcp:{servers:{a:{command:'b'}}},plugins:{}}"),
        ("copilot", ".copilot/mcp-config.json", '{"mcpServers": {}}\r\n'),
    ],
)
def test_what_was_in_the_settings_comes_back_to_the_byte(
    harness: str, name: str, text: str, world: Path
) -> None:
    path = world / "home" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode())

    assert main(["connect", harness, "--yes"]) == 0
    there = path.read_bytes()
    assert main(["connect", harness, "--yes", "--remove"]) == 0

    assert b"prowess" in there
    assert _files(world) == {f"home/{name}": text.encode()}


def test_a_plugin_of_somebody_else_under_our_name_stays(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = world / "home/.config/opencode/plugin/prowess.js"
    path.parent.mkdir(parents=True)
    path.write_text("export default async () => ({})\n")

    assert main(["connect", "opencode", "--yes"]) != 0

    assert "not ours" in capsys.readouterr().err
    assert list(_files(world)) == ["home/.config/opencode/plugin/prowess.js"]
    assert main(["connect", "opencode", "--yes", "--remove"]) == 0
    assert path.read_text() == "export default async () => ({})\n"


def test_comments_order_and_what_others_wrote_stay_and_come_back_to_the_byte(world: Path) -> None:
    path = _settings(world)

    assert main(["connect", "claude-code", "--yes", "--no-mcp"]) == 0
    there = path.read_text()
    assert main(["connect", "claude-code", "--yes", "--no-mcp", "--remove"]) == 0

    for line in COMMENTED.splitlines():
        assert line.strip(" }") in there
    assert '"UserPromptSubmit"' in there
    assert path.read_text() == COMMENTED


@pytest.mark.parametrize(
    "text", ["", " \n", "{}", "{ }", "{\n}\n", '{"hooks": {}}', '{"hooks": {"Stop": []}}\r\n']
)
def test_empty_places_come_back_as_they_were(
    text: str, world: Path, connecting: Connecting
) -> None:
    path = _settings(world, text)

    connecting.apply(connecting.plan(_hooks_only()))
    connecting.apply(connecting.plan(_hooks_only(remove=True)))

    assert path.read_bytes() == text.encode()


def test_what_was_added_since_stays_when_ours_goes(world: Path, connecting: Connecting) -> None:
    path = _settings(world)
    connecting.apply(connecting.plan(_hooks_only()))
    path.write_text(path.read_text().replace('"opus"', '"haiku" /* cheaper */'))

    connecting.apply(connecting.plan(_hooks_only(remove=True)))

    assert path.read_text() == COMMENTED.replace('"opus"', '"haiku" /* cheaper */')


def test_a_comment_inside_what_we_made_stays_too(world: Path, connecting: Connecting) -> None:
    path = _settings(world, "{}")
    connecting.apply(connecting.plan(_hooks_only()))
    path.write_text(path.read_text().replace('"Stop": [', '"Stop": [ // remember the bell'))

    connecting.apply(connecting.plan(_hooks_only(remove=True)))

    assert "// remember the bell" in path.read_text()
    assert "prowess" not in path.read_text()


def test_the_old_bytes_are_kept_beside_the_file_with_its_permissions_and_only_a_few(
    world: Path, connecting: Connecting
) -> None:
    path = _settings(world)
    path.chmod(0o640)

    for _round in range(3):
        connecting.apply(connecting.plan(_hooks_only()))
        connecting.apply(connecting.plan(_hooks_only(remove=True)))

    kept = _backups(path)
    assert len(kept) == 3
    assert {stat.S_IMODE(one.stat().st_mode) for one in (path, *kept)} == {0o640}


def test_a_link_stays_a_link_and_its_target_is_what_changes(
    world: Path, connecting: Connecting
) -> None:
    real = world / "dotfiles.json"
    real.write_text("{}\n")
    link = world / "home" / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(real)

    plan = connecting.plan(_hooks_only())
    connecting.apply(plan)

    assert plan.files[0].leads_to == str(real.resolve())
    assert link.is_symlink()
    assert "UserPromptSubmit" in real.read_text()


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


def _dangling(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.parent.parent / "autostart" / "new.json")


def _unreadable(path: Path) -> None:
    path.chmod(0)


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _holds(text: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(text)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (_folder, "not a regular file"),
        (_loop, "leads nowhere"),
        (_dangling, "leads nowhere"),
        (_pipe, "not a regular file"),
        pytest.param(
            _unreadable,
            "cannot be read",
            marks=pytest.mark.skipif(AS_ROOT, reason="root reads everything"),
        ),
        (_holds(b'{\n  "a": 1\n  "b": 2\n}'), "line 3"),
        (_holds(b'{"a": 1'), "line 1"),
        (_holds(b'{"hooks": []}'), "`hooks` is a list"),
        (_holds(b'{"hooks": {"Stop": {}}}'), "`hooks.Stop` is an object"),
        (_holds(b'{"hooks": {}, "hooks": {}}'), "2 times"),
        (_holds(b"[]"), "one object"),
        (_holds(b"// nothing yet\n"), "line 2"),
        (_holds('{"ä": 1}'.encode("latin-1")), "UTF-8"),
        (_holds(b" " * 16_000_001), "larger than"),
    ],
)
def test_what_cannot_be_edited_is_left_alone_and_named(
    spoil: Callable[[Path], object], words: str, world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _settings(world)
    spoil(path)
    before = path.lstat()

    code = main(["connect", "claude-code", "--yes"])

    error = capsys.readouterr().err
    assert code == 1
    assert str(path) in error
    assert words in error
    assert path.lstat().st_mtime_ns == before.st_mtime_ns
    assert _backups(path) == []


def test_a_large_file_is_edited_where_it_has_to_be_and_shown_in_part(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = world / "home" / ".claude.json"
    many = {f"p{number}": {"history": ["x" * 80] * 10} for number in range(10_000)}
    text = json.dumps({"projects": many, "mcpServers": {}}, indent=2)
    path.write_text(text)

    assert main(["connect", "claude-code", "--yes", "--json"]) == 0

    report = json.loads(capsys.readouterr().out)
    assert len(text) > 9_000_000
    assert sum(len(file["diff"]) for file in report["files"]) < 200
    assert json.loads(path.read_text())["projects"] == many


def test_a_file_that_changes_after_the_difference_was_shown_is_not_written(
    world: Path, connecting: Connecting
) -> None:
    path = _settings(world)
    plan = connecting.plan(_hooks_only())
    path.write_text('{"model": "newer"}')

    with pytest.raises(PathError, match="changed meanwhile"):
        connecting.apply(plan)

    assert path.read_text() == '{"model": "newer"}'
    assert _backups(path) == []


def test_a_file_that_appears_after_the_difference_was_shown_is_not_written(
    world: Path, connecting: Connecting
) -> None:
    plan = connecting.plan(_hooks_only())
    path = _settings(world, "{}")

    with pytest.raises(PathError, match="changed meanwhile"):
        connecting.apply(plan)

    assert path.read_text() == "{}"


def test_what_was_written_before_a_failure_is_named(world: Path, connecting: Connecting) -> None:
    plan = connecting.plan(ConnectRequest(harness=Harness.CLAUDE_CODE))
    (world / "home" / ".claude.json").write_text("{}")

    with pytest.raises(PathError, match=r"Already written: .*settings\.json"):
        connecting.apply(plan)


@pytest.mark.skipif(AS_ROOT, reason="root writes everything")
def test_a_read_only_file_is_not_replaced(world: Path, connecting: Connecting) -> None:
    path = _settings(world)
    path.chmod(0o400)

    with pytest.raises(PathError, match="read-only"):
        connecting.apply(connecting.plan(_hooks_only()))

    assert path.read_text() == COMMENTED


def test_without_a_terminal_nothing_is_written_unless_that_was_said(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["connect", "codex"]) == 2
    assert main(["connect", "codex", "--json"]) == 2
    assert "--yes" in capsys.readouterr().err
    assert main(["connect", "codex", "--dry-run"]) == 0

    assert "+[mcp_servers.prowess]" in capsys.readouterr().out
    assert _files(world) == {}


def test_two_places_at_once_are_refused(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = _files(world)

    code = main(["connect", "claude-code", "--project", "--user", "--yes"])

    assert code == 2
    assert "give one of them" in capsys.readouterr().err
    assert _files(world) == before


def test_the_json_says_what_was_done_and_nothing_that_is_secret(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _settings(world)

    assert main(["connect", "claude-code", "--yes", "--json"]) == 0

    text = capsys.readouterr().out
    report: dict[str, Any] = json.loads(text)
    assert (report["harness"], report["scope"], report["changed"]) == ("claude-code", "user", True)
    assert [file["action"] for file in report["files"]] == ["change", "create"]
    assert all(file["written"] for file in report["files"])
    assert KEY not in text
    assert '\\"API_KEY\\": \\"****' in text


def test_a_long_line_is_cut_to_what_differs_and_secrets_are_stars() -> None:
    long = '{"a": "' + "x" * 5_000 + '", "token": "' + KEY + '"}'
    after = long[:-1] + ', "hooks": {}}'

    lines = compare_files("f.json", long.encode(), after.encode())

    assert all(len(line) < 400 for line in lines)
    assert any('"hooks": {}' in line for line in lines)
    assert not any(KEY in line for line in lines)


def test_variables_move_the_settings_of_a_harness(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"):
        monkeypatch.setenv(name, str(world / name))

    for harness in ("claude-code", "codex", "copilot"):
        assert main(["connect", harness, "--user", "--yes"]) == 0

    assert set(_files(world)) == {
        "CLAUDE_CONFIG_DIR/settings.json",
        "CLAUDE_CONFIG_DIR/.claude.json",
        "CODEX_HOME/hooks.json",
        "CODEX_HOME/config.toml",
        "COPILOT_HOME/hooks/prowess.json",
        "COPILOT_HOME/mcp-config.json",
    }


def test_what_is_registered_can_be_asked_for_also_where_a_file_is_broken(
    world: Path, connecting: Connecting
) -> None:
    connecting.apply(connecting.plan(ConnectRequest(harness=Harness.CLAUDE_CODE)))
    (world / "home" / ".claude.json").write_text("{")

    hooks, server = connecting.found(Harness.CLAUDE_CODE, ConnectScope.USER).values()

    assert not isinstance(hooks, str)
    assert hooks.events == ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")
    assert isinstance(server, str)


def test_a_file_that_is_nested_too_deeply_to_be_compared_is_left_alone(
    world: Path, connecting: Connecting
) -> None:
    text = '{"x":' + "[" * 900 + "]" * 900 + "}"
    path = _settings(world, text)

    with pytest.raises(PathError, match="nested too deeply"):
        connecting.plan(_hooks_only())

    assert path.read_text() == text


def test_a_variable_with_a_tilde_means_the_home_folder(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "~/my claude")
    monkeypatch.setenv("CODEX_HOME", "~/my codex")

    assert main(["connect", "claude-code", "--yes"]) == 0
    assert main(["connect", "codex", "--yes"]) == 0

    assert (world / "home" / "my claude" / "settings.json").is_file()
    assert (world / "home" / "my codex" / "hooks.json").is_file()
    assert list((world / "work").iterdir()) == []


@pytest.mark.parametrize("first", [Harness.COPILOT, Harness.VSCODE])
def test_whoever_reads_the_hooks_of_another_harness_too_is_named(
    connecting: Connecting, first: Harness
) -> None:
    second = Harness.VSCODE if first is Harness.COPILOT else Harness.COPILOT
    alone = connecting.plan(ConnectRequest(harness=first, scope=ConnectScope.PROJECT))
    connecting.apply(alone)

    both = connecting.plan(ConnectRequest(harness=second, scope=ConnectScope.PROJECT))
    connecting.apply(both)
    again = connecting.plan(ConnectRequest(harness=second, scope=ConnectScope.PROJECT))

    assert not any("call us twice" in note for note in alone.notes)
    assert any(f"{second} may run the hooks of {first}" in note for note in both.notes)
    assert not again.needed


def test_in_a_project_the_kept_files_are_told_of_before_somebody_commits_them(
    world: Path, connecting: Connecting
) -> None:
    fresh = connecting.plan(ConnectRequest(harness=Harness.GEMINI, scope=ConnectScope.PROJECT))
    (world / "work" / ".gemini").mkdir()
    (world / "work" / ".gemini" / "settings.json").write_text('{"theme": "dark"}')

    changed = connecting.plan(ConnectRequest(harness=Harness.GEMINI, scope=ConnectScope.PROJECT))

    assert not any("prowess-backup" in note for note in fresh.notes)
    assert any("prowess-backup" in note for note in changed.notes)


def test_without_a_script_of_ours_nothing_in_the_folder_of_a_project_is_imported(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/usr/bin/python3-of-nobody")
    monkeypatch.setattr("sys.argv", ["/lib/prowess/__main__.py"])

    found = find_own_program({"PATH": str(world)})

    assert found.hook == "/usr/bin/python3-of-nobody -P -m prowess hook"
    assert found.mcp == ("/usr/bin/python3-of-nobody", ("-P", "-m", "prowess", "mcp"))
