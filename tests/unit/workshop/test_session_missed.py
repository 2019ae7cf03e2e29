"""When a skill counts as missed, when it only may have been, and how the reason reads."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from tests.rows import each_row

from prowess.transcripts.sessions import Session, SessionTurn
from prowess.workshop.missed_activations import Missed, MissKind, Sure, asks_for, missed

DESCRIPTION = "Fill in PDF forms and verify each value that was set."
SURE = Sure(skill="pdf-forms", score=0.83, why="shares the word form", description=DESCRIPTION)
LISTED = ("pdf-forms", "notes")


def _session(*prompts: str, **shown: str) -> Session:
    turns = tuple(
        SessionTurn(
            number=number,
            at_ms=number,
            prompt=prompt,
            listed=LISTED,
            by_hand=prompt[1:].split()[0] if prompt.startswith("/") else "",
        )
        for number, prompt in enumerate(prompts, 1)
    )
    return Session(
        harness="claude-code",
        id="s1",
        path="s1.jsonl",
        cwd="/repo",
        started_ms=1,
        turns=turns,
        shown={"pdf-forms": DESCRIPTION, "notes": "Notes.", **shown},
    )


def _missed(session: Session, sure: Mapping[int, Sequence[Sure]] | None = None) -> list[Missed]:
    return list(missed(session, {1: (SURE,)} if sure is None else sure))


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        ("no, that is wrong", "the next message was a correction"),
        ("from now on use the form fields of it", "the next message said how to work from now on"),
        ("/pdf-forms tax.pdf", "the next message called it by hand (/pdf-forms)"),
        ("use the pdf-forms skill please", "the next message asked for it by its name"),
    ],
)
def test_what_the_person_did_next_proves_it(after: str, reason: str) -> None:
    (found,) = _missed(_session("fill in the form", after))

    assert found.kind is MissKind.MISSED
    assert found.reasons == ("listed", "router 0.83 sure (shares the word form)", reason)
    assert found.proof is not None
    assert found.proof.prompt == after


def test_without_a_word_about_it_it_is_only_probable() -> None:
    (found,) = _missed(_session("fill in the form", "thanks, now something else"))

    assert (found.kind, found.proof) == (MissKind.PROBABLE, None)


def test_two_prompts_later_still_counts_and_three_do_not() -> None:
    (second,) = _missed(_session("fill in the form", "and the date too", "no, that is wrong"))
    (third,) = _missed(_session("fill in the form", "a", "b", "no, that is wrong"))

    assert (second.kind, third.kind) == (MissKind.MISSED, MissKind.PROBABLE)
    assert second.reasons[-1] == "the message after the next was a correction"


def test_a_correction_of_another_task_in_between_proves_nothing() -> None:
    session = _session("fill in the form", "write the notes", "no, that is wrong")
    sure = {1: (SURE,), 2: (replace(SURE, skill="notes"),)}

    found = {one.skill: one.kind for one in _missed(session, sure)}

    assert found == {"pdf-forms": MissKind.PROBABLE, "notes": MissKind.MISSED}


def test_a_command_of_the_harness_between_them_does_not_count() -> None:
    (found,) = _missed(_session("fill in the form", "/model", "/compact", "no, that is wrong"))

    assert found.reasons[-1] == "the next message was a correction"


def test_what_was_used_then_or_before_is_not_missed() -> None:
    session = _session("fill in the form", "no, that is wrong", "fill in another form")
    first, second, third = session.turns
    now = replace(session, turns=(replace(first, used=("my-plugin:pdf-forms",)), second, third))

    assert _missed(now, {1: (SURE,), 3: (SURE,)}) == []


def test_what_was_not_listed_is_not_missed() -> None:
    session = _session("fill in the form", "no, that is wrong")
    without = replace(
        session, turns=tuple(replace(one, listed=("notes",)) for one in session.turns)
    )
    unknown = replace(session, turns=tuple(replace(one, listed=None) for one in session.turns))

    assert _missed(without) == []
    assert _missed(unknown) == []
    (found,) = _missed(unknown, {1: (replace(SURE, in_folders=True),)})
    assert "does not log" in found.reasons[0]


@each_row(
    ("shown", "reason"),
    [
        (DESCRIPTION[:17], "listed with its description cut to 17 of 53 characters"),
        (DESCRIPTION[:17] + "\u2026", "listed with its description cut to 17 of 53 characters"),
        ("", "listed by its name alone: its description was dropped"),
        (DESCRIPTION, "listed"),
        ("Other words that its author has changed since.", "listed"),
    ],
)
def test_the_reason_says_how_it_was_listed(shown: str, reason: str) -> None:
    (found,) = _missed(_session("fill in the form", **{"pdf-forms": shown}))

    assert found.reasons[0] == reason


def test_a_hint_that_was_not_followed_is_told() -> None:
    session = _session("fill in the form")
    hinted = replace(session, turns=(replace(session.turns[0], hinted=("pdf-forms",)),))

    assert _missed(hinted)[0].reasons[-1] == "a hook had named it to the agent"


@each_row(
    ("prompt", "skill", "asked"),
    [
        ("please use pdf-forms", "pdf-forms", True),
        ("run $review now", "review", True),
        ("with the review skill", "review", True),
        ("review this change", "review", False),
        ("look into docs/pdf-forms/a.md", "pdf-forms", False),
        ("pdf-forms-old is gone", "pdf-forms", False),
        ("use a.b skill", "a.b", True),
    ],
)
def test_a_name_counts_only_where_the_skill_is_meant(prompt: str, skill: str, asked: bool) -> None:  # noqa: FBT001
    assert asks_for(prompt, skill) is asked
