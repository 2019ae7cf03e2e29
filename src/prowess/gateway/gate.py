"""Who may come in: Host, Origin and headers first, then the first request of a connection.

The outermost layer of the app stands before routing, so that a refusal costs nothing. A web page
that the user happens to visit can send requests to this machine: its browser says where the page
comes from (Origin), and a name that was bent to point here (DNS rebinding) shows in Host. Loopback
names are one place. An exception that gets this far is logged by type and place: the server would
print it whole.

A decision about a connection is a value: `Accepted`, or `Rejected` with what the client is told and
whether it may try again. No message holds a token, neither ours nor theirs.
"""

import hashlib
import hmac
import logging
import re
from collections.abc import Callable, Iterable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from prowess.gateway.calls import Client, ClientScope, Code, Json, first_problem
from prowess.gateway.dispatch import attempt, log_without_values
from prowess.gateway.frames import encode
from prowess.gateway.limits import FailureTable
from prowess.safety.web_addresses import LOCAL_NAME, is_this_machine
from prowess.skills.text import one_line
from prowess.wire.handshake import (
    NEWEST_PROTOCOL,
    NODE,
    OLDEST_PROTOCOL,
    OPERATOR,
    ConnectParams,
    DeviceClaim,
    find_device_problem,
)

log = logging.getLogger(__name__)

POLICY_CLOSE, PROTOCOL_CLOSE = 1008, 1002
MOST_SHOWN_CHARS = 64
# Who has the first may do what the others are for.
_IMPLIED: dict[ClientScope, tuple[ClientScope, ...]] = {
    ClientScope.ADMIN: (ClientScope.READ, ClientScope.WRITE, ClientScope.ADMIN, ClientScope.NODE),
    ClientScope.WRITE: (ClientScope.READ, ClientScope.WRITE),
    ClientScope.READ: (ClientScope.READ,),
}
_HINT = "send the token that `prowess serve` was started with as auth.token (or auth.password)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """A client that may come in."""

    client: Client
    protocol: int
    # The rights as they were asked for, which is how clients look them up again.
    granted: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A client that may not, and why."""

    code: Code
    message: str
    details: Json | None = None
    # None where it may try again on this connection.
    close: int | None = POLICY_CLOSE

    @property
    def spoken(self) -> Code:
        """The code that a socket hears: what it is about is said by `details.code` there."""
        is_detailed = self.code in {Code.UNAUTHORIZED, Code.PROTOCOL_MISMATCH}
        return Code.INVALID_REQUEST if is_detailed else self.code


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """What the server knows of a connection before the client has said a word."""

    connection_id: str
    nonce: str
    peer: str
    local: bool
    now_ms: int


class Doorkeeper:
    """Decides who comes in; remembers who gave a wrong token."""

    def __init__(self, secrets: Iterable[str], failures: FailureTable) -> None:
        self._secrets = tuple(_digest(secret) for secret in secrets if secret)
        self._failures = failures

    def admit(self, params: Json, visit: Visit) -> Accepted | Rejected:
        """Return whether a `connect` with these parameters is let in, and with which rights."""
        try:
            said = ConnectParams.model_validate_json(encode(params))
        except ValidationError as error:
            field, problem = first_problem(error)
            message = f"invalid connect params: {field}: {problem}"
            return Rejected(
                code=Code.INVALID_REQUEST, message=message, details={"field": field}, close=None
            )
        protocol = common_protocol(said.min_protocol, said.max_protocol)
        if protocol is None:
            return _mismatch()
        role = (said.role or OPERATOR).strip()
        if role not in {OPERATOR, NODE}:
            return _refuse_role()
        rejected = self.check_secret(
            [said.auth.token, said.auth.password] if said.auth else [], visit.peer
        ) or _check_device(said, visit)
        return rejected or Accepted(
            client=_client(said, role, visit),
            protocol=protocol,
            granted=name_granted(role, said.scopes),
        )

    def check_secret(
        self, given: Iterable[str | None], peer: str, hint: str = _HINT
    ) -> Rejected | None:
        """Return why none of the given secrets opens the door, or None if one does."""
        if not self._secrets:
            return None
        tried = [_digest(text) for text in given if text]
        # Every pair is compared: how long it takes tells nothing about how near a guess was.
        fits = [hmac.compare_digest(one, two) for one in tried for two in self._secrets]
        if any(fits):
            # Whoever else guesses from the same address: the right token opens the door.
            return None
        wait = self._failures.seconds_to_wait(peer)
        if wait > 0:
            return Rejected(
                code=Code.RATE_LIMITED,
                message=f"too many wrong tokens: try again in {wait:.1f} seconds",
                details={"code": "AUTH_RATE_LIMITED", "retryAfterMs": int(wait * 1000) + 1},
            )
        if tried:
            self._failures.failed(peer)
        problem = "wrong token" if tried else "token missing"
        return Rejected(
            code=Code.UNAUTHORIZED,
            # No colon behind the word: clients take what follows it for the token, and hide it.
            message=f"unauthorized: {problem}; {hint}",
            details={
                "code": f"AUTH_TOKEN_{'MISMATCH' if tried else 'MISSING'}",
                "authReason": f"token_{'mismatch' if tried else 'missing'}",
                "canRetryWithDeviceToken": False,
                "recommendedNextStep": "update_auth_credentials",
            },
        )


def common_protocol(oldest: int, newest: int) -> int | None:
    """Return the newest protocol that a client and we both speak."""
    protocol = min(newest, NEWEST_PROTOCOL)
    return protocol if protocol >= max(oldest, OLDEST_PROTOCOL) else None


def grant_scopes(role: str, asked: Iterable[str] | None) -> frozenset[ClientScope]:
    """Return the rights of a client that asked for these; the unknown ones are passed over."""
    if role == NODE:
        return frozenset({ClientScope.NODE})
    # Who knows the token is the owner: not to say a word about rights means everything, and to ask
    # for none means none.
    wanted = {ClientScope.ADMIN.value} if asked is None else {name.strip() for name in asked}
    return frozenset(
        implied for scope, covers in _IMPLIED.items() if scope.value in wanted for implied in covers
    )


def name_granted(role: str, asked: Iterable[str] | None) -> tuple[str, ...]:
    """Return the rights of a client by the names that it used: it looks for those very names."""
    if role == NODE:
        return (ClientScope.NODE.value,)
    every = (ClientScope.ADMIN.value, ClientScope.READ.value, ClientScope.WRITE.value)
    names = every if asked is None else (name.strip() for name in asked)
    return tuple(dict.fromkeys(name for name in names if name.startswith(f"{OPERATOR}.")))


def make_owner(connection_id: str, name: str) -> Client:
    """Return a client of one call with every right, as who sends the token in a header is."""
    rights = grant_scopes(OPERATOR, None)
    return Client(id=connection_id, role=OPERATOR, scopes=rights, name=name, stays=False)


def _digest(text: str) -> bytes:
    # Digests have one length, so comparing them does not tell the length of the secret.
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _mismatch() -> Rejected:
    span = f"{OLDEST_PROTOCOL} to {NEWEST_PROTOCOL}"
    return Rejected(
        code=Code.PROTOCOL_MISMATCH,
        message=f"protocol mismatch: this gateway speaks protocol {span}; update the older side",
        details={
            "code": Code.PROTOCOL_MISMATCH.value,
            "expectedProtocol": NEWEST_PROTOCOL,
            "minimumProbeProtocol": OLDEST_PROTOCOL,
        },
        close=PROTOCOL_CLOSE,
    )


def _refuse_role() -> Rejected:
    return Rejected(
        code=Code.INVALID_REQUEST,
        message=f'invalid connect params: role: must be "{OPERATOR}" or "{NODE}"',
        details={"field": "role"},
        close=None,
    )


def _check_device(said: ConnectParams, visit: Visit) -> Rejected | None:
    if said.device is None:
        return None
    claim = DeviceClaim.read(said, said.device)
    token = (said.auth.token if said.auth else None) or ""
    problem = find_device_problem(
        claim, token=token, nonce=visit.nonce, now_ms=visit.now_ms, local=visit.local
    )
    if problem is None:
        return None
    kind, words = problem
    message = f"unauthorized: {words}"
    return Rejected(code=Code.UNAUTHORIZED, message=message, details={"code": kind})


def _client(said: ConnectParams, role: str, visit: Visit) -> Client:
    return Client(
        id=visit.connection_id,
        role=role,
        scopes=grant_scopes(role, said.scopes),
        name=_show(said.client.display_name or said.client.id),
        platform=_show(said.client.platform or ""),
    )


def _show(text: str) -> str:
    return one_line(text)[:MOST_SHOWN_CHARS]


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
    host = _read_host(knock.hosts)
    if host is None or not _is_allowed_host(host, admission.allowed_hosts):
        return (
            "this host name is not served: use 127.0.0.1, or add the name to gateway.allowedHosts"
            " in the gateway's config"
        )
    fits = [_is_allowed_origin(origin, host, admission) for origin in knock.origins]
    if fits in ([], [True]):
        return None
    return (
        "pages of this origin are not served: add the origin to gateway.controlUi.allowedOrigins"
        " in the gateway's config"
    )


def _read_host(hosts: Sequence[str]) -> tuple[str, int | None] | None:
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
_LOCKED = {**_HEADERS, "Content-Security-Policy": LOCKED_PAGE, "Cache-Control": "no-store"}
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

    def __init__(
        self, app: ASGIApp, admission: Callable[[], HostRules], may_log: Callable[[], bool]
    ) -> None:
        """Take the app, and what says who is let in now: the config may change meanwhile."""
        self._app, self._admission, self._may_log = app, admission, may_log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        answers = _Answers(scope, send)
        knock = _knock(scope)
        problem = find_refusal(knock, self._admission())
        if problem is not None:
            if self._may_log():
                told = {"origin": " ".join(knock.origins)[:200], "why": problem.partition(":")[0]}
                log.info("http.refused", extra={"path": scope["path"], "peer": knock.peer, **told})
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
    for name, value in (_HEADERS if static else _LOCKED).items():
        headers.setdefault(name, value)


def _knock(scope: Scope) -> Knock:
    headers = Headers(scope=scope)
    client = scope.get("client")
    # A name has one dot at its end at most; whoever takes off more makes two names of one.
    hosts = ["" if ".." in host else host for host in headers.getlist("host")]
    return Knock(hosts=hosts, origins=headers.getlist("origin"), peer=client[0] if client else "")
