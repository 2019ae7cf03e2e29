"""What `prowess doctor` says of a harness is what that harness really did, whatever is wrong."""

import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.outside.harnesses import OutsideWorld
from tests.outside.model_server import ModelServer

World = Callable[[str], OutsideWorld]
_ASKED = "Please write the release notes for the merged pull requests of this week."
_FOUND = "found by Prowess"
_USER, _PROJECT, _BOTH = ((),), (("--project",),), ((), ("--project",))
_TWICE = "each hook runs twice"
# Hooks in settings, and in a file of their own: what the log tells is the same for all.
_EACH_WAY = ("claude-code", "codex")


class _Case(NamedTuple):
    """A harness, how it is connected, what stands in one of its files, and what comes of it."""

    name: str
    scopes: tuple[tuple[str, ...], ...] = _USER
    # Below the home; keys and value of what is set there.
    file: str = ""
    keys: tuple[str, ...] = ()
    # As it stands in the file; HERE is the project.
    value: str = ""
    variables: Mapping[str, str] = {}
    # How often the prompt reached us, and what the doctor says against it, if anything.
    calls: int = 1
    said: str = ""


_OFF = ("disableAllHooks",)
_TRUST = ("security", "folderTrust", "enabled")
_PLUGINS, _ENTRY = ".openclaw/openclaw.json", ("plugins", "entries", "prowess")
_NO_INJECTION = (*_ENTRY, "hooks", "allowPromptInjection")
_PURE, _ALONE = "OPENCODE_PURE", "OPENCODE_DISABLE_PROJECT_CONFIG"
# Harness, scopes, file, keys, value, variables, calls, what is said.
_CASES = (
    _Case("claude-code", _USER, ".claude/settings.json", _OFF, "true", {}, 0, _OFF[0]),
    _Case("claude-code", _BOTH),
    # Our driver has it run hooks that it does not trust.
    _Case("codex", said="It has not trusted our hooks yet"),
    _Case("codex", _PROJECT, calls=0, said="It does not trust"),
    _Case("gemini", _PROJECT),
    _Case("gemini", _BOTH),
    _Case(
        "gemini", _USER, ".gemini/settings.json", ("hooksConfig", "enabled"), "false", {}, 0, "off"
    ),
    _Case("copilot", _USER, ".copilot/hooks/prowess.json", _OFF, "true", {}, 0, _OFF[0]),
    # What does nothing is not spoken of.
    _Case("copilot", _USER, ".copilot/settings.json", _OFF, "true"),
    _Case("copilot", _PROJECT, calls=0, said="It does not trust"),
    _Case("copilot", _BOTH, ".copilot/config.json", ("trustedFolders",), '["HERE"]', {}, 2, _TWICE),
    _Case("qwen", _USER, ".qwen/settings.json", _OFF, "true", {}, 0, _OFF[0]),
    _Case("qwen", _PROJECT, ".qwen/settings.json", _TRUST, "true", {}, 0, "It does not trust"),
    _Case("qwen", _BOTH),
    _Case("opencode", variables={_PURE: "1"}, calls=0, said=_PURE),
    _Case("opencode", _PROJECT, variables={_ALONE: "1"}, calls=0, said=_ALONE),
    # Both are there, and one of them asks.
    _Case("opencode", _BOTH, said=_TWICE),
    _Case("openclaw", _USER, _PLUGINS, ("plugins", "deny"), '["prowess"]', {}, 0, "plugins.deny"),
    _Case("openclaw", _USER, _PLUGINS, ("plugins", "allow"), '["other"]', {}, 0, "plugins.allow"),
    _Case("openclaw", _USER, _PLUGINS, (*_ENTRY, "enabled"), "false", {}, 0, "enabled is not true"),
    _Case("openclaw", _USER, _PLUGINS, _NO_INJECTION, "false", {}, 0, "allowPromptInjection"),
)


def _make(world: World, name: str) -> OutsideWorld:
    home = world(name)
    home.add_skill(
        "release-notes",
        "Write release notes from merged pull requests. Use when the user asks for release notes.",
    )
    home.add_skill("pdf-forms", "Fill in PDF forms. Use when the user wants to fill in a PDF form.")
    folder = home.home / ".prowess"
    folder.mkdir(mode=0o700)
    settings = {"skills": {"routing": {"encoder": "none"}}}
    (folder / "prowess.json").write_text(json.dumps(settings), encoding="utf-8")
    return home


def _set(path: Path, keys: tuple[str, ...], value: object) -> None:
    document: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    place = document
    for key in keys[:-1]:
        place = place.setdefault(key, {})
    place[keys[-1]] = value
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2), encoding="utf-8")


def _calls(home: OutsideWorld) -> list[dict[str, Any]]:
    """Return what came to us with a prompt."""
    log = home.home / ".prowess/hooks.jsonl"
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return [line for line in map(json.loads, lines) if line["moment"] == "prompt"]


def _warnings(home: OutsideWorld) -> str:
    """Return what the doctor has against the harness."""
    report = json.loads(home.prowess("doctor", "--json", code=None))
    rows = [row for row in report["findings"] if row["level"] != "ok"]
    return "\n".join(row["text"] for row in rows if row["area"] == home.name)


@pytest.mark.parametrize("case", _CASES, ids=lambda case: f"{case.name}-{case.said or 'well'}")
def test_the_doctor_says_what_the_harness_does(
    case: _Case, world: World, model: ModelServer
) -> None:
    home = _make(world, case.name)
    for scope in case.scopes:
        home.prowess("connect", case.name, "--yes", "--no-mcp", *scope)
    if case.file:
        value = case.value.replace("HERE", str(home.project))
        _set(home.home / case.file, case.keys, json.loads(value))
    home.environment.update(case.variables)

    assert home.ask(_ASKED).code == 0

    assert len(_calls(home)) == case.calls
    # Twice with two processes at once is what the warning is about.
    assert model.first(_ASKED).text.count(_FOUND) == min(case.calls, 1)
    # On a machine that others use too a call may take long.
    said = [line for line in _warnings(home).splitlines() if " were slow, " not in line]
    assert bool(said) is bool(case.said), said
    assert not case.said or any(case.said in line for line in said), said


@pytest.mark.parametrize("name", _EACH_WAY)
def test_a_program_that_is_slow_to_start_is_called_slow(
    name: str, world: World, model: ModelServer
) -> None:
    home = _make(world, name)
    home.prowess("connect", name, "--yes", "--no-mcp")
    _put_before(home, "sleep 1.2")

    assert home.ask(_ASKED).code == 0

    assert _FOUND in model.first(_ASKED).text
    assert "calls were slow, up to " in _warnings(home)


@pytest.mark.parametrize("name", _EACH_WAY)
def test_a_call_that_ran_out_of_time_is_told_of_with_its_figure(
    name: str, world: World, model: ModelServer
) -> None:
    home = _make(world, name)
    home.prowess("connect", name, "--yes", "--no-mcp")
    # Its second is over before it has begun; the harness itself would wait for longer.
    _put_before(home, "export PROWESS_HOOK_SECONDS=1 && sleep 1.2")

    assert home.ask(_ASKED).code == 0

    assert _FOUND not in model.first(_ASKED).text
    (call,) = _calls(home)
    assert call["problem"] == "out of time"
    said = _warnings(home)
    assert "calls failed" in said
    assert "out of time" in said


def _put_before(home: OutsideWorld, command: str) -> None:
    """Have a command run whenever the registered line starts us."""
    folder, path = home.home / "slow", home.environment["PATH"]
    folder.mkdir()
    program = folder / "prowess"
    # The same process as the program: this is how one starts that is fetched from a slow disk.
    lines = ("#!/bin/sh", f'[ "$1" = hook ] && {command}', f'PATH="{path}" exec prowess "$@"')
    program.write_text("\n".join(lines) + "\n", encoding="utf-8")
    program.chmod(0o755)
    home.environment["PATH"] = f"{folder}:{path}"


@pytest.mark.parametrize("name", _EACH_WAY)
def test_a_prompt_that_no_hook_was_told_of_is_noticed_whatever_the_reason(
    name: str, world: World, model: ModelServer
) -> None:
    home = _make(world, name)
    home.prowess("connect", name, "--yes", "--no-mcp")
    # As if connected long ago; then the program that is called is gone while the harness runs.
    long_ago = time.time() - 3_600
    os.utime(home.home / ".prowess/connections.json", (long_ago, long_ago))
    path = home.environment["PATH"]
    kept = [part for part in path.split(":") if not (Path(part) / "prowess").exists()]
    home.environment["PATH"] = ":".join(kept)

    assert home.ask(_ASKED).code == 0

    home.environment["PATH"] = path
    assert _FOUND not in model.first(_ASKED).text
    assert "had a prompt just now and did not call us" in _warnings(home)
