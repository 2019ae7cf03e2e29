"""Which skills one agent may use: an absent list allows every one, and an empty list none.

`None` is never turned into an empty tuple on its way here.
"""

from collections.abc import Iterable
from enum import Enum

from prowess.late import dataclass
from prowess.settings import AgentSettings
from prowess.skills.model import Skill


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
