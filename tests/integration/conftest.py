"""Fixtures that several of these tests share."""

from tests.integration.postgres_world import (
    empty_database_url,
    engine,
    migrated_template,
    postgres,
    postgres_database_url,
    postgres_url,
)

__all__ = [
    "empty_database_url",
    "engine",
    "migrated_template",
    "postgres",
    "postgres_database_url",
    "postgres_url",
]
