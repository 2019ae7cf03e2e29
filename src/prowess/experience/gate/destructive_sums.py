"""Arithmetic of a shell: it runs what it finds in a variable, so only numbers may be in there.

Where a shell calculates with a name, it calculates what the variable holds as if it stood there; an
index of an array in it may hold a whole command. So every name that is calculated with has to be
one that the text itself set, and never to anything but a number.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from prowess.safety.languages.shell.shell_tree import Array, Substitution, Text, Variable, Word

_TOKEN = re.compile(
    r"\s+|0[xX][0-9a-fA-F]+|[0-9]+#?|(?P<name>\$?[A-Za-z_]\w*)|\$[#?$!](?!\w)"
    r"|[-+*/%<>=!&|^~?:,();]",
    re.ASCII,
)
_SET = re.compile(r"([A-Za-z_]\w*)\s*=(?!=)", re.ASCII)
_INTEGER = re.compile(r"-?[0-9]+")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_ALWAYS = frozenset(("RANDOM", "SECONDS", "LINENO", "BASHPID", "PPID", "UID", "EUID"))
_COMPARES = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))
_COUNTS = frozenset("#?$!")
# What may stand behind a word in `[ … ]`.
_BETWEEN = _COMPARES | frozenset(
    ("=", "==", "!=", "<", ">", "-a", "-o", "-nt", "-ot", "-ef", "]", ")")
)


@dataclass(slots=True)
class Sums:
    """What one text calculates with, and what it put into those names."""

    used: set[str] = field(default_factory=set)
    numbers: set[str] = field(default_factory=set)
    others: set[str] = field(default_factory=set)
    # Whether names were set in a way that is not followed here.
    is_open: bool = False

    @property
    def is_dangerous(self) -> bool:
        """True where something is calculated with that may be no number."""
        known = (self.numbers | _ALWAYS) - self.others
        return bool(self.used) and (self.is_open or not self.used <= known)

    def calculate(self, text: str) -> bool:
        """Take note of arithmetic; false where it may hold more than numbers and names."""
        self.numbers.update(_SET.findall(text))
        at = 0
        while at < len(text):
            token = _TOKEN.match(text, at)
            if token is None:
                return False
            if token["name"]:
                self.used.add(token["name"].lstrip("$"))
            at = token.end()
        return True

    def set(self, name: str, value: Word) -> None:
        """Take note of what a name is set to."""
        (self.numbers if _is_number(value) else self.others).add(name)

    def set_each(self, name: str, values: Sequence[Word]) -> None:
        """Take note of a loop."""
        is_known = bool(values) and all(map(_is_number, values))
        (self.numbers if is_known else self.others).add(name)

    def compare(self, words: Sequence[Word]) -> bool:
        """Take note of `[[ … ]]`; false where it calculates with what cannot be followed."""
        texts = [_plain(word) for word in words]
        for at, text in enumerate(texts):
            if text in _COMPARES:
                sides = (*words[max(at - 1, 1) : at], *words[at + 1 : at + 2])
                if not all(map(self._is_countable, sides)):
                    return False
        return not _names_oddly(texts)

    def test(self, words: Sequence[Word]) -> bool:
        """Take note of `[ … ]`, which reads words anew that are not in quotes."""
        loose = [part for word in words[1:] for part in word.parts if not _is_kept(part)]
        if not all(self._is_count(part) for part in loose):
            return False
        texts = [_plain(word) for word in words]
        # What is not known may be an operator, where none follows.
        follows = pairwise([*texts[1:], "]"])
        may_ask = any(text is None and after not in _BETWEEN for text, after in follows)
        return not may_ask and not _names_oddly(texts)

    def _is_countable(self, word: Word) -> bool:
        parts = [part for part in word.parts if not (isinstance(part, Text) and not part.text)]
        return _is_number(word) or (len(parts) == 1 and self._is_count(parts[0]))

    def _is_count(self, part: object) -> bool:
        """Return whether a part stands for a number; a name is noted, and looked at later."""
        if not isinstance(part, Variable) or part.operator:
            return False
        if part.name == "((" or part.name in _COUNTS or part.name.startswith("#"):
            return True
        if _NAME.fullmatch(part.name):
            self.used.add(part.name)
            return True
        return False


def _is_number(word: Word) -> bool:
    if len(word.parts) == 1 and isinstance(part := word.parts[0], Variable):
        return part.name in ("((", "#", "?", "$", "!") and not part.operator
    text = _plain(word)
    return text is not None and _INTEGER.fullmatch(text) is not None


def _plain(word: Word) -> str | None:
    """Return a word that holds nothing but text."""
    if not all(isinstance(part, Text) for part in word.parts):
        return None
    return "".join(part.text for part in word.parts if isinstance(part, Text))


def _is_kept(part: object) -> bool:
    """Return whether a shell keeps a part in one word."""
    if isinstance(part, (Variable, Substitution)):
        return part.quoted
    return not isinstance(part, Array)


def _names_oddly(texts: Sequence[str | None]) -> bool:
    """Return whether `-v` is asked about anything but a plain name."""
    return any(
        text in ("-v", "-R") and (named is None or not _NAME.fullmatch(named))
        for text, named in pairwise([*texts, ""])
    )
