"""Where calls of the tool `skill_workshop` are answered: for which agent, and what it may see.

A skill that the agent may not know of does not exist here, and neither does what anybody proposed
for it: no answer names it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from prowess.runtime.workshop.ports import ProposalStore
from prowess.runtime.workshop.proposals import Proposals
from prowess.workshop.proposal import Proposal, Source

Knows = Callable[[str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Where a call is answered: the proposals, and for whom they are."""

    proposals: Proposals
    store: ProposalStore
    workspace: str
    agent_id: str = ""
    session_id: str = ""
    source: Source = Source.TOOL
    # Whether a person asks, or has just said yes to this very call.
    by_person: bool = False
    # Whether the agent may know of a skill, by its name.
    knows: Knows = lambda _skill: True
    # Whether no person stands between a call and what it changes.
    unasked: bool = False

    def known(self, proposals: Iterable[Proposal]) -> tuple[Proposal, ...]:
        """Return the proposals for skills that the agent may know of, each as it may see it."""
        return tuple(self.shown(one) for one in proposals if self.knows(one.skill))

    def shown(self, proposal: Proposal) -> Proposal:
        """Return a proposal without the names of skills that the agent may not know of."""
        similar = tuple(one for one in proposal.similar if self.knows(one.skill))
        return proposal if similar == proposal.similar else replace(proposal, similar=similar)
