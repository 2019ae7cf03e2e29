"""The studio's files keep to what its policy and its readers rely on."""

import re
from pathlib import Path

from click import Context, Group
from tests.rows import each_row

import prowess
from prowess.cli.terminal import app as commands

STUDIO = Path(prowess.__file__).parent / "studio"
MODULES = sorted(STUDIO.rglob("*.js"))
SHEETS = sorted(STUDIO.rglob("*.css"))
_LONGEST = 400
# Ways in which text becomes markup or code.
_PARSERS = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\(|new Function"
    r"|setAttribute\(\s*[\"']style"
)
_ELSEWHERE = re.compile(r"https?://(?!www\.w3\.org/)[\w.-]+")
_IMPORT = re.compile(r"^import .*? from \"(\.[^\"]+)\";$", re.MULTILINE)


def name(path: Path) -> str:
    return path.relative_to(STUDIO).as_posix()


@each_row("path", [*MODULES, *SHEETS])
def test_a_file_says_first_what_it_is_for_and_is_one_thing(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert text.startswith("// " if path.suffix == ".js" else "/* ")
    assert len(text.splitlines()) <= _LONGEST


@each_row("path", [*MODULES, *SHEETS, STUDIO / "index.html"])
def test_a_file_parses_no_markup_and_names_no_other_host(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert _PARSERS.findall(text) == []
    assert _ELSEWHERE.findall(text) == []


def test_the_page_asks_for_every_module_and_sheet_at_once() -> None:
    page = (STUDIO / "index.html").read_text(encoding="utf-8")

    asked = set(re.findall(r"(?:href|src)=\"/((?:js|css)/[^\"]+)\"", page))

    assert asked == {name(path) for path in (*MODULES, *SHEETS)}


@each_row("path", MODULES)
def test_parts_import_no_view_and_every_import_is_there(path: Path) -> None:
    imported = _IMPORT.findall(path.read_text(encoding="utf-8"))
    targets = [(path.parent / one).resolve() for one in imported]

    assert all(target.is_file() for target in targets)
    if path.parent.name == "parts":
        assert [target for target in targets if target.parent.name == "views"] == []


_COMMANDS = re.compile(r"prowess ([a-z][a-z-]*)((?: [a-z][a-z-]*)?)((?: --[a-z-]+)*)")


def test_every_command_that_the_page_names_exists() -> None:
    for path in MODULES:
        for name, second, flags in _COMMANDS.findall(path.read_text(encoding="utf-8")):
            found = commands.get_command(Context(commands), name)
            assert found is not None, f"{path.name}: prowess {name}"
            if isinstance(found, Group) and second:
                found = found.get_command(Context(found), second.strip())
                assert found is not None, f"{path.name}: prowess {name}{second}"
            known = {one for option in found.params for one in option.opts} | {"--help"}
            assert set(flags.split()) <= known, f"{path.name}: prowess {name}{second}{flags}"
