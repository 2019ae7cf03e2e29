"""Characters that hide, reverse or disguise text: where they stand and what they spell.

Emoji, flags, right-to-left prose, Persian and Indic joiners, soft hyphens and icon fonts use some
of the same characters honestly; each check says what sets the disguise apart.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from prowess.reading.views import (
    INVISIBLE,
    Spot,
    View,
    foreign_letters,
    is_disguise,
    read_strict_letters,
)
from prowess.safety.model import Confidence, Level, Sighting

_SELECTORS = 0xFE00
_MORE_SELECTORS = 0xE0100
_NIBBLE = 16
_BYTE = 256
_BITS = 8
_READABLE_SHARE = 0.85
_SHORTEST = 4


def number_selectors(run: str) -> list[int]:
    """Return the number of each variation selector, from 0 to 255."""
    return [
        ord(one) - _SELECTORS if ord(one) < _MORE_SELECTORS else ord(one) - _MORE_SELECTORS + 16
        for one in run
    ]


def spell_readings(values: Sequence[int]) -> Iterator[str]:
    """Yield every readable text that `values` may spell: as bytes, shifted, as nibbles or bits."""
    seen: set[str] = set()
    for data in _byte_readings(values):
        text = read_bytes(data)
        if text and text not in seen:
            seen.add(text)
            yield text


def _byte_readings(values: Sequence[int]) -> Iterator[bytes]:
    top = max(values, default=0)
    if top < _BYTE:
        yield bytes(values)
    for shift in (-_NIBBLE, _NIBBLE, 32):
        shifted = [value + shift for value in values]
        if min(shifted, default=0) >= 0 and max(shifted, default=0) < _BYTE:
            yield bytes(shifted)
    if top < _NIBBLE:
        yield bytes(
            high * _NIBBLE + low for high, low in zip(values[::2], values[1::2], strict=False)
        )
    if len(set(values)) in (2, 3):
        yield from _bit_readings(values)


def _bit_readings(values: Sequence[int]) -> Iterator[bytes]:
    kinds = sorted(set(values), key=lambda value: -values.count(value))[:2]
    for one in kinds:
        bits = [value == one for value in values if value in kinds]
        yield bytes(
            sum(bit << (_BITS - 1 - at) for at, bit in enumerate(bits[start : start + _BITS]))
            for start in range(0, len(bits) - _BITS + 1, _BITS)
        )


def read_bytes(data: bytes) -> str:
    """Return `data` as text where it looks like some, else nothing."""
    text = data.decode("utf-8", "replace").strip("\x00")
    good = sum(one.isprintable() or one in "\n\t\r" for one in text) - text.count("\ufffd")
    return text if len(text) >= _SHORTEST and good >= _READABLE_SHARE * len(text) else ""


_TAG = re.compile("[\U000e0000-\U000e007f]+")
_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f")
_ENOUGH_TAGS = 6

_MARKS_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{8,}")
# A selector picks the look of a symbol; behind a letter of ASCII there is nothing to pick.
_LOOSE_SELECTOR = re.compile("(?<=[A-Za-z ,.])[\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_ENOUGH_LOOSE = 16
_PRIVATE = re.compile("[\ue000-\uf8ff\U000f0000-\U0010fffd]{16,}")
_MANY_PRIVATE = 64

_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")
_OVERRIDE = re.compile("[\u202d\u202e]")
_TURNS = re.compile("[\u202b\u202d\u202e\u2067]")
_RTL_LETTER = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_REVERSED = re.compile("\u202e([^\u202c\u2069\n]*)[\u202c\u2069]?")
_ASCII_LETTER = re.compile("[A-Za-z]")
_LINE = re.compile("[^\n]+")
_PROSE = (".md", ".markdown", ".txt", ".rst", ".html", ".htm", ".adoc", ".csv", ".po")

_ZERO_WIDTH = "\u034f\u115f\u1160\u180e\u200b-\u200d\u2060-\u2064\u3164\ufeff\uffa0"
_SPLIT_WORD = re.compile(f"[A-Za-z][{_ZERO_WIDTH}]+(?=[A-Za-z])")
_WORD_LEFT = re.compile(f"[A-Za-z{_ZERO_WIDTH}]")
_ENOUGH_WORDS = 3
_ZERO_RUN = re.compile(f"[{_ZERO_WIDTH}]{{16,}}")

_WORD = re.compile(r"[^\W\d_]{3,64}")
_SHORT = 4
# What follows an emoji so that it is shown in colour.
_EMOJI_STYLE = frozenset("\ufe0f")
# More of the same on later lines tells a reader nothing new.
_MOST = 20


def find_marks(view: View) -> tuple[Sighting, ...]:
    """Return where characters hide, reverse or disguise what the text says."""
    return tuple(seen for seen in _read_all(view) if isinstance(seen, Sighting))


def decode_hidden_texts(view: View) -> tuple[View, ...]:
    """Return what the hidden characters of the text spell, each standing where they stand."""
    return tuple(seen for seen in _read_all(view) if isinstance(seen, View))


def _read_all(view: View) -> Iterator[Sighting | View]:
    for check in _CHECKS if _is_worth_a_look(view.text) else ():
        yield from check(view)


def _is_worth_a_look(text: str) -> bool:
    """Whether there is more to look at than the selectors of a few emoji."""
    odd = _compile_odd().findall(text)
    return not _EMOJI_STYLE.issuperset(odd) or "\ufe0f\ufe0f" in text


@cache
def _compile_odd() -> re.Pattern[str]:
    private = "\ue000-\uf8ff\U000f0000-\U0010fffd"
    return re.compile(f"[{INVISIBLE}{private}]|{foreign_letters().pattern}")


def _tag_lines(view: View) -> Iterator[tuple[int, str]]:
    """Yield where tag characters stand, a line at a time, and what they spell; flags are none."""
    if not _TAG.search(view.text):
        return
    flags = {at for flag in _FLAG.finditer(view.text) for at in range(*flag.span())}
    lines: dict[int, list[int]] = {}
    for run in _TAG.finditer(view.text):
        hidden = [at for at in range(*run.span()) if at not in flags]
        if hidden:
            lines.setdefault(view.text.rfind("\n", 0, run.start()), []).extend(hidden)
    for places in lines.values():
        spelt = "".join(chr(ord(view.text[at]) & 0x7F) for at in places)
        yield places[0], spelt


_Seen = Iterator[Sighting | View]


def _read_tags(view: View) -> _Seen:
    lines = list(_tag_lines(view))
    if sum(len(spelt) for _, spelt in lines) < _ENOUGH_TAGS:
        return
    for at, spelt in lines[:_MOST]:
        message = f"{len(spelt)} invisible tag characters spell a text that nobody sees."
        yield Sighting("unicode-tags", Spot(view, at, at + 1), message)
    for at, spelt in lines:
        yield view.decoded("".join(filter(str.isprintable, spelt)), at, "unicode-tags")


def _read_selectors(view: View) -> _Seen:
    runs = list(_MARKS_SELECTORS.finditer(view.text))
    for run in runs[:_MOST]:
        message = f"{len(run[0])} variation selectors in a row carry hidden bytes."
        yield Sighting("unicode-selectors", Spot(view, *run.span()), message)
    loose = list(_LOOSE_SELECTOR.finditer(view.text))
    loose = loose if len(loose) >= _ENOUGH_LOOSE else []
    if loose and not runs:
        message = f"{len(loose)} variation selectors behind letters that have no variants."
        yield Sighting("unicode-selectors", Spot(view, *loose[0].span()), message)
    spelt = [(run.start(), run[0]) for run in runs]
    spelt += [(loose[0].start(), "".join(hit[0] for hit in loose))] if loose else []
    for at, marks in spelt:
        for text in spell_readings(number_selectors(marks)):
            yield view.decoded(text, at, "variation-selectors")


def _read_private(view: View) -> _Seen:
    for run in _PRIVATE.finditer(view.text):
        text = read_bytes(bytes(ord(one) & 0xFF for one in run[0]))
        if len(run[0]) >= _MANY_PRIVATE or text:
            message = f"{len(run[0])} private-use characters in a row stand for bytes."
            yield Sighting("unicode-selectors", Spot(view, *run.span()), message)
        if text:
            yield view.decoded(text, run.start(), "private-use")


def _find_bidi(view: View) -> Iterator[Sighting]:
    if not _BIDI.search(view.text):
        return
    is_code = not view.path.lower().endswith(_PROSE)
    count = 0
    for line in _LINE.finditer(view.text):
        hit = _BIDI.search(line.group())
        if hit is None:
            continue
        found = _bidi_in_line(line.group(), is_code=is_code)
        if found is None:
            continue
        at = line.start() + hit.start()
        yield Sighting("unicode-bidi", Spot(view, at, at + 1), *found)
        count += 1
        if count >= _MOST:
            return


def _bidi_in_line(line: str, *, is_code: bool) -> tuple[str, Confidence, Level | None] | None:
    """Return message, confidence and level where the line is not plain right-to-left prose."""
    override = _OVERRIDE.search(line)
    if override and (is_code or _ASCII_LETTER.search(line, override.end())):
        return "A direction override shows this line in another order.", Confidence.HIGH, None
    if is_code and not _RTL_LETTER.search(line):
        return "Direction controls in code without right-to-left text.", Confidence.HIGH, None
    if _TURNS.search(line) and (is_code or not _RTL_LETTER.search(line)):
        message = "A direction control turns text that needs none."
        return message, Confidence.MEDIUM, Level.WARN
    return None


def _decode_bidi(view: View) -> Iterator[View]:
    """Yield each line with an override as it is shown."""
    if "\u202e" not in view.text:
        return
    for line in _LINE.finditer(view.text):
        if "\u202e" not in line.group():
            continue
        places: list[int] = []
        at = line.start()
        for hit in _REVERSED.finditer(view.text, line.start(), line.end()):
            places.extend(range(at, hit.start()))
            places.extend(reversed(range(*hit.span(1))))
            at = hit.end()
        places.extend(range(at, line.end()))
        yield view.derive("".join(view.text[place] for place in places), places, "bidi")


def _read_zero_width(view: View) -> _Seen:
    runs = list(_ZERO_RUN.finditer(view.text))
    for run in runs:
        for text in spell_readings([ord(one) for one in run.group()]):
            yield view.decoded(text, run.start(), "zero-width")
    for run in runs[:_MOST]:
        message = f"{len(run.group())} zero-width characters in a row carry hidden bits."
        yield Sighting("unicode-zero-width", Spot(view, *run.span()), message)
    words: list[int] = []
    end = -1
    for hit in _SPLIT_WORD.finditer(view.text):
        # A later gap in the same word continues it: all letters and gaps between are of the word.
        if not words or not _is_one_word(view.text, end, hit.start()):
            words.append(hit.start())
        end = hit.end()
    if len(words) >= _ENOUGH_WORDS:
        message = f"{len(words)} words have an invisible character inside."
        yield Sighting("unicode-zero-width", Spot(view, words[0], words[0] + 1), message)


def _is_one_word(text: str, start: int, end: int) -> bool:
    return all(_WORD_LEFT.match(text[at]) for at in range(start, end))


def _find_mixed_script(view: View) -> Iterator[Sighting]:
    if not foreign_letters().search(view.text):
        return
    count = 0
    for line in _LINE.finditer(view.text):
        if not foreign_letters().search(line.group()):
            continue
        for word in _WORD.finditer(line.group()):
            if not word.group().isascii() and _is_mixed(word.group(), line.group()):
                at = line.start() + word.start()
                message = f"The word {_spell_word(word.group())} only looks Latin."
                yield Sighting("unicode-mixed-script", Spot(view, at, at + len(word[0])), message)
                count += 1
                if count >= _MOST:
                    return


def _is_mixed(word: str, line: str) -> bool:
    latin = sum(letter < "\u0250" for letter in word)
    others = [letter for letter in word if letter >= "\u0250" and not _is_phonetic(letter)]
    if len(word) < _SHORT or not others or not latin:
        return False
    if not all(letter in read_strict_letters() for letter in others) or not any(
        map(is_disguise, others)
    ):
        return False
    # Russian prose hangs its endings on foreign words; it shows by its own letters on the line.
    ending = word[len(word.rstrip("".join(others))) :]
    return len(ending) < len(others) or not _has_prose_of(others[0], line)


def _is_phonetic(letter: str) -> bool:
    return "\u0250" <= letter <= "\u02ff" or "\u1d00" <= letter <= "\u1dbf"


def _has_prose_of(letter: str, line: str) -> bool:
    block = ord(letter) >> 8
    return any(
        ord(other) >> 8 == block and other.isalpha() and other not in read_strict_letters()
        for other in line
    )


def _spell_word(word: str) -> str:
    return "".join(letter if letter < "\x80" else f"\\u{ord(letter):04x}" for letter in word[:24])


_CHECKS: tuple[Callable[[View], _Seen], ...] = (
    _read_tags, _read_selectors, _read_private, _find_bidi, _decode_bidi, _read_zero_width,
    _find_mixed_script,
)  # fmt: skip
