"""The Python client against a real gateway with real files."""

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.integration.served_world import TOKEN, Served, served
from websockets.asyncio.server import ServerConnection, serve

from prowess.client import (
    RECONNECTED,
    Backoff,
    DeviceIdentity,
    Gateway,
    GatewayCallError,
    GatewayLostError,
    connect,
)
from prowess.client.calls import ProposalText
from prowess.wire.answers import Json, ProgressAnswer

T = TypeVar("T")
WORKSPACE = "openclaw-workspace"
CANARY = "canary-key-5d1e77"
# A test that waits longer waits for nothing.
PATIENCE = 60
SOON = Backoff(first_seconds=0.01, most_seconds=0.05)


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A world for those who only look."""
    with served(_filled(tmp_path_factory.mktemp("quiet"))) as running:
        yield running


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Served]:
    with served(_filled(tmp_path)) as running:
        yield running


def _filled(folder: Path) -> Served:
    made = Served(folder)
    made.skill("invoices", "Writes invoices for customers. Use when the user wants an invoice.")
    made.skill("weather", metadata={"openclaw": {"requires": {"env": ["WEATHER_KEY"]}}})
    made.configure(
        agents={"list": [{"id": "main", "default": True}, {"id": "other", "skills": []}]},
        plugins={"entries": {"skill-workshop": {"enabled": True}}},
    )
    return made


def ask(
    world: Served,
    work: Callable[[Gateway], Coroutine[Any, Any, T]],
    **options: Any,  # noqa: ANN401 - as connect takes
) -> T:
    async def main() -> T:
        async with (
            asyncio.timeout(PATIENCE),
            connect(world.url, **{"token": TOKEN, **options}) as gateway,
        ):
            return await work(gateway)

    return asyncio.run(main())


def test_a_client_is_greeted_with_the_newest_protocol(quiet: Served) -> None:
    async def work(gateway: Gateway) -> None:
        assert gateway.hello.protocol == 4
        assert gateway.hello.default_agent == "main"
        assert "skills.route" in gateway.hello.methods
        assert "operator.admin" in gateway.hello.scopes
        assert TOKEN not in repr(gateway)
        assert (await gateway.health()).ok
        assert [agent.id for agent in await gateway.agents()] == ["main", "other"]

    ask(quiet, work)


def test_what_holds_of_skills_is_told_over_the_socket(world: Served) -> None:
    page = world.work / "skills" / "invoices" / "SKILL.md"
    page.write_text(f"{page.read_text()}\nRun `npm run send-all`.\n")
    (world.work / "package.json").write_text('{"scripts": {"send-every": "x"}}')

    async def work(gateway: Gateway) -> None:
        fresh = await gateway.call("skills.fresh", name="invoices")
        proof = await gateway.call("skills.proof", name="invoices", model="m", harness="chat")
        tests = await gateway.call("skills.test", name="invoices")

        assert [one["state"] for one in fresh["skills"]] == ["stale"]
        assert [one["name"] for one in proof["skills"]] == ["invoices"]
        assert tests["counts"]["freshness"] == {"tests": 1, "failed": 1}
        for method in ("skills.fresh", "skills.proof", "skills.test"):
            with pytest.raises(GatewayCallError):
                await gateway.call(method, name="nobody")
            with pytest.raises(GatewayCallError):
                await gateway.call(method, name=7)

    ask(world, work)


def test_the_skills_can_be_seen_routed_and_explained(quiet: Served) -> None:
    async def work(gateway: Gateway) -> None:
        status = await gateway.status()
        weather = status.named("weather")
        route = await gateway.route("write an invoice for the customer")
        why = await gateway.why("weather")
        not_routed = await gateway.why("weather", message="write an invoice")
        called = await gateway.route("/weather in Oslo", not_ready=True)
        prompt = await gateway.prompt()
        detail = await gateway.detail("invoices")

        assert status.workspace == str(quiet.work)
        assert weather is not None
        assert not weather.eligible
        assert weather.missing == {"env": ("WEATHER_KEY",)}
        assert [match.name for match in route.matches] == ["invoices"]
        assert route.matches[0].reasons
        assert (why.used, "WEATHER_KEY" in why.reason) == (False, True)
        assert not not_routed.used
        assert route.not_ready == ()
        assert [(one.name, "WEATHER_KEY" in one.reason) for one in called.not_ready] == [
            ("weather", True)
        ]
        assert "invoices" in prompt.included
        assert "<name>invoices</name>" in prompt.text
        assert detail.body.strip().startswith("# invoices")
        assert detail.raw["skill"]["contentHash"]

    ask(quiet, work)


def test_what_was_routed_is_counted(world: Served) -> None:
    async def work(gateway: Gateway) -> None:
        await gateway.route("write an invoice for the customer")
        usage = await gateway.usage(name="invoices")

        assert [total["routed"] for total in usage.totals] == [1]
        assert usage.next_sequence is None

    ask(world, work)


def test_the_agent_of_the_client_is_meant_unless_a_call_names_another(quiet: Served) -> None:
    async def work(gateway: Gateway) -> tuple[str, str]:
        return (await gateway.status()).agent_id, (await gateway.status(agent="main")).agent_id

    assert ask(quiet, work, agent="other") == ("other", "main")


def test_a_refusal_names_the_field_and_leaves_the_connection(quiet: Served) -> None:
    async def work(gateway: Gateway) -> None:
        with pytest.raises(GatewayCallError) as caught:
            await gateway.call("skills.route", message=7)
        with pytest.raises(GatewayCallError, match='unknown agent id "ghost"'):
            await gateway.status(agent="ghost")

        assert (caught.value.reason, caught.value.details["field"]) == (
            "INVALID_REQUEST",
            "message",
        )
        assert (await gateway.health()).ok

    ask(quiet, work)


def test_a_client_that_may_only_read_is_told_which_scope_it_lacks(quiet: Served) -> None:
    async def work(gateway: Gateway) -> None:
        assert (await gateway.status()).skills
        with pytest.raises(GatewayCallError, match=r"operator\.admin") as caught:
            await gateway.update_skill("invoices", enabled=False)

        assert caught.value.reason == "FORBIDDEN"

    ask(quiet, work, scopes=["read"])


def test_a_wrong_token_is_refused_and_repeated_nowhere(
    quiet: Served, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    with pytest.raises(GatewayCallError) as caught:
        ask(quiet, lambda gateway: gateway.health(), token=CANARY)

    assert caught.value.details["code"] == "AUTH_TOKEN_MISMATCH"
    assert CANARY not in f"{caught.value!r} {caplog.text}"


def test_not_even_every_debug_message_shows_the_token(
    world: Served, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    ask(world, lambda gateway: gateway.update_skill("invoices", api_key=CANARY))

    assert TOKEN not in caplog.text
    assert CANARY not in caplog.text


def test_a_device_that_signs_is_let_in(quiet: Served) -> None:
    health = ask(quiet, lambda gateway: gateway.health(), device=DeviceIdentity.new())

    assert health.ok


def test_where_no_gateway_is_the_error_says_what_to_do(tmp_path: Path) -> None:
    nobody = Served(tmp_path)
    nobody.port = 1

    with pytest.raises(GatewayLostError, match="prowess serve"):
        ask(nobody, lambda gateway: gateway.health())


def test_a_skill_is_switched_off_and_its_key_is_kept_but_not_shown(world: Served) -> None:
    async def work(gateway: Gateway) -> None:
        entry = await gateway.update_skill("invoices", enabled=False, api_key=CANARY)
        status = await gateway.status()
        skill = status.named("invoices")

        assert entry.skill_key == "invoices"
        assert entry.values["enabled"] is False
        assert CANARY not in json.dumps(entry.raw)
        assert skill is not None
        assert skill.disabled
        assert world.config()["skills"]["entries"]["invoices"]["apiKey"] == CANARY

    ask(world, work)


def test_a_skill_goes_to_the_trash_and_comes_back(world: Served) -> None:
    folder = world.work / "skills" / "invoices"

    async def work(gateway: Gateway) -> None:
        removed = await gateway.remove("invoices", WORKSPACE)
        assert removed.removed
        assert not folder.exists()
        assert [one.id for one in await gateway.trash()] == [removed.id]

        assert await gateway.restore(removed.id) == str(folder)
        assert (folder / "SKILL.md").exists()

    ask(world, work)


def test_the_config_is_replaced_and_merged_only_against_what_was_read(world: Served) -> None:
    async def work(gateway: Gateway) -> None:
        config = await gateway.config_get()
        changed = {**config.values, "skills": {**config.values["skills"], "allowBundled": []}}
        written = await gateway.config_set(changed, base_hash=config.hash)
        merged = await gateway.config_patch(
            {"skills": {"allowBundled": None}}, base_hash=written.hash
        )
        with pytest.raises(GatewayCallError, match="config changed since last load"):
            await gateway.config_patch({"skills": {}}, base_hash=config.hash)

        replaced = await gateway.config_patch(
            {"agents": {"list": [{"id": "main"}]}},
            base_hash=merged.hash,
            replace_paths=["agents.list"],
        )

        assert written.changed
        assert merged.values == config.values
        assert replaced.values["agents"]["list"] == [{"id": "main"}]
        assert await gateway.config_schema()

    ask(world, work)


def _disallow(name: str) -> Callable[[Json], Json]:
    def change(values: Json) -> Json:
        entries = values.setdefault("skills", {}).setdefault("entries", {})
        entries[name] = {"enabled": False}
        return values

    return change


def test_an_edit_is_made_anew_when_somebody_else_wrote_in_between(world: Served) -> None:
    seen: list[Json] = []

    async def work(gateway: Gateway) -> None:
        def change(values: Json) -> Json:
            seen.append(values)
            if len(seen) == 1:
                world.configure(
                    **{**world.config(), "skills": {"entries": {"a": {"enabled": True}}}}
                )
            return _disallow("b")(values)

        written = await gateway.edit_config(change)

        assert len(seen) == 2
        assert written.values["skills"]["entries"] == {
            "a": {"enabled": True},
            "b": {"enabled": False},
        }

    ask(world, work)


def test_an_edit_is_tried_twice_and_not_forever(world: Served) -> None:
    seen: list[Json] = []

    async def work(gateway: Gateway) -> None:
        def change(values: Json) -> Json:
            seen.append(values)
            world.configure(skills={"entries": {str(len(seen)): {"enabled": True}}})
            return _disallow("b")(values)

        with pytest.raises(GatewayCallError, match="config changed since last load"):
            await gateway.edit_config(change)

    ask(world, work)

    assert len(seen) == 2


def test_an_edit_that_changes_nothing_writes_nothing(world: Served) -> None:
    before = world.config_file.stat().st_mtime_ns

    written = ask(world, lambda gateway: gateway.edit_config(lambda values: values))

    assert written.changed == ()
    assert world.config_file.stat().st_mtime_ns == before


def test_a_proposal_is_made_seen_revised_applied_and_taken_back(world: Served) -> None:
    async def work(gateway: Gateway) -> None:
        desk = gateway.proposals
        text = ProposalText(
            content="## Workflow\n\n- Count twice.", description="Counts things twice."
        )
        made = await desk.create("counting", text)
        seen = await desk.inspect(made.proposal.id)
        revised = await desk.revise(
            seen.proposal.id,
            ProposalText(content="## Workflow\n\n- Count three times."),
            revision=seen.proposal.revision,
        )
        with pytest.raises(GatewayCallError) as stale:
            await desk.apply(seen.proposal.id, revision=seen.proposal.revision)
        applied = await desk.apply(seen.proposal.id, revision=revised.proposal.revision)
        page = world.work / "skills" / "counting" / "SKILL.md"

        assert "Count twice" in seen.content
        assert stale.value.reason == "INVALID_REQUEST"
        assert applied.status == "applied"
        assert "Count three times" in page.read_text(encoding="utf-8")
        assert [one.id for one in await desk.list(status="applied")] == [applied.id]
        assert {event.type for event in await desk.events()} >= {"created", "applied"}
        assert (await desk.rollback(applied.id, revision=applied.revision)).id == applied.id

    ask(world, work)


def test_a_proposal_can_be_rejected_or_kept_out(world: Served) -> None:
    async def work(gateway: Gateway) -> tuple[str, str]:
        desk = gateway.proposals
        one = await desk.create(
            "one", ProposalText(content="Do one thing.", description="Does one.")
        )
        two = await desk.create(
            "two", ProposalText(content="Do two things.", description="Does two.")
        )
        rejected = await desk.reject(one.proposal.id, revision=one.proposal.revision, reason="no")
        kept = await desk.quarantine(two.proposal.id, revision=two.proposal.revision)
        return rejected.status, kept.status

    assert ask(world, work) == ("rejected", "quarantined")


def test_a_failed_install_is_a_result_with_a_reason(quiet: Served) -> None:
    async def work(gateway: Gateway) -> None:
        result = await gateway.install("invoices", "brew-0", timeout_ms=1000)

        assert not result.ok
        assert result.message
        assert (result.agent_id, result.workspace) == ("main", str(quiet.work))

    ask(quiet, work)


def test_more_calls_than_a_gateway_takes_at_once_are_only_slower(quiet: Served) -> None:
    async def work(gateway: Gateway) -> int:
        answers = await asyncio.gather(*(gateway.health() for _ in range(125)))
        return sum(answer.ok for answer in answers)

    assert ask(quiet, work) == 125


def test_a_call_without_an_answer_ends_in_time() -> None:
    async def main() -> None:
        async with _silent() as url, connect(url) as gateway:
            with pytest.raises(GatewayCallError, match=r"no answer within 0\.05") as caught:
                await gateway.request("health", {}, 0.05)
            assert caught.value.reason == "TIMEOUT"

    asyncio.run(main())


def test_a_call_that_is_given_up_leaves_the_connection() -> None:
    async def main() -> None:
        async with _silent(_installing) as url, connect(url) as gateway:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0):
                    await gateway.health()
            assert (await gateway.call("anything"))["ok"]

    asyncio.run(main())


def test_a_call_that_waits_when_the_client_is_closed_is_told() -> None:
    async def main() -> None:
        async with _silent() as url:
            async with connect(url) as gateway:
                waiting = asyncio.create_task(gateway.health())
                stream = gateway.events()
                await asyncio.sleep(0)
            with pytest.raises(GatewayLostError):
                await waiting
            with pytest.raises(GatewayLostError, match="closed"):
                await gateway.health()
            assert [event async for event in stream] == []

    asyncio.run(main())


def test_what_the_gateway_says_before_it_hangs_up_is_told() -> None:
    async def hang_up(socket: ServerConnection, _frame: Json) -> None:
        error = {"code": "RATE_LIMITED", "message": "too many frames"}
        await socket.send(json.dumps({"type": "res", "id": "", "ok": False, "error": error}))
        await socket.close(1008)

    async def main() -> None:
        async with _silent(hang_up) as url, connect(url) as gateway:
            with pytest.raises(GatewayLostError, match="too many frames"):
                await gateway.health()

    asyncio.run(main())


def test_who_does_not_greet_is_no_gateway() -> None:
    async def main() -> None:
        async def mute(socket: ServerConnection) -> None:
            await socket.wait_closed()

        async with serve(mute, "127.0.0.1", 0) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            with pytest.raises(GatewayLostError, match="does not answer"):
                async with connect(f"ws://127.0.0.1:{port}", seconds=0.05):
                    pass

    asyncio.run(main())


def test_progress_is_reported_to_the_install_that_it_belongs_to() -> None:
    heard: list[ProgressAnswer] = []

    async def main() -> None:
        async with _silent(_installing) as url, connect(url) as gateway:
            result = await gateway.install("a", "x", on_progress=heard.append)
            assert result.ok

    asyncio.run(main())

    assert [(one.text, one.received) for one in heard] == [("begun", None), ("", 5)]


def test_what_a_report_raises_is_raised_when_the_install_is_over() -> None:
    def fail(_progress: ProgressAnswer) -> None:
        raise KeyError("mine")

    async def main() -> None:
        async with _silent(_installing) as url, connect(url) as gateway:
            with pytest.raises(KeyError, match="mine"):
                await gateway.install("a", "x", on_progress=fail)
            assert (await gateway.install("a", "x")).ok

    asyncio.run(main())


def test_a_page_that_sends_elsewhere_is_not_followed(quiet: Served) -> None:
    async def main() -> None:
        async def elsewhere(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(f"HTTP/1.1 302 Found\r\nLocation: {quiet.url}\r\n\r\n".encode())
            writer.close()

        server = await asyncio.start_server(elsewhere, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server:
            with pytest.raises(GatewayLostError, match="302"):
                async with connect(f"ws://127.0.0.1:{port}", token=TOKEN):
                    pass

    asyncio.run(main())


def test_a_client_hears_what_changes(tmp_path: Path) -> None:
    world = Served(tmp_path)
    world.skill("invoices")

    async def work(gateway: Gateway) -> list[str]:
        stream = gateway.events("config.changed", "skills.changed")
        await gateway.update_skill("invoices", enabled=False)
        return [(await anext(stream)).name for _ in range(2)]

    with served(world, news=True):
        assert sorted(ask(world, work)) == ["config.changed", "skills.changed"]


def test_without_reconnect_a_stopped_gateway_ends_calls_and_events(tmp_path: Path) -> None:
    world = Served(tmp_path)

    async def main() -> None:
        with ExitStack() as running:
            running.enter_context(served(world))
            async with connect(world.url, token=TOKEN) as gateway:
                stream = gateway.events("tick")
                await asyncio.to_thread(running.close)

                with pytest.raises(GatewayLostError):
                    await anext(stream)
                with pytest.raises(GatewayLostError, match="the gateway stops"):
                    await gateway.health()

    asyncio.run(main())


def test_with_reconnect_a_client_finds_the_next_gateway_and_says_so(tmp_path: Path) -> None:
    world = Served(tmp_path)

    async def main() -> None:
        with ExitStack() as first, ExitStack() as second:
            first.enter_context(served(world))
            port = world.port
            async with connect(world.url, token=TOKEN, reconnect=SOON) as gateway:
                stream = gateway.events("tick")
                await asyncio.to_thread(first.close)
                waiting = asyncio.create_task(gateway.health())
                second.enter_context(served(world, port=port))

                assert (await waiting).ok
                event = await anext(stream)
                assert (event.name, event.missed) == (RECONNECTED, None)
                await asyncio.to_thread(second.close)

    asyncio.run(main())


def test_a_client_whose_token_was_changed_stops_trying(tmp_path: Path) -> None:
    world = Served(tmp_path)

    async def main() -> None:
        with ExitStack() as first, ExitStack() as second:
            first.enter_context(served(world))
            port = world.port
            async with connect(world.url, token=TOKEN, reconnect=SOON) as gateway:
                await asyncio.to_thread(first.close)
                second.enter_context(served(world, port=port, token="another"))  # noqa: S106

                with pytest.raises(GatewayCallError, match="wrong token"):
                    await gateway.health()
                await asyncio.to_thread(second.close)

    asyncio.run(main())


Behaviour = Callable[[ServerConnection, Json], Coroutine[Any, Any, None]]


async def _nothing(_socket: ServerConnection, _frame: Json) -> None:
    """Answer nothing."""


async def _installing(socket: ServerConnection, frame: Json) -> None:
    said: tuple[tuple[str, Json], ...] = (
        ("a", {"stream": "stdout", "text": "begun"}),
        ("b", {"stream": "stdout", "text": "another's"}),
        ("a", {"received": 5, "total": None}),
    )
    for number, (skill, more) in enumerate(said, 1):
        payload = {"skill": skill, "installId": "x", **more}
        event = {"event": "skills.install.progress", "payload": payload, "seq": number}
        await socket.send(json.dumps({"type": "event", **event}))
    answer = {"type": "res", "id": frame["id"], "ok": True, "payload": {"ok": True}}
    await socket.send(json.dumps(answer))


class _silent:  # noqa: N801 - it is used like a function
    """A gateway that greets, and then does only what a test says."""

    def __init__(self, behaviour: Behaviour = _nothing) -> None:
        self._behaviour, self._stack = behaviour, serve(self._serve, "127.0.0.1", 0)

    async def __aenter__(self) -> str:
        server = await self._stack.__aenter__()
        return f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}"

    async def __aexit__(self, *_exc: object) -> None:
        await self._stack.__aexit__(None, None, None)

    async def _serve(self, socket: ServerConnection) -> None:
        challenge = {"event": "connect.challenge", "payload": {"nonce": "n"}}
        await socket.send(json.dumps({"type": "event", **challenge}))
        async for text in socket:
            frame = json.loads(text)
            if frame["method"] == "connect":
                hello = {"type": "hello-ok", "protocol": 4}
                answer = {"type": "res", "id": frame["id"], "ok": True, "payload": hello}
                await socket.send(json.dumps(answer))
            else:
                await self._behaviour(socket, frame)
