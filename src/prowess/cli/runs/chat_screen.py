"""How a chat looks: on a terminal, in a pipe, and as JSON lines.

On a terminal everything that is not the model's text is marked and coloured. In a pipe standard
output has the model's text alone and the rest goes to the error stream. Pieces are written as they
come, which is why this writes to the streams itself and not through `render`.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Protocol

import click

from prowess.agents import events as happened
from prowess.agents.events import ApprovalAsked, Choice, Event
from prowess.agents.showing import rows
from prowess.cli.render import asks, is_terminal
from prowess.cli.runs.chat_text import StreamCleaner
from prowess.skills.text import clean, one_line
from prowess.wire import runs as wire_runs

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
            happened.Routed: self._routed,
            happened.SkillLoaded: self._loaded,
            happened.SkillRefused: self._refused,
            happened.TextDelta: self._text,
            happened.ToolCalled: self._called,
            happened.ToolOutput: self._output,
            happened.ToolAnswered: self._answered,
            happened.ApprovalAsked: self._asked,
            happened.Proposed: self._proposed,
            happened.Used: self._used,
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
                stream.write(_styled(line, style, coloured=self._terminal) + "\n")
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

    def _routed(self, event: happened.Routed) -> None:
        for match in event.matches:
            why = one_line("; ".join(match.reasons))
            word = "fits" if event.decision == "load" else "may fit"
            self.note(f"→ {one_line(match.name)} {word} ({match.score:.2f}): {why}", "skill")
        for text in event.notes:
            self.note(f"! {one_line(text)}", "warning")

    def _loaded(self, event: happened.SkillLoaded) -> None:
        by = _BY.get(event.by, "")
        name = one_line(event.name)
        self.note(f"+ {name} is loaded {by} ({event.chars} characters)", "skill")

    def _refused(self, event: happened.SkillRefused) -> None:
        self.note(f"! {one_line(event.name)} is not loaded: {one_line(event.problem)}", "warning")

    def _called(self, event: happened.ToolCalled) -> None:
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

    def _answered(self, event: happened.ToolAnswered) -> None:
        if not event.ok:
            self.note(f"  ! {_cut(event.text)}", "warning")
        elif event.name != "shell":
            self.note(f"  = {len(event.text)} characters")
        else:
            self.note(f"  = {_cut(event.text.partition(chr(10))[0])}")

    def _asked(self, event: ApprovalAsked) -> None:
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

    def _proposed(self, event: happened.Proposed) -> None:
        name, title = one_line(event.skill_name), one_line(event.title)
        self.note(f"✎ proposed for {name}: {title} ({one_line(event.status)})", "learned")
        self.note(f"  `prowess workshop show {one_line(event.id)}` shows it.")

    def _used(self, event: happened.Used) -> None:
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


def _styled(text: str, style: str, *, coloured: bool) -> str:
    if not coloured or os.environ.get("NO_COLOR"):
        return text
    return click.style(text, **_STYLES[style])
