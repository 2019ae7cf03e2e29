"""Documentation that cannot go stale: what exists is described, and what is described exists."""

import re
from pathlib import Path

from tests.rows import each_row
from tools import reference

from prowess import errors
from prowess.cli.main import COMMANDS
from prowess.settings import SETTINGS
from prowess.skills.model import read_codes

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@each_row("name", reference.PAGE_MAKERS)
def test_a_reference_page_matches_the_code(name: str) -> None:
    written = (DOCS / "reference" / name).read_text(encoding="utf-8")

    assert written == reference.PAGE_MAKERS[name](), "run `make docs`"


def test_every_command_setting_code_and_error_is_documented() -> None:
    pages = "\n".join(path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md"))

    codes = {
        error.code
        for error in vars(errors).values()
        if isinstance(error, type) and issubclass(error, errors.ProwessError)
    }
    wanted = [f"prowess {name}" for name in COMMANDS]
    wanted += [f"`{row.key}`" for row in SETTINGS]
    wanted += [f"`{code}`" for code in (*read_codes(), *codes)]

    assert [item for item in wanted if item not in pages] == []


def test_the_drawn_tree_of_errors_is_the_real_one() -> None:
    drawn: dict[str, str] = {}
    above: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        name = re.search(r"\b\w+Error\b", line)
        if name is None:
            continue
        above = [(depth, parent) for depth, parent in above if depth < name.start()]
        drawn[name[0]] = above[-1][1] if above else "Exception"
        above.append((name.start(), name[0]))

    real = {
        name: value.__base__.__name__
        for name, value in vars(errors).items()
        if isinstance(value, type) and value.__base__ is not None and name.endswith("Error")
    }

    assert drawn == real


def test_every_error_has_a_code_of_its_own() -> None:
    classes = [value for name, value in vars(errors).items() if name.endswith("Error")]

    assert len({error.code for error in classes}) == len(classes)


def test_every_diagnostic_code_in_the_source_is_in_the_table_and_used() -> None:
    source = "\n".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "src").rglob("*.py")
        if path.name != "diagnostics.py"
    )

    unused = [code for code in read_codes() if f'"{code}"' not in source]

    assert unused == []


def test_every_dependency_has_its_reason() -> None:
    declared = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    reasons = (DOCS / "dependencies.md").read_text(encoding="utf-8").lower()

    names = re.findall(r'^  "([a-z0-9-]+)>=', declared, re.MULTILINE)
    names += re.findall(r'^docs = \["([a-z0-9-]+)>=', declared, re.MULTILINE)

    assert names
    assert [name for name in names if f"`{name}`" not in reasons] == []


def test_every_relative_link_in_the_documentation_leads_somewhere() -> None:
    pages = [*DOCS.rglob("*.md"), *ROOT.glob("*.md")]
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in re.findall(r"\]\(([^)#\s]+)", _without_code(page))
        if "://" not in target and not (page.parent / target).exists()
    ]

    assert broken == []


def _without_code(page: Path) -> str:
    """Examples of what the scanner finds are full of links that must lead nowhere."""
    text = page.read_text(encoding="utf-8")
    return re.sub(r"^~{5}.*?^~{5}$", "", text, flags=re.MULTILINE | re.DOTALL)


def test_the_constraints_name_versions_and_no_place_to_get_them_from() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()

    pins = [line for line in lines if line and not line.startswith("#")]

    assert pins
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!_-]+", line) for line in pins)
