"""Arguments of tool calls: what fits passes, what does not is said in words."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.runtime.skill_tools import (
    Arguments,
    ArgumentsRefused,
    as_object,
    closed,
    read_arguments,
)

SCHEMA = closed(
    {
        "name": {"type": "string"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 20},
        "apply": {"type": "boolean"},
        "action": {"type": "string", "enum": ["status", "inspect"]},
    },
    required=("name",),
)


def test_arguments_come_as_text_or_as_a_mapping() -> None:
    assert read_arguments('{"name": "a", "limit": 3}', SCHEMA) == {"name": "a", "limit": 3}
    assert read_arguments({"name": "a"}, SCHEMA) == {"name": "a"}


def test_null_counts_as_nothing_said() -> None:
    assert read_arguments({"name": "a", "limit": None}, SCHEMA) == {"name": "a"}


@each_row(
    ("arguments", "problem"),
    [
        ("nonsense", "not JSON"),
        ("[1]", "one JSON object"),
        ("null", "one JSON object"),
        ('"{}"', "not a string that holds one"),
        (as_object('{"name": "a"}'), "not a string that holds one"),
        (as_object(None), "one JSON object"),
        ("x" * 200_001, "longer than"),
        ("[" * 100_000, "not JSON"),
        ({}, "'name' is missing"),
        ({"name": None}, "'name' is missing"),
        ({"name": 3}, "must be of type string"),
        ({"name": "a", "limit": True}, "must be of type integer"),
        ({"name": "a", "limit": 0}, "from 1 to 20"),
        ({"name": "a", "apply": 1}, "must be of type boolean"),
        ({"name": "a", "action": "x"}, "one of status, inspect"),
        ({"name": "a", "shell": "x"}, "no argument 'shell'"),
    ],
)
def test_what_does_not_fit_is_said(arguments: Arguments, problem: str) -> None:
    with pytest.raises(ArgumentsRefused, match=problem):
        read_arguments(arguments, SCHEMA)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists) | st.text())
# Whatever a model may send.
def test_no_arguments_end_in_another_error(arguments: Any) -> None:  # noqa: ANN401
    with suppress(ArgumentsRefused):
        read_arguments(arguments, SCHEMA)
