"""What became of skills: listed, routed, loaded, invoked, corrected.

Kept are names of skills that the service knows, ids of agents, kinds and times; never a message, a
prompt or a path. It is a help and no duty: whoever notes something is neither stopped nor held up
by a store that cannot be written. What could not be written waits in memory, within the bounds of
the store itself, and is counted once.

Being listed happens at every turn to every skill, so it is only counted, and written now and then
together with what else there is. All other uses are written at once.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Protocol

from prowess.errors import ProwessError, StoreError
from prowess.runtime.service import SkillsService
from prowess.skills.text import clean

log = logging.getLogger(__name__)

MOST_EVENTS = 20_000
# Of a skill and an agent together, each with its five numbers.
MOST_PAIRS = 10_000
LONGEST_NAME = 200
_MOST_TOTALS_SHOWN = 2_000
_LISTED_WAIT_MS = 5_000
_RETRY_MS = 5_000


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


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageEvent:
    """One use of one skill."""

    use: Use
    skill: str
    agent_id: str
    at_ms: int
    # Given by the store, and always growing.
    sequence: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageTotal:
    """How often each thing happened to one skill of one agent."""

    skill: str
    agent_id: str
    counts: Mapping[Use, int]
    last_used_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageQuery:
    """Which part of the log somebody wants to see; None stands for all."""

    agent_id: str | None = None
    skill: str | None = None
    after: int = 0
    most_events: int = 100
    most_totals: int = _MOST_TOTALS_SHOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class UsagePage:
    """A part of the log, oldest event first."""

    totals: tuple[UsageTotal, ...] = ()
    events: tuple[UsageEvent, ...] = ()
    # Whether there are events after these.
    more: bool = False


class UsageStore(Protocol):
    """Keeps the log; safe for several threads and processes."""

    def add(self, totals: Sequence[UsageTotal], events: Sequence[UsageEvent], at_ms: int) -> None:
        """Add numbers to what is counted and events to the log, all or none of them.

        Raises:
            StoreError: it cannot be written.
        """

    def read(self, query: UsageQuery) -> UsagePage:
        """Return a part of the log.

        Raises:
            StoreError: it cannot be read.
        """

    def last_used(self) -> Mapping[str, int]:
        """Return when each skill was last used by any agent, in milliseconds since 1970.

        Raises:
            StoreError: it cannot be read.
        """

    def close(self) -> None:
        """Give back what the store holds open."""


@dataclass(slots=True)
class _Waiting:
    """What is not written yet."""

    counts: dict[Pair, dict[Use, int]] = field(default_factory=dict)
    used: dict[Pair, int] = field(default_factory=dict)
    # The store would forget the oldest of more than these too.
    events: deque[UsageEvent] = field(default_factory=lambda: deque(maxlen=MOST_EVENTS))
    last_ms: int = 0

    def __bool__(self) -> bool:
        return bool(self.counts)

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

    def put_back(self, older: "_Waiting") -> None:
        """Take in what could not be written and is older than this."""
        newer, self.counts = self.counts, {}
        for counted in (older.counts, newer):
            for pair, counts in counted.items():
                for use, number in counts.items():
                    self.count(use, pair, older.used.get(pair, 0), number)
        self.events = deque((*older.events, *self.events), maxlen=MOST_EVENTS)
        self.last_ms = max(self.last_ms, older.last_ms)


class UsageLog:
    """The log of what became of skills; safe from any thread."""

    def __init__(
        self,
        store: UsageStore,
        *,
        known: Callable[[str], Collection[str]],
        now_ms: Callable[[], int],
    ) -> None:
        """Nothing is opened yet.

        Args:
            store: where it is kept.
            known: the names of all skills of an agent; what is not among them is not noted.
            now_ms: milliseconds since 1970.
        """
        self._store, self._known, self._now_ms = store, known, now_ms
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
        with self._lock:
            for name in names:
                self._waiting.count(use, (name, agent_id), now)
            if use is not Use.LISTED:
                self._waiting.events.extend(
                    UsageEvent(use=use, skill=name, agent_id=agent_id, at_ms=now) for name in names
                )
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
            self._failed(error)
            page = UsagePage()
        answer: dict[str, object] = {
            "totals": [_total(total) for total in page.totals],
            "events": [_event(event) for event in page.events],
        }
        if page.more:
            answer["nextSequence"] = page.events[-1].sequence
        return answer

    def last_used(self) -> Mapping[str, int]:
        """Return when each skill was last loaded or invoked, in milliseconds since 1970."""
        try:
            found = dict(self._store.last_used())
        except StoreError as error:
            # Use only breaks ties: a prompt without it is better than none.
            self._failed(error)
            found = {}
        with self._lock:
            for (skill, _), at_ms in self._waiting.used.items():
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
            return bool(self._waiting.events) or (waited and bool(self._waiting))

    def _write(self) -> bool:
        """Write what waits; False where it has to wait longer."""
        with self._lock:
            batch, self._waiting = self._waiting, _Waiting()
        if not batch:
            return True
        try:
            self._store.add(batch.totals(), tuple(batch.events), batch.last_ms)
        except StoreError as error:
            with self._lock:
                self._waiting.put_back(batch)
                self._failed_ms = self._now_ms()
            self._failed(error)
            return False
        with self._lock:
            self._written_ms, self._failed_ms = self._now_ms(), None
        self._is_failing = False
        return True

    def _failed(self, error: StoreError) -> None:
        if not self._is_failing:
            log.warning("usage.unusable: %s", error)
        self._is_failing = True


def names_known(skills: SkillsService) -> Callable[[str], Collection[str]]:
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
