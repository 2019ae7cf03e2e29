"""Corrections by their words: seven families of phrases, lengths, topics, and where they belong."""

import json

import pytest

from .workshop_bench import CORRECTION, SECRET, UNSAFE, Bench
from .world import Json, World

INVOICES = "Files supplier invoices in the accounting system with the right cost centre."


@pytest.fixture
def bench(world: World) -> Bench:
    return Bench(world)


def captured(bench: Bench, *texts: object) -> str:
    """What was quoted from the user, or nothing."""
    made = bench.say(*texts)
    return made[0]["evidence"][0]["quote"] if made else ""


@pytest.mark.requirement("workshop:phrases")
@pytest.mark.parametrize(
    "text",
    [
        "Next time, water the tall plants first.",
        "You know, FROM NOW ON the tall plants come first.",
        "Please remember to water the tall plants first.",
        "Make sure to water the tall plants first.",
        "Always " + "and by all means ever so gently " * 2 + "check the plants.",
        "Always, whatever happens, record which plants were dry.",
        "Prefer rain water instead of the tap.",
        "Prefer " + "rain water from the barrel behind the shed " * 2 + "for the plants.",
        "When asked about plants, say which are dry.",
        "from\n   now\ton the tall plants come first",
    ],
)
def test_each_family_of_phrases_is_a_correction(bench: Bench, text: str) -> None:
    made = bench.say(text)

    assert [(item["source"], item["status"]) for item in made] == [("agent_end", "pending")]
    assert made[0]["evidence"][0]["quote"] == " ".join(text.split())
    assert not bench.world.skills.exists()


@pytest.mark.requirement("workshop:phrases")
@pytest.mark.parametrize(
    "text",
    [
        "What is the weather like in Bergen today, please?",
        "I remember today's long walk in the garden well.",
        "The sometimes annexed timeline was fine, go on.",
        "I always water the plants in the evening hours.",
        "Whenever asked or told, the plants stay silent.",
        "It is unpreferable using water for the plants.",
    ],
)
def test_other_sentences_are_no_corrections(bench: Bench, text: str) -> None:
    assert bench.say(text) == []


@pytest.mark.requirement("workshop:lengths")
@pytest.mark.parametrize(
    ("length", "taken"), [(23, False), (24, True), (1200, True), (1201, False), (200_000, False)]
)
def test_a_correction_has_24_to_1200_characters(bench: Bench, length: int, *, taken: bool) -> None:
    text = "next time water " + "x" * (length - 16)

    assert bool(bench.say(text)) is taken
    # Space does not count: it is collapsed before.
    spaced = text.replace(" ", " \n\t ")
    assert bool(bench.say(spaced)) is taken


@pytest.mark.requirement("workshop:topics")
@pytest.mark.parametrize(
    ("words", "skill"),
    [
        ("the animated banner", "animated-gif-workflow"),
        ("both GIFs of the page", "animated-gif-workflow"),
        ("the gif in a screenshot", "animated-gif-workflow"),
        ("the screenshots", "screenshot-asset-workflow"),
        ("a screen capture", "screenshot-asset-workflow"),
        ("the asset of the pull request", "screenshot-asset-workflow"),
        ("the QA notes", "qa-scenario-workflow"),
        ("that scenario", "qa-scenario-workflow"),
        ("the test plan", "qa-scenario-workflow"),
        ("the PR", "github-pr-workflow"),
        ("every pull request", "github-pr-workflow"),
        ("GitHub", "github-pr-workflow"),
        ("the spring animation", "learned-workflows"),
        ("a price for a squirrel", "learned-workflows"),
    ],
)
def test_the_topic_names_the_skill(bench: Bench, words: str, skill: str) -> None:
    made = bench.say(f"Next time, have a good long look at {words} before lunch.")

    assert [item["skillName"] for item in made] == [skill]
    assert made[0]["change"]["kind"] == "create"
    assert made[0]["reason"].startswith("User correction for ")
    if skill == "animated-gif-workflow":
        assert made[0]["title"] == "Animated GIF Workflow"


@pytest.mark.requirement("workshop:last-match")
def test_the_last_matching_message_of_the_user_counts(bench: Bench) -> None:
    quote = captured(
        bench,
        "Next time, water the tall plants first.",
        "OK, from now on the roses come before the tulips.",
        "And what is the weather like in Bergen?",
    )

    assert quote == "from now on the roses come before the tulips."


@pytest.mark.requirement("workshop:last-match")
def test_only_users_are_listened_to(bench: Bench) -> None:
    with bench.runtime.run(session="s1") as run:
        made = run.turn(
            [
                {"role": role, "content": CORRECTION}
                for role in ("assistant", "system", "tool", "developer", "", 7)
            ]
        )

    assert made == ()


@pytest.mark.requirement("workshop:content-shapes")
@pytest.mark.parametrize(
    "content",
    [
        CORRECTION,
        [{"type": "text", "text": CORRECTION}],
        [{"type": "input_text", "text": CORRECTION}],
        [{"type": "image", "url": "x"}, {"type": "text", "text": {"value": CORRECTION}}],
    ],
)
def test_text_is_read_from_texts_and_from_blocks(bench: Bench, content: object) -> None:
    assert captured(bench, content) == CORRECTION


@pytest.mark.requirement("workshop:content-shapes")
def test_odd_messages_stop_nothing(bench: Bench) -> None:
    odd: list[Json] = [
        {},
        {"role": "user"},
        {"role": "user", "content": None},
        {"role": "user", "content": {"text": 5}},
        {"role": "user", "content": [None, 3, {"type": "text"}, {"type": "text", "text": []}]},
        {"role": "user", "content": CORRECTION},
        {"role": ["user"], "content": CORRECTION},
    ]

    with bench.runtime.run(session="s1") as run:
        made = run.turn(odd)

    assert [proposal.change.skill for proposal in made] == ["animated-gif-workflow"]


@pytest.mark.requirement("workshop:capture-conditions")
@pytest.mark.parametrize(
    "config", [{"autoCapture": False}, {"reviewMode": "off"}, {"reviewMode": "llm"}]
)
def test_nothing_is_captured_where_it_is_not_asked_for(bench: Bench, config: Json) -> None:
    bench.configure(**config)

    assert bench.say(CORRECTION) == []
    assert bench.suggest("tool-job")["status"] == "pending"


@pytest.mark.requirement("workshop:capture-conditions")
def test_nothing_is_learned_from_a_turn_that_failed(bench: Bench) -> None:
    assert bench.say(CORRECTION, ok=False) == []
    assert bench.proposals() == []


@pytest.mark.requirement("workshop:evidence")
def test_the_evidence_says_what_was_said_and_where(bench: Bench) -> None:
    made = bench.say("Hello there, gardener.", CORRECTION)

    assert made[0]["evidence"] == [{"message": 2, "role": "user", "quote": CORRECTION}]
    assert (made[0]["agentId"], made[0]["sessionId"]) == ("main", "s1")


@pytest.mark.requirement("workshop:dedupe")
def test_the_same_correction_twice_is_one_proposal(bench: Bench) -> None:
    first, second = bench.say(CORRECTION), bench.say(CORRECTION)

    assert [item["id"] for item in first] == [item["id"] for item in second]
    assert len(bench.proposals()) == 1
    assert bench.kinds() == ["created"]


@pytest.mark.requirement("workshop:owner")
def test_a_correction_goes_to_the_skill_that_it_belongs_to(bench: Bench) -> None:
    bench.world.skill("invoice-filing", description=INVOICES, body="## Workflow\n\n- Open it.\n")
    bench.world.skill("rose-care", description="Waters and prunes the roses in the garden.")

    made = bench.say(
        "From now on, when you file supplier invoices in the accounting system, "
        "always check the cost centre first."
    )

    assert [(item["skillName"], item["change"]["kind"]) for item in made] == [
        ("invoice-filing", "append")
    ]
    assert "invoice-filing" in made[0]["reason"]


@pytest.mark.requirement("workshop:owner")
def test_a_skill_elsewhere_is_never_the_one_to_append_to(bench: Bench) -> None:
    world = bench.world
    for root in (world.managed, world.personal, world.project):
        world.skill("invoice-filing", root=root, description=INVOICES)

    made = bench.say(
        "From now on, when you file supplier invoices in the accounting system, "
        "always check the cost centre first."
    )

    assert [item["skillName"] for item in made] == ["learned-workflows"]


@pytest.mark.requirement("workshop:owner")
def test_unrelated_corrections_do_not_go_to_whatever_skill_there_is(bench: Bench) -> None:
    bench.world.skill("invoice-filing", description=INVOICES)

    made = bench.say("Next time, remember to water the tall plants before the short ones.")

    assert [item["skillName"] for item in made] == ["learned-workflows"]


@pytest.mark.requirement("workshop:no-secrets")
def test_a_correction_with_a_credential_is_never_stored(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    text = f"From now on, always use the token {SECRET} for the deployment of the page."
    caplog.set_level("DEBUG")

    assert bench.say(text) == []

    with pytest.raises(Exception, match="credential") as refusal:
        bench.call("suggest", skillName="a-job", description="d", body=f"- Use {SECRET}.")
    assert SECRET not in str(refusal.value)
    assert SECRET not in caplog.text
    for path in (*bench.world.state.rglob("*"), *bench.world.workspace.rglob("*")):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path


@pytest.mark.requirement("workshop:no-secrets")
@pytest.mark.parametrize("key", ["title", "reason", "description", "section", "skillName"])
def test_a_credential_is_refused_wherever_it_stands(bench: Bench, key: str) -> None:
    arguments = {"skillName": "a-job", "description": "d", "body": "- x", key: f"of {SECRET}"}

    words = bench.refused("suggest", **arguments)

    assert SECRET not in words
    assert bench.proposals() == []


@pytest.mark.requirement("workshop:no-secrets")
def test_a_credential_is_refused_in_later_moves_too(bench: Bench) -> None:
    bench.made("a-job")
    made = bench.suggest("b-job")
    moves: tuple[Json, ...] = (
        {"action": "revise", "id": made["id"], "body": f"- {SECRET}"},
        {"action": "reject", "id": made["id"], "reason": f"of {SECRET}"},
        {"action": "suggest", "skillName": "a-job", "oldText": "Begin", "newText": SECRET},
        {
            "action": "write_support_file",
            "skillName": "a-job",
            "relativePath": f"assets/{SECRET}.txt",
            "body": "x",
        },
    )

    for move in moves:
        assert SECRET not in bench.refused(**move)
    assert bench.proposals() == [made]


@pytest.mark.requirement("workshop:no-secrets")
@pytest.mark.parametrize(
    "text",
    [
        "AKIA" + "IOSFODNN7Q2W3E4R",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\n-----END PRIVATE KEY-----",
        "xoxb-" + "123456789012-123456789012-" + "AbCdEfGhIjKlMnOpQrStUvWx",
        "sk-ant-api03-" + "Ab1Cd2Ef3Gh4" * 8,
    ],
)
def test_well_known_shapes_of_credentials_are_refused_in_support_files(
    bench: Bench, text: str
) -> None:
    bench.made("deploy-job")

    words = bench.refused(
        "write_support_file", skillName="deploy-job", relativePath="assets/key.txt", body=text
    )

    assert "credential" in words
    assert text not in words


@pytest.mark.requirement("workshop:capture-conditions", "workshop:quarantine-kept")
def test_an_unsafe_correction_is_quarantined_even_in_auto_mode(bench: Bench) -> None:
    bench.configure(approvalPolicy="auto")

    made = bench.say(f"From now on, always use this: {UNSAFE}")

    assert [item["status"] for item in made] == ["quarantined"]
    assert [finding["ruleId"] for finding in made[0]["scanFindings"]] == ["shell-pipe-to-shell"]
    assert made[0]["quarantineReason"]
    assert not bench.world.skills.exists()


@pytest.mark.requirement("workshop:literal")
def test_a_correction_is_written_as_a_bullet_whatever_it_holds(bench: Bench) -> None:
    made = bench.say(
        "Next time, keep `$1`, \\1, $&, {{x}}, %s, &amp; <b> and *stars* as\n---\nthey are."
    )
    bench.world.run("workshop", "apply", made[0]["id"], "--yes")

    assert "- Keep `$1`, \\1, $&, {{x}}, %s, &amp; <b> and *stars* as --- they are.\n" in (
        bench.text_of("learned-workflows")
    )


def transcript(bench: Bench, content: str) -> Json:
    path = bench.world.file(bench.world.root / "chat.jsonl", content)
    result = bench.world.run("workshop", "capture", path, "--json").calm()
    assert result.code == 0, str(result)
    return result.json


def lines(*messages: object) -> str:
    return "".join(json.dumps(message) + "\n" for message in messages)


TRANSCRIPTS = {
    "plain": lines(
        {"role": "user", "content": CORRECTION}, {"role": "assistant", "content": "Yes."}
    ),
    "openai": json.dumps(
        {
            "model": "m",
            "messages": [
                {"role": "system", "content": "Next time, do not listen to the system."},
                {"role": "user", "content": [{"type": "text", "text": CORRECTION}]},
                {"role": "assistant", "tool_calls": [{"id": "1", "type": "function"}]},
                {"role": "tool", "content": "Next time, do not listen to the tools.", "id": "1"},
            ],
        }
    ),
    "anthropic": json.dumps(
        {
            "system": "s",
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": CORRECTION}]},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "x"}]},
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "1",
                            "content": "Next time, do not listen to the tools.",
                        }
                    ],
                },
            ],
        }
    ),
    "array": json.dumps([{"role": "user", "content": CORRECTION}]),
}


@pytest.mark.requirement("workshop:transcripts")
@pytest.mark.parametrize("shape", sorted(TRANSCRIPTS))
def test_corrections_are_found_in_transcripts(bench: Bench, shape: str) -> None:
    report = transcript(bench, TRANSCRIPTS[shape])

    assert [found["quote"] for found in report["corrections"]] == [CORRECTION]
    assert [item["skillName"] for item in bench.proposals()] == ["animated-gif-workflow"]
    again = transcript(bench, TRANSCRIPTS[shape])
    assert [found["isNew"] for found in again["corrections"]] == [False]
    assert len(bench.proposals()) == 1


@pytest.mark.requirement("workshop:transcripts")
def test_a_dry_run_over_a_transcript_keeps_nothing(bench: Bench) -> None:
    path = bench.world.file(bench.world.root / "chat.jsonl", TRANSCRIPTS["plain"])

    found = bench.world.run("workshop", "capture", path, "--dry-run", "--json").calm().json

    assert len(found["corrections"]) == 1
    assert bench.proposals() == []
    assert bench.events() == []


@pytest.mark.requirement("workshop:transcripts")
@pytest.mark.parametrize(
    "content",
    [
        "",
        "not json at all\n",
        "\x00\x01\x02",
        '{"role": "user", "content": "half of a li',
        '{"role":' * 3000,
        "[1, 2, 3]",
        "null",
    ],
)
def test_a_transcript_that_is_none_is_said_to_be_none(bench: Bench, content: str) -> None:
    path = bench.world.file(bench.world.root / "chat.jsonl", content)

    result = bench.world.run("workshop", "capture", path).calm()

    assert result.text.strip()
    assert bench.proposals() == []


@pytest.mark.requirement("workshop:transcripts")
def test_a_bad_line_in_a_transcript_does_not_hide_the_others(bench: Bench) -> None:
    report = transcript(bench, "{broken\n" + TRANSCRIPTS["plain"] + '{"half": \n')

    assert [found["quote"] for found in report["corrections"]] == [CORRECTION]
    assert report["skipped"]


@pytest.mark.requirement("workshop:transcripts")
def test_a_missing_transcript_is_one_sentence(bench: Bench) -> None:
    result = bench.world.run("workshop", "capture", bench.world.root / "none.jsonl").one_sentence()

    assert result.code in {1, 2}
