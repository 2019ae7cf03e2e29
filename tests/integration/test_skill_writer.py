from pathlib import Path

import pytest

from prowess.errors import ContainmentError, PathError
from prowess.host.writers.repairs import copy_skill, rename_folder, replace_text


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
