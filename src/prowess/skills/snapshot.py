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
    """What a run needs to know of a skill besides its text."""

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
    skills: tuple[SnapshotSkill, ...] = ()
    # None: no filter was in force. Sorted, so that equal filters compare equal.
    skill_filter: tuple[str, ...] | None = None
    resolved: tuple[Skill, ...] = field(default=(), repr=False)

    @property
    def prompt(self) -> str:
        """The block for the system prompt."""
        return self.block.text


def fingerprint(skills: Iterable[Skill], agent_filter: AgentFilter, prompt: str) -> str:
    """Hash what the agent sees: equal inputs give equal hashes, whatever the time or process."""
    digest = hashlib.sha256()
    for skill in skills:
        parts = (skill.name, skill.key, skill.source.tier.source_id, skill.path, skill.content_hash)
        digest.update("\0".join(parts).encode("utf-8", "surrogatepass") + b"\1")
    digest.update(repr(agent_filter.entries).encode("utf-8", "surrogatepass"))
    digest.update(prompt.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def should_refresh(cached: int, current: int) -> bool:
    """Return whether a session that holds version `cached` must look again."""
    return cached > 0 if current == 0 else cached < current


def summarise(skill: Skill) -> SnapshotSkill:
    """Return what a snapshot keeps of `skill`."""
    return SnapshotSkill(
        name=skill.name,
        key=skill.key,
        primary_env=skill.metadata.primary_env,
        required_env=skill.metadata.requires.env,
    )
