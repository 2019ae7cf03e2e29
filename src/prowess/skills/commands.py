"""The slash commands that skills give: their names, what they do, and where they lead.

A command's name is not the skill's name: channels take 32 lower-case letters, digits and
underscores, and some names are taken before the first skill comes. Whoever needs the skill of a
command asks the command for it, never the other way round by rewriting names.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from prowess.skills.frontmatter import as_text, squeeze
from prowess.skills.model import Skill, Value

MAX_NAME = 32
_RAW = "raw"
_OUTSIDE = re.compile("[^a-z0-9]+")
# Each length of number leaves another length to the name in front of it.
_NUMBERS = ((2, 9), (10, 99), (100, 999))


class _Reserved(NamedTuple):
    why: str
    names: str


_RESERVED = (
    _Reserved(
        "The chat answers these itself; a skill in their place could not be told from it.",
        "help commands skill skills why route session new reset clear tools approve workshop learn"
        " model status stop exit quit",
    ),
    _Reserved(
        "Assistants in channels answer these natively, so the message never reaches a skill.",
        "abort allowlist bash compact context elevated exec kill models queue reasoning restart"
        " sessions subagents think thinking usage verbose whoami",
    ),
    _Reserved(
        "Coding harnesses answer these natively: one name must not mean two things.",
        "agents approvals config cost doctor hooks init login logout mcp memory permissions plugin"
        " plugins resume review rewind undo version",
    ),
)
RESERVED = frozenset(name for group in _RESERVED for name in group.names.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDispatch:
    """Where a command goes straight to: a tool, past the model."""

    tool_name: str
    arg_mode: str = _RAW
    kind: str = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillCommand:
    """One slash command and the skill that gives it."""

    name: str
    skill: Skill
    description: str
    dispatch: ToolDispatch | None = None
    # What the author wrote about the command that cannot be followed as written.
    problems: tuple[str, ...] = ()

    @property
    def skill_name(self) -> str:
        """The name of the skill, as its author wrote it."""
        return self.skill.name

    @property
    def argument_hint(self) -> str:
        """What the author expects behind the command."""
        return self.skill.invocation.argument_hint

    @property
    def model_visible(self) -> bool:
        """True where the model may also choose the skill by itself."""
        return self.skill.invocation.model

    @property
    def skill_file(self) -> str:
        """The file that holds the skill."""
        return self.skill.path

    @property
    def source_id(self) -> str:
        """The kind of place that the skill comes from."""
        return self.skill.source.tier.source_id


def build_commands(
    skills: Iterable[Skill], reserved: Collection[str] = RESERVED
) -> tuple[SkillCommand, ...]:
    """Return the commands of `skills`, all of them usable, in the order given.

    Skills that no person may call have none; those hidden from the model have one. Where several
    want one name, the highest source has it, then whoever is really called so.
    """
    callable_ones = [skill for skill in skills if skill.invocation.user]
    names, given = _Names(reserved), dict[int, str]()
    order = sorted(range(len(callable_ones)), key=lambda place: claim(callable_ones[place]))
    for place in order:
        given[place] = names.take(command_name(callable_ones[place].name))
    return tuple(
        SkillCommand(
            name=given[place],
            skill=skill,
            description=skill.description.strip() or skill.name,
            dispatch=_dispatch(skill),
            problems=tuple(_problems(skill)),
        )
        for place, skill in enumerate(callable_ones)
    )


def claim(skill: Skill) -> tuple[int, bool]:
    """Return how good a skill's claim to a name is, the best first: its source, then its name.

    A name that only becomes another's when it is written as a command must not take it away.
    """
    plain = skill.name.lower().replace("-", "_")
    return -skill.source.tier, plain != command_name(skill.name)


def command_name(skill_name: str) -> str:
    """Return what a skill's command is called while nobody else wants that name."""
    # Underscores are outside too: a run of them, alone or mixed, becomes one.
    name = _OUTSIDE.sub("_", skill_name.lower()).strip("_")
    return name[:MAX_NAME] or "skill"


class _Names:
    """Gives each name away once; numbers follow where a name is taken.

    A thousand skills may want one name, so where the search for a number ended is remembered.
    """

    def __init__(self, reserved: Collection[str]) -> None:
        self._taken = {name.lower().lstrip("/").replace("-", "_") for name in reserved}
        self._next: dict[tuple[str, int], int] = {}

    def take(self, wanted: str) -> str:
        name = wanted if wanted not in self._taken else self._number(wanted)
        self._taken.add(name)
        return name

    def _number(self, wanted: str) -> str:
        for first, last in _NUMBERS:
            stem = wanted[: MAX_NAME - len(f"_{last}")]
            number = self._find_free(f"{stem}_", first, last)
            if number <= last:
                return f"{stem}_{number}"
        return self._beyond(wanted)

    def _find_free(self, stem: str, first: int, last: int) -> int:
        number = self._next.get((stem, first), first)
        while number <= last and f"{stem}{number}" in self._taken:
            number += 1
        self._next[stem, first] = number
        return number

    def _beyond(self, wanted: str) -> str:
        """Return a name for what comes after the last number: `_x`, then `_x2` and on."""
        plain = f"{wanted[: MAX_NAME - 2]}_x"
        if plain not in self._taken:
            return plain
        # Six digits leave room for more skills than any catalog holds.
        stem = f"{wanted[: MAX_NAME - 8]}_x"
        return f"{stem}{self._find_free(stem, 2, 999_999)}"


def _dispatch(skill: Skill) -> ToolDispatch | None:
    invocation = skill.invocation
    return ToolDispatch(tool_name=invocation.tool) if invocation.tool else None


def _problems(skill: Skill) -> Iterable[str]:
    kind, tool = as_text(frontmatter_value(skill, "command-dispatch")), skill.invocation.tool
    if kind and not tool:
        lacks = "names no command-tool" if kind.lower() == "tool" else "is not known"
        yield f"command-dispatch: {kind} {lacks}, so the command goes to the model."
    mode = as_text(frontmatter_value(skill, "command-arg-mode"))
    if tool and mode and mode.lower() != _RAW:
        yield f"command-arg-mode: {mode} is not known, so the tool gets the arguments raw."


def frontmatter_value(skill: Skill, key: str) -> Value:
    """Return a field of the skill's frontmatter, whatever its spelling, else None."""
    wanted = squeeze(key)
    return next((value for name, value in skill.fields.items() if squeeze(name) == wanted), None)
