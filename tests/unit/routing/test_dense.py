from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.routing.dense import DenseIndex, Floats, find_near, list_texts, project
from prowess.routing.handoffs_and_passages import SkillEvidence

_VECTORS: dict[str, Floats] = {
    text: (np.array(numbers) / np.linalg.norm(numbers)).astype(np.float32)
    for text, numbers in {
        "baker: Bakes bread.": (4, 1, 0, 0),
        "bread please": (1, 0, 0, 0),
        "a bike on the bread": (1, 3, 0, 0),
        "mechanic: Repairs bikes.": (0, 1, 0, 0),
        "not for cars": (0, 1, 1, 0),
    }.items()
}
_BAKER = SkillEvidence(
    name="baker", positive="Bakes bread.", phrases=("bread please", "a bike on the bread")
)
_MECHANIC = SkillEvidence(name="mechanic", positive="Repairs bikes.", negatives=("not for cars",))
_BREAD, _BIKE, _CAR, _TALK = np.eye(4, dtype=np.float32)


def _build(*skills: SkillEvidence) -> DenseIndex:
    return DenseIndex.build(skills, _VECTORS, english_only=True)


def _no_words(size: int) -> Floats:
    return np.zeros(size, np.float32)


def test_the_whole_text_is_compared_by_its_angle() -> None:
    found = _build(_BAKER, _MECHANIC).score(_BIKE, _no_words(2))

    assert found.whole.tolist() == pytest.approx([1 / np.sqrt(17), 1.0], abs=1e-6)


def test_the_best_phrase_counts_where_it_is_nearer_than_the_whole() -> None:
    found = _build(_BAKER, _MECHANIC).score(_BREAD, _no_words(2))

    assert found.best[0] == pytest.approx(1.0)
    assert found.best[0] > found.whole[0]


def test_phrases_that_are_further_away_take_nothing_off() -> None:
    found = _build(_BAKER).score(_TALK, _no_words(1))

    assert found.best.tolist() == found.whole.tolist()


def test_a_skill_without_phrases_has_its_whole_text_as_its_best() -> None:
    index = _build(_MECHANIC)

    assert index.score(_BIKE, _no_words(1)).best.tolist() == pytest.approx([1.0])
    assert index.best_phrase(_BIKE, 0) == ("", -1.0)


def test_how_the_body_begins_has_a_score_of_its_own() -> None:
    opened = SkillEvidence(name="baker", positive="Bakes bread.", opening="Get the bike.")
    vectors = {**_VECTORS, opened.opening_text: _BIKE}

    index = DenseIndex.build([opened, _MECHANIC], vectors, english_only=True)
    found = index.score(_BIKE, _no_words(2))

    assert opened.opening_text in list_texts(opened)
    assert found.opening[0] == pytest.approx(1.0)
    # Without a body the whole text stands for it.
    assert found.opening[1] == found.whole[1]


def test_what_a_skill_is_not_for_has_a_score_of_its_own() -> None:
    found = _build(_BAKER, _MECHANIC).score(_CAR, _no_words(2))

    assert found.negative.tolist() == pytest.approx([-1.0, 1 / np.sqrt(2)])


def test_the_nearest_phrase_and_the_nearest_exclusion_are_named() -> None:
    index = _build(_BAKER, _MECHANIC)

    phrase, near = index.best_phrase(_BREAD, 0)
    negative, against = index.best_negative(_CAR, 1)

    assert (phrase, negative) == ("bread please", "not for cars")
    assert (near, against) == pytest.approx((1.0, 1 / np.sqrt(2)))
    assert index.best_phrase(_BIKE, 0)[0] == "a bike on the bread"
    assert index.best_negative(_CAR, 0) == ("", -1.0)


# Mostly Thai, mostly Greek, and English with a Chinese name in it.
_THAI = SkillEvidence(
    name="fapiao",
    positive="ปรับใช้แอปไปยังเซิร์ฟเวอร์",
    opening="ปรับใช้แอปไปยังเซิร์ฟเวอร์",
    phrases=("ปรับใช้แอปไปยังเซิร์ฟเวอร์", "bread please"),
    negatives=("not for cars",),
)
_GREEK = SkillEvidence(name="anafora", positive="Ετοιμάζει την αναφορά.")
_MIXED = SkillEvidence(name="notes", positive="Keeps the notes of the 产品 team.")
_FOREIGN = (_THAI, _GREEK, _MIXED)


def _of_many_scripts(*, english_only: bool) -> DenseIndex:
    # As if the encoder took whatever it cannot read for bread.
    vectors = {text: _BREAD for skill in _FOREIGN for text in list_texts(skill)}
    return DenseIndex.build(_FOREIGN, vectors, english_only=english_only)


def test_an_english_encoder_has_no_say_on_skills_in_other_scripts() -> None:
    index = _of_many_scripts(english_only=True)

    found = index.score(_BREAD, _no_words(3))

    assert found.whole.tolist() == found.opening.tolist() == found.best.tolist() == [0, 0, 1]
    assert index.best_phrase(_BREAD, 0)[1] == 0


def test_what_a_skill_in_another_script_is_not_for_is_not_read_either() -> None:
    index = _of_many_scripts(english_only=True)

    # What is nearer than nothing would be held against it.
    assert index.score(_BREAD, _no_words(3)).negative.tolist() == [0, -1, -1]
    assert index.best_negative(_BREAD, 0)[1] == 0


def test_an_encoder_of_many_languages_reads_every_script() -> None:
    index = _of_many_scripts(english_only=False)

    found = index.score(_BREAD, _no_words(3))

    assert found.whole.tolist() == found.opening.tolist() == found.best.tolist() == [1, 1, 1]
    assert found.negative.tolist() == [1, -1, -1]


def test_an_empty_index_answers_with_nothing() -> None:
    index = _build()

    found = index.score(_BREAD, _no_words(0))

    assert {len(part) for part in found} == {0}


def test_every_text_whose_vector_is_used_is_asked_for() -> None:
    many = SkillEvidence(name="x", positive="y", negatives=tuple(f"not {n}" for n in range(50)))

    assert list(list_texts(_BAKER)) == [
        "baker: Bakes bread.",
        "bread please",
        "a bike on the bread",
    ]
    assert list(list_texts(_MECHANIC)) == ["mechanic: Repairs bikes.", "not for cars"]
    # A wall of exclusions is cut, and what is cut is not encoded.
    assert len(list(list_texts(many))) < 20
    DenseIndex.build([many], dict.fromkeys(list_texts(many), _BREAD), english_only=True)


def _crowd(size: int) -> tuple[list[SkillEvidence], dict[str, Floats]]:
    """Many skills that are about nothing here, and the vectors of their texts."""
    crowd = [
        SkillEvidence(name=f"filler {n}", positive="x", phrases=("dull",)) for n in range(size)
    ]
    return crowd, {**dict.fromkeys((one.text for one in crowd), _TALK), "dull": _TALK}


def test_in_a_crowd_a_phrase_lifts_the_skill_that_shares_words() -> None:
    crowd, vectors = _crowd(600)
    odd = SkillEvidence(name="odd", positive="z", phrases=("bread please",))
    skills = [*crowd, odd]
    vectors |= {odd.text: _TALK, "bread please": _BREAD}
    index = DenseIndex.build(skills, vectors, english_only=True)
    words = _no_words(len(skills))
    words[-1] = 0.2

    found = index.score(_BREAD, words)

    assert found.best.argmax() == len(skills) - 1
    assert found.best[-1] == pytest.approx(1.0)


def test_in_a_crowd_every_score_is_still_there() -> None:
    crowd, vectors = _crowd(600)
    index = DenseIndex.build(crowd, vectors, english_only=True)

    found = index.score(_TALK, _no_words(600))

    assert {len(part) for part in found} == {600}
    assert found.whole.tolist() == pytest.approx([1.0] * 600)


_NUMBERS = st.lists(st.floats(-1, 1, width=32), min_size=4, max_size=4).filter(
    lambda numbers: np.linalg.norm(numbers) > 1e-3
)
_COUNTS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 12)), max_size=6)


def _unit(numbers: Sequence[float]) -> Floats:
    unit: Floats = (np.array(numbers) / np.linalg.norm(numbers)).astype(np.float32)
    return unit


@settings(max_examples=60, deadline=None)
@given(_COUNTS, st.lists(_NUMBERS, min_size=1, max_size=30), _NUMBERS, st.sampled_from("p部"))
def test_scores_are_cosines_whatever_the_skills_hold(
    counts: list[tuple[int, int]], pool: list[list[float]], message: list[float], letter: str
) -> None:
    skills = [
        SkillEvidence(
            name=f"s{at}",
            positive=letter,
            phrases=tuple(f"{at} phrase {n}" for n in range(phrases)),
            negatives=tuple(f"{at} not {n}" for n in range(negatives)),
        )
        for at, (phrases, negatives) in enumerate(counts)
    ]
    # There are always more vectors than those of the skills, even where there is no skill.
    texts = ["hello", *(text for skill in skills for text in list_texts(skill))]
    vectors = {text: _unit(pool[at % len(pool)]) for at, text in enumerate(texts)}
    index = DenseIndex.build(skills, vectors, english_only=True)

    found = index.score(_unit(message), _no_words(len(skills)))

    assert (found.best >= found.whole).all()
    for part in found:
        assert len(part) == len(skills)
        assert (np.abs(part) <= 1 + 1e-5).all()
    for at, (phrases, negatives) in enumerate(counts):
        assert (index.best_phrase(_unit(message), at)[0] != "") == (phrases > 0)
        assert negatives > 0 or found.negative[at] == -1


def test_a_map_keeps_apart_what_differs_and_names_what_is_near() -> None:
    vectors = np.zeros((6, 4), np.float32)
    vectors[:3, 0], vectors[3:, 1] = 1, 1
    vectors[:, 2] = np.linspace(0, 0.05, 6)

    flat = project(vectors)

    assert flat.shape == (6, 2)
    assert np.abs(flat).max() == pytest.approx(1)
    inside = np.ptp(flat[:3], axis=0).max()
    between = np.abs(flat[:3].mean(axis=0) - flat[3:].mean(axis=0)).max()
    assert between > 10 * inside
    assert {pair[:2] for pair in find_near(vectors, 0.9, 10).pairs} == {
        (0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5),
    }  # fmt: skip
    few = find_near(vectors, 0.9, 2)
    assert (len(few.pairs), few.total) == (2, 6)
    assert np.array_equal(project(vectors), flat)
    assert project(vectors[:0]).shape == (0, 2)
