"""Proposals in the shapes that clients of other gateways know: manifests, records and events.

The shapes that clients see of the workshop: proposals, events and answers of its tool.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

from prowess.runtime.workshop.apply import Outlook
from prowess.runtime.workshop.drafts import Wording, wording_of
from prowess.safety.model import Finding, Level
from prowess.safety.paths import content_hash
from prowess.skills.model import Skill, Tier
from prowess.skills.text import clean, cut_listed
from prowess.wire.skills import Json, leave_out_nulls, moment, pick
from prowess.workshop.proposal import (
    Actor,
    EventKind,
    Proposal,
    ProposalEvent,
    ProposalSource,
    State,
)

if TYPE_CHECKING:
    from prowess.runtime.workshop.explain import Situation
    from prowess.runtime.workshop.explain import SymptomAnswer as Explained
    from prowess.runtime.workshop.ports import Answer, Decided, History
    from prowess.workshop.edit import Edit


def proposal(value: "Proposal", proof: str = "") -> Json:
    """Show a proposal for a skill; what does not apply to it is left out.

    `proof` says what was shown of the skill as it is now, where anything was.
    """
    shown: Json = {
        "id": value.id,
        "createdAt": moment(value.created_at),
        "updatedAt": moment(value.updated_at),
        **pick(
            value,
            "workspace=workspaceDir agent_id session_id skill=skillName title reason goal"
            " source state=status",
        ),
        "change": _change(value),
        "scanFindings": [_scan_finding(found) for found in value.findings],
        **pick(value, "quarantine_reason revision base_hash"),
        "evidence": [pick(one, "place=message role quote") for one in value.evidence],
        "similar": [pick(one, "skill=skillName score") for one in value.similar],
        "proof": proof,
    }
    optional = (
        "agentId",
        "sessionId",
        "goal",
        "scanFindings",
        "quarantineReason",
        "similar",
        "proof",
    )
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
        texts = pick(value, "old_text new_text")
        about = {"description": clean(value.description)} if value.description else {}
        return {"kind": value.kind, **texts, **about}
    shown = pick(value, "kind description")
    if value.kind == "append":
        shown["section"] = clean(value.section)
    return {**shown, "body": clean(value.body)}


def _scan_finding(value: "Finding") -> Json:
    return pick(value, "level=severity rule_id message file line evidence")


def proposal_event(value: "ProposalEvent") -> Json:
    """Show one line of the log of proposals; `sequence` is the cursor."""
    return {
        **pick(value, "sequence proposal_id skill=skillName kind=type revision"),
        "occurredAt": moment(value.at),
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
    return _show_decided(value)


def proposal_history(value: "History") -> Json:
    """Show what happened, with a cursor, and what was applied to the skill, the last one first."""
    return {
        "events": [proposal_event(one) for one in value.events],
        **pick(value, "cursor more"),
        "versions": [
            {
                **pick(one, "id revision title"),
                "appliedAt": moment(one.updated_at),
                "last": number == 0,
            }
            for number, one in enumerate(value.versions)
        ],
    }


def _show_decided(value: "Decided") -> Json:
    status = "rolled_back" if value.rolled_back else value.proposal.state.value
    shown: Json = {"status": status, "proposal": proposal(value.proposal)}
    return {**shown, "skillPath": clean(value.skill_path)} if value.skill_path else shown


def workshop_status(seen: "Situation", explained: "Iterable[Explained]" = ()) -> Json:
    """Show how the workshop is set and how far it is; `explained` answers what may seem wrong."""
    settings, counters = seen.settings, seen.counters
    shown: Json = {
        "enabled": settings.active,
        "settings": pick(
            settings,
            "auto_capture ask_agent approval_policy review_mode review_interval"
            " review_min_tool_calls review_timeout_ms max_pending max_skill_bytes",
        ),
        "sinceLastReview": pick(counters, "turns tool_calls failures"),
    }
    if seen.no_reviewer:
        shown["noReviewer"] = seen.no_reviewer
    if counters.last_review_at:
        shown["lastReviewAt"] = moment(counters.last_review_at)
    answers = [pick(one, "symptom fine finding advice") for one in explained]
    return {**shown, "symptoms": answers} if answers else shown


_MANIFEST = "openclaw.skill-workshop.proposals-manifest.v1"
_RECORD = "openclaw.skill-workshop.proposal.v1"
_SKILL_FILE = "SKILL.md"
_NOTHING = content_hash({})
_AUTHORS = {ProposalSource.CLI: "cli", ProposalSource.STUDIO: "gateway"}
_BY_ITSELF = frozenset((EventKind.STALE, EventKind.PRUNED, EventKind.INTERRUPTED))


def manifest(proposals: Iterable[Proposal], installed: Iterable[Skill]) -> Json:
    """Show what waits and what was decided, newest first, and the skills that can be changed."""
    rows = list(proposals)
    newest = max((one.updated_at for one in rows), default=0.0)
    return {
        "schema": _MANIFEST,
        "updatedAt": moment(newest),
        "proposals": [_entry(one) for one in rows],
        "installedSkills": [
            {**pick(skill, "name key=skillKey"), "description": cut_listed(skill.description)}
            for skill in installed
        ],
    }


def _entry(value: Proposal) -> Json:
    return {
        "id": value.id,
        "kind": "create" if value.base_hash == _NOTHING else "update",
        "status": value.state.value,
        "title": clean(value.title),
        "description": clean(_description(value)),
        "skillName": value.skill,
        "skillKey": value.skill,
        "createdAt": moment(value.created_at),
        "updatedAt": moment(value.updated_at),
        "scanState": _scan_state(value),
        "revisionHash": value.revision,
        "source": value.source.value,
    }


_LONGEST_QUOTE = 200


def inbox_row(value: Proposal, *, is_late: bool, proof: str = "") -> Json:
    """Show a proposal as a row: what changes, by how much, whose words, and what was found."""
    change = _change(value)
    files = change.get("supportFiles", ())
    added = change.get("newText") or change.get("body") or ""
    texts = [added, *(one["body"] or "" for one in files)]
    return {
        **_entry(value),
        "change": {
            "kind": change["kind"],
            "section": change.get("section"),
            "words": next((line for line in added.splitlines() if line.strip()), "")[
                :_LONGEST_QUOTE
            ],
            "files": [one["relativePath"] for one in files],
        },
        "added": sum(len(text.splitlines()) for text in texts),
        "removed": len(change.get("oldText", "").splitlines()),
        "quote": clean(value.evidence[0].quote)[:_LONGEST_QUOTE] if value.evidence else None,
        "findings": len(value.findings),
        "late": is_late,
        "proof": proof or None,
    }


def record(value: Proposal, version: int = 1) -> Json:
    """Show one proposal, all but its text; `version` counts how often it was worded."""
    shown: Json = {
        **_entry(value),
        "schema": _RECORD,
        "createdBy": _AUTHORS.get(value.source, "skill-workshop"),
        "proposedVersion": f"v{version}",
        "draftFile": "PROPOSAL.md",
        **pick(value, "revision=draftHash reason"),
        "supportFiles": [
            {"path": clean(path), "sizeBytes": len(body), "hash": sha256(body).hexdigest()}
            for path, body in value.change.files.items()
            if path != _SKILL_FILE and body is not None
        ],
        "target": _target(value),
        "scan": _scan(value),
        "goal": clean(value.goal) or None,
        "evidence": "\n".join(clean(one.quote) for one in value.evidence) or None,
        # The same, with where each was said.
        "quotes": [pick(one, "place=message role quote") for one in value.evidence],
        "similar": [pick(one, "skill=skillName score") for one in value.similar],
        "statusReason": clean(_status_reason(value)) or None,
    }
    if value.agent_id or value.session_id:
        shown["origin"] = pick(value, "agent_id? session_id?=sessionKey")
    if value.state is not State.PENDING:
        shown[f"{value.state.value}At"] = moment(value.updated_at)
    found: Json = leave_out_nulls(shown)
    return found


def _target(value: Proposal) -> Json:
    folder = clean(f"{value.root}/{value.skill}")
    return {
        **pick(value, "skill=skillName skill=skillKey"),
        "skillDir": folder,
        "skillFile": f"{folder}/{_SKILL_FILE}",
        "source": Tier.WORKSPACE.source_id,
        "currentContentHash": None if value.base_hash == _NOTHING else value.base_hash,
    }


def _status_reason(value: Proposal) -> str:
    if value.state is State.QUARANTINED:
        return value.quarantine_reason
    return value.decision or value.quarantine_reason


def inspection(
    value: Proposal, current: Mapping[str, bytes], version: int, outlook: Outlook
) -> Json:
    """Show one proposal with what would be written, what is there now, and what can be done."""
    shown: Json = leave_out_nulls(_inspection(value, current, version, outlook))
    return shown


def _inspection(
    value: Proposal, current: Mapping[str, bytes], version: int, outlook: Outlook
) -> Json:
    replaced = outlook.replaced
    # Against the skill of now, wherever the wish has a place there: what somebody else wrote
    # meanwhile would look as if the proposal took it away.
    now = outlook.anew
    seen = replace(value, change=now.change, findings=now.report.findings) if now else value
    files = seen.change.files.items()
    support = [(path, body) for path, body in files if path != _SKILL_FILE and body is not None]
    return {
        "record": record(seen, version),
        "revisionHash": value.revision,
        "content": _text(seen.change.files.get(_SKILL_FILE)) or "",
        "currentContent": _text(current.get(_SKILL_FILE)) or "",
        # Of what is applied: what it replaced, for a difference that still tells something.
        "previousContent": None if replaced is None else _text(replaced.get(_SKILL_FILE)) or "",
        "supportFiles": [
            {"path": clean(path), "content": _text(body) or ""} for path, body in support
        ],
        # What is there now in their places, if anything.
        "currentSupportFiles": [
            {"path": clean(path), "content": _text(current.get(path)), "binary": b"\0" in body}
            for path, body in support
        ],
        "deletedFiles": [clean(path) for path, body in files if body is None],
        "targetExists": _SKILL_FILE in current,
        "targetChanged": outlook.target_changed,
        # Whether `content` is what would come of `currentContent`, or of a text that is gone.
        "contentFits": outlook.anew is not None or not outlook.target_changed,
        "canUpdate": outlook.target_changed and not outlook.update_problem,
        "updateProblem": clean(outlook.update_problem) or None,
        "editable": _show_editable(wording_of(value, current)),
        "canApply": not outlook.apply_problem,
        "applyProblem": clean(outlook.apply_problem) or None,
        "canRollBack": not outlook.rollback_problem,
        "rollbackProblem": clean(outlook.rollback_problem) or None,
    }


def evaluation(record: Json, outlook: Outlook, now: float, correlation_id: str) -> Json:
    """Show whether a proposal could be applied now; `record` is the proposal as it is shown."""
    scan, at = record["scan"], moment(now)
    decision = "block" if scan["critical"] else "revise" if outlook.apply_problem else "pass"
    result: Json = {
        "summary": clean(outlook.apply_problem) or "It can be applied.",
        "findings": [
            {key: found[key] for key in ("ruleId", "severity", "message", "file", "line")}
            for found in scan["findings"]
        ],
        "decision": decision,
    }
    outcome = {"pluginId": "prowess", "evaluatorId": "scanner", "status": "completed"}
    shown: Json = {
        "id": sha256(f"{record['id']} {record['draftHash']} {at}".encode()).hexdigest()[:32],
        "proposedVersion": record["proposedVersion"],
        "revisionHash": record["revisionHash"],
        "trigger": "manual",
        "startedAt": at,
        "completedAt": at,
        "outcomes": [{**outcome, "result": result}],
    }
    return {**shown, "correlationId": clean(correlation_id)} if correlation_id else shown


def _show_editable(words: Wording | None) -> Json | None:
    """Show what whoever revises a proposal may change: the words, not the file around them."""
    if words is None:
        return None
    about = words.description
    return {
        **pick(words, "part text=content"),
        "description": None if about is None else clean(about),
        **pick(words, "section? old_text?"),
    }


def _text(body: bytes | None) -> str | None:
    return None if body is None else clean(body.decode(errors="replace"))


def event(value: ProposalEvent, version: int = 1, source: ProposalSource | None = None) -> Json:
    """Show one line of the log; `sequence` is the cursor.

    Who acted is said where it is known. Logs of old do not say it: there it is known of who made a
    proposal, from its `source`, and of what nobody asked for.
    """
    shown: Json = {
        "sequence": value.sequence,
        "eventId": str(value.sequence),
        **pick(value, "proposal_id skill=skillName kind=type"),
        "proposedVersion": f"v{version}",
        "revisionHash": value.revision,
        "occurredAt": moment(value.at),
    }
    actor = value.by.actor
    if actor is None and value.kind is EventKind.CREATED and source is not None:
        actor = source.actor
    if actor is None and value.kind in _BY_ITSELF:
        actor = Actor.SYSTEM
    if actor is not None:
        shown["actor"] = {"type": actor.value}
    if value.by.correlation_id:
        shown["correlationId"] = clean(value.by.correlation_id)
    return {**shown, "payload": {"note": clean(value.note)}} if value.note else shown


def _description(value: Proposal) -> str:
    # What it leads to is said by its title, where nothing is said of the skill itself.
    return (value.edit.description if value.edit is not None else "") or value.title


def _scan(value: Proposal) -> Json:
    counts = dict.fromkeys(Level, 0)
    for found in value.findings:
        counts[found.level] += 1
    return {
        "state": _scan_state(value),
        "scannedAt": moment(value.updated_at),
        **{level.value: count for level, count in counts.items()},
        "findings": [_show_finding(found) for found in value.findings],
    }


def _scan_state(value: Proposal) -> str:
    return "quarantined" if value.quarantine_reason else "clean"


def _show_finding(value: Finding) -> Json:
    return {
        **pick(value, "rule_id level=severity file"),
        "line": max(value.line or 1, 1),
        **pick(value, "message evidence"),
    }
