"""What one gateway worked out and the others need not, and what was last read of the database.

Both are worth nothing but time, so no caller sees an error from here: what cannot be read is worked
out again, and a warning says why, once for each reason. While one gateway works something out the
others wait for it, and whoever is next does it where that one died. Reports are looked up in the
file of this machine first, which also knows skills by stamps that mean something there alone.

A gateway that loses its database goes on answering with what it knew; what would change something
is refused by the store itself. About what nobody asked before, the error stands.
"""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import sqlalchemy as sa

from prowess.errors import DatabaseLostError, StoreError
from prowess.host.store.database import NUMBER, Database, Tables
from prowess.host.store.fleet.turns import held, take_lease
from prowess.host.store.proposals import StoredProposals
from prowess.host.store.reports import KEPT_COLUMNS, SqliteReports, make_row, read_report
from prowess.host.store.routing import HALF, choose_known
from prowess.host.store.sessions import StoredSessions
from prowess.host.store.usage import Engine, UsageTables
from prowess.runtime.ports import StoredSnapshot, Vectors
from prowess.runtime.usage import Use
from prowess.runtime.workshop.ports import EVERYTHING
from prowess.workshop.proposal import Begun, Proposal, ProposalEvent, State, Subject

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from prowess.runtime.scan import ReportCard
    from prowess.safety.model import ScanReport

log = logging.getLogger(__name__)
METADATA = sa.MetaData()
_REPORTS = sa.Table(
    "scan_reports",
    METADATA,
    sa.Column("key", sa.String, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("content", sa.String, nullable=False),
    sa.Column("critical", sa.Text, nullable=False),
    sa.Column("problem", sa.Text, nullable=False),
    sa.Column("report", sa.Text, nullable=False),
    sa.Column("made", sa.Float, nullable=False),
    sa.Index("scan_reports_by_age", "made"),
)
TABLES = Tables(METADATA)
_DAY_S = 86_400
_OLDEST_REPORT_S, _UNUSED_DAYS = 90 * _DAY_S, 60
# In front of the numbers, in the form in which PostgreSQL sends them: how many there are, and zero.
_HEAD_BYTES = 4
# Longer than a scan and a batch of texts take on a busy machine: then it is done twice.
_WAIT_S = 60
_SENT = np.dtype(">f2")


class _Warnings:
    """Says what is wrong with a cache, once for each reason."""

    def __init__(self, what: str) -> None:
        self._what, self._said = what, ""

    def say(self, error: StoreError) -> None:
        if str(error) != self._said:
            self._said = str(error)
            log.warning("%s.unusable: %s", self._what, error)


@contextmanager
def _work_alone(database: Database, name: str, warnings: _Warnings) -> Iterator[None]:
    """Let no other gateway do the same work meanwhile; without the database, each does its own."""
    with ExitStack() as stack:
        if not database.lost:
            try:
                stack.enter_context(held(database, name, _WAIT_S))
            except StoreError as error:
                warnings.say(error)
        yield


class SharedReports(SqliteReports):
    """The reports of this machine, and behind them those that any gateway made."""

    def __init__(
        self, path: str, database: Database, *, now: Callable[[], float] = time.time
    ) -> None:
        super().__init__(path, now=now)
        self._database, self._warnings = database, _Warnings("reports")

    def load(self, key: str) -> "ScanReport | None":
        """Return a report that this gateway or another one made."""
        found = super().load(key)
        if found is not None:
            return found
        query = sa.select(*(_REPORTS.c[name] for name in KEPT_COLUMNS))
        query = query.where(_REPORTS.c.key == key, _REPORTS.c.problem == "")
        try:
            with self._database.reading(TABLES) as connection:
                row = connection.execute(query).one_or_none()
        except StoreError as error:
            self._warnings.say(error)
            return None
        if row is None:
            return None
        self.keep(tuple(row))
        return read_report(row.report)

    def alone(self, key: str) -> "AbstractContextManager[None]":
        """Keep the other gateways from making the same report meanwhile."""
        return _work_alone(self._database, f"report {key}", self._warnings)

    def save(self, key: str, card: "ReportCard") -> None:
        """Keep a report here and for the others."""
        super().save(key, card)
        row = dict(zip(KEPT_COLUMNS, make_row(key, card), strict=True))
        try:
            with self._database.writing(TABLES) as connection:
                self._database.put(connection, _REPORTS, [without_nul(row)])
                if take_lease(connection, "prune-reports", str(id(self)), _DAY_S):
                    oldest = self._now() - _OLDEST_REPORT_S
                    connection.execute(sa.delete(_REPORTS).where(_REPORTS.c.made < oldest))
        except StoreError as error:
            self._warnings.say(error)


def without_nul(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row without the one character that no text of PostgreSQL holds."""
    return {
        name: value.replace("\0", "") if isinstance(value, str) else value
        for name, value in row.items()
    }


def make_vector_table(metadata: sa.MetaData) -> sa.Table:
    """Return the table of vectors; its type comes with the extra."""
    from pgvector.sqlalchemy import HALFVEC

    return sa.Table(
        "vectors",
        metadata,
        sa.Column("encoder", sa.String, primary_key=True),
        sa.Column("key", sa.String, primary_key=True),
        sa.Column("vector", HALFVEC, nullable=False),
        sa.Column("used", sa.Integer, nullable=False),
        sa.Index("vectors_by_use", "used"),
    )


class StoredVectors:
    """Vectors of all gateways, by encoder and text hash."""

    def __init__(
        self, database: Database, *, today: Callable[[], int] = lambda: int(time.time()) // _DAY_S
    ) -> None:
        self._database, self._today = database, today
        self._table = make_vector_table(sa.MetaData())
        self._tables = Tables(self._table.metadata)
        self._warnings = _Warnings("vectors")

    def load(self, encoder_id: str, keys: Sequence[str]) -> Mapping[str, Vectors]:
        """Return what is known of `keys`; a vector that makes no sense counts as unknown."""
        if not keys:
            return {}
        table, wanted = self._table, list(dict.fromkeys(keys))
        chosen = sa.and_(
            table.c.encoder == encoder_id, table.c.key == sa.any_(sa.bindparam("keys"))
        )
        sent = sa.func.halfvec_send(table.c.vector, type_=sa.LargeBinary)
        query = sa.select(table.c.key, sent, table.c.used).where(chosen)
        try:
            with self._database.reading(self._tables) as connection:
                rows = connection.execute(query, {"keys": wanted}).all()
            self._touch(encoder_id, [key for key, _, used in rows if used < self._today()])
        except StoreError as error:
            self._warnings.say(error)
            return {}
        halves = ((key, np.frombuffer(raw[_HEAD_BYTES:], _SENT), used) for key, raw, used in rows)
        return choose_known(
            [(key, half.astype(HALF).tobytes(), used) for key, half, used in halves]
        )

    def alone(self, encoder_id: str) -> "AbstractContextManager[None]":
        """Keep the other gateways from encoding meanwhile."""
        return _work_alone(self._database, f"vectors {encoder_id}", self._warnings)

    def save(self, encoder_id: str, vectors: Mapping[str, Vectors]) -> None:
        """Keep `vectors`, all or none of them."""
        with np.errstate(over="ignore"):
            halves = {key: np.asarray(one, dtype=HALF) for key, one in vectors.items()}
        today = self._today()
        rows = [
            {"encoder": encoder_id, "key": key, "vector": half, "used": today}
            for key, half in sorted(halves.items())
            if half.size and np.isfinite(half).all()
        ]
        try:
            with self._database.writing(self._tables) as connection:
                self._database.put(connection, self._table, rows)
                if take_lease(connection, "prune-vectors", str(id(self)), _DAY_S):
                    old = self._table.c.used < today - _UNUSED_DAYS
                    connection.execute(sa.delete(self._table).where(old))
        except StoreError as error:
            self._warnings.say(error)

    def close(self) -> None:
        """Nothing is held open here: the database belongs to whoever opened it."""

    def _touch(self, encoder_id: str, keys: Sequence[str]) -> None:
        if not keys:
            return
        table = self._table
        chosen = sa.and_(table.c.encoder == encoder_id, table.c.key.in_(keys))
        with self._database.writing(self._tables) as connection:
            connection.execute(sa.update(table).where(chosen).values(used=self._today()))


_T = TypeVar("_T")
_MOST_ANSWERS = 512


class _Answers:
    """The last answers to the latest questions; safe from any thread."""

    def __init__(self) -> None:
        self._known: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    def ask(self, question: Hashable, look: Callable[[], _T]) -> _T:
        """Look, and keep what was found; where the database is lost, return what was kept.

        Raises:
            StoreError: the database cannot be used, and nothing is known.
        """
        try:
            found = look()
        except DatabaseLostError:
            with self._lock:
                if question not in self._known:
                    raise
                known: _T = self._known[question]
                return known
        with self._lock:
            self._known[question] = found
            self._known.move_to_end(question)
            while len(self._known) > _MOST_ANSWERS:
                self._known.popitem(last=False)
        return found


class LastKnownProposals(StoredProposals):
    """Proposals that can be read without the database, as they last were."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._answers = _Answers()

    def get(self, workspace: str, proposal_id: str) -> Proposal | None:
        """Return one proposal of a workspace."""
        try:
            return super().get(workspace, proposal_id)
        except DatabaseLostError:
            return next((one for one in self.listed(workspace) if one.id == proposal_id), None)

    def listed(self, workspace: str, state: State | None = None) -> tuple[Proposal, ...]:
        """Return the proposals of a workspace, newest first."""
        look = super().listed
        found = self._answers.ask(("listed", workspace), lambda: look(workspace))
        return tuple(one for one in found if state in (None, one.state))

    def applied(self, workspace: str, skill: str) -> tuple[Proposal, ...]:
        """Return what was applied to a skill and still is, the last one first."""
        look = super().applied
        return self._answers.ask(("applied", workspace, skill), lambda: look(workspace, skill))

    def events(
        self, workspace: str, after: int = 0, most: int = 200, about: Subject = EVERYTHING
    ) -> tuple[ProposalEvent, ...]:
        """Return what happened after event number `after`, oldest first."""
        look = super().events
        question = ("events", workspace, after, most, about)
        return self._answers.ask(question, lambda: look(workspace, after, most, about))

    def unfinished(self, workspace: str) -> tuple[Begun, ...]:
        """Return the writes that began and did not come to an end; none while it is not known.

        What would bring them to an end is a write, and is refused until the database is back.
        """
        try:
            return super().unfinished(workspace)
        except DatabaseLostError:
            return ()


class LastKnownSessions(StoredSessions):
    """Sessions that can go on without the database with the snapshot that they have."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._answers = _Answers()

    def load(self, session_id: str) -> StoredSnapshot | None:
        """Return what the session holds, if anything."""
        look = super().load
        return self._answers.ask(("load", session_id), lambda: look(session_id))

    def last_used(self) -> Mapping[str, int]:
        """Return when each skill was last used."""
        return self._answers.ask("used", super().last_used)

    def close(self) -> None:
        """Nothing is held open here: the database belongs to whoever opened it."""


_KINDS = tuple(use.value for use in Use)
USAGE = sa.MetaData()
sa.Table(
    "usage_totals",
    USAGE,
    sa.Column("skill", sa.String, primary_key=True),
    sa.Column("agent", sa.String, primary_key=True),
    *(sa.Column(kind, sa.BigInteger, nullable=False) for kind in _KINDS),
    sa.Column("used_ms", sa.BigInteger),
    sa.Column("touched_ms", sa.BigInteger, nullable=False),
    sa.Index("usage_totals_by_time", "touched_ms"),
)
sa.Table(
    "usage_events",
    USAGE,
    sa.Column("sequence", NUMBER, primary_key=True),
    sa.Column("at_ms", sa.BigInteger, nullable=False),
    *(sa.Column(name, sa.String, nullable=False) for name in ("use", "skill", "agent")),
)
sa.Table(
    "usage_days",
    USAGE,
    sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("skill", sa.String, primary_key=True),
    sa.Column("agent", sa.String, primary_key=True),
    *(sa.Column(kind, sa.BigInteger, nullable=False) for kind in (*_KINDS, "unmatched")),
)


class _Engine(NamedTuple):
    """Runs the statements of the log in a database."""

    connection: sa.Connection

    def execute(self, statement: str, values: Mapping[str, object], /) -> Iterable[Sequence[Any]]:
        """Return the rows of an answer."""
        return self.connection.execute(sa.text(statement), values)

    def executemany(self, statement: str, rows: Sequence[Mapping[str, object]], /) -> object:
        """Run it with each row of values."""
        return self.connection.execute(sa.text(statement), rows) if rows else None


class LastKnownUsage(UsageTables):
    """Numbers of use of all gateways, which can be shown without the database."""

    # Bounds are about the disk, not about a row.
    _prefix, _row, _writes_between = "usage_", "ctid", 64
    _tables = Tables(USAGE)

    def __init__(self, database: Database, **bounds: int) -> None:
        super().__init__(**bounds)
        self._database, self._answers = database, _Answers()

    def close(self) -> None:
        """Nothing is held open here: the database belongs to whoever opened it."""

    def _ask(self, question: Hashable, look: Callable[[Engine], _T], nothing: _T) -> _T:
        del nothing

        def read() -> _T:
            with self._database.reading(self._tables) as connection:
                return look(_Engine(connection))

        return self._answers.ask(question, read)

    def _write(self, write: Callable[[Engine], None]) -> None:
        # In turn, so that whoever asks for what came after an event misses none that was given a
        # smaller number and kept later.
        with self._database.writing(self._tables, turn="usage") as connection:
            write(_Engine(connection))
