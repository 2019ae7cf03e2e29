"""Payloads that are encoded once: their text is sent as it stands, and says the same."""

import json

from hypothesis import given, settings
from hypothesis import strategies as some

from prowess.gateway.calls import EncodedPayload
from prowess.gateway.frames import encode, encode_ascii, ok_response, response_text

_TEXT = some.text(max_size=12)
_JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | _TEXT,
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=50)
@given(payload=some.dictionaries(_TEXT, _JSON, max_size=4), name=some.text(min_size=1, max_size=12))
def test_a_response_says_the_same_however_its_payload_was_encoded(
    payload: dict[str, object], name: str
) -> None:
    kept = EncodedPayload(payload, encode_ascii(payload))

    text = response_text(ok_response(name, kept))

    assert json.loads(text) == json.loads(encode(ok_response(name, payload)))
    assert kept == payload
    assert kept.text.isascii()


def test_the_text_of_a_kept_payload_is_sent_as_it_stands() -> None:
    kept = EncodedPayload({"a": 1}, '{"a":  1}')

    assert response_text(ok_response("r1", kept)).endswith('"payload":{"a":  1}}')


def test_half_a_character_is_mended_before_it_is_written_in_plain_characters() -> None:
    text = encode_ascii({"path": "caf\udce9 ☕"})

    assert json.loads(text) == {"path": "caf? ☕"}
    assert text == '{"path":"caf? \\u2615"}'
