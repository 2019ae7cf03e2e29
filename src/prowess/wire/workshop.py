"""Proposals in the shapes that clients of other gateways know: manifests, records and events."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256

from prowess.runtime.workshop.proposal_outlook import Outlook
from prowess.runtime.workshop.proposal_wording import Wording, wording_of
from prowess.safety.contents import content_hash
from prowess.safety.model import Finding, Level
from prowess.skills.text import clean
from prowess.wire.skills import Json
from prowess.workshop.acts import Actor
from prowess.workshop.proposal import Event, EventKind, Proposal, Source, State

_MANIFEST = "openclaw.skill-workshop.proposals-manifest.v1"
_RECORD = "openclaw.skill-workshop.proposal.v1"
_SKILL_FILE = "SKILL.md"
_NOTHING = content_hash({})
_AUTHORS = {Source.CLI: "cli", Source.STUDIO: "gateway"}
_BY_ITSELF = frozenset((EventKind.STALE, EventKind.PRUNED, EventKind.INTERRUPTED))


def manifest(proposals: Iterable[Proposal], installed: Iterable[str]) -> Json:
    """Show what waits and what was decided, newest first."""
    rows = list(proposals)
    newest = max((one.updated_at for one in rows), default=0.0)
    return {
        "schema": _MANIFEST,
        "updatedAt": _moment(newest),
        "proposals": [_entry(one) for one in rows],
        "installedSkills": [clean(name) for name in installed],
    }


def _entry(value: Proposal) -> Json:
    return {
        "id": value.id,
        "kind": _kind(value),
        "status": value.state.value,
        "title": clean(value.title),
        "description": clean(_description(value)),
        "skillName": value.skill,
        "skillKey": value.skill,
        "createdAt": _moment(value.created_at),
        "updatedAt": _moment(value.updated_at),
        "scanState": _scan_state(value),
        "revisionHash": value.revision,
        "source": value.source.value,
    }


def record(value: Proposal, version: int = 1) -> Json:
    """Show one proposal, all but its text; `version` counts how often it was worded."""
    shown: Json = {
        **_entry(value),
        "schema": _RECORD,
        "createdBy": _AUTHORS.get(value.source, "skill-workshop"),
        "proposedVersion": version,
        "draftFile": "PROPOSAL.md",
        "draftHash": value.revision,
        "reason": clean(value.reason),
        "supportFiles": [
            {"path": clean(path), "sizeBytes": len(body), "hash": sha256(body).hexdigest()}
            for path, body in value.change.files.items()
            if path != _SKILL_FILE and body is not None
        ],
        "target": {
            "skillName": value.skill,
            "skillKey": value.skill,
            "skillDir": clean(f"{value.workspace}/skills/{value.skill}"),
            "skillFile": clean(f"{value.workspace}/skills/{value.skill}/{_SKILL_FILE}"),
            "currentContentHash": value.base_hash,
        },
        "scan": _scan(value),
        "evidence": [
            {"message": one.place, "role": one.role, "quote": clean(one.quote)}
            for one in value.evidence
        ],
        "similar": [{"skillName": one.skill, "score": one.score} for one in value.similar],
    }
    if value.agent_id or value.session_id:
        shown["origin"] = {
            "agentId": clean(value.agent_id),
            "sessionKey": clean(value.session_id),
        }
    if value.state is not State.PENDING:
        shown[f"{value.state.value}At"] = _moment(value.updated_at)
    if value.goal:
        shown["goal"] = clean(value.goal)
    reason = _status_reason(value)
    return {**shown, "statusReason": clean(reason)} if reason else shown


def _status_reason(value: Proposal) -> str:
    if value.state is State.QUARANTINED:
        return value.quarantine_reason
    return value.decision or value.quarantine_reason


def inspection(
    value: Proposal, current: Mapping[str, bytes], version: int, outlook: Outlook
) -> Json:
    """Show one proposal with what would be written, what is there now, and what can be done."""
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
        "editable": _editable(wording_of(value, current)),
        "canApply": not outlook.apply_problem,
        "applyProblem": clean(outlook.apply_problem) or None,
        "canRollBack": not outlook.rollback_problem,
        "rollbackProblem": clean(outlook.rollback_problem) or None,
    }


def _editable(words: Wording | None) -> Json | None:
    """Show what whoever revises a proposal may change: the words, not the file around them."""
    if words is None:
        return None
    about = words.description
    return {
        "part": words.part.value,
        "content": clean(words.text),
        "description": None if about is None else clean(about),
        "section": clean(words.section) or None,
        "oldText": clean(words.old_text) or None,
    }


def _text(body: bytes | None) -> str | None:
    return None if body is None else clean(body.decode(errors="replace"))


def event(value: Event, version: int = 1, source: Source | None = None) -> Json:
    """Show one line of the log; `sequence` is the cursor.

    Who acted is said where it is known. Logs of old do not say it: there it is known of who made a
    proposal, from its `source`, and of what nobody asked for.
    """
    shown: Json = {
        "sequence": value.sequence,
        "eventId": str(value.sequence),
        "proposalId": value.proposal_id,
        "skillName": value.skill,
        "type": value.kind.value,
        "proposedVersion": version,
        "revisionHash": value.revision,
        "occurredAt": _moment(value.at),
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


def _kind(value: Proposal) -> str:
    return "create" if value.base_hash == _NOTHING else "update"


def _description(value: Proposal) -> str:
    # What it leads to is said by its title, where nothing is said of the skill itself.
    return (value.edit.description if value.edit is not None else "") or value.title


def _scan(value: Proposal) -> Json:
    counts = dict.fromkeys(Level, 0)
    for found in value.findings:
        counts[found.level] += 1
    return {
        "state": _scan_state(value),
        "scannedAt": _moment(value.updated_at),
        **{level.value: count for level, count in counts.items()},
        "findings": [_finding(found) for found in value.findings],
    }


def _scan_state(value: Proposal) -> str:
    return "quarantined" if value.quarantine_reason else "clean"


def _finding(value: Finding) -> Json:
    return {
        "ruleId": value.rule_id,
        "severity": value.level.value,
        "file": clean(value.file),
        "line": max(value.line or 1, 1),
        "message": clean(value.message),
        "evidence": clean(value.evidence),
    }


def _moment(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
