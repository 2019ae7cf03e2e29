"""Every guard has a test of its own, which first shows the attack."""

import re
from pathlib import Path

from tests.rows import each_row

GUARDS = Path(__file__).parents[1] / "integration" / "guards"
TEXT = "\n".join(path.read_text(encoding="utf-8") for path in sorted(GUARDS.glob("test_*.py")))


@each_row("number", range(1, 36))
def test_a_guard_is_tested_by_its_number(number: int) -> None:
    assert re.search(rf"^def test_g{number:02}_\w+", TEXT, re.MULTILINE)
