"""The cache of vectors: one SQLite file, used with the standard library alone.

It is a cache and stands in a file of its own, so it may be deleted at any time, even while it is
open, and a broken one is thrown away. No caller ever sees an error from here: what cannot be read
is encoded again, what cannot be kept is encoded again next time, and a warning says why.
"""

import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext, suppress

import numpy as np

from prowess.host.store import sqlite as sqlite_files
from prowess.runtime.ports import Vectors

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


def _today() -> int:
    return int(time.time()) // _DAY_S


class SqliteVectors:
    """Vectors in one file, by encoder and text hash; safe for several threads and processes."""

    def __init__(
        self, path: str, *, today: Callable[[], int] = _today, max_rows: int = _MAX_ROWS
    ) -> None:
        self._path = path
        self._today = today
        self._max_rows = max_rows
        self._lock = threading.Lock()
        self._file = sqlite_files.SqliteFile(path, _BUSY_S, _prepare)

    def load(self, encoder_id: str, keys: Sequence[str]) -> Mapping[str, Vectors]:
        """Return what is known of `keys`; a vector that makes no sense counts as unknown."""
        with self._lock:
            if not keys or sqlite_files.identity(self._path) is None:
                return {}
            try:
                return self._read(encoder_id, keys)
            except sqlite3.Error as error:
                # A folder that cannot be written to is no reason not to read from it.
                if sqlite_files.code(error) in _UNWRITABLE:
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
            sqlite_files.create(self._path)
            connection, today = self._file.open(), self._today()
            with sqlite_files.transaction(connection):
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
            return sqlite_files.code(error) not in sqlite_files.BROKEN
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
    with suppress(sqlite3.OperationalError), sqlite_files.transaction(connection):
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
