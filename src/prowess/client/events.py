"""What a gateway tells unasked, for as many readers as there are.

Nobody waits for a reader: each stream keeps a bounded number of events, and one that reads too
slowly loses the oldest. `Event.missed` says how many were lost before that event, and it is None
where nobody knows, since the connection was away: then ask for the state anew.
"""

import asyncio
from collections import deque
from dataclasses import dataclass, field, replace
from typing import Self
from weakref import WeakSet

from prowess.errors import ProwessError
from prowess.wire.answers import Json, read_object, read_text

# Told by the client itself, whatever names a stream asked for.
RECONNECTED = "client.reconnected"
DEFAULT_BUFFER = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event."""

    name: str
    payload: Json = field(default_factory=dict)
    # Of this connection, from 1; 0 where the client itself speaks.
    sequence: int = 0
    missed: int | None = 0
    raw: Json = field(default_factory=dict, repr=False)


class EventStream:
    """Events in their order, for one reader; it hears from the moment it is made."""

    def __init__(self, names: frozenset[str], buffer: int) -> None:
        self._names, self._buffer = names, max(1, buffer)
        self._waiting: deque[Event] = deque()
        self._missed: int | None = 0
        self._news = asyncio.Event()
        self._is_over = False
        self._error: ProwessError | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        while not self._waiting:
            if self._is_over:
                if self._error is not None:
                    raise self._error
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        return self._waiting.popleft()

    def close(self) -> None:
        """Hear no more; what came before can still be read."""
        self.end(None)

    def put(self, event: Event) -> None:
        """Take an event, if it is one of those that were asked for."""
        if self._is_over:
            return
        self._missed = _together(self._missed, event.missed)
        if self._names and event.name not in self._names and event.name != RECONNECTED:
            return
        if len(self._waiting) >= self._buffer:
            lost = self._waiting.popleft()
            self._push_loss(_together(lost.missed, 1))
        self._waiting.append(_with_missed(event, self._missed))
        self._missed = 0
        self._news.set()

    def end(self, error: ProwessError | None) -> None:
        """Say that nothing more comes, and why."""
        if not self._is_over:
            self._is_over, self._error = True, error
            self._news.set()

    def _push_loss(self, missed: int | None) -> None:
        """Tell the next event that is read of those before it."""
        if self._waiting:
            first = self._waiting.popleft()
            self._waiting.appendleft(_with_missed(first, _together(first.missed, missed)))
        else:
            self._missed = _together(self._missed, missed)


class Events:
    """Every stream of a client; one that nobody holds any more is forgotten."""

    def __init__(self) -> None:
        self._streams: WeakSet[EventStream] = WeakSet()
        self._last = 0
        self._ending: tuple[ProwessError | None] | None = None

    def stream(self, names: frozenset[str], buffer: int) -> EventStream:
        """Return a new stream."""
        made = EventStream(names, buffer)
        if self._ending is not None:
            made.end(self._ending[0])
        self._streams.add(made)
        return made

    def hear(self, frame: Json) -> Event:
        """Take the frame of an event, and tell the streams."""
        found = frame.get("seq")
        sequence = found if isinstance(found, int) and not isinstance(found, bool) else 0
        event = Event(
            name=read_text(frame, "event"),
            payload=read_object(frame.get("payload")),
            sequence=sequence,
            missed=max(0, sequence - self._last - 1) if sequence else 0,
            raw=frame,
        )
        self._last = max(self._last, sequence)
        self._tell(event)
        return event

    def returned(self) -> None:
        """Say that another connection has taken the place of the one before."""
        self._last = 0
        self._tell(Event(name=RECONNECTED, missed=None))

    def end(self, error: ProwessError | None) -> None:
        """Say that nothing more comes."""
        self._ending = (error,)
        for stream in tuple(self._streams):
            stream.end(error)

    def _tell(self, event: Event) -> None:
        for stream in tuple(self._streams):
            stream.put(event)


def _together(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def _with_missed(event: Event, missed: int | None) -> Event:
    return event if event.missed == missed else replace(event, missed=missed)
