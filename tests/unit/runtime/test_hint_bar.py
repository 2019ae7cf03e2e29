"""Which answers are worth a word to a coding agent that did not ask."""

import numpy as np
import pytest

from prowess.routing.dense import measure_clarity
from prowess.routing.model import Decision, Match, Route, Status, Thresholds
from prowess.runtime.route.answer import CLEAR, find_sure
from prowess.testing import make_skill

_SKILLS = [make_skill(f"skill-{number}", description="Does a thing.") for number in range(4)]
_THRESHOLDS = Thresholds(load=0.5, offer=0.2)
_UNCLEAR = CLEAR / 2


def _match(place: int, score: float, clarity: float, **signals: float) -> Match:
    return Match(skill=_SKILLS[place], score=score, clarity=clarity, signals=signals, reasons=())


def _find(*matches: Match, decision: Decision | None = None, degraded: bool = False) -> list[str]:
    loads = bool(matches) and matches[0].score >= _THRESHOLDS.load
    route = Route(
        decision=decision or (Decision.LOAD if loads else Decision.OFFER),
        status=Status.DEGRADED if degraded else Status.OK,
        thresholds=_THRESHOLDS,
        matches=matches,
        considered=matches,
    )
    return [match.skill.name for match in find_sure(route)]


@pytest.mark.parametrize("score", [0.3, 0.9])
def test_what_is_clearly_meant_is_told_whatever_would_be_loaded(score: float) -> None:
    assert _find(_match(0, score, 0.8)) == ["skill-0"]


def test_a_high_score_alone_is_not_told() -> None:
    assert _find(_match(0, 0.9, _UNCLEAR)) == []


def test_the_clearest_of_the_first_is_named_first() -> None:
    assert _find(_match(0, 0.4, 0.5), _match(1, 0.3, 0.9)) == ["skill-1"]


def test_beside_the_clearest_only_what_would_be_loaded_is_told() -> None:
    found = _find(_match(0, 0.9, 0.9), _match(1, 0.6, 0.5), _match(2, 0.4, 0.5))

    assert found == ["skill-0", "skill-1"]


def test_what_is_said_outright_comes_before_what_is_clear() -> None:
    assert _find(_match(0, 0.9, 0.9), _match(1, 0.6, 0.1, named=1.0)) == ["skill-1", "skill-0"]


def test_what_an_occasion_alone_speaks_for_has_to_be_loaded() -> None:
    assert _find(_match(0, 0.45, _UNCLEAR, occasion=0.2)) == []
    assert _find(_match(0, 0.55, _UNCLEAR, occasion=0.2)) == ["skill-0"]


def test_what_is_only_mentioned_is_not_told() -> None:
    assert _find(_match(0, 0.8, 0.9), decision=Decision.OFFER) == []


def test_without_an_encoder_a_load_is_told() -> None:
    assert _find(_match(0, 0.8, 0.0), degraded=True) == ["skill-0"]
    assert _find(_match(0, 0.3, 0.0), degraded=True) == []


def test_nothing_is_told_of_nothing() -> None:
    assert _find(decision=Decision.NONE) == []


def test_words_that_no_other_skill_shares_make_a_skill_clearer() -> None:
    meant = np.array([0.4, 0.4, 0.1], np.float32)
    alone = measure_clarity(meant, np.array([0.3, 0.0, 0.0], np.float32), mass=2.0)
    shared = measure_clarity(meant, np.array([0.3, 0.3, 0.0], np.float32), mass=2.0)

    assert alone[0] > shared[0]
    assert shared[0] == shared[1]
    assert alone[2] < CLEAR


def test_a_single_skill_has_no_other_to_beat() -> None:
    (found,) = measure_clarity(np.array([0.5], np.float32), np.array([0.4], np.float32), mass=2.0)

    assert found > CLEAR
