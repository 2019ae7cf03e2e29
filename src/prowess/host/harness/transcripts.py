"""Files of transcripts: one JSON value, or one a line, read within bounds.

A transcript is large, often still being written, and may come from anybody. So a line that is cut
off, too long or not text is counted and left out, and a file without a single value says why.
"""

import json
import os
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO

from prowess.errors import PathError
from prowess.transcripts.turns import TranscriptRecord

MOST_BYTES, MOST_LINE_BYTES = 64_000_000, 1_000_000
# One value takes many times its size in memory, all at once.
MOST_DOCUMENT_BYTES = 16_000_000
MOST_LINES = 200_000
# What was said last, with the results of tools that stand between.
_END_BYTES = 128_000
NOT_JSON, NOT_TEXT, TOO_NESTED = "not JSON", "not UTF-8", "nested too deeply"
TOO_LONG = f"longer than {MOST_LINE_BYTES} bytes"
TOO_MANY = f"after line {MOST_LINES}"

_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_MARK = b"\xef\xbb\xbf"
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class RawTranscript:
    """The values of a file, and how many of its lines were left out, by reason."""

    records: tuple[TranscriptRecord, ...]
    skipped: Mapping[str, int]


def read_transcript(path: str, *, most_line_bytes: int | None = None) -> RawTranscript:
    """Read a file of any supported kind; `most_line_bytes` allows longer lines than usual.

    Raises:
        PathError: it cannot be read, is too large, or holds nothing that is JSON.
    """
    try:
        handle = os.open(path, _FLAGS)
    except FileNotFoundError as error:
        raise PathError(path, "does not exist: give the file of a transcript.") from error
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or "no such name is possible"
        raise PathError(path, f"cannot be read: {problem}.") from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise PathError(path, "is not a file: give the file of a transcript.")
    with os.fdopen(handle, "rb") as file:
        return read_stream(file, path, most_line_bytes=most_line_bytes)


def read_end(path: str) -> tuple[TranscriptRecord, ...]:
    """Return the last records of a file of one JSON value a line; none where it has no such end."""
    try:
        handle = os.open(path, _FLAGS)
    except (OSError, ValueError):
        # Not written yet, or cleared away: then nothing was said before.
        return ()
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            return ()
        cut = max(0, found.st_size - _END_BYTES)
        file.seek(cut)
        content = file.read(_END_BYTES)
    # The first line of an end is half a line.
    whole = content[content.find(b"\n") + 1 :] if cut else content.removeprefix(_MARK)
    return _lines(whole, MOST_LINE_BYTES).records


def read_stream(
    stream: BinaryIO, name: str, *, most_line_bytes: int | None = None
) -> RawTranscript:
    """Read what `stream` holds; `name` is for messages.

    Raises:
        PathError: it cannot be read, is too large, or holds nothing that is JSON.
    """
    try:
        content = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise PathError(name, f"cannot be read: {error.strerror}.") from error
    if len(content) > MOST_BYTES:
        raise PathError(name, f"is larger than {MOST_BYTES} bytes: cut it into parts.")
    if content.startswith(_WIDE_MARKS):
        raise PathError(name, "is UTF-16: save it as UTF-8.")
    content = content.removeprefix(_MARK)
    if not content.strip():
        raise PathError(name, "is empty.")
    found = _document(content) or _lines(content, most_line_bytes or MOST_LINE_BYTES)
    if not found.records:
        raise PathError(name, _explain_nothing(found.skipped, len(content)))
    return found


def reasons(skipped: Mapping[str, int]) -> str:
    """Say how much was left out and why, such as `3 not JSON, 1 not UTF-8`."""
    parts = (f"{count} {reason}" for reason, count in sorted(skipped.items()))
    return ", ".join(parts) or "nothing was left out"


def _explain_nothing(skipped: Mapping[str, int], size: int) -> str:
    hint = "it needs to be JSON, or one JSON value a line."
    if size > MOST_DOCUMENT_BYTES:
        hint = f"one above {MOST_DOCUMENT_BYTES} bytes needs to be one JSON value a line."
    return f"holds no transcript ({reasons(skipped)}): {hint}"


def _document(content: bytes) -> RawTranscript | None:
    """Read the file as one value; None where it is not one."""
    if len(content) > MOST_DOCUMENT_BYTES or not content.lstrip().startswith((b"{", b"[")):
        return None
    try:
        value = json.loads(content.decode())
    except (ValueError, RecursionError):
        return None
    return RawTranscript((TranscriptRecord(value),), {})


def _lines(content: bytes, most_bytes: int) -> RawTranscript:
    records: list[TranscriptRecord] = []
    skipped: Counter[str] = Counter()
    for number, line in enumerate(_split(content), start=1):
        if number > MOST_LINES:
            skipped[TOO_MANY] = content.rstrip(b"\n").count(b"\n") + 1 - MOST_LINES
            break
        if line.strip():
            value = _value(line, most_bytes)
            if isinstance(value, _Left):
                skipped[value.reason] += 1
            else:
                records.append(TranscriptRecord(value, number))
    return RawTranscript(tuple(records), skipped)


def _split(content: bytes) -> Iterator[bytes]:
    """Yield the lines one by one; a list of all would take as much again."""
    start = 0
    while start < len(content):
        end = content.find(b"\n", start)
        end = len(content) if end < 0 else end
        yield content[start:end]
        start = end + 1


@dataclass(frozen=True, slots=True)
class _Left:
    reason: str


def _value(line: bytes, most_bytes: int) -> object:
    if len(line) > most_bytes:
        return _Left(
            TOO_LONG if most_bytes == MOST_LINE_BYTES else f"longer than {most_bytes} bytes"
        )
    try:
        return json.loads(line.decode())
    except UnicodeDecodeError:
        return _Left(NOT_TEXT)
    except RecursionError:
        return _Left(TOO_NESTED)
    except ValueError:
        return _Left(NOT_JSON)
