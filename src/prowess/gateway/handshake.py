"""The first request of a connection: which protocol, who, with which rights.

Clients differ, so what we do not know in `connect` is passed over; what we know must have the right
type. A decision is a value: `Accepted`, or `Rejected` with what the client is told and whether it
may try again. No message holds a token, neither ours nor theirs.

Whether a device is who it says: an ed25519 signature over the challenge of this connection.

A good signature proves that the same device is back; it does not replace the token. Several forms
of the signed text are in use: with the platform (v3), without (v2), and, from this machine alone,
without the nonce (v1), which a client sends when it could not wait for the challenge.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from prowess.gateway.calls import Client, Code, Json, Scope, first_problem
from prowess.gateway.frames import encode
from prowess.gateway.limits import FailureTable
from prowess.skills.text import one_line

MOST_SKEW_MS = 10 * 60 * 1000
KEY_BYTES, SIGNATURE_BYTES = 32, 64


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceClaim:
    """What a device says about itself and what it signed, in the words of its `connect`."""

    id: str
    public_key: str
    signature: str
    signed_at: int
    nonce: str
    client_id: str
    client_mode: str
    role: str
    scopes: tuple[str, ...]
    platform: str
    family: str


def device_problem(
    claim: DeviceClaim, *, token: str, nonce: str, now_ms: int, local: bool
) -> str | None:
    """Return why a device is not believed, or None; no answer repeats what was signed."""
    key = _raw_bytes(claim.public_key, KEY_BYTES)
    if key is None:
        return "device.publicKey must be a raw ed25519 key of 32 bytes in base64"
    # As bytes: letters beyond ASCII cannot be compared as text.
    said = claim.id.lower().encode("utf-8", "surrogatepass")
    if not hmac.compare_digest(hashlib.sha256(key).hexdigest().encode("ascii"), said):
        return "device.id does not belong to device.publicKey"
    if abs(now_ms - claim.signed_at) > MOST_SKEW_MS:
        return "device.signedAt is more than 10 minutes off: check the clocks and sign again"
    # From this machine a device may sign before the challenge has reached it.
    if not (claim.nonce or local) or claim.nonce not in {"", nonce}:
        return "device.nonce must be the one of this connection's connect.challenge"
    signature = _raw_bytes(claim.signature, SIGNATURE_BYTES)
    texts = signed_texts(claim, token)
    if signature is None or not any(_is_signed(key, text, signature) for text in texts):
        return "device.signature does not fit: sign the nonce of connect.challenge again"
    return None


def signed_texts(claim: DeviceClaim, token: str) -> tuple[str, ...]:
    """Return the texts that the signature of this claim may be for."""
    base = (
        claim.id,
        claim.client_id,
        claim.client_mode,
        claim.role,
        ",".join(claim.scopes),
        str(claim.signed_at),
        token,
    )
    if not claim.nonce:
        return ("|".join(("v1", *base)),)
    machine = (_lower(claim.platform), _lower(claim.family))
    return (
        "|".join(("v3", *base, claim.nonce, *machine)),
        "|".join(("v2", *base, claim.nonce)),
    )


def _is_signed(key: bytes, text: str, signature: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, text.encode("utf-8"))
    except (InvalidSignature, ValueError):
        return False
    return True


def _raw_bytes(text: str, length: int) -> bytes | None:
    """Return what base64 of either alphabet, padded or not, stands for."""
    plain = text.strip().rstrip("=").replace("-", "+").replace("_", "/")
    try:
        raw = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw if len(raw) == length else None


def _lower(text: str) -> str:
    # ASCII alone: other letters change their length, and then both sides sign different texts.
    return "".join(chr(ord(char) + 32) if "A" <= char <= "Z" else char for char in text.strip())


OLDEST_PROTOCOL, NEWEST_PROTOCOL = 3, 4
POLICY_CLOSE, PROTOCOL_CLOSE = 1008, 1002
OPERATOR, NODE = "operator", "node"
MOST_SHOWN_CHARS = 64
# Who has the first may do what the others are for.
_IMPLIED: dict[Scope, tuple[Scope, ...]] = {
    Scope.ADMIN: (Scope.READ, Scope.WRITE, Scope.ADMIN, Scope.NODE),
    Scope.WRITE: (Scope.READ, Scope.WRITE),
    Scope.READ: (Scope.READ,),
}
_HINT = "send the token that `prowess serve` was started with as auth.token (or auth.password)"

Short = Annotated[str, Field(max_length=256)]
Secret = Annotated[str, Field(max_length=4096)]


class _Open(BaseModel):
    """Known fields are checked, unknown ones passed over."""

    model_config = ConfigDict(
        extra="ignore",
        strict=True,
        frozen=True,
        hide_input_in_errors=True,
        alias_generator=to_camel,
    )


class ClientSays(_Open):
    """What the client's program is."""

    id: Short
    version: Short | None = None
    platform: Short | None = None
    mode: Short | None = None
    instance_id: Short | None = None
    display_name: Short | None = None
    device_family: Short | None = None


class AuthSays(_Open):
    """The secret that the client knows."""

    token: Secret | None = Field(default=None, repr=False)
    password: Secret | None = Field(default=None, repr=False)


class DeviceSays(_Open):
    """The device that signed the challenge."""

    id: Short
    public_key: Short
    signature: Short
    signed_at: int
    nonce: Short | None = None


class ConnectParams(_Open):
    """The parameters of `connect`."""

    min_protocol: int
    max_protocol: int
    client: ClientSays
    role: Short | None = None
    scopes: Annotated[tuple[Short, ...], Field(max_length=64)] | None = None
    device: DeviceSays | None = None
    auth: AuthSays | None = None
    caps: Annotated[tuple[Short, ...], Field(max_length=256)] | None = None
    user_agent: Annotated[str, Field(max_length=4096)] | None = None
    locale: Short | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """A client that may come in."""

    client: Client
    protocol: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A client that may not, and why."""

    code: Code
    message: str
    details: Json | None = None
    # None where it may try again on this connection.
    close: int | None = POLICY_CLOSE


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
        return rejected or Accepted(client=_client(said, role, visit), protocol=protocol)

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
                details={"retryAfterMs": int(wait * 1000) + 1},
            )
        if tried:
            self._failures.failed(peer)
        problem = "wrong token" if tried else "token missing"
        return Rejected(code=Code.UNAUTHORIZED, message=f"unauthorized: {problem}: {hint}")


def common_protocol(oldest: int, newest: int) -> int | None:
    """Return the newest protocol that a client and we both speak."""
    protocol = min(newest, NEWEST_PROTOCOL)
    return protocol if protocol >= max(oldest, OLDEST_PROTOCOL) else None


def granted(role: str, asked: Iterable[str] | None) -> frozenset[Scope]:
    """Return the rights of a client that asked for these; the unknown ones are passed over."""
    if role == NODE:
        return frozenset({Scope.NODE})
    # Who knows the token is the owner: not to say a word about rights means everything, and to ask
    # for none means none.
    wanted = {Scope.ADMIN.value} if asked is None else {name.strip() for name in asked}
    return frozenset(
        implied for scope, covers in _IMPLIED.items() if scope.value in wanted for implied in covers
    )


def owner(connection_id: str, name: str) -> Client:
    """Return a client of one call with every right, as who sends the token in a header is."""
    rights = granted(OPERATOR, None)
    return Client(id=connection_id, role=OPERATOR, scopes=rights, name=name, stays=False)


def _digest(text: str) -> bytes:
    # Digests have one length, so comparing them does not tell the length of the secret.
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _mismatch() -> Rejected:
    span = f"{OLDEST_PROTOCOL} to {NEWEST_PROTOCOL}"
    return Rejected(
        code=Code.PROTOCOL_MISMATCH,
        message=f"protocol mismatch: this gateway speaks protocol {span}; update the older side",
        details={"minProtocol": OLDEST_PROTOCOL, "maxProtocol": NEWEST_PROTOCOL},
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
    claim = DeviceClaim(
        id=said.device.id,
        public_key=said.device.public_key,
        signature=said.device.signature,
        signed_at=said.device.signed_at,
        nonce=(said.device.nonce or "").strip(),
        client_id=said.client.id,
        client_mode=said.client.mode or "",
        role=(said.role or OPERATOR).strip(),
        scopes=said.scopes or (),
        platform=said.client.platform or "",
        family=said.client.device_family or "",
    )
    token = (said.auth.token if said.auth else None) or ""
    problem = device_problem(
        claim, token=token, nonce=visit.nonce, now_ms=visit.now_ms, local=visit.local
    )
    if problem is None:
        return None
    return Rejected(code=Code.UNAUTHORIZED, message=f"unauthorized: {problem}")


def _client(said: ConnectParams, role: str, visit: Visit) -> Client:
    return Client(
        id=visit.connection_id,
        role=role,
        scopes=granted(role, said.scopes),
        name=_shown(said.client.display_name or said.client.id),
        platform=_shown(said.client.platform or ""),
    )


def _shown(text: str) -> str:
    return one_line(text)[:MOST_SHOWN_CHARS]
