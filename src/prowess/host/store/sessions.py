"""Session snapshots and times of use, in the tables of a database.

A long prompt is kept once, by its hash, however many sessions share it; prompts that no session
holds any more are removed with the write that orphaned them.
"""

import hashlib
import json
from collections.abc import Mapping

import sqlalchemy as sa

from prowess.errors import StoreError
from prowess.host.store.database import Database, Tables
from prowess.runtime.ports import StoredSnapshot
from prowess.skills.snapshot import SnapshotSkill

_INLINE_PROMPT_CHARS = 512
_SCHEMA_VERSION = 1

METADATA = sa.MetaData()
_prompts = sa.Table(
    "prompts",
    METADATA,
    sa.Column("hash", sa.String, primary_key=True),
    sa.Column("text", sa.Text, nullable=False),
)
_sessions = sa.Table(
    "session_snapshots",
    METADATA,
    sa.Column("session_id", sa.String, primary_key=True),
    sa.Column("agent_id", sa.String, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("hash", sa.String, nullable=False),
    sa.Column("skill_filter", sa.Text),
    sa.Column("skills", sa.Text),
    sa.Column("prompt", sa.Text),
    sa.Column("prompt_hash", sa.String),
    sa.Index("session_snapshots_by_prompt", "prompt_hash"),
)
_uses = sa.Table(
    "skill_uses",
    METADATA,
    sa.Column("skill_name", sa.String, primary_key=True),
    sa.Column("last_used_ms", sa.BigInteger, nullable=False),
    sa.Column("uses", sa.BigInteger, nullable=False),
)


TABLES = Tables(METADATA)
# Who saves also removes what nobody holds: two at once could remove what the other just took.
_TURN = "sessions"


class StoredSessions:
    """The snapshots of all sessions; safe for several processes at once."""

    def __init__(self, database: Database) -> None:
        """Open it.

        Raises:
            StoreError: it cannot be used.
        """
        self._database = database
        if not database.is_server:
            self._check_version()
        database.prepare(TABLES)

    def load(self, session_id: str) -> StoredSnapshot | None:
        """Return what the session holds, if anything."""
        joined = sa.outerjoin(_sessions, _prompts, _sessions.c.prompt_hash == _prompts.c.hash)
        query = (
            sa.select(_sessions, _prompts.c.text)
            .select_from(joined)
            .where(_sessions.c.session_id == session_id)
        )
        with self._database.reading(TABLES) as connection:
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
        with self._database.writing(TABLES, turn=_TURN) as connection:
            if long:
                text = {"hash": key, "text": snapshot.prompt}
                kept = self._database.insert(_prompts).values(text).on_conflict_do_nothing()
                connection.execute(kept)
            self._database.put(connection, _sessions, [values])
            held = sa.select(_sessions.c.prompt_hash).where(_sessions.c.prompt_hash.is_not(None))
            connection.execute(sa.delete(_prompts).where(_prompts.c.hash.not_in(held)))

    def record_use(self, skill_name: str, at_ms: int) -> None:
        """Remember that a skill was used; time never goes back."""
        first = self._database.insert(_uses).values(
            skill_name=skill_name, last_used_ms=at_ms, uses=1
        )
        later = sa.case((_uses.c.last_used_ms > at_ms, _uses.c.last_used_ms), else_=at_ms)
        again = {"last_used_ms": later, "uses": _uses.c.uses + 1}
        with self._database.writing(TABLES) as connection:
            connection.execute(
                first.on_conflict_do_update(index_elements=["skill_name"], set_=again)
            )

    def last_used(self) -> Mapping[str, int]:
        """Return when each skill was last used."""
        with self._database.reading(TABLES) as connection:
            rows = connection.execute(sa.select(_uses.c.skill_name, _uses.c.last_used_ms))
            return {row.skill_name: row.last_used_ms for row in rows}

    def close(self) -> None:
        """Give back what was opened."""
        self._database.close()

    def _check_version(self) -> None:
        """Refuse a file of a newer Prowess before anything is made in it."""
        with self._database.writing(Tables(sa.MetaData())) as connection:
            version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
            if version > _SCHEMA_VERSION:
                problem = "was written by a newer Prowess: update Prowess."
                raise StoreError(self._database.name, problem)
            if version < _SCHEMA_VERSION:
                connection.exec_driver_sql(f"PRAGMA user_version = {_SCHEMA_VERSION}")
