"""The methods of the studio over a real gateway: what they answer, refuse, and never tell."""

import json
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.browser.studio_world import MISSED_PROMPT, Choice, StudioWorld, studio
from tests.integration.gateway_world import TOKEN, Peer, World, ask

from prowess.cli.main import main
from prowess.cli.serve import say_address
from prowess.gateway.calls import Json

READ, WRITE, ADMIN = "operator.read", "operator.write", "operator.admin"


def _connected(world: StudioWorld, *scopes: str) -> Peer:
    peer = Peer(World(world.gateway.hub, world.port))
    client = {"id": "studio", "version": "1", "platform": "web", "mode": "webchat"}
    hello: Json = {"minProtocol": 3, "maxProtocol": 4, "client": client}
    answer = peer.call("connect", {**hello, "scopes": list(scopes or (READ, WRITE, ADMIN))})
    assert answer["ok"], answer
    return peer


def _asked(peer: Peer, method: str, params: Json | None = None) -> Json:
    answer = peer.call(method, params or {})
    assert answer["ok"], answer
    payload: Json = answer["payload"]
    return payload


def _refused(peer: Peer, method: str, params: Json) -> Json:
    answer = peer.call(method, params)
    assert not answer["ok"], answer
    error: Json = answer["error"]
    return error


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudioWorld]:
    """One world for all that changes nothing."""
    with studio(tmp_path_factory.mktemp("studio")) as one:
        yield one


# Each test connects anew: all of them over one connection might send more than a client may.
@pytest.fixture
def guest(shared: StudioWorld) -> Iterator[Peer]:
    with _connected(shared) as peer:
        yield peer


@pytest.fixture
def world(tmp_path: Path) -> Iterator[StudioWorld]:
    with studio(tmp_path) as one:
        yield one


@pytest.fixture
def peer(world: StudioWorld) -> Iterator[Peer]:
    with _connected(world) as one:
        yield one


def test_sources_come_with_the_one_that_wins_first(guest: Peer) -> None:
    sources = _asked(guest, "skills.sources")["sources"]

    there = [one["source"] for one in sources if one["exists"]]
    assert there == [
        "openclaw-workspace", "agents-skills-personal", "harness-personal", "openclaw-managed",
        "openclaw-bundled",
    ]  # fmt: skip
    assert [one["rank"] for one in sources] == list(range(1, len(sources) + 1))
    assert len({one["id"] for one in sources}) == len(sources)
    assert all(not one["skills"] for one in sources if not one["exists"])


def test_a_shadowed_skill_names_its_winner_and_a_broken_file_its_line(guest: Peer) -> None:
    sources = _asked(guest, "skills.sources", {"agentId": "main"})["sources"]

    rows = {(one["source"], row["name"]): row for one in sources for row in one["skills"]}
    lost = rows["openclaw-managed", "release-notes"]
    won = rows["openclaw-workspace", "release-notes"]
    broken = rows["openclaw-workspace", "broken-frontmatter"]
    assert (lost["state"], won["state"], won["winner"]) == ("shadowed", "active", None)
    assert lost["winner"]["path"] == won["path"]
    assert (broken["state"], broken["diagnostics"][0]["line"]) == ("broken", 1)
    assert broken["diagnostics"][0]["path"] == broken["path"]


def test_every_file_of_every_source_is_counted_once(guest: Peer) -> None:
    sources = _asked(guest, "skills.sources")["sources"]
    status = _asked(guest, "skills.status")

    for one in sources:
        assert sum(one["counts"].values()) == len(one["skills"])
    active = sorted(r["name"] for o in sources for r in o["skills"] if r["state"] == "active")
    assert active == sorted(row["name"] for row in status["skills"])


def test_briefly_a_source_says_the_same_in_fewer_words(guest: Peer) -> None:
    whole = _asked(guest, "skills.sources")["sources"]
    brief = _asked(guest, "skills.sources", {"brief": True})["sources"]

    for one, other in zip(whole, brief, strict=True):
        assert {**one, "skills": None} == {**other, "skills": None}
        for row, said in zip(one["skills"], other["skills"], strict=True):
            if isinstance(said, dict):
                assert said == row
                continue
            name, path = (said, f"{one['path']}/{said}/SKILL.md") if isinstance(said, str) else said
            assert (name, path, "active") == (row["name"], row["path"], row["state"])
            assert row["diagnostics"] == []
    assert "pdf-forms" in brief[0]["skills"]


def test_an_agent_sees_the_sources_of_its_own_workspace(shared: StudioWorld, guest: Peer) -> None:
    sources = _asked(guest, "skills.sources", {"agentId": "reviewer"})["sources"]

    assert sources[0]["path"] == str(shared.review / "skills")
    assert [row["name"] for row in sources[0]["skills"]] == ["code-review", "sql-report"]


def test_a_file_of_a_skill_is_shown_as_text_or_said_to_be_none(guest: Peer) -> None:
    text = _asked(guest, "skills.file", {"name": "pdf-forms", "path": "scripts/fields.py"})
    page = _asked(guest, "skills.file", {"name": "pdf-forms", "path": "SKILL.md"})
    other = _asked(guest, "skills.file", {"name": "pdf-forms", "path": "assets/sample.bin"})

    assert text["kind"] == "text"
    assert "def main(path)" in text["text"]
    assert page["text"].startswith("---\nname: pdf-forms\n")
    assert (other["kind"], other["text"], other["size"]) == ("binary", None, 1024)


@pytest.mark.parametrize(
    "path",
    ["../code-review/SKILL.md", "/etc/passwd", "scripts/../../../state/prowess.json", "scripts"],
)
def test_no_path_leaves_the_folder_of_the_skill(guest: Peer, path: str) -> None:
    error = _refused(guest, "skills.file", {"name": "pdf-forms", "path": path})

    assert (error["code"], error["details"]["reason"]) == ("INVALID_REQUEST", "path")


def test_a_link_is_not_followed_and_a_large_file_not_sent(world: StudioWorld, peer: Peer) -> None:
    folder = world.roots["work"] / "pdf-forms"
    (folder / "scripts" / "config.json").symlink_to(world.config_file)
    (folder / "big.txt").write_bytes(b"a" * 300_000)

    link = _refused(peer, "skills.file", {"name": "pdf-forms", "path": "scripts/config.json"})
    large = _asked(peer, "skills.file", {"name": "pdf-forms", "path": "big.txt"})

    assert link["details"]["reason"] == "path"
    assert (large["kind"], large["text"], large["size"]) == ("large", None, None)


def test_text_of_a_file_cannot_move_a_cursor(world: StudioWorld, peer: Peer) -> None:
    (world.roots["work"] / "pdf-forms" / "odd.md").write_text("a\x1b[2Jb\u202ec\n")

    found = _asked(peer, "skills.file", {"name": "pdf-forms", "path": "odd.md"})

    assert found["text"] == "abc\n"


def test_the_history_of_a_skill_follows_what_is_applied_and_taken_back(
    world: StudioWorld, peer: Peer
) -> None:
    applied = world.proposals["applied"]

    before = _asked(peer, "skills.history", {"name": "code-review"})
    _asked(peer, "skills.proposals.rollback", {"proposalId": applied})
    after = _asked(peer, "skills.history", {"name": "code-review"})

    assert [one["proposalId"] for one in before["versions"]] == [applied]
    assert before["versions"][0]["isLast"]
    assert [one["type"] for one in before["changes"]] == ["applied"]
    assert [one["type"] for one in after["changes"]] == ["rolled_back", "applied"]
    assert after["versions"] == []


def test_days_without_anything_are_there_and_numbers_add_up(guest: Peer) -> None:
    found = _asked(guest, "skills.activity", {"days": 30, "agentId": "main"})

    assert len(found["days"]) == 30
    assert (found["days"][0]["day"], found["days"][-1]["day"]) == (found["from"], found["to"])
    assert found["days"][0]["routed"] == 0
    for use in ("listed", "routed", "loaded", "invoked", "corrected", "none"):
        assert found["totals"][use] == sum(day[use] for day in found["days"])
    for use in ("listed", "routed", "loaded", "invoked", "corrected"):
        assert found["totals"][use] == sum(one[use] for one in found["skills"])
    assert found["totals"]["none"] > 0
    assert found["skills"][0]["name"] == "code-review"


def test_what_was_never_used_is_named_and_what_was_is_not(shared: StudioWorld, guest: Peer) -> None:
    def is_scanned() -> bool:
        skills = _asked(guest, "skills.status", {"agentId": "main"})["skills"]
        return not any(skill.get("scannerBlock", {}).get("pending") for skill in skills)

    # What the gateway scans while nobody waits is ready when that is done, and not before.
    World(shared.gateway.hub, shared.port).until(is_scanned)

    found = _asked(guest, "skills.activity", {"agentId": "main"})

    assert "brand-voice" in found["neverUsed"]
    assert not {"code-review", "pdf-forms", "image-gen"} & set(found["neverUsed"])
    assert found["neverUsedTotal"] == len(found["neverUsed"])


def test_without_an_agent_all_of_them_count(guest: Peer) -> None:
    every = _asked(guest, "skills.activity", {"days": 60})
    main_agent = _asked(guest, "skills.activity", {"days": 60, "agentId": "main"})

    assert {one["agentId"] for one in every["agents"]} == {"main", "reviewer"}
    assert every["totals"]["routed"] == main_agent["totals"]["routed"] + 15
    assert every["agentId"] is None


def test_a_message_that_fits_nothing_is_counted_and_one_that_is_tried_out_is_not(
    world: StudioWorld, peer: Peer
) -> None:
    def today() -> Json:
        day: Json = _asked(peer, "skills.activity", {"days": 1, "agentId": "main"})["days"][0]
        return day

    before = today()
    _asked(peer, "skills.route", {"message": "hello there"})
    _asked(peer, "skills.route", {"message": "hello again", "dryRun": True})
    _asked(peer, "skills.route", {"message": "fill in this PDF form", "dryRun": True})
    after = today()

    assert (after["none"], after["routed"]) == (before["none"] + 1, before["routed"])
    world.gateway.runtime.close()
    kept = b"".join(file.read_bytes() for file in world.state.glob("usage.db*"))
    assert b"hello" not in kept


def test_a_saved_message_is_run_as_a_test_and_by_the_terminal(
    world: StudioWorld,
    peer: Peer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    should = {"name": "pdf-forms", "message": "please fill in this PDF form"}
    made = _asked(peer, "skills.tests.add", should)["test"]
    _asked(peer, "skills.tests.add", {"name": "sql-report", "message": "draw", "should": False})
    _asked(peer, "skills.tests.add", {"message": "good morning", "should": False})
    listed = _asked(peer, "skills.tests.list")
    run = _asked(peer, "skills.tests.run")

    monkeypatch.setenv("PROWESS_HOME", str(world.state))
    monkeypatch.setenv("HOME", str(world.home))
    monkeypatch.chdir(world.work)
    code = main(["eval", "--saved", "--json"])
    terminal = json.loads(capsys.readouterr().out)

    assert [one["name"] for one in listed["tests"]] == [None, "sql-report", "pdf-forms"]
    assert (run["total"], run["passed"], run["failed"]) == (3, 3, 0)
    assert run["results"][0]["id"] == made["id"]
    assert run["results"][0]["loaded"] == ["pdf-forms"]
    assert (code, terminal["total"]["cases"], terminal["failures"]) == (0, 3, [])
    assert Path(listed["path"]).stat().st_mode & 0o777 == 0o600


def test_a_test_whose_skill_is_gone_has_not_passed(peer: Peer) -> None:
    _asked(peer, "skills.tests.add", {"name": "pdf-forms", "message": "fill in this PDF form"})

    run = _asked(peer, "skills.tests.run", {"agentId": "reviewer"})

    assert (run["passed"], run["results"][0]["passed"]) == (0, False)
    assert "reviewer may not use pdf-forms" in run["results"][0]["problem"]


def test_a_test_is_removed_once(peer: Peer) -> None:
    made = _asked(peer, "skills.tests.add", {"message": "good morning", "should": False})["test"]

    removed = [_asked(peer, "skills.tests.remove", {"id": made["id"]})["removed"] for _ in "ab"]

    assert removed == [True, False]
    assert _asked(peer, "skills.tests.list")["tests"] == []


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"message": ""}, "message"),
        ({"message": "x" * 4_001, "should": False}, "message"),
        ({"message": "hello"}, "name"),
        ({"message": "hello", "should": "yes"}, "should"),
    ],
)
def test_a_test_that_says_nothing_is_refused(guest: Peer, params: Json, field: str) -> None:
    error = _refused(guest, "skills.tests.add", params)

    assert (error["code"], error["details"]["field"]) == ("INVALID_REQUEST", field)


def test_a_message_with_a_credential_is_not_kept(world: StudioWorld, peer: Peer) -> None:
    secret = "sk-ant-api03-" + "a1B2c3D4e5F6g7H8" * 4

    error = _refused(peer, "skills.tests.add", {"message": f"use {secret}", "should": False})

    assert error["details"]["reason"] == "proposal.secret"
    assert secret not in json.dumps(error)
    assert not (world.state / "routing-tests.json").exists()


def test_who_may_only_read_saves_nothing_and_sees_no_words(shared: StudioWorld) -> None:
    with _connected(shared, READ) as reader:
        save = _refused(reader, "skills.tests.add", {"message": "hello", "should": False})
        reveal = _refused(reader, "sessions.missed", {"reveal": True})
        masked = _asked(reader, "sessions.missed")

    assert save["details"]["missingScope"] == WRITE
    assert reveal["details"]["missingScope"] == ADMIN
    assert masked["missed"]
    assert {one["prompt"] for one in masked["missed"]} == {None}
    assert "PDF" not in json.dumps([one["reasons"] for one in masked["missed"]])


def test_what_people_wrote_is_shown_to_who_asks_for_it(guest: Peer) -> None:
    found = _asked(guest, "sessions.missed", {"days": 30, "reveal": True, "fresh": True})

    first = found["missed"][0]
    assert (first["kind"], first["skill"], first["prompt"]) == (
        "missed",
        "pdf-forms",
        MISSED_PROMPT,
    )
    assert (found["sessions"], found["prompts"], found["total"]) == (1, 3, len(found["missed"]))


def test_claims_proofs_and_tests_of_skills_are_told_and_change_nothing(
    guest: Peer, shared: StudioWorld
) -> None:
    fresh = _asked(guest, "skills.fresh")
    proof = _asked(guest, "skills.proof")
    asked = {"name": "pdf-forms", "model": "a:b", "harness": "codex"}
    one = _asked(guest, "skills.proof", asked)
    waiting = _asked(guest, "skills.proposals.list", {"brief": True})["proposals"]
    tests = _asked(guest, "skills.test")

    assert {row["state"] for row in fresh["skills"]} <= {"fresh", "stale", "unknown"}
    assert "pdf-forms" in {row["skill"] for row in fresh["skills"]}
    assert {row["state"] for row in proof["skills"]} == {"unproven"}
    assert [row["name"] for row in one["skills"]] == ["pdf-forms"]
    assert all(row["proof"] is None for row in waiting)
    assert tests["counts"]["validation"]["tests"] > 0
    assert not list(shared.state.rglob("freshness.json"))


def _wait_for_scans(peer: Peer) -> None:
    """Wait until all skills of a gateway that has just started are scanned.

    A change of one is then scanned at once; before, it waits for its turn among many.
    """
    ends, pause = time.monotonic() + 120, threading.Event()
    while any(
        row["blockedByScanner"] and not row["scannerBlock"]["findings"]
        for row in _asked(peer, "skills.status")["skills"]
    ):
        assert time.monotonic() < ends, "not all skills were scanned"
        pause.wait(0.05)


def test_the_tests_of_one_skill_are_its_own_and_the_messages_saved_about_it(
    world: StudioWorld, peer: Peer
) -> None:
    _wait_for_scans(peer)
    suite = world.roots["work"] / "pdf-forms" / "evals" / "triggers.yaml"
    suite.parent.mkdir()
    suite.write_text("cases:\n  - prompt: fill in this pdf form\n    expect: pdf-forms\n")
    saved = {"name": "pdf-forms", "should": False, "message": "how is the weather"}
    other = {"name": "sql-report", "should": True, "message": "revenue of last week"}
    for one in (saved, other):
        _asked(peer, "skills.tests.add", one)

    found = _asked(peer, "skills.test", {"name": "pdf-forms"})

    assert found["passed"], found
    messages = {row["name"] for row in found["tests"] if row["kind"] == "triggers"}
    assert messages == {"fill in this pdf form", "how is the weather"}
    kinds = {kind: row["tests"] for kind, row in found["counts"].items()}
    assert kinds == {"validation": 1, "scan": 1, "freshness": 1, "triggers": 2, "budget": 0}
    assert _refused(peer, "skills.test", {"name": "nobody"})["code"] == "INVALID_REQUEST"


def test_costs_are_told_for_each_agent_and_harness(guest: Peer) -> None:
    every = _asked(guest, "skills.costs")["agents"]
    one = _asked(guest, "skills.costs", {"agentId": "main", "entries": True})["agents"]

    assert [agent["agentId"] for agent in every] == ["main", "reviewer"]
    ours = {row["harness"]: row for row in every[0]["harnesses"]}["prowess"]
    assert ours["tokens"] > 0
    assert "entries" not in ours
    assert any(row["entries"] for row in one[0]["harnesses"])


@pytest.mark.parametrize(
    ("which", "can_apply", "can_roll_back"),
    [
        ("create", True, False),
        ("update", True, False),
        ("applied", False, True),
        ("rejected", False, False),
        ("quarantined", False, False),
        ("stale", False, False),
    ],
)
def test_a_reviewer_is_told_what_can_be_done(
    shared: StudioWorld, guest: Peer, which: str, *, can_apply: bool, can_roll_back: bool
) -> None:
    found = _asked(guest, "skills.proposals.inspect", {"proposalId": shared.proposals[which]})

    assert (found["canApply"], found["canRollBack"]) == (can_apply, can_roll_back)
    assert bool(found.get("applyProblem")) is not can_apply
    assert bool(found.get("rollbackProblem")) is not can_roll_back


def test_an_applied_change_can_still_be_compared_with_what_it_replaced(
    shared: StudioWorld, guest: Peer
) -> None:
    found = _asked(guest, "skills.proposals.inspect", {"proposalId": shared.proposals["applied"]})

    assert "linter" in found["currentContent"]
    assert found["previousContent"]
    assert "linter" not in found["previousContent"]


def test_a_skill_that_changed_by_hand_is_said_before_anybody_applies(
    world: StudioWorld, peer: Peer
) -> None:
    page = world.roots["work"] / "release-notes" / "SKILL.md"
    page.write_text(page.read_text() + "\nBy hand.\n")
    edited = world.roots["work"] / "code-review" / "SKILL.md"
    edited.write_text(edited.read_text() + "\nBy hand.\n")

    pending = _asked(peer, "skills.proposals.inspect", {"proposalId": world.proposals["update"]})
    applied = _asked(peer, "skills.proposals.inspect", {"proposalId": world.proposals["applied"]})

    assert (pending["targetChanged"], pending["canApply"]) == (True, False)
    assert "changed since" in pending["applyProblem"]
    assert "SKILL.md changed since it was applied" in applied["rollbackProblem"]


def test_where_the_workshop_is_off_nothing_can_be_applied(world: StudioWorld, peer: Peer) -> None:
    values = world.config()
    values["plugins"]["entries"]["skill-workshop"]["enabled"] = False
    config = _asked(peer, "config.get")
    _asked(peer, "config.set", {"raw": json.dumps(values), "baseHash": config["hash"]})

    found = _asked(peer, "skills.proposals.inspect", {"proposalId": world.proposals["create"]})

    assert (found["canApply"], found["applyProblem"]) == (False, "the workshop is switched off")


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("skills.sources", {"agentId": "ghost"}),
        ("skills.activity", {"agentId": "ghost"}),
        ("skills.costs", {"agentId": "ghost"}),
        ("skills.tests.run", {"agentId": "ghost"}),
        ("skills.history", {"name": "nobody"}),
        ("skills.file", {"name": "nobody", "path": "SKILL.md"}),
        ("skills.activity", {"days": 0}),
        ("sessions.missed", {"days": 91}),
        ("skills.tests.remove", {}),
    ],
)
def test_what_is_not_there_or_makes_no_sense_is_refused(
    guest: Peer, method: str, params: Json
) -> None:
    assert _refused(guest, method, params)["code"] == "INVALID_REQUEST"


def test_only_the_last_change_of_a_skill_can_be_taken_back(world: StudioWorld, peer: Peer) -> None:
    page = world.roots["work"] / "code-review" / "SKILL.md"
    text = page.read_text().replace("Be kind.", "Be kind and brief.")
    later = _asked(peer, "skills.proposals.update", {"skillName": "code-review", "content": text})
    decision = {"proposalId": later["record"]["id"], "expectedRevisionHash": later["revisionHash"]}
    _asked(peer, "skills.proposals.apply", decision)

    first = _asked(peer, "skills.proposals.inspect", {"proposalId": world.proposals["applied"]})
    history = _asked(peer, "skills.history", {"name": "code-review"})

    assert not first["canRollBack"]
    assert f"{later['record']['id']} was applied after it" in first["rollbackProblem"]
    assert [one["isLast"] for one in history["versions"]] == [True, False]
    assert history["versions"][0]["proposalId"] == later["record"]["id"]


def test_what_was_replaced_and_is_not_kept_cannot_come_back(world: StudioWorld, peer: Peer) -> None:
    shutil.rmtree(world.state / "skill-changes")

    found = _asked(peer, "skills.proposals.inspect", {"proposalId": world.proposals["applied"]})

    assert (found["canRollBack"], "previousContent" in found) == (False, False)
    assert found["rollbackProblem"] == "what it replaced is no longer kept"


def test_without_saved_messages_the_terminal_says_where_they_come_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PROWESS_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    code = main(["eval", "--saved"])

    assert code == 1
    assert "save one in the studio" in capsys.readouterr().err


def test_who_starts_the_gateway_is_told_where_the_page_is(
    shared: StudioWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    say_address(shared.address, shared.gateway, as_json=False)
    said = capsys.readouterr().out
    say_address(shared.address, shared.gateway, as_json=True)
    program = json.loads(capsys.readouterr().out)

    assert f"  Studio {shared.address}/ (open it in a browser)\n" in said
    assert program["studio"] == f"{shared.address}/"


def test_where_a_token_is_needed_the_page_is_said_to_ask_for_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with studio(tmp_path, Choice(token=TOKEN)) as guarded:
        say_address(guarded.address, guarded.gateway, as_json=False)

    said = capsys.readouterr().out
    assert "(open it in a browser; the page asks for the token)" in said
    assert TOKEN not in said


def test_the_page_itself_needs_no_token_but_all_that_it_asks_does(tmp_path: Path) -> None:
    with studio(tmp_path, Choice(token=TOKEN)) as guarded:
        world = World(guarded.gateway.hub, guarded.port)
        page = ask(world, "GET", "/")
        call = ask(world, "POST", "/rpc", "{}", {"Content-Type": "application/json"})

    assert (page.status, call.status) == (200, 401)
    assert TOKEN not in page.text
