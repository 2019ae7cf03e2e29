"""A view never loses where a character came from, and lines are counted as a person does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.reading.views import Lines, Spot, View

RAW = View.raw("SKILL.md", "one two three")


def test_a_raw_view_stands_where_it_stands() -> None:
    assert [RAW.origin(index) for index in (0, 4, 12)] == [0, 4, 12]
    assert RAW.chain == ()


def test_an_index_beyond_the_text_is_its_nearest_character() -> None:
    assert (RAW.origin(-3), RAW.origin(99)) == (0, 12)
    assert View.raw("a", "").origin(5) == 0


def test_a_cut_keeps_the_places_of_its_characters() -> None:
    part = RAW.cut(4, 7)

    assert (part.text, part.origin(0), part.origin(2)) == ("two", 4, 6)


def test_a_derived_text_says_for_each_character_where_it_was() -> None:
    back = RAW.derive("owt", [6, 5, 4], "reversed")

    assert [back.origin(index) for index in range(3)] == [6, 5, 4]
    assert back.chain == ("reversed",)


def test_indices_beyond_either_end_are_moved_to_it() -> None:
    assert list(RAW.derive("abc", [-1, 5, 99]).origins) == [0, 5, 12]
    assert list(RAW.derive("", []).origins) == []


def test_a_derived_text_needs_an_index_for_each_character() -> None:
    with pytest.raises(ValueError, match="each character"):
        RAW.derive("abc", [1, 2])


def test_all_of_a_decoded_text_stands_at_its_blob() -> None:
    plain = RAW.cut(4, 13).decoded("payload", 4, "base64")

    assert set(plain.origins) == {8}
    assert plain.decoded("again", 0, "base64").chain == ("base64",)
    assert plain.decoded("again", 0, "hex").chain == ("base64", "hex")


def test_a_spot_knows_its_file_its_text_and_its_place() -> None:
    spot = Spot(RAW.cut(4, 13), 4, 9)

    assert (spot.path, spot.text, spot.offset) == ("SKILL.md", "three", 8)


@each_row(("offset", "position"), [(0, (1, 1)), (2, (1, 3)), (3, (2, 1)), (4, (3, 1)), (6, (3, 3))])
def test_lines_and_columns_are_counted_from_one(offset: int, position: tuple[int, int]) -> None:
    assert Lines.of("ab\n\ncd").position(offset) == position


def test_a_line_comes_without_its_end() -> None:
    lines = Lines.of("ab\r\ncd\rde\n")

    assert [lines.line(number) for number in (1, 2, 3)] == ["ab", "cd\rde", ""]


@given(st.text(st.sampled_from("ab\n\r")), st.integers(0, 40))
def test_a_position_leads_back_to_its_character(text: str, offset: int) -> None:
    offset = min(offset, len(text))
    line, column = Lines.of(text).position(offset)

    assert sum(len(part) + 1 for part in text.split("\n")[: line - 1]) + column - 1 == offset
