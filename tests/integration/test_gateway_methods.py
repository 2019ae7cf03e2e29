"""Every method of a real gateway: its answer over WebSocket and HTTP, and what it refuses."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.integration.gateway_world import Peer
from tests.integration.house_world import NO_PROGRAM, House, inhabited, visited
from tests.integration.install_world import Server

from prowess.data import read_table
from prowess.errors import ConfigError, StoreError
from prowess.gateway.calls import Client, ClientScope, Json, RpcCall
from prowess.gateway.dispatch import collect_methods
from prowess.gateway.methods.system import SystemMethods
from prowess.runtime.config.redaction import REDACTED

# What clients of other gateways read of a skill.
ENTRY = {
    "name", "description", "source", "bundled", "filePath", "baseDir", "skillKey", "always",
    "disabled", "blockedByAllowlist", "eligible", "requirements",
    "missing", "configChecks", "install", "blockedByAgentFilter", "platformIncompatible",
    "modelVisible", "userInvocable", "commandVisible",
}  # fmt: skip
ABSENT = read_table("gateway/methods/absent.toml")
# Other clients ask for these in ways of their own, and what is not known changes nothing.
LENIENT = {
    "connect", "models.list", "sessions.list", "system-presence", "agents.create",
    "agent.wait", "chat.history", "chat.send", "chat.startup", "models.authStatus",
    "sessions.messages.subscribe",
    *(row[0] for group in ABSENT.values() for row in group["answers"]),
}  # fmt: skip
NEEDS = {"bins", "anyBins", "env", "config", "os"}
WORKSPACE = "openclaw-workspace"
BODY = "# Packing\n\n## Workflow\n\n- Weigh the box.\n"
DOWNLOAD = {
    "id": "get", "kind": "download", "url": "https://127.0.0.1:1/tool.tgz", "bins": [NO_PROGRAM],
    "label": "Get the tool",
}  # fmt: skip


def _metadata(**openclaw: Any) -> Json:  # noqa: ANN401 - whatever metadata holds
    return {"openclaw": openclaw}


def _furnish(house: House) -> None:
    house.skill("alpha")
    house.skill(
        "needy",
        metadata=_metadata(
            requires={"bins": [NO_PROGRAM], "env": ["NEEDY_KEY"], "config": ["skills.entries.x"]},
            primaryEnv="NEEDY_KEY",
            emoji="x",
            skillKey="needy-key",
            install=[DOWNLOAD],
        ),
    )
    house.skill("mac-only", metadata=_metadata(os=["darwin"]))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """One gateway for all that changes nothing: it has two agents with workspaces of their own."""
    house = House(tmp_path_factory.mktemp("shared"))
    _furnish(house)
    other = house.home / "other"
    house.skill("only-there", within=other)
    house.configure(
        agents={
            "list": [
                {"id": "main", "default": True, "workspace": str(house.work)},
                {"id": "second", "name": "Second", "workspace": str(other), "skills": ["x"]},
            ]
        }
    )
    with inhabited(house, workspace=False):
        yield house


# Each test connects anew: all of them over one connection might send more than a client may.
@pytest.fixture
def guest(shared: House) -> Iterator[Peer]:
    with visited(shared) as peer:
        yield peer


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """A gateway of its own, for what changes files."""
    place = House(tmp_path)
    _furnish(place)
    with inhabited(place):
        yield place


@pytest.fixture
def peer(house: House) -> Iterator[Peer]:
    with visited(house) as connected:
        yield connected


def _paid(answer: Json) -> Json:
    assert answer["ok"], answer
    payload: Json = answer["payload"]
    return payload


# What the gateway says of itself.


def test_health_and_the_list_of_agents_name_each_agent_and_the_default_one(
    shared: House, guest: Peer
) -> None:
    health = shared.both(guest, "health")
    agents = shared.both(guest, "agents.list")

    assert health["ok"] is True
    assert health["uptimeMs"] >= 0
    assert [(one["agentId"], one["isDefault"]) for one in health["agents"]] == [
        ("main", True), ("second", False),
    ]  # fmt: skip
    assert (agents["defaultId"], agents["mainKey"]) == ("main", "main")
    second = agents["agents"][1]
    assert (second["id"], second["name"], second["skills"]) == ("second", "Second", ["x"])
    assert second["workspace"] == str(shared.home / "other")


def test_status_counts_skills_proposals_and_machines(shared: House, guest: Peer) -> None:
    found = shared.both(guest, "status")

    assert found["skills"]["total"] > found["skills"]["ready"] > 0
    assert found["proposals"] == {"pending": 0, "enabled": True}
    assert found["nodes"] == []


@pytest.mark.parametrize(
    ("method", "wanted"),
    [
        ("models.list", {"models": []}),
        ("tasks.list", {"tasks": []}),
        ("question.list", {"questions": []}),
        ("skills.trash", {"removed": []}),
    ],
)
def test_what_there_is_none_of_is_an_empty_list(
    shared: House, guest: Peer, method: str, wanted: Json
) -> None:
    assert shared.both(guest, method) == wanted


def test_there_are_no_approvals_of_programs(shared: House, guest: Peer) -> None:
    found = shared.both(guest, "exec.approvals.get")

    assert found["exists"] is False
    assert found["file"]["agents"] == {}


def test_a_model_of_the_settings_is_named_without_its_address(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.configure(
        skills={"model": {"name": "tiny", "endpoint": "http://127.0.0.1:1/v1", "apiKey": "k"}}
    )

    with inhabited(house), visited(house) as peer:
        found = house.both(peer, "models.list")

    assert found == {"models": [{"id": "tiny", "name": "tiny", "provider": "endpoint"}]}


def test_hello_announces_every_method_that_there_is(shared: House) -> None:
    with Peer(shared.world) as peer:
        hello = _paid(peer.hello())

    assert "skills.proposals.rollback" in hello["features"]["methods"]
    assert hello["snapshot"]["sessionDefaults"] == {"defaultAgentId": "main", "mainKey": "main"}
    assert hello["snapshot"]["health"]["defaultAgentId"] == "main"


# Reading skills.


def test_a_status_report_has_every_field_that_clients_read(shared: House, guest: Peer) -> None:
    report = shared.both(guest, "skills.status", {"agentId": "main", "sessionKey": "s"})

    assert report["workspaceDir"] == str(shared.work)
    assert report["managedSkillsDir"] == str(shared.state / "skills")
    assert (report["agentId"], "agentSkillFilter" in report) == ("main", False)
    # What is not there is absent: clients of OpenClaw know no null.
    assert "null" not in json.dumps(report)
    for row in report["skills"]:
        assert row.keys() >= ENTRY
        assert row["requirements"].keys() == row["missing"].keys() == NEEDS
    row = next(row for row in report["skills"] if row["name"] == "needy")
    assert (row["skillKey"], row["primaryEnv"], row["source"]) == (
        "needy-key", "NEEDY_KEY", WORKSPACE,
    )  # fmt: skip
    assert row["missing"]["bins"] == [NO_PROGRAM]
    assert row["configChecks"] == [{"path": "skills.entries.x", "satisfied": False}]
    option = {"id": "get", "kind": "download", "label": "Get the tool", "bins": [NO_PROGRAM]}
    assert row["install"] == [option]
    assert not row["eligible"]


def test_each_agent_has_the_skills_of_its_own_workspace(shared: House, guest: Peer) -> None:
    first = shared.both(guest, "skills.status", {})
    second = shared.both(guest, "skills.status", {"agentId": "second"})

    names = [{row["name"] for row in report["skills"]} for report in (first, second)]
    assert "only-there" not in names[0]
    assert "only-there" in names[1]
    assert second["agentSkillFilter"] == ["x"]
    assert next(r for r in second["skills"] if r["name"] == "only-there")["blockedByAgentFilter"]


def test_the_same_report_is_not_made_twice_and_a_change_makes_it_anew(peer: Peer) -> None:
    before = _paid(peer.call("skills.status", {}))

    _paid(peer.call("skills.update", {"skillKey": "alpha", "enabled": False}))

    after = _paid(peer.call("skills.status", {}))
    changed = [row["name"] for row in after["skills"] if row not in before["skills"]]
    assert changed == ["alpha"]


def test_the_programs_that_skills_of_any_agent_ask_for_are_listed(
    shared: House, guest: Peer
) -> None:
    assert shared.both(guest, "skills.bins") == {"bins": [NO_PROGRAM]}


@pytest.mark.parametrize("field", ["name", "skillKey", "slug"])
def test_one_skill_is_found_by_any_of_its_names(shared: House, guest: Peer, field: str) -> None:
    found = shared.both(guest, "skills.detail", {field: "needy-key"})["skill"]

    assert found["name"] == "needy"
    assert "Do it." in found["body"]
    assert found["resources"] == []
    assert found["contentHash"]


@pytest.mark.parametrize("line", ["day: 2026-01-02", "at: 2026-01-02T03:04:05Z", "n: .nan"])
def test_a_frontmatter_with_what_json_does_not_know_is_shown(house: House, line: str) -> None:
    page = house.skill("odd")
    page.write_text(page.read_text().replace("---\n", f"---\n{line}\n", 1))
    house.gateway.runtime.skills.refresh()

    with visited(house) as peer:
        found = house.both(peer, "skills.detail", {"name": "odd"})

    assert found["skill"]["name"] == "odd"


def test_why_explains_a_skill_or_what_stands_between_it_and_a_message(
    shared: House, guest: Peer
) -> None:
    plain = shared.both(guest, "skills.why", {"name": "needy"})
    asked = shared.both(guest, "skills.why", {"name": "alpha", "message": "bake a cake"})

    assert not plain["visible"]
    assert NO_PROGRAM in plain["reason"]
    assert not asked["loaded"]
    assert asked["steps"]


def test_a_message_is_routed_and_its_use_is_counted(house: House, peer: Peer) -> None:
    found = _paid(
        peer.call("skills.route", {"message": "use alpha", "limit": 2, "files": ["a.md"]})
    )
    _paid(peer.call("skills.prompt", {"tools": ["read"]}))
    used = house.both(peer, "skills.usage", {"name": "alpha", "agentId": "main"})

    assert found["decision"] == "load"
    assert [match["name"] for match in found["matches"]] == ["alpha"]
    assert len(found["considered"]) == 2
    (total,) = used["totals"]
    assert (total["name"], total["routed"], total["listed"]) == ("alpha", 1, 1)
    assert [event["type"] for event in used["events"]] == ["routed"]


def test_what_would_fit_if_it_were_ready_is_told_to_who_asks(shared: House, guest: Peer) -> None:
    asked = {"message": "/needy now", "dryRun": True}

    plain = shared.both(guest, "skills.route", asked)
    more = shared.both(guest, "skills.route", {**asked, "notReady": True})

    assert "notReady" not in plain
    (found,) = more["notReady"]
    assert found["name"] == "needy"
    assert NO_PROGRAM in found["reason"]


def test_usage_has_a_cursor(peer: Peer) -> None:
    for _ in range(3):
        _paid(peer.call("skills.route", {"message": "use alpha"}))

    first = _paid(peer.call("skills.usage", {"limit": 2}))
    rest = _paid(peer.call("skills.usage", {"limit": 2, "after": first["nextSequence"]}))

    assert (len(first["events"]), len(rest["events"])) == (2, 1)
    assert "nextSequence" not in rest


def test_the_prompt_is_the_block_that_the_agent_gets(shared: House, guest: Peer) -> None:
    found = shared.both(guest, "skills.prompt", {})

    assert "<name>alpha</name>" in found["prompt"]
    assert "alpha" in found["included"]
    assert found["version"] > 0
    assert shared.both(guest, "skills.prompt", {"tools": []})["prompt"] == ""


def test_validation_tells_one_file_or_all(house: House, peer: Peer) -> None:
    broken = house.work / "skills" / "broken" / "SKILL.md"
    broken.parent.mkdir()
    broken.write_text("---\nname: broken\n---\n\nNo description.\n")
    house.gateway.runtime.skills.refresh()

    one = house.both(peer, "skills.validate", {"name": "alpha"})
    whole = house.both(peer, "skills.validate", {"strict": True})

    assert one["valid"] is True
    assert [report["path"] for report in one["reports"]] == [
        str(house.work / "skills/alpha/SKILL.md")
    ]
    assert whole["valid"] is False
    assert any(r["path"] == str(broken) and r["diagnostics"] for r in whole["reports"])


# What is refused, everywhere alike.

FOR_AGENT: list[tuple[str, Json]] = [
    ("skills.status", {}),
    ("skills.detail", {"name": "alpha"}),
    ("skills.why", {"name": "alpha"}),
    ("skills.why", {"name": "alpha", "message": "m"}),
    ("skills.prompt", {}),
    ("skills.validate", {}),
    ("skills.usage", {}),
    ("skills.route", {"message": "m"}),
    ("skills.install", {"name": "needy", "installId": "get"}),
    ("skills.remove", {"skillKey": "alpha", "source": WORKSPACE}),
    ("skills.restore", {"id": "x"}),
    ("skills.proposals.list", {}),
    ("skills.proposals.inspect", {"proposalId": "x"}),
    ("skills.proposals.events.list", {}),
    ("skills.proposals.create", {"name": "n", "description": "d", "content": "c"}),
    ("skills.proposals.update", {"skillName": "alpha", "content": "c"}),
    ("skills.proposals.revise", {"proposalId": "x", "content": "c"}),
    ("skills.proposals.apply", {"proposalId": "x", "expectedRevisionHash": "h"}),
    ("skills.proposals.reject", {"proposalId": "x", "expectedRevisionHash": "h"}),
    ("skills.proposals.quarantine", {"proposalId": "x"}),
    ("skills.proposals.rollback", {"proposalId": "x"}),
]


@pytest.mark.parametrize(("method", "params"), FOR_AGENT)
def test_an_agent_that_does_not_exist_is_refused_as_it_was_given(
    shared: House, guest: Peer, method: str, params: Json
) -> None:
    error = shared.refused(guest, method, {**params, "agentId": "Ghost "})

    assert error["code"] == "INVALID_REQUEST"
    assert error["message"] == 'unknown agent id "Ghost "'


@pytest.mark.parametrize("method", ["skills.why", "skills.validate"])
def test_a_skill_that_does_not_exist_is_refused(shared: House, guest: Peer, method: str) -> None:
    error = shared.refused(guest, method, {"name": "alfa"})

    assert error["code"] == "INVALID_REQUEST"
    assert "alfa" in error["message"]


def test_the_details_of_a_skill_that_does_not_exist_are_none(shared: House, guest: Peer) -> None:
    assert shared.both(guest, "skills.detail", {"name": "alfa"}) == {"skill": None}


@pytest.mark.parametrize("method", ["skills.detail", "skills.why"])
def test_a_skill_must_be_named(shared: House, guest: Peer, method: str) -> None:
    error = shared.refused(guest, method, {})

    assert error["details"] == {"field": "name"}


WRONG: list[tuple[str, Json, str]] = [
    ("skills.status", {"agentId": 5}, "agentId"),
    ("skills.status", {"agentId": ""}, "agentId"),
    ("skills.route", {}, "message"),
    ("skills.route", {"message": ""}, "message"),
    ("skills.route", {"message": "m", "limit": 0}, "limit"),
    ("skills.route", {"message": "m", "limit": "5"}, "limit"),
    ("skills.route", {"message": "m", "threshold": 2}, "threshold"),
    ("skills.prompt", {"tools": "read"}, "tools"),
    ("skills.usage", {"limit": 1001}, "limit"),
    ("skills.usage", {"after": -1}, "after"),
    ("skills.install", {"name": "needy"}, "installId"),
    ("skills.install", {"name": "needy", "installId": "get", "timeoutMs": 999}, "timeoutMs"),
    ("skills.install", {"name": "needy", "installId": "x", "timeoutMs": 10**8}, "timeoutMs"),
    ("skills.update", {"skillKey": "alpha"}, "enabled"),
    ("skills.update", {"skillKey": "  ", "enabled": True}, "skillKey"),
    ("skills.update", {"skillKey": "alpha", "enabled": "yes"}, "enabled"),
    ("skills.update", {"skillKey": "alpha", "env": {"A": 1}}, "env"),
    ("skills.remove", {"skillKey": "alpha"}, "source"),
    ("skills.restore", {}, "id"),
    ("config.set", {"raw": {}}, "raw"),
    ("config.patch", {"raw": "{}", "replacePaths": "a"}, "replacePaths"),
    ("node.bins", {}, "bins"),
    ("skills.proposals.create", {"name": "n", "description": "d"}, "content"),
    ("skills.proposals.apply", {"proposalId": "x"}, "expectedRevisionHash"),
    ("skills.proposals.reject", {"proposalId": "x"}, "expectedRevisionHash"),
    ("skills.proposals.events.list", {"limit": 201}, "limit"),
    ("skills.proposals.events.list", {"afterSequence": -1}, "afterSequence"),
]


@pytest.mark.parametrize(("method", "params", "field"), WRONG)
def test_what_has_the_wrong_type_is_refused_by_its_field(
    shared: House, guest: Peer, method: str, params: Json, field: str
) -> None:
    error = shared.refused(guest, method, params)

    assert error["code"] == "INVALID_REQUEST"
    assert error["message"].startswith(f"invalid {method} params: ")
    assert error["details"]["field"] == field


def test_no_method_takes_a_field_that_it_does_not_know(shared: House, guest: Peer) -> None:
    with Peer(shared.world) as peer:
        methods = set(_paid(peer.hello())["features"]["methods"]) - LENIENT

    for method in methods:
        error = guest.call(method, {"unheardOf": 1})["error"]

        assert error["code"] == "INVALID_REQUEST", method
        assert error["message"].startswith(f"invalid {method} params: "), method


def test_a_client_that_only_reads_is_told_which_right_it_lacks(shared: House) -> None:
    with visited(shared, scopes=["operator.read"]) as reader:
        error = reader.call("skills.update", {"skillKey": "alpha", "enabled": False})["error"]
        assert reader.call("skills.status", {})["ok"]

    assert error["code"] == "FORBIDDEN"
    assert "operator.admin" in error["message"]
    assert error["details"]["missingScope"] == "operator.admin"


def test_a_machine_that_lends_programs_may_do_nothing_else(shared: House) -> None:
    with visited(shared, role="node") as node:
        refused = [node.call(name)["error"] for name in ("health", "config.get", "skills.trash")]
        bins = _paid(node.call("skills.bins"))

    assert {error["details"]["missingScope"] for error in refused} == {"operator.read"}
    assert bins == {"bins": [NO_PROGRAM]}


# Install, update, remove.


def test_a_failed_install_answers_with_its_result_and_an_error(house: House, peer: Peer) -> None:
    answer = peer.call("skills.install", {"name": "needy", "installId": "get", "agentId": "main"})

    assert not answer["ok"]
    assert answer["error"]["code"] == "UNAVAILABLE"
    assert answer["error"]["message"] == answer["payload"]["message"]
    assert answer["payload"]["ok"] is False
    assert answer["payload"].keys() >= {"stdout", "stderr", "code", "agentId", "workspaceDir"}
    assert answer["payload"]["workspaceDir"] == str(house.work)


def test_an_install_tells_its_client_how_it_goes_and_nobody_else(tmp_path: Path) -> None:
    house, server = House(tmp_path), Server()
    entry = {**DOWNLOAD, "url": server.serve("/tool", b"#!/bin/sh\n" * 9_000)}
    house.skill("needy", metadata=_metadata(requires={"bins": [NO_PROGRAM]}, install=[entry]))
    house.configure(skills={"install": {"privateHosts": [server.host]}})

    try:
        with inhabited(house), visited(house) as peer, visited(house) as other:
            done = peer.call("skills.install", {"name": "needy", "installId": "get"})
            other.call("health")
    finally:
        server.close()

    assert _paid(done)["ok"] is True
    told = [event["payload"] for event in peer.events if event["event"].endswith("progress")]
    assert {"skill": "needy", "installId": "get", "received": 90_000, "total": 90_000} in told
    assert not [event for event in other.events if event["event"].endswith("progress")]


@pytest.mark.parametrize(
    ("params", "reason", "said"),
    [
        ({"name": "nobody", "installId": "get"}, "skill-not-found", "nobody"),
        ({"name": "needy", "installId": "other"}, "option-not-found", "other"),
        (
            {"source": "clawhub", "slug": "x", "version": "1", "force": True},
            "no-registry",
            "folder",
        ),
        ({"source": "upload", "uploadId": "u", "slug": "x"}, "no-registry", "folder"),
    ],
)
def test_an_install_of_what_is_not_offered_fails_with_a_result(
    peer: Peer, params: Json, reason: str, said: str
) -> None:
    answer = peer.call("skills.install", params)

    error, payload = answer["error"], answer["payload"]
    assert (error["code"], error["details"]) == ("UNAVAILABLE", {"reason": f"install.{reason}"})
    assert said in error["message"] == payload["message"]
    assert (payload["ok"], payload["code"], payload["skipReason"]) == (False, None, reason)


HOSTILE = "x\x1b[2J\r\x9b31m\u202egnp\u2066\nforged: a line"


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("skills.install", {"name": HOSTILE, "installId": "get"}),
        ("skills.install", {"name": "needy", "installId": HOSTILE}),
        ("skills.status", {"agentId": HOSTILE}),
        ("skills.why", {"name": HOSTILE}),
        ("skills.validate", {"name": HOSTILE}),
        ("skills.remove", {"skillKey": HOSTILE, "source": "openclaw-managed"}),
        ("skills.restore", {"id": HOSTILE}),
        (HOSTILE, {}),
    ],
)
def test_no_message_moves_a_cursor_or_begins_a_line(peer: Peer, method: str, params: Json) -> None:
    message = peer.call(method, params)["error"]["message"]

    assert message == " ".join(message.split())
    assert all(char.isprintable() for char in message), message


def test_what_a_skill_asks_for_is_shown_without_control_characters(
    house: House, peer: Peer
) -> None:
    install = [{"id": f"i{HOSTILE}", "kind": "uv", "package": "p", "bins": [f"b{HOSTILE}"]}]
    requires = {"bins": [f"b{HOSTILE}"], "env": [f"E{HOSTILE}"], "config": [f"c.{HOSTILE}"]}
    house.skill("odd", metadata=_metadata(requires=requires, install=install, primaryEnv=HOSTILE))

    rows = _paid(peer.call("skills.status", {}))["skills"]

    shown = json.dumps(next(row for row in rows if row["name"] == "odd"), ensure_ascii=False)
    assert shown.isprintable(), shown
    assert r"\u001b" not in shown


def test_an_entry_is_merged_and_its_key_comes_back_as_a_marker(house: House, peer: Peer) -> None:
    first = _paid(
        peer.call(
            "skills.update",
            {"skillKey": "needy-key", "apiKey": " k1\r\n", "env": {"PLAIN": "v", "B_TOKEN": "t"}},
        )
    )
    second = _paid(
        peer.call(
            "skills.update",
            {"skillKey": "needy-key", "enabled": False, "apiKey": REDACTED, "env": {"PLAIN": ""}},
        )
    )

    shown = {"apiKey": REDACTED, "env": {"PLAIN": "v", "B_TOKEN": REDACTED}}
    assert first == {"ok": True, "skillKey": "needy-key", "config": shown}
    assert second["config"] == {"enabled": False, "apiKey": REDACTED, "env": {"B_TOKEN": REDACTED}}
    stored = house.config()["skills"]["entries"]["needy-key"]
    assert stored == {"enabled": False, "apiKey": "k1", "env": {"B_TOKEN": "t"}}
    row = _paid(peer.call("skills.detail", {"name": "needy"}))["skill"]
    assert row["disabled"] is True


def test_a_variable_without_a_usable_name_is_refused_by_its_field(house: House, peer: Peer) -> None:
    error = house.refused(peer, "skills.update", {"skillKey": "alpha", "env": {"A B": "x"}})

    assert error["code"] == "INVALID_REQUEST"
    assert error["details"]["field"] == "skills.entries.alpha.env"


def test_a_skill_goes_to_the_trash_and_comes_back(house: House, peer: Peer) -> None:
    page = house.work / "skills/alpha/SKILL.md"
    text = page.read_bytes()

    gone = _paid(peer.call("skills.remove", {"skillKey": "alpha", "source": WORKSPACE}))
    names = [row["name"] for row in _paid(peer.call("skills.status", {}))["skills"]]
    waiting = house.both(peer, "skills.trash")["removed"]
    assert not page.exists()
    back = _paid(peer.call("skills.restore", {"id": gone["id"]}))

    assert gone["removed"] is True
    assert gone["removedPath"] == str(page.parent)
    assert "alpha" not in names
    assert [(one["id"], one["name"]) for one in waiting] == [(gone["id"], "alpha")]
    assert back == {"restored": True, "path": str(page.parent)}
    assert page.read_bytes() == text
    assert _paid(peer.call("skills.detail", {"name": "alpha"}))


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("skills.remove", {"skillKey": "prowess-manual", "source": "openclaw-bundled"}),
        ("skills.remove", {"skillKey": "alpha", "source": "openclaw-managed"}),
        ("skills.remove", {"skillKey": "../alpha", "source": WORKSPACE}),
        ("skills.restore", {"id": "../../work"}),
    ],
)
def test_what_must_not_be_removed_stays(
    house: House, peer: Peer, method: str, params: Json
) -> None:
    error = house.refused(peer, method, params)

    assert error["code"] == "INVALID_REQUEST"
    assert error["details"]["reason"] == "removal"
    assert (house.work / "skills/alpha/SKILL.md").exists()


# Config.


def test_the_config_is_replaced_only_by_who_read_it(house: House, peer: Peer) -> None:
    read = house.both(peer, "config.get")
    wanted = {**read["config"], "skills": {**read["config"]["skills"], "pinned": ["alpha"]}}
    raw = json.dumps(wanted)

    missing = house.refused(peer, "config.set", {"raw": raw})
    done = _paid(peer.call("config.set", {"raw": raw, "baseHash": read["hash"]}))
    stale = house.refused(peer, "config.set", {"raw": "{}", "baseHash": read["hash"]})

    assert missing["code"] == stale["code"] == "INVALID_REQUEST"
    assert missing["message"].startswith("config base hash required")
    assert stale["message"].startswith("config changed since last load")
    assert done["ok"] is True
    assert done["changedPaths"] == ["skills.pinned"]
    assert house.config()["skills"]["pinned"] == ["alpha"]
    assert house.config_file.stat().st_mode & 0o777 == 0o600
    assert _paid(peer.call("config.get"))["hash"] == done["hash"]


def test_a_patch_merges_and_one_without_effect_writes_nothing(house: House, peer: Peer) -> None:
    read = _paid(peer.call("config.get"))
    patch = {"raw": '{"skills": {"pinned": ["alpha"]}}', "baseHash": read["hash"]}

    done = _paid(peer.call("config.patch", patch))
    again = _paid(peer.call("config.patch", {**patch, "baseHash": done["hash"]}))

    assert house.config()["skills"]["routing"] == {"encoder": "none"}
    assert again["noop"] is True
    assert (again["changedPaths"], again["hash"]) == ([], done["hash"])


@pytest.mark.parametrize(
    ("raw", "field"),
    [("{", None), ("[]", None), ('{"skills": {"limits": {"maxSkillsInPrompt": "x"}}}', "skills.")],
)
def test_a_config_that_cannot_be_is_refused_and_says_where(
    house: House, peer: Peer, raw: str, field: str | None
) -> None:
    before = house.config_file.read_bytes()
    base = _paid(peer.call("config.get"))["hash"]

    error = house.refused(peer, "config.patch", {"raw": raw, "baseHash": base})

    assert error["code"] == "INVALID_REQUEST"
    assert error["details"].get("field", "").startswith(field or "")
    assert house.config_file.read_bytes() == before


def test_no_client_makes_the_gateway_send_its_variables_anywhere(house: House, peer: Peer) -> None:
    before = house.config_file.read_bytes()
    base = _paid(peer.call("config.get"))["hash"]
    routing = {"encoder": "http://127.0.0.1:9/", "encoderModel": "m", "encoderKeyEnv": "HOME"}
    patch = {"raw": json.dumps({"skills": {"routing": routing}}), "baseHash": base}

    moved = house.refused(peer, "config.patch", patch)
    lent = house.refused(peer, "skills.update", {"skillKey": "alpha", "apiKey": "${HOME}"})
    loaded = house.refused(peer, "skills.update", {"skillKey": "a", "env": {"LD_PRELOAD": "/x"}})

    assert moved["details"]["field"] == "skills.routing.encoder"
    assert "prowess config set" in moved["message"]
    assert lent["details"]["field"] == "skills.entries.alpha.apiKey"
    assert "LD_PRELOAD" in loaded["message"]
    assert house.config_file.read_bytes() == before


def test_a_schema_describes_every_setting(shared: House, guest: Peer) -> None:
    schema = shared.both(guest, "config.schema")["schema"]

    assert "routing" in schema["properties"]["skills"]["properties"]


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        (StoreError("prowess.db", "cannot be opened"), "UNAVAILABLE"),
        (ConfigError("prowess.json", "cannot be read"), "UNAVAILABLE"),
    ],
)
def test_trouble_of_the_machine_is_not_the_fault_of_who_asked(
    shared: House, guest: Peer, monkeypatch: pytest.MonkeyPatch, problem: Exception, code: str
) -> None:
    def fail(*_args: object, **_named: object) -> None:
        raise problem

    monkeypatch.setattr(type(shared.gateway.runtime.skills), "find", fail)

    error = shared.refused(guest, "skills.detail", {"name": "alpha"})

    assert (error["code"], error["message"]) == (code, str(problem))


# Proposals.


def _create(peer: Peer, **changes: Any) -> Json:  # noqa: ANN401 - whatever JSON holds
    given = {
        "name": "Packing boxes",
        "description": "Packs boxes. Use it for boxes.",
        "content": BODY,
        "goal": "fewer broken things",
        "evidence": "always weigh the box",
        "supportFiles": [{"path": "references/sizes.md", "content": "small, large"}],
    }
    return _paid(peer.call("skills.proposals.create", {**given, **changes}))


def _decide(peer: Peer, action: str, shown: Json, **more: object) -> Json:
    params = {"proposalId": shown["record"]["id"], "expectedRevisionHash": shown["revisionHash"]}
    return peer.call(f"skills.proposals.{action}", {**params, **more})


def test_a_proposal_is_made_seen_revised_applied_and_taken_back(house: House, peer: Peer) -> None:
    page = house.work / "skills/packing-boxes/SKILL.md"
    made = _create(peer)
    seen = house.both(peer, "skills.proposals.inspect", {"proposalId": made["record"]["id"]})

    revised = _paid(_decide(peer, "revise", made, content=BODY + "- Seal it.\n"))
    stale = _decide(peer, "apply", made)["error"]
    assert not page.exists()
    applied = _paid(_decide(peer, "apply", revised, reason="good", correlationId="c"))
    text = page.read_text()
    back = _paid(_decide(peer, "rollback", revised))

    assert seen == made
    assert made["record"]["schema"] == "openclaw.skill-workshop.proposal.v1"
    assert made["record"]["reason"] == "fewer broken things"
    assert made["supportFiles"] == [{"path": "references/sizes.md", "content": "small, large"}]
    assert "Weigh the box" in made["content"]
    assert made["currentContent"] == ""
    assert stale["code"] == "INVALID_REQUEST"
    assert stale["details"]["expectedRevisionHash"] == made["revisionHash"]
    assert stale["details"]["currentRevisionHash"] == revised["revisionHash"]
    assert applied["targetSkillFile"] == str(page)
    assert applied["record"]["status"] == "applied"
    assert "Seal it." in text
    assert back["record"]["status"] == "pending"
    assert not page.exists()


def test_an_applied_skill_is_there_for_the_next_question(peer: Peer) -> None:
    _paid(_decide(peer, "apply", _create(peer)))

    found = _paid(peer.call("skills.route", {"message": "packing boxes"}))

    assert [match["name"] for match in found["matches"]] == ["packing-boxes"]


def test_an_update_proposes_another_text_for_a_skill_and_keeps_its_head(
    house: House, peer: Peer
) -> None:
    page = house.work / "skills/alpha/SKILL.md"
    head = page.read_text().partition("# alpha")[0]
    content = "---\nname: other\n---\n\n# Alpha\n\n- Do it twice.\n"

    made = _paid(peer.call("skills.proposals.update", {"skillName": "alpha", "content": content}))
    _paid(_decide(peer, "apply", made))
    unknown = house.refused(peer, "skills.proposals.update", {"skillName": "no", "content": "x"})

    assert made["record"]["kind"] == "update"
    assert "Do it." in made["currentContent"]
    assert page.read_text() == f"{head}# Alpha\n\n- Do it twice.\n"
    assert "create it instead" in unknown["message"]


def test_what_is_refused_or_quarantined_is_never_applied(house: House, peer: Peer) -> None:
    first, second = _create(peer), _create(peer, name="Second one", content=BODY + "- More.\n")

    rejected = _paid(_decide(peer, "reject", first, reason="not needed"))
    kept = _paid(_decide(peer, "quarantine", second, reason="odd"))
    errors = [_decide(peer, "apply", one)["error"] for one in (first, second)]

    assert rejected["status"] == "rejected"
    assert (kept["status"], kept["scanState"]) == ("quarantined", "quarantined")
    assert kept["statusReason"] == "odd"
    assert {error["code"] for error in errors} == {"INVALID_REQUEST"}
    listed = house.both(peer, "skills.proposals.list", {"status": "quarantined"})
    assert [one["id"] for one in listed["proposals"]] == [kept["id"]]
    assert listed["schema"] == "openclaw.skill-workshop.proposals-manifest.v1"
    alpha = {"name": "alpha", "skillKey": "alpha", "description": "Does alpha. Use it for alpha."}
    assert alpha in listed["installedSkills"]


def test_what_happened_to_proposals_is_read_page_by_page(house: House, peer: Peer) -> None:
    made = _create(peer)
    _paid(_decide(peer, "reject", made, reason="no"))
    _create(peer, name="Another one", content=BODY + "- Other.\n")

    first = house.both(peer, "skills.proposals.events.list", {"limit": 2})
    after = {"limit": 2, "afterSequence": first["nextSequence"]}
    rest = house.both(peer, "skills.proposals.events.list", after)
    about = {"proposalId": made["record"]["id"]}
    own = house.both(peer, "skills.proposals.events.list", about)

    assert [event["type"] for event in first["events"]] == ["created", "rejected"]
    assert [event["type"] for event in rest["events"]] == ["created"]
    assert "nextSequence" not in rest
    assert own["events"] == first["events"]
    sequences = [event["sequence"] for event in (*first["events"], *rest["events"])]
    assert sequences == sorted(set(sequences))


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("inspect", {}),
        ("apply", {"expectedRevisionHash": "h"}),
        ("events.list", {}),
        ("revise", {"content": "x"}),
        ("rollback", {}),
    ],
)
def test_a_proposal_that_does_not_exist_is_refused(
    shared: House, guest: Peer, method: str, params: Json
) -> None:
    error = shared.refused(guest, f"skills.proposals.{method}", {"proposalId": "none", **params})

    assert error["code"] == "INVALID_REQUEST"
    assert error["details"]["reason"] == "proposal.not_found"


def test_a_revision_that_says_nothing_new_is_refused(peer: Peer) -> None:
    made = _create(peer)

    error = _decide(peer, "revise", made)["error"]

    assert error["code"] == "INVALID_REQUEST"
    assert "content" in error["message"]


def test_a_workshop_that_is_switched_off_takes_nothing_and_still_lists(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.configure(plugins={})
    given = {"name": "n", "description": "d", "content": "c"}

    with inhabited(house), visited(house) as peer:
        error = house.refused(peer, "skills.proposals.create", given)
        listed = house.both(peer, "skills.proposals.list", {})

    assert error["details"]["reason"] == "proposal.disabled"
    assert listed["proposals"] == []


def test_a_proposal_of_one_agent_is_not_one_of_another(shared: House, guest: Peer) -> None:
    given = {"name": "Mine", "description": "Mine. Use it for me.", "content": BODY}
    made = _paid(guest.call("skills.proposals.create", {**given, "agentId": "second"}))

    listed = shared.both(guest, "skills.proposals.list", {})
    theirs = shared.both(guest, "skills.proposals.list", {"agentId": "second"})

    assert listed["proposals"] == []
    assert [one["id"] for one in theirs["proposals"]] == [made["record"]["id"]]
    assert str(shared.home / "other") in made["record"]["target"]["skillFile"]
    assert made["record"]["origin"]["agentId"] == "second"


# Machines that lend their programs.


def test_a_machine_makes_a_skill_eligible_for_as_long_as_it_is_here(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.skill("needy", metadata=_metadata(requires={"bins": [NO_PROGRAM]}))

    with inhabited(house, news=True), visited(house) as peer:
        with visited(house, role="node") as node:
            asked = _paid(node.call("skills.bins"))["bins"]
            told = _paid(node.call("node.bins", {"bins": [*asked, *asked], "platform": "darwin"}))
            came = peer.event("skills.changed")
            here = _paid(peer.call("skills.detail", {"name": "needy"}))["skill"]
            nodes = _paid(peer.call("status"))["nodes"]
        left = peer.event("skills.changed")
        gone = _paid(peer.call("skills.detail", {"name": "needy"}))["skill"]

    assert told == {"ok": True, "bins": 1}
    assert nodes == [{"name": "test", "platform": "darwin", "bins": 1}]
    assert (here["eligible"], gone["eligible"]) == (True, False)
    assert left["payload"]["version"] > came["payload"]["version"]
    assert left["payload"]["agentId"] == "main"


def test_over_http_nobody_can_lend_programs(shared: House) -> None:
    status, answer = shared.rpc("node.bins", {"bins": [NO_PROGRAM]})

    assert status == 400
    assert "WebSockets" in answer["error"]["message"]


def test_there_is_room_for_fifty_machines(shared: House) -> None:
    (method,) = [
        one
        for one in collect_methods(SystemMethods(shared.gateway.services))
        if one.name == "node.bins"
    ]
    params = method.params.model_validate_json('{"bins": ["x"]}')
    nodes = shared.gateway.services.nodes

    for number in range(50):
        client = Client(id=f"n{number}", scopes=frozenset({ClientScope.NODE}))
        method.answer(RpcCall(method="node.bins", params=params, client=client))
    with visited(shared) as peer:
        error = peer.call("node.bins", {"bins": ["x"]})["error"]
    for number in range(50):
        nodes.leave(f"n{number}")

    assert error["code"] == "UNAVAILABLE"
