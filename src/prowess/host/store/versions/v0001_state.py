"""The state of a gateway: everything that the embedded files hold and a fleet shares."""

import sqlalchemy as sa
from alembic import op
from pgvector.sqlalchemy import HALFVEC

revision = "0001"
down_revision = None

_LOGS = ("workshop_events", "workshop_event_actors", "audit_events")


def upgrade() -> None:
    """Make the tables."""
    op.execute("CREATE EXTENSION IF NOT EXISTS vector")
    _make_fleet()
    _make_sessions()
    _make_workshop()
    _make_usage()
    _make_safety()
    op.execute(
        "CREATE FUNCTION prowess_only_added() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'events are only added'; END $$"
    )
    for table in _LOGS:
        op.execute(
            f"CREATE TRIGGER {table}_only_added BEFORE UPDATE OR DELETE OR TRUNCATE ON {table}"
            " FOR EACH STATEMENT EXECUTE FUNCTION prowess_only_added()"
        )


def _make_fleet() -> None:
    op.create_table(
        "generations",
        sa.Column("topic", sa.String, primary_key=True),
        sa.Column("number", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "leases",
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("holder", sa.String, nullable=False),
        sa.Column("until", sa.Float, nullable=False),
    )
    op.create_table(
        "documents",
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_table(
        "config_revisions",
        sa.Column("number", sa.BigInteger, sa.Identity(), primary_key=True),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("hash", sa.String, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("gateway", sa.String, nullable=False),
    )


def _make_sessions() -> None:
    op.create_table(
        "prompts",
        sa.Column("hash", sa.String, primary_key=True),
        sa.Column("text", sa.Text, nullable=False),
    )
    op.create_table(
        "session_snapshots",
        sa.Column("session_id", sa.String, primary_key=True),
        sa.Column("agent_id", sa.String, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("hash", sa.String, nullable=False),
        sa.Column("skill_filter", sa.Text),
        sa.Column("skills", sa.Text),
        sa.Column("prompt", sa.Text),
        sa.Column("prompt_hash", sa.String),
    )
    op.create_index("session_snapshots_by_prompt", "session_snapshots", ["prompt_hash"])
    op.create_table(
        "skill_uses",
        sa.Column("skill_name", sa.String, primary_key=True),
        sa.Column("last_used_ms", sa.BigInteger, nullable=False),
        sa.Column("uses", sa.BigInteger, nullable=False),
    )


def _make_workshop() -> None:
    op.create_table(
        "workshop_proposals",
        sa.Column("number", sa.BigInteger, sa.Identity(), primary_key=True),
        sa.Column("id", sa.String, nullable=False, unique=True),
        sa.Column("workspace", sa.String, nullable=False),
        sa.Column("skill", sa.String, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("revision", sa.String, nullable=False),
        sa.Column("payload", sa.String, nullable=False),
        sa.Column("session_id", sa.String, nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("format", sa.Integer, nullable=False),
        sa.Column("rest", sa.Text, nullable=False),
    )
    for name, columns in {
        "workshop_by_payload": ["workspace", "payload"],
        "workshop_by_revision": ["workspace", "revision"],
        "workshop_by_age": ["workspace", "created_at"],
        "workshop_by_state": ["workspace", "state", "created_at"],
    }.items():
        op.create_index(name, "workshop_proposals", columns)
    op.create_table(
        "workshop_files",
        sa.Column("proposal_id", sa.String, primary_key=True),
        sa.Column("path", sa.String, primary_key=True),
        sa.Column("body", sa.LargeBinary),
    )
    op.create_table("workshop_kept", sa.Column("proposal_id", sa.String, primary_key=True))
    _make_workshop_log()
    _make_workshop_turns()


def _make_workshop_turns() -> None:
    op.create_table(
        "workshop_counters",
        sa.Column("workspace", sa.String, primary_key=True),
        sa.Column("turns", sa.Integer, nullable=False),
        sa.Column("tool_calls", sa.Integer, nullable=False),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("last_review_at", sa.Float, nullable=False),
    )
    op.create_table(
        "workshop_notes",
        sa.Column("workspace", sa.String, primary_key=True),
        sa.Column("speaker", sa.String, primary_key=True),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
    )


def _make_workshop_log() -> None:
    for name, last in (
        ("workshop_events", sa.Column("note", sa.Text, nullable=False)),
        ("workshop_begun", sa.Column("target", sa.Text, nullable=False)),
    ):
        number = "sequence" if name == "workshop_events" else "number"
        op.create_table(
            name,
            sa.Column(number, sa.BigInteger, sa.Identity(), primary_key=True),
            sa.Column("workspace", sa.String, nullable=False),
            sa.Column("proposal_id", sa.String, nullable=False),
            sa.Column("skill", sa.String, nullable=False),
            sa.Column("kind", sa.String, nullable=False),
            sa.Column("revision", sa.String, nullable=False),
            sa.Column("at", sa.Float, nullable=False),
            last,
        )
    op.create_index("workshop_events_by_skill", "workshop_events", ["workspace", "skill"])
    op.create_index("workshop_events_by_proposal", "workshop_events", ["proposal_id"])
    op.create_table(
        "workshop_event_actors",
        sa.Column("sequence", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("actor", sa.String, nullable=False),
        sa.Column("correlation_id", sa.String, nullable=False),
    )


def _make_usage() -> None:
    kinds = ("listed", "routed", "loaded", "invoked", "corrected")
    op.create_table(
        "usage_totals",
        sa.Column("skill", sa.String, primary_key=True),
        sa.Column("agent", sa.String, primary_key=True),
        *(sa.Column(kind, sa.BigInteger, nullable=False) for kind in kinds),
        sa.Column("used_ms", sa.BigInteger),
        sa.Column("touched_ms", sa.BigInteger, nullable=False),
    )
    op.create_index("usage_totals_by_time", "usage_totals", ["touched_ms"])
    op.create_table(
        "usage_events",
        sa.Column("sequence", sa.BigInteger, sa.Identity(), primary_key=True),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("use", sa.String, nullable=False),
        sa.Column("skill", sa.String, nullable=False),
        sa.Column("agent", sa.String, nullable=False),
    )
    op.create_table(
        "usage_days",
        sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("skill", sa.String, primary_key=True),
        sa.Column("agent", sa.String, primary_key=True),
        *(sa.Column(kind, sa.BigInteger, nullable=False) for kind in (*kinds, "unmatched")),
    )


def _make_safety() -> None:
    op.create_table(
        "scan_reports",
        sa.Column("key", sa.String, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("content", sa.String, nullable=False),
        sa.Column("critical", sa.Text, nullable=False),
        sa.Column("problem", sa.Text, nullable=False),
        sa.Column("report", sa.Text, nullable=False),
        sa.Column("made", sa.Float, nullable=False),
    )
    op.create_index("scan_reports_by_age", "scan_reports", ["made"])
    op.create_table(
        "vectors",
        sa.Column("encoder", sa.String, primary_key=True),
        sa.Column("key", sa.String, primary_key=True),
        sa.Column("vector", HALFVEC, nullable=False),
        sa.Column("used", sa.Integer, nullable=False),
    )
    op.create_index("vectors_by_use", "vectors", ["used"])
    op.create_table(
        "audit_events",
        sa.Column("number", sa.BigInteger, sa.Identity(), primary_key=True),
        sa.Column("log", sa.String, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("gateway", sa.String, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
