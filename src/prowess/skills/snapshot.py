"""The immutable, versioned, hashed result for one agent.

The hash says whether anything changed in meaning; the version only ever grows, and only with the
hash. A session keeps its snapshot through a turn and looks for a newer one at the next.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

from prowess.skills.agent_filter import AgentFilter
from prowess.skills.model import Skill
from prowess.skills.prompt import PromptBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotSkill:
    """What an agent's turn needs to know of a skill besides its text."""

    name: str
    key: str
    primary_env: str = ""
    required_env: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Everything one agent may use, at one version."""

    agent_id: str
    version: int
    hash: str
    block: PromptBlock
    # Everything the agent may use, what is hidden from its model included.
    usable: tuple[Skill, ...] = field(default=(), repr=False)
    # None: no filter was in force. Sorted, so that equal filters compare equal.
    skill_filter: tuple[str, ...] | None = None

    @property
    def skills(self) -> tuple[SnapshotSkill, ...]:
        """What a turn needs to know of each usable skill."""
        return tuple(_summarise(skill) for skill in self.usable)

    @property
    def resolved(self) -> tuple[Skill, ...]:
        """The skills that the prompt lists, with their absolute paths."""
        return self.block.included

    @property
    def prompt(self) -> str:
        """The block for the system prompt."""
        return self.block.text


def fingerprint(skills: Iterable[Skill], agent_filter: AgentFilter, prompt: str) -> str:
    """Hash what the agent sees: equal inputs give equal hashes, whatever the time or process."""
    parts = [
        f"{skill.name}\0{skill.key}\0{skill.source.root}\0{skill.path}\0{skill.content_hash}"
        for skill in skills
    ]
    parts += [repr(agent_filter.entries), prompt]
    return hashlib.sha256("\1".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _summarise(skill: Skill) -> SnapshotSkill:
    return SnapshotSkill(
        name=skill.name,
        key=skill.key,
        primary_env=skill.metadata.primary_env,
        required_env=skill.metadata.requires.env,
    )
