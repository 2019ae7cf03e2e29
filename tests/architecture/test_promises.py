"""Each promise of SECURITY.md is held by a test that there is."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
_NAMED = re.compile(r"`([a-z0-9_/]+\.py)::(test_[a-z0-9_]+)`")


def test_every_promise_names_a_test_that_exists() -> None:
    named = _NAMED.findall((ROOT / "SECURITY.md").read_text(encoding="utf-8"))

    missing = [f"{path}::{name}" for path, name in named if not _has(ROOT / "tests" / path, name)]

    assert named
    assert missing == []


def _has(path: Path, name: str) -> bool:
    return (
        path.is_file()
        and re.search(rf"^(async )?def {name}\(", path.read_text("utf-8"), re.MULTILINE) is not None
    )
