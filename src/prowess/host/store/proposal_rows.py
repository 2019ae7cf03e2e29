"""A proposal as a row of the store, and back: what questions ask for, and the rest as JSON."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from sqlalchemy import RowMapping

from prowess.safety.model import Confidence, Finding, Level
from prowess.workshop.acts import Actor, By
from prowess.workshop.edit import Append, Create, Edit, Replace, kept_parts
from prowess.workshop.proposal import (
    LESSON,
    Begun,
    Change,
    Event,
    EventKind,
    Evidence,
    Proposal,
    Similar,
    Source,
    State,
)

FORMAT = 1
_EDITS: Mapping[str, Callable[..., Edit]] = {
    "create": Create,
    "append": Append,
    "replace": Replace,
}


def columns_of(proposal: Proposal) -> dict[str, object]:
    """Return the columns of a proposal's row, but for its files."""
    rest = {
        "title": proposal.title,
        "reason": proposal.reason,
        "source": proposal.source.value,
        "edit": None if proposal.edit is None else kept_parts(proposal.edit),
        "baseHash": proposal.base_hash,
        "updatedAt": proposal.updated_at,
        "agentId": proposal.agent_id,
        "findings": [asdict(finding) for finding in proposal.findings],
        "quarantineReason": proposal.quarantine_reason,
        "evidence": [asdict(one) for one in proposal.evidence],
        "backup": proposal.backup,
        "forGood": proposal.for_good,
        "similar": [asdict(one) for one in proposal.similar],
        "goal": proposal.goal,
        "lesson": proposal.lesson,
        "decision": proposal.decision,
    }
    return {
        "id": proposal.id,
        "workspace": proposal.workspace,
        "skill": proposal.skill,
        "state": proposal.state.value,
        "revision": proposal.revision,
        "payload": proposal.payload,
        # Whatever a program calls its session: the store holds Unicode only.
        "session_id": proposal.session_id.encode("utf-8", "replace").decode(),
        "created_at": proposal.created_at,
        "format": FORMAT,
        "rest": json.dumps(rest),
    }


def proposal_of(row: RowMapping, files: Mapping[str, bytes | None]) -> Proposal:
    """Return the proposal of a row and its files.

    Raises:
        KeyError, TypeError, ValueError: somebody else wrote into the row.
    """
    rest = json.loads(row["rest"])
    session, lesson = _session_and_lesson(row["session_id"], rest)
    return Proposal(
        id=row["id"],
        workspace=row["workspace"],
        state=State(row["state"]),
        revision=row["revision"],
        payload=row["payload"],
        session_id=session,
        created_at=row["created_at"],
        change=Change(row["skill"], files),
        title=rest["title"],
        reason=rest["reason"],
        source=Source(rest["source"]),
        edit=_edit_of(rest["edit"]),
        base_hash=rest["baseHash"],
        updated_at=rest["updatedAt"],
        agent_id=rest["agentId"],
        findings=tuple(_finding_of(finding) for finding in rest["findings"]),
        quarantine_reason=rest["quarantineReason"],
        evidence=tuple(Evidence(**one) for one in rest["evidence"]),
        backup=rest["backup"],
        for_good=bool(rest.get("forGood", False)),
        similar=tuple(Similar(**one) for one in rest.get("similar", ())),
        goal=rest.get("goal", ""),
        lesson=lesson,
        decision=rest.get("decision", ""),
    )


def event_of(row: RowMapping) -> Event:
    """Return the event of a row of the log and of who did it, where that is told.

    Raises:
        KeyError, TypeError, ValueError: somebody else wrote into the row.
    """
    parts = {**row, "kind": EventKind(row["kind"])}
    actor, correlation = parts.pop("actor"), parts.pop("correlation_id")
    by = By(actor=Actor(actor) if actor else None, correlation_id=correlation or "")
    return Event(**parts, by=by)


def columns_of_begun(begun: Begun) -> dict[str, object]:
    """Return the columns of the row of a write that began."""
    return {**asdict(begun), "kind": begun.kind.value, "target": json.dumps(begun.target)}


def begun_of(row: RowMapping) -> Begun:
    """Return the write of a row.

    Raises:
        KeyError, TypeError, ValueError: somebody else wrote into the row.
    """
    kind, target = EventKind(row["kind"]), json.loads(row["target"])
    return Begun(**{**row, "kind": kind, "target": dict(target)})


def _session_and_lesson(session: str, rest: Mapping[str, Any]) -> tuple[str, str]:
    """Return both; in rows of old a lesson stands in the place of the session."""
    is_old = "lesson" not in rest and rest["source"] == Source.EXPERIENCE.value
    if is_old and session.startswith(LESSON):
        return "", session
    return session, rest.get("lesson", "")


def _edit_of(row: Mapping[str, str] | None) -> Edit | None:
    return None if row is None else _EDITS[row["kind"]](**row)


def _finding_of(row: Mapping[str, Any]) -> Finding:
    parts = {
        **row,
        "level": Level(row["level"]),
        "confidence": Confidence(row["confidence"]),
        "views": tuple(row["views"]),
        "lowered_by": tuple(row["lowered_by"]),
    }
    return Finding(**parts)
