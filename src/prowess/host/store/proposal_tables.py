"""The tables of proposals in the embedded store: rows, their files, the log and open writes."""

import sqlalchemy as sa

METADATA = sa.MetaData()
PROPOSALS = sa.Table(
    "workshop_proposals",
    METADATA,
    sa.Column("number", sa.Integer, primary_key=True),
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
KEPT = sa.Table(
    "workshop_kept",
    METADATA,
    sa.Column("proposal_id", sa.String, primary_key=True),
)
EVENTS = sa.Table(
    "workshop_events",
    METADATA,
    sa.Column("sequence", sa.Integer, primary_key=True),
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
    sa.Column("sequence", sa.Integer, primary_key=True),
    sa.Column("actor", sa.String, nullable=False),
    sa.Column("correlation_id", sa.String, nullable=False),
)
BEGUN = sa.Table(
    "workshop_begun",
    METADATA,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("workspace", sa.String, nullable=False),
    sa.Column("proposal_id", sa.String, nullable=False),
    sa.Column("skill", sa.String, nullable=False),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("revision", sa.String, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    # By path, the digest of the file that will be there, as JSON.
    sa.Column("target", sa.Text, nullable=False),
)
# Every question about one workspace is answered without reading the rest.
INDEXES = (
    sa.Index("workshop_by_payload", PROPOSALS.c.workspace, PROPOSALS.c.payload),
    sa.Index("workshop_by_revision", PROPOSALS.c.workspace, PROPOSALS.c.revision),
    sa.Index("workshop_by_age", PROPOSALS.c.workspace, PROPOSALS.c.created_at),
    sa.Index("workshop_by_state", PROPOSALS.c.workspace, PROPOSALS.c.state, PROPOSALS.c.created_at),
    sa.Index("workshop_events_by_skill", EVENTS.c.workspace, EVENTS.c.skill),
    sa.Index("workshop_events_by_proposal", EVENTS.c.proposal_id),
)
GUARDS = tuple(
    f"CREATE TRIGGER IF NOT EXISTS {table}_{word.lower()} BEFORE {word} ON {table}"
    " BEGIN SELECT RAISE(ABORT, 'events are only added'); END"
    for table in ("workshop_events", "workshop_event_actors")
    for word in ("UPDATE", "DELETE")
)
