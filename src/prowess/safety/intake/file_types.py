"""What a file is by its first bytes, what else a picture carries, and what an archive holds.

A name may say anything, so only bytes count. Archives are looked into in memory, within bounds;
nothing is ever unpacked to a disk.
"""

import bz2
import io
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import TypeVar

from prowess.data import read_table

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


def find_end(data: bytes) -> int:
    """Return the offset behind the picture; where it breaks off, the end of what is sound."""
    if data.startswith(_PNG):
        return _find_last_end(_png_chunks(data), b"IEND", len(_PNG))
    if data[:2] == b"\xff\xd8":
        scan = _find_last_end(_jpeg_segments(data), _JPEG_SCAN, 2)
        end = data.find(b"\xff\xd9", scan)
        return end + 2 if end >= 0 else scan
    if data[:4] == b"GIF8":
        return _find_last_end(_gif_blocks(data), _GIF_TRAILER, _GIF_HEADER)
    if data[:4] == b"RIFF":
        return min(len(data), 8 + int.from_bytes(data[4:8], "little"))
    return len(data)


def read_metadata(data: bytes) -> str:
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
    return find_readable(b"\n".join(found))


def find_readable(data: bytes) -> str:
    """Return the runs of readable characters in `data`, one a line."""
    runs = _WORDS.findall(data[:_MOST_TEXT])
    return "\n".join(run.decode("utf-8", "replace").strip() for run in runs if run.strip())


def _find_last_end(parts: Iterator[tuple[_Label, bytes, int]], last: _Label, start: int) -> int:
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


class FileKind(StrEnum):
    """What the bytes of a file begin like; `OTHER` is a text or something unknown."""

    IMAGE = "image"
    FONT = "font"
    MEDIA = "sound or video"
    EXECUTABLE = "program"
    BYTECODE = "bytecode"
    ZIP = "zip archive"
    PACKED = "compressed file"
    TAR = "tar archive"
    ARCHIVE = "archive"
    DOCUMENT = "binary document"
    OTHER = ""


@cache
def _read_starts() -> tuple[tuple[bytes, FileKind], ...]:
    rows = read_table("safety/intake/file_types.toml").items()
    return tuple(
        (start.encode("ascii").decode("unicode_escape").encode("latin-1"), FileKind[name.upper()])
        for name, starts in rows
        for start in starts.split()
    )


# Magic numbers of CPython 3 lie between these, with a carriage return and line feed behind them.
_CPYTHON = range(2990, 3900)
_CPYTHON_2 = 62211
_TAR_MAGIC = (b"ustar\x0000", b"ustar  \x00")
_DISK_IMAGE = b"koly"


def detect_kind(data: bytes) -> FileKind:
    """Return what `data` is by its magic bytes."""
    for start, kind in _read_starts():
        if data.startswith(start):
            return kind
    if data[:4] == b"RIFF":
        return FileKind.IMAGE if data[8:12] == b"WEBP" else FileKind.MEDIA
    if data[4:8] == b"ftyp":
        return FileKind.MEDIA
    if _is_portable_executable(data):
        return FileKind.EXECUTABLE
    if data[257:265] in _TAR_MAGIC:
        return FileKind.TAR
    return _detect_by_marks(data)


def _detect_by_marks(data: bytes) -> FileKind:
    if is_python_bytecode(data):
        return FileKind.BYTECODE
    if data[-512:-508] == _DISK_IMAGE or data[0x8001:0x8006] == b"CD001":
        return FileKind.ARCHIVE
    # A pickle begins with its protocol and ends with a stop.
    if data[:1] == b"\x80" and data[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return FileKind.DOCUMENT
    return FileKind.OTHER


def is_python_bytecode(data: bytes) -> bool:
    """Whether `data` begins as CPython writes its compiled files."""
    number = int.from_bytes(data[:2], "little")
    return data[2:4] == b"\r\n" and (number in _CPYTHON or number == _CPYTHON_2) and b"\x00" in data


def _is_portable_executable(data: bytes) -> bool:
    if data[:2] != b"MZ":
        return False
    header = int.from_bytes(data[60:64], "little")
    # A text may begin with these two letters; a program has zeros soon after.
    return data[header : header + 4] == b"PE\x00\x00" or b"\x00\x00" in data[:64]


_MIB = 1024 * 1024


_UNREADABLE = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, OSError, EOFError),
    *(ValueError, RuntimeError, NotImplementedError, OverflowError),
)


@dataclass(slots=True)
class UnpackBudget:
    """How much may still be unpacked; shared by all archives of a skill."""

    entries: int = 1000
    total: int = 16 * _MIB
    each: int = 4 * _MIB
    # Why something was not looked into.
    problems: list[str] = field(default_factory=list)

    def room(self) -> int:
        """Return how many bytes the next member may have."""
        return max(min(self.each, self.total), 0)


def read_members(data: bytes, kind: FileKind, budget: UnpackBudget) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of each member that fits; what does not is named in the problems."""
    try:
        if kind is FileKind.ZIP:
            yield from _zip_members(data, budget)
        elif kind is FileKind.TAR:
            yield from _tar_members(data, budget)
        elif kind is FileKind.PACKED:
            yield from _unpack_one(data, budget)
        else:
            budget.problems.append("its format cannot be opened")
    except _UNREADABLE as error:
        # Broken on purpose or not: the operator hears that it could not be read.
        budget.problems.append(f"it cannot be read ({type(error).__name__})")


def _zip_members(data: bytes, budget: UnpackBudget) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for entry in archive.infolist():
            if entry.is_dir():
                continue
            if not _admits(budget, entry.filename):
                return
            if entry.flag_bits & 1:
                budget.problems.append("it is locked by a password")
                continue
            with archive.open(entry) as member:
                yield from _take_bounded(entry.filename, member.read(budget.room() + 1), budget)


def _tar_members(data: bytes, budget: UnpackBudget) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        for entry in archive:
            if entry.isdir():
                continue
            if not _admits(budget, entry.name):
                return
            member = archive.extractfile(entry) if entry.isfile() else None
            if member is None:
                budget.problems.append("it holds a link or a device")
                continue
            yield from _take_bounded(entry.name, member.read(budget.room() + 1), budget)


def _unpack_one(data: bytes, budget: UnpackBudget) -> Iterator[tuple[str, bytes]]:
    room = budget.room() + 1
    if data[:2] == b"\x1f\x8b":
        plain = zlib.decompressobj(31).decompress(data, room)
    elif data[:3] == b"BZh":
        plain = bz2.BZ2Decompressor().decompress(data, room)
    else:
        plain = lzma.LZMADecompressor(memlimit=64 * _MIB).decompress(data, room)
    if detect_kind(plain) is FileKind.TAR:
        yield from _tar_members(plain, budget)
        return
    yield from _take_bounded("content", plain, budget)


def _admits(budget: UnpackBudget, name: str) -> bool:
    budget.entries -= 1
    if budget.entries >= 0 and name:
        return True
    budget.problems.append("it has too many members")
    return False


def _take_bounded(name: str, data: bytes, budget: UnpackBudget) -> Iterator[tuple[str, bytes]]:
    if len(data) > budget.room():
        budget.problems.append("it unpacks to more than may be looked into")
        return
    budget.total -= len(data)
    yield name, data
