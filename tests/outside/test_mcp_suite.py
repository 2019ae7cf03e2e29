"""The MCP conformance suite and the inspector, run against `/mcp` and `prowess mcp`."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.outside.harnesses import CannotBeHadError, program

_KNOWN = tomllib.loads(Path(__file__).with_name("conformance.toml").read_text(encoding="utf-8"))[
    "groups"
]
# What a scenario is called in the name of its folder.
_FOLDER = re.compile(r"server-(.+?)-\d{4}-\d\d-\d\dT")
_LONGEST_S = 600
_PAGE = """---
name: alpha
description: Launches rockets for customers. Use when a rocket is to be launched.
---

# Alpha

Do it, and read references/notes.md.
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "skills/alpha/references").mkdir(parents=True)
    (folder / "skills/alpha/SKILL.md").write_text(_PAGE, encoding="utf-8")
    (folder / "skills/alpha/references/notes.md").write_text("Notes.\n", encoding="utf-8")
    (folder / "skills/alpha/logo.png").write_bytes(b"\x89PNG\0")
    return folder


def _environment(project: Path) -> dict[str, str]:
    home = project.parent / "home"
    home.mkdir(exist_ok=True)
    return {"HOME": str(home), "PROWESS_HOME": str(home / "state"), "PATH": os.environ["PATH"]}


def _have(name: str) -> tuple[str, str]:
    try:
        return program(name)
    except CannotBeHadError as error:
        pytest.skip(str(error))


@contextmanager
def _gateway(project: Path) -> Iterator[str]:
    with subprocess.Popen(
        [sys.executable, "-m", "prowess", "serve", "--port", "0", "--json"],
        env=_environment(project), cwd=project, stdout=subprocess.PIPE, text=True,
        stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["address"]
        finally:
            process.kill()


def _failures(results: Path) -> Mapping[str, Sequence[str]]:
    """Return what the suite says of each scenario that ran."""
    found: dict[str, list[str]] = {}
    for folder in results.iterdir():
        named = _FOLDER.match(folder.name)
        assert named is not None, folder.name
        checks = json.loads((folder / "checks.json").read_text(encoding="utf-8"))
        bad = [one.get("errorMessage", "") for one in checks if one["status"] == "FAILURE"]
        found[named[1]] = bad
    return found


def test_every_scenario_of_a_declared_capability_passes(project: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"

    with _gateway(project) as address:
        subprocess.run(
            [*_have("conformance"), "server", "--suite", "all", "--url", f"{address}/mcp",
             "-o", str(results)],
            env=_environment(project), cwd=tmp_path, check=False, capture_output=True,
            timeout=_LONGEST_S,
        )  # fmt: skip

    found = _failures(results)
    known = {name: group for group in _KNOWN for name in group["scenarios"].split()}
    assert {name for name, bad in found.items() if bad} == set(known)
    for name, group in known.items():
        assert all(re.search(group["told"], said) for said in found[name]), (name, found[name])
    # Those that are about us most of all.
    for name in ("enumeration", "manifest", "directory"):
        assert found[f"sep-2640-skills-{name}"] == []


def _inspect(project: Path, *words: str) -> Any:  # noqa: ANN401
    command = [*_have("inspector"), "--cli", "--connect-timeout", "600000"]
    told = subprocess.run(
        [*command, sys.executable, "-m", "prowess", "mcp", *words],
        env=_environment(project), cwd=project, check=True, capture_output=True, text=True,
        timeout=_LONGEST_S,
    )  # fmt: skip
    return json.loads(told.stdout)


def test_the_inspector_lists_loads_and_reads(project: Path) -> None:
    tools = _inspect(project, "--method", "tools/list")["tools"]
    call = ("--method", "tools/call", "--tool-name", "load_skill", "--tool-arg", "name=alpha")
    loaded = _inspect(project, *call)
    uri = "skill://alpha/references/notes.md"
    read = _inspect(project, "--method", "resources/read", "--uri", uri)
    prompts = _inspect(project, "--method", "prompts/list")["prompts"]

    assert [tool["name"] for tool in tools] == ["find_skills", "load_skill", "read_skill_file"]
    assert "Do it, and read" in loaded["content"][0]["text"]
    assert read["contents"][0]["text"] == "Notes.\n"
    assert "alpha" in [prompt["name"] for prompt in prompts]
