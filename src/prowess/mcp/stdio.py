"""The server on standard input and output, for a client that started us.

Lines are read by a thread of our own, of a bounded length. The SDK would read them in one that
cannot be left: a signal would then end us only when the client writes its next line. What children
of ours read or print by mistake never meets the client: their standard input is empty, and standard
output leads to the terminal's errors.
"""

import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress

import anyio
import anyio.from_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.stdio import stdio_server

from prowess.mcp.server import Answers, SkillsServer

_MOST_LINE_BYTES = 16 * 1024 * 1024
_MOST_WAITING = 16
_STDIN = 0


async def serve_stdio(
    server: SkillsServer, answers: Answers, news: Callable[[], AsyncIterator[object]]
) -> None:
    """Serve one client until it is gone; `news` yields each time something may have changed."""
    try:
        with _own_input() as number:
            await _serve(server, answers, news, number)
    except* (BrokenPipeError, anyio.BrokenResourceError):
        # The client is gone without a word: there is nobody left to be served.
        pass


async def _serve(
    server: SkillsServer,
    answers: Answers,
    news: Callable[[], AsyncIterator[object]],
    number: int,
) -> None:
    sending, lines = anyio.create_memory_object_stream[str](_MOST_WAITING)
    async with anyio.create_task_group() as tasks, anyio.from_thread.BlockingPortal() as portal:
        # It never ends by itself while the client is silent, so nobody waits for it.
        threading.Thread(target=_read, args=(number, portal, sending), daemon=True).start()
        # Only iterated, which the stream can do as well as a file.
        source: MemoryObjectReceiveStream[str] = lines
        # The SDK asks for a file, and only ever iterates it.
        async with stdio_server(stdin=source) as (read, write):  # type: ignore[arg-type]
            tasks.start_soon(_tell, answers, news)
            await server.run(read, write, server.create_initialization_options())
        answers.notices.close()
        tasks.cancel_scope.cancel()


async def _tell(answers: Answers, news: Callable[[], AsyncIterator[object]]) -> None:
    # Nothing is watched before a client can know anything that changes.
    await answers.opened.wait()
    async for _ in news():
        await answers.changed()


def _read(
    number: int, portal: anyio.from_thread.BlockingPortal, sending: MemoryObjectSendStream[str]
) -> None:
    """Hand on line after line; the portal is gone where nobody wants them any more."""
    with suppress(RuntimeError, OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        for line in _lines(number):
            portal.call(sending.send, line)
        portal.call(sending.aclose)


def _lines(number: int) -> Iterator[str]:
    """Yield the lines of standard input; of one that is too long comes nothing but its end."""
    with os.fdopen(number, "rb", closefd=False) as stream:
        whole = True
        while piece := stream.readline(_MOST_LINE_BYTES):
            is_end = piece.endswith(b"\n")
            if whole and (is_end or len(piece) < _MOST_LINE_BYTES):
                yield piece.decode("utf-8", "replace")
            elif is_end:
                # No JSON, which is answered as such.
                yield "\n"
            whole = is_end


@contextmanager
def _own_input() -> Iterator[int]:
    """Keep standard input for ourselves while we serve; a thread may still read it afterwards."""
    own, empty = os.dup(_STDIN), os.open(os.devnull, os.O_RDONLY)
    try:
        os.dup2(empty, _STDIN)
        yield own
    finally:
        os.dup2(own, _STDIN)
        os.close(empty)
