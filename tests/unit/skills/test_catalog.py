from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.settings import Precedence
from prowess.skills.catalog import Shadowed, collation_key, merge
from prowess.skills.model import DRAFTS, Invocation, Skill, Tier
from prowess.testing import make_skill

NAMES = st.sampled_from(("deploy", "Deploy", "éclair", "zoo"))
ANY_SKILL = st.builds(
    lambda name, tier, path: make_skill(name, tier=tier, path=path),
    NAMES,
    st.sampled_from(Tier),
    st.sampled_from(("/one", "/two", "/three")),
)
ONE_OF_EACH = st.lists(
    st.builds(lambda name, tier: make_skill(name, tier=tier), NAMES, st.sampled_from(Tier)),
    unique_by=lambda skill: (skill.name, skill.source.tier),
)


def test_workspace_skill_shadows_the_bundled_one_of_the_same_name() -> None:
    bundled, workspace = make_skill(tier=Tier.BUNDLED), make_skill(tier=Tier.WORKSPACE)

    catalog = merge([workspace, bundled])

    assert catalog.winners == {"deploy": workspace}
    assert catalog.shadowed == (Shadowed(skill=bundled, winner=workspace),)


@pytest.mark.parametrize("precedence", Precedence)
def test_a_draft_takes_no_name_from_a_skill(precedence: Precedence) -> None:
    hidden = Invocation(model=False, user=False, hidden_by=DRAFTS)
    draft = replace(make_skill(tier=Tier.WORKSPACE, path="/draft"), invocation=hidden)
    skill = make_skill(tier=Tier.EXTRA, path="/skill")

    catalog = merge([draft, skill], precedence)

    assert catalog.winners == {"deploy": skill}
    assert [lost.skill for lost in catalog.shadowed] == [draft]


def test_each_tier_shadows_every_lower_one() -> None:
    found = [make_skill(tier=tier) for tier in reversed(Tier)]

    catalog = merge(found)

    assert catalog.skills == (found[0],)
    assert [lost.skill.source.tier for lost in catalog.shadowed] == list(Tier)[:-1]
    assert {lost.winner.source.tier for lost in catalog.shadowed} == {Tier.WORKSPACE}


def test_the_later_of_two_extra_folders_wins() -> None:
    first, second = (make_skill(tier=Tier.EXTRA, path=path) for path in ("/one", "/two"))

    assert merge([first, second]).skills == (second,)


def test_names_are_compared_exactly() -> None:
    catalog = merge([make_skill("deploy"), make_skill("Deploy"), make_skill("de-ploy")])

    assert catalog.shadowed == ()
    assert len(catalog.winners) == 3


def test_winners_are_ordered_as_people_expect() -> None:
    found = [make_skill(name) for name in ("zoo", "Mango", "éclair", "banana", "apple")]

    assert list(merge(found).winners) == ["apple", "banana", "éclair", "Mango", "zoo"]


def test_case_and_accents_only_break_ties() -> None:
    assert sorted(["b", "á", "B", "a", "A"], key=collation_key) == ["A", "a", "á", "B", "b"]


@pytest.mark.parametrize(
    ("tiers", "winner"),
    [
        ((Tier.BUNDLED, Tier.MANAGED, Tier.WORKSPACE), Tier.BUNDLED),
        ((Tier.MANAGED, Tier.WORKSPACE), Tier.MANAGED),
        ((Tier.EXTRA, Tier.AGENTS_PROJECT, Tier.WORKSPACE), Tier.WORKSPACE),
        ((Tier.EXTRA, Tier.HARNESS_PERSONAL), Tier.HARNESS_PERSONAL),
    ],
)
def test_openpocket_turns_the_three_that_it_knows_around(
    tiers: tuple[Tier, ...], winner: Tier
) -> None:
    catalog = merge([make_skill(tier=tier) for tier in tiers], Precedence.OPENPOCKET)

    assert catalog.skills == (make_skill(tier=winner),)


def test_openpocket_lets_the_first_of_one_source_win() -> None:
    first, second = (make_skill(path=path) for path in ("/one", "/two"))

    assert merge([first, second], Precedence.OPENPOCKET).skills == (first,)


def test_a_copy_of_the_winner_is_told_from_another_text() -> None:
    winner = make_skill()
    copy = make_skill(tier=Tier.BUNDLED)
    other = make_skill(tier=Tier.MANAGED, description="Something else.")

    catalog = merge([copy, other, winner])

    assert [lost.identical for lost in catalog.shadowed] == [True, False]


@settings(max_examples=60, deadline=None)
@given(st.lists(ANY_SKILL, max_size=12), st.sampled_from(Precedence))
def test_merging_loses_no_skill_and_names_every_winner(
    found: list[Skill], precedence: Precedence
) -> None:
    catalog = merge(found, precedence)

    kept = [*catalog.skills, *(lost.skill for lost in catalog.shadowed)]
    assert Counter(map(id, kept)) == Counter(map(id, found))
    assert set(catalog.winners) == {skill.name for skill in found}
    assert all(lost.winner is catalog.winners[lost.skill.name] for lost in catalog.shadowed)


@settings(max_examples=60, deadline=None)
@given(st.data(), ONE_OF_EACH, st.sampled_from(Precedence))
def test_without_ties_the_order_of_the_skills_does_not_matter(
    data: st.DataObject, found: list[Skill], precedence: Precedence
) -> None:
    shuffled = data.draw(st.permutations(found))

    one, other = merge(found, precedence), merge(shuffled, precedence)

    assert one.skills == other.skills
    assert set(map(_lost_path, one.shadowed)) == set(map(_lost_path, other.shadowed))


def _lost_path(lost: Shadowed) -> tuple[str, str]:
    return lost.skill.path, lost.winner.path
