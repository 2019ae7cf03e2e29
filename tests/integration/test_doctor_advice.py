"""What `prowess doctor` says of a state folder, of stores and of folders that nobody uses."""

import errno
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from prowess.cli.main import main
from prowess.runtime.harness.doctor import DoctorLevel, examine
from prowess.wiring import open_runtime
from prowess.wiring.doctor import open_doctor

Findings = list[dict[str, Any]]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PROWESS_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    (tmp_path / "home").mkdir()
    (tmp_path / "state").mkdir(mode=0o700)
    config = {"skills": {"allowBundled": ["none"], "routing": {"encoder": "none"}}}
    (tmp_path / "state" / "prowess.json").write_text(json.dumps(config))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def _doctor(capsys: pytest.CaptureFixture[str], level: str) -> Findings:
    capsys.readouterr()
    main(["doctor", "--json"])
    findings: Findings = json.loads(capsys.readouterr().out)["findings"]
    return [one for one in findings if one["level"] == level]


@pytest.mark.parametrize("is_link", [False, True])
def test_a_state_folder_that_is_none_is_a_problem(world: Path, *, is_link: bool) -> None:
    state = world / "other"
    if is_link:
        state.symlink_to(world / "gone")
    else:
        state.write_text("x")
    with open_runtime(world / "work", home=state) as runtime:
        checks = open_doctor(runtime, None, ".")
        found = examine([one for one in checks if one.title in {"The store", "Permissions"}])

    (finding,) = found.findings
    assert finding.level is DoctorLevel.PROBLEM
    assert f"{state} is no folder" in finding.text
    assert "PROWESS_HOME" in finding.todo


@pytest.mark.parametrize("place", ["/proc/prowess-state", "file/state", "closed/state", "closed"])
def test_a_home_in_which_nothing_can_be_kept_is_a_problem(
    world: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    (world / "file").write_text("x")
    (world / "closed").mkdir(mode=0o500)
    if place.startswith("closed") and os.geteuid() == 0:
        pytest.skip("nothing is closed to the administrator")
    if place.startswith("/proc") and not sys.platform.startswith("linux"):
        pytest.skip("there is no such folder here")
    monkeypatch.setenv("PROWESS_HOME", str(world / place))

    told = [one for one in _doctor(capsys, "problem") if "cannot be written" in one["text"]]

    (problem,) = told
    assert str((world / place).parent) in problem["text"] or place == "closed"
    assert "PROWESS_HOME" in problem["todo"]


def test_where_nothing_can_be_written_no_store_is_called_damaged(
    world: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Nobody can put it away there, and many a whole one cannot be opened without a file beside it.
    (world / "state" / "vectors.db").write_bytes(b"what cannot be opened")

    def refuse(**_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)

    problems = [one for one in _doctor(capsys, "problem") if str(world / "state") in str(one)]

    assert [one["todo"] for one in problems] == ["Set PROWESS_HOME elsewhere."]


def test_a_config_whose_folder_takes_nothing_is_a_problem(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (world / "state" / "prowess.json").unlink()
    (world / "state" / "prowess.json").symlink_to("/proc/version")

    told = [one["text"] for one in _doctor(capsys, "problem")]

    assert [one for one in told if one.startswith("/proc cannot be written")], told


def test_looking_whether_a_home_can_be_written_leaves_nothing_there(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted((world / "state").iterdir())

    assert not [one for one in _doctor(capsys, "problem") if "written" in one["text"]]
    assert [one for one in (world / "state").iterdir() if one.suffix == ".json"] == before


def test_a_state_folder_that_others_may_look_into_is_a_warning(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (world / "state" / "prowess.json").chmod(0o600)
    (world / "state").chmod(0o755)

    (warning,) = _doctor(capsys, "warning")

    assert f"{world / 'state'} may be read by others" in warning["text"]
    assert "chmod 700" in warning["todo"]


def test_a_damaged_store_is_renamed_where_it_is_and_what_is_lost_is_said(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = world / "state" / "prowess.db"
    store.write_bytes(b"garbage" * 100)
    (world / "state" / "prowess.db-wal").write_bytes(b"x")

    (problem,) = [one for one in _doctor(capsys, "problem") if "prowess.db" in one["text"]]

    assert f"mv {store} {store}.damaged; mv {store}-wal {store}-wal.damaged" in problem["todo"]
    assert "proposals" in problem["todo"]


@pytest.mark.parametrize("folder", [".cursor", ".gemini", ".codex", ".claude", ".copilot/hooks"])
def test_an_empty_folder_is_no_harness(
    world: Path, capsys: pytest.CaptureFixture[str], folder: str
) -> None:
    (world / "home" / folder).mkdir(parents=True)

    found = _doctor(capsys, "ok") + _doctor(capsys, "warning")

    assert {one["area"] for one in found} == {"prowess"}


def test_a_broken_settings_file_is_not_spoken_of_as_if_somebody_edited_it(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (world / "home" / ".claude").mkdir()
    (world / "home" / ".claude" / "settings.json").write_text('{"hooks": {"Stop": [}')

    (problem,) = _doctor(capsys, "problem")

    assert "cannot be read as JSON" in problem["text"]
    assert "Nothing was changed" not in problem["text"]
