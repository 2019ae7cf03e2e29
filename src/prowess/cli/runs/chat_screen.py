"""How a chat looks on a terminal, in a pipe and as JSON lines, and the commands it answers itself.

In a pipe standard output has the model's text alone. Pieces are written as they come, so this
writes to the streams itself, and cleans text whose sequences may be split over two pieces. A line
that begins with a slash and calls neither a command of the chat nor a skill is no message.
"""

import difflib
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import Enum, auto
from typing import Any, Protocol

import click

from prowess.agents import events as happened
from prowess.agents.chat_tools import rows
from prowess.agents.events import ApprovalAsked, Choice, Event
from prowess.agents.tools import tool_schemas
from prowess.cli.render import asks, is_terminal
from prowess.errors import ProwessError
from prowess.runtime.route.answer import Caller, Surface
from prowess.skills.commands import build_commands
from prowess.skills.invocation import find_command, near_commands
from prowess.skills.text import clean, one_line, without_controls
from prowess.wire import runs as wire_runs
from prowess.wiring.run import Chat

# The beginning of an escape sequence whose end has not come yet.
_OPEN_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]*\x1b?)?\Z")
# Whether a joiner hides something shows only in what stands around it.
_OPEN_JOINERS = re.compile("(?:(?:^|[^\u200c\u200d\ufe0e\ufe0f])[\u200c\u200d\ufe0e\ufe0f]+)+\\Z")
_MOST_HELD = 4_096


class StreamCleaner:
    """Gives out what is safe and holds back what the next piece may make unsafe."""

    def __init__(self) -> None:
        # What may be the beginning of a sequence, as it came; and joiners, free of sequences.
        self._raw, self._joined = "", ""
        # The last character that was shown: what a joiner hides stands before it, too.
        self._before = ""

    def feed(self, piece: str) -> str:
        """Return what can be shown now."""
        text, self._raw = _split(self._raw + piece, _OPEN_SEQUENCE)
        ready, self._joined = _split(self._joined + without_controls(text), _OPEN_JOINERS)
        return self._show(ready)

    def end(self) -> str:
        """Return what was held back, now that nothing follows."""
        text = self._joined + without_controls(self._raw)
        self._raw, self._joined = "", ""
        return self._show(text)

    def _show(self, text: str) -> str:
        shown = clean(self._before + text)[len(self._before) :]
        self._before = shown[-1:] or self._before
        return shown


def _split(text: str, is_open: re.Pattern[str]) -> tuple[str, str]:
    """Part what is done from what the next piece may change."""
    found = is_open.search(text)
    cut = len(text) if found is None else found.start()
    # Nobody waits for ever for the end of a sequence.
    return (text, "") if len(text) - cut > _MOST_HELD else (text[:cut], text[cut:])


_MOST_LINE = 160
# What stands before each line of a question, and the rows around it.
_INDENT, _OTHER_ROWS = 4, 4
_BY = {
    "router": "for this message",
    "command": "by your command",
    "reference": "because you named it",
    "model": "by the model",
}
_STYLES: Mapping[str, Mapping[str, Any]] = {
    "dim": {"dim": True},
    "bold": {"bold": True},
    "skill": {"fg": "cyan"},
    "tool": {"fg": "magenta"},
    "learned": {"fg": "green"},
    "warning": {"fg": "yellow"},
    "error": {"fg": "red"},
}


class Screen(Protocol):
    """Shows what happens in a chat."""

    def show(self, event: Event) -> None:
        """Show one event."""

    def note(self, text: str, style: str = "dim") -> None:
        """Say something that is not the model's, on lines of its own."""


class TextScreen:
    """For a person, or for a program that wants the model's text alone."""

    def __init__(self) -> None:
        self._terminal = is_terminal()
        self._cleaner = StreamCleaner()
        self._outputs: dict[str, StreamCleaner] = {}
        # Whether the model's text and the notes stand at the beginning of a line.
        self._fresh = True
        self._shows: Mapping[type, Callable[[Any], None]] = {
            happened.Routed: self._show_routed,
            happened.SkillLoaded: self._show_loaded,
            happened.SkillRefused: self._show_refused,
            happened.TextDelta: self._text,
            happened.ToolCalled: self._show_called,
            happened.ToolOutput: self._output,
            happened.ToolAnswered: self._show_answered,
            happened.ApprovalAsked: self._show_asked,
            happened.Proposed: self._show_proposed,
            happened.Used: self._show_used,
            happened.Trouble: self._trouble,
            happened.Interrupted: lambda _: self.note("[stopped]", "warning"),
            happened.TurnEnded: lambda _: self._end_line(),
        }

    def show(self, event: Event) -> None:
        """Show one event."""
        self._shows[type(event)](event)

    def note(self, text: str, style: str = "dim") -> None:
        """Say something that is not the model's, on lines of its own."""
        stream = sys.stdout if self._terminal else sys.stderr
        if self._terminal:
            self._end_line()
        if stream is not None:
            for line in clean(text).split("\n"):
                stream.write(_style(line, style, coloured=self._terminal) + "\n")
            stream.flush()

    def _write(self, text: str) -> None:
        if text:
            sys.stdout.write(text)
            sys.stdout.flush()
            self._fresh = text.endswith("\n")

    def _text(self, event: happened.TextDelta) -> None:
        self._write(self._cleaner.feed(event.text))

    def _end_line(self) -> None:
        self._write(self._cleaner.end())
        if not self._fresh:
            self._write("\n")

    def _show_routed(self, event: happened.Routed) -> None:
        for match in event.matches:
            why = one_line("; ".join(match.reasons))
            word = "fits" if event.decision == "load" else "may fit"
            self.note(f"→ {one_line(match.name)} {word} ({match.score:.2f}): {why}", "skill")
        for text in event.notes:
            self.note(f"! {one_line(text)}", "warning")

    def _show_loaded(self, event: happened.SkillLoaded) -> None:
        by = _BY.get(event.by, "")
        name = one_line(event.name)
        self.note(f"+ {name} is loaded {by} ({event.chars} characters)", "skill")

    def _show_refused(self, event: happened.SkillRefused) -> None:
        self.note(f"! {one_line(event.name)} is not loaded: {one_line(event.problem)}", "warning")

    def _show_called(self, event: happened.ToolCalled) -> None:
        self._end_text_before_tools()
        self.note(f"* {one_line(event.name)} {_cut(event.arguments)}", "tool")

    def _end_text_before_tools(self) -> None:
        """In a pipe, what follows a call begins a line of its own."""
        if not self._terminal:
            self._end_line()

    def _output(self, event: happened.ToolOutput) -> None:
        cleaner = self._outputs.setdefault(f"{event.call_id} {event.stream}", StreamCleaner())
        text = cleaner.feed(event.text).rstrip("\n")
        if text:
            self.note("\n".join(f"  | {line}" for line in text.split("\n")))

    def _show_answered(self, event: happened.ToolAnswered) -> None:
        # On a terminal what a command prints was seen while it ran.
        if event.reply and event.ok and not (self._terminal and event.name == "shell"):
            self._write(clean(event.text))
        elif not event.ok:
            self.note(f"  ! {event.text if event.reply else _cut(event.text)}", "warning")
        elif event.name != "shell":
            self.note(f"  = {len(event.text)} characters")
        else:
            self.note(f"  = {_cut(event.text.partition(chr(10))[0])}")

    def _show_asked(self, event: ApprovalAsked) -> None:
        if not asks():
            self.note("! denied: nobody is there to allow the command.", "warning")
            return
        if not can_judge(event):
            self.note("! denied: the window is too small to show the whole command.", "warning")
            return
        lines = event.shown.split("\n")
        what = "run this" if event.tool == "shell" else "change a skill like this"
        self.note(f"The model wants to {what} in {one_line(event.folder)}:", "bold")
        self.note("\n".join(f"    {line}" for line in lines), "tool")
        if event.tool != "shell" and not _fits(event.shown):
            self.note(f"These were {len(lines)} lines: scroll up to see them all.", "warning")

    def _show_proposed(self, event: happened.Proposed) -> None:
        name, title = one_line(event.skill_name), one_line(event.title)
        self.note(f"✎ proposed for {name}: {title} ({one_line(event.status)})", "learned")
        self.note(f"  `prowess workshop show {one_line(event.id)}` shows it.")

    def _show_used(self, event: happened.Used) -> None:
        if self._terminal and event.requests:
            requests = f"{event.requests} request{'s' if event.requests > 1 else ''}"
            tokens = f"{event.input_tokens} tokens in, {event.output_tokens} out"
            self.note(f"({requests}, {tokens})")

    def _trouble(self, event: happened.Trouble) -> None:
        style = "warning" if event.code == "note" else "error"
        self.note(f"! {one_line(event.message)}", style)


class JsonScreen:
    """For a program: each event is one line of JSON."""

    def __init__(self) -> None:
        self._cleaner = StreamCleaner()

    def show(self, event: Event) -> None:
        """Print one event."""
        if isinstance(event, happened.TextDelta):
            text = self._cleaner.feed(event.text)
            if text:
                self._print("text_delta", {"text": text})
            return
        rest = self._cleaner.end()
        if rest:
            self._print("text_delta", {"text": rest})
        self._print(_kind(event), _fields(event))

    def note(self, text: str, style: str = "dim") -> None:
        """Print what is no event as one of its own."""
        del style
        self._print("note", {"text": text})

    def _print(self, kind: str, values: Mapping[str, object]) -> None:
        sys.stdout.write(json.dumps(wire_runs.chat_event(kind, values)) + "\n")
        sys.stdout.flush()


def can_judge(question: ApprovalAsked) -> bool:
    """Return whether a person sees enough to say yes; a change of a skill may be scrolled."""
    return question.tool != "shell" or _fits(question.shown)


def _fits(shown: str) -> bool:
    """Return whether all of it is on the screen at once, together with the question."""
    size = shutil.get_terminal_size()
    return rows(shown, size.columns - _INDENT) <= max(1, size.lines - _OTHER_ROWS)


def choice_of(answer: str) -> Choice:
    """Return what a person typed: anything but a clear yes is a no."""
    word = answer.strip().lower()
    if word in {"y", "yes"}:
        return Choice.YES
    return Choice.ALWAYS if word in {"a", "always"} else Choice.NO


def _kind(event: Event) -> str:
    # What programs read as `type`: the names of these classes are public.
    name = type(event).__name__
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name).lstrip("_")


def _fields(value: object) -> dict[str, object]:
    """Return the fields of an event, with those of what is in it."""
    found: dict[str, object] = {}
    # Every event is a dataclass; so is what it holds.
    for field in fields(value):  # type: ignore[arg-type]
        item = getattr(value, field.name)
        if isinstance(item, tuple):
            item = [_fields(one) if hasattr(one, "__dataclass_fields__") else one for one in item]
        found[field.name] = item.value if isinstance(item, Choice) else item
    return found


def _cut(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _MOST_LINE else line[: _MOST_LINE - 1] + "…"


def _style(text: str, style: str, *, coloured: bool) -> str:
    if not coloured or os.environ.get("NO_COLOR"):
        return text
    return click.style(text, **_STYLES[style])


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
            "new": self._begin_new,
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
            # Of what the scanner blocks, too: whoever calls it is told why it is not used.
            held = build_commands(run.snapshot.held)
        if find_command(line, (*commands, *held)) is not None:
            return True
        word = one_line(line.split(maxsplit=1)[0])
        own = difflib.get_close_matches(word[1:].lower(), (*self._answers, *_LEAVE), cutoff=0.7)
        near = dict.fromkeys((*own, *near_commands(line, commands)))
        hint = f"Did you mean {', '.join('/' + name for name in near)}?" if near else "Try /help."
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
        caller = Caller(surface=Surface.CHAT, agent_id=self._chat.agent_id)
        answer = self._chat.runtime.routing.answer(rest, caller).route
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

    def _begin_new(self, _rest: str) -> None:
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
