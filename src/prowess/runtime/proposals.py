"""The life of a proposal: made, scanned, applied or rejected, and never in two states at once.

What is stored is what would be written, byte for byte. Applying believes none of it: the skill is
read again, scanned again and compared with what the proposal was made against.
"""

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from prowess.errors import (
    PathError,
    ProposalError,
    ProposalFolderError,
    ProposalNotFoundError,
    ProposalStaleError,
    ProposalStateError,
    ProposalUnsafeError,
    QuarantinedError,
    StaleChangeError,
)
from prowess.learning.edit import is_ours
from prowess.learning.proposal import (
    DEFAULT_CAPS,
    EventKind,
    Proposal,
    State,
    change_hash,
    may_become,
    result_of,
)
from prowess.runtime.applying import SKILL_FILE, apply_change
from prowess.runtime.drafts import Draft, Plan, draft_of, joined, plan
from prowess.runtime.workshop_ports import WorkshopTools
from prowess.safety.model import Finding, ScanReport
from prowess.settings import ApprovalPolicy

log = logging.getLogger("prowess.workshop")


class Proposed(NamedTuple):
    """A proposal, and whether it is new or was there already."""

    proposal: Proposal
    is_new: bool


class Proposals:
    """Makes proposals and decides about them, for every workspace."""

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
            raise ProposalNotFoundError(f"proposal not found: {proposal_id}")
        return found

    def propose(self, workspace: str, draft: Draft) -> Proposed:
        """Keep a draft as a proposal, pending or quarantined, or return the same one from before.

        Raises:
            ProposalError: it cannot be made; nothing was stored.
            StoreError: it cannot be kept.
        """
        planned = self._plan(draft, self.current(workspace, draft.skill))
        at = self._tools.now()
        made = Proposal(
            id=self._tools.new_id(draft.skill),
            revision=change_hash(planned.change),
            state=State.PENDING if planned.is_safe else State.QUARANTINED,
            created_at=at,
            updated_at=at,
            title=draft.title,
            reason=draft.reason,
            payload=draft.wish,
            session_id=draft.session_id,
            agent_id=draft.agent_id,
            workspace=workspace,
            source=draft.source,
            change=planned.change,
            edit=draft.edit,
            base_hash=planned.base_hash,
            findings=planned.report.findings,
            quarantine_reason=planned.refusal,
            evidence=draft.evidence,
        )
        caps = {**DEFAULT_CAPS, State.PENDING: self._tools.settings().max_pending}
        kept = self._tools.store.add(made, caps)
        if kept.id == made.id:
            _say("queued" if planned.is_safe else "quarantined", kept)
        return Proposed(kept, kept.id == made.id)

    def decide(self, proposal: Proposal, *, apply: bool | None = None) -> Proposal:
        """Apply a pending proposal where that is wanted; without a wish the policy decides.

        Raises:
            ProposalError: it cannot be applied.
            StoreError: the store cannot be used.
        """
        if apply is None:
            # Nobody looked at it: what a person wrote by hand is left to a person.
            auto = self._tools.settings().approval_policy is ApprovalPolicy.AUTO
            apply = auto and not self.is_hand_written(proposal.workspace, proposal.skill)
        if not apply or proposal.state is not State.PENDING:
            return proposal
        return self.apply(proposal)

    def apply(self, proposal: Proposal, revision: str = "") -> Proposal:
        """Write a pending proposal to its skill.

        Args:
            proposal: what to apply.
            revision: the revision that was reviewed, if the caller says which.

        Raises:
            ProposalStateError: it is not pending.
            ProposalStaleError: it, or the skill, is not what was reviewed.
            ProposalUnsafeError: the scanner refuses it now.
            ProposalFolderError: the skill cannot be read or written.
            StoreError: the store cannot be used.
        """
        _check(proposal, State.APPLIED, revision)
        try:
            done = apply_change(
                proposal.change,
                reviewed_hash=proposal.revision,
                base_hash=proposal.base_hash,
                folder=self._tools.folder(proposal.workspace, proposal.skill),
                scan=lambda files: self._scan_pending(proposal, files),
            )
        except StaleChangeError as error:
            return self._went_stale(proposal, error)
        except QuarantinedError as error:
            findings = tuple(found for found in error.findings if isinstance(found, Finding))
            now = replace(proposal, findings=findings, quarantine_reason=error.problem)
            self._move(proposal, now, State.QUARANTINED)
            raise ProposalUnsafeError(str(error)) from error
        except PathError as error:
            raise ProposalFolderError(str(error)) from error
        return self._was_applied(proposal, replace(proposal, backup=done.backup))

    def reject(self, proposal: Proposal, revision: str = "") -> Proposal:
        """Refuse a proposal for good: the same one is not taken again.

        Raises:
            ProposalStateError: it is neither pending nor quarantined.
            ProposalStaleError: it is not the revision that was seen.
            StoreError: the store cannot be used.
        """
        _check(proposal, State.REJECTED, revision)
        return self._move(proposal, proposal, State.REJECTED)

    def attach(self, workspace: str, draft: Draft) -> Proposed:
        """Add support files to what is proposed for a skill, or propose them for one that exists.

        Raises:
            ProposalError: they cannot be added; nothing was stored.
            StoreError: the store cannot be used.
        """
        waiting = self._tools.store.listed(workspace, State.PENDING)
        host = next((one for one in waiting if one.skill == draft.skill), None)
        current = self.current(workspace, draft.skill)
        if host is None:
            if SKILL_FILE not in current:
                raise ProposalNotFoundError(f"skill does not exist: {draft.skill}")
            return self.propose(workspace, draft)
        both = joined(host, draft.files)
        planned = self._plan(both, current)
        if not planned.is_safe:
            # What was good stays as it was, and the whole is kept as evidence.
            return self.propose(workspace, both)
        revised = self._move(host, planned.revise(host), State.PENDING)
        return Proposed(revised, is_new=True)

    def current(self, workspace: str, skill: str) -> Mapping[str, bytes]:
        """Return every file of a skill; none where it does not exist.

        Raises:
            ProposalFolderError: it cannot be read.
        """
        try:
            folder = self._tools.folder(workspace, skill)
            # With the lock, a change that was cut off is taken back before anybody reads it.
            with folder.lock():
                return folder.read_all()
        except PathError as error:
            raise ProposalFolderError(str(error)) from error

    def is_hand_written(self, workspace: str, skill: str) -> bool:
        """Return whether a skill exists that the workshop did not write.

        Raises:
            ProposalFolderError: it cannot be read.
        """
        page = self.current(workspace, skill).get(SKILL_FILE)
        return page is not None and not is_ours(page)

    def _plan(self, draft: Draft, current: Mapping[str, bytes]) -> Plan:
        most = self._tools.settings().max_skill_bytes
        return plan(draft, current, scan=self._tools.scan, max_bytes=most)

    def _scan_pending(self, proposal: Proposal, files: Mapping[str, bytes]) -> ScanReport:
        """Scan under the folder's lock, if nobody decided about the proposal meanwhile."""
        _check(self.get(proposal.workspace, proposal.id), State.APPLIED, proposal.revision)
        return self._tools.scan(proposal.skill, files)

    def _move(self, was: Proposal, now: Proposal, state: State, note: str = "") -> Proposal:
        _check(was, state, "")
        now = replace(now, state=state, updated_at=self._tools.now())
        kind = EventKind(_done(state))
        if not self._tools.store.change(was, now, kind, note):
            latest = self.get(was.workspace, was.id)
            raise ProposalStateError(latest.state.value, _done(state))
        _say(kind.value, now)
        return now

    def _was_applied(self, was: Proposal, now: Proposal, note: str = "") -> Proposal:
        now = replace(now, state=State.APPLIED, updated_at=self._tools.now())
        if not self._tools.store.change(was, now, EventKind.APPLIED, note):
            # The files are written, so that is what the record says, whatever came in between.
            latest = self.get(was.workspace, was.id)
            self._tools.store.change(latest, now, EventKind.APPLIED, f"was {latest.state.value}")
        _say("applied", now)
        self._tools.refresh()
        self._follow(now)
        return now

    def _went_stale(self, proposal: Proposal, error: StaleChangeError) -> Proposal:
        """Set a proposal aside, unless the skill already is what it would become."""
        current = self.current(proposal.workspace, proposal.skill)
        if current and result_of(current, proposal.change) == current:
            return self._was_applied(proposal, proposal, "was written before")
        # Whoever decided about it meanwhile was first; nothing is written here either way.
        with suppress(ProposalStateError):
            self._move(proposal, proposal, State.STALE, error.problem)
        raise ProposalStaleError(
            proposal.id, error.problem, expected=error.expected, found=error.found
        ) from error

    def _follow(self, applied: Proposal) -> None:
        """Work out the other pending changes of a skill anew: we know what changed, we did it."""
        current = self.current(applied.workspace, applied.skill)
        for other in self._tools.store.listed(applied.workspace, State.PENDING):
            if other.skill == applied.skill:
                # Somebody may decide about it at this moment, and that counts.
                with suppress(ProposalStateError):
                    self._work_out_again(other, current, f"after {applied.id}")

    def _work_out_again(self, other: Proposal, current: Mapping[str, bytes], note: str) -> None:
        try:
            planned = self._plan(draft_of(other), current)
        except ProposalError as error:
            self._move(other, other, State.STALE, str(error))
            return
        state = State.PENDING if planned.is_safe else State.QUARANTINED
        self._move(other, planned.revise(other), state, note)


def _check(proposal: Proposal, wanted: State, revision: str) -> None:
    if not may_become(proposal.state, wanted):
        raise ProposalStateError(proposal.state.value, _done(wanted))
    if revision and revision != proposal.revision:
        problem = "the proposal is not the one that was reviewed"
        raise ProposalStaleError(proposal.id, problem, expected=revision, found=proposal.revision)


def _done(wanted: State) -> str:
    return EventKind.REVISED.value if wanted is State.PENDING else wanted.value


def _say(what: str, proposal: Proposal) -> None:
    log.info(
        "skill-workshop: %s %s",
        what,
        proposal.skill,
        extra={"proposal": proposal.id, "revision": proposal.revision},
    )
