"""All that answers a client, put together for one agent.

This module brings along the scanner, and with it a second of imports: whoever serves a client opens
it with the first request that needs a skill, and not before.
"""

from collections.abc import Callable
from dataclasses import dataclass

from prowess.mcp.catalogue import Catalogue
from prowess.mcp.manifest import ScannedSkills
from prowess.mcp.notifications import Seen
from prowess.mcp.protocol import file_uri
from prowess.mcp.tools import SkillPrompts, SkillTools
from prowess.runtime.run import RunPorts
from prowess.runtime.scan import ScanService
from prowess.runtime.skill_texts import SkillFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What a desk needs of everything else."""

    tools: RunPorts
    files: SkillFiles
    scanning: Callable[[], ScanService]
    has_workshop: Callable[[], bool]
    # Called before each answer: brings the skills up to date, where nothing else does.
    look: Callable[[], None] = lambda: None
    # None: the default agent.
    agent_id: str | None = None


class Desk:
    """Where the requests of clients are answered."""

    def __init__(self, world: World) -> None:
        reading = ScannedSkills(world.files, world.scanning)
        self.catalogue = Catalogue(
            world.tools.skills, reading, agent_id=world.agent_id, look=world.look
        )
        self.tools = SkillTools(self.catalogue, world.tools, world.has_workshop)
        self.prompts = SkillPrompts(self.catalogue, world.tools)

    def seen(self) -> Seen:
        """Return what clients see now, to be compared with what they saw before."""
        skills = self.catalogue.addressed()
        return Seen(
            pages={file_uri(name): skill.content_hash for name, skill in skills.items()},
            prompts=repr([prompt.model_dump() for prompt in self.prompts.listed()]),
            tools=repr([tool.model_dump() for tool in self.tools.listed()]),
        )
