"""Limits: bursts, rates, and who has to wait after wrong tokens; the clock is the test's."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.gateway.hub import Outbox
from prowess.gateway.limits import FailureTable, TokenBucket


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_is_allowed_and_then_a_steady_rate() -> None:
    clock = Clock()
    bucket = TokenBucket(60, 120, clock)

    burst = [bucket.take() for _ in range(121)]
    clock.now += 1
    later = [bucket.take() for _ in range(61)]

    assert burst == [True] * 120 + [False]
    assert later == [True] * 60 + [False]


@given(st.lists(st.floats(0, 2), max_size=200))
@settings(max_examples=50)
def test_no_pattern_gets_more_than_the_burst_and_the_rate(steps: list[float]) -> None:
    clock = Clock()
    bucket = TokenBucket(60, 120, clock)
    taken = 0

    for step in steps:
        clock.now += step
        while bucket.take():
            taken += 1

    assert taken <= 120 + 60 * (clock.now - 100.0) + 1


def test_wrong_tokens_cost_ever_longer_waits_up_to_a_bound() -> None:
    clock = Clock()
    table = FailureTable(clock)
    waits = []

    for _ in range(14):
        table.failed("10.0.0.1")
        waits.append(table.seconds_to_wait("10.0.0.1"))
        clock.now += waits[-1]

    assert waits[:5] == [0.0] * 5
    assert waits[5:9] == [0.5, 1.0, 2.0, 4.0]
    assert set(waits[9:]) == {5.0}
    assert table.seconds_to_wait("10.0.0.2") == 0


def test_time_makes_up_for_it() -> None:
    clock = Clock()
    table = FailureTable(clock)
    for _ in range(9):
        table.failed("a")

    clock.now += 1000
    table.failed("a")

    assert table.seconds_to_wait("a") == 0


def test_the_table_is_bounded_and_a_network_counts_as_one() -> None:
    table = FailureTable(Clock(), most=50)

    for number in range(500):
        table.failed(f"10.0.{number // 250}.{number % 250}")
    crowd = len(table)
    for number in range(6):
        table.failed(f"2001:db8::{number:x}")

    assert crowd == 50
    assert table.seconds_to_wait("2001:db8::ffff") > 0
    assert table.seconds_to_wait("::ffff:10.9.9.9") == 0


def test_a_queue_is_bounded_by_number_and_by_bytes() -> None:
    few, small = Outbox(2, 1000), Outbox(100, 10)

    assert [few.put("x") for _ in range(3)] == [True, True, False]
    assert [small.put("ääää"), small.put("xx"), small.put("x")] == [True, True, False]
    assert Outbox(5, 10).put("x" * 100)


def test_what_was_put_is_read_in_order_until_finished() -> None:
    async def read() -> list[str]:
        outbox, found = Outbox(10, 1000), []
        outbox.put("one")
        outbox.put("two")
        outbox.finish()
        while (text := await outbox.first()) is not None:
            found.append(text)
            outbox.sent()
        return found

    assert asyncio.run(read()) == ["one", "two"]


@pytest.mark.parametrize("end", ["finish", "abandon"])
def test_who_waits_for_an_empty_queue_is_let_go(end: str) -> None:
    async def wait() -> str | None:
        outbox = Outbox(10, 1000)
        waiting = asyncio.create_task(outbox.first())
        await asyncio.sleep(0)
        getattr(outbox, end)()
        return await waiting

    assert asyncio.run(wait()) is None
