"""What hands a skill to the scanner: everything is read or named, and nothing is followed."""

import os
import socket
from pathlib import Path

import pytest

from prowess.errors import PathError
from prowess.host.sources.skill_files import Gathered, gather, read_file
from prowess.safety.intake.ledger import ScanLimits
from prowess.safety.model import Handling


def _gather(folder: Path, **limits: int) -> Gathered:
    return gather(str(folder), ScanLimits(**limits))


def _reasons(found: Gathered) -> dict[str, str]:
    assert all(entry.handling is Handling.REFUSED for entry in found.refused)
    return {entry.path: entry.reason for entry in found.refused}


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = tmp_path / "skill"
    folder.mkdir()
    (folder / "SKILL.md").write_text("# Hello\n", encoding="utf-8")
    return folder


def test_every_file_is_read_hidden_and_ignored_ones_too(skill: Path) -> None:
    (skill / ".hidden").mkdir()
    (skill / ".hidden" / "a.sh").write_bytes(b"true\n")
    (skill / "node_modules").mkdir()
    (skill / "node_modules" / "b.js").write_bytes(b"0\n")
    (skill / ".gitignore").write_bytes(b"*\n")

    found = _gather(skill)

    assert sorted(found.files) == [".gitignore", ".hidden/a.sh", "SKILL.md", "node_modules/b.js"]
    assert found.refused == ()


def test_links_are_named_with_what_they_lead_to_and_never_followed(
    skill: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret.txt").write_bytes(b"secret\n")
    (skill / "file").symlink_to(tmp_path / "secret.txt")
    (skill / "folder").symlink_to(tmp_path)
    (skill / "inner").symlink_to("SKILL.md")
    (skill / "nothing").symlink_to("gone")
    (skill / "loop").symlink_to("loop")

    found = _gather(skill)

    assert list(found.files) == ["SKILL.md"]
    reasons = _reasons(found)
    assert reasons["file"] == "is a link to a file outside its folder, and links are not followed"
    assert "a folder outside" in reasons["folder"]
    assert reasons["inner"] == "is a link to a file, and links are not followed"
    assert reasons["nothing"] == "is a link to nothing"
    assert reasons["loop"].startswith("is a link that leads nowhere")


def test_pipes_and_sockets_are_named_and_do_not_hang(skill: Path) -> None:
    os.mkfifo(skill / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        # A socket's path must be short.
        os.chdir(skill)
        try:
            listening.bind("socket")
        finally:
            os.chdir(here)

    reasons = _reasons(_gather(skill))

    assert reasons == {"pipe": "is a pipe, not a file", "socket": "is a socket, not a file"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_named(skill: Path) -> None:
    (skill / "closed.md").write_bytes(b"x")
    (skill / "closed.md").chmod(0)
    (skill / "closed").mkdir(mode=0)

    reasons = _reasons(_gather(skill))

    assert "Permission denied" in reasons["closed.md"]
    assert "Permission denied" in reasons["closed"]


def test_what_the_system_refuses_to_open_is_named(
    skill: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_place: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("prowess.host.sources.skill_files.open_file", refuse)

    found = _gather(skill)

    assert found.files == {}
    assert _reasons(found) == {"SKILL.md": "cannot be read: Permission denied"}


def test_a_name_that_is_no_text_is_kept(skill: Path) -> None:
    Path(os.fsdecode(os.fsencode(skill) + b"/odd\xff\x1b.md")).write_bytes(b"x")

    assert "odd\udcff\x1b.md" in _gather(skill).files


def test_a_large_file_is_read_one_byte_past_its_limit_and_no_further(skill: Path) -> None:
    (skill / "large").write_bytes(b"x" * 5000)

    assert len(_gather(skill, file_bytes=1000).files["large"]) == 1001


def test_what_lies_beyond_the_limits_is_named(skill: Path) -> None:
    for number in range(5):
        (skill / f"{number}.txt").write_bytes(b"x" * 100)
    deep = skill / "a" / "b" / "c"
    deep.mkdir(parents=True)
    (deep / "deep.txt").write_bytes(b"x")

    assert len(_gather(skill, files=3).files) == 3
    assert "more than 3 files" in _reasons(_gather(skill, files=3))["3.txt"]
    assert "larger than 150 bytes" in _reasons(_gather(skill, total_bytes=150))["4.txt"]
    assert _reasons(_gather(skill, depth=2))["a/b/c"] == "lies deeper than 2 folders"


def test_of_a_repository_its_hooks_and_config_are_read_and_its_history_is_noted(
    skill: Path,
) -> None:
    for path, text in (
        (".git/config", "[core]\n"),
        (".git/hooks/post-checkout", "#!/bin/sh\n"),
        (".git/objects/ab/cdef", "packed"),
        (".git/HEAD", "ref"),
        (".git/modules/inner/hooks/pre-commit", "#!/bin/sh\n"),
    ):
        (skill / path).parent.mkdir(parents=True, exist_ok=True)
        (skill / path).write_text(text, encoding="utf-8")

    found = _gather(skill)

    assert sorted(found.files) == [
        ".git/config",
        ".git/hooks/post-checkout",
        ".git/modules/inner/hooks/pre-commit",
        "SKILL.md",
    ]
    (noted,) = found.noted
    assert noted.handling is Handling.HARMLESS
    assert "2 files" in noted.reason


def test_a_skill_file_that_is_a_link_within_its_folder_is_read_as_what_it_leads_to(
    tmp_path: Path,
) -> None:
    skill = tmp_path / "linked"
    (skill / "docs").mkdir(parents=True)
    (skill / "docs" / "page.md").write_text("---\nname: linked\n---\nBody.\n")
    (skill / "SKILL.md").symlink_to("docs/page.md")

    inside = _gather(skill)
    (skill / "SKILL.md").unlink()
    (skill / "SKILL.md").symlink_to("../secret.md")
    (tmp_path / "secret.md").write_text("secret")
    outside = _gather(skill)

    assert inside.files["SKILL.md"] == inside.files["docs/page.md"]
    assert inside.refused == ()
    assert "SKILL.md" not in outside.files
    assert [entry.path for entry in outside.refused] == ["SKILL.md"]


def test_a_folder_that_is_itself_a_link_is_entered_since_a_person_named_it(
    skill: Path, tmp_path: Path
) -> None:
    (tmp_path / "alias").symlink_to(skill)

    assert list(_gather(tmp_path / "alias").files) == ["SKILL.md"]


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PathError, match="cannot be read"):
        _gather(tmp_path / "gone")


def test_one_file_is_a_skill_of_its_own_and_a_pipe_is_none(skill: Path) -> None:
    os.mkfifo(skill / "pipe")

    assert read_file(str(skill / "SKILL.md"), ScanLimits()).files == {"SKILL.md": b"# Hello\n"}
    with pytest.raises(PathError, match="not a regular file"):
        read_file(str(skill / "pipe"), ScanLimits())
    with pytest.raises(PathError, match="cannot be read"):
        read_file(str(skill / "gone"), ScanLimits())
