"""Decodings that a shell text can be made of: base64, base32, hexadecimal, `tr`."""

import base64
import binascii
import re

_MAX_ENCODED = 200_000
_SPACE = re.compile(r"\s+")
_NOT_HEX = re.compile(r"[^0-9A-Fa-f]+")
_HEX_DUMP = re.compile(r"^[0-9a-fA-F]{6,8}:", re.MULTILINE)
_CLASSES = {
    "[:upper:]": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "[:lower:]": "abcdefghijklmnopqrstuvwxyz",
    "[:digit:]": "0123456789",
    "[:space:]": " \t\n\r\v\f",
}
_MAX_SET = 1024


def decode_base(text: str, name: str) -> str | None:
    """Return what base64 or base32 stands for, `None` where it is no such text."""
    packed = _SPACE.sub("", text[:_MAX_ENCODED])
    decode = base64.b32decode if "32" in name else base64.b64decode
    size = 8 if "32" in name else 4
    packed = packed.rstrip("=")
    try:
        raw = decode(packed + "=" * (-len(packed) % size))
    except (binascii.Error, ValueError):
        return None
    return as_text(raw)


def decode_hex(text: str) -> str | None:
    """Return what a run of hexadecimal digits, or a dump of them, stands for."""
    body = text[:_MAX_ENCODED]
    if _HEX_DUMP.search(body):
        body = "".join(line.partition(":")[2][:40] for line in body.split("\n"))
    digits = _NOT_HEX.sub("", body.replace("0x", "").replace("\\x", ""))
    return as_text(bytes.fromhex(digits[: len(digits) // 2 * 2])) if digits else None


def as_text(raw: bytes) -> str | None:
    """Return decoded bytes as text, `None` where they are none."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def translate(text: str, old: str, new: str | None) -> str:
    """Return what `tr old new` makes of `text`; without `new` the characters are taken out."""
    before = _set(old)
    if new is None:
        return text.translate(dict.fromkeys(map(ord, before)))
    after = _set(new)
    if not after:
        return text
    after += after[-1] * (len(before) - len(after))
    table: dict[int, str] = {}
    for source, target in zip(before, after, strict=False):
        table[ord(source)] = target
    return text.translate(table)


def _set(written: str) -> str:
    for name, characters in _CLASSES.items():
        written = written.replace(name, characters)
    written = written.replace("\\n", "\n").replace("\\t", "\t").replace("\\\\", "\\")
    found = ""
    at = 0
    while at < len(written) and len(found) < _MAX_SET:
        if written[at + 1 : at + 2] == "-" and at + 2 < len(written):
            first, last = ord(written[at]), ord(written[at + 2])
            found += "".join(map(chr, range(first, min(last, first + 256) + 1)))
            at += 3
        else:
            found += written[at]
            at += 1
    return found
