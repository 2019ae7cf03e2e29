"""Every word that a client says about a proposal: kept, shown, told, and written to its file."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.gateway_world import Peer
from tests.integration.house_world import House, inhabited, visited

from prowess.gateway.calls import Json

BODY = "# Packing\n\n- Weigh the box.\n"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path)
    house.skill("alpha", license="MIT")
    with inhabited(house, news=True):
        yield house


@pytest.fixture
def peer(house: House) -> Iterator[Peer]:
    with visited(house) as peer:
        yield peer


def _ask(peer: Peer, method: str, **params: object) -> Json:
    answer = peer.call(f"skills.proposals.{method}", params)
    assert answer["ok"], answer
    payload: Json = answer["payload"]
    return payload


def _refused(peer: Peer, method: str, **params: object) -> Json:
    answer = peer.call(f"skills.proposals.{method}", params)
    assert not answer["ok"], answer
    error: Json = answer["error"]
    return error


def _seen(shown: Json) -> Json:
    return {"proposalId": shown["record"]["id"], "expectedRevisionHash": shown["revisionHash"]}


def _created(peer: Peer, **more: object) -> Json:
    words = {"name": "packing", "description": "Packs boxes. Use it.", "content": BODY}
    return _ask(peer, "create", **{**words, **more})


def _updated(peer: Peer, **more: object) -> Json:
    return _ask(peer, "update", skillName="alpha", content="# alpha\n\nDo it twice.", **more)


def _events(peer: Peer) -> list[Json]:
    found: list[Json] = _ask(peer, "events.list")["events"]
    return found


def test_an_update_with_a_description_changes_it_in_the_file(house: House, peer: Peer) -> None:
    shown = _updated(peer, description="Does alpha: twice.", goal="Do it well")

    _ask(peer, "apply", **_seen(shown))

    page = (house.work / "skills/alpha/SKILL.md").read_text()
    assert 'description: "Does alpha: twice."' in page
    assert 'license: "MIT"' in page
    assert "Do it twice." in page
    record = shown["record"]
    assert (record["description"], record["goal"]) == ("Does alpha: twice.", "Do it well")
    skill = peer.call("skills.detail", {"name": "alpha"})["payload"]["skill"]
    assert skill["description"] == "Does alpha: twice."


def test_an_update_of_a_file_from_windows_keeps_its_head_and_its_line_ends(
    house: House, peer: Peer
) -> None:
    file = house.work / "skills" / "alpha" / "SKILL.md"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    head = file.read_bytes().partition(b"# alpha")[0]

    made = _updated(peer)
    _ask(peer, "apply", **_seen(made))

    assert file.read_bytes() == head + b"# alpha\r\n\r\nDo it twice.\r\n"


def test_an_update_without_one_leaves_it_and_a_goal_is_no_description(peer: Peer) -> None:
    shown = _updated(peer, goal="Do it well")

    assert "Does alpha. Use it for alpha." in shown["content"]
    record = shown["record"]
    assert (record["goal"], record["reason"]) == ("Do it well", "Do it well")
    assert record["description"] == record["title"]


def test_what_has_no_goal_shows_none(peer: Peer) -> None:
    assert "goal" not in _created(peer)["record"]


@pytest.mark.parametrize("made", [_created, _updated])
def test_each_part_can_be_revised_alone_and_the_others_stay(peer: Peer, made: object) -> None:
    assert callable(made)
    shown = made(peer, goal="First", evidence="They said so.")
    words = {"goal": "Second", "evidence": "They said it again.", "description": "Says more. Use."}

    for name, text in words.items():
        shown = _ask(peer, "revise", **_seen(shown), **{name: text})

    record = shown["record"]
    assert (record["goal"], record["reason"]) == ("Second", "Second")
    assert record["evidence"] == "They said it again."
    assert [one["quote"] for one in record["quotes"]] == ["They said it again."]
    assert record["description"] == "Says more. Use."
    assert 'description: "Says more. Use."' in shown["content"]
    assert record["proposedVersion"] == "v4"
    assert _ask(peer, "inspect", proposalId=record["id"])["record"] == record


def test_a_revision_of_nothing_says_what_can_be_revised(peer: Peer) -> None:
    error = _refused(peer, "revise", **_seen(_created(peer)))

    assert error["details"]["field"] == "content"
    assert all(word in error["message"] for word in ("content", "description", "goal", "evidence"))


def test_reasons_and_correlations_of_every_decision_are_kept_and_told(peer: Peer) -> None:
    shown = _created(peer)
    shown = _ask(peer, "revise", **_seen(shown), content=f"{BODY}- Close it.\n", correlationId="c1")
    decision = _seen(shown)
    applied = _ask(peer, "apply", **decision, reason="it is right", correlationId="c2")
    back = _ask(peer, "rollback", **decision, reason="it is wrong", correlationId="c3")
    rejected = _ask(peer, "reject", **decision, reason="never again", correlationId="c4")

    wanted = [
        ("created", None, None),
        ("revised", "c1", None),
        ("applied", "c2", "it is right"),
        ("rolled_back", "c3", "it is wrong"),
        ("rejected", "c4", "never again"),
    ]
    events = _events(peer)
    assert [
        (one["type"], one.get("correlationId"), one.get("payload", {}).get("note"))
        for one in events
    ] == wanted
    assert {one["actor"]["type"] for one in events} == {"gateway"}
    told = [peer.event("skills.proposal")["payload"] for _ in wanted]
    assert told == [{"agentId": "main", **one} for one in events]
    reasons = [one["statusReason"] for one in (applied["record"], back["record"], rejected)]
    assert reasons == ["it is right", "it is wrong", "never again"]


@pytest.mark.parametrize("decision", ["apply", "rollback"])
def test_a_reason_with_a_credential_is_refused_and_nothing_is_done(
    house: House, peer: Peer, decision: str
) -> None:
    shown = _created(peer)
    if decision == "rollback":
        _ask(peer, "apply", **_seen(shown))

    reason = "the password is hunter2hunter2, the token ghp_0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R"
    error = _refused(peer, decision, **_seen(shown), reason=reason)

    assert error["details"]["reason"] == "proposal.secret"
    assert (house.work / "skills/packing/SKILL.md").exists() == (decision == "rollback")


def test_a_correlation_that_is_a_key_is_not_told(peer: Peer) -> None:
    key = "ghp_0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R"

    _ask(peer, "reject", **_seen(_created(peer)), correlationId=key)

    assert key not in str(_events(peer))


def test_a_skill_that_was_edited_meanwhile_is_told_by_the_hashes_of_its_files(
    house: House, peer: Peer
) -> None:
    shown = _updated(peer)
    house.skill("alpha", "Edited by hand.")

    error = _refused(peer, "apply", **_seen(shown))

    details = error["details"]
    assert {"expectedContentHash", "currentContentHash"} <= set(details)
    assert "expectedRevisionHash" not in details
    assert details["expectedContentHash"] == shown["record"]["target"]["currentContentHash"]
    stale = _ask(peer, "inspect", proposalId=shown["record"]["id"])["record"]
    assert (stale["status"], bool(stale["statusReason"])) == ("stale", True)


def test_another_revision_is_still_told_by_revisions(peer: Peer) -> None:
    first = _created(peer)
    _ask(peer, "revise", **_seen(first), content=f"{BODY}- Close it.\n")

    details = _refused(peer, "apply", **_seen(first))["details"]

    assert details["expectedRevisionHash"] == first["revisionHash"]


@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        ("list", {"status": "nope"}, "status"),
        ("create", {"name": "x1", "description": " ", "content": "# x"}, "description"),
        ("create", {"name": "x1", "description": "y" * 1500, "content": "# x"}, "description"),
        ("create", {"name": "node_modules", "description": "d", "content": "# x"}, "name"),
        ("create", {"name": "\u4e2d\u6587", "description": "d", "content": "# x"}, "name"),
        ("create", {"name": "x1", "description": "d", "content": "  "}, "content"),
        ("update", {"skillName": "ghost", "content": "# x"}, "skillName"),
        ("update", {"skillName": "alpha", "content": "# x", "description": "y" * 1500},
         "description"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_proposal_is_said_by_its_field(
    peer: Peer, method: str, params: Json, field: str
) -> None:
    error = _refused(peer, method, **params)

    assert error["details"]["field"] == field
    assert error["message"].split()[0].rstrip(":") in {field, "unknown", "body", "ghost"}


@pytest.mark.parametrize("path", ["../outside.md", "/etc/x", "SKILL.md", "odd/name.md"])
def test_a_path_that_cannot_be_is_said_by_its_field(peer: Peer, path: str) -> None:
    error = _refused(
        peer, "create", name="x1", description="Does x. Use it.", content="# x\n\nDo it.",
        supportFiles=[{"path": path, "content": "x"}],
    )  # fmt: skip

    assert error["details"]["field"] == "supportFiles"


def test_a_name_with_accents_keeps_its_letters(peer: Peer) -> None:
    assert _created(peer, name="\u00dcber \u00c4")["record"]["target"]["skillName"] == "uber-a"


def test_an_agent_that_revises_an_update_leaves_its_description(house: House, peer: Peer) -> None:
    made = _updated(peer, description="Says more. Use.", goal="Do it well")
    call = {"action": "revise", "id": made["record"]["id"], "newText": "Do it thrice."}

    house.gateway.runtime.workshop.call(call)

    shown = _ask(peer, "inspect", proposalId=made["record"]["id"])
    assert 'description: "Says more. Use."' in shown["content"]
    assert "Do it thrice." in shown["content"]
    assert [one["actor"]["type"] for one in _events(peer)] == ["gateway", "agent"]
