"""All connections of a gateway: events to them, their queues, who is there, and how they end.

`publish` may be called from any thread; everything else belongs to the event loop. Nobody ever
waits for a client: an event is put into its queue, and a client whose queue is full is gone. All
queues together have a bound as well, since many clients that each stay within their own would fill
the memory.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from prowess.gateway.calls import Client, ClientScope, Json
from prowess.gateway.frames import encode
from prowess.gateway.limits import PRESENCE, SHUTDOWN, TICK, Clock, GatewayLimits
from prowess.gateway.metrics import Metrics


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


T = TypeVar("T")
RESTART_CLOSE = 1012
# So many connections are told of a change of presence as soon as the limits say.
_CROWD = 20


class HubMember(Protocol):
    """A connection, as the hub sees it."""

    @property
    def client(self) -> Client | None:
        """Who it is, once that is known."""

    @property
    def since_ms(self) -> int:
        """Since when."""

    def send_event(self, event: str, payload_text: str) -> None:
        """Put an event into its queue."""

    @property
    def queued_bytes(self) -> int:
        """How much waits to be sent to it."""

    def close(self, code: int, reason: str) -> None:
        """Send what is queued, then end."""

    def drop(self, reason: str) -> None:
        """End at once, without what is queued."""


def wall_clock_ms() -> int:
    """Return the time of day in milliseconds."""
    return time.time_ns() // 1_000_000


class Hub:
    """The connections of one gateway."""

    def __init__(
        self,
        *,
        limits: GatewayLimits | None = None,
        clock: Clock = time.monotonic,
        now_ms: Callable[[], int] = wall_clock_ms,
        left: Callable[[Client], None] = lambda _client: None,
    ) -> None:
        """Begin without a connection; `left` is told of each client that is gone."""
        self._left = left
        self.limits, self.clock, self.now_ms = limits or GatewayLimits(), clock, now_ms
        self.metrics = Metrics()
        self.budget = Budget()
        # Set once nobody waits any more for what still runs: who started programs ends them.
        self.stopping = threading.Event()
        # In the order in which they came.
        self._members: dict[HubMember, None] = {}
        self._calls: set[asyncio.Task[Any]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ticking: asyncio.Task[None] | None = None
        self._announcing: asyncio.TimerHandle | None = None
        self._told_presence = ""
        self._empty = asyncio.Event()
        self._closing = False

    @property
    def closing(self) -> bool:
        """Whether the gateway is about to stop."""
        return self._closing

    def open(self, tick_ms: int) -> None:
        """Begin to send events, from the event loop that is running now."""
        self._loop = asyncio.get_running_loop()
        self._ticking = self._loop.create_task(self._tick(tick_ms / 1000))

    def publish(
        self, event: str, payload: Json, *, scope: ClientScope | None = ClientScope.READ
    ) -> None:
        """Send an event to all clients with that right; safe from any thread, never waits."""
        self.post(self._deliver, event, encode(payload), scope)

    def post(self, act: Callable[..., object], *arguments: object) -> None:
        """Do something on the event loop soon; safe from any thread."""
        loop = self._loop
        if loop is None:
            return
        # The loop may end between any check and this call; then nobody is left to be told.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(act, *arguments)

    def join(self, member: HubMember) -> str | None:
        """Take a connection in, or return why there is no place for it.

        When it is full, who has waited longest without a name makes room: strangers keep no client
        out, and a client says who it is within moments.
        """
        if self._closing:
            return "the gateway is stopping: try again in a moment"
        strangers = [one for one in self._members if one.client is None]
        is_full = len(self._members) >= self.limits.connections
        if is_full or len(strangers) >= self.limits.strangers:
            if not strangers:
                return "the gateway has too many connections: close some, or try again in a moment"
            self.metrics.rejected("full")
            self._members.pop(strangers[0], None)
            strangers[0].drop("others needed the place: send connect sooner")
        self._members[member] = None
        self._empty.clear()
        return None

    def relieve(self) -> None:
        """Let the longest queues go, while all queues together are too long."""
        while self.budget.used > self.limits.all_queues_bytes:
            longest = max(self._members, key=lambda one: one.queued_bytes, default=None)
            if longest is None or not longest.queued_bytes:
                return
            self.metrics.dropped_client()
            longest.drop("slow consumer: read faster, then connect again")

    def welcome(self, member: HubMember) -> None:
        """Tell the others of a client that has said who it is."""
        if member in self._members:
            self.metrics.accepted_client()
            self._announce()

    def leave(self, member: HubMember) -> None:
        """Forget a connection."""
        self._members.pop(member, None)
        if not self._members:
            self._empty.set()
        if member.client is not None:
            self._announce()
            self._left(member.client)

    def start(self, call: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run a call to its end, even if who asked for it is gone: no write is cut."""
        task = asyncio.get_running_loop().create_task(call)
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)
        return task

    def presence(self) -> list[Json]:
        """Return who is connected: neither addresses nor anything that opens a door."""
        # A copy: methods ask from their threads.
        members = tuple(self._members)
        known = [(one.since_ms, one.client) for one in members if one.client is not None]
        return [
            {
                "id": client.id,
                "name": client.name,
                "role": client.role,
                "platform": client.platform,
                "since": since,
            }
            for since, client in sorted(known, key=lambda one: (one[0], one[1].id))
        ]

    def gauges(self) -> dict[str, float]:
        """Return what is true right now, for metrics; safe from any thread."""
        clients = sum(1 for one in tuple(self._members) if one.client is not None)
        return {
            "connections": len(self._members),
            "clients": clients,
            "calls_in_flight": len(self._calls),
        }

    async def close(self, reason: str, *, seconds: float = 10.0) -> None:
        """Tell everybody, let running calls end (up to a bound), then close every connection."""
        if self._closing:
            return
        self._closing = True
        for timer in (self._ticking, self._announcing):
            if timer is not None:
                timer.cancel()
        self._deliver(SHUTDOWN, encode({"reason": reason}), None)
        if self._calls:
            await asyncio.wait(set(self._calls), timeout=seconds)
        self.stopping.set()
        for member in tuple(self._members):
            member.close(RESTART_CLOSE, reason)
        if self._members:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._empty.wait(), 2 * self.limits.goodbye_seconds + 1)

    def _deliver(self, event: str, payload_text: str, scope: ClientScope | None) -> None:
        told = [
            one
            for one in self._members
            if one.client is not None and (scope is None or scope in one.client.scopes)
        ]
        self.metrics.sent_event(event, len(told))
        for member in told:
            member.send_event(event, payload_text)

    def _announce(self) -> None:
        """Tell who is there, soon and once: a hundred arrivals are one piece of news."""
        if self._loop is None or self._announcing is not None or self._closing:
            return
        # Everybody is told of everybody, so a crowd is told less often.
        crowds = max(1.0, len(self._members) / _CROWD)
        self._announcing = self._loop.call_later(
            self.limits.presence_seconds * crowds, self._tell_presence
        )

    def _tell_presence(self) -> None:
        self._announcing = None
        text = encode({"presence": self.presence()})
        # Who came and went in the meantime is no news.
        if text != self._told_presence:
            self._told_presence = text
            self._deliver(PRESENCE, text, ClientScope.READ)

    async def _tick(self, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            self._deliver(TICK, encode({"ts": self.now_ms()}), None)
