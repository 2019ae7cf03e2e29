"""How far each workspace is from its next review, and what the last look at a turn said.

In the embedded store's SQLite file, in tables of their own.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict

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
    """Counters and last notes; nothing is held open between two uses.

    Every method raises `StoreError` where the file cannot be used.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._engine = sa.create_engine(
            f"sqlite:///{path}", connect_args={"timeout": 10}, poolclass=NullPool
        )
        self._is_ready = False

    def load(self, workspace: str) -> Counters:
        """Return the counters; those of an unknown workspace are all zero."""
        if not os.path.exists(self._path):
            return Counters()
        with self._connection() as connection:
            asked = sa.select(_counters).where(_counters.c.workspace == workspace)
            row = connection.execute(asked).mappings().one_or_none()
        if row is None:
            return Counters()
        return Counters(**{name: value for name, value in row.items() if name != "workspace"})

    def save(self, workspace: str, counters: Counters) -> None:
        """Keep the counters in place of the ones before."""
        self._put(_counters, {"workspace": workspace, **asdict(counters)})

    def keep(self, workspace: str, speaker: str, note: Note) -> None:
        """Keep what was said last, in place of what was said before."""
        said = {"at": note.at, "text": note.text[:_MOST_CHARS]}
        self._put(_notes, {"workspace": workspace, "speaker": speaker, **said})

    def notes(self, workspace: str) -> Mapping[str, Note]:
        """Return what each speaker said last."""
        if not os.path.exists(self._path):
            return {}
        with self._connection() as connection:
            asked = sa.select(_notes).where(_notes.c.workspace == workspace)
            rows = connection.execute(asked).all()
        return {row.speaker: Note(at=row.at, text=row.text) for row in rows}

    def _put(self, table: sa.Table, values: Mapping[str, object]) -> None:
        added = insert(table).values(values)
        with self._connection() as connection:
            connection.execute(
                added.on_conflict_do_update(index_elements=table.primary_key, set_=values)
            )

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
