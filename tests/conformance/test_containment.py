"""What the scan of a root never follows, and what it says instead."""

import os
import shutil
from pathlib import Path

import pytest

import prowess

from .world import Result, World

PRIVATE_TIERS = ("openclaw-managed", "agents-skills-personal", "harness-personal")
SHARED_TIERS = ("openclaw-workspace", "agents-skills-project", "harness-project", "openclaw-extra")


def with_extra(world: World, **load: object) -> None:
    world.settings(load={"extraDirs": [str(world.extra)], **load})


@pytest.mark.requirement("containment:real-path", "containment:reason-codes")
def test_a_link_out_of_the_root_is_refused_with_its_reason(world: World) -> None:
    with_extra(world)
    target = world.skill("leaked", root=world.root / "elsewhere")
    for tier in SHARED_TIERS:
        world.link(world.folder_of(tier) / "linked", target.parent)
        world.skill(f"sibling-in-{tier}", root=world.folder_of(tier))

    assert world.own() == {f"sibling-in-{tier}" for tier in SHARED_TIERS}
    assert [item["code"] for item in world.problems("linked")] == ["symlink-escape"] * 4


@pytest.mark.requirement("containment:private-roots-may-link")
def test_managed_and_personal_roots_may_hold_linked_folders(world: World) -> None:
    for tier in PRIVATE_TIERS:
        target = world.skill(f"in-{tier}", root=world.root / "elsewhere")
        world.link(world.folder_of(tier) / "linked", target.parent)

    rows = world.listing()

    assert [rows[f"in-{tier}"]["source"] for tier in PRIVATE_TIERS] == list(PRIVATE_TIERS)


@pytest.mark.requirement("containment:allowed-targets")
def test_declared_targets_widen_the_other_roots(world: World) -> None:
    shared, other = world.root / "shared-skills", world.root / "other"
    with_extra(world, allowSymlinkTargets=[str(shared)])
    world.skill("allowed", root=shared)
    world.skill("refused", root=other)
    world.link(world.skills / "allowed", shared / "allowed")
    world.link(world.skills / "refused", other / "refused")

    assert world.own() == {"allowed"}


@pytest.mark.requirement("containment:allowed-targets")
def test_a_declared_target_is_a_folder_and_no_prefix(world: World) -> None:
    with_extra(world, allowSymlinkTargets=[str(world.root / "shared")])
    target = world.skill("evil", root=world.root / "shared-evil")
    world.link(world.skills / "evil", target.parent)

    assert world.own() == set()


@pytest.mark.requirement("containment:file-stays-in-its-folder")
def test_a_skill_file_that_links_out_of_its_folder_is_refused(world: World) -> None:
    target = world.skill("leaked", root=world.root / "elsewhere")
    for root in (world.managed, world.skills):
        world.link(root / "linked" / "SKILL.md", target)

    assert world.own() == set()
    assert [item["code"] for item in world.problems("linked")] == ["symlink-escape"] * 2


@pytest.mark.requirement("containment:file-stays-in-its-folder")
def test_a_stand_alone_file_that_links_out_of_the_root_is_refused(world: World) -> None:
    world.link(world.skills / "note.md", world.file(world.root / "secret.md", "Secret.\n"))

    assert world.own() == set()
    assert world.codes("note.md") == {"symlink-escape"}


@pytest.mark.requirement("containment:real-path")
def test_a_root_that_is_itself_a_link_is_read(world: World) -> None:
    for number, root in enumerate((world.skills, world.managed)):
        world.skill(f"inside-{number}", root=world.root / f"real-{number}")
        world.link(root, world.root / f"real-{number}")

    assert world.own() == {"inside-0", "inside-1"}


@pytest.mark.requirement("containment:circles")
def test_links_that_circle_back_do_not_hang(world: World) -> None:
    world.skill("group/inside")
    world.link(world.skills / "group" / "loop", world.skills)
    world.link(world.managed / "loop", world.managed)

    assert world.own() == {"inside"}


@pytest.mark.requirement("containment:hard-link", "containment:reason-codes")
def test_a_hard_linked_skill_file_is_refused_with_its_reason(world: World) -> None:
    for number, root in enumerate((world.managed, world.skills)):
        path = world.skill(f"linked-{number}", root=root)
        os.link(path, world.root / f"another-name-{number}")
    world.skill("sibling")

    assert world.own() == {"sibling"}
    assert [item["code"] for item in world.problems("linked")] == ["hard-link"] * 2


@pytest.mark.requirement("bad:races", "bad:siblings-load")
def test_a_dangling_link_is_no_reason_to_stop(world: World) -> None:
    world.link(world.skills / "dangling", world.root / "gone")
    world.link(world.skills / "dangling-file" / "SKILL.md", world.skills / "dangling-file" / "gone")
    world.skill("sibling")

    assert world.own() == {"sibling"}


@pytest.mark.requirement("bad:races", "rebuild:vanished")
def test_a_skill_that_is_gone_at_the_next_look_is_simply_not_there(world: World) -> None:
    gone = world.skill("gone")
    world.skill("sibling")
    skills = world.open().skills
    before = {row.skill.name for row in skills.status().skills}

    shutil.rmtree(gone.parent)
    skills.refresh({str(gone)})

    after = skills.status()
    assert before - {row.skill.name for row in after.skills} == {"gone"}
    assert after.diagnostics == ()


@pytest.mark.requirement("bad:unreadable", "containment:reason-codes", "bad:siblings-load")
def test_a_file_that_the_system_cannot_open_is_reported_and_siblings_load(world: World) -> None:
    path = world.skills / "circular" / "SKILL.md"
    world.link(path, path)
    world.skill("sibling")

    assert world.own() == {"sibling"}
    assert world.codes("circular") == {"unreadable"}


@pytest.mark.requirement("bad:unreadable", "bad:siblings-load")
@pytest.mark.skipif(os.geteuid() == 0, reason="the super-user reads everything")
@pytest.mark.parametrize("part", ["folder", "file"])
def test_what_may_not_be_read_is_reported_and_siblings_load(world: World, part: str) -> None:
    path = world.skill("locked")
    world.skill("sibling")
    locked = path.parent if part == "folder" else path
    locked.chmod(0)

    try:
        assert world.own() == {"sibling"}
        assert world.codes("locked") == {"unreadable"}
    finally:
        locked.chmod(0o755)


class Installation:
    """A copy of Prowess whose bundled skills a test can change."""

    def __init__(self, world: World) -> None:
        self._world, self._folder = world, world.root / "installation"
        package = Path(prowess.__file__).parent
        copy = shutil.copytree(
            package, self._folder / "prowess", ignore=shutil.ignore_patterns("__pycache__")
        )
        self.bundled = copy / "bundled"

    def run(self, *args: str) -> Result:
        """Run this copy's terminal."""
        others = self._world.env().get("PYTHONPATH", "")
        path = os.pathsep.join(filter(None, (str(self._folder), others)))
        return self._world.process(*args, env={"PYTHONPATH": path}).calm()


@pytest.fixture
def installation(world: World) -> Installation:
    return Installation(world)


@pytest.mark.requirement("mode:mixed-stand-alone", "load:file")
def test_a_bundled_stand_alone_file_is_a_skill_and_is_loaded_as_a_file(
    world: World, installation: Installation
) -> None:
    world.file(installation.bundled / "quick-tip.md", "# quick-tip\n\nRestart it.\n")

    rows = installation.run("list", "--json").json["skills"]
    result = installation.run("load", "quick-tip")

    assert {row["name"]: row["source"] for row in rows}["quick-tip"] == "openclaw-bundled"
    assert "selected=1 copied=1 skipped=0" in result.out
    assert (world.skills / "quick-tip.md").read_text() == "# quick-tip\n\nRestart it.\n"


@pytest.mark.requirement("containment:bundled", "containment:reason-codes")
def test_a_link_out_of_the_bundled_skills_is_refused_and_a_hard_link_is_not(
    world: World, installation: Installation
) -> None:
    target = world.skill("leaked", root=world.root / "elsewhere")
    world.link(installation.bundled / "linked", target.parent)
    os.link(installation.bundled / "search-citation" / "SKILL.md", world.root / "another-name")

    document = installation.run("list", "--json").json

    names = {row["name"] for row in document["skills"]}
    assert "search-citation" in names
    assert "leaked" not in names
    assert [item["code"] for item in document["diagnostics"]] == ["bundled-symlink-escape"]


@pytest.mark.requirement("load:folder")
def test_a_bundled_skill_is_loaded_with_its_assets(
    world: World, installation: Installation
) -> None:
    world.file(installation.bundled / "search-citation" / "assets" / "table.csv", "a,b\n")

    installation.run("load", "search-citation")

    assert (world.skills / "search-citation" / "assets" / "table.csv").read_text() == "a,b\n"
