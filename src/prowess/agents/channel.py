"""Carries events from the work of a turn to whoever shows them, in order.

Questions wait until whoever shows them has gone on; by then they were answered, or the answer is
no. Programs print from threads of their own, hence the second way in.
"""

import asyncio
from collections.abc import AsyncIterator

from prowess.agents.events import ApprovalAsked, Choice, Event


class Channel:
    """One turn's events, from many places to one reader."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[tuple[Event, asyncio.Event | None] | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()

    def put(self, event: Event) -> None:
        """Tell the reader something."""
        self._queue.put_nowait((event, None))

    def put_from_thread(self, event: Event) -> None:
        """Tell the reader something from another thread."""
        self._loop.call_soon_threadsafe(self.put, event)

    async def ask(self, question: ApprovalAsked) -> Choice:
        """Wait until the reader has seen the question and return the answer."""
        seen = asyncio.Event()
        self._queue.put_nowait((question, seen))
        await seen.wait()
        return question.choice

    def close(self) -> None:
        """Tell the reader that nothing follows."""
        self._queue.put_nowait(None)

    async def read(self) -> AsyncIterator[Event]:
        """Yield what was put in until the channel is closed."""
        while (found := await self._queue.get()) is not None:
            event, seen = found
            yield event
            if seen is not None:
                seen.set()
