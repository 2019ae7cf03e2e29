"""The threads in which methods run, so that the event loop never waits for a file or a lock.

Four lanes have threads of their own: what a newcomer needs, what is quick, what is slow, and what
installs. In a lane everybody takes turns, and nobody holds all of its threads: who asks for a
thousand things waits for these alone. The threads are daemons, so a call that hangs does not keep
the gateway from ending; `finish` is what waits for the quick ones, which write.
"""

import asyncio
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from prowess.gateway.calls import Code, RpcError
from prowess.gateway.limits import GatewayLimits

T = TypeVar("T")
# How often `finish` looks whether the last write is done.
_LOOK_SECONDS = 0.02
_BUSY = "the gateway is busy: try again in a moment"
_STOPPED = "the gateway is stopping: try again in a moment"
_LEFT = "nobody waits for this any more"


class Lane(StrEnum):
    """Which threads something runs in."""

    # To be greeted, and whether all is well: never behind the calls of clients.
    HELLO = "hello"
    QUICK = "quick"
    SLOW = "slow"
    INSTALL = "install"


class Runner(Protocol):
    """Runs something that blocks."""

    async def __call__(self, work: Callable[[], T], *, lane: Lane) -> T:
        """Return what `work` returns, without blocking the event loop."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Job:
    work: Callable[[], Any]
    share: str
    loop: asyncio.AbstractEventLoop
    outcome: asyncio.Future[Any]

    def do(self) -> None:
        """Run it, and tell the loop how it ended."""
        try:
            found, error = self.work(), None
        # Also what would end a program: it ends this call alone.
        except BaseException as raised:  # noqa: BLE001
            found, error = None, _fit_for_a_loop(raised)
        # The loop may be gone, and with it who waited.
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self.settle, found, error)

    def settle(self, found: object, error: Exception | None) -> None:
        """Give who waits what came of it; on the loop."""
        if self.outcome.done():
            return
        if error is None:
            self.outcome.set_result(found)
        else:
            self.outcome.set_exception(error)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Size:
    threads: int
    # Calls that wait or run: of all together, and of one.
    most: int
    most_of_one: int


class _Pool:
    """The threads of one lane, and who waits for them; everybody takes turns."""

    def __init__(self, name: str, size: _Size) -> None:
        self._name, self._size = name, size
        # Some threads stay free for others, however much one client asks for.
        self._most_threads_of_one = max(1, size.threads * 3 // 4)
        self._changed = threading.Condition()
        self._queues: OrderedDict[str, deque[_Job]] = OrderedDict()
        self._running: Counter[str] = Counter()
        self._waiting = self._threads = self._idle = 0
        self._closed = False

    def add(self, job: _Job) -> None:
        """Put a job behind the others of its share.

        Raises:
            RpcError: there is no room for it, or no more time.
        """
        with self._changed:
            self._check_room(job.share)
            self._queues.setdefault(job.share, deque()).append(job)
            self._waiting += 1
            if self._idle < self._waiting and self._threads < self._size.threads:
                self._threads += 1
                name = f"gateway-{self._name}-{self._threads}"
                threading.Thread(target=self._work, name=name, daemon=True).start()
            self._changed.notify()

    def _check_room(self, share: str) -> None:
        if self._closed:
            raise RpcError(Code.UNAVAILABLE, _STOPPED)
        if self._waiting + self._running.total() >= self._size.most:
            raise RpcError(Code.UNAVAILABLE, _BUSY)
        mine = len(self._queues.get(share, ())) + self._running[share]
        if mine >= self._size.most_of_one:
            most = self._size.most_of_one
            message = f"too many at once: wait for answers, {most} of these may be open"
            raise RpcError(Code.RATE_LIMITED, message)

    def forget(self, share: str) -> None:
        """Drop what a share waits for and what has not begun."""
        with self._changed:
            dropped = self._queues.pop(share, deque())
            self._waiting -= len(dropped)
        for job in dropped:
            job.settle(None, RpcError(Code.UNAVAILABLE, _LEFT))

    def close(self) -> None:
        """Begin nothing more; what runs is left to itself."""
        with self._changed:
            self._closed = True
            shares = tuple(self._queues)
            self._changed.notify_all()
        for share in shares:
            self.forget(share)

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs."""
        with self._changed:
            return not self._running.total()

    def _work(self) -> None:
        while (job := self._next()) is not None:
            job.do()
            with self._changed:
                self._running[job.share] -= 1
                # Also forgets those who are at zero, so that the table stays small.
                self._running = +self._running
                self._changed.notify()

    def _next(self) -> _Job | None:
        with self._changed:
            self._idle += 1
            try:
                while not self._closed:
                    job = self._turn()
                    if job is not None:
                        return job
                    self._changed.wait()
            finally:
                self._idle -= 1
        return None

    def _turn(self) -> _Job | None:
        for share, queue in self._queues.items():
            if self._running[share] >= self._most_threads_of_one:
                continue
            job = queue.popleft()
            self._waiting -= 1
            self._running[share] += 1
            if queue:
                self._queues.move_to_end(share)
            else:
                del self._queues[share]
            return job
        return None


class Workers:
    """The lanes of a gateway."""

    def __init__(self, limits: GatewayLimits) -> None:
        most, anything = limits.waiting_calls, limits.waiting_calls
        self._pools = {
            Lane.HELLO: _pool(Lane.HELLO, limits.hello_threads, most, anything),
            Lane.QUICK: _pool(Lane.QUICK, limits.quick_threads, most, anything),
            Lane.SLOW: _pool(Lane.SLOW, limits.slow_threads, most, anything),
            Lane.INSTALL: _pool(Lane.INSTALL, limits.install_threads, most, limits.installs_of_one),
        }

    def share(self, name: str) -> Runner:
        """Return what runs calls in the turn of this share: all calls of one client have one."""

        async def run(work: Callable[[], T], *, lane: Lane) -> T:
            loop = asyncio.get_running_loop()
            outcome: asyncio.Future[T] = loop.create_future()
            self._pools[lane].add(_Job(work=work, share=name, loop=loop, outcome=outcome))
            return await outcome

        return run

    def forget(self, name: str) -> None:
        """Drop the calls of a share that have not begun; those that run go on to their end."""
        for pool in self._pools.values():
            pool.forget(name)

    async def finish(self, seconds: float) -> None:
        """Begin nothing more, and wait for the quick calls that run: these write files."""
        self.close()
        for _ in range(round(seconds / _LOOK_SECONDS)):
            if self._pools[Lane.QUICK].is_idle:
                return
            await asyncio.sleep(_LOOK_SECONDS)

    def close(self) -> None:
        """Begin nothing more; what runs is left to itself."""
        for pool in self._pools.values():
            pool.close()


def _pool(lane: Lane, threads: int, most: int, most_of_one: int) -> _Pool:
    return _Pool(lane.value, _Size(threads=threads, most=most, most_of_one=most_of_one))


def _fit_for_a_loop(raised: BaseException) -> Exception:
    """Return an error that a future takes and that ends no loop."""
    if isinstance(raised, Exception) and not isinstance(raised, StopIteration):
        return raised
    return RuntimeError(f"a method raised {type(raised).__name__}").with_traceback(
        raised.__traceback__
    )
