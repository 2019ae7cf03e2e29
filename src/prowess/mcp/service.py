"""All that answers a client, put together for one agent.

This module brings along the scanner, and with it a second of imports: whoever serves a client opens
it with the first request that needs a skill, and not before.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prowess.errors import SkillNotFoundError
from prowess.mcp.catalogue import McpCatalogue
from prowess.mcp.notifications import ClientView
from prowess.mcp.tools import McpPrompts, McpTools
from prowess.runtime.run import RunPorts
from prowess.runtime.skill_texts import SkillText
from prowess.runtime.usage import Use
from prowess.skills.model import Skill

if TYPE_CHECKING:
    from prowess.routing.model import Route
    from prowess.runtime.workshop.service import WorkshopService
    from prowess.skills.catalog import AddressedSkill


@dataclass(frozen=True, slots=True, kw_only=True)
class McpPorts:
    """What the service needs of everything else."""

    run: RunPorts
    has_workshop: Callable[[], bool]
    # Called before each answer: brings the skills up to date, where nothing else does.
    look: Callable[[], None] = lambda: None
    # None: the default agent.
    agent_id: str | None = None
    # Called before the first answer that is no list: a few new skills may be scanned for it.
    settle: Callable[[], None] = lambda: None
    # The list of skills as it was when they were last looked at; None where it takes no time to
    # look, or where there is no such list that could be trusted.
    kept: "Callable[[], Sequence[AddressedSkill] | None]" = lambda: None


class McpService:
    """Answers the requests of clients; what it finds and reads are the skills as they are now."""

    # No client says to which session a request belongs.
    session_id = ""

    def __init__(self, ports: McpPorts) -> None:
        self._run, self._has_workshop = ports.run, ports.has_workshop
        self.kept, self.settle = ports.kept, ports.settle
        self.catalogue = McpCatalogue(
            ports.run.skills, ports.run.texts, agent_id=ports.agent_id, look=ports.look
        )
        self.tools = McpTools(self, ports.has_workshop)
        self.prompts = McpPrompts(self.catalogue, ports.run)

    @property
    def agent_id(self) -> str:
        """Whose skills these are."""
        return self.catalogue.agent_id

    @property
    def workshop(self) -> "WorkshopService":
        """What keeps proposals; it is asked about the skills as they are now."""
        self.catalogue.visible()
        return self._run.workshop()

    def wait_for(self, name: str, missed: SkillNotFoundError) -> Skill:
        """Return a skill that the scanner alone kept back, where it no longer does."""
        return self._run.skills.wait_for(name, self.agent_id, missed)

    def find(self, query: str, limit: int = 5, before: str = "") -> "Route":
        """Return the skills nearest to a query, which may refer to what was said before it."""
        # Late: numbers and vectors are loaded by the first request that needs them.
        from prowess.routing.router import Context
        from prowess.runtime.route.answer import Asked, Caller, Surface

        self.catalogue.visible()
        caller = Caller(surface=Surface.MCP, agent_id=self.agent_id)
        asked = Asked(considered=limit, context=Context(reply=before))
        return self._run.routing().answer(query, caller, asked).route

    @property
    def skills(self) -> tuple[Skill, ...]:
        """What the agent may use now, what is kept from its model included."""
        return self.catalogue.usable()

    def read(self, skill: Skill, path: str = "", start: int = 0) -> SkillText:
        """Return a skill's body, or one of its files, from one character on."""
        found = self.catalogue.read(skill, path, start)
        if not path:
            self._run.usage().note(Use.LOADED, [found.name], self.agent_id)
        return found

    def view(self) -> ClientView:
        """Return what clients see now, to be compared with what they saw before."""
        usable, waiting = self.catalogue.usable(), self.catalogue.waiting()
        return ClientView(
            skills=(*usable, *waiting) if waiting else usable,
            waits=bool(waiting),
            workshop=self._has_workshop(),
        )
