"""Files of the state folder: replaced in one step, by one writer at a time, and private.

The lock of the gateway is one that the system itself gives back when the process ends. Its file
stays behind and says who held it last; only the lock on it counts.

What only saves time (`KeptFiles`) is known by what it was made from, and policies (`PolicyPlaces`)
may lie elsewhere, too. Files of SQLite are made, known again, told broken and written to in one
way (`SqliteFile`). Little is imported here: some of it is read while a client waits for its first
answer.
"""

import hashlib
import json
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from prowess.errors import GatewayBusyError, PathError, StoreError, explain_failure

if TYPE_CHECKING:
    # As long to load as all the rest: it is loaded where a file is opened.
    import sqlite3

_MOST_KEPT_BYTES = 64 * 1024 * 1024
_STAMP_CHARS = 12
_SUFFIX = ".tmp"
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class KeptFiles:
    """Bytes that are worth nothing but time, by what they were made from.

    What is missing, broken or too large is made anew, and the oldest go first. A file is written
    whole or not at all, and is not read by another version of the code that made it, nor where
    anybody else could have written it.
    """

    def __init__(self, folder: str, *, made_by: str, most: int) -> None:
        self._folder, self._most, self._ending = folder, most, f"-{made_by}.index"

    def load(self, key: str) -> bytes | None:
        """Return what was kept under `key`, if anything was."""
        # Missing is the usual case, and one that cannot be read is as good as none.
        with suppress(OSError):
            handle = os.open(self._path(key), _READ)
            with os.fdopen(handle, "rb") as file:
                found = os.fstat(handle)
                is_closed = os.name == "nt" or not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
                if is_closed and is_own(found) and found.st_size <= _MOST_KEPT_BYTES:
                    return file.read(_MOST_KEPT_BYTES)
        return None

    def save(self, key: str, raw: bytes) -> None:
        """Keep `raw`; a folder that cannot be written to keeps nothing."""
        if len(raw) > _MOST_KEPT_BYTES:
            return
        with suppress(OSError):
            os.makedirs(self._folder, stat.S_IRWXU, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self._folder, suffix=_SUFFIX)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(raw)
                os.replace(name, self._path(key))
            except OSError:
                os.unlink(name)
            self._forget_all_but(self._most)

    def forget(self) -> None:
        """Remove all: they hold what people said, and that was changed."""
        with suppress(OSError):
            self._forget_all_but(0)

    def _path(self, key: str) -> str:
        return os.path.join(self._folder, key + self._ending)

    def _forget_all_but(self, most: int) -> None:
        with os.scandir(self._folder) as entries:
            kept = sorted((entry.stat().st_mtime, entry.path) for entry in entries)
        # What a writer left behind that was ended in the middle goes the same way.
        for _, path in kept[: max(0, len(kept) - most)]:
            os.unlink(path)


def stamp_code(*folders: str) -> str:
    """Return what tells the code in `folders`, and its tables, from every other version of it."""
    # The version stands there, where all files of a build have one time.
    with open(os.path.join(_PACKAGE, "__init__.py"), "rb") as file:
        found = hashlib.sha256(file.read())
    for folder in folders:
        with os.scandir(folder) as entries:
            files = sorted((one.name, one.stat().st_size, one.stat().st_mtime_ns)
                           for one in entries if one.name.endswith((".py", ".toml")))  # fmt: skip
        found.update(repr(files).encode())
    return found.hexdigest()[:_STAMP_CHARS]


def is_own(found: os.stat_result) -> bool:
    """Return whether a file is a regular one of ours, under one name alone."""
    is_ours = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
    return stat.S_ISREG(found.st_mode) and is_ours and found.st_nlink == 1


try:
    import fcntl
except ImportError:
    # Windows has no such locks; a race there costs the loser its change, and a second gateway is
    # refused by its port.
    fcntl = None  # type: ignore[assignment]


# What the operator accepted of the scanner's findings: verdicts change with it, without a scan.
ACCEPTANCES_FILE = "safety-acceptances.json"
# What was shown of the lift of skills.
PROOFS_FILE = "proofs.json"
_PREFIX = ".prowess-"
_MOST_CHARS = 16_000_000
# No write takes so long: whoever began such a file was ended before it could remove it.
_LEFT_S = 3_600


@contextmanager
def locked(path: str) -> Iterator[None]:
    """Let one process at a time read, change and write: a second one would undo the first.

    Raises:
        OSError: the lock file cannot be made.
    """
    os.makedirs(os.path.dirname(path), stat.S_IRWXU, exist_ok=True)
    handle = os.open(path + ".lock", os.O_RDWR | os.O_CREAT, stat.S_IRUSR | stat.S_IWUSR)
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def hold_alone(path: str, subject: str) -> Iterator[None]:
    """Let one process at a time in, as `locked` does; `subject` is what a person knows.

    Raises:
        PathError: the lock file cannot be made.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(path))
        except OSError as error:
            raise PathError(subject, f"cannot be locked: {explain_failure(error)}.") from error
        yield


# Keeps other writers of a file out: those of this machine, or of a whole fleet.
Hold = Callable[[str], AbstractContextManager[None]]


def write_private(path: str, text: str) -> None:
    """Replace `path` in one step, so that a power cut leaves the old or the new file.

    Raises:
        OSError: it cannot be written.
    """
    # A link to a dotfiles folder stays a link: its target is what gets replaced.
    target = Path(os.path.realpath(path))
    target.parent.mkdir(stat.S_IRWXU, parents=True, exist_ok=True)
    _sweep(target.parent)
    with writing_beside(str(target), text.encode(), stat.S_IRUSR | stat.S_IWUSR) as name:
        Path(name).replace(target)


@contextmanager
def writing_beside(target: str, content: bytes, mode: int) -> Iterator[str]:
    """Hold a file beside its target, whole and on the disk; gone afterwards unless renamed.

    Raises:
        OSError: it cannot be written.
    """
    handle, name = tempfile.mkstemp(dir=os.path.dirname(target), prefix=_PREFIX, suffix=_SUFFIX)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, mode)
        yield name
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)


def _sweep(folder: Path) -> None:
    """Remove what a writer left behind that was ended in the middle: it may hold a secret."""
    before = time.time() - _LEFT_S
    # A folder that cannot be read keeps it, and others may sweep at the same moment.
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if not (entry.name.startswith(_PREFIX) and entry.name.endswith(_SUFFIX)):
                continue
            with suppress(OSError):
                found = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(found.st_mode) and found.st_mtime < before:
                    os.unlink(entry.path)


def read_mapping(path: str) -> dict[str, Any]:
    """Return the JSON object in a file; an empty one where there is no file, or another value.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no JSON.
    """
    try:
        with open(path, encoding="utf-8") as file:
            # One character more than anything that was written: cut JSON is no JSON.
            found = json.loads(file.read(_MOST_CHARS + 1))
    except FileNotFoundError:
        return {}
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    return found if isinstance(found, dict) else {}


def change_mapping(
    path: str, change: Callable[[dict[str, Any]], object], hold: Hold = locked
) -> None:
    """Let `change` work on the JSON object in a file, which is then replaced.

    Raises:
        StoreError: it cannot be changed.
    """
    try:
        with hold(path):
            try:
                values = read_mapping(path)
            except ValueError:
                # Somebody edited it by hand and slipped: their text is kept.
                os.replace(path, path + ".bak")
                values = {}
            change(values)
            text = json.dumps(values, indent=2, ensure_ascii=False) + "\n"
            # Half of a character pair is no text that a file can hold.
            write_private(path, text.encode("utf-8", "replace").decode("utf-8"))
    except OSError as error:
        raise StoreError(path, f"cannot be changed: {explain_failure(error)}.") from error


FILE_NAME = "gateway.lock"
_MOST_BYTES = 4_096
# Not through a link, and without waiting for whoever would read a pipe.
_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class InstanceLock:
    """The lock, once it is held."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def note(self, address: str) -> None:
        """Say where this gateway listens, for whoever is refused."""
        text = json.dumps({"pid": os.getpid(), "address": address}) + "\n"
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, text.encode(), 0)


@contextmanager
def only_instance(state: str) -> Iterator[InstanceLock]:
    """Hold the lock of a state folder.

    Raises:
        GatewayBusyError: another process holds it.
        PathError: the folder cannot be written or knows no locks, or the file is not our own.
    """
    path = os.path.join(state, FILE_NAME)
    try:
        os.makedirs(state, stat.S_IRWXU, exist_ok=True)
        handle = os.open(path, _FLAGS, stat.S_IRUSR | stat.S_IWUSR)
    except OSError as error:
        raise PathError(path, f"cannot be written: {explain_failure(error)}.") from error
    try:
        _refuse_foreign(path, handle)
        if fcntl is not None:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise GatewayBusyError(state, _holder(handle)) from error
            except OSError as error:
                raise PathError(path, f"cannot be locked: {explain_failure(error)}.") from error
            # What the last one said of itself is true no more.
            os.ftruncate(handle, 0)
        yield InstanceLock(handle)
    finally:
        os.close(handle)


def _refuse_foreign(path: str, handle: int) -> None:
    """Refuse what somebody else put there: what is written goes into a file of our own alone."""
    if not is_own(os.fstat(handle)):
        raise PathError(path, "is no regular file of yours under this name alone: remove it.")


def _holder(handle: int) -> str:
    """Return where the other one listens, if it has said so."""
    try:
        found = json.loads(os.pread(handle, _MOST_BYTES, 0))
    except (OSError, ValueError, RecursionError):
        # Whatever the file says, this gateway is refused: only the address is not known.
        return ""
    known = found.get("address") if isinstance(found, dict) else None
    return known if isinstance(known, str) else ""


# As `prowess.sharing.policy` has it, which takes time to load.
_POLICY_FILE, VARIABLE = "prowess-policy.yml", "PROWESS_POLICY"
_SYSTEM = "/etc/prowess"


class PolicyPlaces(NamedTuple):
    """Where the policies of one workspace lie."""

    environ: Mapping[str, str]
    state: str
    workspace: str

    def files(self) -> tuple[tuple[str, str], ...]:
        """Return the level and path of every policy file that there is, the highest first."""
        named = self.environ.get(VARIABLE, "")
        places = (
            ("organisation", os.path.join(_SYSTEM, _POLICY_FILE)),
            *((("organisation", named),) if named else ()),
            ("team", os.path.join(self.state, _POLICY_FILE)),
            ("project", os.path.join(self.workspace, _POLICY_FILE)),
        )
        # One that was named and is not there is no policy that can be read.
        return tuple(pair for pair in places if pair[1] == named or os.path.lexists(pair[1]))

    def stamp(self) -> object:
        """Return what is another one once a policy file, a proof, or the day, is."""
        files = self.files()
        if not files:
            return ()
        # Late: most workspaces have none.
        from datetime import UTC, datetime

        from prowess.host.files.handles import stamp_file

        # Waivers end with a day.
        today = str(datetime.now(UTC).date())
        # What was shown of skills may be asked for.
        paths = (*(path for _, path in files), os.path.join(self.state, PROOFS_FILE))
        return (today, *(repr(stamp_file(path)) for path in paths))


_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def open_readonly(path: str, busy_s: float = 5.0) -> "sqlite3.Connection":
    """Return a connection that reads a file of SQLite and neither makes nor changes one."""
    import sqlite3
    from urllib.parse import quote

    return sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, timeout=busy_s)


class SqliteFile:
    """A connection to the file that is there now, which may not be the one that was last time.

    Args:
        path: the file.
        busy_s: how long to wait for another writer.
        prepare: makes a new connection ready for use.
    """

    def __init__(
        self, path: str, busy_s: float, prepare: "Callable[[sqlite3.Connection], None]"
    ) -> None:
        self._path, self._busy_s, self._prepare = path, busy_s, prepare
        self._connection: sqlite3.Connection | None = None
        self.identity: tuple[int, int] | None = None
        self._told = ""

    def open(self) -> "sqlite3.Connection":
        """Return the connection, which is made where there is none."""
        import sqlite3

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

    def give_up(self, what: str, error: "sqlite3.Error | OSError") -> None:
        """Warn that a cache cannot be used, once for each reason; throw it away if it is broken."""
        # Late: hooks pay for it, and they almost never need it.
        import logging

        broken = self.identity
        self.close()
        if str(error) != self._told:
            self._told = str(error)
            log = logging.getLogger(__name__)
            log.warning("%s.unusable: %s: %s", what, self._path, error)
        if is_broken(error):
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


# By the name of SQLite's code: what to do. A file that works again tomorrow is never moved away.
_ADVICE = {
    "SQLITE_FULL": "make room on the disk that holds it, then try again",
    "SQLITE_IOERR": "look whether its disk is full or broken, then try again",
    "SQLITE_BUSY": "another process holds it: try again",
    "SQLITE_LOCKED": "another process holds it: try again",
    "SQLITE_CORRUPT": "move it away, and a new one is made",
    "SQLITE_NOTADB": "move it away, and a new one is made",
}


def describe(error: Exception) -> str:
    """Return what is wrong with a file of SQLite, and what to do about it."""
    import sqlite3

    found = getattr(error, "orig", None) or error
    if isinstance(found, OSError):
        return f"cannot be used ({explain_failure(found)})."
    said = str(found).splitlines()[0]
    known = code(found) if isinstance(found, sqlite3.Error) else None
    fitting = (advice for name, advice in _ADVICE.items() if getattr(sqlite3, name) == known)
    advice = next(fitting, "look at its permissions and its disk, then try again")
    return f"cannot be used ({said}): {advice}."


def is_broken(error: "sqlite3.Error | OSError") -> bool:
    """Return whether an error says that a file is none of ours, or no longer one."""
    import sqlite3

    # The last is an error in a statement: a file with our name and somebody else's tables.
    broken = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
    return code(error) in broken


def code(error: "sqlite3.Error | OSError") -> int | None:
    """Return the primary code of an error of SQLite, without what refines it."""
    number = getattr(error, "sqlite_errorcode", None)
    return None if number is None else number & 0xFF


@contextmanager
def transaction(connection: "sqlite3.Connection", begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """Do all of it or nothing.

    Immediate by default: a transaction that begins by reading cannot wait for its turn to write.
    """
    import sqlite3

    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # After a full disk SQLite has often rolled back by itself.
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
