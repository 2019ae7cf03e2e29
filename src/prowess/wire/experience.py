"""The shapes that clients see of learning from traces: traces, drafts, goals and clean-ups."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from prowess.skills.text import clean
from prowess.wire.skills import Json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prowess.experience.draft_facts import DraftFacts
    from prowess.runtime.experience_ports import (
        Built,
        Cleaned,
        DraftOutcome,
        Drafts,
        KnownDraft,
        Lesson,
        Promoted,
        Removed,
        TrashedDraft,
    )

    # It brings the scanner along, which most commands never need.
    from prowess.safety.model import Finding
    from prowess.transcripts.traces_part import Trace


def built(
    value: "Built", traces: "Sequence[Trace]", skipped: "Mapping[str, int]", *, dry_run: bool
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
        "drafts": [_known(one) for one in value.known],
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
        "removed": [_removed(one) for one in value.drafts],
        "scripts": [_removed(one) for one in value.scripts],
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
        "findings": [_finding(one) for one in value.findings],
        **_facts(value.facts),
    }


def _known(value: "KnownDraft") -> Json:
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


def _lesson(value: "Lesson") -> Json:
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


def _removed(value: "Removed") -> Json:
    return {
        "id": clean(value.id),
        "path": clean(value.path),
        "why": clean(value.why),
        "trash": value.trash or None,
    }


def _finding(value: "Finding") -> Json:
    return {
        "severity": value.level.value,
        "ruleId": value.rule_id,
        "file": clean(value.file),
        "line": value.line,
        "message": clean(value.message),
    }
