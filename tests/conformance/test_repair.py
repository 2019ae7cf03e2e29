"""`validate --fix`: quoting, names and folders, the diff first, and nothing else touched."""

import pytest
import yaml

from .world import World


@pytest.mark.requirement("fix:quoting", "fix:diff-first")
def test_fix_quotes_a_description_and_shows_the_diff_first(world: World) -> None:
    path = world.front("colon", "name: colon\ndescription: Use when: asked # really")

    result = world.run("validate", path.parent, "--fix").calm()

    block = path.read_text(encoding="utf-8").split("---\n")[1]
    removed, added = "-description: Use when: asked # really", "+description: "
    assert yaml.safe_load(block)["description"].startswith("Use when: asked")
    assert result.out.index(removed) < result.out.index(added) < result.out.index("repaired")
    assert result.code == 0


@pytest.mark.requirement("fix:names")
def test_fix_repairs_a_name_that_is_wrong_or_missing(world: World) -> None:
    wrong = world.front("ok-skill", "name: Ok Skill\ndescription: Use it.")
    missing = world.front("no-name", "description: Use it.")

    result = world.run("validate", world.skills, "--strict", "--fix").calm()

    assert result.code == 0, str(result)
    assert "name: ok-skill" in wrong.read_text(encoding="utf-8").splitlines()
    assert "name: no-name" in missing.read_text(encoding="utf-8").splitlines()
    assert "+name: ok-skill" in result.out


@pytest.mark.requirement("fix:folders")
def test_fix_repairs_a_folder_with_everything_in_it(world: World) -> None:
    path = world.skill("Ok_Skill", name="ok-skill")
    world.file(path.parent / "references" / "guide.md", "Words.\n")

    result = world.run("validate", world.skills, "--strict", "--fix").calm()

    assert result.code == 0, str(result)
    assert "Ok_Skill -> ok-skill" in result.out
    assert [folder.name for folder in world.skills.iterdir()] == ["ok-skill"]
    assert (world.skills / "ok-skill" / "references" / "guide.md").is_file()


@pytest.mark.requirement("fix:folders", "fix:careful")
def test_fix_never_overwrites_another_skill_and_repairs_the_others(world: World) -> None:
    stray = world.skill("Ok_Skill", name="ok-skill", description="Use the stray.")
    owner = world.skill("ok-skill", name="ok-skill", description="Use the owner.")
    other = world.front("zulu", "name: zulu\ndescription: Use when: asked")

    result = world.run("validate", world.skills, "--strict", "--fix").calm()

    assert result.code == 1
    assert "valid=2 invalid=1 total=3" in result.out
    assert 'description: "Use when: asked"' in other.read_text(encoding="utf-8")
    assert "Use the stray." in stray.read_text(encoding="utf-8")
    assert "Use the owner." in owner.read_text(encoding="utf-8")


@pytest.mark.requirement("fix:careful")
def test_fix_keeps_comments_order_and_body(world: World) -> None:
    path = world.raw(
        "colon",
        "---\n# keep me\n\nlicense: MIT  # and me\nname: colon\n"
        "description: Use when: asked\nmetadata:\n  notes: |\n    One.\n\n    Two.\n"
        "---\n\n# Steps\n\n---\n\nDo: it.\n",
    )

    world.run("validate", path.parent, "--fix")

    assert path.read_text(encoding="utf-8") == (
        "---\n# keep me\n\nlicense: MIT  # and me\nname: colon\n"
        'description: "Use when: asked"\nmetadata:\n  notes: |\n    One.\n\n    Two.\n'
        "---\n\n# Steps\n\n---\n\nDo: it.\n"
    )


@pytest.mark.requirement("fix:careful")
def test_fix_leaves_alone_what_is_fine_and_what_it_cannot_repair(world: World) -> None:
    contents = {
        "fine": b"---\r\nname:   fine\r\ndescription: 'Use it.'\r\n---\r\n\r\nBody  \r\n",
        "beyond-repair": b"---\n- a\n- list\n---\nBody.\n",
        "no-text": b"---\nname: no-text\ndescription: \xff\n---\nBody.\n",
        "no-block": b"# No block\n",
    }
    paths = [world.raw(name, content) for name, content in contents.items()]

    result = world.run("validate", world.skills, "--fix").calm()

    assert result.code == 1
    assert "valid=1 invalid=3 total=4" in result.out
    assert [path.read_bytes() for path in paths] == list(contents.values())


@pytest.mark.requirement("fix:careful")
def test_fixing_twice_changes_nothing_more(world: World) -> None:
    path = world.front("colon", "name: Colon\ndescription: Use when: asked")
    world.run("validate", path.parent, "--fix")
    once = path.read_bytes()

    result = world.run("validate", path.parent, "--fix")

    assert path.read_bytes() == once
    assert "repaired" not in result.out


@pytest.mark.requirement("fix:careful")
def test_the_text_before_a_repair_is_kept(world: World) -> None:
    path = world.front("colon", "name: colon\ndescription: Use when: asked")
    before = path.read_bytes()

    world.run("validate", path.parent, "--fix")

    kept = [file.read_bytes() for file in (world.state / "backups").iterdir()]
    assert kept == [before]


@pytest.mark.requirement("fix:careful", "fix:diff-first")
@pytest.mark.parametrize("options", [[], ["--fix", "--dry-run"]], ids=["no fix", "dry run"])
def test_nothing_is_changed_without_being_asked_for(world: World, options: list[str]) -> None:
    path = world.front("Bad_Folder", "name: Bad Name\ndescription: Use when: asked")
    before = path.read_bytes()

    result = world.run("validate", path.parent, "--strict", *options).calm()

    assert path.read_bytes() == before
    assert ("+description:" in result.out) is bool(options)


@pytest.mark.requirement("fix:careful", "fix:diff-first")
def test_fix_moves_a_stand_alone_text_to_a_folder_of_its_own(world: World) -> None:
    loose = world.file(world.skills / "group" / "Ship It.md", "# Ship\n\nUse when: asked.\n")
    before = loose.read_bytes()

    result = world.run("validate", "--fix").calm()

    moved = world.skills / "group" / "ship-it" / "SKILL.md"
    assert result.code == 0
    assert "+name: ship-it" in result.out
    assert not loose.exists()
    assert [path.name for path in (world.skills / "group").iterdir()] == ["ship-it"]
    assert moved.read_text() == (
        '---\nname: ship-it\ndescription: "Use when: asked."\n---\n# Ship\n\nUse when: asked.\n'
    )
    assert [file.read_bytes() for file in (world.state / "backups").iterdir()] == [before]
    assert world.own() == {"ship-it"}


@pytest.mark.requirement("fix:careful")
def test_fix_moves_no_text_over_anything_nor_out_of_where_it_belongs(world: World) -> None:
    skill = world.skill("ship")
    stay = [
        world.file(world.skills / "Ship.md", "Ships it.\n"),
        world.file(world.skills / "linked.md", "See [the other](Ship.md).\n"),
        world.file(world.skills / "auto" / "draft.md", "A draft.\n"),
        world.file(skill.parent / "references" / "more.md", "More.\n"),
        world.file(world.workspace / "notes.md", "My notes.\n"),
    ]
    before = [path.read_bytes() for path in stay]

    results = [world.run("validate", "--fix", path).calm() for path in (*stay, world.workspace)]

    assert [path.read_bytes() for path in stay] == before
    assert "another skill" in results[-1].err or "exists already" in results[-1].err
    assert "links to Ship.md beside it" in results[-1].err
    assert not (world.workspace / "notes").exists()
