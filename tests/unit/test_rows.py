"""A table that is one test leaves no row out and hides no failure."""

from pathlib import Path

import pytest
from tests.rows import each_row


def test_every_row_that_is_wrong_is_named_and_the_others_are_not() -> None:
    @each_row(("number", "half"), [(2, 1), (6, 4), (8, 4), (10, 6)])
    def halves(number: int, half: int) -> None:
        assert number // 2 == half

    with pytest.raises(AssertionError, match="2 of 4 rows") as failed:
        halves()

    assert "number=6, half=4" in str(failed.value)
    assert "number=10, half=6" in str(failed.value)
    assert "number=8" not in str(failed.value)


def test_an_error_that_was_expected_and_did_not_come_fails_its_row() -> None:
    @each_row("text", ["1", "x"])
    def refused(text: str) -> None:
        with pytest.raises(ValueError, match="invalid"):
            int(text)

    with pytest.raises(AssertionError, match="1 of 2 rows"):
        refused()


@each_row("name", ["a", "b"])
@each_row("suffix", [".md", ".txt"])
def test_tables_multiply_and_rows_share_fixtures(name: str, suffix: str, tmp_path: Path) -> None:
    assert not (tmp_path / name).with_suffix(suffix).exists()
