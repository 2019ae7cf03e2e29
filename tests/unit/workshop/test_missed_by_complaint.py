"""A complaint about a skill that was not used proves that it was missed, and which one."""

import pytest
from tests.rows import each_row

from prowess.transcripts.sessions import Session, SessionTurn
from prowess.workshop.missed_activations import Missed, MissKind, Sure, missed

SURE = Sure(skill="pdf-forms", score=0.83)
LISTED = ("pdf-forms", "release-notes")


def _missed(*prompts: str, also: Sure | None = None) -> Missed:
    turns = tuple(
        SessionTurn(number=number, at_ms=number, prompt=prompt, listed=LISTED)
        for number, prompt in enumerate(prompts, 1)
    )
    session = Session(
        harness="claude-code",
        id="s1",
        path="s1.jsonl",
        cwd="/repo",
        started_ms=1,
        turns=turns,
        shown=dict.fromkeys(LISTED, ""),
    )
    sure = {1: (SURE,), **({2: (also,)} if also else {})}
    return next(one for one in missed(session, sure) if one.turn.number == 1)


@each_row(
    ("after", "how"),
    [
        ("Why didn't you use the skill we have for that?", "asked why it was not used"),
        ("Use the form skill.", "asked for the skill"),
        ("Nimm den Skill.", "asked for the skill"),
        ("Tu aurais d\u00fb remplir les champs.", "said what should have been done"),
        ("Please don't draw text; fill the fields instead.", "was a correction"),
    ],
)
def test_a_complaint_proves_the_miss_and_the_reason_says_how(after: str, how: str) -> None:
    found = _missed("fill in the form", after)

    assert found.kind is MissKind.MISSED
    assert found.reasons[-1] == f"the next message {how}"


@pytest.mark.parametrize(
    "after",
    ["Why didn't you use release-notes?", "Use the release-notes skill.", "Write a skill for it."],
)
def test_a_complaint_about_another_skill_proves_nothing_of_this_one(after: str) -> None:
    assert _missed("fill in the form", after).kind is MissKind.PROBABLE


def test_an_order_to_use_a_skill_for_another_task_proves_nothing() -> None:
    other = Sure(skill="charts", score=0.9)

    found = _missed("fill in the form", "Use the chart skill and draw sales.", also=other)

    assert found.kind is MissKind.PROBABLE
