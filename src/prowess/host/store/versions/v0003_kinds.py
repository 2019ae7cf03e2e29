"""An index of a hub's skills by the older one that each could be taken for."""

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the index; every search asks for the oldest of a kind."""
    op.create_index("hub_skills_resembles", "hub_skills", ["resembles"])
