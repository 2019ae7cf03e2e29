"""Snapshots of sessions: kept through a turn, renewed at the next when something changed."""

from dataclasses import dataclass

from prowess.runtime.ports import SessionStore, StoredSnapshot
from prowess.runtime.service import SkillsService
from prowess.skills.snapshot import Snapshot
from prowess.skills.text import one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What a session works with during one turn."""

    stored: StoredSnapshot
    # True where this turn sees something else than the last one did.
    rebuilt: bool


class Sessions:
    """Hands each session its snapshot at the start of a turn."""

    def __init__(self, skills: SkillsService, store: SessionStore) -> None:
        self._skills, self._store = skills, store

    def begin_turn(self, session_id: str, agent_id: str | None = None) -> Turn:
        """Return the snapshot for this turn, renewed if files, config or filter changed."""
        session_id = one_line(session_id)
        # A turn is where changes land, whether or not anything watches.
        self._skills.refresh()
        current = self._skills.snapshot(agent_id)
        stored = self._store.load(session_id)
        if stored is not None and not _is_stale(stored, current):
            return Turn(stored=stored, rebuilt=False)
        fresh = StoredSnapshot(
            session_id=session_id,
            agent_id=current.agent_id,
            # Another process may have stored a later one: versions of a session only grow.
            version=current.version if stored is None else max(current.version, stored.version + 1),
            hash=current.hash,
            prompt=current.prompt,
            skills=current.skills,
            skill_filter=current.skill_filter,
        )
        self._store.save(fresh)
        return Turn(stored=fresh, rebuilt=True)


def _is_stale(stored: StoredSnapshot, current: Snapshot) -> bool:
    """Compare meanings, not versions: each process counts its own."""
    return (stored.agent_id, stored.skill_filter, stored.hash) != (
        current.agent_id,
        current.skill_filter,
        current.hash,
    )
