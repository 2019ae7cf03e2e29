"""Archives that a stranger packed: all of one is read, or nothing.

An archive is read once, whole and bounded, by the standard library. All names are judged before any
member is unpacked, and all members before anything is written; what is written are the bytes that
were judged, so a second reader who would see another archive in the same file changes nothing. An
archive inside an archive stays a file.
"""

import bz2
import hashlib
import io
import lzma
import os
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from prowess.errors import ArchiveError, PathError
from prowess.host.files.containment import Root
from prowess.host.files.transaction import staging, write_files
from prowess.safety.paths import MAX_DEPTH, PathRefused, check_all, shown

_MIB = 1 << 20
_SPECIAL_BITS = stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX
_ZIP, _ZIP_ROW, _ZIP_END, _ZIP_END_BYTES = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", 22
_ZIP_LOCAL_BYTES, _ZIP_ENCRYPTED, _DOS_FOLDER, _DOS_REPARSE = 30, 0x0041 | 0x2000, 0x10, 0x400
# Rows of a directory that may be looked at for each entry that is allowed: archives inside count.
_ROWS_EACH = 10
_CHUNK, _STEP, _MOST_STREAMS, _TAR_BLOCK = 1 << 16, _MIB, 1000, 512
_MOST_EXTENSION = _MIB
# Older Pythons search such an extension in quadratic time.
_LONG_NUMBER = re.compile(rb"[0-9]{65}")
_EXTENSIONS = frozenset((b"x", b"X", b"g", b"L"))
_TAR_REFUSED = {
    b"1": ("link", "is a hard link."),
    b"2": ("link", "is a link."),
    b"K": ("link", "is a link."),
    b"S": ("sparse", "is a sparse file."),
}
_PACKINGS: tuple[tuple[bytes, Callable[[], Any]], ...] = (
    (b"\x1f\x8b", lambda: zlib.decompressobj(zlib.MAX_WBITS | 16)),
    (b"BZh", bz2.BZ2Decompressor),
    # An xz stream says itself how much memory its reader needs, up to gigabytes.
    (b"\xfd7zXZ\0", lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, 128 * _MIB)),
)
_OPENING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)

Scan = Callable[[Mapping[str, bytes]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveLimits:
    """How much one archive may hold. The operator may raise each."""

    compressed: int = 64 * _MIB
    total: int = 256 * _MIB
    per_file: int = 32 * _MIB
    entries: int = 5000
    # Bytes out for each byte in; what unpacks to no more than `small` is not measured.
    ratio: int = 100
    small: int = _MIB
    depth: int = MAX_DEPTH


DEFAULT_LIMITS = ArchiveLimits()


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """One file of an archive, at its place below the folder it is unpacked to."""

    path: str
    content: bytes
    executable: bool


@dataclass(frozen=True, slots=True)
class Archive:
    """The files of an archive in its own order, and the hash of the archive itself."""

    members: tuple[ArchiveMember, ...]
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """One entry as its archive describes it."""

    name: str
    is_folder: bool
    mode: int
    size: int
    packed: int
    read: Callable[[], bytes]


def read_archive(file: BinaryIO, limits: ArchiveLimits = DEFAULT_LIMITS, strip: int = 0) -> Archive:
    """Return all files of a zip or tar, without the first `strip` folders of each path.

    Raises:
        ArchiveError: the archive or a member breaks a rule.
    """
    blob = _read_bounded(file, limits.compressed)
    with _refuse_damage():
        entries = _list_zip(blob, limits) if blob.startswith(_ZIP) else _list_tar(blob, limits)
        paths = _find_paths(entries, limits, strip)
        _check_sizes(entries, len(blob), limits)
        members = [
            ArchiveMember(path, _read_entry(entry), bool(entry.mode & 0o111))
            for entry, path in zip(entries, paths, strict=True)
            if path and not entry.is_folder
        ]
    if not members:
        _refuse("", "empty", "holds no file.")
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
        scan({member.path: member.content for member in archive.members})
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


def _refuse(member: str, reason: str, problem: str) -> NoReturn:
    """Refuse the whole archive because of one member, or of itself where `member` is empty."""
    raise ArchiveError(shown(member), reason, problem)


@contextmanager
def _refuse_damage() -> Iterator[None]:
    """Refuse what the standard library cannot read, whatever it raises about it."""
    try:
        yield
    except UnicodeDecodeError as error:
        name = error.object.decode("latin-1")
        raise ArchiveError(shown(name), "name-encoding", "has a name that is not UTF-8.") from None
    except (
        *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
        *(OSError, EOFError, ValueError, OverflowError, MemoryError, RecursionError),
        NotImplementedError,
    ):
        raise ArchiveError("", "corrupt", "cannot be unpacked.") from None


def _list_zip(blob: bytes, limits: ArchiveLimits) -> list[_Entry]:
    # The library reads the whole directory before anybody can count it.
    if blob.count(_ZIP_ROW) > _ROWS_EACH * limits.entries:
        _refuse("", "entries", f"has more than {limits.entries} entries.")
    # Not closed: entries are read from it later, and it is memory only.
    archive = zipfile.ZipFile(io.BytesIO(blob), metadata_encoding="utf-8")
    rows = archive.infolist()
    if len(rows) > limits.entries:
        _refuse("", "entries", f"has more than {limits.entries} entries.")
    if not blob.startswith(_ZIP_END, len(blob) - _ZIP_END_BYTES - len(archive.comment)):
        _refuse("", "trailing-data", "has data after its end record.")
    _check_overlaps(rows, archive.start_dir)
    return [_zip_entry(archive, row) for row in rows]


def _check_overlaps(rows: Sequence[zipfile.ZipInfo], end: int) -> None:
    """Refuse entries that share their data, which is how small zips become large ones."""
    ordered = sorted(rows, key=lambda row: row.header_offset)
    ends = [*(row.header_offset for row in ordered[1:]), end]
    if ordered and ordered[0].header_offset != 0:
        _refuse("", "prepended", "has other data before its first entry.")
    for row, limit in zip(ordered, ends, strict=True):
        name_bytes = len(row.orig_filename.encode("utf-8", "surrogatepass"))
        if row.header_offset + _ZIP_LOCAL_BYTES + name_bytes + row.compress_size > limit:
            _refuse(row.orig_filename, "overlap", "overlaps what comes after it.")


def _zip_entry(archive: zipfile.ZipFile, row: zipfile.ZipInfo) -> _Entry:
    # As it is written: the other name ends at a zero and is cleaned up on some systems.
    name, mode = row.orig_filename, row.external_attr >> 16
    kind, is_folder = stat.S_IFMT(mode), name.endswith("/")
    if row.flag_bits & _ZIP_ENCRYPTED:
        _refuse(name, "encrypted", "is encrypted.")
    if row.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        _refuse(name, "compression", f"is packed by method {row.compress_type}; use deflate.")
    if kind == stat.S_IFLNK or row.external_attr & _DOS_REPARSE:
        _refuse(name, "link", "is a link.")
    if kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
        _refuse(name, "special-file", "is a device, pipe or socket.")
    is_marked = kind == stat.S_IFDIR or bool(row.external_attr & _DOS_FOLDER)
    if (is_marked and not is_folder) or (is_folder and row.file_size):
        _refuse(name, "kind-mismatch", "is a file by its name or size, and a folder too.")

    def read() -> bytes:
        with archive.open(row) as member:
            return member.read(row.file_size + 1)

    return _Entry(
        name=name,
        is_folder=is_folder,
        mode=mode,
        size=row.file_size,
        packed=row.compress_size,
        read=read,
    )


class _PlainHeader(tarfile.TarInfo):
    """A header of a tar of plain files and folders; any other is refused before it has effects."""

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> "_PlainHeader":
        """Read the next header, an extension's too."""
        file = archive.fileobj
        at = file.tell()
        header = cls.frombuf(file.read(_TAR_BLOCK), "utf-8", "surrogateescape")
        _check_header(header)
        if header.type in _EXTENSIONS and _LONG_NUMBER.search(file.read(header.size)):
            _refuse(header.name, "extension", "has an extension with an endless number.")
        file.seek(at)
        return super().fromtarfile(archive)


def _check_header(header: tarfile.TarInfo) -> None:
    if header.type in _TAR_REFUSED:
        _refuse(header.name, *_TAR_REFUSED[header.type])
    # An older Python follows a negative size backwards, for ever.
    if header.size < 0:
        _refuse(header.name, "tar-number", "has a negative size.")
    if header.type in _EXTENSIONS:
        if header.size > _MOST_EXTENSION:
            _refuse(header.name, "extension", "has an extension that is too long.")
    elif header.type not in {tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE}:
        _refuse(header.name, "special-file", "is neither a file nor a folder.")
    elif header.isdir() and header.size:
        _refuse(header.name, "kind-mismatch", "is a folder that holds data.")


def _list_tar(blob: bytes, limits: ArchiveLimits) -> list[_Entry]:
    data = _unpack_streams(blob, limits)
    if data is blob and blob[257:262] != b"ustar":
        _refuse("", "archive-format", "is neither a zip nor a tar, or has data before it.")
    archive = tarfile.TarFile(fileobj=io.BytesIO(data), tarinfo=_PlainHeader, encoding="utf-8")
    entries: list[_Entry] = []
    for member in archive:
        if len(entries) >= limits.entries:
            _refuse("", "entries", f"has more than {limits.entries} entries.")
        entries.append(_tar_entry(archive, member))
    # A header that cannot be read ends the list without a word, as the end mark does.
    if archive.offset >= len(data):
        _refuse("", "truncated", "ends without an end mark.")
    if any(memoryview(data)[archive.offset :]):
        _refuse("", "trailing-data", "has data after its end.")
    return entries


def _tar_entry(archive: tarfile.TarFile, member: tarfile.TarInfo) -> _Entry:
    # An extension may have changed what the header said.
    if member.size < 0 or (member.isdir() and member.size):
        _refuse(member.name, "size-mismatch", "has a size that cannot be.")
    if any(key.startswith("GNU.sparse") for key in member.pax_headers):
        _refuse(member.name, "sparse", "is a sparse file.")
    # git keeps the commit in a comment on the whole; all else would speak for other members.
    if archive.pax_headers.keys() - {"comment"}:
        _refuse(member.name, "global-header", "is described for every member at once.")
    if "linkpath" in member.pax_headers:
        _refuse(member.name, "link", "is a link.")
    if not member.name.isascii():
        # Bytes that are no text were turned into something that no text holds.
        member.name.encode("utf-8", "surrogateescape").decode()

    def read() -> bytes:
        found = archive.extractfile(member)
        return b"" if found is None else found.read(member.size + 1)

    return _Entry(
        name=member.name,
        is_folder=member.isdir(),
        mode=member.mode,
        size=member.size,
        packed=member.size,
        read=read,
    )


def _unpack_streams(blob: bytes, limits: ArchiveLimits) -> bytes:
    """Return the tar inside a packed one, which may be several parts one after the other."""
    magic, start = next((pair for pair in _PACKINGS if blob.startswith(pair[0])), (b"", None))
    if start is None:
        return blob
    most = limits.total + 4 * _TAR_BLOCK * limits.entries + _STEP
    found, source, streams = bytearray(), io.BytesIO(blob), 0
    while source.tell() < len(blob):
        streams += 1
        if streams > _MOST_STREAMS:
            _refuse("", "corrupt", f"has more than {_MOST_STREAMS} packed parts.")
        if not blob.startswith(magic, source.tell()):
            _refuse("", "trailing-data", "has other data behind its packed part.")
        for piece in _unpack_stream(start(), source):
            found += piece
            if len(found) > limits.ratio * len(blob) + limits.small:
                _refuse("", "ratio", f"unpacks to more than {limits.ratio} times its size.")
            if len(found) > most:
                _refuse("", "total", f"unpacks to more than {limits.total} bytes.")
    return bytes(found)


# The three engines of the standard library share no class.
def _unpack_stream(engine: Any, source: io.BytesIO) -> Iterator[bytes]:  # noqa: ANN401
    """Yield what one stream unpacks to, in bounded pieces, and leave `source` at its end."""
    while not engine.eof:
        # gzip's engine returns what it did not take; the two others keep it.
        chunk = getattr(engine, "unconsumed_tail", b"")
        if not chunk and getattr(engine, "needs_input", True):
            chunk = source.read(_CHUNK)
        piece = engine.decompress(chunk, _STEP)
        if not (piece or chunk or engine.eof):
            _refuse("", "truncated", "ends in the middle of its packed part.")
        yield piece
    source.seek(-len(engine.unused_data), io.SEEK_CUR)


def _read_entry(entry: _Entry) -> bytes:
    data = entry.read()
    if len(data) != entry.size:
        _refuse(entry.name, "size-mismatch", "is not as long as it says.")
    return data


def _open(path: Path | str) -> BinaryIO:
    try:
        file = os.fdopen(os.open(path, _OPENING), "rb")
    except (OSError, ValueError) as error:
        raise PathError(shown(str(path)), f"cannot be opened: {error}.") from error
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise PathError(shown(str(path)), "is not a regular file.")
    return file


def _read_bounded(file: BinaryIO, limit: int) -> bytes:
    found = io.BytesIO()
    while found.tell() <= limit and (chunk := file.read(_STEP)):
        found.write(chunk)
    if found.tell() > limit:
        _refuse("", "compressed", f"is larger than {limit} bytes.")
    return found.getvalue()


def _find_paths(entries: Sequence[_Entry], limits: ArchiveLimits, strip: int) -> list[str]:
    """Return where each entry goes, empty for a folder that is stripped away.

    The names are judged as they are in the archive and once more without their first folders:
    neither may hide what the other shows.
    """
    names = [_read_name(entry) for entry in entries]
    _check_names(entries, names, limits)
    if not strip:
        return names
    stripped = ["/".join(name.split("/")[strip:]) for name in names]
    for entry, name in zip(entries, stripped, strict=True):
        if not name and not entry.is_folder:
            _refuse(entry.name, "strip", f"does not lie inside {strip} folders.")
    _check_names(entries, stripped, limits)
    return stripped


def _read_name(entry: _Entry) -> str:
    """Return the name without the `./` that `tar -C folder .` writes and the slash of a folder."""
    if "\\" in entry.name:
        _refuse(entry.name, "backslash", "has a backslash in its name.")
    name = entry.name.removesuffix("/") if entry.is_folder else entry.name
    if entry.is_folder and name == ".":
        return ""
    if not name:
        _refuse(entry.name, "absolute", "is the top of the file system.")
    return name.removeprefix("./")


def _check_names(entries: Sequence[_Entry], names: Sequence[str], limits: ArchiveLimits) -> None:
    pairs = [pair for pair in zip(entries, names, strict=True) if pair[1]]
    files = [name for entry, name in pairs if not entry.is_folder]
    folders = [name for entry, name in pairs if entry.is_folder]
    try:
        check_all(files, folders=folders, max_depth=limits.depth)
    except PathRefused as error:
        raise ArchiveError(shown(error.path), error.reason, error.problem) from error


def _check_sizes(entries: Sequence[_Entry], compressed: int, limits: ArchiveLimits) -> None:
    total = 0
    for entry in entries:
        total += entry.size
        if entry.mode & _SPECIAL_BITS:
            _refuse(entry.name, "mode-bits", "has a setuid, setgid or sticky bit.")
        if entry.size > limits.per_file:
            _refuse(entry.name, "per-file", f"is larger than {limits.per_file} bytes.")
        if entry.size > max(limits.small, limits.ratio * entry.packed):
            _refuse(entry.name, "ratio", f"unpacks to more than {limits.ratio} times its size.")
    if total > limits.total:
        _refuse("", "total", f"unpacks to more than {limits.total} bytes.")
    if total > max(limits.small, limits.ratio * compressed):
        _refuse("", "ratio", f"unpacks to more than {limits.ratio} times its size.")


def _add(root: Root, members: Sequence[ArchiveMember]) -> None:
    """Put the files into a folder that exists."""
    tops = dict.fromkeys(member.path.partition("/")[0] for member in members)
    for top in tops:
        if root.exists(top):
            raise PathError(shown(top), "exists already: remove it or choose another folder.")
    _place(root, members, {top: top for top in tops})


def _place(root: Root, members: Sequence[ArchiveMember], moves: Mapping[str, str]) -> None:
    """Write the files where only we look, then move them into place; undo it all on a failure."""
    done: list[str] = []
    with staging(root) as folder:
        write_files(root, f"{folder}/tree", {member.path: member for member in members})
        try:
            for source, target in moves.items():
                root.rename(f"{folder}/tree/{source}".removesuffix("/"), target)
                done.append(target)
        except BaseException:
            for target in done:
                with suppress(PathError):
                    root.remove_tree(target)
            raise
