"""Whether bytes are a text, and which: what every decoder asks of what it has decoded."""

import bz2
import lzma
import re
import zlib

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


def as_text(data: bytes) -> str | None:
    """Return the text that `data` holds, unpacked where it is compressed, or None."""
    data = _unpacked(data)
    text = _utf16(data)
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


def strings_in(data: bytes) -> str:
    """Return the printable runs of a binary that is no picture, sound or font; "" where none."""
    if data.startswith(_MEDIA):
        return ""
    return "\n".join(run.decode("ascii") for run in _STRINGS.findall(data[:_MOST_UNPACKED]))


def _utf16(data: bytes) -> str | None:
    """Return what PowerShell would read: two bytes a letter, every second one zero."""
    if len(data) % 2:
        return None
    for encoding, zeros in (("utf-16-le", data[1::2]), ("utf-16-be", data[::2])):
        if zeros.count(0) > len(data) * _ZERO_SHARE:
            return data.decode(encoding, "replace").removeprefix("\ufeff")
    return None


def _unpacked(data: bytes) -> bytes:
    """Return what a compressed stream holds, up to a bound; other bytes as they are."""
    try:
        if data[:2] == b"\x1f\x8b":
            return zlib.decompressobj(31).decompress(data, _MOST_UNPACKED)
        if data[:1] == b"\x78" and data[1:2] in b"\x01\x5e\x9c\xda":
            return zlib.decompressobj().decompress(data, _MOST_UNPACKED)
        if data[:3] == b"BZh":
            return bz2.BZ2Decompressor().decompress(data, _MOST_UNPACKED)
        if data[:5] in (b"\xfd7zXZ", b"\x5d\x00\x00\x00\x04", b"\x5d\x00\x00\x80\x00"):
            return lzma.LZMADecompressor(memlimit=1 << 26).decompress(data, _MOST_UNPACKED)
    except (zlib.error, OSError, EOFError, lzma.LZMAError):
        # A broken stream is read as the bytes it is.
        return data
    return data
