"""How far each workspace is from its next review, and what the last look at a turn said.

In the embedded store's SQLite file, in tables of their own.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from prowess.errors import StoreError
from prowess.host.store import sqlite as sqlite_files
from prowess.runtime.workshop.review import Counters, Note

_metadata = sa.MetaData()
_counters = sa.Table(
    "workshop_counters",
    _metadata,
    sa.Column("workspace", sa.String, primary_key=True),
    sa.Column("turns", sa.Integer, nullable=False),
    sa.Column("tool_calls", sa.Integer, nullable=False),
    sa.Column("failures", sa.Integer, nullable=False),
    sa.Column("last_review_at", sa.Float, nullable=False),
)
_notes = sa.Table(
    "workshop_notes",
    _metadata,
    sa.Column("workspace", sa.String, primary_key=True),
    # Who said it: the phrases or the reviewer.
    sa.Column("speaker", sa.String, primary_key=True),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
)
_MOST_CHARS = 500


class SqliteCounters:
    """Counters and last notes; nothing is held open between two uses."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._engine = sa.create_engine(
            f"sqlite:///{path}", connect_args={"timeout": 10}, poolclass=NullPool
        )
        self._is_ready = False

    def load(self, workspace: str) -> Counters:
        """Return the counters; those of an unknown workspace are all zero.

        Raises:
            StoreError: they cannot be read.
        """
        if not os.path.exists(self._path):
            return Counters()
        with self._connection() as connection:
            asked = sa.select(_counters).where(_counters.c.workspace == workspace)
            row = connection.execute(asked).one_or_none()
        if row is None:
            return Counters()
        return Counters(
            turns=row.turns,
            tool_calls=row.tool_calls,
            failures=row.failures,
            last_review_at=row.last_review_at,
        )

    def save(self, workspace: str, counters: Counters) -> None:
        """Keep the counters in place of the ones before.

        Raises:
            StoreError: they cannot be kept.
        """
        values = {
            "workspace": workspace,
            "turns": counters.turns,
            "tool_calls": counters.tool_calls,
            "failures": counters.failures,
            "last_review_at": counters.last_review_at,
        }
        with self._connection() as connection:
            connection.execute(
                insert(_counters)
                .values(values)
                .on_conflict_do_update(index_elements=["workspace"], set_=values)
            )

    def keep(self, workspace: str, speaker: str, note: Note) -> None:
        """Keep what was said last, in place of what was said before.

        Raises:
            StoreError: it cannot be kept.
        """
        values = {
            "workspace": workspace,
            "speaker": speaker,
            "at": note.at,
            "text": note.text[:_MOST_CHARS],
        }
        with self._connection() as connection:
            connection.execute(
                insert(_notes)
                .values(values)
                .on_conflict_do_update(index_elements=["workspace", "speaker"], set_=values)
            )

    def notes(self, workspace: str) -> Mapping[str, Note]:
        """Return what each speaker said last.

        Raises:
            StoreError: they cannot be read.
        """
        if not os.path.exists(self._path):
            return {}
        with self._connection() as connection:
            asked = sa.select(_notes).where(_notes.c.workspace == workspace)
            rows = connection.execute(asked).all()
        return {row.speaker: Note(at=row.at, text=row.text) for row in rows}

    @contextmanager
    def _connection(self) -> Iterator[sa.Connection]:
        try:
            if not self._is_ready:
                sqlite_files.create(self._path)
            with self._engine.begin() as connection:
                if not self._is_ready:
                    for table in _metadata.sorted_tables:
                        connection.execute(sa.schema.CreateTable(table, if_not_exists=True))
                    self._is_ready = True
                yield connection
        except (SQLAlchemyError, OSError) as error:
            problem = str(getattr(error, "orig", None) or error).splitlines()[0]
            raise StoreError(
                self._path, f"cannot be used ({problem}): try again, or move it away."
            ) from error
