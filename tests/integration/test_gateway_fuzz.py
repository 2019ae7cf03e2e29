"""A thousand hostile frames: each may end its own connection, and nothing else."""

import json
import socket
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from random import Random
from typing import Any

import pytest
from tests.integration.gateway_world import (
    PATIENCE_S,
    Peer,
    World,
    ask,
    connect_params,
    ready,
    running,
)
from websockets.exceptions import ConnectionClosed

from prowess.gateway.calls import Json

PIECES = [
    "\\ud800", "\x00", "[" * 80, "}", '"', "NaN", "-", "1e400", "9" * 5000, '"id":1', "\ufeff",
    "__proto__", "{}" * 3, "null", "\\u0000", ",,", "\U0001f600", "true", "'", "/*", "\r\n",
]  # fmt: skip
VALUES: list[Any] = [
    None, True, -1, 1 << 70, 1e300, "", "x" * 300, [], {}, [[]], {"id": {}}, "connect", "req",
    "\u202e", {"text": {"text": ["x"]}}, ["connect"], "operator.admin", "../../etc/passwd",
]  # fmt: skip


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with running() as one:
        yield one


def _frames(random: Random) -> list[Json]:
    return [
        {"type": "req", "id": "f", "method": "echo", "params": {"text": "hello", "times": 2}},
        {"type": "req", "id": "f", "method": "connect", "params": connect_params()},
        {"type": "req", "id": "f", "method": random.choice(["whoami", "progress", "half"])},
    ]


def _mutated_text(random: Random) -> str:
    text = json.dumps(random.choice(_frames(random)))
    for _ in range(random.randint(1, 4)):
        start = random.randrange(len(text) + 1)
        end = min(len(text), start + random.randint(0, 12))
        text = text[:start] + random.choice([*PIECES, text[start:end] * 3, ""]) + text[end:]
    return text


def _mutated_value(random: Random) -> str:
    frame = random.choice(_frames(random))
    target: Any = frame
    while random.random() < 0.6 and any(isinstance(item, dict) for item in target.values()):
        target = random.choice([item for item in target.values() if isinstance(item, dict)])
    target[random.choice([*target, "extra"])] = random.choice(VALUES)
    return json.dumps(frame)


def _hostile(random: Random) -> str | bytes:
    kind = random.random()
    if kind < 0.2:
        return random.randbytes(random.randint(0, 200))
    return _mutated_text(random) if kind < 0.6 else _mutated_value(random)


def _attack(world: World, frames: deque[str | bytes], *, connected: bool) -> None:
    """Send frames over one connection for as long as the server keeps it."""
    with ready(world) if connected else Peer(world) as peer, suppress(ConnectionClosed):
        for _ in range(min(40, len(frames))):
            peer.send(frames.popleft())
            # The frame was read once this is answered, or the connection is closed.
            peer.send({"type": "req", "id": "next", "method": "whoami"})
            while peer.receive().get("id") != "next":
                pass


def test_a_thousand_hostile_frames_harm_no_other_client(world: World) -> None:
    random = Random(20)  # noqa: S311 - the same frames each time
    frames = deque(_hostile(random) for _ in range(1000))
    turn = 0

    with ready(world) as honest:
        while frames:
            turn += 1
            _attack(world, frames, connected=turn % 4 != 0)
            if turn % 10 == 0:
                answer = honest.call("echo", {"text": str(turn)})
                assert answer["payload"] == {"text": str(turn)}

        assert honest.call("whoami")["ok"]
    assert ask(world, "GET", "/health").status == 200


def test_bytes_that_are_no_websocket_frames_harm_nobody(world: World) -> None:
    random = Random(21)  # noqa: S311 - the same bytes each time
    upgrade = (
        f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{world.port}\r\nConnection: Upgrade\r\n"
        "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    ).encode()

    with ready(world) as honest:
        for number in range(60):
            with socket.create_connection(("127.0.0.1", world.port), timeout=PATIENCE_S) as line:
                line.sendall(upgrade if number % 2 else b"")
                if number % 2:
                    line.recv(1)
                with suppress(ConnectionError):
                    line.sendall(random.randbytes(random.randint(1, 400)))

        assert honest.call("echo", {"text": "unharmed"})["ok"]


def test_hostile_bodies_get_an_answer(world: World) -> None:
    random = Random(22)  # noqa: S311 - the same bodies each time
    headers = {"Content-Type": "application/json", "Authorization": "Bearer canary-token-9f2b6c1d"}

    for _ in range(100):
        frame = _hostile(random)
        body = frame.encode("utf-8", "surrogatepass") if isinstance(frame, str) else frame
        answer = ask(world, "POST", "/rpc", body, headers)

        assert answer.status in {200, 400, 403, 503}
        assert answer.json()["type"] == "res"
