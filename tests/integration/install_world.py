"""A machine of its own for installs: state and workspace in a folder, and a server that lies."""

import io
import json
import tarfile
import threading
import zipfile
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from prowess.runtime.install import InstallReport, InstallRequest, InstallService
from prowess.wiring import Runtime, open_runtime
from prowess.wiring.transfer import open_installing

Answer = Callable[[BaseHTTPRequestHandler], None]
Entry = Mapping[str, Any]
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


class Server:
    """Answers each path as it is told, and remembers what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked: list[str] = []
        self.over = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "/tool") -> str:
        return f"http://{self.host}{path}"

    def serve(self, path: str, body: bytes, **headers: str) -> str:
        self.answers[path] = reply(body, 200, **headers)
        return self.url(path)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                server.asked.append(path)
                try:
                    server.answers.get(path, reply(b"", 404))(self)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            # The base class decides the name.
            do_HEAD = do_GET  # noqa: N815

            # The base class decides the names of the parameters.
            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Say nothing."""

        return Handler

    def close(self) -> None:
        self.over.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def reply(body: bytes, status: int = 200, **headers: str) -> Answer:
    def send(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        for name, value in ({"Content-Length": str(len(body))} | given).items():
            handler.send_header(name, value)
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(body)

    return send


def redirect(location: str) -> Answer:
    return reply(b"", 302, Location=location)


class World:
    """State, home and workspace in one folder, and skills that a test writes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state, self.work = folder / "state", folder / "work"
        self.tools = self.state / "tools"
        for path in (folder / "home", self.state, self.work):
            path.mkdir()
        self.environ = {"PATH": SYSTEM_PATH, "HOME": str(folder / "home")}

    def skill(self, *entries: Entry, name: str = "frames", body: str = "", **extra: Any) -> Path:  # noqa: ANN401 - whatever metadata holds
        metadata = {"openclaw": {"install": list(entries), **extra}}
        folder = self.work / "skills" / name.replace("/", "-")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "SKILL.md").write_text(
            f"---\nname: {name}\ndescription: Takes stills out of a video. Use for frames.\n"
            f"metadata: {json.dumps(metadata)}\n---\n\n# Frames\n\n{body}\n",
            encoding="utf-8",
        )
        return folder

    def configure(self, **skills: Any) -> None:  # noqa: ANN401 - whatever a config holds
        (self.state / "prowess.json").write_text(json.dumps({"skills": skills}), encoding="utf-8")

    def allow(self, *hosts: str) -> None:
        self.configure(install={"privateHosts": list(hosts)})

    def open(self) -> Runtime:
        return open_runtime(self.work, home=self.state, environ=self.environ)

    def service(self) -> InstallService:
        return open_installing(self.open())

    def install(
        self, skill: str = "frames", option: str = "", timeout_ms: object = None
    ) -> InstallReport:
        request = InstallRequest(skill=skill, option_id=option, timeout_ms=timeout_ms)
        return self.service().install(request)

    def installed(self) -> set[str]:
        """Return everything in the tools folder that is neither a folder nor bookkeeping."""
        return {
            str(path.relative_to(self.tools))
            for path in self.tools.rglob("*")
            if (path.is_symlink() or not path.is_dir()) and ".locks" not in path.parts
        }


def tar(files: Mapping[str, bytes], mode: str = "w:gz", bits: int = 0o755) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), bits
            archive.addfile(member, io.BytesIO(data))
    return packed.getvalue()


def zipped(files: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return packed.getvalue()


def program(text: str = "hello") -> bytes:
    return f"#!/bin/sh\necho {text}\n".encode()
