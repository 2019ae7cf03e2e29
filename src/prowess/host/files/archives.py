"""Reading a zip from memory in the one way that no other reader could read differently.

A zip says most things twice, and readers differ in which they believe. Here both must agree, and
the file must be tiled: entries from the first byte on, each beginning where the last one ends, then
the directory, then the end. Overlapping entries, hidden data and zips behind other files fall out.

Unpacking an archive that a stranger packed: all of it, or nothing.

The file is read once, whole and bounded; its hash, its names and its members all come from those
bytes, so nobody can change it between check and use. All names are judged before any member is
unpacked, and all members before anything is written. An archive inside an archive stays a file.
"""

import hashlib
import io
import os
import secrets
import stat
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

from prowess.errors import ArchiveError, PathError
from prowess.host.files import tar as archive_tar
from prowess.host.files.containment import TEMPORARY_PREFIX, Root
from prowess.host.files.tar import (
    ArchiveLimits,
    Entry,
    Listing,
    check_count,
    check_mode,
    decode_name,
    refuse,
)
from prowess.safety.paths import PathRefused, check_all, shown

MAGIC = b"PK\x03\x04"
_END = struct.Struct("<4s4H2LH")
_END_MAGIC = b"PK\x05\x06"
_END64 = struct.Struct("<4sQ2H2L4Q")
_END64_MAGIC = b"PK\x06\x06"
_LOCATOR = struct.Struct("<4sLQL")
_LOCATOR_MAGIC = b"PK\x06\x07"
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_CENTRAL_MAGIC = b"PK\x01\x02"
_LOCAL = struct.Struct("<4s5H3L2H")
_DESCRIPTOR_MAGIC = b"PK\x07\x08"
_STORED, _DEFLATED = 0, 8
_ENCRYPTED, _DESCRIBED = 0x0041 | 0x2000, 0x0008
_PATCHED, _UTF8 = 0x0020, 0x0800
_COMPARED_FLAGS = _ENCRYPTED | _DESCRIBED | _PATCHED | _UTF8
_FULL16, _FULL32 = 0xFFFF, 0xFFFFFFFF
_ZIP64, _UNICODE_PATH = 0x0001, 0x7075
_DOS_FOLDER, _DOS_REPARSE = 0x10, 0x400


class _Record(NamedTuple):
    """One row of the directory."""

    name: str
    raw_name: bytes
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    attributes: int
    offset: int


class _Directory(NamedTuple):
    """Where the directory lies and how many rows it has."""

    rows: int
    size: int
    offset: int
    end: int


def parse(blob: bytes, limits: ArchiveLimits) -> Listing:
    """Return the entries in the order in which they lie in the file.

    Raises:
        ArchiveError: the file is not a plain zip, or says one thing here and another there.
    """
    try:
        directory = _find_directory(blob)
        check_count(directory.rows, limits)
        records = sorted(_records(blob, directory), key=lambda record: record.offset)
        ends = [*(record.offset for record in records[1:]), directory.offset]
        if records and records[0].offset != 0:
            refuse("", "prepended", "has other data before its first entry.")
        entries = [_entry(blob, record, end) for record, end in zip(records, ends, strict=True)]
    except struct.error:
        refuse("", "truncated", "ends in the middle of a header.")
    # Each entry was compared with its second description already.
    return Listing(entries, lambda: None)


def _find_directory(blob: bytes) -> _Directory:
    at = blob.rfind(_END_MAGIC, max(0, len(blob) - _END.size - _FULL16))
    if at < 0:
        refuse("", "trailing-data", "has no end record where a zip ends.")
    _, disk, first_disk, here, count, size, offset, comment = _END.unpack_from(blob, at)
    if at + _END.size + comment != len(blob):
        refuse("", "trailing-data", "has data after its end record.")
    if disk not in {0, _FULL16} or first_disk not in {0, _FULL16} or here != count:
        refuse("", "multi-disk", "is one part of several.")
    found = _Directory(count, size, offset, at)
    locator = at - _LOCATOR.size
    if locator >= 0 and blob.startswith(_LOCATOR_MAGIC, locator):
        found = _widen(blob, found, locator)
    if found.offset + found.size != found.end:
        refuse("", "directory", "has a directory that is not right before its end.")
    return found


def _widen(blob: bytes, found: _Directory, locator: int) -> _Directory:
    """Return what the 64-bit record says, which must not contradict the short one."""
    _, disk, at, disks = _LOCATOR.unpack_from(blob, locator)
    if disk != 0 or disks > 1:
        refuse("", "multi-disk", "is one part of several.")
    if at + _END64.size != locator or not blob.startswith(_END64_MAGIC, at):
        refuse("", "zip64", "has a 64-bit record in a strange place.")
    _, length, _, _, disk, first, here, count, size, offset = _END64.unpack_from(blob, at)
    honest = length == _END64.size - 12 and disk == first == 0 and here == count
    pairs = ((found.rows, count), (found.size, size), (found.offset, offset))
    fulls = (_FULL16, _FULL32, _FULL32)
    agree = all(short in {full, long} for (short, long), full in zip(pairs, fulls, strict=True))
    if not (honest and agree):
        refuse("", "zip64", "has a 64-bit record that contradicts the short one.")
    return _Directory(count, size, offset, at)


def _records(blob: bytes, directory: _Directory) -> Iterator[_Record]:
    at = directory.offset
    for _ in range(directory.rows):
        (magic, _, _, flags, method, _, _, crc, packed, size, names, extras, comments, disk, _,
         attributes, offset) = _CENTRAL.unpack_from(blob, at)  # fmt: skip
        if magic != _CENTRAL_MAGIC:
            refuse("", "directory", "has a broken directory.")
        at += _CENTRAL.size
        raw_name = blob[at : at + names]
        name = decode_name(raw_name)
        extra = _extra_fields(name, blob[at + names : at + names + extras])
        wide = _widened(name, extra.get(_ZIP64), (size, packed, offset))
        if disk != 0:
            refuse(name, "multi-disk", "lies on another disk.")
        _check_second_name(name, extra.get(_UNICODE_PATH))
        at += names + extras + comments
        size, packed, offset = wide
        yield _Record(name, raw_name, flags, method, crc, packed, size, attributes, offset)
    if at != directory.end:
        refuse("", "directory", "has a directory of another length than it says.")


def _extra_fields(name: str, data: bytes) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    at = 0
    while at + 4 <= len(data):
        kind, length = struct.unpack_from("<2H", data, at)
        at += 4
        if at + length > len(data) or (kind in found and kind in {_ZIP64, _UNICODE_PATH}):
            refuse(name, "extra-field", "has a broken or doubled extra field.")
        found[kind] = data[at : at + length]
        at += length
    # Some writers pad with zeros; anything else is a field cut short.
    if any(data[at:]):
        refuse(name, "extra-field", "has a broken extra field.")
    return found


def _widened(name: str, field: bytes | None, values: Sequence[int]) -> list[int]:
    """Return the values with those that did not fit taken from the 64-bit field."""
    missing = [index for index, value in enumerate(values) if value == _FULL32]
    if field is None and not missing:
        return list(values)
    if field is None or len(field) != 8 * len(missing):
        refuse(name, "zip64", "has 64-bit sizes that do not fit its short ones.")
    wide = list(values)
    for index, value in zip(missing, struct.unpack(f"<{len(missing)}Q", field), strict=True):
        wide[index] = value
    return wide


def _check_second_name(name: str, field: bytes | None) -> None:
    """Refuse the field by which some readers call a member otherwise."""
    if field is not None and field[5:] != name.encode():
        refuse(name, "name-mismatch", "has a second name in an extra field.")


def _entry(blob: bytes, record: _Record, end: int) -> Entry:
    name = record.name
    if record.flags & _ENCRYPTED:
        refuse(name, "encrypted", "is encrypted.")
    if record.method not in {_STORED, _DEFLATED} or record.flags & _PATCHED:
        refuse(name, "compression", f"is packed by method {record.method}; use deflate.")
    is_folder = name.endswith("/")
    executable = _check_kind(record, is_folder=is_folder)
    start = _check_local(blob, record)
    _check_extent(blob, record, start + record.packed, end)

    def read() -> bytes:
        return _unpack(record, blob[start : start + record.packed])

    return Entry(
        name=name,
        is_folder=is_folder,
        executable=executable,
        size=record.size,
        packed=record.packed,
        read=read,
    )


def _check_kind(record: _Record, *, is_folder: bool) -> bool:
    """Refuse all but plain files and folders; return whether it may be run."""
    mode = record.attributes >> 16
    kind = stat.S_IFMT(mode)
    if kind == stat.S_IFLNK or record.attributes & _DOS_REPARSE:
        refuse(record.name, "link", "is a link.")
    if kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
        refuse(record.name, "special-file", "is a device, pipe or socket.")
    is_marked = kind == stat.S_IFDIR or bool(record.attributes & _DOS_FOLDER)
    if (is_marked and not is_folder) or (is_folder and record.size):
        refuse(record.name, "kind-mismatch", "is a file by its name or size, and a folder too.")
    check_mode(record.name, mode)
    return bool(mode & 0o111)


def _check_local(blob: bytes, record: _Record) -> int:
    """Compare the header in front of the data with the directory; return where the data begins."""
    name = record.name
    if not blob.startswith(MAGIC, record.offset):
        refuse(name, "local-header", "has no header where the directory says.")
    _, _, flags, method, _, _, crc, packed, size, names, extras = _LOCAL.unpack_from(
        blob, record.offset
    )
    at: int = record.offset + _LOCAL.size
    if blob[at : at + names] != record.raw_name:
        refuse(name, "name-mismatch", "has another name in front of its data.")
    if method != record.method or (flags ^ record.flags) & _COMPARED_FLAGS:
        refuse(name, "header-mismatch", "is described in two ways.")
    extra = _extra_fields(name, blob[at + names : at + names + extras])
    _check_second_name(name, extra.get(_UNICODE_PATH))
    size, packed = _widened(name, extra.get(_ZIP64), (size, packed))
    said = (crc, packed, size)
    known = (record.crc, record.packed, record.size)
    # A described entry leaves its sizes open here; what it does say must hold.
    open_values = {0} if flags & _DESCRIBED else set()
    if any(one != other and one not in open_values for one, other in zip(said, known, strict=True)):
        refuse(name, "size-mismatch", "has another size or checksum in front of its data.")
    return at + int(names) + int(extras)


def _check_extent(blob: bytes, record: _Record, data_end: int, end: int) -> None:
    if data_end > end:
        refuse(record.name, "overlap", "overlaps what comes after it.")
    rest = blob[data_end:end]
    if not record.flags & _DESCRIBED:
        if rest:
            refuse(record.name, "hidden-data", "is followed by data that belongs to no entry.")
        return
    short = struct.pack("<3L", record.crc, record.packed & _FULL32, record.size & _FULL32)
    long = struct.pack("<LQQ", record.crc, record.packed, record.size)
    if rest not in {short, long, _DESCRIPTOR_MAGIC + short, _DESCRIPTOR_MAGIC + long}:
        refuse(record.name, "hidden-data", "is followed by something else than its description.")


def _unpack(record: _Record, data: bytes) -> bytes:
    if record.method == _DEFLATED:
        data = _inflate(record, data)
    if len(data) != record.size or zlib.crc32(data) != record.crc:
        refuse(record.name, "size-mismatch", "is not what its size and checksum say.")
    return data


def _inflate(record: _Record, data: bytes) -> bytes:
    engine = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        unpacked = engine.decompress(data, record.size + 1)
        if len(unpacked) <= record.size and not engine.eof:
            unpacked += engine.decompress(engine.unconsumed_tail, 1)
    except zlib.error:
        refuse(record.name, "corrupt", "cannot be unpacked.")
    if len(unpacked) > record.size:
        refuse(record.name, "size-mismatch", "unpacks to more than it says.")
    if not engine.eof or engine.unused_data or engine.unconsumed_tail:
        refuse(record.name, "corrupt", "has more or less packed data than it needs.")
    return unpacked


__all__ = ["Archive", "ArchiveLimits", "Member", "extract", "read_archive"]

DEFAULT_LIMITS = ArchiveLimits()
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_CHUNK = 1 << 20

Scan = Callable[[Mapping[str, bytes]], None]


@dataclass(frozen=True, slots=True)
class Member:
    """One file of an archive, at its place below the folder it is unpacked to."""

    path: str
    data: bytes
    executable: bool


@dataclass(frozen=True, slots=True)
class Archive:
    """The files of an archive in its own order, and the hash of the archive itself."""

    members: tuple[Member, ...]
    sha256: str


def read_archive(file: BinaryIO, limits: ArchiveLimits = DEFAULT_LIMITS, strip: int = 0) -> Archive:
    """Return all files of a zip or tar, without the first `strip` folders of each path.

    Raises:
        ArchiveError: the archive or a member breaks a rule.
    """
    blob = _read_bounded(file, limits.compressed)
    entries, confirm = _parse(blob, limits)
    paths = _paths(entries, limits, strip)
    _check_sizes(entries, len(blob), limits)
    confirm()
    members = [
        Member(path, entry.read(), entry.executable)
        for entry, path in zip(entries, paths, strict=True)
        if path and not entry.is_folder
    ]
    if not members:
        refuse("", "empty", "holds no file.")
    return Archive(tuple(members), hashlib.sha256(blob).hexdigest())


def extract(
    archive_path: Path | str,
    root: Root | Path,
    limits: ArchiveLimits = DEFAULT_LIMITS,
    strip: int = 0,
    *,
    scan: Scan | None = None,
) -> tuple[str, ...]:
    """Unpack an archive into a folder, over nothing that is there, and return the paths.

    A folder that does not exist yet appears in one step. `scan` gets the files before any of them
    is written and refuses them by raising.

    Raises:
        ArchiveError: the archive or a member breaks a rule.
        PathError: the archive cannot be read, or something is in the way.
    """
    with _open(archive_path) as file:
        archive = read_archive(file, limits, strip)
    if scan is not None:
        scan({member.path: member.data for member in archive.members})
    if isinstance(root, Root):
        _add(root, archive.members)
    elif os.path.lexists(root):
        with Root.open(root) as opened:
            _add(opened, archive.members)
    else:
        whole = Path(os.path.abspath(root))
        with Root.open(whole.parent, create=True) as opened:
            _place(opened, archive.members, {"": whole.name})
    return tuple(member.path for member in archive.members)


def _open(path: Path | str) -> BinaryIO:
    try:
        file = os.fdopen(os.open(path, _FLAGS), "rb")
    except (OSError, ValueError) as error:
        raise PathError(shown(str(path)), f"cannot be opened: {error}.") from error
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise PathError(shown(str(path)), "is not a regular file.")
    return file


def _read_bounded(file: BinaryIO, limit: int) -> bytes:
    found = io.BytesIO()
    while found.tell() <= limit and (chunk := file.read(_CHUNK)):
        found.write(chunk)
    if found.tell() > limit:
        refuse("", "compressed", f"is larger than {limit} bytes.")
    return found.getvalue()


def _parse(blob: bytes, limits: ArchiveLimits) -> Listing:
    if blob.startswith(MAGIC):
        return parse(blob, limits)
    if not archive_tar.is_tar(blob):
        refuse("", "archive-format", "is neither a zip nor a tar, or has data before it.")
    return archive_tar.parse(blob, limits)


def _paths(entries: Sequence[Entry], limits: ArchiveLimits, strip: int) -> list[str]:
    """Return where each entry goes, empty for a folder that is stripped away.

    The names are judged as they are in the archive and once more without their first folders:
    neither may hide what the other shows.
    """
    names = [_plain_name(entry) for entry in entries]
    _check_names(entries, names, limits)
    if not strip:
        return names
    stripped = ["/".join(name.split("/")[strip:]) for name in names]
    for entry, name in zip(entries, stripped, strict=True):
        if not name and not entry.is_folder:
            refuse(entry.name, "strip", f"does not lie inside {strip} folders.")
    _check_names(entries, stripped, limits)
    return stripped


def _plain_name(entry: Entry) -> str:
    """Return the name without the `./` that `tar -C folder .` writes and the slash of a folder."""
    if "\\" in entry.name:
        refuse(entry.name, "backslash", "has a backslash in its name.")
    name = entry.name.removesuffix("/") if entry.is_folder else entry.name
    if entry.is_folder and name == ".":
        return ""
    if not name:
        refuse(entry.name, "absolute", "is the top of the file system.")
    return name.removeprefix("./")


def _check_names(entries: Sequence[Entry], names: Sequence[str], limits: ArchiveLimits) -> None:
    pairs = [pair for pair in zip(entries, names, strict=True) if pair[1]]
    files = [name for entry, name in pairs if not entry.is_folder]
    folders = [name for entry, name in pairs if entry.is_folder]
    try:
        check_all(files, folders=folders, max_depth=limits.depth)
    except PathRefused as error:
        raise ArchiveError(shown(error.path), error.reason, error.problem) from error


def _check_sizes(entries: Sequence[Entry], compressed: int, limits: ArchiveLimits) -> None:
    total = 0
    for entry in entries:
        total += entry.size
        if entry.size > limits.per_file:
            refuse(entry.name, "per-file", f"is larger than {limits.per_file} bytes.")
        if entry.size > max(limits.small, limits.ratio * entry.packed):
            refuse(entry.name, "ratio", f"unpacks to more than {limits.ratio} times its size.")
    if total > limits.total:
        refuse("", "total", f"unpacks to more than {limits.total} bytes.")
    if total > max(limits.small, limits.ratio * compressed):
        refuse("", "ratio", f"unpacks to more than {limits.ratio} times its size.")


def _add(root: Root, members: Sequence[Member]) -> None:
    """Put the files into a folder that exists."""
    tops = dict.fromkeys(member.path.partition("/")[0] for member in members)
    for top in tops:
        if root.exists(top):
            raise PathError(shown(top), "exists already: remove it or choose another folder.")
    _place(root, members, {top: top for top in tops})


def _place(root: Root, members: Sequence[Member], moves: Mapping[str, str]) -> None:
    """Write the files where only we look, then move them into place; undo it all on a failure."""
    staging = f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}"
    root.make_folder(staging, mode=0o700)
    done: list[str] = []
    try:
        root.make_folder(f"{staging}/tree")
        with root.inside(f"{staging}/tree") as tree:
            for member in members:
                mode = 0o755 if member.executable else 0o644
                tree.write(member.path, member.data, mode=mode, exclusive=True)
        for source, target in moves.items():
            root.rename(f"{staging}/tree/{source}".removesuffix("/"), target)
            done.append(target)
    except BaseException:
        for target in done:
            with suppress(PathError):
                root.remove_tree(target)
        raise
    finally:
        root.remove_tree(staging)
