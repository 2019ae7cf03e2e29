"""What a run works with: services that are made when they are first asked for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prowess.runtime.run_environment import EnvironmentTools
from prowess.runtime.service import SkillsService
from prowess.runtime.usage import Use

if TYPE_CHECKING:
    from prowess.runtime.route.answer import RoutingService
    from prowess.runtime.sessions_part import Sessions
    from prowess.runtime.skill_texts import SkillTexts
    from prowess.runtime.workshop.service import WorkshopService


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTools:
    """What a run works with; the larger parts are made when they are first asked for."""

    skills: SkillsService
    environment: EnvironmentTools
    sessions: Callable[[], "Sessions"]
    routing: Callable[[], "RoutingService"]
    texts: Callable[[], "SkillTexts"]
    workshop: Callable[[], "WorkshopService"]
    # Told what became of which skills, for an agent; it never fails.
    note: Callable[[Use, Sequence[str], str], None] = lambda _use, _skills, _agent: None
