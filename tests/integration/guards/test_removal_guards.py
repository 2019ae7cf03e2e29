"""Guards of removal: only a skill, only inside its root, never through a link, with a way back."""

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from prowess.errors import RemovalError
from prowess.host.files import transaction as folder_move
from prowess.host.writers.trash import SkillTrash, Trashed

NOW = 1_800_000_000.0


def put(folder: Path, text: str = "# Notes\n") -> Path:
    (folder / "references").mkdir(parents=True)
    (folder / "SKILL.md").write_text(text)
    (folder / "references/a.md").write_text("a\n")
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    put(tmp_path / "skills/notes")
    put(tmp_path / "skills/other")
    return tmp_path / "skills"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    return put(tmp_path / "outside", "# Precious\n")


def trash_of(root: Path, hook: Callable[[str], None] | None = None) -> SkillTrash:
    return SkillTrash(root.parent / "trash", swap_hook=hook)


def remove(root: Path, skill: Path, hook: Callable[[str], None] | None = None) -> Trashed:
    return trash_of(root, hook).remove(skill, root, source="workspace", now=NOW)


def naive_removal(skill: Path) -> None:
    """Delete whatever the path leads to, the way it is often done."""
    shutil.rmtree(os.path.realpath(skill))


def listing(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_g24_a_path_with_steps_upwards_is_refused(root: Path, outside: Path) -> None:
    put(outside.parent / "scratch")
    naive_removal(root / ".." / "scratch")
    assert not (outside.parent / "scratch").exists()  # a folder beside the root is gone

    for path in (root / ".." / "outside", root / "notes" / ".." / ".." / "outside"):
        with pytest.raises(RemovalError, match=r"`\.\.` step"):
            remove(root, path)

    assert (outside / "SKILL.md").exists()


def test_g24_the_root_and_what_is_around_it_are_refused(root: Path) -> None:
    (root / "SKILL.md").write_text("# A root that looks like a skill\n")

    with pytest.raises(RemovalError, match="skills root itself"):
        remove(root, root)
    for path in (Path("/"), root.parent, Path.home(), root.with_name("skills-other")):
        with pytest.raises(RemovalError, match="is not inside"):
            remove(root, path)

    assert "notes/SKILL.md" in listing(root)


def test_g24_a_root_whose_name_is_only_the_beginning_is_another_root(tmp_path: Path) -> None:
    root, beside = tmp_path / "skills", put(tmp_path / "skills-of-others/notes")
    root.mkdir()
    assert str(beside).startswith(str(root))  # which is why that is no test

    with pytest.raises(RemovalError, match="is not inside"):
        remove(root, beside)

    assert beside.exists()


def test_g24_a_linked_skill_is_unlinked_and_its_target_stays(root: Path, outside: Path) -> None:
    (root / "linked").symlink_to(outside)
    scratch = put(outside.parent / "scratch")
    (root / "naive").symlink_to(scratch)
    naive_removal(root / "naive")
    assert not scratch.exists()  # the target is gone
    before = listing(outside)

    removed = remove(root, root / "linked")

    assert not (root / "linked").is_symlink()
    assert listing(outside) == before
    assert removed.path.is_symlink()
    assert removed.hash == ""
    trash_of(root).restore(removed.id, root)
    assert (root / "linked").readlink() == outside


def test_g24_purging_a_linked_skill_leaves_its_target(root: Path, outside: Path) -> None:
    (root / "linked").symlink_to(outside)
    removed = remove(root, root / "linked")
    before = listing(outside)

    assert trash_of(root).purge(NOW + 1) == (removed.id,)

    assert listing(outside) == before
    assert not removed.path.is_symlink()


def test_g24_a_skill_behind_a_linked_folder_is_refused(root: Path, outside: Path) -> None:
    put(outside / "notes")
    (root / "group").symlink_to(outside)

    with pytest.raises(RemovalError, match="link"):
        remove(root, root / "group/notes")

    assert (outside / "notes/SKILL.md").exists()


def test_g24_a_link_inside_a_skill_goes_and_its_target_stays(root: Path, outside: Path) -> None:
    (root / "notes/assets").symlink_to(outside)

    remove(root, root / "notes")
    trash_of(root).purge(NOW + 1)

    assert (outside / "SKILL.md").read_text() == "# Precious\n"


@pytest.mark.parametrize(
    "source", ["openclaw-bundled", "bundled", "openclaw-extra", "plugin", "harness-personal", ""]
)
def test_g24_a_skill_that_is_not_ours_is_refused(root: Path, source: str) -> None:
    with pytest.raises(RemovalError, match="only managed and workspace"):
        trash_of(root).remove(root / "notes", root, source=source, now=NOW)

    assert (root / "notes").exists()


@pytest.mark.parametrize("source", ["managed", "workspace", "openclaw-managed"])
def test_g24_a_managed_or_workspace_skill_goes_to_the_trash(root: Path, source: str) -> None:
    removed = trash_of(root).remove(root / "notes", root, source=source, now=NOW)

    assert not (root / "notes").exists()
    assert listing(removed.path) == ["SKILL.md", "references", "references/a.md"]
    assert trash_of(root).entries() == (removed,)
    assert (removed.original, removed.removed_at) == (root / "notes", NOW)


def test_g24_a_folder_without_a_skill_file_of_its_own_is_refused(root: Path) -> None:
    (root / "plain").mkdir()
    (root / "tricked").mkdir()
    (root / "tricked/SKILL.md").symlink_to(root / "notes/SKILL.md")
    (root / "folder/SKILL.md").mkdir(parents=True)
    (root / "file.md").write_text("x")

    for name in ("plain", "tricked", "folder"):
        with pytest.raises(RemovalError, match=r"no SKILL\.md of its own"):
            remove(root, root / name)
    with pytest.raises(RemovalError, match="not a skill folder"):
        remove(root, root / "file.md")
    with pytest.raises(RemovalError, match="not there"):
        remove(root, root / "missing")

    assert (root / "tricked").exists()


def test_g24_the_trash_cannot_lie_in_the_root_or_around_it(root: Path) -> None:
    for folder in (root / ".trash", root / "notes", root.parent):
        with pytest.raises(RemovalError, match="cannot be the trash"):
            SkillTrash(folder).remove(root / "notes", root, source="workspace", now=NOW)

    assert (root / "notes").exists()


def _steps(folder: Path) -> list[str]:
    """Return the names of the steps of one removal."""
    put(folder / "skills/notes")
    steps: list[str] = []
    remove(folder / "skills", folder / "skills/notes", steps.append)
    return steps


def _swap_at(number: int, swap: Callable[[], None]) -> Callable[[str], None]:
    count = iter(range(10_000))

    def hook(_step: str) -> None:
        if next(count) == number:
            swap()

    return hook


def test_g25_a_folder_swapped_for_a_link_during_removal_is_not_followed(
    tmp_path: Path, outside: Path
) -> None:
    checked = put(tmp_path / "checked")
    assert (checked / "SKILL.md").is_file()
    checked.rename(tmp_path / "moved")
    checked.symlink_to(put(tmp_path / "victim"))
    naive_removal(checked)
    assert not (tmp_path / "victim").exists()  # what was checked is not what was deleted
    before = listing(outside)
    steps = _steps(tmp_path / "count")

    refused = 0
    for number in range(len(steps)):
        root = tmp_path / f"root{number}" / "skills"
        put(root / "notes")

        def swap(root: Path = root) -> None:
            if (root / "notes").exists():
                (root / "notes").rename(root / "moved")
                (root / "notes").symlink_to(outside)

        try:
            removed = remove(root, root / "notes", _swap_at(number, swap))
        except RemovalError:
            refused += 1
            assert (root / "notes").is_symlink()
        else:
            trash_of(root).purge(NOW + 1)
            assert not removed.path.exists()
        assert listing(outside) == before

    assert refused > 0


def test_g25_a_folder_above_swapped_for_a_link_is_not_followed(
    tmp_path: Path, outside: Path
) -> None:
    put(outside / "notes")
    before = listing(outside)
    steps = _steps(tmp_path / "count")

    for number in range(len(steps) + 4):
        root = tmp_path / f"root{number}" / "skills"
        put(root / "group/notes")

        def swap(root: Path = root) -> None:
            (root / "group").rename(root / "moved")
            (root / "group").symlink_to(outside)

        try:
            remove(root, root / "group/notes", _swap_at(number, swap))
        except RemovalError:
            assert (root / "group").is_symlink()
        trash_of(root).purge(NOW + 1)

        assert listing(outside) == before


def test_g25_another_folder_put_in_place_after_the_check_is_moved_back(root: Path) -> None:
    def swap() -> None:
        (root / "notes").rename(root / "moved")
        put(root / "notes", "# Not looked at\n")

    steps = _steps(root.parent / "count")
    with pytest.raises(RemovalError, match="swapped"):
        remove(root, root / "notes", _swap_at(steps.index("ready"), swap))

    assert (root / "notes/SKILL.md").read_text() == "# Not looked at\n"
    assert trash_of(root).entries() == ()


def test_a_removed_skill_comes_back_as_it_was(root: Path) -> None:
    put(root / "group/deep")
    (root / "notes/references/a.md").chmod(0o600)
    before = listing(root)
    removed = [remove(root, root / name) for name in ("notes", "group/deep")]
    (root / "group").rmdir()

    for entry in removed:
        assert trash_of(root).restore(entry.id, root) == entry.original

    assert listing(root) == before
    assert (root / "notes/references/a.md").stat().st_mode & 0o777 == 0o600
    assert trash_of(root).entries() == ()


def test_a_skill_does_not_come_back_over_another_one(root: Path) -> None:
    removed = remove(root, root / "notes")
    put(root / "notes", "# New\n")

    with pytest.raises(RemovalError, match="exists already"):
        trash_of(root).restore(removed.id, root)

    assert (root / "notes/SKILL.md").read_text() == "# New\n"
    assert removed.path.exists()


def test_a_skill_that_was_changed_in_the_trash_does_not_come_back(root: Path) -> None:
    removed = remove(root, root / "notes")
    (removed.path / "SKILL.md").write_text("# Other\n")

    with pytest.raises(RemovalError, match="changed in the trash"):
        trash_of(root).restore(removed.id, root)


@pytest.mark.parametrize(
    ("field", "value"),
    [("root", "/"), ("place", "../outside2"), ("place", "/etc/x"), ("place", ""), ("place", ".")],
)
def test_an_edited_record_cannot_choose_where_a_skill_goes(
    root: Path, field: str, value: str
) -> None:
    removed = remove(root, root / "notes")
    record = removed.path.parent / "record.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), field: value}))

    with pytest.raises(RemovalError):
        trash_of(root).restore(removed.id, root)

    assert removed.path.exists()


@pytest.mark.parametrize("entry", ["", "..", "../skills/notes", "000000000000-000000000000"])
def test_only_what_is_in_the_trash_is_restored(root: Path, entry: str) -> None:
    with pytest.raises(RemovalError, match="not in the trash"):
        trash_of(root).restore(entry, root)


def test_a_purge_takes_only_what_is_old(root: Path) -> None:
    trash = trash_of(root)
    old = trash.remove(root / "notes", root, source="workspace", now=NOW)
    new = trash.remove(root / "other", root, source="workspace", now=NOW + 100)
    (trash.entries()[0].path.parent / "record.json").write_text("damaged")

    assert trash.purge(NOW + 50) == (old.id,)

    assert trash.entries() == (new,)
    assert not old.path.parent.exists()


def test_an_empty_trash_has_nothing_to_purge(tmp_path: Path) -> None:
    assert SkillTrash(tmp_path / "none").purge(NOW) == ()


@pytest.fixture
def two_disks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the system refuse to rename from one root to the other, as between two disks."""
    rename = folder_move.rename_place

    def refuse(old: folder_move.RootPlace, new: folder_move.RootPlace) -> None:
        if old.root is not new.root:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        rename(old, new)

    monkeypatch.setattr(folder_move, "rename_place", refuse)


@pytest.mark.usefixtures("two_disks")
def test_a_skill_is_copied_to_a_trash_on_another_disk_and_back(root: Path, outside: Path) -> None:
    (root / "notes/assets").symlink_to(outside)
    (root / "notes/SKILL.md").chmod(0o640)
    (root / "linked").symlink_to(outside)
    before, kept = listing(root), listing(outside)

    removed = [remove(root, root / name) for name in ("notes", "linked")]
    assert listing(root) == ["other", "other/SKILL.md", "other/references", "other/references/a.md"]
    assert (removed[0].path / "assets").readlink() == outside
    for entry in removed:
        trash_of(root).restore(entry.id, root)

    assert listing(root) == before
    assert (root / "notes/SKILL.md").stat().st_mode & 0o777 == 0o640
    assert listing(outside) == kept


@pytest.mark.usefixtures("two_disks")
def test_a_copy_that_fails_leaves_the_skill_where_it_was(root: Path) -> None:
    os.mkfifo(root / "notes/pipe")
    before = listing(root)

    with pytest.raises(RemovalError, match="neither a file nor a folder"):
        remove(root, root / "notes")

    assert listing(root) == before
    assert trash_of(root).entries() == ()


@pytest.mark.usefixtures("two_disks")
def test_g25_a_folder_swapped_during_the_copy_is_not_deleted(tmp_path: Path, outside: Path) -> None:
    before = listing(outside)
    refused = 0
    for number in range(len(_steps(tmp_path / "count"))):
        root = tmp_path / f"root{number}" / "skills"
        put(root / "notes")

        def swap(root: Path = root) -> None:
            if (root / "notes").exists():
                (root / "notes").rename(root / "moved")
                (root / "notes").symlink_to(outside)

        try:
            remove(root, root / "notes", _swap_at(number, swap))
        except RemovalError:
            refused += 1
            assert (root / "moved/SKILL.md").exists()
            assert (root / "notes").is_symlink()
            assert trash_of(root).entries() == ()

        assert listing(outside) == before

    assert refused > 0


def _fail_at_every_step(tmp_path: Path) -> None:
    whole = ["SKILL.md", "references", "references/a.md"]
    for number in range(len(_steps(tmp_path / "count"))):
        root = tmp_path / f"root{number}" / "skills"
        put(root / "notes")

        def stop() -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            remove(root, root / "notes", _swap_at(number, stop))

        places = [root / "notes", *(entry.path for entry in trash_of(root).entries())]
        assert [place for place in places if place.exists() and listing(place) == whole], number


def test_a_removal_cut_off_at_any_step_leaves_the_skill_whole_somewhere(tmp_path: Path) -> None:
    _fail_at_every_step(tmp_path)


@pytest.mark.usefixtures("two_disks")
def test_a_removal_to_another_disk_cut_off_at_any_step_leaves_the_skill_whole_somewhere(
    tmp_path: Path,
) -> None:
    _fail_at_every_step(tmp_path)
