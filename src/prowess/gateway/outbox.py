"""What waits to be sent to one client: bounded, and never waited for.

Who puts something in never blocks; who does not read fast enough is found out by `put` and is then
dropped by the connection. All queues together have a bound as well, which `Budget` counts: many
clients that each stay within their own would fill the memory.
"""

import asyncio
from collections import deque


class Budget:
    """How many bytes wait in all queues together."""

    def __init__(self) -> None:
        self.used = 0


class Outbox:
    """A queue of texts for one reader."""

    def __init__(self, most_messages: int, most_bytes: int, budget: Budget | None = None) -> None:
        self._budget = budget or Budget()
        self._most_messages, self._most_bytes = most_messages, most_bytes
        self._texts: deque[tuple[str, int]] = deque()
        self._bytes = 0
        self._finished = self._abandoned = False
        self._changed = asyncio.Event()

    def put(self, text: str) -> bool:
        """Add a text; return False if there is no room, which nothing but an empty queue has."""
        if self._abandoned:
            return True
        size = len(text) if text.isascii() else len(text.encode("utf-8"))
        # One answer may be larger than the queue: it was asked for.
        full = self._bytes + size > self._most_bytes and bool(self._texts)
        if full or len(self._texts) >= self._most_messages:
            return False
        self._texts.append((text, size))
        self._count(size)
        self._changed.set()
        return True

    async def first(self) -> str | None:
        """Return the oldest text, which stays until `sent`; None once all is sent and finished."""
        while not self._texts:
            if self._finished:
                return None
            self._changed.clear()
            await self._changed.wait()
        return self._texts[0][0]

    def sent(self) -> None:
        """Take out the oldest text."""
        if self._texts:
            self._count(-self._texts.popleft()[1])

    def finish(self) -> None:
        """Let the reader go once everything is sent."""
        self._finished = True
        self._changed.set()

    def abandon(self) -> None:
        """Throw away what was not sent and what still comes, and let the reader go."""
        self._abandoned = True
        self._texts.clear()
        self._count(-self._bytes)
        self.finish()

    @property
    def bytes(self) -> int:
        """How much waits."""
        return self._bytes

    def _count(self, change: int) -> None:
        self._bytes += change
        self._budget.used += change
