"""How often a proposal was worded: clients count versions, the log counts events."""

from collections.abc import Iterable

from prowess.runtime.workshop.service import WorkshopService
from prowess.workshop.proposal import Event, EventKind

_WORDED = frozenset((EventKind.CREATED, EventKind.REVISED))


def wordings(workshop: WorkshopService, proposal_id: str, agent_id: str) -> tuple[int, ...]:
    """Return the numbers of the events by which a proposal got the words it has.

    Raises:
        ProposalNotFoundError: there never was such a proposal.
        StoreError: the store cannot be read.
    """
    found = workshop.history(proposal_id, agent_id=agent_id)
    return tuple(one.sequence for one in found.events if one.kind in _WORDED)


def versions(workshop: WorkshopService, events: Iterable[Event], agent_id: str) -> dict[int, int]:
    """Return, by the number of an event, which version of its proposal it is about.

    Raises:
        StoreError: the store cannot be read.
    """
    rows = list(events)
    worded = {one: wordings(workshop, one, agent_id) for one in {row.proposal_id for row in rows}}
    return {row.sequence: sum(at <= row.sequence for at in worded[row.proposal_id]) for row in rows}
