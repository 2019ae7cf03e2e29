"""What was last read of the database, for as long as it cannot be reached.

A gateway that loses its database goes on answering questions with what it knew; what would change
something is refused by the store itself. Only answers that were once given are given again: about
what nobody asked before, the error stands.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa

from prowess.errors import DatabaseLostError
from prowess.host.store.database import NUMBER, Database, Tables
from prowess.host.store.proposals import StoredProposals
from prowess.host.store.sessions import StoredSessions
from prowess.host.store.usage import Engine, UsageTables
from prowess.runtime.ports import StoredSnapshot
from prowess.runtime.usage import Use
from prowess.runtime.workshop.ports import EVERYTHING
from prowess.workshop.proposal import Begun, Proposal, ProposalEvent, State, Subject

_T = TypeVar("_T")
_MOST_ANSWERS = 512


class _Answers:
    """The last answers to the latest questions; safe from any thread."""

    def __init__(self) -> None:
        self._known: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    def ask(self, question: Hashable, look: Callable[[], _T]) -> _T:
        """Look, and keep what was found; where the database is lost, return what was kept.

        Raises:
            StoreError: the database cannot be used, and nothing is known.
        """
        try:
            found = look()
        except DatabaseLostError:
            with self._lock:
                if question not in self._known:
                    raise
                known: _T = self._known[question]
                return known
        with self._lock:
            self._known[question] = found
            self._known.move_to_end(question)
            while len(self._known) > _MOST_ANSWERS:
                self._known.popitem(last=False)
        return found


class LastKnownProposals(StoredProposals):
    """Proposals that can be read without the database, as they last were."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._answers = _Answers()

    def get(self, workspace: str, proposal_id: str) -> Proposal | None:
        """Return one proposal of a workspace."""
        try:
            return super().get(workspace, proposal_id)
        except DatabaseLostError:
            return next((one for one in self.listed(workspace) if one.id == proposal_id), None)

    def listed(self, workspace: str, state: State | None = None) -> tuple[Proposal, ...]:
        """Return the proposals of a workspace, newest first."""
        look = super().listed
        found = self._answers.ask(("listed", workspace), lambda: look(workspace))
        return tuple(one for one in found if state in (None, one.state))

    def applied(self, workspace: str, skill: str) -> tuple[Proposal, ...]:
        """Return what was applied to a skill and still is, the last one first."""
        look = super().applied
        return self._answers.ask(("applied", workspace, skill), lambda: look(workspace, skill))

    def events(
        self, workspace: str, after: int = 0, most: int = 200, about: Subject = EVERYTHING
    ) -> tuple[ProposalEvent, ...]:
        """Return what happened after event number `after`, oldest first."""
        look = super().events
        question = ("events", workspace, after, most, about)
        return self._answers.ask(question, lambda: look(workspace, after, most, about))

    def unfinished(self, workspace: str) -> tuple[Begun, ...]:
        """Return the writes that began and did not come to an end; none while it is not known.

        What would bring them to an end is a write, and is refused until the database is back.
        """
        try:
            return super().unfinished(workspace)
        except DatabaseLostError:
            return ()


class LastKnownSessions(StoredSessions):
    """Sessions that can go on without the database with the snapshot that they have."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._answers = _Answers()

    def load(self, session_id: str) -> StoredSnapshot | None:
        """Return what the session holds, if anything."""
        look = super().load
        return self._answers.ask(("load", session_id), lambda: look(session_id))

    def last_used(self) -> Mapping[str, int]:
        """Return when each skill was last used."""
        return self._answers.ask("used", super().last_used)

    def close(self) -> None:
        """Nothing is held open here: the database belongs to whoever opened it."""


_KINDS = tuple(use.value for use in Use)
USAGE = sa.MetaData()
sa.Table(
    "usage_totals",
    USAGE,
    sa.Column("skill", sa.String, primary_key=True),
    sa.Column("agent", sa.String, primary_key=True),
    *(sa.Column(kind, sa.BigInteger, nullable=False) for kind in _KINDS),
    sa.Column("used_ms", sa.BigInteger),
    sa.Column("touched_ms", sa.BigInteger, nullable=False),
    sa.Index("usage_totals_by_time", "touched_ms"),
)
sa.Table(
    "usage_events",
    USAGE,
    sa.Column("sequence", NUMBER, primary_key=True),
    sa.Column("at_ms", sa.BigInteger, nullable=False),
    *(sa.Column(name, sa.String, nullable=False) for name in ("use", "skill", "agent")),
)
sa.Table(
    "usage_days",
    USAGE,
    sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("skill", sa.String, primary_key=True),
    sa.Column("agent", sa.String, primary_key=True),
    *(sa.Column(kind, sa.BigInteger, nullable=False) for kind in (*_KINDS, "unmatched")),
)


class _Engine(NamedTuple):
    """Runs the statements of the log in a database."""

    connection: sa.Connection

    def execute(self, statement: str, values: Mapping[str, object], /) -> Iterable[Sequence[Any]]:
        """Return the rows of an answer."""
        return self.connection.execute(sa.text(statement), values)

    def executemany(self, statement: str, rows: Sequence[Mapping[str, object]], /) -> object:
        """Run it with each row of values."""
        return self.connection.execute(sa.text(statement), rows) if rows else None


class LastKnownUsage(UsageTables):
    """Numbers of use of all gateways, which can be shown without the database."""

    # Bounds are about the disk, not about a row.
    _prefix, _row, _writes_between = "usage_", "ctid", 64
    _tables = Tables(USAGE)

    def __init__(self, database: Database, **bounds: int) -> None:
        super().__init__(**bounds)
        self._database, self._answers = database, _Answers()

    def close(self) -> None:
        """Nothing is held open here: the database belongs to whoever opened it."""

    def _ask(self, question: Hashable, look: Callable[[Engine], _T], nothing: _T) -> _T:
        del nothing

        def read() -> _T:
            with self._database.reading(self._tables) as connection:
                return look(_Engine(connection))

        return self._answers.ask(question, read)

    def _write(self, write: Callable[[Engine], None]) -> None:
        # In turn, so that whoever asks for what came after an event misses none that was given a
        # smaller number and kept later.
        with self._database.writing(self._tables, turn="usage") as connection:
            write(_Engine(connection))
