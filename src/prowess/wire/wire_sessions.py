"""The shapes that clients see of real sessions: what skills did in them, and what was missed.

Prompts are people's own words: they are shown cut, and with every secret hidden. Names stand in the
log of another program, where anything may have been put in their place.
"""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from prowess.secrets.credentials import masked
from prowess.secrets.mask import hidden_in
from prowess.skills.text import clean, one_line
from prowess.wire.skills import Json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prowess.runtime.session_cases import TriggerCase
    from prowess.runtime.sessions import SessionsReport, SkillNumbers
    from prowess.transcripts.session_model import Session, Turn
    from prowess.workshop.missed_activations import Missed

MOST_PROMPT = 160


def report(value: "SessionsReport") -> Json:
    """Show a report, without what was said in prompts that nothing is told about."""
    return {
        "since": moment(value.since_ms),
        "sessions": [_session(one) for one in value.sessions],
        "skills": [_numbers(one) for one in value.skills],
        "missed": [_missed(one) for one in value.missed],
        "skipped": dict(value.skipped),
        "problems": [clean(problem) for problem in value.problems],
        "notes": [clean(note) for note in value.notes],
    }


def turns(session: "Session") -> Json:
    """Show every prompt of one session."""
    return {**_session(session), "turns": [_turn(one) for one in session.turns]}


def suite(cases: "Sequence[TriggerCase]") -> Json:
    """Show cases in the shape that `prowess eval` reads."""
    return {"cases": [case(one) for one in cases]}


def case(value: "TriggerCase") -> Json:
    """Show one case in the shape that `prowess eval` reads."""
    names = value.expect
    return {"prompt": value.prompt, "expect": names[0] if len(names) == 1 else list(names)}


def shown(prompt: str, most: int = MOST_PROMPT) -> str:
    """Return a prompt as it may be shown: one line, cut, with stars in place of secrets."""
    # Hidden before it is cut: half of a secret is not recognised as one.
    text = one_line(hidden_in(prompt).text)
    return text if len(text) <= most else f"{text[:most]}..."


def label(name: str) -> str:
    """Return a name or a reason as it may be shown: one line, with stars in place of secrets."""
    return one_line(masked(name))


def moment(at_ms: int) -> str | None:
    """Show a time; None where it is not known."""
    if not at_ms:
        return None
    try:
        found = datetime.fromtimestamp(at_ms / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        # A log may claim any time.
        return None
    return found.isoformat(timespec="seconds").replace("+00:00", "Z")


def _session(value: "Session") -> dict[str, object]:
    used = dict.fromkeys(name for turn in value.turns for name in turn.used)
    return {
        "harness": value.harness,
        "id": clean(value.id),
        "path": clean(value.path),
        "cwd": clean(value.cwd) or None,
        "startedAt": moment(value.started_ms),
        "endedAt": moment(value.ended_ms),
        "prompts": len(value.turns),
        "corrected": sum(turn.corrected for turn in value.turns),
        "used": [label(name) for name in used],
        "skipped": dict(value.skipped),
    }


def _turn(value: "Turn") -> dict[str, object]:
    return {
        "number": value.number,
        "at": moment(value.at_ms),
        "prompt": shown(value.prompt),
        "listed": None if value.listed is None else [label(name) for name in value.listed],
        "hinted": [label(name) for name in value.hinted],
        "used": [label(name) for name in value.used],
        "byHand": label(value.by_hand) or None,
        "corrected": value.corrected,
        "toolCalls": value.tool_calls,
    }


def _numbers(value: "SkillNumbers") -> dict[str, object]:
    return {
        "name": label(value.name),
        "listed": value.listed,
        "routed": value.routed,
        "used": value.used,
        "corrected": value.corrected,
        "missed": value.missed,
        "probable": value.probable,
    }


def _missed(value: "Missed") -> dict[str, object]:
    proof = value.proof
    return {
        "kind": value.kind.value,
        "skill": label(value.skill),
        "score": round(value.score, 4),
        "harness": value.session.harness,
        "sessionId": clean(value.session.id),
        "path": clean(value.session.path),
        "turn": value.turn.number,
        "at": moment(value.turn.at_ms),
        "prompt": shown(value.turn.prompt),
        "reasons": [label(reason) for reason in value.reasons],
        "proof": proof and {"turn": proof.number, "prompt": shown(proof.prompt)},
    }
