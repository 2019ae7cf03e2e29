"""The clients of a load, in a process of their own so that they share no lock with the server.

    python -m benchmarks.load.clients < PLAN

They speak the protocol over plain websockets and do not parse what they get, except once each: a
client that parses every answer measures its own parser. Each asks again as soon as it is answered,
but stays below the rate at which a gateway takes frames for a flood.
"""

import asyncio
import json
import random
import sys
import time
from array import array
from collections import Counter, defaultdict
from collections.abc import Awaitable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.load.figures import summary
from benchmarks.load.world import messages
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

# Below the 60 frames a second that a gateway takes from one client.
_PACE = 1 / 50
_PROBE_PACE = 0.1
_SLOW_REQUESTS, _SLOW_PACE, _SLOW_REST = 80, 1 / 40, 1.0
_HOSTILE_REST = 0.05
_FLOOD = 400
# Far more than any of it takes: only a gateway that does not answer at all is waited for so long.
_PATIENCE = 60
STATUS, ROUTE, PROBE, ECHO = "skills.status", "skills.route", "health", "echo"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Who asks what, and for how long."""

    url: str
    seconds: float
    clients: int
    slow: int = 0
    hostile: int = 0
    # One that asks for nothing but health: what everybody else feels.
    probes: int = 0
    skills: int = 0
    token: str = field(default="", repr=False)
    # Against the bare server, which has no handshake.
    bare: bool = False

    def text(self) -> str:
        """Return the plan as the child reads it."""
        return json.dumps(asdict(self))


@dataclass(slots=True)
class Tally:
    """What all clients saw."""

    until: float
    times: "dict[str, array[float]]" = field(
        default_factory=lambda: defaultdict(lambda: array("d"))
    )
    errors: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    status_bytes: int = 0

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return time.perf_counter() >= self.until


class Caller:
    """One connection that asks one thing at a time."""

    def __init__(self, line: ClientConnection) -> None:
        self._line, self._number = line, 0

    async def greet(self, token: str) -> None:
        """Say hello as every client must."""
        await self._line.recv()
        client = {"id": "load", "version": "1", "platform": "linux", "mode": "cli"}
        params = {"minProtocol": 3, "maxProtocol": 4, "client": client, "auth": {"token": token}}
        answer = await self.call("connect", params)
        if not is_fine(answer):
            raise RuntimeError(f"the gateway refused a client: {answer[:300]!r}")

    async def send(self, method: str, params: dict[str, Any]) -> bytes:
        """Send a request and return how its answer begins."""
        self._number += 1
        name = f"r{self._number}"
        frame = {"type": "req", "id": name, "method": method, "params": params}
        await self._line.send(json.dumps(frame))
        return f'{{"type":"res","id":"{name}",'.encode()

    async def call(self, method: str, params: dict[str, Any]) -> bytes:
        """Ask, and return the answer unread."""
        start = await self.send(method, params)
        while True:
            frame = await self._line.recv(decode=False)
            if frame.startswith(start):
                return frame

    async def exchange(self) -> None:
        """Ask and take whatever comes, as it is with a server that knows no methods."""
        await self.send(STATUS, {})
        await self._line.recv(decode=False)


def is_fine(answer: bytes) -> bool:
    """Say whether an answer holds what was asked for."""
    return b'"ok":true' in answer[:200]


def opened(plan: Plan, *, most_waiting: int | None = 16) -> connect:
    """Return a connection to be entered."""
    return connect(
        plan.url,
        max_size=None,
        compression=None,
        max_queue=most_waiting,
        open_timeout=_PATIENCE,
        close_timeout=1,
    )


async def _ready(plan: Plan, tally: Tally, stack: AsyncExitStack) -> Caller:
    """Open a connection, and see that what it gets is right."""
    caller = Caller(await stack.enter_async_context(opened(plan)))
    if not plan.bare:
        await caller.greet(plan.token)
        await _check(caller, plan, tally)
    return caller


async def _ask(caller: Caller, tally: Tally, number: int) -> None:
    """Ask for status and routes, each at least once, half of the messages never heard before."""
    chance, known, turn = random.Random(number), messages(100), 0
    while turn < 2 or not tally.over:
        turn += 1
        method, params = STATUS, {}
        if turn == 2 or (turn > 2 and chance.random() < 0.5):
            message = chance.choice(known)
            fresh = f"{message} ({number} {turn})"
            method = ROUTE
            params = {"message": message if chance.random() < 0.5 else fresh}
        await _timed(caller, tally, method, params)


async def _timed(caller: Caller, tally: Tally, method: str, params: dict[str, Any]) -> None:
    began = time.perf_counter()
    answer = await caller.call(method, params)
    took = time.perf_counter() - began
    tally.times[method].append(took)
    if not is_fine(answer):
        tally.errors[json.loads(answer)["error"]["code"]] += 1
    if took < _PACE:
        await asyncio.sleep(_PACE - took)


async def _check(caller: Caller, plan: Plan, tally: Tally) -> None:
    """Read one answer of each kind to its end, so that nothing is measured but right answers."""
    status = await caller.call(STATUS, {})
    tally.status_bytes = len(status)
    if plan.skills > len(json.loads(status)["payload"]["skills"]):
        tally.errors["skills are missing"] += 1
    route = json.loads(await caller.call(ROUTE, {"message": messages(1)[0]}))
    if "matches" not in route["payload"]:
        tally.errors["a route without matches"] += 1


async def _probe(plan: Plan, tally: Tally) -> None:
    async with opened(plan) as line:
        caller = Caller(line)
        await caller.greet(plan.token)
        await _timed(caller, tally, PROBE, {})
        while not tally.over:
            await asyncio.sleep(_PROBE_PACE)
            await _timed(caller, tally, PROBE, {})


async def _echo(caller: Caller, tally: Tally) -> None:
    turn = 0
    while turn < 1 or not tally.over:
        turn += 1
        began = time.perf_counter()
        await caller.exchange()
        took = time.perf_counter() - began
        tally.times[ECHO].append(took)
        if took < _PACE:
            await asyncio.sleep(_PACE - took)


async def _read_slowly(plan: Plan, tally: Tally) -> None:
    """Ask for much and read nothing, until thrown out; then come back."""
    while not tally.over:
        tally.counts["slowRounds"] += 1
        try:
            async with opened(plan, most_waiting=1) as line:
                caller = Caller(line)
                await caller.greet(plan.token)
                for _ in range(_SLOW_REQUESTS):
                    if tally.over:
                        return
                    await caller.send(STATUS, {})
                    await asyncio.sleep(_SLOW_PACE)
                await asyncio.sleep(_SLOW_REST)
                while not tally.over:
                    await asyncio.wait_for(line.recv(decode=False), 2 * _SLOW_REST)
        except ConnectionClosed:
            tally.counts["slowDropped"] += 1
        except TimeoutError:
            tally.counts["slowServed"] += 1


async def _attack(plan: Plan, tally: Tally) -> None:
    """Send what no gateway may take, get thrown out, and come again."""
    frame = '{"type":"req","id":"x","method":"skills.status"}'
    attacks: list[list[str | bytes]] = [
        ["{not json"],
        [b"\x00binary"],
        ['{"id":"1","type":"req","method":"health","params":' + "[" * 500 + "]" * 500 + "}"],
        ['{"type":"req","id":"x","method":"health","params":{"x":"' + "y" * 600_000 + '"}}'],
        [frame] * _FLOOD,
    ]
    turn = 0
    while turn < 1 or not tally.over:
        turn += 1
        tally.counts["hostileRounds"] += 1
        try:
            async with opened(plan, most_waiting=None) as line:
                await Caller(line).greet(plan.token)
                for item in attacks[turn % len(attacks)]:
                    await line.send(item)
                async with asyncio.timeout(_PATIENCE):
                    while True:
                        await line.recv(decode=False)
        except ConnectionClosed:
            tally.counts["hostileThrownOut"] += 1
        except TimeoutError:
            tally.errors["a hostile client was not thrown out"] += 1
        await asyncio.sleep(_HOSTILE_REST)


async def _until_over(work: Awaitable[None], tally: Tally) -> None:
    try:
        await work
    except (ConnectionClosed, OSError, TimeoutError) as error:
        tally.errors[f"a client lost its connection: {type(error).__name__}"] += 1


def _beside(plan: Plan, tally: Tally) -> list[Coroutine[Any, Any, None]]:
    """Return those who are there to disturb, and the one who feels it."""
    return [
        *(_read_slowly(plan, tally) for _ in range(plan.slow)),
        *(_attack(plan, tally) for _ in range(plan.hostile)),
        *(_probe(plan, tally) for _ in range(plan.probes)),
    ]


async def run(plan: Plan) -> dict[str, Any]:
    """Let everybody ask until the time is up, and return the figures."""
    tally = Tally(until=float("inf"))
    async with AsyncExitStack() as stack:
        # Who is measured is there before the clock starts: the first route loads the encoder.
        first = [await _ready(plan, tally, stack)]
        others = (_ready(plan, tally, stack) for _ in range(plan.clients - 1))
        callers = [*first, *await asyncio.gather(*others)]
        began = time.perf_counter()
        tally.until = began + plan.seconds
        beside = asyncio.gather(*(_until_over(work, tally) for work in _beside(plan, tally)))
        asking = (
            _echo(one, tally) if plan.bare else _ask(one, tally, number)
            for number, one in enumerate(callers)
        )
        await asyncio.gather(*(_until_over(work, tally) for work in asking))
        seconds = time.perf_counter() - began
        await beside
    return _figures(tally, seconds)


def _figures(tally: Tally, seconds: float) -> dict[str, Any]:
    return {
        "seconds": round(seconds, 1),
        "methods": {name: summary(tally.times[name], seconds) for name in sorted(tally.times)},
        "perSecond": round(sum(map(len, tally.times.values())) / seconds, 1),
        "errors": dict(tally.errors),
        "counts": dict(tally.counts),
        "statusBytes": tally.status_bytes,
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(run(Plan(**json.loads(sys.stdin.read()))))))
