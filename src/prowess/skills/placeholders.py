r"""Filling the placeholders of a skill's text with what a person wrote behind its command.

The text is walked once, so what came from a person is never read as a placeholder again. Nothing
is run: commands that a harness would run while it fills a text (a bang before backticks) stay as
they are written, arguments included, and a note says so.

`$0` is the first word. A number without a word, and a price such as `$1.50`, stay as written; a
declared name without a word becomes empty. `\$1` is a literal `$1`; a backslash before any other
dollar belongs to the text.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from prowess.skills.commands import frontmatter_value
from prowess.skills.field_reader import as_text
from prowess.skills.model import Skill

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
        found = self._found(kind, match[kind])
        if found is None:
            return match[0]
        if len(found) > self._left:
            self.notes[TOO_MUCH] = None
            return match[0]
        self._left -= len(found)
        self.used = self.used or (kind != "value" and bool(found))
        return found

    def _found(self, kind: str, text: str) -> str | None:
        if kind == "value":
            return self._values.get(text) or None
        if kind == "all":
            return self._arguments
        if kind == "name":
            return self._word(self._positions[text]) or ""
        return self._word(int(text)) if len(text) <= _MAX_DIGITS else None

    def _word(self, place: int) -> str | None:
        return self._words[place] if place < len(self._words) else None
