"""The log of what became of skills: in one SQLite file, or in the database of a fleet.

It stays small whatever is written to it: one row for each skill of each agent, of which the longest
unused go first, and the newest events. The statements are the same for both engines; a fleet's is
opened elsewhere (`fleet/last_known`), so that a hook needs the standard library alone. A file that
is broken is set aside, with a warning, and another is begun: numbers about the past are no reason
to stop. Only one such file is kept, so that a disk which breaks files is not filled by it.
"""

import itertools
import logging
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import date
from typing import Any, Protocol, TypeVar

from prowess.errors import StoreError
from prowess.host.files import state_files
from prowess.runtime.usage import (
    LONGEST_NAME,
    MOST_DAYS,
    MOST_EVENTS,
    MOST_PAIRS,
    UsageDay,
    UsageEvent,
    UsagePage,
    UsageQuery,
    UsageTotal,
    Use,
    utc_day,
)

log = logging.getLogger(__name__)

_ASIDE = ".broken"
# A note is not worth waiting long for: what could not be written is written with the next one.
_BUSY_S = 1
_VERSION = 2
_MAX_WAL_BYTES = 1 << 20
# A column for each kind, in their order.
_TOTALS = """
    CREATE TABLE IF NOT EXISTS totals (
        skill TEXT NOT NULL,
        agent TEXT NOT NULL,
        listed INTEGER NOT NULL,
        routed INTEGER NOT NULL,
        loaded INTEGER NOT NULL,
        invoked INTEGER NOT NULL,
        corrected INTEGER NOT NULL,
        used_ms INTEGER,
        touched_ms INTEGER NOT NULL,
        PRIMARY KEY (skill, agent)
    )
"""
# Numbers are never given twice, even when the events that had them are gone.
_EVENTS = """
    CREATE TABLE IF NOT EXISTS events (
        sequence INTEGER PRIMARY KEY AUTOINCREMENT,
        at_ms INTEGER NOT NULL,
        use TEXT NOT NULL,
        skill TEXT NOT NULL,
        agent TEXT NOT NULL
    )
"""
# One row for each day, skill and agent; without a skill, for messages that none fitted.
_DAYS = """
    CREATE TABLE IF NOT EXISTS days (
        day INTEGER NOT NULL,
        skill TEXT NOT NULL,
        agent TEXT NOT NULL,
        listed INTEGER NOT NULL,
        routed INTEGER NOT NULL,
        loaded INTEGER NOT NULL,
        invoked INTEGER NOT NULL,
        corrected INTEGER NOT NULL,
        unmatched INTEGER NOT NULL,
        PRIMARY KEY (day, skill, agent)
    )
"""
# A file of the first version has no days, but events that tell most of them.
_DAYS_OF_EVENTS = """
    INSERT OR IGNORE INTO days
    SELECT at_ms / 86400000 + 719163, skill, agent, 0, SUM(use = 'routed'), SUM(use = 'loaded'),
        SUM(use = 'invoked'), SUM(use = 'corrected'), 0
    FROM events WHERE typeof(at_ms) = 'integer'
    GROUP BY at_ms / 86400000, skill, agent
"""
_SCHEMA = (
    _TOTALS,
    _EVENTS,
    _DAYS,
    _DAYS_OF_EVENTS,
    "CREATE INDEX IF NOT EXISTS totals_by_time ON totals (touched_ms)",
)
_KINDS = tuple(use.value for use in Use)
# From here on both engines understand what is asked. In braces: what stands before the name of each
# table, where the engine has a row, and these.
_PARTS = {
    "kinds": ", ".join(_KINDS),
    "known": ", ".join(f"'{kind}'" for kind in _KINDS),
    "of_agent": "(CAST(:agent AS TEXT) IS NULL OR agent = :agent)",
    "of_skill": "(CAST(:skill AS TEXT) IS NULL OR skill = :skill)",
    "all_but": "LIMIT 9223372036854775807 OFFSET",
}


def _count(table: str, keys: Sequence[str], counts: Sequence[str], latest: Sequence[str]) -> str:
    """Return what adds numbers to a row, which is made where it is missing; times only grow."""
    names = (*keys, *counts, *latest)
    sums = [f"{name} = {table}.{name} + excluded.{name}" for name in counts]
    later = [
        f"{name} = CASE WHEN {table}.{name} IS NULL OR excluded.{name} > {table}.{name}"
        f" THEN excluded.{name} ELSE {table}.{name} END"
        for name in latest
    ]
    return (
        # Only names of our own are put in.
        f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join(f':{n}' for n in names)})"  # noqa: S608
        f" ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {', '.join((*sums, *later))}"
    )


_COUNT = _count("{p}totals", ("skill", "agent"), _KINDS, ("used_ms", "touched_ms"))
_COUNT_DAY = _count("{p}days", ("day", "skill", "agent"), (*_KINDS, "unmatched"), ())
_ADD = "INSERT INTO {p}events (at_ms, use, skill, agent) VALUES (:at_ms, :use, :skill, :agent)"
_FORGET_DAYS = """
    DELETE FROM {p}days WHERE {row} IN (
        SELECT {row} FROM {p}days ORDER BY day DESC, {row} DESC {all_but} :most
    )
"""
_READ_DAYS = """
    SELECT day, skill, agent, {kinds}, unmatched FROM {p}days
    WHERE day >= :first AND {of_agent} ORDER BY day, skill, agent
"""
_FORGET_PAIRS = """
    DELETE FROM {p}totals WHERE {row} IN (
        SELECT {row} FROM {p}totals ORDER BY touched_ms DESC, {row} DESC {all_but} :most
    )
"""
_FORGET_EVENTS = """
    DELETE FROM {p}events WHERE sequence <= (SELECT MAX(sequence) FROM {p}events) - :most
"""
_READ_TOTALS = """
    SELECT skill, agent, {kinds}, used_ms FROM {p}totals
    WHERE {of_agent} AND {of_skill} ORDER BY touched_ms DESC, {row} DESC LIMIT :most
"""
# A kind that only a later Prowess knows is none for this one.
_READ_EVENTS = """
    SELECT sequence, at_ms, use, skill, agent FROM {p}events
    WHERE {of_agent} AND {of_skill} AND sequence > :after AND use IN ({known})
    ORDER BY sequence LIMIT :most
"""
_LAST_USED = """
    SELECT skill, MAX(used_ms) FROM {p}totals
    WHERE used_ms IS NOT NULL AND {of_agent} GROUP BY skill
"""

_T = TypeVar("_T")
_Row = Sequence[Any]
_Values = Mapping[str, object]


class Engine(Protocol):
    """What runs statements with values by name: once and for an answer, or once for each row."""

    def execute(self, statement: str, values: _Values, /) -> Iterable[_Row]:
        """Return the rows of an answer."""

    def executemany(self, statement: str, rows: Sequence[_Values], /) -> object:
        """Run it with each row of values."""


class UsageTables(ABC):
    """The log in tables of either engine: it stays small, and numbers of events only grow."""

    # What stands before the names of tables, where a row is, and how many writes share one look at
    # the bounds.
    _prefix, _row, _writes_between = "", "rowid", 1

    def __init__(
        self,
        *,
        most_events: int = MOST_EVENTS,
        most_pairs: int = MOST_PAIRS,
        most_days: int = MOST_DAYS,
    ) -> None:
        """Nothing is opened or made yet."""
        self._bounds = {
            _FORGET_PAIRS: most_pairs, _FORGET_DAYS: most_days, _FORGET_EVENTS: most_events
        }  # fmt: skip
        self._writes = itertools.count()

    def add(
        self,
        totals: Sequence[UsageTotal],
        events: Sequence[UsageEvent],
        at_ms: int,
        days: Sequence[UsageDay] = (),
    ) -> None:
        """Add numbers to what is counted and events to the log, all or none of them."""
        is_looked_at = next(self._writes) % self._writes_between == 0

        def write(engine: Engine) -> None:
            engine.executemany(self._name(_COUNT), [_make_total_row(one, at_ms) for one in totals])
            engine.executemany(self._name(_ADD), [_make_event_row(one) for one in events])
            engine.executemany(self._name(_COUNT_DAY), [_make_day_row(one) for one in days])
            for statement, most in self._bounds.items() if is_looked_at else ():
                engine.execute(self._name(statement), {"most": most})

        self._write(write)

    def read(self, query: UsageQuery) -> UsagePage:
        """Return a part of the log."""
        chosen = {"agent": query.agent_id, "skill": query.skill}
        most = query.most_events

        def look(engine: Engine) -> UsagePage:
            asked = {**chosen, "most": query.most_totals}
            totals = map(_total, engine.execute(self._name(_READ_TOTALS), asked))
            asked = {**chosen, "after": query.after, "most": most + 1}
            events = list(map(_event, engine.execute(self._name(_READ_EVENTS), asked)))
            return UsagePage(
                totals=tuple(sorted(totals, key=lambda one: (one.skill, one.agent_id))),
                events=tuple(events[:most]),
                more=len(events) > most,
            )

        return self._ask(query, look, UsagePage())

    def days(self, first: int, agent_id: str | None) -> Sequence[UsageDay]:
        """Return what happened from a day on, to one agent's skills or to all."""
        asked = {"first": first, "agent": agent_id}

        def look(engine: Engine) -> list[UsageDay]:
            return list(map(_day, engine.execute(self._name(_READ_DAYS), asked)))

        return self._ask(("days", first, agent_id), look, [])

    def last_used(self, agent_id: str | None = None) -> Mapping[str, int]:
        """Return when each skill was last used, by one agent or any, in milliseconds since 1970."""

        def look(engine: Engine) -> dict[str, int]:
            rows = engine.execute(self._name(_LAST_USED), {"agent": agent_id})
            return {str(skill): _read_whole(used_ms) for skill, used_ms in rows}

        return self._ask(("used", agent_id), look, {})

    def _name(self, statement: str) -> str:
        return statement.format(p=self._prefix, row=self._row, **_PARTS)

    @abstractmethod
    def _ask(self, question: Hashable, look: Callable[[Engine], _T], nothing: _T) -> _T:
        """Return what is found of one moment; `nothing` where nothing was ever written."""

    @abstractmethod
    def _write(self, write: Callable[[Engine], None]) -> None:
        """Write all of it or nothing."""

    @abstractmethod
    def close(self) -> None:
        """Give back what was opened."""


class SqliteUsage(UsageTables):
    """The log in one file; safe for several threads and processes."""

    def __init__(self, path: str, **bounds: int) -> None:
        """Nothing is opened or made yet."""
        super().__init__(**bounds)
        self._path = path
        self._lock = threading.Lock()
        self._file = state_files.SqliteFile(path, _BUSY_S, self._prepare)

    def _ask(self, question: Hashable, look: Callable[[Engine], _T], nothing: _T) -> _T:
        del question

        def read() -> _T:
            connection = self._file.open()
            with state_files.transaction(connection, "BEGIN"):
                return look(connection)

        with self._lock:
            return self._try(read) if state_files.identity(self._path) else nothing

    def _write(self, write: Callable[[Engine], None]) -> None:
        def act() -> None:
            state_files.create(self._path)
            connection = self._file.open()
            with state_files.transaction(connection):
                write(connection)

        with self._lock:
            self._try(act)

    def close(self) -> None:
        """Give the file back; a later use opens it again."""
        with self._lock:
            self._file.close()

    def _try(self, action: Callable[[], _T]) -> _T:
        """Do something with the file, and once more with a new one where it is broken."""
        try:
            return action()
        except (sqlite3.Error, OSError) as error:
            broken = self._file.identity
            self._file.close()
            if not state_files.is_broken(error):
                raise self._refusal(error) from error
            log.warning("usage.broken: %s is set aside and begun anew: %s", self._path, error)
        try:
            self._file.remove(broken, _ASIDE)
            state_files.create(self._path)
            return action()
        except (sqlite3.Error, OSError) as error:
            self._file.close()
            raise self._refusal(error) from error

    def _refusal(self, error: sqlite3.Error | OSError) -> StoreError:
        problem = getattr(error, "strerror", None) or str(error)
        return StoreError(self._path, f"cannot be used ({problem}).")

    def _prepare(self, connection: sqlite3.Connection) -> None:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > _VERSION:
            self._file.close()
            raise StoreError(self._path, "was written by a newer Prowess: update Prowess.")
        connection.execute(f"PRAGMA journal_size_limit = {_MAX_WAL_BYTES}")
        if version < _VERSION:
            with state_files.transaction(connection):
                for statement in _SCHEMA:
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {_VERSION}")


def local_day(at_ms: int) -> int:
    """Return the number of the day of a moment where this machine stands."""
    try:
        there = time.localtime(at_ms / 1000)
    except (OverflowError, OSError, ValueError):
        # A clock beyond all calendars.
        return utc_day(at_ms)
    return date(there.tm_year, there.tm_mon, there.tm_mday).toordinal()


def _make_names(skill: str, agent_id: str) -> dict[str, object]:
    """Return names as they can be stored: bounded, and without half characters.

    Nor with the one character that no text of PostgreSQL holds.
    """
    kept = {"skill": skill, "agent": agent_id}
    return {
        key: name[:LONGEST_NAME]
        .encode("utf-8", "replace")
        .decode("utf-8")
        .replace("\0", "\N{REPLACEMENT CHARACTER}")
        for key, name in kept.items()
    }


def _make_total_row(total: UsageTotal, at_ms: int) -> _Values:
    counts = {use.value: total.counts.get(use, 0) for use in Use}
    times = {"used_ms": total.last_used_ms, "touched_ms": at_ms}
    return {**_make_names(total.skill, total.agent_id), **counts, **times}


def _make_day_row(day: UsageDay) -> _Values:
    counts = {use.value: day.counts.get(use, 0) for use in Use}
    names = _make_names(day.skill, day.agent_id)
    return {"day": day.day, **names, **counts, "unmatched": day.unmatched}


def _make_event_row(event: UsageEvent) -> _Values:
    names = _make_names(event.skill, event.agent_id)
    return {"at_ms": event.at_ms, "use": event.use.value, **names}


def _day(row: _Row) -> UsageDay:
    day, skill, agent, *counts, unmatched = row
    return UsageDay(
        day=_read_whole(day),
        skill=str(skill),
        agent_id=str(agent),
        counts={use: _read_whole(count) for use, count in zip(Use, counts, strict=True)},
        unmatched=_read_whole(unmatched),
    )


def _total(row: _Row) -> UsageTotal:
    skill, agent, *counts, used_ms = row
    return UsageTotal(
        skill=str(skill),
        agent_id=str(agent),
        counts={use: _read_whole(count) for use, count in zip(Use, counts, strict=True)},
        last_used_ms=None if used_ms is None else _read_whole(used_ms),
    )


def _event(row: _Row) -> UsageEvent:
    sequence, at_ms, use, skill, agent = row
    return UsageEvent(
        use=Use(str(use)),
        skill=str(skill),
        agent_id=str(agent),
        at_ms=_read_whole(at_ms),
        sequence=_read_whole(sequence),
    )


def _read_whole(number: object) -> int:
    """Return a number from a file that anybody may have written."""
    return number if isinstance(number, int) else 0
