import pytest

from prowess.evaluation.metrics import Outcome
from prowess.evaluation.routing import calibrate


def _case(confidence: float, *, right: bool = True, meant: bool = True) -> Outcome:
    expected = frozenset({"a"}) if meant else frozenset()
    ranked = ("a",) if right else ("b",)
    return Outcome(prompt="x", expected=expected, ranked=ranked, confidence=confidence)


def test_the_threshold_lies_between_what_is_right_and_what_is_not() -> None:
    cases = [_case(0.9), _case(0.8), _case(0.7), _case(0.3, meant=False), _case(0.2, right=False)]

    found = calibrate(cases)

    assert found is not None
    assert 0.3 < found.load < 0.7
    assert found.offer < found.load


def test_cases_of_equal_confidence_are_loaded_together() -> None:
    cases = [_case(0.9), _case(0.5), _case(0.5, meant=False), _case(0.5, meant=False)]

    found = calibrate(cases)

    assert found is not None
    assert found.load > 0.5


@pytest.mark.parametrize(
    "cases",
    [[], [_case(0.9)], [_case(0.9, right=False)], [_case(0.9, meant=False)]],
    ids=["none", "all right", "all wrong", "none in scope"],
)
def test_cases_that_cannot_tell_calibrate_nothing(cases: list[Outcome]) -> None:
    assert calibrate(cases) is None
