"""The shapes that clients see of traces, drafts and goals, and of real sessions.

Prompts are people's own words: they are shown cut, and with every secret hidden. Names stand in the
log of another program, where anything may have been put in their place.
"""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from prowess.secrets.credentials import mask_credentials
from prowess.secrets.mask import hide_secrets
from prowess.skills.text import clean, one_line
from prowess.wire.skills import Json, pick

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prowess.experience.draft_facts import DraftFacts
    from prowess.runtime.experience_drafts import (
        BuiltExperience,
        Cleaned,
        DraftOutcome,
        Drafts,
        ExperienceLesson,
        KnownDraft,
        Promoted,
        RemovedDraft,
        TrashedDraft,
    )
    from prowess.runtime.sessions import SessionsReport, SkillNumbers, TriggerCase
    from prowess.safety.model import Finding
    from prowess.transcripts.sessions import Session, SessionTurn
    from prowess.transcripts.traces import Trace
    from prowess.workshop.missed_activations import Missed


def built(
    value: "BuiltExperience",
    traces: "Sequence[Trace]",
    skipped: "Mapping[str, int]",
    *,
    dry_run: bool,
) -> Json:
    """Show what came of a heap of traces."""
    return {
        "dryRun": dry_run,
        "enabled": value.enabled,
        "traces": [_trace(one) for one in traces],
        "skipped": dict(skipped),
        "drafts": [_outcome(one) for one in value.drafts],
        "goals": [_lesson(one) for one in value.lessons],
    }


def drafts(value: "Drafts") -> Json:
    """Show the drafts of a workspace."""
    return {
        "drafts": [_show_known(one) for one in value.known],
        "problems": [clean(problem) for problem in value.problems],
    }


def promoted(value: "Promoted") -> Json:
    """Show a draft that became a skill."""
    return {
        **pick(value, "dry_run draft skill path"),
        "proposal": None if value.proposal is None else value.proposal.id,
        "trash": value.trash or None,
    }


def cleaned(value: "Cleaned") -> Json:
    """Show what a clean-up removed."""
    return {
        "dryRun": value.dry_run,
        "removed": [_show_removed(one) for one in value.drafts],
        "scripts": [_show_removed(one) for one in value.scripts],
    }


def trashed(value: "Sequence[TrashedDraft]") -> Json:
    """Show what was removed and can be brought back."""
    return {
        "trash": [
            {
                **pick(one, "id=trash path has_script=script"),
                "removedAt": datetime.fromtimestamp(one.removed_at, UTC).isoformat(),
            }
            for one in value
        ]
    }


def _trace(value: "Trace") -> Json:
    return {
        **pick(value, "id task ok problem?"),
        "steps": len(value.steps),
        **pick(value, "session_path=session shape=format"),
    }


def _outcome(value: "DraftOutcome") -> Json:
    return {
        **pick(value, "id? trace.id=trace path? script? status reason? replaced"),
        "findings": [_show_finding(one) for one in value.findings],
        **_facts(value.facts),
    }


def _show_known(value: "KnownDraft") -> Json:
    return {**pick(value, "id path script? edited"), **_facts(value.facts)}


def _facts(value: "DraftFacts") -> Json:
    return pick(
        value,
        "task behaviour=behaviorFingerprint flow=flowFingerprint confidence"
        " source_session=session generated_at",
    )


def _lesson(value: "ExperienceLesson") -> Json:
    return {
        "goal": clean(value.aligned.goal),
        "traces": len(value.aligned.traces),
        "parameters": [pick(one, "name about examples") for one in value.aligned.parameters],
        **pick(value, "name=skill status"),
        "proposal": None if value.proposal is None else value.proposal.id,
        "reason": clean(value.reason) or None,
    }


def _show_removed(value: "RemovedDraft") -> Json:
    return pick(value, "id path why trash?")


def _show_finding(value: "Finding") -> Json:
    return pick(value, "level=severity rule_id file line message")


MOST_PROMPT = 160


def report(value: "SessionsReport") -> Json:
    """Show a report, without what was said in prompts that nothing is told about."""
    return {
        "since": moment(value.since_ms),
        "sessions": [_session(one) for one in value.sessions],
        "skills": [_numbers(one) for one in value.skills],
        "missed": [_show_missed(one) for one in value.missed],
        **pick(value, "skipped problems notes"),
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
    text = one_line(hide_secrets(prompt).text)
    return text if len(text) <= most else f"{text[:most]}..."


def label(name: str) -> str:
    """Return a name or a reason as it may be shown: one line, with stars in place of secrets."""
    return one_line(mask_credentials(name))


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
        **pick(value, "harness id path cwd?"),
        "startedAt": moment(value.started_ms),
        "endedAt": moment(value.ended_ms),
        "prompts": len(value.turns),
        "corrected": sum(turn.corrected for turn in value.turns),
        "used": [label(name) for name in used],
        "skipped": dict(value.skipped),
    }


def _turn(value: "SessionTurn") -> dict[str, object]:
    return {
        "number": value.number,
        "at": moment(value.at_ms),
        "prompt": shown(value.prompt),
        "listed": None if value.listed is None else [label(name) for name in value.listed],
        "hinted": [label(name) for name in value.hinted],
        "used": [label(name) for name in value.used],
        "byHand": label(value.by_hand) or None,
        **pick(value, "corrected tool_calls"),
    }


def _numbers(value: "SkillNumbers") -> dict[str, object]:
    return {
        "name": label(value.name),
        **pick(value, "listed routed used corrected missed probable"),
    }


def _show_missed(value: "Missed") -> dict[str, object]:
    proof = value.proof
    return {
        "kind": value.kind.value,
        "skill": label(value.skill),
        "score": round(value.score, 4),
        **pick(
            value, "session.harness=harness session.id=sessionId session.path=path turn.number=turn"
        ),
        "at": moment(value.turn.at_ms),
        "prompt": shown(value.turn.prompt),
        "reasons": [label(reason) for reason in value.reasons],
        "proof": proof and {"turn": proof.number, "prompt": shown(proof.prompt)},
    }
