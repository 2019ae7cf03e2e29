"""Where skills are found and who wins: eight sources, plugins, harness folders, precedence."""

import itertools
import json
from pathlib import Path

import pytest

from .surfaces import Surface
from .world import BUNDLED, World, requires

# Lowest to highest.
TIERS = (
    "openclaw-extra",
    "openclaw-bundled",
    "openclaw-managed",
    "harness-personal",
    "agents-skills-personal",
    "harness-project",
    "agents-skills-project",
    "openclaw-workspace",
)


def load(world: World, **keys: object) -> None:
    """Configure `skills.load`, with the extra folder."""
    world.settings(load={"extraDirs": [str(world.extra)], **keys})


@pytest.mark.requirement("sources:eight")
def test_a_skill_carries_the_wire_id_of_its_source(world: World) -> None:
    load(world)
    own = [tier for tier in TIERS if tier != "openclaw-bundled"]
    for tier in own:
        world.skill(f"in-{tier}", root=world.folder_of(tier))

    rows = world.listing()

    assert {tier: rows[f"in-{tier}"]["source"] for tier in own} == {tier: tier for tier in own}
    assert not any(rows[f"in-{tier}"]["bundled"] for tier in own)


@pytest.mark.requirement("sources:eight", "sources:bundled-five")
def test_the_five_shipped_skills_are_bundled_and_ready(surface: Surface) -> None:
    answers = surface.answers()

    assert tuple(answers) == BUNDLED
    assert {answer.source for answer in answers.values()} == {"openclaw-bundled"}
    assert all(answer.eligible for answer in answers.values())


PERSONAL = (
    ".claude/skills",
    ".codex/skills",
    ".cursor/skills",
    ".gemini/skills",
    ".copilot/skills",
    ".config/opencode/skills",
    ".config/opencode/skill",
    ".opencode/skills",
    ".openclaw/skills",
    ".hermes/skills",
)


@pytest.mark.requirement("harness:personal-folders", "harness:on-by-default")
def test_user_folders_of_other_harnesses_are_read(world: World) -> None:
    for number, folder in enumerate(PERSONAL):
        world.skill(f"theirs-{number}", root=world.home / folder)

    rows = world.listing()

    for number, folder in enumerate(PERSONAL):
        assert rows[f"theirs-{number}"]["source"] == "harness-personal", folder


@pytest.mark.requirement("harness:project-folders", "harness:on-by-default")
def test_project_folders_of_other_harnesses_are_read(world: World) -> None:
    folders = (".claude/skills", ".github/skills", ".cursor/skills", ".opencode/skill")
    for number, folder in enumerate(folders):
        world.skill(f"theirs-{number}", root=world.workspace / folder)

    rows = world.listing()

    for number, folder in enumerate(folders):
        assert rows[f"theirs-{number}"]["source"] == "harness-project", folder


@pytest.mark.requirement("harness:switch")
def test_harness_folders_can_be_switched_and_listed(world: World) -> None:
    world.skill("from-claude", root=world.home / ".claude" / "skills")
    world.skill("from-cursor", root=world.workspace / ".cursor" / "skills")
    world.skill("neutral", root=world.personal)

    def read(setting: object) -> set[str]:
        load(world, harnessDirs=setting)
        return world.own()

    assert read(setting=True) == {"from-claude", "from-cursor", "neutral"}
    assert read(setting=False) == {"neutral"}
    assert read(["claude"]) == {"from-claude", "neutral"}
    assert read([]) == {"neutral"}


@pytest.mark.requirement("sources:missing-root")
def test_missing_roots_are_fine(world: World) -> None:
    world.settings(load={"extraDirs": [str(world.root / "nowhere")]})

    result = world.run("list", "--json")

    assert result.code == 0
    assert {row["name"] for row in result.json["skills"]} == set(BUNDLED)
    assert world.codes("nowhere") == {"root-missing"}


@pytest.mark.requirement("sources:tilde")
def test_a_tilde_in_an_extra_folder_is_the_home(world: World) -> None:
    world.settings(load={"extraDirs": ["", "  ", "~/mine/skills"]})
    world.skill("tilde", root=world.home / "mine" / "skills")

    assert world.row("tilde")["source"] == "openclaw-extra"


@pytest.mark.requirement(
    "precedence:bundled-over-extra",
    "precedence:managed-over-bundled",
    "precedence:harness-personal-over-managed",
    "precedence:agents-personal-over-harness-personal",
    "precedence:harness-project-over-agents-personal",
    "precedence:agents-project-over-harness-project",
    "precedence:workspace-over-agents-project",
    "precedence:workspace-over-bundled",
)
@pytest.mark.parametrize(
    ("lower", "higher"), [*itertools.pairwise(TIERS), ("openclaw-bundled", "openclaw-workspace")]
)
def test_the_higher_source_wins_by_name(world: World, lower: str, higher: str) -> None:
    load(world)
    for tier in {lower, higher} - {"openclaw-bundled"}:
        world.skill("search-citation", root=world.folder_of(tier), description=f"From {tier}.")

    row = world.row("search-citation")

    assert row["source"] == higher
    assert higher == "openclaw-bundled" or row["description"] == f"From {higher}."


@pytest.mark.requirement("sources:extra-in-order")
def test_a_later_extra_folder_wins_over_an_earlier_one(world: World) -> None:
    one, two = world.root / "one" / "skills", world.root / "two" / "skills"
    world.settings(load={"extraDirs": [str(two), str(one)]})
    world.skill("same", root=one, description="From one.")
    world.skill("same", root=two, description="From two.")

    assert world.row("same")["description"] == "From one."


@pytest.mark.requirement("precedence:exact-name")
def test_names_that_differ_in_case_are_different_skills(world: World) -> None:
    world.skill("upper", name="Same", root=world.managed)
    world.skill("lower", name="same")

    assert world.own() == {"Same", "same"}


@pytest.mark.requirement("precedence:openpocket-first-wins")
def test_openpocket_precedence_lets_the_bundled_skill_win(world: World) -> None:
    load(world, precedence="openpocket")
    world.skill("search-citation", root=world.managed)
    world.skill("search-citation")

    assert world.row("search-citation")["source"] == "openclaw-bundled"


@pytest.mark.requirement("precedence:openpocket-first-wins", "shadowed:kept-with-winner")
def test_openpocket_precedence_lets_managed_win_over_the_workspace(world: World) -> None:
    load(world, precedence="openpocket")
    world.skill("same", root=world.managed, description="From managed.")
    lost = world.skill("same", description="From the workspace.")

    document = world.document("list")

    assert {row["name"]: row["source"] for row in document["skills"]}["same"] == "openclaw-managed"
    assert [item["path"] for item in document["shadowed"]] == [str(lost)]


@pytest.mark.requirement("precedence:openpocket-first-wins")
def test_openpocket_precedence_gives_no_name_to_a_skill_that_is_not_ready(world: World) -> None:
    load(world, precedence="openpocket")
    first = world.skill("same", root=world.managed, metadata=requires(bins=["frobnicate"]))
    second = world.skill("same")

    skills = world.open().skills

    (before,) = (one for one in skills.status().skills if one.skill.name == "same")
    world.executable("frobnicate")
    skills.refresh()
    (after,) = (one for one in skills.status().skills if one.skill.name == "same")

    assert (before.skill.path, before.usable) == (str(second), True)
    assert (after.skill.path, after.usable) == (str(first), True)


@pytest.mark.requirement("shadowed:kept-with-winner")
def test_a_shadowed_skill_is_kept_with_its_winner_named(world: World) -> None:
    lost = world.skill("same", root=world.managed, description="The old one.")
    won = world.skill("same", description="The new one.")

    assert world.document("list")["shadowed"] == [
        {
            "name": "same",
            "path": str(lost),
            "source": "openclaw-managed",
            "winner": str(won),
            "winnerSource": "openclaw-workspace",
        }
    ]
    assert world.codes(str(world.managed)) == {"shadowed"}


@pytest.mark.requirement("shadowed:identical-silent")
def test_an_identical_copy_is_not_reported(world: World) -> None:
    world.skill("twin", root=world.managed)
    world.skill("twin")

    document = world.document("list")

    assert document["shadowed"] == []
    assert document["diagnostics"] == []


@pytest.mark.requirement("shadowed:kept-with-winner")
def test_two_skills_of_one_name_in_one_source_give_one_winner(world: World) -> None:
    world.skill("first", name="same", description="One.")
    world.skill("second", name="same", description="Two.")

    document = world.document("list")

    assert [row["name"] for row in document["skills"]].count("same") == 1
    assert len(document["shadowed"]) == 1


NEUTRAL = {"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "acme"}
OPENCLAW = {"id": "acme", "skills": ["./skills"]}


def plugin(world: World, manifest: str, content: object, *, enabled: bool = True) -> Path:
    """Write a plugin and list it in the config."""
    root = world.root / "plugins" / "acme"
    world.file(root / manifest, content if isinstance(content, str) else json.dumps(content))
    entries = {"acme": {"enabled": enabled}}
    world.config(
        {
            "skills": {"load": {"extraDirs": [str(world.extra)]}},
            "plugins": {"load": {"paths": [str(root)]}, "entries": entries},
        }
    )
    return root


@pytest.mark.requirement("plugins:manifests", "plugins:load-paths")
@pytest.mark.parametrize(
    ("manifest", "content"),
    [
        ("plugin.json", NEUTRAL),
        (".claude-plugin/plugin.json", {"name": "acme"}),
        ("openclaw.plugin.json", OPENCLAW),
    ],
    ids=["agent plugins", "claude", "openclaw"],
)
def test_a_plugin_brings_its_skills(world: World, manifest: str, content: object) -> None:
    root = plugin(world, manifest, content)
    world.skill("plugged", root=root / "skills")

    row = world.row("plugged")

    assert (row["source"], row["sourceLabel"]) == ("openclaw-extra", "acme")


@pytest.mark.requirement("plugins:load-paths")
def test_a_folder_without_a_manifest_is_no_plugin(world: World) -> None:
    root = plugin(world, "readme.json", {})
    world.skill("plugged", root=root / "skills")

    assert world.own() == set()
    assert world.codes("acme") == {"plugin-invalid"}


@pytest.mark.requirement("plugins:switch")
def test_a_disabled_plugin_brings_nothing(world: World) -> None:
    root = plugin(world, "openclaw.plugin.json", OPENCLAW, enabled=False)
    world.skill("plugged", root=root / "skills")

    assert world.own() == set()


@pytest.mark.requirement("plugins:manifests")
def test_a_manifest_chooses_its_skills_folder(world: World) -> None:
    root = plugin(world, "openclaw.plugin.json", {"id": "acme", "skills": ["./abilities"]})
    world.skill("plugged", root=root / "abilities")

    assert world.own() == {"plugged"}


@pytest.mark.requirement("plugins:stay-inside")
@pytest.mark.parametrize("how", ["relative", "absolute", "through a link"])
def test_a_plugin_cannot_reach_outside_itself(world: World, how: str) -> None:
    outside = world.root / "plugins" / "outside"
    world.skill("leaked", root=outside)
    path = {"relative": "../outside", "absolute": str(outside), "through a link": "./skills"}[how]
    root = plugin(world, "openclaw.plugin.json", {"id": "acme", "skills": [path]})
    if how == "through a link":
        world.link(root / "skills", outside)

    assert world.own() == set()
    assert world.codes("acme") == {"path-escape"}


@pytest.mark.requirement("sources:plugins-after-extra")
def test_plugin_skills_win_over_extra_folders(world: World) -> None:
    root = plugin(world, "plugin.json", NEUTRAL)
    world.skill("same", root=world.extra, description="From extra.")
    world.skill("same", root=root / "skills", description="From the plugin.")

    assert world.row("same")["description"] == "From the plugin."


@pytest.mark.requirement("plugins:manifests", "bad:siblings-load")
def test_a_broken_plugin_manifest_is_reported_and_others_load(world: World) -> None:
    plugin(world, "plugin.json", "{ not json at all")
    world.skill("sibling")

    assert world.ready("sibling")
    assert world.codes("plugin.json") == {"plugin-invalid"}
