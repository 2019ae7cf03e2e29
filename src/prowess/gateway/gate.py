"""The outermost layer of the app: Host and Origin, headers on every answer, and no crash text.

It stands before routing, so that a refusal costs nothing. A web page that the user happens to visit
can send requests to this machine: its browser says where the page comes from (Origin), and a name
that was bent to point here (DNS rebinding) shows in Host. Loopback names are one place. An
exception that gets this far is logged by type and place: the server would print it whole.
"""

import re
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from prowess.gateway.calls import Code, Json
from prowess.gateway.dispatch import attempt, log_without_values
from prowess.safety.web_addresses import LOCAL_NAME, is_this_machine

_HOST = re.compile(r"(\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,253})(?::([0-9]{1,5}))?", re.IGNORECASE)
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class Knock:
    """What a request says of where it comes from and whom it means; headers may come twice."""

    hosts: Sequence[str]
    origins: Sequence[str]
    # The address at the other end of the socket.
    peer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRules:
    """Who is let in."""

    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    # Without a token only this machine is served, whatever address the server was bound to.
    loopback_only: bool = True


def find_refusal(knock: Knock, admission: HostRules) -> str | None:
    """Return why a request is turned away, or None."""
    if admission.loopback_only and not is_this_machine(knock.peer):
        return "this gateway serves its own machine only: start it with a token to serve others"
    host = _one_host(knock.hosts)
    if host is None or not _is_allowed_host(host, admission.allowed_hosts):
        return (
            "this host name is not served: use 127.0.0.1, or add the name to gateway.allowedHosts"
            " in the gateway's config"
        )
    if not knock.origins:
        return None
    if len(knock.origins) == 1 and _is_allowed_origin(knock.origins[0], host, admission):
        return None
    return (
        "pages of this origin are not served: add the origin to gateway.controlUi.allowedOrigins"
        " in the gateway's config"
    )


def _one_host(hosts: Sequence[str]) -> tuple[str, int | None] | None:
    if len(hosts) != 1:
        return None
    return _parse_host(hosts[0])


def _parse_host(text: str) -> tuple[str, int | None] | None:
    found = _HOST.fullmatch(text.strip())
    if found is None:
        return None
    name = found[1].lower().rstrip(".")
    # All names of this machine become one.
    return (LOCAL_NAME if is_this_machine(name) else name), int(found[2]) if found[2] else None


def _is_allowed_host(host: tuple[str, int | None], allowed: Sequence[str]) -> bool:
    if host[0] == LOCAL_NAME:
        return True
    return any(
        found is not None and found[0] == host[0] and found[1] in {None, host[1]}
        for found in map(_parse_host, allowed)
    )


def _is_allowed_origin(text: str, host: tuple[str, int | None], admission: HostRules) -> bool:
    origin = _parse_origin(text)
    if origin is None:
        return False
    scheme, name, port = origin
    if (name, port) == (host[0], host[1] or _DEFAULT_PORTS[scheme]):
        return True
    return any(_parse_origin(allowed) == origin for allowed in admission.allowed_origins)


def _parse_origin(text: str) -> tuple[str, str, int] | None:
    """Return scheme, name and port; `null` and whatever else is no web page's origin has none."""
    try:
        parts = urlsplit(text.strip())
    except ValueError:
        return None
    scheme = parts.scheme.lower()
    if scheme not in _DEFAULT_PORTS or parts.path not in {"", "/"} or parts.query or parts.fragment:
        return None
    host = _parse_host(parts.netloc)
    return None if host is None else (scheme, host[0], host[1] or _DEFAULT_PORTS[scheme])


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


class GateMiddleware:
    """Middleware around the whole app."""

    def __init__(self, app: ASGIApp, admission: Callable[[], HostRules]) -> None:
        """Take the app, and what says who is let in now: the config may change meanwhile."""
        self._app, self._admission = app, admission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        answers = _Answers(scope, send)
        problem = find_refusal(_knock(scope), self._admission())
        if problem is not None:
            await deny(scope, receive, answers, problem_answer(403, Code.FORBIDDEN, problem))
            return
        error = await attempt(self._app(scope, receive, answers))
        if error is not None:
            # The last place where it can be kept out of the server's log with its message.
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
    return Knock(hosts=hosts, origins=headers.getlist("origin"), peer=client[0] if client else "")
