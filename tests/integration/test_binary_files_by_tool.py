"""Clients without the skills extension: files that are no text, and matches that fit badly."""

import base64
from pathlib import Path

import pytest
from mcp import Client
from mcp_types import BlobResourceContents, CallToolResult, EmbeddedResource
from tests.integration.mcp_world import BINARY, McpWorld, inside, said


@pytest.fixture
def world(tmp_path: Path) -> McpWorld:
    return McpWorld(tmp_path)


def _blob(answer: CallToolResult) -> BlobResourceContents:
    (found,) = [one.resource for one in answer.content if isinstance(one, EmbeddedResource)]
    assert isinstance(found, BlobResourceContents)
    return found


def test_a_file_that_is_no_text_comes_as_the_same_bytes_that_are_a_resource(
    world: McpWorld,
) -> None:
    async def act(client: Client) -> None:
        answer = await client.call_tool("read_skill_file", {"name": "alpha", "path": "logo.bin"})
        found = _blob(answer)
        (resource,) = (await client.read_resource(found.uri)).contents

        assert not answer.is_error
        assert base64.b64decode(found.blob) == BINARY
        assert isinstance(resource, BlobResourceContents)
        assert (resource.blob, resource.mime_type) == (found.blob, found.mime_type)

    inside(world, act)


@pytest.mark.parametrize("path", [".env", "../alpha/.env", "references", "nothing.bin"])
def test_what_is_no_part_of_a_skill_is_not_given_out_as_bytes_either(
    world: McpWorld, path: str
) -> None:
    (world.work / "skills" / "alpha" / ".env").write_bytes(b"\0TOKEN=hidden")

    async def act(client: Client) -> None:
        answer = await client.call_tool("read_skill_file", {"name": "alpha", "path": path})

        assert answer.is_error
        assert "hidden" not in str(answer)

    inside(world, act)


def test_matches_that_fit_badly_are_not_praised(world: McpWorld) -> None:
    async def act(client: Client) -> None:
        near = await said(client, "find_skills", query="launch a rocket for our customer")
        far = await said(client, "find_skills", query="a customer asks about soup")

        assert "Nothing fits well" not in near
        assert "before you follow one" in near
        assert "before you follow one" not in far

    inside(world, act)
