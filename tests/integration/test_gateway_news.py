"""What clients of a real gateway are told unasked: each change once, whoever made it."""

import hashlib
import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest
from tests.integration.gateway_world import PATIENCE_S, Peer
from tests.integration.house_world import House, inhabited, visited

from prowess.errors import StoreError
from prowess.gateway.calls import Json
from prowess.wiring.events import News, OneAtATime

T = TypeVar("T")
TOLD = ("skills.changed", "config.changed", "skills.proposal")


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    place = House(tmp_path)
    place.skill("alpha")
    with inhabited(place, news=True):
        yield place


@pytest.fixture
def peer(house: House) -> Iterator[Peer]:
    with visited(house) as connected:
        yield connected


def _replace(path: Path, text: str) -> None:
    """Write a file in one step, as every writer of ours does."""
    fresh = path.with_name("fresh.tmp")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)


def _mark(house: House, peer: Peer, mark: str) -> str:
    """Change what means nothing, and wait until it is told: all looks before that are over."""
    _replace(house.config_file, json.dumps({**house.config(), "meta": {"mark": mark}}))
    found = _hash(house)
    house.gateway.news.nudge()
    ends = time.monotonic() + PATIENCE_S
    while not any(event["payload"].get("hash") == found for event in peer.events):
        assert time.monotonic() < ends, peer.events
        peer.events.append(peer.receive())
    return found


def _hash(house: House) -> str:
    return hashlib.sha256(house.config_file.read_bytes()).hexdigest()


def _heard(house: House, peer: Peer) -> list[Json]:
    """Return all news up to now, after two more looks at everything."""
    marks = {_mark(house, peer, mark) for mark in ("one", "two")}
    found = [
        event
        for event in peer.events
        if event["event"] in TOLD and event["payload"].get("hash") not in marks
    ]
    numbers = [event["seq"] for event in peer.events]
    assert numbers == sorted(set(numbers))
    peer.events.clear()
    return found


def _names(events: list[Json]) -> list[str]:
    return [event["event"] for event in events]


def _prowess(house: House, *words: str) -> None:
    """Run a command in a process of its own."""
    subprocess.run(
        [sys.executable, "-m", "prowess", *words],
        env={**os.environ, "PROWESS_HOME": str(house.state), "HOME": str(house.home)},
        cwd=house.work, check=True, capture_output=True,
    )  # fmt: skip


def test_a_skill_that_changed_on_disk_is_told_once(house: House, peer: Peer) -> None:
    before = peer.call("skills.prompt", {})["payload"]["version"]

    house.skill("alpha", body="Do it in another way.")
    told = peer.event("skills.changed")

    after = peer.call("skills.prompt", {})["payload"]["version"]
    assert told["payload"] == {"agentId": "main", "version": after}
    assert after > before
    assert _heard(house, peer) == []


def test_a_new_folder_and_one_that_is_gone_are_told(house: House, peer: Peer) -> None:
    page = house.skill("beta")
    came = peer.event("skills.changed")
    names = [row["name"] for row in peer.call("skills.status", {})["payload"]["skills"]]

    page.unlink()
    left = peer.event("skills.changed")

    assert "beta" in names
    assert left["payload"]["version"] > came["payload"]["version"]
    assert _heard(house, peer) == []


def test_a_file_that_was_only_touched_is_no_news(house: House, peer: Peer) -> None:
    page = house.work / "skills/alpha/SKILL.md"

    _replace(page, page.read_text())
    house.skill("marker")
    peer.event("skills.changed")

    assert _heard(house, peer) == []


def test_a_config_that_another_process_wrote_is_told_once_with_what_it_means(
    house: House, peer: Peer
) -> None:
    _prowess(house, "config", "set", "skills.entries.alpha.enabled", "false")
    told = peer.event("config.changed")
    changed = peer.event("skills.changed")

    assert told["payload"] == {"hash": _hash(house), "path": str(house.config_file)}
    assert changed["seq"] > told["seq"]
    assert peer.call("skills.detail", {"name": "alpha"})["payload"]["skill"]["disabled"]
    assert peer.call("config.get")["payload"]["hash"] == told["payload"]["hash"]
    assert _heard(house, peer) == []


def test_a_config_that_means_the_same_for_skills_does_not_tell_that_skills_changed(
    house: House, peer: Peer
) -> None:
    _replace(house.config_file, json.dumps({**house.config(), "meta": {"x": 1}}))
    house.gateway.news.nudge()

    told = peer.event("config.changed")

    assert told["payload"]["hash"] == _hash(house)
    assert _heard(house, peer) == []


def test_a_proposal_of_another_process_is_told_once(house: House, peer: Peer) -> None:
    words = ["--skill", "packing", "--description", "Packs boxes.", "--body", "# P\n\n- Weigh it."]
    _prowess(house, "workshop", "suggest", *words, "--no-apply", "-w", str(house.work))
    house.gateway.news.nudge()

    told = peer.event("skills.proposal")["payload"]

    (listed,) = peer.call("skills.proposals.list", {})["payload"]["proposals"]
    assert (told["agentId"], told["type"], told["skillName"]) == ("main", "created", "packing")
    assert (told["proposalId"], told["revisionHash"]) == (listed["id"], listed["revisionHash"])
    assert _heard(house, peer) == []


def test_what_a_client_does_itself_is_told_to_all_of_them_once(house: House, peer: Peer) -> None:
    with visited(house) as other:
        peer.call("skills.update", {"skillKey": "alpha", "enabled": False})
        told = [one.event(kind) for one in (peer, other) for kind in TOLD[:2]]

        assert told[0]["payload"] == told[2]["payload"]
        assert told[1]["payload"] == told[3]["payload"]
        assert _heard(house, other) == []
    given = {"name": "Packing", "description": "Packs. Use it.", "content": "# P\n\n- Weigh it.\n"}
    shown = peer.call("skills.proposals.create", given)["payload"]
    decision = {"proposalId": shown["record"]["id"], "expectedRevisionHash": shown["revisionHash"]}
    peer.call("skills.proposals.apply", decision)
    created, applied = peer.event("skills.proposal"), peer.event("skills.proposal")
    changed = peer.event("skills.changed")

    assert [one["payload"]["type"] for one in (created, applied)] == ["created", "applied"]
    assert changed["payload"]["agentId"] == "main"
    rest = _heard(house, peer)
    assert "skills.proposal" not in _names(rest)
    assert _names(rest).count("skills.changed") == 0


def test_a_broken_config_stops_nothing_and_the_last_good_one_stays(
    house: House, peer: Peer, caplog: pytest.LogCaptureFixture
) -> None:
    good = house.config_file.read_text()
    peer.call("skills.update", {"skillKey": "alpha", "enabled": False})
    peer.event("skills.changed")
    peer.event("config.changed")

    with caplog.at_level(logging.WARNING):
        _replace(house.config_file, '{"skills": ')
        house.gateway.news.nudge()
        broken = peer.event("config.changed")
        for number in range(3):
            house.skill(f"beta-{number}")
            peer.event("skills.changed")
    seen = peer.call("config.get")["payload"]
    skill = peer.call("skills.detail", {"name": "alpha"})
    refused = peer.call("skills.update", {"skillKey": "alpha", "enabled": True})["error"]
    _replace(house.config_file, good)
    house.gateway.news.nudge()

    assert broken["payload"]["hash"] == seen["hash"]
    assert (seen["valid"], len(seen["issues"])) == (False, 1)
    assert skill["payload"]["skill"]["disabled"]
    assert refused["code"] == "INVALID_REQUEST"
    assert peer.event("config.changed")["payload"]["hash"] == _hash(house)
    assert peer.event("skills.changed")
    assert not peer.call("skills.detail", {"name": "alpha"})["payload"]["skill"]["disabled"]
    assert len([one for one in caplog.records if "config.unreadable" in one.getMessage()]) == 1


def test_an_agent_that_is_added_is_watched_too_and_its_old_proposals_are_no_news(
    tmp_path: Path,
) -> None:
    house, other = House(tmp_path), tmp_path / "other"
    house.skill("alpha")
    house.skill("gamma", within=other)
    first = {"id": "main", "default": True, "workspace": str(house.work)}
    house.configure(agents={"list": [first, {"id": "old", "workspace": str(other)}]})
    given = {"name": "Packing", "description": "Packs. Use it.", "content": "# P\n\n- Weigh it.\n"}
    with inhabited(house, workspace=False), visited(house) as peer:
        assert peer.call("skills.proposals.create", {**given, "agentId": "old"})["ok"]
    house.configure(agents={"list": [first]})

    with inhabited(house, workspace=False, news=True), visited(house) as peer:
        house.configure(agents={"list": [first, {"id": "new", "workspace": str(other)}]})
        house.gateway.news.nudge()
        came = peer.event("skills.changed")
        page = house.skill("gamma", body="Do it anew.", within=other)
        changed = peer.event("skills.changed")
        rest = _heard(house, peer)

    assert page.exists()
    assert came["payload"]["agentId"] == changed["payload"]["agentId"] == "new"
    assert _names(rest) == ["config.changed"]


def test_watching_that_was_switched_off_begins_again(house: House, peer: Peer) -> None:
    for watch in (False, True):
        config = house.config()
        config["skills"]["load"] = {"watch": watch}
        _replace(house.config_file, json.dumps(config))
        house.gateway.news.nudge()
        peer.event("config.changed")
    house.gateway.news.nudge()

    house.skill("beta")

    assert peer.event("skills.changed")["payload"]["agentId"] == "main"


def test_what_goes_wrong_with_one_kind_of_news_does_not_stop_the_others(
    house: House, peer: Peer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    problems: list[Exception] = [StoreError("prowess.db", "is broken"), ValueError("canary-5ec")]

    def fail(*_args: object, **_named: object) -> None:
        raise problems[0]

    (house.state / "prowess.db").touch()
    monkeypatch.setattr(type(house.gateway.runtime.workshop), "events", fail)

    for name in ("beta", "gamma"):
        house.skill(name)
        peer.event("skills.changed")
        _mark(house, peer, name)
        problems.reverse()

    said = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert sum("prowess.db: is broken" in text for text in said) == 1
    assert any("ValueError" in text for text in said)
    assert "canary-5ec" not in caplog.text


def test_a_workshop_that_was_never_used_leaves_no_file(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.configure(plugins={})

    with inhabited(house, news=True), visited(house) as peer:
        house.skill("beta")
        peer.event("skills.changed")

    assert not (house.state / "prowess.db").exists()


def test_a_client_that_lends_programs_hears_no_news(house: House, peer: Peer) -> None:
    with visited(house, role="node") as node:
        house.skill("beta")
        peer.event("skills.changed")
        node.call("skills.bins")

        assert not [event for event in node.events if event["event"] in TOLD]


def test_what_many_want_at_once_is_done_once_more_and_not_for_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, go_on, in_line = threading.Event(), threading.Event(), threading.Semaphore(0)
    turns: list[int] = []

    class Line(threading.Condition):
        """Tells of everybody who has said what it wants, and now waits for it."""

        def wait_for(self, predicate: Callable[[], T], timeout: float | None = None) -> T:
            in_line.release()
            return super().wait_for(predicate, timeout)

    def work() -> None:
        turns.append(len(turns))
        begun.set()
        assert go_on.wait(PATIENCE_S)

    wanted = OneAtATime(work)
    monkeypatch.setattr(wanted, "_state", Line())

    with ThreadPoolExecutor(21) as pool:
        first = pool.submit(wanted)
        assert begun.wait(PATIENCE_S)
        later = [pool.submit(wanted) for _ in range(20)]
        for _ in (first, *later):
            assert in_line.acquire(timeout=PATIENCE_S)
        is_waiting = not any(done.done() for done in (first, *later))
        go_on.set()
        for done in (first, *later):
            done.result(PATIENCE_S)

    assert is_waiting
    assert len(turns) == 2


def test_work_that_fails_is_told_to_who_did_it_and_can_be_done_again() -> None:
    problems = [ValueError("x")]

    def work() -> None:
        if problems:
            raise problems.pop()

    wanted = OneAtATime(work)
    with pytest.raises(ValueError, match="x"):
        wanted()

    wanted()


def test_news_that_never_began_can_be_stopped_and_do_not_begin_later(tmp_path: Path) -> None:
    with inhabited(House(tmp_path)) as place:
        news = News(place.gateway.runtime, lambda *_: None, lambda: "")
        news.stop()
        news.start()
        news.stop()

        assert not [one for one in threading.enumerate() if one.name == "news"]
