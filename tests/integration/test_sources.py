import os
from pathlib import Path

import pytest
from tests.rows import each_row

from prowess.host.files import handles as read
from prowess.host.sources.roots import Folders, FolderSources
from prowess.settings import EntrySettings, Settings, SkillsSettings, SpecMode
from prowess.skills.model import Skill

SETTINGS = Settings()
LONG_AGO = 1_600_000_000


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "work" / "skills").mkdir(parents=True)
    return tmp_path / "work"


@pytest.fixture
def sources(tmp_path: Path, workspace: Path) -> FolderSources:
    folders = Folders(home=str(tmp_path / "home"), state=str(tmp_path / "state"), bundled="/none")
    return FolderSources(str(workspace), folders)


def write_skill(workspace: Path, name: str, description: str = "Use when asked.") -> Path:
    path = workspace / "skills" / name / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\nname: {name}\ndescription: {description}\n---\nDo it.\n")
    return path


def settle(workspace: Path) -> None:
    """Make everything look as if it had been written long ago."""
    for folder, _, files in os.walk(workspace):
        for name in files:
            os.utime(Path(folder) / name, (LONG_AGO, LONG_AGO))
        os.utime(folder, (LONG_AGO, LONG_AGO))


def by_name(sources: FolderSources, changed: set[str] | None = None) -> dict[str, Skill]:
    return {skill.name: skill for skill in sources.scan(SETTINGS, changed).skills}


def test_nothing_changed_gives_the_very_same_scan(workspace: Path, sources: FolderSources) -> None:
    write_skill(workspace, "one")

    first, second = sources.scan(SETTINGS), sources.scan(SETTINGS)

    assert first is second


def test_only_the_changed_file_is_parsed_again(workspace: Path, sources: FolderSources) -> None:
    write_skill(workspace, "one")
    path = write_skill(workspace, "two")
    settle(workspace)
    before = by_name(sources)

    write_skill(workspace, "two", "Says something else.")
    after = by_name(sources, {str(path)})

    assert after["one"] is before["one"]
    assert after["two"].description == "Says something else."


def test_a_touched_file_that_says_the_same_is_the_same_skill(
    workspace: Path, sources: FolderSources
) -> None:
    path = write_skill(workspace, "one")
    before = sources.scan(SETTINGS)

    os.utime(path)
    after = sources.scan(SETTINGS)

    assert after is before


def test_a_change_in_the_same_tick_and_of_the_same_size_is_seen(
    workspace: Path, sources: FolderSources
) -> None:
    path = write_skill(workspace, "one", "first text")
    by_name(sources)
    stamp = path.stat()

    write_skill(workspace, "one", "other text")
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))

    assert by_name(sources)["one"].description == "other text"


def test_a_new_skill_is_found_in_a_folder_that_was_read_before(
    workspace: Path, sources: FolderSources
) -> None:
    write_skill(workspace, "one")
    settle(workspace)
    by_name(sources)

    write_skill(workspace, "two")

    assert sorted(by_name(sources)) == ["one", "two"]


def test_a_removed_skill_is_gone_and_reveals_what_lay_below(
    workspace: Path, sources: FolderSources
) -> None:
    path = write_skill(workspace, "outer")
    write_skill(workspace, "outer/inner")
    settle(workspace)
    assert sorted(by_name(sources)) == ["outer"]

    path.unlink()

    assert sorted(by_name(sources, {str(path)})) == ["outer/inner"]


@each_row("half", ["", "---\nname: one\ndescr", "  \n"])
def test_a_skill_that_is_being_saved_says_what_it_said_before(
    workspace: Path, sources: FolderSources, half: str
) -> None:
    path = write_skill(workspace, "one")
    before = by_name(sources)["one"]

    path.write_text(half)

    assert by_name(sources)["one"] is before
    assert by_name(sources, {str(path)})["one"] is before
    write_skill(workspace, "one", "Says more.")
    assert by_name(sources)["one"].description == "Says more."


def test_a_skill_that_stays_broken_is_gone_once_its_file_settled(
    workspace: Path, sources: FolderSources, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_skill(workspace, "one")
    by_name(sources)
    path.write_text("---\nname: one\ndescr")
    by_name(sources)
    monkeypatch.setattr(read, "_SETTLING_NS", 0)

    assert by_name(sources) == {}


def test_a_changed_sidecar_is_seen(workspace: Path, sources: FolderSources) -> None:
    path = write_skill(workspace, "one")
    sidecar = path.parent / "agents" / "openai.yaml"
    sidecar.parent.mkdir()
    sidecar.write_text("policy:\n  allow_implicit_invocation: true\n")
    assert by_name(sources)["one"].invocation.model

    sidecar.write_text("policy:\n  allow_implicit_invocation: false\n")

    assert not by_name(sources)["one"].invocation.model


def test_a_file_that_vanishes_between_listing_and_reading_is_simply_gone(
    workspace: Path, sources: FolderSources
) -> None:
    path = write_skill(workspace, "one")
    write_skill(workspace, "two")
    settle(workspace)
    by_name(sources)

    path.unlink()
    os.utime(path.parent, (LONG_AGO, LONG_AGO))

    assert sorted(by_name(sources)) == ["two"]


def test_a_root_that_appears_later_is_read(tmp_path: Path, sources: FolderSources) -> None:
    by_name(sources)

    skill = tmp_path / "home" / ".claude" / "skills" / "mine" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: mine\ndescription: Use it.\n---\n")

    assert sorted(by_name(sources)) == ["mine"]


def test_resources_are_the_files_of_the_skill_without_links_and_caches(
    workspace: Path, sources: FolderSources
) -> None:
    path = write_skill(workspace, "one")
    for name in ("references/guide.md", "scripts/run.sh", "node_modules/x/y.js", ".git/config"):
        file = path.parent / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    (path.parent / "link.md").symlink_to("/etc/hostname")

    found = sources.resources(by_name(sources)["one"])

    assert found == ["references/guide.md", "scripts/run.sh"]


def test_switching_a_skill_off_reads_nothing_again(workspace: Path, sources: FolderSources) -> None:
    write_skill(workspace, "one")
    settle(workspace)
    before = by_name(sources)["one"]
    entries = {"one": EntrySettings(enabled=False)}

    after = sources.scan(Settings(skills=SkillsSettings(entries=entries))).skills

    assert [skill is before for skill in after] == [True]


def test_a_stricter_mode_reads_everything_again(workspace: Path, sources: FolderSources) -> None:
    write_skill(workspace, "Odd Name")
    assert list(by_name(sources)) == ["Odd Name"]

    strict = sources.scan(Settings(skills=SkillsSettings(spec_mode=SpecMode.STRICT)))

    assert strict.skills == ()
    assert "NAME_INVALID" in {problem.code for problem in strict.diagnostics}
