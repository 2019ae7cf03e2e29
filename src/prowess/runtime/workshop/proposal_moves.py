"""From one state of a proposal to the next: which moves are allowed, and who was first.

The store decides between two who move the same proposal at once; the loser is told.
"""

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from prowess.errors import (
    ProposalError,
    ProposalNotFoundError,
    ProposalStaleError,
    ProposalStateError,
)
from prowess.runtime.workshop.applying import SKILL_FILE
from prowess.runtime.workshop.drafts import Draft, Plan, draft_of, plan
from prowess.runtime.workshop.ports import WorkshopTools
from prowess.safety.paths import shown
from prowess.secrets.credentials import masked
from prowess.skills import frontmatter
from prowess.workshop.acts import ITSELF, NOBODY, By
from prowess.workshop.edit import Replace
from prowess.workshop.proposal import EventKind, Proposal, State, may_become

log = logging.getLogger("prowess.workshop")


class Moves:
    """Looks proposals up and moves them, for whoever makes or writes them."""

    def __init__(self, tools: WorkshopTools) -> None:
        self._tools = tools

    def get(self, workspace: str, proposal_id: str) -> Proposal:
        """Return one proposal of a workspace.

        Raises:
            ProposalNotFoundError: there is none of that id.
            StoreError: the store cannot be read.
        """
        found = self._tools.store.get(workspace, proposal_id)
        if found is None:
            raise ProposalNotFoundError(f"proposal not found: {shown(masked(proposal_id))}")
        return found

    def plan(self, draft: Draft, current: Mapping[str, bytes]) -> Plan:
        """Work out what a draft means for a skill with these files.

        Raises:
            ProposalError: it cannot be done.
        """
        most = self._tools.settings().max_skill_bytes
        return plan(draft, current, scan=self._tools.scan, max_bytes=most)

    def move(
        self, was: Proposal, now: Proposal, state: State, note: str = "", by: By = NOBODY
    ) -> Proposal:
        """Keep `now` in place of `was`, in another state or revised.

        Raises:
            ProposalStateError: that move is not allowed, or somebody else was first.
            StoreError: it cannot be kept.
        """
        check(was, state)
        decision = "" if state is State.PENDING else note
        now = replace(now, state=state, updated_at=self._tools.now(), decision=decision)
        kind = EventKind(_done(state))
        if not self._tools.store.change(was, now, kind, note, by):
            latest = self.get(was.workspace, was.id)
            raise ProposalStateError(latest.state.value, _done(state))
        say(kind.value, now)
        return now

    def follow(self, written: Proposal, current: Mapping[str, bytes]) -> None:
        """Work out the other pending changes of a skill anew: we know what changed, we did it."""
        for other in self._tools.store.listed(written.workspace, State.PENDING):
            if other.skill == written.skill and other.id != written.id:
                # Somebody may decide about it at this moment, and that counts.
                with suppress(ProposalStateError):
                    self.work_out_again(other, current, f"after {written.id}", ITSELF)

    def work_out_again(
        self, other: Proposal, current: Mapping[str, bytes], note: str, by: By
    ) -> Proposal:
        """Keep what a pending proposal means for a skill with these files; stale where nothing.

        Raises:
            ProposalStateError: it is not pending, or somebody decided about it meanwhile.
            StoreError: it cannot be kept.
        """
        try:
            planned = self.plan(draft_of(other), current)
        except ProposalError as error:
            return self.move(other, other, State.STALE, misfit(other, current, error), by)
        state = State.PENDING if planned.is_safe else State.QUARANTINED
        return self.move(other, planned.revise(other), state, note, by)


def check(proposal: Proposal, wanted: State, revision: str = "") -> None:
    """Refuse a move that the state does not allow, or a revision that is not the one seen.

    Raises:
        ProposalStateError: the state does not allow it.
        ProposalStaleError: it is another revision; both are named.
    """
    if not may_become(proposal.state, wanted):
        raise ProposalStateError(proposal.state.value, _done(wanted))
    check_revision(proposal, revision)


def check_revision(proposal: Proposal, revision: str) -> None:
    """Refuse a revision that is not the one seen; an empty one says that nobody looked.

    Raises:
        ProposalStaleError: it is another; both are named.
    """
    if revision and revision != proposal.revision:
        problem = "the proposal is not the one that was reviewed"
        raise ProposalStaleError(proposal.id, problem, expected=revision, found=proposal.revision)


def say(what: str, proposal: Proposal) -> None:
    """Log what became of a proposal, in the words of the contract."""
    log.info(
        "skill-workshop: %s %s",
        what,
        proposal.skill,
        extra={"proposal": proposal.id, "revision": proposal.revision},
    )


def _done(wanted: State) -> str:
    return EventKind.REVISED.value if wanted is State.PENDING else wanted.value


def misfit(proposal: Proposal, current: Mapping[str, bytes], error: ProposalError) -> str:
    """Return why a change has no place in a skill, in words for whoever never saw the code."""
    edit, page = proposal.edit, current.get(SKILL_FILE)
    if isinstance(edit, Replace) and page is not None:
        lines = "\n".join(edit.old_text.splitlines())
        if lines not in frontmatter.decode(page).text:
            return "the text that it replaces is no longer there"
    return str(error)
