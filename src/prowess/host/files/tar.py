"""Reading a tar, packed or not, from memory: plain files and folders, each said in one way.

Only what every reader of tars agrees on is taken. The standard library reads the same bytes a
second time, with its own filter for untrusted data, and must come to the same list.

What the readers of both kinds of archive share: limits, entries, and how one is refused.
"""

import bz2
import io
import lzma
import os
import re
import stat
import tarfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, NoReturn, Protocol

from prowess.errors import ArchiveError
from prowess.safety.paths import MAX_DEPTH, shown

_MIB = 1 << 20
_SPECIAL_BITS = stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry as its archive describes it; `read` returns exactly `size` bytes or refuses."""

    name: str
    is_folder: bool
    executable: bool
    size: int
    packed: int
    read: Callable[[], bytes]


class Listing(NamedTuple):
    """The entries in the order of the file, and a last question before they are believed."""

    entries: Sequence[Entry]
    confirm: Callable[[], None]


def refuse(member: str, reason: str, problem: str) -> NoReturn:
    """Refuse the whole archive because of one member, or of itself where `member` is empty.

    Raises:
        ArchiveError: always.
    """
    raise ArchiveError(shown(member), reason, problem)


def decode_name(raw: bytes) -> str:
    """Return a member's name, which must be UTF-8 whatever the archive says of it."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        refuse(raw.decode("latin-1"), "name-encoding", "has a name that is not UTF-8.")


def check_mode(name: str, mode: int) -> None:
    """Refuse permissions that give more than reading, writing and running."""
    if mode & _SPECIAL_BITS:
        refuse(name, "mode-bits", "has a setuid, setgid or sticky bit.")


def check_count(count: int, limits: ArchiveLimits) -> None:
    """Refuse more entries than the limit."""
    if count > limits.entries:
        refuse("", "entries", f"has more than {limits.entries} entries.")


_BLOCK = 512
_ZEROS = bytes(_BLOCK)
_CHUNK, _STEP = 1 << 16, 1 << 20
_MAX_STREAMS = 1000
_MAX_EXTENSION, _EXTENSIONS_EACH = 1 << 20, 3
# An xz stream says itself how much memory its reader needs, up to gigabytes.
_XZ_MEMORY = 128 << 20
_OCTAL = re.compile(rb" *([0-7]+)[ \0]*|[ \0]*")
_NUMBER = re.compile(r"[1-9][0-9]{0,17}|0")
_REFUSED_TYPES = {
    b"1": ("link", "is a hard link."),
    b"2": ("link", "is a link."),
    b"K": ("link", "is a link."),
    b"3": ("special-file", "is a device."),
    b"4": ("special-file", "is a device."),
    b"6": ("special-file", "is a pipe."),
    b"S": ("sparse", "is a sparse file."),
}
# What an extension may say that changes nothing here. Names with a dot belong to some program.
_IGNORED_KEYS = frozenset(("atime", "comment", "ctime", "gid", "gname", "mtime", "uid", "uname"))


class _Engine(Protocol):
    """Undoes the packing of one stream."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class _Gzip:
    """The standard library's gzip engine, with the manners of its two others."""

    def __init__(self) -> None:
        self._engine = zlib.decompressobj(zlib.MAX_WBITS | 16)

    @property
    def eof(self) -> bool:
        return self._engine.eof

    @property
    def needs_input(self) -> bool:
        return not self._engine.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._engine.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        return self._engine.decompress(self._engine.unconsumed_tail + data, max_length)


_PACKINGS: tuple[tuple[bytes, Callable[[], _Engine]], ...] = (
    (b"\x1f\x8b", _Gzip),
    (b"BZh", bz2.BZ2Decompressor),
    (b"\xfd7zXZ\0", partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, _XZ_MEMORY)),
)


class _Header(NamedTuple):
    """One header block."""

    name: str
    mode: int
    size: int
    kind: bytes


@dataclass(slots=True)
class _Extension:
    """What the headers before an entry say about it."""

    kinds: set[bytes] = field(default_factory=set)
    name: str | None = None
    size: int | None = None


def is_tar(blob: bytes) -> bool:
    """Return whether the bytes begin as a tar does, packed or not."""
    return blob[257:262] == b"ustar" or any(blob.startswith(magic) for magic, _ in _PACKINGS)


def parse(blob: bytes, limits: ArchiveLimits) -> Listing:
    """Return the entries in the order in which they lie in the file.

    They are confirmed by the standard library, which may be asked once their sizes are known to be
    sound and their names have been judged.

    Raises:
        ArchiveError: the file is not a tar of plain files and folders.
    """
    data = _unpack(blob, limits)
    entries = list(_entries(data, limits))
    return Listing(entries, partial(_ask_again, data, entries))


def _unpack(blob: bytes, limits: ArchiveLimits) -> bytes:
    for magic, start in _PACKINGS:
        if blob.startswith(magic):
            try:
                return _unpack_streams(blob, magic, start, limits)
            except (zlib.error, lzma.LZMAError, OSError, EOFError, MemoryError):
                refuse("", "corrupt", "cannot be unpacked.")
    return blob


def _unpack_streams(
    blob: bytes, magic: bytes, start: Callable[[], _Engine], limits: ArchiveLimits
) -> bytes:
    most = limits.total + 4 * _BLOCK * limits.entries + _STEP
    found, source, streams = bytearray(), io.BytesIO(blob), 0
    while source.tell() < len(blob):
        streams += 1
        if streams > _MAX_STREAMS:
            refuse("", "corrupt", f"has more than {_MAX_STREAMS} packed parts.")
        if not blob.startswith(magic, source.tell()):
            refuse("", "trailing-data", "has other data behind its packed part.")
        for piece in _pieces(start(), source):
            found += piece
            if len(found) > limits.ratio * len(blob) + limits.small:
                refuse("", "ratio", f"unpacks to more than {limits.ratio} times its size.")
            if len(found) > most:
                refuse("", "total", f"unpacks to more than {limits.total} bytes.")
    return bytes(found)


def _pieces(engine: _Engine, source: io.BytesIO) -> Iterator[bytes]:
    """Yield what one stream unpacks to, and leave `source` at its end."""
    while not engine.eof:
        chunk = source.read(_CHUNK) if engine.needs_input else b""
        piece = engine.decompress(chunk, _STEP)
        if not (piece or chunk or engine.eof):
            refuse("", "truncated", "ends in the middle of its packed part.")
        yield piece
    source.seek(-len(engine.unused_data), io.SEEK_CUR)


def _entries(data: bytes, limits: ArchiveLimits) -> Iterator[Entry]:
    at, found, extensions, extension = 0, 0, 0, _Extension()
    while (block := data[at : at + _BLOCK]) != _ZEROS:
        header = _read_header(block)
        start = at + _BLOCK
        at = start + -(-header.size // _BLOCK) * _BLOCK
        if at > len(data):
            refuse(header.name, "truncated", "ends before its data does.")
        if header.kind in _EXTENSIONS:
            extensions += 1
            if header.size > _MAX_EXTENSION or extensions > _EXTENSIONS_EACH * limits.entries:
                refuse(header.name, "extension", "has an extension too long or too many of them.")
            _EXTENSIONS[header.kind](extension, header, data[start : start + header.size])
            continue
        found += 1
        check_count(found, limits)
        yield _entry(header, extension, data, start)
        extension = _Extension()
    if extension.kinds:
        refuse("", "extension", "ends with an extension of nothing.")
    if data.count(0, at) != len(data) - at:
        refuse("", "trailing-data", "has data after its end.")


def _read_header(block: bytes) -> _Header:
    if len(block) < _BLOCK:
        refuse("", "truncated", "ends without an end mark.")
    raw_name = _text(block[:100])
    if block[257:263] == b"ustar\0":
        prefix = _text(block[345:500])
        raw_name = prefix + b"/" + raw_name if prefix else raw_name
    elif block[257:265] != b"ustar  \0" or any(block[345:500]):
        refuse("", "tar-format", "is not a tar of a kind that is read.")
    name = decode_name(raw_name)
    blank = block[:148] + b" " * 8 + block[156:]
    if _number(name, block[148:156]) != sum(blank):
        refuse(name, "corrupt", "has a header with a wrong checksum.")
    size, mode = _number(name, block[124:136]), _number(name, block[100:108])
    return _Header(name, mode, size, block[156:157])


def _text(data: bytes) -> bytes:
    return data.partition(b"\0")[0]


def _number(name: str, data: bytes) -> int:
    found = _OCTAL.fullmatch(data)
    if found is None:
        refuse(name, "tar-number", "has a number in its header that is not plain octal.")
    return int(found[1] or b"0", 8)


def _entry(header: _Header, extension: _Extension, data: bytes, start: int) -> Entry:
    name = header.name if extension.name is None else extension.name
    if header.kind in _REFUSED_TYPES:
        refuse(name, *_REFUSED_TYPES[header.kind])
    if header.kind not in {b"0", b"\0", b"5"}:
        refuse(name, "special-file", "is neither a file nor a folder.")
    is_folder = header.kind == b"5"
    # Readers differ in what they make of a folder with data, and of a file called `x/`.
    if (is_folder and header.size) or (not is_folder and name.endswith("/")):
        refuse(name, "kind-mismatch", "is a file by its name or size, and a folder too.")
    if extension.size not in {None, header.size}:
        refuse(name, "size-mismatch", "has two sizes.")
    check_mode(name, header.mode)
    return Entry(
        name=name,
        is_folder=is_folder,
        executable=bool(header.mode & 0o111),
        size=header.size,
        packed=header.size,
        read=lambda: data[start : start + header.size],
    )


def _note(extension: _Extension, header: _Header) -> None:
    if header.kind in extension.kinds:
        refuse(header.name, "extension", "is extended twice in the same way.")
    extension.kinds.add(header.kind)


def _take_long_name(extension: _Extension, header: _Header, data: bytes) -> None:
    _note(extension, header)
    _take_name(extension, decode_name(data.rstrip(b"\0")))


def _take_name(extension: _Extension, name: str) -> None:
    if extension.name is not None:
        refuse(name, "extension", "has two long names.")
    extension.name = name


def _take_local(extension: _Extension, header: _Header, data: bytes) -> None:
    _note(extension, header)
    for key, value in _keywords(header.name, data).items():
        if key == "path":
            _take_name(extension, value)
        elif key == "size":
            if _NUMBER.fullmatch(value) is None:
                refuse(header.name, "size-mismatch", "has a size that is no number.")
            extension.size = int(value)
        else:
            _check_keyword(header.name, key)


def _take_global(_extension: _Extension, header: _Header, data: bytes) -> None:
    """Take only the comment in which `git archive` keeps the commit: it changes nothing."""
    for key in _keywords(header.name, data):
        if key != "comment":
            refuse(header.name, "global-header", f"sets {key!a} for every member.")


def _check_keyword(name: str, key: str) -> None:
    if key.startswith("GNU.sparse"):
        refuse(name, "sparse", "is a sparse file.")
    if key == "linkpath":
        refuse(name, "link", "is a link.")
    if key not in _IGNORED_KEYS and "." not in key:
        refuse(name, "extension", f"is extended by {key!a}, which is not known.")


def _keywords(name: str, data: bytes) -> dict[str, str]:
    """Return the records of an extension: each is its length, a space, `key=value`, a newline."""
    found: dict[str, str] = {}
    at = 0
    while at < len(data):
        space = data.find(b" ", at, at + 8)
        digits = data[at:space].decode("latin-1") if space > 0 else ""
        end = at + int(digits) if _NUMBER.fullmatch(digits) else 0
        key, equals, value = data[space + 1 : max(end - 1, 0)].partition(b"=")
        if not (space < end <= len(data) and equals and data[end - 1 : end] == b"\n"):
            refuse(name, "extension", "has a broken extension.")
        word = decode_name(key)
        if word in found:
            refuse(name, "extension", f"says {word!a} twice.")
        # Attributes of other programs may hold anything; what is used here must be text.
        found[word] = decode_name(value) if "." not in word else ""
        at = end
    return found


_EXTENSIONS: dict[bytes, Callable[[_Extension, _Header, bytes], None]] = {
    b"x": _take_local,
    b"g": _take_global,
    b"L": _take_long_name,
}


def _ask_again(data: bytes, entries: list[Entry]) -> None:
    """Refuse what the standard library reads differently or would not unpack either."""
    ours = [(entry.name.rstrip("/"), entry.is_folder, entry.size) for entry in entries]
    # The first releases of Python 3.11 have no such filter.
    check = getattr(tarfile, "data_filter", lambda member, _folder: member)
    nowhere = os.path.join(os.sep, "prowess-unpacks-nothing-here")
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:", encoding="utf-8") as archive:
            members = archive.getmembers()
        for member in members:
            check(member, nowhere)
    except (tarfile.TarError, ValueError, OverflowError):
        refuse("", "second-opinion", "is refused by the standard library.")
    if ours != [(member.name, member.isdir(), member.size) for member in members]:
        refuse("", "second-opinion", "is read differently by the standard library.")
