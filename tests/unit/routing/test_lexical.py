import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.routing.handoffs_and_passages import SkillEvidence, read_evidence
from prowess.routing.lexical_and_breadth import LexicalIndex, Terms, read_terms
from prowess.testing import make_skill

_BAKER = SkillEvidence(
    name="bread-baker", positive="Bakes bread and rolls.", body="Knead the dough."
)
_RIDER = SkillEvidence(name="bike-repair", positive="Repairs a bicycle: chain, brakes and tyres.")
_WRITER = SkillEvidence(
    name="letter-writer", positive="Writes letters and cards for every occasion."
)
_ALL = (_BAKER, _RIDER, _WRITER)

_TEXTS = st.text(max_size=40) | st.lists(
    st.sampled_from(["bread", "bike", "letters", "unheard", "pull request", "部署", "GitHub", "a"]),
    max_size=8,
).map(" ".join)
_SKILLS = st.lists(
    st.builds(SkillEvidence, name=_TEXTS, positive=_TEXTS, requests=st.tuples(_TEXTS), body=_TEXTS),
    max_size=6,
)


def _index(*skills: SkillEvidence) -> LexicalIndex:
    return LexicalIndex.build([read_terms(skill) for skill in skills])


def _best(index: LexicalIndex, message: str) -> int:
    return int(np.argmax(index.score(message).scores))


@pytest.mark.parametrize(
    ("message", "best"),
    [
        ("please bake some bread", 0),
        ("my bicycles' chains are rusty", 1),
        ("write a birthday card", 2),
        ("kneading", 0),
    ],
)
def test_the_skill_that_shares_words_wins(message: str, best: int) -> None:
    assert _best(_index(*_ALL), message) == best


def test_a_message_without_shared_words_scores_nothing() -> None:
    result = _index(*_ALL).score("quantum chromodynamics")

    assert not result.scores.any()
    assert not result.names.any()


def test_unknown_words_lower_the_score() -> None:
    index = _index(*_ALL)

    assert index.score("bread of the quantum realm").scores[0] < index.score("bread").scores[0]


def test_names_is_the_share_of_the_name_that_the_message_has() -> None:
    index = _index(*_ALL)

    half, whole = index.score("my bike").names, index.score("run bike repair").names
    assert 0 < half[1] < whole[1]
    assert not whole[[0, 2]].any()
    assert index.score("use bike-repair").names.tolist() == pytest.approx(whole.tolist())


def test_a_name_counts_more_where_texts_are_long() -> None:
    long = SkillEvidence(name="bike-repair", positive="Mends bikes.", body="spoke wheel " * 50)

    assert _index(*_ALL).score("bike repair").names[1] < _index(long).score("bike repair").names[0]
    assert _index(long).score("bike repair").names[0] == 1


def test_neighbours_count_more_than_the_same_words_apart() -> None:
    together = SkillEvidence(name="one", positive="Opens a pull request.")
    apart = SkillEvidence(name="two", positive="Opens a request to pull.")

    scores = _index(together, apart).score("pull request").scores

    assert scores[0] > scores[1] > 0


def test_words_of_two_fields_are_no_neighbours() -> None:
    across = SkillEvidence(name="pull", positive="request")
    within = SkillEvidence(name="pull-request", positive="note")

    scores = _index(across, within).score("pull request").scores

    assert scores[1] > scores[0]


def test_a_name_is_worth_more_than_the_body() -> None:
    named = SkillEvidence(name="sourdough", positive="Helps.", body="Feeds it.")
    told = SkillEvidence(name="starter", positive="Helps.", body="Feeds sourdough.")

    assert _best(_index(told, named), "sourdough") == 1


def test_requests_of_the_author_count() -> None:
    asked = SkillEvidence(name="kitchen", positive="Cooks.", requests=("warm up my lunch",))

    assert _best(_index(_BAKER, asked), "lunch") == 1


def test_phrases_found_in_the_text_do_not_count_twice() -> None:
    quoted = SkillEvidence(name="one", positive="Opens doors.", phrases=("open doors",))
    plain = SkillEvidence(name="one", positive="Opens doors.")

    assert read_terms(quoted) == read_terms(plain)


def test_an_identifier_finds_its_plain_spelling() -> None:
    index = _index(_BAKER, SkillEvidence(name="hub", positive="Works with GitHub."))

    assert _best(index, "github") == 1
    assert index.score("ToolBox").mass == index.score("tool box").mass


def test_chinese_finds_chinese() -> None:
    index = _index(_BAKER, SkillEvidence(name="deploy", positive="部署应用到服务器"))

    result = index.score("请帮我部署服务")

    assert result.scores[1] > result.scores[0] == 0


def test_spanish_finds_spanish_with_or_without_accents() -> None:
    index = _index(_BAKER, SkillEvidence(name="gastos", positive="Resume la facturación del mes."))

    assert index.score("resumen de facturacion").scores[1] > 0
    assert index.score("¿facturación?").scores[1] > 0


def test_short_messages_are_damped_more_than_long_ones() -> None:
    index = _index(*_ALL)

    short, long = index.score("bread"), index.score("bread rolls kneaded as dough and baked")

    assert short.mass < long.mass
    assert short.damped[0] / short.scores[0] < long.damped[0] / long.scores[0] < 1


def test_matched_words_are_shown_as_written_the_weightiest_first() -> None:
    index = _index(*_ALL)

    words = index.matched_words("Repairing chains, letters and brakes of unicycles", 1)

    assert words[0] == "repairing"
    assert set(words) == {"repairing", "chains", "brakes"}
    assert index.matched_words("unicycles", 1) == ()


def test_as_many_words_are_shown_as_are_wanted() -> None:
    assert len(_index(*_ALL).matched_words("repair bike chain brakes", 1, most=2)) == 2


def test_words_per_skill_tell_how_rich_the_texts_are() -> None:
    assert _index(SkillEvidence(name="baker", positive="bread")).words_per_skill == 2


def test_an_empty_index_answers_with_nothing() -> None:
    index = LexicalIndex.build([])

    assert index.score("bread").scores.tolist() == []
    assert index.words_per_skill == 0


def test_a_skill_without_words_never_matches() -> None:
    index = LexicalIndex.build([Terms(), read_terms(_BAKER)])

    assert index.score("bread").scores[0] == 0
    assert index.score("").scores.tolist() == [0.0, 0.0]


def test_a_parsed_skill_is_found_by_its_description() -> None:
    skills = [make_skill(), make_skill("bread-baker", description="Bakes bread.")]

    assert _best(_index(*map(read_evidence, skills)), "ship the release") == 0


@settings(max_examples=80, deadline=None)
@given(_SKILLS, _TEXTS)
def test_every_share_is_between_zero_and_one(skills: list[SkillEvidence], message: str) -> None:
    index = _index(*skills)

    result = index.score(message)

    for shares in (result.scores, result.names, result.damped):
        assert len(shares) == len(skills)
        assert ((shares >= 0) & (shares <= 1)).all()
    assert result.mass >= 0


@settings(max_examples=60, deadline=None)
@given(_SKILLS, _SKILLS, _TEXTS)
def test_adding_skills_never_breaks_the_index(
    skills: list[SkillEvidence], more: list[SkillEvidence], message: str
) -> None:
    larger = _index(*skills, *more)

    result = larger.score(message)

    assert larger.size == len(skills) + len(more)
    # What has no words in common has none in a larger catalogue either.
    assert not result.scores[: len(skills)][_index(*skills).score(message).scores == 0].any()


@settings(max_examples=60, deadline=None)
@given(_SKILLS, _TEXTS)
def test_a_skill_with_matched_words_has_a_score(skills: list[SkillEvidence], message: str) -> None:
    index = _index(*skills)

    scores = index.score(message).scores

    assert [bool(index.matched_words(message, place)) for place in range(len(skills))] == [
        score > 0 for score in scores
    ]
