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
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache

from prowess.data import read_table

_MIB = 1024 * 1024
# How each kind of picture begins, the mark of its end, and how many bytes follow that mark.
_PICTURES = ((b"\x89PNG", b"IEND", 4), (b"\xff\xd8", b"\xff\xd9", 0), (b"GIF8", b"\x00;", 0))
_STARTS = (b"RIFF", *(start for start, _, _ in _PICTURES))
_PACKED = re.compile(
    rb"(?:zTXt[^\x00]{1,79}|iTXt[^\x00]{1,79}\x00\x01\x00[^\x00]{0,99}\x00[^\x00]{0,99})\x00\x00?"
)
_MOST_TEXT = 256 * 1024
_WORDS = re.compile(rb"(?:[\t\n\r -~]|[\xc2-\xf4][\x80-\xbf]{1,3}){24,}")


def find_end(data: bytes) -> int:
    """Return the offset behind the picture; where no end is marked, behind its first bytes."""
    if data[:4] == b"RIFF":
        return min(len(data), 8 + int.from_bytes(data[4:8], "little"))
    for start, mark, behind in _PICTURES:
        if data.startswith(start):
            at = data.rfind(mark)
            return at + len(mark) + behind if at >= 0 else len(start)
    return len(data)


def read_metadata(data: bytes) -> str:
    """Return the readable texts that a picture carries, the packed ones too, one a line."""
    if not data.startswith(_STARTS):
        return ""
    found = [data]
    for hit in _PACKED.finditer(data):
        # What is not packed after all is read as it is.
        with suppress(zlib.error):
            found.append(zlib.decompressobj().decompress(data[hit.end() :], _MOST_TEXT))
    return find_readable(b"\0".join(found), len(data) + _MOST_TEXT)


def find_readable(data: bytes, most: int = _MOST_TEXT) -> str:
    """Return the runs of readable characters in `data`, one a line."""
    runs = _WORDS.findall(data[:most])
    return "\n".join(run.decode("utf-8", "replace").strip() for run in runs if run.strip())


def unpack(data: bytes, most: int) -> bytes:
    """Return what a compressed stream holds, up to a bound; other bytes as they are.

    Raises:
        zlib.error, OSError, EOFError, lzma.LZMAError: the stream is broken.
    """
    if data[:2] == b"\x1f\x8b":
        return zlib.decompressobj(31).decompress(data, most)
    if data[:1] == b"\x78" and data[1:2] in b"\x01\x5e\x9c\xda":
        return zlib.decompressobj().decompress(data, most)
    if data[:3] == b"BZh":
        return bz2.BZ2Decompressor().decompress(data, most)
    if data[:5] in (b"\xfd7zXZ", b"\x5d\x00\x00\x00\x04", b"\x5d\x00\x00\x80\x00"):
        return lzma.LZMADecompressor(memlimit=64 * _MIB).decompress(data, most)
    return data


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
    plain = unpack(data, budget.room() + 1)
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
