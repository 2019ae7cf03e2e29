"""What a coding agent is told: skills that fit a prompt, and at the start what it cannot know.

A harness lists its own skills itself, so they are never listed a second time; with a prompt they
are hinted at by the way in which that harness loads them. Where a prompt may set a rule, the agent
is asked, which is a language model and can tell. It answers from the skills of one folder and keeps
nothing but what it asked. Routing is asked for late: most calls of a hook need none of it, and it
is what takes time.
"""

import re
from typing import TYPE_CHECKING

from prowess.hooks.answers import (
    MOST_SKILLS,
    Hint,
    Incoming,
    can_speak,
    is_command,
    prompt_context,
    rule_context,
    session_context,
)
from prowess.hooks.harness import Harness, Moment
from prowess.runtime.service import SkillsService
from prowess.transcripts.turns import read_turns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from prowess.routing.model import Match
    from prowess.runtime.route.answer import RoutingService
    from prowess.skills.model import Skill

_ABOUT_US = re.compile(r"\bprowess\b", re.IGNORECASE)


class HookService:
    """Answers the hooks of one folder."""

    def __init__(
        self,
        skills: SkillsService,
        routing: "Callable[[], RoutingService]",
        *,
        is_first: "Callable[[str], bool] | None" = None,
        recall: "Callable[[Incoming], Sequence[Mapping[str, object]]]" = lambda _incoming: (),
    ) -> None:
        """Without `is_first`, which knows what was asked before, nothing is counted or kept.

        `recall` returns the messages of a session before a prompt.
        """
        self._skills, self._routing, self._is_first = skills, routing, is_first
        self._recall = recall

    def context(self, incoming: Incoming) -> str:
        """Return what to tell the agent; nothing where it would not be read or nothing fits."""
        if not can_speak(incoming):
            return ""
        if incoming.moment is Moment.PROMPT:
            message = read_typed(incoming.prompt)
            hints = self._hints(incoming, message)
            return prompt_context(incoming.harness, hints, self._ask(incoming, message))
        return self._list_unlisted(incoming.harness)

    def _ask(self, incoming: Incoming, message: str) -> str:
        """Return the line that asks about a rule, once for each; nothing where it is not wanted."""
        workshop = self._skills.settings.workshop
        if not (message and workshop.active and workshop.auto_capture and workshop.ask_agent):
            return ""
        # Late: most prompts are asked about by nobody, and the tables take a while to read.
        from prowess.language.corrections import may_set_a_rule, objects, sets_a_rule
        from prowess.workshop.proposal import name_rule

        if not (sets_a_rule(message) or (objects(message) and may_set_a_rule(message))):
            return ""
        if self._is_first is not None and not self._is_first(f"rule\0{name_rule(message)}"):
            return ""
        return rule_context(incoming.harness)

    def _hints(self, incoming: Incoming, message: str) -> list[Hint]:
        if not message:
            return []
        # Late: it brings along numbers and vectors, which no other moment needs.
        from prowess.routing.router import Context
        from prowess.runtime.route.answer import Asked, Caller, Surface

        caller = Caller(surface=Surface.HOOK)
        context = Context(bundled=is_about_us(message))
        asked = Asked(
            rehearsal=self._is_first is None, context=context, history=self._recall(incoming)
        )
        found = self._routing().answer(message, caller, asked).route
        return [_hint(match, incoming.harness) for match in found.matches[:MOST_SKILLS]]

    def _list_unlisted(self, harness: Harness) -> str:
        """Return the skills that a harness does not list itself, as far as there is room."""
        unlisted = self._leave_listed(self._skills.snapshot().hopeful, harness)
        if unlisted:
            # What was not scanned yet is not told of: as many as there is time for are, and none
            # of that time goes to what the harness lists.
            self._skills.settle(unlisted)
        usable = self._leave_listed(self._skills.snapshot().usable, harness)
        return session_context(
            [Hint(name=one.name, path=one.path, why=one.description) for one in usable]
        )

    @staticmethod
    def _leave_listed(skills: "Sequence[Skill]", harness: Harness) -> "list[Skill]":
        return [
            skill
            for skill in skills
            if skill.invocation.model and not skill.bundled and not _is_listed(skill, harness)
        ]


def is_about_us(message: str) -> bool:
    """Return whether a message is about Prowess: else our own skills are none of its business."""
    return _ABOUT_US.search(message) is not None


def _is_listed(skill: "Skill", harness: Harness) -> bool:
    """Return whether a harness finds a skill where it lies and tells its model of it."""
    # Late: a call without an answer does not need the table.
    from prowess.skills.harness.rules import Reader, is_hidden, read_rules, reads

    if harness.value not in set(Reader):
        return False
    rules = read_rules()[Reader(harness.value)]
    return reads(rules, skill) and not is_hidden(rules, skill)


def read_typed(prompt: str) -> str:
    """Return what a person typed; nothing for commands and for what a program put in between."""
    said = read_turns([{"role": "user", "content": prompt}])
    text = "\n".join(turn.text for turn in said).strip()
    return "" if is_command(text) else text


def _hint(match: "Match", harness: Harness) -> Hint:
    return Hint(
        name=match.skill.name,
        path=match.skill.path,
        score=match.score,
        why="; ".join(match.reasons),
        is_listed=_is_listed(match.skill, harness),
    )
