"""Look into an archive in memory, within bounds; nothing is ever unpacked to a disk."""

import bz2
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from prowess.safety.intake.filetypes import Kind, kind_of

_MIB = 1024 * 1024


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


def members(data: bytes, kind: Kind, budget: UnpackBudget) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of each member that fits; what does not is named in the problems."""
    try:
        if kind is Kind.ZIP:
            yield from _zip_members(data, budget)
        elif kind is Kind.TAR:
            yield from _tar_members(data, budget)
        elif kind is Kind.PACKED:
            yield from _packed(data, budget)
        else:
            budget.problems.append("its format cannot be opened")
    except (
        zipfile.BadZipFile,
        tarfile.TarError,
        zlib.error,
        lzma.LZMAError,
        OSError,
        EOFError,
        ValueError,
        RuntimeError,
        NotImplementedError,
        OverflowError,
    ) as error:
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
                yield from _bounded(entry.filename, member.read(budget.room() + 1), budget)


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
            yield from _bounded(entry.name, member.read(budget.room() + 1), budget)


def _packed(data: bytes, budget: UnpackBudget) -> Iterator[tuple[str, bytes]]:
    room = budget.room() + 1
    if data[:2] == b"\x1f\x8b":
        plain = zlib.decompressobj(31).decompress(data, room)
    elif data[:3] == b"BZh":
        plain = bz2.BZ2Decompressor().decompress(data, room)
    else:
        plain = lzma.LZMADecompressor(memlimit=64 * _MIB).decompress(data, room)
    if kind_of(plain) is Kind.TAR:
        yield from _tar_members(plain, budget)
        return
    yield from _bounded("content", plain, budget)


def _admits(budget: UnpackBudget, name: str) -> bool:
    budget.entries -= 1
    if budget.entries >= 0 and name:
        return True
    budget.problems.append("it has too many members")
    return False


def _bounded(name: str, data: bytes, budget: UnpackBudget) -> Iterator[tuple[str, bytes]]:
    if len(data) > budget.room():
        budget.problems.append("it unpacks to more than may be looked into")
        return
    budget.total -= len(data)
    yield name, data
