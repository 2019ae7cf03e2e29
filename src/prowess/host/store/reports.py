"""What the scanner says of every skill of a workspace, without a scan where a report is kept.

Reports are kept by the content of a skill and the version that made them, in one SQLite file that
is used with the standard library alone and shared by every process. Beside them stand the stamps by
which a skill whose files did not change is known without reading one of them. All of it is worth
nothing but time, so no caller sees an error from here: what cannot be read is scanned again, and a
broken file is thrown away.

Some callers cannot wait for many scans: what they have no time for stays without a verdict, and a
skill without one is not handed out. Lists, prompts, routing and loading ask the same judge, which
adds what the policies forbid; to look whether there are any costs next to nothing. The list of
skills of a large workspace is kept as well, for whoever cannot wait until all were looked at.
"""

import hashlib
import json
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from prowess import skills
from prowess.host.files import state_files
from prowess.host.files.handles import is_settled, stamp_file
from prowess.host.files.state_files import KeptFiles, PolicyPlaces, stamp_code
from prowess.runtime.ports import KnownVerdict, ScanPatience, show_progress
from prowess.settings import Settings
from prowess.skills.catalog import AddressedSkill, list_addressed
from prowess.skills.eligibility import BlockingFinding, ScannerBlock, is_disabled
from prowess.skills.model import Diagnostic, Skill

if TYPE_CHECKING:
    from prowess.runtime.scan import ReportCard
    from prowess.safety.model import Finding, ScanReport
    from prowess.safety.rules.table import Acceptance

REPORTS_FILE = "reports.db"
_BUSY_S = 5
_PLACES_PER_QUERY = 400
_MOST_REPORTS = 20_000
_OLDEST_S = 90 * 86_400
# As deep as the scanner goes, and as many entries as it looks at.
_DEEPEST, _MOST_ENTRIES = 64, 20_000
_SKILL_FILE = "skill.md"
_SCHEMA = (
    """
    CREATE TABLE IF NOT EXISTS reports (
        key TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        content TEXT NOT NULL,
        critical TEXT NOT NULL,
        problem TEXT NOT NULL,
        report TEXT NOT NULL,
        made REAL NOT NULL
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS places (
        place TEXT NOT NULL,
        circumstances TEXT NOT NULL,
        stamp TEXT NOT NULL,
        key TEXT NOT NULL,
        PRIMARY KEY (place, circumstances)
    )
    """,
)
_FIND = """
    SELECT place, stamp, name, content, critical, problem, made
    FROM places JOIN reports USING (key) WHERE circumstances = ?
"""
_KEEP = "INSERT OR REPLACE INTO reports VALUES (?, ?, ?, ?, ?, ?, ?)"
_BIND = "INSERT OR REPLACE INTO places VALUES (?, ?, ?, ?)"
_FORGET = (
    "DELETE FROM reports WHERE made < :oldest",
    """
    DELETE FROM reports WHERE key IN (
        SELECT key FROM reports ORDER BY made DESC LIMIT -1 OFFSET :most
    )
    """,
    "DELETE FROM places WHERE key NOT IN (SELECT key FROM reports)",
)
_T = TypeVar("_T")


# What a row of a report holds, in its order.
KEPT_COLUMNS = ("key", "name", "content", "critical", "problem", "report", "made")


def make_row(key: str, card: "ReportCard") -> tuple[object, ...]:
    """Return the row of a report."""
    return (
        key,
        _spell(card.known.name),
        card.known.content_hash,
        _dump([asdict(one) for one in card.known.critical]),
        _spell(card.known.problem),
        _dump(asdict(card.report)),
        card.known.made_at,
    )


class Circumstances(NamedTuple):
    """What a report rests on besides the skill."""

    scanner: str
    # Variable and hosts that it may be sent to, in order.
    egress: tuple[tuple[str, tuple[str, ...]], ...] = ()


class SqliteReports:
    """Reports and stamps in one file; safe for several threads and processes."""

    def __init__(self, path: str, *, now: Callable[[], float] = time.time) -> None:
        self._path, self._now = path, now
        self._lock = threading.Lock()
        self._file = state_files.SqliteFile(path, _BUSY_S, _prepare)
        self._is_pruned = False

    def load(self, key: str) -> "ScanReport | None":
        """Return a report; one of a scan that failed is none, since the next may go well."""
        query = "SELECT report FROM reports WHERE key = ? AND problem = ''"
        rows = self._read(lambda connection: connection.execute(query, (key,)).fetchall())
        return read_report(rows[0][0]) if rows else None

    def alone(self, _key: str) -> AbstractContextManager[None]:
        """Let anybody scan: nobody else has this file but processes of this machine."""
        return nullcontext()

    def save(self, key: str, card: "ReportCard") -> None:
        """Keep a report."""
        self.keep(make_row(key, card))

    def keep(self, row: Sequence[object]) -> None:
        """Keep a report that is a row already: one that another gateway made."""
        self._write(_KEEP, row)

    def find(self, stamps: Mapping[str, str], under: Circumstances) -> Mapping[str, KnownVerdict]:
        """Return what is known of these places, each with the stamp that it has now."""
        places, shown = list(stamps), _show_circumstances(under)

        def look(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
            found: list[tuple[Any, ...]] = []
            for at in range(0, len(places), _PLACES_PER_QUERY):
                chunk = places[at : at + _PLACES_PER_QUERY]
                marks = ",".join("?" * len(chunk))
                # Only question marks are put in.
                query = f"{_FIND} AND place IN ({marks})"
                found += connection.execute(query, (shown, *map(_spell, chunk)))
            return found

        by_name = {_spell(place): place for place in places}
        return {
            by_name[row[0]]: _read_known(row)
            for row in self._read(look)
            if row[1] == stamps[by_name[row[0]]]
        }

    def bind(self, place: str, stamp: str, under: Circumstances, key: str) -> None:
        """Keep that the report `key` is of a place as long as it has that stamp."""
        self._write(_BIND, (_spell(place), _show_circumstances(under), stamp, key))

    def close(self) -> None:
        """Give the file back; a later use opens it again."""
        with self._lock:
            self._file.close()

    def _read(self, look: Callable[[sqlite3.Connection], list[_T]]) -> list[_T]:
        with self._lock:
            if state_files.identity(self._path) is None:
                return []
            try:
                return look(self._file.open())
            except sqlite3.Error as error:
                self._file.give_up("reports", error)
                return []

    def _write(self, statement: str, row: Sequence[object]) -> None:
        with self._lock:
            try:
                state_files.create(self._path)
                connection = self._file.open()
                if not self._is_pruned:
                    self._is_pruned = True
                    bounds = {"oldest": self._now() - _OLDEST_S, "most": _MOST_REPORTS}
                    for forget in _FORGET:
                        connection.execute(forget, bounds)
                connection.execute(statement, row)
            except (sqlite3.Error, OSError) as error:
                self._file.give_up("reports", error)


def _prepare(connection: sqlite3.Connection) -> None:
    for statement in _SCHEMA:
        connection.execute(statement)


def _spell(text: str) -> str:
    """Return a path or name that a store can hold: one that is no UTF-8 has no other spelling."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _show_circumstances(under: Circumstances) -> str:
    return hashlib.sha256(repr(under).encode("utf-8", "backslashreplace")).hexdigest()


def _dump(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _read_known(row: Sequence[Any]) -> KnownVerdict:
    _, _, name, content, critical, problem, made = row
    return KnownVerdict(
        name=name,
        content_hash=content,
        critical=_read_findings(json.loads(critical)),
        problem=problem,
        made_at=made,
    )


def _read_findings(rows: Sequence[Mapping[str, Any]]) -> "tuple[Finding, ...]":
    if not rows:
        # Most skills have no finding of weight, and need nothing of this.
        return ()
    from prowess.safety.model import read_finding

    return tuple(map(read_finding, rows))


def read_report(text: str) -> "ScanReport":
    """Return the report that a row holds."""
    from prowess.safety.model import Handling, LedgerEntry, ScanReport, ScanVerdict

    row = json.loads(text)
    return ScanReport(
        verdict=ScanVerdict(row["verdict"]),
        findings=_read_findings(row["findings"]),
        ledger=tuple(
            LedgerEntry(**{**entry, "handling": Handling(entry["handling"])})
            for entry in row["ledger"]
        ),
        took_ms=row["took_ms"],
        error=row["error"],
    )


class Stamp(NamedTuple):
    """What changes when any file of a skill does."""

    text: str
    # False where a file changed so recently that a second change might not show.
    settled: bool
    # All folders of the skill.
    folders: tuple[str, ...] = ()


def stamp_skill(skill: Skill) -> Stamp:
    """Return what changes when any file of a skill does, without reading one."""
    if os.path.basename(skill.path).lower() != _SKILL_FILE:
        # A text among others that are not its own.
        return _make_stamp([("", stamp_file(skill.path))], ())
    folders: list[str] = []
    return _make_stamp(list(_walk(skill.folder, folders)), tuple(folders))


def _make_stamp(states: list[tuple[str, tuple[int, ...]]], folders: tuple[str, ...]) -> Stamp:
    states.sort()
    # By the last status change alone: archives bring times of their own, some of the future.
    newest = max((state[1] for _, state in states if len(state) > 1), default=0)
    text = hashlib.sha256(repr(states).encode("utf-8", "backslashreplace")).hexdigest()
    return Stamp(text, is_settled((newest, newest, 0, 0)), folders)


def _walk(folder: str, folders: list[str], depth: int = 0) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the state of everything below a folder; what cannot be listed is a state as well."""
    folders.append(folder)
    if depth > _DEEPEST or len(folders) > _MOST_ENTRIES:
        return
    try:
        with os.scandir(folder) as entries:
            found = list(entries)
    except OSError as error:
        yield folder, (error.errno or 0,)
        return
    for entry in found:
        try:
            state = entry.stat(follow_symlinks=False)
        except OSError:
            # Gone meanwhile, or not for us: reading the skill says which.
            yield entry.path, ()
            continue
        times = state.st_mtime_ns, state.st_ctime_ns
        yield entry.path, (*times, state.st_size, state.st_ino, state.st_mode)
        if stat.S_ISDIR(state.st_mode):
            yield from _walk(entry.path, folders, depth + 1)


_PENDING = ScannerBlock()
# A scan that failed may go well another time, on a machine that is less busy.
_RETRY_S = 3_600.0
_STOP_S = 5.0
_AFTER_ANSWER_S = 0.5


class VerdictPorts(NamedTuple):
    """What judging needs from the world."""

    store: SqliteReports
    # Reads a skill and has it scanned, unless there is a report; with the key of that report.
    scan: Callable[[Skill], tuple[str, KnownVerdict]]
    scanner: Callable[[], str]
    acceptances: "Callable[[], Sequence[Acceptance]]"
    # What is another one after each change of the acceptances.
    accepted: Callable[[], object]
    policies: PolicyPlaces
    # Asked for where there is a policy: most workspaces have none, and nothing of it is loaded.
    governor: "Callable[[], BlockFinder]"


class BlockFinder(Protocol):
    """Says what the policies forbid."""

    # What they require and did not find when they were last asked.
    notices: tuple[Diagnostic, ...]

    def find_blocks(
        self, skills: Sequence[Skill], known: Mapping[str, ScannerBlock], disabled: Collection[str]
    ) -> Mapping[str, ScannerBlock]:
        """Return what may not be used, by path.

        The scanner keeps out what is `known`, and the configuration the paths in `disabled`.
        """


class _Judged(NamedTuple):
    stamp: Stamp
    under: Circumstances
    known: KnownVerdict | None


class SkillVerdicts:
    """Judges the skills of one workspace; safe from any thread."""

    def __init__(self, ports: VerdictPorts, patience: ScanPatience) -> None:
        """Look at nothing yet."""
        self._ports, self.patience = ports, patience
        self._governor: BlockFinder | None = None
        # Of the policies: a report is of one skill.
        self.notices: tuple[Diagnostic, ...] = ()
        self._judged: dict[str, _Judged] = {}
        # The skills that were looked at last, and those of them that are not our own.
        self._asked: tuple[Sequence[Skill], list[Skill]] = ((), [])
        # Counts the scans whose outcome nobody was told of.
        self._news = 0
        self._thread: threading.Thread | None = None
        self._is_closing = False

    def moved(self) -> object:
        """Return what is another one once an answer may be, though no file of a skill changed."""
        return self._news, self._ports.accepted(), self._ports.policies.stamp()

    @property
    def folders(self) -> tuple[str, ...]:
        """All folders of the skills that were looked at last."""
        found = {folder for one in list(self._judged.values()) for folder in one.stamp.folders}
        return tuple(sorted(found))

    def find_blocks(
        self, skills: Sequence[Skill], settings: Settings, changed: Collection[str] | None = None
    ) -> Mapping[str, ScannerBlock]:
        """Return which skills may not be used, by their paths, and why."""
        if skills is not self._asked[0]:
            self._asked = skills, [skill for skill in skills if not skill.bundled]
        theirs = self._asked[1]
        self._look(theirs, settings, changed)
        for gone in set(self._judged).difference(skill.path for skill in theirs):
            del self._judged[gone]
        pending, most = self._list_pending(theirs), self.patience.most_ahead
        if most is None or len(pending) <= most:
            self._scan_all(pending, self.patience.seconds)
            pending = self._list_pending(pending)
        if pending and self.patience.in_background:
            self._begin(pending)
        blocks = dict(self._block_all(theirs))
        return {**blocks, **self._forbid(skills, blocks, settings)}

    def _forbid(
        self, skills: Sequence[Skill], blocks: Mapping[str, ScannerBlock], settings: Settings
    ) -> Mapping[str, ScannerBlock]:
        """Return what the policies keep from use, whatever the scanner says."""
        self.notices = ()
        if not self._ports.policies.files():
            return {}
        self._governor = self._governor or self._ports.governor()
        disabled = {skill.path for skill in skills if is_disabled(skill, settings)}
        forbidden = self._governor.find_blocks(skills, blocks, disabled)
        self.notices = self._governor.notices
        return forbidden

    def settle(self, skills: Sequence[Skill], settings: Settings) -> None:
        """Scan those that were not, the first ones first, for as long as the caller may wait."""
        theirs = [skill for skill in skills if not skill.bundled]
        self._look([one for one in theirs if one.path not in self._judged], settings, ())
        self._news += self._scan_all(self._list_pending(theirs), self.patience.seconds)

    def close(self) -> None:
        """Scan no more in the background."""
        self._is_closing = True
        if self._thread is not None:
            self._thread.join(_STOP_S)

    def _begin(self, pending: Sequence[Skill]) -> None:
        if self._is_closing or (self._thread is not None and self._thread.is_alive()):
            return
        self._thread = threading.Thread(
            target=self._scan_slowly, args=(tuple(pending),), name="judging", daemon=True
        )
        self._thread.start()

    def _scan_slowly(self, skills: Sequence[Skill]) -> None:
        # Whoever made us look waits for an answer, and the scanner takes time to load.
        time.sleep(_AFTER_ANSWER_S)
        for skill in skills:
            if self._is_closing:
                return
            began = time.thread_time()
            self._news += self._scan_all([skill], None)
            # Nobody waits for this, and others want the interpreter.
            time.sleep((time.thread_time() - began) / 2)

    def _block_all(self, skills: Sequence[Skill]) -> Iterator[tuple[str, ScannerBlock]]:
        accepted: Sequence[Acceptance] | None = None
        for skill in skills:
            known = self._judged[skill.path].known
            if known is None:
                yield skill.path, _PENDING
            elif known.problem or known.critical:
                accepted = self._ports.acceptances() if accepted is None else accepted
                block = _find_block(known, accepted)
                if block is not None:
                    yield skill.path, block

    def _list_pending(self, skills: Sequence[Skill]) -> list[Skill]:
        judged = {skill.path: self._judged.get(skill.path) for skill in skills}
        return [one for one in skills if (found := judged[one.path]) and found.known is None]

    def _look(
        self, skills: Sequence[Skill], settings: Settings, changed: Collection[str] | None
    ) -> None:
        """Find out what is known of skills, by the stamps that they have now."""
        if not skills:
            return
        egress = settings.skills.safety.egress
        under = Circumstances(self._ports.scanner(), tuple(sorted(egress.items())))
        unknown: dict[str, Stamp] = {}
        for skill in skills:
            old = self._judged.get(skill.path)
            is_known = old is not None and old.under == under
            if is_known and changed is not None and not _touches(changed, skill):
                continue
            stamp = stamp_skill(skill)
            if old is None or not is_known or old.stamp != stamp or not _holds(old):
                unknown[skill.path] = stamp
        kept = {path: stamp.text for path, stamp in unknown.items() if stamp.settled}
        found = self._ports.store.find(kept, under) if kept else {}
        for path, stamp in unknown.items():
            self._judged[path] = _Judged(stamp, under, _keep_fresh(found.get(path)))

    def _scan_all(self, skills: Sequence[Skill], seconds: float | None) -> int:
        """Scan skills while there is time; return how many were.

        Time counts from the second on: the first brings the scanner along, and on a busy machine
        nothing would be left for the others.
        """
        began, total, show = 0.0, len(skills), show_progress.get()
        for done, skill in enumerate(skills):
            if done and seconds is not None and time.thread_time() - began > seconds:
                return done
            show("scanning skills", done, total)
            self._scan(skill)
            began = began or time.thread_time()
        if skills:
            show("scanning skills", total, total)
        return total

    def _scan(self, skill: Skill) -> None:
        before = self._judged.get(skill.path)
        if before is None:
            # It is gone from the workspace.
            return
        # Anew: what is read now may be another content than the first stamp was of.
        stamp = stamp_skill(skill)
        key, known = self._ports.scan(skill)
        if key and stamp.settled and stamp == stamp_skill(skill):
            self._ports.store.bind(skill.path, stamp.text, before.under, key)
        # Unless somebody has looked meanwhile, and may have seen another content.
        now = self._judged.get(skill.path)
        if now is before or (now is not None and stamp.settled and now.stamp == stamp):
            self._judged[skill.path] = before._replace(stamp=stamp, known=known)


def _holds(old: _Judged) -> bool:
    """Return whether what was known of a stamp is still true."""
    return old.stamp.settled and _keep_fresh(old.known) is not None


def _keep_fresh(known: KnownVerdict | None) -> KnownVerdict | None:
    is_old = known is not None and known.problem and time.time() - known.made_at > _RETRY_S
    return None if is_old else known


def _touches(changed: Collection[str], skill: Skill) -> bool:
    inside = f"{skill.folder}/"
    return any(path == skill.folder or path.startswith(inside) for path in changed)


def _find_block(known: KnownVerdict, accepted: "Sequence[Acceptance]") -> ScannerBlock | None:
    if known.problem:
        return ScannerBlock(problem=known.problem)
    left = tuple(
        BlockingFinding(
            rule_id=one.rule_id,
            file=one.file,
            line=one.line,
            message=one.message,
            evidence_hash=one.evidence_hash,
        )
        for one in _not_accepted(known, accepted)
    )
    return ScannerBlock(findings=left) if left else None


def _not_accepted(known: KnownVerdict, accepted: "Sequence[Acceptance]") -> "Iterator[Finding]":
    # Late: most skills have nothing to accept, and nothing of the scanner is loaded for them.
    from prowess.safety.model import Level
    from prowess.safety.rules.table import apply_acceptances

    for finding in known.critical:
        now = apply_acceptances(finding, known.name, known.content_hash, accepted)
        if now.level is Level.CRITICAL:
            yield finding


_LISTINGS, _MOST_LISTINGS = "listings", 64


class KeptListings:
    """The skills of each large workspace that a client may be shown, as they were last found."""

    def __init__(self, state: str) -> None:
        self._files = KeptFiles(
            os.path.join(state, _LISTINGS),
            made_by=stamp_code(*skills.__path__),
            most=_MOST_LISTINGS,
        )

    def load(self, folder: str, under: object) -> Sequence[AddressedSkill] | None:
        """Return the list of a workspace; None where none is kept, or one under other conditions.

        Args:
            folder: the workspace.
            under: what the operator says about skills, as a value whose `repr` tells it.
        """
        head, _, body = self._read(folder)
        if not head.startswith(_mark(under)):
            return None
        try:
            return [AddressedSkill(*row) for row in json.loads(body)]
        except (TypeError, ValueError, RecursionError):
            return None

    def is_kept(self, folder: str) -> bool:
        """Return whether any list of a workspace is kept, whatever it rests on."""
        return any(self._read(folder))

    def save(self, folder: str, under: object, listed: Sequence[Skill]) -> None:
        """Keep the list of a workspace, unless it is what is kept."""
        found = hashlib.sha256()
        for skill in listed:
            found.update(f"{skill.path}\0{skill.content_hash}\n".encode("utf-8", "surrogatepass"))
        head = _mark(under) + found.hexdigest().encode()
        if self._read(folder)[0] != head:
            body = json.dumps(list_addressed(listed), separators=(",", ":")).encode()
            self._files.save(_name(folder), head + b"\n" + body)

    def _read(self, folder: str) -> tuple[bytes, bytes, bytes]:
        return (self._files.load(_name(folder)) or b"").partition(b"\n")


def _mark(under: object) -> bytes:
    return hashlib.sha256(repr(under).encode("utf-8", "surrogatepass")).hexdigest().encode() + b" "


def _name(folder: str) -> str:
    return hashlib.sha256(folder.encode("utf-8", "surrogatepass")).hexdigest()
