"""The server on standard input and output, for a client that started us.

Lines are read by a thread of our own, of a bounded length. The SDK would read them in one that
cannot be left: a signal would then end us only when the client writes its next line. Both streams
are the greeting's, which may have answered the first of them already.
"""

import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import suppress

import anyio
import anyio.from_thread
import anyio.to_thread
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server.stdio import stdio_server
from mcp_types import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, PROTOCOL_VERSION_META_KEY
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from prowess.mcp.greeting import Greeting
from prowess.mcp.server import Answers, SkillsServer

_MOST_WAITING = 16
_NOBODY = {"name": "nobody", "version": "0"}
_FIRST_LISTS = ("tools/list", "prompts/list", "resources/list")
_ALL_NEWS = dict.fromkeys(("toolsListChanged", "promptsListChanged", "resourcesListChanged"), True)


class _Wire:
    """What the SDK writes to: a file, as far as it uses one."""

    def __init__(self, greeting: Greeting) -> None:
        self._greeting = greeting

    async def write(self, text: str) -> None:
        await anyio.to_thread.run_sync(self._greeting.write, text)

    async def flush(self) -> None:
        """Do nothing: what is written is out."""


class _Rehearsal(_Wire):
    """The same, where nobody reads: answers are only kept."""

    def __init__(self, greeting: Greeting) -> None:
        super().__init__(greeting)
        self.said = anyio.Semaphore(0)

    async def write(self, text: str) -> None:
        self._greeting.keep(text)
        self.said.release()


async def serve_stdio(
    server: SkillsServer,
    answers: Answers,
    news: Sequence[Callable[[], AsyncIterator[object]]],
    greeting: Greeting,
) -> None:
    """Serve one client until it is gone; `news` yield each time something may have changed."""
    greeting.end()
    try:
        await _serve(server, answers, news, greeting)
    except* (BrokenPipeError, anyio.BrokenResourceError):
        # The client is gone without a word: there is nobody left to be served.
        pass


async def _serve(
    server: SkillsServer,
    answers: Answers,
    news: Sequence[Callable[[], AsyncIterator[object]]],
    greeting: Greeting,
) -> None:
    sending, lines = anyio.create_memory_object_stream[str](_MOST_WAITING)
    async with anyio.create_task_group() as tasks, anyio.from_thread.BlockingPortal() as portal:
        # It never ends by itself while the client is silent, so nobody waits for it.
        threading.Thread(target=_hand_on, args=(greeting, portal, sending), daemon=True).start()
        # The SDK asks for files, and only ever iterates the one and writes to the other.
        async with stdio_server(lines, _Wire(greeting)) as (read, write):  # type: ignore[arg-type]
            for one in news:
                tasks.start_soon(_tell, answers, one)
            await server.run(read, write, server.create_initialization_options())
        answers.notices.close()
        tasks.cancel_scope.cancel()


def first_requests() -> Iterator[Sequence[Mapping[str, object]]]:
    """Yield what a client asks at its beginning, for each version of the protocol."""
    for version in HANDSHAKE_PROTOCOL_VERSIONS:
        who = {"protocolVersion": version, "capabilities": {}, "clientInfo": _NOBODY}
        yield _requests(initialize=who, **{name: {} for name in _FIRST_LISTS})
    for version in MODERN_PROTOCOL_VERSIONS:
        meta = {
            "_meta": {
                PROTOCOL_VERSION_META_KEY: version,
                CLIENT_INFO_META_KEY: _NOBODY,
                CLIENT_CAPABILITIES_META_KEY: {},
            }
        }
        news = {**meta, "notifications": _ALL_NEWS}
        yield _requests(
            **dict.fromkeys(("server/discover", *_FIRST_LISTS), meta),
            **{"subscriptions/listen": news},
        )


def _requests(**params: object) -> Sequence[Mapping[str, object]]:
    return [
        {"jsonrpc": "2.0", "id": number, "method": method, "params": one}
        for number, (method, one) in enumerate(params.items())
    ]


async def rehearse(
    server: SkillsServer, greeting: Greeting, requests: Sequence[Mapping[str, object]]
) -> None:
    """Have the server answer a client that is not there; its greeting keeps what it would say."""
    sending, lines = anyio.create_memory_object_stream[str](_MOST_WAITING)
    # What is kept is not asked for: it may be of before.
    greeting.end()
    wire = _Rehearsal(greeting)
    async with (
        sending,
        lines,
        # As above: it only ever iterates the one and writes to the other.
        stdio_server(lines, wire) as (read, write),  # type: ignore[arg-type]
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(server.run, read, write, server.create_initialization_options())
        for request in requests:
            greeting.hear(request)
            await sending.send(json.dumps(request) + "\n")
            await wire.said.acquire()
        await sending.aclose()
        tasks.cancel_scope.cancel()


async def _tell(answers: Answers, news: Callable[[], AsyncIterator[object]]) -> None:
    # Nothing is watched before a client can know anything that changes.
    await answers.opened.wait()
    async for _ in news():
        await answers.changed()


def _hand_on(
    greeting: Greeting,
    portal: anyio.from_thread.BlockingPortal,
    sending: MemoryObjectSendStream[str],
) -> None:
    """Hand on line after line; the portal is gone where nobody wants them any more."""
    with suppress(RuntimeError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        for line in iter(greeting.lines.get, None):
            portal.call(sending.send, line)
        portal.call(sending.aclose)
