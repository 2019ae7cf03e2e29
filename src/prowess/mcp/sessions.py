"""Sessions of older HTTP clients: when there are too many, the one that is idle longest ends.

Who leaves without a word keeps its session until the SDK takes it for dead, half an hour later: a
few hundred of those would keep everybody else out. A session is ended as its client would do it,
by a DELETE; a client that comes back is told that it is gone, and begins anew. One with a request
or a stream under way is never ended.
"""

import contextlib
from collections import OrderedDict
from collections.abc import Iterator

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SESSION = "mcp-session-id"


class Sessions:
    """Hands requests on to the app that holds the sessions, at most so many of them."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app, self._most = app, most
        # How many requests of each are under way; whose last one ended longest ago is first.
        self._open: OrderedDict[str, int] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        session = Headers(scope=scope).get(_SESSION)
        if session is None:
            opened: list[str] = []
            await self._app(scope, receive, self._watched(send, opened))
            for one in opened:
                await self._make_room(scope, one)
        elif session in self._open:
            with self._busy(session):
                await self._app(scope, receive, send)
            if scope["method"] == "DELETE":
                self._open.pop(session, None)
        else:
            await self._app(scope, receive, send)

    async def _make_room(self, scope: Scope, newest: str) -> None:
        while len(self._open) > self._most:
            others = (one for one, requests in self._open.items() if not requests)
            idle = next((one for one in others if one != newest), None)
            if idle is None:
                # All are at work: once there is no room at all, who holds them says so.
                return
            del self._open[idle]
            await self._end(scope, idle)

    async def _end(self, scope: Scope, session: str) -> None:
        others = [(name, value) for name, value in scope["headers"] if name == b"host"]
        headers = [*others, (_SESSION.encode(), session.encode("latin-1"))]
        await self._app({**scope, "method": "DELETE", "headers": headers}, _nothing, _unheard)

    def _watched(self, send: Send, opened: list[str]) -> Send:
        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                session = Headers(raw=message.get("headers", [])).get(_SESSION)
                if session is not None:
                    self._open[session] = 0
                    opened.append(session)
            await send(message)

        return watched

    @contextlib.contextmanager
    def _busy(self, session: str) -> Iterator[None]:
        self._open[session] += 1
        try:
            yield
        finally:
            if session in self._open:
                self._open[session] -= 1
                self._open.move_to_end(session)


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _unheard(_message: Message) -> None:
    """Take the answer to a request of our own."""
