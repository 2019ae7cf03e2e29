"""What was hidden once is hidden wherever a trace repeats it, also in other spellings.

A short or plain word is looked for as a word of its own: a password `123` is no part of `91234`,
and one that is a word of a language stands in many others.
"""

import base64
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote, quote_plus

from prowess.secrets.credentials import STARS
from prowess.secrets.cues import small_letters

# A shorter text is too common to be looked for elsewhere, a longer one is found in any text.
_SHORTEST, _LONG, _LONG_WORD = 3, 6, 10
_MOST_SPELLED, _MANY, _BEGINNING = 200, 24, 6
_LINE = re.compile(r"\\[nrt]|[\n\r\t]")


@dataclass(frozen=True)
class Echoes:
    """The texts to look for, in small letters, and what stands in their place."""

    texts: tuple[str, ...]
    mark: str

    @classmethod
    def of(cls, taken: Iterable[str], mark: str) -> "Echoes":
        """Return what finds these texts and their other spellings."""
        spelled = {one for text in dict.fromkeys(taken) for one in _spellings(text, mark)}
        small = {small_letters(one) for one in spelled}
        return cls(tuple(sorted(small, key=lambda one: (-len(one), one))), mark)

    def hide(self, text: str) -> str:
        """Return `text` without any of them."""
        if len(text) < _SHORTEST or text == self.mark:
            return text
        small = small_letters(text)
        if self._any and not self._any.search(small):
            return text
        there = [self._patterns[one] for one in self.texts if one in small]
        for pattern in there:
            text = pattern.sub(self.mark, text)
        return text

    @cached_property
    def _any(self) -> re.Pattern[str] | None:
        """What finds the beginning of any of them, where there are too many to ask for each."""
        if len(self.texts) < _MANY:
            return None
        begins: dict[str, set[str]] = {}
        for one in self.texts:
            begins.setdefault(one[0], set()).add(one[1:_BEGINNING])
        return re.compile(
            "|".join(
                f"{re.escape(first)}(?:{'|'.join(map(re.escape, sorted(rest)))})"
                for first, rest in sorted(begins.items())
            )
        )

    @cached_property
    def _patterns(self) -> dict[str, re.Pattern[str]]:
        return {one: re.compile(_pattern(one), re.IGNORECASE) for one in self.texts}


def _spellings(text: str, mark: str) -> Iterator[str]:
    plain = text.strip()
    if mark in plain or STARS in plain:
        return
    lines = [line.strip() for line in _LINE.split(plain)]
    for one in {plain, *lines}:
        if len(one) < _SHORTEST:
            continue
        yield one
        if len(one) >= _LONG and len(one) <= _MOST_SPELLED:
            written = one.encode("utf-8", "replace")
            yield from (quote(one, safe=""), quote_plus(one), one.replace(" ", "%s"))
            yield base64.b64encode(written).decode("ascii").rstrip("=")


def _pattern(text: str) -> str:
    is_long = len(text) >= _LONG and not text.isalpha()
    exact = re.escape(text)
    return exact if is_long or len(text) >= _LONG_WORD else rf"(?<!\w){exact}(?!\w)"
