"""What a coding agent is told at each moment: hints with a prompt, the index with a session.

It answers from the skills of one folder and changes nothing but its reminders. Routing is asked for
late: most calls of a hook need none of it, and it is what takes time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from prowess.hooks.answers import (
    LONGEST_INDEX,
    MOST_SKILLS,
    Hint,
    can_speak,
    index_context,
    is_command,
    prompt_context,
)
from prowess.hooks.harness import Harness, Moment
from prowess.hooks.payloads import Incoming
from prowess.runtime.service import SkillsService
from prowess.skills.model import Skill
from prowess.skills.prompt import Worth, render
from prowess.transcripts.turns import turns

if TYPE_CHECKING:
    from prowess.routing.model import Match
    from prowess.runtime.route.answer import RoutingService

# What the two lines above the list, and the count of what was left out, take at most.
_HEAD_CHARS = 200
_LOAD = "load"
# They let nobody speak when they compact, so the next prompt carries what was lost.
_REMINDED = frozenset((Harness.CURSOR, Harness.GEMINI))


class Reminders(Protocol):
    """Sessions whose context was compacted, and that have not been told of the skills since."""

    def note(self, harness: Harness, session: str) -> None:
        """Remember one."""

    def take(self, harness: Harness, session: str) -> bool:
        """Return whether one was remembered, and forget it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What an agent is told, and which skills it names for a prompt."""

    context: str = ""
    hinted: tuple[str, ...] = ()
    # Whether somebody asked for something, and no skill fitted.
    is_unmatched: bool = False


class HookService:
    """Answers the hooks of one folder."""

    def __init__(
        self,
        skills: SkillsService,
        routing: "Callable[[], RoutingService]",
        reminders: Reminders | None = None,
    ) -> None:
        """Without `reminders` nothing is remembered, as a rehearsal needs it."""
        self._skills, self._routing, self._reminders = skills, routing, reminders

    def said(self, incoming: Incoming) -> Said:
        """Return what to tell the agent; nothing where it would not be read or nothing fits."""
        if incoming.moment is Moment.COMPACTION and incoming.harness in _REMINDED:
            if self._reminders is not None:
                self._reminders.note(incoming.harness, incoming.session)
            return Said()
        if not can_speak(incoming):
            return Said()
        if incoming.moment is not Moment.PROMPT:
            return Said(context=self._index())
        reminder = self._index() if self._is_due(incoming) else ""
        hints = self._hints(incoming.prompt)
        parts = (reminder, hints.context)
        return replace(hints, context="\n\n".join(part for part in parts if part))

    def _is_due(self, incoming: Incoming) -> bool:
        if self._reminders is None or incoming.harness not in _REMINDED:
            return False
        return self._reminders.take(incoming.harness, incoming.session)

    def _hints(self, prompt: str) -> Said:
        message = typed(prompt)
        if not message:
            return Said()
        found = self._routing().route(message)
        # A skill that is kept from the model may be called by a person, but not pointed out.
        fitting = [match for match in found.matches if match.skill.invocation.model]
        hints = [_hint(match) for match in fitting[:MOST_SKILLS]]
        context = prompt_context(hints, is_sure=found.decision.value == _LOAD)
        return Said(
            context=context,
            hinted=tuple(hint.name for hint in hints) if context else (),
            is_unmatched=not found.matches,
        )

    def _index(self) -> str:
        settings = self._skills.settings.skills
        visible = [s for s in self._skills.snapshot().usable if s.invocation.model]
        most = min(settings.limits.max_skills_prompt_chars, LONGEST_INDEX - _HEAD_CHARS)
        block = render(
            visible,
            limits=replace(settings.limits, max_skills_prompt_chars=most),
            worth=Worth(pinned=settings.pinned),
            homes=self._skills.places.homes,
        )
        return _told(block.text, block.included, visible)


def typed(prompt: str) -> str:
    """Return what a person typed; nothing for commands and for what a program put in between."""
    said = turns([{"role": "user", "content": prompt}])
    text = "\n".join(turn.text for turn in said).strip()
    return "" if is_command(text) else text


def _told(block: str, included: Sequence[Skill], visible: Sequence[Skill]) -> str:
    return index_context(block, listed=len(included), total=len(visible))


def _hint(match: "Match") -> Hint:
    return Hint(
        name=match.skill.name,
        path=match.skill.path,
        score=match.score,
        why="; ".join(match.reasons),
    )
