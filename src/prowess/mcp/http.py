"""The server on one path of the gateway, for clients that speak streamable HTTP.

The gateway decides who may come in; here is one server for each agent, made with the first request
for it (`/mcp?agent=ID`). The SDK is loaded then, in a thread. Older clients leave their sessions
behind: when there are too many, the one that is idle longest is ended as its client would do it, by
a DELETE; one with a request or a stream under way never is.
"""

import asyncio
import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from starlette.datastructures import Headers, QueryParams
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prowess.errors import ProwessError
from prowess.skills.text import one_line

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from prowess.mcp.server import Answers
    from prowess.mcp.service import McpService


_SESSION = "mcp-session-id"


class HttpSessions:
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
            await self._app(scope, receive, self._watch(send, opened))
            for one in opened:
                await self._make_room(scope, one)
        elif session in self._open:
            with self._hold(session):
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
        await self._app({**scope, "method": "DELETE", "headers": headers}, _send_nothing, _drop)

    def _watch(self, send: Send, opened: list[str]) -> Send:
        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                session = Headers(raw=message.get("headers", [])).get(_SESSION)
                if session is not None:
                    self._open[session] = 0
                    opened.append(session)
            await send(message)

        return watched

    @contextlib.contextmanager
    def _hold(self, session: str) -> Iterator[None]:
        self._open[session] += 1
        try:
            yield
        finally:
            if session in self._open:
                self._open[session] -= 1
                self._open.move_to_end(session)


async def _send_nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _drop(_message: Message) -> None:
    """Take the answer to a request of our own."""


MOST_SESSIONS = 256
# How many more there may be for a moment, or while all others are at work.
_MORE = 16
_LONGEST_SAID = 500
_STOPPING = "the gateway is stopping: try again in a moment"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointOptions:
    """What the endpoint needs of the gateway."""

    # From the id of an agent, or none, to the id of one that exists.
    agent: Callable[[str | None], str]
    open_service: Callable[[str], "McpService"]
    version: str
    # What agents are told about the workshop at this moment.
    guidance: Callable[[], str]
    has_workshop: Callable[[], bool]
    max_payload: int
    body_seconds: float
    # Set once the gateway is about to stop.
    stopping: threading.Event


@dataclass(slots=True)
class _Line:
    """The server of one agent, and what ends it."""

    answers: "Answers"
    manager: "StreamableHTTPSessionManager"
    sessions: HttpSessions
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    started: asyncio.Event = field(default_factory=asyncio.Event)
    task: "asyncio.Task[None] | None" = None

    async def serve(self) -> None:
        """Hold all sessions until the end."""
        try:
            async with self.manager.run():
                self.started.set()
                await self.stop.wait()
                self.answers.notices.close()
        finally:
            self.started.set()


class McpEndpoint:
    """An ASGI app, and what tells its clients of changes."""

    def __init__(self, options: EndpointOptions) -> None:
        self._options = options
        self._lines: dict[str, _Line] = {}
        self._opening = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._telling: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; who sends it was let in already."""
        asked = QueryParams(scope.get("query_string", b"")).get("agent") or None
        try:
            agent_id = await asyncio.to_thread(self._options.agent, asked)
        except ProwessError as error:
            await _problem(404, one_line(str(error))[:_LONGEST_SAID])(scope, receive, send)
            return
        line = await self._line(agent_id)
        if line is None or line.stop.is_set():
            await _problem(503, _STOPPING)(scope, receive, send)
            return
        incoming = BodyInTime(receive, self._options.body_seconds)
        await line.sessions(scope, incoming, send)

    def told(self) -> None:
        """Tell clients what changed; safe from any thread."""
        loop = self._loop
        if loop is not None:
            # The loop may end between any check and this call; then nobody is left to be told.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._tell)

    async def close(self) -> None:
        """End every session, and wait for it."""
        self._stop()
        tasks = [line.task for line in self._lines.values() if line.task is not None]
        await asyncio.gather(*tasks, *self._telling, return_exceptions=True)

    async def _line(self, agent_id: str) -> _Line | None:
        async with self._opening:
            if agent_id not in self._lines:
                if self._options.stopping.is_set():
                    return None
                self._lines[agent_id] = await self._open_line(agent_id)
        return self._lines[agent_id]

    async def _open_line(self, agent_id: str) -> _Line:
        server_module = await asyncio.to_thread(import_module, "prowess.mcp.server")
        manager_module = await asyncio.to_thread(
            import_module, "mcp.server.streamable_http_manager"
        )
        options = self._options
        answers: Answers = server_module.Answers(lambda: options.open_service(agent_id))
        manager: StreamableHTTPSessionManager = manager_module.StreamableHTTPSessionManager(
            app=server_module.build_server(
                answers, options.version, options.guidance, options.has_workshop
            ),
            max_request_body_size=options.max_payload,
            max_sessions=MOST_SESSIONS + _MORE,
        )
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            threading.Thread(target=self._await_stop, daemon=True, name="mcp-stop").start()
        sessions = HttpSessions(manager.handle_request, MOST_SESSIONS)
        line = _Line(answers=answers, manager=manager, sessions=sessions)
        line.task = asyncio.create_task(line.serve())
        await line.started.wait()
        return line

    def _await_stop(self) -> None:
        """End streams as soon as the gateway stops: the server waits for them before it ends."""
        self._options.stopping.wait()
        if self._loop is not None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        for line in self._lines.values():
            line.stop.set()

    def _tell(self) -> None:
        for line in self._lines.values():
            task = asyncio.ensure_future(line.answers.changed())
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)


class BodyInTime:
    """Receives a body that must arrive in time; afterwards whoever waits may wait for ever."""

    def __init__(self, receive: Receive, seconds: float) -> None:
        self._receive, self._seconds = receive, seconds
        self._deadline: float | None = None
        self._is_whole = False

    async def __call__(self) -> Message:
        """Return the next message; who is too late is taken for gone."""
        if self._is_whole:
            return await self._receive()
        now = asyncio.get_running_loop().time()
        self._deadline = self._deadline or now + self._seconds
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            message = {"type": "http.disconnect"}
        self._is_whole = message["type"] != "http.request" or not message.get("more_body", False)
        return message


def _problem(status: int, message: str) -> JSONResponse:
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": None}
    body["error"] = {"code": -32600, "message": message}
    return JSONResponse(body, status_code=status)
