"""Where in a text a pattern is worth a try: at the few letters with which all its matches begin.

To look for plain letters costs a hundredth of what a pattern costs, and most texts hold none of
them. There are hundreds of such cues, so that the words of a text are asked first: what cues a
word may be part of is remembered. A place that is found is a place to try, not yet a match.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, NamedTuple, Self, TypeVar

_What = TypeVar("_What")
_LETTERS = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[a-z]+")
_MOST_WORDS, _FEW_WORDS = 20_000, 40


@dataclass(frozen=True, slots=True)
class SearchedText:
    """A text, the same in small letters, and its words of Latin letters, each once."""

    text: str
    small: str
    words: frozenset[str]

    @classmethod
    def of(cls, text: str) -> Self:
        """Return a text that is ready to be looked through."""
        small = small_letters(text)
        return cls(text, small, frozenset(_WORD.findall(small)))


class Cued(NamedTuple, Generic[_What]):
    """Something to look for, and the letters that it begins with."""

    what: _What
    cues: Sequence[str]
    # Whether large letters count; else the cues are in small ones.
    exact: bool = False


class CueTable(Generic[_What]):
    """Many things to look for at once."""

    def __init__(self, rows: Sequence[Cued[_What]]) -> None:
        """Remember which word belongs to which row."""
        self._rows = tuple(rows)
        self._by_core: dict[str, list[tuple[int, str]]] = {}
        for at, row in enumerate(self._rows):
            for cue in row.cues:
                self._by_core.setdefault(_core(cue), []).append((at, cue))
        self._coreless = self._by_core.pop("", [])
        # What stands in a text is kept no longer than its words are common.
        self._in_word = lru_cache(maxsize=_MOST_WORDS)(self._cores_in)

    def found(self, reading: SearchedText) -> Iterator[tuple[_What, list[int]]]:
        """Yield what may be there, with the places to try, in order."""
        there: dict[int, list[str]] = {}
        for core in self._cores(reading.words):
            for at, cue in self._by_core[core]:
                there.setdefault(at, []).append(cue)
        is_plain = reading.text.isascii()
        for at, cue in self._coreless:
            if not is_plain or cue.isascii():
                there.setdefault(at, []).append(cue)
        for at in sorted(there):
            row = self._rows[at]
            if places := _places(reading.text if row.exact else reading.small, there[at]):
                yield row.what, places

    def _cores(self, words: frozenset[str]) -> Iterable[str]:
        if len(words) > _FEW_WORDS:
            return self._cores_in("\n".join(words))
        return {core for word in words for core in self._in_word(word)}

    def _cores_in(self, word: str) -> tuple[str, ...]:
        return tuple(core for core in self._by_core if core in word)


def small_letters(text: str) -> str:
    """Return `text` in small letters, each at the place where it stands in `text`."""
    small = text.lower()
    if len(small) == len(text):
        return small
    # A few letters become two; those have no small form of one letter.
    return "".join(one if len(one := letter.lower()) == 1 else letter for letter in text)


def _places(text: str, cues: Sequence[str]) -> list[int]:
    places: set[int] = set()
    for cue in cues:
        at = text.find(cue)
        while at >= 0:
            places.add(at)
            at = text.find(cue, at + 1)
    return sorted(places)


def _core(cue: str) -> str:
    """Return the longest word of Latin letters of a cue; empty where it has none."""
    words = [word for word in _LETTERS.findall(cue.lower()) if word.isascii()]
    return max(words, key=len, default="")
