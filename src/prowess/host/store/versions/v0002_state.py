"""The first schema that was given out. A new database is made whole, whatever steps follow it."""

revision = "0002"
down_revision = None


def upgrade() -> None:
    """Do nothing: the tables are made as the stores know them."""
