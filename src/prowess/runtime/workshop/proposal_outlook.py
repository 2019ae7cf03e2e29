"""What can be done with a proposal right now, in words for whoever reviews it.

Only a look: whoever applies it or rolls it back checks everything again, under the skill's lock.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from prowess.errors import PathError, ProposalError
from prowess.runtime.workshop.drafts import Plan, draft_of, plan
from prowess.runtime.workshop.ports import WorkshopTools
from prowess.runtime.workshop.proposal_moves import misfit
from prowess.safety.contents import content_hash
from prowess.workshop.proposal import Proposal, State

_NOT_PENDING: Mapping[State, str] = MappingProxyType(
    {
        State.APPLIED: "it is applied already",
        State.REJECTED: "it was rejected",
        State.QUARANTINED: "it is quarantined: the scanner, or a person, keeps it from being used",
        State.STALE: "the skill changed since it was proposed",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """Why a proposal cannot be applied or rolled back; empty where it can."""

    apply_problem: str = ""
    rollback_problem: str = ""
    # Whether the skill is no longer what the change was made against.
    target_changed: bool = False
    # What the same wish means for a skill that changed; None where it has no place there any more.
    anew: Plan | None = None
    # Why a proposal whose skill changed cannot be brought up to date.
    update_problem: str = ""
    # By path: what the change replaced when it was applied; None for a file that was not there.
    replaced: Mapping[str, bytes | None] | None = None


class Outlooks:
    """Looks at proposals of every workspace."""

    def __init__(self, tools: WorkshopTools) -> None:
        self._tools = tools

    def of(self, proposal: Proposal, current: Mapping[str, bytes]) -> Outlook:
        """Return what can be done with a proposal whose skill has these files.

        Raises:
            StoreError: the store cannot be read.
        """
        is_applied = proposal.state is State.APPLIED
        changed = not is_applied and content_hash(current) != proposal.base_hash
        anew, misfit = self._worked_out(proposal, current) if changed else (None, "")
        replaced = self._replaced(proposal)
        off = "" if self._tools.settings().active else "the workshop is switched off"
        return Outlook(
            apply_problem=_NOT_PENDING.get(proposal.state)
            or off
            or (_NOT_PENDING[State.STALE] if changed else ""),
            rollback_problem=self._kept_from_going_back(proposal, current, replaced) or off,
            target_changed=changed,
            anew=anew,
            update_problem=_NOT_PENDING.get(proposal.state) or off or misfit,
            replaced=replaced,
        )

    def _worked_out(
        self, proposal: Proposal, current: Mapping[str, bytes]
    ) -> tuple[Plan | None, str]:
        """Return what a proposal means for the skill of now, and what keeps it from being that."""
        most = self._tools.settings().max_skill_bytes
        try:
            found = plan(draft_of(proposal), current, scan=self._tools.scan, max_bytes=most)
        except ProposalError as error:
            return None, misfit(proposal, current, error)
        return found, f"the scanner refuses it now: {found.refusal}" if found.refusal else ""

    def _kept_from_going_back(
        self,
        proposal: Proposal,
        current: Mapping[str, bytes],
        replaced: Mapping[str, bytes | None] | None,
    ) -> str:
        if proposal.state is not State.APPLIED:
            return "it is not applied"
        if replaced is None:
            return "what it replaced is no longer kept"
        last = self._tools.store.applied(proposal.workspace, proposal.skill)
        if last and last[0].id != proposal.id:
            return f"{last[0].id} was applied after it: roll that back first"
        wrote = proposal.change.files.items()
        theirs = sorted(path for path, body in wrote if current.get(path) != body)
        return f"{', '.join(theirs)} changed since it was applied" if theirs else ""

    def _replaced(self, proposal: Proposal) -> Mapping[str, bytes | None] | None:
        if proposal.state is not State.APPLIED or not proposal.backup:
            return None
        try:
            folder = self._tools.folder(proposal.workspace, proposal.skill)
            with folder.lock():
                return folder.previous(proposal.backup)
        except PathError:
            # Nothing is kept of it any more, which is an answer.
            return None
