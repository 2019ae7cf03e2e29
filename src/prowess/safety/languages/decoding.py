"""Decodings that code hides a text in, undone without running anything and within bounds."""

import base64
import binascii
import bz2
import codecs
import lzma
import re
import zlib
from collections.abc import Callable

MAX_TEXT = 1 << 18
# What a letter behind a backslash stands for in JavaScript, JSON and their kin.
LETTERS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
LETTERS |= {"\n": "", "\r\n": ""}
_MAX_CODE = 0x10FFFF
_HALVES = range(0xD800, 0xE000)
_MEMORY = 1 << 26
_GZIP = 31
_AUTO = 47
_FAILED = (ValueError, TypeError, OSError, EOFError, zlib.error, lzma.LZMAError, binascii.Error)
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


def _pad(data: bytes) -> bytes:
    return data + b"=" * (-len(data) % 4)


def _inflate(wbits: int) -> Callable[[bytes], bytes]:
    return lambda data: zlib.decompressobj(wbits).decompress(data, MAX_TEXT)


_PLAIN: dict[str, Callable[[bytes], bytes]] = {
    "base64": lambda data: base64.b64decode(_pad(data)),
    "base64url": lambda data: base64.urlsafe_b64decode(_pad(data)),
    "base32": base64.b32decode,
    "base16": lambda data: base64.b16decode(data, casefold=True),
    "base85": base64.b85decode,
    "ascii85": base64.a85decode,
    "hex": lambda data: bytes.fromhex(data.decode("ascii")),
    "rot13": lambda data: codecs.encode(data.decode("utf-8", "replace"), "rot13").encode(),
    "zlib": _inflate(_AUTO),
    "deflate": _inflate(-zlib.MAX_WBITS),
    "gzip": _inflate(_GZIP),
    "bzip2": lambda data: bz2.BZ2Decompressor().decompress(data, MAX_TEXT),
    "lzma": lambda data: lzma.LZMADecompressor(memlimit=_MEMORY).decompress(data, MAX_TEXT),
    "quoted-printable": binascii.a2b_qp,
    "uu": binascii.a2b_uu,
}


def decode(encoding: str, data: str | bytes | int | None) -> bytes | None:
    """Return what `data` decodes to, cut at a bound; None where it does not decode."""
    if isinstance(data, int) or data is None or len(data) > MAX_TEXT:
        return None
    raw = data.encode("utf-8", "replace") if isinstance(data, str) else data
    try:
        return _PLAIN[encoding](raw)[:MAX_TEXT]
    except _FAILED:
        if encoding == "zlib":
            return decode("deflate", data)
        return None


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


def character(code: int) -> str:
    """Return the character of a code; half of a pair and what is no code is a replacement."""
    return chr(code) if code <= _MAX_CODE and code not in _HALVES else "\ufffd"


def join_halves(high: str, low: str) -> str:
    """Return the character of a pair of halves, each in hexadecimal."""
    return chr(0x10000 + ((int(high, 16) & 0x3FF) << 10) + (int(low, 16) & 0x3FF))
