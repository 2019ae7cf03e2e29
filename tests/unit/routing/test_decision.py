from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.routing.decision_triggers_and_follow_ups import (
    DEFAULT,
    Signs,
    decide,
    read_scale,
    read_shares,
    scores,
    weigh_occasion,
    weigh_topic,
)
from prowess.routing.dense import Floats
from prowess.routing.model import Decision, Thresholds

_SCALE = read_scale()
_THRESHOLDS = Thresholds(load=0.5, offer=0.2)


def _floats(numbers: Sequence[float]) -> Floats:
    return np.array(numbers, np.float32)


def _scores(
    *evidence: float, words: float = 200.0, weight: float = 0.4, **more: float
) -> list[float]:
    """Score evidence for a message that says much, unless `more` of it is known."""
    topic = _floats(evidence)
    signs = Signs(
        mass=more.get("mass", 1e9),
        asked_so=np.full_like(topic, more.get("asked_so", 0.0)),
        words_per_skill=words,
        weight=weight,
        leaning=more.get("leaning", 0.0),
        idle=more.get("idle", 0.0),
    )
    above = weigh_topic(topic, np.zeros_like(topic), signs, _SCALE)
    return [float(score) for score in scores(above, signs, _SCALE)]


def _decide(
    *scored: float,
    evidence: Sequence[float] | None = None,
    thresholds: Thresholds = _THRESHOLDS,
    most: int = 3,
) -> tuple[Decision, list[int]]:
    raw = _floats(scored if evidence is None else evidence)
    order = [int(place) for place in np.argsort(-raw, kind="stable")]
    return decide(order, _floats(scored), raw, thresholds, most)


def test_one_half_stands_for_the_evidence_that_is_enough() -> None:
    half = _SCALE.half(200.0, 0.4)

    assert _scores(half) == pytest.approx([0.5], abs=1e-4)


def test_more_evidence_is_a_higher_score() -> None:
    low, middle, high = _scores(0.05, 0.2, 0.5)

    assert 0 < low < middle < high <= 1


def test_small_talk_needs_more_evidence() -> None:
    talk, errand = _scores(0.3, leaning=-1.0), _scores(0.3, leaning=1.0)

    assert talk[0] < _scores(0.3)[0] < errand[0]


def test_many_messages_are_weighed_at_once_as_one_by_one() -> None:
    topic = np.array([[0.3, 0.29, 0.1], [0.1, 0.5, 0.2]], np.float32)
    mass, zeros = _floats([2.0, 9.0]), np.zeros_like(topic)
    signs = Signs(mass=mass[:, None], asked_so=zeros, words_per_skill=200.0, weight=0.4)
    above = weigh_topic(topic, zeros, signs, _SCALE)
    together = scores(above + weigh_occasion(above, zeros + 1, _SCALE), signs, _SCALE)

    for row, said in enumerate(mass):
        one = Signs(mass=float(said), asked_so=zeros[row], words_per_skill=200.0, weight=0.4)
        alone = weigh_topic(topic[row], zeros[row], one, _SCALE)
        alone += weigh_occasion(alone, zeros[row] + 1, _SCALE)
        assert scores(alone, one, _SCALE).tolist() == pytest.approx(together[row].tolist())


def test_more_is_offered_than_loaded_beside_the_best() -> None:
    evidence = (0.5, 0.3, 0.1)

    assert _decide(0.4, 0.3, 0.25, evidence=evidence) == (Decision.OFFER, [0, 1])
    assert _decide(0.9, 0.7, 0.6, evidence=evidence) == (Decision.LOAD, [0])


def test_a_lead_over_the_next_skill_raises_the_best_one_only() -> None:
    close, ahead = _scores(0.3, 0.29), _scores(0.3, 0.1)

    assert ahead[0] > close[0]
    assert _scores(0.4, 0.1)[1] == ahead[1]


def test_a_lead_says_less_where_texts_are_short() -> None:
    def gain(words: float) -> float:
        # In steps of the scale, which is the same for both.
        with_lead, without = _scores(0.3, 0.1, words=words), _scores(0.3, 0.3, words=words)
        return float(
            np.log(with_lead[0] / (1 - with_lead[0])) - np.log(without[0] / (1 - without[0]))
        )

    assert gain(5.0) < gain(500.0)


def test_a_few_words_are_less_believed_where_texts_are_long() -> None:
    assert _scores(0.3, mass=2.0, words=800.0)[0] < _scores(0.3, mass=20.0, words=800.0)[0]
    assert _scores(0.3, mass=2.0, words=0.0) == _scores(0.3, mass=20.0, words=0.0)


def test_a_few_words_are_believed_where_they_are_what_the_author_wrote() -> None:
    few, many = (_scores(0.3, mass=mass, words=800.0, asked_so=1.0) for mass in (2.0, 20.0))

    assert few == many


def test_a_kind_of_message_that_needs_no_skill_raises_the_bar() -> None:
    assert _scores(0.3, idle=0.4)[0] < _scores(0.3)[0]


def test_an_occasion_speaks_where_the_topic_does_not() -> None:
    serving = _floats([1.0, 0.0])

    silent = weigh_occasion(_floats([-0.5, -0.4]), serving, _SCALE)
    spoken = weigh_occasion(_floats([-0.5, 0.2]), serving, _SCALE)

    assert silent[0] == pytest.approx(_SCALE.occasion, abs=0.01)
    assert spoken[0] == pytest.approx(0.0, abs=0.01)
    assert silent[1] == spoken[1] == 0


def test_a_skill_alone_has_no_lead() -> None:
    assert _scores(0.3)[0] < _scores(0.3, 0.0)[0]


def test_meaning_scores_higher_so_more_is_asked_of_it() -> None:
    assert _SCALE.half(100.0, read_shares().least_meaning) < _SCALE.half(100.0, 0.8)


def test_long_texts_share_words_with_anything_so_more_is_asked_of_them() -> None:
    assert _SCALE.half(10.0, 0.4) < _SCALE.half(2_000.0, 0.4)


@pytest.mark.parametrize("words", [0.0, 30.0, 200.0, 5_000.0])
def test_words_alone_have_a_scale_of_their_own(words: float) -> None:
    half = _SCALE.half(words, 0.0)

    assert _scores(half, words=words, weight=0.0) == pytest.approx([0.5], abs=1e-4)
    # Evidence that has no share of meaning in it is lower.
    assert half < _SCALE.half(words, read_shares().least_meaning)


def test_more_is_asked_of_words_alone_where_texts_are_long() -> None:
    short, medium, long = (_SCALE.half(words, 0.0) for words in (0.0, 400.0, 1e6))

    assert short == _SCALE.words_only
    assert medium == pytest.approx(_SCALE.words_only + _SCALE.long_words_only / 2)
    assert medium < long <= _SCALE.words_only + _SCALE.long_words_only


def test_no_skills_have_no_scores() -> None:
    assert _scores() == []


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.floats(-5, 5, width=32), min_size=1, max_size=8),
    st.floats(-3, 3),
    st.floats(0, 5_000),
    st.floats(0, 1),
)
def test_scores_are_shares_and_keep_the_order_of_the_evidence(
    evidence: list[float], leaning: float, words: float, weight: float
) -> None:
    scored = _scores(*evidence, leaning=leaning, words=words, weight=weight)

    assert all(0 <= score <= 1 for score in scored)
    ranked = sorted(range(len(evidence)), key=lambda place: -evidence[place])
    assert [scored[place] for place in ranked] == sorted(scored, reverse=True)


@settings(deadline=None)
@given(st.floats(-(2.0**90), 2.0**90, width=32))
def test_no_evidence_is_too_large_for_a_score(evidence: float) -> None:
    assert 0 <= _scores(evidence, 0.1)[0] <= 1


def test_from_the_threshold_on_a_skill_is_loaded() -> None:
    assert _decide(0.5) == (Decision.LOAD, [0])
    assert _decide(0.49) == (Decision.OFFER, [0])
    assert _decide(0.19) == (Decision.NONE, [])


def test_the_default_loads_from_one_half_on() -> None:
    assert DEFAULT.load == 0.5
    assert 0 < DEFAULT.offer < DEFAULT.load


def test_the_best_comes_first_whatever_its_place() -> None:
    assert _decide(0.6, 0.9, 0.8, evidence=(0.5, 0.6, 0.55)) == (Decision.LOAD, [1, 2, 0])


def test_at_most_so_many_skills_are_loaded() -> None:
    assert _decide(0.9, 0.9, 0.9, 0.9, most=2) == (Decision.LOAD, [0, 1])
    assert _decide(0.9, 0.9, most=0) == (Decision.NONE, [])


def test_a_skill_is_loaded_beside_the_best_only_if_it_fits_nearly_as_well() -> None:
    decision, chosen = _decide(0.99, 0.9, 0.6, evidence=(0.5, 0.45, 0.3))

    assert (decision, chosen) == (Decision.LOAD, [0, 1])


def test_a_skill_below_the_threshold_is_not_loaded_beside_the_best() -> None:
    assert _decide(0.6, 0.4, evidence=(0.31, 0.3)) == (Decision.LOAD, [0])


def test_what_is_loaded_is_never_mixed_with_what_is_offered() -> None:
    assert _decide(0.4, 0.3, evidence=(0.31, 0.3)) == (Decision.OFFER, [0, 1])


def test_without_skills_nothing_is_chosen() -> None:
    assert _decide() == (Decision.NONE, [])


def test_a_threshold_of_zero_loads_even_what_speaks_against_itself() -> None:
    thresholds = Thresholds(load=0.0, offer=0.0)

    decision, chosen = _decide(0.0, 0.0, evidence=(-0.1, -0.5), thresholds=thresholds)

    assert (decision, chosen) == (Decision.LOAD, [0])


_SHARE = st.floats(0, 1, width=32)


@settings(max_examples=120, deadline=None)
@given(st.lists(_SHARE, max_size=8), _SHARE, _SHARE, st.integers(0, 5))
def test_what_is_chosen_is_enough_in_order_and_not_too_much(
    scored: list[float], load: float, offer: float, most: int
) -> None:
    thresholds = Thresholds(load=max(load, offer), offer=min(load, offer))

    decision, chosen = _decide(*scored, thresholds=thresholds, most=most)

    assert len(chosen) <= most
    assert (decision is Decision.NONE) == (not chosen)
    # What is offered beside the best is near to it, and may be less than enough.
    least = thresholds.load if decision is Decision.LOAD else thresholds.offer
    enough = chosen if decision is Decision.LOAD else chosen[:1]
    assert all(scored[place] >= np.float32(least) for place in enough)
    assert chosen == sorted(chosen, key=lambda place: -scored[place])
    if chosen:
        assert scored[chosen[0]] == max(scored)
