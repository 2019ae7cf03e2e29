"""A real `prowess serve`, and clients of our own that share no code with it.

One server serves a whole module: it starts with a row of agents, each with a workspace of its own,
and a test takes the next of them, so that no test sees the files of another.
"""

import base64
import hashlib
import http.client
import json
import os
import select
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from .world import NO_BUNDLED, TIMEOUT_S, Json, Variables, World, command

# So many that each test of a module has one; each costs the server a look at every change.
AGENTS = 8
WAIT_S = 60
# How long the server may be silent before it is asked again.
SILENCE_S = 1.0
READ, WRITE, ADMIN = "operator.read", "operator.write", "operator.admin"
OPERATOR = (READ, WRITE, ADMIN)
SENTINEL = "__OPENCLAW_REDACTED__"
CLIENT: Json = {"id": "studio", "version": "1.0.0", "platform": "linux", "mode": "ui"}
# What a client of our own meets when its messages are larger than usual.
LARGE = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An agent that nobody else uses, and its workspace."""

    world: World
    agent: str
    workspace: Path

    @property
    def skills(self) -> Path:
        return self.workspace / "skills"

    def skill(
        self, folder: str, *, body: str = "# Steps\n\nDo the thing.\n", **keys: object
    ) -> Path:
        """Write a skill into the workspace."""
        return self.world.skill(folder, root=self.skills, body=body, **keys)


@dataclass(slots=True)
class Client:
    """One WebSocket; what the server pushes between two answers is kept."""

    socket: ClientConnection
    events: list[Json] = field(default_factory=list)
    sent: int = 0

    def frame(self, wait: float = WAIT_S) -> Json:
        """The next frame, whatever it is."""
        text = self.socket.recv(timeout=wait)
        found = json.loads(text)
        assert isinstance(found, dict), text
        if found.get("type") == "event":
            self.events.append(found)
        return found

    def send(self, method: str, params: object = None) -> str:
        """Send a request and return its id."""
        self.sent += 1
        request: Json = {"type": "req", "id": f"r{self.sent}", "method": method}
        if params is not None:
            request["params"] = params
        self.socket.send(json.dumps(request))
        return f"r{self.sent}"

    def response(self) -> Json:
        """The next response; events that come before it are kept."""
        while True:
            found = self.frame()
            if found["type"] == "res":
                return found

    def answer(self, identity: str) -> Json:
        """The response to this request, which is the only one open."""
        found = self.response()
        assert found["id"] == identity, found
        return found

    def ask(self, method: str, params: object = None) -> Json:
        """The whole response to a request."""
        return self.answer(self.send(method, params))

    def call(self, method: str, **params: object) -> Json:
        """What a request that works answers."""
        found = self.ask(method, params)
        assert found["ok"] is True, (method, found)
        assert isinstance(found["payload"], dict), found
        return found["payload"]

    def refused(self, method: str, **params: object) -> Json:
        """The error of a request that does not work."""
        found = self.ask(method, params)
        assert found["ok"] is False, (method, found)
        error = found["error"]
        assert isinstance(error["code"], str), found
        assert isinstance(error["message"], str), found
        assert error["message"], found
        return dict(error)

    def until(self, event: str, accept: Callable[[Json], bool] = lambda _: True) -> Json:
        """The first pushed event of this kind that is acceptable; it may have come already."""
        looked, ends = 0, time.monotonic() + WAIT_S
        while True:
            for found in self.events[looked:]:
                if found["event"] == event and accept(found["payload"]):
                    return found
            looked = len(self.events)
            try:
                self.frame(max(0.1, ends - time.monotonic()))
            except TimeoutError:
                raise AssertionError(f"no {event} among {self.events}") from None

    def eventually(self, question: Callable[[], Json], accept: Callable[[Json], bool]) -> Json:
        """The first acceptable answer; asked again when the server pushed something, or is silent.

        What it pushed may have come before the answer that was not yet acceptable.
        """
        ends = time.monotonic() + WAIT_S
        while not accept(found := question()):
            assert time.monotonic() < ends, found
            with suppress(TimeoutError):
                self.frame(SILENCE_S)
        return found

    def status(self, agent: str) -> dict[str, Json]:
        """The rows of `skills.status` by name."""
        rows = self.call("skills.status", agentId=agent)["skills"]
        return {row["name"]: row for row in rows}

    def listed(self, place: Place, *names: str) -> dict[str, Json]:
        """The rows of an agent as soon as these skills are among them."""
        return self.eventually(
            lambda: self.status(place.agent), lambda rows: set(names) <= set(rows)
        )

    def end(self) -> tuple[list[Json], int, str]:
        """What comes until the server closes the connection, and how it closes it."""
        frames = []
        try:
            while True:
                frames.append(self.frame())
        except ConnectionClosed as closed:
            received = closed.rcvd
            return frames, received.code if received else 1006, received.reason if received else ""
        except TimeoutError:
            raise AssertionError(f"still open after {frames}") from None


@dataclass(slots=True, kw_only=True)
class Gateway:
    """A running server."""

    world: World
    child: subprocess.Popen[bytes]
    banner: Json
    log: Path
    token: str | None = None
    taken: int = 0

    @property
    def netloc(self) -> str:
        """Host and port."""
        return urlsplit(str(self.banner["address"])).netloc

    def place(self) -> Place:
        """The next agent that no test has used."""
        agent = f"agent{self.taken}"
        self.taken += 1
        workspace = self.world.root / agent
        assert workspace.is_dir(), "the module needs more agents"
        return Place(world=self.world, agent=agent, workspace=workspace)

    @contextmanager
    def dial(self, path: str = "/", **headers: str) -> Iterator[Client]:
        """A connection that has not said anything yet."""
        origin = headers.pop("Origin", None)
        with connect(
            f"ws://{self.netloc}{path}",
            origin=None if origin is None else Origin(origin),
            additional_headers=headers,
            max_size=LARGE,
            # A client that leaves with unread events must not wait for them.
            max_queue=None,
            open_timeout=WAIT_S,
        ) as socket:
            yield Client(socket)

    @contextmanager
    def client(self, *scopes: str, role: str = "operator") -> Iterator[Client]:
        """A client that has connected, with every operator scope unless told otherwise."""
        with self.dial() as client:
            hello = greet(client, self.greeting(*(scopes or OPERATOR), role=role))
            assert hello["ok"] is True, hello
            yield client

    def greeting(self, *scopes: str, role: str = "operator") -> Json:
        """The parameters with which a client connects."""
        params: Json = {
            "minProtocol": 3,
            "maxProtocol": 4,
            "client": CLIENT,
            "role": role,
            "scopes": list(scopes),
        }
        return params if self.token is None else {**params, "auth": {"token": self.token}}

    def http(
        self, method: str, path: str, body: str | None = None, **headers: str
    ) -> tuple[int, str, str]:
        """Status, content type and text of one HTTP request; `_` in a header stands for `-`."""
        asked = http.client.HTTPConnection(self.netloc, timeout=WAIT_S)
        try:
            asked.request(
                method, path, body, {name.replace("_", "-"): text for name, text in headers.items()}
            )
            found = asked.getresponse()
            return found.status, found.getheader("Content-Type", ""), found.read().decode("utf-8")
        finally:
            asked.close()

    def rpc(self, frame: object, **headers: str) -> tuple[int, Json]:
        """What `POST /rpc` answers to one frame."""
        status, _, text = self.http(
            "POST", "/rpc", json.dumps(frame), Content_Type="application/json", **headers
        )
        found = json.loads(text)
        assert isinstance(found, dict), text
        return status, found


def greet(client: Client, params: Json) -> Json:
    """Await the challenge, connect, and return the whole response."""
    challenge = client.frame()
    assert challenge["event"] == "connect.challenge", challenge
    return client.ask("connect", params)


def crowd(world: World, agents: int = AGENTS, **skills: object) -> Json:
    """A configuration with the default agent, a row of others, and none of our own skills."""
    rows = [{"id": "main", "name": "Main", "default": True}]
    for number in range(agents):
        folder = world.root / f"agent{number}"
        folder.mkdir()
        rows.append({"id": folder.name, "workspace": str(folder)})
    return {
        "agents": {"list": rows},
        "skills": {**NO_BUNDLED, "routing": {"encoder": "none"}, **skills},
    }


@contextmanager
def serving(
    world: World, *words: str, env: Variables | None = None, token: str | None = None
) -> Iterator[Gateway]:
    """A server on a free port, stopped at the end whatever happened."""
    more = () if token is None else ("--token", token)
    # A server that keeps its first line to itself is found by one test and not by all.
    variables = {"PYTHONUNBUFFERED": "1", **(env or {})}
    with started(world, "--port", "0", "--json", *more, *words, env=variables) as (child, log):
        banner = json.loads(heard(child, _is_json))
        gateway = Gateway(world=world, child=child, banner=banner, log=log, token=token)
        yield gateway


@contextmanager
def started(
    world: World, *words: str, env: Variables | None = None
) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """The process itself, and the file with its standard error."""
    log = world.root / "serve.log"
    with (
        log.open("ab") as errors,
        subprocess.Popen(
            command(("serve", *words)),
            cwd=world.workspace,
            env=world.env(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
        ) as child,
    ):
        try:
            yield child, log
        finally:
            if child.poll() is None:
                child.terminate()
                try:
                    child.wait(TIMEOUT_S)
                except subprocess.TimeoutExpired:
                    child.kill()


def heard(child: subprocess.Popen[bytes], enough: Callable[[str], bool]) -> str:
    """What the process has printed as soon as it is enough."""
    assert child.stdout is not None
    text, ends = b"", time.monotonic() + WAIT_S
    while not enough(text.decode("utf-8", "replace")):
        ready, _, _ = select.select([child.stdout], [], [], max(0.0, ends - time.monotonic()))
        assert ready, f"silent after {text!r}"
        more = os.read(child.stdout.fileno(), 65536)
        assert more, f"ended with {child.wait(TIMEOUT_S)} after {text!r}"
        text += more
    return text.decode("utf-8")


@dataclass(frozen=True, slots=True)
class Device:
    """A key pair, and how it signs a challenge."""

    key: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)

    @property
    def raw(self) -> bytes:
        return self.key.public_key().public_bytes_raw()

    def proof(self, nonce: str, greeting: Json, *, signed_at: int | None = None) -> Json:
        """The `device` that goes with a greeting."""
        moment = int(time.time() * 1000) if signed_at is None else signed_at
        identity = hashlib.sha256(self.raw).hexdigest()
        client = greeting["client"]
        token = greeting.get("auth", {}).get("token", "")
        parts = ["v2", identity, client["id"], client["mode"], greeting["role"]]
        parts += [",".join(greeting["scopes"]), str(moment), token, nonce]
        return {
            "id": identity,
            "publicKey": _base64url(self.raw),
            "signature": _base64url(self.key.sign("|".join(parts).encode())),
            "signedAt": moment,
            "nonce": nonce,
        }


def _base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
