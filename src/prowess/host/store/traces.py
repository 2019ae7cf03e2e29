"""The traces of each workspace that were learned from, so that several of one goal can be told.

They lie in the state folder, private, each a file of the trace format under the hash it is known
by. What is written is without secrets, whoever calls. There is a bound on how many a workspace has
and on how much all have together: the oldest go, of any workspace. What is not ours stays.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from prowess.errors import PathError
from prowess.experience.redaction import without_secrets
from prowess.host.files.containment import TEMPORARY_PREFIX, Root
from prowess.host.files.handles import is_folder
from prowess.host.files.private_files import locked
from prowess.safety.paths import shown
from prowess.transcripts.formats import read_records
from prowess.transcripts.traces_part import Trace, TraceShape, as_record
from prowess.transcripts.turns import Record

MOST_TRACES = 500
MOST_BYTES = 20_000_000
MOST_TRACE_BYTES = 4_000_000
_NAME = re.compile(r"(?P<id>[0-9a-f]{16})\.json\Z")
_FOLDER = re.compile(r"[0-9a-f]{32}\Z")
_STRAY = re.compile(re.escape(TEMPORARY_PREFIX) + r"[0-9a-f]{16}\.tmp\Z")
_PRIVATE, _PRIVATE_FOLDER = 0o600, 0o700

# From a JSON value and the path it was read from to the traces in it.
Parse = Callable[[object, str], Sequence[Trace]]


class _Kept(NamedTuple):
    """A file with a trace; in the order of time."""

    written: int
    path: str
    size: int


def _parsed(value: object, path: str) -> Sequence[Trace]:
    return read_records((Record(value),), path=path, shape=TraceShape.DOCUMENT).traces


class KeptTraces:
    """The traces of one workspace."""

    def __init__(self, workspace: str, state: str, parse: Parse = _parsed) -> None:
        """Nothing is read or made yet; `parse` reads again what `as_record` wrote."""
        self._folder = Path(state) / "experience"
        self._own = hashlib.sha256(os.fsencode(os.path.realpath(workspace))).hexdigest()[:32]
        self._parse = parse
        self.problems: tuple[str, ...] = ()

    def add(self, trace: Trace) -> bool:
        """Keep a trace without its secrets; False where it was known, or is too large to keep.

        Raises:
            PathError: the state folder cannot be used.
        """
        safe = without_secrets(trace)
        body = json.dumps(as_record(safe), ensure_ascii=False).encode("utf-8", "replace")
        place = f"{self._own}/{safe.id}.json"
        with self._locked() as root:
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
            found = [trace for _, trace in self._read(root)]
        return tuple(found)

    def forget(self, ids: Collection[str]) -> int:
        """Delete traces by their ids, and return how many there were.

        Raises:
            PathError: the state folder cannot be used.
        """
        if not (self._folder / self._own).is_dir():
            return 0
        with self._locked() as root:
            # The id is that of the content: a name says only what it was when it was written.
            places = [place for place, trace in self._read(root) if trace.id in set(ids)]
            for place in places:
                root.unlink(place)
        return len(places)

    def _read(self, root: Root) -> list[tuple[str, Trace]]:
        problems, found = [], []
        for name, state in root.list(self._own):
            if not _is_ours(name, state) and not _STRAY.match(name):
                problems.append(f"{shown(f'{self._own}/{name}')}: is no trace that was kept here.")
        for kept in _kept(root, self._own):
            try:
                found.append((kept.path, self._trace(root, kept.path)))
            except PathError as error:
                # Another process may just have made room.
                if not isinstance(error.__cause__, FileNotFoundError):
                    problems.append(str(error))
        self.problems = tuple(problems)
        return found

    def _trace(self, root: Root, place: str) -> Trace:
        try:
            value = json.loads(root.read(place, MOST_TRACE_BYTES))
        except (ValueError, RecursionError) as error:
            raise PathError(place, "is not JSON, so it was passed over.") from error
        traces = self._parse(value, str(root.path / place))
        if len(traces) != 1:
            raise PathError(place, "does not hold one trace, so it was passed over.")
        return traces[0]

    @contextmanager
    def _locked(self) -> Iterator[Root]:
        """Hold the folder of all workspaces, alone: the bound is one for all of them."""
        with ExitStack() as stack:
            try:
                stack.enter_context(locked(str(self._folder / "traces")))
            except OSError as error:
                raise PathError(
                    str(self._folder), f"cannot be locked: {error.strerror}."
                ) from error
            yield stack.enter_context(Root.open(self._folder, create=True))


def _is_ours(name: str, state: os.stat_result) -> bool:
    return _NAME.match(name) is not None and stat.S_ISREG(state.st_mode)


def _kept(root: Root, folder: str) -> list[_Kept]:
    """Return the files of one workspace that are traces by their names, oldest first."""
    return sorted(
        _Kept(state.st_mtime_ns, f"{folder}/{name}", state.st_size)
        for name, state in root.list(folder)
        if _is_ours(name, state)
    )


def _make_room(root: Root, own: str, newest: str) -> None:
    """Delete the oldest until both bounds hold; never the one that was just written."""
    there = _kept(root, own)
    _delete(
        root, [kept for kept in there if kept.path != newest][: max(len(there) - MOST_TRACES, 0)]
    )
    folders = [name for name, state in root.list() if _FOLDER.match(name) and is_folder(state)]
    everywhere = sorted(kept for folder in folders for kept in _kept(root, folder))
    too_much = sum(kept.size for kept in everywhere) - MOST_BYTES
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
