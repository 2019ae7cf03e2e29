"""Files of traces: what one holds, and which ones a folder has.

A result of ten megabytes on one line occurs, so lines may be far longer here than elsewhere. A
folder is walked without following a link, and one with more files than anybody means is refused
instead of read in part.
"""

import gc
import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import BinaryIO

from prowess.errors import PathError
from prowess.host.files.read import Content, read_bounded
from prowess.host.harness.transcripts import MOST_BYTES, read_stream
from prowess.transcripts.formats import FORMATS, TITLE, TraceReading, read_markdown, read_records
from prowess.transcripts.traces_part import Trace, TraceShape

MOST_LINE_BYTES = 16_000_000
MOST_FILES, MOST_ENTRIES, DEEPEST = 2_000, 100_000, 10

_LINES = ".jsonl"
_ENDINGS = (".json", _LINES)
_MARKDOWN = ".md"
_LEFT_ALONE = frozenset(("node_modules", "__pycache__"))
_BLANK = b"\xef\xbb\xbf \t\r\n"
# Enough for the title of a session behind blank lines.
_BEGINNING = 256
_NO_FILES = (
    "holds no file of a trace: looked for .json, .jsonl, and .md that begins with"
    f" `{TITLE}`, not in hidden folders and not through links ({FORMATS} are known). Name the"
    " folder of the sessions, or a file itself."
)
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def read_trace_file(path: str, shape: TraceShape | None = None) -> TraceReading:
    """Return the traces in a file.

    Raises:
        PathError: it cannot be read, is too large, or holds nothing that is JSON.
    """
    # Whoever names a link means what it leads to.
    try:
        found = read_bounded(os.path.realpath(path), MOST_BYTES)
    except ValueError as error:
        raise PathError(path, "cannot be read: no such name is possible.") from error
    if found is None:
        raise PathError(path, "does not exist: give the file of a trace.")
    if not isinstance(found, Content):
        raise PathError(path, f"{found.message}: give the file of a trace.")
    reading = read_trace_stream(io.BytesIO(found.data), path, shape)
    return replace(reading, traces=tuple(_placed(trace, path) for trace in reading.traces))


def _placed(trace: Trace, path: str) -> Trace:
    """Return a trace whose session is its own file under the name that leads there from anywhere.

    What a document says of its session is left as it is: nobody knows from where that counts.
    """
    if trace.session_path != path:
        return trace
    return replace(trace, session_path=os.path.abspath(path))


def read_trace_stream(stream: BinaryIO, name: str, shape: TraceShape | None = None) -> TraceReading:
    """Return the traces in what `stream` holds; `name` is for messages and for the traces.

    A file of other JSON is no error, since a folder of sessions often holds some: it is counted
    under what to try.

    Raises:
        PathError: it cannot be read, is too large, or holds nothing that is JSON.
    """
    with _without_collecting():
        reading = _read(stream, name, shape)
    if reading.traces:
        return reading
    return replace(reading, skipped={**reading.skipped, f"file: {reading.advice}": 1})


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Read without looking for circles, of which JSON has none: that takes half of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _read(stream: BinaryIO, name: str, shape: TraceShape | None) -> TraceReading:
    try:
        content = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise PathError(name, f"cannot be read: {error.strerror}.") from error
    if _is_session(content) and len(content) <= MOST_BYTES:
        return read_markdown(content.decode("utf-8", "replace"), path=name)
    if name.lower().endswith(_MARKDOWN) and content.strip():
        raise PathError(name, f"is no session: its first line needs to be `{TITLE}`.")
    try:
        raw = read_stream(io.BytesIO(content), name, most_line_bytes=MOST_LINE_BYTES)
    except PathError as error:
        problem = error.problem.replace("holds no transcript", "holds no trace").rstrip(".")
        raise PathError(name, f"{problem}; a trace is one of {FORMATS}.") from error
    return read_records(raw.records, path=name, shape=shape, skipped=raw.skipped)


def trace_files_below(path: str) -> tuple[str, ...]:
    """Return the files of a folder that may hold traces, sorted; a file stands for itself.

    Raises:
        PathError: there is nothing of that name, no trace below it, or more than anybody means.
    """
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        raise PathError(path, "does not exist: give a trace, or a folder with some.") from error
    if not stat.S_ISDIR(mode):
        return (path,)
    found: list[str] = []
    for number, file in enumerate(_files_below(path, 0)):
        if number >= MOST_ENTRIES or len(found) >= MOST_FILES:
            problem = f"holds more than {MOST_FILES} traces, or too many other files"
            raise PathError(path, f"{problem}: name a folder inside it.")
        if _may_hold_traces(file):
            found.append(file)
    if not found:
        raise PathError(path, _NO_FILES)
    # OpenPocket writes each session in both forms, and its lines say more.
    both = {file.removesuffix(_LINES) + _MARKDOWN for file in found if file.endswith(_LINES)}
    return tuple(sorted(set(found) - both))


def _files_below(folder: str, depth: int) -> Iterator[str]:
    try:
        with os.scandir(folder) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
    except OSError as error:
        raise PathError(folder, f"cannot be read: {error.strerror}.") from error
    for entry in entries:
        if entry.is_file(follow_symlinks=False):
            yield entry.path
        elif _is_inner(entry) and depth < DEEPEST:
            yield from _files_below(entry.path, depth + 1)


def _is_inner(entry: "os.DirEntry[str]") -> bool:
    is_hidden = entry.name.startswith(".") or entry.name in _LEFT_ALONE
    return not is_hidden and entry.is_dir(follow_symlinks=False)


def _may_hold_traces(file: str) -> bool:
    name = file.lower()
    if name.endswith(_ENDINGS):
        return True
    return name.endswith(_MARKDOWN) and _is_session(_beginning(file))


def _beginning(file: str) -> bytes:
    """Return how a file begins; nothing where it cannot be read, as it is no session then."""
    try:
        handle = os.open(file, _FLAGS)
    except OSError:
        return b""
    with os.fdopen(handle, "rb") as opened:
        return opened.read(_BEGINNING)


def _is_session(content: bytes) -> bool:
    return content[:_BEGINNING].lstrip(_BLANK).startswith(TITLE.encode())
