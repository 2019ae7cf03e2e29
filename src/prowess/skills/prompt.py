"""The skills block of the system prompt, within a budget.

Over budget, every identity that fits is kept, descriptions are shortened evenly, and only then are
skills dropped. Who is dropped first is decided by worth (pinned, then source, then recent use),
never by the alphabet; the block itself is always in the order of names.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import NamedTuple

from prowess.settings import Limits
from prowess.skills.catalog import collation_key
from prowess.skills.model import Skill
from prowess.skills.text import one_line

_MAX_HINTS = 8
_MIN_DESCRIPTION, _MAX_DESCRIPTION = 4, 220
_ELLIPSIS = "..."
# What the standard allows. A longer one would shorten those of all other skills.
_LONGEST = 1024
_MAX_LOCATION = 1_000
# What the layout adds to the three texts of a skill: tags, indentation and line ends.
_IDENTITY_CHARS, _DESCRIPTION_CHARS = 65, 32
# Tools by which an agent can read a file at a path. Without one of them the block is useless.
READING_TOOLS = frozenset(
    (
        "read", "read_file", "readfile", "file_read", "fs_read", "view", "view_file", "open_file",
        "cat", "read_text_file", "str_replace_based_edit_tool", "bash", "shell", "exec",
        "run_shell_command", "execute_command", "terminal", "local_shell", "read_skill",
        "load_skill", "skill",
    )
)  # fmt: skip

_INTRO = (
    "Skills are tested instructions for particular jobs. Scan this whole index before you act.",
    (
        "{how} read the file at its location before you follow it, and read at most one up front:"
        " the most specific. When none clearly fits, use none."
    ),
    "Resolve relative paths in a skill against the folder of its file and use the absolute result.",
)
_HOW_FULL = "When a description fits the task,"
_HOW_SHORT = "When a name or description fits the task,"
_HOW_NAMES = "When a name fits the task,"
_OPEN, _CLOSE = "<available_skills>", "</available_skills>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """What speaks for keeping a skill when not all fit."""

    pinned: frozenset[str] = frozenset()
    last_used: Mapping[str, int] = field(default_factory=dict)

    def ranked(self, skills: Sequence[Skill]) -> list[Skill]:
        """Return the worthiest first; names decide only between equals."""
        # Sorting is stable, so the least important order comes first.
        ordered = sorted(skills, key=lambda skill: collation_key(skill.name))
        if self.last_used:
            ordered.sort(key=lambda skill: -self.last_used.get(skill.name, 0))
        ordered.sort(key=lambda skill: -skill.source.tier)
        if self.pinned:
            ordered.sort(key=lambda skill: self.pinned.isdisjoint((skill.name, skill.key)))
        return ordered


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptBlock:
    """The rendered block and what happened to get it under its budget."""

    text: str = ""
    included: tuple[Skill, ...] = ()
    dropped: tuple[Skill, ...] = ()
    # None: whole descriptions. Zero: none at all.
    description_chars: int | None = None
    omitted_because: str = ""


class _Entry(NamedTuple):
    """One skill, escaped and ready to print."""

    skill: Skill
    name: str
    description: str
    location: str


def escape(text: str) -> str:
    """Escape the five characters that could end an element or an attribute."""
    # The ampersand first, or the others would be escaped twice; far faster than a translation.
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;").replace("'", "&apos;")


def shorten(text: str, limit: int) -> str:
    """Cut `text` to `limit` characters, white space collapsed, the cut marked by dots."""
    return _cut(" ".join(text.split()), limit)


def _cut(flat: str, limit: int) -> str:
    if len(flat) <= limit:
        return flat
    if limit <= len(_ELLIPSIS):
        return flat[:limit]
    return flat[: limit - len(_ELLIPSIS)].rstrip() + _ELLIPSIS


def describe(skill: Skill) -> str:
    """Return the description with the author's trigger hints behind it."""
    triggers = skill.metadata.triggers
    hints = tuple(dict.fromkeys((*triggers.any, *triggers.all)))[:_MAX_HINTS]
    if not hints:
        return skill.description
    return f"{skill.description} Trigger hints: {'; '.join(hints)}"


def shorten_path(path: str, homes: Sequence[str]) -> str:
    """Write `~` for the longest of `homes` that `path` lies in."""
    inside = [root for home in homes if (root := home.rstrip("/")) and path.startswith(root + "/")]
    return "~" + path[len(max(inside, key=len)) :] if inside else path


def can_read(tools: Collection[str] | None) -> bool:
    """Return whether an agent with these tools can open a skill; None means nobody said."""
    return tools is None or any(tool.strip().lower() in READING_TOOLS for tool in tools)


def render(
    skills: Sequence[Skill],
    *,
    limits: Limits,
    worth: Worth | None = None,
    homes: Sequence[str] = (),
    note: str = "",
) -> PromptBlock:
    """Render `skills`, which are all visible, within `limits`; `note` goes first if it fits."""
    if not skills:
        fits = len(note) <= limits.max_skills_prompt_chars
        return PromptBlock(text=note if fits else "", omitted_because="no skill is visible")
    ranked = (worth or Worth()).ranked(skills)[: max(limits.max_skills_in_prompt, 0)]
    # One absurdly long path must not push every other skill out.
    entries = [e for e in _entries(ranked, homes) if len(e.location) <= _MAX_LOCATION]
    fit = _Fit(entries, total=len(skills), budget=limits.max_skills_prompt_chars)
    block = fit.best()
    kept = {skill.path for skill in block.included}
    text = block.text
    if note and len(note) + 1 + len(text) <= limits.max_skills_prompt_chars:
        text = f"{note}\n{text}" if text else note
    return PromptBlock(
        text=text,
        included=block.included,
        dropped=tuple(skill for skill in skills if skill.path not in kept),
        description_chars=block.description_chars,
        omitted_because="" if block.included else "not one skill fits the budget",
    )


def _entries(ranked: Sequence[Skill], homes: Sequence[str]) -> list[_Entry]:
    return [
        _Entry(
            skill,
            escape(one_line(skill.name)),
            _cut(one_line(describe(skill)), _LONGEST),
            escape(one_line(shorten_path(skill.path, homes))),
        )
        for skill in ranked
    ]


class _Fit:
    """Searches for the most that fits; `entries` come with the worthiest first.

    Sizes are counted, not rendered: only the winner is turned into text.
    """

    def __init__(self, entries: Sequence[_Entry], *, total: int, budget: int) -> None:
        self._entries, self._total, self._budget = entries, total, budget
        self._flat = [entry.description for entry in entries]
        self._plain = [escape(text) == text for text in self._flat]

    def best(self) -> PromptBlock:
        """Return the best block: whole, shortened, names only, fewer, or only the note."""
        if self._entries and self._fits(len(self._entries), None):
            return self._block(len(self._entries), None)
        kept = _find_largest(0, len(self._entries), lambda count: self._fits(count, 0))
        if kept == 0:
            return self._fit_least()
        # The kept skills get the longest description that all of them can have.
        low = _MIN_DESCRIPTION - 1
        chars = _find_largest(low, _MAX_DESCRIPTION, lambda limit: self._fits(kept, limit))
        return self._block(kept, 0 if chars == low else chars)

    def _fits(self, kept: int, chars: int | None) -> bool:
        note = _limit_note(kept, self._total, chars)
        size = (
            len(note)
            + bool(note)
            + len(_layout((), chars))
            + sum(len(entry.name) + len(entry.location) for entry in self._entries[:kept])
        )
        size += kept * (_IDENTITY_CHARS if chars == 0 else _IDENTITY_CHARS + _DESCRIPTION_CHARS)
        if chars is None:
            size += sum(len(escape(entry.description)) for entry in self._entries[:kept])
        elif chars:
            size += sum(map(self._cut_size, range(kept), repeat(chars)))
        return size <= self._budget

    def _cut_size(self, index: int, limit: int) -> int:
        """Return how long a shortened description is, mostly without shortening it."""
        flat = self._flat[index]
        if not self._plain[index] or limit <= len(_ELLIPSIS):
            return len(escape(_cut(flat, limit)))
        if len(flat) <= limit:
            return len(flat)
        # White space is collapsed, so a cut behind a word loses at most one blank.
        return limit - (flat[limit - len(_ELLIPSIS) - 1] == " ")

    def _fit_least(self) -> PromptBlock:
        """Nothing fits beside the note: one skill without it, the note alone, or nothing."""
        if self._entries:
            alone = _layout(self._entries[:1], 0)
            if len(alone) <= self._budget:
                included = (self._entries[0].skill,)
                return PromptBlock(text=alone, included=included, description_chars=0)
        note = _limit_note(0, self._total, None if not self._entries else 0)
        return PromptBlock(text=note if len(note) <= self._budget else "")

    def _block(self, kept: int, chars: int | None) -> PromptBlock:
        chosen = sorted(self._entries[:kept], key=lambda entry: collation_key(entry.skill.name))
        note, text = _limit_note(kept, self._total, chars), _layout(chosen, chars)
        return PromptBlock(
            text=f"{note}\n{text}" if note else text,
            included=tuple(entry.skill for entry in chosen),
            description_chars=chars,
        )


def _find_largest(low: int, high: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number up to `high` that fits; `low` is taken without asking."""
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _limit_note(kept: int, total: int, chars: int | None) -> str:
    how = "descriptions shortened" if chars else "descriptions omitted"
    tail = "Run `prowess check` to see which."
    if kept < total:
        compact = "" if chars is None else f" (compact format, {how})"
        return f"⚠️ Skills truncated: included {kept} of {total}{compact}. {tail}"
    if chars is None:
        return ""
    return f"⚠️ Skills catalog using compact format ({how}). {tail}"


def _layout(chosen: Sequence[_Entry], chars: int | None) -> str:
    how = _HOW_FULL if chars is None else _HOW_SHORT if chars else _HOW_NAMES
    lines = ["", "", _INTRO[0], _INTRO[1].format(how=how), _INTRO[2], "", _OPEN]
    for entry in chosen:
        lines += ["  <skill>", f"    <name>{entry.name}</name>"]
        if chars != 0:
            text = entry.description if chars is None else shorten(entry.description, chars)
            lines.append(f"    <description>{escape(text)}</description>")
        lines += [f"    <location>{entry.location}</location>", "  </skill>"]
    lines.append(_CLOSE)
    return "\n".join(lines)
