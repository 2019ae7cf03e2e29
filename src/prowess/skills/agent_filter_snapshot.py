"""What one agent may use: its filter, the snapshot that pins it, and when that gets a new version.

An absent list allows every skill, and an empty list none: `None` is never turned into an empty
tuple on its way here. The hash of a snapshot says whether anything changed in meaning, and its
version only ever grows, and only with the hash.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING

from prowess.data import dataclass
from prowess.settings import AgentSettings
from prowess.skills.model import Skill

if TYPE_CHECKING:
    from prowess.skills.prompt import PromptBlock


class MatchedBy(Enum):
    """How a skill got past the filter."""

    NO_FILTER = "no filter"
    NAME = "name"
    KEY = "skillKey"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFilter:
    """The list in force for one agent, or None where there is none."""

    entries: tuple[str, ...] | None = None
    inherited: bool = False

    @classmethod
    def of(cls, agent: AgentSettings) -> "AgentFilter":
        """Return the filter of `agent`, normalised so that equal filters compare equal."""
        if agent.skills is None:
            return cls(inherited=agent.skills_inherited)
        names = {name.strip() for name in agent.skills} - {""}
        return cls(entries=tuple(sorted(names)), inherited=agent.skills_inherited)

    def match(self, skill: Skill) -> MatchedBy | None:
        """Return how `skill` passes, or None where it does not."""
        if self.entries is None:
            return MatchedBy.NO_FILTER
        if skill.name in self.entries:
            return MatchedBy.NAME
        return MatchedBy.KEY if skill.key in self.entries else None

    def unmatched(self, skills: Iterable[Skill]) -> tuple[str, ...]:
        """Return the entries that name no skill at all: most often a typing mistake."""
        known = {name for skill in skills for name in (skill.name, skill.key)}
        return tuple(entry for entry in self.entries or () if entry not in known)


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotSkill:
    """What an agent's turn needs to know of a skill besides its text."""

    name: str
    key: str
    primary_env: str = ""
    required_env: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """Everything one agent may use."""

    agent_id: str
    # Everything the agent may use, what is hidden from its model included.
    usable: tuple[Skill, ...] = field(default=(), repr=False)
    # Those and what was not scanned yet, in the same order; empty where everything was.
    hopeful: tuple[Skill, ...] = field(default=(), repr=False)
    # What the scanner alone keeps from use: blocked, or not scanned yet.
    held: tuple[Skill, ...] = field(default=(), repr=False)
    # None: no filter was in force. Sorted, so that equal filters compare equal.
    skill_filter: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot(Allowed):
    """The same as its model is told of it, at one version."""

    version: int
    hash: str
    block: "PromptBlock"

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


def next_version(last: int, started_ms: int, now_ms: int) -> int:
    """Return the version after `last`, which is zero at first, in milliseconds.

    It is when the process started, then the time, or one more than the last.
    """
    return max(now_ms, last + 1) if last else started_ms


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
