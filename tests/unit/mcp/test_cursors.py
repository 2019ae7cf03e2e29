"""Cursors: our own are known again, and no others."""

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.mcp.protocol import NotThere, make_cursor, read_cursor

NAMES = st.text(st.characters(exclude_categories=["Cs"]))


@given(scope=NAMES, last=NAMES)
@settings(max_examples=50)
def test_a_cursor_leads_to_where_it_was_made(scope: str, last: str) -> None:
    assert read_cursor(scope, make_cursor(scope, last)) == last


def test_a_list_begins_without_a_cursor() -> None:
    assert read_cursor("list", None) == ""


@given(cursor=st.one_of(st.text(), st.binary().map(lambda one: base64.b64encode(one).decode())))
@settings(max_examples=50)
def test_no_cursor_of_somebody_else_is_taken(cursor: str) -> None:
    with pytest.raises(NotThere, match="begin again"):
        read_cursor("list", cursor)


def test_a_cursor_of_another_list_is_refused() -> None:
    made = make_cursor("list", "alpha")

    with pytest.raises(NotThere):
        read_cursor("another", made)
