"""The page about the protocol says which methods take more than it lists."""

from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/reference/protocol.md"
OPEN = ("cron.list", "exec.approvals.get", "models.list", "sessions.list")


def _section(method: str) -> str:
    return PAGE.read_text(encoding="utf-8").partition(f"### `{method}`\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("method", OPEN)
def test_a_method_that_takes_any_field_is_not_said_to_take_none(method: str) -> None:
    said = _section(method).partition("\n### ")[0]

    assert "Takes any parameters" in said
    assert "No parameters" not in said


def test_a_method_that_takes_none_is_said_to_take_none() -> None:
    assert "No parameters" in _section("config.get").partition("\n### ")[0]
