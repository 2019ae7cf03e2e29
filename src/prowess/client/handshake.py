"""The first words of a connection: who we are, what we may do, and what the gateway says of itself.

Whatever holds a secret here is kept out of representations, and so out of logs and tracebacks.

A device that proves to be the same one as before, by signing what the gateway asks.

The key is the caller's to keep: `private_bytes` gives it once, to be stored where only its owner
can read it. It never leaves this process otherwise, and it does not replace the token.
"""

import base64
import hashlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from prowess.client.fields import Fields, Json
from prowess.client.refusals import MISMATCH, GatewayCallError


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What a device signs, beside its own id."""

    client_id: str
    mode: str
    role: str
    scopes: tuple[str, ...]
    platform: str
    token: str = field(repr=False)
    nonce: str
    signed_at: int


class DeviceIdentity:
    """An ed25519 key, and the id that follows from it."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self._public = key.public_key().public_bytes_raw()
        self.id = hashlib.sha256(self._public).hexdigest()

    def __repr__(self) -> str:
        return f"DeviceIdentity(id={self.id!r})"

    @classmethod
    def new(cls) -> "DeviceIdentity":
        """Return a device that nobody has seen before."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def from_private_bytes(cls, key: bytes) -> "DeviceIdentity":
        """Return the device that `private_bytes` was kept of.

        Raises:
            ValueError: these are not the 32 bytes of a key.
        """
        return cls(Ed25519PrivateKey.from_private_bytes(key))

    def private_bytes(self) -> bytes:
        """Return the secret half of the key, for the caller to keep."""
        return self._key.private_bytes_raw()

    def signed(self, statement: Statement) -> dict[str, Any]:
        """Return the device block of `connect`."""
        text = "|".join(
            (
                "v3",
                self.id,
                statement.client_id,
                statement.mode,
                statement.role,
                ",".join(statement.scopes),
                str(statement.signed_at),
                statement.token,
                statement.nonce,
                statement.platform.strip().lower(),
                # The family of a device: programs have none.
                "",
            )
        )
        return {
            "id": self.id,
            "publicKey": _base64(self._public),
            "signature": _base64(self._key.sign(text.encode("utf-8"))),
            "signedAt": statement.signed_at,
            "nonce": statement.nonce,
        }


def _base64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode("ascii").rstrip("=")


OLDEST_PROTOCOL, NEWEST_PROTOCOL = 3, 4
CLIENT_ID, MODE = "prowess-client", "backend"
OPERATOR, NODE = "operator", "node"
DEFAULT_MAX_PAYLOAD = 512 * 1024
_SCHEMES = {"ws": "ws", "wss": "wss", "http": "ws", "https": "wss"}
_LOOPBACK = frozenset(("127.0.0.1", "::1", "localhost"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a gateway is."""

    url: str
    # For messages: without what a user may have written beside the host.
    shown: str
    is_local: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """What opens the door."""

    token: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    role: str = OPERATOR
    scopes: tuple[str, ...] = ()
    device: DeviceIdentity | None = None
    # Tells the connections of one program from those of others.
    instance_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """What a gateway says when it lets a client in."""

    protocol: int
    version: str
    methods: tuple[str, ...]
    events: tuple[str, ...]
    scopes: tuple[str, ...]
    default_agent: str
    max_payload: int
    raw: Json = field(repr=False)


def address(url: str) -> Address:
    """Understand an address; what `prowess serve` prints (http) is taken, too.

    Raises:
        ValueError: it is no address of a gateway.
    """
    parts = urlsplit(url.strip())
    scheme, host = _SCHEMES.get(parts.scheme.lower()), parts.hostname
    if scheme is None or not host:
        raise ValueError("give the address of the gateway as ws://HOST:PORT or wss://HOST:PORT")
    if parts.username is not None or parts.password is not None:
        raise ValueError("give the token as token=..., not inside of the address")
    shown = f"[{host}]" if ":" in host else host
    return Address(
        url=urlunsplit((scheme, parts.netloc, parts.path or "/", parts.query, "")),
        shown=f"{scheme}://{shown}:{parts.port}" if parts.port else f"{scheme}://{shown}",
        is_local=host.lower() in _LOOPBACK,
    )


def connect_params(credentials: Credentials, nonce: str, now_ms: int) -> Json:
    """Return the parameters of `connect`."""
    client = {
        "id": CLIENT_ID,
        "version": version("prowess"),
        "platform": sys.platform,
        "mode": MODE,
        "instanceId": credentials.instance_id,
    }
    params: Json = {
        "minProtocol": OLDEST_PROTOCOL,
        "maxProtocol": NEWEST_PROTOCOL,
        "client": client,
        "role": credentials.role,
        "scopes": list(credentials.scopes),
        "caps": [],
    }
    secrets = {"token": credentials.token, "password": credentials.password}
    given = {name: value for name, value in secrets.items() if value}
    if given:
        params["auth"] = given
    if credentials.device is not None:
        statement = Statement(
            client_id=CLIENT_ID,
            mode=MODE,
            role=credentials.role,
            scopes=credentials.scopes,
            platform=sys.platform,
            token=credentials.token,
            nonce=nonce,
            signed_at=now_ms,
        )
        params["device"] = credentials.device.signed(statement)
    return params


def hello(payload: object) -> Hello:
    """Understand the answer to `connect`.

    Raises:
        GatewayCallError: the gateway speaks a protocol that we do not.
    """
    fields = Fields(payload)
    protocol = fields.whole("protocol") or 0
    if not OLDEST_PROTOCOL <= protocol <= NEWEST_PROTOCOL:
        span = f"{OLDEST_PROTOCOL} to {NEWEST_PROTOCOL}"
        message = f"the gateway speaks protocol {protocol}, this client {span}: update the older"
        raise GatewayCallError(MISMATCH, message)
    features, policy = fields.inner("features"), fields.inner("policy")
    return Hello(
        protocol=protocol,
        version=fields.inner("server").text("version"),
        methods=features.texts("methods"),
        events=features.texts("events"),
        scopes=fields.inner("auth").texts("scopes"),
        default_agent=fields.inner("snapshot").inner("health").text("defaultAgentId"),
        max_payload=policy.whole("maxPayload") or DEFAULT_MAX_PAYLOAD,
        raw=fields.raw,
    )


def scopes_of(scopes: Sequence[str], role: str = OPERATOR) -> tuple[str, ...]:
    """Return scopes by their full names: `read` is `operator.read`; without any, every right."""
    wanted = scopes or ((NODE,) if role == NODE else ("admin", "read", "write"))
    return tuple(one if "." in one or one == "node" else f"operator.{one}" for one in wanted)
