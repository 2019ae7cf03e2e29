"""Threads for methods: everybody takes turns, and who is gone is not worked for."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine
from functools import partial

import pytest

from prowess.gateway.calls import Code, RpcError
from prowess.gateway.dispatch import Lane, Workers
from prowess.gateway.limits import GatewayLimits


class Door:
    """Holds threads until it is opened."""

    def __init__(self) -> None:
        self.opened, self.entered = threading.Event(), threading.Semaphore(0)

    def hold(self) -> str:
        self.entered.release()
        self.opened.wait(30)
        return "held"

    async def until_entered(self) -> None:
        assert await asyncio.to_thread(self.entered.acquire, timeout=30)


def _with_workers(
    scenario: Callable[[Workers, Door], Coroutine[None, None, None]], limits: GatewayLimits
) -> None:
    async def play() -> None:
        workers, door = Workers(limits), Door()
        try:
            await scenario(workers, door)
        finally:
            door.opened.set()
            workers.close()

    asyncio.run(play())


def test_a_newcomer_is_served_before_the_rest_of_a_burst() -> None:
    done: list[str] = []

    async def scenario(workers: Workers, door: Door) -> None:
        first = asyncio.create_task(workers.share("greedy")(door.hold, lane=Lane.QUICK))
        await door.until_entered()
        rest = [
            asyncio.create_task(workers.share(share)(partial(done.append, share), lane=Lane.QUICK))
            for share in (*["greedy"] * 20, "modest")
        ]
        await asyncio.sleep(0)
        door.opened.set()
        await asyncio.gather(first, *rest)

    _with_workers(scenario, GatewayLimits(quick_threads=1))

    assert "modest" in done[:2]
    assert len(done) == 21


def test_one_client_never_holds_every_thread() -> None:
    async def scenario(workers: Workers, door: Door) -> None:
        held = [
            asyncio.create_task(workers.share("greedy")(door.hold, lane=Lane.SLOW))
            for _ in range(10)
        ]
        for _ in range(3):
            await door.until_entered()

        assert await workers.share("modest")(lambda: "served", lane=Lane.SLOW) == "served"
        door.opened.set()
        await asyncio.gather(*held)

    _with_workers(scenario, GatewayLimits(slow_threads=4))


def test_lanes_do_not_wait_for_each_other() -> None:
    async def scenario(workers: Workers, door: Door) -> None:
        run = workers.share("c")
        held = []
        for lane in (Lane.QUICK, Lane.SLOW, Lane.INSTALL):
            held.append(asyncio.create_task(run(door.hold, lane=lane)))
            await door.until_entered()

        assert await run(lambda: "hello", lane=Lane.HELLO) == "hello"
        door.opened.set()
        assert await asyncio.gather(*held) == ["held"] * 3

    _with_workers(scenario, GatewayLimits(quick_threads=1, slow_threads=1, install_threads=1))


def test_who_is_gone_is_not_worked_for_and_what_has_begun_goes_on() -> None:
    begun: list[str] = []

    async def scenario(workers: Workers, door: Door) -> None:
        run = workers.share("c")
        first = asyncio.create_task(run(door.hold, lane=Lane.QUICK))
        await door.until_entered()
        second = asyncio.create_task(run(lambda: begun.append("second"), lane=Lane.QUICK))
        await asyncio.sleep(0)
        workers.forget("c")
        with pytest.raises(RpcError, match="nobody waits"):
            await second
        door.opened.set()
        assert await first == "held"

    _with_workers(scenario, GatewayLimits(quick_threads=1))

    assert begun == []


def test_a_client_installs_two_things_at_once_and_others_are_not_held_up() -> None:
    async def scenario(workers: Workers, door: Door) -> None:
        run = workers.share("c")
        held = [asyncio.create_task(run(door.hold, lane=Lane.INSTALL)) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(RpcError) as refused:
            await run(door.hold, lane=Lane.INSTALL)

        assert refused.value.reason is Code.RATE_LIMITED
        assert await workers.share("d")(lambda: "served", lane=Lane.INSTALL) == "served"
        door.opened.set()
        await asyncio.gather(*held)

    _with_workers(scenario, GatewayLimits())


@pytest.mark.parametrize("raised", [StopIteration(), SystemExit(3), KeyboardInterrupt()])
def test_what_would_end_a_program_ends_one_call(raised: BaseException) -> None:
    def work() -> None:
        raise raised

    async def scenario(workers: Workers, _door: Door) -> None:
        with pytest.raises(RuntimeError, match=type(raised).__name__):
            await workers.share("c")(work, lane=Lane.QUICK)

    _with_workers(scenario, GatewayLimits())


def test_the_end_waits_for_a_write_and_begins_nothing_more() -> None:
    async def scenario(workers: Workers, door: Door) -> None:
        writing = asyncio.create_task(workers.share("c")(door.hold, lane=Lane.QUICK))
        await door.until_entered()
        ending = asyncio.create_task(workers.finish(30))
        await asyncio.sleep(0)
        with pytest.raises(RpcError, match="stopping"):
            await workers.share("d")(lambda: None, lane=Lane.QUICK)

        assert not ending.done()
        door.opened.set()
        await ending
        assert await writing == "held"

    _with_workers(scenario, GatewayLimits())


def test_a_call_that_hangs_does_not_keep_the_program_alive() -> None:
    script = (
        "import asyncio, threading\n"
        "from prowess.gateway.limits import GatewayLimits\n"
        "from prowess.gateway.dispatch import Lane, Workers\n"
        "async def main():\n"
        "    workers, entered = Workers(GatewayLimits()), threading.Event()\n"
        "    def hang():\n"
        "        entered.set()\n"
        "        threading.Event().wait()\n"
        "    task = asyncio.create_task(workers.share('c')(hang, lane=Lane.INSTALL))\n"
        "    await asyncio.to_thread(entered.wait)\n"
        "    await workers.finish(1)\n"
        "asyncio.run(main())\n"
        "print('ended')\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, timeout=60, check=True
    )

    assert (done.stdout.strip(), done.stderr) == (b"ended", b"")
