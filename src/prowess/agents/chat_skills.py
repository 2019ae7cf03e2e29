"""Which skills stand before the model in a turn, and why: a command, a `$name`, or routing.

A skill's text goes in only after the scanner has passed it. What does not fit into the bound is
named instead, and the model reads it by itself.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from prowess.agents.channel import Channel
from prowess.agents.events import MatchedSkill, Routed, SkillLoaded, SkillRefused, Trouble
from prowess.agents.framing import framed, skill_block
from prowess.agents.tools import bounded, skill_text
from prowess.errors import ProwessError
from prowess.routing.model import Decision, Route
from prowess.runtime.run import AsyncRun
from prowess.skills.invocation import Invoked
from prowess.skills.text import clean, one_line

_MOST_EACH, _MOST_TOGETHER = 30_000, 60_000


@dataclass(slots=True)
class Prepared:
    """What the model gets for a message, or the call that takes the model's place."""

    words: str
    blocks: list[str] = field(default_factory=list)
    # The skills before the model, each with the hash of what it said.
    skills: dict[str, str] = field(default_factory=dict)
    offered: list[str] = field(default_factory=list)
    direct: Invoked | None = None

    @property
    def prompt(self) -> str:
        """The message as the model gets it."""
        blocks = list(self.blocks)
        if self.offered:
            names = ", ".join(one_line(name) for name in self.offered)
            blocks.append(f"Skills that may fit: {names}. Read one with read_skill if it does.")
        return framed(blocks, self.words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """What earlier turns left before the model."""

    # Name and hash of every skill that the model still sees.
    skills: Mapping[str, str] = field(default_factory=dict)
    # What the last turn loaded.
    last: tuple[str, ...] = ()


class Preparing:
    """Finds the skills for one message and tells what it does."""

    def __init__(self, run: AsyncRun, channel: Channel, before: Before) -> None:
        self._run, self._channel, self._before = run, channel, before
        self._left = _MOST_TOGETHER

    async def prepare(self, message: str) -> Prepared:
        """Return what the model gets for a message."""
        prepared = Prepared(words=message)
        invoked = self._run.command(message)
        if invoked is not None:
            await self._invoke(invoked, prepared)
            return prepared
        named = self._run.references(message)
        for problem in named.problems:
            self._channel.put(Trouble(code="note", message=problem))
        for skill in named.skills:
            await self._load(skill.name, "reference", prepared)
        await self._route(message, prepared)
        return prepared

    async def _invoke(self, invoked: Invoked, prepared: Prepared) -> None:
        for problem in invoked.problems:
            self._channel.put(Trouble(code="note", message=problem))
        name = invoked.command.skill_name
        if invoked.kind == "tool":
            prepared.direct = invoked
        elif await self._load(name, "command", prepared, text=invoked.text):
            asked = f'Use the skill "{one_line(name)}" for this request.'
            prepared.words = f"{asked}\n\n{invoked.arguments}".strip()

    async def _route(self, message: str, prepared: Prepared) -> None:
        try:
            route = await asyncio.to_thread(self._run.route, message, last=self._before.last)
        except ProwessError as error:
            self._channel.put(Trouble(code="note", message=f"not routed: {error}"))
            return
        self._channel.put(_routed(route))
        # Not left out of the route: the next best would look like the best.
        there = {*self._current(), *prepared.skills}
        for match in route.matches:
            if match.skill.name in there:
                continue
            if route.decision is Decision.OFFER:
                prepared.offered.append(match.skill.name)
            elif route.decision is Decision.LOAD:
                await self._load(match.skill.name, "router", prepared)

    def _current(self) -> list[str]:
        """Return the skills that the model has before it as they are now."""
        hashes = {skill.name: skill.content_hash for skill in self._run.skills}
        return [name for name, old in self._before.skills.items() if hashes.get(name) == old]

    async def _load(self, name: str, by: str, prepared: Prepared, text: str = "") -> bool:
        """Put a skill's text before the model; False where that may not be."""
        if self._left <= 0:
            prepared.offered.append(name)
            return True
        try:
            read = await asyncio.to_thread(self._run.read, name)
        except ProwessError as error:
            self._channel.put(SkillRefused(name=name, problem=str(error)))
            return False
        most = min(_MOST_EACH, self._left)
        shown = bounded(clean(text), most) if text else skill_text(read, most)
        self._left -= len(shown)
        prepared.blocks.append(skill_block(name, shown))
        prepared.skills[name] = self._run.skill(name).content_hash
        self._channel.put(SkillLoaded(name=name, by=by, chars=len(shown)))
        return True


def _routed(route: Route) -> Routed:
    matches: Sequence[MatchedSkill] = [
        MatchedSkill(name=match.skill.name, score=match.score, reasons=match.reasons)
        for match in route.matches
    ]
    return Routed(decision=route.decision.value, matches=tuple(matches), notes=route.notes)
