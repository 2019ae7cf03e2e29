"""What happened to skills over days: sums for each day and each skill, and what nobody uses.

Only names, kinds and days go in, so nothing here could tell what anybody asked.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from prowess.runtime.service import SkillsService
from prowess.runtime.usage import WORTH, UsageDay, UsageLog, Use

_MOST_SHOWN = 1_000


@dataclass(slots=True)
class Sums:
    """How often each thing happened."""

    uses: dict[Use, int] = field(default_factory=lambda: dict.fromkeys(Use, 0))
    # Messages that no skill fitted.
    unmatched: int = 0

    def add(self, day: UsageDay) -> None:
        """Add the numbers of one row."""
        for use, number in day.counts.items():
            self.uses[use] += number
        self.unmatched += day.unmatched

    @property
    def worth(self) -> int:
        """How often a skill was really used."""
        return sum(self.uses[use] for use in WORTH)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillUse:
    """One skill: its sums, and when it was last used by who was asked about."""

    name: str
    sums: Sums
    last_used_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """Some days up to today, the earliest first; every day is there."""

    agent_id: str | None
    days: Mapping[date, Sums]
    # The most used first.
    skills: tuple[SkillUse, ...]
    agents: Mapping[str, Sums]
    # Ready for the agent (or any), and never loaded or invoked as far as anybody remembers.
    never_used: tuple[str, ...]

    @property
    def total(self) -> Sums:
        """The sums of all days."""
        whole = Sums()
        for sums in self.days.values():
            for use, number in sums.uses.items():
                whole.uses[use] += number
            whole.unmatched += sums.unmatched
        return whole


def activity(log: UsageLog, skills: SkillsService, agent_id: str | None, number: int) -> Activity:
    """Return what happened on the last days, today included, to one agent's skills or to all.

    Raises:
        UnknownAgentError: there is no such agent.
    """
    agents = [agent.id for agent in skills.settings.agents]
    asked = agents if agent_id is None else [skills.agent(agent_id).id]
    today = log.today()
    first = max(1, today - number + 1)
    rows = [row for row in log.days(first, agent_id) if row.day <= today]
    days = {date.fromordinal(day): Sums() for day in range(first, today + 1)}
    for row in rows:
        days[date.fromordinal(row.day)].add(row)
    last_used = log.last_used(None if agent_id is None else asked[0])
    ready = {row.skill.name for one in asked for row in skills.status(one).skills if row.usable}
    return Activity(
        agent_id=agent_id,
        days=days,
        skills=_by_skill(rows, last_used),
        agents=_by_agent(rows, asked),
        never_used=tuple(sorted(ready - last_used.keys()))[:_MOST_SHOWN],
    )


def _by_skill(rows: Iterable[UsageDay], last_used: Mapping[str, int]) -> tuple[SkillUse, ...]:
    sums: dict[str, Sums] = {}
    for row in rows:
        if row.skill:
            sums.setdefault(row.skill, Sums()).add(row)
    found = [
        SkillUse(name=name, sums=each, last_used_ms=last_used.get(name))
        for name, each in sums.items()
    ]
    found.sort(key=lambda one: (-one.sums.worth, -one.sums.uses[Use.ROUTED], one.name))
    return tuple(found[:_MOST_SHOWN])


def _by_agent(rows: Iterable[UsageDay], asked: Sequence[str]) -> dict[str, Sums]:
    sums = {agent: Sums() for agent in asked}
    for row in rows:
        # One that is no longer configured still did what it did.
        sums.setdefault(row.agent_id, Sums()).add(row)
    return sums
