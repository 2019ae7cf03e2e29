"""One database for every store: what is asked of a server, and what it says when it refuses."""

import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import make_url

from prowess.errors import DatabaseLostError, StoreError
from prowess.host.store import versions
from prowess.host.store.database import (
    GENERATIONS,
    METADATA,
    SCHEMA,
    Database,
    Tables,
    open_database,
    open_file,
    read_version,
)
from prowess.host.store.fleet.administration import migrate, read_state

TABLES = Tables(METADATA)


def test_a_migrated_database_has_the_schema_of_this_prowess(postgres: Database) -> None:
    assert read_version(postgres) == SCHEMA
    assert read_state(postgres).is_current


def test_migrating_again_does_nothing(postgres: Database) -> None:
    steps: list[str] = []

    before = migrate(postgres, steps.append)

    assert before.is_current
    assert steps == []


def test_writers_of_a_topic_are_counted(postgres: Database) -> None:
    for _ in range(3):
        with postgres.writing(TABLES, "proposals"):
            pass

    with postgres.reading(TABLES) as connection:
        assert connection.scalar(sa.select(GENERATIONS.c.number)) == 3


def test_an_empty_database_says_how_to_make_the_tables(empty_database_url: str) -> None:
    database = open_database(empty_database_url)

    with pytest.raises(StoreError, match="run `prowess db migrate`"), database.reading(TABLES):
        pass

    database.close()


@pytest.mark.parametrize(
    ("version", "advice"), [("0000", "run `prowess db migrate`"), ("9999", "update Prowess")]
)
def test_another_schema_says_what_to_do(postgres: Database, version: str, advice: str) -> None:
    with postgres.engine.begin() as connection:
        connection.execute(sa.text("UPDATE prowess_schema SET version_num = :v"), {"v": version})

    with pytest.raises(StoreError, match=advice), postgres.reading(TABLES):
        pass


def test_a_newer_schema_is_not_migrated(postgres: Database) -> None:
    with postgres.engine.begin() as connection:
        connection.execute(sa.text("UPDATE prowess_schema SET version_num = '9999'"))

    with pytest.raises(StoreError, match="update Prowess"):
        migrate(postgres)


def test_a_user_without_rights_is_told_so(postgres: Database) -> None:
    with postgres.engine.begin() as connection:
        connection.exec_driver_sql("CREATE ROLE guest LOGIN")
        connection.exec_driver_sql("GRANT SELECT ON prowess_schema TO guest")
    guest = Database(postgres.url.set(username="guest"))
    try:
        with pytest.raises(StoreError, match="has no right"), guest.writing(TABLES, "proposals"):
            pass
    finally:
        guest.close()
        with postgres.engine.begin() as connection:
            connection.exec_driver_sql("DROP OWNED BY guest; DROP ROLE guest")


def test_a_database_that_does_not_exist_is_named(postgres: Database) -> None:
    missing = Database(postgres.url.set(database="nowhere"))

    with pytest.raises(StoreError, match='database "nowhere" does not exist'):
        read_state(missing)

    missing.close()


def test_a_server_that_is_down_says_how_to_go_on(tmp_path: Path) -> None:
    database = open_database(f"postgresql://someone:s3cret@/prowess?host={tmp_path}")

    with pytest.raises(DatabaseLostError, match="start the server") as raised:
        read_state(database)

    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize("url", ["", "prowess.db", "mysql://host/db", "postgresql://host:port/db"])
def test_what_is_no_address_of_postgresql_is_refused(url: str) -> None:
    with pytest.raises(StoreError, match="PROWESS_DATABASE_URL"):
        open_database(url)


def test_a_password_is_never_part_of_the_name() -> None:
    database = open_database("postgresql://someone:s3cret@127.0.0.1/prowess")

    assert "s3cret" not in database.name
    assert make_url(database.name).username == "someone"


def test_a_file_makes_its_tables_itself(tmp_path: Path) -> None:
    database = open_file(str(tmp_path / "state" / "own.db"))

    with database.writing(TABLES, "proposals") as connection:
        connection.execute(sa.insert(GENERATIONS).values(topic="a", number=1))

    with database.reading(TABLES) as connection:
        assert connection.scalar(sa.select(GENERATIONS.c.number)) == 1


def test_a_server_without_pgvector_says_how_to_get_it(empty_database_url: str) -> None:
    # Where the server looks for extensions: nowhere.
    hidden = make_url(empty_database_url).update_query_dict(
        {"options": "-c extension_control_path=/nowhere"}
    )
    database = open_database(hidden.render_as_string(hide_password=False))

    with pytest.raises(StoreError, match="has no pgvector: install pgvector"):
        migrate(database)

    database.close()


def test_without_the_extra_an_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)

    with pytest.raises(StoreError, match=r"pip install 'prowess\[postgres\]'"):
        open_database("postgresql://127.0.0.1/prowess")


def test_the_newest_step_is_the_schema_that_is_asked_for() -> None:
    steps = sorted(Path(versions.__path__[0]).glob("v*.py"))

    assert f'revision = "{SCHEMA}"' in steps[-1].read_text()


def test_no_hook_loads_anything_of_a_database() -> None:
    code = (
        "import sys; import prowess.wiring.hook, prowess.wiring.state;"
        "print(sorted({'sqlalchemy', 'psycopg', 'alembic'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert done.stdout.strip() == "[]"
