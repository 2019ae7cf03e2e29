"""The commands as people and scripts meet them."""

import re

import pytest

from .world import NO_SUCH_BIN, World, openclaw, requires

ROW_KEYS = {
    "name",
    "description",
    "emoji",
    "eligible",
    "disabled",
    "blockedByAllowlist",
    "blockedByAgentFilter",
    "modelVisible",
    "userInvocable",
    "commandVisible",
    "source",
    "bundled",
    "primaryEnv",
    "homepage",
    "missing",
}
GROUPS = {
    "eligible",
    "modelVisible",
    "commandVisible",
    "disabled",
    "blocked",
    "agentFiltered",
    "notInjected",
    "missingRequirements",
}


@pytest.mark.requirement("terminal:list-json")
def test_list_json_has_its_shape(world: World) -> None:
    world.skill("alpha")

    document = world.document("list")

    assert document["workspaceDir"] == str(world.workspace)
    assert document["managedSkillsDir"] == str(world.managed)
    for row in document["skills"]:
        assert set(row) >= ROW_KEYS
        assert set(row["missing"]) == {"bins", "anyBins", "env", "config", "os"}


@pytest.mark.requirement("terminal:list")
def test_list_shows_every_skill_in_the_order_of_names(world: World) -> None:
    for name in ("Zulu", "alpha", "Mike"):
        world.skill(name, description=f"The skill {name}.")
    world.skill("lacking", metadata=requires(bins=[NO_SUCH_BIN]))

    result = world.run("list").calm()

    names = [row["name"] for row in world.document("list")["skills"] if not row["bundled"]]
    assert names == ["alpha", "lacking", "Mike", "Zulu"]
    assert result.code == 0
    assert result.out.splitlines()[0] == "Skills (8/9 ready)"
    assert all(f"The skill {name}." in result.out for name in ("Zulu", "alpha", "Mike"))


@pytest.mark.requirement("terminal:list")
def test_list_can_show_only_what_is_ready_and_what_is_missing(world: World) -> None:
    world.skill("alpha")
    world.skill("lacking", metadata=requires(bins=[NO_SUCH_BIN], env=["NO_ENV_A"]))

    assert "lacking" not in world.listing("--eligible")
    assert f"bins: {NO_SUCH_BIN}; env: NO_ENV_A" in world.run("list", "-v").out


@pytest.mark.requirement("terminal:show")
def test_show_tells_what_and_where_a_skill_is(world: World) -> None:
    path = world.skill("alpha", description="The first one.", metadata=requires(bins=["sh", "x-y"]))

    result = world.run("show", "alpha").calm()

    assert result.code == 0
    for part in ("The first one.", str(path), "openclaw-workspace", "✓ bins: sh", "✗ bins: x-y"):
        assert part in result.out


@pytest.mark.requirement("terminal:show")
def test_show_lists_only_parts_that_have_a_title(world: World) -> None:
    world.skill("titled", body="Before any title.\n\n##\n\nBelow an empty one.\n\n## Last\n")

    shown = world.run("show", "titled").calm().out

    assert [part["title"] for part in world.document("show", "titled")["sections"]] == ["Last"]
    assert re.findall(r"line +\d+ +(.*)", shown) == ["Last"]


@pytest.mark.requirement("terminal:name-lookup")
def test_a_skill_is_found_by_name_key_case_and_separators(world: World) -> None:
    world.skill("alpha-one", metadata=openclaw(skillKey="first-key"))

    for asked in ("alpha-one", "first-key", "Alpha-One", "alpha_one"):
        assert world.document("show", asked)["name"] == "alpha-one"


@pytest.mark.requirement("terminal:name-lookup")
def test_a_name_that_two_skills_could_have_finds_neither(world: World) -> None:
    world.skill("one", name="Same-Name")
    world.skill("two", name="same-name")

    result = world.run("show", "SAME-NAME").one_sentence()

    assert result.code == 1
    assert "Same-Name, same-name" in result.err


@pytest.mark.requirement("exit:not-found", "exit:errors-are-one-sentence")
def test_an_unknown_skill_ends_with_one_sentence_and_one(world: World) -> None:
    for command in ("show", "why", "enable", "disable"):
        result = world.run(command, "nobody-here").one_sentence()

        assert result.code == 1
        assert 'Skill "nobody-here" not found' in result.err
    assert not world.config_file.exists()


@pytest.mark.requirement("exit:not-found", "terminal:json-everywhere")
def test_a_failure_is_json_too_where_json_was_asked_for(world: World) -> None:
    result = world.run("show", "nobody-here", "--json").calm()

    assert (result.code, result.err) == (1, "")
    assert result.json["error"]["name"] == "nobody-here"


@pytest.mark.requirement("terminal:check-json")
def test_check_json_has_its_summary_and_the_lists_of_the_same_names(world: World) -> None:
    document = world.document("check")

    assert set(document["summary"]) >= GROUPS | {"total"}
    assert {"agentId", "agentSkillFilter", "workspaceDir", "managedSkillsDir"} <= set(document)
    for group in GROUPS:
        assert document["summary"][group] == len(document[group]), group


@pytest.mark.requirement("terminal:check-json")
def test_check_sorts_every_skill_into_its_groups(world: World) -> None:
    entries = {"off": {"enabled": False}, "skill-authoring": {"enabled": False}}
    world.settings(allowBundled=["search-citation"], entries=entries)
    world.skill("ready")
    world.skill("off", metadata=requires(bins=[NO_SUCH_BIN]))
    world.skill("hidden", disable_model_invocation=True)
    world.skill("quiet", user_invocable=False)
    world.skill("lacking", metadata=requires(bins=[NO_SUCH_BIN]))

    document = world.document("check")

    assert document["summary"]["total"] == 10
    assert document["eligible"] == ["hidden", "quiet", "ready", "search-citation"]
    assert document["modelVisible"] == ["quiet", "ready", "search-citation"]
    assert document["commandVisible"] == ["hidden", "ready", "search-citation"]
    assert document["disabled"] == ["off", "skill-authoring"]
    assert document["blocked"] == ["prowess-diagnostics", "prowess-manual", "prowess-memory"]
    assert document["notInjected"] == [{"name": "hidden", "reason": "disable-model-invocation"}]
    assert [item["name"] for item in document["missingRequirements"]] == ["lacking"]
    assert set(document["missingRequirements"][0]) == {"name", "missing", "install"}
    assert document["agentFiltered"] == []


@pytest.mark.requirement("terminal:check")
def test_check_says_what_is_missing_and_ends_with_one_when_a_file_is_broken(world: World) -> None:
    world.skill("lacking", metadata=requires(bins=[NO_SUCH_BIN]))
    fine = world.run("check").calm()
    world.front("broken", "- a list")

    broken = world.run("check").calm()

    assert fine.code == 0
    assert f"lacking: bins: {NO_SUCH_BIN}" in fine.out
    assert broken.code == 1
    assert "INVALID_ROOT" in broken.out


def stages(world: World, name: str, *args: str) -> tuple[int, dict[str, bool]]:
    """The exit code of `why`, and which of its steps were passed."""
    result = world.run("why", name, "--json", *args).calm()
    return result.code, {step["stage"]: step["passed"] for step in result.json["steps"]}


@pytest.mark.requirement("why:whole-path", "why:exit-code")
def test_why_of_a_visible_skill_tells_the_whole_path_and_ends_with_zero(world: World) -> None:
    path = world.skill("alpha")

    text = world.run("why", "alpha").calm()

    assert stages(world, "alpha") == (
        0,
        dict.fromkeys(("found", "parsed", "eligible", "allowed", "model", "prompt"), True),
    )
    assert text.code == 0
    assert f"{path} in openclaw-workspace" in text.out


@pytest.mark.requirement("why:shadows")
def test_why_tells_what_a_skill_shadows(world: World) -> None:
    lost = world.skill("same", root=world.managed, description="The old one.")
    won = world.skill("same", description="The new one.")

    found = world.run("why", "same").calm().out.splitlines()[1]

    # The end of each path: the beginning may be written as `~`.
    winner, loser = ("/".join(path.parts[-4:]) for path in (won, lost))
    assert found.index(winner) < found.index("shadows") < found.index(loser)


def _disabled(world: World) -> None:
    world.settings(entries={"alpha": {"enabled": False}})


def _blocked(world: World) -> None:
    world.settings(allowBundled=["nothing"])
    (world.skills / "alpha" / "SKILL.md").unlink()


def _lacking(world: World) -> None:
    world.skill("alpha", metadata=requires(bins=[NO_SUCH_BIN]))


def _filtered(world: World) -> None:
    world.config({"agents": {"list": [{"id": "main", "skills": []}]}})


def _hidden(world: World) -> None:
    world.skill("alpha", disable_model_invocation=True)


def _dropped(world: World) -> None:
    world.settings(limits={"maxSkillsInPrompt": 0})


def _broken(world: World) -> None:
    world.front("alpha", "name: alpha\ndescription: One.\ndescription: Two.")


REASONS = {
    "parsed": (_broken, "alpha", "DUPLICATE_KEY"),
    "disabled": (_disabled, "alpha", "prowess enable alpha"),
    "blocked": (_blocked, "search-citation", "skills.allowBundled"),
    "lacking": (_lacking, "alpha", NO_SUCH_BIN),
    "filtered": (_filtered, "alpha", "agent main"),
    "hidden": (_hidden, "alpha", "disable-model-invocation"),
    "dropped": (_dropped, "alpha", "skills.pinned"),
}


@pytest.mark.requirement("why:first-reason", "why:what-to-do", "why:exit-code")
@pytest.mark.parametrize("case", REASONS)
def test_why_gives_the_first_reason_and_what_to_do_and_ends_with_one(
    world: World, case: str
) -> None:
    arrange, name, hint = REASONS[case]
    world.skill("alpha")
    arrange(world)

    result = world.run("why", name).calm()
    document = world.document("why", name)

    assert result.code == 1
    assert hint in result.out
    assert document["visible"] is False
    assert document["reason"]
    assert document["fix"]


@pytest.mark.requirement("terminal:json-everywhere", "terminal:workspace-and-agent")
def test_every_command_takes_json_workspace_and_agent(world: World) -> None:
    world.config({"agents": {"list": [{"id": "main"}, {"id": "writer"}]}})
    world.skill("alpha")
    where = ("--workspace", world.workspace, "--agent", "writer", "--json")

    for args in (
        *(("list",), ("show", "alpha"), ("check",), ("why", "alpha"), ("validate",)),
        *(("load", "search-citation"), ("prompt",), ("snapshot",)),
    ):
        result = world.run(*args, *where, cwd=world.root).calm()

        assert (result.code, result.err) == (0, ""), str(result)
        assert result.json


@pytest.mark.requirement("exit:errors-are-one-sentence")
def test_a_config_that_cannot_be_read_says_what_to_do(world: World) -> None:
    world.config_file.parent.mkdir(parents=True, exist_ok=True)
    world.config_file.symlink_to(world.config_file)

    result = world.run("list").one_sentence()

    assert result.code == 1
    assert str(world.config_file) in result.err
    assert "set PROWESS_HOME to another folder" in result.err


@pytest.mark.requirement("terminal:workspace-and-agent", "exit:errors-are-one-sentence")
def test_a_workspace_that_does_not_exist_is_one_sentence(world: World) -> None:
    result = world.run("list", "--workspace", world.root / "nowhere").one_sentence()

    assert result.code == 1
    assert "nowhere" in result.err


@pytest.mark.requirement("terminal:show")
def test_show_names_version_and_title_and_the_list_cuts_an_endless_description(
    world: World,
) -> None:
    words = "word " * 20_000
    world.front("long", f"name: long\ndescription: {words}\nversion: 1.10\ndisplay-name: So Long")

    shown, detail = world.run("show", "long").out, world.document("show", "long")
    listed = world.row("long")["description"]

    assert "Title:    So Long" in shown
    assert "Version:  1.10" in shown
    assert (detail["version"], detail["displayName"]) == ("1.10", "So Long")
    assert len(detail["description"]) == len(words.strip())
    assert (len(listed), listed[-1]) == (1_024, "\u2026")
    assert max(map(len, world.run("list").out.splitlines())) < 2_000


@pytest.mark.requirement("validate:codes")
def test_links_out_of_references_are_reported_by_validate(world: World) -> None:
    skill = world.skill("guide")
    world.file(skill.parent / "references" / "more.md", "See [this](../../other/SKILL.md).\n")

    said = world.run("validate", skill.parent).out

    assert "LINK_ESCAPES: references/more.md:1: ../../other/SKILL.md leaves" in said


@pytest.mark.requirement("validate:codes")
def test_files_of_a_skill_that_are_links_out_of_it_are_reported_by_validate(world: World) -> None:
    folder = world.skill("guide").parent
    secret = world.file(world.home / "secret.md", "Mine.\n")
    world.file(folder / "references" / "own.md", "See [/etc](/etc/hosts).\n")
    (folder / "references" / "out.md").symlink_to(secret)
    (folder / "references" / "gone.md").symlink_to(world.home / "nothing.md")
    (folder / "references" / "inside.md").symlink_to("own.md")
    (folder / "shared").symlink_to(world.home)

    document = world.document("validate", folder)
    found = {(one["code"], one["message"]) for one in document["files"][0]["diagnostics"]}

    assert found == {
        ("LINK_ESCAPES", f"references/out.md is a link to {secret}: it leaves the skill's folder"),
        ("LINK_ESCAPES", f"shared is a link to {world.home}: it leaves the skill's folder"),
        ("LINK_BROKEN", "references/gone.md is a link to nothing"),
        (
            "LINK_ESCAPES",
            "references/own.md:1: /etc/hosts is an absolute path: it leaves the skill's folder",
        ),
    }
