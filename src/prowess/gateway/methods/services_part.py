"""What the methods of the gateway call: the same services as every other edge.

The composition root fills this in. What is slow to open is opened by the first call that needs it.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from prowess.gateway.methods.services import Installs
from prowess.runtime.config.edits import ConfigEdits
from prowess.runtime.install import InstallService
from prowess.runtime.removing import Removals
from prowess.runtime.route.answer import RoutingService
from prowess.runtime.service import SkillsService
from prowess.runtime.usage import UsageLog
from prowess.runtime.watch import Nodes
from prowess.runtime.workshop.proposal_outlook import Outlook
from prowess.runtime.workshop.proposals import Proposals
from prowess.runtime.workshop.service import WorkshopService
from prowess.skills.explanation import Explanation
from prowess.skills.validation import Report
from prowess.workshop.acts import By
from prowess.workshop.proposal import Proposal


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Everything that a method may call."""

    version: str
    skills: SkillsService
    routing: Callable[[], RoutingService]
    installing: Callable[[], InstallService]
    installs: Installs
    workshop: Callable[[], WorkshopService]
    proposals: Callable[[], Proposals]
    # From a proposal and the files of its skill to what can be done with it.
    outlook: Callable[[Proposal, Mapping[str, bytes]], Outlook]
    # From a proposal whose skill changed and the revision that was seen to what it is now.
    renew: Callable[[Proposal, str, By], Proposal]
    config: ConfigEdits
    removals: Removals
    usage: UsageLog
    nodes: Nodes
    # From a skill's name and an agent's id to its way to the model.
    why: Callable[[str, str | None], Explanation]
    # From a name, or nothing for all, an agent's id and whether the whole standard counts.
    validate: Callable[[str | None, str | None, bool], Sequence[Report]]
    # The chats that are kept, as clients see them.
    sessions: Callable[[], Sequence[Mapping[str, object]]]
    # Set when the gateway stops and will not wait any longer: whatever still runs must end.
    stopping: threading.Event
    # Seconds since 1970, and of the start of the process.
    now: Callable[[], float]
    started_at: float
