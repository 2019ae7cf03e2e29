"""A client of the gateway, for programs that are not the terminal.

    async with connect("ws://127.0.0.1:18789", token=token) as gateway:
        route = await gateway.route("check my pull request")

Everything that a gateway sends is kept beside the typed fields, as `raw`: a gateway may be newer
than its client.
"""

import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from prowess.client.calls import (
    DEFAULT_BUFFER,
    RECONNECTED,
    ConfigCalls,
    Event,
    EventStream,
    GatewayCallError,
    GatewayLostError,
    ProposalCalls,
    ProposalText,
    SkillCalls,
)
from prowess.client.connection import (
    Backoff,
    Credentials,
    Line,
    name_scopes,
    open_link,
    read_address,
)
from prowess.wire.answers import AgentAnswer, AgentsAnswer, HealthAnswer, HelloAnswer, Json
from prowess.wire.handshake import OPERATOR, DeviceIdentity

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

DEFAULT_SECONDS = 30.0


class Gateway(SkillCalls, ConfigCalls):
    """A gateway that lets us in."""

    def __init__(self, line: Line, agent: str | None, seconds: float) -> None:
        self._line, self.agent, self._seconds = line, agent, seconds
        self.proposals = ProposalCalls(self)

    def __repr__(self) -> str:
        return f"Gateway(version={self.hello.version!r}, protocol={self.hello.protocol})"

    @property
    def hello(self) -> HelloAnswer:
        """What the gateway said of itself when it let us in last."""
        return self._line.last.hello

    async def call(self, method: str, /, **params: object) -> Json:
        """Call a method with its parameters as the protocol spells them.

        Raises:
            GatewayCallError: it is refused, or there is no answer in time.
            GatewayLostError: the connection ended before the answer came.
        """
        return await self.request(method, params)

    async def request(self, method: str, params: Json, seconds: float | None = None) -> Json:
        """Call a method, and wait that long for its answer.

        Raises:
            GatewayCallError: it is refused, or there is no answer in time.
            GatewayLostError: the connection ended before the answer came.
        """
        return await self._line.request(
            method, params, self._seconds if seconds is None else seconds
        )

    def events(self, *names: str, buffer: int = DEFAULT_BUFFER) -> EventStream:
        """Return the events of these names, or all, from now on.

        It ends when the client is closed, and raises when the connection is lost for good.
        """
        return self._line.events.stream(frozenset(names), buffer)

    def listen(self, name: str, listener: Callable[[Event], None]) -> Callable[[], None]:
        """Call a listener with every event of that name, and return what ends it."""
        return self._line.listen(name, listener)

    async def health(self) -> HealthAnswer:
        """Ask whether the gateway works, and for which agents."""
        return HealthAnswer.read(await self.request("health", {}))

    async def agents(self) -> tuple[AgentAnswer, ...]:
        """Return the agents of the config."""
        return AgentsAnswer.read(await self.request("agents.list", {})).agents


@asynccontextmanager
# What somebody may say about a connection, each by its name, and all but the address optional.
async def connect(  # noqa: PLR0913
    url: str,
    *,
    token: str = "",
    password: str = "",
    role: str = OPERATOR,
    scopes: Sequence[str] = (),
    agent: str | None = None,
    device: DeviceIdentity | None = None,
    reconnect: bool | Backoff = False,
    seconds: float = DEFAULT_SECONDS,
) -> AsyncIterator[Gateway]:
    """Connect to a gateway, and close the connection at the end of the block.

    Without scopes, whoever has the token may do everything that its role may; a "node" is a machine
    that only lends its programs to skills. With `reconnect`, a connection that was lost comes back;
    the first one is tried once. `seconds` is how long any answer may take.

    Raises:
        GatewayCallError: the gateway does not let us in.
        GatewayLostError: there is no gateway at that address.
        ValueError: it is no address.
    """
    where = read_address(url)
    credentials = Credentials(
        token=token,
        password=password,
        role=role,
        scopes=name_scopes(scopes, role),
        device=device,
        instance_id=str(uuid.uuid4()),
    )
    backoff = Backoff() if reconnect is True else reconnect or None
    line = Line(lambda: open_link(where, credentials, seconds), backoff)
    await line.open()
    try:
        yield Gateway(line, agent, seconds)
    finally:
        await line.close()
