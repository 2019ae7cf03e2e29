"""The gateway over HTTP: who may knock, `/rpc`, `/health`, `/metrics`, and the studio's files."""

import json
import socket
from collections.abc import Iterator

import pytest
from starlette.responses import HTMLResponse
from starlette.types import Receive, Scope, Send
from tests.integration.gateway_world import (
    CANARY,
    PATIENCE_S,
    TOKEN,
    Answer,
    Peer,
    World,
    ask,
    ready,
    running,
)

from prowess.gateway.calls import Json
from prowess.gateway.http import GatewayOptions
from prowess.gateway.hub import Hub
from prowess.gateway.limits import GatewayLimits
from prowess.settings import GatewaySettings

BEARER = {"Authorization": f"Bearer {TOKEN}"}
JSON = {**BEARER, "Content-Type": "application/json"}
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    options = GatewayOptions(
        token=TOKEN,
        version="1.2.3",
        allowed_hosts=("gateway.example.test",),
        configured=lambda: GatewaySettings(allowed_origins=("https://studio.example.test",)),
    )
    with running(options, static=HTMLResponse("<p>studio</p>")) as one:
        yield one


def _rpc(world: World, method: str, params: Json | None = None) -> Answer:
    frame = {"type": "req", "id": "1", "method": method, "params": params}
    return ask(world, "POST", "/rpc", json.dumps(frame), JSON)


def test_one_frame_in_and_one_out(world: World) -> None:
    answer = _rpc(world, "echo", {"text": "hello"})

    assert answer.status == 200
    assert answer.json() == {"type": "res", "id": "1", "ok": True, "payload": {"text": "hello"}}


@pytest.mark.parametrize(
    ("method", "status", "code"),
    [
        ("nothing", 400, "INVALID_REQUEST"),
        ("connect", 400, "INVALID_REQUEST"),
        ("boom", 503, "UNAVAILABLE"),
        ("echo", 400, "INVALID_REQUEST"),
        ("half", 503, "UNAVAILABLE"),
    ],
)
def test_a_refusal_has_a_status_and_is_a_frame(
    world: World, method: str, status: int, code: str
) -> None:
    answer = _rpc(world, method)

    assert answer.status == status
    assert answer.json()["error"]["code"] == code


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}]
)
def test_rpc_and_metrics_want_the_token(world: World, headers: dict[str, str]) -> None:
    given = {**headers, "Content-Type": "application/json"}
    for method, path in (("POST", "/rpc"), ("GET", "/metrics")):
        answer = ask(world, method, path, None, given)

        assert answer.status == 401
        assert answer.json()["error"]["code"] == "UNAUTHORIZED"
        assert answer.headers["www-authenticate"] == "Bearer"
    assert _rpc(world, "whoami").status == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_rpc_takes_json_alone(world: World, kind: str) -> None:
    answer = ask(world, "POST", "/rpc", "{}", {**BEARER, "Content-Type": kind})

    assert answer.status == 415


@pytest.mark.parametrize("body", ["{", "[]", "", "\ud800", '{"type":"req"}'])
def test_a_broken_body_is_refused(world: World, body: str) -> None:
    answer = ask(world, "POST", "/rpc", body.encode("utf-8", "surrogatepass"), JSON)

    assert answer.status == 400
    assert answer.json()["error"]["code"] == "INVALID_REQUEST"


def test_a_body_is_bounded_by_what_it_says_and_by_what_it_is(world: World) -> None:
    said = ask(world, "POST", "/rpc", "x" * 600_000, JSON)
    with socket.create_connection(("127.0.0.1", world.port), timeout=PATIENCE_S) as line:
        line.sendall(
            f"POST /rpc HTTP/1.1\r\nHost: localhost:{world.port}\r\nTransfer-Encoding: chunked\r\n"
            f"Authorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n\r\n".encode()
        )
        for _ in range(6):
            line.sendall(b"19000\r\n" + b"x" * 0x19000 + b"\r\n")
        line.sendall(b"0\r\n\r\n")
        found = line.recv(300)

    assert said.status == 413
    assert said.json()["error"]["code"] == "PAYLOAD_TOO_LARGE"
    assert found.startswith(b"HTTP/1.1 413")


def test_a_body_that_never_comes_is_not_waited_for() -> None:
    hub = Hub(limits=GatewayLimits(body_seconds=0.05))
    with running(hub=hub) as world:
        answer = ask(world, "POST", "/rpc", b"", {**JSON, "Content-Length": "10"})

    assert answer.status == 408


def test_too_many_http_requests_at_once_are_refused() -> None:
    with running(hub=Hub(limits=GatewayLimits(http_in_flight=0))) as world:
        answer = _rpc(world, "whoami")

    assert answer.status == 429


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/rpc"), ("OPTIONS", "/rpc"), ("POST", "/health"), ("DELETE", "/metrics")],
)
def test_wrong_methods_are_named_and_no_page_of_others_is_allowed_in(
    world: World, method: str, path: str
) -> None:
    answer = ask(world, method, path)

    assert answer.status == 405
    assert answer.headers["allow"]
    assert not [name for name in answer.headers if name.lower().startswith("access-control")]


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("localhost:{port}", True),
        ("127.0.0.1:{port}", True),
        ("[::1]:{port}", True),
        ("LOCALHOST", True),
        ("gateway.example.test", True),
        ("gateway.example.test:443", True),
        ("attacker.example:{port}", False),
        ("127.0.0.1.attacker.example", False),
        ("192.168.1.5:{port}", False),
        ("localhost@attacker.example", False),
        ("0.0.0.0:{port}", False),
    ],
)
def test_only_known_host_names_are_served(world: World, host: str, *, allowed: bool) -> None:
    name = {"Host": host.format(port=world.port)}

    page = ask(world, "GET", "/health", None, name)
    upgrade = ask(world, "GET", "/ws", None, {**UPGRADE, **name})

    assert page.status == (200 if allowed else 403)
    assert upgrade.status == (101 if allowed else 403)
    if not allowed:
        assert upgrade.json()["error"]["code"] == "FORBIDDEN"


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ("http://127.0.0.1:{port}", True),
        ("http://localhost:{port}", True),
        ("https://studio.example.test", True),
        ("http://localhost:3000", False),
        ("http://studio.example.test", False),
        ("https://attacker.example", False),
        ("null", False),
        ("file://", False),
        ("http://127.0.0.1:{port}.attacker.example", False),
        ("http://user@127.0.0.1:{port}", False),
    ],
)
def test_only_pages_of_known_origins_are_served(
    world: World, origin: str, *, allowed: bool
) -> None:
    header = {"Origin": origin.format(port=world.port)}

    page = ask(world, "POST", "/rpc", "{}", {**JSON, **header})
    upgrade = ask(world, "GET", "/", None, {**UPGRADE, **header})

    assert (page.status == 403) is not allowed
    assert upgrade.status == (101 if allowed else 403)


def test_two_hosts_or_no_host_are_refused(world: World) -> None:
    with socket.create_connection(("127.0.0.1", world.port), timeout=PATIENCE_S) as line:
        line.sendall(b"GET /health HTTP/1.0\r\n\r\n")
        answer = line.recv(100)

    assert b" 403 " in answer.splitlines()[0]


def test_every_answer_has_its_guards_and_the_studio_its_own_policy(world: World) -> None:
    answers = [
        ask(world, "GET", "/health"),
        ask(world, "GET", "/rpc"),
        ask(world, "GET", "/health", None, {"Host": "attacker.example"}),
        ask(world, "GET", "/metrics"),
    ]
    studio = ask(world, "GET", "/anything.js")

    for answer in (*answers, studio):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
    for answer in answers:
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert studio.text == "<p>studio</p>"
    assert "content-security-policy" not in studio.headers
    assert "server" not in studio.headers


def test_what_breaks_inside_is_answered_and_never_told(caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> Json:
        raise RuntimeError(CANARY)

    async def page(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise RuntimeError(CANARY)

    with running(static=page, snapshot=broken) as world:
        answers = [
            ask(world, "GET", "/health"),
            ask(world, "GET", "/page"),
            ask(world, "GET", "/metrics", None, BEARER),
        ]
        with Peer(world) as peer:
            hello = peer.hello()
            closed = peer.end()[0]

    assert [answer.status for answer in answers] == [503, 500, 200]
    assert (hello["error"]["code"], closed) == ("UNAVAILABLE", 1011)
    told = "".join(answer.text for answer in answers) + str(hello) + caplog.text
    assert CANARY not in told
    assert "RuntimeError at test_gateway_http.py" in caplog.text


def test_while_it_stops_a_gateway_says_so() -> None:
    with running() as world, ready(world) as peer:
        peer.send({"type": "req", "id": "w", "method": "wait"})
        assert world.entered.acquire(timeout=PATIENCE_S)
        world.server.should_exit = True
        peer.event("shutdown")
        health = ask(world, "GET", "/health")
        call = _rpc(world, "whoami")
        socket_answer = ask(world, "GET", "/ws", None, UPGRADE)
        world.gate.set()

    assert health.json() == {"ok": False, "status": "stopping"}
    assert (call.status, call.json()["error"]["code"]) == (503, "UNAVAILABLE")
    assert socket_answer.status == 503


def test_a_websocket_elsewhere_is_refused(world: World) -> None:
    assert ask(world, "GET", "/elsewhere", None, UPGRADE).status in {403, 404}


def test_health_needs_no_token_and_metrics_count() -> None:
    # A world of its own: clients of other tests may be on their way out.
    with running() as world, ready(world) as peer:
        peer.call("echo", {"text": "x"})
        peer.call("made-up-by-a-client")
        health = ask(world, "GET", "/health")
        metrics = ask(world, "GET", "/metrics", None, BEARER)

    assert health.json() == {"ok": True, "version": "1.2.3"}
    assert metrics.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "prowess_gateway_clients 1" in metrics.text
    assert 'requests_total{method="echo",outcome="ok"}' in metrics.text
    assert 'requests_total{method="unknown",outcome="INVALID_REQUEST"}' in metrics.text
    assert "made-up" not in metrics.text
    assert "prowess_skills 7" in metrics.text
    assert "bad name" not in metrics.text
