"""The log of use, kept by a file and by PostgreSQL: the same questions get the same answers."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from prowess.host.store.fleet.caches import LastKnownUsage
from prowess.host.store.usage import SqliteUsage
from prowess.runtime.usage import UsageDay, UsageEvent, UsageQuery, UsageStore, UsageTotal, Use

START = 1_700_000_000_000


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[UsageStore]:
    bounds = {"most_events": 50, "most_pairs": 10, "most_days": 3}
    if request.param == "postgresql":
        yield LastKnownUsage(request.getfixturevalue("postgres"), **bounds)
        return
    opened = SqliteUsage(str(tmp_path / "usage.db"), **bounds)
    yield opened
    opened.close()


def add(store: UsageStore, *skills: str, at_ms: int = START, agent: str = "main") -> None:
    totals = [UsageTotal(skill, agent, {Use.LOADED: 1}, at_ms) for skill in skills]
    events = [UsageEvent(Use.LOADED, skill, agent, at_ms) for skill in skills]
    store.add(totals, events, at_ms)


def test_numbers_add_up_and_times_never_go_back(store: UsageStore) -> None:
    add(store, "deploy", at_ms=START + 5)
    add(store, "deploy", at_ms=START)
    store.add([UsageTotal("deploy", "main", {Use.LISTED: 3})], [], START)

    (total,) = store.read(UsageQuery()).totals

    assert (total.counts[Use.LOADED], total.counts[Use.LISTED]) == (2, 3)
    assert total.last_used_ms == START + 5
    assert store.last_used() == {"deploy": START + 5}


def test_a_reader_chooses_by_agent_skill_and_number(store: UsageStore) -> None:
    add(store, "deploy", "notes")
    add(store, "deploy", agent="other")

    assert len(store.read(UsageQuery(skill="deploy")).events) == 2
    assert [one.skill for one in store.read(UsageQuery(agent_id="other")).events] == ["deploy"]
    first = store.read(UsageQuery(most_events=1))
    rest = store.read(UsageQuery(after=first.events[0].sequence))
    assert (first.more, rest.more) == (True, False)
    assert [one.skill for one in rest.events] == ["notes", "deploy"]
    assert store.last_used("other") == {"deploy": START}


def test_days_add_up_and_are_read_from_a_day_on(store: UsageStore) -> None:
    for day in (1, 2, 2):
        store.add([], [], START, [UsageDay(day, "main", "notes", {Use.ROUTED: 1}, 2)])

    (found,) = store.days(2, None)

    assert (found.counts[Use.ROUTED], found.unmatched) == (2, 4)
    assert store.days(1, "nobody") == []


def test_a_name_that_no_table_can_hold_is_kept_as_far_as_it_can_be(store: UsageStore) -> None:
    add(store, "half \ud83d", "x" * 5_000)

    assert len(store.read(UsageQuery()).totals) == 2


def test_it_stays_small(store: UsageStore) -> None:
    for number in range(130):
        add(store, f"skill-{number}", at_ms=START + number)
        store.add([], [], START, [UsageDay(number, "main", "notes", {}, 1)])

    page = store.read(UsageQuery(most_events=1_000))

    # PostgreSQL looks at its bounds now and then.
    assert len(page.totals) <= 10 + 64
    assert len(page.events) <= 50 + 64
    assert len(store.days(0, None)) <= 3 + 64
    assert page.events[-1].skill == "skill-129"


def test_writers_at_once_lose_nothing(store: UsageStore) -> None:
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda _: add(store, "deploy"), range(40)))

    (total,) = store.read(UsageQuery()).totals
    assert total.counts[Use.LOADED] == 40
    numbers = [one.sequence for one in store.read(UsageQuery(most_events=100)).events]
    assert len(set(numbers)) == 40
