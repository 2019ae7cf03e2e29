"""What the workshop keeps, in tables of a database.

Proposals and the log of them, how far each workspace is from its next review, and what the last
look at a turn said.

What is new is decided inside one transaction that nobody else can write during, so two processes
never keep the same proposal twice. The log only grows: the database refuses anything else. What
questions ask for is a column, and the rest of a proposal is JSON.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy import RowMapping

from prowess.errors import StoreError
from prowess.host.store.database import NUMBER, Database, Tables, open_file
from prowess.runtime.workshop.ports import EVERYTHING, Counters, Note
from prowess.safety.model import read_finding
from prowess.workshop.edit import Append, Create, Edit, Replace, edit_parts
from prowess.workshop.proposal import (
    ITSELF,
    LESSON,
    NOBODY,
    Actor,
    Begun,
    By,
    Change,
    EventKind,
    Evidence,
    Proposal,
    ProposalEvent,
    ProposalSource,
    Record,
    Similar,
    State,
    Subject,
    find_known,
)

FORMAT = 1
_EDITS: Mapping[str, Callable[..., Edit]] = {"create": Create, "append": Append, "replace": Replace}


# The key in `rest` -> the field, for what is kept as it is; what came later may be missing.
_KEYS = {
    "title": "title",
    "reason": "reason",
    "baseHash": "base_hash",
    "updatedAt": "updated_at",
    "agentId": "agent_id",
    "quarantineReason": "quarantine_reason",
    "backup": "backup",
}
_LATER_KEYS = {
    "forGood": "for_good",
    "goal": "goal",
    "lesson": "lesson",
    "decision": "decision",
    "place": "place",
}


def columns_of(proposal: Proposal) -> dict[str, object]:
    """Return the columns of a proposal's row, but for its files."""
    rest = {key: getattr(proposal, name) for key, name in (_KEYS | _LATER_KEYS).items()}
    rest |= {
        "source": proposal.source.value,
        "edit": None if proposal.edit is None else edit_parts(proposal.edit),
        "findings": [asdict(finding) for finding in proposal.findings],
        "evidence": [asdict(one) for one in proposal.evidence],
        "similar": [asdict(one) for one in proposal.similar],
    }
    return {
        "id": proposal.id,
        "workspace": proposal.workspace,
        "skill": proposal.skill,
        "state": proposal.state.value,
        "revision": proposal.revision,
        "payload": proposal.payload,
        # Whatever a program calls its session: the store holds Unicode only.
        "session_id": proposal.session_id.encode("utf-8", "replace").decode(),
        "created_at": proposal.created_at,
        "format": FORMAT,
        "rest": json.dumps(rest),
    }


def proposal_of(row: RowMapping, files: Mapping[str, bytes | None]) -> Proposal:
    """Return the proposal of a row and its files.

    Raises:
        KeyError, TypeError, ValueError: somebody else wrote into the row.
    """
    rest = json.loads(row["rest"])
    same = {name: row[name] for name in ("id", "workspace", "revision", "payload", "created_at")}
    same |= {name: rest[key] for key, name in _KEYS.items()}
    same |= {name: rest[key] for key, name in _LATER_KEYS.items() if key in rest}
    same["session_id"], same["lesson"] = _session_and_lesson(row["session_id"], rest)
    return Proposal(
        **same,
        state=State(row["state"]),
        change=Change(row["skill"], files),
        source=ProposalSource(rest["source"]),
        edit=_edit_of(rest["edit"]),
        findings=tuple(map(read_finding, rest["findings"])),
        evidence=tuple(Evidence(**one) for one in rest["evidence"]),
        similar=tuple(Similar(**one) for one in rest.get("similar", ())),
    )


def event_of(row: RowMapping) -> ProposalEvent:
    """Return the event of a row of the log and of who did it, where that is told.

    Raises:
        KeyError, TypeError, ValueError: somebody else wrote into the row.
    """
    parts = {**row, "kind": EventKind(row["kind"])}
    actor, correlation = parts.pop("actor"), parts.pop("correlation_id")
    by = By(actor=Actor(actor) if actor else None, correlation_id=correlation or "")
    return ProposalEvent(**parts, by=by)


def columns_of_begun(begun: Begun) -> dict[str, object]:
    """Return the columns of the row of a write that began."""
    return {**asdict(begun), "kind": begun.kind.value, "target": json.dumps(begun.target)}


def begun_of(row: RowMapping) -> Begun:
    """Return the write of a row.

    Raises:
        KeyError, TypeError, ValueError: somebody else wrote into the row.
    """
    kind, target = EventKind(row["kind"]), json.loads(row["target"])
    return Begun(**{**row, "kind": kind, "target": dict(target)})


def _session_and_lesson(session: str, rest: Mapping[str, Any]) -> tuple[str, str]:
    """Return both; in rows of old a lesson stands in the place of the session."""
    is_old = "lesson" not in rest and rest["source"] == ProposalSource.EXPERIENCE.value
    if is_old and session.startswith(LESSON):
        return "", session
    return session, rest.get("lesson", "")


def _edit_of(row: Mapping[str, str] | None) -> Edit | None:
    return None if row is None else _EDITS[row["kind"]](**row)


METADATA = sa.MetaData()
PROPOSALS = sa.Table(
    "workshop_proposals",
    METADATA,
    sa.Column("number", NUMBER, primary_key=True),
    sa.Column("id", sa.String, nullable=False, unique=True),
    sa.Column("workspace", sa.String, nullable=False),
    sa.Column("skill", sa.String, nullable=False),
    sa.Column("state", sa.String, nullable=False),
    sa.Column("revision", sa.String, nullable=False),
    sa.Column("payload", sa.String, nullable=False),
    sa.Column("session_id", sa.String, nullable=False),
    sa.Column("created_at", sa.Float, nullable=False),
    sa.Column("format", sa.Integer, nullable=False),
    # Everything that no question asks for, as JSON.
    sa.Column("rest", sa.Text, nullable=False),
    sqlite_autoincrement=True,
)
FILES = sa.Table(
    "workshop_files",
    METADATA,
    sa.Column("proposal_id", sa.String, primary_key=True),
    sa.Column("path", sa.String, primary_key=True),
    # Null deletes the file.
    sa.Column("body", sa.LargeBinary),
)
# What a person rejected: a flood of other rejections must not push it out.
KEPT = sa.Table("workshop_kept", METADATA, sa.Column("proposal_id", sa.String, primary_key=True))
EVENTS = sa.Table(
    "workshop_events",
    METADATA,
    sa.Column("sequence", NUMBER, primary_key=True),
    sa.Column("workspace", sa.String, nullable=False),
    sa.Column("proposal_id", sa.String, nullable=False),
    sa.Column("skill", sa.String, nullable=False),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("revision", sa.String, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("note", sa.Text, nullable=False),
    # A number is never given twice, so a cursor stays right.
    sqlite_autoincrement=True,
)
# Who did it; a table of its own, so that older files need no new columns.
ACTORS = sa.Table(
    "workshop_event_actors",
    METADATA,
    sa.Column("sequence", NUMBER, primary_key=True, autoincrement=False),
    sa.Column("actor", sa.String, nullable=False),
    sa.Column("correlation_id", sa.String, nullable=False),
)
BEGUN = sa.Table(
    "workshop_begun",
    METADATA,
    sa.Column("number", NUMBER, primary_key=True),
    sa.Column("workspace", sa.String, nullable=False),
    sa.Column("proposal_id", sa.String, nullable=False),
    sa.Column("skill", sa.String, nullable=False),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("revision", sa.String, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    # By path, the digest of the file that will be there, as JSON.
    sa.Column("target", sa.Text, nullable=False),
)
COUNTERS = sa.Table(
    "workshop_counters",
    METADATA,
    sa.Column("workspace", sa.String, primary_key=True),
    sa.Column("turns", sa.Integer, nullable=False),
    sa.Column("tool_calls", sa.Integer, nullable=False),
    sa.Column("failures", sa.Integer, nullable=False),
    sa.Column("last_review_at", sa.Float, nullable=False),
)
NOTES = sa.Table(
    "workshop_notes",
    METADATA,
    sa.Column("workspace", sa.String, primary_key=True),
    # Who said it: the phrases or the reviewer.
    sa.Column("speaker", sa.String, primary_key=True),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
)
# Every question about one workspace is answered without reading the rest.
for _name, _columns in (
    ("workshop_by_payload", (PROPOSALS.c.workspace, PROPOSALS.c.payload)),
    ("workshop_by_revision", (PROPOSALS.c.workspace, PROPOSALS.c.revision)),
    ("workshop_by_age", (PROPOSALS.c.workspace, PROPOSALS.c.created_at)),
    ("workshop_by_state", (PROPOSALS.c.workspace, PROPOSALS.c.state, PROPOSALS.c.created_at)),
    ("workshop_events_by_skill", (EVENTS.c.workspace, EVENTS.c.skill)),
    ("workshop_events_by_proposal", (EVENTS.c.proposal_id,)),
):
    sa.Index(_name, *_columns)
GUARDS = tuple(
    f"CREATE TRIGGER IF NOT EXISTS {table}_{word.lower()} BEFORE {word} ON {table}"
    " BEGIN SELECT RAISE(ABORT, 'events are only added'); END"
    for table in ("workshop_events", "workshop_event_actors")
    for word in ("UPDATE", "DELETE")
)


TABLES = Tables(METADATA, GUARDS)
# One writer at a time: what is new is decided by what is there, and a number that is given is seen
# before any greater one, so a cursor passes over nothing.
TOPIC = "proposals"
_ENDS_A_WRITE = frozenset((EventKind.APPLIED, EventKind.ROLLED_BACK))
# The smallest step that a time of creation is moved by, so that the newest is always the newest.
_STEP = 0.000_01
_MOST_NOTE_CHARS = 500


class _WorkshopTables:
    """The tables in one database; safe for several processes at once, made when first used.

    Every method raises `StoreError` where the database cannot be used.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @contextmanager
    def _connection(self, *, writes: bool = False) -> Iterator[sa.Connection]:
        database = self._database
        opened = database.writing(TABLES, TOPIC) if writes else database.reading(TABLES)
        try:
            with opened as connection:
                yield connection
        except (KeyError, TypeError, ValueError) as error:
            # Somebody else wrote into a row.
            what = "look at its tables" if database.is_server else "move the file away"
            problem = f"holds a proposal that cannot be read: {what}."
            raise StoreError(database.name, problem) from error


class StoredProposals(_WorkshopTables):
    """Proposals, and the log of what became of each."""

    def add(self, proposal: Proposal, caps: Mapping[State, int]) -> Proposal:
        """Keep a new proposal, or return the one that is the same; the oldest above a cap go."""
        with self._connection(writes=True) as connection:
            proposal = replace(proposal, created_at=_moment(connection, proposal))
            known = find_known(proposal, _find_same(connection, proposal))
            if known is not None:
                return self._load(connection, PROPOSALS.c.id == known.id)[0]
            connection.execute(sa.insert(PROPOSALS).values(columns_of(proposal)))
            _write_files(connection, proposal)
            _log(connection, proposal, EventKind.CREATED, by=By(actor=proposal.source.actor))
            if proposal.state is State.QUARANTINED:
                _log(connection, proposal, EventKind.QUARANTINED, by=ITSELF)
            gone = _find_above(connection, proposal.workspace, caps)
            self._drop(connection, gone, proposal.updated_at)
        return proposal

    def change(
        self, was: Proposal, now: Proposal, kind: EventKind, note: str = "", by: By = NOBODY
    ) -> bool:
        """Replace `was` by `now` and log it; False where it is no longer what it was."""
        same = sa.and_(
            PROPOSALS.c.id == was.id,
            PROPOSALS.c.workspace == was.workspace,
            PROPOSALS.c.state == was.state.value,
            PROPOSALS.c.revision == was.revision,
        )
        with self._connection(writes=True) as connection:
            values = columns_of(now)
            changed = connection.execute(sa.update(PROPOSALS).where(same).values(values))
            if not changed.rowcount:
                return False
            _write_files(connection, now)
            if now.for_good:
                self._database.put(connection, KEPT, [{"proposal_id": now.id}])
            _log(connection, now, kind, note, by)
            if kind in _ENDS_A_WRITE:
                _forget(connection, now.id)
        return True

    def begin(self, begun: Begun) -> None:
        """Note that the files of a skill are about to be written."""
        with self._connection(writes=True) as connection:
            connection.execute(sa.insert(BEGUN).values(columns_of_begun(begun)))

    def unfinished(self, workspace: str) -> tuple[Begun, ...]:
        """Return the writes that began and did not come to an end, oldest first."""
        columns = [column for column in BEGUN.c if column.name != "number"]
        query = sa.select(*columns).where(BEGUN.c.workspace == workspace)
        with self._connection() as connection:
            rows = connection.execute(query.order_by(BEGUN.c.number)).mappings()
            return tuple(begun_of(row) for row in rows)

    def abandon(self, begun: Begun, at: float, note: str) -> None:
        """Forget a write that did not last, and log that it was interrupted."""
        row = {"workspace": begun.workspace, "proposal_id": begun.proposal_id, "note": note}
        row |= {"skill": begun.skill, "revision": begun.revision}
        with self._connection(writes=True) as connection:
            if _forget(connection, begun.proposal_id):
                values = {**row, "kind": EventKind.INTERRUPTED.value, "at": at}
                _add_event(connection, values, ITSELF)

    def get(self, workspace: str, proposal_id: str) -> Proposal | None:
        """Return one proposal of a workspace."""
        with self._connection() as connection:
            wanted = sa.and_(PROPOSALS.c.workspace == workspace, PROPOSALS.c.id == proposal_id)
            found = self._load(connection, wanted)
        return found[0] if found else None

    def listed(self, workspace: str, state: State | None = None) -> tuple[Proposal, ...]:
        """Return the proposals of a workspace, newest first."""
        wanted = PROPOSALS.c.workspace == workspace
        if state is not None:
            wanted = sa.and_(wanted, PROPOSALS.c.state == state.value)
        with self._connection() as connection:
            return tuple(self._load(connection, wanted))

    def applied(self, workspace: str, skill: str) -> tuple[Proposal, ...]:
        """Return what was applied to a skill and still is, the last one first."""
        last = (
            sa.select(EVENTS.c.proposal_id, sa.func.max(EVENTS.c.sequence))
            .where(EVENTS.c.workspace == workspace, EVENTS.c.skill == skill)
            .where(EVENTS.c.kind == EventKind.APPLIED.value)
            .group_by(EVENTS.c.proposal_id)
        )
        wanted = sa.and_(
            PROPOSALS.c.workspace == workspace,
            PROPOSALS.c.skill == skill,
            PROPOSALS.c.state == State.APPLIED.value,
        )
        with self._connection() as connection:
            # The number of an event says what came first, whatever the clock did.
            order = {row[0]: row[1] for row in connection.execute(last)}
            found = self._load(connection, wanted)
        return tuple(sorted(found, key=lambda one: -order.get(one.id, 0)))

    def events(
        self, workspace: str, after: int = 0, most: int = 200, about: Subject = EVERYTHING
    ) -> tuple[ProposalEvent, ...]:
        """Return what happened after event number `after`, oldest first."""
        query = (
            sa.select(EVENTS, ACTORS.c.actor, ACTORS.c.correlation_id)
            .outerjoin_from(EVENTS, ACTORS, EVENTS.c.sequence == ACTORS.c.sequence)
            .where(EVENTS.c.workspace == workspace, EVENTS.c.sequence > after)
            .order_by(EVENTS.c.sequence)
            .limit(most)
        )
        if about.proposal_id:
            query = query.where(EVENTS.c.proposal_id == about.proposal_id)
        if about.skill:
            query = query.where(EVENTS.c.skill == about.skill)
        with self._connection() as connection:
            return tuple(event_of(row) for row in connection.execute(query).mappings())

    def _load(self, connection: sa.Connection, wanted: sa.ColumnElement[bool]) -> list[Proposal]:
        query = sa.select(PROPOSALS).where(wanted).order_by(PROPOSALS.c.created_at.desc())
        rows = connection.execute(query).mappings().all()
        bodies: dict[str, dict[str, bytes | None]] = {row["id"]: {} for row in rows}
        chosen = sa.select(PROPOSALS.c.id).where(wanted)
        for file in connection.execute(sa.select(FILES).where(FILES.c.proposal_id.in_(chosen))):
            bodies[file.proposal_id][file.path] = file.body
        if any(row["format"] > FORMAT for row in rows):
            raise StoreError(self._database.name, "was written by a newer Prowess: update Prowess.")
        return [proposal_of(row, bodies[row["id"]]) for row in rows]

    def _drop(self, connection: sa.Connection, ids: Iterable[str], at: float) -> None:
        for proposal_id in ids:
            gone = self._load(connection, PROPOSALS.c.id == proposal_id)[0]
            connection.execute(sa.delete(PROPOSALS).where(PROPOSALS.c.id == proposal_id))
            connection.execute(sa.delete(FILES).where(FILES.c.proposal_id == proposal_id))
            pruned = replace(gone, updated_at=at)
            _log(connection, pruned, EventKind.PRUNED, f"was {gone.state.value}", ITSELF)


class StoredCounters(_WorkshopTables):
    """Counters of each workspace, and what was said last about a turn."""

    def load(self, workspace: str) -> Counters:
        """Return the counters; those of an unknown workspace are all zero."""
        rows = self._select(COUNTERS, workspace)
        return Counters(**rows[0]) if rows else Counters()

    def save(self, workspace: str, counters: Counters) -> None:
        """Keep the counters in place of the ones before."""
        self._put(COUNTERS, {"workspace": workspace, **asdict(counters)})

    def keep(self, workspace: str, speaker: str, note: Note) -> None:
        """Keep what was said last, in place of what was said before."""
        said = {"at": note.at, "text": note.text[:_MOST_NOTE_CHARS]}
        self._put(NOTES, {"workspace": workspace, "speaker": speaker, **said})

    def notes(self, workspace: str) -> Mapping[str, Note]:
        """Return what each speaker said last."""
        return {row.pop("speaker"): Note(**row) for row in self._select(NOTES, workspace)}

    def _select(self, table: sa.Table, workspace: str) -> list[dict[str, Any]]:
        """Return the rows about a workspace; whoever only asks makes no file."""
        if not self._database.exists:
            return []
        asked = sa.select(*(column for column in table.c if column.name != "workspace"))
        with self._connection() as connection:
            rows = connection.execute(asked.where(table.c.workspace == workspace)).mappings()
            return [dict(row) for row in rows]

    def _put(self, table: sa.Table, values: Mapping[str, object]) -> None:
        with self._database.writing(TABLES) as connection:
            self._database.put(connection, table, [values])


def _moment(connection: sa.Connection, proposal: Proposal) -> float:
    """Return when a proposal was made, after all others whatever the clock says."""
    newest = sa.select(sa.func.max(PROPOSALS.c.created_at))
    known = connection.scalar(newest.where(PROPOSALS.c.workspace == proposal.workspace))
    return max(proposal.created_at, (known or 0.0) + _STEP)


def _find_same(connection: sa.Connection, new: Proposal) -> list[Record]:
    """Return what may be the same as a proposal, without text and files."""
    names = ("id", "revision", "created_at", "payload", "session_id")
    query = sa.select(PROPOSALS.c.state, *(PROPOSALS.c[name] for name in names))
    # Two questions: with one that has an `or`, every row of the workspace would be read.
    likenesses = (PROPOSALS.c.payload == new.payload, PROPOSALS.c.revision == new.revision)
    rows = [
        row
        for likeness in likenesses
        for row in connection.execute(
            query.where(PROPOSALS.c.workspace == new.workspace, likeness)
        ).mappings()
    ]
    return [
        Record(state=State(row["state"]), **{name: row[name] for name in names}) for row in rows
    ]


def _find_above(connection: sa.Connection, workspace: str, caps: Mapping[State, int]) -> list[str]:
    """Return the ids of the oldest of each state that has more than its cap, oldest first."""
    gone: list[tuple[float, str]] = []
    for state, cap in caps.items():
        query = (
            sa.select(PROPOSALS.c.created_at, PROPOSALS.c.id)
            .where(PROPOSALS.c.workspace == workspace, PROPOSALS.c.state == state.value)
            .where(PROPOSALS.c.id.not_in(sa.select(KEPT.c.proposal_id)))
            .order_by(PROPOSALS.c.created_at.desc(), PROPOSALS.c.id.desc())
            .offset(max(cap, 0))
        )
        gone += [(row[0], row[1]) for row in connection.execute(query)]
    return [proposal_id for _, proposal_id in sorted(gone)]


def _forget(connection: sa.Connection, proposal_id: str) -> bool:
    """Remove the note about a write that began; return whether there was one."""
    done = connection.execute(sa.delete(BEGUN).where(BEGUN.c.proposal_id == proposal_id))
    return bool(done.rowcount)


def _write_files(connection: sa.Connection, proposal: Proposal) -> None:
    connection.execute(sa.delete(FILES).where(FILES.c.proposal_id == proposal.id))
    for path, body in proposal.change.files.items():
        row = {"proposal_id": proposal.id, "path": path, "body": body}
        connection.execute(sa.insert(FILES).values(row))


def _log(
    connection: sa.Connection, proposal: Proposal, kind: EventKind, note: str = "", by: By = NOBODY
) -> None:
    row = {
        "workspace": proposal.workspace,
        "proposal_id": proposal.id,
        "skill": proposal.skill,
        "kind": kind.value,
        "revision": proposal.revision,
        "at": proposal.updated_at,
        "note": note,
    }
    _add_event(connection, row, by)


def _add_event(connection: sa.Connection, row: Mapping[str, object], by: By) -> None:
    added = connection.execute(sa.insert(EVENTS).values(row))
    if by != NOBODY:
        (sequence,) = added.inserted_primary_key or (None,)
        actor = "" if by.actor is None else by.actor.value
        told = {"sequence": sequence, "actor": actor, "correlation_id": by.correlation_id}
        connection.execute(sa.insert(ACTORS).values(told))


def copy_workshop(database: Database, path: str) -> None:
    """Copy all proposals of a fleet into a file of SQLite.

    Raises:
        StoreError: one of the two cannot be used.
    """
    target = open_file(path)
    with database.reading(TABLES) as source, target.writing(TABLES) as copy:
        for table in METADATA.sorted_tables:
            rows = [dict(row) for row in source.execute(sa.select(table)).mappings()]
            if rows:
                copy.execute(sa.insert(table), rows)
