"""What our own files of SQLite share: how one is made, known again, told broken, and written to."""

import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from prowess.errors import explain_failure

try:
    import fcntl
except ImportError:
    # Windows refuses to rename or remove a file that is open.
    fcntl = None  # type: ignore[assignment]

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
        self._told = ""

    def open(self) -> sqlite3.Connection:
        """Return the connection, which is made where there is none."""
        found = identity(self._path)
        if self._connection is not None and found == self.identity:
            return self._connection
        self.close()
        with _folder_held(self._path, alone=False):
            connection = sqlite3.connect(
                self._path, timeout=self._busy_s, isolation_level=None, check_same_thread=False
            )
            self._connection, self.identity = connection, identity(self._path)
            # Refused at once while another process does the same; it then holds for all of them.
            with suppress(sqlite3.OperationalError):
                connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            self._prepare(connection)
        return connection

    def remove(self, broken: tuple[int, int] | None, aside: str = "") -> None:
        """Take a broken file and its companions away, or give them another ending.

        Another process may have done so already, and its new file stays.

        Raises:
            OSError: it cannot be moved.
        """
        with _folder_held(self._path, alone=True):
            if broken is None or identity(self._path) != broken:
                return
            for ending in ("-shm", "-wal", ""):
                with suppress(FileNotFoundError):
                    if aside:
                        os.replace(self._path + ending, self._path + aside + ending)
                    else:
                        os.unlink(self._path + ending)

    def close(self) -> None:
        """Give the file back; a later use opens it again."""
        if self._connection is not None:
            self._connection.close()
        self._connection = self.identity = None

    def give_up(self, what: str, error: sqlite3.Error | OSError) -> None:
        """Warn that a cache cannot be used, once for each reason; throw it away if it is broken."""
        # Late: hooks pay for it, and they almost never need it.
        import logging

        broken = self.identity
        self.close()
        if str(error) != self._told:
            self._told = str(error)
            log = logging.getLogger(__name__)
            log.warning("%s.unusable: %s: %s", what, self._path, error)
        if code(error) in BROKEN:
            with suppress(OSError):
                self.remove(broken)


@contextmanager
def _folder_held(path: str, *, alone: bool) -> Iterator[None]:
    """Let no file be taken away while somebody opens it.

    SQLite finds a log by the name of its file: a connection to a file that was renamed before its
    first statement takes the log of the new one for its own, and what both write there is lost.

    Raises:
        OSError: there is no such folder.
    """
    if fcntl is None:
        yield
        return
    handle = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
    try:
        # A share of the network may know no such locks; SQLite is not safe on one either.
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield
    finally:
        os.close(handle)


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
            found = os.stat(name)
            mode = stat.S_IMODE(found.st_mode)
            if stat.S_ISREG(found.st_mode) and mode & _OTHERS:
                os.chmod(name, mode & ~_OTHERS)


def identity(path: str) -> tuple[int, int] | None:
    """Return what tells a file from another one of its name; None where there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


# By the code of SQLite: what to do. A file that works again tomorrow is never moved away.
_ADVICE = {
    sqlite3.SQLITE_FULL: "make room on the disk that holds it, then try again",
    sqlite3.SQLITE_IOERR: "look whether its disk is full or broken, then try again",
    sqlite3.SQLITE_BUSY: "another process holds it: try again",
    sqlite3.SQLITE_LOCKED: "another process holds it: try again",
    sqlite3.SQLITE_CORRUPT: "move it away, and a new one is made",
    sqlite3.SQLITE_NOTADB: "move it away, and a new one is made",
}


def describe(error: Exception) -> str:
    """Return what is wrong with a file of SQLite, and what to do about it."""
    found = getattr(error, "orig", None) or error
    if isinstance(found, OSError):
        return f"cannot be used ({explain_failure(found)})."
    said = str(found).splitlines()[0]
    known = code(found) if isinstance(found, sqlite3.Error) else None
    advice = _ADVICE.get(known or 0, "look at its permissions and its disk, then try again")
    return f"cannot be used ({said}): {advice}."


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
