"""All connections of a gateway: events to them, their queues, who is there, and how they end.

`publish` may be called from any thread; everything else belongs to the event loop. Nobody ever
waits for a client: an event is put into its queue, and a client whose queue is full is gone. All
queues together have a bound as well, since many clients that each stay within their own would fill
the memory.

What the gateway counts, as Prometheus text.

Labels come from closed sets, so that no client can make the page grow: a method that does not
exist counts as `unknown`. Everything is counted on the event loop, so nothing here needs a lock.
"""

import asyncio
import re
import threading
import time
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from prowess.gateway.calls import Client, ClientScope, Json
from prowess.gateway.frames import Fault, encode
from prowess.gateway.limits import PRESENCE, SHUTDOWN, TICK, Clock, GatewayLimits

UNKNOWN = "unknown"
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_PREFIX = "prowess_gateway_"


class Metrics:
    """The counters of one gateway."""

    def __init__(self) -> None:
        self._methods: frozenset[str] = frozenset()
        self._events: frozenset[str] = frozenset()
        self._requests: Counter[tuple[str, str]] = Counter()
        self._times: dict[str, list[int]] = {}
        self._seconds: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._rejected: Counter[str] = Counter()
        self._sent: Counter[str] = Counter()
        self._accepted = self._dropped = 0

    def know(self, methods: Iterable[str], events: Iterable[str]) -> None:
        """Take these names as labels; all others count as unknown."""
        self._methods, self._events = frozenset(methods), frozenset(events)

    def answered(self, method: str, outcome: str, seconds: float) -> None:
        """Count an answer; `outcome` is `ok` or the code of the error."""
        label = method if method in self._methods else UNKNOWN
        self._requests[label, outcome] += 1
        counts = self._times.setdefault(label, [0] * (len(BUCKETS) + 1))
        counts[bisect_left(BUCKETS, seconds)] += 1
        # Hundredths of a millisecond: a counter of whole numbers never drifts.
        self._seconds[label] += round(seconds * 100_000)

    def refused_frame(self, fault: Fault) -> None:
        """Count a frame that was not taken."""
        self._refused[fault.value] += 1

    def rejected(self, reason: str) -> None:
        """Count a client that was not let in; `reason` comes from a closed set."""
        self._rejected[reason] += 1

    def accepted_client(self) -> None:
        """Count a client that was let in."""
        self._accepted += 1

    def dropped_client(self) -> None:
        """Count a client that did not read fast enough."""
        self._dropped += 1

    def sent_event(self, event: str, clients: int) -> None:
        """Count an event and how many clients it went to."""
        self._sent[event if event in self._events else UNKNOWN] += clients

    def text(self, gauges: Mapping[str, float], extra: Mapping[str, float]) -> str:
        """Return everything as Prometheus text."""
        lines: list[str] = []
        for name, value in gauges.items():
            lines += _family(name, "gauge", [("", value)])
        lines += _family("clients_total", "counter", [("", self._accepted)])
        lines += _family("slow_consumers_dropped_total", "counter", [("", self._dropped)])
        lines += _family("frames_refused_total", "counter", _label("reason", self._refused))
        lines += _family("clients_rejected_total", "counter", _label("reason", self._rejected))
        lines += _family("events_sent_total", "counter", _label("event", self._sent))
        rows = [
            (f'{{method="{method}",outcome="{outcome}"}}', count)
            for (method, outcome), count in sorted(self._requests.items())
        ]
        lines += _family("requests_total", "counter", rows)
        lines += self._histogram()
        for name, value in sorted(extra.items()):
            if _NAME.fullmatch(name):
                lines += [f"# TYPE prowess_{name} gauge", f"prowess_{name} {_number(value)}"]
        return "\n".join(lines) + "\n"

    def _histogram(self) -> list[str]:
        name = f"{_PREFIX}request_seconds"
        lines = [f"# TYPE {name} histogram"]
        for method, counts in sorted(self._times.items()):
            total = 0
            for bound, count in zip((*map(str, BUCKETS), "+Inf"), counts, strict=True):
                total += count
                lines.append(f'{name}_bucket{{method="{method}",le="{bound}"}} {total}')
            lines.append(f'{name}_sum{{method="{method}"}} {self._seconds[method] / 100_000}')
            lines.append(f'{name}_count{{method="{method}"}} {total}')
        return lines


def _family(name: str, kind: str, rows: Iterable[tuple[str, float]]) -> list[str]:
    full = _PREFIX + name
    return [
        f"# TYPE {full} {kind}",
        *(f"{full}{labels} {_number(value)}" for labels, value in rows),
    ]


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def _label(label: str, counts: Mapping[str, int]) -> list[tuple[str, float]]:
    return [(f'{{{label}="{name}"}}', count) for name, count in sorted(counts.items())]


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
