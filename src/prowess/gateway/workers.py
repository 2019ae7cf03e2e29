"""The threads in which methods run, so that the event loop never waits for a file or a lock.

Quick and slow methods have threads of their own: ten installs that wait for a network never delay
a status. What waits for a thread is bounded over all clients together.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

from prowess.gateway.calls import Code, RpcError
from prowess.gateway.limits import Limits

T = TypeVar("T")


class Runner(Protocol):
    """Runs something that blocks."""

    async def __call__(self, work: Callable[[], T], *, slow: bool) -> T:
        """Return what `work` returns, without blocking the event loop."""


class Workers:
    """Two pools of threads; a `Runner`."""

    def __init__(self, limits: Limits) -> None:
        self._quick = ThreadPoolExecutor(limits.quick_threads, thread_name_prefix="gateway-quick")
        self._slow = ThreadPoolExecutor(limits.slow_threads, thread_name_prefix="gateway-slow")
        self._most, self._waiting = limits.waiting_calls, 0

    async def __call__(self, work: Callable[[], T], *, slow: bool) -> T:
        """Return what `work` returns, run in a thread.

        Raises:
            RpcError: Too many calls wait already, or the gateway has stopped.
        """
        if self._waiting >= self._most:
            raise RpcError(Code.UNAVAILABLE, "the gateway is busy: try again in a moment")
        self._waiting += 1
        try:
            pool = self._slow if slow else self._quick
            return await asyncio.get_running_loop().run_in_executor(pool, work)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Start nothing more; what runs is left to finish."""
        for pool in (self._quick, self._slow):
            pool.shutdown(wait=False, cancel_futures=True)
