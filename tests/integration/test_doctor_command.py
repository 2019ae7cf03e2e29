"""`prowess doctor` on real folders: what is well, and what each kind of trouble looks like."""

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from prowess.cli.main import main
from prowess.hooks.harness import Harness, HookCall, Moment
from prowess.host.harness.hook_client import HookLog
from prowess.host.harness.hook_socket import HookSocket
from prowess.wiring.doctor import find_exposed, gateway_answers, read_version_beside


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PROWESS_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for name in ("home", "work", "bin", "state"):
        (tmp_path / name).mkdir()
    (tmp_path / "state").chmod(0o700)
    # Words alone: what a model says is tested elsewhere, and loading it takes a second.
    (tmp_path / "state" / "prowess.json").write_text('{"skills": {"routing": {"encoder": "none"}}}')
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def _doctor(capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    code = main(["doctor", "--json"])
    return code, json.loads(capsys.readouterr().out)


def _of(report: dict[str, Any], level: str) -> str:
    found = [one for one in report["findings"] if one["level"] == level]
    return "\n".join(f"{one['area']}: {one['text']} {one['todo']}" for one in found)


def test_a_fresh_machine_is_well_and_its_harnesses_are_not_spoken_of(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, report = _doctor(capsys)

    assert (code, report["ok"], report["problems"], report["warnings"]) == (0, True, 0, 0)
    assert {finding["area"] for finding in report["findings"]} == {"prowess"}
    assert "skills were found" in _of(report, "ok")
    assert sorted(path.name for path in (world / "home").iterdir()) == []


def test_another_installation_on_the_path_is_named_and_none_is_not_another(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["connect", "qwen", "--dry-run"]) == 0
    alone = capsys.readouterr().out
    other = world / "bin" / "prowess"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    assert main(["connect", "qwen", "--dry-run"]) == 0
    beside = capsys.readouterr().out

    _, report = _doctor(capsys)

    assert f"is another installation: {other}" in _of(report, "warning")
    assert "is not on your PATH" in alone
    assert f"({other}) is not this installation" in beside.replace("\n", " ")


def test_every_harness_that_is_connected_passes_its_self_test(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for harness in Harness:
        assert main(["connect", harness.value, "--yes"]) == 0
    HookLog(str(world / "state")).note(
        HookCall(harness=Harness.CODEX, moment=Moment.PROMPT, at_ms=0, took_ms=12, spoke=True)
    )

    code, report = _doctor(capsys)

    good = _of(report, "ok")
    assert code == 0
    for harness in Harness:
        assert f"{harness}: It calls us at " in good
    assert good.count("recorded calls were answered as it expects") == len(Harness)
    assert "(prompt, 12 ms)" in good


def test_a_harness_that_is_here_and_not_connected_is_a_warning_with_the_command(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = world / "node" / "gemini"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"version": "0.31.2"}')
    (package / "cli.js").write_text("#!/bin/sh\n")
    (package / "cli.js").chmod(0o755)
    (world / "bin" / "gemini").symlink_to(package / "cli.js")

    code, report = _doctor(capsys)

    assert code == 0
    assert "Gemini CLI 0.31.2 is installed." in _of(report, "ok")
    assert "prowess connect gemini" in _of(report, "warning")


def test_broken_settings_and_a_command_that_is_gone_are_problems(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (world / "home" / ".claude").mkdir()
    (world / "home" / ".claude" / "settings.json").write_text('{"hooks": [')
    (world / "home" / ".cursor").mkdir()
    entry = {"command": "/gone/venv/bin/prowess hook"}
    (world / "home" / ".cursor" / "hooks.json").write_text(
        json.dumps({"version": 1, "hooks": {"stop": [entry]}})
    )

    code, report = _doctor(capsys)

    problems = _of(report, "problem")
    assert code == 1
    assert "settings.json" in problems
    assert "line 1" in problems
    assert "/gone/venv/bin/prowess does not exist" in problems
    assert "does not call us at sessionStart" in _of(report, "warning")


def test_broken_config_and_a_broken_store_do_not_stop_the_examination(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (world / "state" / "prowess.json").write_text("{")
    (world / "state" / "prowess.db").write_bytes(b"not a database" * 100)

    code, report = _doctor(capsys)

    assert code == 1
    assert "prowess.json" in _of(report, "problem")
    assert "prowess.db cannot be used" in _of(report, "problem")
    assert (world / "state" / "prowess.db").read_bytes() == b"not a database" * 100
    assert "MCP library" in _of(report, "ok") + _of(report, "problem")


def test_a_skill_that_cannot_be_read_is_named(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = world / "work" / "skills" / "odd"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: [\n---\n")

    _code, report = _doctor(capsys)

    assert "prowess validate" in _of(report, "warning")


@pytest.mark.skipif(os.name == "nt", reason="permissions of this kind are not there")
def test_a_state_folder_that_others_may_write_is_a_problem(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (world / "state").chmod(0o777)
    (world / "state" / "prowess.json").chmod(0o644)

    code, report = _doctor(capsys)

    assert code == 1
    assert f"chmod 700 {world / 'state'}" in _of(report, "problem")
    assert "prowess.json may be read by others" in _of(report, "warning")


def test_the_text_for_people_ends_with_a_conclusion(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (world / "home" / ".codex" / "log").mkdir(parents=True)

    assert main(["doctor"]) == 0

    out = capsys.readouterr().out
    assert "codex\n  ✓ Codex is installed." in out
    assert out.rstrip().endswith("0 problems, 1 warning.")


def test_nobody_gets_past_a_closed_folder_whatever_is_inside(tmp_path: Path) -> None:
    (tmp_path / "open.json").write_text("{}")
    (tmp_path / "open.json").chmod(0o666)
    tmp_path.chmod(0o700)

    assert find_exposed(str(tmp_path)) == ((), ())

    tmp_path.chmod(0o755)
    assert find_exposed(str(tmp_path)) == ([str(tmp_path / "open.json")], [str(tmp_path)])


def test_something_mute_in_the_place_of_a_gateway_is_none(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as mute:
        mute.bind(str(tmp_path / "hook.sock"))
        mute.listen()

        assert gateway_answers(str(tmp_path)) is False


def test_a_folder_that_connecting_made_does_not_prove_a_harness(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for harness in (Harness.CODEX, Harness.GEMINI, Harness.COPILOT):
        assert main(["connect", harness.value, "--yes"]) == 0
    (world / "home" / ".gemini" / "history").mkdir()

    _code, report = _doctor(capsys)

    assert "codex: Codex is connected, but was not found" in _of(report, "warning")
    assert "copilot: Copilot CLI is connected, but was not found" in _of(report, "warning")
    assert "gemini: Gemini CLI is installed." in _of(report, "ok")


@pytest.mark.skipif(os.name == "nt", reason="scripts begin with no such line there")
@pytest.mark.parametrize(
    ("script", "gone"),
    [
        ("#!/gone/bin/python\n", "/gone/bin/python"),
        ('#!/bin/sh\n\'\'\'exec\' "/gone far/python" "$0" "$@"\n', "/gone far/python"),
        ("#!/bin/sh\necho\n", ""),
        ("\x7fELF", ""),
    ],
)
def test_a_script_whose_interpreter_is_gone_is_a_problem(
    world: Path, capsys: pytest.CaptureFixture[str], script: str, gone: str
) -> None:
    program = world / "home" / "venv" / "prowess"
    program.parent.mkdir()
    program.write_text(script)
    program.chmod(0o755)
    hooks = {event: [{"command": "~/venv/prowess hook"}] for event in ("stop", "sessionStart")}
    (world / "home" / ".cursor").mkdir()
    (world / "home" / ".cursor" / "hooks.json").write_text(json.dumps({"hooks": hooks}))

    code, report = _doctor(capsys)

    assert code == (1 if gone else 0)
    assert (f"is a script for {gone}, which is not there" in _of(report, "problem")) is bool(gone)


def test_a_gateway_is_found_by_its_answer(tmp_path: Path) -> None:
    state = str(tmp_path)
    assert gateway_answers(state) is False
    (tmp_path / "hook.sock").write_text("left behind")
    assert gateway_answers(state) is False
    (tmp_path / "hook.sock").unlink()
    line = HookSocket(state, lambda _asked: None)
    line.start()

    try:
        assert gateway_answers(state) is True
    finally:
        line.close()


@pytest.mark.parametrize("content", ["[]", "{", '{"version": 3}', '{"version": "\\u001b[31m"}'])
def test_a_version_that_is_none_is_not_shown(tmp_path: Path, content: str) -> None:
    (tmp_path / "package.json").write_text(content)

    assert read_version_beside(str(tmp_path / "tool")) == ""
