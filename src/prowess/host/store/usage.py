"""The log of what became of skills, in one SQLite file, with the standard library alone.

It stands in a file of its own and stays small whatever is written to it: one row for each skill of
each agent, of which the longest unused go first, and the newest events. A file that is broken is
set aside, with a warning, and another is begun: numbers about the past are no reason to stop. Only
one such file is kept, so that a disk which breaks files is not filled by it.
"""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import TypeVar

from prowess.errors import StoreError
from prowess.host.store import sqlite as sqlite_files
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
_COUNT = """
    INSERT INTO totals (
        skill, agent, listed, routed, loaded, invoked, corrected, used_ms, touched_ms
    )
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (skill, agent) DO UPDATE SET
        listed = listed + excluded.listed,
        routed = routed + excluded.routed,
        loaded = loaded + excluded.loaded,
        invoked = invoked + excluded.invoked,
        corrected = corrected + excluded.corrected,
        used_ms = CASE
            WHEN excluded.used_ms IS NULL THEN used_ms
            ELSE MAX(COALESCE(used_ms, 0), excluded.used_ms)
        END,
        touched_ms = MAX(touched_ms, excluded.touched_ms)
"""
_COUNT_DAY = """
    INSERT INTO days (
        day, skill, agent, listed, routed, loaded, invoked, corrected, unmatched
    )
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (day, skill, agent) DO UPDATE SET
        listed = listed + excluded.listed,
        routed = routed + excluded.routed,
        loaded = loaded + excluded.loaded,
        invoked = invoked + excluded.invoked,
        corrected = corrected + excluded.corrected,
        unmatched = unmatched + excluded.unmatched
"""
_FORGET_DAYS = """
    DELETE FROM days WHERE rowid IN (
        SELECT rowid FROM days ORDER BY day DESC, rowid DESC LIMIT -1 OFFSET ?
    )
"""
_READ_DAYS = """
    SELECT day, skill, agent, listed, routed, loaded, invoked, corrected, unmatched FROM days
    WHERE day >= ?1 AND (?2 IS NULL OR agent = ?2) ORDER BY day, skill, agent
"""
_FORGET_PAIRS = """
    DELETE FROM totals WHERE rowid IN (
        SELECT rowid FROM totals ORDER BY touched_ms DESC, rowid DESC LIMIT -1 OFFSET ?
    )
"""
_FORGET_EVENTS = "DELETE FROM events WHERE sequence <= (SELECT MAX(sequence) FROM events) - ?"
_READ_TOTALS = """
    SELECT skill, agent, listed, routed, loaded, invoked, corrected, used_ms FROM totals
    WHERE (?1 IS NULL OR agent = ?1) AND (?2 IS NULL OR skill = ?2)
    ORDER BY touched_ms DESC, rowid DESC LIMIT ?3
"""
# A kind that only a later Prowess knows is none for this one.
_READ_EVENTS = """
    SELECT sequence, at_ms, use, skill, agent FROM events
    WHERE (?1 IS NULL OR agent = ?1) AND (?2 IS NULL OR skill = ?2) AND sequence > ?3
        AND use IN ('listed', 'routed', 'loaded', 'invoked', 'corrected')
    ORDER BY sequence LIMIT ?4
"""
_LAST_USED = """
    SELECT skill, MAX(used_ms) FROM totals
    WHERE used_ms IS NOT NULL AND (?1 IS NULL OR agent = ?1) GROUP BY skill
"""

_T = TypeVar("_T")


class SqliteUsage:
    """The log in one file; safe for several threads and processes."""

    def __init__(
        self,
        path: str,
        *,
        most_events: int = MOST_EVENTS,
        most_pairs: int = MOST_PAIRS,
        most_days: int = MOST_DAYS,
    ) -> None:
        """Nothing is opened or made yet."""
        self._path = path
        self._most_events, self._most_pairs = most_events, most_pairs
        self._most_days = most_days
        self._lock = threading.Lock()
        self._file = sqlite_files.SqliteFile(path, _BUSY_S, self._prepare)

    def add(
        self,
        totals: Sequence[UsageTotal],
        events: Sequence[UsageEvent],
        at_ms: int,
        days: Sequence[UsageDay] = (),
    ) -> None:
        """Add numbers to what is counted and events to the log, all or none of them."""

        def write() -> None:
            sqlite_files.create(self._path)
            connection = self._file.open()
            with sqlite_files.transaction(connection):
                connection.executemany(_COUNT, [_make_total_row(total, at_ms) for total in totals])
                rows = [
                    (e.at_ms, e.use.value, cut_name(e.skill), cut_name(e.agent_id)) for e in events
                ]
                connection.executemany(
                    "INSERT INTO events (at_ms, use, skill, agent) VALUES (?, ?, ?, ?)", rows
                )
                connection.executemany(_COUNT_DAY, [_on_day(day) for day in days])
                connection.execute(_FORGET_PAIRS, (self._most_pairs,))
                connection.execute(_FORGET_DAYS, (self._most_days,))
                connection.execute(_FORGET_EVENTS, (self._most_events,))

        with self._lock:
            self._try(write)

    def read(self, query: UsageQuery) -> UsagePage:
        """Return a part of the log."""
        chosen = (query.agent_id, query.skill)

        def read() -> UsagePage:
            connection = self._file.open()
            with sqlite_files.transaction(connection, "BEGIN"):
                totals = connection.execute(_READ_TOTALS, (*chosen, query.most_totals)).fetchall()
                page = (*chosen, query.after, query.most_events + 1)
                events = connection.execute(_READ_EVENTS, page).fetchall()
            return UsagePage(
                totals=tuple(
                    sorted(map(_total, totals), key=lambda one: (one.skill, one.agent_id))
                ),
                events=tuple(map(_event, events[: query.most_events])),
                more=len(events) > query.most_events,
            )

        with self._lock:
            return self._try(read) if sqlite_files.identity(self._path) else UsagePage()

    def days(self, first: int, agent_id: str | None) -> Sequence[UsageDay]:
        """Return what happened from a day on, to one agent's skills or to all."""

        def read() -> list[UsageDay]:
            return list(
                map(_day, self._file.open().execute(_READ_DAYS, (first, agent_id)).fetchall())
            )

        with self._lock:
            return self._try(read) if sqlite_files.identity(self._path) else ()

    def last_used(self, agent_id: str | None = None) -> Mapping[str, int]:
        """Return when each skill was last used, by one agent or any, in milliseconds since 1970."""

        def read() -> dict[str, int]:
            rows = self._file.open().execute(_LAST_USED, (agent_id,)).fetchall()
            return {str(skill): _whole(used_ms) for skill, used_ms in rows}

        with self._lock:
            return self._try(read) if sqlite_files.identity(self._path) else {}

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
            if sqlite_files.code(error) not in sqlite_files.BROKEN:
                raise self._refusal(error) from error
            log.warning("usage.broken: %s is set aside and begun anew: %s", self._path, error)
        try:
            self._file.remove(broken, _ASIDE)
            sqlite_files.create(self._path)
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
            with sqlite_files.transaction(connection):
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


def _make_total_row(total: UsageTotal, at_ms: int) -> tuple[str | int | None, ...]:
    counts = [total.counts.get(use, 0) for use in Use]
    return (cut_name(total.skill), cut_name(total.agent_id), *counts, total.last_used_ms, at_ms)


def _on_day(day: UsageDay) -> tuple[str | int, ...]:
    counts = [day.counts.get(use, 0) for use in Use]
    return (day.day, cut_name(day.skill), cut_name(day.agent_id), *counts, day.unmatched)


def _day(row: tuple[object, ...]) -> UsageDay:
    day, skill, agent, *counts, unmatched = row
    return UsageDay(
        day=_whole(day),
        skill=str(skill),
        agent_id=str(agent),
        counts={use: _whole(count) for use, count in zip(Use, counts, strict=True)},
        unmatched=_whole(unmatched),
    )


def cut_name(name: str) -> str:
    """Return a name as it can be stored: bounded, and without half characters."""
    return name[:LONGEST_NAME].encode("utf-8", "replace").decode("utf-8")


def _total(row: tuple[object, ...]) -> UsageTotal:
    skill, agent, *counts, used_ms = row
    return UsageTotal(
        skill=str(skill),
        agent_id=str(agent),
        counts={use: _whole(count) for use, count in zip(Use, counts, strict=True)},
        last_used_ms=None if used_ms is None else _whole(used_ms),
    )


def _event(row: tuple[object, ...]) -> UsageEvent:
    sequence, at_ms, use, skill, agent = row
    return UsageEvent(
        use=Use(str(use)),
        skill=str(skill),
        agent_id=str(agent),
        at_ms=_whole(at_ms),
        sequence=_whole(sequence),
    )


def _whole(number: object) -> int:
    """Return a number from a file that anybody may have written."""
    return number if isinstance(number, int) else 0
