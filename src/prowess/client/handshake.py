"""The client's end of the handshake: where the gateway is, who we are, and what it says of itself.

Whatever holds a secret here is kept out of representations, and so out of logs and tracebacks.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from urllib.parse import urlsplit, urlunsplit

from prowess.client.refusals import MISMATCH, GatewayCallError
from prowess.wire.answers import HelloAnswer, Json
from prowess.wire.handshake import (
    NEWEST_PROTOCOL,
    NODE,
    OLDEST_PROTOCOL,
    OPERATOR,
    ConnectParams,
    DeviceIdentity,
)

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


def read_address(url: str) -> Address:
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
        "id": "prowess-client",
        "version": version("prowess"),
        "platform": sys.platform,
        "mode": "backend",
        "instanceId": credentials.instance_id,
    }
    secrets = {"token": credentials.token, "password": credentials.password}
    params = ConnectParams.model_validate(
        {
            "minProtocol": OLDEST_PROTOCOL,
            "maxProtocol": NEWEST_PROTOCOL,
            "client": client,
            "role": credentials.role,
            "scopes": credentials.scopes,
            "caps": (),
            "auth": {name: value for name, value in secrets.items() if value} or None,
        }
    )
    if credentials.device is not None:
        params = credentials.device.sign(params, credentials.token, nonce, now_ms)
    return params.dump()


def read_hello(payload: object) -> HelloAnswer:
    """Understand the answer to `connect`.

    Raises:
        GatewayCallError: the gateway speaks a protocol that we do not.
    """
    found = HelloAnswer.read(payload)
    if not OLDEST_PROTOCOL <= found.protocol <= NEWEST_PROTOCOL:
        span = f"{OLDEST_PROTOCOL} to {NEWEST_PROTOCOL}"
        said = f"the gateway speaks protocol {found.protocol}, this client {span}"
        raise GatewayCallError(MISMATCH, f"{said}: update the older")
    return found


def name_scopes(scopes: Sequence[str], role: str = OPERATOR) -> tuple[str, ...]:
    """Return scopes by their full names: `read` is `operator.read`; without any, every right."""
    wanted = scopes or ((NODE,) if role == NODE else ("admin", "read", "write"))
    return tuple(one if "." in one or one == "node" else f"operator.{one}" for one in wanted)
