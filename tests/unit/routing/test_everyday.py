import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.routing.dense import Floats
from prowess.routing.lexical_and_breadth import list_messages, read_messages
from prowess.routing.message_kinds import Everyday

EVERYDAY, ERRANDS = read_messages()

_WORK, _TALK, _ELSE = np.eye(4, dtype=np.float32)[:3]
# Every text a little apart from the next, as real vectors are.
_DRIFT = np.eye(4, dtype=np.float32)[3]


def _unit(vector: Floats) -> Floats:
    unit: Floats = (vector / np.linalg.norm(vector)).astype(np.float32)
    return unit


def _background() -> dict[str, Floats]:
    found = {}
    for around, some in ((_WORK, ERRANDS), (_TALK, EVERYDAY)):
        for at, text in enumerate(some):
            found[text] = _unit(around + 0.1 * (at % 3 - 1) * _DRIFT)
    return found


def _line(*skills: Floats) -> Everyday:
    return Everyday.between(_background(), np.array(skills, np.float32).reshape(-1, 4))


def test_an_errand_leans_one_way_and_small_talk_the_other() -> None:
    line = _line(_WORK)

    assert line.leaning(_WORK) > 0 > line.leaning(_TALK)


def test_what_is_neither_lies_between() -> None:
    line = _line(_WORK)

    assert line.leaning(_WORK) > line.leaning(_ELSE) > line.leaning(_TALK)


def test_the_average_errand_is_two_apart_from_the_average_small_talk() -> None:
    line, vectors = _line(_WORK), _background()

    errands = np.mean([line.leaning(vectors[text]) for text in ERRANDS])
    everyday = np.mean([line.leaning(vectors[text]) for text in EVERYDAY])

    assert errands - everyday == pytest.approx(2, abs=1e-3)


def test_nothing_is_held_against_small_talk_where_the_skills_make_it() -> None:
    line = _line(_TALK, _unit(_TALK + 0.2 * _DRIFT))

    assert line.weight == 0
    assert line.leaning(_TALK) == 0


def test_half_a_catalogue_of_everyday_skills_takes_off_more_than_half() -> None:
    mixed, strict = _line(_WORK, _TALK), _line(_WORK, _WORK)

    assert strict.weight == 1
    assert 0 < mixed.weight < 0.5
    assert abs(mixed.leaning(_TALK)) < abs(strict.leaning(_TALK)) / 2


def test_an_empty_catalogue_leans_nowhere() -> None:
    assert _line().leaning(_TALK) == 0


def test_an_encoder_that_cannot_tell_them_apart_says_nothing() -> None:
    same = dict.fromkeys(list_messages(), _ELSE)

    line = Everyday.between(same, np.array([_ELSE]))

    assert line.leaning(_WORK) == pytest.approx(0, abs=1e-3)
    assert line.leaning(_ELSE) == pytest.approx(0, abs=1e-3)


def test_every_text_of_the_background_is_asked_for_once() -> None:
    assert sorted(list_messages()) == sorted((*ERRANDS, *EVERYDAY))


_NUMBERS = st.lists(st.floats(-1, 1, width=32), min_size=4, max_size=4).filter(any)


@settings(max_examples=40, deadline=None)
@given(st.lists(_NUMBERS, max_size=5), _NUMBERS)
def test_leaning_is_a_number_for_any_catalogue_and_message(
    skills: list[list[float]], message: list[float]
) -> None:
    line = _line(*(_unit(np.array(skill)) for skill in skills))

    assert 0 <= line.weight <= 1
    assert np.isfinite(line.leaning(_unit(np.array(message))))
