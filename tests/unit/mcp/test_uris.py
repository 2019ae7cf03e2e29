"""Addresses of skills: there and back, and nothing that is no address."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.mcp.protocol import SkillUri, file_uri, parse

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


@given(NAMES, st.lists(NAMES, min_size=1, max_size=4).map("/".join))
def test_an_address_leads_back_to_what_it_names(name: str, path: str) -> None:
    uri = file_uri(name, path)

    assert uri.isascii()
    assert parse(uri) == SkillUri(name, path)


@given(st.text(max_size=60))
def test_whatever_is_given_is_an_address_or_none(text: str) -> None:
    for uri in (text, f"skill://{text}"):
        found = parse(uri)

        assert found is None or file_uri(*found).rstrip("/") == uri.rstrip("/")


@pytest.mark.parametrize("uri", ["skill://a", "skill://a/"])
def test_a_skill_without_a_path_is_its_folder(uri: str) -> None:
    assert parse(uri) == SkillUri("a", "")


@pytest.mark.parametrize("uri", ["skill:///x", "skill://a/%7e", "skill://a b/x", "SKILL://a/x"])
def test_another_spelling_names_nothing(uri: str) -> None:
    assert parse(uri) is None
