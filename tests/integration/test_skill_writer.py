import errno
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import pytest

from prowess.errors import ContainmentError, PathError, explain_failure
from prowess.host.files.state_files import describe
from prowess.host.writers.repairs import copy_skill, rename_folder, replace_text
from prowess.wiring import open_runtime


def make_bundled(root: Path, name: str = "alpha") -> Path:
    file = root / name / "SKILL.md"
    (file.parent / "references").mkdir(parents=True)
    file.write_text("text")
    (file.parent / "references" / "more.md").write_text("more")
    return file


def test_a_skill_is_copied_with_its_files_and_without_links(tmp_path: Path) -> None:
    file = make_bundled(tmp_path / "bundled")
    (file.parent / "secret").symlink_to("/etc/passwd")
    (tmp_path / "work").mkdir()

    done = copy_skill("alpha", file, tmp_path / "bundled", tmp_path / "work" / "skills")

    assert done.copied
    copied = sorted(path.relative_to(done.target).as_posix() for path in done.target.rglob("*"))
    assert copied == ["SKILL.md", "references", "references/more.md"]
    assert [path.name for path in done.target.parent.iterdir()] == ["alpha"]


def test_an_existing_folder_is_left_alone(tmp_path: Path) -> None:
    file = make_bundled(tmp_path / "bundled")
    mine = tmp_path / "work" / "skills" / "alpha"
    mine.mkdir(parents=True)

    done = copy_skill("alpha", file, tmp_path / "bundled", tmp_path / "work" / "skills")

    assert not done.copied
    assert list(mine.iterdir()) == []


def test_a_linked_skills_folder_does_not_carry_the_copy_away(tmp_path: Path) -> None:
    file = make_bundled(tmp_path / "bundled")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "skills").symlink_to(elsewhere)

    with pytest.raises(ContainmentError):
        copy_skill("alpha", file, tmp_path / "bundled", tmp_path / "work" / "skills")

    assert list(elsewhere.iterdir()) == []


def test_only_bundled_skills_are_copied(tmp_path: Path) -> None:
    file = make_bundled(tmp_path / "other")
    (tmp_path / "bundled").mkdir()

    with pytest.raises(ContainmentError):
        copy_skill("alpha", file, tmp_path / "bundled", tmp_path / "work" / "skills")


def test_a_replaced_text_leaves_the_old_one_in_the_backups(tmp_path: Path) -> None:
    file = tmp_path / "alpha" / "SKILL.md"
    file.parent.mkdir()
    file.write_bytes(b"old\r\n")
    file.chmod(0o640)

    backup = replace_text(file, "new\r\n", tmp_path / "backups")

    assert file.read_bytes() == b"new\r\n"
    assert backup.read_bytes() == b"old\r\n"
    assert file.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in file.parent.iterdir()] == ["SKILL.md"]


def test_a_file_that_is_not_there_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(PathError, match="cannot be written"):
        replace_text(tmp_path / "none" / "SKILL.md", "x", tmp_path / "backups")


def test_a_folder_is_not_renamed_over_another(tmp_path: Path) -> None:
    (tmp_path / "One").mkdir()
    (tmp_path / "two").mkdir()

    with pytest.raises(PathError, match="exists already"):
        rename_folder(tmp_path / "One", "two")


def test_what_killed_writers_left_goes_after_a_day_and_the_only_copy_of_something_stays(
    tmp_path: Path,
) -> None:
    skills = tmp_path / "work/skills"
    old = {
        "notes/.prowess-0123456789abcdef.tmp": False,
        ".prowess-0123456789abcdef/20/SKILL.md": False,
        ".prowess-fedcba9876543210/spare/SKILL.md": True,
        ".prowess-kept/mine-1/SKILL.md": True,
        ".prowess-sync.json": True,
    }
    new = {"notes/.prowess-abcdefgh.tmp": True, ".prowess-00112233445566aa/SKILL.md": True}
    for path in ("notes/SKILL.md", *old, *new):
        (skills / path).parent.mkdir(parents=True, exist_ok=True)
        (skills / path).write_text("---\nname: notes\ndescription: d\n---\n", encoding="utf-8")
    for path in old:
        place = skills / (path if path.startswith("notes") else path.split("/")[0])
        os.utime(place, (time.time() - 90_000,) * 2)

    runtime = open_runtime(tmp_path / "work", home=tmp_path / "state", environ={})
    names = [status.skill.name for status in runtime.skills.status(None).skills]

    assert names.count("notes") == 1
    assert {path: (skills / path).exists() for path in old | new} == old | new


def test_a_folder_that_cannot_be_written_is_no_reason_to_stop() -> None:
    script = (
        "import os, sys; from prowess.host.files.transaction import sweep_stale\n"
        "os.getuid() or os.setuid(65534)\n"
        "sweep_stale(sys.argv[1])\n"
    )
    # Not below the folder of tests: whoever is not root may not pass that.
    with tempfile.TemporaryDirectory() as folder:
        left = Path(folder, ".prowess-0123456789abcdef.tmp")
        left.write_text("half", encoding="utf-8")
        os.utime(left, (0, 0))
        Path(folder).chmod(0o555)

        done = subprocess.run([sys.executable, "-c", script, folder], check=False)

        assert (done.returncode, left.exists()) == (0, True)


def test_a_failure_is_explained_and_never_by_nothing() -> None:
    full = explain_failure(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    several = explain_failure(shutil.Error([("a", "b", "No space left on device")]))

    assert full.startswith("No space left on device: make room on the disk")
    assert "No space left on device" in several
    assert explain_failure(OSError()) == "OSError"


def test_a_store_on_a_full_disk_is_not_to_be_moved_away(tmp_path: Path) -> None:
    path = str(tmp_path / "prowess.db")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (body BLOB)")
        connection.execute("PRAGMA max_page_count = 3")
        with pytest.raises(sqlite3.OperationalError) as full:
            connection.execute("INSERT INTO t VALUES (zeroblob(100000))")
    (tmp_path / "other.db").write_bytes(b"no database at all, and longer than its head" * 9)
    with (
        closing(sqlite3.connect(tmp_path / "other.db")) as connection,
        pytest.raises(sqlite3.DatabaseError) as broken,
    ):
        connection.execute("SELECT * FROM t")

    assert describe(full.value) == (
        "cannot be used (database or disk is full): make room on the disk that holds it, then try"
        " again."
    )
    assert "move it away" in describe(broken.value)
