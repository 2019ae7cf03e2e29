"""Shared skills over a real gateway: what is locked, newer and forbidden, and who may change it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.browser.studio_world import StudioWorld, studio
from tests.integration.gateway_world import Peer, World
from tests.integration.sharing_world import Repository, give_to_agent, page

READ, WRITE, ADMIN = "operator.read", "operator.write", "operator.admin"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[tuple[StudioWorld, Repository]]:
    made = Repository(tmp_path / "repo", {"shared/SKILL.md": page("shared")})
    with studio(tmp_path / "studio") as one:
        give_to_agent(one.gateway.runtime, made)
        yield one, made


def _connected(world: StudioWorld, *scopes: str) -> Peer:
    peer = Peer(World(world.gateway.hub, world.port))
    client = {"id": "studio", "version": "1", "platform": "web", "mode": "webchat"}
    hello = {"minProtocol": 3, "maxProtocol": 4, "client": client}
    assert peer.call("connect", {**hello, "scopes": list(scopes)})["ok"]
    return peer


def test_a_client_sees_what_is_locked_newer_and_forbidden_and_updates_it(
    world: tuple[StudioWorld, Repository],
) -> None:
    one, repository = world
    first = repository.git("rev-parse", "HEAD")
    newest = repository.commit({"shared/SKILL.md": page("shared", "Newer.")})
    with _connected(one, READ, WRITE, ADMIN) as peer:
        (lock,) = peer.call("sharing.installed")["payload"]["locks"]
        (row,) = peer.call("sharing.outdated")["payload"]["skills"]
        preview = peer.call("sharing.preview", {"name": "shared"})["payload"]
        done = peer.call("sharing.update", {"name": "shared"})["payload"]
        (after,) = peer.call("sharing.installed")["payload"]["locks"]
        answer = peer.call("sharing.policy", {"name": "shared"})
        assert answer["ok"], answer
        policy = answer["payload"]
        audit = peer.call("sharing.audit")["payload"]
        unknown = peer.call("sharing.preview", {"name": "gone"})

    assert (lock["skills"][0]["resolved"], lock["skills"][0]["verified"]["ok"]) == (first, True)
    assert (row["outdated"], row["newest"]) == (True, newest)
    assert "+Newer." in preview["difference"]
    assert done["outcome"] == "updated"
    assert after["skills"][0]["resolved"] == newest
    assert policy["effect"] == "off"
    assert (audit["ok"], audit["lines"]) == (True, 2)
    assert "gone" in json.dumps(unknown["error"])


def test_a_yes_counts_for_what_was_looked_at_and_for_nothing_newer(
    world: tuple[StudioWorld, Repository],
) -> None:
    one, repository = world
    first = repository.git("rev-parse", "HEAD")
    repository.commit({"shared/SKILL.md": page("shared", "Looked at.")})
    with _connected(one, READ, WRITE, ADMIN) as peer:
        seen = peer.call("sharing.preview", {"name": "shared"})["payload"]["to"]
        newest = repository.commit({"shared/SKILL.md": page("shared", "Nobody looked.")})
        refused = peer.call("sharing.update", {"name": "shared", "to": seen})
        (lock,) = peer.call("sharing.installed")["payload"]["locks"]
        done = peer.call("sharing.update", {"name": "shared", "to": newest})["payload"]

    assert "look at it again" in refused["error"]["message"]
    assert (lock["skills"][0]["resolved"], lock["skills"][0]["verified"]["ok"]) == (first, True)
    assert done["outcome"] == "updated"


def test_who_may_only_read_asks_no_source_and_changes_nothing(
    world: tuple[StudioWorld, Repository],
) -> None:
    one, _ = world
    with _connected(one, READ) as peer:
        refused = [
            peer.call("sharing.outdated"),
            peer.call("sharing.preview", {"name": "shared"}),
            peer.call("sharing.update", {"name": "shared"}),
        ]
        seen = peer.call("sharing.installed")

    assert not any(answer["ok"] for answer in refused)
    assert seen["ok"]
