"""Sources with what they hold: their order is the order in which skills win."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.errors import PathError
from prowess.runtime.library import Libraries, order_sources
from prowess.settings import Precedence
from prowess.skills.catalog import merge
from prowess.skills.model import Skill, Source, Tier
from prowess.testing import make_skill, open_memory


def _source(tier: Tier) -> Source:
    return Source(tier=tier, root=f"/{tier.source_id}")


@given(st.sets(st.sampled_from(Tier), min_size=1), st.sampled_from(Precedence))
def test_the_first_source_that_has_a_name_wins_it(tiers: set[Tier], rule: Precedence) -> None:
    lowest_first = sorted(tiers)
    skills = [make_skill("deploy", tier=tier) for tier in lowest_first]

    first = order_sources([_source(tier) for tier in lowest_first], rule)[0]

    assert merge(skills, rule).winners["deploy"].source.tier is first.tier


@given(st.permutations(list(Tier)), st.sampled_from(Precedence))
def test_taking_sources_away_leaves_the_order_of_the_others(
    gone: list[Tier], rule: Precedence
) -> None:
    every = order_sources([_source(tier) for tier in Tier], rule)
    left = [one for one in every if one.tier not in gone[:4]]

    again = order_sources([one for one in map(_source, Tier) if one.tier not in gone[:4]], rule)

    assert again == left


def test_a_file_that_the_skill_does_not_list_is_not_even_opened() -> None:
    def read(_skill: Skill, _path: str, _limit: int) -> bytes:
        raise AssertionError("it was read")

    libraries = Libraries(open_memory([make_skill("deploy")]), lambda _folder: True, read)

    with pytest.raises(PathError, match="is no file of deploy: it has `SKILL"):
        libraries.file("deploy", "../secret", None)


@each_row(
    ("body", "text", "size"),
    [
        (b"caf\xc3\xa9", "café", 5),
        (b"\xff\xfe", None, 2),
        (b"a\0b", None, 3),
        (b"", "", 0),
        (None, None, None),
    ],
)
def test_only_whole_text_is_shown(body: bytes | None, text: str | None, size: int | None) -> None:
    skills = open_memory([make_skill("deploy")])
    libraries = Libraries(skills, lambda _folder: True, lambda _folder, _path, _limit: body)

    found = libraries.file("deploy", "SKILL.md", None)

    assert (found.text, found.size) == (text, size)
