"""`prowess mcp` and `/mcp` as clients reach them: the whole way, news of changes, the end."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.session import IncomingMessage
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
)
from mcp_types import TextResourceContents
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from tests.integration.mcp_world import (
    LEGACY,
    MODERN,
    SECONDS,
    McpWorld,
    plainly,
    said,
    sha256,
    skills_of,
    started,
    visiting,
)
from tests.integration.served_world import TOKEN, served

from prowess.cli.harness import mcp_lane
from prowess.cli.main import main
from prowess.host.config import file
from prowess.host.files.state_files import ACCEPTANCES_FILE

ADDRESS = "skill://alpha/SKILL.md"
NEWS = {"notifications/resources/list_changed", "notifications/prompts/list_changed"}


@pytest.fixture
def world(tmp_path: Path) -> McpWorld:
    return McpWorld(tmp_path)


@pytest.fixture
def gateway(world: McpWorld) -> Iterator[McpWorld]:
    with served(world, news=True):
        yield world


async def _whole_way(client: Client) -> None:
    """List, read, verify, find and load, as every client can."""
    (entry,) = await skills_of(client)
    assert entry.resources != "dynamic"
    (page,) = (await client.read_resource(entry.uri)).contents
    assert isinstance(page, TextResourceContents)
    assert sha256(page.text.encode()) == entry.resources[0].digest
    assert "alpha" in await said(client, "find_skills", query="launch a rocket")
    assert "Do it." in await said(client, "load_skill", name="alpha")
    assert [one.name for one in (await client.list_prompts()).prompts] == ["alpha", "quiet"]


async def _told(client: Client, world: McpWorld) -> None:
    """Hear of a new skill, and of one that changed."""
    heard: set[ServerEvent] = set()
    uri = "skill://alpha/SKILL.md"
    async with client.listen(
        resources_list_changed=True, prompts_list_changed=True, resource_subscriptions=[uri]
    ) as stream:
        world.skill("beta")
        world.skill("alpha", "Lands rockets.")
        wanted = {ResourcesListChanged(), PromptsListChanged()}
        async for event in stream:
            heard.add(event)
            if heard >= wanted | {ResourceUpdated(uri)}:
                break
    assert [one.uri for one in await skills_of(client)] == [uri, "skill://beta/SKILL.md"]


class _Heard:
    """Notifications of the older kind."""

    def __init__(self) -> None:
        self.methods: set[str] = set()
        self.all_there = anyio.Event()

    async def __call__(self, message: IncomingMessage) -> None:
        self.methods.add(getattr(message, "method", ""))
        if self.methods >= NEWS:
            self.all_there.set()


def test_a_client_that_starts_us_gets_everything_and_hears_of_changes(world: McpWorld) -> None:
    async def act() -> None:
        async with started(world, mode=MODERN) as client:
            await _whole_way(client)
            await _told(client, world)

    plainly(act)


def test_an_older_client_that_starts_us_is_told_unasked(world: McpWorld) -> None:
    async def act() -> None:
        heard = _Heard()
        async with started(world, mode=LEGACY, message_handler=heard) as client:
            await _whole_way(client)
            world.skill("beta")
            await heard.all_there.wait()

    plainly(act)


@pytest.mark.parametrize("mode", [MODERN, LEGACY])
def test_a_client_that_asked_for_nothing_yet_hears_of_changes(world: McpWorld, mode: str) -> None:
    async def act() -> None:
        heard = _Heard()
        async with started(world, mode=mode, message_handler=heard) as client:
            if mode == MODERN:
                await _told(client, world)
                return
            number = 0
            # Nothing says when an older client is listened for.
            while not heard.all_there.is_set():
                world.skill(f"new-{number}")
                number += 1
                with anyio.move_on_after(0.2):
                    await heard.all_there.wait()

    plainly(act)


@pytest.mark.parametrize("mode", [MODERN, LEGACY])
@pytest.mark.parametrize("way", ["stdio", "gateway"])
def test_the_instructions_tell_an_agent_about_the_workshop_while_it_is_on(
    world: McpWorld, mode: str, way: str
) -> None:
    said: list[str] = []

    async def act() -> None:
        meeting = started(world, mode=mode) if way == "stdio" else visiting(world, mode=mode)
        async with meeting as client:
            said.append(client.instructions or "")

    for on in (False, True):
        world.configure(plugins={"entries": {"skill-workshop": {"enabled": on}}})
        with served(world) if way == "gateway" else nullcontext():
            plainly(act)

    off, on_now = said
    assert "find_skills" in off
    assert "skill_workshop" not in off
    assert on_now.startswith(off)
    assert "Use the tool skill_workshop to keep what you learned" in on_now


def test_abandoned_sessions_of_older_clients_keep_nobody_out(
    world: McpWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prowess.mcp.http.MOST_SESSIONS", 2)
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}}
    hello |= {"clientInfo": {"name": "test", "version": "1"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    headers = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {TOKEN}"}

    with served(world):
        url = f"http://127.0.0.1:{world.port}/mcp"
        answers = [httpx2.post(url, json=body, headers=headers, timeout=30) for _ in range(25)]
        first, last = (answers[one].headers["mcp-session-id"] for one in (0, -1))
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        statuses = [
            httpx2.post(
                url, json=ping, headers={**headers, "mcp-session-id": one}, timeout=30
            ).status_code
            for one in (first, last)
        ]

    assert {one.status_code for one in answers} == {200}
    assert statuses == [404, 200]


def test_a_client_of_the_gateway_gets_everything_and_hears_of_changes(gateway: McpWorld) -> None:
    async def act() -> None:
        async with visiting(gateway, mode=MODERN) as client:
            await _whole_way(client)
            await _told(client, gateway)

    plainly(act)


def test_an_older_client_of_the_gateway_is_told_unasked(gateway: McpWorld) -> None:
    async def act() -> None:
        heard = _Heard()
        async with visiting(gateway, mode=LEGACY, message_handler=heard) as client:
            await _whole_way(client)
            gateway.skill("beta")
            await heard.all_there.wait()

    plainly(act)


def test_each_agent_of_a_gateway_has_skills_of_its_own(world: McpWorld) -> None:
    world.skill("beta")
    world.configure(agents={"list": [{"id": "one"}, {"id": "two", "skills": ["beta"]}]})

    async def act() -> None:
        async with visiting(world, "?agent=two") as client:
            assert [one.uri for one in await skills_of(client)] == ["skill://beta/SKILL.md"]
            with pytest.raises(MCPError):
                await client.read_resource("skill://alpha/SKILL.md")
        async with visiting(world) as client:
            assert len(await skills_of(client)) == 2

    with served(world):
        plainly(act)


def _post(world: McpWorld, query: str = "", **headers: str) -> httpx2.Response:
    given = {"Accept": "application/json, text/event-stream", **headers}
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    url = f"http://127.0.0.1:{world.port}/mcp{query}"
    return httpx2.post(url, json=body, headers=given, timeout=30)


def test_the_gateway_asks_everybody_for_its_token_and_turns_strange_pages_away(
    gateway: McpWorld,
) -> None:
    right = f"Bearer {TOKEN}"

    assert _post(gateway).status_code == 401
    assert _post(gateway, Authorization="Bearer wrong").status_code == 401
    assert _post(gateway, Authorization=right, Origin="https://evil.example").status_code == 403
    assert _post(gateway, Authorization=right, Host="evil.example").status_code == 403
    unknown = _post(gateway, "?agent=nobody", Authorization=right)
    assert unknown.status_code == 404
    assert "nobody" in unknown.json()["error"]["message"]
    strange = _post(gateway, f"?agent=%1B{'x' * 4000}", Authorization=right)
    assert "\x1b" not in strange.json()["error"]["message"]
    assert len(strange.text) < 1_000


def test_a_body_that_is_too_long_is_refused(gateway: McpWorld) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}

    answer = httpx2.post(
        f"http://127.0.0.1:{gateway.port}/mcp", content=b"[" * 600_000, headers=headers, timeout=30
    )

    assert answer.status_code == 413


def test_a_gateway_does_not_wait_for_an_older_client_that_still_listens(
    world: McpWorld, caplog: pytest.LogCaptureFixture
) -> None:
    async def act() -> None:
        async with visiting(world, mode=LEGACY) as client:
            await skills_of(client)
            stop.__exit__(None, None, None)

    stop = served(world)
    stop.__enter__()

    plainly(act)

    # The web server says so where it has to cut off who did not end.
    assert "graceful" not in caplog.text


def test_a_gateway_that_stops_ends_the_streams_of_its_clients(world: McpWorld) -> None:
    async def act() -> None:
        async with visiting(world, mode=MODERN) as client:
            await skills_of(client)
            async with client.listen(resources_list_changed=True) as stream:
                stop.__exit__(None, None, None)
                # It ends in good order: an abrupt end would raise.
                assert [event async for event in stream] == []

    stop = served(world)
    stop.__enter__()
    plainly(act)


class _Process:
    """A `prowess mcp` that is spoken to line by line."""

    def __init__(self, world: McpWorld, *words: str, path: Path | None = None) -> None:
        environ = world.environ if path is None else {**world.environ, "PYTHONPATH": str(path)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "prowess", "mcp", *words],
            env=environ, cwd=world.work,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def ask(self, **message: object) -> dict[str, object]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        line = json.dumps({"jsonrpc": "2.0", **message}) + "\n"
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()
        answer: dict[str, object] = json.loads(self.process.stdout.readline())
        return answer

    def hello(self) -> dict[str, object]:
        client = {"name": "test", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
        return self.ask(id=1, method="initialize", params=params)


def _begin(world: McpWorld, *, workshop: bool = False) -> tuple[list[object], list[str]]:
    """Ask what clients ask at their beginning; return the answers, and what is kept afterwards."""
    if workshop:
        entry = {"enabled": True, "config": {}}
        world.configure(plugins={"entries": {"skill-workshop": entry}})
    server = _Process(world)
    answers: list[object] = [server.hello()]
    for number, method in enumerate(("tools/list", "ping", "tools/list"), 2):
        answers.append(server.ask(id=number, method=method, params={}))
    rest, errors = server.process.communicate(timeout=SECONDS)
    # Each was answered once.
    assert (rest, errors) == (b"", b"")
    kept = (world.state / "catalogs" / "greetings").iterdir()
    return answers, sorted(path.name for path in kept)


def test_a_client_that_comes_again_gets_the_very_answers_that_it_was_given(world: McpWorld) -> None:
    first, kept = _begin(world)

    assert len(kept) == 2
    assert _begin(world) == (first, kept)
    # What they depend on is another one: the tool of the workshop is there, and its guidance.
    other, more = _begin(world, workshop=True)
    assert "skill_workshop" in json.dumps(other)
    assert "skill_workshop" not in json.dumps(first)
    assert len(more) == 4
    assert _begin(world, workshop=True) == (other, more)


def test_an_answer_that_is_kept_comes_before_the_server_is_there(world: McpWorld) -> None:
    _begin(world)
    server = _Process(world, path=_stop_the_sdk(world))

    assert "result" in server.hello()
    assert "load_skill" in json.dumps(server.ask(id=2, method="tools/list", params={}))
    server.process.kill()
    server.process.communicate()


def _connect(world: McpWorld) -> None:
    """Connect a harness, which keeps what its first request is answered with."""
    connect = [sys.executable, "-m", "prowess", "connect", "codex", "--yes"]
    subprocess.run(connect, env=world.environ, cwd=world.work, check=True, capture_output=True)


def _stop_the_sdk(world: McpWorld) -> Path:
    """Return a path on which the SDK stops while it is loaded: a server that never comes."""
    folder = world.home / "stopped"
    (folder / "anyio").mkdir(parents=True)
    (folder / "anyio" / "__init__.py").write_text("import time\ntime.sleep(600)\n")
    return folder


def test_connecting_keeps_the_first_answers_for_clients_that_never_came(world: McpWorld) -> None:
    _connect(world)
    without = _stop_the_sdk(world)

    for version in HANDSHAKE_PROTOCOL_VERSIONS:
        server = _Process(world, path=without)
        # Whatever a client can do changes none of the answers.
        who = {"protocolVersion": version, "capabilities": {"roots": {}}, "clientInfo": {}}
        hello = server.ask(id="a", method="initialize", params=who)
        told = [
            json.dumps(server.ask(id=method, method=method, params={}))
            for method in ("tools/list", "prompts/list", "resources/list")
        ]
        server.process.kill()
        server.process.communicate()

        assert hello["result"]["protocolVersion"] == version  # type: ignore[index]
        assert "load_skill" in told[0]
        assert "alpha" in told[1]
        assert ADDRESS in told[2]


def test_the_fast_lane_knows_the_files_that_decide_by_their_names() -> None:
    assert (mcp_lane.CONFIG, mcp_lane.ACCEPTANCES) == (file.FILE_NAME, ACCEPTANCES_FILE)


def test_a_client_is_told_where_a_list_of_before_is_another_one_now(world: McpWorld) -> None:
    _connect(world)
    shutil.rmtree(world.work / "skills" / "alpha")
    server = _Process(world)
    server.hello()

    early = server.ask(id=2, method="resources/list", params={})
    assert server.process.stdout is not None
    news = json.loads(server.process.stdout.readline())
    now = server.ask(id=3, method="resources/list", params={})
    server.process.communicate(timeout=SECONDS)

    assert ADDRESS in json.dumps(early)
    assert news["method"] == "notifications/resources/list_changed"
    assert ADDRESS not in json.dumps(now)


def test_a_list_of_before_is_not_told_once_the_operator_said_otherwise(world: McpWorld) -> None:
    _connect(world)
    world.configure(skills={"entries": {"alpha": {"enabled": False}}})
    server = _Process(world)
    server.hello()

    listed = server.ask(id=2, method="resources/list", params={})
    server.process.communicate(timeout=SECONDS)

    assert ADDRESS not in json.dumps(listed)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_a_signal_ends_a_server_whose_client_is_silent(world: McpWorld) -> None:
    server = _Process(world)
    assert "result" in server.hello()

    server.process.send_signal(signal.SIGTERM)
    server.process.wait(SECONDS)
    out, err = server.process.communicate()

    assert (server.process.returncode, out) == (128 + signal.SIGTERM, b"")
    assert err == b"prowess: stopped.\n"


def test_a_request_with_half_a_character_in_it_is_answered(world: McpWorld) -> None:
    server = _Process(world)
    assert "result" in server.hello()

    # What is cut after so many units of UTF-16 may end in one; `json.dumps` writes it as an escape.
    asked = {"name": "find_skills", "arguments": {"query": "launch rockets \ud83d"}}
    answer = server.ask(id=2, method="tools/call", params=asked)

    server.process.communicate(timeout=SECONDS)
    assert "isError" in json.dumps(answer)


def test_the_end_of_the_input_ends_the_server_and_nothing_but_the_protocol_was_printed(
    world: McpWorld,
) -> None:
    server = _Process(world)
    assert "result" in server.hello()

    out, err = server.process.communicate(b"this is no JSON\n\n\xff\xfe\n", timeout=SECONDS)

    assert server.process.returncode == 0
    assert err == b""
    assert all("jsonrpc" in json.loads(line) for line in out.splitlines())


def test_who_asks_for_an_agent_that_is_not_there_is_told_at_once(world: McpWorld) -> None:
    server = _Process(world, "--agent", "nobody")

    out, err = server.process.communicate(timeout=SECONDS)

    assert (server.process.returncode, out) == (1, b"")
    assert b'unknown agent id "nobody"' in err


def test_a_server_whose_agent_is_taken_away_says_so_and_serves_it_again_later(
    world: McpWorld,
) -> None:
    async def act() -> None:
        async with started(world) as client:
            assert len(await skills_of(client)) == 1
            world.configure(agents={"list": [{"id": "other", "default": True}]})
            while await _has_skills(client):
                await anyio.lowlevel.checkpoint()
            with pytest.raises(MCPError, match="unknown agent id"):
                await skills_of(client)
            world.configure()
            while not await _has_skills(client):
                await anyio.lowlevel.checkpoint()

    plainly(act)


async def _has_skills(client: Client) -> bool:
    try:
        return bool(await skills_of(client))
    except MCPError:
        return False


def test_without_a_standard_input_nothing_is_served(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", None)

    code = main(["mcp"])

    assert code == 2
    assert "no standard input" in capsys.readouterr().err
