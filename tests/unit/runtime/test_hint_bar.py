"""Which answers are worth a word to a coding agent that did not ask."""

import pytest

from prowess.routing.model import Decision, Match, Route, Thresholds
from prowess.runtime.route.answer import stands_out
from prowess.testing import make_skill

_FORMS = make_skill("pdf-forms", description="Fills in PDF forms.")
_OTHERS = [make_skill(f"other-{number}", description="Another.") for number in range(3)]
_THRESHOLDS = Thresholds(load=0.5, offer=0.2)


def _route(*scores: float, **signals: float) -> Route:
    skills = [_FORMS, *_OTHERS]
    matches = tuple(
        Match(skill=skill, score=score, signals=signals, reasons=())
        for skill, score in zip(skills, scores, strict=False)
    )
    loads = scores[0] >= _THRESHOLDS.load
    return Route(
        decision=Decision.LOAD if loads else Decision.OFFER,
        thresholds=_THRESHOLDS,
        matches=matches[:1],
        considered=matches,
    )


@pytest.mark.parametrize("scores", [(0.9, 0.85), (0.7, 0.5), (0.3, 0.1), (0.55, 0.3), (0.6,)])
def test_a_skill_stands_out_by_its_score_or_by_its_lead(scores: tuple[float, ...]) -> None:
    assert stands_out(_route(*scores), "flatten this tax return")


@pytest.mark.parametrize("scores", [(0.55, 0.5), (0.3, 0.2), (0.45, 0.4)])
def test_what_hardly_leads_and_is_no_certain_fit_is_not_told(scores: tuple[float, ...]) -> None:
    assert not stands_out(_route(*scores), "flatten this tax return")


def test_half_of_a_name_asks_for_more_than_none_or_all_of_it() -> None:
    found = _route(0.6, 0.4)

    assert stands_out(found, "flatten this tax return")
    assert not stands_out(found, "the button of the form is grey")
    assert stands_out(found, "flatten the form in the pdf")


def test_what_an_occasion_alone_speaks_for_has_no_lead() -> None:
    assert not stands_out(_route(0.45, 0.06, occasion=0.2), "why is there a sleep here")
    assert stands_out(_route(0.55, 0.5, occasion=0.2), "it crashes when I save")


def test_what_is_only_mentioned_is_not_told() -> None:
    route = _route(0.8, 0.1)
    mentioned = Route(
        decision=Decision.OFFER,
        thresholds=route.thresholds,
        matches=route.matches,
        considered=route.considered,
    )

    assert not stands_out(mentioned, "I ran it before")


def test_nothing_stands_out_of_nothing() -> None:
    assert not stands_out(Route(decision=Decision.NONE, thresholds=_THRESHOLDS), "hello")
