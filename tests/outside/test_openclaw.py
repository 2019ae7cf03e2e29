"""OpenClaw 2026.9.6 as it is: its gateway beside ours, its terminal and its page against ours."""

import fnmatch
import json
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, WebSocket, expect
from tests.browser.browsing import browsing, chromium
from tests.outside.harnesses import CannotBeHadError, install
from tests.outside.openclaw_world import (
    PATIENCE_S,
    TOKEN,
    Json,
    Peer,
    find_differences,
    find_shape,
    our_gateway,
    real_gateway,
    run_terminal,
    served_page,
)

DIFFERENCES = tomllib.loads(
    Path(__file__).with_name("openclaw_differences.toml").read_text(encoding="utf-8")
)
MAIN: Json = {"agentId": "main"}
SESSION = "agent:main:main"
# Where else the menu of its page leads to, and what stands there.
_OTHER_PLACES = (
    ("agents", "No recent activity"),
    ("dashboards", "No dashboards yet"),
    ("automations", "The scheduler is stopped."),
    ("plugins", "Extend your Claw with tools"),
    ("usage", "API usage and costs."),
)
# What its terminal, its page and Claw3D ask, as they ask it, where nothing is changed by it.
CALLS: tuple[tuple[str, Json], ...] = (
    ("health", {"probe": True}),
    ("status", {"includeChannelSummary": False}),
    ("system-presence", {}),
    ("agents.list", {}),
    ("agent.identity.get", MAIN),
    ("agents.files.list", MAIN),
    ("agents.files.get", {**MAIN, "name": "IDENTITY.md"}),
    ("agents.files.get", {**MAIN, "name": "evil.md"}),
    ("agents.files.get", {"agentId": "ghost", "name": "SOUL.md"}),
    ("sessions.list", {**MAIN, "includeGlobal": False, "limit": 4, "search": SESSION}),
    ("sessions.describe", {"key": SESSION}),
    ("models.list", {}),
    ("cron.list", {"includeDisabled": True}),
    ("cron.runs", {}),
    ("channels.status", {}),
    ("device.pair.list", {}),
    ("node.list", {}),
    ("sessions.usage", {}),
    ("usage.status", {}),
    ("exec.approvals.get", {}),
    ("exec.approval.list", {}),
    ("question.list", {}),
    ("tasks.list", {}),
    ("config.get", {}),
    ("skills.status", MAIN),
    ("skills.status", {"agentId": "ghost"}),
    ("skills.status", {"bogus": 1}),
    ("skills.status", {"agentId": 5}),
    ("skills.securityVerdicts", MAIN),
    ("skills.skillCard", {**MAIN, "skillKey": "release-notes"}),
    ("skills.library.list", {"scope": "all"}),
    ("skills.proposals.list", MAIN),
    ("skills.proposals.inspect", {**MAIN, "proposalId": "nope"}),
    ("skills.proposals.reject", {**MAIN, "proposalId": "nope"}),
    ("no.such.method", {}),
)


@pytest.fixture(scope="module", autouse=True)
def _installed() -> None:
    try:
        install("node")
        install("openclaw")
    except CannotBeHadError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with our_gateway(tmp_path_factory.mktemp("ours")) as found:
        yield found


def _unnamed(method: str, real: Json, ours: Json) -> list[str]:
    """Return how ours differs from the real answer beyond what has a reason."""
    known = [path for group in DIFFERENCES.values() for path in group["paths"].split()]
    if real["ok"] != ours["ok"]:
        return [f"{method}: {real.get('error', 'ok')} there, {ours.get('error', 'ok')} here"]
    if not real["ok"]:
        pairs = ((one["error"]["code"], _detail(one)) for one in (real, ours))
        theirs, mine = pairs
        return [] if theirs == mine else [f"{method}: {theirs} there, {mine} here"]
    found = find_differences(find_shape(real["payload"]), find_shape(ours["payload"]))
    return [
        f"{method}:{path} {problem}"
        for path, problem in found
        if not any(fnmatch.fnmatchcase(f"{method}:{path}", _literal(one)) for one in known)
    ]


def _literal(pattern: str) -> str:
    return pattern.replace("[]", "[[]]")


def _detail(answer: Json) -> str | None:
    found: str | None = answer["error"].get("details", {}).get("code")
    return found


def test_both_gateways_answer_the_same_calls_alike(tmp_path: Path, port: int) -> None:
    with real_gateway(tmp_path) as theirs, Peer(theirs) as real, Peer(port) as ours:
        found = _unnamed("connect", real.hello, ours.hello)
        for method, params in CALLS:
            found += _unnamed(method, real.call(method, params), ours.call(method, params))
        found += _compare_a_proposal(real, ours)
        found += _compare_the_door(theirs, port)

    assert found == []


def _compare_a_proposal(real: Peer, ours: Peer) -> list[str]:
    text: Json = {"name": "packing", "description": "Packs parcels. Use it.", **MAIN}
    text |= {"content": "# P\n\n- Weigh it.\n", "evidence": "weigh it", "goal": "pack"}
    made = [peer.call("skills.proposals.create", text) for peer in (real, ours)]
    found = _unnamed("skills.proposals.create", *made)
    about = [{**MAIN, "proposalId": one["payload"]["record"]["id"]} for one in made]
    seen = [
        {**who, "expectedRevisionHash": one["payload"]["revisionHash"]}
        for who, one in zip(about, made, strict=True)
    ]
    stale = [{**one, "expectedRevisionHash": "0" * 64} for one in about]
    for method, asked in (
        ("skills.proposals.list", [MAIN, MAIN]),
        ("skills.proposals.inspect", about),
        ("skills.proposals.events.list", [MAIN, MAIN]),
        ("skills.proposals.reject", stale),
        ("skills.proposals.evaluate", seen),
        ("skills.proposals.apply", seen),
    ):
        answers = [peer.call(method, one) for peer, one in zip((real, ours), asked, strict=True)]
        found += _unnamed(method, *answers)
    return found


def _compare_the_door(theirs: int, mine: int) -> list[str]:
    found = []
    for scopes, token in (
        (("operator.read",), TOKEN),
        (("operator.admin", "operator.approvals"), TOKEN),
        ((), TOKEN),
        (("operator.read",), "wrong"),
    ):
        with Peer(theirs, scopes, token) as real, Peer(mine, scopes, token) as ours:
            found += _unnamed("connect", real.hello, ours.hello)
            if real.hello["ok"]:
                granted = [one.hello["payload"]["auth"]["scopes"] for one in (real, ours)]
                assert granted[0] == granted[1]
                asked = ("skills.update", {"skillKey": "image-gen", "enabled": True})
                found += _unnamed(asked[0], real.call(*asked), ours.call(*asked))
    return found


def test_its_terminal_lists_checks_probes_and_applies(tmp_path: Path, port: int) -> None:
    text = {"name": "shipping", "description": "Ships. Use it.", "content": "# S\n\n- Weigh it.\n"}
    with Peer(port) as peer:
        made = peer.call("skills.proposals.create", text)["payload"]["record"]
    commands = (
        ("skills", "list", "--json"),
        ("skills", "check"),
        ("skills", "info", "image-gen"),
        ("gateway", "probe", "--json"),
        ("health",),
        ("gateway", "call", "skills.status", "--params", json.dumps(MAIN)),
        ("skills", "workshop", "apply", made["id"], "--agent", "main"),
    )

    with ThreadPoolExecutor(3) as several:
        said = list(
            several.map(
                lambda one: run_terminal(tmp_path / str(one[0]), port, *one[1]), enumerate(commands)
            )
        )

    listed, checked, info, probe, health, called, applied = said
    assert {one["name"] for one in json.loads(listed)["skills"]} >= {"image-gen", "release-notes"}
    assert "Missing requirements: 2" in checked
    assert "IMAGE_KEY" in info
    (target,) = [one for one in json.loads(probe)["targets"] if one["kind"] == "configRemote"]
    assert (target["connect"]["ok"], target["connect"]["rpcOk"]) == (True, True)
    assert "Session store (main)" in health
    assert '"image-gen"' in called
    assert "Applied" in applied
    assert Path(made["target"]["skillFile"]).is_file()


def test_its_page_shows_home_skills_and_the_workshop_without_an_error(tmp_path: Path) -> None:
    if chromium() is None:
        pytest.skip("no Chromium: `make test-slow` installs it as root, or set PROWESS_CHROMIUM")
    with (
        served_page() as origin,
        our_gateway(tmp_path, controlUi={"allowedOrigins": [origin]}) as mine,
        browsing() as browser,
    ):
        with Peer(mine) as peer:
            words = {"name": "packing", "description": "Packs. Use it.", "content": "- Weigh it.\n"}
            peer.call("skills.proposals.create", words)
        page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
        page.set_default_timeout(PATIENCE_S * 1000)
        problems = _watch(page)

        page.goto(f"{origin}/?gatewayUrl=ws%3A%2F%2F127.0.0.1%3A{mine}#token={TOKEN}")
        page.get_by_role("button", name="Switch to").click()
        expect(page.get_by_role("link", name="Home", exact=True)).to_be_visible()
        expect(page.get_by_text("Main Session")).to_be_visible()
        page.goto(f"{origin}/skills#token={TOKEN}")
        expect(page.get_by_text("image-gen", exact=True).first).to_be_visible()
        page.goto(f"{origin}/skills/workshop#token={TOKEN}")
        expect(page.get_by_text("3 installed")).to_be_visible()
        tab = page.get_by_role("tab", name="Suggestions")
        tab.or_(page.get_by_role("button", name="Suggestions")).first.click()
        expect(page.get_by_text("packing").first).to_be_visible()
        for place, shown in _OTHER_PLACES:
            page.goto(f"{origin}/{place}#token={TOKEN}")
            expect(page.get_by_text(shown).first).to_be_visible()

    assert problems == []


def _watch(page: Page) -> list[str]:
    """Note what goes wrong in the page, and what the gateway refuses it."""
    problems: list[str] = []
    asked: dict[str, str] = {}

    def sent(text: Any) -> None:  # noqa: ANN401 - text or bytes
        frame = json.loads(text)
        asked[frame.get("id", "")] = frame.get("method", "")

    def got(text: Any) -> None:  # noqa: ANN401 - text or bytes
        frame = json.loads(text)
        if frame.get("type") == "res" and not frame["ok"]:
            problems.append(f"{asked.get(frame['id'])}: {frame['error']}")

    def opened(socket: WebSocket) -> None:
        socket.on("framesent", sent)
        socket.on("framereceived", got)

    page.on("websocket", opened)
    page.on("pageerror", lambda error: problems.append(str(error)))
    return problems
