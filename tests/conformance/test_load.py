"""`load`: bundled skills become files of the workspace, and nothing is ever overwritten."""

import pytest

from .pseudo_terminal import on_terminal
from .world import BUNDLED, World


def copies(world: World) -> set[str]:
    """What stands in the workspace's skills folder."""
    return {path.name for path in world.skills.iterdir()} if world.skills.exists() else set()


@pytest.mark.requirement("load:copies-for-editing", "load:summary")
def test_load_copies_a_bundled_skill_into_the_workspace(world: World) -> None:
    result = world.run("load", "search-citation").calm()

    assert result.code == 0
    assert "selected=1 copied=1 skipped=0" in result.out
    assert world.row("search-citation")["source"] == "openclaw-workspace"


@pytest.mark.requirement("load:folder")
def test_load_copies_the_whole_folder(world: World) -> None:
    world.run("load", "skill-authoring")

    assert (world.skills / "skill-authoring" / "references" / "frontmatter.md").is_file()


@pytest.mark.requirement("load:skips-existing", "load:summary")
def test_load_skips_what_is_there_and_says_so(world: World) -> None:
    world.run("load", "search-citation")
    path = world.skills / "search-citation" / "SKILL.md"
    path.write_text("My own text.\n", encoding="utf-8")

    result = world.run("load", "search-citation", "prowess-manual").calm()

    assert "selected=2 copied=1 skipped=1" in result.out
    assert f"skipped, it exists: {path.parent}" in result.out
    assert path.read_text(encoding="utf-8") == "My own text.\n"


@pytest.mark.requirement("load:all", "load:summary")
def test_load_all_copies_every_bundled_skill(world: World) -> None:
    result = world.run("load", "--all").calm()

    assert result.code == 0
    assert "selected=5 copied=5 skipped=0" in result.out
    assert copies(world) == set(BUNDLED)


@pytest.mark.requirement("load:requirements-ignored")
def test_load_copies_skills_that_are_not_ready_too(world: World) -> None:
    world.settings(entries={"search-citation": {"enabled": False}})

    assert "copied=1" in world.run("load", "search-citation").out


@pytest.mark.requirement("load:names-only", "exit:not-found")
def test_load_takes_names_of_bundled_skills_and_nothing_else(world: World) -> None:
    for name in ("nobody-here", "../search-citation", "search-citation/..", "/etc"):
        result = world.run("load", name).calm()

        assert result.code == 1
        assert name in result.err
        assert "selected=0 copied=0 skipped=0" in result.out
        assert copies(world) == set()


@pytest.mark.requirement("load:names-only")
def test_load_does_not_copy_through_a_link_out_of_the_workspace(world: World) -> None:
    outside = world.root / "outside"
    outside.mkdir()
    world.link(world.skills, outside)

    result = world.run("load", "search-citation").one_sentence()

    assert result.code == 1
    assert list(outside.iterdir()) == []


@pytest.mark.requirement("load:names-or-all-without-terminal", "exit:codes")
def test_load_without_names_is_wrong_usage_when_nobody_can_choose(world: World) -> None:
    result = world.run("load").one_sentence()

    assert result.code == 2
    assert "--all" in result.err
    assert copies(world) == set()


@pytest.mark.slow
@pytest.mark.requirement("load:interactive-on-terminal")
@pytest.mark.parametrize(
    ("answer", "chosen"),
    [
        ("2\n", {"prowess-manual"}),
        ("search-citation, 1\n", {"search-citation", "prowess-diagnostics"}),
        ("\n", set(BUNDLED)),
    ],
    ids=["a number", "a name and a number", "the default"],
)
def test_load_lets_a_person_choose_on_a_terminal(
    world: World, answer: str, chosen: set[str]
) -> None:
    shown = on_terminal(world, "load", typed=answer)

    assert all(name in shown for name in BUNDLED)
    assert f"selected={len(chosen)} copied={len(chosen)} skipped=0" in shown
    assert copies(world) == chosen
