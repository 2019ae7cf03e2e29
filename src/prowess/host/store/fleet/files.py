"""Small files of the state folder that a fleet shares: config, acceptances, approvals, examples.

The database has the newest of each, and every gateway a copy in its own state folder: what reads
them reads its file as ever, also while the database is gone. Who changes one holds it in the whole
fleet, begins from the newest, and what is written counts once the database has it. A file that was
edited by hand is given to the others, unless they have a newer one: then that one holds, and the
edited text is kept beside it.

Logs are only added to: what was decided is one log of the whole fleet, and of each gateway's own
log files the database has a copy.
"""

import hashlib
import logging
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import NamedTuple

import sqlalchemy as sa

from prowess.errors import StoreError, explain_failure
from prowess.host.files.state_files import locked, write_private
from prowess.host.store.database import NUMBER, Database, Tables

log = logging.getLogger(__name__)
METADATA = sa.MetaData()
_DOCUMENTS = sa.Table(
    "documents",
    METADATA,
    sa.Column("name", sa.String, primary_key=True),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
)
_REVISIONS = sa.Table(
    "config_revisions",
    METADATA,
    sa.Column("number", NUMBER, primary_key=True),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("hash", sa.String, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("gateway", sa.String, nullable=False),
)
_AUDIT = sa.Table(
    "audit_events",
    METADATA,
    sa.Column("number", NUMBER, primary_key=True),
    sa.Column("log", sa.String, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("gateway", sa.String, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
)
TABLES = Tables(METADATA)
TOPIC = "documents"
_ID_FILE = "gateway-id"
_MOST_LINES_SENT = 1_000


class LogLines:
    """The lines of one log, which all machines of a fleet add to."""

    def __init__(self, database: Database, log: str, gateway: str) -> None:
        """Nothing is read yet; `gateway` is who adds lines here."""
        self._database, self._log, self._gateway = database, log, gateway
        self.name = f"{log} in {database.name}"
        self._mine = _AUDIT.c.log == log

    def add(self, make: Callable[[bytes], bytes], connection: sa.Connection | None = None) -> None:
        """Add the line that is made from the last one, which is empty at the beginning.

        With a connection it is kept together with what else is written there, or not at all.

        Raises:
            StoreError: the database cannot be used.
        """
        with ExitStack() as stack:
            if connection is None:
                connection = stack.enter_context(self._database.writing(TABLES))
            self._append(connection, make)

    def _append(self, connection: sa.Connection, make: Callable[[bytes], bytes]) -> None:
        last = sa.select(_AUDIT.c.body).where(self._mine).order_by(_AUDIT.c.number.desc()).limit(1)
        row = {"log": self._log, "gateway": self._gateway, "at": time.time()}
        self._database.take_turn(connection, f"log {self._log}")
        body = make((connection.scalar(last) or "").encode()).decode()
        connection.execute(sa.insert(_AUDIT).values(**row, body=body))

    def read(self) -> list[bytes]:
        """Return all lines, the oldest first.

        Raises:
            StoreError: the database cannot be used.
        """
        query = sa.select(_AUDIT.c.body).where(self._mine).order_by(_AUDIT.c.number)
        with self._database.reading(TABLES) as connection:
            return [body.encode() for body in connection.scalars(query)]


class SharedFile(NamedTuple):
    """One file: where it is here, and what of it is about this machine alone."""

    path: str
    # From the text here to what the others get.
    give: Callable[[str], str] = str
    # From what the others gave, and the text here, to the new text here.
    take: Callable[[str, str], str] = lambda theirs, _mine: theirs
    # Whether each text that was given is kept for good.
    has_revisions: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Copy:
    """What this gateway last had in common with the database."""

    number: int
    digest: str


class SharedFiles:
    """The shared files of one state folder; safe from any thread."""

    def __init__(
        self,
        database: Database,
        state: str,
        shared: Mapping[str, SharedFile],
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Nothing is read yet; `shared` are the files by the names that they have in the fleet."""
        self._database, self._now = database, now
        self._shared = dict(shared)
        self._names = {os.path.abspath(one.path): name for name, one in shared.items()}
        self._copies: dict[str, _Copy] = {}
        self.gateway = read_id(state)

    @contextmanager
    def hold(self, path: str) -> Iterator[None]:
        """Let one process of the fleet at a time read, change and write a file.

        Raises:
            OSError: it cannot be locked or written here.
            StoreError: the database cannot be written to; then the file is as it was.
        """
        name = self._names[os.path.abspath(path)]
        with locked(path), self._database.writing(TABLES, TOPIC) as connection:
            self._copies[name] = copy = self._pull(connection, name)
            with _undo(path):
                yield
                copy = self._push(connection, name, copy)
                # Here and not later: what the others do not have must not hold here.
                connection.commit()
        self._copies[name] = copy

    def sync(self) -> bool:
        """Take what others changed, and give what was edited here; return whether anything was.

        Raises:
            StoreError: the database cannot be used.
        """
        query = sa.select(_DOCUMENTS.c.name, _DOCUMENTS.c.number)
        with self._database.reading(TABLES) as connection:
            numbers = {row.name: row.number for row in connection.execute(query)}
        changed = [name for name in self._shared if self._is_news(name, numbers.get(name, 0))]
        for name in changed:
            try:
                with self.hold(self._shared[name].path):
                    pass
            except OSError as error:
                problem = f"cannot be brought up to date: {explain_failure(error)}."
                raise StoreError(self._shared[name].path, problem) from error
        return bool(changed)

    def ship(self, name: str, path: str) -> int:
        """Send the lines of a log that the database does not have yet; return how many.

        Raises:
            StoreError: the database cannot be used.
        """
        lines = _read_lines(path)
        if not lines:
            return 0
        mine = sa.and_(_AUDIT.c.log == name, _AUDIT.c.gateway == self.gateway)
        with self._database.writing(TABLES) as connection:
            known = connection.scalar(sa.select(sa.func.count()).where(mine)) or 0
            new = lines[known : known + _MOST_LINES_SENT]
            row = {"log": name, "gateway": self.gateway, "at": self._now()}
            if new:
                connection.execute(sa.insert(_AUDIT), [{**row, "body": line} for line in new])
        return len(new)

    def _is_news(self, name: str, number: int) -> bool:
        copy, content = self._copies.get(name), _read(self._shared[name].path)
        if copy is None:
            return number > 0 or content is not None
        return copy.number != number or copy.digest != _digest(content)

    def _pull(self, connection: sa.Connection, name: str) -> _Copy:
        """Bring the file to the newest that the fleet has; return what that is."""
        shared, copy = self._shared[name], self._copies.get(name)
        path = shared.path
        query = sa.select(_DOCUMENTS.c.number, _DOCUMENTS.c.body).where(_DOCUMENTS.c.name == name)
        row = connection.execute(query).one_or_none()
        if row is None:
            return _Copy(number=0, digest="")
        if copy is not None and copy.number == row.number:
            return copy
        content = _read(path)
        body = shared.take(row.body, (content or b"").decode("utf-8", "replace"))
        if _digest(content) != _digest(body.encode()):
            if content is not None and (copy is None or _digest(content) != copy.digest):
                kept = f"{path}.local"
                write_private(kept, content.decode("utf-8", "replace"))
                log.warning("fleet.replaced: %s: the fleet has a newer one; kept %s", path, kept)
            write_private(path, body)
        return _Copy(number=row.number, digest=_digest(body.encode()))

    def _push(self, connection: sa.Connection, name: str, copy: _Copy) -> _Copy:
        """Give the file to the fleet where it is not what the fleet has."""
        shared = self._shared[name]
        content = _read(shared.path)
        if content is None or _digest(content) == copy.digest:
            return copy
        body = shared.give(content.decode("utf-8", "replace"))
        row = {"name": name, "number": copy.number + 1, "body": body}
        self._database.put(connection, _DOCUMENTS, [row])
        if shared.has_revisions:
            made = {"at": self._now(), "hash": _digest(body.encode()), "body": body}
            connection.execute(sa.insert(_REVISIONS).values(**made, gateway=self.gateway))
        return _Copy(number=copy.number + 1, digest=_digest(content))


def copy_log(connection: sa.Connection, path: str, log: str, gateway: str) -> int | None:
    """Write the lines of a file into a log that is empty; return how many, None without a file.

    Raises:
        StoreError: the log has lines already, to which these do not lead.
    """
    lines = _read_lines(path)
    if not lines:
        return None
    if connection.scalar(sa.select(sa.func.count()).where(_AUDIT.c.log == log)):
        raise StoreError(path, f"cannot go before the log {log}: copy into an empty database.")
    row = {"log": log, "gateway": gateway, "at": time.time()}
    connection.execute(sa.insert(_AUDIT), [{**row, "body": line} for line in lines])
    return len(lines)


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _read_lines(path: str) -> list[str]:
    """Return the whole lines of a log; the last may still be being written."""
    text = (_read(path) or b"").decode("utf-8", "replace").replace("\0", "")
    return text.split("\n")[:-1]


@contextmanager
def _undo(path: str) -> Iterator[None]:
    """Leave a file as it was where anything goes wrong."""
    before = _read(path)
    try:
        yield
    except BaseException:
        if before is None:
            with suppress(FileNotFoundError):
                os.unlink(path)
        elif _read(path) != before:
            write_private(path, before.decode("utf-8", "replace"))
        raise


def _digest(content: bytes | None) -> str:
    return "" if content is None else hashlib.sha256(content).hexdigest()


def read_id(state: str) -> str:
    """Return the name of this gateway in the fleet, which its state folder keeps."""
    path = os.path.join(state, _ID_FILE)
    found = (_read(path) or b"").decode("ascii", "replace").strip()
    if not found:
        found = secrets.token_hex(8)
        write_private(path, found + "\n")
    return found
