"""Texts derived from a file, each character of which knows where it came from.

A scanner reads a file in many ways (folded, decoded, unquoted); a person wants the line in the file
as it is. A `View` carries both: its text, and for each character the offset in the raw text. A
`Rewriter` writes a view anew, piece by piece, without losing that.

Three readings are those of a person, for whom what cannot be seen is not there and what looks alike
is alike: `fold` for every rule, `leet` for words that are spelt with digits or letter by letter,
and `joined` for sentences that are broken over lines and marks of emphasis.
"""

import re
import unicodedata
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import cache, lru_cache

from prowess.data import compile_late, dataclass, read_table


@dataclass(frozen=True, slots=True)
class View:
    """A text read from `path`, by the steps of `chain`."""

    path: str
    text: str
    # For each character the offset in the raw text of the file; `range` where nothing was changed.
    origins: Sequence[int]
    chain: tuple[str, ...] = ()

    @classmethod
    def raw(cls, path: str, text: str) -> "View":
        """Return the view that is the file itself."""
        return cls(path, text, range(len(text)))

    def origin(self, index: int) -> int:
        """Return the raw offset of the character at `index`; past the end, of the last one."""
        if not self.origins:
            return 0
        return self.origins[min(max(index, 0), len(self.origins) - 1)]

    def cut(self, start: int, end: int) -> "View":
        """Return the part from `start` to `end`, read the same way."""
        return View(self.path, self.text[start:end], self.origins[start:end], self.chain)

    def derive(self, text: str, indices: Sequence[int], step: str = "") -> "View":
        """Return a rewriting; `indices` says for each character of `text` its index here."""
        if len(text) != len(indices):
            raise ValueError("each character of a derived text needs an index")
        origins = array("L", map(self.origins.__getitem__, self._bound(indices)))
        return View(self.path, text, origins, self._step(step))

    def decoded(self, text: str, start: int, step: str) -> "View":
        """Return what a blob that begins at `start` decodes to; all of it stands at that place."""
        origins = array("L", [self.origin(start)]) * len(text)
        return View(self.path, text, origins, self._step(step))

    def _bound(self, indices: Sequence[int]) -> Sequence[int]:
        """The indices, with those beyond either end moved to it."""
        last = len(self.origins) - 1
        if not indices or (min(indices) >= 0 and max(indices) <= last):
            return indices
        return [min(max(index, 0), last) for index in indices]

    def _step(self, step: str) -> tuple[str, ...]:
        return (*self.chain, step) if step and self.chain[-1:] != (step,) else self.chain


@dataclass(frozen=True, slots=True)
class Spot:
    """A stretch of a view: where something was seen."""

    view: View
    start: int
    end: int

    @property
    def path(self) -> str:
        """The file that it is in."""
        return self.view.path

    @property
    def text(self) -> str:
        """What stands there, as the view reads it."""
        return self.view.text[self.start : self.end]

    @property
    def offset(self) -> int:
        """The raw offset of its first character."""
        return self.view.origin(self.start)


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a raw text, to turn offsets into what a person counts."""

    text: str
    _starts: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, text: str) -> "Lines":
        """Index the lines of `text`; only a line feed ends one."""
        starts = [0]
        at = text.find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = text.find("\n", at + 1)
        return cls(text, starts)

    def position(self, offset: int) -> tuple[int, int]:
        """Return line and column of `offset`, both counted from one."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Return the text of line `number`, without its end."""
        start = self._starts[number - 1]
        end = self._starts[number] - 1 if number < len(self._starts) else len(self.text)
        return self.text[start:end].removesuffix("\r")


class Rewriter:
    """Collects what is kept of a view and what is put in its place."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._pieces: list[str] = []
        self._origins = array("L")

    def keep(self, start: int, end: int) -> None:
        """Take over the stretch from `start` to `end` as it is."""
        if start < end:
            self._pieces.append(self._view.text[start:end])
            self._origins.extend(self._view.origins[start:end])

    def put(self, text: str, at: int) -> None:
        """Write `text`, all of which stands for the character at `at`."""
        if len(text) == 1:
            self._pieces.append(text)
            self._origins.append(self._view.origins[at])
        elif text:
            self._pieces.append(text)
            self._origins.extend([self._view.origin(at)] * len(text))

    def swap(self, text: str, start: int) -> None:
        """Write `text` over as many characters from `start` on, one for one."""
        self._pieces.append(text)
        self._origins.extend(self._view.origins[start : start + len(text)])

    def done(self, step: str) -> View:
        """Return the rewritten view, its chain longer by `step`."""
        chain = self._view.chain
        if step and chain[-1:] != (step,):
            chain = (*chain, step)
        return View(self._view.path, "".join(self._pieces), self._origins, chain)


def rewrite(
    view: View, pattern: re.Pattern[str], new: Callable[[re.Match[str]], str], step: str = ""
) -> View:
    """Return `view` with `new` in place of each match; the view itself where nothing changes."""
    out, at = Rewriter(view), 0
    for match in pattern.finditer(view.text):
        text = new(match)
        if text != match[0]:
            out.keep(at, match.start())
            out.put(text, match.start())
            at = match.end()
    if not at:
        return view
    out.keep(at, len(view.text))
    return out.done(step)


# What a scientist writes beside Latin letters (alpha, mu, sigma) is no disguise by itself.
_SCIENCE = frozenset("αβγδεηκλμπρσςτφχψωΩΔΣΦΠ")


@cache
def read_strict_letters() -> dict[str, str]:
    """Return the letters that pass for a Latin letter anywhere."""
    return _read_letters("strict")


@cache
def read_loose_letters() -> dict[str, str]:
    """Return the same, and those that pass for one among Latin letters."""
    return {**_read_letters("loose"), **read_strict_letters()}


@cache
def foreign_letters() -> re.Pattern[str]:
    """Return the pattern of one letter that is in either table."""
    return re.compile(f"[{re.escape(''.join(read_loose_letters()))}]")


def is_disguise(letter: str) -> bool:
    """Whether a letter among Latin ones has no better reason to stand there than its looks."""
    return letter in read_strict_letters() and letter not in _SCIENCE


def _read_letters(group: str) -> dict[str, str]:
    rows = (
        row.split(": ") for row in read_table("reading/confusables.toml")[group]["rows"].split(",")
    )
    return {chr(int(code, 16)): latin.strip() for latin, codes in rows for code in codes.split()}


# Terminal sequences: colours and cursor moves, titles and links, and two-letter escapes.
ANSI = (
    r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b\n]{0,512}(?:\x07|\x1b\\)?|[ -~])"
    r"|\x9b[0-?]{0,64}[@-~]"
)
_ENTITY = r"&(?:#[0-9]{2,7};?|#[xX][0-9a-fA-F]{2,6};?|[A-Za-z][A-Za-z0-9]{1,30};)"
# One set of characters is searched for much faster than a choice of patterns.
_ODD_START = compile_late("[\x00\x08\x1b\x7f&\x80-\U0010ffff]")
_ODD = compile_late(rf"[^\x00-\x7f]+|{ANSI}|[\x00\x08\x1b\x7f]|{_ENTITY}")
_ODD_ASCII = compile_late(r"[\x00\x08\x1b\x7f]|&[#A-Za-z]")

# Drawn as nothing: joiners and marks of direction, tags, selectors, fillers.
INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff"
)
_DROPPED = compile_late(f"[{INVISIBLE}]")
# Drawn as a plain character of ASCII, though Unicode does not call them compatible.
_PLAIN = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc\u2032", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2212\u02d7", "-"),
    **dict.fromkeys("\u2044\u2215\u29f8", "/"),
    **dict.fromkeys("\u2028\u2029\u0085\u2800", " "),
    **{chr(0x1F1E6 + i): chr(0x41 + i) for i in range(26)},
    **{chr(0x1F150 + i): chr(0x41 + i) for i in range(26)},
    **{chr(0x1F170 + i): chr(0x41 + i) for i in range(26)},
}
_PLAIN_MARKS = compile_late(f"[{''.join(_PLAIN)}]")

# Marks that may stand on any letter; not those of one script (Hebrew points, Indic vowels).
_MARKS = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_MARK = compile_late(f"[{_MARKS}]")
_WORD = compile_late(rf"[^\W\d_](?:[^\W\d_]|[{_MARKS}])*")
_LINE = compile_late(r"[^\n]+")
_SUSPECT_LETTERS = "\u0180-\u02af\u1d00-\u1dbf\u1e00-\u1eff\ua722-\ua7ff\uab30-\uab6f"
_SUSPECT_LATIN = compile_late(f"[{_SUSPECT_LETTERS}]")
# Honest spelling marks a few letters of a word; a disguise marks most of them.
_MANY_MARKED = 3
_MARKED_SHARE = 0.4


def fold(view: View) -> View:
    """Return the text as it is seen, for matching; plain text comes back as it is."""
    if view.text.isascii() and not _ODD_ASCII.search(view.text):
        return view
    plain = _drop_unseen(view)
    return plain if plain.text.isascii() else _respell(plain)


def _drop_unseen(view: View) -> View:
    """Drop what is not drawn, and write compatible characters and entities as what they show."""
    text = view.text
    out = Rewriter(view)
    at = 0
    for start, end in _find_odd_pieces(text):
        piece = text[start:end]
        if piece[0] > "\x7f" and piece[0] != "\x9b" and _is_plain(piece):
            continue
        out.keep(at, start)
        at = end
        if piece[0] == "&":
            out.put(_entity(piece), start)
        elif piece[0] > "\x7f" and piece[0] != "\x9b":
            for index, character in enumerate(piece, start):
                out.put(_show_piece(character), index)
    if not at:
        return view
    out.keep(at, len(text))
    return out.done("folded")


def _find_odd_pieces(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    while first := _ODD_START.search(text, at):
        hit = _ODD.match(text, first.start())
        at = hit.end() if hit else first.end()
        if hit:
            yield hit.span()


def _is_plain(piece: str) -> bool:
    return (
        not _DROPPED.search(piece)
        and not _PLAIN_MARKS.search(piece)
        and unicodedata.is_normalized("NFKC", piece)
    )


def _entity(piece: str) -> str:
    # Late: its table of entities takes time to load, and most texts have none.
    from html import unescape

    shown = unescape(piece)
    return piece if shown == piece else "".join(_show_piece(character) for character in shown)


@lru_cache(maxsize=8192)
def _show_piece(character: str) -> str:
    if character in _PLAIN:
        return _PLAIN[character]
    if character in "\x00\x08\x1b" or _DROPPED.match(character):
        return ""
    return unicodedata.normalize("NFKC", character)


def _respell(view: View) -> View:
    """Write words in disguise with the Latin letters that they show."""
    text = view.text
    if not _compile_respellable().search(text):
        return view
    out = Rewriter(view)
    at = 0
    # Every line by itself: a pattern for those that are strange would look at long plain ones again
    # and again.
    lines = (line for line in _LINE.finditer(text) if not line.group().isascii())
    for line in lines:
        latin: bool | None = None
        for word in _WORD.finditer(line.group()):
            letters = word.group()
            if letters.isascii():
                continue
            if latin is None:
                latin = _is_latin_line(line.group())
            spelt = _spell(letters, in_latin_line=latin)
            if spelt != letters:
                start = line.start() + word.start()
                out.keep(at, start)
                _put_word(out, letters, spelt, start)
                at = start + len(letters)
    if not at:
        return view
    out.keep(at, len(text))
    return out.done("folded")


@cache
def _compile_respellable() -> re.Pattern[str]:
    letters = "".join(read_loose_letters())
    return re.compile(f"[{_MARKS}{_SUSPECT_LETTERS}{letters}]")


def _put_word(out: Rewriter, letters: str, spelt: str, start: int) -> None:
    if len(spelt) == len(letters):
        out.swap(spelt, start)
        return
    # Each spelt letter stands on the base letter that it was read from; marks have no letter.
    bases = [i for i, letter in enumerate(letters) if not _MARK.match(letter)]
    for index, letter in enumerate(spelt):
        out.put(letter, start + (bases[index] if index < len(bases) else len(letters) - 1))


def _is_latin_line(line: str) -> bool:
    """Whether Latin letters lead, and every other letter of the line could pass for one."""
    latin = other = 0
    for word in _WORD.finditer(line):
        for letter in word.group():
            if letter < "\u0250" or _SUSPECT_LATIN.match(letter):
                latin += 1
            elif letter not in read_strict_letters() and not _MARK.match(letter):
                return False
            else:
                other += 1
    return latin > other


def _spell(letters: str, *, in_latin_line: bool) -> str:
    composed = unicodedata.normalize("NFC", letters)
    bare = _MARK.sub("", composed)
    if any("a" <= letter <= "z" or "A" <= letter <= "Z" for letter in composed):
        composed = _drop_marks(composed) if _is_overmarked(composed) else composed
        table = read_loose_letters()
        return "".join(table.get(letter, letter) for letter in composed)
    table = read_strict_letters()
    if in_latin_line and all(letter in table for letter in bare):
        return "".join(table[letter] for letter in bare)
    if bare[:1] < "\u0530":
        composed = bare
    return composed


def _is_overmarked(word: str) -> bool:
    # Letters of this block are Vietnamese, or marks that somebody put on plain ones.
    if _MARK.search(word) or any("\u1e00" <= letter <= "\u1eff" for letter in word):
        return True
    marked = sum(letter > "\x7f" for letter in word)
    return marked >= _MANY_MARKED and marked >= _MARKED_SHARE * len(word)


def _drop_marks(word: str) -> str:
    return _MARK.sub("", unicodedata.normalize("NFD", word))


_DIGIT_LETTERS = str.maketrans("013457@$", "oieastas")
_LEET_INSIDE = compile_late(r"[013457@$](?<=[A-Za-z].)[A-Za-z]")
_LEET_WORD = compile_late(r"(?<![\w@$./:=#&%+-])[A-Za-z0-9@$]{4,20}(?!\.?[\w@$/=&%+-])")
_LEET = compile_late(r"[013457@$]")
_HEX = compile_late(r"[0-9a-fA-F]+")
# It begins with the first gap, because that is rarer than a letter.
_SPACED = compile_late(
    r"(?P<gap>[ ._*-])(?<=[A-Za-z0-9@$].)(?<![\w.*-]..)[A-Za-z0-9@$]"
    r"(?:(?P=gap)[A-Za-z0-9@$]){1,40}(?!\w)"
)
_LEET_ENOUGH = 2
# Three letters with gaps are initials; longer than that is a word spelt out.
_INITIALS = 3


def read_leet(view: View) -> View:
    """Return the lines with words in digits or single letters respelt, with their neighbours."""
    text = view.text
    changes = _leet_changes(text)
    if not changes:
        return view
    out = Rewriter(view)
    at = 0
    for start, end, spelt in changes:
        window = text.rfind("\n", 0, max(text.rfind("\n", 0, start), 0)) + 1
        if window > at:
            # Between two windows a paragraph ends.
            out.put("\n\n", window)
            at = window
        out.keep(at, start)
        if len(spelt) == end - start:
            out.swap(spelt, start)
        else:
            out.put(spelt, start)
        at = end
    stop = text.find("\n", text.find("\n", at) + 1) if "\n" in text[at:] else -1
    out.keep(at, stop if stop >= 0 else len(text))
    return out.done("leet")


def _leet_changes(text: str) -> list[tuple[int, int, str]]:
    words = [
        (hit.start(), hit.end(), hit.group().translate(_DIGIT_LETTERS))
        for start, end in _leet_windows(text)
        for hit in _LEET_WORD.finditer(text, start, end)
        if _is_leet(hit.group())
    ]
    if len(words) < _LEET_ENOUGH:
        words = []
    spaced = [
        (hit.start() - 1, hit.end(), _unspace(text[hit.start() - 1 : hit.end()], hit["gap"]))
        for hit in _SPACED.finditer(text)
        if sum(letter.isalpha() for letter in hit.group()) >= _LEET_ENOUGH
    ]
    if not any(len(spelt) > _INITIALS for _, _, spelt in spaced):
        spaced = []
    merged: list[tuple[int, int, str]] = []
    for change in sorted(words + spaced):
        if not merged or change[0] >= merged[-1][1]:
            merged.append(change)
    return merged


def _leet_windows(text: str) -> Iterator[tuple[int, int]]:
    """Yield the lines with a digit between letters, each with the one after it."""
    end = 0
    for hit in _LEET_INSIDE.finditer(text):
        if hit.start() < end:
            continue
        start = max(end, text.rfind("\n", 0, hit.start()) + 1)
        after = text.find("\n", hit.end())
        end = text.find("\n", after + 1) if after >= 0 else -1
        end = len(text) if end < 0 else end
        yield start, end


def _unspace(word: str, gap: str) -> str:
    return word.replace(gap, "").translate(_DIGIT_LETTERS)


def _is_leet(word: str) -> bool:
    plain = sum(letter.isalpha() for letter in word)
    swapped = len(_LEET.findall(word))
    # A digit between letters stands for a letter; before or behind them it may just count.
    inside = _LEET_INSIDE.search(word) or (word[0].isdigit() and plain > _LEET_ENOUGH * swapped)
    if not inside or plain < swapped or _HEX.fullmatch(word):
        return False
    spelt = word.translate(_DIGIT_LETTERS)
    one_case = word.isupper() or word[1:].islower()
    return one_case and spelt.isalpha() and any(letter in "aeiou" for letter in spelt)


# A lone space is no break; what begins with another blank or mark takes in all of its kind.
_BREAK = compile_late(r"[*_\s](?:(?<! )|(?=\s))(?:(?<=\s)\s*|(?<=\*)\*{0,2}|_?)")
_LINE_MARKS = compile_late(r"(?:>[ \t]{0,8}|(?:[-*+]|[0-9]{1,3}[.)]|#{1,6})[ \t]{1,8}){1,8}")


def join_lines(view: View) -> View:
    """Return the text as one run of words: line ends, list marks and emphasis are gone."""
    text = view.text
    out = Rewriter(view)
    at = 0
    for hit in _BREAK.finditer(text):
        start, end = hit.span()
        if start < at or (text[start] == "_" and _is_inside_name(text, start, end)):
            continue
        if not hit.group().isspace():
            out.keep(at, start)
            at = end
            continue
        marks = _LINE_MARKS.match(text, end) if "\n" in hit.group() else None
        follows = marks.end() if marks else end
        hyphened = "\n" in hit.group() and _is_hyphen_at(text, start, follows)
        out.keep(at, start - hyphened)
        at = follows
        if not hyphened:
            out.put(" ", start)
    if not at:
        return view
    out.keep(at, len(text))
    return out.done("joined")


def _is_inside_name(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1 : start], text[end : end + 1]
    return (before.isalnum() or before == "_") == (after.isalnum() or after == "_")


def _is_hyphen_at(text: str, start: int, end: int) -> bool:
    return (
        start > 1
        and text[start - 1] == "-"
        and text[start - 2].islower()
        and text[end : end + 1].islower()
    )
