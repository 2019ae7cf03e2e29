"""Taking turns: locks that end with their holder, and leases for work that one gateway does."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from prowess.host.store.database import METADATA, Database, connection_errors

LEASES = sa.Table(
    "leases",
    METADATA,
    sa.Column("name", sa.String, primary_key=True),
    sa.Column("holder", sa.String, nullable=False),
    sa.Column("until", sa.Float, nullable=False),
)


@contextmanager
def held(database: Database, name: str, wait_s: int = 10) -> Iterator[None]:
    """Let nobody else in the fleet hold this name; PostgreSQL gives it back when we die.

    Raises:
        StoreError: another gateway holds it for longer than we wait, or the server is gone.
    """
    # By itself and not in a transaction: one that waits for files would be ended as idle.
    with closing(database.connect_alone()) as connection:
        try:
            connection.execute(f"SET lock_timeout = '{wait_s:d}s'")
            connection.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", (name,))
        except connection_errors() as error:
            raise database.explain(error) from error
        yield


def take_lease(connection: sa.Connection, name: str, holder: str, seconds: float) -> bool:
    """Take a lease in a transaction; False where another holder has it still."""
    now = time.time()
    row = {"name": name, "holder": holder, "until": now + seconds}
    added = postgresql.insert(LEASES).values(row)
    taken = added.on_conflict_do_update(
        index_elements=["name"],
        set_={"holder": added.excluded.holder, "until": added.excluded.until},
        where=LEASES.c.until < now,
    ).returning(LEASES.c.name)
    return connection.execute(taken).one_or_none() is not None
