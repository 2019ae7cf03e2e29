"""What a coding agent is told at each moment: hints with a prompt, the index with a session.

It answers from the skills of one folder and changes nothing but its reminders. Routing is asked for
late: most calls of a hook need none of it, and it is what takes time.
"""

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
from prowess.transcripts.turns import read_turns

if TYPE_CHECKING:
    from collections.abc import Callable

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


class HookService:
    """Answers the hooks of one folder."""

    def __init__(
        self,
        skills: SkillsService,
        routing: "Callable[[], RoutingService]",
        reminders: Reminders | None = None,
    ) -> None:
        """Without `reminders` nothing is remembered or counted, as a rehearsal needs it."""
        self._skills, self._routing, self._reminders = skills, routing, reminders

    def context(self, incoming: Incoming) -> str:
        """Return what to tell the agent; nothing where it would not be read or nothing fits."""
        if incoming.moment is Moment.COMPACTION and incoming.harness in _REMINDED:
            if self._reminders is not None:
                self._reminders.note(incoming.harness, incoming.session)
            return ""
        if not can_speak(incoming):
            return ""
        if incoming.moment is not Moment.PROMPT:
            return self._index()
        parts = (self._index() if self._is_due(incoming) else "", self._hints(incoming))
        return "\n\n".join(part for part in parts if part)

    def _is_due(self, incoming: Incoming) -> bool:
        if self._reminders is None or incoming.harness not in _REMINDED:
            return False
        return self._reminders.take(incoming.harness, incoming.session)

    def _hints(self, incoming: Incoming) -> str:
        message = read_typed(incoming.prompt)
        if not message:
            return ""
        # Late: it brings along numbers and vectors, which no other moment needs.
        from prowess.runtime.route.answer import Asked, Caller, Surface

        caller = Caller(surface=Surface.HOOK, session_id=incoming.session)
        asked = Asked(rehearsal=self._reminders is None)
        found = self._routing().answer(message, caller, asked).route
        hints = [_hint(match) for match in found.matches[:MOST_SKILLS]]
        return prompt_context(hints, is_sure=found.decision.value == _LOAD)

    def _index(self) -> str:
        block = self._skills.prompt(most_chars=LONGEST_INDEX - _HEAD_CHARS)
        total = len(block.included) + len(block.dropped)
        return index_context(block.text, listed=len(block.included), total=total)


def read_typed(prompt: str) -> str:
    """Return what a person typed; nothing for commands and for what a program put in between."""
    said = read_turns([{"role": "user", "content": prompt}])
    text = "\n".join(turn.text for turn in said).strip()
    return "" if is_command(text) else text


def _hint(match: "Match") -> Hint:
    return Hint(
        name=match.skill.name,
        path=match.skill.path,
        score=match.score,
        why="; ".join(match.reasons),
    )
