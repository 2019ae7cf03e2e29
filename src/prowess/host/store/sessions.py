"""Session snapshots and times of use in a database, and the conversations of `prowess chat`.

A long prompt is kept once, by its hash, however many sessions share it; prompts that no session
holds any more are removed with the write that orphaned them.

A conversation is one private file, replaced in one step; the oldest go when there are too many.
Files of the workspace that its model may read are contained, regular, bounded and text, and no
link is followed on the way, so that nothing in a workspace can point a model elsewhere.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import sqlalchemy as sa

from prowess.errors import ContainmentError, PathError, StoreError, explain_failure
from prowess.host.files.containment import Root
from prowess.host.files.state_files import locked, write_private
from prowess.host.store.database import Database, Tables
from prowess.runtime.ports import StoredSnapshot
from prowess.safety.paths import shown
from prowess.skills.agent_filter_snapshot import SnapshotSkill

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


_MOST_TEXT_BYTES = 2 * 1024 * 1024


class WorkspaceFiles:
    """Reads text files below one folder."""

    def __init__(self, workspace: str) -> None:
        self._workspace = os.path.abspath(workspace)

    def real(self, path: str) -> str:
        """Return where a path leads: absolute, through links, and from the workspace on.

        Raises:
            PathError: it is no path.
        """
        if "\0" in path:
            raise PathError(shown(path), "is no path.")
        return os.path.realpath(os.path.join(self._workspace, path))

    def read(self, path: str) -> str:
        """Return a text file of the workspace."""
        with Root.open(self._workspace) as root:
            content = root.read(self._find_inside(path), _MOST_TEXT_BYTES)
        if b"\0" in content:
            raise PathError(shown(path), "is no text.")
        return content.decode("utf-8", "replace")

    def _find_inside(self, path: str) -> str:
        """Return a path relative to the workspace, whichever way it was written."""
        for root in (self._workspace, os.path.realpath(self._workspace)):
            full = os.path.normpath(os.path.join(root, path))
            if full.startswith(root.rstrip(os.sep) + os.sep):
                return os.path.relpath(full, root).replace(os.sep, "/")
        problem = "is not inside the workspace: name a file of the workspace or of a skill."
        raise ContainmentError(shown(path), problem)


MOST_CHATS = 200
_MOST_CHAT_BYTES = 32_000_000
_FOLDER, _ENDING = "chats", ".json"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_NAMES_TO_AVOID = re.compile(r"(?i)(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?")


class ChatFound(NamedTuple):
    """A session that is kept."""

    session_id: str
    turns: int


class ChatSessions:
    """Reads and writes conversations by the id of their session."""

    def __init__(self, state: str) -> None:
        self._folder = os.path.join(state, _FOLDER)

    def load(self, session_id: str) -> Mapping[str, Any] | None:
        """Return what is kept of a session; None where it is new.

        Raises:
            PathError: the id cannot name a file.
            StoreError: it is there and cannot be read.
        """
        path = self._path(session_id)
        try:
            with open(path, "rb") as file:
                raw = file.read(_MOST_CHAT_BYTES + 1)
            if len(raw) > _MOST_CHAT_BYTES:
                raise StoreError(path, "is too large for a chat: use --new to begin anew.")
            found = json.loads(raw)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(path, f"cannot be read: {explain_failure(error)}.") from error
        except (ValueError, RecursionError) as error:
            raise StoreError(path, "is not JSON: remove it, or use --new.") from error
        if not isinstance(found, dict):
            raise StoreError(path, "holds no chat: remove it, or use --new.")
        return found

    def save(self, session_id: str, conversation: Mapping[str, Any]) -> None:
        """Keep a conversation in place of what was kept before.

        Raises:
            PathError: the id cannot name a file.
            StoreError: it cannot be kept.
        """
        path = self._path(session_id)
        try:
            # Escapes only: half a surrogate pair in what a program printed cannot be written
            # otherwise.
            text = json.dumps(conversation)
            # What cannot be read again must not take the place of what can.
            json.loads(text)
        except (ValueError, TypeError, RecursionError) as error:
            raise StoreError(path, "cannot be kept: it is nothing that JSON can hold.") from error
        if len(text) > _MOST_CHAT_BYTES:
            raise StoreError(path, "is too large to be kept: begin anew with /new.")
        try:
            with locked(os.path.join(self._folder, ".chats")):
                write_private(path, text)
                self._prune()
        except OSError as error:
            raise StoreError(path, f"cannot be written: {explain_failure(error)}.") from error

    def latest(self, workspace: str, agent_id: str) -> ChatFound | None:
        """Return the session that was last used by an agent in a workspace."""
        for name in self._list_newest():
            session_id = name.removesuffix(_ENDING)
            try:
                kept = self.load(session_id)
            except (StoreError, PathError):
                # Another one may do; whoever asks for this one by name is told.
                continue
            if kept is None:
                continue
            if kept.get("workspaceDir") == workspace and kept.get("agentId") == agent_id:
                turns = kept.get("turns")
                return ChatFound(session_id, len(turns) if isinstance(turns, list) else 0)
        return None

    def listed(self) -> tuple[tuple[str, float], ...]:
        """Return the sessions that are kept and when each was last written, newest first."""
        found = []
        for name in self._list_newest():
            # One that goes meanwhile is not there.
            with suppress(OSError):
                changed = os.stat(os.path.join(self._folder, name)).st_mtime
                found.append((name.removesuffix(_ENDING), changed))
        return tuple(found)

    def check(self, session_id: str) -> None:
        """Make sure that an id can be kept.

        Raises:
            PathError: it cannot name a file.
        """
        self._path(session_id)

    def _path(self, session_id: str) -> str:
        if not _ID.fullmatch(session_id) or _NAMES_TO_AVOID.fullmatch(session_id):
            raise PathError(
                session_id[:80],
                "cannot be a session: use up to 64 letters, digits, dots, hyphens and underscores,"
                " a letter or digit first.",
            )
        return os.path.join(self._folder, session_id + _ENDING)

    def _list_newest(self) -> list[str]:
        try:
            with os.scandir(self._folder) as entries:
                found = [
                    (entry.stat(follow_symlinks=False).st_mtime_ns, entry.name)
                    for entry in entries
                    if entry.name.endswith(_ENDING) and not entry.name.startswith(".")
                ]
        except OSError:
            # No folder, no chats; a folder that cannot be read is told when one is saved.
            return []
        return [name for _, name in sorted(found, reverse=True)]

    def _prune(self) -> None:
        for name in self._list_newest()[MOST_CHATS:]:
            os.unlink(os.path.join(self._folder, name))
