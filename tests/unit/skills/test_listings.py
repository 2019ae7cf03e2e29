"""What harnesses list: nothing over a limit, the right ones give way, and the fix fixes it."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.settings import Limits
from prowess.skills.harness.listings import (
    SHORTEST,
    BuiltIn,
    ClaudePage,
    CodexPage,
    Fate,
    HarnessPage,
    OpenPage,
    PageLayout,
    PromptPage,
    RecentUse,
    cheapest_fix,
    holds,
    tokens_of,
)
from prowess.skills.model import Skill, Tier
from prowess.skills.prompt import render
from prowess.testing import make_skill

LENGTHS = st.lists(st.integers(1, 2_000), max_size=25)
PAGES = st.builds(
    lambda kind, size: kind(size),
    st.sampled_from(
        [
            lambda size: ClaudePage(window=size * 25),
            lambda size: ClaudePage(fixed=size),
            lambda size: CodexPage(window=size * 10),
            lambda _size: CodexPage(),
            lambda size: PromptPage(limits=Limits(max_skills_prompt_chars=size)),
            lambda size: PromptPage(
                limits=Limits(max_skills_prompt_chars=size, max_skills_in_prompt=9), plain=True
            ),
            lambda _size: OpenPage(),
            lambda size: OpenPage(limit=size + 200, with_path=False),
        ]
    ),
    st.integers(50, 20_000),
)


def _skills(lengths: Sequence[int], tier: Tier = Tier.HARNESS_PROJECT) -> list[Skill]:
    return [
        make_skill(f"s{place:02}", description="x" * length, tier=tier)
        for place, length in enumerate(lengths)
    ]


def _fates(listing: PageLayout) -> dict[str, Fate]:
    return {entry.skill.name: entry.fate for entry in listing.entries}


def _shown(listing: PageLayout) -> dict[str, int]:
    return {entry.skill.name: entry.shown for entry in listing.entries}


@given(PAGES, LENGTHS)
@settings(max_examples=50)
def test_every_skill_has_one_fate_and_the_limit_holds_but_for_names(
    page: HarnessPage, lengths: list[int]
) -> None:
    skills = _skills(lengths)

    listing = page.arrange(skills)

    assert sorted(entry.skill.name for entry in listing.entries) == [s.name for s in skills]
    assert all(0 <= entry.shown <= entry.whole for entry in listing.entries)
    names_alone = all(entry.shown == 0 for entry in listing.entries)
    # What is only named stands behind the descriptions, in a line that the limit does not count.
    named = [entry.skill.name for entry in listing.entries if entry.fate is Fate.NAME_ONLY]
    behind = len(", ".join(named)) + 50 if named and isinstance(page, OpenPage) else 0
    assert page.limit is None or listing.used - behind <= page.limit or names_alone
    is_whole = all(entry.fate is Fate.SHOWN for entry in listing.entries)
    assert is_whole is holds(page, skills)


@given(PAGES, LENGTHS)
@settings(max_examples=50)
def test_who_follows_the_fix_has_every_description_shown(
    page: HarnessPage, lengths: list[int]
) -> None:
    skills = _skills(lengths)
    fix = cheapest_fix(skills, page, RecentUse())
    lengths_after = {step.skill.name: step.to for step in fix.shorten}
    hidden = {skill.name for skill in fix.hide}
    mended = [
        replace(skill, description=skill.description[: lengths_after.get(skill.name)])
        for skill in skills
        if skill.name not in hidden
    ]

    assert holds(page, mended)
    assert all(step.to >= SHORTEST and step.by > 0 for step in fix.shorten)
    assert (fix.shorten, fix.hide) == ((), ()) or not holds(page, skills)


def test_claude_code_gives_the_list_a_hundredth_of_the_window_in_characters() -> None:
    assert ClaudePage().limit == 8_000
    assert ClaudePage(window=1_000_000).limit == 40_000
    assert ClaudePage(fixed=123).limit == 123


def test_claude_code_takes_descriptions_from_the_least_used_first_and_keeps_names() -> None:
    skills = _skills([100] * 4)
    page = ClaudePage(fixed=240, use=RecentUse(last_used={"s03": 9, "s01": 5}))

    listing = page.arrange(skills)

    assert _fates(listing) == {
        "s00": Fate.NAME_ONLY,
        "s01": Fate.SHOWN,
        "s02": Fate.NAME_ONLY,
        "s03": Fate.SHOWN,
    }
    text = "\n".join(("- s00", "- s01: " + "x" * 100, "- s02", "- s03: " + "x" * 100))
    assert listing.used == len(text)


def test_claude_code_lists_when_to_use_with_the_description_up_to_1536_characters() -> None:
    skill = make_skill("a", description="Does it.", when_to_use="When asked.")
    long = make_skill("b", description="x" * 1_000, when_to_use="y" * 1_000)

    listing = ClaudePage().arrange([skill, long])

    assert _shown(listing) == {"a": len("Does it. - When asked."), "b": 1_536}
    assert _fates(listing) == {"a": Fate.SHOWN, "b": Fate.CUT}


def test_codex_counts_tokens_of_the_window_or_8000_characters() -> None:
    assert (CodexPage().limit, CodexPage().unit) == (8_000, "characters")
    assert (CodexPage(window=200_000).limit, CodexPage(window=200_000).unit) == (4_000, "tokens")
    assert CodexPage(window=1_000_000_000).limit == 10_000


def test_codex_shares_the_room_so_that_short_descriptions_stay_whole() -> None:
    skills = _skills([10, 6_000, 6_000, 6_000, 300] + [900] * 8)

    listing = CodexPage().arrange(skills)

    shown = _shown(listing)
    assert (shown["s00"], shown["s04"]) == (10, 300)
    assert len({shown[f"s{place:02}"] for place in range(5, 13)}) <= 2
    assert 8_000 - listing.used < len(skills)


def test_codex_drops_whole_lines_where_not_even_the_names_fit() -> None:
    project = _skills([50] * 2, Tier.AGENTS_PROJECT)
    personal = [make_skill("a0", tier=Tier.AGENTS_PERSONAL)]

    listing = CodexPage(window=1_000).arrange([*personal, *project])

    assert [entry.skill.name for entry in listing.entries] == ["s00", "s01", "a0"]
    assert [entry.fate for entry in listing.entries] == [
        Fate.NAME_ONLY,
        Fate.NAME_ONLY,
        Fate.DROPPED,
    ]


def test_what_a_harness_brings_along_shares_the_room() -> None:
    brought = (BuiltIn(name="theirs", chars=500),)
    skills = _skills([300, 300])

    claude = ClaudePage(fixed=900, builtin=brought).arrange(skills)
    codex = CodexPage(builtin=brought).arrange(skills)
    named = OpenPage(limit=500, builtin=brought, with_path=False).arrange(skills)

    assert _fates(claude) == {"s00": Fate.SHOWN, "s01": Fate.NAME_ONLY}
    assert claude.used == len("- theirs: \n") + 500 + len("- s00: \n- s01") + 300
    assert codex.used - CodexPage().arrange(skills).used == len(
        f"- theirs: {'x' * 500} (file: r0/theirs/SKILL.md)\n"
    )
    # Once one does not fit, the others are only named: theirs stands last.
    assert _fates(named) == {"s00": Fate.SHOWN, "s01": Fate.NAME_ONLY}


def test_codex_counts_bytes_where_it_counts_tokens() -> None:
    plain, wide = make_skill("a", description="x" * 40), make_skill("a", description="é" * 40)
    page = CodexPage(window=200_000)

    assert page.wanted([wide]) - page.wanted([plain]) == tokens_of(40)


@given(LENGTHS, st.integers(200, 20_000))
@settings(max_examples=30)
def test_our_own_page_is_what_the_prompt_really_says(lengths: list[int], size: int) -> None:
    skills, limits = _skills(lengths), Limits(max_skills_prompt_chars=size)

    listing = PromptPage(limits=limits).arrange(skills)
    block = render(skills, limits=limits)

    assert listing.used == len(block.text)
    dropped = {skill.name for skill in block.dropped}
    assert {name for name, fate in _fates(listing).items() if fate is Fate.DROPPED} == dropped


def test_openclaw_goes_by_the_alphabet_and_not_by_worth() -> None:
    skills = [make_skill("b", tier=Tier.WORKSPACE), make_skill("a", tier=Tier.AGENTS_PERSONAL)]
    limits = Limits(max_skills_in_prompt=1)

    ours = PromptPage(limits=limits).arrange(skills)
    theirs = PromptPage(limits=limits, plain=True).arrange(skills)

    assert _fates(ours) == {"a": Fate.DROPPED, "b": Fate.SHOWN}
    assert _fates(theirs) == {"a": Fate.SHOWN, "b": Fate.DROPPED}


def test_the_longest_descriptions_are_shortened_first_and_only_as_far_as_needed() -> None:
    skills = _skills([1_000, 900, 200, 150])
    page = ClaudePage(fixed=1_900)

    fix = cheapest_fix(skills, page, RecentUse())

    assert [step.skill.name for step in fix.shorten] == ["s00", "s01"]
    assert {step.to for step in fix.shorten} == {fix.shorten[0].to}
    longer = [
        replace(skill, description=skill.description[: fix.shorten[0].to + 1]) for skill in skills
    ]
    assert not holds(page, longer)
    assert (fix.hide, fix.raise_to) == ((), page.wanted(skills))


def test_skills_are_hidden_only_where_shortening_is_not_enough_and_the_pinned_last() -> None:
    skills = _skills([500] * 6)
    use = RecentUse(last_used={"s00": 3, "s02": 2}, pinned=frozenset(("s05",)))

    fix = cheapest_fix(skills, ClaudePage(fixed=4 * (SHORTEST + 10)), use)

    assert [skill.name for skill in fix.hide] == ["s01", "s03"]


@pytest.mark.parametrize("page", [ClaudePage(), CodexPage(), PromptPage(), OpenPage()])
def test_no_skills_need_no_room_and_no_fix(page: HarnessPage) -> None:
    assert (page.wanted([]), page.arrange([]).entries) == (0, ())
    assert cheapest_fix([], page, RecentUse()).enough
