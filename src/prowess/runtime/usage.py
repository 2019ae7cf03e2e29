"""What became of skills: listed, routed, loaded, invoked, corrected.

Kept are names of skills that the service knows, ids of agents, kinds and times; never a message, a
prompt or a path. A message that no skill fitted is counted for its day and agent, and nothing else
of it is kept. It is a help and no duty: whoever notes something is neither stopped nor held up
by a store that cannot be written. What could not be written waits in memory, within the bounds of
the store itself, and is counted once. Being listed happens at every turn to every skill, so it is
only counted, and written now and then; everything else is written at once.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, Protocol

from prowess.errors import ProwessError, StoreError
from prowess.runtime.service import SkillsService
from prowess.skills.text import clean

MOST_EVENTS = 20_000
# Of a skill and an agent together, each with its five numbers.
MOST_PAIRS = 10_000
# Of a day, a skill and an agent together.
MOST_DAYS = 50_000
LONGEST_NAME = 200
_MOST_TOTALS_SHOWN = 2_000


class Use(StrEnum):
    """What happened to a skill."""

    LISTED = "listed"
    ROUTED = "routed"
    LOADED = "loaded"
    INVOKED = "invoked"
    CORRECTED = "corrected"


# The uses by which a skill earns its place in a prompt.
WORTH = frozenset((Use.LOADED, Use.INVOKED))

Pair = tuple[str, str]
_DAY_MS = 86_400_000
# The number that a calendar gives to the first day of 1970.
_FIRST_DAY = 719_163


def utc_day(at_ms: int) -> int:
    """Return the number of the day of a moment, as calendars count, in no place's own time."""
    return at_ms // _DAY_MS + _FIRST_DAY


# Tuples: a hook makes these classes at every prompt, and dataclasses take several times as long.
class UsageEvent(NamedTuple):
    """One use of one skill."""

    use: Use
    skill: str
    agent_id: str
    at_ms: int
    # Given by the store, and always growing.
    sequence: int = 0


class UsageTotal(NamedTuple):
    """How often each thing happened to one skill of one agent."""

    skill: str
    agent_id: str
    counts: Mapping[Use, int]
    last_used_ms: int | None = None


class UsageDay(NamedTuple):
    """How often each thing happened on one day to one skill of one agent."""

    # Counted as calendars count days, in the time of the place.
    day: int
    agent_id: str
    # Empty for messages that no skill fitted.
    skill: str = ""
    counts: Mapping[Use, int] = MappingProxyType({})
    unmatched: int = 0


class UsageQuery(NamedTuple):
    """Which part of the log somebody wants to see; None stands for all."""

    agent_id: str | None = None
    skill: str | None = None
    after: int = 0
    most_events: int = 100
    most_totals: int = _MOST_TOTALS_SHOWN


class UsagePage(NamedTuple):
    """A part of the log, oldest event first."""

    totals: tuple[UsageTotal, ...] = ()
    events: tuple[UsageEvent, ...] = ()
    # Whether there are events after these.
    more: bool = False


class UsageStore(Protocol):
    """Keeps the log; safe for several threads and processes."""

    def add(
        self,
        totals: Sequence[UsageTotal],
        events: Sequence[UsageEvent],
        at_ms: int,
        days: Sequence[UsageDay] = (),
    ) -> None:
        """Add numbers to what is counted and events to the log, all or none of them.

        Raises:
            StoreError: it cannot be written.
        """

    def days(self, first: int, agent_id: str | None) -> Sequence[UsageDay]:
        """Return what happened from a day on, to one agent's skills or to all.

        Raises:
            StoreError: it cannot be read.
        """

    def read(self, query: UsageQuery) -> UsagePage:
        """Return a part of the log.

        Raises:
            StoreError: it cannot be read.
        """

    def last_used(self, agent_id: str | None = None) -> Mapping[str, int]:
        """Return when each skill was last used, by one agent or by any, in milliseconds since 1970.

        Raises:
            StoreError: it cannot be read.
        """

    def close(self) -> None:
        """Give back what the store holds open."""


log = logging.getLogger(__name__)

_LISTED_WAIT_MS = 5_000
_RETRY_MS = 5_000


class _Waiting:
    """What is not written yet."""

    def __init__(self) -> None:
        self.counts: dict[Pair, dict[Use, int]] = {}
        self.used: dict[Pair, int] = {}
        # The store would forget the oldest of more than these too.
        self.events: deque[UsageEvent] = deque(maxlen=MOST_EVENTS)
        # By day, skill and agent; under None what no skill fitted.
        self.days: dict[tuple[int, str, str], dict[Use | None, int]] = {}
        self.last_ms = 0
        # Whether anything but being listed is among it: that alone may wait a while.
        self.is_urgent = False

    def __bool__(self) -> bool:
        return bool(self.counts or self.days)

    def count_day(self, use: Use | None, place: tuple[int, str, str], number: int = 1) -> None:
        """Count some uses of one kind for their day."""
        # The earliest day is of the least use to anybody.
        if place not in self.days and len(self.days) >= MOST_DAYS:
            del self.days[min(self.days)]
        counts = self.days.setdefault(place, {})
        counts[use] = counts.get(use, 0) + number

    def count(self, use: Use, pair: Pair, at_ms: int, number: int = 1) -> None:
        """Count some uses of one kind."""
        # As the store does, and for the same reason: the one that was known first goes first.
        if pair not in self.counts and len(self.counts) >= MOST_PAIRS:
            oldest = next(iter(self.counts))
            del self.counts[oldest]
            self.used.pop(oldest, None)
        counts = self.counts.setdefault(pair, {})
        counts[use] = counts.get(use, 0) + number
        self.last_ms = max(self.last_ms, at_ms)
        if use in WORTH:
            self.used[pair] = max(self.used.get(pair, 0), at_ms)

    def totals(self) -> list[UsageTotal]:
        """Return the numbers to be added."""
        return [
            UsageTotal(
                skill=skill,
                agent_id=agent_id,
                counts=counts,
                last_used_ms=self.used.get((skill, agent_id)),
            )
            for (skill, agent_id), counts in self.counts.items()
        ]

    def by_day(self) -> list[UsageDay]:
        """Return the numbers of days to be added."""
        return [
            UsageDay(
                day=day,
                skill=skill,
                agent_id=agent_id,
                counts={use: number for use, number in counts.items() if use is not None},
                unmatched=counts.get(None, 0),
            )
            for (day, skill, agent_id), counts in self.days.items()
        ]

    def put_back(self, older: "_Waiting") -> None:
        """Take in what could not be written and is older than this."""
        newer, self.counts = self.counts, {}
        for counted in (older.counts, newer):
            for pair, counts in counted.items():
                for use, number in counts.items():
                    self.count(use, pair, older.used.get(pair, 0), number)
        for place, on_day in older.days.items():
            for kind, number in on_day.items():
                self.count_day(kind, place, number)
        self.events = deque((*older.events, *self.events), maxlen=MOST_EVENTS)
        self.last_ms = max(self.last_ms, older.last_ms)
        self.is_urgent |= older.is_urgent


class UsageLog:
    """The log of what became of skills; safe from any thread."""

    def __init__(
        self,
        store: UsageStore,
        *,
        known: Callable[[str], Collection[str]],
        now_ms: Callable[[], int],
        day_of: Callable[[int], int] = utc_day,
    ) -> None:
        """Nothing is opened yet.

        Args:
            store: where it is kept.
            known: the names of all skills of an agent; what is not among them is not noted.
            now_ms: milliseconds since 1970.
            day_of: from such a moment to the number of its day.
        """
        self._store, self._known, self._now_ms = store, known, now_ms
        self.day_of = day_of
        self._waiting = _Waiting()
        # The first guards what waits; the second is held by the one thread that writes.
        self._lock, self._writing = threading.Lock(), threading.Lock()
        self._written_ms = now_ms()
        self._failed_ms: int | None = None
        self._is_failing = False

    def note(self, use: Use, skills: Sequence[str], agent_id: str) -> None:
        """Remember that something happened to some skills of an agent; it never fails."""
        names = self._names(skills, agent_id)
        if not names:
            return
        now = self._now_ms()
        day = self.day_of(now)
        with self._lock:
            for name in names:
                self._waiting.count(use, (name, agent_id), now)
                self._waiting.count_day(use, (day, name, agent_id))
            if use is not Use.LISTED:
                self._waiting.is_urgent = True
                self._waiting.events.extend(
                    UsageEvent(use=use, skill=name, agent_id=agent_id, at_ms=now) for name in names
                )
        self._write_due(now)

    def note_route(
        self, skills: Sequence[str], agent_id: str, *, is_unmatched: bool = False
    ) -> None:
        """Count a message of an agent: for each skill that it was routed to, or for none."""
        if is_unmatched:
            self.note_unmatched(agent_id)
        elif skills:
            self.note(Use.ROUTED, skills, agent_id)

    def note_unmatched(self, agent_id: str) -> None:
        """Remember that a message to an agent fitted no skill, not which; it never fails."""
        now = self._now_ms()
        try:
            self._known(agent_id)
        except ProwessError:
            # An agent that is not configured any more has no messages.
            return
        with self._lock:
            self._waiting.count_day(None, (self.day_of(now), "", agent_id[:LONGEST_NAME]))
            self._waiting.is_urgent = True
        self._write_due(now)

    def today(self) -> int:
        """Return the number of the day that it is now."""
        return self.day_of(self._now_ms())

    def days(self, first: int, agent_id: str | None) -> Sequence[UsageDay]:
        """Return what happened from a day on; nothing while the store is broken."""
        self.flush()
        try:
            return self._store.days(first, agent_id)
        except StoreError as error:
            self._note_failure(error)
            return ()

    def _write_due(self, now: int) -> None:
        is_fine = True
        while is_fine and self._is_due(now) and self._writing.acquire(blocking=False):
            # Who comes meanwhile leaves it to this thread, which therefore looks again after.
            try:
                is_fine = self._write()
            finally:
                self._writing.release()

    def report(
        self, *, agent_id: str | None, skill: str | None, after: int, limit: int
    ) -> dict[str, object]:
        """Return the numbers and the events after a number, oldest first; none while it is broken.

        `nextSequence` is there where more events follow: it is the next `after`.
        """
        self.flush()
        query = UsageQuery(agent_id=agent_id, skill=skill, after=after, most_events=limit)
        try:
            page = self._store.read(query)
        except StoreError as error:
            self._note_failure(error)
            page = UsagePage()
        answer: dict[str, object] = {
            "totals": [_total(total) for total in page.totals],
            "events": [_event(event) for event in page.events],
        }
        if page.more:
            answer["nextSequence"] = page.events[-1].sequence
        return answer

    def last_used(self, agent_id: str | None = None) -> Mapping[str, int]:
        """Return when each skill was last loaded or invoked, in milliseconds since 1970."""
        try:
            found = dict(self._store.last_used(agent_id))
        except StoreError as error:
            # Use only breaks ties: a prompt without it is better than none.
            self._note_failure(error)
            found = {}
        with self._lock:
            for (skill, agent), at_ms in self._waiting.used.items():
                if agent_id in {None, agent}:
                    found[skill] = max(at_ms, found.get(skill, 0))
        return found

    def flush(self) -> None:
        """Write what waits, if it can be written."""
        with self._writing:
            self._write()

    def close(self) -> None:
        """Write what waits and give the store back; a later use opens it again."""
        self.flush()
        self._store.close()

    def _names(self, skills: Sequence[str], agent_id: str) -> list[str]:
        """Return the names that are those of skills, each once."""
        try:
            known = self._known(agent_id)
        except ProwessError:
            # An agent that is not configured any more has no skills.
            return []
        names = dict.fromkeys(name for name in skills if name in known)
        return [name for name in names if len(name) <= LONGEST_NAME]

    def _is_due(self, now: int) -> bool:
        with self._lock:
            # Either way: a clock that was set back must not stop the log for as long.
            if self._failed_ms is not None and abs(now - self._failed_ms) < _RETRY_MS:
                return False
            waited = abs(now - self._written_ms) >= _LISTED_WAIT_MS
            return self._waiting.is_urgent or (waited and bool(self._waiting))

    def _write(self) -> bool:
        """Write what waits; False where it has to wait longer."""
        with self._lock:
            batch, self._waiting = self._waiting, _Waiting()
        if not batch:
            return True
        try:
            self._store.add(batch.totals(), tuple(batch.events), batch.last_ms, batch.by_day())
        except StoreError as error:
            with self._lock:
                self._waiting.put_back(batch)
                self._failed_ms = self._now_ms()
            self._note_failure(error)
            return False
        with self._lock:
            self._written_ms, self._failed_ms = self._now_ms(), None
        self._is_failing = False
        return True

    def _note_failure(self, error: StoreError) -> None:
        if not self._is_failing:
            log.warning("usage.unusable: %s", error)
        self._is_failing = True


def know_names(skills: SkillsService) -> Callable[[str], Collection[str]]:
    """Return what tells the names of all skills of an agent, for `UsageLog`."""

    def known(agent_id: str) -> Collection[str]:
        with skills.lock:
            return skills.workspace(agent_id).state(skills.settings).catalog.winners.keys()

    return known


def _total(total: UsageTotal) -> dict[str, object]:
    used = total.last_used_ms
    return {
        "name": clean(total.skill),
        "agentId": clean(total.agent_id),
        **{use.value: total.counts.get(use, 0) for use in Use},
        "lastUsedAt": None if used is None else _moment(used),
    }


def _event(event: UsageEvent) -> dict[str, object]:
    return {
        "sequence": event.sequence,
        "at": _moment(event.at_ms),
        "type": event.use.value,
        "name": clean(event.skill),
        "agentId": clean(event.agent_id),
    }


def _moment(at_ms: int) -> str:
    try:
        moment = datetime.fromtimestamp(at_ms / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        # A store is a file like any other, and may say anything.
        moment = datetime.fromtimestamp(0, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


_MOST_SHOWN = 1_000


class Sums:
    """How often each thing happened."""

    def __init__(self) -> None:
        self.uses: dict[Use, int] = dict.fromkeys(Use, 0)
        # Messages that no skill fitted.
        self.unmatched = 0

    def add(self, day: UsageDay) -> None:
        """Add the numbers of one row."""
        for use, number in day.counts.items():
            self.uses[use] += number
        self.unmatched += day.unmatched

    @property
    def worth(self) -> int:
        """How often a skill was really used."""
        return sum(self.uses[use] for use in WORTH)


class SkillUse(NamedTuple):
    """One skill: its sums, and when it was last used by who was asked about."""

    name: str
    sums: Sums
    last_used_ms: int | None = None


class Activity(NamedTuple):
    """Some days up to today, the earliest first; every day is there."""

    agent_id: str | None
    days: Mapping[date, Sums]
    # The most used first.
    skills: tuple[SkillUse, ...]
    agents: Mapping[str, Sums]
    # Ready for the agent (or any), and never loaded or invoked as far as anybody remembers: how
    # many there are, and the first of them.
    never_used_total: int
    never_used: tuple[str, ...]

    @property
    def total(self) -> Sums:
        """The sums of all days."""
        whole = Sums()
        for sums in self.days.values():
            for use, number in sums.uses.items():
                whole.uses[use] += number
            whole.unmatched += sums.unmatched
        return whole


def activity(log: UsageLog, skills: SkillsService, agent_id: str | None, number: int) -> Activity:
    """Return what happened on the last days, today included, to one agent's skills or to all.

    Raises:
        UnknownAgentError: there is no such agent.
    """
    agents = [agent.id for agent in skills.settings.agents]
    asked = agents if agent_id is None else [skills.agent(agent_id).id]
    today = log.today()
    first = max(1, today - number + 1)
    rows = [row for row in log.days(first, agent_id) if row.day <= today]
    days = {date.fromordinal(day): Sums() for day in range(first, today + 1)}
    for row in rows:
        days[date.fromordinal(row.day)].add(row)
    last_used = log.last_used(None if agent_id is None else asked[0])
    ready = {row.skill.name for one in asked for row in skills.status(one).skills if row.usable}
    never = sorted(ready - last_used.keys())
    return Activity(
        agent_id=agent_id,
        days=days,
        skills=_by_skill(rows, last_used),
        agents=_by_agent(rows, asked),
        never_used_total=len(never),
        never_used=tuple(never[:_MOST_SHOWN]),
    )


def _by_skill(rows: Iterable[UsageDay], last_used: Mapping[str, int]) -> tuple[SkillUse, ...]:
    sums: dict[str, Sums] = {}
    for row in rows:
        if row.skill:
            sums.setdefault(row.skill, Sums()).add(row)
    found = [
        SkillUse(name=name, sums=each, last_used_ms=last_used.get(name))
        for name, each in sums.items()
    ]
    found.sort(key=lambda one: (-one.sums.worth, -one.sums.uses[Use.ROUTED], one.name))
    return tuple(found[:_MOST_SHOWN])


def _by_agent(rows: Iterable[UsageDay], asked: Sequence[str]) -> dict[str, Sums]:
    sums = {agent: Sums() for agent in asked}
    for row in rows:
        # One that is no longer configured still did what it did.
        sums.setdefault(row.agent_id, Sums()).add(row)
    return sums
