"""Constant folding for JavaScript: what a call on known text gives, without running anything."""

import base64
import binascii
import re
import zlib
from collections.abc import Callable
from urllib.parse import unquote

from prowess.safety.languages.javascript.values import Piece, Value, concat, folded, literal

DECODED = frozenset(("decoded",))
_MAX_TEXT = 65_536
_MAX_ITEMS = 20_000
_ESCAPE = re.compile(
    r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"
    r"|\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|([0-7]{1,3})|(\r\n|.))",
    re.DOTALL,
)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
# Only patterns that cannot backtrack are tried; they come out of a hostile text.
_SAFE_PATTERN = re.compile(r"\\?[^\\()*+?{}\[\]|^$]|\[[^\]\\^]{1,20}\]\+?|[\w #@!~%&;:,-]{1,20}")
_PERCENT_U = re.compile(r"%u([0-9a-fA-F]{4})")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|[0-9]+")
_MAX_CODE = 0x10FFFF
_HALVES = range(0xD800, 0xE000)
_MAX_DIGITS = 18


def string(text: str, start: int) -> Value:
    """Return the value of what stands between quotes at `start`."""
    if "\\" not in text:
        return literal(text, start)
    pieces: list[Piece] = []
    at = 0
    for match in _ESCAPE.finditer(text):
        if match.start() > at:
            pieces.append(Piece(text[at : match.start()], start + at, exact=True))
        decoded = _escape(match)
        if decoded:
            pieces.append(Piece(decoded, start + match.start(), exact=False))
        at = match.end()
    if at < len(text):
        pieces.append(Piece(text[at:], start + at, exact=True))
    whole = "".join(piece.text for piece in pieces)
    return Value(text=whole, pieces=tuple(pieces))


def _escape(match: re.Match[str]) -> str:
    high, low, two, four, braced, octal, plain = match.groups()
    if high:
        return chr(0x10000 + ((int(high, 16) & 0x3FF) << 10) + (int(low, 16) & 0x3FF))
    digits = two or four or braced
    if digits:
        return _character(int(digits, 16))
    if octal and octal != "0":
        return _character(int(octal, 8))
    letter = octal or plain or ""
    return _PLAIN.get(letter, "" if letter == "\r\n" else letter)


def _character(code: int) -> str:
    return chr(code) if code <= _MAX_CODE and code not in _HALVES else "\ufffd"


def number(text: str) -> int | None:
    """Return the whole number that a literal stands for."""
    plain = text.replace("_", "").rstrip("n")
    if len(plain) > _MAX_DIGITS or not _NUMBER.fullmatch(plain):
        return None
    if plain.isdigit():
        return int(plain)
    return int(plain, 0)


def characters(codes: list[Value], like: Value) -> Value:
    """Return the text of character codes (`String.fromCharCode`)."""
    known = [code.number for code in codes]
    if not known or any(code is None or not 0 <= code <= _MAX_CODE for code in known):
        labels = frozenset[str]().union(*(code.labels for code in codes))
        return Value(labels=labels)
    text = "".join(_character(code) for code in known if code is not None)
    # A line feed or a tab written as a number hides nothing.
    return folded(text, like, DECODED if text.isprintable() else frozenset())


def from_base64(value: Value) -> Value:
    """Return what base64 text decodes to; of unknown text only that it is decoded."""
    text = value.constant
    if text is None or len(text) > _MAX_TEXT:
        return Value(labels=value.everything() | DECODED)
    flat = re.sub(r"\s", "", text).replace("-", "+").replace("_", "/").rstrip("=")
    try:
        raw = base64.b64decode(flat + "=" * (-len(flat) % 4))
    except (binascii.Error, ValueError):
        return Value(labels=value.labels | DECODED)
    return from_bytes(raw, value)


def from_hex(value: Value) -> Value:
    """Return what hexadecimal text decodes to."""
    text = value.constant
    if text is None or len(text) > _MAX_TEXT:
        return Value(labels=value.everything() | DECODED)
    try:
        raw = bytes.fromhex(text)
    except ValueError:
        return Value(labels=value.labels | DECODED)
    return from_bytes(raw, value)


def from_bytes(raw: bytes, like: Value) -> Value:
    """Return bytes as a value: their text where they are text, and themselves."""
    value = folded(raw.decode("utf-8", errors="replace"), like, DECODED)
    value.raw = raw
    return value


def inflated(value: Value) -> Value:
    """Return what compressed bytes hold, up to a limit."""
    if value.raw is None:
        return Value(labels=value.everything() | DECODED)
    for bits in (47, -15):
        try:
            return from_bytes(zlib.decompressobj(bits).decompress(value.raw, _MAX_TEXT), value)
        except zlib.error:
            continue
    return Value(labels=value.labels | DECODED)


def percent(value: Value) -> Value:
    """Return what `unescape` and `decodeURIComponent` give."""
    text = value.constant
    if text is None:
        return value
    wide = _PERCENT_U.sub(lambda match: chr(int(match[1], 16)), text)
    plain = unquote(wide, errors="replace")
    return folded(plain, value, DECODED if plain != text else frozenset())


def method(receiver: Value, name: str, args: list[Value]) -> Value | None:
    """Return what a method of a known text or list gives, or None where it cannot be said."""
    if receiver.items is not None:
        list_method = _LIST_METHODS.get(name)
        return list_method(receiver, args) if list_method else None
    if receiver.text is None:
        return None
    if name in _KEEPING:
        return receiver
    text_method = _TEXT_METHODS.get(name)
    if text_method is None or not receiver.whole:
        return None
    return text_method(receiver, args)


def _joined(receiver: Value, args: list[Value]) -> Value | None:
    items = receiver.items or []
    glue = args[0] if args else literal(",", 0)
    if glue.constant is None or len(items) > _MAX_ITEMS:
        return Value(labels=receiver.everything())
    if not items:
        return literal("", 0)
    start = items[0].pieces[0].start if items[0].pieces else 0
    parts: list[tuple[Value, str]] = []
    for index, item in enumerate(items):
        if index and glue.text:
            parts.append((folded(glue.text, item), ""))
        parts.append((item, "value"))
    joined = concat(parts, start)
    return relocate(joined)


def relocate(value: Value) -> Value:
    """Return a text put together from many parts as one that stands where the first does."""
    if value.text is None or len(value.pieces) <= 1 or all(p.exact for p in value.pieces):
        return value
    return Value(
        text=value.text,
        whole=value.whole,
        pieces=(Piece(value.text, value.pieces[0].start, exact=False),),
        labels=value.labels,
    )


def _reversed(receiver: Value, _args: list[Value]) -> Value:
    items = list(reversed(receiver.items or []))
    return Value(items=items, labels=receiver.labels)


def _chained(receiver: Value, args: list[Value]) -> Value:
    items = list(receiver.items or [])
    for arg in args:
        items.extend(arg.items if arg.items is not None else [arg])
    return Value(items=items[:_MAX_ITEMS], labels=receiver.labels)


def _part(receiver: Value, args: list[Value]) -> Value:
    bounds = [arg.number for arg in args[:2]]
    if any(bound is None for bound in bounds):
        return Value(labels=receiver.everything())
    return Value(items=(receiver.items or [])[slice(*(bounds or [None]))], labels=receiver.labels)


def _kept(receiver: Value, _args: list[Value]) -> Value:
    return receiver


def _split(receiver: Value, args: list[Value]) -> Value | None:
    text = receiver.text or ""
    glue = args[0].constant if args else None
    if glue is None or len(text) > _MAX_ITEMS:
        return None
    parts = list(text) if glue == "" else text.split(glue)
    return Value(items=[folded(part, receiver) for part in parts], labels=receiver.labels)


def _replaced(receiver: Value, args: list[Value], count: int = -1) -> Value | None:
    new = args[1].constant if len(args) > 1 else None
    if new is None:
        return None
    text = receiver.text or ""
    if args[0].name == "RegExp()":
        source = args[0].shown
        if not _SAFE_PATTERN.fullmatch(source):
            return None
        return folded(re.sub(source, lambda _match: new, text), receiver)
    old = args[0].constant
    if not old or text.count(old) * len(new) > _MAX_TEXT:
        return None
    return folded(text.replace(old, new, count), receiver)


def _replaced_once(receiver: Value, args: list[Value]) -> Value | None:
    return _replaced(receiver, args, 1)


def _sliced(receiver: Value, args: list[Value]) -> Value | None:
    bounds = [arg.number for arg in args[:2]]
    if not bounds or any(bound is None for bound in bounds):
        return None
    if len(bounds) == 1:
        bounds.append(None)
    return folded((receiver.text or "")[bounds[0] : bounds[1]], receiver)


def _substr(receiver: Value, args: list[Value]) -> Value | None:
    start = args[0].number if args else None
    if start is None:
        return None
    size = args[1].number if len(args) > 1 else None
    return folded((receiver.text or "")[start:][:size], receiver)


def _char_at(receiver: Value, args: list[Value]) -> Value | None:
    index = args[0].number if args else None
    text = receiver.text or ""
    if index is None or not 0 <= index < len(text):
        return None
    return folded(text[index], receiver)


def _code_at(receiver: Value, args: list[Value]) -> Value | None:
    char = _char_at(receiver, args or [Value(number=0)])
    return None if char is None else Value(number=ord(char.text or "\0"), labels=receiver.labels)


def _repeated(receiver: Value, args: list[Value]) -> Value | None:
    count = args[0].number if args else None
    text = receiver.text or ""
    if count is None or count * len(text) > _MAX_TEXT:
        return None
    return folded(text * count, receiver)


def _concat(receiver: Value, args: list[Value]) -> Value:
    start = receiver.pieces[0].start if receiver.pieces else 0
    return concat([(part, "value") for part in (receiver, *args)], start)


def _lower(receiver: Value, _args: list[Value]) -> Value:
    return folded((receiver.text or "").lower(), receiver)


def _upper(receiver: Value, _args: list[Value]) -> Value:
    return folded((receiver.text or "").upper(), receiver)


_Method = Callable[[Value, list[Value]], Value | None]
_KEEPING = frozenset(("trim", "trimStart", "trimEnd", "valueOf", "normalize", "toWellFormed"))
_LIST_METHODS: dict[str, _Method] = {
    "join": _joined,
    "toString": _joined,
    "reverse": _reversed,
    "toReversed": _reversed,
    "concat": _chained,
    "slice": _part,
    "flat": _kept,
}
_TEXT_METHODS: dict[str, _Method] = {
    "split": _split,
    "replace": _replaced_once,
    "replaceAll": _replaced,
    "slice": _sliced,
    "substring": _sliced,
    "substr": _substr,
    "charAt": _char_at,
    "at": _char_at,
    "charCodeAt": _code_at,
    "codePointAt": _code_at,
    "repeat": _repeated,
    "concat": _concat,
    "toLowerCase": _lower,
    "toUpperCase": _upper,
}

_ENCODINGS: dict[str, Callable[[Value], Value]] = {
    "base64": from_base64,
    "base64url": from_base64,
    "hex": from_hex,
}


def buffer(value: Value, encoding: str) -> Value:
    """Return `Buffer.from(value, encoding)`."""
    decode = _ENCODINGS.get(encoding.lower())
    if decode is not None:
        return decode(value)
    if value.items is not None and value.items and value.items[0].number is not None:
        return characters(value.items, value)
    return value


def encoded(value: Value, encoding: str) -> Value:
    """Return `value.toString(encoding)`: encoding hides a text but keeps where it comes from."""
    if encoding.lower() in {"utf8", "utf-8", "ascii", "latin1", "binary", ""}:
        return value
    return Value(labels=value.labels)
