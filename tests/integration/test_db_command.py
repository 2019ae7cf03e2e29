"""`prowess db`: what an operator sees and does."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy.exc import DBAPIError
from tests.integration.hub_world import open_world
from tests.integration.postgres_world import execute, new_database, running_postgres
from tests.integration.test_store_proposals import make

from prowess.cli.main import main
from prowess.errors import StoreError
from prowess.host.store.database import Database, open_database, open_file
from prowess.host.store.fleet.administration import copy_files, count_rows, find_problems, migrate
from prowess.host.store.proposals import StoredProposals
from prowess.host.store.sessions import StoredSessions
from prowess.host.store.usage import SqliteUsage
from prowess.hub.model import HubRole
from prowess.runtime.usage import UsageEvent, UsageTotal, Use
from prowess.workshop.proposal import DEFAULT_CAPS

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.setenv("PROWESS_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def call(*words: str, url: str = "") -> tuple[int, str, str]:
        monkeypatch.setenv("PROWESS_DATABASE_URL", url)
        code = main(["db", *words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def fill(state: Path) -> None:
    """Make the files of a machine that was used for a while."""
    database = open_file(str(state / "prowess.db"))
    for number in (1, 2):
        StoredProposals(database).add(make(number), DEFAULT_CAPS)
    StoredSessions(database).record_use("notes", 5)
    usage = SqliteUsage(str(state / "usage.db"))
    total = UsageTotal("notes", "main", {Use.LOADED: 2}, 9)
    usage.add([total], [UsageEvent(Use.LOADED, "notes", "main", 9)], 9)
    usage.close()


def test_a_database_is_made_filled_and_checked(
    run: Run, tmp_path: Path, empty_database_url: str
) -> None:
    fill(tmp_path / "state")

    before = run("status", "--json", url=empty_database_url)
    steps = [run(word, "--json", url=empty_database_url) for word in ("migrate", "copy", "check")]

    assert (before[0], json.loads(before[1])["current"]) == (1, False)
    assert [code for code, _, _ in steps] == [0, 0, 0]
    assert json.loads(steps[1][1])["rows"]["workshop_proposals"] == 2
    assert json.loads(steps[2][1])["ok"]
    shown = json.loads(run("status", "--json", url=empty_database_url)[1])
    assert shown["current"]
    assert shown["rows"]["usage_events"] == 1


def test_what_was_copied_is_read_and_written_on(tmp_path: Path, postgres: Database) -> None:
    fill(tmp_path)

    copy_files(str(tmp_path), postgres)

    store = StoredProposals(postgres)
    assert [one.id for one in store.listed("/work")] == ["p2", "p1"]
    last = store.events("/work")[-1].sequence
    store.add(make(3), DEFAULT_CAPS)
    assert store.events("/work")[-1].sequence > last
    assert find_problems(postgres) == ()


def test_a_hub_and_its_log_move_to_the_database(tmp_path: Path, postgres: Database) -> None:
    state = tmp_path / "state"
    with open_world(open_file(str(state / "hub/hub.db")), state) as world:
        world.make_space("acme", ann=HubRole.PUBLISHER)
        ann = world.enter("ann")
        digests = [world.publish(ann, "tide-tables", number) for number in ("1.0.0", "1.1.0")]

    copy_files(str(state), postgres)

    with open_world(postgres, tmp_path / "other") as moved:
        assert moved.service.reindex(lambda *_: None) == 1
        assert moved.find("tides") == ["acme/tide-tables"]
        skill = moved.service.find(ann, "acme/tide-tables")
        assert [one.digest for one in moved.service.list_versions(ann, skill)] == digests[::-1]
        moved.publish(ann, "tide-tables", "1.2.0")
        assert moved.hub.audit.check().lines == 3
        assert not moved.hub.audit.check().problem
    assert count_rows(postgres)["hub_versions"] == 3
    assert find_problems(postgres) == ()
    execute(postgres, "delete from hub_blobs")
    assert any("content is gone" in one.what for one in find_problems(postgres))


def test_a_newer_schema_is_not_told_to_migrate(run: Run, postgres_database_url: str) -> None:
    database = open_database(postgres_database_url)
    execute(database, "update prowess_schema set version_num = '9999'")
    database.close()

    code, out, _ = run("status", url=postgres_database_url)

    assert code == 1
    assert "update Prowess" in out
    assert "migrate" not in out


def test_nothing_is_copied_over_what_is_there(tmp_path: Path, postgres: Database) -> None:
    fill(tmp_path)
    StoredProposals(postgres).add(make(9), DEFAULT_CAPS)

    with pytest.raises(StoreError, match="copy into an empty database"):
        copy_files(str(tmp_path), postgres)

    assert count_rows(postgres)["workshop_proposals"] == 1
    assert count_rows(postgres)["skill_uses"] == 0


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("alter table workshop_files drop column body", "not those of schema"),
        ("drop table usage_days", "not those of schema"),
        ("delete from workshop_proposals where id = 'p1'", "files of proposals that are gone"),
        ("update workshop_proposals set rest = '[]'", "cannot be read"),
        (
            "select setval(pg_get_serial_sequence('workshop_events', 'sequence'), 1)",
            "would give number",
        ),
    ],
)
def test_damage_is_found(postgres: Database, damage: str, said: str) -> None:
    store = StoredProposals(postgres)
    for number in (1, 2):
        store.add(make(number), DEFAULT_CAPS)
    assert find_problems(postgres) == ()
    execute(postgres, damage)

    found = find_problems(postgres)

    assert any(said in problem.what for problem in found)
    assert all(problem.advice for problem in found)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "is not set"),
        ("nonsense", "is no address of a database"),
        ("postgresql://me:s3cret@127.0.0.1:1/x", "start the server"),
    ],
)
def test_a_wrong_address_says_what_to_do(run: Run, url: str, said: str) -> None:
    code, out, err = run("migrate", url=url)

    assert code == 1
    assert said in err
    assert "s3cret" not in out + err


def test_without_an_address_the_files_are_shown(run: Run, tmp_path: Path) -> None:
    fill(tmp_path / "state")

    code, out, _ = run("status", "--json")

    assert code == 0
    assert set(json.loads(out)["bytes"]) == {"prowess.db", "usage.db"}


def test_a_backup_brings_all_of_it_back(tmp_path: Path) -> None:
    with (
        running_postgres() as server,
        new_database(server.url) as url,
        new_database(server.url) as other,
    ):
        database, restored = open_database(url), open_database(other)
        migrate(database)
        fill(tmp_path)
        copy_files(str(tmp_path), database)
        saved = server.folder / "s" / "prowess.dump"

        server.run_tool("pg_dump", "--format=custom", f"--file={saved}", url)
        server.run_tool("pg_restore", "--exit-on-error", f"--dbname={other}", str(saved))

        assert find_problems(restored) == ()
        assert count_rows(restored) == count_rows(database)
        store = StoredProposals(restored)
        assert store.listed("/work") == StoredProposals(database).listed("/work")
        store.add(make(7), DEFAULT_CAPS)
        with pytest.raises(DBAPIError, match="only added"):
            execute(restored, "delete from workshop_events")
        database.close()
        restored.close()
