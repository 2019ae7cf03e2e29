"""Files of traces: those that a person names, and those of each workspace that were learned from.

A result of ten megabytes on one line occurs, so lines may be far longer here than elsewhere. A
folder is walked without following a link, and one with more files than anybody means is refused
instead of read in part.

What was learned from lies in the state folder, private and without secrets, each trace a file under
the hash it is known by. There is a bound on how many a workspace has and on how much all have
together: the oldest go, of any workspace. What is not ours stays.
"""

import gc
import hashlib
import io
import json
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, NamedTuple

from prowess.errors import PathError
from prowess.experience.redaction import remove_secrets
from prowess.host.files.containment import Root
from prowess.host.files.handles import Content, is_folder, read_bounded
from prowess.host.files.state_files import hold_alone
from prowess.host.harness.transcripts import MOST_BYTES, read_stream
from prowess.safety.paths import TEMPORARY_PREFIX, shown
from prowess.transcripts.formats import FORMATS, TITLE, TraceReading, read_markdown, read_records
from prowess.transcripts.traces import Trace, TraceShape, export_trace
from prowess.transcripts.turns import TranscriptRecord

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
    return replace(reading, traces=tuple(_place(trace, path) for trace in reading.traces))


def _place(trace: Trace, path: str) -> Trace:
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
    return name.endswith(_MARKDOWN) and _is_session(_read_beginning(file))


def _read_beginning(file: str) -> bytes:
    """Return how a file begins; nothing where it cannot be read, as it is no session then."""
    try:
        handle = os.open(file, _FLAGS)
    except OSError:
        return b""
    with os.fdopen(handle, "rb") as opened:
        return opened.read(_BEGINNING)


def _is_session(content: bytes) -> bool:
    return content[:_BEGINNING].lstrip(_BLANK).startswith(TITLE.encode())


MOST_TRACES = 500
TRACES_MOST_BYTES = 20_000_000
MOST_TRACE_BYTES = 4_000_000
_NAME = re.compile(r"(?P<id>[0-9a-f]{16})\.json\Z")
_FOLDER = re.compile(r"[0-9a-f]{32}\Z")
_STRAY = re.compile(re.escape(TEMPORARY_PREFIX) + r"[0-9a-f]{16}\.tmp\Z")
_PRIVATE, _PRIVATE_FOLDER = 0o600, 0o700


class _Kept(NamedTuple):
    """A file with a trace; in the order of time."""

    written: int
    path: str
    size: int


class KeptTraces:
    """The traces of one workspace."""

    def __init__(self, workspace: str, state: str) -> None:
        """Nothing is read or made yet."""
        self._folder = Path(state) / "experience"
        self._own = hashlib.sha256(os.fsencode(os.path.realpath(workspace))).hexdigest()[:32]
        self.problems: tuple[str, ...] = ()

    def add(self, trace: Trace) -> bool:
        """Keep a trace without its secrets; False where it was known, or is too large to keep.

        Raises:
            PathError: the state folder cannot be used.
        """
        safe = remove_secrets(trace)
        body = json.dumps(export_trace(safe), ensure_ascii=False).encode("utf-8", "replace")
        place = f"{self._own}/{safe.id}.json"
        with self._lock() as root:
            if len(body) > MOST_TRACE_BYTES or root.exists(place):
                return False
            root.make_folder(self._own, mode=_PRIVATE_FOLDER)
            _sweep(root, self._own)
            root.write(place, body, mode=_PRIVATE, exclusive=True)
            _make_room(root, self._own, place)
        return True

    def all(self) -> tuple[Trace, ...]:
        """Return all that are kept, oldest first; what cannot be read is in `problems`.

        Raises:
            PathError: the state folder cannot be read.
        """
        self.problems = ()
        if not (self._folder / self._own).is_dir():
            return ()
        with Root.open(self._folder) as root:
            return tuple(self._read(root))

    def _read(self, root: Root) -> list[Trace]:
        problems, found = [], []
        for name, state in root.list(self._own):
            if not _is_ours(name, state) and not _STRAY.match(name):
                problems.append(f"{shown(f'{self._own}/{name}')}: is no trace that was kept here.")
        for kept in _list_kept(root, self._own):
            try:
                found.append(_read_trace(root, kept.path))
            except PathError as error:
                # Another process may just have made room.
                if not isinstance(error.__cause__, FileNotFoundError):
                    problems.append(str(error))
        self.problems = tuple(problems)
        return found

    @contextmanager
    def _lock(self) -> Iterator[Root]:
        """Hold the folder of all workspaces, alone: the bound is one for all of them."""
        with (
            hold_alone(str(self._folder / "traces"), str(self._folder)),
            Root.open(self._folder, create=True) as root,
        ):
            yield root


def _read_trace(root: Root, place: str) -> Trace:
    try:
        value = json.loads(root.read(place, MOST_TRACE_BYTES))
    except (ValueError, RecursionError) as error:
        raise PathError(place, "is not JSON, so it was passed over.") from error
    records = (TranscriptRecord(value),)
    where = str(root.path / place)
    traces = read_records(records, path=where, shape=TraceShape.DOCUMENT).traces
    if len(traces) != 1:
        raise PathError(place, "does not hold one trace, so it was passed over.")
    return traces[0]


def _is_ours(name: str, state: os.stat_result) -> bool:
    return _NAME.match(name) is not None and stat.S_ISREG(state.st_mode)


def _list_kept(root: Root, folder: str) -> list[_Kept]:
    """Return the files of one workspace that are traces by their names, oldest first."""
    return sorted(
        _Kept(state.st_mtime_ns, f"{folder}/{name}", state.st_size)
        for name, state in root.list(folder)
        if _is_ours(name, state)
    )


def _make_room(root: Root, own: str, newest: str) -> None:
    """Delete the oldest until both bounds hold; never the one that was just written."""
    there = _list_kept(root, own)
    _delete(
        root, [kept for kept in there if kept.path != newest][: max(len(there) - MOST_TRACES, 0)]
    )
    folders = [name for name, state in root.list() if _FOLDER.match(name) and is_folder(state)]
    everywhere = sorted(kept for folder in folders for kept in _list_kept(root, folder))
    too_much = sum(kept.size for kept in everywhere) - TRACES_MOST_BYTES
    for kept in everywhere:
        if too_much > 0 and kept.path != newest:
            _delete(root, [kept])
            too_much -= kept.size


def _delete(root: Root, found: Sequence[_Kept]) -> None:
    for kept in found:
        root.unlink(kept.path)


def _sweep(root: Root, folder: str) -> None:
    """Remove what a killed write left behind; nobody else writes while the lock is held."""
    for name, state in root.list(folder):
        if _STRAY.match(name) and stat.S_ISREG(state.st_mode):
            root.unlink(f"{folder}/{name}")
