"""Hiding the config's secrets behind a marker, and putting them back."""

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.errors import ConfigKeyError
from prowess.runtime.config.redaction import REDACTED, restore, show_config, show_entry

CANARY = "canary-5d1f"
SECRET_KEYS = ("apiKey", "token", "botToken", "password", "env", "clientSecret", "headers", "auth")
KEYS = st.sampled_from(("a", "b", "list", "name", "id", "config", "skills", "entries", "args"))
PLAIN = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(("", "x", "/home/me", "y"))
# An id may be missing, repeated or no text at all.
NAMED = st.fixed_dictionaries({"id": st.sampled_from(("one", "two", "three", 3, REDACTED))})


def with_secrets(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    secret = st.dictionaries(st.sampled_from(SECRET_KEYS), st.just(CANARY) | inner, max_size=2)
    plain = st.dictionaries(KEYS, inner, max_size=3)
    parts = st.tuples(plain, secret, NAMED | st.just({}))
    entries = parts.map(lambda found: {**found[0], **found[1], **found[2]})
    return entries | st.lists(entries | inner, max_size=3)


VALUES = st.recursive(PLAIN, with_secrets, max_leaves=25)
CONFIGS = st.dictionaries(
    KEYS | st.sampled_from(SECRET_KEYS), VALUES, max_size=4
).map(lambda found: {**found, "gateway": {"auth": {"token": CANARY}}})  # fmt: skip


@settings(max_examples=50, deadline=None)
@given(CONFIGS)
def test_what_was_hidden_comes_back_as_it_was(config: dict[str, Any]) -> None:
    before = deepcopy(config)

    found = restore(json.loads(json.dumps(show_config(config))), config)

    assert json.dumps(found) == json.dumps(before)
    assert config == before


@settings(max_examples=50, deadline=None)
@given(CONFIGS)
def test_no_secret_is_shown_wherever_it_stands(config: dict[str, Any]) -> None:
    assert CANARY not in json.dumps(show_config(config))


def test_what_is_beside_a_secret_can_be_changed() -> None:
    stored = {"channels": [{"id": "a", "token": "s1"}, {"id": "b", "token": "s2", "on": True}]}

    found = restore(
        {"channels": [{"id": "b", "token": REDACTED, "on": False}, {"id": "c", "token": "new"}]},
        stored,
    )

    assert found == {
        "channels": [{"id": "b", "token": "s2", "on": False}, {"id": "c", "token": "new"}]
    }


@each_row(
    ("wanted", "place"),
    [
        ({"other": {"token": REDACTED}}, "other.token"),
        ({"a": {"name": REDACTED}}, "a.name"),
        ({"a": {"token": f"Bearer {REDACTED}"}}, "a.token"),
        ({"a": {"token": {"value": REDACTED}}}, "a.token.value"),
        ({"bots": [{"id": "new", "token": REDACTED}]}, "bots[0].token"),
        ({"a.b": {"token": REDACTED}}, '"a.b".token'),
    ],
)
def test_a_marker_where_no_secret_is_stored_is_refused_by_its_place(
    wanted: dict[str, Any], place: str
) -> None:
    stored = {"a": {"token": CANARY, "name": "shown"}, "bots": [{"id": "old", "token": CANARY}]}

    with pytest.raises(ConfigKeyError) as refused:
        restore(wanted, stored)

    assert refused.value.key == place
    assert CANARY not in str(refused.value)


def test_entries_without_an_id_go_by_their_number_only_where_none_came_or_went() -> None:
    stored = {"bots": [{"token": "s1"}, {"token": "s2"}]}

    assert restore({"bots": [{"token": REDACTED}, {"token": "new"}]}, stored) == {
        "bots": [{"token": "s1"}, {"token": "new"}]
    }
    with pytest.raises(ConfigKeyError, match=r"^bots: .*length"):
        restore({"bots": [{"token": REDACTED}]}, stored)


def test_a_secret_is_not_given_to_the_entry_that_took_its_number() -> None:
    stored = {"bots": [{"url": "a", "token": "s1"}, {"url": "b", "token": "s2"}]}
    swapped = list(reversed(show_config(stored)["bots"]))

    with pytest.raises(ConfigKeyError, match=r"^bots: .*order"):
        restore({"bots": swapped}, stored)


def test_a_secret_cannot_be_moved_to_where_it_is_read() -> None:
    stored = {"args": ["--api-key", CANARY, "-v"]}

    with pytest.raises(ConfigKeyError) as refused:
        restore({"args": ["--verbose", REDACTED, "-v"]}, stored)

    assert refused.value.key == "args[1]"
    assert CANARY not in str(refused.value)


def test_keys_of_well_known_issuers_are_hidden_behind_any_name() -> None:
    found = show_config({"note": "AKIAIOSFODNN7QWERTUZ", "path": "/home/me/projects/skills"})

    assert found == {"note": REDACTED, "path": "/home/me/projects/skills"}


@each_row(
    "text",
    [
        "https://host/?a=1&apiKey=s3", "https://host/x;session-token=s3", "--api-key=s3",
        "run -Dpassword=s3", "https://me:s3@host/", "https://:s3@host", "x --auth-header=s3 -v",
    ],
)  # fmt: skip
def test_what_an_address_or_an_option_carries_is_hidden(text: str) -> None:
    assert show_config({"run": [text], "url": text}) == {"run": [REDACTED], "url": REDACTED}


@each_row(
    "text", ["https://host/?page=1", "--verbose=yes", "token", "a=b", "--token=", "key=value"]
)
def test_what_carries_nothing_is_shown(text: str) -> None:
    assert show_config({"url": text}) == {"url": text}


@each_row("part", ["-", "-token", "?key", "://a:", "a=", "sk-", "-key=&", "b", " "])
def test_no_text_takes_long_to_judge(part: str) -> None:
    longest = (part * 8_000)[:8_000]

    assert show_config({"a": longest, "b": longest + part})["b"] == REDACTED


def test_an_entry_shows_plain_variables_and_nothing_else_that_was_hidden() -> None:
    entry: dict[str, Any] = {
        "enabled": True,
        "apiKey": {"source": "env", "id": CANARY},
        "env": {"REGION": "eu", "MY_TOKEN": CANARY, "URL": f"https://me:{CANARY}@host/"},
        "config": {"anything": CANARY},
    }

    found = show_entry(entry, tuple(entry["env"]))

    assert CANARY not in json.dumps(found)
    assert found["env"] == {"REGION": "eu", "MY_TOKEN": REDACTED, "URL": REDACTED}
    assert found["enabled"] is True


def test_an_answer_shows_no_variable_that_somebody_else_stored() -> None:
    entry = {"env": {"MODE": CANARY, "REGION": "eu"}}

    assert show_entry(entry, {"REGION"}) == {"env": {"MODE": REDACTED, "REGION": "eu"}}


@each_row("name", ["HOSTPIN", "HOST_PIN", "LOGIN", "DB_LOGIN", "SMS_OTP", "PASSCODE"])
def test_names_of_logins_and_pins_are_secret(name: str) -> None:
    assert show_entry({"env": {name: "1234"}}, {name}) == {"env": {name: REDACTED}}
    assert show_config({"x": {name: 1234}}) == {"x": {name: REDACTED}}
