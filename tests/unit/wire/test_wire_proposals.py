"""Proposals in the shapes that clients of other gateways read."""

import json
from dataclasses import replace
from hashlib import sha256

import pytest
from tests.rows import each_row

from prowess.runtime.workshop.apply import Outlook
from prowess.safety.model import Confidence, Finding, Level
from prowess.safety.paths import content_hash
from prowess.testing import make_skill
from prowess.wire import workshop as wire_proposals
from prowess.workshop.edit import Append, Create, Replace
from prowess.workshop.proposal import (
    Change,
    EventKind,
    Evidence,
    Proposal,
    ProposalEvent,
    ProposalSource,
    Similar,
    State,
)

PAGE = b"---\nname: packing\n---\n\n- Weigh it.\n"
HELP = b"small \x1b[31mred\xff"


def _proposal() -> Proposal:
    return Proposal(
        id="packing-1",
        revision="r" * 64,
        state=State.PENDING,
        created_at=0.5,
        updated_at=1.25,
        title="New skill: packing",
        reason="seen twice",
        payload="",
        session_id="s1",
        agent_id="main",
        workspace="/work",
        source=ProposalSource.STUDIO,
        change=Change("packing", {"SKILL.md": PAGE, "references/a.md": HELP, "gone.md": None}),
        edit=Create(description="Packs.", body="- Weigh it."),
        base_hash=content_hash({}),
        evidence=(Evidence(place=3, role="user", quote="weigh\x07 it"),),
        similar=(Similar("boxing", 0.5),),
    )


def _finding(level: Level, line: int) -> Finding:
    return Finding(
        rule_id="R1", level=level, confidence=next(iter(Confidence)), file="SKILL.md", line=line,
        column=1, message="odd\x1b", evidence="curl", evidence_hash="h",
    )  # fmt: skip


def test_a_record_has_what_clients_read() -> None:
    shown = wire_proposals.record(_proposal())

    assert shown["schema"] == "openclaw.skill-workshop.proposal.v1"
    assert (shown["id"], shown["kind"], shown["status"]) == ("packing-1", "create", "pending")
    assert shown["createdAt"] == "1970-01-01T00:00:00.500Z"
    assert shown["updatedAt"] == "1970-01-01T00:00:01.250Z"
    assert (shown["draftFile"], shown["draftHash"]) == ("PROPOSAL.md", "r" * 64)
    assert shown["origin"] == {"agentId": "main", "sessionKey": "s1"}
    assert shown["target"]["skillFile"] == "/work/skills/packing/SKILL.md"
    (file,) = shown["supportFiles"]
    assert file == {
        "path": "references/a.md", "sizeBytes": len(HELP), "hash": sha256(HELP).hexdigest(),
    }  # fmt: skip
    assert (shown["proposedVersion"], shown["evidence"]) == ("v1", "weigh it")
    assert shown["quotes"] == [{"message": 3, "role": "user", "quote": "weigh it"}]
    assert shown["similar"] == [{"skillName": "boxing", "score": 0.5}]
    assert "statusReason" not in shown
    assert "pendingAt" not in shown
    json.dumps(shown, allow_nan=False)


def test_a_proposal_without_an_origin_names_none() -> None:
    shown = wire_proposals.record(replace(_proposal(), agent_id="", session_id=""))

    assert "origin" not in shown


@pytest.mark.parametrize("state", [State.APPLIED, State.REJECTED, State.QUARANTINED, State.STALE])
def test_what_was_decided_says_when(state: State) -> None:
    shown = wire_proposals.record(replace(_proposal(), state=state))

    assert shown["status"] == state.value
    assert shown[f"{state.value}At"] == shown["updatedAt"]


def test_a_change_of_a_skill_that_exists_is_an_update() -> None:
    proposal = replace(_proposal(), base_hash=content_hash({"SKILL.md": PAGE}))

    assert wire_proposals.record(proposal)["kind"] == "update"


@each_row(
    ("edit", "wanted"),
    [
        (Create(description="Packs.", body="b"), "Packs."),
        (Append(section="S", body="b", description="More."), "More."),
        (Append(section="S", body="b"), "New skill: packing"),
        (Replace(old_text="a", new_text="b", description="Other."), "Other."),
        (Replace(old_text="a", new_text="b"), "New skill: packing"),
        (None, "New skill: packing"),
    ],
)
def test_a_proposal_is_described_by_what_it_has(
    edit: Create | Append | Replace | None, wanted: str
) -> None:
    shown = wire_proposals.record(replace(_proposal(), edit=edit))

    assert shown["description"] == wanted


def test_findings_are_counted_and_shown_from_line_one_on() -> None:
    findings = (_finding(Level.CRITICAL, 0), _finding(Level.WARN, 4), _finding(Level.WARN, 5))
    proposal = replace(
        _proposal(), state=State.QUARANTINED, findings=findings, quarantine_reason="bad\x07"
    )

    shown = wire_proposals.record(proposal)

    scan = shown["scan"]
    assert scan["state"] == shown["scanState"] == "quarantined"
    assert (scan["critical"], scan["warn"], scan["info"]) == (1, 2, 0)
    assert [found["line"] for found in scan["findings"]] == [1, 4, 5]
    assert scan["findings"][0]["message"] == "odd"
    assert shown["statusReason"] == "bad"


def test_an_inspection_has_the_text_that_would_be_and_the_one_that_is() -> None:
    current = {"SKILL.md": b"old \x1b[1mtext", "references/help.md": b"older"}

    shown = wire_proposals.inspection(_proposal(), current, 1, Outlook())

    assert shown["record"] == wire_proposals.record(_proposal())
    assert shown["revisionHash"] == "r" * 64
    assert shown["content"] == PAGE.decode()
    assert "\x1b" not in shown["currentContent"]
    (file,) = shown["supportFiles"]
    assert "\x1b" not in file["content"]
    assert "\ufffd" in file["content"]


def test_an_inspection_of_files_alone_has_no_page() -> None:
    proposal = replace(_proposal(), change=Change("packing", {"references/a.md": b"a"}))

    shown = wire_proposals.inspection(proposal, {"SKILL.md": b"old"}, 1, Outlook())

    assert (shown["content"], shown["currentContent"]) == ("", "old")


def test_an_inspection_says_what_can_be_done_and_why_not() -> None:
    change = Change("packing", {"SKILL.md": PAGE, "references/a.md": None, "b.bin": b"\0"})
    outlook = Outlook(
        apply_problem="it is applied already",
        replaced={"SKILL.md": b"before", "references/a.md": b"a"},
    )

    shown = wire_proposals.inspection(replace(_proposal(), change=change), {}, 2, outlook)

    assert (shown["canApply"], shown["applyProblem"]) == (False, "it is applied already")
    assert (shown["canRollBack"], "rollbackProblem" in shown) == (True, False)
    assert (shown["previousContent"], shown["targetExists"]) == ("before", False)
    assert shown["deletedFiles"] == ["references/a.md"]
    assert [file["path"] for file in shown["supportFiles"]] == ["b.bin"]
    assert shown["currentSupportFiles"] == [{"path": "b.bin", "binary": True}]


def test_a_manifest_lists_proposals_and_skills_and_when_anything_happened() -> None:
    older = replace(_proposal(), id="packing-0", updated_at=1.0)

    skills = [make_skill(name, description=f"Does\x1b {name}.") for name in ("alpha", "beta")]
    shown = wire_proposals.manifest([_proposal(), older], skills)
    none = wire_proposals.manifest([], [])

    assert shown["schema"] == "openclaw.skill-workshop.proposals-manifest.v1"
    assert [one["id"] for one in shown["proposals"]] == ["packing-1", "packing-0"]
    assert shown["updatedAt"] == "1970-01-01T00:00:01.250Z"
    assert shown["installedSkills"] == [
        {"name": "alpha", "skillKey": "alpha", "description": "Does alpha."},
        {"name": "beta", "skillKey": "beta", "description": "Does beta."},
    ]
    assert (none["proposals"], none["updatedAt"]) == ([], "1970-01-01T00:00:00.000Z")


@pytest.mark.parametrize(("note", "payload"), [("", None), ("no\x07t now", {"note": "not now"})])
def test_an_event_carries_its_number_and_its_note(note: str, payload: object) -> None:
    shown = wire_proposals.event(
        ProposalEvent(
            sequence=7, workspace="/work", proposal_id="packing-1", skill="packing",
            kind=EventKind.REJECTED, revision="r", at=2.0, note=note,
        )
    )  # fmt: skip

    assert (shown["sequence"], shown["eventId"], shown["type"]) == (7, "7", "rejected")
    assert shown["occurredAt"] == "1970-01-01T00:00:02.000Z"
    assert shown.get("payload") == payload
