"""Each known symptom of a workshop is answered by what is in the way here, and what to do."""

from dataclasses import replace

import pytest

from prowess.runtime.workshop.explain import (
    Situation,
    SymptomAnswer,
    Visibility,
    describe_next_review,
    explain_off,
    explain_symptoms,
)
from prowess.runtime.workshop.ports import Counters
from prowess.settings import ApprovalPolicy, ReviewMode, WorkshopSettings
from prowess.workshop.proposal import EventKind, ProposalEvent, State

ON = WorkshopSettings(selected=True)
WELL = Situation(settings=ON, counts={})


def _answer(seen: Situation, word: str) -> SymptomAnswer:
    (found,) = (one for one in explain_symptoms(seen) if word in one.symptom)
    return found


def _pruned(skill: str) -> ProposalEvent:
    return ProposalEvent(
        workspace="/w", proposal_id=f"{skill}-1", skill=skill, kind=EventKind.PRUNED,
        revision="r", at=1.0,
    )  # fmt: skip


def test_a_workshop_in_which_nothing_happened_yet_has_no_symptom() -> None:
    found = explain_symptoms(WELL)

    assert len(found) == 7
    assert all(one.fine for one in found)
    assert all(one.finding.endswith(".") for one in found)


@pytest.mark.parametrize("mode", list(ReviewMode))
@pytest.mark.parametrize("captures", [True, False])
def test_whatever_is_not_fine_says_what_to_do(mode: ReviewMode, *, captures: bool) -> None:
    settings = replace(ON, review_mode=mode, auto_capture=captures)
    for seen in (
        Situation(settings=settings, counts={State.PENDING: 2, State.STALE: 1}),
        Situation(settings=replace(settings, selected=False), counts={}),
        Situation(settings=replace(settings, enabled=False), counts={}, no_reviewer="none"),
    ):
        assert all(one.fine or one.advice for one in explain_symptoms(seen))


def test_the_switch_that_is_off_is_named() -> None:
    assert explain_off(ON) == ""
    assert "entries.skill-workshop.enabled" in explain_off(WorkshopSettings())
    assert "config.enabled" in explain_off(replace(ON, enabled=False))


def test_how_far_the_next_review_is_follows_the_counters() -> None:
    counted = replace(WELL, counters=Counters(turns=3, tool_calls=5))
    failed = replace(WELL, counters=Counters(turns=20, failures=2))
    unwanted = replace(WELL, settings=replace(ON, review_mode=ReviewMode.HEURISTIC))

    assert describe_next_review(counted) == "3 of 15 turns, 5 of 8 tool calls"
    assert "failed 2 times" in describe_next_review(failed)
    assert "reviewMode is heuristic" in describe_next_review(unwanted)


def test_the_last_words_of_the_reviewer_are_repeated() -> None:
    failed = replace(
        WELL, counters=Counters(failures=1), review_note="reviewer skipped: no answer within 5 s"
    )
    quiet = replace(
        WELL, counters=Counters(last_review_at=1.0), review_note="reviewer found no update"
    )

    assert not _answer(failed, "reviewer").fine
    assert "no answer within 5 s" in _answer(failed, "reviewer").finding
    assert "reviewTimeoutMs (45000)" in _answer(failed, "reviewer").advice
    assert "reviewer found no update" in _answer(quiet, "reviewer").finding


def test_a_correction_that_was_refused_is_explained() -> None:
    seen = replace(WELL, phrase_note="heuristic capture skipped: skill exceeds 1024 bytes")

    found = _answer(seen, "correction")

    assert not found.fine
    assert "exceeds 1024 bytes" in found.finding


def test_in_auto_mode_what_waits_is_what_a_person_wrote() -> None:
    settings = replace(ON, approval_policy=ApprovalPolicy.AUTO)

    found = _answer(Situation(settings=settings, counts={State.PENDING: 1}), "not applied")

    assert "approvalPolicy is auto; 1 proposal is waiting." in found.finding
    assert "a person wrote" in found.advice


def test_what_was_pruned_is_named_but_not_without_end() -> None:
    seen = replace(WELL, events=[_pruned(f"skill-{n}") for n in range(9)])

    found = _answer(seen, "disappeared")

    assert "9 pruned (maxPending is 50)" in found.finding
    assert "skill-4 and 4 more" in found.advice


def test_a_skill_that_the_agent_misses_says_why_and_what_to_do() -> None:
    hidden = Visibility(skill="a", visible=False, reason="needs the program x", fix="Install x.")
    seen = replace(WELL, applied=[Visibility(skill="b", visible=True), hidden])

    found = _answer(seen, "misses")

    assert found.finding == "a: needs the program x"
    assert found.advice.startswith("Install x. `prowess why a`")
    assert "the agent sees b." in _answer(replace(seen, applied=seen.applied[:1]), "misses").finding
