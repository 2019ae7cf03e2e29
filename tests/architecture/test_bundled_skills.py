"""The skills Prowess ships are examples of the craft, so they are held to the whole standard."""

from pathlib import Path

import pytest
from tests.rows import each_row

import prowess
from prowess.safety.model import ScanVerdict
from prowess.safety.scan import scan
from prowess.skills.model import Document, Source, Tier
from prowess.skills.validation import validate

BUNDLED = Path(prowess.__file__).parent / "bundled"
NAMES = [
    "prowess-diagnostics",
    "prowess-manual",
    "prowess-memory",
    "search-citation",
    "skill-authoring",
]


def test_these_skills_are_bundled() -> None:
    assert sorted(path.name for path in BUNDLED.iterdir() if path.is_dir()) == NAMES


@each_row("name", NAMES)
def test_a_bundled_skill_passes_the_strict_rules_without_a_single_note(name: str) -> None:
    file = BUNDLED / name / "SKILL.md"
    document = Document(
        source=Source(tier=Tier.BUNDLED, root=str(BUNDLED)),
        path=str(file),
        folder=str(file.parent),
        content=file.read_bytes(),
    )
    files = [path.relative_to(file.parent).as_posix() for path in file.parent.rglob("*")]

    report = validate(document, strict=True, files=files)

    assert report.diagnostics == ()


@pytest.mark.parametrize("folder", ["src/prowess/bundled", "docs"])
def test_what_we_ship_and_write_has_no_critical_finding(folder: str) -> None:
    root = Path(__file__).parents[2] / folder
    files = {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }

    report = scan(files)

    assert report.verdict in {ScanVerdict.CLEAN, ScanVerdict.WARN}, report.findings
