"""Making and moving forward the tables of PostgreSQL, with Alembic; nothing here goes back.

Each file under `versions/` is one step. A step is taken whole or not at all, by one process at a
time, and a database of a newer Prowess is left alone.
"""

import os
from collections.abc import Callable
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from prowess.errors import StoreError
from prowess.host.store.database import SCHEMA, VERSION, Database, read_version

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_LEAST_SERVER = 150_000
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
        # What `alembic upgrade` itself calls, without a script of ours that Alembic would run.
        steps = scripts._upgrade_revs("head", revision)  # noqa: SLF001
        for step in steps:
            tell(str(step))
        return steps

    with EnvironmentContext(Config(), scripts, fn=find_steps, destination_rev="head") as context:
        context.configure(connection=connection, version_table=VERSION.name)
        context.run_migrations()
