"""Who may decide about a proposal: the policy, an agent, or nobody but a person.

What a person wrote by hand, what would take the place of another skill, and what says again what a
person refused is a person's to decide, whatever the policy says and whatever an agent asks for.
"""

from collections.abc import Callable, Mapping

from prowess.runtime.workshop.applying import SKILL_FILE
from prowess.runtime.workshop.ports import WorkshopTools
from prowess.settings import ApprovalPolicy
from prowess.workshop.edit import Replace, is_ours
from prowess.workshop.proposal import Proposal, State
from prowess.workshop.similar import says_nearly


class Rights:
    """Says what has to wait for a person; `current` reads a skill of a workspace."""

    def __init__(
        self, tools: WorkshopTools, current: Callable[[str, str], Mapping[str, bytes]]
    ) -> None:
        self._tools, self._current = tools, current

    @property
    def is_auto(self) -> bool:
        """True where what is safe is written at once."""
        return self._tools.settings().approval_policy is ApprovalPolicy.AUTO

    def must_wait(self, proposal: Proposal) -> bool:
        """Return whether a proposal that nobody looked at must not be written.

        Raises:
            ProposalFolderError: the skill cannot be read.
            StoreError: the store cannot be read.
        """
        return bool(self.needs_person(proposal)) or self._is_like_a_rejected_one(proposal)

    def needs_person(self, proposal: Proposal) -> str:
        """Return why nobody but a person may apply a proposal; empty where an agent may.

        Raises:
            ProposalFolderError: the skill cannot be read.
        """
        page = self._current(proposal.workspace, proposal.skill).get(SKILL_FILE)
        if page is not None:
            return "" if is_ours(page) else f"{proposal.skill} was written by hand"
        other = self._tools.elsewhere(proposal.skill, proposal.agent_id)
        return f"{proposal.skill} would shadow {other}" if other else ""

    def _is_like_a_rejected_one(self, proposal: Proposal) -> bool:
        text = _said(proposal)
        rejected = self._tools.store.listed(proposal.workspace, State.REJECTED)
        return any(one.for_good and says_nearly(text, _said(one)) for one in rejected)


def _said(proposal: Proposal) -> str:
    """Return the new words of a proposal."""
    edit = proposal.edit
    if isinstance(edit, Replace):
        return edit.new_text
    if edit is not None:
        return edit.body
    bodies = (body for body in proposal.change.files.values() if body is not None)
    return "\n".join(body.decode(errors="replace") for body in bodies)
