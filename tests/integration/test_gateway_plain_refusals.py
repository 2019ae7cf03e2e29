"""What a client is told where something cannot be had: the field, the setting or the role."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.gateway_world import TOKEN, Peer, ask
from tests.integration.house_world import House, inhabited, visited

from prowess.gateway.calls import Json
from prowess.gateway.gate import HostRules, Knock, find_refusal

MANAGED, WORKSPACE = "openclaw-managed", "openclaw-workspace"
OPEN = HostRules(loopback_only=False)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    house = House(tmp_path_factory.mktemp("house"))
    house.skill("alpha")
    house.skill("beta", metadata={"openclaw": {"skillKey": "beta-key"}})
    with inhabited(house):
        yield house


@pytest.fixture
def peer(house: House) -> Iterator[Peer]:
    with visited(house) as peer:
        yield peer


@pytest.mark.parametrize(
    ("method", "field"),
    [("skills.usage", "after"), ("skills.proposals.events.list", "afterSequence")],
)
def test_a_number_that_no_store_counts_to_is_refused_by_its_field(
    house: House, peer: Peer, method: str, field: str
) -> None:
    error = house.refused(peer, method, {field: 2**63})

    assert error["code"] == "INVALID_REQUEST"
    assert error["details"] == {"field": field}
    assert house.both(peer, method, {field: 2**63 - 1})["events"] == []


def test_a_right_of_another_role_is_refused_with_the_role(house: House) -> None:
    with visited(house, role="node") as node:
        as_node = node.call("skills.status", {})["error"]
    with visited(house, scopes=["operator.read"]) as reader:
        as_operator = reader.call("skills.bins", {})["error"]
        as_reader = reader.call("config.set", {"raw": "{}"})["error"]

    assert 'role "node"' in as_operator["message"]
    assert as_operator["details"]["missingScope"] == "node"
    assert 'role "operator"' in as_node["message"]
    assert as_node["details"]["missingScope"] == "operator.read"
    assert "scopes of connect" in as_reader["message"]


@pytest.mark.parametrize(
    ("knock", "setting"),
    [
        (Knock(hosts=["evil.example"], origins=[], peer="127.0.0.1"), "gateway.allowedHosts"),
        (
            Knock(hosts=["localhost"], origins=["https://evil.example"], peer="127.0.0.1"),
            "gateway.controlUi.allowedOrigins",
        ),
    ],
)
def test_who_is_turned_away_is_told_which_setting_lets_them_in(knock: Knock, setting: str) -> None:
    found = find_refusal(knock, OPEN)

    assert found is not None
    assert setting in found


@pytest.mark.parametrize("raw", ["{nope", "[1]", '{"a": 1, "a": 2}'])
@pytest.mark.parametrize("method", ["config.set", "config.patch"])
def test_a_text_that_is_no_config_is_refused_by_its_field(
    house: House, peer: Peer, method: str, raw: str
) -> None:
    error = house.refused(peer, method, {"raw": raw})

    assert (error["code"], error["details"]["field"]) == ("INVALID_REQUEST", "raw")


@pytest.mark.parametrize(
    ("frame", "field"),
    [
        ({"type": "req", "method": "health", "params": [1]}, "params"),
        ({"type": "req", "method": 7}, "method"),
        ({"type": "ask", "method": "health"}, "type"),
    ],
)
def test_a_frame_that_is_no_request_is_refused_by_its_field(
    peer: Peer, frame: Json, field: str
) -> None:
    peer.send({"id": "odd", **frame})

    error = peer.answer("odd")["error"]
    assert error["details"] == {"field": field}
    assert peer.call("health", {})["ok"]


def test_a_list_is_called_a_list(house: House, peer: Peer) -> None:
    error = house.refused(peer, "skills.route", {"message": "x", "files": ["f"] * 60})

    assert error["details"] == {"field": "files"}
    assert "List should have at most 50 items, not 60" in error["message"]
    assert "uple" not in error["message"]


@pytest.mark.parametrize("method", ["skills.detail", "skills.why", "skills.validate"])
def test_two_names_of_two_skills_are_refused_by_the_second(
    house: House, peer: Peer, method: str
) -> None:
    error = house.refused(peer, method, {"name": "alpha", "skillKey": "beta-key"})
    unknown = house.refused(peer, method, {"name": "alpha", "slug": "ghost"})
    same = peer.call(method, {"name": "beta", "skillKey": "beta-key"})

    assert error["details"] == {"field": "skillKey"}
    assert unknown["details"] == {"field": "slug"}
    assert same["ok"]


def test_a_skill_that_another_shadows_can_be_removed_by_its_source(tmp_path: Path) -> None:
    house = House(tmp_path)
    mine = house.skill("alpha")
    managed = house.skill("alpha", "Managed.", within=house.state)
    with inhabited(house), visited(house) as peer:
        answer = peer.call("skills.remove", {"skillKey": "alpha", "source": MANAGED})
        again = peer.call("skills.remove", {"skillKey": "alpha", "source": MANAGED})
        back = peer.call("skills.restore", {"id": answer["payload"]["id"]})

    assert answer["payload"]["removedPath"] == str(managed.parent)
    assert answer["payload"]["removed"]
    assert "comes from openclaw-workspace, not from openclaw-managed" in again["error"]["message"]
    assert back["ok"]
    assert mine.exists()
    assert managed.exists()


def test_the_winner_of_a_source_is_meant_and_the_shadowed_one_comes_forth(tmp_path: Path) -> None:
    house = House(tmp_path)
    mine = house.skill("alpha")
    house.skill("alpha", "Managed.", within=house.state)
    with inhabited(house), visited(house) as peer:
        answer = peer.call("skills.remove", {"skillKey": "alpha", "source": WORKSPACE})
        left = peer.call("skills.detail", {"name": "alpha"})["payload"]["skill"]

    assert answer["payload"]["removedPath"] == str(mine.parent)
    assert left["source"] == MANAGED


def test_an_agent_that_leaves_the_config_is_forgotten_without_a_word(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    house = House(tmp_path)
    first = {"id": "main", "default": True, "workspace": str(house.work)}
    house.skill("gone-with-it", within=house.home / "other")
    second = {"id": "second", "workspace": str(house.home / "other")}
    house.configure(agents={"list": [first, second]})
    with inhabited(house, news=True, workspace=False), visited(house) as peer:
        with caplog.at_level(logging.WARNING):
            # Nobody says so: it is for those who watch the files to notice.
            house.skill("comes-late", within=house.home / "other")
            peer.event("skills.changed")
            house.configure(agents={"list": [first]})
            peer.event("config.changed")
            house.skill("alpha")
            peer.event("skills.changed")
        unknown = peer.call("skills.status", {"agentId": "second"})

    assert not unknown["ok"]
    assert [one for one in caplog.messages if "unknown agent" in one] == []


def test_the_answer_over_http_names_the_setting_too(house: House) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}", "Host": "evil.example"}

    answer = ask(house.world, "GET", "/health", "", headers)

    assert answer.status == 403
    assert "gateway.allowedHosts" in answer.text
