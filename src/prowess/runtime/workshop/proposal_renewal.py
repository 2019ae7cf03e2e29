"""A proposal whose skill changed, brought up to date.

The wish stays what it was; what it means for the skill of now is worked out anew and waits again.
Where the skill has no place for it any more, the proposal is set aside as stale, so that the same
lesson may come again.
"""

from prowess.errors import ProposalInputError
from prowess.runtime.workshop.apply import ProposalWrites
from prowess.runtime.workshop.ports import WorkshopTools
from prowess.runtime.workshop.proposal_moves import Moves, check
from prowess.safety.contents import content_hash
from prowess.workshop.acts import NOBODY, By
from prowess.workshop.proposal import Proposal, State

_NOTE = "brought up to date"
_NOTHING_SAID = (
    "content: say what shall change: content, description, supportFiles, goal or evidence"
)


class Renewals:
    """Brings proposals of every workspace up to date."""

    def __init__(self, tools: WorkshopTools) -> None:
        self._moves = Moves(tools)
        self._writes = ProposalWrites(tools, self._moves)

    def renew(self, proposal: Proposal, revision: str = "", by: By = NOBODY) -> Proposal:
        """Work out anew what a pending proposal means: pending again, quarantined or stale.

        Raises:
            ProposalStateError: it is not pending.
            ProposalStaleError: it is not the revision that was seen.
            ProposalInputError: its skill did not change.
            ProposalFolderError: the skill cannot be read.
            StoreError: the store cannot be used.
        """
        with self._writes.held(proposal) as folder:
            latest = self._moves.get(proposal.workspace, proposal.id)
            check(latest, State.PENDING, revision)
            current = folder.read_all()
            if content_hash(current) == latest.base_hash:
                raise ProposalInputError(_NOTHING_SAID, field="content")
            return self._moves.work_out_again(latest, current, _NOTE, by)
