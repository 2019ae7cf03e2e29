"""What our own files of SQLite share: how one is made, known again, told broken, and written to."""

import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
# The last is an error in a statement: a file with our name and somebody else's tables.
BROKEN = frozenset((sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR))


class SqliteFile:
    """A connection to the file that is there now, which may not be the one that was last time.

    Args:
        path: the file.
        busy_s: how long to wait for another writer.
        prepare: makes a new connection ready for use.
    """

    def __init__(
        self, path: str, busy_s: float, prepare: Callable[[sqlite3.Connection], None]
    ) -> None:
        self._path, self._busy_s, self._prepare = path, busy_s, prepare
        self._connection: sqlite3.Connection | None = None
        self.identity: tuple[int, int] | None = None

    def open(self) -> sqlite3.Connection:
        """Return the connection, which is made where there is none."""
        found = identity(self._path)
        if self._connection is not None and found == self.identity:
            return self._connection
        self.close()
        connection = sqlite3.connect(
            self._path, timeout=self._busy_s, isolation_level=None, check_same_thread=False
        )
        self._connection, self.identity = connection, found
        # Refused at once while another process does the same; it then holds for all of them.
        with suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        self._prepare(connection)
        return connection

    def close(self) -> None:
        """Give the file back; a later use opens it again."""
        if self._connection is not None:
            self._connection.close()
        self._connection = self.identity = None


def create(path: str) -> None:
    """Make the file for its owner's eyes only; SQLite gives its companions the same mode.

    One that exists and that others may read is kept from them, and so are its companions.

    Raises:
        OSError: it cannot be made.
    """
    os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o700, exist_ok=True)
    # Never open one that exists: closing it again would drop the locks that SQLite holds on it.
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        return
    for name in (path, f"{path}-wal", f"{path}-shm"):
        # Companions come and go; and whose file it is decides who may read it.
        with suppress(OSError):
            _tighten(name)


def _tighten(path: str) -> None:
    found = os.stat(path)
    mode = stat.S_IMODE(found.st_mode)
    if stat.S_ISREG(found.st_mode) and mode & _OTHERS:
        os.chmod(path, mode & ~_OTHERS)


def identity(path: str) -> tuple[int, int] | None:
    """Return what tells a file from another one of its name; None where there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def code(error: sqlite3.Error | OSError) -> int | None:
    """Return the primary code of an error of SQLite, without what refines it."""
    number = getattr(error, "sqlite_errorcode", None)
    return None if number is None else number & 0xFF


@contextmanager
def transaction(connection: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """Do all of it or nothing.

    Immediate by default: a transaction that begins by reading cannot wait for its turn to write.
    """
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # After a full disk SQLite has often rolled back by itself.
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
