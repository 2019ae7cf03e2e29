"""`prowess workshop` on real folders: deciding about proposals, and finding out why not."""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.integration.workshop_world import BODY, PIPE, World, make_world

ENTRY = "plugins.entries.skill-workshop"
HAND_WRITTEN = "---\nname: release-notes\ndescription: By hand.\n---\n\n## Workflow\n\n- One.\n"


@pytest.fixture
def world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> World:
    return make_world(tmp_path, monkeypatch, capsys)


def _write(world: World, text: str = HAND_WRITTEN) -> None:
    world.page().parent.mkdir(parents=True)
    world.page().write_bytes(text.encode())


# Enable and disable.


@pytest.mark.parametrize(
    ("profile", "capture", "policy", "mode"),
    [
        ("conservative", False, "pending", "off"),
        ("review-first", True, "pending", "hybrid"),
        ("trusted", True, "auto", "hybrid"),
        ("low-cost", True, "pending", "heuristic"),
    ],
)
def test_a_profile_sets_three_keys_and_switches_it_on(
    world: World, profile: str, capture: object, policy: str, mode: str
) -> None:
    world.configure(on=False, reviewInterval=3)

    said = world.ask("workshop", "enable", "--profile", profile).json

    entry = world.config()["plugins"]["entries"]["skill-workshop"]
    wanted = {"autoCapture": capture, "approvalPolicy": policy, "reviewMode": mode}
    assert entry == {"enabled": True, "config": {"reviewInterval": 3, **wanted}}
    assert {"key": f"{ENTRY}.enabled", "before": False, "after": True} in said["changes"]
    settings = world.ask("workshop", "status").json["settings"]
    assert wanted.items() <= settings.items()
    assert settings["reviewInterval"] == 3


def test_without_a_profile_only_the_switches_change(world: World) -> None:
    world.configure(on=False, enabled=False, maxPending=9)

    world.ask("workshop", "enable")

    entry = world.config()["plugins"]["entries"]["skill-workshop"]
    assert entry == {"enabled": True, "config": {"enabled": True, "maxPending": 9}}


def test_a_dry_run_shows_what_would_change_and_writes_nothing(world: World) -> None:
    world.write_config({})

    said = world.run("workshop", "enable", "--profile", "trusted", "--dry-run")

    assert f'{ENTRY}.config.approvalPolicy: not set -> "auto"' in said.out
    assert world.config() == {}


def test_comments_of_the_config_are_kept_beside_it(world: World) -> None:
    path = world.state / "prowess.json"
    path.write_text("{ // mine\n}", encoding="utf-8")

    said = world.run("workshop", "enable", "--profile", "trusted").out
    again = world.run("workshop", "enable", "--profile", "trusted").out

    assert f"kept in {path}.bak" in said
    assert "written without asking" in said
    assert "mine" in Path(f"{path}.bak").read_text(encoding="utf-8")
    assert again.startswith("Nothing to change")


def test_disable_keeps_the_settings_and_says_nothing_twice(world: World) -> None:
    world.configure(maxPending=7)

    assert len(world.ask("workshop", "disable").json["changes"]) == 1
    assert world.ask("workshop", "disable").json["changes"] == []

    entry = world.config()["plugins"]["entries"]["skill-workshop"]
    assert entry == {"enabled": False, "config": {"maxPending": 7}}


def test_an_entry_that_is_no_object_is_not_overwritten(world: World) -> None:
    world.write_config({"plugins": {"entries": {"skill-workshop": "yes"}}})

    said = world.run("workshop", "enable")

    assert said.code == 1
    assert f"config set {ENTRY} --unset" in said.err


# Suggest, list, show.


def test_a_suggestion_waits_until_it_is_applied(world: World) -> None:
    found = world.suggest()

    assert not world.page().exists()
    listed = world.ask("workshop", "list").json["proposals"]
    assert [one["id"] for one in listed] == [found]

    done = world.ask("workshop", "apply", found, "--yes").json

    assert done["status"] == "applied"
    assert world.page().read_text(encoding="utf-8").endswith(f"{BODY}\n")
    assert world.ask("workshop", "list").json["proposals"] == []
    assert len(world.ask("workshop", "list", "--status", "applied").json["proposals"]) == 1


def test_the_terminal_speaks_in_the_words_of_the_log(world: World) -> None:
    about = ("--skill", "release-notes", "--description", "Notes.")

    queued = world.run("workshop", "suggest", *about, "--body", BODY)
    unsafe = world.run("workshop", "suggest", *about, "--body", f"## Workflow\n\n- {PIPE}")
    applied = world.run("workshop", "suggest", *about, "--body", "## Use\n\n- Run it.", "--apply")

    assert queued.out.startswith("queued release-notes  [")
    assert unsafe.code == 1
    assert unsafe.out.startswith("quarantined release-notes: ")
    assert "shell-pipe-to-shell" in unsafe.out
    assert applied.out.startswith("applied release-notes  [")


def test_a_body_comes_from_a_file_or_from_standard_input(world: World, tmp_path: Path) -> None:
    text = tmp_path / "body.md"
    text.write_text("## Workflow\n\n- From a file: \\1 $1.", encoding="utf-8")
    about = ("workshop", "suggest", "--skill", "a-skill", "--description", "d")

    by_file = world.ask(*about, "--body-file", str(text)).json
    by_pipe = world.piped(b"## Workflow\n\n- From a pipe.", *about, "--json", "-").json

    assert by_file["proposal"]["change"]["body"].endswith("- From a file: \\1 $1.")
    assert by_pipe["proposal"]["change"]["body"].endswith("- From a pipe.")


def test_a_replacement_names_the_old_and_the_new_text(world: World) -> None:
    _write(world)

    found = world.ask(
        *("workshop", "suggest", "--skill", "release-notes", "--old", "- One.", "--new", "- Two.")
    ).json["proposal"]
    shown = world.run("workshop", "show", found["id"], "--diff").out

    assert "--- a/skills/release-notes/SKILL.md\n" in shown
    assert "\n-- One.\n+- Two.\n" in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("--old", "a"),
        ("--body", "a", "--body-file", "b"),
        ("--body", "a", "--old", "b", "--new", "c"),
    ],
)
def test_a_suggestion_that_says_nothing_or_too_much_is_wrong_usage(
    world: World, args: tuple[str, ...]
) -> None:
    said = world.run("workshop", "suggest", "--skill", "a-skill", *args)

    assert said.code == 2
    assert "--help" in said.err


def test_findings_are_shown_with_their_line_and_what_cannot_be_seen_is_spelled_out(
    world: World,
) -> None:
    body = f"## Workflow\n\n- {PIPE}\n- Hidden \u202e text."
    about = ("--skill", "a-skill", "--description", "d", "--body", body)
    found = world.run("workshop", "suggest", *about, "--json").json["proposal"]

    shown = world.run("workshop", "show", found["id"], "--diff").out

    line = next(one["line"] for one in found["scanFindings"] if one["severity"] == "critical")
    assert f"SKILL.md:{line}:" in shown
    assert f"\n      {line} | " in shown
    assert "^~" in shown
    assert "Hidden \\u202e text." in shown


def test_the_start_of_an_id_or_of_its_last_part_is_enough(world: World) -> None:
    first, second = world.suggest(skill="alpha"), world.suggest("--overrule", skill="alphabet")

    by_start = world.ask("workshop", "show", "alphab").json["proposal"]["id"]
    by_end = world.ask("workshop", "show", first.rpartition("-")[2]).json["proposal"]["id"]
    unclear = world.run("workshop", "show", "alpha")
    unknown = world.run("workshop", "show", "nothing-like-it")

    assert (by_start, by_end) == (second, first)
    assert unclear.code == unknown.code == 1
    assert first in unclear.err
    assert "proposal not found: nothing-like-it" in unknown.err


def test_what_a_skill_says_already_is_added_to_it_and_the_terminal_says_so(world: World) -> None:
    description = "Write release notes of a new version from the git log."
    body = "## Workflow\n\n- Collect merged changes from the git log since the last tag."
    first = ("--skill", "release-notes", "--description", description, "--body", body)
    world.ask("workshop", "suggest", *first, "--apply")
    second = ("--skill", "notes-of-release", "--description", description)

    said = world.run("workshop", "suggest", *second, "--body", f"{body}\n- Breaking ones first.")

    assert "queued release-notes" in said.out
    assert "similar: release-notes (" in said.out
    assert "--overrule" in said.out


def test_a_live_file_that_is_a_link_is_not_followed(world: World, tmp_path: Path) -> None:
    found = world.suggest()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("private words", encoding="utf-8")
    world.page().parent.mkdir()
    world.page().symlink_to(elsewhere)

    shown = world.run("workshop", "show", found, "--diff").out

    assert "private words" not in shown
    assert "! skills/release-notes/SKILL.md cannot be read" in shown


def test_the_list_and_one_proposal_are_shown_to_a_person(world: World) -> None:
    assert world.run("workshop", "list").out == "No proposals wait for you.\n"
    found = world.suggest("--title", "Release notes", "--reason", "Asked for twice")

    listed = world.run("workshop", "list").out.splitlines()
    shown = world.run("workshop", "show", found).out

    assert listed[0].split() == ["Id", "State", "Skill", "Kind", "Source", "Title"]
    assert listed[1].startswith(f"{found}  pending  release-notes  create")
    assert shown.startswith(f"Release notes\npending release-notes  [{found}]\n")
    assert "Asked for twice" in shown
    assert "Revision:" in shown
    assert "+++" not in shown


def test_a_shell_completes_the_ids_of_proposals(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = world.suggest()
    monkeypatch.setenv("_PROWESS_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "prowess workshop show rel")
    monkeypatch.setenv("COMP_CWORD", "3")

    assert found in world.piped(b"", "workshop").out


# Apply, reject, revise, rollback, history.


def test_without_a_terminal_a_yes_is_needed(world: World) -> None:
    found = world.suggest()

    for args in (("apply", found), ("apply", found, "--json"), ("rollback", "release-notes")):
        said = world.run("workshop", *args)

        assert said.code == 2
        assert "--yes" in said.err
    assert not world.page().exists()


def test_on_a_terminal_the_difference_is_shown_in_colours(world: World) -> None:
    found = world.suggest()

    done, drawn = world.on_terminal("y\n", "workshop", "apply", found)

    assert done == 0
    assert "\x1b[32m+- Check the changelog first.\x1b[0m" in drawn


def test_another_revision_than_the_one_that_was_seen_is_not_applied(world: World) -> None:
    found = world.suggest()
    seen = world.ask("workshop", "show", found).json["proposal"]["revision"]
    world.ask("workshop", "revise", found, "--body", "## Workflow\n\n- Something else.")

    said = world.run("workshop", "apply", found, "--yes", "--revision", seen)

    assert said.code == 1
    assert seen in said.err
    assert not world.page().exists()


def test_a_quarantined_proposal_can_be_rejected_and_not_applied(world: World) -> None:
    about = ("--skill", "a-skill", "--description", "d", "--body", f"- {PIPE}")
    found = world.run("workshop", "suggest", *about, "--json").json["proposal"]["id"]

    refused = world.run("workshop", "apply", found, "--yes")
    rejected = world.run("workshop", "reject", found)

    assert refused.code == 1
    assert "quarantined proposal cannot be applied" in refused.err
    assert rejected.out.startswith("rejected a-skill")


def test_a_revision_changes_what_is_given_and_keeps_the_rest(world: World) -> None:
    found = world.suggest()

    done = world.ask("workshop", "revise", found, "--body", "## Workflow\n\n- Twice.").json

    assert done["proposal"]["id"] == found
    assert done["proposal"]["change"]["body"].endswith("- Twice.")
    assert done["proposal"]["change"]["description"] == "Write release notes."
    assert world.run("workshop", "revise", found).code == 1


def test_a_rollback_brings_the_old_skill_back_and_history_tells_all(world: World) -> None:
    _write(world)
    before = world.page().read_bytes()
    about = ("--skill", "release-notes", "--section", "Workflow", "--body", "- Two.")
    found = world.ask("workshop", "suggest", *about, "--apply").json["proposal"]["id"]
    assert b"- Two." in world.page().read_bytes()

    done = world.ask("workshop", "rollback", "release-notes", "--yes").json

    assert done["status"] == "rolled_back"
    assert world.page().read_bytes() == before
    by_skill = world.ask("workshop", "history", "release-notes").json
    by_id = world.ask("workshop", "history", found[:-2]).json
    assert [event["type"] for event in by_skill["events"]][-2:] == ["applied", "rolled_back"]
    assert by_id["events"] == by_skill["events"]
    after = world.ask("workshop", "history", "--after", str(by_skill["cursor"])).json
    assert after["events"] == []
    assert "rolled back" in world.run("workshop", "history").out
    assert world.run("workshop", "rollback", "release-notes", "--yes").code == 1


def test_on_a_terminal_a_rollback_asks_and_history_lists_what_can_be_taken_back(
    world: World,
) -> None:
    found = world.suggest("--apply")

    told = world.run("workshop", "history", "release-notes").out
    refused, _ = world.on_terminal("n\n", "workshop", "rollback", found)
    kept = world.page().exists()
    done, drawn = world.on_terminal("y\n", "workshop", "rollback", found)

    assert f"Applied, the last one first:\n  {found}" in told
    assert (refused, kept) == (1, True)
    assert (done, world.page().exists()) == (0, False)
    assert "rolled back release-notes" in drawn


def test_there_is_no_history_of_what_never_was(world: World) -> None:
    said = world.run("workshop", "history", "never-was")

    assert said.code == 1
    assert "never-was" in said.err
    assert "Nothing happened yet." in world.run("workshop", "history").out


# The tool.


def test_what_a_coding_agent_suggests_lands_in_the_folder_that_it_reads(world: World) -> None:
    call = {"action": "suggest", "skillName": "a-skill", "description": "d", "body": BODY}
    call |= {"harness": "claude-code"}

    made = world.piped(json.dumps({**call, "apply": True}).encode(), "workshop", "tool")
    (proposal,) = world.ask("workshop", "list").json["proposals"]
    world.run("workshop", "apply", proposal["id"], "--yes")
    refused = world.piped(json.dumps(call | {"harness": "nobody"}).encode(), "workshop", "tool")

    # Whatever an agent wishes: a folder of the harness is written with a person's yes.
    assert made.json["status"] == "pending"
    assert (world.work / ".claude" / "skills" / "a-skill" / "SKILL.md").exists()
    assert not (world.work / "skills" / "a-skill").exists()
    assert "nobody is called nobody: give claude-code" in refused.json["error"]


def test_the_tool_of_a_workshop_that_is_off_says_so(world: World) -> None:
    world.configure(on=False)

    said = world.piped(b'{"action": "status"}', "workshop", "tool")

    assert said.code == 1
    assert "disabled" in said.json["error"]


# Status and symptoms.


def _symptoms(world: World) -> dict[str, tuple[bool, str]]:
    found = world.ask("workshop", "status", "--explain").json["symptoms"]
    return {one["symptom"]: (one["fine"], f"{one['finding']} {one['advice']}") for one in found}


def test_status_counts_by_state_and_says_how_far_the_next_review_is(world: World) -> None:
    world.configure(reviewInterval=4)
    world.suggest()

    status = world.ask("workshop", "status").json
    text = world.run("workshop", "status").out

    assert status["enabled"] is True
    assert (status["pending"], status["applied"]) == (1, 0)
    assert status["sinceLastReview"] == {"turns": 0, "toolCalls": 0, "failures": 0}
    assert "symptoms" not in status
    assert "0 of 4 turns" in text
    assert "profile review-first" in text


def test_a_reviewer_that_nobody_configured_is_named_before_it_is_needed(world: World) -> None:
    enabled = world.run("workshop", "enable", "--profile", "review-first").out
    status = world.run("workshop", "status").out
    program = world.ask("workshop", "status").json["noReviewer"]
    quiet = world.run("workshop", "enable", "--profile", "low-cost").out
    world.configure(reviewMode="llm", reviewCommand=["true"])

    for said in (enabled, status, program):
        assert "none is configured: set plugins.entries.skill-workshop.config.reviewModel" in said
    assert "none is configured" not in quiet
    assert "noReviewer" not in world.ask("workshop", "status").json


def test_every_symptom_of_a_workshop_that_is_off_leads_to_its_switch(world: World) -> None:
    world.configure(on=False)

    found = _symptoms(world)

    assert len(found) == 7
    for symptom in ("The tool is unavailable", "No automatic proposal appears"):
        fine, text = found[symptom]
        assert not fine
        assert f"{ENTRY}.enabled is not true" in text
        assert "prowess workshop enable" in text


@pytest.mark.parametrize(
    ("config", "symptom", "words"),
    [
        ({"autoCapture": False}, "No automatic proposal appears", "autoCapture is false"),
        ({"reviewMode": "off"}, "No automatic proposal appears", "reviewMode is off"),
        ({"reviewMode": "llm"}, "A correction was not captured", "reviewMode is llm"),
        ({"reviewMode": "heuristic"}, "The reviewer made no proposal", "reviewMode is heuristic"),
        ({"reviewMode": "llm"}, "The reviewer made no proposal", "no model can be asked"),
        ({"enabled": False}, "The tool is unavailable", "config.enabled is false"),
    ],
)
def test_a_symptom_names_the_setting_that_is_in_the_way(
    world: World, config: Mapping[str, Any], symptom: str, words: str
) -> None:
    world.configure(**config)

    fine, text = _symptoms(world)[symptom]

    assert not fine
    assert words in text


def test_what_waits_and_where_proposals_went_is_answered(world: World) -> None:
    world.configure(maxPending=1)
    world.suggest(skill="pruned-one")
    world.suggest("--overrule", skill="second-one")

    found = _symptoms(world)

    assert "1 proposal is waiting" in found["A proposal is not applied"][1]
    assert "1 pruned (maxPending is 1)" in found["A proposal disappeared from the list"][1]
    assert "pruned-one" in found["A proposal disappeared from the list"][1]


def test_an_applied_skill_that_the_agent_does_not_see_is_named_with_the_reason(
    world: World,
) -> None:
    world.suggest("--apply")
    symptom = "A skill file exists but the model misses it"
    assert _symptoms(world)[symptom][0]
    world.run("disable", "release-notes")

    fine, text = _symptoms(world)[symptom]

    assert not fine
    assert "release-notes: " in text
    assert "prowess why release-notes" in text


def test_a_setting_out_of_range_is_reported_with_what_is_used(world: World) -> None:
    world.configure(reviewInterval=9999)

    said = world.run("workshop", "status")

    assert f"{ENTRY}.config.reviewInterval must be from 1 to 200; 200 is used" in said.out


def test_the_log_is_printed_on_request_and_leaves_no_trace(world: World) -> None:
    about = ("--skill", "release-notes", "--description", "d", "--body", BODY)

    said = world.run("workshop", "-v", "suggest", *about)
    silent = world.run("workshop", "suggest", "--skill", "other-one", *about[2:])

    assert "skill-workshop: queued release-notes" in said.err
    assert silent.err == ""
    assert logging.getLogger("prowess.workshop").handlers == []


@pytest.mark.parametrize(
    "name",
    [
        *("enable", "disable", "status", "list", "show", "suggest", "apply", "reject"),
        *("revise", "rollback", "history", "capture", "tool"),
    ],
)
def test_every_command_explains_itself_with_an_example(world: World, name: str) -> None:
    said = world.run("workshop", name, "--help")

    assert said.code == 0
    assert "Example: " in said.out
    assert f"  {name} " in world.run("workshop", "--help").out
