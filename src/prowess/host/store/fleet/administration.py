"""What an operator does with the database of a fleet: make its tables, look, fill and check.

A new database gets its tables as the stores know them, and is at the newest step at once. An older
one is moved forward with Alembic; nothing here goes back. Each file under `versions/` is one step.
A step is taken whole or not at all, by one process at a time, and a database of a newer Prowess is
left alone.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from prowess.errors import StoreError
from prowess.host.files import state_files
from prowess.host.store import hub_tables, proposals, sessions
from prowess.host.store.database import METADATA, SCHEMA, VERSION, Database, read_version
from prowess.host.store.fleet import caches, files
from prowess.host.store.routing import HALF
from prowess.workshop.proposal import State

_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_LEAST_SERVER = 150_000
# What steps lead from.
_FIRST = "0002"
# The first with halfvec, which the vectors are kept in.
_LEAST_VECTOR = (0, 7)
_GET_VECTOR = "install pgvector 0.7 or newer on the server (package postgresql-NN-pgvector)"
# Any number that is ours: two gateways that start at once must not both migrate.
_LOCK = 7_026_341_512


class SchemaState(NamedTuple):
    """What a database has, and what it needs."""

    version: str | None
    wanted: str
    server: str
    vector: str

    @property
    def is_current(self) -> bool:
        """True where nothing has to be done."""
        return self.version == self.wanted

    @property
    def advice(self) -> str:
        """What to do where it is not."""
        is_newer = (self.version or "") > self.wanted
        return "update Prowess" if is_newer else "run `prowess db migrate`"


def read_state(database: Database) -> SchemaState:
    """Return what a server is, and which schema it has.

    Raises:
        StoreError: it cannot be reached, or is too old.
    """
    try:
        with database.engine.connect() as connection:
            number = int(connection.scalar(sa.text("SHOW server_version_num")) or 0)
            server = str(connection.scalar(sa.text("SHOW server_version")))
            vector = connection.scalar(_AVAILABLE_VECTOR)
        version = read_version(database)
    except SQLAlchemyError as error:
        raise database.explain(error) from error
    if number < _LEAST_SERVER:
        problem = f"is PostgreSQL {server}: Prowess needs 15 or newer."
        raise StoreError(database.name, problem)
    return SchemaState(version=version, wanted=SCHEMA, server=server, vector=str(vector or ""))


# The one that is there before the one that could be.
_AVAILABLE_VECTOR = sa.text(
    "SELECT COALESCE(installed_version, default_version)"
    " FROM pg_available_extensions WHERE name = 'vector'"
)


def migrate(database: Database, tell: Callable[[str], None] = lambda _step: None) -> SchemaState:
    """Bring a database to the schema of this Prowess; return what it was before.

    Raises:
        StoreError: it is newer, lacks pgvector, or refuses.
    """
    before = read_state(database)
    if before.version is not None and before.version > SCHEMA:
        raise StoreError(
            database.name,
            f"has schema {before.version} of a newer Prowess, and this one knows {SCHEMA}:"
            " update Prowess.",
        )
    if before.version is not None and before.version < _FIRST:
        problem = f"has schema {before.version}, of before any release: give an empty database."
        raise StoreError(database.name, problem)
    if not before.vector:
        raise StoreError(database.name, f"has no pgvector: {_GET_VECTOR}, then try again.")
    if tuple(map(int, before.vector.split(".")[:2])) < _LEAST_VECTOR:
        raise StoreError(database.name, f"has pgvector {before.vector}: {_GET_VECTOR}.")
    try:
        with database.engine.begin() as connection:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
            _upgrade(connection, tell)
    except SQLAlchemyError as error:
        raise database.explain(error) from error
    except ImportError as error:
        problem = f"needs {error.name}: install it with `pip install 'prowess[postgres]'`."
        raise StoreError(database.name, problem) from error
    return before


def _upgrade(connection: sa.Connection, tell: Callable[[str], None]) -> None:
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.script import ScriptDirectory

    scripts = ScriptDirectory(_FOLDER, version_locations=[os.path.join(_FOLDER, "versions")])

    def find_steps(revision: str, _context: object) -> object:
        if not revision:
            _make_tables(connection)
        find = "_upgrade_revs" if revision else "_stamp_revs"
        # What `alembic upgrade` and `stamp` themselves call, without a script of ours that Alembic
        # would run.
        steps = getattr(scripts, find)("head", revision)
        for step in steps:
            tell(str(step))
        return steps

    with EnvironmentContext(Config(), scripts, fn=find_steps, destination_rev="head") as context:
        context.configure(connection=connection, version_table=VERSION.name)
        context.run_migrations()


# What no table of SQLAlchemy says: full text and vectors of the hub, and logs that only grow.
_BESIDE_TABLES = (
    "ALTER TABLE hub_documents ADD COLUMN near halfvec, ADD COLUMN terms tsvector",
    "CREATE INDEX hub_documents_terms ON hub_documents USING gin (terms)",
    """
    CREATE FUNCTION prowess_only_added() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'events are only added'; END $$
    """,
    *(
        f"CREATE TRIGGER {table}_only_added BEFORE UPDATE OR DELETE OR TRUNCATE ON {table}"
        " FOR EACH STATEMENT EXECUTE FUNCTION prowess_only_added()"
        for table in ("workshop_events", "workshop_event_actors", "audit_events")
    ),
)


def _make_tables(connection: sa.Connection) -> None:
    connection.exec_driver_sql("CREATE EXTENSION IF NOT EXISTS vector")
    for table in (*all_tables().values(), *hub_tables.METADATA.sorted_tables):
        table.create(connection)
    for statement in _BESIDE_TABLES:
        connection.exec_driver_sql(statement)


_ROWS_AT_ONCE = 500
# The tables of old files, by the name that they have in the database.
_OF_FILES: Mapping[str, Mapping[str, str]] = {
    "prowess.db": {
        table.name: table.name
        for table in (*sessions.METADATA.sorted_tables, *proposals.METADATA.sorted_tables)
    },
    "usage.db": {"totals": "usage_totals", "events": "usage_events", "days": "usage_days"},
    "reports.db": {"reports": "scan_reports"},
    "vectors.db": {"vectors": "vectors"},
    # What skills are found by is made anew: the other engine has another index.
    "hub/hub.db": {
        table.name: table.name
        for table in hub_tables.METADATA.sorted_tables
        if table not in {hub_tables.META, hub_tables.TERMS, hub_tables.DOCUMENTS}
    },
}
# The logs of decisions, by the name that they have in the database.
_LOGS = {"audit.jsonl": "decisions", "hub/audit.jsonl": "hub-decisions"}


class DatabaseProblem(NamedTuple):
    """Something wrong with a database, and what to do about it."""

    what: str
    advice: str


def all_tables() -> Mapping[str, sa.Table]:
    """Return every table of the schema by name, as the stores know them."""
    vectors = caches.make_vector_table(sa.MetaData())
    known = (METADATA, sessions.METADATA, proposals.METADATA, caches.USAGE, caches.METADATA)
    tables = [table for one in (*known, files.METADATA) for table in one.sorted_tables]
    return {table.name: table for table in (*tables, vectors)}


def count_rows(database: Database) -> Mapping[str, int]:
    """Return how many rows each table has.

    Raises:
        StoreError: it cannot be read.
    """
    with database.reading(files.TABLES) as connection:
        names = set(sa.inspect(connection).get_table_names()) - {VERSION.name}
        return {
            name: connection.scalar(sa.select(sa.func.count()).select_from(sa.table(name))) or 0
            for name in sorted(names)
        }


def copy_files(
    state: str, database: Database, tell: Callable[[str, int, int], None] = lambda *_: None
) -> Mapping[str, int]:
    """Copy what the files of a state folder hold into an empty database, all of it or nothing.

    The files stay as they are. Caches whose rows are there already are left out.

    Returns:
        How many rows each table got.

    Raises:
        StoreError: a file cannot be read, or the database holds something already.
    """
    done = {}
    with database.writing(files.TABLES, proposals.TOPIC) as connection:
        tables = {**hub_tables.METADATA.tables, **all_tables()}
        for file, names in _OF_FILES.items():
            path = os.path.join(state, file)
            if state_files.identity(path) is None:
                continue
            with closing(_open(path)) as source:
                for old, new in names.items():
                    _refuse_full(connection, tables[new], database)
                    done[new] = _copy((source, old), connection, tables[new], tell)
        gateway = files.read_id(state)
        for file, log in _LOGS.items():
            done[log] = files.copy_log(connection, os.path.join(state, file), log, gateway)
    return {name: count for name, count in done.items() if count is not None}


def _open(path: str) -> sqlite3.Connection:
    opened = state_files.open_readonly(path)
    opened.row_factory = sqlite3.Row
    return opened


def _refuse_full(target: sa.Connection, table: sa.Table, database: Database) -> None:
    if target.scalar(sa.select(sa.func.count()).select_from(table)):
        problem = f"holds rows in {table.name} already: copy into an empty database."
        raise StoreError(database.name, problem)


def _copy(
    origin: tuple[sqlite3.Connection, str],
    target: sa.Connection,
    table: sa.Table,
    tell: Callable[[str, int, int], None],
) -> int | None:
    source, old = origin
    total = _count(source, old)
    if total is None:
        return None
    done = 0
    for rows in _read(source, old, table):
        target.execute(sa.insert(table), rows)
        done += len(rows)
        tell(f"copying {table.name}", done, total)
    _set_counter(target, table)
    return done


def _count(source: sqlite3.Connection, name: str) -> int | None:
    """Return how many rows a table of a file has; None where an older file has no such table."""
    known = source.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone()
    if known is None:
        return None
    # The name is one of our own.
    count: int = source.execute(f"SELECT count(*) FROM {name}").fetchone()[0]  # noqa: S608
    return count


def _read(source: sqlite3.Connection, name: str, table: sa.Table) -> Iterator[list[dict[str, Any]]]:
    # The name is one of our own.
    rows = source.execute(f"SELECT * FROM {name}")  # noqa: S608
    wanted = set(table.c.keys())
    while chunk := rows.fetchmany(_ROWS_AT_ONCE):
        made = [{key: value for key, value in dict(row).items() if key in wanted} for row in chunk]
        yield (
            [caches.without_nul(row) for row in made]
            if name != "vectors"
            else list(_keep_fit(made))
        )


def _keep_fit(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in rows:
        half = np.frombuffer(row["vector"], HALF)
        if half.size and np.isfinite(half).all():
            yield {**row, "vector": half}


def _set_counter(target: sa.Connection, table: sa.Table) -> None:
    """Let numbers that are given from now on come after those that were copied."""
    column = table.autoincrement_column
    if column is None:
        return
    most = target.scalar(sa.select(sa.func.max(column)))
    counter = target.scalar(sa.select(sa.func.pg_get_serial_sequence(table.name, column.name)))
    if most is not None and counter is not None:
        target.execute(sa.select(sa.func.setval(counter, most)))


def find_problems(database: Database) -> tuple[DatabaseProblem, ...]:
    """Go through the whole database and say what is wrong with it.

    Raises:
        StoreError: it cannot be reached.
    """
    state = read_state(database)
    if not state.is_current:
        said = f"its schema is {state.version or 'none'}, not {SCHEMA}"
        return (DatabaseProblem(said, state.advice),)
    try:
        with database.engine.connect() as connection:
            # What reads tables that are not as they should be only repeats that.
            found = [*_find_drift(connection)] or [
                *_find_strays(connection),
                *_find_counters(connection),
                *_find_few_connections(connection, database),
                *_find_unreadable(database),
            ]
    except SQLAlchemyError as error:
        raise database.explain(error) from error
    return tuple(found)


def _find_drift(connection: sa.Connection) -> Iterator[DatabaseProblem]:
    """Compare what is there with what the stores use."""
    from alembic.autogenerate import compare_metadata
    from alembic.runtime.migration import MigrationContext

    wanted = sa.MetaData()
    for table in all_tables().values():
        table.to_metadata(wanted)
    ours = set(wanted.tables)

    def is_ours(_found: object, name: str | None, kind: str, *_rest: object) -> bool:
        return kind != "table" or name in ours

    options = {"include_object": is_ours, "version_table": VERSION.name, "compare_type": True}
    context = MigrationContext.configure(connection, opts=options)
    for change in compare_metadata(context, wanted):
        advice = "somebody changed the tables: restore a backup, or undo it by hand"
        yield DatabaseProblem(
            f"its tables are not those of schema {SCHEMA}: {_show_change(change)}", advice
        )


# As Alembic gives it: a tuple, or a list of them.
def _show_change(change: Any) -> str:  # noqa: ANN401
    first = change[0] if isinstance(change, tuple) else change[0][0]
    named = change if isinstance(change, tuple) else change[0]
    return f"{first} {' '.join(str(getattr(part, 'name', part)) for part in named[1:4])}"


_STRAYS = {
    "files of proposals that are gone": "SELECT count(*) FROM workshop_files AS f WHERE NOT EXISTS"
    " (SELECT 1 FROM workshop_proposals AS p WHERE p.id = f.proposal_id)",
    "sessions whose prompt is gone": "SELECT count(*) FROM session_snapshots AS s"
    " WHERE s.prompt_hash IS NOT NULL AND NOT EXISTS"
    " (SELECT 1 FROM prompts AS p WHERE p.hash = s.prompt_hash)",
    "versions of skills that are gone": "SELECT count(*) FROM hub_versions AS v WHERE NOT EXISTS"
    " (SELECT 1 FROM hub_skills AS s WHERE s.id = v.skill_id)",
    "files of versions whose content is gone": "SELECT count(*) FROM hub_files AS f WHERE NOT"
    " EXISTS (SELECT 1 FROM hub_blobs AS b WHERE b.sha256 = f.sha256)",
    "proposals without an event": "SELECT count(*) FROM workshop_proposals AS p WHERE NOT EXISTS"
    " (SELECT 1 FROM workshop_events AS e WHERE e.proposal_id = p.id)",
}


def _find_strays(connection: sa.Connection) -> Iterator[DatabaseProblem]:
    for what, question in _STRAYS.items():
        if count := connection.scalar(sa.text(question)):
            yield DatabaseProblem(
                f"{count} {what}", "restore a backup: no Prowess leaves these behind"
            )


def _find_counters(connection: sa.Connection) -> Iterator[DatabaseProblem]:
    for name, table in all_tables().items():
        column = table.autoincrement_column
        if column is None:
            continue
        counter = connection.scalar(sa.select(sa.func.pg_get_serial_sequence(name, column.name)))
        if counter is None:
            continue
        # The name is one that PostgreSQL itself gave.
        last = connection.scalar(sa.text(f"SELECT last_value FROM {counter}"))  # noqa: S608
        most = connection.scalar(sa.select(sa.func.max(column))) or 0
        if most > (last or 0):
            advice = f"SELECT setval('{counter}', {most})"
            yield DatabaseProblem(f"{name} would give number {last} again", advice)


def _find_few_connections(
    connection: sa.Connection, database: Database
) -> Iterator[DatabaseProblem]:
    most = int(connection.scalar(sa.text("SHOW max_connections")) or 0)
    used = connection.scalar(sa.text("SELECT count(*) FROM pg_stat_activity")) or 0
    mine = getattr(database.engine.pool, "size", int)() + 2
    if used + mine > most:
        advice = "raise max_connections, lower state.connections, or run fewer gateways"
        yield DatabaseProblem(
            f"{used} of {most} connections are used, and a gateway takes {mine}", advice
        )


def _find_unreadable(database: Database) -> Iterator[DatabaseProblem]:
    query = sa.select(proposals.PROPOSALS.c.workspace).distinct()
    with database.reading(proposals.TABLES) as connection:
        workspaces = list(connection.scalars(query))
    store = proposals.StoredProposals(database)
    for workspace in workspaces:
        for state in State:
            try:
                store.listed(workspace, state)
            except StoreError as error:
                yield DatabaseProblem(
                    f"{workspace}, {state.value}: {error.problem}", "restore a backup"
                )
