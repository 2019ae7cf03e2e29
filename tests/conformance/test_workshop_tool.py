"""The tool `skill_workshop`: every action of the document, its results and its words."""

import json
import re
from pathlib import Path

import pytest

from .workshop_bench import UNSAFE, Bench
from .world import Json, World

GIF_BODY = (
    "## Workflow\n\n- Verify the URL resolves to image/gif.\n- Confirm it has multiple frames.\n"
    "- Record attribution and license.\n- Avoid hotlinking when a local asset is needed."
)
GIF: Json = {
    "skillName": "animated-gif-workflow",
    "title": "Animated GIF Workflow",
    "reason": "User established reusable GIF validation rules.",
    "description": "Validate animated GIF assets before using them.",
    "body": GIF_BODY,
}


@pytest.fixture
def bench(world: World) -> Bench:
    return Bench(world, encoder="none")


@pytest.mark.requirement("workshop:tool-status")
def test_status_counts_proposals_by_state(bench: Bench) -> None:
    bench.made("first-job")
    bench.suggest("second-job")
    bench.suggest("third-job", body=UNSAFE)
    bench.call("reject", id=bench.suggest("fourth-job")["id"])

    answer = bench.call("status")

    assert answer.pop("stale", 0) == 0
    assert answer == {
        "workspaceDir": str(bench.world.workspace),
        "pending": 1,
        "quarantined": 1,
        "applied": 1,
        "rejected": 1,
    }
    assert bench.runtime.workshop.call({}) == bench.runtime.workshop.call({"action": "status"})


@pytest.mark.requirement("workshop:tool-suggest", "workshop:fields")
def test_a_suggestion_is_queued_with_the_fields_of_the_document(bench: Bench) -> None:
    answer = bench.call("suggest", **GIF)

    proposal = answer["proposal"]
    assert answer["status"] == proposal["status"] == "pending"
    assert {key: proposal[key] for key in ("skillName", "title", "reason", "source")} == {
        **{key: GIF[key] for key in ("skillName", "title", "reason")},
        "source": "tool",
    }
    assert proposal["workspaceDir"] == str(bench.world.workspace)
    assert proposal["change"]["kind"] == "create"
    assert proposal["change"]["body"] == GIF_BODY
    assert proposal["change"]["description"] == GIF["description"]
    assert proposal["createdAt"] == proposal["updatedAt"]
    assert proposal["evidence"] == []
    for key in ("revision", "baseHash"):
        assert re.fullmatch(r"[0-9a-f]{32,}", proposal[key])
    assert not {"scanFindings", "quarantineReason"} & set(proposal)
    assert not bench.world.skills.exists()


@pytest.mark.requirement("workshop:tool-suggest", "workshop:fields")
def test_a_call_may_name_its_agent_and_its_session(bench: Bench) -> None:
    named = bench.runtime.workshop.call(
        {"action": "suggest", **GIF}, agent_id="main", session_id="s7"
    )

    proposal = json.loads(json.dumps(named))["proposal"]
    assert (proposal["agentId"], proposal["sessionId"]) == ("main", "s7")


@pytest.mark.requirement("workshop:tool-suggest")
def test_title_and_reason_have_defaults(bench: Bench) -> None:
    proposal = bench.suggest("release-job")

    assert proposal["title"] == "Skill update: release-job"
    assert proposal["reason"]


@pytest.mark.requirement("workshop:tool-apply-overrides")
def test_apply_true_writes_in_pending_mode(bench: Bench) -> None:
    answer = bench.call("suggest", apply=True, **GIF)

    assert answer["status"] == answer["proposal"]["status"] == "applied"
    assert answer["skillPath"] == str(bench.file_of("animated-gif-workflow"))
    assert GIF_BODY in bench.text_of("animated-gif-workflow")


@pytest.mark.requirement("workshop:tool-apply-overrides")
def test_apply_false_queues_in_auto_mode(bench: Bench) -> None:
    bench.configure(approvalPolicy="auto")

    assert bench.call("suggest", apply=False, **GIF)["status"] == "pending"
    assert not bench.world.skills.exists()
    assert bench.call("suggest", skillName="own-job", description="d", body="- x")["status"] == (
        "applied"
    )


@pytest.mark.requirement("workshop:tool-lists")
def test_lists_are_newest_first_and_by_state(bench: Bench) -> None:
    waiting = [bench.suggest(name)["id"] for name in ("one-job", "two-job", "three-job")]
    bad = bench.suggest("bad-job", body=UNSAFE)
    bench.made("made-job")

    assert [item["id"] for item in bench.call("list_pending")["proposals"]] == waiting[::-1]
    assert [item["id"] for item in bench.call("list_quarantine")["proposals"]] == [bad["id"]]
    assert [item["id"] for item in bench.proposals("quarantined")] == [bad["id"]]
    assert [item["skillName"] for item in bench.proposals("applied")] == ["made-job"]
    assert bench.proposals("rejected") == bench.proposals("stale") == []
    assert "unknown status" in bench.refused("list_pending", status="lost")


@pytest.mark.requirement("workshop:tool-inspect")
def test_inspect_shows_one_proposal(bench: Bench) -> None:
    made = bench.suggest("release-job")

    assert bench.inspect(made["id"]) == made
    assert bench.refused("inspect") == "id required"
    assert bench.refused("inspect", id="no-such") == "proposal not found: no-such"


@pytest.mark.requirement("workshop:tool-apply")
def test_apply_writes_a_pending_proposal_once(bench: Bench) -> None:
    made = bench.suggest("release-job")

    answer = bench.call("apply", id=made["id"])

    assert answer["status"] == answer["proposal"]["status"] == "applied"
    assert Path(answer["skillPath"]).read_bytes() == bench.file_of("release-job").read_bytes()
    before = bench.text_of("release-job")
    assert "applied" in bench.refused("apply", id=made["id"])
    assert bench.text_of("release-job") == before
    assert bench.refused("apply") == "id required"
    assert bench.refused("apply", id="no-such") == "proposal not found: no-such"


@pytest.mark.requirement("workshop:tool-reject")
def test_reject_marks_a_proposal_and_it_is_never_applied(bench: Bench) -> None:
    made = bench.suggest("release-job")

    assert bench.call("reject", id=made["id"])["status"] == "rejected"

    assert bench.status_of(made) == "rejected"
    assert "rejected" in bench.refused("apply", id=made["id"])
    assert not bench.world.skills.exists()
    assert bench.refused("reject") == "id required"
    assert bench.refused("reject", id="no-such") == "proposal not found: no-such"


@pytest.mark.requirement("workshop:tool-suggest-kinds")
def test_a_section_appends_and_old_text_replaces(bench: Bench) -> None:
    bench.made("github-pr-workflow", "## Workflow\n\n- Check the PR.\n")

    appended = bench.suggest("github-pr-workflow", section="Workflow", body="- Say thanks.")
    replaced = bench.suggest(
        "github-pr-workflow", oldText="- Check the PR.", newText="- Check the threads."
    )

    assert appended["change"]["kind"] == "append"
    assert appended["change"]["section"] == "Workflow"
    assert replaced["change"]["kind"] == "replace"
    assert replaced["change"]["oldText"] == "- Check the PR."
    assert replaced["change"]["newText"] == "- Check the threads."


@pytest.mark.requirement("workshop:tool-refusals")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"body": "- x"}, "skillName required"),
        ({"skillName": "a-job"}, "body required"),
        ({"skillName": "a-job", "body": "   \n"}, "body required"),
        ({"skillName": "a-job", "section": "Workflow"}, "body required"),
        ({"skillName": "a-job", "oldText": "x"}, "newText required"),
        ({"skillName": "a-job", "newText": "x"}, "oldText required"),
        ({"skillName": "a-job", "oldText": "", "newText": "x"}, "oldText required"),
        ({"skillName": "no-such", "oldText": "a", "newText": "b"}, "skill does not exist: no-such"),
        ({"skillName": "here-job", "oldText": "Absent", "newText": "b"}, "oldText not found"),
        ({"skillName": "a-job", "body": "x" * 40001, "description": "d"}, "skill exceeds 40000"),
        ({"skillName": "here-job", "section": "# A\nB", "body": "- x"}, "section"),
        ({"skillName": "here-job", "section": "x" * 300, "body": "- x"}, "section"),
    ],
)
def test_an_incomplete_suggestion_is_refused_in_words(
    bench: Bench, arguments: Json, words: str
) -> None:
    bench.made("here-job")
    before = bench.events()

    assert words in bench.refused("suggest", **arguments)
    assert bench.events() == before


@pytest.mark.requirement("workshop:tool-refusals")
@pytest.mark.parametrize(
    "arguments",
    [
        {"action": "dance"},
        {"action": "STATUS"},
        {"action": 7},
        {"action": "inspect", "id": 5},
        {"action": "inspect", "id": "../../etc/passwd"},
        {"action": "inspect", "id": "%"},
        {"action": "apply", "id": "x' OR '1'='1"},
        {"action": "apply", "id": ["a"]},
        {"action": "suggest", "skillName": {}, "body": "- x"},
        {"action": "suggest", "skillName": "a-job", "body": ["- x"]},
        {"action": "suggest", "skillName": "a-job", "body": "- x", "apply": "yes"},
        {"action": "suggest", "skillName": "a-job", "body": "- \ud800", "description": "d"},
        {"action": "suggest", "skillName": "a-job", "body": "- \x00", "description": "d"},
        {"action": "list_pending", "status": 3},
        {"action": "history", "after": "x"},
        {"action": "revise", "id": "no-such", "body": "- x"},
        {"action": "rollback"},
        {"action": "rollback", "id": "no-such"},
        {"action": "write_support_file"},
    ],
)
def test_calls_that_make_no_sense_are_refused_and_change_nothing(
    bench: Bench, arguments: Json
) -> None:
    made = bench.suggest("kept-job")
    action = arguments.get("action")
    refused = bench.refused(**arguments)

    assert refused
    if action in {"dance", "STATUS"}:
        assert refused == f"unknown action: {action}"
    assert bench.proposals() == [made]
    assert not bench.world.skills.exists()


@pytest.mark.requirement("workshop:tool-refusals")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"action": "suggest", "supportFiles": {"a.md": "x"}}, "write_support_file"),
        ({"action": "suggest", "support_files": []}, "write_support_file"),
        ({"action": "suggest", "files": [{"path": "a.md"}]}, "write_support_file"),
        ({"action": "suggest", "skill_name": "a-job"}, "give skillName"),
        ({"action": "suggest", "content": "- y"}, "give only action, id"),
        ({"action": "suggest", "relativePath": "references/a.md"}, "write_support_file"),
        ({"action": "suggest", "oldText": "x", "newText": "y"}, "give body, or oldText"),
        ({"action": "reject", "id": "x"}, "body is not for reject"),
        ({"action": "write_support_file", "section": "A"}, "section is not for write_support_file"),
    ],
)
def test_an_argument_that_nobody_would_read_is_refused_with_what_to_give(
    bench: Bench, arguments: Json, words: str
) -> None:
    given = {"skillName": "a-job", "description": "Do a job.", "body": "- x"}
    if arguments["action"] == "write_support_file":
        del given["description"]

    assert words in bench.refused(**given, **{k: v for k, v in arguments.items() if k not in given})
    assert bench.proposals() == []


@pytest.mark.requirement("workshop:tool-history")
def test_history_and_rollback_are_actions_too(bench: Bench) -> None:
    bench.made("release-job", "## Workflow\n\n- One.\n")
    before = bench.text_of("release-job")
    second = bench.suggest("release-job", section="Workflow", body="- Two.", apply=True)

    assert bench.kinds(skillName="release-job") == ["created", "applied"] * 2
    assert bench.kinds(id=second["id"]) == ["created", "applied"]
    back = bench.call("rollback", id=second["id"])

    assert back["proposal"]["id"] == second["id"]
    assert bench.text_of("release-job") == before


@pytest.mark.requirement("workshop:tool-revise")
def test_revise_changes_what_a_pending_proposal_says(bench: Bench) -> None:
    made = bench.suggest("release-job", body="- Old words.")

    answer = bench.call("revise", id=made["id"], body="- New words.", description="Newer.")

    revised = answer["proposal"]
    assert revised["id"] == made["id"]
    assert revised["status"] == "pending"
    assert revised["revision"] != made["revision"]
    bench.call("apply", id=made["id"])
    assert "- New words." in bench.text_of("release-job")
    assert "Old words" not in bench.text_of("release-job")
    assert "applied" in bench.refused("revise", id=made["id"], body="- Third.")


@pytest.mark.slow
@pytest.mark.requirement("workshop:tool-json")
def test_the_terminal_answers_one_call_as_json(bench: Bench) -> None:
    made = bench.tool(json.dumps({"action": "suggest", **GIF}))
    wrong = bench.tool('{"action": "apply"}')

    assert made.code == 0, str(made)
    assert made.json["proposal"]["source"] == "tool"
    assert made.json["proposal"] == bench.inspect(made.json["proposal"]["id"])
    assert (wrong.code, wrong.json) == (1, {"error": "id required"})


@pytest.mark.slow
@pytest.mark.requirement("workshop:tool-json")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "one JSON object"),
        ("[]", "one JSON object"),
        (b'\xff{"action": "status"}', "one JSON object"),
        ('{"a":' * 50000, "one JSON object"),
        ('{"action": "explode"}', "unknown action: explode"),
        ('{"action": "apply", "id": "nobody"}', "proposal not found: nobody"),
        ('{"action": "suggest", "skillName": 7}', "skillName must be text"),
        ('{"action": "status"}' + " " * 1_100_000, "larger than"),
    ],
)
def test_input_that_is_no_call_is_an_error_in_json(
    bench: Bench, text: str | bytes, words: str
) -> None:
    answer = bench.tool(text).calm()

    assert answer.code == 1, str(answer)
    assert set(answer.json) == {"error"}
    assert words in answer.json["error"]
    assert answer.err == ""


@pytest.mark.requirement("workshop:quarantine-final")
def test_a_quarantined_proposal_cannot_be_applied_in_any_sequence(bench: Bench) -> None:
    bad = bench.suggest("bad-job", body=UNSAFE)
    forced = bench.call("suggest", skillName="bad-job", description="d", body=UNSAFE, apply=True)

    assert bad["status"] == forced["status"] == "quarantined"
    refusal = "quarantined proposal cannot be applied"
    assert bench.refused("apply", id=bad["id"]) == refusal
    assert bench.refused("apply", id=bad["id"], revision=bad["revision"]) == refusal
    assert "quarantined" in bench.refused("revise", id=bad["id"], body="- Harmless.")
    assert "quarantined" in bench.refused("rollback", id=bad["id"])
    bench.configure(approvalPolicy="auto")
    assert bench.refused("apply", id=bad["id"]) == refusal
    assert bench.call("reject", id=bad["id"])["status"] == "rejected"
    bench.refused("apply", id=bad["id"])
    bench.refused("rollback", id=bad["id"])
    bench.refused("revise", id=bad["id"], body="- Harmless.")
    again = bench.world.run("workshop", "apply", bad["id"], "--yes").calm()

    assert again.code == 1, str(again)
    assert not bench.file_of("bad-job").exists()


@pytest.mark.requirement("workshop:quarantine-final", "workshop:quarantine-kept")
def test_a_proposal_that_is_revised_into_something_unsafe_is_quarantined(bench: Bench) -> None:
    made = bench.suggest("turning-job")

    bench.call("revise", id=made["id"], body=UNSAFE)

    kept = bench.inspect(made["id"])
    assert kept["status"] == "quarantined"
    assert kept["quarantineReason"]
    assert bench.refused("apply", id=made["id"]) == "quarantined proposal cannot be applied"
    assert not bench.world.skills.exists()
