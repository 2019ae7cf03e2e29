"""Where a picture ends, and what it carries besides: comments, metadata, things appended."""

import re
import zlib
from collections.abc import Iterator
from typing import TypeVar

_Label = TypeVar("_Label", bytes, int)
_PNG = b"\x89PNG\r\n\x1a\n"
# Chunks of the picture itself; every other one may carry words.
_PNG_PICTURE = (b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"fdAT")
_WEBP_PICTURE = (b"VP8 ", b"VP8L", b"VP8X", b"ALPH", b"ANIM", b"ANMF")
_JPEG_MARK = 0xFF
_JPEG_SCAN = 0xDA
_JPEG_TEXTS = (0xFE, *range(0xE0, 0xF0))
_MOST_TEXT = 256 * 1024
_WORDS = re.compile(rb"(?:[\t\n\r -~]|[\xc2-\xf4][\x80-\xbf]{1,3}){24,}")


def end_of(data: bytes) -> int:
    """Return the offset behind the picture; where it breaks off, the end of what is sound."""
    if data.startswith(_PNG):
        return _last_end(_png_chunks(data), b"IEND", len(_PNG))
    if data[:2] == b"\xff\xd8":
        return _jpeg_end(data)
    if data[:4] == b"GIF8":
        return _last_end(_gif_blocks(data), _GIF_TRAILER, _GIF_HEADER)
    if data[:4] == b"RIFF":
        return min(len(data), 8 + int.from_bytes(data[4:8], "little"))
    return len(data)


def words_in(data: bytes) -> str:
    """Return the readable texts that a picture carries in its metadata, one a line."""
    found: list[bytes] = []
    if data.startswith(_PNG):
        found = [
            _png_text(kind, body) for kind, body, _ in _png_chunks(data) if kind not in _PNG_PICTURE
        ]
    elif data[:2] == b"\xff\xd8":
        found = [body for kind, body, _ in _jpeg_segments(data) if kind in _JPEG_TEXTS]
    elif data[:4] == b"GIF8":
        found = [body for kind, body, _ in _gif_blocks(data) if kind == _GIF_COMMENT]
    elif data[:4] == b"RIFF":
        found = [body for kind, body in _riff_chunks(data) if kind not in _WEBP_PICTURE]
    return readable_in(b"\n".join(found))


def readable_in(data: bytes) -> str:
    """Return the runs of readable characters in `data`, one a line."""
    runs = _WORDS.findall(data[:_MOST_TEXT])
    return "\n".join(run.decode("utf-8", "replace").strip() for run in runs if run.strip())


def _last_end(parts: Iterator[tuple[_Label, bytes, int]], last: _Label, start: int) -> int:
    """Return where the part called `last` ends; where it is missing, `start`."""
    return next((end for kind, _, end in parts if kind == last), start)


def _png_chunks(data: bytes) -> Iterator[tuple[bytes, bytes, int]]:
    at = len(_PNG)
    while at + 12 <= len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        kind = data[at + 4 : at + 8]
        end = at + 12 + size
        yield kind, data[at + 8 : end - 4], min(end, len(data))
        if kind == b"IEND":
            return
        at = end


def _png_text(kind: bytes, body: bytes) -> bytes:
    keyword, _, rest = body.partition(b"\x00")
    packed = b""
    if kind == b"zTXt":
        packed = rest[1:]
    elif kind == b"iTXt" and rest[:1] == b"\x01":
        packed = rest[2:].split(b"\x00", 2)[-1]
    if not packed:
        return body
    try:
        return keyword + b": " + zlib.decompressobj().decompress(packed, _MOST_TEXT)
    except zlib.error:
        # Not packed after all: what can be read of it is read as it is.
        return body


def _jpeg_segments(data: bytes) -> Iterator[tuple[int, bytes, int]]:
    at = 2
    while at + 4 <= len(data) and data[at] == _JPEG_MARK:
        kind = data[at + 1]
        end = at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        yield kind, data[at + 4 : end], end
        # The picture itself follows the start of scan; no segments are read behind that.
        if kind == _JPEG_SCAN:
            return
        at = max(end, at + 2)


def _jpeg_end(data: bytes) -> int:
    scan = _last_end(_jpeg_segments(data), _JPEG_SCAN, 2)
    end = data.find(b"\xff\xd9", scan)
    return end + 2 if end >= 0 else scan


_GIF_COMMENT = 0xFE
_GIF_TRAILER = 0x3B
_GIF_EXTENSION = 0x21
_GIF_IMAGE = 0x2C
_GIF_HEADER = 13


def _gif_table(flags: int) -> int:
    return 3 * (2 << (flags & 7)) if flags & 0x80 else 0


def _gif_blocks(data: bytes) -> Iterator[tuple[int, bytes, int]]:
    """Yield the label of each block (of an extension its second byte), its body and its end."""
    at = _GIF_HEADER + _gif_table(data[10] if len(data) > _GIF_HEADER else 0)
    while at < len(data):
        label = data[at]
        if label == _GIF_EXTENSION and at + 2 < len(data):
            label = data[at + 1]
            start = at + 2
        elif label == _GIF_IMAGE and at + 10 < len(data):
            start = at + 11 + _gif_table(data[at + 9])
        else:
            yield label, b"", at + 1
            return
        body, at = _gif_pieces(data, start)
        yield label, body, at


def _gif_pieces(data: bytes, start: int) -> tuple[bytes, int]:
    pieces: list[bytes] = []
    at = start
    while at < len(data) and data[at]:
        pieces.append(data[at + 1 : at + 1 + data[at]])
        at += 1 + data[at]
    return b"".join(pieces), at + 1


def _riff_chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 12
    while at + 8 <= len(data):
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        yield data[at : at + 4], data[at + 8 : at + 8 + size]
        at += 8 + size + size % 2
