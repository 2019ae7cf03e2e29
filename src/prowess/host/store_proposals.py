"""Proposals and the log of them, in the embedded store's SQLite file, in tables of their own.

What is new is decided inside one transaction that nobody else can write during, so two processes
never keep the same proposal twice. The log only grows: the file itself refuses anything else.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from prowess.errors import StoreError
from prowess.host.proposal_rows import FORMAT, columns_of, proposal_of
from prowess.learning.proposal import Event, EventKind, Proposal, Record, State, admission

_metadata = sa.MetaData()
_proposals = sa.Table(
    "workshop_proposals",
    _metadata,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("id", sa.String, nullable=False, unique=True),
    sa.Column("workspace", sa.String, nullable=False),
    sa.Column("skill", sa.String, nullable=False),
    sa.Column("state", sa.String, nullable=False),
    sa.Column("revision", sa.String, nullable=False),
    sa.Column("payload", sa.String, nullable=False),
    sa.Column("session_id", sa.String, nullable=False),
    sa.Column("created_at", sa.Float, nullable=False),
    sa.Column("format", sa.Integer, nullable=False),
    # Everything that no question asks for, as JSON.
    sa.Column("rest", sa.Text, nullable=False),
    sqlite_autoincrement=True,
)
_files = sa.Table(
    "workshop_files",
    _metadata,
    sa.Column("proposal_id", sa.String, primary_key=True),
    sa.Column("path", sa.String, primary_key=True),
    # Null deletes the file.
    sa.Column("body", sa.LargeBinary),
)
_events = sa.Table(
    "workshop_events",
    _metadata,
    sa.Column("sequence", sa.Integer, primary_key=True),
    sa.Column("workspace", sa.String, nullable=False),
    sa.Column("proposal_id", sa.String, nullable=False),
    sa.Column("skill", sa.String, nullable=False),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("revision", sa.String, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("note", sa.Text, nullable=False),
    # A number is never given twice, so a cursor stays right.
    sqlite_autoincrement=True,
)
_GUARDS = tuple(
    f"CREATE TRIGGER IF NOT EXISTS workshop_events_{word.lower()} BEFORE {word} ON workshop_events"
    " BEGIN SELECT RAISE(ABORT, 'events are only added'); END"
    for word in ("UPDATE", "DELETE")
)
# The smallest step that a time of creation is moved by, so that the newest is always the newest.
_STEP = 0.000_01


class SqliteProposals:
    """Proposals in one file; safe for several processes at once, opened when first used."""

    def __init__(self, path: str) -> None:
        self._path = path
        # A connection for each use: nothing is held open, so nothing has to be closed.
        self._engine = sa.create_engine(
            f"sqlite:///{path}", connect_args={"timeout": 10}, poolclass=NullPool
        )
        sa.event.listen(self._engine, "connect", _configure)
        sa.event.listen(self._engine, "begin", _begin)
        self._is_ready = False

    def add(self, proposal: Proposal, caps: Mapping[State, int]) -> Proposal:
        """Keep a new proposal, or return the one that is the same; the oldest above a cap go.

        Raises:
            StoreError: it cannot be kept.
        """
        with self._connection(writes=True) as connection:
            known = _records(connection, proposal.workspace)
            newest = max((record.created_at for record in known), default=0.0)
            proposal = replace(proposal, created_at=max(proposal.created_at, newest + _STEP))
            verdict = admission(proposal, known, caps)
            if verdict.existing:
                return self._load(connection, _proposals.c.id == verdict.existing)[0]
            connection.execute(sa.insert(_proposals).values(columns_of(proposal)))
            _write_files(connection, proposal)
            _log(connection, proposal, EventKind.CREATED, proposal.updated_at)
            if proposal.state is State.QUARANTINED:
                _log(connection, proposal, EventKind.QUARANTINED, proposal.updated_at)
            self._drop(connection, verdict.dropped, proposal.updated_at)
        return proposal

    def change(self, was: Proposal, now: Proposal, kind: EventKind, note: str = "") -> bool:
        """Replace `was` by `now` and log it; False where it is no longer what it was.

        Raises:
            StoreError: it cannot be kept.
        """
        same = sa.and_(
            _proposals.c.id == was.id,
            _proposals.c.workspace == was.workspace,
            _proposals.c.state == was.state.value,
            _proposals.c.revision == was.revision,
        )
        with self._connection(writes=True) as connection:
            values = columns_of(now)
            changed = connection.execute(sa.update(_proposals).where(same).values(values))
            if not changed.rowcount:
                return False
            _write_files(connection, now)
            _log(connection, now, kind, now.updated_at, note)
        return True

    def get(self, workspace: str, proposal_id: str) -> Proposal | None:
        """Return one proposal of a workspace.

        Raises:
            StoreError: it cannot be read.
        """
        with self._connection() as connection:
            wanted = sa.and_(_proposals.c.workspace == workspace, _proposals.c.id == proposal_id)
            found = self._load(connection, wanted)
        return found[0] if found else None

    def listed(self, workspace: str, state: State | None = None) -> tuple[Proposal, ...]:
        """Return the proposals of a workspace, newest first.

        Raises:
            StoreError: they cannot be read.
        """
        wanted = _proposals.c.workspace == workspace
        if state is not None:
            wanted = sa.and_(wanted, _proposals.c.state == state.value)
        with self._connection() as connection:
            return tuple(self._load(connection, wanted))

    def counts(self, workspace: str) -> Mapping[State, int]:
        """Return how many proposals there are in each state that has any.

        Raises:
            StoreError: they cannot be read.
        """
        query = (
            sa.select(_proposals.c.state, sa.func.count())
            .where(_proposals.c.workspace == workspace)
            .group_by(_proposals.c.state)
        )
        with self._connection() as connection:
            return {State(state): count for state, count in connection.execute(query)}

    def events(self, workspace: str, after: int = 0, most: int = 200) -> tuple[Event, ...]:
        """Return what happened after event number `after`, oldest first.

        Raises:
            StoreError: they cannot be read.
        """
        query = (
            sa.select(_events)
            .where(_events.c.workspace == workspace, _events.c.sequence > after)
            .order_by(_events.c.sequence)
            .limit(most)
        )
        with self._connection() as connection:
            return tuple(
                Event(**{**row, "kind": EventKind(row["kind"])})
                for row in connection.execute(query).mappings()
            )

    def _load(self, connection: sa.Connection, wanted: sa.ColumnElement[bool]) -> list[Proposal]:
        query = sa.select(_proposals).where(wanted).order_by(_proposals.c.created_at.desc())
        rows = connection.execute(query).mappings().all()
        bodies: dict[str, dict[str, bytes | None]] = {row["id"]: {} for row in rows}
        chosen = sa.select(_proposals.c.id).where(wanted)
        for file in connection.execute(sa.select(_files).where(_files.c.proposal_id.in_(chosen))):
            bodies[file.proposal_id][file.path] = file.body
        if any(row["format"] > FORMAT for row in rows):
            raise StoreError(self._path, "was written by a newer Prowess: update Prowess.")
        return [proposal_of(row, bodies[row["id"]]) for row in rows]

    def _drop(self, connection: sa.Connection, ids: Iterable[str], at: float) -> None:
        for proposal_id in ids:
            gone = self._load(connection, _proposals.c.id == proposal_id)[0]
            connection.execute(sa.delete(_proposals).where(_proposals.c.id == proposal_id))
            connection.execute(sa.delete(_files).where(_files.c.proposal_id == proposal_id))
            _log(connection, gone, EventKind.PRUNED, at, f"was {gone.state.value}")

    @contextmanager
    def _connection(self, *, writes: bool = False) -> Iterator[sa.Connection]:
        try:
            self._prepare()
            engine = self._engine.execution_options(prowess_writes=writes)
            with engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            problem = str(getattr(error, "orig", None) or error).splitlines()[0]
            raise StoreError(
                self._path, f"cannot be used ({problem}): try again, or move it away."
            ) from error
        except (KeyError, TypeError, ValueError) as error:
            # Somebody else wrote into a row.
            problem = "holds a proposal that cannot be read: move the file away."
            raise StoreError(self._path, problem) from error

    def _prepare(self) -> None:
        if self._is_ready:
            return
        try:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
        except OSError as error:
            raise StoreError(self._path, f"cannot be created: {error.strerror}.") from error
        with self._engine.execution_options(prowess_writes=True).begin() as connection:
            for table in _metadata.sorted_tables:
                connection.execute(sa.schema.CreateTable(table, if_not_exists=True))
            for guard in _GUARDS:
                connection.exec_driver_sql(guard)
        self._is_ready = True


def _records(connection: sa.Connection, workspace: str) -> list[Record]:
    """Return what is needed to know a proposal again, without its text and its files."""
    names = ("id", "revision", "created_at", "payload", "session_id")
    query = sa.select(_proposals.c.state, *(_proposals.c[name] for name in names))
    rows = connection.execute(query.where(_proposals.c.workspace == workspace)).mappings()
    return [
        Record(state=State(row["state"]), **{name: row[name] for name in names}) for row in rows
    ]


def _write_files(connection: sa.Connection, proposal: Proposal) -> None:
    connection.execute(sa.delete(_files).where(_files.c.proposal_id == proposal.id))
    for path, body in proposal.change.files.items():
        row = {"proposal_id": proposal.id, "path": path, "body": body}
        connection.execute(sa.insert(_files).values(row))


def _log(
    connection: sa.Connection, proposal: Proposal, kind: EventKind, at: float, note: str = ""
) -> None:
    row = {
        "workspace": proposal.workspace,
        "proposal_id": proposal.id,
        "skill": proposal.skill,
        "kind": kind.value,
        "revision": proposal.revision,
        "at": at,
        "note": note,
    }
    connection.execute(sa.insert(_events).values(row))


def _configure(connection: sa.engine.interfaces.DBAPIConnection, _record: object) -> None:
    # The driver would begin a transaction by itself, and only with the first write.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.close()


def _begin(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get("prowess_writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
