"""MCP clients of the official SDK, and a world of skills that they meet in three ways.

`inside` talks to the server in this process, `started` to a `prowess mcp` that it starts, and
`visiting` to the gateway. The first is for what is answered, the others for how it gets there.
"""

import hashlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp_types import TextContent
from tests.integration.served_world import TOKEN, Served

from prowess.mcp.protocol import SkillEntry, SkillsListRequest, SkillsListResult
from prowess.mcp.server import Answers, SkillsServer, build_server
from prowess.wiring.library import Runtime, open_runtime
from prowess.wiring.mcp import open_service

T = TypeVar("T")
SECONDS = 60
MODERN, LEGACY = "auto", "legacy"
BINARY = b"\xff\x00\x01"
PAGE_BREAK = "first\r\nsecond\n"


class McpWorld(Served):
    """A workspace with a skill that has files, and one that is hidden from the model."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        page = self.skill("alpha", "Launches rockets for customers.", license=None)
        (page.parent / "references").mkdir()
        (page.parent / "references" / "notes.md").write_bytes(PAGE_BREAK.encode())
        (page.parent / "logo.bin").write_bytes(BINARY)
        (page.parent / ".env").write_text("TOKEN=hidden\n", encoding="utf-8")
        self.skill("quiet", "Paints fences.", **{"disable-model-invocation": True})
        # Those that are bundled would only be in the way.
        self.configure()

    def configure(self, **values: object) -> None:
        """Write the config file; nothing bundled is allowed unless a test says so."""
        given = values.pop("skills", {})
        skills = {"allowBundled": ["none"], **(given if isinstance(given, dict) else {})}
        super().configure(**values, skills=skills)

    @property
    def environ(self) -> dict[str, str]:
        return {"PATH": "/usr/bin:/bin", "HOME": str(self.home), "PROWESS_HOME": str(self.state)}


@contextmanager
def opened(world: McpWorld) -> Iterator[Runtime]:
    """Open the runtime of a world."""
    home, variables = str(world.state), world.environ
    with open_runtime(str(world.work), home=home, environ=variables) as runtime:
        yield runtime


def server_of(runtime: Runtime, agent: str | None = None) -> tuple[SkillsServer, Answers]:
    """Return a server in this process, which looks at the files before each answer."""

    def look() -> None:
        runtime.skills.refresh()

    answers = Answers(lambda: open_service(runtime, agent, look=look))

    def has_workshop() -> bool:
        return runtime.skills.settings.workshop.active

    return build_server(answers, "1.2.3", has_workshop=has_workshop), answers


def inside(
    world: McpWorld,
    act: Callable[[Client], Awaitable[T]],
    *,
    mode: str = MODERN,
    agent: str | None = None,
) -> T:
    """Let a client meet the server in this process."""

    async def meet() -> T:
        with anyio.fail_after(SECONDS):
            server, _ = server_of(runtime, agent)
            async with Client(server, mode=mode) as client:
                return await act(client)

    with opened(world) as runtime:
        return plainly(meet)


def plainly(act: Callable[[], Awaitable[T]]) -> T:
    """Run something asynchronous; one failure comes out as it is, without the groups around it."""
    try:
        return anyio.run(act)
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        raise error from None


@asynccontextmanager
async def started(world: McpWorld, **options: Any) -> AsyncIterator[Client]:  # noqa: ANN401
    """Start `prowess mcp` as a client does, and connect to it; options are the client's."""
    arguments = ["-m", "prowess", "mcp", "--workspace", str(world.work)]
    parameters = StdioServerParameters(
        command=sys.executable, args=arguments, env=world.environ, cwd=world.work
    )
    with anyio.fail_after(SECONDS):
        async with Client(parameters, **options) as client:
            yield client


@asynccontextmanager
async def visiting(
    world: McpWorld,
    query: str = "",
    *,
    token: str = TOKEN,
    **options: Any,  # noqa: ANN401 - those of the client
) -> AsyncIterator[Client]:
    """Connect to the gateway of a world that is served."""
    url = f"http://127.0.0.1:{world.port}/mcp{query}"
    headers = {"Authorization": f"Bearer {token}"}
    with anyio.fail_after(SECONDS):
        async with create_mcp_http_client(headers=headers) as http:
            transport = streamable_http_client(url, http_client=http)
            async with Client(transport, **options) as client:
                yield client


async def skills_of(client: Client) -> list[SkillEntry]:
    """Return the skills on the first page."""
    return (await client.session.send_request(SkillsListRequest(), SkillsListResult)).skills


async def said(client: Client, tool: str, **arguments: object) -> str:
    """Return the text that a tool answers."""
    answer = await client.call_tool(tool, dict(arguments))
    assert isinstance(answer.content[0], TextContent)
    return answer.content[0].text


def sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
