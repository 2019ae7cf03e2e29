"""The shapes that clients see of the workshop: proposals, events and answers of its tool."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from prowess.skills.text import clean
from prowess.wire.skills import Json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prowess.runtime.workshop.explain import Answer as Explained
    from prowess.runtime.workshop.explain import Situation
    from prowess.runtime.workshop.ports import Answer, Decided, History

    # It brings the scanner along, which most commands never need.
    from prowess.safety.model import Finding
    from prowess.workshop.edit import Edit
    from prowess.workshop.proposal import Event, Proposal


def proposal(value: "Proposal") -> Json:
    """Show a proposal for a skill; what does not apply to it is left out."""
    shown: Json = {
        "id": value.id,
        "createdAt": _moment(value.created_at),
        "updatedAt": _moment(value.updated_at),
        "workspaceDir": clean(value.workspace),
        "agentId": clean(value.agent_id),
        "sessionId": clean(value.session_id),
        "skillName": value.skill,
        "title": clean(value.title),
        "reason": clean(value.reason),
        "goal": clean(value.goal),
        "source": value.source.value,
        "status": value.state.value,
        "change": _change(value),
        "scanFindings": [_scan_finding(found) for found in value.findings],
        "quarantineReason": clean(value.quarantine_reason),
        "revision": value.revision,
        "baseHash": value.base_hash,
        "evidence": [
            {"message": one.place, "role": one.role, "quote": clean(one.quote)}
            for one in value.evidence
        ],
        "similar": [{"skillName": one.skill, "score": one.score} for one in value.similar],
    }
    optional = ("agentId", "sessionId", "goal", "scanFindings", "quarantineReason", "similar")
    return {key: part for key, part in shown.items() if part or key not in optional}


def _change(value: "Proposal") -> Json:
    shown: Json = {"kind": "support_file"} if value.edit is None else _edit(value.edit)
    files = {path: body for path, body in value.change.files.items() if path != "SKILL.md"}
    if files:
        shown["supportFiles"] = [
            {
                "relativePath": clean(path),
                "body": None if body is None else clean(body.decode(errors="replace")),
            }
            for path, body in files.items()
        ]
    return shown


def _edit(value: "Edit") -> Json:
    if value.kind == "replace":
        texts = {"oldText": clean(value.old_text), "newText": clean(value.new_text)}
        about = {"description": clean(value.description)} if value.description else {}
        return {"kind": value.kind, **texts, **about}
    shown = {"kind": value.kind, "description": clean(value.description)}
    if value.kind == "append":
        shown["section"] = clean(value.section)
    return {**shown, "body": clean(value.body)}


def _scan_finding(value: "Finding") -> Json:
    return {
        "severity": value.level.value,
        "ruleId": value.rule_id,
        "message": clean(value.message),
        "file": clean(value.file),
        "line": value.line,
        "evidence": clean(value.evidence),
    }


def proposal_event(value: "Event") -> Json:
    """Show one line of the log of proposals; `sequence` is the cursor."""
    return {
        "sequence": value.sequence,
        "proposalId": value.proposal_id,
        "skillName": value.skill,
        "type": value.kind.value,
        "revision": value.revision,
        "occurredAt": _moment(value.at),
        "note": clean(value.note),
    }


def workshop_answer(value: "Answer") -> Json:
    """Show what the tool `skill_workshop` answers."""
    if value.kind == "counted":
        counts = {state.value: count for state, count in value.counts.items()}
        states = ("pending", "quarantined", "applied", "rejected", "stale")
        return {
            "workspaceDir": clean(value.workspace),
            **{state: counts.get(state, 0) for state in states},
        }
    if value.kind == "listed":
        return {"proposals": [proposal(one) for one in value.proposals]}
    if value.kind == "inspected":
        return {"proposal": proposal(value.proposal)}
    if value.kind == "written":
        return {"status": "written", "filePath": clean(value.file_path)}
    if value.kind == "history":
        return proposal_history(value)
    return _decided(value)


def proposal_history(value: "History") -> Json:
    """Show what happened, with a cursor, and what was applied to the skill, the last one first."""
    return {
        "events": [proposal_event(one) for one in value.events],
        "cursor": value.cursor,
        "more": value.more,
        "versions": [
            {
                "id": one.id,
                "revision": one.revision,
                "title": clean(one.title),
                "appliedAt": _moment(one.updated_at),
                "last": number == 0,
            }
            for number, one in enumerate(value.versions)
        ],
    }


def _decided(value: "Decided") -> Json:
    status = "rolled_back" if value.rolled_back else value.proposal.state.value
    shown: Json = {"status": status, "proposal": proposal(value.proposal)}
    return {**shown, "skillPath": clean(value.skill_path)} if value.skill_path else shown


def _moment(seconds: float) -> str:
    """Return a time as clients read it, in UTC."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def workshop_status(seen: "Situation", explained: "Iterable[Explained]" = ()) -> Json:
    """Show how the workshop is set and how far it is; `explained` answers what may seem wrong."""
    settings, counters = seen.settings, seen.counters
    shown: Json = {
        "enabled": settings.active,
        "settings": {
            "autoCapture": settings.auto_capture,
            "approvalPolicy": settings.approval_policy.value,
            "reviewMode": settings.review_mode.value,
            "reviewInterval": settings.review_interval,
            "reviewMinToolCalls": settings.review_min_tool_calls,
            "reviewTimeoutMs": settings.review_timeout_ms,
            "maxPending": settings.max_pending,
            "maxSkillBytes": settings.max_skill_bytes,
        },
        "sinceLastReview": {
            "turns": counters.turns,
            "toolCalls": counters.tool_calls,
            "failures": counters.failures,
        },
    }
    if counters.last_review_at:
        shown["lastReviewAt"] = _moment(counters.last_review_at)
    answers = [
        {
            "symptom": one.symptom,
            "fine": one.fine,
            "finding": clean(one.finding),
            "advice": clean(one.advice),
        }
        for one in explained
    ]
    return {**shown, "symptoms": answers} if answers else shown
