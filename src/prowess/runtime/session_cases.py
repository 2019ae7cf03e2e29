"""Trigger tests from real sessions: the very words that people used, and the skill that was meant.

Certain are prompts whose skill was missed, as what followed proved, and prompts for which the agent
took a skill by itself and nobody objected. A prompt that nods or corrects is about what came before
it, and one that holds a secret is left out: a suite is a file that people commit.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from prowess.routing.triggers import is_follow_up
from prowess.runtime.sessions import SessionsReport
from prowess.secrets.mask import hidden_in
from prowess.transcripts.session_model import Session
from prowess.transcripts.session_turns import corrects
from prowess.workshop.missed_activations import MissKind, plain_name

_FEWEST_WORDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerCase:
    """A prompt, and the skills of which any is right for it."""

    prompt: str
    expect: tuple[str, ...]


class TriggerCases(NamedTuple):
    """The cases of a report, and how many prompts were left out because of a secret in them."""

    cases: tuple[TriggerCase, ...]
    with_secrets: int


def trigger_cases(report: SessionsReport) -> TriggerCases:
    """Return the cases of a report, each prompt once."""
    known = {one.name for one in report.skills}
    found: dict[str, dict[str, None]] = {}
    with_secrets: set[str] = set()
    for prompt, skill in _pairs(report):
        if skill not in known or not _stands_alone(prompt):
            continue
        if hidden_in(prompt).text != prompt:
            with_secrets.add(prompt)
        else:
            found.setdefault(prompt, {})[skill] = None
    cases = (TriggerCase(prompt=prompt, expect=tuple(found[prompt])) for prompt in found)
    return TriggerCases(tuple(cases), len(with_secrets))


def _stands_alone(prompt: str) -> bool:
    is_long = len(prompt.split()) >= _FEWEST_WORDS
    return is_long and not is_follow_up(prompt) and not corrects(prompt)


def _pairs(report: SessionsReport) -> Iterator[tuple[str, str]]:
    for miss in report.missed:
        if miss.kind is MissKind.MISSED:
            yield miss.turn.prompt, miss.skill
    for session in report.sessions:
        yield from _taken(session, report.since_ms)


def _taken(session: Session, since_ms: int) -> Iterator[tuple[str, str]]:
    """Yield the prompts for which the agent first took a skill, unless it was told otherwise."""
    before: set[str] = set()
    for turn in session.turns:
        used = {plain_name(name) for name in turn.used}
        is_plain = not (turn.by_hand or turn.corrected) and (
            not turn.at_ms or turn.at_ms >= since_ms
        )
        if is_plain:
            yield from ((turn.prompt, name) for name in sorted(used - before))
        before |= used
