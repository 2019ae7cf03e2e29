"""MCP with real adapters: the server for a client that starts us, and the endpoint of the gateway.

The SDK and the scanner take a second to load, so both are imported late: a gateway that serves no
such client pays nothing, and one that starts us gets its first answer before the scanner is there.
"""

import asyncio
import functools
import logging
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from prowess import __version__
from prowess.errors import ProwessError
from prowess.runtime.workshop.tool import sight_of
from prowess.wiring.library import Runtime, open_runtime

if TYPE_CHECKING:
    from prowess.gateway.hub import Hub
    from prowess.gateway.limits import GatewayOptions
    from prowess.mcp.http import McpEndpoint
    from prowess.mcp.service import McpService
    from prowess.runtime.watch import Watching
    from prowess.runtime.workshop.service import WorkshopService

log = logging.getLogger(__name__)

# Where nothing tells of changes, they are looked for this often.
_LOOK_EVERY_SECONDS = 3.0
_SIGNALS = ("SIGTERM", "SIGHUP")
_SIGNAL_BASE = 128


def serve_stdio(workspace: str | None = None, agent: str | None = None) -> None:
    """Serve one client on standard input and output until it is gone.

    Raises:
        PathError: the workspace is not a folder.
        UnknownAgentError: there is no such agent.
        ConfigError: the config cannot be read.
    """
    with open_runtime(workspace) as runtime:
        # Said before the client waits for an answer that could not come.
        agent_id = runtime.skills.agent(agent).id
        ended_by = asyncio.run(_until_signal(_stdio(runtime, agent_id)))
    if ended_by is not None:
        raise SystemExit(_SIGNAL_BASE + ended_by)


async def _until_signal(serving: Coroutine[None, None, None]) -> int | None:
    """Serve to the end, or until a signal; return its number.

    Left to the terminal, a signal would raise in the middle of whatever task runs.
    """
    loop, work = asyncio.get_running_loop(), asyncio.ensure_future(serving)
    came: list[int] = []

    def stop(number: int) -> None:
        came.append(number)
        work.cancel()

    known = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    # Whoever started us with one ignored wants it ignored.
    mine = [number for number in known if signal.getsignal(number) is not signal.SIG_IGN]
    # Loops of Windows have no signals: there it stays the terminal's.
    with suppress(NotImplementedError):
        for number in mine:
            loop.add_signal_handler(number, stop, number)
    try:
        await work
    except asyncio.CancelledError:
        if not came:
            raise
    return came[0] if came else None


async def _stdio(runtime: Runtime, agent_id: str) -> None:
    from prowess.mcp import server, stdio

    made: list[Watching] = []

    def watching() -> "Watching":
        if not made:
            made.append(runtime.watching())
        return made[0]

    answers = server.Answers(
        lambda: open_service(runtime, agent_id, lambda: watching().begin_turn())
    )
    await stdio.serve_stdio(
        server.build_server(answers, __version__),
        answers,
        lambda: _changes(watching(), agent_id),
    )


async def _changes(watching: "Watching", agent_id: str) -> AsyncIterator[None]:
    """Yield each time something may have changed, for as long as anybody listens."""
    while True:
        try:
            async for _ in watching.changes(agent_id):
                yield
        except ProwessError as error:
            # The agent may be gone from the config, and may come back: who asks is told meanwhile.
            log.warning("mcp.unwatched: %s", type(error).__qualname__)
        await asyncio.sleep(_LOOK_EVERY_SECONDS)
        yield


def open_service(
    runtime: Runtime, agent_id: str | None, look: Callable[[], None] = lambda: None
) -> "McpService":
    """Return what answers MCP clients for an agent; `look` keeps the skills up to date."""
    from prowess.mcp.service import McpPorts, McpService
    from prowess.wiring.run import open_runs

    ports = McpPorts(
        run=replace(open_runs(runtime), workshop=functools.cache(lambda: _workshop(runtime))),
        has_workshop=lambda: runtime.skills.settings.workshop.active,
        look=look,
        agent_id=agent_id,
    )
    return McpService(ports)


def _workshop(runtime: Runtime) -> "WorkshopService":
    """Return the workshop for agents that come over MCP: it knows what they may know of."""
    # Late: most clients never ask for it.
    from prowess.runtime.workshop.service import WorkshopService
    from prowess.wiring.workshop import workshop_ports

    def sight(agent_id: str) -> Callable[[str], bool]:
        return sight_of(runtime.skills.status(agent_id or None))

    return WorkshopService(replace(workshop_ports(runtime), sight=sight, unasked=True))


def open_endpoint(runtime: Runtime, hub: "Hub", options: "GatewayOptions") -> "McpEndpoint":
    """Return the endpoint of a gateway; it loads nothing before its first request."""
    from prowess.mcp.http import EndpointOptions, McpEndpoint

    return McpEndpoint(
        EndpointOptions(
            agent=lambda asked: runtime.skills.agent(asked).id,
            open_service=lambda agent_id: open_service(runtime, agent_id),
            version=options.version,
            max_payload=options.max_payload,
            body_seconds=hub.limits.body_seconds,
            stopping=hub.stopping,
        )
    )
