"""`validate`: strict rules with codes and lines, and reports for machines."""

import json
from pathlib import Path

import pytest

from .world import Json, World

SARIF_LEVELS = {"error", "warning", "note", "none"}


def errors(world: World, *args: str | Path) -> list[str]:
    """The codes of all errors that `validate` finds."""
    return [item["code"] for item in world.findings(*args) if item["severity"] == "error"]


@pytest.mark.requirement("validate:exit-one", "exit:codes")
def test_a_valid_skill_passes(world: World) -> None:
    path = world.skill("fine", license="MIT")

    assert world.run("validate", path.parent).calm().code == 0
    assert world.run("validate", path.parent, "--strict").calm().code == 0


@pytest.mark.requirement("sources:bundled-five", "validate:strict-standard")
def test_the_bundled_skills_pass_strictly(world: World) -> None:
    world.run("load", "--all")

    result = world.run("validate", world.skills, "--strict").calm()

    assert result.code == 0, str(result)
    assert "valid=5 invalid=0 total=5" in result.out


def by_folder(world: World, *args: str | Path) -> dict[str, set[str]]:
    """The codes of all errors, by the name of the skill's folder."""
    found: dict[str, set[str]] = {}
    for item in world.findings(*args):
        codes = found.setdefault(Path(item["path"]).parent.name, set())
        codes |= {item["code"]} if item["severity"] == "error" else set()
    return {folder: codes for folder, codes in found.items() if codes}


@pytest.mark.requirement("validate:codes", "validate:exit-one", "validate:openpocket-codes")
def test_an_error_has_a_code_and_ends_with_one(world: World) -> None:
    world.front("undescribed", "name: undescribed")
    world.front("blank", "name: blank\ndescription: ''")
    world.front("nameless", "description: Use it.")
    world.front("duplicate", "name: duplicate\ndescription: One.\ndescription: Two.")
    world.front("list", "- a\n- list")
    world.front("gated", "name: gated\ndescription: Use it.\nmetadata: prose")
    world.raw("bare", "# Bare\n\nNo block.\n")

    assert world.run("validate", world.skills).calm().code == 1
    assert by_folder(world, world.skills) == {
        "undescribed": {"DESCRIPTION_MISSING"},
        "blank": {"DESCRIPTION_MISSING"},
        "nameless": {"NAME_MISSING"},
        "duplicate": {"DUPLICATE_KEY"},
        "list": {"INVALID_ROOT"},
        "gated": {"METADATA_UNREADABLE"},
        "bare": {"FRONTMATTER_MISSING"},
    }


@pytest.mark.requirement("validate:openpocket-codes")
def test_strict_rules_for_names_and_folders(world: World) -> None:
    for folder, name in (
        ("ok-skill", "Ok-Skill"),
        ("ok_skill", "ok-skill"),
        ("other", "ok-skill"),
        ("a" * 65, "a" * 65),
        ("-lead", "-lead"),
    ):
        world.skill(folder, name=name)

    assert by_folder(world, world.skills, "--strict") == {
        "ok-skill": {"NAME_INVALID"},
        "ok_skill": {"SKILL_DIR_INVALID", "NAME_PATH_MISMATCH"},
        "other": {"NAME_PATH_MISMATCH"},
        "a" * 65: {"SKILL_DIR_INVALID", "NAME_INVALID"},
        "-lead": {"SKILL_DIR_INVALID", "NAME_INVALID", "NAME_PATH_MISMATCH"},
    }


@pytest.mark.requirement("validate:openpocket-codes")
def test_a_strict_skill_is_called_skill_md(world: World) -> None:
    text = "---\nname: lower\ndescription: Use it.\n---\nBody.\n"
    lower = world.raw("lower", text, file="skill.md")
    alone = world.file(world.skills / "note.md", text)

    assert errors(world, lower.parent, "--strict") == []
    assert "SKILL_FILENAME_INVALID" in errors(world, alone, "--strict")


@pytest.mark.requirement("validate:strict-standard")
def test_names_that_the_standard_refuses_and_allows(world: World) -> None:
    refused = {"a--b", "end-", "has space", "dot.ted", "under_score", "Ümlaut"}
    for name in (*refused, "a", "9-lives", "a" * 64, "a-b-c", "prüfen", "検証"):
        world.skill(name)

    assert set(by_folder(world, world.skills, "--strict")) == refused


@pytest.mark.requirement("validate:strict-standard")
def test_the_fields_of_the_standard_have_their_bounds(world: World) -> None:
    fields: dict[str, Json] = {
        "full-description": {"description": "Use " + "x" * 1020},
        "long-description": {"description": "Use " + "x" * 1021},
        "full-compatibility": {"compatibility": "x" * 500},
        "long-compatibility": {"compatibility": "x" * 501},
        "nested": {"metadata": {"nested": {"deep": 1}}},
        "tool-list": {"allowed-tools": ["Read"]},
        "seventh-key": {"when-to-use": "Never."},
    }
    for name, keys in fields.items():
        front: Json = {"name": name, "description": "Use it.", **keys}
        world.front(name, "\n".join(f"{key}: {json.dumps(front[key])}" for key in front))

    assert by_folder(world, world.skills, "--strict") == {
        "long-description": {"DESCRIPTION_TOO_LONG"},
        "long-compatibility": {"COMPATIBILITY_INVALID"},
        "nested": {"METADATA_NOT_FLAT"},
        "tool-list": {"ALLOWED_TOOLS_INVALID"},
        "seventh-key": {"UNKNOWN_KEY"},
    }


@pytest.mark.requirement("validate:strict-standard")
def test_the_standard_is_only_advice_without_strict(world: World) -> None:
    path = world.skill("folder-name", name="Other Name", when_to_use="When asked.")

    assert errors(world, path.parent) == []
    assert world.run("validate", path.parent).calm().code == 0


@pytest.mark.requirement("validate:strict-standard", "mode:strict-valid-only")
def test_the_strict_mode_of_the_configuration_makes_validate_strict(world: World) -> None:
    world.settings(specMode="strict")
    path = world.skill("other", name="ok-skill")

    assert errors(world, path.parent) == ["NAME_PATH_MISMATCH"]


@pytest.mark.requirement("validate:portability-notes")
def test_what_a_harness_reads_differently_is_a_note(world: World) -> None:
    for name, front in (
        ("claude", "hooks: {a: b}\ncontext: fork"),
        ("cursor", "paths: ['src/**']"),
        ("tools", "allowed-tools: [Read]"),
    ):
        world.front(name, f"name: {name}\ndescription: Use it.\n{front}")

    notes = [item for item in world.findings(world.skills) if item["code"] == "PORTABILITY"]

    told = {Path(note["path"]).parent.name: note["message"] for note in notes}
    assert {note["severity"] for note in notes} == {"info"}
    assert "Claude Code" in told["claude"]
    assert "Cursor" in told["cursor"]
    assert "Claude Code" in told["tools"]
    assert world.run("validate", world.skills).code == 0


@pytest.mark.requirement("validate:portability-notes")
def test_a_name_that_an_upload_refuses_is_a_note(world: World) -> None:
    path = world.skill("claude-helper", description="Use <b>it</b>.")

    notes = [item["message"] for item in world.findings(path.parent)]

    assert len([note for note in notes if "Anthropic" in note]) == 2


@pytest.mark.requirement("validate:lines")
def test_a_finding_names_file_and_line(world: World) -> None:
    path = world.raw(
        "twice", "---\nname: twice\ndescription: Use it.\nlicense: MIT\nlicense: BSD\n---\nBody.\n"
    )

    found = world.findings(path.parent)
    text = world.run("validate", path.parent).out

    assert [(item["code"], item["line"], item["path"]) for item in found] == [
        ("DUPLICATE_KEY", 5, str(path))
    ]
    assert f"FAIL {path}" in text
    assert "DUPLICATE_KEY: line 5:" in text


@pytest.mark.requirement("validate:lines", "frontmatter:bom", "frontmatter:line-ends")
def test_lines_count_from_the_top_whatever_the_line_ends(world: World) -> None:
    text = "\ufeff---\r\nname: twice\r\ndescription: One.\r\ndescription: Two.\r\n---\r\nBody.\r\n"
    path = world.raw("twice", text.encode())

    assert [item["line"] for item in world.findings(path.parent)] == [4]


@pytest.mark.requirement("validate:paths")
def test_validate_looks_at_everything_that_prowess_finds_by_default(world: World) -> None:
    world.front("in-workspace", "- a list")
    world.front("in-managed", "- a list", root=world.managed)

    result = world.run("validate").calm()

    assert result.code == 1
    assert "in-workspace" in result.out
    assert "in-managed" in result.out


@pytest.mark.requirement("validate:paths")
def test_files_skill_folders_and_folders_of_skills_can_be_named(world: World) -> None:
    file = world.front("one-file", "- a list")
    folder = world.front("one-folder", "- a list")
    world.front("group/nested", "- a list")
    world.skill("not-named")

    result = world.run(
        "validate", file, folder.parent, world.skills / "group", "--format", "json"
    ).calm()

    assert [Path(item["path"]).parent.name for item in result.json["files"]] == [
        "one-file",
        "one-folder",
        "nested",
    ]
    assert (result.json["valid"], result.json["invalid"], result.json["total"]) == (0, 3, 3)


@pytest.mark.requirement("validate:paths", "mode:resources-never-skills")
def test_references_of_a_skill_are_not_validated_as_skills(world: World) -> None:
    path = world.skill("whole")
    world.file(path.parent / "references" / "guide.md", "# Guide\n\nNo block here.\n")
    world.file(path.parent / "notes.md", "Nor here.\n")

    result = world.run("validate", world.skills, "--strict").calm()

    assert result.code == 0
    assert "total=1" in result.out


@pytest.mark.requirement("validate:paths", "exit:errors-are-one-sentence")
def test_a_path_that_does_not_exist_ends_with_one_sentence(world: World) -> None:
    result = world.run("validate", world.root / "nowhere-here").one_sentence()

    assert result.code == 1
    assert "nowhere-here" in result.err


@pytest.mark.requirement("validate:formats")
def test_json_and_the_json_option_are_the_same(world: World) -> None:
    path = world.front("bad", "name: bad")

    by_format = world.run("validate", path, "--format", "json")
    by_option = world.run("validate", path, "--json")

    assert by_format.json == by_option.json
    assert (by_format.code, by_option.code) == (1, 1)


@pytest.mark.requirement("validate:formats", "validate:sarif")
def test_sarif_carries_rule_file_and_line(world: World) -> None:
    path = world.front("twice", "name: twice\ndescription: One.\ndescription: Two.")

    result = world.run("validate", path.parent, "--format", "sarif")

    run = result.json["runs"][0]
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert (result.code, result.json["version"]) == (1, "2.1.0")
    assert run["tool"]["driver"]["name"] == "prowess"
    assert {item["ruleId"] for item in run["results"]} == rules == {"DUPLICATE_KEY"}
    assert {item["level"] for item in run["results"]} <= SARIF_LEVELS
    assert all(item["message"]["text"] for item in run["results"])
    assert place["artifactLocation"]["uri"] == "skills/twice/SKILL.md"
    assert place["region"]["startLine"] == 4


@pytest.mark.requirement("validate:sarif")
def test_sarif_of_a_clean_skill_is_empty_and_ends_with_zero(world: World) -> None:
    path = world.skill("fine")

    result = world.run("validate", path.parent, "--format", "sarif")

    assert result.code == 0
    assert result.json["runs"][0]["results"] == []


@pytest.mark.requirement("validate:sarif")
@pytest.mark.parametrize("inside", [True, False], ids=["below the folder", "elsewhere"])
def test_sarif_places_are_uris(world: World, *, inside: bool) -> None:
    path = world.front("with space", "name: x")

    result = world.run(
        "validate", path.parent, "--format", "sarif", cwd=None if inside else world.home
    )

    uris = {
        item["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for item in result.json["runs"][0]["results"]
    }
    assert uris == {"skills/with%20space/SKILL.md" if inside else path.as_uri()}
