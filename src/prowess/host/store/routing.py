"""What routing keeps in the state folder: indexes, examples, thresholds and vectors.

All but the indexes are JSON files, small enough to be read whole and read again only when they
changed; where there is no file, nothing is read at all. What cannot be read counts as nothing:
routing works without, and a warning says so.

Vectors are a cache in one SQLite file of their own, which may be deleted at any time, even while it
is open; a broken one is thrown away, and what cannot be read is encoded again.
"""

import ctypes
import logging
import os
import sqlite3
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from typing import Any, Generic, TypeVar

import numpy as np

from prowess import routing
from prowess.host.files import state_files
from prowess.host.files.state_files import (
    Hold,
    KeptFiles,
    change_mapping,
    locked,
    read_mapping,
    stamp_code,
)
from prowess.routing.model import Thresholds
from prowess.runtime.ports import Examples, StaleSkill, Vectors

_FOLDER, _MOST_INDEXES = "indexes", 12


def open_indexes(state: str) -> KeptFiles:
    """Return the indexes of a state folder, by what they were made from."""
    return KeptFiles(
        os.path.join(state, _FOLDER), made_by=stamp_code(*routing.__path__), most=_MOST_INDEXES
    )


def give_back() -> None:
    """Hand freed memory back, where the system's library can."""
    if not sys.platform.startswith("linux"):
        return
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    # Other C libraries of Linux have no such function, and no need for it.
    if trim is not None:
        trim(0)


EXAMPLES_FILE = "routing-examples.json"
THRESHOLDS_FILE = "routing-thresholds.json"
_MOST_PER_KIND = 50
_LONGEST = 500


FRESHNESS_FILE = "freshness.json"
_MOST_SKILLS, _MOST_LISTED = 2_000, 600
_SPAN = 2
_T = TypeVar("_T")


class _JsonFile(Generic[_T]):
    """One file; `read` turns its JSON object into what is asked for, and `what` is for warnings."""

    def __init__(
        self, path: str, read: Callable[[dict[str, Any]], _T], what: str, hold: Hold = locked
    ) -> None:
        self._path, self._read, self._what, self._hold = path, read, what, hold
        self._stamp: tuple[int, ...] | None = None
        self._known = read({})

    def read(self) -> _T:
        """Return what the file says; what cannot be read counts as nothing."""
        stamp = self._find_stamp()
        if stamp != self._stamp:
            try:
                values = read_mapping(self._path)
            except (OSError, ValueError) as error:
                log = logging.getLogger(__name__)
                log.warning("%s.unreadable: %s: %s", self._what, self._path, error)
                values = {}
            self._known, self._stamp = self._read(values), stamp
        return self._known

    def put(self, found: Mapping[str, object], most: int | None = None) -> None:
        """Keep values by their keys, None for what is forgotten; the oldest above `most` go.

        Raises:
            StoreError: they cannot be kept.
        """

        def change(values: dict[str, Any]) -> None:
            for key, value in found.items():
                values.pop(key, None)
                if value is not None:
                    values[key] = value
            for key in list(values)[: max(len(values) - (most or len(values)), 0)]:
                del values[key]

        change_mapping(self._path, change, self._hold)

    def _find_stamp(self) -> tuple[int, ...] | None:
        try:
            found = os.stat(self._path)
        except OSError:
            # Not there, or not for us: the same as empty.
            return None
        # A file that was replaced within one tick of the clock is still another file.
        return found.st_mtime_ns, found.st_size, found.st_ino


class ExamplesFile:
    """Examples by the name of their skill."""

    def __init__(self, state: str, hold: Hold = locked) -> None:
        path = os.path.join(state, EXAMPLES_FILE)
        self._file = _JsonFile(path, _read_examples, "routing", hold)
        self._indexes = open_indexes(state)

    def read(self) -> Mapping[str, Examples]:
        """Return all of them; what cannot be read counts as none."""
        return self._file.read()

    def write(self, name: str, examples: Examples) -> None:
        """Replace the examples of one skill."""
        row = {
            "generated": _cut_texts(list(examples.generated)),
            # The latest stay: how people speak of a skill changes.
            "confirmed": _cut_texts(list(examples.confirmed)[-_MOST_PER_KIND:]),
            "nearMisses": _cut_texts(list(examples.near_misses)),
        }
        self._file.put({name: row if examples else None})
        # Indexes hold examples, too, and must not know longer what was taken back.
        self._indexes.forget()


class ThresholdsFile:
    """Calibrated thresholds by the id of the encoder that they belong to."""

    def __init__(self, state: str, hold: Hold = locked) -> None:
        path = os.path.join(state, THRESHOLDS_FILE)
        self._file = _JsonFile(path, dict[str, Any], "routing", hold)

    def read(self, encoder_id: str) -> Thresholds | None:
        """Return what was calibrated for an encoder, if anything."""
        found = self._file.read().get(encoder_id)
        if not isinstance(found, Mapping):
            return None
        load, offer = _share(found.get("load")), _share(found.get("offer"))
        return None if load is None or offer is None else Thresholds(load=load, offer=offer)

    def write(self, encoder_id: str, thresholds: Thresholds | None) -> None:
        """Keep the thresholds of an encoder, or forget them."""
        kept = None if thresholds is None else {"load": thresholds.load, "offer": thresholds.offer}
        self._file.put({encoder_id: kept})


class FreshnessFile:
    """What checks of freshness found, by the path of each skill."""

    def __init__(self, state: str) -> None:
        path = os.path.join(state, FRESHNESS_FILE)
        self._file = _JsonFile(path, _read_freshness, "freshness")

    def read(self) -> Mapping[str, StaleSkill]:
        """Return all of it; what cannot be read counts as nothing."""
        return self._file.read()

    def write(self, found: Mapping[str, StaleSkill]) -> None:
        """Keep what was found of some skills; the oldest are forgotten."""
        rows = {
            path: {
                "hash": one.content_hash,
                "held": list(one.held)[:_MOST_LISTED],
                "spans": [list(span) for span in one.spans],
                "notes": list(one.notes)[:_MOST_LISTED],
            }
            for path, one in found.items()
        }
        self._file.put(rows, _MOST_SKILLS)


def _share(value: object) -> float | None:
    """Return a number between 0 and 1; anything else that JSON can hold is none."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    # A number beyond every float is still an integer to JSON, and compares like one.
    return float(value) if 0 <= value <= 1 else None


def _read_examples(values: Mapping[str, Any]) -> dict[str, Examples]:
    return {
        name: Examples(
            generated=_cut_texts(entry.get("generated")),
            confirmed=_cut_texts(entry.get("confirmed")),
            near_misses=_cut_texts(entry.get("nearMisses")),
        )
        for name, entry in values.items()
        if isinstance(entry, Mapping)
    }


def _cut_texts(value: object) -> tuple[str, ...]:
    texts = (text.strip()[:_LONGEST] for text in _texts(value))
    return tuple(text for text in texts if text)[:_MOST_PER_KIND]


def _read_freshness(values: Mapping[str, Any]) -> dict[str, StaleSkill]:
    return {
        place: StaleSkill(
            content_hash=str(entry.get("hash", "")),
            held=_texts(entry.get("held")),
            spans=_spans(entry.get("spans")),
            notes=_texts(entry.get("notes")),
        )
        for place, entry in values.items()
        if isinstance(entry, Mapping)
    }


def _texts(value: object) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def _spans(value: object) -> tuple[tuple[int, int], ...]:
    found = value if isinstance(value, list) else []
    return tuple(
        (one[0], one[1])
        for one in found
        if isinstance(one, list) and len(one) == _SPAN and all(isinstance(n, int) for n in one)
    )


# Little-endian halves: the file is half as large, and a cosine keeps its first three decimals.
HALF = np.dtype("<f2")
_KEYS_PER_QUERY = 500
_BUSY_S = 5
_UNUSED_DAYS = 60
_UNUSED_DAYS_OF_OTHERS = 14
_MAX_ROWS = 200_000
_DAY_S = 86_400
_UNWRITABLE = frozenset(
    (
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_READONLY,
    )
)
_VECTORS = """
    CREATE TABLE IF NOT EXISTS vectors (
        encoder TEXT NOT NULL,
        key TEXT NOT NULL,
        vector BLOB NOT NULL,
        used INTEGER NOT NULL,
        PRIMARY KEY (encoder, key)
    )
"""
_SCHEMA = (
    _VECTORS,
    "CREATE INDEX IF NOT EXISTS vectors_by_use ON vectors (used)",
    "CREATE TABLE IF NOT EXISTS prunings (day INTEGER PRIMARY KEY)",
)
_KEEP = """
    INSERT INTO vectors (encoder, key, vector, used) VALUES (?, ?, ?, ?)
    ON CONFLICT (encoder, key) DO UPDATE SET vector = excluded.vector, used = excluded.used
"""
_FORGET_UNUSED = "DELETE FROM vectors WHERE used < ? AND (used < ? OR encoder <> ?)"
_FORGET_OLDEST = """
    DELETE FROM vectors WHERE rowid IN (
        SELECT rowid FROM vectors ORDER BY used DESC, rowid DESC LIMIT -1 OFFSET ?
    )
"""


def _find_today() -> int:
    return int(time.time()) // _DAY_S


class SqliteVectors:
    """Vectors in one file, by encoder and text hash; safe for several threads and processes."""

    def __init__(
        self, path: str, *, today: Callable[[], int] = _find_today, max_rows: int = _MAX_ROWS
    ) -> None:
        self._path = path
        self._today = today
        self._max_rows = max_rows
        self._lock = threading.Lock()
        self._file = state_files.SqliteFile(path, _BUSY_S, _prepare)

    def load(self, encoder_id: str, keys: Sequence[str]) -> Mapping[str, Vectors]:
        """Return what is known of `keys`; a vector that makes no sense counts as unknown."""
        with self._lock:
            if not keys or state_files.identity(self._path) is None:
                return {}
            try:
                return self._read(encoder_id, keys)
            except sqlite3.Error as error:
                # A folder that cannot be written to is no reason not to read from it.
                if state_files.code(error) in _UNWRITABLE:
                    self._file.close()
                    with suppress(sqlite3.Error), closing(self._open_frozen()) as connection:
                        return choose_known(_rows(connection, encoder_id, keys, 0))
                self._file.give_up("vectors", error)
                return {}

    def alone(self, _encoder_id: str) -> AbstractContextManager[None]:
        """Let anybody encode: nobody else has this file but processes of this machine."""
        return nullcontext()

    def save(self, encoder_id: str, vectors: Mapping[str, Vectors]) -> None:
        """Keep `vectors`, all or none of them."""
        with np.errstate(over="ignore"):
            halves = {key: np.asarray(vector, dtype=HALF) for key, vector in vectors.items()}
        rows = [(key, half.tobytes()) for key, half in halves.items() if np.isfinite(half).all()]
        with self._lock:
            # A broken file is thrown away at the first attempt, so the second finds none.
            if rows and not self._write(encoder_id, rows):
                self._write(encoder_id, rows)

    def close(self) -> None:
        """Give the file back; a later use opens it again."""
        with self._lock:
            self._file.close()

    def _read(self, encoder_id: str, keys: Sequence[str]) -> dict[str, Vectors]:
        connection, today = self._file.open(), self._today()
        rows = _rows(connection, encoder_id, keys, today)
        stale = [key for key, _, is_stale in rows if is_stale]
        if stale:
            _touch(connection, encoder_id, stale, today)
        return choose_known(rows)

    def _write(self, encoder_id: str, rows: Sequence[tuple[str, bytes]]) -> bool:
        """Write what can be written; False where the file was broken and is gone now."""
        try:
            state_files.create(self._path)
            connection, today = self._file.open(), self._today()
            with state_files.transaction(connection):
                kept = [(encoder_id, key, vector, today) for key, vector in rows]
                connection.executemany(_KEEP, kept)
                first = connection.execute("INSERT OR IGNORE INTO prunings VALUES (?)", (today,))
                if first.rowcount:
                    others, own = today - _UNUSED_DAYS_OF_OTHERS, today - _UNUSED_DAYS
                    connection.execute("DELETE FROM prunings WHERE day <> ?", (today,))
                    connection.execute(_FORGET_UNUSED, (others, own, encoder_id))
                    connection.execute(_FORGET_OLDEST, (self._max_rows,))
        except (sqlite3.Error, OSError) as error:
            self._file.give_up("vectors", error)
            return not state_files.is_broken(error)
        return True

    def _open_frozen(self) -> sqlite3.Connection:
        from pathlib import Path

        address = Path(self._path).absolute().as_uri()
        return sqlite3.connect(f"{address}?mode=ro&immutable=1", uri=True)


def _prepare(connection: sqlite3.Connection) -> None:
    for statement in _SCHEMA:
        connection.execute(statement)


def _chunks(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    return (keys[at : at + _KEYS_PER_QUERY] for at in range(0, len(keys), _KEYS_PER_QUERY))


def _marks(keys: Sequence[str]) -> str:
    return ",".join("?" * len(keys))


def _rows(
    connection: sqlite3.Connection, encoder_id: str, keys: Sequence[str], today: int
) -> list[tuple[str, bytes, int]]:
    """Return key, vector and whether it was last used before today."""
    found: list[tuple[str, bytes, int]] = []
    for chunk in _chunks(list(dict.fromkeys(keys))):
        known = f"encoder = ? AND key IN ({_marks(chunk)}) AND typeof(vector) = 'blob'"
        # Only question marks were put in.
        query = f"SELECT key, vector, used < ? FROM vectors WHERE {known}"  # noqa: S608
        found += connection.execute(query, (today, encoder_id, *chunk))
    return found


def _touch(
    connection: sqlite3.Connection, encoder_id: str, keys: Sequence[str], today: int
) -> None:
    # Whoever waits for vectors does not wait for this: the next load tries again.
    connection.execute("PRAGMA busy_timeout = 0")
    with suppress(sqlite3.OperationalError), state_files.transaction(connection):
        for chunk in _chunks(keys):
            # Only question marks are put in.
            query = f"UPDATE vectors SET used = ? WHERE encoder = ? AND key IN ({_marks(chunk)})"  # noqa: S608
            connection.execute(query, (today, encoder_id, *chunk))
    connection.execute(f"PRAGMA busy_timeout = {_BUSY_S * 1000}")


def choose_known(rows: Sequence[tuple[str, bytes, int]]) -> dict[str, Vectors]:
    """Return the rows that can be vectors of one encoder: finite, and as long as most of them."""
    blobs = {key: blob for key, blob, _ in rows}
    sizes = Counter(len(blob) for blob in blobs.values() if blob and not len(blob) % HALF.itemsize)
    if not sizes:
        return {}
    size = sizes.most_common(1)[0][0]
    keys = [key for key, blob in blobs.items() if len(blob) == size]
    halves = np.frombuffer(b"".join(blobs[key] for key in keys), dtype=HALF)
    matrix = halves.astype(np.float32).reshape(len(keys), -1)
    return {key: row for key, row in zip(keys, matrix, strict=True) if np.isfinite(row).all()}
