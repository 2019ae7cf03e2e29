"""Which folder a call of a hook is about, whatever its payload says."""

from pathlib import Path

import pytest

from prowess.host.sources.roots import find_folders_above, find_home, find_workspace


class Disk:
    """A home with a project in it, and something beside the home."""

    def __init__(self, root: Path) -> None:
        self.root, self.home = root, root / "home"
        self.project = self.folder("home/code/project")
        self.deep = self.folder("home/code/project/src/deep")

    def folder(self, name: str) -> Path:
        path = self.root / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def chosen(self, cwd: Path | str, *projects: Path | str, current: Path | None = None) -> Path:
        found = find_workspace(
            str(cwd), [str(one) for one in projects], str(current or self.deep), str(self.home)
        )
        return Path(found)


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path.resolve())


def test_without_any_sign_of_a_project_it_is_the_agents_own_folder(disk: Disk) -> None:
    assert disk.chosen(disk.deep) == disk.deep


@pytest.mark.parametrize("sign", [".git", "skills", ".agents/skills", ".claude/skills"])
def test_the_nearest_folder_above_that_shows_a_project_is_taken(disk: Disk, sign: str) -> None:
    disk.folder(f"home/code/{sign}")
    disk.folder(f"home/code/project/{sign}")

    assert disk.chosen(disk.deep) == disk.project


def test_a_worktree_is_a_repository_though_its_mark_is_a_file(disk: Disk) -> None:
    (disk.project / ".git").write_text("gitdir: elsewhere\n")

    assert disk.chosen(disk.deep) == disk.project


def test_a_repository_ends_the_way_up(disk: Disk) -> None:
    disk.folder("home/code/skills")
    disk.folder("home/code/project/.git")

    assert disk.chosen(disk.deep) == disk.project


def test_skills_of_a_folder_itself_come_before_those_above(disk: Disk) -> None:
    disk.folder("home/code/project/skills")
    disk.folder("home/code/project/src/deep/.claude/skills")

    assert disk.chosen(disk.deep) == disk.deep


def test_a_project_that_is_named_and_holds_skills_comes_first(disk: Disk) -> None:
    disk.folder("home/code/project/.claude/skills")
    disk.folder("home/code/project/src/.git")

    assert disk.chosen(disk.deep, disk.home / "code" / "other", disk.project) == disk.project


def test_a_named_folder_without_skills_does_not_hide_the_project_around_it(disk: Disk) -> None:
    disk.folder("home/code/project/.claude/skills")

    assert disk.chosen(disk.deep, disk.deep) == disk.project


def test_a_named_folder_is_taken_where_nothing_else_shows_a_project(disk: Disk) -> None:
    assert disk.chosen(disk.deep, disk.project) == disk.project


def test_a_named_project_in_which_the_agent_does_not_work_does_not_count(disk: Disk) -> None:
    other = disk.folder("home/code/project-2/skills").parent

    assert disk.chosen(disk.deep, other) == disk.deep


@pytest.mark.parametrize("named", ["", ".", "skills", "/no/such", "/\0", "/" + "x" * 5_000, "/"])
def test_what_is_no_folder_to_work_in_is_not_believed(disk: Disk, named: str) -> None:
    disk.folder("home/code/project/skills")

    assert disk.chosen(named, named, disk.home) == disk.project


@pytest.mark.parametrize("name", ["home", ".", "..", "home/code/..", "link"])
def test_neither_the_home_nor_anything_above_becomes_a_workspace(disk: Disk, name: str) -> None:
    (disk.root / "link").symlink_to(disk.home)
    disk.folder("home/skills")
    disk.folder("home/.git")
    disk.folder(".git")

    assert disk.chosen(disk.root / name, disk.root / name) == disk.deep
    assert disk.chosen(disk.deep, disk.root / name) == disk.deep


def test_an_agent_that_was_started_at_home_stays_there(disk: Disk) -> None:
    assert disk.chosen(disk.home, current=disk.home) == disk.home


def test_a_link_that_leads_out_of_a_project_is_not_in_it(disk: Disk) -> None:
    disk.folder("home/code/project/skills")
    outside = disk.folder("home/outside")
    link = disk.project / "link"
    link.symlink_to(outside)

    assert disk.chosen(link, disk.project) == link


def test_a_link_to_a_project_keeps_its_spelling(disk: Disk) -> None:
    disk.folder("home/code/project/skills")
    link = disk.home / "p"
    link.symlink_to(disk.project)

    assert disk.chosen(link) == link
    assert disk.chosen(link / "src", link) == link


def test_a_folder_above_that_everybody_may_write_to_does_not_count(disk: Disk) -> None:
    shared = disk.folder("shared")
    disk.folder("shared/skills")
    mine = disk.folder("shared/mine/src")
    shared.chmod(0o1777)

    assert disk.chosen(mine) == mine
    assert disk.chosen(shared) == shared


def test_the_way_up_is_bounded(disk: Disk) -> None:
    disk.folder("home/code/project/skills")
    far = disk.folder("home/code/project/" + "/".join("x" * 40))

    assert disk.chosen(far) == far


def test_the_home_is_the_variables_else_the_users() -> None:
    assert find_home({"HOME": "/home/me"}) == "/home/me"
    assert find_home({}) == str(Path.home())


def test_a_part_of_a_repository_has_the_skills_of_the_whole_as_well(disk: Disk) -> None:
    disk.folder("home/code/skills")
    disk.folder("home/code/project/.git")
    for name in (".claude/skills", "src/.claude/skills", "src/deep/.claude/skills"):
        disk.folder(f"home/code/project/{name}")

    above = find_folders_above(str(disk.deep), str(disk.home))

    assert above == [str(disk.project), str(disk.project / "src")]


def test_without_a_repository_nothing_above_counts_and_the_root_of_one_is_the_end(
    disk: Disk,
) -> None:
    disk.folder("home/code/skills")
    disk.folder("home/code/project/skills")

    assert find_folders_above(str(disk.deep), str(disk.home)) == []
    disk.folder("home/code/project/src/deep/.git")
    assert find_folders_above(str(disk.deep), str(disk.home)) == []
