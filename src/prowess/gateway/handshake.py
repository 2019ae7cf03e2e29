"""Who may come in: the decision about the first request of a connection, and its rights.

A decision is a value: `Accepted`, or `Rejected` with what the client is told and whether it may try
again. No message holds a token, neither ours nor theirs. What both ends say: `wire/handshake`.
"""

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import ValidationError

from prowess.gateway.calls import Client, ClientScope, Code, Json, first_problem
from prowess.gateway.frames import encode
from prowess.gateway.limits import FailureTable
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
            return _unknown_role()
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
            message=f"unauthorized: {problem}: {hint}",
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


def _unknown_role() -> Rejected:
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
        name=_shown(said.client.display_name or said.client.id),
        platform=_shown(said.client.platform or ""),
    )


def _shown(text: str) -> str:
    return one_line(text)[:MOST_SHOWN_CHARS]
