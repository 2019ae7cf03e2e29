"""A client of the gateway, for programs that are not the terminal.

    async with connect("ws://127.0.0.1:18789", token=token) as gateway:
        route = await gateway.route("check my pull request")

Everything that a gateway sends is kept beside the typed fields, as `raw`: a gateway may be newer
than its client.
"""

from prowess.client.calls import (
    RECONNECTED,
    Event,
    EventStream,
    GatewayCallError,
    GatewayLostError,
    ProposalText,
)
from prowess.client.gateway import Backoff, Gateway, connect
from prowess.wire.handshake import DeviceIdentity

__all__ = [
    "RECONNECTED",
    "Backoff",
    "DeviceIdentity",
    "Event",
    "EventStream",
    "Gateway",
    "GatewayCallError",
    "GatewayLostError",
    "ProposalText",
    "connect",
]
