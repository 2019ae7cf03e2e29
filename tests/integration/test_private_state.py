"""Files of the state folder are for their owner alone, and none is left behind half written."""

import os
import stat
import time
from pathlib import Path

import pytest
import sqlalchemy as sa

from prowess.errors import StoreError
from prowess.host.files import state_files as sqlite_files
from prowess.host.files.state_files import write_private
from prowess.host.store.database import open_file
from prowess.host.store.proposals import StoredCounters, StoredProposals
from prowess.host.store.sessions import StoredSessions
from prowess.runtime.workshop.ports import Counters

pytestmark = pytest.mark.skipif(os.name == "nt", reason="modes of files are of other systems")
HOUR_S = 3_600


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _open_all(path: Path) -> None:
    StoredSessions(open_file(str(path))).record_use("alpha", 1)
    StoredProposals(open_file(str(path))).listed("/work")
    StoredCounters(open_file(str(path))).save("/work", Counters())


@pytest.mark.parametrize("opened", [StoredSessions, StoredProposals, StoredCounters])
def test_a_store_in_a_folder_that_everybody_reads_is_private(
    tmp_path: Path, opened: type[StoredSessions | StoredProposals | StoredCounters]
) -> None:
    tmp_path.chmod(0o755)
    path = tmp_path / "prowess.db"
    store = opened(open_file(str(path)))
    if isinstance(store, StoredProposals):
        store.listed("/work")
    elif isinstance(store, StoredCounters):
        store.save("/work", Counters())

    assert _mode(path) == 0o600
    # While one connection is open, its companions are there too.
    with sa.create_engine(f"sqlite:///{path}").connect() as connection:
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")
        connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS t (x)")
        assert {_mode(one) for one in tmp_path.glob("prowess.db*")} == {0o600}


def test_a_store_that_others_may_read_is_kept_from_them(tmp_path: Path) -> None:
    path = tmp_path / "prowess.db"
    _open_all(path)
    path.chmod(0o644)

    _open_all(path)

    assert _mode(path) == 0o600
    assert StoredSessions(open_file(str(path))).last_used() == {"alpha": 1}


def test_companions_of_a_store_are_kept_from_others_too(tmp_path: Path) -> None:
    path = tmp_path / "prowess.db"
    for name in ("prowess.db", "prowess.db-wal", "prowess.db-shm"):
        (tmp_path / name).touch(0o644)

    sqlite_files.create(str(path))

    assert {_mode(one) for one in tmp_path.iterdir()} == {0o600}


def test_a_store_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(StoreError, match="cannot be created"):
        StoredSessions(open_file(str(tmp_path / "file/prowess.db")))


def test_what_an_ended_writer_left_is_swept_by_the_next_one(tmp_path: Path) -> None:
    old = time.time() - 2 * HOUR_S
    left, fresh = tmp_path / ".prowess-abcd1234.tmp", tmp_path / ".prowess-efgh5678.tmp"
    others = [tmp_path / name for name in ("notes.tmp", ".prowess-notes", ".prowess.tmp.txt")]
    for path in (left, *others):
        path.write_text("x")
        os.utime(path, (old, old))
    fresh.write_text("x")
    target = tmp_path / "elsewhere"
    target.write_text("x")
    link, folder = tmp_path / ".prowess-link.tmp", tmp_path / ".prowess-folder.tmp"
    link.symlink_to(target)
    os.utime(link, (old, old), follow_symlinks=False)
    folder.mkdir()
    os.utime(folder, (old, old))

    write_private(str(tmp_path / "prowess.json"), "{}")

    assert not left.exists()
    assert all(path.exists() for path in (fresh, *others, target, folder))
    assert link.is_symlink()
    assert (tmp_path / "prowess.json").read_text() == "{}"
