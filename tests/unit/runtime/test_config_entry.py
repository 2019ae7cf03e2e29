"""Changing one skill's entry: merged, trimmed, and never shown."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.errors import ConfigKeyError
from prowess.runtime.config.edits import change_entry, check_key, find_given
from prowess.runtime.config.redaction import REDACTED

STORED: dict[str, Any] = {
    "gateway": {"port": 1},
    "skills": {
        "pinned": ["a"],
        "entries": {
            "x": {"enabled": False, "apiKey": "k1", "env": {"A": "1", "B": "2"}, "mine": [1]},
            "y": {"apiKey": "k2"},
        },
    },
}


def entry_after(
    *, enabled: bool | None = None, api_key: str | None = None, env: dict[str, str] | None = None
) -> dict[str, Any]:
    before = json.dumps(STORED)
    found = change_entry(STORED, "x", enabled=enabled, api_key=api_key, env=env)
    assert json.dumps(STORED) == before
    assert found["skills"]["entries"]["y"] == {"apiKey": "k2"}
    assert found["gateway"] == {"port": 1}
    return dict(found["skills"]["entries"]["x"])


def test_what_is_not_mentioned_stays() -> None:
    assert entry_after() == STORED["skills"]["entries"]["x"]
    assert entry_after(enabled=True)["enabled"] is True
    assert entry_after(enabled=True)["apiKey"] == "k1"


@pytest.mark.parametrize("typed", [" new ", "ne\r\nw", "new\n", "\nnew"])
def test_a_key_is_taken_without_line_breaks_and_space(typed: str) -> None:
    assert entry_after(api_key=typed)["apiKey"] == "new"


@pytest.mark.parametrize("typed", ["", "  ", "\r\n"])
def test_an_empty_key_deletes_and_the_marker_keeps(typed: str) -> None:
    assert "apiKey" not in entry_after(api_key=typed)
    assert entry_after(api_key=f" {REDACTED}\n")["apiKey"] == "k1"


def test_variables_are_merged() -> None:
    env = {" A ": " n\n1 ", "B": "", "C": "3", "D": REDACTED, "  ": "ignored", "E": " "}

    assert entry_after(env=env)["env"] == {"A": "n1", "C": "3"}


def test_the_last_variable_takes_the_map_along() -> None:
    assert "env" not in entry_after(env={"A": "", "B": ""})


def test_an_entry_that_says_nothing_is_left_out() -> None:
    found = change_entry(STORED, "y", enabled=None, api_key="", env={})

    assert list(found["skills"]["entries"]) == ["x"]


@pytest.mark.parametrize("stored", [{}, {"skills": None}, {"skills": {"entries": {}}}])
def test_nothing_is_made_of_nothing(stored: dict[str, Any]) -> None:
    assert change_entry(stored, "new", enabled=None, api_key="", env={"A": ""}) == stored
    made = change_entry(stored, "new", enabled=True, api_key=None, env=None)
    assert made == {"skills": {"entries": {"new": {"enabled": True}}}}


@each_row("name", ["A=secret", "1A", "A B", "A-B", "\u00c4", "A\0"])
def test_a_name_that_is_no_variables_is_refused_and_not_repeated(name: str) -> None:
    with pytest.raises(ConfigKeyError) as refused:
        entry_after(env={name: "v"})

    assert refused.value.key == "skills.entries.x.env"
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("value", ["a\0b", "\ud800", f"Bearer {REDACTED}"])
def test_what_no_variable_can_hold_is_refused(value: str) -> None:
    with pytest.raises(ConfigKeyError, match=r"^skills\.entries\.x\.apiKey: "):
        entry_after(api_key=value)


@each_row(
    "key", ["", "  ", "__proto__", "constructor", " prototype ", "a\nb", "a\x1b[1m", "k" * 201]
)
def test_keys_that_no_skill_has_are_refused(key: str) -> None:
    with pytest.raises(ConfigKeyError, match=r"^skillKey: "):
        check_key(key)


@pytest.mark.parametrize(
    ("stored", "place"),
    [
        ({"skills": []}, "skills"),
        ({"skills": {"entries": "s"}}, "skills.entries"),
        ({"skills": {"entries": {"a.b": "s"}}}, 'skills.entries."a.b"'),
        ({"skills": {"entries": {"a.b": {"env": ["s"]}}}}, 'skills.entries."a.b".env'),
    ],
)
def test_what_is_no_object_is_not_overwritten(stored: dict[str, Any], place: str) -> None:
    with pytest.raises(ConfigKeyError) as refused:
        change_entry(stored, "a.b", enabled=True, api_key=None, env={"A": "1"})

    assert refused.value.key == place


@settings(max_examples=50, deadline=None)
@given(
    enabled=st.none() | st.booleans(),
    api_key=st.none() | st.text(st.sampled_from("ab \r\n"), max_size=5),
    env=st.none()
    | st.dictionaries(
        st.sampled_from(("A", " B", "C ", "")), st.text("v \n", max_size=3) | st.just(REDACTED)
    ),
)
def test_a_change_made_twice_is_the_change_made_once(
    *, enabled: bool | None, api_key: str | None, env: dict[str, str] | None
) -> None:
    once = change_entry(STORED, "x", enabled=enabled, api_key=api_key, env=env)

    assert change_entry(once, "x", enabled=enabled, api_key=api_key, env=env) == once
    assert "\n" not in str(once["skills"]["entries"].get("x", {}).get("apiKey"))


@pytest.mark.parametrize(
    "name", ["LD_PRELOAD", "PATH", "path", "NODE_OPTIONS", "OGR_DRIVER_PATH", "shell_escape"]
)
def test_a_variable_that_no_skill_may_set_is_refused_by_its_name(name: str) -> None:
    with pytest.raises(ConfigKeyError, match=r"not for skills to set") as refused:
        entry_after(env={f" {name}": "value-of-it"})

    assert refused.value.key == f"skills.entries.x.env.{name}"
    assert "value-of-it" not in str(refused.value)


def test_what_only_looks_as_if_it_ran_code_is_stored_once_the_operator_allows_it() -> None:
    stored = {"skills": {"entries": {"x": {"allowEnv": ["FLUIDSIM_PATH"]}}}}

    after = change_entry(stored, "x", enabled=None, api_key=None, env={"FLUIDSIM_PATH": "/data"})

    assert after["skills"]["entries"]["x"]["env"] == {"FLUIDSIM_PATH": "/data"}


def test_a_variable_that_no_skill_may_set_can_still_be_deleted() -> None:
    stored = {"skills": {"entries": {"x": {"env": {"LD_PRELOAD": "/a", "A": "1"}}}}}
    changes: dict[str, Any] = {"enabled": None, "api_key": None}

    kept = change_entry(stored, "x", env={"LD_PRELOAD": REDACTED}, **changes)
    gone = change_entry(stored, "x", env={"LD_PRELOAD": ""}, **changes)

    assert kept == stored
    assert gone["skills"]["entries"]["x"]["env"] == {"A": "1"}


def test_a_variable_of_the_operators_own_accounts_may_be_stored() -> None:
    # Whether this skill may have it is for `allowEnv` to say.
    assert "GITHUB_TOKEN" in entry_after(env={"GITHUB_TOKEN": "t"})["env"]


def test_what_a_call_gives_is_what_it_typed_and_no_marker() -> None:
    env = {" A ": "1", "B": " ", "C": f"{REDACTED}\n", "D": "\r\nx"}

    assert find_given(env) == {"A", "D"}
    assert find_given(None) == frozenset()
