"""What of ours reaches the model: a hint where one helps, once, and nothing that it has already."""

import json
import re
from collections.abc import Callable, Mapping

import pytest
from tests.outside.harnesses import OutsideWorld
from tests.outside.model_server import ModelRequest, ModelServer

SKILLS = {
    "release-notes": "Writes release notes from merged pull requests. Use when the user asks for"
    " release notes or a changelog entry.",
    "pdf-forms": "Fills in PDF forms. Use when a PDF form is to be filled in, signed or flattened.",
    "db-migrations": "Writes database migrations. Use when a column is added, renamed or dropped.",
}
# How each loads a skill that it lists itself.
WAYS: Mapping[str, str] = {
    "claude-code": "Skill tool: release-notes",
    "codex": "$release-notes",
    "gemini": "activate_skill: release-notes",
}
_OURS = re.compile(r"Skills [^\n]*\(found by Prowess\):(?:\n- [^\n]*)*")


def told(request: ModelRequest) -> list[str]:
    """Return each part of the conversation that is in our words."""
    return _OURS.findall(request.text)


def connect(home: OutsideWorld) -> None:
    """Put skills where the harness lists them, one where it does not, and connect it."""
    for name, description in SKILLS.items():
        home.add_skill(name, description)
    # One that no harness looks for there.
    folder = home.project / "skills" / "house-style"
    folder.mkdir(parents=True)
    text = "---\nname: house-style\ndescription: How we word things here.\n---\n\n# House style\n"
    (folder / "SKILL.md").write_text(text, encoding="utf-8")
    home.prowess("connect", home.name, "--yes", "--no-mcp")


@pytest.mark.parametrize("name", WAYS)
def test_the_model_reads_one_hint_and_no_second_index(
    name: str, world: Callable[[str], OutsideWorld], model: ModelServer
) -> None:
    home = world(name)
    connect(home)

    home.ask("Write the release notes for last week")

    request = model.first("release notes for last week")
    start, hint = told(request)
    assert len(start) <= 1_500
    assert re.findall(r"^- ([^ ,]+)", start, re.MULTILINE) == ["house-style"]
    assert len(hint) <= 600
    assert hint.splitlines()[1].startswith("- release-notes (score ")
    assert f", {WAYS[name]}, file {home.project}" in hint
    # Its own list has the descriptions, and ours does not repeat them.
    assert request.text.count(SKILLS["pdf-forms"]) == 1
    assert "prowess-manual" not in request.text


def test_claude_code_has_our_two_tools_at_hand_and_not_behind_its_search(
    world: Callable[[str], OutsideWorld], model: ModelServer
) -> None:
    home = world("claude-code")
    home.add_skill("release-notes", SKILLS["release-notes"])
    home.prowess("connect", "claude-code", "--yes")

    home.ask("Say hello to everybody")

    request = model.first("hello to everybody")
    ours = [tool for tool in request.body["tools"] if "prowess" in tool["name"]]
    assert {tool["name"] for tool in ours} == {
        "mcp__prowess__find_skills",
        "mcp__prowess__load_skill",
    }
    assert len(json.dumps(ours)) <= 1_000


@pytest.mark.parametrize("name", WAYS)
def test_an_ordinary_prompt_is_left_alone(
    name: str, world: Callable[[str], OutsideWorld], model: ModelServer
) -> None:
    home = world(name)
    for skill, description in SKILLS.items():
        home.add_skill(skill, description)
    home.prowess("connect", name, "--yes", "--no-mcp")

    home.ask("fix the off-by-one in the pagination helper")

    assert told(model.first("the pagination helper")) == []
