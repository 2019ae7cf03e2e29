r"""From what a person typed to what it asks for: a slash command, or skills named by `$name`.

Nothing is done here. A command yields a tool call or an instruction for the model, and the caller
does what its own rules allow. Text that calls no skill is no mistake: it yields None, or no names,
and goes to the model as it is.
"""

import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from prowess.skills.commands import RESERVED, SkillCommand, build_commands, claim
from prowess.skills.model import Skill
from prowess.skills.placeholders import INPUT_HEADING, argument_names, fill, is_shell_variable
from prowess.skills.text import one_line

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


class Found(NamedTuple):
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
            f"{_asked(skill)} What it says follows, from {one_line(skill.path)};"
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
    text: str,
    usable: Iterable[Skill],
    place: InvocationPlace,
    reserved: Collection[str] = RESERVED,
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
        skill.body,
        found.arguments,
        names=argument_names(skill),
        values=_values(skill, place),
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


def _tool_call(found: Found, place: InvocationPlace) -> Invoked:
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


def _asked(skill: Skill) -> str:
    return f'The user calls the skill "{one_line(skill.name)}": use it for this request.'


def _message(skill: Skill, arguments: str) -> str:
    head = f"{_asked(skill)} Read {one_line(skill.path)} first and do what it says."
    return f"{head}\n\n{INPUT_HEADING}\n\n{arguments}" if arguments else head


def find_command(text: str, commands: Sequence[SkillCommand]) -> Found | None:
    """Return the command that `/name ...` or `/skill name ...` calls, None where it calls none."""
    called = _COMMAND.match(text)
    if called is None:
        return None
    name, rest = called[1].lower(), text[called.end() :]
    if name == _BY_SKILL:
        found = _named(rest, commands)
        if found is not None:
            return found
    # People write the skill's hyphens; no command's name holds one.
    wanted = name.replace("-", "_")
    command = next((one for one in commands if one.name.lower() == wanted), None)
    return None if command is None else Found(command, rest.strip())


def _named(rest: str, commands: Sequence[SkillCommand]) -> Found | None:
    """Find the command by a beginning of `rest`: the highest source, then the longest."""
    exact, loose = _by_name(commands)
    most = max((key.count("-") + 1 for key in loose), default=0)
    ends = [word.end() for word in islice(_WORD.finditer(rest), most) if word.end() <= _MAX_TYPED]
    found: list[Found] = []
    for end in reversed(ends):
        typed = rest[:end]
        command = exact.get(" ".join(typed.casefold().split())) or loose.get(name_key(typed))
        if command is not None:
            found.append(Found(command, rest[end:].strip()))
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
        by_key[key] for typed in _typed_names(text) for key in _near_keys(name_key(typed), by_key)
    ]
    return tuple(dict.fromkeys(near))[:_MAX_NEAR]


def _near_keys(typed: str, keys: Collection[str]) -> list[str]:
    alike = difflib.get_close_matches(typed, keys, n=_MAX_NEAR, cutoff=0.6)
    # Half a name is like no whole one, yet it is what people type first.
    return alike + [key for key in keys if len(typed) > 1 and key.startswith(typed)]


def _typed_names(text: str) -> list[str]:
    """Return what a text calls by name, known or not."""
    called = _COMMAND.match(text)
    if called is None:
        return list(islice(_referenced(text), MAX_REFERENCES))
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
    keys = dict.fromkeys(name_key(name) for name in _referenced(text))
    wanted = [known[key] for key in keys if key in known]
    asked, problems = wanted[:MAX_REFERENCES], []
    if len(wanted) > MAX_REFERENCES:
        problems.append(f"Only the first {MAX_REFERENCES} of {len(wanted)} named skills are taken.")
    refused = [skill for skill in asked if skill.name not in allowed]
    problems += [_refusal(skill) for skill in refused]
    return _prefixed([skill for skill in asked if skill.name in allowed], problems)


def _referenced(text: str) -> Iterable[str]:
    for match in _REFERENCE.finditer(text):
        name = match[1].rstrip(":")
        if name and len(name) <= _MAX_TYPED and not is_shell_variable(name):
            yield name


def _refusal(skill: Skill) -> str:
    name = one_line(skill.name)
    return f"The skill {name} may not be called here: `prowess why {name}` says more."


def _prefixed(asked: Sequence[Skill], problems: Sequence[str]) -> References:
    """Put the lines of the skills together, as many as fit."""
    taken, lines, dropped = [], [_REFERENCES_HEAD], list[str]()
    # The message follows after an empty line.
    left = MAX_PREFIX - len(_REFERENCES_HEAD) - 2
    for skill in asked:
        line = _reference_line(skill)
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


def _reference_line(skill: Skill) -> str:
    name = one_line(skill.name)
    # The model was told where the others are; of a hidden one it knows nothing.
    return f"- {name}" if skill.invocation.model else f"- {name}: {one_line(skill.path)}"
