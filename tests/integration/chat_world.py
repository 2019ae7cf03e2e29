"""What tests of the chat share: a workspace with skills, and a server that speaks like a model."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

NOTES = """---
name: release-notes
description: Write release notes of a new version from the git log.
---

# Release notes

BODY-OF-THE-SKILL. Group changes by kind.
"""


@dataclass
class World:
    """A home, a state folder and a workspace."""

    root: Path
    work: Path = field(init=False)
    state: Path = field(init=False)

    def __post_init__(self) -> None:
        self.work, self.state = self.root / "work", self.root / "state"
        self.work.mkdir()
        self.state.mkdir()
        self.skill("release-notes", NOTES)
        self.config()

    def skill(self, name: str, text: str, **files: str) -> None:
        """Add a skill to the workspace."""
        folder = self.work / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(text, encoding="utf-8")
        for path, content in files.items():
            (folder / path).write_text(content, encoding="utf-8")

    def script(self, *answers: dict[str, Any]) -> str:
        """Write a script and return the name of the model that follows it."""
        path = self.root / "script.json"
        path.write_text(json.dumps(answers), encoding="utf-8")
        return f"script:{path}"

    # Any JSON.
    def config(self, **values: Any) -> None:  # noqa: ANN401
        """Write the configuration; words alone route, which is quick."""
        values["skills"] = {"routing": {"encoder": "none"}, **values.get("skills", {})}
        (self.state / "prowess.json").write_text(json.dumps(values), encoding="utf-8")

    def chats(self) -> list[dict[str, Any]]:
        """Return the conversations that are kept."""
        return [json.loads(path.read_text()) for path in sorted(self.state.glob("chats/*.json"))]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Make a world and go there."""
    made = World(tmp_path)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PROWESS_HOME", str(made.state))
    for name in ("PROWESS_MODEL", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(made.work)
    return made


def text(*pieces: str) -> list[dict[str, Any]]:
    """Return the chunks of an answer that is text."""
    chunks = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
    return [*chunks, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]


def call(name: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the chunks of an answer that calls a tool."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    delta = {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]}
    return [
        {"choices": [{"index": 0, "delta": delta}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    ]


@dataclass
class Server:
    """A model behind HTTP; remembers what it was asked."""

    address: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)


@contextmanager
def server(
    answers: Sequence[list[dict[str, Any]]], *, status: int = 200, way: str = "whole"
) -> Iterator[Server]:
    """Serve answers one after the other; `way` is whole, broken, slow or silent."""
    seen = Server()
    told = {"seen": seen, "waiting": list(answers), "status": status, "way": way}
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), told))
    httpd.daemon_threads = True
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    seen.address = f"http://127.0.0.1:{httpd.server_address[1]}/v1"
    try:
        yield seen
    finally:
        seen.closing.set()
        httpd.shutdown()
        httpd.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    """Answers one request as it was told to."""

    protocol_version = "HTTP/1.1"
    seen: Server
    waiting: list[list[dict[str, Any]]]
    status: int
    way: str

    def do_POST(self) -> None:
        """Remember the question and answer it."""
        length = int(self.headers["Content-Length"])
        self.seen.requests.append(json.loads(self.rfile.read(length)))
        self.seen.keys.append(self.headers.get("Authorization", ""))
        self.close_connection = True
        if self.way == "silent":
            self.seen.closing.wait(30)
        elif self.status != 200:
            self._refuse()
        else:
            self._stream(self.waiting.pop(0))

    def _refuse(self) -> None:
        body = json.dumps({"error": {"message": f"bad {self.seen.keys[-1]}"}}).encode()
        self.send_response(self.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, chunks: list[dict[str, Any]]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, chunk in enumerate(chunks):
            whole = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "m"}
            self._chunk(f"data: {json.dumps({**whole, **chunk})}\n\n")
            if self.way == "broken" and number == 0:
                return
            if self.way == "slow" and number == 0:
                self.seen.closing.wait(30)
        self._chunk("data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, line: str) -> None:
        raw = line.encode()
        self.wfile.write(f"{len(raw):x}\r\n".encode() + raw + b"\r\n")
        self.wfile.flush()

    # The base class calls its argument so.
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""
        del format, args
