import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.evaluation.metrics import (
    Collision,
    Outcome,
    SkillRow,
    collisions,
    confusion,
    split_by_kind,
    summarise,
)

_NAMES = st.sampled_from(["baker", "cyclist", "gardener", "poet"])
_RANKED = st.permutations(["baker", "cyclist", "gardener", "poet"]).flatmap(
    lambda names: st.integers(0, 4).map(lambda count: tuple(names[:count]))
)
_OUTCOMES = st.lists(
    st.builds(
        Outcome,
        prompt=st.just("a message"),
        expected=st.frozensets(_NAMES, max_size=2),
        forbidden=st.frozensets(_NAMES, max_size=1),
        is_open=st.booleans(),
        ranked=_RANKED,
        confidence=st.sampled_from([0.0, 0.25, 0.5, 1.0]),
        chosen=st.lists(_NAMES, max_size=3, unique=True).map(tuple),
        took_ms=st.floats(0, 100),
    ),
    max_size=12,
)


def _meant(skill: str, *ranked: str, **fields: object) -> Outcome:
    # A test that passes the wrong kind of value fails at once, with its own line.
    return Outcome(prompt="p", expected=frozenset((skill,)), ranked=ranked, **fields)  # type: ignore[arg-type]


def _stray(*chosen: str, **fields: object) -> Outcome:
    # The same.
    return Outcome(prompt="p", chosen=chosen, ranked=chosen, **fields)  # type: ignore[arg-type]


def test_figures_of_rank_fall_with_the_place_of_the_meant_skill() -> None:
    first = summarise([_meant("a", "a", "b", "c")])
    third = summarise([_meant("a", "b", "c", "a")])

    assert (first.hit1, first.recall5, first.mrr10, first.ndcg10) == (1, 1, 1, 1)
    assert (third.hit1, third.recall5) == (0, 1)
    assert third.mrr10 == pytest.approx(1 / 3)
    assert third.ndcg10 == pytest.approx(0.5)


def test_the_sixth_place_is_not_recalled_and_the_eleventh_counts_for_nothing() -> None:
    others = [f"o{number}" for number in range(10)]

    sixth = summarise([_meant("a", *others[:5], "a")])
    eleventh = summarise([_meant("a", *others, "a")])

    assert sixth.recall5 == 0
    assert sixth.mrr10 == pytest.approx(1 / 6)
    assert (eleventh.recall5, eleventh.mrr10, eleventh.ndcg10) == (0, 0, 0)


def test_of_several_meant_skills_one_is_a_hit_and_all_are_full_recall() -> None:
    outcome = Outcome(prompt="p", expected=frozenset("ab"), ranked=("a", "c", "d"))

    summary = summarise([outcome])

    assert (summary.hit1, summary.recall5, summary.mrr10) == (1, 0.5, 1)
    assert summary.ndcg10 == pytest.approx(1 / (1 + 0.63093), abs=1e-4)


def test_confidence_that_tells_the_two_apart_has_an_area_of_one() -> None:
    apart = [_meant("a", "a", confidence=0.9), _stray(confidence=0.1)]
    reversed_ = [_meant("a", "a", confidence=0.1), _stray(confidence=0.9)]
    alike = [_meant("a", "a", confidence=0.5), _stray(confidence=0.5)]

    assert [summarise(these).auroc for these in (apart, reversed_, alike)] == [1, 0, 0.5]


def test_rejection_is_measured_at_the_bar_that_keeps_nineteen_of_twenty() -> None:
    told = [_meant("a", "a", confidence=value / 20) for value in range(1, 21)]
    untold = [_stray(confidence=value) for value in (0.01, 0.05, 0.09, 0.5)]

    # The lowest of twenty may fall below the bar, so the bar is the second lowest: 0.1.
    assert summarise([*told, *untold]).rejected95 == 0.75


def test_a_plausible_skill_is_no_clear_one() -> None:
    plausible = Outcome(
        prompt="p", expected=frozenset("ab"), clear=frozenset("a"), ranked=("b",), chosen=("b",)
    )
    clear = replace(plausible, ranked=("a",), chosen=("a",))

    summary = summarise([plausible, clear])

    assert (summary.precision_first, summary.precision_strict) == (1.0, 0.5)
    assert summary.reached == 0.5


def test_what_is_offered_reaches_its_message_and_is_noise_elsewhere() -> None:
    offered = Outcome(prompt="p", expected=frozenset("a"), ranked=("b", "a"), offered=("b", "a"))
    noise = Outcome(prompt="q", ranked=("b",), offered=("b",))

    summary = summarise([offered, noise, Outcome(prompt="r")])

    assert (summary.reached, summary.noise, summary.recall) == (1.0, 0.5, 0.0)


def test_cases_are_told_apart_by_language_and_length() -> None:
    short = Outcome(prompt="fix it", language="en")
    long = Outcome(prompt="bitte " * 40, language="de")

    assert split_by_kind([short, long]) == {
        "in de": [long],
        "in en": [short],
        "up to 8 words": [short],
        "over 32 words": [long],
    }


def test_precision_asks_whether_a_meant_skill_is_among_what_was_loaded() -> None:
    outcomes = [
        _meant("a", "a", "b", chosen=("a", "b")),
        _meant("a", "b", "a", chosen=("b", "a")),
        _meant("a", "a"),
        _stray("c"),
    ]

    summary = summarise(outcomes)

    assert summary.precision == pytest.approx(2 / 3)
    assert summary.precision_first == pytest.approx(1 / 3)
    assert summary.precision_all == pytest.approx(2 / 5)
    assert summary.recall == pytest.approx(2 / 3)


def test_abstention_counts_messages_that_mean_no_skill() -> None:
    summary = summarise([_stray("c"), _stray(), _stray(), _meant("a", "a", chosen=("a",))])

    assert summary.abstained == pytest.approx(2 / 3)
    assert (summary.in_scope, summary.out_of_scope) == (1, 3)


def test_an_open_case_asks_only_that_its_skill_stays_away() -> None:
    away = _stray("b", is_open=True, forbidden=frozenset("a"))
    here = _stray("a", is_open=True, forbidden=frozenset("a"))

    summary = summarise([away, here])

    assert (summary.abstained, summary.kept_out) == (0.5, 0.5)
    assert (summary.open_cases, summary.out_of_scope) == (2, 0)
    assert (summary.hit1, summary.precision, summary.recall, summary.auroc) == (None,) * 4


def test_a_forbidden_skill_counts_in_cases_of_any_kind() -> None:
    summary = summarise([_meant("a", "a", chosen=("a", "b"), forbidden=frozenset("b")), _stray()])

    assert summary.kept_out == 0


def test_what_cannot_be_measured_is_none() -> None:
    summary = summarise([])

    assert summary.cases == 0
    assert (summary.hit1, summary.auroc, summary.rejected95, summary.abstained) == (None,) * 4
    assert summary.ms_median is None


def test_the_median_time_is_of_all_cases() -> None:
    outcomes = [_stray(took_ms=9.0), _meant("a", "a", took_ms=1.0), _stray(took_ms=2.0)]

    assert summarise(outcomes).ms_median == 2.0


def test_confusion_says_who_took_the_prompts_of_a_skill() -> None:
    rows = confusion(
        [
            _meant("a", "a"),
            _meant("a", "b", "a"),
            _meant("a", "c"),
            _meant("a", "b"),
            _meant("a"),
            _meant("b", "b"),
        ]
    )

    assert rows == (
        SkillRow(skill="a", cases=5, hit=1, taken_by=(("b", 2), ("c", 1))),
        SkillRow(skill="b", cases=1, hit=1),
    )


def test_confusion_shows_a_skill_that_comes_uninvited() -> None:
    rows = confusion(
        [
            _stray("loud"),
            _stray("loud", "shy", is_open=True, forbidden=frozenset(("loud",))),
            _meant("shy", "shy", chosen=("shy", "loud")),
        ]
    )

    assert [(row.skill, row.cases, row.intruded) for row in rows] == [("loud", 0, 2), ("shy", 1, 0)]


def test_neighbours_that_take_each_others_prompts_collide_and_the_worst_come_first() -> None:
    outcomes = [
        _meant("b", "a"),
        _meant("b", "a"),
        _meant("a", "b"),
        _meant("c", "a"),
        _meant("c", "c"),
        _stray("a"),
    ]

    assert collisions(outcomes) == (
        Collision(first="a", second="b", lost_by_first=1, lost_by_second=2),
        Collision(first="a", second="c", lost_by_first=0, lost_by_second=1),
    )


@given(_OUTCOMES)
def test_every_figure_is_a_share(outcomes: list[Outcome]) -> None:
    summary = summarise(outcomes)

    shares = [
        summary.hit1,
        summary.recall5,
        summary.mrr10,
        summary.ndcg10,
        summary.auroc,
        summary.rejected95,
        summary.precision,
        summary.precision_all,
        summary.recall,
        summary.abstained,
        summary.kept_out,
    ]
    assert all(share is None or 0 <= share <= 1 for share in shares)
    assert summary.in_scope + summary.out_of_scope + summary.open_cases == summary.cases


@given(_OUTCOMES)
def test_the_order_of_the_cases_changes_no_table(outcomes: list[Outcome]) -> None:
    assert confusion(outcomes) == confusion(outcomes[::-1])
    assert collisions(outcomes) == collisions(outcomes[::-1])


@given(_OUTCOMES)
def test_the_area_agrees_with_comparing_every_pair(outcomes: list[Outcome]) -> None:
    inside = [outcome.confidence for outcome in outcomes if outcome.in_scope]
    outside = [outcome.confidence for outcome in outcomes if outcome.out_of_scope]
    pairs = [(a > b) + (a == b) / 2 for a, b in itertools.product(inside, outside)]

    found = summarise(outcomes).auroc

    assert found == (pytest.approx(sum(pairs) / len(pairs)) if pairs else None)
