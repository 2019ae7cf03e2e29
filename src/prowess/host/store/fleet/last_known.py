"""What was last read of the database, for as long as it cannot be reached.

A gateway that loses its database goes on answering questions with what it knew; what would change
something is refused by the store itself. Only answers that were once given are given again: about
what nobody asked before, the error stands.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

from prowess.errors import DatabaseLostError
from prowess.host.store.database import Database
from prowess.host.store.fleet.usage import StoredUsage
from prowess.host.store.proposals import StoredProposals
from prowess.host.store.sessions import StoredSessions
from prowess.runtime.ports import StoredSnapshot
from prowess.runtime.usage import UsageDay, UsagePage, UsageQuery
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


class LastKnownUsage(StoredUsage):
    """Numbers of use that can be shown without the database."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._answers = _Answers()

    def read(self, query: UsageQuery) -> UsagePage:
        """Return a part of the log."""
        look = super().read
        return self._answers.ask(query, lambda: look(query))

    def days(self, first: int, agent_id: str | None) -> Sequence[UsageDay]:
        """Return what happened from a day on, to one agent's skills or to all."""
        look = super().days
        return self._answers.ask(("days", first, agent_id), lambda: look(first, agent_id))

    def last_used(self, agent_id: str | None = None) -> Mapping[str, int]:
        """Return when each skill was last used, by one agent or any, in milliseconds since 1970."""
        look = super().last_used
        return self._answers.ask(("used", agent_id), lambda: look(agent_id))
