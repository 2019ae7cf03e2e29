"""Decoders that Python code calls to unpack a payload, applied to constants with a bound."""

import base64
import binascii
import bz2
import codecs
import lzma
import zlib
from collections.abc import Callable

from prowess.safety.languages.python.python_fold import MAX_TEXT
from prowess.safety.languages.python.values import Constant

_MEMORY = 1 << 26
_GZIP = 31
_AUTO = 47
_FAILED = (ValueError, TypeError, OSError, EOFError, zlib.error, lzma.LZMAError, binascii.Error)


def _base64(data: bytes) -> bytes:
    return base64.b64decode(data + b"=" * (-len(data) % 4))


def _urlsafe(data: bytes) -> bytes:
    return base64.urlsafe_b64decode(data + b"=" * (-len(data) % 4))


def _inflate(wbits: int) -> Callable[[bytes], bytes]:
    return lambda data: zlib.decompressobj(wbits).decompress(data, MAX_TEXT)


def _bzip2(data: bytes) -> bytes:
    return bz2.BZ2Decompressor().decompress(data, MAX_TEXT)


def _lzma(data: bytes) -> bytes:
    return lzma.LZMADecompressor(memlimit=_MEMORY).decompress(data, MAX_TEXT)


def _rot13(data: bytes) -> bytes:
    return codecs.encode(data.decode("utf-8", "replace"), "rot13").encode("utf-8", "replace")


def _hex(data: bytes) -> bytes:
    return bytes.fromhex(data.decode("ascii"))


_PLAIN: dict[str, Callable[[bytes], bytes]] = {
    "base64": _base64,
    "base64url": _urlsafe,
    "base32": base64.b32decode,
    "base16": lambda data: base64.b16decode(data, casefold=True),
    "base85": base64.b85decode,
    "ascii85": base64.a85decode,
    "hex": _hex,
    "rot13": _rot13,
    "zlib": _inflate(_AUTO),
    "deflate": _inflate(-zlib.MAX_WBITS),
    "gzip": _inflate(_GZIP),
    "bzip2": _bzip2,
    "lzma": _lzma,
    "quoted-printable": binascii.a2b_qp,
    "uu": binascii.a2b_uu,
}

# The calls that decode, and the encoding that each undoes.
CALLS = {
    "base64.b64decode": "base64",
    "base64.standard_b64decode": "base64",
    "base64.decodebytes": "base64",
    "base64.decodestring": "base64",
    "base64.urlsafe_b64decode": "base64url",
    "base64.b32decode": "base32",
    "base64.b16decode": "base16",
    "base64.b85decode": "base85",
    "base64.a85decode": "ascii85",
    "binascii.a2b_base64": "base64",
    "binascii.unhexlify": "hex",
    "binascii.a2b_hex": "hex",
    "binascii.a2b_qp": "quoted-printable",
    "binascii.a2b_uu": "uu",
    "quopri.decodestring": "quoted-printable",
    "bytes.fromhex": "hex",
    "bytearray.fromhex": "hex",
    "zlib.decompress": "zlib",
    "zlib.decompressobj().decompress": "zlib",
    "gzip.decompress": "gzip",
    "bz2.decompress": "bzip2",
    "lzma.decompress": "lzma",
}

_CODEC_NAMES = {
    "rot13": "rot13",
    "rot_13": "rot13",
    "hex": "hex",
    "hex_codec": "hex",
    "base64": "base64",
    "base64_codec": "base64",
    "zlib": "zlib",
    "zlib_codec": "zlib",
    "zip": "zlib",
    "bz2": "bzip2",
    "uu": "uu",
    "quopri": "quoted-printable",
}


def codec_encoding(name: Constant | None) -> str | None:
    """Return the encoding that `codecs.decode(…, name)` undoes, where it is not a charset."""
    return _CODEC_NAMES.get(name.lower().replace("-", "_")) if isinstance(name, str) else None


def decode(encoding: str, data: Constant | None) -> bytes | None:
    """Return what `data` decodes to, cut at a bound; None where it does not decode."""
    if isinstance(data, int) or data is None or len(data) > MAX_TEXT:
        return None
    raw = data.encode("utf-8", "replace") if isinstance(data, str) else data
    try:
        return _PLAIN[encoding](raw)[:MAX_TEXT]
    except _FAILED:
        if encoding == "zlib":
            return decode("deflate", data)
        return None
