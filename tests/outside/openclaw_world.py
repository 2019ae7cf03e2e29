"""OpenClaw's own gateway and ours, side by side over the same skills, and its terminal and page.

Both are processes on 127.0.0.1 with a home that is thrown away. Nothing of OpenClaw leaves the
cache folder: what is compared are the names and types of fields, and codes.
"""

import functools
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from tests.outside.harnesses import install
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

Json = dict[str, Any]
TOKEN = "canary-token-9f2b6c1d"  # noqa: S105 - of gateways that live for a test
PATIENCE_S = 600
SCOPES = ("operator.admin", "operator.read", "operator.write")
_BIN = Path(sys.executable).parent
_DRAW = {
    "emoji": "🎨",
    "primaryEnv": "IMAGE_KEY",
    "homepage": "https://example.com/image-gen",
    "requires": {
        "env": ["IMAGE_KEY"],
        "bins": ["no-such-frames"],
        "anyBins": ["no-such-brush"],
        "config": ["no.such"],
    },
    "install": [{"id": "get", "kind": "brew", "formula": "frames", "bins": ["no-such-frames"]}],
}


class Peer:
    """One client of a gateway that speaks the protocol itself."""

    def __init__(self, port: int, scopes: Sequence[str] = SCOPES, token: str = TOKEN) -> None:
        self._stack, self.port = ExitStack(), port
        opened = connect(f"ws://127.0.0.1:{port}", max_size=None, open_timeout=PATIENCE_S)
        self._socket = self._stack.enter_context(opened)
        self._socket.recv(timeout=PATIENCE_S)
        client = {"id": "gateway-client", "version": "dev", "platform": "linux", "mode": "backend"}
        self.hello = self.call(
            "connect",
            {
                "minProtocol": 3,
                "maxProtocol": 4,
                "client": client,
                "role": "operator",
                "scopes": list(scopes),
                "caps": [],
                "auth": {"token": token},
            },
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stack.close()

    def call(self, method: str, params: Json | None = None) -> Json:
        """Return the whole answer to one request."""
        request = str(uuid.uuid4())
        frame = {"type": "req", "id": request, "method": method, "params": params or {}}
        self._socket.send(json.dumps(frame))
        while True:
            answer: Json = json.loads(self._socket.recv(timeout=PATIENCE_S))
            if answer.get("type") == "res" and answer["id"] == request:
                return answer


def find_shape(value: object, where: str = "") -> dict[str, str]:
    """Return every field of an answer by its path, with its type; items of a list are one."""
    if isinstance(value, dict):
        found = {where: "object"}
        for name, part in value.items():
            found |= find_shape(part, f"{where}.{name}" if where else name)
        return found
    if isinstance(value, list):
        found = {where: "list"}
        for part in value:
            found |= find_shape(part, f"{where}[]")
        return found
    kinds = {bool: "boolean", int: "number", float: "number", str: "text", type(None): "null"}
    return {where: kinds[type(value)]}


def write_skills(folder: Path) -> None:
    """Write the skills that both gateways serve."""
    for name, fields in (
        ("release-notes", {"description": "Writes release notes. Use when the user wants them."}),
        ("notes", {"description": "Takes notes.", "metadata": {"openclaw": {"os": ["plan9"]}}}),
        ("image-gen", {"description": "Draws images.", "metadata": {"openclaw": _DRAW}}),
    ):
        place = folder / "skills" / name
        place.mkdir(parents=True)
        lines = [f"{key}: {json.dumps(value)}" for key, value in fields.items()]
        text = "\n".join(
            ["---", f"name: {name}", *lines, "---", "", f"# {name}", "", "- Do it.", ""]
        )
        (place / "SKILL.md").write_text(text, encoding="utf-8")


def environment(home: Path) -> dict[str, str]:
    """Return the variables of a process of either side: nothing of this machine's own."""
    node = install("node") / "node_modules/node/bin"
    skipped = ("CHANNELS", "CRON", "BROWSER_CONTROL_SERVER")
    return {
        "HOME": str(home),
        "PATH": f"{node}:{_BIN}:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "NO_COLOR": "1",
        "OPENCLAW_NO_RESPAWN": "1",
        **{f"OPENCLAW_SKIP_{name}": "1" for name in skipped},
    }


def entry() -> list[str]:
    """Return how OpenClaw is started."""
    return [str(install("node") / "node_modules/node/bin/node"), str(_package() / "openclaw.mjs")]


def _package() -> Path:
    return install("openclaw") / "node_modules/openclaw"


@contextmanager
def real_gateway(home: Path) -> Iterator[int]:
    """Run OpenClaw's own gateway; its port is told once it answers."""
    work = home / "work"
    write_skills(work)
    port = _free_port()
    settings = {
        "gateway": {"mode": "local", "port": port, "auth": {"mode": "token", "token": TOKEN}},
        "plugins": {"enabled": False},
        "agents": {"defaults": {"workspace": str(work)}},
    }
    (home / ".openclaw").mkdir()
    (home / ".openclaw/openclaw.json").write_text(json.dumps(settings), encoding="utf-8")
    with _running([*entry(), "gateway", "run"], home, port):
        _until_ready(port)
        yield port


@contextmanager
def our_gateway(home: Path, **gateway: Any) -> Iterator[int]:  # noqa: ANN401 - as the config takes
    """Run `prowess serve` over the same skills."""
    work = home / "work"
    write_skills(work)
    port = _free_port()
    settings = {
        "gateway": {"auth": {"token": TOKEN}, **gateway},
        "agents": {"defaults": {"workspace": str(work)}},
        "plugins": {"entries": {"skill-workshop": {"enabled": True}}},
        "skills": {"routing": {"encoder": "none"}, "allowBundled": []},
    }
    (home / ".prowess").mkdir()
    (home / ".prowess/prowess.json").write_text(json.dumps(settings), encoding="utf-8")
    with _running([str(_BIN / "prowess"), "serve", "--port", str(port)], home, port):
        yield port


@contextmanager
def _running(command: Sequence[str], home: Path, port: int) -> Iterator[None]:
    with (home / "log.txt").open("w") as log:
        process = subprocess.Popen(
            command, cwd=home, env=environment(home), stdin=subprocess.DEVNULL, stdout=log,
            stderr=log, start_new_session=True,
        )  # fmt: skip
        try:
            _until_healthy(process, port, home / "log.txt")
            yield
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _until_healthy(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    ends, pause = time.monotonic() + PATIENCE_S, threading.Event()
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            said = log.read_text(encoding="utf-8")[-2_000:]
            assert process.poll() is None, said
            assert time.monotonic() < ends, said
            pause.wait(0.2)


def _until_ready(port: int) -> None:
    """Wait until clients are let in: it answers for its health long before."""
    ends, pause = time.monotonic() + PATIENCE_S, threading.Event()
    while True:
        with suppress(ConnectionClosed), Peer(port) as peer:
            if peer.hello["ok"]:
                return
        assert time.monotonic() < ends, "it never let a client in"
        pause.wait(0.5)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def run_terminal(home: Path, port: int, *arguments: str) -> str:
    """Run OpenClaw's terminal in remote mode against a gateway, and return what it says."""
    folder = home / ".openclaw"
    folder.mkdir(parents=True, exist_ok=True)
    remote = {"url": f"ws://127.0.0.1:{port}", "token": TOKEN}
    settings = {"gateway": {"mode": "remote", "remote": remote}, "plugins": {"enabled": False}}
    (folder / "openclaw.json").write_text(json.dumps(settings), encoding="utf-8")
    done = subprocess.run(
        [*entry(), *arguments], cwd=home, env=environment(home), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{arguments}: {done.stdout[-1_500:]} {done.stderr[-1_500:]}"
    return done.stdout


class _Page(SimpleHTTPRequestHandler):
    """Files of OpenClaw's page; every path without an ending is the page itself."""

    def do_GET(self) -> None:
        if "." in self.path.partition("?")[0].rpartition("/")[2]:
            super().do_GET()
            return
        page = Path(self.directory, "index.html").read_text(encoding="utf-8")
        # As its own gateway does: files are named from the top.
        body = page.replace("<head>", '<head><base href="/">', 1).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    # As in the class that it extends.
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@contextmanager
def served_page() -> Iterator[str]:
    """Serve OpenClaw's page from its package, and return its origin."""
    folder = os.fspath(_package() / "dist/control-ui")
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Page, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def find_differences(real: Mapping[str, str], ours: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each field of the real answer that ours has not, or has with another type."""
    for path, kind in real.items():
        mine = ours.get(path)
        if mine is None:
            yield path, f"is missing, and is {kind} there"
        elif mine != kind:
            yield path, f"is {mine}, and {kind} there"
