"""The outermost layer of the app: who may knock, headers on every answer, and no crash text.

It stands before routing, so that a refusal costs nothing and a WebSocket is refused before it is
one. An exception that gets this far is logged by type and place: the server would print it whole.
"""

from collections.abc import MutableMapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from prowess.gateway.calls import Code, Json
from prowess.gateway.dispatch import log_without_values
from prowess.gateway.origin import Admission, Knock, refusal

LOCKED_PAGE = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
}
# Set by who serves files of the studio, which bring a policy of their own.
STATIC = "prowess.static"


def problem_answer(
    status: int, code: Code, message: str, headers: dict[str, str] | None = None
) -> JSONResponse:
    """Return a refusal as HTTP."""
    body: Json = {"error": {"code": code.value, "message": message}}
    return JSONResponse(body, status_code=status, headers=headers)


class Gate:
    """Middleware around the whole app."""

    def __init__(self, app: ASGIApp, admission: Admission) -> None:
        self._app, self._admission = app, admission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        answers = _Answers(scope, send)
        problem = refusal(_knock(scope), self._admission)
        if problem is not None:
            await deny(scope, receive, answers, problem_answer(403, Code.FORBIDDEN, problem))
            return
        try:
            await self._app(scope, receive, answers)
        # The last place where it can be kept out of the server's log with its message.
        except Exception as error:  # noqa: BLE001
            log_without_values(f"a {scope['type']} request", error)
            if not answers.started:
                failed = problem_answer(500, Code.UNAVAILABLE, "internal error")
                await deny(scope, receive, answers, failed)


async def deny(scope: Scope, receive: Receive, send: Send, answer: Response) -> None:
    """Answer a request with HTTP, also where it wanted to become a WebSocket."""
    if scope["type"] != "websocket":
        await answer(scope, receive, send)
    elif "websocket.http.response" in scope.get("extensions", {}):
        await WebSocket(scope, receive, send).send_denial_response(answer)
    else:
        await send({"type": "websocket.close", "code": 1008, "reason": ""})


class _Answers:
    """Sends, with the headers that every answer has."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope, self._send, self.started = scope, send, False

    async def __call__(self, message: Message) -> None:
        self.started = True
        if message["type"] in {"http.response.start", "websocket.http.response.start"}:
            _add_headers(message, static=bool(self._scope.get(STATIC)))
        await self._send(message)


def _add_headers(message: MutableMapping[str, Any], *, static: bool) -> None:
    message.setdefault("headers", [])
    headers = MutableHeaders(scope=message)
    for name, value in _HEADERS.items():
        headers.setdefault(name, value)
    if not static:
        headers.setdefault("Content-Security-Policy", LOCKED_PAGE)
        headers.setdefault("Cache-Control", "no-store")


def _knock(scope: Scope) -> Knock:
    headers = Headers(scope=scope)
    client = scope.get("client")
    # A name has one dot at its end at most; whoever takes off more makes two names of one.
    hosts = ["" if ".." in host else host for host in headers.getlist("host")]
    return Knock(
        hosts=hosts,
        origins=headers.getlist("origin"),
        peer=client[0] if client else "",
    )
