"""MCP with real adapters: the server for a client that starts us, and the endpoint of the gateway.

The SDK and the scanner take a second to load, so both are imported late: a gateway that serves no
such client pays nothing, and one that starts us gets its first answer before the scanner is there.
"""

import asyncio
import functools
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Any

from prowess import __version__
from prowess.errors import ProwessError
from prowess.host.sources.roots import is_project
from prowess.mcp.greeting import Greeting
from prowess.wiring.library import (
    LISTED,
    SERVER,
    Runtime,
    in_project,
    load_listing,
    open_runtime,
    run_until_signal,
)

if TYPE_CHECKING:
    from prowess.gateway.hub import Hub
    from prowess.gateway.limits import GatewayOptions
    from prowess.mcp.http import McpEndpoint
    from prowess.mcp.server import Answers, SkillsServer
    from prowess.mcp.service import McpService
    from prowess.runtime.watch import Watching
    from prowess.settings import WorkshopSettings
    from prowess.skills.catalog import AddressedSkill

log = logging.getLogger(__name__)

# Where nothing tells of changes, they are looked for this often.
_LOOK_EVERY_SECONDS = 3.0
_AFTER_ANSWERS_SECONDS = 0.5


def serve_stdio(greeting: Greeting, workspace: str | None = None, agent: str | None = None) -> None:
    """Serve one client on standard input and output, which `greeting` owns, until it is gone.

    Raises:
        PathError: the workspace is not a folder.
        UnknownAgentError: there is no such agent.
        ConfigError: the config cannot be read.
    """
    with in_project(open_runtime(workspace, patience=LISTED)) as runtime:
        # Said before the client waits for an answer that could not come.
        agent_id = runtime.skills.agent(agent).id
        place = say_place(runtime, agent_id)
        if place:
            log.warning("mcp.no_project: %s", place)
        run_until_signal(_stdio(runtime, agent_id, place, greeting))


def say_place(runtime: Runtime, agent_id: str) -> str:
    """Return that we were started outside of any project, and what to set; nothing inside of one.

    Clients with a window start their servers in the home folder, or in none of the user's.
    """
    places, folder = runtime.skills.places, runtime.skills.workspace(agent_id).folder
    is_chosen = places.workspace_given or folder != places.workspace
    if is_chosen or is_project(folder, runtime.folders.home):
        return ""
    return (
        f"started in {folder}, which is no project: no skills of a project are here, only your own."
        ' Give the project in the client\'s settings ("args": ["mcp", "--workspace",'
        ' "/path/to/project"]), or let it start this command there ("cwd").'
    )


def keep_first_answers(runtime: Runtime, greetings: Callable[[], Greeting]) -> None:
    """Keep what clients of every version of the protocol are told first, for the next process.

    One that has to load the SDK before its first answer may be given up by a client on a busy
    machine, and would never come as far as to keep any.
    """
    # Late, as everywhere here.
    from prowess.mcp import server, stdio

    async def keep() -> None:
        for requests in stdio.first_requests():
            answers = server.Answers(lambda: open_service(runtime, None))
            made = _build_server(runtime, answers)
            await stdio.rehearse(made, greetings(), requests)

    asyncio.run(keep())


def _build_server(runtime: Runtime, answers: "Answers", place: str = "") -> "SkillsServer":
    from prowess.mcp import server

    def guidance() -> str:
        return "\n\n".join(filter(None, (place, _guide(runtime.config.read().workshop))))

    return server.build_server(
        answers, __version__, guidance, lambda: runtime.config.read().workshop.active
    )


def _guide(workshop: "WorkshopSettings") -> str:
    """Return what agents are told about the workshop; nothing where it is off."""
    if not workshop.active:
        return ""
    # Late: it brings the workshop along, and a client waits for our first answer.
    from prowess.runtime.workshop.tool import guide_agent

    return guide_agent(workshop)


async def _stdio(runtime: Runtime, agent_id: str, place: str, greeting: Greeting) -> None:
    from prowess.mcp import server, stdio

    made: list[Watching] = []
    # Now: whoever looks at the skills later keeps others from asking.
    folder, agent = runtime.skills.workspace(agent_id).folder, runtime.skills.agent(agent_id)
    settings = runtime.skills.settings

    def watching() -> "Watching":
        if not made:
            made.append(runtime.watching())
        return made[0]

    def kept() -> "Sequence[AddressedSkill] | None":
        return load_listing(folder, runtime, settings, agent)

    answers = server.Answers(
        lambda: open_service(
            runtime,
            agent_id,
            look=lambda: watching().begin_turn(),
            settle=functools.cache(lambda: _settle(runtime)),
            kept=kept,
        )
    )
    await stdio.serve_stdio(
        _build_server(runtime, answers, place),
        answers,
        (lambda: _changes(watching(), agent_id), _scans),
        greeting,
    )


def _settle(runtime: Runtime) -> None:
    """Scan a few new skills from now on while somebody waits, as every server does."""
    for judge in runtime.judges:
        judge.patience = SERVER
    runtime.skills.refresh()


async def _scans() -> AsyncIterator[None]:
    """Yield now and then: no file changes when a scan ends, or when a finding is accepted."""
    while True:
        await asyncio.sleep(_LOOK_EVERY_SECONDS)
        yield


async def _changes(watching: "Watching", agent_id: str) -> AsyncIterator[None]:
    """Yield each time something may have changed, for as long as anybody listens."""
    # Until then each answer looks for itself; the first ones shall not wait for us.
    await asyncio.sleep(_AFTER_ANSWERS_SECONDS)
    while True:
        try:
            async for _ in watching.changes(agent_id):
                yield
        except ProwessError as error:
            # The agent may be gone from the config, and may come back: who asks is told meanwhile.
            log.warning("mcp.unwatched: %s", type(error).__qualname__)
        await asyncio.sleep(_LOOK_EVERY_SECONDS)
        yield


# Whatever the service may be given besides.
def open_service(runtime: Runtime, agent_id: str | None, **more: Any) -> "McpService":  # noqa: ANN401
    """Return what answers MCP clients for an agent.

    Args:
        runtime: what it answers from.
        agent_id: whose skills; None for the default agent's.
        more: what keeps the skills up to date and ready (`look`, `settle`, `kept` of `McpPorts`).
    """
    from prowess.mcp.service import McpPorts, McpService
    from prowess.wiring.run import open_runs

    ports = McpPorts(
        run=open_runs(runtime),
        has_workshop=lambda: runtime.skills.settings.workshop.active,
        agent_id=agent_id,
        **more,
    )
    return McpService(ports)


def open_endpoint(runtime: Runtime, hub: "Hub", options: "GatewayOptions") -> "McpEndpoint":
    """Return the endpoint of a gateway; it loads nothing before its first request."""
    from prowess.mcp.http import EndpointOptions, McpEndpoint

    return McpEndpoint(
        EndpointOptions(
            agent=lambda asked: runtime.skills.agent(asked).id,
            open_service=lambda agent_id: open_service(runtime, agent_id),
            version=options.version,
            guidance=lambda: _guide(runtime.skills.settings.workshop),
            has_workshop=lambda: runtime.skills.settings.workshop.active,
            max_payload=options.max_payload,
            body_seconds=hub.limits.body_seconds,
            stopping=hub.stopping,
        )
    )
