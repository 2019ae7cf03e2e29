import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.routing.vectors import make_index

from prowess.testing import make_skill

BAKER = make_skill("bread-baker", description="Bakes bread and rolls in the oven.")
RIDER = make_skill("bike-repair", description="Repairs a bicycle: chain, brakes and tyres.")
WRITER = make_skill("letter-writer", description="Writes letters and cards for every occasion.")
# On the fourth topic of the small encoder, which everyday messages are about, and in their words.
TALKER = make_skill(
    "small-talker", description="Says hello, hi, thanks and bye, tells a joke about the weather."
)
ALL = (BAKER, RIDER, WRITER, TALKER)


def test_a_skill_that_means_what_any_assistant_is_asked_is_broad() -> None:
    alike = [make_skill(f"baker-{at}", description=BAKER.description) for at in range(3)]

    meaning = make_index(*alike, TALKER).breadth.meaning

    assert meaning[3] > 0
    assert meaning[:3].tolist() == [0, 0, 0]


def test_a_skill_that_has_a_word_for_what_any_assistant_is_asked_is_broad() -> None:
    words = make_index(BAKER, RIDER, TALKER).breadth.words

    assert words[2] > 0
    assert words[:2].tolist() == [0, 0]


def test_breadth_is_against_a_typical_skill() -> None:
    breadth = make_index(*ALL).breadth

    assert np.median(breadth.meaning) == 0
    # A skill whose words reach less far than that is not raised for it.
    assert breadth.words.min() == 0


def test_a_skill_alone_is_typical() -> None:
    breadth = make_index(TALKER).breadth

    assert (breadth.meaning.tolist(), breadth.words.tolist()) == ([0], [0])


def test_without_an_encoder_words_have_their_breadth_alone() -> None:
    plain, full = make_index(*ALL, meaning=False).breadth, make_index(*ALL).breadth

    assert not plain.meaning.any()
    assert plain.words.tolist() == full.words.tolist()


def test_no_skills_have_no_breadth() -> None:
    for meaning in (True, False):
        breadth = make_index(meaning=meaning).breadth

        assert (breadth.meaning.tolist(), breadth.words.tolist()) == ([], [])


_DESCRIPTIONS = st.lists(
    st.sampled_from(["hello", "bread", "what", "the", "部署", "отчёт", "joke", "...", "chain"]),
    max_size=8,
).map(" ".join)


@settings(max_examples=30, deadline=None)
@given(st.lists(_DESCRIPTIONS, max_size=6))
def test_every_skill_has_a_breadth(descriptions: list[str]) -> None:
    skills = [make_skill(f"skill-{at}", description=text) for at, text in enumerate(descriptions)]

    for breadth in make_index(*skills).breadth:
        assert len(breadth) == len(skills)
        assert np.isfinite(breadth).all()
