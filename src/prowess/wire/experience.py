"""The shapes that clients see of traces, drafts and goals, and of real sessions.

Prompts are people's own words: they are shown cut, and with every secret hidden. Names stand in the
log of another program, where anything may have been put in their place.
"""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from prowess.secrets.credentials import mask_credentials
from prowess.secrets.mask import hide_secrets
from prowess.skills.text import clean, one_line
from prowess.wire.skills import Json

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
        "dryRun": value.dry_run,
        "draft": value.draft,
        "skill": value.skill,
        "path": clean(value.path),
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
                "trash": one.id,
                "path": clean(one.path),
                "script": one.has_script,
                "removedAt": datetime.fromtimestamp(one.removed_at, UTC).isoformat(),
            }
            for one in value
        ]
    }


def _trace(value: "Trace") -> Json:
    return {
        "id": value.id,
        "task": clean(value.task),
        "ok": value.ok,
        "problem": clean(value.problem) or None,
        "steps": len(value.steps),
        "session": clean(value.session_path),
        "format": value.shape.value,
    }


def _outcome(value: "DraftOutcome") -> Json:
    return {
        "id": value.id or None,
        "trace": value.trace.id,
        "path": clean(value.path) or None,
        "script": clean(value.script) or None,
        "status": value.status.value,
        "reason": clean(value.reason) or None,
        "replaced": list(value.replaced),
        "findings": [_show_finding(one) for one in value.findings],
        **_facts(value.facts),
    }


def _show_known(value: "KnownDraft") -> Json:
    return {
        "id": clean(value.id),
        "path": clean(value.path),
        "script": clean(value.script) or None,
        "edited": value.edited,
        **_facts(value.facts),
    }


def _facts(value: "DraftFacts") -> Json:
    return {
        "task": clean(value.task),
        "behaviorFingerprint": clean(value.behaviour),
        "flowFingerprint": clean(value.flow),
        "confidence": clean(value.confidence),
        "session": clean(value.source_session),
        "generatedAt": clean(value.generated_at),
    }


def _lesson(value: "ExperienceLesson") -> Json:
    return {
        "goal": clean(value.aligned.goal),
        "traces": len(value.aligned.traces),
        "parameters": [
            {
                "name": one.name,
                "about": clean(one.about),
                "examples": [clean(example) for example in one.examples],
            }
            for one in value.aligned.parameters
        ],
        "skill": value.name,
        "status": value.status.value,
        "proposal": None if value.proposal is None else value.proposal.id,
        "reason": clean(value.reason) or None,
    }


def _show_removed(value: "RemovedDraft") -> Json:
    return {
        "id": clean(value.id),
        "path": clean(value.path),
        "why": clean(value.why),
        "trash": value.trash or None,
    }


def _show_finding(value: "Finding") -> Json:
    return {
        "severity": value.level.value,
        "ruleId": value.rule_id,
        "file": clean(value.file),
        "line": value.line,
        "message": clean(value.message),
    }


MOST_PROMPT = 160


def report(value: "SessionsReport") -> Json:
    """Show a report, without what was said in prompts that nothing is told about."""
    return {
        "since": moment(value.since_ms),
        "sessions": [_session(one) for one in value.sessions],
        "skills": [_numbers(one) for one in value.skills],
        "missed": [_show_missed(one) for one in value.missed],
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


def _turn(value: "SessionTurn") -> dict[str, object]:
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


def _show_missed(value: "Missed") -> dict[str, object]:
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
