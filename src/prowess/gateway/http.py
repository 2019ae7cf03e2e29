"""The gateway over plain HTTP: `/rpc`, health, metrics, and the files of the studio.

`POST /rpc` takes the token from the Authorization header and knows no events. Bodies are counted
while they arrive, whatever their Content-Length says. No path of a request ever meets the disk: it
is looked up among the files that were there at the start. The path of a view (`/skills`) gets the
page; any other that names no file is not found.

The gateway as one ASGI app: WebSockets on `/` and `/ws`, HTTP and MCP beside them, a studio.
"""

import asyncio
import gzip
import hashlib
import json
import logging
import os
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from prowess.gateway.calls import Code, Json
from prowess.gateway.connection import CONNECT, Connection, GatewayCore
from prowess.gateway.dispatch import (
    Answering,
    Lane,
    MethodTable,
    Workers,
    attempt,
    log_without_values,
)
from prowess.gateway.frames import (
    Fault,
    Refused,
    RequestFrame,
    error_response,
    read_request,
    refusal_response,
    too_large,
)
from prowess.gateway.gate import (
    STATIC,
    Doorkeeper,
    GateMiddleware,
    HostRules,
    Rejected,
    deny,
    make_owner,
    problem_answer,
)
from prowess.gateway.hub import Hub
from prowess.gateway.limits import EVENTS, FailureTable, GatewayOptions, TokenBucket
from prowess.spans import read_traceparent

log = logging.getLogger(__name__)

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
# How many times the allowed length of a body is read before the connection is cut.
_PATIENCE = 4
_HINT = "send the token that `prowess serve` was started with as `Authorization: Bearer <token>`"
_STATUS = {
    Code.INVALID_REQUEST: 400,
    Code.NOT_CONNECTED: 400,
    Code.PROTOCOL_MISMATCH: 400,
    Code.UNAUTHORIZED: 401,
    Code.FORBIDDEN: 403,
    Code.PAYLOAD_TOO_LARGE: 413,
    Code.RATE_LIMITED: 429,
    Code.UNAVAILABLE: 503,
}


class Web:
    """The HTTP endpoints of a gateway."""

    def __init__(
        self,
        gateway: GatewayCore,
        health: Callable[[], Json],
        metrics_extra: Callable[[], Mapping[str, float]],
    ) -> None:
        self._gateway, self._health, self._extra = gateway, health, metrics_extra
        self._open = 0

    async def rpc(self, http: HttpRequest) -> Response:
        """Answer one request frame."""
        if http.method != "POST":
            return _refuse_method("POST")
        refused = self._refuse(http)
        if refused is not None:
            return refused
        if self._open >= self._gateway.hub.limits.http_in_flight:
            message = "too many requests at once: try again in a moment"
            return problem_answer(429, Code.RATE_LIMITED, message, {"Retry-After": "1"})
        self._open += 1
        try:
            return await self._answer(http)
        finally:
            self._open -= 1

    async def health(self, http: HttpRequest) -> Response:
        """Say that the gateway runs; everybody may ask, so nothing here is a secret."""
        if http.method not in {"GET", "HEAD"}:
            return _refuse_method("GET, HEAD")
        if self._gateway.hub.closing:
            return JSONResponse({"ok": False, "status": "stopping"}, status_code=503)
        found = await attempt(self._gateway.answering.run(self._health, lane=Lane.HELLO))
        if isinstance(found, Exception):
            # Who asks for health wants an answer above all when something is broken.
            log_without_values("health", found)
            return JSONResponse({"ok": False, "status": "failing"}, status_code=503)
        return JSONResponse(found)

    async def live(self, http: HttpRequest) -> Response:
        """Say that the process answers; who runs it starts another where this fails."""
        if http.method not in {"GET", "HEAD"}:
            return _refuse_method("GET, HEAD")
        return JSONResponse({"ok": True, "status": "live"})

    async def ready(self, http: HttpRequest) -> Response:
        """Say whether requests should be sent here: not while it stops, nor when it fails.

        Without its database it still answers what it knows, as every gateway of its fleet does
        then, so it stays ready and says that it is degraded.
        """
        answer = await self.health(http)
        if http.method not in {"GET", "HEAD"} or answer.status_code != HTTPStatus.OK:
            return answer
        found = json.loads(bytes(answer.body)).get("database", {})
        status = "degraded" if found.get("state") == "lost" else "ready"
        told = {"database": found["state"]} if found else {}
        return JSONResponse({"ok": True, "status": status, **told})

    async def about(self, http: HttpRequest) -> Response:
        """Tell a person who opens the address what this is."""
        if http.method not in {"GET", "HEAD"}:
            return _refuse_method("GET, HEAD")
        version = self._gateway.options.version
        return PlainTextResponse(
            f"Prowess gateway {version}\n\n"
            "Clients connect here with a WebSocket (/ and /ws), or send one request to /rpc.\n"
            "/health says whether it works, /metrics how much it does.\n"
        )

    async def metrics(self, http: HttpRequest) -> Response:
        """Return the counters as Prometheus text."""
        if http.method not in {"GET", "HEAD"}:
            return _refuse_method("GET, HEAD")
        unauthorized = self.unauthorized(http)
        if unauthorized is not None:
            return unauthorized
        hub = self._gateway.hub
        extra = await attempt(self._gateway.answering.run(self._extra, lane=Lane.HELLO))
        if isinstance(extra, Exception):
            # Our own counters are still worth reading when those of others cannot be had.
            log_without_values("metrics", extra)
            extra = {}
        return PlainTextResponse(hub.metrics.text(hub.gauges(), extra), media_type=PROMETHEUS)

    def _refuse(self, http: HttpRequest) -> Response | None:
        unauthorized = self.unauthorized(http)
        if unauthorized is not None:
            return unauthorized
        if http.headers.get("content-type", "").partition(";")[0].strip().lower() != (
            "application/json"
        ):
            message = "unsupported media type: send Content-Type: application/json"
            return problem_answer(415, Code.INVALID_REQUEST, message)
        return None

    def unauthorized(self, http: HttpRequest) -> Response | None:
        """Return the answer to a request without the token, None where it has it."""
        scheme, _, given = http.headers.get("authorization", "").partition(" ")
        token = given.strip() if scheme.lower() == "bearer" else ""
        peer = http.client.host if http.client else ""
        rejected = self._gateway.doorkeeper.check_secret([token], peer, _HINT)
        if rejected is None:
            return None
        self._gateway.hub.metrics.rejected(rejected.code.value)
        # Never what was given as a token; and strangers must not be able to fill the disk.
        if self._gateway.lines.take():
            told = {"path": http.scope["path"], "peer": peer, "why": rejected.code.value}
            log.info("http.refused", extra=told)
        return _rejection(rejected)

    async def _answer(self, http: HttpRequest) -> Response:
        body = await self._body(http)
        if isinstance(body, Response):
            return body
        try:
            frame: str | bytes = body.decode("utf-8")
        except UnicodeDecodeError:
            frame = body
        found = read_request(frame, self._gateway.options.max_payload)
        if isinstance(found, Refused):
            return self._refusal(found)
        if found.method == CONNECT or self._gateway.hub.closing:
            return _no_call(found)
        return await self._call(found, http)

    async def _call(self, request: RequestFrame, http: HttpRequest) -> Response:
        peer = http.client.host if http.client else ""
        part_of = read_traceparent(http.headers.get("traceparent", ""))
        owner = make_owner(f"rpc-{secrets.token_hex(4)}", "rpc")
        client = replace(owner, part_of=part_of)
        hub, answering = self._gateway.hub, self._gateway.answering
        # A call goes on when the one who asked is gone: no write is cut.
        task = hub.start(
            # Requests have no connection of their own, so those of one address take turns as one.
            answering.answer(request, client, lambda _event, _payload: None, f"http {peer}")
        )
        response, text = await asyncio.shield(task)
        status = 200 if response["ok"] else _STATUS[Code(response["error"]["code"])]
        return Response(text, status_code=status, media_type="application/json")

    async def _body(self, http: HttpRequest) -> bytes | Response:
        most = self._gateway.options.max_payload
        chunks, total = [], 0
        try:
            async with asyncio.timeout(self._gateway.hub.limits.body_seconds):
                async for chunk in http.stream():
                    total += len(chunk)
                    if total > _PATIENCE * most:
                        break
                    # What is too long is read on but not kept: who still sends hears no answer.
                    if total <= most:
                        chunks.append(chunk)
        except (TimeoutError, ClientDisconnect):
            if total > most:
                return self._refusal(too_large(most))
            message = "the body did not arrive in time: send it again"
            return problem_answer(408, Code.INVALID_REQUEST, message, {"Connection": "close"})
        return self._refusal(too_large(most)) if total > most else b"".join(chunks)

    def _refusal(self, refused: Refused) -> Response:
        self._gateway.hub.metrics.refused_frame(refused.fault)
        # Half a body may still be on its way: the connection is of no more use.
        headers = {"Connection": "close"} if refused.fault is Fault.TOO_LARGE else None
        return JSONResponse(
            refusal_response(refused), status_code=_STATUS[refused.code], headers=headers
        )


def _no_call(request: RequestFrame) -> Response:
    if request.method == CONNECT:
        message = "connect is for WebSockets: over HTTP each request stands alone"
        return JSONResponse(
            error_response(request.id, Code.INVALID_REQUEST, message), status_code=400
        )
    message = "the gateway is stopping: try again in a moment"
    return JSONResponse(error_response(request.id, Code.UNAVAILABLE, message), status_code=503)


def _rejection(rejected: Rejected) -> Response:
    headers = {"WWW-Authenticate": "Bearer"} if rejected.code is Code.UNAUTHORIZED else {}
    return problem_answer(_STATUS[rejected.code], rejected.code, rejected.message, headers)


def _refuse_method(allowed: str) -> Response:
    message = f"method not allowed: use {allowed}"
    return problem_answer(405, Code.INVALID_REQUEST, message, {"Allow": allowed})


PAGE = "/index.html"
# Each module in here is a view, and its name is the view's path.
_VIEWS = "/js/views/"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# What is not in here is no part of a page, and is not served.
_TYPES: Mapping[str, str] = MappingProxyType(
    {
        ".html": "text/html; charset=utf-8",
        ".css": "text/css; charset=utf-8",
        ".js": "text/javascript; charset=utf-8",
        ".mjs": "text/javascript; charset=utf-8",
        ".json": "application/json",
        ".webmanifest": "application/manifest+json",
        ".svg": "image/svg+xml",
        ".png": "image/png",
        ".ico": "image/x-icon",
        ".woff2": "font/woff2",
    }
)
_PACKED = frozenset((".html", ".css", ".js", ".mjs", ".json", ".webmanifest", ".svg"))
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    # Kept by the browser and asked for each time: a newer Prowess is seen at once.
    "Cache-Control": "no-cache",
    "Vary": "Accept-Encoding",
}


_LOST = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Not found · Prowess studio</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="stylesheet" href="/css/tokens.css">
<link rel="stylesheet" href="/css/base.css">
<link rel="stylesheet" href="/css/frame.css">
</head>
<body>
<main class="door">
<h1>There is no such page</h1>
<p>The studio of this gateway has these:</p>
<ul>
{links}
</ul>
</main>
</body>
</html>
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFile:
    """One file, as it is sent."""

    type: str
    body: bytes
    # Empty where packing would not make it smaller.
    packed: bytes
    tag: str


def page_files(folder: str) -> Mapping[str, PageFile]:
    """Read the files of a page, by the path under which they are asked for.

    Raises:
        OSError: one of them cannot be read.
    """
    found: dict[str, PageFile] = {}
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
        for name in sorted(names):
            path = Path(place, name)
            # A link could lead to what is no part of the package.
            if name.startswith(".") or path.suffix not in _TYPES or path.is_symlink():
                continue
            found[f"/{path.relative_to(folder).as_posix()}"] = _read(path)
    return MappingProxyType(found)


def _read(path: Path) -> PageFile:
    body = path.read_bytes()
    packed = gzip.compress(body, mtime=0) if path.suffix in _PACKED else b""
    return PageFile(
        type=_TYPES[path.suffix],
        body=body,
        packed=packed if len(packed) < len(body) else b"",
        tag=hashlib.sha256(body).hexdigest()[:32],
    )


class StudioFiles:
    """Serves the files of a page, as an ASGI app."""

    def __init__(self, files: Mapping[str, PageFile]) -> None:
        """Take the files; `PAGE` is among them."""
        self._files = files
        views = (path.removeprefix(_VIEWS) for path in files if path.startswith(_VIEWS))
        self._places = {"/", *(f"/{name.removesuffix('.js')}" for name in views)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers, query = Headers(scope=scope), scope.get("query_string", b"").decode("latin-1")
        answer = self._answer(scope["method"], scope["path"], headers, query)
        await answer(scope, receive, send)

    def _answer(self, method: str, path: str, headers: Headers, query: str = "") -> Response:
        if method not in {"GET", "HEAD"}:
            allowed = {"Allow": "GET, HEAD"}
            return problem_answer(
                405, Code.INVALID_REQUEST, "method not allowed: use GET, HEAD", allowed
            )
        file = self._find(path)
        if file is not None:
            return _send(file, headers)
        place = path.rstrip("/")
        # Only to a view, by its own name: nothing of the address is followed anywhere else.
        if place in self._places:
            return RedirectResponse(f"{place}?{query}" if query else place, 308, _HEADERS)
        if "text/html" in headers.get("accept", ""):
            shown = {**_HEADERS, "Content-Type": _TYPES[".html"], "Vary": "Accept"}
            return Response(self._write_lost(), 404, shown)
        return problem_answer(404, Code.INVALID_REQUEST, "not found")

    def _write_lost(self) -> str:
        """Return the page of a path that is none; it says nothing about what was asked for."""
        views = sorted(self._places - {"/"})
        links = (f'<li><a href="{view}">{view[1:].capitalize()}</a></li>' for view in views)
        return _LOST.format(links="\n".join(links))

    def _find(self, path: str) -> PageFile | None:
        return self._files.get(PAGE if path in self._places else path)


def _send(file: PageFile, headers: Headers) -> Response:
    is_packed = bool(file.packed) and _takes_gzip(headers.getlist("accept-encoding"))
    # Two bodies, two tags: a cache must never give one for the other.
    tag = f'"{file.tag}{"-gz" if is_packed else ""}"'
    shown = {**_HEADERS, "ETag": tag}
    if _has(headers.getlist("if-none-match"), tag):
        return Response(status_code=304, headers=shown)
    if is_packed:
        shown["Content-Encoding"] = "gzip"
    body = file.packed if is_packed else file.body
    # To HEAD the server sends no body, and still says how long it would be.
    return Response(body, headers={**shown, "Content-Type": file.type})


def _takes_gzip(values: list[str]) -> bool:
    for part in ",".join(values).lower().split(","):
        name, _, quality = part.partition(";")
        if name.strip() in {"gzip", "*"}:
            return quality.replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False


def _has(values: list[str], tag: str) -> bool:
    tags = {part.strip().removeprefix("W/") for part in ",".join(values).split(",")}
    return tag in tags or "*" in tags


__all__ = ["GatewayOptions", "build_app"]

# How long a write may go on after everybody was told to stop.
_WRITING_SECONDS = 10.0
_LINES_PER_SECOND, _MOST_LINES = 0.1, 10
# Wrong methods are refused by the endpoints: with the studio on `/`, a route that knows only POST
# would hand its GET to the studio.
_EVERY_METHOD = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]


class MountedEndpoint(Protocol):
    """Somebody else's requests on one path of the gateway, such as those of MCP."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that was let in."""

    async def close(self) -> None:
        """End whatever is open."""


# One place where everything meets; those at the end have defaults.
def build_app(  # noqa: PLR0913
    table: MethodTable,
    hub: Hub,
    options: GatewayOptions,
    snapshot: Callable[[], Json],
    health: Callable[[], Json],
    *,
    static: ASGIApp | None = None,
    metrics_extra: Callable[[], Mapping[str, float]] = dict,
    mcp: MountedEndpoint | None = None,
) -> Starlette:
    """Return the app of a gateway; `snapshot` and `health` run in threads."""
    workers = Workers(hub.limits)
    hub.metrics.know((*table.names, CONNECT), EVENTS)
    gateway = GatewayCore(
        options=options,
        hub=hub,
        answering=Answering(table, workers.share, hub.metrics, hub.clock),
        doorkeeper=Doorkeeper((options.token, options.password), FailureTable(hub.clock)),
        snapshot=snapshot,
        forget=workers.forget,
        lines=TokenBucket(_LINES_PER_SECOND, _MOST_LINES, hub.clock),
    )
    app = Starlette(
        routes=_routes(gateway, Web(gateway, health, metrics_extra), static, mcp),
        middleware=[Middleware(GateMiddleware, partial(_admission, options), gateway.lines.take)],
        exception_handlers={HTTPException: _http_problem},
        lifespan=_lifespan(hub, workers, options.tick_ms, mcp),
    )
    app.router.redirect_slashes = False
    return app


def _admission(options: GatewayOptions) -> HostRules:
    return HostRules(
        allowed_hosts=(*options.allowed_hosts, *options.configured().allowed_hosts),
        allowed_origins=options.configured().allowed_origins,
        loopback_only=options.loopback_only,
    )


def _routes(
    gateway: GatewayCore, web: Web, static: ASGIApp | None, mcp: MountedEndpoint | None
) -> list[BaseRoute]:
    async def socket(websocket: WebSocket) -> None:
        await _serve_socket(websocket, gateway)

    routes: list[BaseRoute] = [
        WebSocketRoute("/", socket),
        WebSocketRoute("/ws", socket),
        Route("/rpc", web.rpc, methods=_EVERY_METHOD),
        Route("/health", web.health, methods=_EVERY_METHOD),
        Route("/health/live", web.live, methods=_EVERY_METHOD),
        Route("/health/ready", web.ready, methods=_EVERY_METHOD),
        Route("/metrics", web.metrics, methods=_EVERY_METHOD),
    ]
    if mcp is not None:
        routes.append(Route("/mcp", _Guarded(mcp, web)))
    page = Route("/", web.about, methods=_EVERY_METHOD)
    return [*routes, page if static is None else Mount("/", app=_Studio(static))]


async def _serve_socket(websocket: WebSocket, gateway: GatewayCore) -> None:
    connection = Connection(websocket, gateway)
    problem = gateway.hub.join(connection)
    if problem is None:
        await connection.serve()
        return
    gateway.hub.metrics.rejected("full")
    answer = problem_answer(503, Code.UNAVAILABLE, problem, {"Retry-After": "5"})
    await deny(websocket.scope, websocket.receive, websocket.send, answer)


class _Guarded:
    """An endpoint that asks for the token as `/rpc` does."""

    def __init__(self, endpoint: MountedEndpoint, web: Web) -> None:
        self._endpoint, self._web = endpoint, web

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = self._web.unauthorized(HttpRequest(scope))
        await (self._endpoint if refused is None else refused)(scope, receive, send)


class _Studio:
    """Files of the studio: they say themselves what their pages may load."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            answer = problem_answer(404, Code.INVALID_REQUEST, "WebSockets are on / and /ws")
            await deny(scope, receive, send, answer)
            return
        scope[STATIC] = True
        await self._app(scope, receive, send)


def _http_problem(_http: HttpRequest, problem: Exception) -> Response:
    status = problem.status_code if isinstance(problem, HTTPException) else 500
    return problem_answer(status, Code.INVALID_REQUEST, HTTPStatus(status).phrase.lower())


def _lifespan(
    hub: Hub, workers: Workers, tick_ms: int, mcp: MountedEndpoint | None
) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        hub.open(tick_ms)
        try:
            yield
        finally:
            await hub.close("the gateway stops")
            if mcp is not None:
                await mcp.close()
            await workers.finish(_WRITING_SECONDS)

    return lifespan
