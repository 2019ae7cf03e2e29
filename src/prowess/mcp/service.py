"""All that answers a client, put together for one agent.

This module brings along the scanner, and with it a second of imports: whoever serves a client opens
it with the first request that needs a skill, and not before.
"""

from collections.abc import Callable
from dataclasses import dataclass

from prowess.mcp.catalogue import McpCatalogue
from prowess.mcp.notifications import ClientView
from prowess.mcp.protocol import file_uri
from prowess.mcp.tools import McpPrompts, McpTools
from prowess.routing.model import Route
from prowess.runtime.run import RunPorts
from prowess.runtime.skill_texts import SkillText
from prowess.runtime.usage import Use
from prowess.runtime.workshop.service import WorkshopService


@dataclass(frozen=True, slots=True, kw_only=True)
class McpPorts:
    """What the service needs of everything else."""

    run: RunPorts
    has_workshop: Callable[[], bool]
    # Called before each answer: brings the skills up to date, where nothing else does.
    look: Callable[[], None] = lambda: None
    # None: the default agent.
    agent_id: str | None = None


class McpService:
    """Answers the requests of clients; what it finds and reads are the skills as they are now."""

    # No client says to which session a request belongs.
    session_id = ""

    def __init__(self, ports: McpPorts) -> None:
        self._run = ports.run
        self.catalogue = McpCatalogue(
            ports.run.skills, ports.run.texts(), agent_id=ports.agent_id, look=ports.look
        )
        self.tools = McpTools(self, ports.has_workshop)
        self.prompts = McpPrompts(self.catalogue, ports.run)

    @property
    def agent_id(self) -> str:
        """Whose skills these are."""
        return self.catalogue.agent_id

    @property
    def workshop(self) -> WorkshopService:
        """What keeps proposals; it is asked about the skills as they are now."""
        self.catalogue.visible()
        return self._run.workshop()

    def find(self, query: str, limit: int = 5) -> Route:
        """Return the skills nearest to a query."""
        # Late: numbers and vectors are loaded by the first request that needs them.
        from prowess.runtime.route.answer import Asked, Caller, Surface

        self.catalogue.visible()
        caller = Caller(surface=Surface.MCP, agent_id=self.agent_id)
        return self._run.routing().answer(query, caller, Asked(considered=limit)).route

    def read(self, skill: str, path: str = "", start: int = 0) -> SkillText:
        """Return a skill's body, or one of its files, from one character on."""
        found = self.catalogue.read(skill, path, start)
        if not path:
            self._run.usage().note(Use.LOADED, [found.name], self.agent_id)
        return found

    def view(self) -> ClientView:
        """Return what clients see now, to be compared with what they saw before."""
        skills = self.catalogue.addressed()
        return ClientView(
            pages={file_uri(name): skill.content_hash for name, skill in skills.items()},
            prompts=repr([prompt.model_dump() for prompt in self.prompts.list_prompts()]),
            tools=repr([tool.model_dump() for tool in self.tools.list_tools()]),
        )
