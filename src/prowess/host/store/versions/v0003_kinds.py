"""Indexes of a hub's skills by how their names are written, and by the older one of that name."""

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make them: who publishes asks for names alike, and who searches for the oldest of a kind."""
    for name in ("joined", "resembles"):
        op.create_index(f"hub_skills_{name}", "hub_skills", [name])
