r"""From what a person typed to what it asks for: a slash command, or skills named by `$name`.

Nothing is done here: a command yields a tool call or an instruction for the model. Placeholders in
a skill's text are filled in one walk, so what came from a person is never read as one again, and
commands that a harness would run while it fills a text stay as they are written. `$0` is the first
word; a number without a word, and a price such as `$1.50`, stay; `\$1` is a literal `$1`.
"""

import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from prowess.skills.commands import RESERVED, SkillCommand, build_commands, claim, frontmatter_value
from prowess.skills.frontmatter import as_text
from prowess.skills.model import Skill
from prowess.skills.text import one_line

INPUT_HEADING = "## User input"
COMMANDS_NOT_RUN = (
    "The skill's text holds commands to run while it is read (a bang before backticks)."
    " They were not run and stay as written."
)
TOO_MUCH = "The skill's text repeats its arguments too often: some placeholders stay as written."
# More than any text needs: a placeholder that stands there ten thousand times is no use to anyone.
_BUDGET = 1_000_000
_MAX_NAMES, _MAX_NAME, _MAX_DIGITS = 64, 64, 6
_NAME = re.compile(r"[^\W\d][\w-]*")
# Possessive throughout: what was read once is not read again, whatever follows.
_COMMANDS = r"(?<!\w)!`[^`\n]++`|^[ \t]*+`{3,}+!.*?(?:\n[ \t]*+`{3,}+[ \t]*+$|\Z)"
_PLAIN = r"ARGUMENTS(?!\w)|[0-9]++|\{CLAUDE_[A-Z_]++\}"
_PLACEHOLDERS = (
    r"\$ARGUMENTS(?:\[(?P<index>[0-9]++)\]|(?P<all>(?!\w)))"
    r"|\$(?P<number>[0-9]++)(?!\w|[.,][0-9])"
    r"|\$\{(?P<value>CLAUDE_[A-Z_]++)\}"
)
_PIECE = re.compile(
    r"""(?P<blank>\s++)|"(?P<double>[^"\\]*+(?:\\.[^"\\]*+)*+)"|'(?P<single>[^']*+)'"""
    r"""|\\(?P<protected>[\s"'])|(?P<plain>[^\s"'\\]++|\\)|(?P<open>["'])""",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """A skill's text with its placeholders filled."""

    text: str
    notes: tuple[str, ...] = ()


def argument_names(skill: Skill) -> tuple[str, ...]:
    """Return the declared names by position; empty where one cannot be used.

    Names without a lower-case letter belong to the shell, as `$HOME` does.
    """
    declared = frontmatter_value(skill, "arguments")
    if isinstance(declared, str):
        words: list[str] = declared.replace(",", " ").split()
    elif isinstance(declared, (list, tuple)):
        words = [
            as_text(item.get("name") if isinstance(item, Mapping) else item) for item in declared
        ]
    else:
        words = []
    return tuple(word if _is_usable(word) else "" for word in words[:_MAX_NAMES])


def _is_usable(name: str) -> bool:
    is_name = len(name) <= _MAX_NAME and _NAME.fullmatch(name) is not None
    return is_name and not is_shell_variable(name)


def is_shell_variable(name: str) -> bool:
    """Return whether `$name` looks like a variable of the shell, as `$HOME` and `$1` do."""
    return name.isascii() and name.upper() == name


def split_words(text: str) -> tuple[str, ...]:
    """Split as a shell does: quotes group, and a quote that never ends is an ordinary character.

    A backslash protects a quote or a blank and is an ordinary character elsewhere, so that the
    paths of Windows survive.
    """
    words: list[str] = []
    parts: list[str] | None = None
    for piece in _PIECE.finditer(text):
        kind = piece.lastgroup or ""
        if kind == "open":
            return tuple(text.split())
        if kind == "blank":
            words += [] if parts is None else ["".join(parts)]
            parts = None
            continue
        found = piece[kind]
        parts = [] if parts is None else parts
        parts.append(found.replace('\\"', '"') if kind == "double" else found)
    return tuple(words if parts is None else [*words, "".join(parts)])


def fill(
    body: str, arguments: str, *, names: Sequence[str] = (), values: Mapping[str, str] | None = None
) -> Filled:
    """Fill the placeholders of `body`; arguments that no placeholder took are put below it.

    Args:
        body: the text of the skill.
        arguments: what the person wrote behind the command, as written.
        names: the declared names, by position.
        values: what `${CLAUDE_...}` stands for; an empty or absent one stays as written.
    """
    filling = _Filling(arguments, _positions(names), values or {})
    text = _pattern(names).sub(filling.replacement, body)
    if arguments and not filling.used:
        text = f"{text.rstrip()}\n\n{INPUT_HEADING}\n\n{arguments}".lstrip("\n")
    return Filled(text=text, notes=tuple(filling.notes))


def _positions(names: Sequence[str]) -> dict[str, int]:
    # Where a name is declared twice, the first place is the one that it has.
    return {name: place for place, name in reversed(tuple(enumerate(names))) if name}


def _pattern(names: Sequence[str]) -> re.Pattern[str]:
    # The longest first: `$issue-id` is not `$issue` where both are declared.
    known = sorted({name for name in names if name}, key=len, reverse=True)
    words = "|".join(re.escape(name) for name in known)
    escapable = f"{_PLAIN}|(?:{words})(?!\\w)" if words else _PLAIN
    whole = rf"(?P<commands>{_COMMANDS})|\\(?P<escaped>\$(?:{escapable}))|{_PLACEHOLDERS}"
    if words:
        whole += rf"|\$(?P<name>{words})(?!\w)"
    return re.compile(whole, re.MULTILINE | re.DOTALL)


class _Filling:
    """One walk over one text: what to put where, and what has been put so far."""

    def __init__(
        self, arguments: str, positions: Mapping[str, int], values: Mapping[str, str]
    ) -> None:
        self._arguments, self._words = arguments, split_words(arguments)
        self._positions, self._values = positions, values
        # Twice what the person wrote always fits: the work stays in proportion to what came in.
        self._left = _BUDGET + 2 * len(arguments)
        self.used = False
        # A dictionary for its order: each note once.
        self.notes: dict[str, None] = {}

    def replacement(self, match: re.Match[str]) -> str:
        kind = match.lastgroup or ""
        if kind == "commands":
            self.notes[COMMANDS_NOT_RUN] = None
            return match[0]
        if kind == "escaped":
            return match[kind]
        found = self._find(kind, match[kind])
        if found is None:
            return match[0]
        if len(found) > self._left:
            self.notes[TOO_MUCH] = None
            return match[0]
        self._left -= len(found)
        self.used = self.used or (kind != "value" and bool(found))
        return found

    def _find(self, kind: str, text: str) -> str | None:
        if kind == "value":
            return self._values.get(text) or None
        if kind == "all":
            return self._arguments
        if kind == "name":
            return self._word(self._positions[text]) or ""
        return self._word(int(text)) if len(text) <= _MAX_DIGITS else None

    def _word(self, place: int) -> str | None:
        return self._words[place] if place < len(self._words) else None


MAX_REFERENCES = 8
MAX_REFERENCE_LINE, MAX_PREFIX = 512, 1_000
# No name of a skill is longer, whatever blanks a person puts into it.
_MAX_TYPED = 256
_MAX_NEAR = 3
_BY_SKILL = "skill"
_COMMAND = re.compile(r"\s*+/(\S++)\s*+")
_WORD = re.compile(r"\S++")
_SEPARATORS = re.compile(r"[\s_-]+")
# Not behind a letter or a dollar: `US$rate` and `$$pid` name no skill.
_REFERENCE = re.compile(r"(?<![\w$\\])\$([\w:-]++)")
_REFERENCES_HEAD = "The user names these skills. Read each one's file before you act:"


@dataclass(frozen=True, slots=True, kw_only=True)
class InvocationPlace:
    """Where a command is called: what a skill's text may ask about; empty means unknown."""

    session_id: str = ""
    project_dir: str = ""
    effort: str = ""
    plugin_root: str = ""
    plugin_data: str = ""
    # The tools at hand; None means that nobody said.
    tools: frozenset[str] | None = None


class FoundCommand(NamedTuple):
    """A command that a text calls, and what stands behind it."""

    command: SkillCommand
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Invoked:
    """What a slash command asks for: a tool call, or an instruction for the model."""

    kind: str
    command: SkillCommand
    # What the person wrote behind the command, line breaks included.
    arguments: str = ""
    # The arguments of the call; None where there is no call to make.
    tool_call: Mapping[str, str] | None = None
    # For a model that reads the skill's file by itself.
    message: str = ""
    # The skill's text with its placeholders filled.
    body: str = ""
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def tool_name(self) -> str:
        """The tool that a command goes straight to; empty where it goes to the model."""
        dispatch = self.command.dispatch
        return "" if dispatch is None else dispatch.tool_name

    @property
    def text(self) -> str:
        """The instruction and the filled text in one, for a model that need not read the file."""
        if self.kind == "tool":
            return ""
        skill = self.command.skill
        return (
            f"{_ask(skill)} What it says follows, from {one_line(skill.path)};"
            f" relative paths in it start at {one_line(skill.folder)}.\n\n{self.body}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class References:
    """The skills that an ordinary message names by `$name`."""

    names: tuple[str, ...] = ()
    # What goes before the message; empty where nothing is named.
    prefix: str = ""
    problems: tuple[str, ...] = ()
    skills: tuple[Skill, ...] = ()


def run_command(
    text: str, usable: Iterable[Skill], place: InvocationPlace, reserved: Collection[str] = RESERVED
) -> Invoked | None:
    """Return what `text` asks for among the commands of `usable` skills, None where for none."""
    return invoke(text, build_commands(usable, reserved), place)


def invoke(text: str, commands: Sequence[SkillCommand], place: InvocationPlace) -> Invoked | None:
    """Return what the slash command in `text` asks for, None where it calls no skill."""
    found = find_command(text, commands)
    if found is None:
        return None
    if found.command.dispatch is not None:
        return _tool_call(found, place)
    skill = found.command.skill
    filled = fill(
        skill.body, found.arguments, names=argument_names(skill), values=_values(skill, place)
    )
    return Invoked(
        kind="instruction",
        command=found.command,
        arguments=found.arguments,
        message=_message(skill, found.arguments),
        body=filled.text,
        problems=found.command.problems,
        notes=filled.notes,
    )


def _tool_call(found: FoundCommand, place: InvocationPlace) -> Invoked:
    command = found.command
    tool = "" if command.dispatch is None else command.dispatch.tool_name
    available = place.tools is None or tool in place.tools
    missing = () if available else (f"Tool not available: {tool}",)
    # The names of the fields are the tool's: every tool that takes commands knows them.
    call = {
        "command": found.arguments,
        "commandName": command.name,
        "skillName": command.skill_name,
    }
    return Invoked(
        kind="tool",
        command=command,
        arguments=found.arguments,
        tool_call=call if available else None,
        problems=(*missing, *command.problems),
    )


def _values(skill: Skill, place: InvocationPlace) -> dict[str, str]:
    return {
        "CLAUDE_SESSION_ID": place.session_id,
        "CLAUDE_EFFORT": place.effort,
        "CLAUDE_SKILL_DIR": skill.folder,
        "CLAUDE_PROJECT_DIR": place.project_dir,
        # Only a plugin's skills have a boundary: the folder of the plugin.
        "CLAUDE_PLUGIN_ROOT": place.plugin_root or skill.source.boundary,
        "CLAUDE_PLUGIN_DATA": place.plugin_data,
    }


def _ask(skill: Skill) -> str:
    return f'The user calls the skill "{one_line(skill.name)}": use it for this request.'


def _message(skill: Skill, arguments: str) -> str:
    head = f"{_ask(skill)} Read {one_line(skill.path)} first and do what it says."
    return f"{head}\n\n{INPUT_HEADING}\n\n{arguments}" if arguments else head


def find_command(text: str, commands: Sequence[SkillCommand]) -> FoundCommand | None:
    """Return the command that `/name ...` or `/skill name ...` calls, None where it calls none."""
    called = _COMMAND.match(text)
    if called is None:
        return None
    name, rest = called[1].lower(), text[called.end() :]
    if name == _BY_SKILL:
        found = _find_named(rest, commands)
        if found is not None:
            return found
    # People write the skill's hyphens; no command's name holds one.
    wanted = name.replace("-", "_")
    command = next((one for one in commands if one.name.lower() == wanted), None)
    return None if command is None else FoundCommand(command, rest.strip())


def _find_named(rest: str, commands: Sequence[SkillCommand]) -> FoundCommand | None:
    """Find the command by a beginning of `rest`: the highest source, then the longest."""
    exact, loose = _by_name(commands)
    most = max((key.count("-") + 1 for key in loose), default=0)
    ends = [word.end() for word in islice(_WORD.finditer(rest), most) if word.end() <= _MAX_TYPED]
    found: list[FoundCommand] = []
    for end in reversed(ends):
        typed = rest[:end]
        command = exact.get(" ".join(typed.casefold().split())) or loose.get(name_key(typed))
        if command is not None:
            found.append(FoundCommand(command, rest[end:].strip()))
    return max(found, key=lambda one: one.command.skill.source.tier, default=None)


def _by_name(
    commands: Sequence[SkillCommand],
) -> tuple[dict[str, SkillCommand], dict[str, SkillCommand]]:
    """Return the commands by what they are called, as written and with separators equal."""
    ranked = sorted(commands, key=lambda one: claim(one.skill))
    names = [(one.skill_name, one) for one in ranked] + [(one.name, one) for one in ranked]
    exact: dict[str, SkillCommand] = {}
    loose: dict[str, SkillCommand] = {}
    for name, command in names:
        exact.setdefault(" ".join(name.casefold().split()), command)
        loose.setdefault(name_key(name), command)
    return exact, loose


def name_key(name: str) -> str:
    """Return `name` for comparing: without case, and spaces, underscores and hyphens alike."""
    return _SEPARATORS.sub("-", name.strip().casefold())


def near_commands(text: str, commands: Sequence[SkillCommand]) -> tuple[str, ...]:
    """Return up to three commands that a text which called none may have meant."""
    by_key: dict[str, str] = {}
    for command in commands:
        by_key.setdefault(name_key(command.skill_name), command.name)
        by_key.setdefault(name_key(command.name), command.name)
    near = [
        by_key[key] for typed in _read_names(text) for key in _find_near(name_key(typed), by_key)
    ]
    return tuple(dict.fromkeys(near))[:_MAX_NEAR]


def _find_near(typed: str, keys: Collection[str]) -> list[str]:
    alike = difflib.get_close_matches(typed, keys, n=_MAX_NEAR, cutoff=0.6)
    # Half a name is like no whole one, yet it is what people type first.
    return alike + [key for key in keys if len(typed) > 1 and key.startswith(typed)]


def _read_names(text: str) -> list[str]:
    """Return what a text calls by name, known or not."""
    called = _COMMAND.match(text)
    if called is None:
        return list(islice(_find_referenced(text), MAX_REFERENCES))
    if called[1].lower() != _BY_SKILL:
        return [called[1][:_MAX_TYPED]]
    rest = text[called.end() :].split(maxsplit=1)
    return [word[:_MAX_TYPED] for word in rest[:1]]


def references(text: str, skills: Iterable[Skill], allowed: Collection[str]) -> References:
    """Return the skills that `text` names by `$name`, and what to tell the model about them.

    Args:
        text: an ordinary message; one that begins with a slash names none.
        skills: every skill that exists.
        allowed: the names of those that may be called here.
    """
    if text.lstrip().startswith("/"):
        return References()
    known: dict[str, Skill] = {}
    for skill in skills:
        known.setdefault(name_key(skill.name), skill)
    keys = dict.fromkeys(name_key(name) for name in _find_referenced(text))
    wanted = [known[key] for key in keys if key in known]
    asked, problems = wanted[:MAX_REFERENCES], []
    if len(wanted) > MAX_REFERENCES:
        problems.append(f"Only the first {MAX_REFERENCES} of {len(wanted)} named skills are taken.")
    refused = [skill for skill in asked if skill.name not in allowed]
    problems += [_refusal(skill) for skill in refused]
    return _prefix([skill for skill in asked if skill.name in allowed], problems)


def _find_referenced(text: str) -> Iterable[str]:
    for match in _REFERENCE.finditer(text):
        name = match[1].rstrip(":")
        if name and len(name) <= _MAX_TYPED and not is_shell_variable(name):
            yield name


def _refusal(skill: Skill) -> str:
    name = one_line(skill.name)
    return f"The skill {name} may not be called here: `prowess why {name}` says more."


def _prefix(asked: Sequence[Skill], problems: Sequence[str]) -> References:
    """Put the lines of the skills together, as many as fit."""
    taken, lines, dropped = [], [_REFERENCES_HEAD], list[str]()
    # The message follows after an empty line.
    left = MAX_PREFIX - len(_REFERENCES_HEAD) - 2
    for skill in asked:
        name = one_line(skill.name)
        # The model was told where the others are; of a hidden one it knows nothing.
        line = f"- {name}" if skill.invocation.model else f"- {name}: {one_line(skill.path)}"
        if len(line) > MAX_REFERENCE_LINE or len(line) + 1 > left:
            dropped.append(f"The skill {one_line(skill.name)} is left out: its line is too long.")
            continue
        left -= len(line) + 1
        taken.append(skill)
        lines.append(line)
    return References(
        names=tuple(skill.name for skill in taken),
        prefix="\n".join(lines) + "\n\n" if taken else "",
        problems=(*problems, *dropped),
        skills=tuple(taken),
    )
