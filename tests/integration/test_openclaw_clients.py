"""What OpenClaw's terminal and page ask a gateway for, in the shapes of their own.

The programs themselves are run in `tests/outside`; here are their calls, one by one.
"""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.integration.served_world import TOKEN, Served, served
from tests.integration.sharing_world import Hub
from tests.integration.test_claw3d_client import PATIENCE_S, Claw3D, conforms
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from prowess.host.config.file import to_settings
from prowess.host.store.sessions import ChatSessions

Json = dict[str, Any]
PAGE = "http://127.0.0.1:5173"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    made = Served(tmp_path_factory.mktemp("world"))
    made.skill("invoices", "Writes invoices for customers. Use when the user wants an invoice.")
    made.skill("papers", metadata={"openclaw": {"requires": {"bins": ["no-such-tool"]}}})
    card = made.work / "skills" / "invoices" / "skill-card.md"
    card.write_text("# Invoices\n", encoding="utf-8")
    made.configure(plugins={"entries": {"skill-workshop": {"enabled": True}}})
    with served(made) as running:
        yield running


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("health", {"probe": True}),
        ("status", {"includeChannelSummary": False}),
        ("system-presence", {}),
    ],
)
def test_a_probe_is_answered_whatever_it_sends(world: Served, method: str, params: Json) -> None:
    with Claw3D(world) as client:
        assert client.call(method, params)


def test_its_status_counts_what_there_is_none_of_as_nothing(world: Served) -> None:
    with Claw3D(world) as client:
        found = client.call("status", {"includeChannelSummary": False})

    conforms(
        found, {"runtimeVersion": str, "channelSummary": [str], "heartbeat": {"agents": [dict]}}
    )
    assert (found["tasks"]["total"], found["taskAudit"]["errors"]) == (0, 0)
    assert found["sessions"]["byAgent"][0]["agentId"] == "main"


def test_who_is_there_is_a_list_without_addresses(world: Served) -> None:
    with Claw3D(world) as client:
        found = client.call("system-presence", {})

    assert [one["mode"] for one in found] == ["gateway", "operator"]
    assert all({"host", "text", "ts", "reason"} <= set(one) for one in found)
    assert "127.0.0.1" not in str(found)


def test_an_agent_says_its_name(world: Served) -> None:
    with Claw3D(world) as client:
        found = client.call("agent.identity.get", {"agentId": "main"})
        by_session = client.call("agent.identity.get", {"sessionKey": "agent:main:main"})

    assert found == by_session
    conforms(found, {"agentId": str, "name": str, "nameSource": str, "avatar": str})


def test_a_search_finds_what_is_here_by_words_also_where_it_is_not_ready(world: Served) -> None:
    with Claw3D(world) as client:
        named = client.call("skills.search", {"query": "papers", "limit": 5})["results"]
        meant = client.call("skills.search", {"query": "write an invoice"})["results"]
        every = client.call("skills.search", {"limit": 100})["results"]
        none = client.call("skills.search", {"query": "zzz qqq"})["results"]

    assert [one["slug"] for one in named] == ["papers"]
    assert meant[0]["slug"] == "invoices"
    assert none == []
    row = {"score": float, "slug": str, "registry": str, "installRef": str, "displayName": str}
    conforms(meant, [row])
    assert None not in [value for one in meant for value in one.values()]
    # Its page asks this before anybody typed, and offers to install what it is told.
    assert every == []


def test_a_search_asks_the_registries_that_are_configured_and_says_which_cannot_be_asked(
    tmp_path: Path,
) -> None:
    made, hub = Served(tmp_path), Hub()
    made.skill("invoices", "Writes invoices for customers.")
    hub.publish("notes", "1.0.0", {"SKILL.md": b"x"})
    registries = [f"http://{hub.host}", f"http://{hub.host}/nothing"]
    install = {"registries": registries, "privateHosts": [hub.host]}
    made.configure(skills={"install": install})

    try:
        with served(made), Claw3D(made) as client:
            found = client.call("skills.search", {"query": "invoices"})
            everything = client.call("skills.search", {})
    finally:
        hub.close()

    local, offered = found["results"]
    assert (local["slug"], local["registry"]) == ("invoices", "local")
    assert offered.items() >= {
        "slug": "notes", "version": "1.0.0", "registry": registries[0],
        "installRef": "clawhub:notes", "summary": "Writes notes",
    }.items()  # fmt: skip
    (problem,) = found["problems"]
    assert "/nothing" in problem
    # Without words nothing is searched for.
    assert "notes" not in {one["slug"] for one in everything["results"]}


def test_the_card_of_a_skill_is_shown_or_said_to_be_missing(world: Served) -> None:
    with Claw3D(world) as client:
        found = client.call("skills.skillCard", {"agentId": "main", "skillKey": "invoices"})
        error, _ = client.refused("skills.skillCard", {"skillKey": "papers"})

    assert (found["schema"], found["content"]) == ("openclaw.skills.skill-card.v1", "# Invoices\n")
    assert found["sizeBytes"] == len("# Invoices\n")
    assert (error.code, "skill-card.md" in error.message) == ("INVALID_REQUEST", True)


def test_what_the_scanner_says_of_a_skill_has_what_a_verdict_must_have(world: Served) -> None:
    with Claw3D(world) as client:
        found = client.call("skills.securityVerdicts", {"agentId": "main"})

    row = {"registry": str, "ok": bool, "decision": str, "reasons": [str]}
    conforms(found["items"], [row | {"requestedSlug": str, "requestedVersion": str}])
    assert "null" not in str(found["items"])


def test_a_proposal_is_evaluated_and_only_the_reviewed_one(world: Served) -> None:
    text = {"name": "packing", "description": "Packs. Use it.", "content": "# P\n\n- Weigh it.\n"}
    with Claw3D(world) as client:
        made = client.call("skills.proposals.create", {**text, "evidence": "weigh it"})
        about = {"agentId": "main", "proposalId": made["record"]["id"]}
        seen = {**about, "expectedRevisionHash": made["revisionHash"]}
        found = client.call("skills.proposals.evaluate", seen)
        stale, frame = client.refused(
            "skills.proposals.evaluate", {**about, "expectedRevisionHash": "0" * 64}
        )
        unseen, _ = client.refused("skills.proposals.reject", about)

    evaluation = found["evaluation"]
    assert found["record"]["evaluation"] == evaluation
    assert (evaluation["proposedVersion"], evaluation["trigger"]) == ("v1", "manual")
    assert evaluation["outcomes"][0]["result"]["decision"] == "pass"
    assert made["record"]["evidence"] == "weigh it"
    assert "currentContentHash" not in made["record"]["target"]
    assert frame["error"]["details"]["code"] == "SKILL_PROPOSAL_REVISION_CHANGED"
    assert stale.code == unseen.code == "INVALID_REQUEST"
    assert "expectedRevisionHash" in unseen.message


def test_the_skills_that_the_workshop_can_change_can_be_read(world: Served) -> None:
    with Claw3D(world) as client:
        listed = client.call("skills.proposals.list", {"agentId": "main"})["installedSkills"]
        found = client.call("skills.workshop.read", {"agentId": "main", "name": "invoices"})
        error, _ = client.refused("skills.workshop.read", {"name": "prowess-manual"})

    conforms(listed, [{"name": str, "skillKey": str, "description": str}])
    assert [one["name"] for one in listed] == ["invoices", "papers"]
    assert found["content"].startswith("---\n")
    assert error.code == "INVALID_REQUEST"


def test_chats_are_listed_as_conversations_of_the_default_agent(world: Served) -> None:
    ChatSessions(str(world.state)).save("monday", {"messages": []})
    asked = {"agentId": "main", "limit": 4}

    with Claw3D(world) as client:
        found = client.call("sessions.list", asked)
        other = client.call("sessions.list", {**asked, "search": "agent:main:main"})
        nobody = client.call("sessions.list", {**asked, "agentId": "support"})

    assert [one["key"] for one in found["sessions"]] == ["agent:main:monday"]
    assert (found["count"], found["hasMore"], found["sessions"][0]["kind"]) == (1, False, "direct")
    assert other["sessions"] == nobody["sessions"] == []


def test_its_switch_of_self_learning_is_one_of_ours(tmp_path: Path) -> None:
    made = Served(tmp_path)
    made.configure(plugins={"entries": {"skill-workshop": {"enabled": True}}})
    with served(made) as running, Claw3D(running) as client:
        asked = {"baseHash": client.call("config.get", {})["hash"], "sessionKey": "main"}
        asked |= {"raw": json.dumps({"skills": {"workshop": {"autonomous": {"mode": "off"}}}})}
        client.call("config.patch", {**asked, "note": "Disable Skill Workshop self-learning"})
        found = client.call("config.get", {})

    assert found["warnings"] == []
    read = to_settings(json.loads(found["raw"])).workshop
    assert (read.active, read.auto_capture) == (True, False)


def test_what_there_is_none_of_is_told_to_whoever_asked_for_the_scope_of_it(world: Served) -> None:
    client: Json = {"id": "cli", "version": "2026.9.6", "platform": "linux", "mode": "cli"}
    asked: Json = {"minProtocol": 4, "maxProtocol": 4, "client": client, "auth": {"token": TOKEN}}
    with connect(world.url) as socket:
        socket.recv()
        asked |= {"role": "operator", "scopes": ["operator.pairing"]}
        for method, params in (("connect", asked), ("device.pair.list", {})):
            frame = {"type": "req", "id": method, "method": method, "params": params}
            socket.send(json.dumps(frame))
            answer = json.loads(socket.recv())
            assert answer["ok"], answer


def test_an_origin_that_is_allowed_meanwhile_needs_no_restart(tmp_path: Path) -> None:
    made = Served(tmp_path)
    made.configure()
    with served(made, news=True) as running:
        with pytest.raises(InvalidStatus, match="403"):
            connect(running.url, origin=Origin(PAGE))
        made.configure(gateway={"controlUi": {"allowedOrigins": [PAGE]}})

        _until_let_in(running, wanted=True)
        made.configure()
        _until_let_in(running, wanted=False)


def _until_let_in(world: Served, *, wanted: bool) -> None:
    ends, pause = time.monotonic() + PATIENCE_S, threading.Event()
    while _is_let_in(world) is not wanted:
        assert time.monotonic() < ends, "the config was not read again"
        pause.wait(0.05)


def _is_let_in(world: Served) -> bool:
    try:
        with connect(world.url, origin=Origin(PAGE)):
            pass
    except InvalidStatus:
        return False
    return True


def test_a_wrong_token_is_told_by_a_code_that_its_page_knows(world: Served) -> None:
    with connect(world.url) as socket:
        socket.recv()
        client: Json = {"id": "cli", "version": "2026.9.6", "platform": "linux", "mode": "cli"}
        params = {"minProtocol": 4, "maxProtocol": 4, "client": client, "role": "operator"}
        frame = {"type": "req", "id": "1", "method": "connect"}
        socket.send(json.dumps({**frame, "params": {**params, "auth": {"token": TOKEN[:-1]}}}))
        error = json.loads(socket.recv())["error"]

    assert error["code"] == "INVALID_REQUEST"
    assert error["details"]["code"] == "AUTH_TOKEN_MISMATCH"
    # Its terminal hides what follows `token:`.
    assert "wrong token; send" in error["message"]
