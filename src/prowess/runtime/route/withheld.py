"""Which skills a message would have chosen, had they been ready, and what keeps each from it.

People ask "why was it not picked up?" without knowing which skill to ask about. The message is
routed once more, over everything that was found; only who tries messages out pays for that.
"""

from dataclasses import dataclass, replace

from prowess.routing.model import Match
from prowess.runtime.route.answer import Asked, RoutingService
from prowess.runtime.route.why import why
from prowess.runtime.service import SkillsService
from prowess.skills.explanation import ALLOWED, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Withheld:
    """A skill that fits a message and that the agent cannot use, with the first reason for it."""

    match: Match
    reason: Step

    @property
    def is_switched_off(self) -> bool:
        """True where it is ready, and only the agent's own list or the defaults' keep it."""
        return self.reason.stage == ALLOWED


def withheld(
    skills: SkillsService, routing: RoutingService, message: str, asked: Asked
) -> tuple[Withheld, ...]:
    """Return the skills that are not ready and would be loaded or offered if they were."""
    with skills.lock:
        now = skills.snapshot(asked.agent_id)
        rows = skills.status(asked.agent_id).skills
    waiting = {row.skill.id for row in rows if not row.usable and not row.skill.is_draft}
    if not waiting:
        return ()
    everything = replace(
        now,
        # An index is kept by its agent's name: this one stands beside the agent's own.
        agent_id=f"{now.agent_id} with what is not ready",
        usable=tuple(row.skill for row in rows if row.usable or row.skill.id in waiting),
    )
    found = routing.route(message, replace(asked, snapshot=everything)).matches
    fitting = [match for match in found if match.skill.id in waiting]
    reasons = [_reason(skills, match, asked.agent_id) for match in fitting]
    return tuple(
        Withheld(match=match, reason=reason)
        for match, reason in zip(fitting, reasons, strict=True)
        if reason is not None
    )


def _reason(skills: SkillsService, match: Match, agent_id: str | None) -> Step | None:
    # None where it became ready in the meantime.
    steps = why(skills, match.skill.id, agent_id).steps
    return next((step for step in steps if not step.passed), None)
