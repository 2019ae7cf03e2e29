from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.routing.decision_triggers_and_follow_ups import (
    Fused,
    fuse,
    read_shares,
    weight_of_meaning,
)
from prowess.routing.dense import DenseScores, Floats
from prowess.routing.lexical_and_breadth import Breadth, LexicalScores
from prowess.routing.words import MessageShape, measure_shape

_ENGLISH = measure_shape("please bake some bread")
_FEW, _MANY = 5.0, 500.0


def _floats(*numbers: float) -> Floats:
    return np.array(numbers, np.float32)


@dataclass
class Scores:
    """The scores of one message for some skills; a test names only what matters."""

    words: tuple[float, ...] = (0.4, 0.4)
    names: tuple[float, ...] = (0.0, 0.0)
    whole: tuple[float, ...] | None = (0.5, 0.5)
    opening: tuple[float, ...] | None = None
    best: tuple[float, ...] | None = None
    negative: tuple[float, ...] = (-1.0, -1.0)
    breadth: tuple[float, ...] = (0.0, 0.0)
    # How far the words of each reach beyond a typical skill's.
    reach: tuple[float, ...] = (0.0, 0.0)
    weight: float = 0.5

    def fused(self) -> Fused:
        scores = _floats(*self.words)
        # So much mass that damping takes nothing off.
        lexical = LexicalScores(scores=scores, names=_floats(*self.names), mass=1e9)
        dense = None
        if self.whole is not None:
            dense = DenseScores(
                whole=_floats(*self.whole),
                opening=_floats(*(self.whole if self.opening is None else self.opening)),
                best=_floats(*(self.whole if self.best is None else self.best)),
                negative=_floats(*self.negative),
            )
        return fuse(
            lexical,
            dense,
            breadth=Breadth(_floats(*self.breadth), _floats(*self.reach)),
            weight=self.weight,
        )


def test_skills_of_few_words_are_found_by_meaning() -> None:
    few = weight_of_meaning(_FEW, _ENGLISH, english_only=True)
    many = weight_of_meaning(_MANY, _ENGLISH, english_only=True)

    assert few > 0.5 > many >= read_shares().least_meaning


@pytest.mark.parametrize(
    "message", ["请帮我部署应用", "会議の議事録を作って", "сделай отчёт", "بناء التقرير"]
)
def test_an_english_encoder_has_no_say_on_other_scripts(message: str) -> None:
    assert weight_of_meaning(_FEW, measure_shape(message), english_only=True) == 0


def test_an_encoder_of_many_languages_keeps_its_say() -> None:
    chinese, english = measure_shape("请帮我部署应用"), _ENGLISH

    assert weight_of_meaning(_FEW, chinese, english_only=False) == weight_of_meaning(
        _FEW, english, english_only=False
    )


def test_accents_are_no_other_script() -> None:
    spanish = measure_shape("¿Cómo envío una factura mañana?")

    assert weight_of_meaning(_FEW, spanish, english_only=True) == weight_of_meaning(
        _FEW, _ENGLISH, english_only=True
    )


def test_the_more_foreign_letters_the_less_say() -> None:
    weights = [
        weight_of_meaning(_FEW, MessageShape(share, share, 0.0, 5, 5), english_only=True)
        for share in (0.0, 0.1, 0.3, 0.5, 1.0)
    ]

    assert weights == sorted(weights, reverse=True)
    assert weights[-2:] == [0, 0]


@each_row("message", ["", "...", "?!", "\N{PARTY POPPER}", "\u200b", "x" * 500])
@each_row("english_only", [True, False])
def test_a_message_without_a_word_means_nothing(message: str, english_only: bool) -> None:  # noqa: FBT001
    assert weight_of_meaning(_FEW, measure_shape(message), english_only=english_only) == 0


@pytest.mark.parametrize("message", ["hi", "what now?", "do it", "2+2"])
def test_the_commonest_words_are_words_enough_to_mean_something(message: str) -> None:
    assert weight_of_meaning(_FEW, measure_shape(message), english_only=True) > 0


@given(st.floats(0, 1e6), st.floats(0, 1), st.floats(0, 1), st.integers(0, 3))
def test_the_weight_of_meaning_is_a_share(
    words: float, dense: float, foreign: float, said: int
) -> None:
    shape = MessageShape(dense, foreign, 0.0, 0, said)

    for english_only in (True, False):
        assert 0 <= weight_of_meaning(words, shape, english_only=english_only) <= 1


def test_the_parts_add_up_to_the_total() -> None:
    fused = Scores(
        words=(0.3, 0.6),
        names=(1.0, 0.0),
        whole=(0.7, 0.1),
        best=(0.9, 0.2),
        negative=(0.95, -1.0),
        breadth=(0.1, -0.1),
        reach=(0.2, 0.0),
    ).fused()

    total = np.sum(list(fused.parts.values()), axis=0)

    assert fused.total.tolist() == pytest.approx(total.tolist(), abs=1e-6)


def test_without_an_encoder_words_and_names_are_all_there_is() -> None:
    fused = Scores(words=(0.4, 0.1), whole=None, weight=0.0).fused()

    assert set(fused.parts) == {"words", "common", "name"}
    assert fused.parts["words"].tolist() == pytest.approx([0.4, 0.1])


def test_meaning_without_weight_adds_nothing() -> None:
    with_it = Scores(whole=(1.0, 0.0), weight=0.0).fused()
    without = Scores(whole=None, weight=0.0).fused()

    assert with_it.total.tolist() == without.total.tolist()


def test_meaning_and_words_share_one_weight() -> None:
    fused = Scores(words=(1.0, 0.0), whole=(0.0, 1.0), weight=0.3, names=(0.0, 0.0)).fused()

    assert fused.total.tolist() == pytest.approx([0.7, 0.3], abs=1e-6)
    assert fused.meaning == 0.3


def test_a_phrase_lends_a_hand_but_does_not_win_alone() -> None:
    fused = Scores(words=(0.0, 0.0), whole=(0.2, 0.6), best=(0.8, 0.6)).fused()
    plain = Scores(words=(0.0, 0.0), whole=(0.2, 0.6)).fused()

    assert fused.total[0] > plain.total[0]
    # The bare maximum would put the stray phrase of the first skill before the second skill.
    assert fused.total[1] > fused.total[0]


def test_how_the_body_begins_counts_for_less_than_what_the_description_says() -> None:
    fused = Scores(words=(0.0, 0.0), whole=(0.2, 0.4), opening=(0.6, 0.4)).fused()

    assert fused.total[0] > Scores(words=(0.0, 0.0), whole=(0.2, 0.4)).fused().total[0]
    assert fused.total[1] > fused.total[0]


def test_a_broad_skill_must_fit_better_than_a_narrow_one() -> None:
    fused = Scores(breadth=(0.3, -0.1)).fused()

    assert fused.total[0] < fused.total[1]
    assert fused.parts["breadth"][0] < 0 < fused.parts["breadth"][1]


def test_a_skill_that_has_a_word_for_every_message_must_have_more_of_them() -> None:
    fused = Scores(words=(0.4, 0.4), reach=(0.1, 0.0)).fused()

    assert fused.total[0] < fused.total[1]
    assert fused.parts["common"][0] < 0 == fused.parts["common"][1]
    # With so many more words it is ahead again.
    assert Scores(words=(0.6, 0.4), reach=(0.1, 0.0)).fused().total.argmax() == 0


def test_words_count_for_less_by_their_reach_without_an_encoder_too() -> None:
    fused = Scores(whole=None, weight=0.0, reach=(0.1, 0.0)).fused()

    assert fused.total[0] < fused.total[1]


def test_the_more_meaning_weighs_the_less_common_words_matter() -> None:
    taken = [
        Scores(weight=weight, reach=(0.1, 0.0)).fused().parts["common"][0]
        for weight in (0.0, 0.3, 0.8, 1.0)
    ]

    assert taken == sorted(taken)
    assert taken[-1] == 0


def test_what_a_skill_is_not_for_counts_only_where_it_is_nearer_than_what_it_is_for() -> None:
    fused = Scores(whole=(0.5, 0.5), negative=(0.4, 0.8)).fused()

    assert fused.parts["negation"][0] == 0
    assert fused.parts["negation"][1] < 0


def test_no_skills_are_no_problem() -> None:
    fused = Scores(words=(), names=(), whole=(), negative=(), breadth=(), reach=()).fused()

    assert fused.total.tolist() == []


_SHARE = st.floats(0, 1, width=32)
_COSINE = st.floats(-1, 1, width=32)


_ROWS = st.lists(st.tuples(_SHARE, _SHARE, _COSINE, _COSINE, _COSINE, _SHARE), max_size=6)


def _scores(rows: list[tuple[float, ...]], weight: float, *, more_words: float = 0.0) -> Scores:
    words, names, whole, best, negative, reach = list(zip(*rows, strict=True)) or [()] * 6
    return Scores(
        words=tuple(min(1.0, word + more_words) for word in words),
        names=names,
        whole=whole,
        best=tuple(map(max, whole, best)),
        negative=negative,
        breadth=(0.0,) * len(rows),
        reach=reach,
        weight=weight,
    )


@settings(max_examples=60, deadline=None)
@given(_ROWS, _SHARE)
def test_better_words_never_lower_a_skill(rows: list[tuple[float, ...]], weight: float) -> None:
    plain = _scores(rows, weight).fused()
    better = _scores(rows, weight, more_words=0.1).fused()

    assert (better.total >= plain.total - 1e-6).all()
    assert np.isfinite(plain.total).all()


@settings(max_examples=60, deadline=None)
@given(_ROWS, _SHARE)
def test_common_words_count_for_less_but_never_against_a_skill(
    rows: list[tuple[float, ...]], weight: float
) -> None:
    parts = _scores(rows, weight).fused().parts

    assert (parts["common"] <= 0).all()
    assert (parts["words"] + parts["common"] >= 0).all()
