"""What strangers and greedy clients do to a gateway on a real port, and that the others stay."""

import asyncio
import errno
import json
import logging
import os
import socket
import subprocess
import sys
from contextlib import ExitStack, suppress

import pytest
from tests.integration.gateway_world import (
    PATIENCE_S,
    TOKEN,
    Peer,
    World,
    ask,
    connect_params,
    lazy_client,
    ready,
    running,
)
from websockets.exceptions import ConnectionClosed

from prowess.gateway.hub import Hub
from prowess.gateway.limits import GatewayLimits
from prowess.gateway.server import raised_file_limit


def _metrics(world: World) -> str:
    return ask(world, "GET", "/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).text


def _line(world: World) -> socket.socket:
    return socket.create_connection(("127.0.0.1", world.port), timeout=PATIENCE_S)


def _until_cut(line: socket.socket) -> bytes:
    said = b""
    with suppress(ConnectionError):
        while part := line.recv(65536):
            said += part
    return said


def test_greetings_and_health_do_not_wait_behind_calls() -> None:
    limits = GatewayLimits(quick_threads=1, slow_threads=1)
    with running(hub=Hub(limits=limits)) as world, ready(world) as greedy:
        for number in range(20):
            greedy.send({"type": "req", "id": f"w{number}", "method": "wait"})
        assert world.entered.acquire(timeout=PATIENCE_S)

        with ready(world) as other:
            assert other.call("echo", {"text": "served"})["ok"]
        assert ask(world, "GET", "/health").status == 200


def test_calls_of_a_client_that_left_are_not_begun() -> None:
    with running(hub=Hub(limits=GatewayLimits(slow_threads=1))) as world, ready(world) as other:
        with ready(world) as peer:
            for number in range(5):
                peer.send({"type": "req", "id": f"w{number}", "method": "wait"})
            peer.call("echo", {"text": "all taken"})
            assert world.entered.acquire(timeout=PATIENCE_S)
        world.until(lambda: world.hub.gauges()["calls_in_flight"] == 1)
        world.gate.set()
        assert other.call("wait")["ok"]

        assert world.entered.acquire(timeout=PATIENCE_S)
        assert not world.entered.acquire(blocking=False)


@pytest.mark.parametrize("known", [True, False])
def test_a_flood_of_pings_is_cut_and_nobody_else_notices(*, known: bool) -> None:
    hub = Hub(clock=lambda: 0.0)
    with running(hub=hub) as world, ready(world) as other, Peer(world) as peer:
        if known:
            assert peer.hello()["ok"]
        with suppress(ConnectionClosed, OSError):
            for number in range(500):
                peer.socket.ping(str(number))
        peer.end()

        assert other.call("echo", {"text": "unharmed"})["ok"]
        assert 'clients_rejected_total{reason="flood"} 1' in _metrics(world)


def test_a_frame_in_endless_pieces_is_cut() -> None:
    limits = GatewayLimits(pieces_burst=50)
    hub = Hub(limits=limits, clock=lambda: 0.0)
    with running(hub=hub) as world, ready(world) as other, ready(world) as peer:
        with suppress(ConnectionClosed, OSError):
            peer.socket.send("" for _ in range(200))
        peer.end()

        assert other.call("echo", {"text": "unharmed"})["ok"]
        assert 'reason="flood"' in _metrics(world)


def test_a_stranger_sends_small_frames_and_a_client_large_ones() -> None:
    hub = Hub(limits=GatewayLimits(stranger_payload=1000))
    with running(hub=hub) as world, Peer(world) as stranger, ready(world) as client:
        with suppress(ConnectionClosed):
            stranger.send("x" * 10_000)

        assert stranger.end()[0] == 1009
        assert client.call("echo", {"text": "x" * 100_000})["ok"]


@pytest.mark.parametrize(
    ("first", "answers"),
    [
        ("", 0),
        ("GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 1),
        ("POST /health HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5000\r\n\r\n", 1),
    ],
)
def test_the_header_of_every_request_has_a_deadline(first: str, answers: int) -> None:
    # Long enough that nobody is late who sends at once.
    with running(hub=Hub(limits=GatewayLimits(header_seconds=1))) as world, _line(world) as line:
        line.sendall(f"{first}GET /hea".encode())

        said = _until_cut(line)

        assert said.count(b"HTTP/1.1 ") == answers
        assert ask(world, "GET", "/health").status == 200


def test_too_many_sockets_cost_the_oldest_idle_one() -> None:
    limits = GatewayLimits(connections=4, strangers=2, http_in_flight=1)
    with running(hub=Hub(limits=limits)) as world, ready(world) as client, ExitStack() as stack:
        lines = [stack.enter_context(_line(world)) for _ in range(20)]

        assert lines[0].recv(1) == b""
        assert ask(world, "GET", "/health").status == 200
        assert client.call("whoami")["ok"]
        with ready(world) as other:
            assert other.call("whoami")["ok"]


def test_who_takes_nothing_of_an_answer_is_cut_off() -> None:
    # Long enough that nobody is cut off who reads.
    limits = GatewayLimits(progress_seconds=1)
    with running(hub=Hub(limits=limits)) as world, ready(world) as other, lazy_client(world):
        world.until(lambda: world.clients() == 2)
        world.hub.publish("skills.changed", {"text": "x" * 7_000_000})
        other.event("skills.changed")
        world.until(lambda: world.clients() == 1)

        assert other.call("whoami")["ok"]


def test_the_longest_queue_goes_when_all_together_are_too_long() -> None:
    limits = GatewayLimits(all_queues_bytes=3_000_000, goodbye_seconds=0.1)
    with running(hub=Hub(limits=limits)) as world, ready(world) as other, lazy_client(world):
        world.until(lambda: world.clients() == 2)
        count = 0
        while world.clients() > 1 and count < 200:
            world.hub.publish("skills.changed", {"text": "x" * 500_000})
            other.event("skills.changed")
            count += 1

        assert count < 200
        assert world.hub.budget.used < 3_000_000
        assert other.call("whoami")["ok"]


def test_what_strangers_do_wrong_is_counted_and_not_logged(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    upgrade = "Connection: Upgrade\r\nUpgrade: "
    socket_key = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    with running() as world:
        for text in (
            "nonsense\r\n\r\n",
            f"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n{upgrade}h2c\r\n\r\n",
            f"GET /ws HTTP/1.1\r\nHost: evil.test\r\n{upgrade}websocket\r\n{socket_key}\r\n",
        ):
            with _line(world) as line:
                line.sendall(text.encode())
                line.shutdown(socket.SHUT_WR)
                _until_cut(line)
        metrics = _metrics(world)

    assert 'clients_rejected_total{reason="malformed"} 1' in metrics
    assert 'clients_rejected_total{reason="upgrade"} 1' in metrics
    assert not [one for one in caplog.records if one.name.startswith(("uvicorn", "websockets"))]
    assert capfd.readouterr().err == ""


def test_a_name_with_many_dots_is_not_this_machine() -> None:
    with running() as world:
        statuses = [
            ask(world, "GET", "/health", headers={"Host": host}).status
            for host in ("localhost", "localhost.", "localhost..", "localhost...", "127.0.0.1..")
        ]

    assert statuses == [200, 200, 403, 403, 403]


def test_a_device_with_a_strange_name_is_refused_and_nothing_breaks(
    caplog: pytest.LogCaptureFixture,
) -> None:
    device = {
        "id": "äöü",
        "publicKey": "A" * 43,
        "signature": "A" * 86,
        "signedAt": 0,
        "nonce": "é",
    }
    with running() as world, Peer(world) as peer:
        error = peer.call("connect", connect_params(device=device))["error"]

    assert error["details"] == {"code": "DEVICE_AUTH_DEVICE_ID_MISMATCH"}
    assert "device.id" in error["message"]
    assert caplog.text == ""


def test_trouble_of_the_loop_that_repeats_does_not_fill_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def stumble() -> None:
        loop = asyncio.get_running_loop()
        for _ in range(100):
            full = OSError(errno.EMFILE, "Too many open files")
            loop.call_exception_handler({"message": "accept", "exception": full})
            loop.call_exception_handler({"message": "odd", "exception": ValueError(TOKEN)})

    with running() as world:
        # Its loop runs once somebody was answered.
        assert ask(world, "GET", "/health").status == 200
        world.hub.post(stumble)
        assert 'clients_rejected_total{reason="trouble"} 200' in _metrics(world)

    lines = [one.getMessage() for one in caplog.records]
    assert sum("ulimit" in line for line in lines) == 1
    assert len(lines) == 11
    assert TOKEN not in caplog.text


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
def test_connections_leave_files_for_everything_else() -> None:
    script = (
        "import json, resource\n"
        "from prowess.gateway.limits import GatewayLimits\n"
        "from prowess.gateway.server import raised_file_limit\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (256, 400))\n"
        "files = raised_file_limit()\n"
        "soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]\n"
        "print(json.dumps([files, soft, GatewayLimits().fitted(files).sockets]))\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, timeout=60, check=True
    )

    files, soft, sockets = json.loads(done.stdout)
    assert (files, soft) == (400, 400)
    assert 0 < sockets <= 200
    assert GatewayLimits().fitted(raised_file_limit(os.cpu_count() or 1)).connections > 0
