"""The end of a connection whose other side sends what cannot be read."""

import asyncio
import json

import pytest
from websockets.asyncio.server import ServerConnection, serve

from prowess.client.calls import GatewayLostError
from prowess.client.connection import Credentials, open_link, read_address

DEEP = "[" * 200_000
CHALLENGE = {"type": "event", "event": "connect.challenge", "payload": {"nonce": "n"}}


async def _greet_and_go_deep(socket: ServerConnection) -> None:
    await socket.send(json.dumps(CHALLENGE))
    async for text in socket:
        frame = json.loads(text)
        hello = {"type": "hello-ok", "protocol": 4}
        answer = {"type": "res", "id": frame["id"], "ok": True, "payload": hello}
        await socket.send(json.dumps(answer) if frame["method"] == "connect" else DEEP)


async def _go_deep(socket: ServerConnection) -> None:
    await socket.send(DEEP)
    await socket.wait_closed()


def test_an_answer_that_is_nested_too_deeply_ends_the_connection_with_a_reason() -> None:
    lost: list[GatewayLostError] = []
    unheard: list[object] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, told: unheard.append(told))
        async with serve(_greet_and_go_deep, "127.0.0.1", 0) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            link = await open_link(read_address(f"ws://127.0.0.1:{port}"), Credentials(), 30)
            link.start(lambda _frame: None, lost.append)
            with pytest.raises(GatewayLostError, match="nested too deeply"):
                await link.request("health", {})
            await link.ended()

    asyncio.run(main())

    assert ["nested too deeply" in str(error) for error in lost] == [True]
    assert unheard == []


def test_who_greets_with_what_is_nested_too_deeply_is_no_gateway() -> None:
    async def main() -> None:
        async with serve(_go_deep, "127.0.0.1", 0) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            with pytest.raises(GatewayLostError, match="nested too deeply"):
                await open_link(read_address(f"ws://127.0.0.1:{port}"), Credentials(), 30)

    asyncio.run(main())
