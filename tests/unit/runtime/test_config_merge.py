"""Merging changes into the config, and naming what changed."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.errors import ConfigKeyError
from prowess.runtime.config.redaction import (
    REDACTED,
    Item,
    find_changes,
    matches,
    merge_patch,
    write_path,
)

SCALARS = st.booleans() | st.integers(0, 2) | st.sampled_from(("", "x"))
KEYS = st.sampled_from("abcd")
TREES = st.dictionaries(
    KEYS,
    st.recursive(SCALARS, lambda inner: st.dictionaries(KEYS, inner, max_size=3), max_leaves=8),
    max_size=4,
)


def difference(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return the smallest patch from one to the other."""
    found: dict[str, Any] = dict.fromkeys(before.keys() - after.keys())
    for key, value in after.items():
        old = before.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            found[key] = difference(old, value)
        elif key not in before or json.dumps(old) != json.dumps(value):
            found[key] = value
    return found


@settings(max_examples=50, deadline=None)
@given(TREES, TREES)
def test_a_patch_leads_from_any_config_to_any_other(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    patch = difference(before, after)

    found = merge_patch(before, patch)

    assert json.dumps(found, sort_keys=True) == json.dumps(after, sort_keys=True)
    assert merge_patch(found, patch) == found


@settings(max_examples=50, deadline=None)
@given(TREES, TREES)
def test_nothing_is_changed_by_nothing_and_named_only_if_it_is(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    paths = find_changes(before, after)

    assert merge_patch(before, {}) == before
    assert merge_patch(before, before) == before
    assert bool(paths) == (json.dumps(before, sort_keys=True) != json.dumps(after, sort_keys=True))
    assert len(paths) == len(set(paths))


def test_deleting_what_is_not_there_deletes_nothing_and_makes_nothing() -> None:
    assert merge_patch({"a": 1}, {"b": None, "c": {"d": None}}) == {"a": 1, "c": {}}


def test_lists_of_objects_merge_by_their_ids() -> None:
    stored = {"agents": {"list": [{"id": "a", "name": "A", "x": 1}, {"id": "b"}]}}

    found = merge_patch(
        stored, {"agents": {"list": [{"id": "c", "y": None}, {"id": "a", "name": "N", "x": None}]}}
    )

    assert found == {"agents": {"list": [{"id": "a", "name": "N"}, {"id": "b"}, {"id": "c"}]}}


@each_row(
    ("change", "place"),
    [
        ({"pinned": ["a"]}, "pinned"),
        ({"pinned": []}, "pinned"),
        ({"pinned": "a"}, "pinned"),
        ({"pinned": {}}, "pinned"),
        ({"agents": []}, "agents"),
        ({"agents": [{"id": "main", "skills": ["x"]}]}, "agents[0].skills"),
    ],
)
def test_a_list_loses_entries_only_if_it_is_named(change: dict[str, Any], place: str) -> None:
    stored = {"pinned": ["a", "b"], "agents": [{"id": "main", "skills": ["x", "y"]}]}

    with pytest.raises(ConfigKeyError) as refused:
        merge_patch(stored, change)

    assert refused.value.key == place
    named = place.replace("[0]", "[]")
    assert named in str(refused.value)
    assert merge_patch(stored, change, [named]) != stored


def test_a_list_that_grows_needs_no_name() -> None:
    assert merge_patch({"pinned": ["a"]}, {"pinned": ["b", "a"]}) == {"pinned": ["b", "a"]}


def test_a_secret_in_a_list_is_still_there_behind_its_marker() -> None:
    stored = {"args": ["--token", "s1", "-v"]}

    assert merge_patch(stored, {"args": ["--token", REDACTED, "-v"]})["args"][1] == REDACTED


@pytest.mark.parametrize("key", ["__proto__", "constructor", "prototype"])
def test_names_that_mean_something_to_other_languages_are_refused(key: str) -> None:
    with pytest.raises(ConfigKeyError):
        merge_patch({}, {"skills": {key: {"enabled": True}}})


def test_true_is_not_one() -> None:
    assert find_changes({"a": True, "b": [1]}, {"a": 1, "b": [True]}) == ["a", "b[0]"]


def test_what_came_and_what_went_is_named_once_and_where_it_begins() -> None:
    before = {"a": {"gone": {"x": 1}}, "list": [1, 2], "same": {"deep": [1]}}
    after = {"a": {"new": {"y": 2}}, "list": [1], "same": {"deep": [1]}}

    assert find_changes(before, after) == ["a.gone", "a.new", "list"]


@pytest.mark.parametrize(
    ("wanted", "is_meant"),
    [
        ('agents."a.b"[0].skills', True),
        ('agents."a.b"[].skills', True),
        ('agents."a.b"[*].skills', True),
        ('agents."a.b"[main].skills', True),
        ('agents."a.b"[1].skills', False),
        ('agents."a.b".skills', False),
        ('agents."a.b"[0]', False),
        ("agents.a.b[0].skills", False),
        ("", False),
    ],
)
def test_a_place_is_named_with_any_entry_with_its_number_or_its_id(
    wanted: str, *, is_meant: bool
) -> None:
    path = ("agents", "a.b", Item(0, "main"), "skills")

    assert matches(path, wanted) is is_meant
    assert write_path(path) == 'agents."a.b"[0].skills'
