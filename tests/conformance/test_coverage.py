"""Holds the manifest in both directions: no behaviour without a test, no test without a behaviour.

Marks are read from the text of the test files and not from a collection, so that this file gives
the same answer alone, in any order, and beside tests that were deselected.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from .requirements import REQUIREMENTS

FOLDER = Path(__file__).parent
SOURCES = (
    r"spec skills/(Homes and configuration|Sources|Discovery|What a Skill holds|Eligibility"
    r"|Agent filter|Snapshot|Watcher|Prompt block|Terminal)"
    r"|spec safety/(Scanner|Bars)|spec routing/(What it does|Bars|Terminal)|issue skill discovery"
    r"|spec runs/(A run|Slash commands|Sandbox copy|Install|Agents)"
    r"|spec workshop/(Configuration|Three ways in|Proposals|Writes|Prompt guidance|Terminal|Logs)"
    r"|spec experience/(Input|Output|Document|Fingerprint|Learning across runs|Replay|Terminal)"
    r"|spec gateway/(Process|Frames|Methods|Promises)|claw3d 3\.\d+"
    r"|spec connect/(Hooks|Transcripts|MCP|Sharing)"
    r"|openclaw \d+(\.\d+)?|openpocket 1\.\d+|agent-skills standard|own"
)


def functions() -> Iterator[tuple[str, ast.FunctionDef]]:
    """Every test function of the folder but those of this file, with its place."""
    for path in sorted(FOLDER.glob("test_*.py")):
        if path == Path(__file__):
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield f"{path.name}::{node.name}", node


def marks(test: ast.FunctionDef) -> Iterator[str]:
    """The ids in the marks of one test; anything but a literal text is refused."""
    for decorator in test.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith(
            "mark.requirement"
        ):
            for argument in decorator.args:
                yield str(ast.literal_eval(argument))


def test_every_requirement_has_a_test() -> None:
    held = {mark for _, test in functions() for mark in marks(test)}

    missing = [requirement.id for requirement in REQUIREMENTS if requirement.id not in held]

    assert missing == []


def test_every_test_names_requirements_that_exist() -> None:
    known = {requirement.id for requirement in REQUIREMENTS}

    strays = [
        (place, mark) for place, test in functions() for mark in marks(test) if mark not in known
    ]
    unmarked = [place for place, test in functions() if not list(marks(test))]

    assert strays == []
    assert unmarked == []


def test_every_requirement_has_its_own_id_a_source_and_a_sentence() -> None:
    ids = [requirement.id for requirement in REQUIREMENTS]

    assert len(set(ids)) == len(ids)
    for requirement in REQUIREMENTS:
        assert re.fullmatch(r"[a-z]+:[a-z0-9]+(-[a-z0-9]+)*", requirement.id)
        assert re.fullmatch(SOURCES, requirement.source), requirement.source
        assert re.fullmatch(r"\S.*\.", requirement.behaviour), requirement.behaviour


def test_every_section_of_the_specification_is_covered() -> None:
    sections = {
        requirement.source.removeprefix("spec skills/")
        for requirement in REQUIREMENTS
        if requirement.source.startswith("spec skills/")
    }

    assert sections == {
        "Homes and configuration",
        "Sources",
        "Discovery",
        "What a Skill holds",
        "Eligibility",
        "Agent filter",
        "Snapshot",
        "Watcher",
        "Prompt block",
        "Terminal",
    }
