"""Secrets planted everywhere, and everything that the gateway says, searched for them."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from .gateway_bench import SENTINEL, Client, Gateway, crowd, serving
from .world import Json, World, openclaw

pytestmark = pytest.mark.slow

PLANTED = {
    place: f"planted-{place}-" + "5ecret" * 3
    for place in ("token", "key", "env", "channel", "process", "typed", "broken")
}


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    # One gateway for each test: both change the configuration, and a change that is taken
    # back before the gateway looked is rightly not told.
    world = World(tmp_path)
    config = crowd(
        world, entries={"spy": {"apiKey": PLANTED["key"], "env": {"SPY_TOKEN": PLANTED["env"]}}}
    )
    config["channels"] = {"chat": {"botToken": PLANTED["channel"]}}
    world.config(config)
    meta = openclaw(
        primaryEnv="SPY_KEY",
        requires={"env": ["SPY_PROCESS_SECRET", "SPY_TOKEN"], "config": ["channels.chat.botToken"]},
        install=[{"kind": "brew", "formula": "spy"}],
    )
    world.skill("spy", metadata=meta)
    env = {"SPY_PROCESS_SECRET": PLANTED["process"], "PROWESS_DEBUG": "1"}
    with serving(world, token=PLANTED["token"], env=env) as running:
        yield running


def everything(client: Client) -> Iterator[Json]:
    """What each method answers, to right and to wrong questions."""
    typed = PLANTED["typed"]
    asked: list[tuple[str, Json]] = [
        *((method, {}) for method in ("health", "status", "agents.list", "skills.status")),
        *((method, {}) for method in ("models.list", "sessions.list", "config.get")),
        *((method, {}) for method in ("config.schema", "skills.bins", "skills.prompt")),
        *((method, {}) for method in ("skills.validate", "skills.usage")),
        *((method, {}) for method in ("skills.proposals.list", "skills.proposals.events.list")),
        ("skills.detail", {"slug": "spy"}),
        ("skills.why", {"name": "spy"}),
        ("skills.route", {"message": "use the spy"}),
        ("skills.install", {"name": "spy", "installId": "brew-0"}),
        ("skills.update", {"skillKey": "spy", "env": {"SPY_PASSWORD": typed}}),
        ("skills.update", {"skillKey": "spy", "apiKey": {"nested": typed}}),
        ("skills.update", {"skillKey": "spy", "apiKey": typed, "surprise": typed}),
        ("config.set", {"raw": json.dumps({"apiKey": typed}), "baseHash": "0" * 64}),
        ("config.set", {"raw": '{"apiKey": "' + typed}),
        ("config.patch", {"raw": '{"skills": {"entries": "' + typed + '"}}'}),
        ("skills.status", {"agentId": 7}),
    ]
    for method, params in asked:
        yield client.ask(method, params)


@pytest.mark.requirement("gateway:no-secrets")
def test_no_secret_is_in_anything_that_the_gateway_says(gateway: Gateway) -> None:
    with gateway.client() as client:
        answers = list(everything(client))
        bearer = f"Bearer {PLANTED['token']}"
        paths = ("/", "/health", "/metrics", "/no/such", f"/?token={PLANTED['token']}x")
        pages = [gateway.http("GET", path, Authorization=bearer) for path in paths]
        _, over_http = gateway.rpc(
            {"type": "req", "id": "1", "method": "config.get"}, Authorization=bearer
        )
        client.until("config.changed")
        events = list(client.events)
    with gateway.client() as client:
        client.socket.send('{"type":"req","auth":"' + PLANTED["typed"])
        broken = client.end()

    log = gateway.log.read_text(encoding="utf-8")
    said = json.dumps([answers, pages, over_http, events, broken, gateway.banner]) + log
    assert [place for place, secret in PLANTED.items() if secret in said] == []
    assert SENTINEL in said
    assert any("spy" in json.dumps(answer) for answer in answers)


@pytest.mark.requirement("gateway:no-secrets")
def test_no_secret_is_in_any_file_but_the_configuration(gateway: Gateway) -> None:
    kept = gateway.world.config_file.read_bytes()
    with gateway.client() as client:
        for _ in everything(client):
            pass
    gateway.world.config('{"skills": {"entries": {"spy": {"apiKey": "' + PLANTED["broken"])
    with gateway.client() as client:
        answers = [client.ask(method) for method in ("config.get", "skills.status", "status")]
    gateway.world.config(kept)

    files = {}
    for path in gateway.world.root.rglob("*"):
        # The log of a database comes and goes while the gateway runs.
        with suppress(FileNotFoundError):
            if path.is_file() and path != gateway.world.config_file:
                files[path] = path.read_bytes()
    assert any(path.name == "prowess.db" for path in files)
    found = [
        (path.name, place)
        for path, held in files.items()
        for place, secret in PLANTED.items()
        if secret.encode() in held
    ]
    assert [item for item in found if not item[0].startswith("prowess.json")] == []
    assert PLANTED["broken"] not in json.dumps(answers)
