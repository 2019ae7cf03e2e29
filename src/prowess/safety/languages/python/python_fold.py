"""What constant Python expressions come to: operators, text methods, conversions; bounded."""

import ast
import re
from collections.abc import Callable, Sequence

from prowess.safety.languages.python.values import Constant, words

MAX_TEXT = 1 << 18
_MAX_NUMBER = 1 << 64
_MAX_SHIFT = 64
_MAX_PIECES = 4096
_MAX_CODE_POINT = 0x10FFFF
_MAX_BYTE = 0xFF
# A width of four digits in a template makes megabytes of padding from nothing.
_WIDE = re.compile(r"\d{4}|\*")
_CODECS = words(
    """
    utf8 ascii latin1 iso88591 utf16 utf16le utf16be utf32 cp1252 unicodeescape rawunicodeescape
    utf8sig usascii
    """
)
# Methods that never make a text longer than it was by more than a small factor.
_SAFE = words(
    """
    lower upper strip lstrip rstrip swapcase title capitalize casefold removeprefix removesuffix
    split rsplit splitlines partition rpartition hex
    """
)
_REFUSED = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError)

Folded = Constant | list[str] | list[bytes] | None


def _numbers(op: ast.operator, left: int, right: int) -> int | None:
    if abs(left) >= _MAX_NUMBER or abs(right) >= _MAX_NUMBER:
        return None
    if isinstance(op, ast.LShift | ast.RShift):
        if not 0 <= right < _MAX_SHIFT:
            return None
        return left << right if isinstance(op, ast.LShift) else left >> right
    operation = _NUMBERS.get(type(op))
    if operation is None or (right == 0 and isinstance(op, ast.FloorDiv | ast.Mod)):
        return None
    return operation(left, right)


_NUMBERS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.FloorDiv: lambda left, right: left // right,
    ast.Mod: lambda left, right: left % right,
    ast.BitXor: lambda left, right: left ^ right,
    ast.BitOr: lambda left, right: left | right,
    ast.BitAnd: lambda left, right: left & right,
}


def binary(op: ast.operator, left: Constant | None, right: Constant | None) -> Constant | None:
    """Return the constant that an operator gives, if it does."""
    if isinstance(left, int) and isinstance(right, int):
        return _numbers(op, left, right)
    if isinstance(op, ast.Add):
        if isinstance(left, str) and isinstance(right, str):
            return left + right if len(left) + len(right) <= MAX_TEXT else None
        if isinstance(left, bytes) and isinstance(right, bytes):
            return left + right if len(left) + len(right) <= MAX_TEXT else None
    if isinstance(op, ast.Mult):
        return _repeated(left, right)
    return None


def _repeated(left: Constant | None, right: Constant | None) -> Constant | None:
    if isinstance(left, int):
        left, right = right, left
    if not isinstance(left, str | bytes) or not isinstance(right, int):
        return None
    return left * right if len(left) * right <= MAX_TEXT else None


def percent(template: str | bytes, arguments: Sequence[Constant]) -> Constant | None:
    """Return `template % arguments`, if all is constant and small."""
    shown = template if isinstance(template, str) else template.decode("latin-1")
    if _WIDE.search(shown) or any(_large(value) for value in arguments):
        return None
    try:
        return template % tuple(arguments)
    except _REFUSED:
        return None


def formatted(
    template: str, arguments: Sequence[Constant], named: dict[str, Constant]
) -> str | None:
    """Return `template.format(...)`, if all is constant and small."""
    # Fields that reach into attributes or members of a value are not simple texts.
    if _WIDE.search(template) or re.search(r"\{[^{}]{0,64}[.\[]", template):
        return None
    if any(_large(value) for value in (*arguments, *named.values())):
        return None
    if template.count("{") * MAX_TEXT > MAX_TEXT * _MAX_PIECES:
        return None
    try:
        return template.format(*arguments, **named)
    except _REFUSED:
        return None


def _large(value: Constant) -> bool:
    return (
        len(value) > MAX_TEXT >> 6 if isinstance(value, str | bytes) else abs(value) > _MAX_NUMBER
    )


def joined(separator: str | bytes, parts: Sequence[Constant]) -> Constant | None:
    """Return `separator.join(parts)`, if all are of one kind and small."""
    if isinstance(separator, str):
        texts = [part for part in parts if isinstance(part, str)]
        size = sum(map(len, texts)) + len(separator) * len(texts)
        return separator.join(texts) if len(texts) == len(parts) and size <= MAX_TEXT else None
    blobs = [part for part in parts if isinstance(part, bytes)]
    size = sum(map(len, blobs)) + len(separator) * len(blobs)
    return separator.join(blobs) if len(blobs) == len(parts) and size <= MAX_TEXT else None


def method(subject: str | bytes, name: str, arguments: Sequence[Constant]) -> Folded:
    """Return what a method of a constant text gives, if it is one that only rewrites text."""
    if name in {"encode", "decode"}:
        return _recoded(subject, name, arguments)
    if name == "replace":
        return _replaced(subject, arguments)
    if name not in _SAFE:
        return None
    try:
        result = getattr(subject, name)(*arguments)
    except _REFUSED:
        return None
    if isinstance(result, tuple):
        result = list(result)
    if isinstance(result, list):
        return result if len(result) <= _MAX_PIECES else None
    return result if isinstance(result, str | bytes | int) else None


def _recoded(subject: str | bytes, name: str, arguments: Sequence[Constant]) -> Constant | None:
    codec = str(arguments[0]) if arguments else "utf-8"
    if re.sub(r"[-_ ]", "", codec.lower()) not in _CODECS:
        return None
    if isinstance(subject, str):
        return subject.encode(codec, "replace") if name == "encode" else None
    return subject.decode(codec, "replace") if name == "decode" else None


def _replaced(subject: str | bytes, arguments: Sequence[Constant]) -> Constant | None:
    match (subject, *arguments):
        case (str() as text, str() as old, str() as new, *_):
            growth = (text.count(old) if old else len(text) + 1) * len(new)
            return text.replace(old, new) if growth <= MAX_TEXT else None
        case (bytes() as blob, bytes() as before, bytes() as after, *_):
            growth = (blob.count(before) if before else len(blob) + 1) * len(after)
            return blob.replace(before, after) if growth <= MAX_TEXT else None
        case _:
            return None


def character(number: Constant | None) -> str | None:
    """Return `chr(number)`."""
    if isinstance(number, int) and 0 <= number <= _MAX_CODE_POINT:
        return chr(number)
    return None


def blob(numbers: Sequence[Constant | None]) -> bytes | None:
    """Return `bytes(numbers)`."""
    found = [n for n in numbers if isinstance(n, int) and 0 <= n <= _MAX_BYTE]
    return bytes(found) if len(found) == len(numbers) else None


def number(text: Constant | None, base: Constant | None) -> int | None:
    """Return `int(text, base)`."""
    if isinstance(text, int):
        return text
    if not isinstance(text, str) or len(text) > _MAX_SHIFT:
        return None
    try:
        return int(text, base if isinstance(base, int) else 10)
    except ValueError:
        return None


def cut(
    subject: str | bytes, start: int | None, stop: int | None, step: int | None
) -> Constant | None:
    """Return a slice of a constant text."""
    return None if step == 0 else subject[start:stop:step]


def translated(subject: str, before: str, after: str) -> str | None:
    """Return `subject.translate(str.maketrans(before, after))`."""
    return subject.translate(str.maketrans(before, after)) if len(before) == len(after) else None
