"""A real gateway on a port of its own, with methods that do nothing but what a test needs."""

import base64
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Self

from starlette.types import ASGIApp
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from prowess.errors import ConfigError, ProposalStaleError, UnknownAgentError
from prowess.gateway.calls import (
    ClientScope,
    Code,
    Json,
    Method,
    NoParams,
    Params,
    RpcCall,
    RpcError,
    RpcFailure,
)
from prowess.gateway.dispatch import MethodTable
from prowess.gateway.http import GatewayOptions, build_app
from prowess.gateway.hub import Hub
from prowess.gateway.server import GatewayServer, gateway_server

TOKEN = "canary-token-9f2b6c1d"  # noqa: S105 - of a gateway that lives for a test
CANARY = "canary-secret-71c3"
# Whoever waits longer waits for nothing, however busy the machine is.
PATIENCE_S = 60
SNAPSHOT: Json = {
    "health": {
        "agents": [{"agentId": "main", "name": "Main", "isDefault": True}],
        "defaultAgentId": "main",
    },
    "sessionDefaults": {"mainKey": "main"},
}


Answering = Callable[[RpcCall], Json | RpcFailure]


class Echo(Params):
    text: str
    times: int = 1


class Size(Params):
    chars: int


class World:
    """The gateway, and what its methods wait for."""

    def __init__(self, hub: Hub, port: int) -> None:
        self.hub, self.port = hub, port
        self.server: GatewayServer
        self.gate = threading.Event()
        self.entered = threading.Semaphore(0)

    def url(self, path: str = "/ws") -> str:
        return f"ws://127.0.0.1:{self.port}{path}"

    def until(self, happened: Callable[[], bool]) -> None:
        """Wait until something has happened that nobody is told of."""
        ends, pause = time.monotonic() + PATIENCE_S, threading.Event()
        while not happened():
            assert time.monotonic() < ends, "it did not happen"
            pause.wait(0.01)

    def clients(self) -> int:
        """Return how many have said who they are and are still there."""
        return int(self.hub.gauges()["clients"])

    def methods(self) -> list[Method]:
        rows: list[tuple[str, ClientScope | None, type[Params], Answering]] = [
            ("echo", ClientScope.READ, Echo, lambda call: {"text": call.params.text}),
            ("big", ClientScope.READ, Size, lambda call: {"text": "x" * call.params.chars}),
            ("admin", ClientScope.ADMIN, NoParams, lambda _call: {"done": True}),
            ("bins", ClientScope.NODE, NoParams, lambda _call: {"bins": []}),
            ("wait", ClientScope.READ, NoParams, self._wait),
            ("boom", ClientScope.READ, NoParams, _boom),
            ("agent", ClientScope.READ, NoParams, _agent),
            ("config", ClientScope.READ, NoParams, _config),
            ("stale", ClientScope.READ, NoParams, _stale),
            ("refuse", ClientScope.READ, NoParams, _refuse),
            (
                "half",
                ClientScope.READ,
                NoParams,
                lambda _call: RpcFailure({"code": 1}, "failed halfway", "half"),
            ),
            ("odd", ClientScope.READ, NoParams, lambda _call: {"x": object()}),
            ("whoami", None, NoParams, lambda call: {"scopes": sorted(call.client.scopes)}),
            ("progress", ClientScope.READ, NoParams, _progress),
        ]
        return [
            Method(name=name, scope=scope, params=params, answer=answer, slow=name == "wait")
            for name, scope, params, answer in rows
        ]

    def _wait(self, _call: RpcCall) -> Json:
        self.entered.release()
        self.gate.wait(PATIENCE_S)
        return {"waited": True}


def _boom(_call: RpcCall) -> Json:
    raise RuntimeError(CANARY)


def _agent(_call: RpcCall) -> Json:
    raise UnknownAgentError("ghost", ["main"])


def _config(_call: RpcCall) -> Json:
    raise ConfigError("prowess.json", "cannot be read")


def _stale(_call: RpcCall) -> Json:
    raise ProposalStaleError("p-1", "it changed", expected="aaa", found="bbb")


def _refuse(_call: RpcCall) -> Json:
    raise RpcError(Code.INVALID_REQUEST, "say please", {"field": "word"})


def _progress(call: RpcCall) -> Json:
    for step in range(3):
        call.notify("skills.install.progress", {"step": step})
    return {"steps": 3}


@contextmanager
def running(
    options: GatewayOptions | None = None,
    *,
    hub: Hub | None = None,
    static: ASGIApp | None = None,
    snapshot: Callable[[], Json] = lambda: SNAPSHOT,
) -> Iterator[World]:
    """Run a gateway in a thread until the test is done with it."""
    options = options or GatewayOptions(token=TOKEN, version="1.2.3")
    hub = hub or Hub()
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    world = World(hub, port)
    app = build_app(
        MethodTable(world.methods()),
        hub,
        options,
        snapshot,
        lambda: {"ok": bool(snapshot()), "version": options.version},
        static=static,
        metrics_extra=lambda: {"skills": 7.0 if snapshot() else 0.0, "bad name": 1.0},
    )
    world.server = gateway_server(app, hub, options)
    thread = threading.Thread(target=world.server.run, args=([listener],))
    thread.start()
    try:
        yield world
    finally:
        world.gate.set()
        world.server.should_exit = True
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


def connect_params(**changes: Any) -> Json:  # noqa: ANN401 - whatever JSON holds
    return {
        "minProtocol": 3,
        "maxProtocol": 4,
        "client": {"id": "test", "version": "1", "platform": "linux", "mode": "cli"},
        "auth": {"token": TOKEN},
        **changes,
    }


class Peer:
    """One client, which remembers the events that came between answers."""

    def __init__(self, world: World, path: str = "/ws") -> None:
        self._stack = ExitStack()
        opening = connect(
            world.url(path),
            max_size=None,
            compression=None,
            # What nobody asks for is read all the same: else pings and goodbyes would wait for it.
            max_queue=None,
            open_timeout=PATIENCE_S,
        )
        self.socket: ClientConnection = self._stack.enter_context(opening)
        self.events: list[Json] = []
        self.challenge = self.receive()
        self.nonce = str(self.challenge["payload"]["nonce"])
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stack.close()

    def send(self, frame: Any) -> None:  # noqa: ANN401 - also what is no frame
        self.socket.send(frame if isinstance(frame, str | bytes) else json.dumps(frame))

    def receive(self) -> Json:
        found: Json = json.loads(self.socket.recv(timeout=PATIENCE_S))
        return found

    def response(self) -> Json:
        """Return the next answer, to whichever question."""
        while (frame := self.receive()).get("type") == "event":
            self.events.append(frame)
        return frame

    def answer(self, request_id: str) -> Json:
        frame = self.response()
        assert frame["id"] == request_id
        return frame

    def call(self, method: str, params: Json | None = None) -> Json:
        self._count += 1
        request_id = f"r{self._count}"
        frame: Json = {"type": "req", "id": request_id, "method": method}
        self.send(frame if params is None else {**frame, "params": params})
        return self.answer(request_id)

    def event(self, name: str) -> Json:
        # Of all frames together: the clock of the gateway goes on where nothing else comes.
        ends = time.monotonic() + PATIENCE_S
        while True:
            for frame in self.events:
                if frame["event"] == name:
                    self.events.remove(frame)
                    return frame
            assert time.monotonic() < ends, f"no {name} among {self.events}"
            self.events.append(self.receive())

    def hello(self, **changes: Any) -> Json:  # noqa: ANN401 - whatever JSON holds
        return self.call("connect", connect_params(**changes))

    def end(self) -> tuple[int, str, list[Json]]:
        """Return how the server closes this connection, and what it said before."""
        said = []
        with suppress(ConnectionClosed):
            while True:
                said.append(self.receive())
        return self.socket.close_code or 0, self.socket.close_reason or "", said


def ready(world: World, **changes: Any) -> Peer:  # noqa: ANN401 - whatever JSON holds
    peer = Peer(world)
    assert peer.hello(**changes)["ok"]
    return peer


class Answer:
    """An HTTP answer, read to its end."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status, self.headers = response.status, response.headers
        self.text = response.read().decode("utf-8")

    def json(self) -> Any:  # noqa: ANN401 - whatever JSON holds
        return json.loads(self.text)


def ask(
    world: World,
    method: str,
    path: str,
    body: bytes | str | None = None,
    headers: dict[str, str] | None = None,
) -> Answer:
    """Send one HTTP request; a Host among the headers replaces the real one."""
    line = http.client.HTTPConnection("127.0.0.1", world.port, timeout=PATIENCE_S)
    given = dict(headers or {})
    try:
        line.putrequest(method, path, skip_host=True)
        given.setdefault("Host", f"127.0.0.1:{world.port}")
        content = body.encode() if isinstance(body, str) else body
        if content is not None:
            given.setdefault("Content-Length", str(len(content)))
        for name, value in given.items():
            if value:
                line.putheader(name, value)
        line.endheaders(content)
        return Answer(line.getresponse())
    finally:
        line.close()


def lazy_client(world: World) -> socket.socket:
    """Connect as a client that never reads a byte."""
    line = socket.socket()
    # Before connecting, since the size of the window is agreed on then.
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    line.connect(("127.0.0.1", world.port))
    lines = ["GET /ws HTTP/1.1", f"Host: 127.0.0.1:{world.port}", "Connection: Upgrade"]
    lines += ["Upgrade: websocket", "Sec-WebSocket-Version: 13"]
    lines += [f"Sec-WebSocket-Key: {base64.b64encode(bytes(16)).decode()}", "", ""]
    frame = {"type": "req", "id": "c", "method": "connect", "params": connect_params()}
    text = json.dumps(frame).encode()
    # A text frame of middle length whose mask changes nothing.
    head = bytes([0x81, 0x80 | 126]) + len(text).to_bytes(2, "big") + bytes(4)
    line.sendall("\r\n".join(lines).encode())
    line.recv(1)
    line.sendall(head + text)
    return line
