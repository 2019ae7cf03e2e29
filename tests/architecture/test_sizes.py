"""Sizes and shape, held by tests that loop over the tree: docs/decisions/0018 says why these.

Where the tree does not keep a rule yet, the table below says by how much. Whoever mends a case
lowers its number in the same commit; raising one takes a line in that decision that says for what.
"""

import ast
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2] / "src" / "prowess"

# At most so many today; the number to reach stands behind each.
MOST_MODULES = 405  # about 350
MOST_LINES = 129_104  # 85,000
MOST_SHORT_MODULES = 4  # few: what is read together stands together
MOST_FULL_FOLDERS = 0
MOST_PREFIX_FAMILIES = 0
MOST_SHARED_CLASS_NAMES = 0
MOST_IMPORTS_BY_STRING = 0
MOST_BROAD_EXCEPTS = 5  # dispatch, worker, terminal, and `contain` for all other outer frames

MANY_LINES = 600
FEW_LINES = 60
# Above this even a good reason is not good enough.
MAX_MODULE_LINES = 700
MAX_FUNCTION_LINES = 40
MAX_FOLDER_ENTRIES = 20
FAMILY = 3
FORBIDDEN_NAMES = {"utils", "helpers", "common", "shared", "misc", "manager"}
# What a package or Python itself brings into a folder is no entry that a reader looks through.
_NO_ENTRIES = {"__pycache__", "__init__.py", "__main__.py", "py.typed"}


_Function = ast.FunctionDef | ast.AsyncFunctionDef


class _Module(NamedTuple):
    place: str
    text: str
    explained: bool
    functions: list[tuple[str, int]]
    classes: list[str]


@pytest.fixture(scope="module")
def modules() -> list[_Module]:
    return [_read(path) for path in sorted(ROOT.rglob("*.py"))]


def _read(path: Path) -> _Module:
    """Read a module; its tree is not kept, for the trees of all of them take long to look after."""
    text = path.read_text("utf-8")
    tree = ast.parse(text)
    found = list(_definitions(tree))
    return _Module(
        path.relative_to(ROOT).as_posix(),
        text,
        bool(ast.get_docstring(tree)),
        [
            (f"{node.name}, line {node.lineno}", (node.end_lineno or 0) - node.lineno + 1)
            for node in found
            if isinstance(node, _Function)
        ],
        [node.name for node in found if isinstance(node, ast.ClassDef)],
    )


def _definitions(node: ast.AST) -> Iterator[_Function | ast.ClassDef]:
    """Yield every function and class; no expression holds one, and most of a tree is those."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            if isinstance(child, _Function | ast.ClassDef):
                yield child
            yield from _definitions(child)


def test_the_tree_only_shrinks(modules: list[_Module]) -> None:
    assert len(modules) <= MOST_MODULES
    assert sum(module.text.count("\n") for module in modules) <= MOST_LINES


def test_a_folder_can_be_taken_in_at_a_glance() -> None:
    # The package itself lists the rooms: there are a few more of them than a room has entries.
    folders = {path.parent for path in ROOT.rglob("*.py")} - {ROOT}
    entries = {
        folder: [entry for entry in folder.iterdir() if entry.name not in _NO_ENTRIES]
        for folder in sorted(folders)
    }

    full = [
        f"{folder.relative_to(ROOT)}: {len(found)} entries, at most {MAX_FOLDER_ENTRIES}"
        for folder, found in entries.items()
        if len(found) > MAX_FOLDER_ENTRIES
    ]
    families = [
        f"{folder.relative_to(ROOT)}: {count} siblings start with {prefix}_; make it a folder"
        for folder, found in entries.items()
        for prefix, count in Counter(_prefixes(found)).items()
        if count >= FAMILY
    ]

    assert len(full) <= MOST_FULL_FOLDERS, _listed(full)
    assert len(families) <= MOST_PREFIX_FAMILIES, _listed(families)


# The one warning that is no error: between the two limits somebody looks, and may leave it so.
@pytest.mark.filterwarnings("default:modules to look at")
def test_a_module_is_one_thing_and_says_which(modules: list[_Module]) -> None:
    sizes = {module.place: module.text.count("\n") for module in modules}

    long = [f"{place}: {size}" for place, size in sizes.items() if size > MANY_LINES]
    if long:
        warnings.warn(f"modules to look at, over {MANY_LINES} lines: {long}", stacklevel=1)

    short = [f"{place}: {size}" for place, size in sizes.items() if size < FEW_LINES]
    short = [line for line in short if "__init__.py" not in line]
    assert len(short) <= MOST_SHORT_MODULES, _listed(short)
    too_long = [f"{place}: {size}" for place, size in sizes.items() if size > MAX_MODULE_LINES]
    assert too_long == [], f"over {MAX_MODULE_LINES} lines: find the seam"
    silent = [module.place for module in modules if not module.explained]
    assert silent == [], "the first lines say what the module is for"
    words = {place: set(Path(place).with_suffix("").parts) for place in sizes}
    nameless = [place for place in sizes if FORBIDDEN_NAMES & words[place]]
    assert nameless == [], "a name that says nothing holds everything"


def test_a_function_fits_on_a_screen(modules: list[_Module]) -> None:
    long = [
        f"{module.place}: {name}: {size} lines"
        for module in modules
        for name, size in module.functions
        if size > MAX_FUNCTION_LINES
    ]

    assert long == [], f"over {MAX_FUNCTION_LINES} lines"


def test_a_class_name_means_one_thing(modules: list[_Module]) -> None:
    places: dict[str, list[str]] = {}
    for module in modules:
        for name in module.classes:
            if not name.startswith("_"):
                places.setdefault(name, []).append(module.place)

    shared = [f"{name}: {', '.join(found)}" for name, found in places.items() if len(found) > 1]

    assert len(shared) <= MOST_SHARED_CLASS_NAMES, _listed(shared)


def test_what_the_linters_do_not_see_is_rare_and_explained(modules: list[_Module]) -> None:
    by_string = [place for place, _ in _lines(modules, r'import_module\(\s*f?"prowess')]
    # Ruff finds every except that is too broad; the ones that stay are those that silence it.
    broad = [place for place, _ in _lines(modules, r"# noqa: .*BLE001")]
    suppressed = [
        place
        for place, before in _lines(modules, r"# noqa|type: ignore")
        if not before.strip().startswith("#")
    ]
    nameless = list(_lines(modules, r"# noqa(?!: [A-Z])|type: ignore(?!\[)"))

    assert len(by_string) <= MOST_IMPORTS_BY_STRING, _listed(by_string)
    assert len(broad) <= MOST_BROAD_EXCEPTS, _listed(broad)
    assert suppressed == [], "no reason on the line above"
    assert nameless == [], "a suppression names its rule"


def _prefixes(entries: list[Path]) -> list[str]:
    found = [entry for entry in entries if entry.is_dir() or entry.suffix == ".py"]
    return [entry.stem.split("_")[0] for entry in found if not entry.name.startswith("_")]


def _lines(modules: list[_Module], pattern: str) -> Iterator[tuple[str, str]]:
    """Yield the place of every line that matches, with the line before it."""
    for module in modules:
        for found in re.finditer(pattern, module.text):
            above = module.text[: found.start()].splitlines()
            yield f"{module.place}:{len(above)}", above[-2] if len(above) > 1 else ""


def _listed(cases: list[str]) -> str:
    return "more than there were:\n" + "\n".join(sorted(cases))
