"""The tables of a hub, in a SQLite file or in PostgreSQL with pgvector.

What is searched stands apart from what is kept: a row of `hub_documents` is the newest version that
everybody with access may have, with the words and the vector by which it is found.
"""

from typing import Any

import sqlalchemy as sa

METADATA = sa.MetaData()
_TEXT, _INT, _BIG = sa.Text, sa.Integer, sa.BigInteger


# Whatever SQLAlchemy takes.
def _column(name: str, kind: Any, **more: Any) -> sa.Column[Any]:  # noqa: ANN401
    return sa.Column(name, kind, nullable=False, **more)


def _id() -> sa.Column[Any]:
    # SQLite counts by itself only where the type is its own.
    return sa.Column("id", _BIG().with_variant(sa.Integer, "sqlite"), primary_key=True)


META = sa.Table(
    "hub_meta", METADATA, sa.Column("key", sa.String, primary_key=True), _column("value", _TEXT)
)
NAMESPACES = sa.Table(
    "hub_namespaces",
    METADATA,
    _id(),
    _column("name", sa.String, unique=True),
    _column("is_public", sa.Boolean),
    _column("is_reviewed", sa.Boolean),
)
MEMBERS = sa.Table(
    "hub_members",
    METADATA,
    sa.Column("space", _BIG, primary_key=True),
    sa.Column("person", sa.String, primary_key=True),
    _column("role", sa.String),
)
TOKENS = sa.Table(
    "hub_tokens",
    METADATA,
    sa.Column("id", sa.String, primary_key=True),
    # Of a text with 256 random bits, so that a plain hash is enough.
    _column("hash", sa.String, unique=True),
    _column("person", sa.String),
    _column("scopes", sa.String),
    _column("is_operator", sa.Boolean),
    _column("created_ms", _BIG),
    sa.Column("expires_ms", _BIG),
    sa.Column("revoked_ms", _BIG),
)
SKILLS = sa.Table(
    "hub_skills",
    METADATA,
    _id(),
    _column("space", _BIG),
    _column("name", sa.String),
    # The name without separators, and its ends: one slip leaves one of the ends as it is.
    _column("joined", sa.String),
    _column("head", sa.String),
    _column("tail", sa.String),
    _column("title", _TEXT),
    _column("summary", _TEXT),
    _column("created_ms", _BIG),
    _column("updated_ms", _BIG),
    _column("deprecated", _TEXT, server_default=""),
    _column("downloads", _BIG, server_default="0"),
    sa.Column("resembles", _BIG),
    sa.UniqueConstraint("space", "name"),
    sa.Index("hub_skills_name", "name"),
    sa.Index("hub_skills_head", "head"),
    sa.Index("hub_skills_tail", "tail"),
    sa.Index("hub_skills_joined", "joined"),
    sa.Index("hub_skills_resembles", "resembles"),
)
VERSIONS = sa.Table(
    "hub_versions",
    METADATA,
    _id(),
    _column("skill_id", _BIG),
    _column("version", sa.String),
    _column("state", sa.String),
    _column("digest", sa.String),
    # Of the archive, which is kept: another packer would make other bytes of the same files.
    _column("archive", sa.String),
    _column("manifest", _TEXT),
    _column("scan", _TEXT),
    _column("provenance", _TEXT),
    _column("publisher", sa.String),
    _column("reviewer", sa.String),
    _column("changelog", _TEXT),
    _column("reason", _TEXT),
    _column("created_ms", _BIG),
    sa.UniqueConstraint("skill_id", "version"),
)
FILES = sa.Table(
    "hub_files",
    METADATA,
    sa.Column("version_id", _BIG, primary_key=True),
    sa.Column("path", sa.String, primary_key=True),
    _column("sha256", sa.String),
    _column("size", _BIG),
    _column("executable", sa.Boolean),
)
BLOBS = sa.Table(
    "hub_blobs",
    METADATA,
    sa.Column("sha256", sa.String, primary_key=True),
    _column("content", sa.LargeBinary),
)
LABELS = sa.Table(
    "hub_labels",
    METADATA,
    sa.Column("skill_id", _BIG, primary_key=True),
    sa.Column("label", sa.String, primary_key=True),
    _column("version_id", _BIG),
)
# How many documents have a word: what a rare one is worth more for.
TERMS = sa.Table(
    "hub_terms",
    METADATA,
    sa.Column("term", sa.String, primary_key=True),
    _column("documents", _BIG),
)
DOCUMENTS = sa.Table(
    "hub_documents",
    METADATA,
    sa.Column("skill_id", _BIG, primary_key=True, autoincrement=False),
    _column("space", _BIG),
    _column("is_public", sa.Boolean),
    _column("version", sa.String),
    # The words of each field as JSON, and how many there are in each.
    _column("words", _TEXT),
    *(_column(f"length{field}", _INT) for field in range(4)),
    # Grows with every change: whoever keeps vectors in memory asks for what is newer.
    _column("stamp", _BIG, index=True),
    sa.Column("vector", sa.LargeBinary),
)
