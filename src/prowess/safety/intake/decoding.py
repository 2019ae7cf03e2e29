"""Find what a text carries in code, and decode it, again where code holds code.

One finder for each way of writing bytes. What was decoded counts only where it is a text.
"""

import base64
import binascii
import lzma
import re
import sys
import zlib
from codecs import decode as codec
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from html import unescape
from urllib.parse import unquote_to_bytes

from prowess.reading.views import Rewriter, View, rewrite
from prowess.safety.intake.file_types import unpack

_READABLE_SHARE = 0.85
_SHORT = 24
_LETTERS_SHARE = 0.4
_ZERO_SHARE = 0.4
# What a decoder looks into at most; whoever hides more than that says so by its size.
_MOST_UNPACKED = 512 * 1024
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd]")
_LETTER = re.compile("[^\\W\\d_]")
_STRINGS = re.compile(rb"[\t -~]{24,}")
_MEDIA = (
    b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"wOFF", b"wOF2", b"OTTO", b"\x00\x01\x00\x00",
    b"\x00\x00\x01\x00", b"ID3", b"OggS", b"fLaC", b"BM",
)  # fmt: skip


def read_as_text(data: bytes) -> str | None:
    """Return the text that `data` holds, unpacked where it is compressed, or None."""
    with suppress(zlib.error, OSError, EOFError, lzma.LZMAError):
        # A broken stream is read as the bytes it is.
        data = unpack(data, _MOST_UNPACKED)
    text = _read_utf16(data)
    if text is None:
        text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    return text if looks_like_text(text) else None


def looks_like_text(text: str) -> bool:
    """Whether most of `text` can be printed and much of it is letters; short ones must be whole."""
    if not text:
        return False
    bad = len(_CONTROL.findall(text))
    if bad and (len(text) < _SHORT or bad > (1 - _READABLE_SHARE) * len(text)):
        return False
    return len(_LETTER.findall(text)) >= _LETTERS_SHARE * len(text)


def find_strings(data: bytes) -> str:
    """Return the printable runs of a binary that is no picture, sound or font; "" where none."""
    if data.startswith(_MEDIA):
        return ""
    return "\n".join(run.decode("ascii") for run in _STRINGS.findall(data[:_MOST_UNPACKED]))


def _read_utf16(data: bytes) -> str | None:
    """Return what PowerShell would read: two bytes a letter, every second one zero."""
    if len(data) % 2:
        return None
    for encoding, zeros in (("utf-16-le", data[1::2]), ("utf-16-be", data[::2])):
        if zeros.count(0) > len(data) * _ZERO_SHARE:
            return data.decode(encoding, "replace").removeprefix("\ufeff")
    return None


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes that a text holds in writing, where they begin, and how they were written."""

    start: int
    step: str
    data: bytes


_RUN = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{16,}={0,6}")
_PIECE = re.compile(r"[A-Za-z0-9+/_-]{4,}={0,6}")
# From a wrapped line to the next, with a comment or quote mark before it.
_WRAP = re.compile(
    r"[\"']?\s{0,4}\\?\r?\n[ \t]{0,64}(?:[#>]|//|\*)?[ \t]{0,8}[\"']?(?=[A-Za-z0-9+/])"
)
_WRAPPED_LEAST = 40
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})+")
_BASE32 = re.compile(r"(?:[A-Z2-7]{16,}|[a-z2-7]{16,})=*")
_SEPARATE = re.compile(r"[/_+-]")
_SHORTEST = 16
_MAY_BE_SHIFTED = 40
# Plain words and paths of plain words: bytes in code have digits and capitals among them.
_PLAIN_WORDS = re.compile(r"[/_-]{0,2}[a-z]+(?:[-_/]{1,2}[a-z]+)*/?")


def find_runs(text: str) -> Iterator[Blob]:
    """Yield what long words may hold as base64, base32 or hex, also where wrapped over lines."""
    at = 0
    while hit := _RUN.search(text, at):
        word, at = _unwrap(text, hit)
        yield from _word(word, hit.start())
        if word != hit.group():
            yield from _word(hit.group(), hit.start())


def _unwrap(text: str, first: re.Match[str]) -> tuple[str, int]:
    pieces = [first.group()]
    end = first.end()
    while len(pieces[-1]) >= _WRAPPED_LEAST and pieces[-1][-1] != "=":
        wrap = _WRAP.match(text, end)
        piece = _PIECE.match(text, wrap.end()) if wrap else None
        if piece is None:
            break
        pieces.append(piece.group())
        end = piece.end()
    return "".join(pieces), end


def _word(word: str, start: int) -> Iterator[Blob]:
    if _PLAIN_WORDS.fullmatch(word):
        return
    if _HEX.fullmatch(word):
        yield Blob(start, "hex", bytes.fromhex(word))
    if _BASE32.fullmatch(word):
        yield from _try(start, "base32", partial(base64.b32decode, _pad(word.upper(), 8)))
    yield from _base64(word, start)
    if "/" in word or "-" in word or "_" in word:
        offset = 0
        for part in _SEPARATE.split(word):
            if len(part) >= _SHORTEST:
                yield from _base64(part, start + offset)
            offset += len(part) + 1


def _base64(word: str, start: int) -> Iterator[Blob]:
    plain = word.replace("-", "+").replace("_", "/").rstrip("=")
    # What was glued on in front moves the groups of four; one of the other three fits.
    for shift in (0, 1, 2, 3) if len(plain) >= _MAY_BE_SHIFTED else (0,):
        end = len(plain) - ((len(plain) - shift) % 4 == 1)
        code = partial(base64.b64decode, _pad(plain[shift:end], 4))
        yield from _try(start, "base64", code)


def _pad(word: str, width: int) -> str:
    bare = word.rstrip("=")
    return bare + "=" * (-len(bare) % width)


def _try(start: int, step: str, decoder: Callable[[], bytes]) -> Iterator[Blob]:
    try:
        data = decoder()
    except (binascii.Error, ValueError):
        # Not written in this code after all.
        return
    yield Blob(start, step, data)


# Patterns begin with what is rare in prose, so that the search skips it quickly.
_QUOTED = re.compile(r"[\"'](?:(?<=\")([^\"\s\\]{25,})\"|(?<=')([^'\s\\]{25,})')")
_ADOBE = re.compile(r"<~([!-u\sz]{10,})~>")
_BASE85 = re.compile(r"[0-9A-Za-z!#$%&()*+;<=>?@^_{|}~-]+")
_SYMBOL = re.compile(r"[!#$%&()*+;<=>?@^{|}~]")


def find_base85(text: str) -> Iterator[Blob]:
    """Yield what quoted words hold as base85, and what stands between `<~` and `~>`."""
    for hit in _ADOBE.finditer(text):
        yield from _try(hit.start(1), "ascii85", partial(base64.a85decode, hit[1]))
    for hit in _QUOTED.finditer(text):
        word = hit[1] or hit[2]
        if len(_SYMBOL.findall(word)) * 20 >= len(word):
            if _BASE85.fullmatch(word):
                yield from _try(hit.start() + 1, "base85", partial(base64.b85decode, word))
            yield from _try(hit.start() + 1, "ascii85", partial(base64.a85decode, word))


_HEX_LIST = re.compile(r"0x[0-9a-fA-F]{2}(?:[\s,;]{1,8}0x[0-9a-fA-F]{2}){7,}")
_HEX_PAIRS = re.compile(
    r"[0-9a-fA-F](?<![0-9a-zA-Z:.-].)[0-9a-fA-F](?:[ :,-][0-9a-fA-F]{2}){7,}(?![0-9a-zA-Z])"
)
_PAIR = re.compile(r"(?:0x)?([0-9a-fA-F]{2})")
_NUMBERS = re.compile(r"[0-9](?<![\d.].)[0-9]{1,2}(?:[\s,;]{1,8}[0-9]{2,3}){7,}(?![\d.])")
_CHARACTERS = re.compile(
    r"\(\s?[0-9]{2,3}\s?\)(?:[\s+.&,|]{0,8}[A-Za-z.$]{1,24}\(\s?[0-9]{2,3}\s?\)){3,}"
)
_CALL = re.compile(r"(?i)(?:chr|chrw|char|charcode|chr\$)\Z")
_NUMBER = re.compile(r"[0-9]{2,3}")
_BYTE = 256


def find_lists(text: str) -> Iterator[Blob]:
    """Yield what lists of numbers spell: hex pairs, character codes, calls of `chr`."""
    for pattern in (_HEX_LIST, _HEX_PAIRS):
        for hit in pattern.finditer(text):
            yield Blob(hit.start(), "hex", bytes.fromhex("".join(_PAIR.findall(hit.group()))))
    for pattern in (_NUMBERS, _CHARACTERS):
        for hit in pattern.finditer(text):
            if pattern is _CHARACTERS and not _CALL.search(
                text[max(0, hit.start() - 9) : hit.start()]
            ):
                continue
            codes = [int(number) for number in _NUMBER.findall(hit.group())]
            if max(codes) < _BYTE:
                yield Blob(hit.start(), "character-codes", bytes(codes))


_ESCAPE = r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|u\{[0-9a-fA-F]{1,6}\}|U[0-9a-fA-F]{8}|0?[0-7]{3})"
_ESCAPED = re.compile(rf"{_ESCAPE}[^\\\"'\n]{{0,16}}(?:{_ESCAPE}[^\\\"'\n]{{0,16}}){{2,}}")
_ONE_ESCAPE = re.compile(_ESCAPE)
_ONE_PERCENT = re.compile(r"%([0-9a-fA-F]{2})")
_PERCENT = re.compile(
    r"%[0-9a-fA-F]{2}[^%\s\"'<>`)]{0,12}(?:%[0-9a-fA-F]{2}[^%\s\"'<>`)]{0,12}){2,}"
)
_QUOTED_PRINTABLE = re.compile(r"=[0-9A-F]{2}(?:=[0-9A-F]{2}){5,}")
_NUMERIC = r"&#(?:[0-9]{2,6}|[xX][0-9a-fA-F]{2,5});?"
_ENTITIES = re.compile(rf"{_NUMERIC}(?:{_NUMERIC}){{3,}}")
_LEFT_OF = re.compile(r"[^\s\"'\\]{1,48}\Z")
_NEEDLESS = 4
_ASCII = 0x7F
_SURROGATES = range(0xD800, 0xE000)


def find_escapes(text: str) -> Iterator[Blob]:
    """Yield what escapes spell where they stand for letters that needed none."""
    if "\\" in text:
        yield from _decode_backslashes(text)
    if "%" in text:
        yield from _decode_percents(text)
    for hit in _QUOTED_PRINTABLE.finditer(text) if "=" in text else ():
        yield Blob(hit.start(), "quoted-printable", bytes.fromhex(hit.group().replace("=", "")))
    for hit in _ENTITIES.finditer(text) if "&#" in text else ():
        yield Blob(hit.start(), "entities", unescape(hit.group()).encode("utf-8", "replace"))


def _decode_backslashes(text: str) -> Iterator[Blob]:
    for hit in _ESCAPED.finditer(text):
        codes = [_code(one) for one in _ONE_ESCAPE.findall(hit.group())]
        if _are_needless(codes):
            start, left = _find_left_of(text, hit.start())
            spelt = _ONE_ESCAPE.sub(lambda one: _character(_code(one.group())), hit.group())
            yield Blob(start, "escapes", (left + spelt).encode("utf-8", "replace"))


def _decode_percents(text: str) -> Iterator[Blob]:
    for hit in _PERCENT.finditer(text):
        codes = [int(one, 16) for one in _ONE_PERCENT.findall(hit.group())]
        if _are_needless(codes) or codes.count(0x20) >= _NEEDLESS - 1:
            start, left = _find_left_of(text, hit.start())
            yield Blob(start, "percent", unquote_to_bytes(left + hit.group()).replace(b"+", b" "))


def _find_left_of(text: str, start: int) -> tuple[int, str]:
    """Return the plain beginning of a word whose rest is escaped."""
    left = _LEFT_OF.search(text[max(0, start - 48) : start])
    found = left.group() if left else ""
    return start - len(found), found


def _code(escape: str) -> int:
    body = escape[1:]
    if body[0] in "xuU":
        return int(body[1:].strip("{}"), 16)
    return int(body, 8)


def _character(code: int) -> str:
    # Half of a surrogate pair is nothing by itself.
    return "" if code in _SURROGATES or code > sys.maxunicode else chr(code)


# A backslash before another stands for itself, and hides the escape behind it.
_WRITTEN = re.compile(
    r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})|&(?:#\w{2,8}|[A-Za-z]\w{1,30});"
)


def spell_written(view: View, end: int) -> View:
    """Return `view` with characters that stand as escapes before `end`, or as entities, as such.

    Signs of ASCII other than letters and blanks stay as they are: they are the syntax of the text.
    """

    def spell(hit: re.Match[str]) -> str:
        spelt = _spell(hit[0]) if hit[0][0] == "&" or hit.end() <= end else ""
        is_plain = not spelt or (spelt.isascii() and not spelt.isalnum() and spelt != " ")
        return hit[0] if is_plain else spelt

    return rewrite(view, _WRITTEN, spell, "escapes")


def _spell(written: str) -> str:
    if written[0] == "&":
        shown = unescape(written)
        return "" if shown.isascii() or shown == written else shown
    codes = [_code(one) for one in _ONE_ESCAPE.findall(written)]
    if len(codes) > 1:
        return chr(0x10000 + ((codes[0] & 0x3FF) << 10) + (codes[1] & 0x3FF))
    return "".join(map(_character, codes))


def _are_needless(codes: list[int]) -> bool:
    return sum(code <= _ASCII and chr(code).isalnum() for code in codes) >= _NEEDLESS


# Words that give a command or an order away; a text with them only when turned is in disguise.
_FIRST_TELLTALES = (
    "curl", "wget", "bash", "http", "import", "eval", "exec", "instructions", "ignore", "previous",
    "system", "base64", "python", "powershell",
)  # fmt: skip
_TELLTALES = (
    *_FIRST_TELLTALES, "https", "invoke", "password", "secret", "credentials", "subprocess",
    "token", "environ", "requests", "urllib", "socket", "prompt",
)  # fmt: skip
_TURNED = {
    "reversed": frozenset(word[::-1] for word in _TELLTALES),
    "rot13": frozenset(codec(word, "rot13") for word in _TELLTALES),
}
# Hardly a command or an order does without one of the first; only those are looked for at first.
_FIRST_TURNED = {
    "reversed": tuple(word[::-1] for word in _FIRST_TELLTALES),
    "rot13": tuple(codec(word, "rot13") for word in _FIRST_TELLTALES),
}
_TELLING = re.compile(r"[a-z0-9]{4,}")
_SURE = 6


def find_turned(text: str) -> Iterator[Blob]:
    """Yield lines that make sense only when read backwards or by rot13."""
    lowered = text.lower()
    for step, telltales in _TURNED.items():
        words = (word for word in _FIRST_TURNED[step] if word in lowered)
        if not any(_stands_in(word, lowered) for word in words):
            continue
        start = 0
        for line in text.split("\n"):
            if _is_turned(set(_TELLING.findall(line.lower())), telltales):
                spelt = line[::-1] if step == "reversed" else codec(line, "rot13")
                yield Blob(start, step, spelt.encode("utf-8", "replace"))
            start += len(line) + 1


def _stands_in(word: str, text: str) -> bool:
    # `https` is `http` and one letter more, at either end.
    return re.search(rf"(?<![a-z0-9])[sf]?{word}[sf]?(?![a-z0-9])", text) is not None


def _is_turned(words: set[str], telltales: frozenset[str]) -> bool:
    found = words & telltales
    if len(found) > 1:
        return True
    return any(len(word) >= _SURE for word in found) and words.isdisjoint(_TELLTALES)


FINDERS: tuple[Callable[[str], Iterator[Blob]], ...] = (
    find_runs,
    find_base85,
    find_lists,
    find_escapes,
    find_turned,
)


_DEPTH = 3
_MIB = 1024 * 1024


@dataclass(slots=True)
class DecodeBudget:
    """How much may still be decoded; shared by all texts of a skill."""

    characters: int = _MIB
    blobs: int = 4000
    # Set where something was left undecoded: the caller owes the operator a word about that.
    exhausted: bool = False
    _seen: set[tuple[str, int, str]] = field(default_factory=set)

    def admit(self, view: View) -> bool:
        """Take `view` from the budget; False where it is spent or the same was decoded before."""
        mark = (view.path, view.origin(0), view.text)
        if mark in self._seen:
            return False
        if self.blobs <= 0 or self.characters < len(view.text):
            self.exhausted = True
            return False
        self._seen.add(mark)
        self.blobs -= 1
        self.characters -= len(view.text)
        return True


def decode_views(view: View, budget: DecodeBudget) -> Iterator[View]:
    """Yield every text that blobs in `view` decode to, those inside decoded ones included."""
    waiting = [(view, 1)]
    while waiting:
        text, depth = waiting.pop()
        for found in _decode(text):
            if not budget.admit(found):
                continue
            if not _is_name(found.text):
                yield found
            if depth < _DEPTH:
                waiting.append((found, depth + 1))


def _decode(view: View) -> Iterator[View]:
    glued = _glue(view)
    for text in (view,) if glued is None else (view, glued):
        for finder in FINDERS:
            for blob in finder(text.text):
                if found := _read(text, blob):
                    yield found


def _read(view: View, blob: Blob) -> View | None:
    text = read_as_text(blob.data)
    if text is not None:
        return view.decoded(text, blob.start, blob.step)
    if blob.step in _BINARY_STEPS and len(blob.data) >= _LEAST_BINARY:
        strings = find_strings(blob.data)
        return view.decoded(strings, blob.start, blob.step) if strings else None
    return None


_BINARY_STEPS = ("base64", "base85", "ascii85", "hex")
_LEAST_BINARY = 64
_NAME = re.compile(r"[\w.:/-]{0,64}")


def _is_name(text: str) -> bool:
    """Whether a decoded text is just a name or a number, which every hash may happen to spell."""
    return _NAME.fullmatch(text) is not None and not any(mark in text for mark in ("/", ":", "."))


# Strings next to each other, joined by a sign, or put into one variable after another: one string.
_PART_PIECE = r"\"[^\"\s\\]{1,400}\"|'[^'\s\\]{1,400}'"
_STRING = re.compile(_PART_PIECE)
_BETWEEN = r"\s{0,64}(?:[+.,;&\\]\s{0,64})?(?:[\w.$]{1,32}\s{0,4}[+.]?=\s{0,4})?"
_GLUED = re.compile(
    r"[\"'](?:(?<=\")[^\"\s\\]{1,400}\"|(?<=')[^'\s\\]{1,400}')"
    rf"(?:{_BETWEEN}(?:{_PART_PIECE})){{1,}}"
)


def _glue(view: View) -> View | None:
    """Return all runs of neighbouring strings, each as one string in quotes on its own line."""
    out = Rewriter(view)
    found = False
    for hit in _GLUED.finditer(view.text):
        found = True
        out.put('\n"', hit.start())
        for piece in _STRING.finditer(view.text, *hit.span()):
            out.keep(piece.start() + 1, piece.end() - 1)
        out.put('"', hit.end() - 1)
    return out.done("") if found else None
