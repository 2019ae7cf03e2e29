"""Sessions of older clients: who is idle longest makes room, and who is at work stays."""

import asyncio

from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from prowess.mcp.http import HttpSessions

MOST = 2


class Holder:
    """Opens a session for each request without one, and forgets those that are ended."""

    def __init__(self) -> None:
        self.opened = 0
        self.alive: set[str] = set()
        self.go_on = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert (await receive())["type"] == "http.request"
        session = Headers(scope=scope).get("mcp-session-id")
        if session is None:
            self.opened += 1
            session = f"s{self.opened}"
            self.alive.add(session)
        elif scope["method"] == "DELETE":
            self.alive.discard(session)
        elif scope["method"] == "GET":
            await self.go_on.wait()
        named = [(b"mcp-session-id", session.encode())] if session in self.alive else []
        await send({"type": "http.response.start", "status": 200, "headers": named})


class Client:
    """Asks through the sessions."""

    def __init__(self) -> None:
        self.holder = Holder()
        self.sessions = HttpSessions(self.holder, MOST)

    async def ask(self, session: str | None = None, method: str = "POST") -> None:
        headers = [] if session is None else [(b"mcp-session-id", session.encode())]
        scope = {"type": "http", "method": method, "path": "/mcp", "headers": headers}
        await self.sessions(scope, _body, _unheard)


async def _body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _unheard(_message: Message) -> None:
    return None


def test_the_session_that_is_idle_longest_ends_when_there_are_too_many() -> None:
    async def act() -> set[str]:
        client = Client()
        for _ in range(MOST):
            await client.ask()
        await client.ask("s1")
        await client.ask()
        return client.holder.alive

    assert asyncio.run(act()) == {"s1", "s3"}


def test_a_session_with_an_open_stream_is_not_ended() -> None:
    async def act() -> set[str]:
        client = Client()
        for _ in range(MOST):
            await client.ask()
        streams = [asyncio.create_task(client.ask(f"s{one + 1}", "GET")) for one in range(MOST)]
        await asyncio.sleep(0)
        await client.ask()
        alive = set(client.holder.alive)
        client.holder.go_on.set()
        await asyncio.gather(*streams)
        return alive

    assert asyncio.run(act()) == {"s1", "s2", "s3"}


def test_a_session_that_its_client_ended_takes_no_room() -> None:
    async def act() -> set[str]:
        client = Client()
        for _ in range(MOST):
            await client.ask()
        await client.ask("s2", "DELETE")
        await client.ask()
        return client.holder.alive

    assert asyncio.run(act()) == {"s1", "s3"}
