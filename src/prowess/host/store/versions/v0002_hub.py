"""The catalogue of a hub: versions, people, and what skills are found by."""

import sqlalchemy as sa
from alembic import op
from pgvector.sqlalchemy import HALFVEC
from sqlalchemy.dialects.postgresql import TSVECTOR

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the tables; the index of vectors is made with the first encoder, whose width it has."""
    _make_people()
    _make_versions()
    _make_documents()


def _id() -> sa.Column[int]:
    return sa.Column("id", sa.BigInteger, sa.Identity(), primary_key=True)


def _text(name: str, default: str | None = None, *, unique: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False, server_default=default, unique=unique or None)


def _big(name: str, default: str | None = None) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False, server_default=default)


def _flag(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean, nullable=False)


def _make_people() -> None:
    op.create_table("hub_meta", sa.Column("key", sa.Text, primary_key=True), _text("value"))
    op.create_table(
        "hub_namespaces",
        _id(),
        _text("name", unique=True),
        _flag("is_public"),
        _flag("is_reviewed"),
    )
    op.create_table(
        "hub_members",
        sa.Column("space", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("person", sa.Text, primary_key=True),
        _text("role"),
    )
    op.create_table(
        "hub_tokens",
        sa.Column("id", sa.Text, primary_key=True),
        _text("hash", unique=True),
        _text("person"),
        _text("scopes"),
        _flag("is_operator"),
        _big("created_ms"),
        sa.Column("expires_ms", sa.BigInteger),
        sa.Column("revoked_ms", sa.BigInteger),
    )


def _make_versions() -> None:
    texts = ("name", "joined", "head", "tail", "title", "summary")
    op.create_table(
        "hub_skills",
        _id(),
        _big("space"),
        *(_text(name) for name in texts),
        _big("created_ms"),
        _big("updated_ms"),
        _text("deprecated", ""),
        _big("downloads", "0"),
        sa.Column("resembles", sa.BigInteger),
        sa.UniqueConstraint("space", "name"),
    )
    for name in ("name", "joined", "head", "tail", "resembles"):
        op.create_index(f"hub_skills_{name}", "hub_skills", [name])
    _make_files()


def _make_files() -> None:
    texts = (
        "version", "state", "digest", "archive", "manifest", "scan", "provenance", "publisher",
        "reviewer", "changelog", "reason",
    )  # fmt: skip
    op.create_table(
        "hub_versions",
        _id(),
        _big("skill_id"),
        *(_text(name) for name in texts),
        _big("created_ms"),
        sa.UniqueConstraint("skill_id", "version"),
    )
    op.create_table(
        "hub_files",
        sa.Column("version_id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("path", sa.Text, primary_key=True),
        _text("sha256"),
        _big("size"),
        _flag("executable"),
    )
    op.create_table(
        "hub_blobs",
        sa.Column("sha256", sa.Text, primary_key=True),
        sa.Column("content", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "hub_labels",
        sa.Column("skill_id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("label", sa.Text, primary_key=True),
        _big("version_id"),
    )


def _make_documents() -> None:
    op.create_table("hub_terms", sa.Column("term", sa.Text, primary_key=True), _big("documents"))
    op.create_table(
        "hub_documents",
        sa.Column("skill_id", sa.BigInteger, primary_key=True, autoincrement=False),
        _big("space"),
        _flag("is_public"),
        _text("version"),
        _text("words"),
        *(sa.Column(f"length{field}", sa.Integer, nullable=False) for field in range(4)),
        _big("stamp"),
        sa.Column("vector", sa.LargeBinary),
        sa.Column("near", HALFVEC),
        sa.Column("terms", TSVECTOR),
    )
    op.create_index("hub_documents_terms", "hub_documents", ["terms"], postgresql_using="gin")
