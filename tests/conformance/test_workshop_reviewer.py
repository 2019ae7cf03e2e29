"""The reviewer: when it is asked, what it is shown, what of its answers counts, and its limits.

The reviewers here are real programs, and a real endpoint that listens on this machine.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

import prowess

from .workshop_bench import CORRECTION, SECRET, UNSAFE, Bench, settings_of
from .world import Json, World

MEDIA: Json = {
    "action": "create",
    "skillName": "media-asset-qa",
    "title": "Media Asset QA",
    "reason": "Reusable animated media acceptance workflow",
    "description": "Validate externally sourced animated media before product use.",
    "body": "## Workflow\n\n- Verify true animation.\n- Record attribution.",
}
SMALL_TALK = "Is banner.gif animated?"


@pytest.fixture
def bench(world: World) -> Bench:
    return Bench(world, encoder="none")


@dataclass(slots=True)
class Endpoint:
    """A chat endpoint on this machine that always gives the same answer."""

    reply: str
    asked: list[Json] = field(default_factory=list)
    address: str = ""


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    state = Endpoint(reply=json.dumps(MEDIA))

    class Answering(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            state.asked.append(json.loads(self.rfile.read(length)))
            message = {"role": "assistant", "content": state.reply}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
            body = json.dumps({**answer, "choices": [choice], "usage": usage}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    state.address = f"http://127.0.0.1:{server.server_port}/v1"
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.requirement("workshop:thresholds")
def test_a_review_comes_after_enough_turns(bench: Bench) -> None:
    bench.reviewing(reviewInterval=3)

    asked = []
    for _ in range(7):
        bench.say(SMALL_TALK)
        asked.append(bench.reviewer.asked)

    assert asked == [0, 0, 1, 1, 1, 2, 2]


@pytest.mark.requirement("workshop:thresholds")
def test_a_review_comes_after_enough_tool_calls(bench: Bench) -> None:
    bench.reviewing(reviewInterval=200, reviewMinToolCalls=5)

    asked = []
    for calls in (4, 0, 1, 4, 500):
        bench.say(SMALL_TALK, tool_calls=calls)
        asked.append(bench.reviewer.asked)

    assert asked == [0, 0, 1, 1, 2]


@pytest.mark.requirement("workshop:thresholds")
def test_tool_calls_are_counted_in_the_messages_where_nobody_counted(bench: Bench) -> None:
    bench.reviewing(reviewInterval=200, reviewMinToolCalls=3)
    messages: list[Json] = [
        {"role": "assistant", "tool_calls": [{"id": "1"}]},
        {"type": "function_call", "name": "x"},
        {"role": "assistant", "content": [{"type": "tool_call", "id": "3"}]},
    ]

    with bench.runtime.run(session="s1") as run:
        run.turn(messages)

    assert bench.reviewer.asked == 1


@pytest.mark.requirement("workshop:thresholds")
def test_counters_outlive_the_process_and_failed_turns_do_not_count(bench: Bench) -> None:
    bench.reviewing(reviewInterval=3, reviewMinToolCalls=100)
    bench.say(SMALL_TALK, tool_calls=2)
    bench.say(SMALL_TALK, tool_calls=200, ok=False)
    bench.runtime = bench.world.open()
    bench.say(SMALL_TALK)

    since = bench.status()["sinceLastReview"]
    bench.say(SMALL_TALK)

    assert (since["turns"], since["toolCalls"]) == (2, 2)
    assert bench.reviewer.asked == 1
    assert bench.status()["sinceLastReview"]["turns"] == 0


@pytest.mark.requirement("workshop:thresholds")
@pytest.mark.parametrize(
    "config", [{"reviewMode": "heuristic"}, {"reviewMode": "off"}, {"autoCapture": False}]
)
def test_nobody_is_asked_where_no_review_is_wanted(bench: Bench, config: Json) -> None:
    bench.reviewing(**config)

    bench.say(SMALL_TALK, tool_calls=500)

    assert bench.reviewer.asked == 0


@pytest.mark.requirement("workshop:thresholds")
def test_a_review_does_not_review_itself(bench: Bench) -> None:
    bench.reviewing(reviewMode="hybrid")

    with bench.runtime.run(session="skill-workshop-review-1") as run:
        made = run.turn([{"role": "user", "content": CORRECTION}], 500)

    assert made == ()
    assert bench.reviewer.asked == 0


@pytest.mark.requirement("workshop:thresholds")
def test_in_llm_mode_a_correction_asks_at_once_and_is_not_stored_itself(bench: Bench) -> None:
    bench.reviewing(reviewInterval=200, reviewMinToolCalls=500)

    assert bench.say(CORRECTION) == []

    assert bench.reviewer.asked == 1
    assert CORRECTION in bench.reviewer.question


@pytest.mark.requirement("workshop:review-retried")
def test_a_failed_review_is_tried_again(bench: Bench) -> None:
    bench.reviewing(reviewInterval=2)
    bench.reviewer.answers("no JSON at all")
    for _ in range(2):
        bench.say(SMALL_TALK)
    bench.reviewer.answers(MEDIA)
    kept = bench.status()["sinceLastReview"]
    made = [item for _ in range(2) for item in bench.say(SMALL_TALK)]

    assert kept["turns"] >= 2
    assert [item["skillName"] for item in made] == ["media-asset-qa"]
    assert bench.reviewer.asked >= 2


@pytest.mark.requirement("workshop:review-retried")
def test_a_failing_reviewer_is_given_up_after_three_more_tries(bench: Bench) -> None:
    bench.reviewing(reviewInterval=200, reviewMinToolCalls=500)
    bench.reviewer.answers("no JSON at all")
    bench.say(SMALL_TALK, tool_calls=500)

    for _ in range(12):
        bench.say(SMALL_TALK)

    assert 2 <= bench.reviewer.asked <= 4


@pytest.mark.requirement("workshop:review-transcript")
def test_the_transcript_is_its_last_12000_characters_cut_at_a_line(bench: Bench) -> None:
    bench.reviewing()
    text = "\n".join(f"<{number:05d}-{'wxyz ' * 7}>" for number in range(1000))

    bench.say(text)

    question = bench.reviewer.question
    whole = re.findall(r"<(\d{5})-(?:wxyz ){7}>", question)
    shown = question[question.index(f"<{whole[0]}") : question.index(f"<{whole[-1]}")]
    assert whole == [f"{number:05d}" for number in range(1000 - len(whole), 1000)]
    assert 11_000 < len(shown) <= 12_000
    assert question.count("wxyz ") == 7 * len(whole)


@pytest.mark.requirement("workshop:review-transcript")
def test_the_transcript_says_who_spoke_and_what_was_said_before(bench: Bench) -> None:
    bench.reviewing()
    history = [
        {"role": "user", "content": "Is banner.gif animated?"},
        {"role": "assistant", "content": "Yes."},
    ]
    with bench.runtime.run(session="s1") as run:
        run.turn(
            [{"role": "user", "content": [{"type": "text", "text": "And the footer?"}]}],
            history=history,
        )

    spoken = re.findall(r"^(?:user|assistant): .*$", bench.reviewer.question, re.MULTILINE)

    assert spoken == ["user: Is banner.gif animated?", "assistant: Yes.", "user: And the footer?"]


@pytest.mark.requirement("workshop:review-skills")
def test_at_most_twelve_skills_are_shown_with_2000_characters_each(bench: Bench) -> None:
    bench.reviewing()
    for number in range(20):
        bench.world.skill(f"garden-{number:02d}", body=f"mark{number:02d}. " * 1000)

    bench.say("How do I water the garden?")

    question = bench.reviewer.question
    shown = set(re.findall(r"mark(\d\d)\.", question))
    assert 0 < len(shown) <= 12
    assert all(question.count(f"mark{number}. ") * 8 <= 2000 for number in shown)
    assert all(question.count(f"mark{number}. ") * 8 > 1000 for number in shown)


@pytest.mark.requirement("workshop:review-skills")
def test_the_nearest_skills_are_shown_and_not_the_first_by_name(bench: Bench) -> None:
    bench.encoder = "bundled"
    bench.reviewing()
    for number in range(20):
        bench.world.skill(
            f"a-filler-{number:02d}", description=f"Prints label number {number}.", body="Print.\n"
        )
    bench.world.skill(
        "zebra-invoices",
        description="Files supplier invoices in the accounting system.",
        body="The marked body of the nearest skill.\n",
    )

    bench.say("Please file the supplier invoices in the accounting system again.")

    assert "The marked body of the nearest skill." in bench.reviewer.question


@pytest.mark.requirement("workshop:review-skills")
def test_only_skills_of_the_workspace_are_shown(bench: Bench) -> None:
    bench.reviewing()
    bench.world.skill("managed-garden", root=bench.world.managed, body="Elsewhere.\n")
    bench.world.skill("own-garden", body="Right here.\n")

    bench.say("How do I water the garden?")

    assert "Right here." in bench.reviewer.question
    assert "Elsewhere." not in bench.reviewer.question


@pytest.mark.requirement("workshop:review-json")
def test_json_is_taken_bare_fenced_or_embedded(bench: Bench) -> None:
    bench.reviewing()
    forms = (
        "{}",
        "  \n{}\n\n",
        "```json\n{}\n```",
        "Here you are:\n\n```\n{}\n```\nAnything else?",
        "I would propose {} for the workspace.",
        "\ufeff{}",
    )

    for number, form in enumerate(forms):
        body = f'## Workflow\n\n- Step {number} {{braces}} `"quotes"`.'
        reply = json.dumps({**MEDIA, "body": body}, indent=number % 2 or None)
        bench.reviewer.answers(form.replace("{}", reply))
        made = bench.say(SMALL_TALK)
        assert [(item["source"], item["status"], item["title"]) for item in made] == [
            ("reviewer", "pending", "Media Asset QA")
        ], form
        assert made[0]["change"]["body"] == body


REFUSED = (
    "",
    "nothing to add",
    json.dumps([MEDIA]),
    json.dumps(MEDIA)[:-20],
    json.dumps({**MEDIA, "action": "delete"}),
    json.dumps({**MEDIA, "action": "CREATE!"}),
    json.dumps({**MEDIA, "skillName": "???"}),
    json.dumps({**MEDIA, "skillName": 7}),
    json.dumps({**MEDIA, "body": None}),
    json.dumps({**MEDIA, "body": ["- x"]}),
    json.dumps({"action": "append", "skillName": "media-qa", "section": "Workflow"}),
    json.dumps({"action": "replace", "skillName": "media-qa", "oldText": "x"}),
    json.dumps({"action": "replace", "skillName": "none", "oldText": "x", "newText": "y"}),
    json.dumps({**MEDIA, "body": f"- Use {SECRET}."}),
    json.dumps({**MEDIA, "body": "x" * 50_000}),
    "[" * 20_000,
)


@pytest.mark.requirement("workshop:review-json", "workshop:logs")
def test_any_other_answer_is_logged_and_skipped(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.reviewing()
    caplog.set_level("DEBUG", logger="prowess")

    for reply in REFUSED:
        bench.reviewer.answers(reply)
        caplog.clear()
        assert bench.say(SMALL_TALK) == [], reply
        assert "skill-workshop: reviewer skipped: " in caplog.text, reply
        assert SECRET not in caplog.text
    assert bench.reviewer.asked == len(REFUSED)
    assert bench.events() == []


@pytest.mark.requirement("workshop:review-json", "workshop:logs")
def test_a_reviewer_that_finds_nothing_is_no_failure(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.reviewing()
    caplog.set_level("DEBUG", logger="prowess")

    assert bench.say(SMALL_TALK) == []

    assert "skill-workshop: reviewer found no update" in caplog.text
    assert bench.status()["sinceLastReview"] == {"turns": 0, "toolCalls": 0, "failures": 0}


@pytest.mark.requirement("workshop:review-defaults")
def test_what_the_reviewer_leaves_out_has_defaults(bench: Bench) -> None:
    bench.made("media-qa")
    bench.reviewing()
    bench.reviewer.answers({"action": "append", "skillName": "Media QA!", "body": "- Then stop."})

    (made,) = bench.say(SMALL_TALK)

    assert made["skillName"] == "media-qa"
    assert made["title"] == "Skill update: media-qa"
    assert made["reason"]
    assert made["change"]["section"] == "Workflow"


@pytest.mark.requirement("workshop:review-kinds")
def test_the_reviewer_can_append_and_replace(bench: Bench) -> None:
    bench.made("media-qa", "## Workflow\n\n- Begin.\n")
    bench.reviewing(approvalPolicy="auto")
    bench.reviewer.answers(
        {"action": "append", "skillName": "media-qa", "section": "Workflow", "body": "- End."}
    )
    bench.say(SMALL_TALK)
    bench.reviewer.answers(
        {
            "action": "replace",
            "skillName": "media-qa",
            "oldText": "- Begin.",
            "newText": "- Begin well.",
        }
    )
    bench.say(SMALL_TALK)

    assert bench.text_of("media-qa").endswith("## Workflow\n\n- Begin well.\n- End.\n")


@pytest.mark.requirement("workshop:review-kinds", "workshop:quarantine-kept")
def test_a_reviewer_writes_nothing_that_the_scanner_refuses(bench: Bench) -> None:
    bench.reviewing(approvalPolicy="auto")
    bench.reviewer.answers({**MEDIA, "body": UNSAFE})

    made = bench.say(SMALL_TALK)

    assert [item["status"] for item in made] == ["quarantined"]
    assert not bench.world.skills.exists()


@pytest.mark.requirement("workshop:review-timeout", "workshop:logs")
def test_a_reviewer_that_never_answers_is_stopped_with_all_it_started(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    pids = bench.world.root / "pids"
    script = bench.world.file(
        bench.world.bin / "forever",
        f"#!/bin/sh\nsleep 600 &\necho $$ $! > {pids}\nwait\nsleep 600\n",
    )
    script.chmod(0o755)
    bench.reviewing(reviewCommand=[str(script)], reviewTimeoutMs=5000)
    caplog.set_level("DEBUG", logger="prowess")

    assert bench.say(SMALL_TALK) == []

    assert "skill-workshop: reviewer skipped: " in caplog.text
    for pid in pids.read_text(encoding="utf-8").split():
        status = Path(f"/proc/{pid}/stat")
        assert not status.exists() or status.read_text(encoding="utf-8").split()[2] == "Z"


WRONG_COMMANDS = (
    ["/no/such/program"],
    ["/bin/false"],
    ["/bin/sh", "-c", "exec 0<&-; echo not json"],
    ["/bin/sh", "-c", "kill -9 $$"],
    ["/bin/sh", "-c", "head -c 30000000 /dev/zero"],
    ["/bin/sh", "-c", "printf '\\377\\376'"],
    [""],
)


@pytest.mark.requirement("workshop:review-command", "workshop:logs")
def test_a_command_that_goes_wrong_is_skipped(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", logger="prowess")

    for words in WRONG_COMMANDS:
        bench.reviewing(reviewCommand=words)
        caplog.clear()
        assert bench.say(SMALL_TALK) == [], words
        assert caplog.text.count("skill-workshop: reviewer skipped: ") == 1, words


@pytest.mark.requirement("workshop:review-command")
def test_a_command_has_its_words_without_a_shell(bench: Bench) -> None:
    canary = bench.world.root / "canary"
    reply = bench.world.file(bench.world.root / "it's $(touch canary).json", json.dumps(MEDIA))
    bench.reviewing(reviewCommand=["cat", str(reply)])

    made = bench.say(SMALL_TALK)

    assert [item["skillName"] for item in made] == ["media-asset-qa"]
    assert not canary.exists()
    assert not (bench.world.workspace / "canary").exists()


@pytest.mark.requirement("workshop:review-command", "workshop:wrong-types")
def test_a_command_of_the_wrong_type_asks_nobody(bench: Bench) -> None:
    wrong: tuple[object, ...] = ("cat", 7, [1, 2], {}, [["cat"]])

    for value in wrong:
        bench.reviewing(reviewCommand=value)
        assert bench.say(SMALL_TALK) == [], value
        assert "reviewCommand" in bench.world.run("workshop", "status").calm().text, value


@pytest.mark.requirement("workshop:review-models", "workshop:review-no-tools")
def test_a_model_string_asks_that_model_without_tools(
    world: World, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = {"reviewMode": "llm", "reviewInterval": 1, "reviewModel": "openai-chat:some-model"}
    world.config(settings_of(config, encoder="none"))
    provider = {"OPENAI_API_KEY": "no-key", "OPENAI_BASE_URL": endpoint.address}
    for name, value in provider.items():
        monkeypatch.setenv(name, value)

    made = reviewed(world.open(provider))

    assert made == ["media-asset-qa"]
    assert [asked["model"] for asked in endpoint.asked] == ["some-model"]
    assert not any(asked.get("tools") for asked in endpoint.asked)
    assert SMALL_TALK in json.dumps(endpoint.asked[0]["messages"])


@pytest.mark.requirement("workshop:review-models", "workshop:review-no-tools")
def test_without_a_model_of_its_own_the_configured_one_is_asked(
    world: World, endpoint: Endpoint
) -> None:
    model = {"endpoint": endpoint.address, "name": "local-model"}
    config = settings_of({"reviewMode": "llm", "reviewInterval": 1}, encoder="none")
    config["skills"]["model"] = model
    world.config(config)

    made = reviewed(world.open())

    assert made == ["media-asset-qa"]
    assert [asked["model"] for asked in endpoint.asked] == ["local-model"]
    assert not any(asked.get("tools") for asked in endpoint.asked)


@pytest.mark.requirement("workshop:review-models", "workshop:logs")
def test_a_model_that_cannot_be_asked_is_skipped(
    world: World, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    caplog.set_level("DEBUG", logger="prowess")
    runtime = world.open()

    for model in ("nobody:at-all", "no-colon", ":", "openai-chat:x"):
        config = {"reviewMode": "llm", "reviewInterval": 1, "reviewModel": model}
        world.config(settings_of(config, encoder="none"))
        caplog.clear()
        assert reviewed(runtime) == [], model
        assert "skill-workshop: reviewer skipped: " in caplog.text, model


def reviewed(runtime: prowess.Runtime) -> list[str]:
    """The skills that one turn led to."""
    with runtime.run(session="s1") as run:
        made = run.turn([{"role": "user", "content": SMALL_TALK}])
    return [proposal.change.skill for proposal in made]


@pytest.mark.requirement("workshop:review-prompt")
def test_the_question_asks_for_json_only_and_names_what_may_be_answered(bench: Bench) -> None:
    bench.reviewing()

    bench.say(SMALL_TALK)

    question = bench.reviewer.question
    for word in ("JSON", "none", "create", "append", "replace", "skillName", "oldText", "newText"):
        assert word in question


@pytest.mark.requirement("workshop:review-prompt")
def test_a_question_with_nothing_to_show_is_still_asked(bench: Bench) -> None:
    bench.reviewing()

    with bench.runtime.run(session="s1") as run:
        run.turn([])

    assert bench.reviewer.asked == 1
    assert bench.reviewer.question.strip()


@pytest.mark.requirement("workshop:near-duplicates")
def test_the_reviewer_can_overrule_the_gate_for_near_duplicates(bench: Bench) -> None:
    bench.encoder = "bundled"
    description = "Files supplier invoices in the accounting system with the right cost centre."
    bench.world.skill("invoice-filing", description=description, body="## Workflow\n\n- Open.\n")
    answer = {**MEDIA, "skillName": "supplier-invoices", "description": description}
    bench.reviewing()
    bench.reviewer.answers(answer)
    gated = bench.say("File the invoices of the supplier.")
    bench.reviewer.answers({**answer, "overrule": True})
    overruled = bench.say("File the invoices of the supplier.")

    assert [(item["skillName"], item["change"]["kind"]) for item in gated] == [
        ("invoice-filing", "append")
    ]
    assert [(item["skillName"], item["change"]["kind"]) for item in overruled] == [
        ("supplier-invoices", "create")
    ]
