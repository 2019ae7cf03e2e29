"""Sizes and shape, held by tests: no allowlist, so there is nothing to grow."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 40
MAX_PUBLIC_METHODS = 12
FORBIDDEN_NAMES = {"utils", "helpers", "common", "shared", "misc", "manager"}

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _definitions(path: Path) -> list[Definition]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, Definition)]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_is_one_thing(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").count("\n")

    assert lines <= MAX_MODULE_LINES, f"{lines} lines: find the seam"
    assert path.stem not in FORBIDDEN_NAMES


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_says_what_it_is_for(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))

    assert ast.get_docstring(tree), "the first lines say what the module is for"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_function_fits_on_a_screen(path: Path) -> None:
    sizes = {
        node.name: (node.end_lineno or 0) - node.lineno + 1
        for node in _definitions(path)
        if not isinstance(node, ast.ClassDef)
    }

    assert {name: size for name, size in sizes.items() if size > MAX_FUNCTION_LINES} == {}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_class_is_no_facade_for_everything(path: Path) -> None:
    for node in _definitions(path):
        if isinstance(node, ast.ClassDef):
            methods = [
                item.name
                for item in node.body
                if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)
                and not item.name.startswith("_")
            ]

            assert len(methods) <= MAX_PUBLIC_METHODS, node.name


def test_every_suppression_names_its_rule_and_has_its_reason_above() -> None:
    for path in SOURCES:
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines):
            if "# noqa" not in line and "type: ignore" not in line:
                continue
            place = f"{path}:{number + 1}"

            assert re.search(r"# noqa: [A-Z]|type: ignore\[", line), place
            assert lines[number - 1].strip().startswith("#"), f"{place}: no reason above"
