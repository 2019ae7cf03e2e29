import re
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.settings import Limits
from prowess.skills.model import Skill, Tier, Triggers
from prowess.skills.prompt import (
    PromptBlock,
    Worth,
    can_read,
    describe,
    escape,
    render,
    shorten,
    shorten_path,
)
from prowess.testing import make_skill

TAGS = re.compile(r"</?(?:available_skills|skill|name|description|location)>")
WORDS = st.text(alphabet=st.characters() | st.sampled_from("<>&\"' \n"), max_size=60)
ANY_SKILLS = st.lists(
    st.builds(
        lambda name, description, tier, hint: make_skill(
            name, description=description, tier=tier, triggers=Triggers(any=(hint,))
        ),
        st.text(alphabet="ab<&é\x1b", min_size=1, max_size=6),
        WORDS,
        st.sampled_from(Tier),
        WORDS,
    ),
    max_size=8,
    unique_by=lambda skill: skill.path,
)


def limits(chars: int = 18_000, *, count: int = 150) -> Limits:
    return Limits(max_skills_prompt_chars=chars, max_skills_in_prompt=count)


def names(skills: tuple[Skill, ...]) -> list[str]:
    return sorted(skill.name for skill in skills)


def listed(block: PromptBlock) -> list[str]:
    return re.findall("<name>(.*)</name>", block.text)


def test_the_block_lists_each_skill_with_name_description_and_location() -> None:
    block = render([make_skill("ship", description="Ships it.")], limits=limits())

    assert block.text.startswith("\n\n")
    assert block.text.endswith(
        "\n\n<available_skills>\n"
        "  <skill>\n"
        "    <name>ship</name>\n"
        "    <description>Ships it.</description>\n"
        "    <location>/openclaw-workspace/ship/SKILL.md</location>\n"
        "  </skill>\n"
        "</available_skills>"
    )
    assert (block.description_chars, block.dropped, block.omitted_because) == (None, (), "")


def test_the_lines_above_the_list_carry_the_rules_of_choosing() -> None:
    block = render([make_skill()], limits=limits())

    intro = block.text.partition("<available_skills>")[0].split("\n")
    assert [bool(line) for line in intro] == [False, False, True, True, True, False, False]
    assert "whole index" in intro[2]
    for rule in ("location", "at most one", "most specific", "none"):
        assert rule in intro[3]
    assert "relative paths" in intro[4]


def test_the_rule_names_only_what_the_list_shows() -> None:
    rules = {
        tier_of(block): block.text.partition("<available_skills>")[0]
        for block in (
            render([make_skill(description="x" * 300)], limits=limits(budget))
            for budget in range(300, 1500, 10)
        )
    }

    assert "a description fits" in rules[FULL]
    assert "a name or description fits" in rules[SHORTENED]
    assert "a name fits" in rules[OMITTED]


def test_the_order_is_that_of_names_whatever_came_first() -> None:
    skills = [make_skill(name) for name in ("zoo", "Mango", "éclair", "apple")]

    assert listed(render(skills, limits=limits())) == ["apple", "éclair", "Mango", "zoo"]


def test_all_five_characters_are_escaped_in_every_field() -> None:
    raw, safe = "&<>\"'", "&amp;&lt;&gt;&quot;&apos;"

    block = render([make_skill(raw, description=raw, path=raw)], limits=limits())

    assert escape(raw) == safe
    assert block.text.count(f">{safe}</") == 3


def test_control_characters_do_not_reach_the_prompt() -> None:
    skill = make_skill("a\x1b[31mb", description="c\u202ed", path="/e\x07f")

    text = render([skill], limits=limits()).text

    assert "<name>ab</name>" in text
    assert "<description>cd</description>" in text
    assert "<location>/ef</location>" in text


def test_a_description_is_one_line_of_the_prompt() -> None:
    text = render([make_skill(description="Ships.\n\n  Use\twhen asked.")], limits=limits()).text

    assert "<description>Ships. Use when asked.</description>" in text


def test_an_absurdly_long_path_does_not_push_the_others_out() -> None:
    skills = [make_skill("deploy", path="/" + "x" * 1000), make_skill("review")]

    block = render(skills, limits=limits())

    assert names(block.included) == ["review"]
    assert names(block.dropped) == ["deploy"]


def test_trigger_hints_follow_the_description() -> None:
    triggers = Triggers(any=("ship it", "release"), all=("release", "now"), none=("rollback",))

    skill = make_skill(description="Ships.", triggers=triggers)

    assert describe(skill) == "Ships. Trigger hints: ship it; release; now"


def test_at_most_eight_hints_are_shown() -> None:
    skill = make_skill(triggers=Triggers(any=tuple("abcdef"), all=tuple("ghijkl")))

    assert describe(skill).endswith("Trigger hints: a; b; c; d; e; f; g; h")


def test_without_hints_the_description_stands_alone() -> None:
    assert describe(make_skill(description="Ships.", triggers=Triggers(none=("x",)))) == "Ships."


@each_row(
    ("path", "homes", "shown"),
    [
        ("/home/me/skills/a", ("/home/me",), "~/skills/a"),
        ("/home/me/skills/a", ("/home", "/home/me/"), "~/skills/a"),
        ("/home/meow/a", ("/home/me",), "/home/meow/a"),
        ("/opt/a", ("/home/me",), "/opt/a"),
        ("/opt/a", ("/", ""), "/opt/a"),
        ("/home/me", ("/home/me",), "/home/me"),
    ],
)
def test_a_home_folder_is_written_as_a_tilde(path: str, homes: tuple[str, ...], shown: str) -> None:
    assert shorten_path(path, homes) == shown


def test_locations_in_the_block_are_shortened() -> None:
    skill = make_skill(path="/home/me/skills/deploy/SKILL.md")

    block = render([skill], limits=limits(), homes=["/home/me"])

    assert "<location>~/skills/deploy/SKILL.md</location>" in block.text


@pytest.mark.parametrize(
    ("tools", "readable"),
    [
        (None, True),
        ((), False),
        (("web_search",), False),
        (("web_search", " Read "), True),
        (("bash",), True),
        (("read_file",), True),
    ],
)
def test_an_agent_can_use_the_block_only_with_a_tool_that_reads_files(
    tools: tuple[str, ...] | None, *, readable: bool
) -> None:
    assert can_read(tools) is readable


def test_nothing_visible_means_no_block_and_says_so() -> None:
    block = render([], limits=limits())

    assert block == PromptBlock(omitted_because="no skill is visible")


@pytest.mark.parametrize(("budget", "shown"), [(4, "Note"), (3, "")])
def test_a_note_stands_alone_where_no_skill_is_visible_and_it_fits(budget: int, shown: str) -> None:
    assert render([], limits=limits(budget), note="Note").text == shown


def test_a_note_goes_first_where_it_fits() -> None:
    plain = render([make_skill()], limits=limits()).text
    room = len(plain) + 1 + len("Note")

    assert render([make_skill()], limits=limits(room), note="Note").text == f"Note\n{plain}"
    assert render([make_skill()], limits=limits(room - 1), note="Note").text == plain


def test_a_note_stands_alone_where_no_skill_fits() -> None:
    block = render([make_skill()], limits=limits(10), note="Note")

    assert (block.text, block.included) == ("Note", ())


def test_the_count_is_capped_before_the_characters_and_nothing_is_shortened() -> None:
    skills = [make_skill(f"s-{number}") for number in range(20)]

    block = render(skills, limits=limits(count=5))

    assert listed(block) == ["s-0", "s-1", "s-10", "s-11", "s-12"]
    assert "5 of 20" in block.text.splitlines()[0]
    assert "compact" not in block.text
    assert len(block.dropped) == 15


def test_a_count_of_zero_leaves_only_the_note() -> None:
    block = render([make_skill()], limits=limits(count=0))

    assert "0 of 1" in block.text
    assert "\n" not in block.text
    assert (names(block.dropped), block.omitted_because != "") == (["deploy"], True)


def test_who_is_dropped_is_decided_by_worth_and_not_by_the_alphabet() -> None:
    skills = [
        make_skill("a-bundled", tier=Tier.BUNDLED),
        make_skill("b-bundled", tier=Tier.BUNDLED),
        make_skill("c-pinned", tier=Tier.EXTRA),
        make_skill("d-pinned", tier=Tier.EXTRA, key="dee"),
        make_skill("e-project", tier=Tier.AGENTS_PROJECT),
        make_skill("f-project", tier=Tier.AGENTS_PROJECT),
        make_skill("z-workspace", tier=Tier.WORKSPACE),
    ]
    worth = Worth(pinned=frozenset(("c-pinned", "dee")), last_used={"f-project": 9, "b-bundled": 5})

    kept = [
        set(listed(render(skills, limits=limits(count=count), worth=worth))) for count in range(8)
    ]

    order = [(more - fewer).pop() for fewer, more in pairwise(kept)]
    assert sorted(order[:2]) == ["c-pinned", "d-pinned"]
    assert order[2:] == ["z-workspace", "f-project", "e-project", "b-bundled", "a-bundled"]


def test_a_tight_budget_keeps_the_worthiest_too() -> None:
    skills = [make_skill("a", tier=Tier.BUNDLED), make_skill("z", tier=Tier.WORKSPACE)]
    alone = render(skills[:1], limits=limits(count=1)).text

    block = render(skills, limits=limits(len(alone)))

    assert names(block.included) == ["z"]
    assert names(block.dropped) == ["a"]


def test_hidden_descriptions_never_leave_an_empty_element() -> None:
    skills = [make_skill(f"s-{number}", description="x" * 300) for number in range(3)]
    shortest = min(
        (render(skills, limits=limits(budget)) for budget in range(400, 1500, 10)),
        key=lambda block: (len(block.included) < 3, block.description_chars or 0),
    )

    assert (len(shortest.included), shortest.description_chars) == (3, 0)
    assert "<description>" not in shortest.text


@each_row(
    ("text", "limit", "short"),
    [
        ("short", 5, "short"),
        ("a  b\n\tc", 5, "a b c"),
        ("abcdefgh", 6, "abc..."),
        ("ab cdefgh", 6, "ab..."),
        ("abcdefgh", 3, "abc"),
        ("abcdefgh", 0, ""),
        ("", 0, ""),
    ],
)
def test_shortening_collapses_blanks_and_marks_the_cut(text: str, limit: int, short: str) -> None:
    assert shorten(text, limit) == short


@settings(max_examples=60, deadline=None)
@given(st.text(), st.integers(min_value=0, max_value=40))
def test_shortening_never_exceeds_its_limit(text: str, limit: int) -> None:
    assert len(shorten(text, limit)) <= limit


@settings(max_examples=80, deadline=None)
@given(ANY_SKILLS, st.integers(0, 2500), st.integers(0, 9), st.sampled_from(("", "A note.")))
def test_a_prompt_keeps_to_its_limits_and_leaks_no_unescaped_bracket(
    skills: list[Skill], budget: int, count: int, note: str
) -> None:
    block = render(skills, limits=limits(budget, count=count), note=note)

    assert len(block.text) <= budget
    assert len(block.included) <= count
    assert not set("<>") & set(TAGS.sub("", block.text))
    assert block.text.count("<skill>") == len(block.included)
    assert len(block.included) + len(block.dropped) == len(skills)


def test_shortened_descriptions_have_between_4_and_220_characters() -> None:
    skill = make_skill(description="x" * 800)

    cuts = {render([skill], limits=limits(budget)).description_chars for budget in range(300, 1600)}

    assert cuts == {None, 0, *range(4, 221)}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text(alphabet="abc &<", min_size=150, max_size=260), min_size=1, max_size=4),
    st.integers(10, 60),
)
def test_descriptions_are_shortened_no_more_than_they_must(texts: list[str], percent: int) -> None:
    skills = [make_skill(f"s-{index}", description=text) for index, text in enumerate(texts)]
    whole = render(skills, limits=limits(100_000)).text
    budget = len(whole) - sum(map(len, texts)) * percent // 100

    block = render(skills, limits=limits(budget))

    cut = block.description_chars or 0
    assume(0 < cut < 220)
    growth = sum(
        len(escape(shorten(text, cut + 1))) - len(escape(shorten(text, cut))) for text in texts
    )
    assert len(block.text) <= budget < len(block.text) + growth


@settings(max_examples=60, deadline=None)
@given(ANY_SKILLS, st.integers(0, 2500))
def test_a_budget_of_exactly_its_length_gives_the_same_block(
    skills: list[Skill], budget: int
) -> None:
    block = render(skills, limits=limits(budget))

    assert render(skills, limits=limits(len(block.text))).text == block.text


@settings(max_examples=40, deadline=None)
@given(ANY_SKILLS, st.integers(0, 2500), st.integers(0, 500))
def test_a_larger_budget_never_keeps_fewer_skills(
    skills: list[Skill], budget: int, more: int
) -> None:
    tight = render(skills, limits=limits(budget))
    roomy = render(skills, limits=limits(budget + more))

    assert len(roomy.included) >= len(tight.included)


FULL, SHORTENED, OMITTED, NOTE_ONLY = "full", "shortened", "omitted", "note only"
# Of the runtime whose numbers the table holds: its fixed text and its note, by tier.
THEIR_FIXED = {FULL: 370, SHORTENED: 378, OMITTED: 363, NOTE_ONLY: 0}
THEIR_COMPACT_NOTE = {SHORTENED: 102, OMITTED: 100}
# For one digit of skills kept and one of all; each digit more is a character more.
THEIR_TRUNCATED_NOTE = 114


@dataclass(frozen=True, slots=True, kw_only=True)
class Golden:
    """A row of the table: so many skills with descriptions of that length, and what came out."""

    skills: int
    description: int
    budget: int
    tier: str
    kept: int
    cut: int | None
    length: int


GOLDENS = [
    Golden(skills=20, description=11, budget=5000, tier=FULL, kept=20, cut=None, length=3190),
    Golden(skills=20, description=800, budget=6000, tier=SHORTENED, kept=20, cut=145, length=5981),
    Golden(skills=20, description=800, budget=4000, tier=SHORTENED, kept=20, cut=45, length=3981),
    Golden(skills=20, description=800, budget=3000, tier=OMITTED, kept=20, cut=0, length=2424),
    Golden(skills=100, description=11, budget=2000, tier=OMITTED, kept=15, cut=0, length=1951),
    Golden(skills=30, description=800, budget=2500, tier=OMITTED, kept=20, cut=0, length=2440),
    Golden(skills=3, description=240, budget=700, tier=OMITTED, kept=2, cut=0, length=674),
    Golden(skills=3, description=240, budget=220, tier=NOTE_ONLY, kept=0, cut=None, length=114),
]


def golden_skills(count: int, chars: int) -> list[Skill]:
    return [
        make_skill(name, description="d" * chars, path=f"/skills/{name}/SKILL.md")
        for name in (f"skill-{number:02}" for number in range(count))
    ]


def tier_of(block: PromptBlock) -> str:
    if not block.included:
        return NOTE_ONLY
    if block.description_chars is None:
        return FULL
    return SHORTENED if block.description_chars else OMITTED


def parts_of(block: PromptBlock) -> tuple[int, int]:
    """The lengths of a block's note and of its text without the skills."""
    note, separator, rest = block.text.partition("\n\n\n")
    if not separator:
        note, rest = "", block.text.removeprefix("\n\n")
    skills = rest[rest.index("  <skill>") : rest.index("</available_skills>")]
    return len(note), len("\n\n" + rest) - len(skills)


def observed(tier: str, *, of: int) -> tuple[int, int]:
    """The lengths of our note and fixed text, from the first one-skill block of that tier."""
    skills = golden_skills(of, 800)
    blocks = (render(skills, limits=limits(budget)) for budget in range(3000, 300, -5))
    return parts_of(next(b for b in blocks if tier_of(b) == tier and len(b.included) == 1))


def shift_of(golden: Golden) -> int:
    """How much longer our text is than theirs for the same skills in the same tier."""
    if golden.kept == golden.skills:
        note, fixed = observed(golden.tier, of=1)
        their_note = THEIR_COMPACT_NOTE.get(golden.tier, 0)
        return note - their_note + fixed - THEIR_FIXED[golden.tier]
    note, fixed = observed(OMITTED, of=2)
    if golden.tier == NOTE_ONLY:
        fixed = 0
    return note - THEIR_TRUNCATED_NOTE + fixed - THEIR_FIXED[golden.tier]


@each_row("golden", GOLDENS)
def test_kept_counts_and_tiers_agree_with_the_table_once_prose_is_allowed_for(
    golden: Golden,
) -> None:
    shift = shift_of(golden)

    block = render(
        golden_skills(golden.skills, golden.description), limits=limits(golden.budget + shift)
    )

    assert tier_of(block) == golden.tier
    assert len(block.included) == golden.kept
    assert len(block.text) == golden.length + shift
    assert golden.cut is None or block.description_chars == golden.cut


def test_a_budget_that_holds_not_even_the_note_gives_nothing() -> None:
    block = render(golden_skills(1, 4), limits=limits(10))

    assert (block.text, block.included) == ("", ())
    assert block.omitted_because == "not one skill fits the budget"


def test_one_skill_without_the_note_is_better_than_the_note_without_a_skill() -> None:
    skills = golden_skills(2, 800)
    smallest = next(
        block
        for block in (render(skills, limits=limits(budget)) for budget in range(2000))
        if block.included
    )

    assert (len(smallest.included), tier_of(smallest)) == (1, OMITTED)
    assert smallest.text.startswith("\n\n")
    assert "<description>" not in smallest.text
