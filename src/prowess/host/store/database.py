"""One database for every store: a SQLite file of this machine, or PostgreSQL for many gateways.

A store asks for a connection to read, or for one to write under a topic. Writers of one topic take
turns on either engine, and the number of the topic grows with each of them: on PostgreSQL whoever
listens hears of it, and whoever cannot listen compares numbers. A SQLite file makes its tables by
itself; on PostgreSQL only `prowess db migrate` does, so that no gateway changes the tables under
the others. Nothing here is imported by a hook that uses the embedded files.
"""

import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import NullPool

from prowess.errors import DatabaseLostError, StoreError, explain_failure
from prowess.host.files import state_files

VARIABLE = "PROWESS_DATABASE_URL"
# The newest of the files under `migrations/versions`: what this Prowess reads and writes.
SCHEMA = "0002"
CHANNEL = "prowess"
POSTGRESQL = "postgresql"
MOST_CONNECTIONS = 8
_PARTS = POSTGRESQL, "postgres", "postgresql+psycopg"
_EXAMPLE = "postgresql://user:password@host:5432/prowess"
_MIGRATE = "run `prowess db migrate`"
# Nobody waits for ever: not for a server that is gone, a lock, nor a gateway that died in a write.
_CONNECT_S, _POOL_S, _QUIET_S = 5, 10, 1.0
_SESSION = (
    "-c lock_timeout=10000 -c statement_timeout=60000 -c idle_in_transaction_session_timeout=30000"
)
_NETWORK = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}

# A number that a row gets by itself: SQLite counts in a column of this type alone.
NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
METADATA = sa.MetaData()
VERSION = sa.Table("prowess_schema", sa.MetaData(), sa.Column("version_num", sa.String(32)))
# How often each topic was written to; the row is also what writers of a topic wait for.
GENERATIONS = sa.Table(
    "generations",
    METADATA,
    sa.Column("topic", sa.String, primary_key=True),
    sa.Column("number", sa.BigInteger, nullable=False),
)


class Tables(NamedTuple):
    """What a store needs to be there: tables with indexes, and statements for SQLite alone."""

    metadata: sa.MetaData
    guards: tuple[str, ...] = ()


class Database:
    """A SQLite file or a PostgreSQL database; safe for several threads and processes.

    Args:
        url: what SQLAlchemy connects to.
        durable: whether a commit to a SQLite file is on the disk when it returns. PostgreSQL
            decides that by its own settings, and does it by default.
        most: how many connections to a server are open at once.
    """

    def __init__(self, url: URL, *, durable: bool = True, most: int = MOST_CONNECTIONS) -> None:
        """Nothing is opened or made yet."""
        self.url = url
        self.is_server = url.get_backend_name() == POSTGRESQL
        # What people are shown: never with the password.
        shown = url.set(drivername=POSTGRESQL).render_as_string()
        self.name = shown if self.is_server else str(url.database)
        self._prepared: set[int] = set()
        self._lock = threading.Lock()
        # Why the server cannot be reached; empty while it can.
        self.lost = ""
        self._quiet_until = 0.0
        self.engine = (
            _open_server(url, most) if self.is_server else _open_file(url, durable=durable)
        )
        # Several questions of one reader are about one moment; a file answers so by itself.
        level = {"isolation_level": "REPEATABLE READ"} if self.is_server else {}
        self._reader = self.engine.execution_options(**level)
        self._writer = self.engine.execution_options(prowess_writes=True)

    @property
    def exists(self) -> bool:
        """True where there is something to read: whoever only asks makes no file."""
        return self.is_server or os.path.exists(self.name)

    @contextmanager
    def reading(self, tables: Tables) -> Iterator[sa.Connection]:
        """Give a connection that sees one moment of the store.

        Raises:
            StoreError: it cannot be used.
        """
        with self._explain_errors():
            self.prepare(tables)
            with self._reader.begin() as connection:
                yield connection

    @contextmanager
    def writing(
        self, tables: Tables, topic: str = "", *, turn: str = ""
    ) -> Iterator[sa.Connection]:
        """Give a connection whose changes are kept all at once, when this ends well.

        Args:
            tables: what is written to.
            topic: with one, nobody else writes under it meanwhile, and others hear of the change.
            turn: the same, and nobody hears of it: for what is written with every request.

        Raises:
            StoreError: it cannot be used.
        """
        with self._explain_errors():
            self.prepare(tables)
            with self._writer.begin() as connection:
                if topic and self.is_server:
                    self._count(connection, topic)
                if turn:
                    self.take_turn(connection, turn)
                yield connection

    def take_turn(self, connection: sa.Connection, turn: str) -> None:
        """Let nobody else have the same turn until what is written here is kept; a file has one."""
        if self.is_server:
            key = sa.func.hashtextextended(turn, 0)
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(key)))

    def prepare(self, tables: Tables) -> None:
        """Make the tables of a file where they are missing; look whether a server's fit.

        Raises:
            StoreError: the schema is not the one of this Prowess, or cannot be made.
        """
        key = 0 if self.is_server else id(tables.metadata)
        with self._lock:
            if key in self._prepared:
                return
            with self._explain_errors():
                if self.is_server:
                    check_schema(self)
                else:
                    self._create(tables)
            self._prepared.add(key)

    def insert(self, table: sa.Table) -> postgresql.Insert | sqlite.Insert:
        """Return an insert that can say what happens to a row that is there."""
        return postgresql.insert(table) if self.is_server else sqlite.insert(table)

    def put(
        self, connection: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]
    ) -> None:
        """Write rows, each in place of the one with its primary key."""
        if not rows:
            return
        added = self.insert(table)
        keys = [column.name for column in table.primary_key]
        rest = {name: added.excluded[name] for name in rows[0] if name not in keys}
        if rest:
            connection.execute(added.on_conflict_do_update(index_elements=keys, set_=rest), rows)
        else:
            connection.execute(added.on_conflict_do_nothing(), rows)

    # A type of the driver, which comes with the extra.
    def connect_alone(self) -> Any:  # noqa: ANN401
        """Return a connection of the driver beside the pool, for locks and for listening.

        Whoever holds a lock needs further connections for the work: were it one of the pool, many
        at once could wait for each other.

        Raises:
            DatabaseLostError: the server cannot be reached.
        """
        import psycopg

        _, options = self.engine.dialect.create_connect_args(self.url)
        try:
            return psycopg.connect(**{**_settings_of(self.url), **options}, autocommit=True)
        except psycopg.Error as error:
            raise self.explain(error) from error

    def close(self) -> None:
        """Give all connections back; a later use opens new ones."""
        self.engine.dispose()

    def _create(self, tables: Tables) -> None:
        try:
            state_files.create(self.name)
        except OSError as error:
            raise StoreError(self.name, f"cannot be created: {explain_failure(error)}.") from error
        with self._writer.begin() as connection:
            for table in tables.metadata.sorted_tables:
                connection.execute(sa.schema.CreateTable(table, if_not_exists=True))
                for index in sorted(table.indexes, key=lambda one: str(one.name)):
                    connection.execute(sa.schema.CreateIndex(index, if_not_exists=True))
            for guard in tables.guards:
                connection.exec_driver_sql(guard)

    def _count(self, connection: sa.Connection, topic: str) -> None:
        added = postgresql.insert(GENERATIONS).values(topic=topic, number=1)
        again = {"number": GENERATIONS.c.number + 1}
        connection.execute(added.on_conflict_do_update(index_elements=["topic"], set_=again))
        # Heard when the transaction is kept, and by nobody where it is not.
        connection.execute(sa.select(sa.func.pg_notify(CHANNEL, topic)))

    @contextmanager
    def _explain_errors(self) -> Iterator[None]:
        # One caller a second finds out whether a lost server is back; the others do not wait.
        if self.lost and time.monotonic() < self._quiet_until:
            raise DatabaseLostError(self.name, self.lost)
        try:
            yield
        except SQLAlchemyError as error:
            raise self.explain(error) from error
        self.lost = ""

    def explain(self, error: Exception) -> StoreError:
        """Return what went wrong, and what to do about it."""
        if not self.is_server:
            return StoreError(self.name, state_files.describe(error))
        problem, is_lost = describe_server(error)
        if is_lost:
            self.lost, self._quiet_until = problem, time.monotonic() + _QUIET_S
            return DatabaseLostError(self.name, problem)
        return StoreError(self.name, problem)


def open_file(path: str, *, durable: bool = True) -> Database:
    """Return the database in a SQLite file, which is made when first written to."""
    return Database(URL.create("sqlite", database=path), durable=durable)


def open_database(url: str, *, most: int = MOST_CONNECTIONS) -> Database:
    """Return the database of an address; nothing is connected to yet.

    Raises:
        StoreError: it is no address of PostgreSQL, or what speaks with one is not installed.
    """
    try:
        found = make_url(url.strip())
    except (ArgumentError, ValueError) as error:
        # Without the text: it may hold a password.
        raise StoreError(VARIABLE, f"is no address of a database: write {_EXAMPLE}.") from error
    if found.drivername not in _PARTS:
        shown = found.drivername
        raise StoreError(VARIABLE, f"begins with {shown}:, not postgresql:: write {_EXAMPLE}.")
    if not found.database:
        raise StoreError(VARIABLE, f"names no database: write {_EXAMPLE}.")
    return Database(found.set(drivername="postgresql+psycopg"), most=most)


def _open_file(url: URL, *, durable: bool) -> sa.Engine:
    # A connection for each use: nothing is held open, so nothing has to be closed.
    engine = sa.create_engine(url, connect_args={"timeout": 10}, poolclass=NullPool)
    sa.event.listen(engine, "connect", lambda made, _: _configure(made, durable=durable))
    sa.event.listen(engine, "begin", _begin)
    return engine


def _open_server(url: URL, most: int) -> sa.Engine:
    try:
        return sa.create_engine(
            url,
            connect_args=_settings_of(url),
            pool_size=most,
            max_overflow=0,
            pool_timeout=_POOL_S,
            # A server that came back has closed what was open.
            pool_pre_ping=True,
        )
    except ImportError as error:
        raise StoreError(
            url.render_as_string(),
            f"needs {error.name or 'psycopg'}: install it with `pip install 'prowess[postgres]'`.",
        ) from error


def _settings_of(url: URL) -> dict[str, Any]:
    """Return how a connection is set up; what the address says itself stands over it."""
    given = {"connect_timeout": _CONNECT_S, "options": _SESSION, **_NETWORK}
    return {name: value for name, value in given.items() if name not in url.query}


def check_schema(database: Database) -> None:
    """Make sure that the tables of a server are those of this Prowess.

    Raises:
        StoreError: they are missing, older or newer.
    """
    found = read_version(database)
    if found is None:
        raise StoreError(database.name, f"holds no tables of Prowess yet: {_MIGRATE}.")
    if found < SCHEMA:
        problem = f"has schema {found}, and this Prowess needs {SCHEMA}: {_MIGRATE}."
        raise StoreError(database.name, problem)
    if found > SCHEMA:
        raise StoreError(
            database.name,
            f"has schema {found} of a newer Prowess, and this one knows {SCHEMA}: update Prowess.",
        )


def read_version(database: Database) -> str | None:
    """Return the version of the schema that a server has; None where it has none.

    Raises:
        SQLAlchemyError: it cannot be asked.
    """
    with database.engine.connect() as connection:
        if not sa.inspect(connection).has_table(VERSION.name):
            return None
        return connection.scalar(sa.select(VERSION.c.version_num))


# By the code of PostgreSQL, or its first two signs: what to do.
_ADVICE = {
    "42501": f"the user has no right to this: grant it, or give another user in {VARIABLE}",
    "42P01": f"a table is missing: {_MIGRATE}",
    "42703": f"a column is missing: {_MIGRATE}",
    "53": "the server has no more room or connections: make some, then try again",
    "55": "another gateway holds it: try again",
    "57014": "it took longer than allowed: try again, or look at the load of the server",
}
# The server stops, starts, or closed the connection.
_LOST = ("08", "57P")


def describe_server(error: Exception) -> tuple[str, bool]:
    """Return what went wrong with a server, and whether it cannot be reached."""
    if isinstance(error, PoolTimeoutError):
        return "has no free connection for this gateway: try again in a moment.", False
    found = error.orig if isinstance(error, DBAPIError) else error
    code = str(getattr(found, "sqlstate", None) or "")
    said = next((line.strip() for line in str(found).splitlines() if line.strip()), "no reason")
    is_lost = code.startswith(_LOST) if code else _is_disconnect(error)
    if is_lost:
        # The driver knows no code where a server refuses to connect: its words say which it is.
        advice = f"start the server, create the database, or correct user and address in {VARIABLE}"
    else:
        advice = _ADVICE.get(code) or _ADVICE.get(code[:2]) or "look at the log of the server"
    return f"cannot be used ({said.rstrip('.:')}): {advice}.", is_lost


def connection_errors() -> tuple[type[Exception], ...]:
    """Return what the driver itself raises; it comes with the extra."""
    import psycopg

    return (psycopg.Error,)


def _is_disconnect(error: Exception) -> bool:
    """Return whether there was no connection: libpq has no code for it."""
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    return type(getattr(error, "orig", error)).__name__ == "OperationalError"


# Whatever connection the driver makes.
def _configure(connection: Any, *, durable: bool) -> None:  # noqa: ANN401
    # The driver would begin a transaction by itself, and only with the first write.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode = WAL")
    # What is noted before a write must be there after a power cut.
    cursor.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
    cursor.close()


def _begin(connection: sa.Connection) -> None:
    # Immediate: a transaction that begins by reading cannot wait for its turn to write.
    writes = connection.get_execution_options().get("prowess_writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
