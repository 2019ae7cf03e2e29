"""Cursors: our own are known again, and no others."""

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.mcp.protocol import Cursors, NotThere

NAMES = st.text(st.characters(exclude_categories=["Cs"]))


@given(scope=NAMES, last=NAMES)
@settings(max_examples=50)
def test_a_cursor_leads_to_where_it_was_made(scope: str, last: str) -> None:
    cursors = Cursors()

    assert cursors.last(scope, cursors.after(scope, last)) == last


def test_a_list_begins_without_a_cursor() -> None:
    assert Cursors().last("list", None) == ""


@given(cursor=st.one_of(st.text(), st.binary().map(lambda one: base64.b64encode(one).decode())))
@settings(max_examples=50)
def test_no_cursor_of_somebody_else_is_taken(cursor: str) -> None:
    with pytest.raises(NotThere, match="begin again"):
        Cursors().last("list", cursor)


def test_a_cursor_of_another_list_or_of_another_server_is_refused() -> None:
    cursors = Cursors()
    made = cursors.after("list", "alpha")

    with pytest.raises(NotThere):
        cursors.last("another", made)
    with pytest.raises(NotThere):
        Cursors().last("list", made)
