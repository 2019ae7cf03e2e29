"""Unpacks xz without letting a small file fill the memory."""

import lzma

from prowess.errors import SuiteError

_MAX_MEMORY = 100_000_000


def unpacked(path: str, packed: bytes, limit: int) -> bytes:
    """Return what the xz text `packed` holds, piece by piece and at most `limit` bytes.

    Raises:
        SuiteError: it is no whole xz file, or holds more.
    """
    parts: list[bytes] = []
    left = limit
    try:
        while packed:
            unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MAX_MEMORY)
            parts.append(unpacker.decompress(packed, max_length=left + 1))
            left -= len(parts[-1])
            if left < 0:
                raise SuiteError(path, f"unpacks to more than {limit} bytes.")
            if not unpacker.eof:
                raise SuiteError(path, "ends before its content does.")
            # Streams may follow one another, with zeros between them.
            packed = unpacker.unused_data.lstrip(b"\0")
    except lzma.LZMAError as error:
        raise SuiteError(path, f"cannot be unpacked: {error}.") from error
    return b"".join(parts)
