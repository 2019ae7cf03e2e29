"""Where the catalogue of a hub is, and by which encoder its skills are found."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

import sqlalchemy as sa

from prowess.errors import StoreError
from prowess.host.store.database import Database, Tables
from prowess.host.store.hub_tables import DOCUMENTS, META, METADATA

# Full text over words that were split already: letters and digits only (`search.code_term`).
_HUB = Tables(METADATA, ("CREATE VIRTUAL TABLE IF NOT EXISTS hub_fts USING fts5(terms)",))
NEAR_INDEX = "hub_documents_near"


class HubDatabase:
    """Where the catalogue of a hub is; safe for several threads and processes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.insert, self.put, self.close = database.insert, database.put, database.close
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
            self.put(connection, META, rows)
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
