"""A registry that speaks the OCI distribution protocol, in memory, and lies where it is told to."""

import hashlib
import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"


def sha(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


class OciRegistry:
    """Keeps blobs, manifests and tags; with a login it asks for a token first."""

    def __init__(self, login: str = "") -> None:
        self.blobs: dict[str, bytes] = {}
        self.manifests: dict[str, tuple[str, bytes]] = {}
        self.tags: dict[str, str] = {}
        self.login, self.asked = login, list[str]()
        # Content that is sent in place of what belongs to a path, and headers added to it.
        self.lies: dict[str, bytes] = {}
        self.headers: dict[str, Mapping[str, str]] = {}
        self.upload_to = ""
        handler = type("Handler", (_Handler,), {"registry": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.host = f"127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def put_blob(self, content: bytes, kind: str, title: str = "") -> dict[str, Any]:
        """Keep a blob, and return what a manifest says of it."""
        self.blobs[sha(content)] = content
        notes = {"annotations": {"org.opencontainers.image.title": title}}
        row = {"mediaType": kind, "digest": sha(content), "size": len(content)}
        return {**row, **(notes if title else {})}

    def put(self, name: str, values: Mapping[str, Any], tag: str = "latest") -> str:
        """Keep a manifest under a tag, and return its digest."""
        content = json.dumps(values).encode()
        kind = INDEX if "manifests" in values else MANIFEST
        self.manifests[sha(content)] = kind, content
        self.tags[f"{name}:{tag}"] = sha(content)
        return sha(content)

    def put_layers(self, name: str, *layers: Mapping[str, Any], **values: Any) -> str:  # noqa: ANN401 - whatever a manifest holds
        """Keep an artifact of layers, and return its digest."""
        config = self.put_blob(b"{}", "application/vnd.oci.empty.v1+json")
        return self.put(
            name, {"schemaVersion": 2, "config": config, "layers": list(layers), **values}
        )

    def answer(self, path: str) -> tuple[str, bytes] | None:
        """Return what is fetched at a path below a repository."""
        name, _, rest = path.removeprefix("/v2/").partition("/manifests/")
        if rest:
            return self.manifests.get(self.tags.get(f"{name}:{rest}", rest))
        digest = path.partition("/blobs/")[2]
        found = self.blobs.get(digest)
        return None if found is None else ("application/octet-stream", found)


class _Handler(BaseHTTPRequestHandler):
    registry: OciRegistry

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        self.registry.asked.append(f"{self.command} {path}")
        if path == "/token":
            self._give_token()
            return
        if not self._is_known():
            return
        found = self.registry.answer(path)
        if path in self.registry.lies:
            found = MANIFEST, self.registry.lies[path]
        if found is None:
            self._send(404)
        else:
            digest = {"Docker-Content-Digest": sha(found[1])}
            extra = {**digest, **self.registry.headers.get(path, {})}
            self._send(200, found[1], {"Content-Type": found[0], **extra})

    # The base class decides the name.
    do_HEAD = do_GET  # noqa: N815

    def do_POST(self) -> None:
        self.registry.asked.append(f"POST {self.path}")
        if self._is_known():
            place = self.registry.upload_to or f"{self.path}session?state=1"
            self._send(202, b"", {"Location": place})

    def do_PUT(self) -> None:
        self.registry.asked.append(f"PUT {urlsplit(self.path).path}")
        content = self.rfile.read(int(self.headers["Content-Length"]))
        if not self._is_known():
            return
        path = urlsplit(self.path).path
        if "/blobs/uploads/" in path:
            asked = parse_qs(urlsplit(self.path).query)["digest"][0]
            right = asked == sha(content)
            self.registry.blobs.update({asked: content} if right else {})
            self._send(201 if right else 400)
            return
        values, missing = json.loads(content), 0
        for row in (values["config"], *values["layers"]):
            missing += row["digest"] not in self.registry.blobs
        name, _, tag = path.removeprefix("/v2/").partition("/manifests/")
        self.registry.manifests[sha(content)] = self.headers["Content-Type"], content
        self.registry.tags[f"{name}:{tag}"] = sha(content)
        said = {"Docker-Content-Digest": sha(content)}
        self._send(400 if missing else 201, b"", said)

    def _give_token(self) -> None:
        right = self.headers.get("Authorization") == f"Basic {self.registry.login}"
        body = json.dumps({"token": "good" if right else "bad"}).encode()
        self._send(200, body)

    def _is_known(self) -> bool:
        if not self.registry.login or self.headers.get("Authorization") == "Bearer good":
            return True
        realm = f'Bearer realm="http://{self.registry.host}/token",service="x",scope="y"'
        self._send(401, b"", {"WWW-Authenticate": realm})
        return False

    def _send(
        self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    # The base class decides the names of the parameters.
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""
