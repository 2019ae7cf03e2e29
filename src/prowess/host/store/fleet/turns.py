"""How gateways keep in step: they hear of what others changed, and take turns.

Locks end with their holder, leases are for work that one gateway does. To hear of changes a thread
of its own listens. Each second, heard or not, it compares the numbers of the topics, so a
notice that got lost, or a pooler that passes none on, costs a second and no change. It is also who
finds out that the server is gone, and that it is back.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from prowess.errors import DatabaseLostError, StoreError
from prowess.host.store.database import (
    CHANNEL,
    GENERATIONS,
    METADATA,
    Database,
    Tables,
    connection_errors,
)
from prowess.spans import contain

log = logging.getLogger(__name__)
_TABLES = Tables(METADATA)
_EVERY_S, _TOGETHER_S = 1.0, 0.05
_STOP_S = 10.0


class Listening:
    """Tells which topics changed, and when the database is lost and found.

    Args:
        database: the database of the fleet.
        look: is called each second, and at once after a write, with the topics written to.
        turned: is told why the database cannot be reached; nothing where it can again.
        every_s: how long it waits for a notice before it looks without one.
    """

    def __init__(
        self,
        database: Database,
        look: Callable[[frozenset[str]], None],
        turned: Callable[[str], None],
        every_s: float = _EVERY_S,
    ) -> None:
        self._every_s = every_s
        self._database, self._tell, self._turned = database, look, turned
        self._numbers: dict[str, int] = {}
        self._lost = self._said = ""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="listening", daemon=True)

    def start(self) -> None:
        """Begin; what was written before is no news."""
        self._numbers = dict(self._read_numbers())
        self._thread.start()

    def stop(self, *, wait: bool = True) -> None:
        """End, and wait for it, though not for ever."""
        self._stopping.set()
        if wait and self._thread.ident is not None:
            self._thread.join(_STOP_S)

    def _run(self) -> None:
        while not self._stopping.is_set():
            # Whatever it is, the next second may go well.
            with contain(lambda error: log.error("fleet.listening: %s", type(error).__name__)):
                try:
                    with closing(self._database.connect_alone()) as connection:
                        self._listen(connection)
                except DatabaseLostError as error:
                    self._note_loss(str(error))
                except StoreError as error:
                    # Of this machine, or of rights: the database is there, and each call says so.
                    self._warn(str(error))
                except connection_errors() as error:
                    self._note_loss(str(self._database.explain(error)))
            self._stopping.wait(_EVERY_S)

    # A type of the driver, which comes with the extra.
    def _listen(self, connection: Any) -> None:  # noqa: ANN401
        connection.execute(f"LISTEN {CHANNEL}")
        while not self._stopping.is_set():
            self._look()
            # Back with the first notice, and after a second without one.
            for _notice in connection.notifies(timeout=self._every_s, stop_after=1):
                # Many come at once when many are written: one look is for all of them.
                self._stopping.wait(_TOGETHER_S)

    def _look(self) -> None:
        now = self._read_numbers()
        if self._lost:
            self._lost = ""
            log.info("fleet.found: the database answers again")
            self._turned("")
        changed = frozenset(topic for topic, n in now.items() if self._numbers.get(topic) != n)
        self._numbers = dict(now)
        self._tell(changed)

    def _read_numbers(self) -> Mapping[str, int]:
        with self._database.reading(_TABLES) as connection:
            rows = connection.execute(sa.select(GENERATIONS.c.topic, GENERATIONS.c.number))
            return {row.topic: row.number for row in rows}

    def _warn(self, problem: str) -> None:
        if problem != self._said:
            log.warning("fleet.trouble: %s", problem)
        self._said = problem

    def _note_loss(self, problem: str) -> None:
        if not self._lost:
            log.warning("fleet.lost: %s", problem)
            self._turned(problem)
        self._lost = problem


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
