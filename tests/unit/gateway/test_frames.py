"""Frames: what is read as a request, what ends a connection, and what is written."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.gateway.calls import Code
from prowess.gateway.frames import (
    Fault,
    Refused,
    RequestFrame,
    encode,
    error_response,
    event_text,
    read_request,
)

MOST = 512 * 1024
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12
)


def _text(**fields: Any) -> str:  # noqa: ANN401 - whatever JSON holds
    return json.dumps({"type": "req", "id": "1", "method": "health", **fields})


def test_a_request_is_read() -> None:
    found = read_request(_text(params={"a": [1, "ü", None]}), MOST)

    assert found == RequestFrame(id="1", method="health", params={"a": [1, "ü", None]})


@pytest.mark.parametrize("params", [None, {}])
def test_params_may_be_left_out(params: object) -> None:
    assert read_request(_text(params=params), MOST) == RequestFrame(id="1", method="health")


@each_row(
    ("frame", "fault"),
    [
        (b"{}", Fault.BINARY),
        ("", Fault.MALFORMED),
        ("nonsense", Fault.MALFORMED),
        ("7", Fault.MALFORMED),
        ('"text"', Fault.MALFORMED),
        ("[" * 5000, Fault.MALFORMED),
        ("[" * 5000 + "]" * 5000, Fault.MALFORMED),
        ('{"a":' * 65 + "1" + "}" * 65, Fault.MALFORMED),
        ("9" * 10_000, Fault.MALFORMED),
        ('{"type":"req","id":"1","method":"a","params":{"x":Infinity}}', Fault.MALFORMED),
        ('{"type":"req","id":"1","method":"a","params":{"x":-1e999}}', Fault.MALFORMED),
        ('{"type":"req","id":"1","method":"a","params":{"k":1,"k":2}}', Fault.MALFORMED),
        ('{"type":"req","id":"1","method":"a","params":{"x":"\\uDC00"}}', Fault.MALFORMED),
        (_text(id=None), Fault.MALFORMED),
        (_text(id=["1"]), Fault.MALFORMED),
        (_text(id="x" * 129), Fault.MALFORMED),
        (_text(id="a\nb"), Fault.MALFORMED),
        ("é" * 300_000, Fault.TOO_LARGE),
    ],
)
def test_what_cannot_be_trusted_ends_the_connection(frame: str | bytes, fault: Fault) -> None:
    found = read_request(frame, MOST)

    assert isinstance(found, Refused)
    assert (found.fault, found.fatal) == (fault, True)


@pytest.mark.parametrize(
    "fields", [{"type": "event"}, {"method": None}, {"method": ""}, {"params": "x"}]
)
def test_what_is_no_request_but_has_an_id_can_be_answered(fields: dict[str, Any]) -> None:
    found = read_request(_text(**fields), MOST)

    assert isinstance(found, Refused)
    assert (found.id, found.fatal, found.code) == ("1", False, Code.INVALID_REQUEST)


def test_many_brackets_that_are_not_deep_are_fine() -> None:
    params = {"text": "[" * 500, "list": [[] for _ in range(500)], "emoji": "\U0001f600"}

    found = read_request(_text(params=params), MOST)

    assert isinstance(found, RequestFrame)
    assert found.params == params


@given(VALUES)
@settings(max_examples=50)
def test_whatever_json_holds_is_read_or_refused(value: object) -> None:
    found = read_request(json.dumps(value), MOST)

    assert isinstance(found, Refused | RequestFrame)


@given(st.text() | st.binary())
@settings(max_examples=50)
def test_no_refusal_repeats_what_was_sent(frame: str | bytes) -> None:
    planted = f"{frame!r}-canary-{len(frame)}"

    found = read_request(planted, MOST)

    assert isinstance(found, Refused)
    assert "canary" not in found.message


@given(st.dictionaries(st.text(), VALUES, max_size=5))
@settings(max_examples=50)
def test_what_is_written_is_read_alike(params: dict[str, Any]) -> None:
    found = read_request(encode({"type": "req", "id": "1", "method": "m", "params": params}), MOST)

    assert isinstance(found, RequestFrame)
    assert json.dumps(found.params) == json.dumps(params)


def test_names_that_no_socket_can_carry_are_replaced() -> None:
    text = encode({"name": "caf\udce9", "more": "é"})

    assert text.encode("utf-8")
    assert json.loads(text) == {"name": "caf?", "more": "é"}


@pytest.mark.parametrize("value", [object(), {"x": float("nan")}])
def test_what_json_has_no_form_for_is_not_written(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        encode(value)


def test_an_event_carries_its_number_unless_it_has_none() -> None:
    numbered = json.loads(event_text("tick", encode({"ts": 1}), 7))
    plain = json.loads(event_text("connect.challenge", "{}", None))

    assert numbered == {"type": "event", "event": "tick", "payload": {"ts": 1}, "seq": 7}
    assert "seq" not in plain


def test_details_are_left_out_where_there_are_none() -> None:
    frame = error_response("1", Code.FORBIDDEN, "no")

    assert frame["error"] == {"code": "FORBIDDEN", "message": "no"}


def test_a_request_does_not_show_its_parameters() -> None:
    assert "canary" not in repr(RequestFrame(id="1", method="connect", params={"token": "canary"}))
