"""A gateway on a real port: handshake, calls, events, and how a connection ends."""

import base64
import hashlib
import json
import logging
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.integration.gateway_world import (
    CANARY,
    PATIENCE_S,
    SNAPSHOT,
    TOKEN,
    Peer,
    World,
    ask,
    connect_params,
    lazy_client,
    ready,
    running,
)
from websockets.exceptions import ConnectionClosed, InvalidStatus

from prowess.gateway.calls import ClientScope, Json
from prowess.gateway.http import GatewayOptions
from prowess.gateway.hub import Hub, wall_clock_ms
from prowess.gateway.limits import GatewayLimits

SCOPES = ["operator.admin", "operator.approvals", "operator.pairing"]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with running() as one:
        yield one


def _signed(peer: Peer, **changes: object) -> Json:
    """Return `connect` parameters as a device signs them."""
    key = Ed25519PrivateKey.generate()
    raw = key.public_key().public_bytes_raw()
    facts = {"at": wall_clock_ms(), "nonce": peer.nonce, "token": TOKEN, **changes}
    device_id = hashlib.sha256(raw).hexdigest()
    parts = ["v2", device_id, "openclaw-control-ui", "webchat", "operator", ",".join(SCOPES)]
    text = "|".join([*parts, str(facts["at"]), str(facts["token"]), str(facts["nonce"])])
    return connect_params(
        client={"id": "openclaw-control-ui", "mode": "webchat", "platform": "MacIntel"},
        role="operator",
        scopes=SCOPES,
        device={
            "id": device_id,
            "publicKey": base64.urlsafe_b64encode(raw).decode().rstrip("="),
            "signature": base64.urlsafe_b64encode(key.sign(text.encode())).decode().rstrip("="),
            "signedAt": facts["at"],
            "nonce": facts["nonce"],
        },
    )


@pytest.mark.parametrize(
    ("oldest", "newest", "spoken"), [(3, 3, 3), (3, 4, 4), (4, 4, 4), (1, 9, 4)]
)
def test_the_newest_common_protocol_is_spoken(
    world: World, oldest: int, newest: int, spoken: int
) -> None:
    with Peer(world) as peer:
        hello = peer.hello(minProtocol=oldest, maxProtocol=newest)

    assert hello["payload"]["protocol"] == spoken


@pytest.mark.parametrize("path", ["/", "/ws"])
def test_hello_says_what_a_client_needs_to_know(world: World, path: str) -> None:
    with Peer(world, path) as peer:
        payload = peer.hello()["payload"]

    assert peer.challenge["event"] == "connect.challenge"
    assert payload["type"] == "hello-ok"
    assert payload["server"]["version"] == "1.2.3"
    assert payload["snapshot"] == SNAPSHOT
    assert "echo" in payload["features"]["methods"]
    assert "skills.changed" in payload["features"]["events"]
    assert payload["policy"]["maxPayload"] == 512 * 1024
    assert payload["policy"]["tickIntervalMs"] == 30_000


@pytest.mark.parametrize(("oldest", "newest"), [(1, 2), (5, 9), (4, 3)])
def test_without_a_common_protocol_the_range_is_named_and_the_connection_closes(
    world: World, oldest: int, newest: int
) -> None:
    with Peer(world) as peer:
        error = peer.hello(minProtocol=oldest, maxProtocol=newest)["error"]

        assert error["code"] == "INVALID_REQUEST"
        assert error["details"] == {
            "code": "PROTOCOL_MISMATCH", "expectedProtocol": 4, "minimumProbeProtocol": 3,
        }  # fmt: skip
        assert peer.end()[0] == 1002


@pytest.mark.parametrize("auth", [None, {}, {"token": "wrong"}, {"password": "wrong"}])
def test_without_the_token_nobody_comes_in(world: World, auth: Json | None) -> None:
    with Peer(world) as peer:
        error = peer.hello(auth=auth)["error"]

        said = "MISMATCH" if auth else "MISSING"
        assert error["code"] == "INVALID_REQUEST"
        assert error["details"]["code"] == f"AUTH_TOKEN_{said}"
        assert "prowess serve" in error["message"]
        assert TOKEN not in json.dumps(error)
        assert peer.end()[0] == 1008
    with Peer(world) as peer:
        assert peer.hello()["ok"]


def test_the_secret_may_be_sent_as_a_password(world: World) -> None:
    with Peer(world) as peer:
        assert peer.hello(auth={"password": TOKEN})["ok"]


def test_who_guesses_tokens_has_to_wait_and_who_knows_it_never_does() -> None:
    with running(hub=Hub(clock=lambda: 0.0)) as world:
        codes = []
        for _ in range(7):
            with Peer(world) as peer:
                codes.append(peer.hello(auth={"token": "guess"})["error"]["details"]["code"])

        with Peer(world) as peer:
            refused = peer.hello(auth={"token": "guess"})["error"]
        with Peer(world) as peer:
            owner = peer.hello()

    assert codes == ["AUTH_TOKEN_MISMATCH"] * 6 + ["AUTH_RATE_LIMITED"]
    assert refused["details"]["retryAfterMs"] > 0
    assert owner["ok"]


def test_before_connect_nothing_is_answered_and_tries_are_counted(world: World) -> None:
    with Peer(world) as peer:
        first = peer.call("echo", {"text": "hello"})
        hello = peer.hello()
    with Peer(world) as stubborn:
        codes = [stubborn.call("echo")["error"]["code"] for _ in range(5)]
        code, _, _ = stubborn.end()

    assert first["error"]["code"] == "NOT_CONNECTED"
    assert hello["ok"]
    assert set(codes) == {"NOT_CONNECTED"}
    assert code == 1008


def test_a_wrong_type_in_connect_names_the_field_and_may_be_mended(world: World) -> None:
    with Peer(world) as peer:
        error = peer.hello(client={"id": 7})["error"]
        hello = peer.hello(somethingNew={"x": 1}, auth={"token": TOKEN, "deviceToken": "x"})

    assert error["code"] == "INVALID_REQUEST"
    assert error["details"] == {"field": "client.id"}
    assert hello["ok"]


def test_a_second_connect_is_refused_and_the_connection_stays(world: World) -> None:
    with ready(world) as peer:
        assert peer.hello()["error"]["code"] == "INVALID_REQUEST"
        assert peer.call("echo", {"text": "still here"})["ok"]


def test_who_never_introduces_itself_is_sent_away() -> None:
    with (
        running(hub=Hub(limits=GatewayLimits(handshake_seconds=0.05))) as world,
        Peer(world) as peer,
    ):
        code, reason, said = peer.end()

    assert (code, said) == (1008, [])
    assert "connect" in reason


@pytest.mark.parametrize(
    ("role", "asked", "named", "got"),
    [
        (
            None, None, ["operator.admin", "operator.read", "operator.write"],
            {"operator.read", "operator.write", "operator.admin", "node"},
        ),
        ("operator", ["operator.read"], ["operator.read"], {"operator.read"}),
        ("operator", ["operator.write"], ["operator.write"], {"operator.read", "operator.write"}),
        ("operator", ["operator.approvals", "node"], ["operator.approvals"], set()),
        ("operator", [], [], set()),
        ("node", ["operator.admin"], ["node"], {"node"}),
    ],
)  # fmt: skip
def test_rights_are_granted_out_of_the_known_ones_and_named_as_they_were_asked_for(
    world: World, role: str | None, asked: list[str] | None, named: list[str], got: set[str]
) -> None:
    with Peer(world) as peer:
        hello = peer.hello(role=role, scopes=asked)
        seen = peer.call("whoami")["payload"]["scopes"]
        admin = peer.call("admin")

    assert hello["payload"]["auth"]["scopes"] == named
    assert hello["payload"]["auth"]["method"] == "token"
    assert set(seen) == got
    if "operator.admin" not in got:
        assert admin["error"]["code"] == "FORBIDDEN"
        assert admin["error"]["details"] == {
            "code": "MISSING_SCOPE",
            "missingScope": "operator.admin",
            "requiredScopes": ["operator.admin"],
        }


def test_a_device_that_signed_the_challenge_comes_in(world: World) -> None:
    with Peer(world) as peer:
        hello = peer.call("connect", _signed(peer))

    assert hello["ok"], hello


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"nonce": "another-connection's"}, "NONCE_MISMATCH"),
        ({"at": 1_600_000_000_000}, "SIGNATURE_EXPIRED"),
        ({"token": "signed-with-another-token"}, "SIGNATURE_INVALID"),
    ],
)
def test_a_device_that_signed_something_else_does_not(
    world: World, change: Json, kind: str
) -> None:
    with Peer(world) as peer:
        error = peer.call("connect", _signed(peer, **change))["error"]

        assert error["details"] == {"code": f"DEVICE_AUTH_{kind}"}
        assert "device." in error["message"]
        assert peer.end()[0] == 1008


def test_a_good_device_does_not_replace_the_token(world: World) -> None:
    with Peer(world) as peer:
        params = _signed(peer, token="")
        error = peer.call("connect", {**params, "auth": None})["error"]

    assert error["details"]["code"] == "AUTH_TOKEN_MISSING"
    assert "token missing" in error["message"]


def test_without_a_token_the_own_machine_is_let_in() -> None:
    with running(GatewayOptions(version="1")) as world, Peer(world) as peer:
        assert peer.hello(auth=None)["ok"]


@pytest.mark.parametrize(
    ("frame", "code", "closed"),
    [
        ("{", "INVALID_REQUEST", 1007),
        ("[]", "INVALID_REQUEST", 1007),
        (b"{}", "INVALID_REQUEST", 1003),
        ('{"type":"req","id":"1","id":"2","method":"echo"}', "INVALID_REQUEST", 1007),
        ('{"type":"req","id":"1","method":"echo","params":{"x":NaN}}', "INVALID_REQUEST", 1007),
        ('{"type":"req","id":"1","method":"echo","params":{"x":1e999}}', "INVALID_REQUEST", 1007),
        ('{"type":"req","id":"\\ud800","method":"echo"}', "INVALID_REQUEST", 1007),
        ('{"type":"req","id":7,"method":"echo"}', "INVALID_REQUEST", 1007),
        ('{"type":"req","id":"","method":"echo"}', "INVALID_REQUEST", 1007),
        ("[" * 100_000, "INVALID_REQUEST", 1007),
        ('{"x":' * 200 + "1" + "}" * 200, "INVALID_REQUEST", 1007),
        ('"' + "x" * 600_000 + '"', "PAYLOAD_TOO_LARGE", 1009),
    ],
)
def test_a_broken_frame_gets_an_answer_and_ends_its_connection_alone(
    world: World, frame: str | bytes, code: str, closed: int
) -> None:
    with ready(world) as other, ready(world) as peer:
        peer.send(frame)
        ended, _, said = peer.end()

        assert other.call("echo", {"text": "unharmed"})["ok"]
    assert ended == closed
    answer = next(one for one in said if one["type"] == "res")
    assert answer["error"]["code"] == code


def test_a_frame_far_beyond_the_limit_is_cut_off(world: World) -> None:
    with ready(world) as peer:
        # The server may hang up in the middle of it.
        with suppress(ConnectionClosed):
            peer.send("x" * 3_000_000)

        assert peer.end()[0] == 1009


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "res", "id": "1"},
        {"id": "1", "method": "echo"},
        {"type": "req", "id": "1", "method": 5},
        {"type": "req", "id": "1", "method": "echo", "params": [1]},
    ],
)
def test_a_frame_that_is_no_request_is_answered_and_the_connection_stays(
    world: World, frame: Json
) -> None:
    with ready(world) as peer:
        peer.send(frame)

        assert peer.answer("1")["error"]["code"] == "INVALID_REQUEST"
        assert peer.call("echo", {"text": "on"})["ok"]


def test_a_flood_ends_its_connection_and_nobody_else_notices() -> None:
    hub = Hub(clock=lambda: 0.0)
    with running(hub=hub) as world, ready(world) as other, ready(world) as peer:
        with suppress(ConnectionClosed):
            for number in range(200):
                peer.send({"type": "req", "id": str(number), "method": "nothing"})
        code, reason, said = peer.end()

        assert other.call("echo", {"text": "unharmed"})["ok"]
    assert code == 1008
    assert "frames" in reason
    assert said[-1]["error"]["code"] == "RATE_LIMITED"


def test_too_many_open_requests_are_refused_one_by_one() -> None:
    with running(hub=Hub(limits=GatewayLimits(in_flight=2))) as world, ready(world) as peer:
        for number in range(3):
            peer.send({"type": "req", "id": f"w{number}", "method": "wait"})
        refused = peer.answer("w2")
        world.gate.set()
        answers = {peer.response()["id"] for _ in range(2)}

        assert refused["error"]["code"] == "RATE_LIMITED"
        assert answers == {"w0", "w1"}


def test_a_quick_answer_overtakes_a_slow_one(world: World) -> None:
    world.gate.clear()
    with ready(world) as peer:
        peer.send({"type": "req", "id": "slow", "method": "wait"})
        quick = peer.call("echo", {"text": "first"})
        world.gate.set()
        slow = peer.answer("slow")

    assert quick["payload"] == {"text": "first"}
    assert slow["ok"]


def test_who_does_not_read_is_dropped_and_the_others_get_everything() -> None:
    limits = GatewayLimits(queue_bytes=200_000, goodbye_seconds=0.2, presence_seconds=0.01)
    with running(hub=Hub(limits=limits)) as world, ready(world) as other, lazy_client(world):
        while len(other.event("presence")["payload"]["presence"]) < 2:
            pass
        count = 0
        while world.clients() > 1 and count < 2000:
            world.hub.publish("skills.changed", {"number": count, "text": "x" * 60_000})
            assert other.event("skills.changed")["payload"]["number"] == count
            count += 1

        metrics = ask(world, "GET", "/metrics", headers={"Authorization": f"Bearer {TOKEN}"})

    assert 0 < count < 2000
    assert "prowess_gateway_slow_consumers_dropped_total 1" in metrics.text


def test_who_neither_reads_nor_asks_is_cut_off_for_good() -> None:
    # Room for two of the events: who reads is never dropped, however late its turn comes.
    limits = GatewayLimits(queue_bytes=2_000_000, goodbye_seconds=0.05)
    with (
        running(hub=Hub(limits=limits)) as world,
        ready(world) as other,
        lazy_client(world),
        socket.create_connection(("127.0.0.1", world.port), timeout=PATIENCE_S) as silent,
    ):
        world.until(lambda: world.clients() == 2)
        while world.clients() > 1:
            world.hub.publish("skills.changed", {"text": "x" * 900_000})
            other.event("skills.changed")
        # Only now: whoever connects would be cut off if it did not ask within moments.
        world.server.sweep_every = 1
        world.until(lambda: len(world.server.server_state.connections) == 1)

        assert silent.recv(1) == b""
        assert other.call("whoami")["ok"]


def test_an_answer_larger_than_the_queue_is_still_sent() -> None:
    limits = GatewayLimits(queue_bytes=100_000)
    with running(hub=Hub(limits=limits)) as world, ready(world) as peer:
        answer = peer.call("big", {"chars": 900_000})

    assert len(answer["payload"]["text"]) == 900_000


def test_a_full_gateway_refuses_before_the_upgrade() -> None:
    hub = Hub(limits=GatewayLimits(connections=1))
    with running(hub=hub) as world, ready(world), pytest.raises(InvalidStatus) as refused:
        Peer(world)

    assert refused.value.response.status_code == 503


@pytest.mark.parametrize("limits", [GatewayLimits(strangers=2), GatewayLimits(connections=2)])
def test_strangers_keep_no_client_out_the_oldest_makes_room(limits: GatewayLimits) -> None:
    with (
        running(hub=Hub(limits=limits)) as world,
        Peer(world) as oldest,
        Peer(world) as other,
        ready(world) as client,
    ):
        ended, reason, _ = oldest.end()

        assert client.call("whoami")["ok"]
        assert other.hello()["ok"]
    assert ended == 1008
    assert "connect" in reason


def test_events_from_any_thread_arrive_in_order_with_their_numbers(world: World) -> None:
    def publish(start: int) -> None:
        for number in range(start, start + 50):
            world.hub.publish("skills.changed", {"number": number})

    with ready(world) as one, ready(world) as two:
        threads = [threading.Thread(target=publish, args=(start,)) for start in (0, 100, 200)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        frames = [[peer.receive() for _ in range(150)] for peer in (one, two)]

    for seen in frames:
        assert [frame["seq"] for frame in seen] == list(range(seen[0]["seq"], seen[0]["seq"] + 150))
        numbers = [one["payload"]["number"] for one in seen if one["event"] == "skills.changed"]
        for start in (0, 100, 200):
            mine = [number for number in numbers if start <= number < start + 50]
            assert mine == sorted(mine)


def test_an_event_reaches_only_those_who_may_know(world: World) -> None:
    with ready(world) as admin, ready(world, scopes=["operator.read"]) as reader:
        world.hub.publish("config.changed", {"hash": "h"}, scope=ClientScope.ADMIN)
        world.hub.publish("skills.changed", {"version": 1})
        admin.event("config.changed")
        reader.event("skills.changed")

        assert all(one["event"] != "config.changed" for one in reader.events)


def test_progress_goes_to_the_caller_alone_and_before_the_answer(world: World) -> None:
    with ready(world) as other, ready(world) as peer:
        assert peer.call("progress")["ok"]
        steps = [one["payload"]["step"] for one in peer.events if "step" in one["payload"]]
        other.call("echo", {"text": "x"})

        assert steps == [0, 1, 2]
        assert all(one["event"] != "skills.install.progress" for one in other.events)


def test_clients_are_told_who_comes_and_goes() -> None:
    gone = []
    hub = Hub(
        limits=GatewayLimits(presence_seconds=0.01), left=lambda client: gone.append(client.name)
    )
    with running(hub=hub) as world, ready(world) as peer:
        with ready(world, client={"id": "x", "displayName": "Second\x1b[31m", "platform": "mac"}):
            while len(both := peer.event("presence")["payload"]["presence"]) < 2:
                pass
        while len(alone := peer.event("presence")["payload"]["presence"]) > 1:
            pass

    assert {tuple(sorted(one)) for one in both} == {("id", "name", "platform", "role", "since")}
    assert sorted(one["name"] for one in both) == ["Second", "test"]
    assert [one["name"] for one in alone] == ["test"]
    assert gone == ["Second", "test"]


def test_the_clock_ticks() -> None:
    options = GatewayOptions(token=TOKEN, version="1", tick_ms=10)
    with running(options) as world, ready(world, role="node") as peer:
        assert isinstance(peer.event("tick")["payload"]["ts"], int)


def test_a_stop_waits_for_running_calls_and_tells_everybody() -> None:
    with running() as world, ready(world) as peer:
        peer.send({"type": "req", "id": "w", "method": "wait"})
        assert world.entered.acquire(timeout=PATIENCE_S)
        world.server.should_exit = True
        shutdown = peer.event("shutdown")
        late = peer.call("echo", {"text": "late"})
        world.gate.set()
        waited = peer.answer("w")
        code, _, _ = peer.end()

    assert "stops" in shutdown["payload"]["reason"]
    assert late["error"]["code"] == "UNAVAILABLE"
    assert waited["payload"] == {"waited": True}
    assert code == 1012


def test_a_signal_stops_the_server_and_the_program_goes_on_to_tidy_up() -> None:
    script = (
        "import asyncio, os, signal, socket\n"
        "from prowess.gateway.http import GatewayOptions, build_app\n"
        "from prowess.gateway.dispatch import MethodTable\n"
        "from prowess.gateway.hub import Hub\n"
        "from prowess.gateway.server import gateway_server\n"
        "hub, options = Hub(), GatewayOptions(version='1')\n"
        "app = build_app(MethodTable([]), hub, options, dict, dict)\n"
        "listener = socket.create_server(('127.0.0.1', 0))\n"
        "server = gateway_server(app, hub, options)\n"
        "ready = lambda: os.kill(os.getpid(), signal.SIGTERM)\n"
        "asyncio.run(server.until_signal(listener, ready))\n"
        "print('tidied up')\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, timeout=60, check=True
    )

    assert (done.stdout.strip(), done.stderr) == (b"tidied up", b"")


def test_what_methods_raise_becomes_an_answer(world: World) -> None:
    with ready(world) as peer:
        found = {name: peer.call(name) for name in ("agent", "config", "stale", "refuse", "half")}
        wrong = peer.call("echo", {"text": 3})
        extra = peer.call("echo", {"text": "x", "colour": "red"})

    assert found["agent"]["error"]["message"] == 'unknown agent id "ghost"'
    assert found["config"]["error"]["code"] == "UNAVAILABLE"
    assert found["stale"]["error"]["details"]["currentRevisionHash"] == "bbb"
    assert found["refuse"]["error"]["details"] == {"field": "word"}
    assert found["half"]["payload"] == {"code": 1}
    assert not found["half"]["ok"]
    assert wrong["error"]["message"].startswith("invalid echo params: text: ")
    assert extra["error"]["details"] == {"field": "colour"}


def test_no_secret_is_logged_told_or_counted(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="prowess")
    with ready(world) as peer:
        answers = [peer.call("boom"), peer.call("odd"), peer.call(CANARY), peer.call("echo", {})]
    with Peer(world, f"/?token={CANARY}") as peer:
        answers.append(peer.hello(auth={"token": CANARY}))
    metrics = ask(world, "GET", "/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).text

    told = json.dumps([one for one in answers if CANARY not in str(one.get("error", {}))])
    assert answers[0]["error"]["message"].startswith("internal error")
    assert "RuntimeError at gateway_world.py" in caplog.text
    for text in (caplog.text, metrics, told, json.dumps(answers[0]), json.dumps(answers[-1])):
        assert CANARY not in text
        assert TOKEN not in text
