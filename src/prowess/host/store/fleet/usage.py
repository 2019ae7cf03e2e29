"""The log of what became of skills, for all gateways of a fleet.

The same promises as the file of one machine: it stays small whatever is written to it, and numbers
of events only grow. Writers take turns, so that whoever asks for what came after an event misses
none that was given a smaller number and kept later.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy import RowMapping
from sqlalchemy.dialects import postgresql

from prowess.host.store.database import NUMBER, Database, Tables
from prowess.host.store.usage import cut_name
from prowess.runtime.usage import (
    MOST_DAYS,
    MOST_EVENTS,
    MOST_PAIRS,
    UsageDay,
    UsageEvent,
    UsagePage,
    UsageQuery,
    UsageTotal,
    Use,
)

if TYPE_CHECKING:
    _Query = sa.Select[*tuple[Any, ...]]

METADATA = sa.MetaData()
_KINDS = tuple(use.value for use in Use)
_TOTALS = sa.Table(
    "usage_totals",
    METADATA,
    sa.Column("skill", sa.String, primary_key=True),
    sa.Column("agent", sa.String, primary_key=True),
    *(sa.Column(kind, sa.BigInteger, nullable=False) for kind in _KINDS),
    sa.Column("used_ms", sa.BigInteger),
    sa.Column("touched_ms", sa.BigInteger, nullable=False),
    sa.Index("usage_totals_by_time", "touched_ms"),
)
_EVENTS = sa.Table(
    "usage_events",
    METADATA,
    sa.Column("sequence", NUMBER, primary_key=True),
    sa.Column("at_ms", sa.BigInteger, nullable=False),
    sa.Column("use", sa.String, nullable=False),
    sa.Column("skill", sa.String, nullable=False),
    sa.Column("agent", sa.String, nullable=False),
)
_DAYS = sa.Table(
    "usage_days",
    METADATA,
    sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("skill", sa.String, primary_key=True),
    sa.Column("agent", sa.String, primary_key=True),
    *(sa.Column(kind, sa.BigInteger, nullable=False) for kind in (*_KINDS, "unmatched")),
)
TABLES = Tables(METADATA)
_TURN = "usage"
# Bounds are looked at with the first of so many writes: they are about the disk, not about a row.
_WRITES_BETWEEN = 64


class StoredUsage:
    """The log in tables of PostgreSQL; safe for several threads and processes."""

    def __init__(
        self,
        database: Database,
        *,
        most_events: int = MOST_EVENTS,
        most_pairs: int = MOST_PAIRS,
        most_days: int = MOST_DAYS,
    ) -> None:
        """Nothing is opened yet."""
        self._database = database
        self._most_events, self._most_pairs = most_events, most_pairs
        self._most_days = most_days
        self._writes = itertools.count()

    def add(
        self,
        totals: Sequence[UsageTotal],
        events: Sequence[UsageEvent],
        at_ms: int,
        days: Sequence[UsageDay] = (),
    ) -> None:
        """Add numbers to what is counted and events to the log, all or none of them."""
        with self._database.writing(TABLES, turn=_TURN) as connection:
            if totals:
                connection.execute(_count(), [_total_row(one, at_ms) for one in totals])
            if days:
                connection.execute(_count_day(), [_day_row(one) for one in days])
            if events:
                connection.execute(sa.insert(_EVENTS), [_event_row(one) for one in events])
            if next(self._writes) % _WRITES_BETWEEN == 0:
                self._forget(connection)

    def read(self, query: UsageQuery) -> UsagePage:
        """Return a part of the log."""
        totals = _chosen(sa.select(_TOTALS), _TOTALS, query)
        totals = totals.order_by(_TOTALS.c.touched_ms.desc(), _TOTALS.c.skill, _TOTALS.c.agent)
        events = _chosen(sa.select(_EVENTS), _EVENTS, query)
        # A kind that only a later Prowess knows is none for this one.
        events = events.where(_EVENTS.c.sequence > query.after, _EVENTS.c.use.in_(_KINDS))
        events = events.order_by(_EVENTS.c.sequence).limit(query.most_events + 1)
        with self._database.reading(TABLES) as connection:
            counted = connection.execute(totals.limit(query.most_totals)).mappings().all()
            happened = connection.execute(events).mappings().all()
        return UsagePage(
            totals=tuple(sorted(map(_total, counted), key=lambda one: (one.skill, one.agent_id))),
            events=tuple(map(_event, happened[: query.most_events])),
            more=len(happened) > query.most_events,
        )

    def days(self, first: int, agent_id: str | None) -> Sequence[UsageDay]:
        """Return what happened from a day on, to one agent's skills or to all."""
        query = _chosen(sa.select(_DAYS), _DAYS, UsageQuery(agent_id=agent_id))
        query = query.where(_DAYS.c.day >= first)
        query = query.order_by(_DAYS.c.day, _DAYS.c.skill, _DAYS.c.agent)
        with self._database.reading(TABLES) as connection:
            return [_day(row) for row in connection.execute(query).mappings()]

    def last_used(self, agent_id: str | None = None) -> Mapping[str, int]:
        """Return when each skill was last used, by one agent or any, in milliseconds since 1970."""
        latest = sa.select(_TOTALS.c.skill, sa.func.max(_TOTALS.c.used_ms))
        query = _chosen(latest, _TOTALS, UsageQuery(agent_id=agent_id))
        query = query.where(_TOTALS.c.used_ms.is_not(None)).group_by(_TOTALS.c.skill)
        with self._database.reading(TABLES) as connection:
            return {str(row[0]): int(row[1]) for row in connection.execute(query)}

    def close(self) -> None:
        """Nothing is held open here: the database belongs to whoever opened it."""

    def _forget(self, connection: sa.Connection) -> None:
        for table, order, most in (
            (_TOTALS, (_TOTALS.c.touched_ms.desc(),), self._most_pairs),
            (_DAYS, (_DAYS.c.day.desc(),), self._most_days),
            (_EVENTS, (_EVENTS.c.sequence.desc(),), self._most_events),
        ):
            key = sa.tuple_(*table.primary_key)
            old = sa.select(*table.primary_key).order_by(*order, *table.primary_key).offset(most)
            connection.execute(sa.delete(table).where(key.in_(old)))


def _count() -> postgresql.Insert:
    added = postgresql.insert(_TOTALS)
    new, old = added.excluded, _TOTALS.c
    changes: dict[str, Any] = {kind: old[kind] + new[kind] for kind in _KINDS}
    # Of two values the greater, and of one that is missing the other.
    changes["used_ms"] = sa.func.greatest(old.used_ms, new.used_ms)
    changes["touched_ms"] = sa.func.greatest(old.touched_ms, new.touched_ms)
    return added.on_conflict_do_update(index_elements=["skill", "agent"], set_=changes)


def _count_day() -> postgresql.Insert:
    added = postgresql.insert(_DAYS)
    changes = {kind: _DAYS.c[kind] + added.excluded[kind] for kind in (*_KINDS, "unmatched")}
    return added.on_conflict_do_update(index_elements=["day", "skill", "agent"], set_=changes)


def _chosen(query: "_Query", table: sa.Table, asked: UsageQuery) -> "_Query":
    if asked.agent_id is not None:
        query = query.where(table.c.agent == asked.agent_id)
    if asked.skill is not None:
        query = query.where(table.c.skill == asked.skill)
    return query


def _names(skill: str, agent_id: str) -> dict[str, str]:
    # The one character that no text of PostgreSQL holds.
    kept = {"skill": cut_name(skill), "agent": cut_name(agent_id)}
    return {name: text.replace("\0", "\N{REPLACEMENT CHARACTER}") for name, text in kept.items()}


def _total_row(total: UsageTotal, at_ms: int) -> dict[str, Any]:
    counts = {use.value: total.counts.get(use, 0) for use in Use}
    times = {"used_ms": total.last_used_ms, "touched_ms": at_ms}
    return {**_names(total.skill, total.agent_id), **counts, **times}


def _day_row(day: UsageDay) -> dict[str, Any]:
    counts = {use.value: day.counts.get(use, 0) for use in Use}
    names = _names(day.skill, day.agent_id)
    return {"day": day.day, **names, **counts, "unmatched": day.unmatched}


def _event_row(event: UsageEvent) -> dict[str, Any]:
    names = _names(event.skill, event.agent_id)
    return {"at_ms": event.at_ms, "use": event.use.value, **names}


def _total(row: RowMapping) -> UsageTotal:
    counts = {use: row[use.value] for use in Use}
    return UsageTotal(row["skill"], row["agent"], counts, row["used_ms"])


def _day(row: RowMapping) -> UsageDay:
    return UsageDay(
        day=row["day"],
        skill=row["skill"],
        agent_id=row["agent"],
        counts={use: row[use.value] for use in Use},
        unmatched=row["unmatched"],
    )


def _event(row: RowMapping) -> UsageEvent:
    return UsageEvent(
        use=Use(row["use"]),
        skill=row["skill"],
        agent_id=row["agent"],
        at_ms=row["at_ms"],
        sequence=row["sequence"],
    )
