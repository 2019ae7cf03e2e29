from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa

from prowess.errors import StoreError
from prowess.host.store.sessions import SqliteStore
from prowess.runtime.ports import StoredSnapshot

LONG = "<skill>" * 200


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(str(tmp_path / "state" / "prowess.db"))
    yield opened
    opened.close()


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


def prompts_in(path: Path) -> int:
    engine = sa.create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        count: int = connection.execute(sa.text("select count(*) from prompts")).scalar_one()
    engine.dispose()
    return count


@pytest.mark.parametrize("prompt", ["", "short", LONG, "ünï ⚠️ \n<x>" * 100])
def test_a_snapshot_comes_back_as_it_went_in(store: SqliteStore, prompt: str) -> None:
    stored = make_snapshot(prompt=prompt, skill_filter=("a", "b"))

    store.save(stored)

    assert store.load("s1") == stored


@pytest.mark.parametrize("skill_filter", [None, (), ("a",)])
def test_no_filter_and_an_empty_one_stay_different(
    store: SqliteStore, skill_filter: tuple[str, ...] | None
) -> None:
    store.save(make_snapshot(skill_filter=skill_filter))

    loaded = store.load("s1")

    assert loaded is not None
    assert loaded.skill_filter == skill_filter


def test_an_unknown_session_holds_nothing(store: SqliteStore) -> None:
    assert store.load("nobody") is None


def test_a_long_prompt_is_kept_once_for_all_sessions(tmp_path: Path) -> None:
    path = tmp_path / "prowess.db"
    store = SqliteStore(str(path))

    for number in range(5):
        store.save(make_snapshot(f"s{number}", prompt=LONG))
    store.close()

    assert prompts_in(path) == 1


def test_a_prompt_that_nobody_holds_any_more_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "prowess.db"
    store = SqliteStore(str(path))
    store.save(make_snapshot(prompt=LONG))

    store.save(make_snapshot(prompt="short"))
    store.close()

    assert prompts_in(path) == 0


def test_use_is_remembered_across_openings_and_never_goes_back(tmp_path: Path) -> None:
    path = str(tmp_path / "prowess.db")
    first = SqliteStore(path)
    first.record_use("deploy", 200)
    first.record_use("deploy", 100)
    first.close()

    second = SqliteStore(path)
    used = second.last_used()
    second.close()

    assert used == {"deploy": 200}


def test_many_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "prowess.db")
    stores = [SqliteStore(path) for _ in range(4)]

    def write(index: int) -> None:
        stores[index % 4].save(make_snapshot(f"s{index}", prompt=LONG + str(index)))
        stores[index % 4].record_use(f"skill-{index}", index)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(40)))
    found = [stores[0].load(f"s{index}") for index in range(40)]
    used = stores[0].last_used()
    for store in stores:
        store.close()

    assert all(found)
    assert len(used) == 40


def test_a_file_that_is_no_database_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "prowess.db"
    path.write_text("this is a text file, not a database, and long enough to be read as one" * 50)

    with pytest.raises(StoreError, match=r"prowess\.db: cannot be used"):
        SqliteStore(str(path))


def test_a_store_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "prowess.db"
    engine = sa.create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        connection.exec_driver_sql("PRAGMA user_version = 99")
    engine.dispose()

    with pytest.raises(StoreError, match="newer Prowess"):
        SqliteStore(str(path))


def test_a_state_folder_that_is_a_file_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")

    with pytest.raises(StoreError, match="cannot be"):
        SqliteStore(str(tmp_path / "state" / "prowess.db"))
