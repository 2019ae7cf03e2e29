"""Streams of events: their order, their bound, and what they say about losses."""

import asyncio
import gc
from collections.abc import Awaitable
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.client.calls import RECONNECTED, Event, Events, EventStream, GatewayLostError

T = TypeVar("T")


def _frame(name: str, sequence: int) -> dict[str, object]:
    return {"type": "event", "event": name, "payload": {"n": sequence}, "seq": sequence}


async def _rest(stream: EventStream) -> list[Event]:
    return [event async for event in stream]


def _run(work: Awaitable[T]) -> T:
    async def main() -> T:
        return await work

    return asyncio.run(main())


def test_events_come_in_their_order_and_only_those_that_were_asked_for() -> None:
    events = Events()
    everything, ticks = events.stream(frozenset(), 10), events.stream(frozenset({"tick"}), 10)

    for number, name in enumerate(("tick", "presence", "tick"), 1):
        events.hear(_frame(name, number))
    events.end(None)

    assert [event.sequence for event in _run(_rest(everything))] == [1, 2, 3]
    heard = _run(_rest(ticks))
    assert [(event.sequence, event.missed) for event in heard] == [(1, 0), (3, 0)]
    assert heard[0].payload == {"n": 1}


def test_a_gap_in_the_numbers_is_told_with_the_next_event() -> None:
    events = Events()
    stream = events.stream(frozenset(), 10)

    events.hear(_frame("tick", 1))
    events.hear(_frame("tick", 5))
    events.end(None)

    assert [event.missed for event in _run(_rest(stream))] == [0, 3]


def test_a_gap_before_an_event_of_another_name_is_not_forgotten() -> None:
    events = Events()
    stream = events.stream(frozenset({"tick"}), 10)

    events.hear(_frame("presence", 3))
    events.hear(_frame("tick", 4))
    events.end(None)

    assert [event.missed for event in _run(_rest(stream))] == [2]


@settings(max_examples=50)
@given(st.integers(1, 8), st.integers(0, 30))
def test_a_reader_that_is_too_slow_loses_the_oldest_and_is_told_how_many(
    buffer: int, sent: int
) -> None:
    events = Events()
    stream = events.stream(frozenset(), buffer)

    for number in range(1, sent + 1):
        events.hear(_frame("tick", number))
    events.end(None)
    heard = _run(_rest(stream))

    assert [event.sequence for event in heard] == list(range(1, sent + 1))[-buffer:]
    assert sum(event.missed or 0 for event in heard) + len(heard) == sent


def test_a_new_connection_is_told_to_every_stream_and_counts_from_one_again() -> None:
    events = Events()
    stream = events.stream(frozenset({"tick"}), 10)

    events.hear(_frame("tick", 7))
    events.returned()
    events.hear(_frame("tick", 1))
    events.end(None)

    heard = [(event.name, event.missed) for event in _run(_rest(stream))]
    assert heard == [("tick", 6), (RECONNECTED, None), ("tick", 0)]


def test_a_loss_that_nobody_can_count_stays_one_when_its_event_is_dropped() -> None:
    events = Events()
    stream = events.stream(frozenset(), 1)

    events.returned()
    events.hear(_frame("tick", 1))
    events.end(None)

    assert [event.missed for event in _run(_rest(stream))] == [None]


def test_what_came_before_the_end_is_read_before_the_end_is_raised() -> None:
    events = Events()
    stream = events.stream(frozenset(), 10)
    events.hear(_frame("tick", 1))

    events.end(GatewayLostError("gone"))

    async def read() -> Event:
        first = await anext(stream)
        with pytest.raises(GatewayLostError, match="gone"):
            await anext(stream)
        return first

    assert _run(read()).sequence == 1


def test_a_stream_made_after_the_end_is_over_at_once() -> None:
    events = Events()
    events.end(None)

    assert _run(_rest(events.stream(frozenset(), 10))) == []


def test_a_closed_stream_hears_no_more() -> None:
    events = Events()
    stream = events.stream(frozenset(), 10)

    stream.close()
    events.hear(_frame("tick", 1))

    assert _run(_rest(stream)) == []


def test_a_stream_that_nobody_holds_is_forgotten() -> None:
    events = Events()
    events.stream(frozenset(), 10)
    gc.collect()

    event = events.hear(_frame("tick", 1))

    assert event.sequence == 1


def test_a_reader_waits_until_something_comes() -> None:
    async def both() -> Event:
        events = Events()
        stream = events.stream(frozenset(), 10)
        reading = asyncio.create_task(anext(stream))
        await asyncio.sleep(0)
        events.hear(_frame("tick", 1))
        return await reading

    assert _run(both()).name == "tick"
