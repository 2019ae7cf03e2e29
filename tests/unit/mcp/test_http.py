"""Bodies of requests: in time they come through, late ones are given up."""

import asyncio

from starlette.types import Message

from prowess.mcp.http import BodyInTime


def test_a_body_that_does_not_arrive_in_time_is_taken_for_a_client_that_left() -> None:
    first: Message = {"type": "http.request", "body": b"{", "more_body": True}
    waiting = [first]

    async def receive() -> Message:
        if waiting:
            return waiting.pop()
        await asyncio.Event().wait()
        raise AssertionError

    async def act() -> list[Message]:
        body = BodyInTime(receive, 0.01)
        return [await body(), await body()]

    assert asyncio.run(act()) == [first, {"type": "http.disconnect"}]


def test_who_waits_after_a_whole_body_may_wait_longer() -> None:
    whole: Message = {"type": "http.request", "body": b"{}", "more_body": False}

    async def act() -> list[Message]:
        sent: asyncio.Queue[Message] = asyncio.Queue()
        sent.put_nowait(whole)
        body = BodyInTime(sent.get, 0.0)
        first = await body()
        asyncio.get_running_loop().call_later(0.01, sent.put_nowait, {"type": "http.disconnect"})
        return [first, await body()]

    assert asyncio.run(act()) == [whole, {"type": "http.disconnect"}]
