from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.integration.postgres_world import execute, reopened

from prowess.errors import StoreError
from prowess.host.store.database import Database, open_file
from prowess.host.store.sessions import StoredSessions
from prowess.runtime.ports import StoredSnapshot

LONG = "<skill>" * 200


@pytest.fixture
def store(engine: Database) -> StoredSessions:
    return StoredSessions(engine)


def make_snapshot(
    session: str = "s1", *, prompt: str = "short", skill_filter: tuple[str, ...] | None = None
) -> StoredSnapshot:
    return StoredSnapshot(
        session_id=session,
        agent_id="main",
        version=3,
        hash="abc",
        prompt=prompt,
        skill_filter=skill_filter,
    )


def count_prompts(engine: Database) -> object:
    return execute(engine, "select count(*) from prompts")[0][0]


@pytest.mark.parametrize("prompt", ["", "short", LONG, "ünï ⚠️ \n<x>" * 100])
def test_a_snapshot_comes_back_as_it_went_in(store: StoredSessions, prompt: str) -> None:
    stored = make_snapshot(prompt=prompt, skill_filter=("a", "b"))

    store.save(stored)

    assert store.load("s1") == stored


@pytest.mark.parametrize("skill_filter", [None, (), ("a",)])
def test_no_filter_and_an_empty_one_stay_different(
    store: StoredSessions, skill_filter: tuple[str, ...] | None
) -> None:
    store.save(make_snapshot(skill_filter=skill_filter))

    loaded = store.load("s1")

    assert loaded is not None
    assert loaded.skill_filter == skill_filter


def test_an_unknown_session_holds_nothing(store: StoredSessions) -> None:
    assert store.load("nobody") is None


def test_a_long_prompt_is_kept_once_for_all_sessions(
    store: StoredSessions, engine: Database
) -> None:
    for number in range(5):
        store.save(make_snapshot(f"s{number}", prompt=LONG))

    assert count_prompts(engine) == 1


def test_a_prompt_that_nobody_holds_any_more_is_removed(
    store: StoredSessions, engine: Database
) -> None:
    store.save(make_snapshot(prompt=LONG))

    store.save(make_snapshot(prompt="short"))

    assert count_prompts(engine) == 0


def test_use_is_remembered_across_openings_and_never_goes_back(
    store: StoredSessions, engine: Database
) -> None:
    now_ms = 1_800_000_000_000
    store.record_use("deploy", now_ms)
    store.record_use("deploy", 100)
    store.close()

    with reopened(engine) as other:
        assert StoredSessions(other).last_used() == {"deploy": now_ms}


def test_many_writers_at_once_lose_nothing(engine: Database) -> None:
    stores = [StoredSessions(Database(engine.url)) for _ in range(4)]

    def write(index: int) -> None:
        stores[index % 4].save(make_snapshot(f"s{index}", prompt=LONG + str(index)))
        stores[index % 4].record_use(f"skill-{index}", index)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(40)))
    found = [stores[0].load(f"s{index}") for index in range(40)]
    used = stores[0].last_used()
    for store in stores:
        store.close()

    assert all(one is not None and one.prompt for one in found)
    assert len(used) == 40


def test_a_file_that_is_no_database_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "prowess.db"
    path.write_text("this is a text file, not a database, and long enough to be read as one" * 50)

    with pytest.raises(StoreError, match=r"prowess\.db: cannot be used"):
        StoredSessions(open_file(str(path)))


def test_a_store_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "prowess.db"
    engine = sa.create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        connection.exec_driver_sql("PRAGMA user_version = 99")
    engine.dispose()

    with pytest.raises(StoreError, match="newer Prowess"):
        StoredSessions(open_file(str(path)))


def test_a_state_folder_that_is_a_file_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")

    with pytest.raises(StoreError, match="cannot be"):
        StoredSessions(open_file(str(tmp_path / "state" / "prowess.db")))
