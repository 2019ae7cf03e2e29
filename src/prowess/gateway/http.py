"""The gateway over plain HTTP: one request frame in and one response out, health, metrics.

`POST /rpc` takes the token from the Authorization header and knows no events. Bodies are counted
while they arrive, whatever their Content-Length says.
"""

import asyncio
import secrets
from collections.abc import Callable, Mapping

from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, PlainTextResponse, Response

from prowess.gateway.calls import Code, Json
from prowess.gateway.connection import CONNECT, Gateway
from prowess.gateway.dispatch import log_without_values
from prowess.gateway.frames import (
    Fault,
    Refused,
    Request,
    error_response,
    read_request,
    refusal_response,
    too_large,
)
from prowess.gateway.gate import problem_answer
from prowess.gateway.handshake import Rejected, owner
from prowess.gateway.workers import Lane

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
        gateway: Gateway,
        health: Callable[[], Json],
        metrics_extra: Callable[[], Mapping[str, float]],
    ) -> None:
        self._gateway, self._health, self._extra = gateway, health, metrics_extra
        self._open = 0

    async def rpc(self, http: HttpRequest) -> Response:
        """Answer one request frame."""
        if http.method != "POST":
            return _wrong_method("POST")
        refused = self._refused(http)
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
            return _wrong_method("GET, HEAD")
        if self._gateway.hub.closing:
            return JSONResponse({"ok": False, "status": "stopping"}, status_code=503)
        try:
            return JSONResponse(await self._gateway.answering.run(self._health, lane=Lane.HELLO))
        # Who asks for health wants an answer above all when something is broken.
        except Exception as error:  # noqa: BLE001
            log_without_values("health", error)
            return JSONResponse({"ok": False, "status": "failing"}, status_code=503)

    async def about(self, http: HttpRequest) -> Response:
        """Tell a person who opens the address what this is."""
        if http.method not in {"GET", "HEAD"}:
            return _wrong_method("GET, HEAD")
        version = self._gateway.options.version
        return PlainTextResponse(
            f"Prowess gateway {version}\n\n"
            "Clients connect here with a WebSocket (/ and /ws), or send one request to /rpc.\n"
            "/health says whether it works, /metrics how much it does.\n"
        )

    async def metrics(self, http: HttpRequest) -> Response:
        """Return the counters as Prometheus text."""
        if http.method not in {"GET", "HEAD"}:
            return _wrong_method("GET, HEAD")
        unauthorized = self.unauthorized(http)
        if unauthorized is not None:
            return unauthorized
        hub = self._gateway.hub
        try:
            extra = await self._gateway.answering.run(self._extra, lane=Lane.HELLO)
        # Our own counters are still worth reading when those of others cannot be had.
        except Exception as error:  # noqa: BLE001
            log_without_values("metrics", error)
            extra = {}
        return PlainTextResponse(hub.metrics.text(hub.gauges(), extra), media_type=PROMETHEUS)

    def _refused(self, http: HttpRequest) -> Response | None:
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
        return await self._call(found, http.client.host if http.client else "")

    async def _call(self, request: Request, peer: str) -> Response:
        client = owner(f"rpc-{secrets.token_hex(4)}", "rpc")
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


def _no_call(request: Request) -> Response:
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


def _wrong_method(allowed: str) -> Response:
    message = f"method not allowed: use {allowed}"
    return problem_answer(405, Code.INVALID_REQUEST, message, {"Allow": allowed})
