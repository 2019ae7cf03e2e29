"""Read bytes as text as an editor would, and mark what an editor or a terminal does not show."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from prowess.safety.model import Confidence, Level
from prowess.safety.sighting import Sighting
from prowess.safety.views import Spot, View

_BOMS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_STRANGE = re.compile("[\x01-\x07\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
_STRANGE_SHARE = 0.15
_WIDE_SHARE = 0.3
_WIDE_LEAST = 8


@dataclass(frozen=True, slots=True)
class Plain:
    """A text, and what was wrong with how it was written ("" where nothing)."""

    text: str
    problem: str = ""


def read_text(data: bytes) -> Plain | None:
    """Return `data` as text, or None where it is no text in any encoding."""
    for mark, encoding in _BOMS:
        if data.startswith(mark) and encoding != "utf-8":
            text = data[len(mark) :].decode(encoding, "replace")
            return Plain(text, f"is {encoding[:6].upper()}") if _is_text(text) else None
    wide = _wide(data)
    if wide:
        return Plain(data.decode(wide, "replace"), "is UTF-16 without a mark that says so")
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        # Read all the same, because what is not read is where things are hidden.
        text = data.decode("utf-8", "replace")
        problem = f"is not valid UTF-8 at byte {error.start}"
        return Plain(text, problem) if _is_text(text) else None
    return Plain(text) if _is_text(text) else None


def _wide(data: bytes) -> str:
    if len(data) < _WIDE_LEAST or len(data) % 2:
        return ""
    for encoding, zeros, letters in (("utf-16-le", 1, 0), ("utf-16-be", 0, 1)):
        many = data[zeros::2].count(0)
        if many > _WIDE_SHARE * len(data) and not data[letters::2].count(0):
            return encoding
    return ""


def _is_text(text: str) -> bool:
    # Zeros between letters are a way to hide them, so they do not make a text a binary.
    shown = text.replace("\x00", "")
    return len(_STRANGE.findall(shown)) <= _STRANGE_SHARE * len(shown) and bool(shown or not text)


_SAME_LINES = 200
# Lines that show nothing: blank, a dot or a dash, a line break or a hard blank.
_EMPTY_LINE = re.compile(r"\W{0,8}|(?:<br ?/?>|&nbsp;|&#160;|<p></p>|\s){1,8}", re.IGNORECASE)
_LONG_LINE = 1000
_BLANK = "[ \t\u00a0\u2000-\u200a\u3000]"
_BLANK_RUN = re.compile(rf"(?<!{_BLANK}){_BLANK}{{1000,}}+(?=\S)")
_FEW_WORDS = 0.02
_MANY_WORDS = 500
# What a terminal obeys: the character, where it does harm, and what it does.
_TERMINAL = tuple(
    (mark, re.compile(pattern), message)
    for mark, pattern, message in (
        ("\x1b", "\x1b", "An escape sequence changes what a terminal shows."),
        ("\x9b", "\x9b[0-?]{0,16}[@-~]", "An escape sequence changes what a terminal shows."),
        ("\x08", "[^\\s\x08]\x08", "A backspace rubs out what stands before it."),
        (
            "\r",
            r"[^\s]\r(?![\r\n])(?=[^\n]{0,200}\S)",
            "A lone carriage return writes over the line in a terminal.",
        ),
    )
)


def text_sightings(view: View) -> Iterator[Sighting]:
    """Yield what hides parts of a text from a person who looks at it."""
    text = view.text
    at = text.find("\x00")
    if at >= 0:
        message = f"{text.count(chr(0))} NUL bytes stand between the letters."
        yield Sighting("nul-byte", Spot(view, at, at + 1), message)
    yield from _terminal(view)
    yield from _padding(view)


def _terminal(view: View) -> Iterator[Sighting]:
    for mark, pattern, message in _TERMINAL:
        hit = pattern.search(view.text) if mark in view.text else None
        # Lines may end in a carriage return alone, as they once did.
        if hit and (mark != "\r" or "\n" in view.text):
            yield Sighting("ansi-escape", Spot(view, *hit.span()), message)


def _padding(view: View) -> Iterator[Sighting]:
    lines = view.text.split("\n")
    at = _same_lines(lines)
    if at >= 0:
        message = "Hundreds of empty lines push the rest out of sight."
        yield Sighting("padding", Spot(view, at, at), message)
    start = 0
    for line in lines:
        found = _filler(line) if len(line) >= _LONG_LINE else None
        if found is not None:
            offset, message, level = found
            spot = Spot(view, start + offset, start + offset + 1)
            yield Sighting("padding", spot, message, Confidence.MEDIUM, level)
            return
        start += len(line) + 1


def _filler(line: str) -> tuple[int, str, Level | None] | None:
    """Return where a long line is filled up, with what, and at which level that counts."""
    if hit := _BLANK_RUN.search(line):
        return hit.start(), "A thousand blanks push the rest of the line out of sight.", None
    words = line.split()
    if len(words) >= _MANY_WORDS and len(set(words)) <= _FEW_WORDS * len(words):
        return 0, "Filler words push the rest of the line out of sight.", Level.WARN
    return None


def _same_lines(lines: list[str]) -> int:
    """Return where a long run of equal lines begins that show nothing, with more text after it."""
    if len(lines) <= _SAME_LINES:
        return -1
    at = start = count = 0
    last = ""
    for line in lines:
        bare = line.strip()
        if bare == last:
            count += 1
        else:
            if count >= _SAME_LINES and _EMPTY_LINE.fullmatch(last):
                return start
            count, last, start = 1, bare, at
        at += len(line) + 1
    return -1
