"""What a file is, by its first bytes: its name may say anything."""

from enum import StrEnum


class Kind(StrEnum):
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


_STARTS: tuple[tuple[bytes, Kind], ...] = (
    (b"\x89PNG\r\n\x1a\n", Kind.IMAGE), (b"\xff\xd8\xff", Kind.IMAGE),
    (b"GIF87a", Kind.IMAGE), (b"GIF89a", Kind.IMAGE), (b"\x00\x00\x01\x00", Kind.IMAGE),
    (b"wOFF", Kind.FONT), (b"wOF2", Kind.FONT), (b"OTTO\x00", Kind.FONT),
    (b"\x00\x01\x00\x00\x00", Kind.FONT), (b"true\x00", Kind.FONT), (b"ttcf\x00", Kind.FONT),
    (b"\x7fELF", Kind.EXECUTABLE), (b"\x00asm", Kind.EXECUTABLE), (b"dex\n03", Kind.EXECUTABLE),
    (b"\xfe\xed\xfa\xce", Kind.EXECUTABLE), (b"\xfe\xed\xfa\xcf", Kind.EXECUTABLE),
    (b"\xce\xfa\xed\xfe", Kind.EXECUTABLE), (b"\xcf\xfa\xed\xfe", Kind.EXECUTABLE),
    (b"\xca\xfe\xba\xbe", Kind.EXECUTABLE), (b"BC\xc0\xde", Kind.EXECUTABLE),
    (b"L\x00\x00\x00\x01\x14\x02\x00", Kind.EXECUTABLE), (b"!<arch>\n", Kind.EXECUTABLE),
    (b"\x1bLua", Kind.BYTECODE), (b"\x1bLJ", Kind.BYTECODE),
    (b"PK\x03\x04", Kind.ZIP), (b"PK\x05\x06", Kind.ZIP),
    (b"\x1f\x8b", Kind.PACKED), (b"BZh", Kind.PACKED), (b"\xfd7zXZ\x00", Kind.PACKED),
    (b"7z\xbc\xaf\x27\x1c", Kind.ARCHIVE), (b"Rar!\x1a\x07", Kind.ARCHIVE),
    (b"\x28\xb5\x2f\xfd", Kind.ARCHIVE), (b"\x04\x22\x4d\x18", Kind.ARCHIVE),
    (b"MSCF\x00", Kind.ARCHIVE), (b"xar!\x00", Kind.ARCHIVE), (b"\x1f\x9d", Kind.ARCHIVE),
    (b"070701", Kind.ARCHIVE), (b"ITSF\x03", Kind.ARCHIVE), (b"LZIP\x01", Kind.ARCHIVE),
    (b"%PDF-", Kind.DOCUMENT), (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Kind.DOCUMENT),
    (b"SQLite format 3\x00", Kind.DOCUMENT), (b"\x93NUMPY", Kind.DOCUMENT),
    (b"\x89HDF\r\n", Kind.DOCUMENT), (b"PAR1", Kind.DOCUMENT), (b"bplist0", Kind.DOCUMENT),
    (b"ID3", Kind.MEDIA), (b"OggS\x00", Kind.MEDIA), (b"fLaC\x00", Kind.MEDIA),
    (b"\x1aE\xdf\xa3", Kind.MEDIA), (b"II*\x00", Kind.MEDIA), (b"MM\x00*", Kind.MEDIA),
)  # fmt: skip

# Magic numbers of CPython 3 lie between these, with a carriage return and line feed behind them.
_CPYTHON = range(2990, 3900)
_CPYTHON_2 = 62211
_TAR_MAGIC = (b"ustar\x0000", b"ustar  \x00")
_DISK_IMAGE = b"koly"


def kind_of(data: bytes) -> Kind:
    """Return what `data` is by its magic bytes."""
    for start, kind in _STARTS:
        if data.startswith(start):
            return kind
    if data[:4] == b"RIFF":
        return Kind.IMAGE if data[8:12] == b"WEBP" else Kind.MEDIA
    if data[4:8] == b"ftyp":
        return Kind.MEDIA
    if _is_portable_executable(data):
        return Kind.EXECUTABLE
    if data[257:265] in _TAR_MAGIC:
        return Kind.TAR
    return _by_marks(data)


def _by_marks(data: bytes) -> Kind:
    if is_python_bytecode(data):
        return Kind.BYTECODE
    if data[-512:-508] == _DISK_IMAGE or data[0x8001:0x8006] == b"CD001":
        return Kind.ARCHIVE
    # A pickle begins with its protocol and ends with a stop.
    if data[:1] == b"\x80" and data[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return Kind.DOCUMENT
    return Kind.OTHER


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
