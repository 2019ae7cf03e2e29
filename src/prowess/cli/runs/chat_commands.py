"""The commands that a chat answers itself: `/help`, `/skills`, `/why` and the like.

Skills cannot take their names: these are reserved. A line that begins with a slash and calls
neither one of these nor a skill is no message; whoever means it as one puts a space before it.
"""

import re
from enum import Enum, auto
from typing import TYPE_CHECKING

from prowess.agents.tools import tool_schemas
from prowess.cli.runs.chat_screen import Screen
from prowess.errors import ProwessError
from prowess.runtime.route.answer import Asked
from prowess.skills.commands import build_commands
from prowess.skills.invocation import find_command, near_commands
from prowess.skills.text import one_line
from prowess.wiring.chat import Chat

if TYPE_CHECKING:
    from collections.abc import Callable

_COMMAND = re.compile(r"/([\w-]+)(?:\s+(.*))?\Z", re.DOTALL)
_LEAVE = frozenset({"exit", "quit"})
_HELP = """/help             this list
/skills           the skills that the agent may use
/commands         the slash commands that skills give
/why NAME         why a skill is, or is not, visible
/route MESSAGE    which skills a message needs, and why
/session          the session, its model and its workspace
/new              begin another conversation
/tools            what the model may call
/workshop         the proposals that wait for you
/exit, /quit      leave (also Ctrl-D)
/NAME ARGUMENTS   call a skill; $NAME in a message names one
Ctrl-C stops an answer. A line that begins with a space is a message, whatever follows."""


class Taken(Enum):
    """What became of a line."""

    ANSWERED = auto()
    # It looked like a command, and is none that works.
    REFUSED = auto()
    FOR_AGENT = auto()


# It is no error: the person wants to go.
class Leave(Exception):  # noqa: N818
    """The chat is over."""


class ChatCommands:
    """Answers built-in commands on a screen."""

    def __init__(self, chat: Chat, screen: Screen) -> None:
        self._chat, self._screen = chat, screen
        self._answers: dict[str, Callable[[str], None]] = {
            "help": lambda _: self._say(_HELP),
            "skills": self._skills,
            "commands": self._commands,
            "why": self._why,
            "route": self._route,
            "session": self._session,
            "new": self._new,
            "tools": self._tools,
            "workshop": self._workshop,
        }

    def take(self, line: str) -> Taken:
        """Answer a line if it is a command of the chat.

        Raises:
            Leave: the person wants to go.
        """
        found = _COMMAND.match(line)
        if found is None:
            return Taken.FOR_AGENT
        name, rest = found[1].lower(), (found[2] or "").strip()
        if name in _LEAVE:
            raise Leave
        answer = self._answers.get(name)
        if answer is None:
            return Taken.FOR_AGENT if self._is_skill_command(line) else Taken.REFUSED
        try:
            answer(rest)
        except ProwessError as error:
            self._screen.note(f"! {one_line(str(error))}", "error")
            return Taken.REFUSED
        return Taken.ANSWERED

    def _is_skill_command(self, line: str) -> bool:
        runtime, agent_id = self._chat.runtime, self._chat.agent_id
        with runtime.run(agent_id, process_wide=False) as run:
            commands = build_commands(run.skills)
        if find_command(line, commands) is not None:
            return True
        near = near_commands(line, commands)
        hint = f"Did you mean {', '.join('/' + name for name in near)}?" if near else "Try /help."
        word = one_line(line.split(maxsplit=1)[0])
        self._screen.note(f"! There is no command {word}. {hint}", "warning")
        return False

    def _say(self, text: str) -> None:
        self._screen.note(text, "dim")

    def _skills(self, _rest: str) -> None:
        usable = self._chat.runtime.skills.snapshot(self._chat.agent_id).usable
        for skill in usable:
            self._say(f"{one_line(skill.name)}: {one_line(skill.description)}")
        if not usable:
            self._say("There are none: `prowess list` says why.")

    def _commands(self, _rest: str) -> None:
        usable = self._chat.runtime.skills.snapshot(self._chat.agent_id).usable
        for command in build_commands(usable):
            self._say(f"/{command.name}: {one_line(command.description)}")

    def _why(self, rest: str) -> None:
        if not rest:
            self._say("Say which: /why NAME")
            return
        found = self._chat.runtime.why(rest, self._chat.agent_id)
        verdict = "is visible to" if found.visible else "is not visible to"
        self._say(f"{one_line(found.name)} {verdict} agent {one_line(found.agent_id)}")
        for step in found.steps:
            fix = f" -> {step.fix}" if step.fix else ""
            mark = "✓" if step.passed else "✗"
            self._say(f"  {mark} {step.stage}: {one_line(step.detail + fix)}")

    def _route(self, rest: str) -> None:
        if not rest:
            self._say("Say what: /route MESSAGE")
            return
        answer = self._chat.runtime.routing.route(rest, Asked(agent_id=self._chat.agent_id))
        self._say(f"{answer.decision.value}:")
        for match in answer.considered:
            reasons = one_line("; ".join(match.reasons))
            self._say(f"  {one_line(match.skill.name)} ({match.score:.2f}): {reasons}")

    def _session(self, _rest: str) -> None:
        talk = self._chat.agent
        turns = len(talk.conversation.turns)
        self._say(
            f"session {talk.conversation.session_id}, {turns} turns, agent"
            f" {one_line(self._chat.agent_id)}, model {one_line(talk.model_name)},"
            f" in {one_line(self._chat.workspace)}"
        )

    def _new(self, _rest: str) -> None:
        self._say(f"A new conversation: session {self._chat.begin_anew()}.")

    def _tools(self, _rest: str) -> None:
        with self._chat.runtime.run(self._chat.agent_id, process_wide=False) as run:
            for schema in tool_schemas(run):
                function = schema["function"]
                self._say(f"{function['name']}: {function['description']}")
        self._say("read_file: Read a text file of the workspace or of a skill.")
        self._say("shell: Run a command in the workspace; you are asked each time.")

    def _workshop(self, _rest: str) -> None:
        with self._chat.runtime.run(self._chat.agent_id, process_wide=False) as run:
            if not run.workshop.enabled:
                self._say("The workshop is off: `prowess workshop enable` switches it on.")
                return
            proposals = run.workshop.list("pending", agent_id=run.agent_id)
        for one in proposals:
            self._say(f"{one_line(one.id)}  {one_line(one.skill)}: {one_line(one.title)}")
        if not proposals:
            self._say("Nothing waits for you.")
