"""An official MCP client for tests of connect, over stdio and over HTTP.

It shares no code with the server: results are read as they came over the wire.
"""

import base64
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import mcp_types
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from pydantic import TypeAdapter

from .gateway_bench import WAIT_S, Gateway
from .world import Json, World, command

EXTENSION = "io.modelcontextprotocol/skills"
DIRECTORY = "inode/directory"
INVALID = -32602


@dataclass(slots=True, kw_only=True)
class Talk:
    """An official client, asked from a test that is not asynchronous itself."""

    portal: BlockingPortal
    client: Client
    heard: list[str]

    def ask(self, method: str, **params: object) -> Json:
        """The result of any request, as it came over the wire."""
        request = mcp_types.Request[dict[str, Any], str](method=method, params=params)
        answer: TypeAdapter[Json] = TypeAdapter(dict[str, Any])

        async def sent() -> Json:
            # What came over the wire is wanted as it is, and not as a model.
            return await self.client.session.send_request(request, answer)  # type: ignore[type-var]

        return self.portal.call(sent)

    def refused(self, method: str, **params: object) -> int:
        """The error code of a request that is turned away."""
        with pytest.raises(MCPError) as refusal:
            self.ask(method, **params)
        return refusal.value.error.code

    def pages(self, method: str, key: str, **params: object) -> list[list[Json]]:
        """Every page of a list."""
        found: list[list[Json]] = []
        while len(found) < 200:
            page = self.ask(method, **params)
            found.append(page[key])
            if page.get("nextCursor") is None:
                return found
            params["cursor"] = page["nextCursor"]
        raise AssertionError("pages without end")

    def skills(self) -> dict[str, Json]:
        """Every entry of `skills/list` by name."""
        entries = [entry for page in self.pages("skills/list", "skills") for entry in page]
        return {entry["frontmatter"]["name"]: entry for entry in entries}

    def read(self, uri: str) -> bytes:
        """The content of one resource."""
        (content,) = self.ask("resources/read", uri=uri)["contents"]
        if "text" in content:
            return str(content["text"]).encode()
        return base64.b64decode(content["blob"], validate=True)

    def tool(self, name: str, /, **arguments: object) -> tuple[bool, str]:
        """Whether a tool worked, and its words."""
        found = self.ask("tools/call", name=name, arguments=arguments)
        text = "\n".join(part.get("text", "") for part in found["content"])
        return not found.get("isError", False), text

    def tools(self) -> set[str]:
        return {tool["name"] for tool in self.ask("tools/list")["tools"]}

    def prompts(self) -> dict[str, str]:
        """The names of prompts by the skills that they stand for."""
        found = self.ask("prompts/list")["prompts"]
        return {item.get("title", item["name"]): item["name"] for item in found}


@contextmanager
def talking(
    # The library's own word for a transport is private.
    server: Any,  # noqa: ANN401
    mode: str,
    portal: BlockingPortal,
) -> Iterator[Talk]:
    """A client that has connected to this server."""
    heard: list[str] = []

    # Whatever the library hands over: requests, notifications and errors.
    async def note(message: Any) -> None:  # noqa: ANN401
        heard.append(str(getattr(message, "method", "")))

    made = Client(server, mode=mode, message_handler=note, read_timeout_seconds=WAIT_S)
    with portal.wrap_async_context_manager(made) as client:
        yield Talk(portal=portal, client=client, heard=heard)


@contextmanager
def over_stdio(world: World, *words: str, mode: str = "auto") -> Iterator[Talk]:
    """A client of `prowess mcp`, started in the workspace."""
    line = command(("mcp", *words))
    server = StdioServerParameters(
        command=line[0], args=line[1:], env=world.env(), cwd=world.workspace
    )
    with (
        (world.root / "mcp.log").open("a", encoding="utf-8") as errors,
        start_blocking_portal() as portal,
        talking(stdio_client(server, errlog=errors), mode, portal) as talk,
    ):
        yield talk


@contextmanager
def over_http(gateway: Gateway, query: str = "", mode: str = "auto") -> Iterator[Talk]:
    """A client of `/mcp`."""
    headers = {} if gateway.token is None else {"Authorization": f"Bearer {gateway.token}"}
    url = f"http://{gateway.netloc}/mcp{query}"
    # A stream of changes may be silent for long.
    http = httpx2.AsyncClient(headers=headers, timeout=WAIT_S)
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(http),
        talking(streamable_http_client(url, http_client=http), mode, portal) as talk,
    ):
        yield talk


def by_path(entry: Mapping[str, Any]) -> dict[str, Json]:
    """The manifest of an entry, by the place of each file in its skill."""
    base = str(entry["uri"]).removesuffix("SKILL.md")
    return {str(item["uri"]).removeprefix(base): item for item in entry["resources"]}
