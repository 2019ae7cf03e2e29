import os
from pathlib import Path

import pytest

from prowess.host.files.handles import Content, read_bounded
from prowess.skills.model import Diagnostic


def code_of(found: object) -> str:
    assert isinstance(found, Diagnostic)
    return found.code


def test_a_file_of_exactly_the_limit_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 10)

    assert read_bounded(str(path), 10) == Content(b"x" * 10)
    assert code_of(read_bounded(str(path), 9)) == "FILE_TOO_LARGE"


def test_a_file_that_is_gone_is_none(tmp_path: Path) -> None:
    assert read_bounded(str(tmp_path / "none"), 10) is None


def test_a_pipe_does_not_make_it_wait(tmp_path: Path) -> None:
    path = tmp_path / "SKILL.md"
    os.mkfifo(path)

    assert code_of(read_bounded(str(path), 10)) == "not-a-file"


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "target")

    assert code_of(read_bounded(str(tmp_path / "link"), 10)) == "unreadable"


def test_a_folder_and_a_device_are_no_files(tmp_path: Path) -> None:
    assert code_of(read_bounded(str(tmp_path), 10)) == "not-a-file"
    assert code_of(read_bounded("/dev/zero", 10)) == "not-a-file"


def test_a_hard_link_is_refused_where_that_matters(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("x")
    (tmp_path / "b").hardlink_to(path)

    assert code_of(read_bounded(str(path), 10, hard_links=False)) == "hard-link"
    assert read_bounded(str(path), 10) == Content(b"x")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("x")
    path.chmod(0)

    assert code_of(read_bounded(str(path), 10)) == "unreadable"
