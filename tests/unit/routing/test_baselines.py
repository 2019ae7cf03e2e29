from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.rows import each_row

from prowess.evaluation.routing import Baseline, Bm25Baseline, DescriptionBaseline, KeywordBaseline
from prowess.skills.model import Skill, Triggers
from prowess.testing import make_skill

_BAKER = make_skill("baker", description="Bakes bread, rolls and cakes from dough.")
_CYCLIST = make_skill("cyclist", description="Repairs bicycles: chain, brakes and tyres.")
_POET = make_skill("poet", description="Writes verses about bread and bicycles.")
_ALL = (_BAKER, _CYCLIST, _POET)


def _letters(texts: Sequence[str]) -> NDArray[np.float32]:
    """A vector of how often each letter occurs: alike texts are near."""
    rows = [[text.lower().count(chr(97 + place)) for place in range(26)] for text in texts]
    return np.array(rows, np.float32)


def _names(skills: Sequence[Skill], found: list[tuple[int, float]]) -> list[str]:
    return [skills[index].name for index, _ in found]


def test_two_words_of_their_own_load_a_skill_by_keywords() -> None:
    baseline = KeywordBaseline(_ALL)

    assert baseline.rank("is the dough for my rolls fine") == [(0, 2.0)]


def test_one_shared_word_is_not_enough_for_keywords() -> None:
    assert KeywordBaseline(_ALL).rank("dough") == []


@pytest.mark.parametrize(("sharing", "score"), [(1, 2.0), (2, 1.75), (3, 1.5), (5, 1.5)])
def test_a_keyword_that_several_skills_have_counts_less(sharing: int, score: float) -> None:
    own = make_skill("own", description="kiln glaze")
    others = [make_skill(f"o{number}", description="glaze") for number in range(sharing - 1)]
    baseline = KeywordBaseline([own, *others], thresholds={"own": 1.0})

    assert baseline.rank("kiln and glaze") == [(0, score)]


def test_a_phrase_of_the_triggers_counts_as_one_and_a_half_words() -> None:
    skill = make_skill(
        "potter", description="Makes pots.", triggers=Triggers(any=("fire the kiln|glaze bowls",))
    )
    baseline = KeywordBaseline([skill])

    assert baseline.rank("fire my kiln") == [(0, 2.0)]
    assert baseline.rank("fire the kiln") == [(0, 3.5)]
    assert baseline.rank("please glaze the bowls") == [(0, 3.5)]
    assert baseline.rank("kiln glaze") == [(0, 2.0)]


def test_at_most_three_skills_are_loaded_by_keywords_best_first() -> None:
    skills = [make_skill(f"s{number}", description="kiln glaze clay oven") for number in range(4)]
    skills.append(make_skill("best", description="kiln glaze clay oven wheel"))

    found = KeywordBaseline(skills).rank("kiln glaze clay oven wheel")

    assert found == [(4, 3.0), (0, 2.0), (1, 2.0)]


def test_more_phrases_win_among_equal_keyword_scores() -> None:
    words = make_skill("words", description="fire kiln bisque cone")
    phrase = make_skill("phrase", description="", triggers=Triggers(any=("fire kiln",)))
    others = [make_skill(f"o{number}", description="cone") for number in range(2)]

    found = KeywordBaseline([words, phrase, *others]).rank("fire kiln bisque cone")

    assert found == [(1, 3.0), (0, 3.0)]


def test_a_skill_can_have_a_keyword_bar_of_its_own() -> None:
    baseline = KeywordBaseline(_ALL, thresholds={"baker": 2.5})

    assert baseline.rank("dough for rolls") == []


@each_row(
    ("asked", "written"),
    [
        ("berries", "berry"),
        ("boxes", "box"),
        ("axes", "axe"),
        ("churches", "church"),
        ("ties", "tie"),
        ("chains", "chain"),
        ("news", "new"),
        ("series", "sery"),
    ],
)
def test_keywords_lose_what_looks_like_a_plural(asked: str, written: str) -> None:
    baseline = KeywordBaseline([make_skill("s", description=written)], thresholds={"s": 1.0})

    assert baseline.rank(asked) == [(0, 1.0)]


@pytest.mark.parametrize("kept", ["glass", "gas"])
def test_keywords_keep_what_does_not(kept: str) -> None:
    baseline = KeywordBaseline([make_skill("s", description=kept)], thresholds={"s": 1.0})

    assert baseline.rank(kept) == [(0, 1.0)]
    assert baseline.rank(kept[:-1]) == []


def test_keywords_have_neither_stop_words_nor_single_letters() -> None:
    skill = make_skill("s", description="What to do if you are at x y z")

    assert KeywordBaseline([skill]).rank("what do you do at x y z") == []


def test_bm25_ranks_those_that_share_words_and_knows_no_others() -> None:
    found = Bm25Baseline(_ALL).rank("bread dough")

    assert _names(_ALL, found) == ["baker", "poet"]
    assert 0 < found[1][1] < found[0][1] < 1


def test_bm25_of_a_longer_message_about_something_else_is_lower() -> None:
    baseline = Bm25Baseline(_ALL)

    short, long = baseline.rank("dough"), baseline.rank("dough of the quantum realm")

    assert short[0][0] == long[0][0] == 0
    assert long[0][1] < short[0][1]


def test_bm25_finds_a_skill_by_its_name() -> None:
    assert _names(_ALL, Bm25Baseline(_ALL).rank("ask the poet"))[0] == "poet"


def test_descriptions_are_ranked_by_likeness_whatever_the_length_of_vectors() -> None:
    def doubled(texts: Sequence[str]) -> NDArray[np.float32]:
        return 2 * _letters(texts)

    plain = DescriptionBaseline(_ALL, _letters).rank("cyclist: repairs bicycles, chain and brakes")
    longer = DescriptionBaseline(_ALL, doubled).rank("cyclist: repairs bicycles, chain and brakes")

    assert _names(_ALL, plain)[0] == "cyclist"
    assert len(plain) == 3
    assert dict(longer) == pytest.approx(dict(plain))


def test_a_message_without_a_vector_is_like_nothing() -> None:
    found = DescriptionBaseline(_ALL, _letters).rank("123")

    assert found == [(0, 0.0), (1, 0.0), (2, 0.0)]


@pytest.mark.parametrize(
    "baseline",
    [KeywordBaseline([]), Bm25Baseline([]), DescriptionBaseline([], _letters)],
    ids=["keyword", "bm25", "description"],
)
def test_without_skills_nothing_is_ranked(baseline: Baseline) -> None:
    assert baseline.rank("bread") == []


@given(st.text(max_size=60))
def test_any_message_is_ranked_best_first_and_each_skill_once(message: str) -> None:
    for baseline in (
        KeywordBaseline(_ALL),
        Bm25Baseline(_ALL),
        DescriptionBaseline(_ALL, _letters),
    ):
        found = baseline.rank(message)

        assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
        assert len({index for index, _ in found}) == len(found)
