"""The embedded store: session snapshots and times of use, in one SQLite file.

A long prompt is kept once, by its hash, however many sessions share it; prompts that no session
holds any more are removed with the write that orphaned them.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.exc import SQLAlchemyError

from prowess.errors import StoreError
from prowess.host.store import sqlite as sqlite_files
from prowess.runtime.ports import StoredSnapshot
from prowess.skills.snapshot import SnapshotSkill

_INLINE_PROMPT_CHARS = 512
_SCHEMA_VERSION = 1

_metadata = sa.MetaData()
_prompts = sa.Table(
    "prompts",
    _metadata,
    sa.Column("hash", sa.String, primary_key=True),
    sa.Column("text", sa.Text, nullable=False),
)
_sessions = sa.Table(
    "session_snapshots",
    _metadata,
    sa.Column("session_id", sa.String, primary_key=True),
    sa.Column("agent_id", sa.String, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("hash", sa.String, nullable=False),
    sa.Column("skill_filter", sa.Text),
    sa.Column("skills", sa.Text),
    sa.Column("prompt", sa.Text),
    sa.Column("prompt_hash", sa.String),
)
_uses = sa.Table(
    "skill_uses",
    _metadata,
    sa.Column("skill_name", sa.String, primary_key=True),
    sa.Column("last_used_ms", sa.Integer, nullable=False),
    sa.Column("uses", sa.Integer, nullable=False),
)


class SqliteStore:
    """A store in one file; safe for several processes at once."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._engine = sa.create_engine(f"sqlite:///{path}", connect_args={"timeout": 10})
        sa.event.listen(self._engine, "connect", _configure)
        try:
            sqlite_files.create(path)
        except OSError as error:
            raise StoreError(path, f"cannot be created: {error.strerror}.") from error
        with self._connection() as connection:
            self._migrate(connection)

    def load(self, session_id: str) -> StoredSnapshot | None:
        """Return what the session holds, if anything."""
        joined = sa.outerjoin(_sessions, _prompts, _sessions.c.prompt_hash == _prompts.c.hash)
        query = (
            sa.select(_sessions, _prompts.c.text)
            .select_from(joined)
            .where(_sessions.c.session_id == session_id)
        )
        with self._connection() as connection:
            row = connection.execute(query).one_or_none()
        if row is None:
            return None
        try:
            names = json.loads(row.skill_filter)
            skills = tuple(
                SnapshotSkill(name=name, key=key, primary_env=primary, required_env=tuple(required))
                for name, key, primary, required in json.loads(row.skills)
            )
        except (TypeError, ValueError):
            # A row that nobody can read is as good as none: the session gets a fresh one.
            return None
        return StoredSnapshot(
            session_id=row.session_id,
            agent_id=row.agent_id,
            version=row.version,
            hash=row.hash,
            prompt=row.prompt if row.prompt_hash is None else row.text,
            skills=skills,
            skill_filter=None if names is None else tuple(names),
        )

    def save(self, snapshot: StoredSnapshot) -> None:
        """Keep `snapshot` for its session, in one transaction."""
        long = len(snapshot.prompt) >= _INLINE_PROMPT_CHARS
        key = hashlib.sha256(snapshot.prompt.encode("utf-8", "surrogatepass")).hexdigest()
        values = {
            "session_id": snapshot.session_id,
            "agent_id": snapshot.agent_id,
            "version": snapshot.version,
            "hash": snapshot.hash,
            "skill_filter": json.dumps(snapshot.skill_filter),
            "skills": json.dumps(
                [(s.name, s.key, s.primary_env, s.required_env) for s in snapshot.skills]
            ),
            "prompt": None if long else snapshot.prompt,
            "prompt_hash": key if long else None,
        }
        with self._connection() as connection:
            if long:
                text = {"hash": key, "text": snapshot.prompt}
                connection.execute(insert(_prompts).values(text).on_conflict_do_nothing())
            connection.execute(
                insert(_sessions)
                .values(values)
                .on_conflict_do_update(index_elements=["session_id"], set_=values)
            )
            held = sa.select(_sessions.c.prompt_hash).where(_sessions.c.prompt_hash.is_not(None))
            connection.execute(sa.delete(_prompts).where(_prompts.c.hash.not_in(held)))

    def record_use(self, skill_name: str, at_ms: int) -> None:
        """Remember that a skill was used; time never goes back."""
        first = insert(_uses).values(skill_name=skill_name, last_used_ms=at_ms, uses=1)
        again = {
            "last_used_ms": sa.func.max(_uses.c.last_used_ms, at_ms),
            "uses": _uses.c.uses + 1,
        }
        with self._connection() as connection:
            connection.execute(
                first.on_conflict_do_update(index_elements=["skill_name"], set_=again)
            )

    def last_used(self) -> Mapping[str, int]:
        """Return when each skill was last used."""
        with self._connection() as connection:
            rows = connection.execute(sa.select(_uses.c.skill_name, _uses.c.last_used_ms))
            return {row.skill_name: row.last_used_ms for row in rows}

    def close(self) -> None:
        """Give the file back."""
        self._engine.dispose()

    @contextmanager
    def _connection(self) -> Iterator[sa.Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            problem = str(getattr(error, "orig", None) or error).splitlines()[0]
            raise StoreError(
                self._path, f"cannot be used ({problem}): try again, or move it away."
            ) from error

    def _migrate(self, connection: sa.Connection) -> None:
        version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
        if version > _SCHEMA_VERSION:
            raise StoreError(self._path, "was written by a newer Prowess: update Prowess.")
        # Two processes may come first at the same moment.
        for table in _metadata.sorted_tables:
            connection.execute(sa.schema.CreateTable(table, if_not_exists=True))
        if version < _SCHEMA_VERSION:
            connection.exec_driver_sql(f"PRAGMA user_version = {_SCHEMA_VERSION}")


def _configure(connection: sa.engine.interfaces.DBAPIConnection, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.close()
