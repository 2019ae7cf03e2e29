"""The tables of a hub, in a SQLite file or in PostgreSQL with pgvector.

What is searched stands apart from what is kept: a row of `hub_documents` is the newest version that
everybody with access may have, with the words and the vector by which it is found.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from prowess.errors import StoreError
from prowess.host.store.database import Database, Tables

_METADATA = sa.MetaData()
_TEXT, _INT, _BIG = sa.Text, sa.Integer, sa.BigInteger


# Whatever SQLAlchemy takes.
def _column(name: str, kind: Any, **more: Any) -> sa.Column[Any]:  # noqa: ANN401
    return sa.Column(name, kind, nullable=False, **more)


def _id() -> sa.Column[Any]:
    # SQLite counts by itself only where the type is its own.
    return sa.Column("id", _BIG().with_variant(sa.Integer, "sqlite"), primary_key=True)


META = sa.Table(
    "hub_meta", _METADATA, sa.Column("key", sa.String, primary_key=True), _column("value", _TEXT)
)
NAMESPACES = sa.Table(
    "hub_namespaces",
    _METADATA,
    _id(),
    _column("name", sa.String, unique=True),
    _column("is_public", sa.Boolean),
    _column("is_reviewed", sa.Boolean),
)
MEMBERS = sa.Table(
    "hub_members",
    _METADATA,
    sa.Column("space", _BIG, primary_key=True),
    sa.Column("person", sa.String, primary_key=True),
    _column("role", sa.String),
)
TOKENS = sa.Table(
    "hub_tokens",
    _METADATA,
    sa.Column("id", sa.String, primary_key=True),
    # Of a text with 256 random bits, so that a plain hash is enough.
    _column("hash", sa.String, unique=True),
    _column("person", sa.String),
    _column("scopes", sa.String),
    _column("is_operator", sa.Boolean),
    _column("created_ms", _BIG),
    sa.Column("expires_ms", _BIG),
    sa.Column("revoked_ms", _BIG),
)
SKILLS = sa.Table(
    "hub_skills",
    _METADATA,
    _id(),
    _column("space", _BIG),
    _column("name", sa.String),
    # The name without separators, and its ends: one slip leaves one of the ends as it is.
    _column("joined", sa.String),
    _column("head", sa.String),
    _column("tail", sa.String),
    _column("title", _TEXT),
    _column("summary", _TEXT),
    _column("created_ms", _BIG),
    _column("updated_ms", _BIG),
    _column("deprecated", _TEXT, server_default=""),
    _column("downloads", _BIG, server_default="0"),
    sa.Column("resembles", _BIG),
    sa.UniqueConstraint("space", "name"),
    sa.Index("hub_skills_name", "name"),
    sa.Index("hub_skills_head", "head"),
    sa.Index("hub_skills_tail", "tail"),
    sa.Index("hub_skills_joined", "joined"),
    sa.Index("hub_skills_resembles", "resembles"),
)
VERSIONS = sa.Table(
    "hub_versions",
    _METADATA,
    _id(),
    _column("skill_id", _BIG),
    _column("version", sa.String),
    _column("state", sa.String),
    _column("digest", sa.String),
    # Of the archive, which is kept: another packer would make other bytes of the same files.
    _column("archive", sa.String),
    _column("manifest", _TEXT),
    _column("scan", _TEXT),
    _column("provenance", _TEXT),
    _column("publisher", sa.String),
    _column("reviewer", sa.String),
    _column("changelog", _TEXT),
    _column("reason", _TEXT),
    _column("created_ms", _BIG),
    sa.UniqueConstraint("skill_id", "version"),
)
FILES = sa.Table(
    "hub_files",
    _METADATA,
    sa.Column("version_id", _BIG, primary_key=True),
    sa.Column("path", sa.String, primary_key=True),
    _column("sha256", sa.String),
    _column("size", _BIG),
    _column("executable", sa.Boolean),
)
BLOBS = sa.Table(
    "hub_blobs",
    _METADATA,
    sa.Column("sha256", sa.String, primary_key=True),
    _column("content", sa.LargeBinary),
)
LABELS = sa.Table(
    "hub_labels",
    _METADATA,
    sa.Column("skill_id", _BIG, primary_key=True),
    sa.Column("label", sa.String, primary_key=True),
    _column("version_id", _BIG),
)
# How many documents have a word: what a rare one is worth more for.
TERMS = sa.Table(
    "hub_terms",
    _METADATA,
    sa.Column("term", sa.String, primary_key=True),
    _column("documents", _BIG),
)
DOCUMENTS = sa.Table(
    "hub_documents",
    _METADATA,
    sa.Column("skill_id", _BIG, primary_key=True, autoincrement=False),
    _column("space", _BIG),
    _column("is_public", sa.Boolean),
    _column("version", sa.String),
    # The words of each field as JSON, and how many there are in each.
    _column("words", _TEXT),
    *(_column(f"length{field}", _INT) for field in range(4)),
    # Grows with every change: whoever keeps vectors in memory asks for what is newer.
    _column("stamp", _BIG, index=True),
    sa.Column("vector", sa.LargeBinary),
)


# Full text over words that were split already: letters and digits only (`search.code_term`).
_HUB = Tables(_METADATA, ("CREATE VIRTUAL TABLE IF NOT EXISTS hub_fts USING fts5(terms)",))
NEAR_INDEX = "hub_documents_near"


class HubDatabase:
    """Where the catalogue of a hub is; safe for several threads and processes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.name, self.is_server = database.name, database.is_server
        # None where it is a file.
        self.server = database if database.is_server else None

    def reading(self) -> AbstractContextManager[sa.Connection]:
        """Give a connection that sees one moment.

        Raises:
            StoreError: it cannot be used.
        """
        return self._database.reading(_HUB)

    def writing(self) -> AbstractContextManager[sa.Connection]:
        """Give a connection whose changes are kept all at once, when this ends well.

        Raises:
            StoreError: it cannot be used.
        """
        return self._database.writing(_HUB)

    def insert(self, table: sa.Table) -> postgresql.Insert | sqlite.Insert:
        """Return an insert that can say what happens to a row that is there."""
        return self._database.insert(table)

    def prepare(self, measure: Callable[[], tuple[str, int]]) -> None:
        """Note by which encoder skills are found, where nothing is noted yet.

        Args:
            measure: names the encoder and says how wide its vectors are.

        Raises:
            StoreError: the store cannot be used.
        """
        with self.reading() as connection:
            if _read_meta(connection):
                return
        self.change_encoder(*measure())

    def check_encoder(self, encoder: str) -> None:
        """Make sure that vectors are compared with those of the same encoder.

        Raises:
            StoreError: they are of another one.
        """
        with self.reading() as connection:
            found = _read_meta(connection).get("encoder", encoder)
        if found != encoder:
            problem = (
                f"was indexed by the encoder {found or 'none'}, and this is {encoder or 'none'}:"
                " run `prowess hub reindex`, or set the encoder back."
            )
            raise StoreError(self.name, problem)

    def change_encoder(self, encoder: str, width: int) -> None:
        """Make room for the vectors of an encoder; those of another one go.

        Raises:
            StoreError: it cannot be done.
        """
        with self.writing() as connection:
            before = _read_meta(connection)
            if before.get("encoder") not in (None, encoder):
                connection.execute(sa.update(DOCUMENTS).values(vector=None))
                if self.is_server:
                    connection.exec_driver_sql("UPDATE hub_documents SET near = NULL")
            rows = [{"key": "encoder", "value": encoder}, {"key": "width", "value": str(width)}]
            added = self.insert(META)
            again = {"value": added.excluded.value}
            connection.execute(
                added.on_conflict_do_update(index_elements=["key"], set_=again), rows
            )
            if self.is_server:
                connection.exec_driver_sql(f"DROP INDEX IF EXISTS {NEAR_INDEX}")
                connection.exec_driver_sql(_write_near_index(width))

    def rebuild_near(self, width: int) -> None:
        """Make the index of vectors anew, which is quicker than to add many rows to it.

        Raises:
            StoreError: it cannot be done.
        """
        with self.writing() as connection:
            connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
            connection.exec_driver_sql("SET LOCAL maintenance_work_mem = '512MB'")
            connection.exec_driver_sql(f"DROP INDEX IF EXISTS {NEAR_INDEX}")
            connection.exec_driver_sql(_write_near_index(width))

    def close(self) -> None:
        """Give all connections back."""
        self._database.close()


def _read_meta(connection: sa.Connection) -> Mapping[str, str]:
    return {row.key: row.value for row in connection.execute(sa.select(META))}


def cast_near(width: int) -> str:
    """Return the vectors as the index has them: it takes those of one width only."""
    return f"(near::halfvec({width:d}))"


def _write_near_index(width: int) -> str:
    return (
        f"CREATE INDEX IF NOT EXISTS {NEAR_INDEX} ON hub_documents"
        f" USING hnsw ({cast_near(width)} halfvec_ip_ops) WITH (m = 16, ef_construction = 96)"
    )
