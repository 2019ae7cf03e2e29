"""The log of uses: what is counted, what is kept, and that it never stands in anybody's way."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import settings as checks
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.errors import StoreError, UnknownAgentError
from prowess.runtime import usage
from prowess.runtime.usage import (
    LONGEST_NAME,
    UsageDay,
    UsageEvent,
    UsageLog,
    UsagePage,
    UsageQuery,
    UsageTotal,
    Use,
    know_names,
    utc_day,
)
from prowess.settings import AgentSettings, Settings
from prowess.testing import make_skill, open_memory

NAMES = ("deploy", "review", "notes")
START = 1_700_000_000_000


@dataclass(slots=True)
class MemoryUsage:
    """A store that forgets with the process, and that a test can break."""

    totals: dict[tuple[str, str], UsageTotal] = field(default_factory=dict)
    events: list[UsageEvent] = field(default_factory=list)
    by_day: list[UsageDay] = field(default_factory=list)
    adds: int = 0
    tries: int = 0
    closed: int = 0
    broken: bool = False

    def add(
        self,
        totals: Sequence[UsageTotal],
        events: Sequence[UsageEvent],
        at_ms: int,
        days: Sequence[UsageDay] = (),
    ) -> None:
        """Add it all."""
        del at_ms
        self.tries += 1
        self._refuse()
        self.adds += 1
        for total in totals:
            pair = (total.skill, total.agent_id)
            known = self.totals.get(pair)
            counts = known.counts if known else {}
            used = max(total.last_used_ms or 0, (known and known.last_used_ms) or 0)
            self.totals[pair] = total._replace(
                counts={use: counts.get(use, 0) + total.counts.get(use, 0) for use in Use},
                last_used_ms=used or None,
            )
        for event in events:
            self.events.append(event._replace(sequence=len(self.events) + 1))
        self.by_day.extend(days)

    def days(self, first: int, agent_id: str | None) -> Sequence[UsageDay]:
        """Return the days as they were added, one after the other."""
        self._refuse()
        return [
            one
            for one in self.by_day
            if one.day >= first and (agent_id is None or one.agent_id == agent_id)
        ]

    def read(self, query: UsageQuery) -> UsagePage:
        """Return all that is asked for, of any skill."""
        self._refuse()
        found = [event for event in self.events if event.sequence > query.after]
        return UsagePage(
            totals=tuple(self.totals.values()),
            events=tuple(found[: query.most_events]),
            more=len(found) > query.most_events,
        )

    def last_used(self, agent_id: str | None = None) -> Mapping[str, int]:
        """Return when each skill was last used."""
        self._refuse()
        asked = [one for one in self.totals.values() if agent_id in {None, one.agent_id}]
        return {one.skill: one.last_used_ms for one in asked if one.last_used_ms}

    def close(self) -> None:
        """Count it."""
        self.closed += 1

    def _refuse(self) -> None:
        if self.broken:
            raise StoreError("usage.db", "cannot be used (disk full).")


@dataclass(slots=True)
class Clock:
    """A clock that a test sets."""

    ms: int = START

    def __call__(self) -> int:
        return self.ms


def log_of(
    store: MemoryUsage, clock: Clock | None = None, names: Sequence[str] = NAMES
) -> UsageLog:
    return UsageLog(store, known=lambda _agent: set(names), now_ms=clock or Clock())


def report(log: UsageLog, after: int = 0, limit: int = 100) -> dict[str, object]:
    return log.report(agent_id=None, skill=None, after=after, limit=limit)


def test_a_use_is_counted_and_kept_as_an_event_at_once() -> None:
    store = MemoryUsage()
    log = log_of(store)

    log.note(Use.LOADED, ["deploy"], "main")
    log.note(Use.ROUTED, ["deploy", "review"], "main")

    assert store.adds == 2
    assert report(log) == {
        "totals": [
            {
                "name": "deploy",
                "agentId": "main",
                "listed": 0,
                "routed": 1,
                "loaded": 1,
                "invoked": 0,
                "corrected": 0,
                "lastUsedAt": "2023-11-14T22:13:20.000Z",
            },
            {
                "name": "review",
                "agentId": "main",
                "listed": 0,
                "routed": 1,
                "loaded": 0,
                "invoked": 0,
                "corrected": 0,
                "lastUsedAt": None,
            },
        ],
        "events": [
            {
                "sequence": sequence,
                "at": "2023-11-14T22:13:20.000Z",
                "type": kind,
                "name": name,
                "agentId": "main",
            }
            for sequence, kind, name in (
                (1, "loaded", "deploy"),
                (2, "routed", "deploy"),
                (3, "routed", "review"),
            )
        ],
    }


def test_listings_are_only_counted_and_written_together() -> None:
    store, clock = MemoryUsage(), Clock()
    log = log_of(store, clock)

    for _ in range(1_000):
        log.note(Use.LISTED, NAMES, "main")
    written = store.adds
    clock.ms += 5_000
    log.note(Use.LISTED, NAMES, "main")

    assert (written, store.adds, store.events) == (0, 1, [])
    assert [total.counts[Use.LISTED] for total in store.totals.values()] == [1_001] * 3


def test_listings_that_wait_are_in_every_report_and_saved_at_the_end() -> None:
    store = MemoryUsage()
    log = log_of(store)
    log.note(Use.LISTED, ["deploy"], "main")
    reported = report(log)["totals"]
    log.note(Use.LISTED, ["deploy"], "main")
    log.close()

    assert isinstance(reported, list)
    assert reported[0]["listed"] == 1
    assert store.totals["deploy", "main"].counts[Use.LISTED] == 2
    assert store.closed == 1


def test_events_come_in_pages() -> None:
    log = log_of(MemoryUsage())
    for name in NAMES:
        log.note(Use.INVOKED, [name], "main")

    first = report(log, limit=2)
    second = report(log, after=2, limit=2)

    assert first["nextSequence"] == 2
    assert "nextSequence" not in second
    assert isinstance(second["events"], list)
    assert [event["name"] for event in second["events"]] == ["notes"]


@each_row("use", Use)
def test_only_loading_and_invoking_count_as_worth(use: Use) -> None:
    log = log_of(MemoryUsage())

    log.note(use, ["deploy"], "main")

    expected = {"deploy": START} if use in {Use.LOADED, Use.INVOKED} else {}
    assert log.last_used() == expected


def test_a_clock_that_goes_back_does_not_take_worth_away() -> None:
    clock = Clock()
    log = log_of(MemoryUsage(), clock)
    log.note(Use.LOADED, ["deploy"], "main")
    clock.ms -= 3_600_000
    log.note(Use.LOADED, ["deploy"], "main")

    assert log.last_used() == {"deploy": START}


def test_names_that_no_skill_has_are_not_noted() -> None:
    store = MemoryUsage()
    long = "x" * (LONGEST_NAME + 1)
    log = log_of(store, names=[*NAMES, long])

    log.note(Use.ROUTED, ["my password is hunter2", "/etc/passwd", "", long], "main")
    log.note(Use.ROUTED, ["deploy", "nothing"], "main")

    assert list(store.totals) == [("deploy", "main")]


def test_an_agent_that_is_not_there_any_more_notes_nothing() -> None:
    def known(agent_id: str) -> set[str]:
        raise UnknownAgentError(agent_id, ["main"])

    store = MemoryUsage()
    log = UsageLog(store, known=known, now_ms=Clock())

    log.note(Use.LOADED, ["deploy"], "nobody")

    assert store.adds == 0


def test_the_service_says_which_names_are_known() -> None:
    settings = Settings(agents=(AgentSettings(id="main"),))
    known = know_names(open_memory([make_skill("deploy", bins=("none",))], settings=settings))

    assert set(known("main")) == {"deploy"}
    with pytest.raises(UnknownAgentError):
        known("nobody")


def test_a_store_that_cannot_be_written_is_warned_about_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store, clock = MemoryUsage(broken=True), Clock()
    log = log_of(store, clock)

    for _ in range(20):
        clock.ms += 10_000
        log.note(Use.LOADED, ["deploy"], "main")
    broken = report(log)

    assert caplog.text.count("usage.unusable") == 1
    assert broken == {"totals": [], "events": []}
    assert log.last_used() == {"deploy": clock.ms}


def test_a_store_that_failed_is_left_alone_for_a_while() -> None:
    store, clock = MemoryUsage(broken=True), Clock()
    log = log_of(store, clock)

    for _ in range(100):
        log.note(Use.LOADED, ["deploy"], "main")

    assert store.tries == 1


@pytest.mark.parametrize("step", [10_000, -10_000])
def test_what_could_not_be_written_is_written_later_and_once(step: int) -> None:
    store, clock = MemoryUsage(broken=True), Clock()
    log = log_of(store, clock)
    log.note(Use.LOADED, ["deploy"], "main")
    log.note(Use.LISTED, NAMES, "main")
    log.note(Use.CORRECTED, ["review"], "main")
    store.broken = False
    clock.ms += step

    log.note(Use.INVOKED, ["deploy"], "main")
    log.flush()

    kinds = [(event.use, event.skill) for event in store.events]
    assert kinds == [(Use.LOADED, "deploy"), (Use.CORRECTED, "review"), (Use.INVOKED, "deploy")]
    assert store.totals["deploy", "main"].counts == {
        Use.LISTED: 1,
        Use.ROUTED: 0,
        Use.LOADED: 1,
        Use.INVOKED: 1,
        Use.CORRECTED: 0,
    }
    assert store.totals["deploy", "main"].last_used_ms == max(START, clock.ms)


def test_what_waits_in_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "MOST_EVENTS", 20)
    monkeypatch.setattr(usage, "MOST_PAIRS", 10)
    store, clock = MemoryUsage(broken=True), Clock()
    log = log_of(store, clock, [f"skill-{number}" for number in range(100)])

    for number in range(100):
        clock.ms += 10_000
        log.note(Use.LOADED, [f"skill-{number}"], "main")
    store.broken = False
    log.flush()

    assert len(store.events) == 20
    assert list(store.totals) == [(f"skill-{number}", "main") for number in range(90, 100)]


def test_many_threads_lose_and_double_nothing() -> None:
    store, clock = MemoryUsage(), Clock()
    log = log_of(store, clock)

    def work(name: str) -> None:
        for _ in range(200):
            log.note(Use.ROUTED, [name], "main")
            log.note(Use.LISTED, NAMES, "main")

    threads = [threading.Thread(target=work, args=(NAMES[at % 3],)) for at in range(9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    waiting = len(store.events)
    log.close()

    assert (waiting, len(store.events)) == (1_800, 1_800)
    counts = [one.counts for one in store.totals.values()]
    assert [(one[Use.ROUTED], one[Use.LISTED]) for one in counts] == [(600, 1_800)] * 3


@checks(max_examples=50)
@given(
    notes=st.lists(
        st.tuples(
            st.sampled_from(Use),
            st.lists(st.sampled_from([*NAMES, "unknown"]), max_size=4),
            st.sampled_from(["main", "other"]),
            st.booleans(),
            st.integers(-20_000, 20_000),
        ),
        max_size=30,
    )
)
def test_every_use_is_counted_exactly_once_whatever_fails_meanwhile(
    notes: list[tuple[Use, list[str], str, bool, int]],
) -> None:
    store, clock = MemoryUsage(), Clock()
    log = log_of(store, clock)
    expected: dict[tuple[str, str, Use], int] = {}

    for use, names, agent, broken, step in notes:
        store.broken = broken
        clock.ms += step
        log.note(use, names, agent)
        for name in set(names) - {"unknown"}:
            expected[name, agent, use] = expected.get((name, agent, use), 0) + 1
    store.broken = False
    log.flush()

    counted = {
        (skill, agent, use): number
        for (skill, agent), total in store.totals.items()
        for use, number in total.counts.items()
        if number
    }
    assert counted == expected
    kept = sum(number for (_, _, use), number in expected.items() if use is not Use.LISTED)
    assert len(store.events) == kept


def test_names_are_shown_without_what_moves_a_cursor_and_times_are_never_wrong_enough_to_fail() -> (
    None
):
    store = MemoryUsage()
    store.events.append(
        UsageEvent(use=Use.LOADED, skill="a\x1b[2J", agent_id="\x07b", at_ms=10**30, sequence=1)
    )
    log = log_of(store)

    assert report(log)["events"] == [
        {
            "sequence": 1,
            "at": "1970-01-01T00:00:00.000Z",
            "type": "loaded",
            "name": "a",
            "agentId": "b",
        }
    ]


def test_each_use_counts_for_its_day() -> None:
    store, clock = MemoryUsage(), Clock()
    log = log_of(store, clock)

    log.note(Use.ROUTED, ["deploy"], "main")
    clock.ms += 86_400_000
    log.note(Use.ROUTED, ["deploy", "notes"], "main")
    found = log.days(0, "main")

    today = utc_day(clock.ms)
    assert log.today() == today
    assert [(one.day, one.skill, one.counts[Use.ROUTED]) for one in found] == [
        (today - 1, "deploy", 1),
        (today, "deploy", 1),
        (today, "notes", 1),
    ]


def test_a_message_that_fitted_nothing_is_counted_without_a_name() -> None:
    store = MemoryUsage()
    log = log_of(store)

    log.note_unmatched("main")
    log.note_unmatched("main")

    found = log.days(0, None)
    assert [(one.skill, one.agent_id, one.counts) for one in found] == [("", "main", {})] * 2
    assert sum(one.unmatched for one in found) == 2
    assert store.totals == {}
    assert store.events == []


def test_an_agent_that_nobody_knows_counts_for_nothing() -> None:
    def known(agent_id: str) -> set[str]:
        raise UnknownAgentError(agent_id, ["main"])

    store = MemoryUsage()
    log = UsageLog(store, known=known, now_ms=Clock())

    log.note_unmatched("ghost")
    log.flush()

    assert store.by_day == []


def test_days_that_could_not_be_written_are_written_once_later() -> None:
    store = MemoryUsage(broken=True)
    log = log_of(store)
    log.note_unmatched("main")
    log.note(Use.LOADED, ["deploy"], "main")
    assert log.days(0, None) == ()

    store.broken = False
    log.flush()
    log.flush()

    found = {one.skill: (one.unmatched, one.counts.get(Use.LOADED)) for one in store.by_day}
    assert found == {"": (1, None), "deploy": (0, 1)}
    assert len(store.by_day) == 2


def test_days_that_wait_have_a_bound_and_the_earliest_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "MOST_DAYS", 3)
    store, clock = MemoryUsage(broken=True), Clock()
    log = log_of(store, clock)
    for _ in range(6):
        clock.ms += 86_400_000
        log.note_unmatched("main")

    store.broken = False
    found = log.days(0, None)

    assert [one.day for one in found] == [log.today() - 2, log.today() - 1, log.today()]
