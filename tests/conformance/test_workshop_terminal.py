"""`prowess workshop`, the guidance for agents, the log, the scenarios, and what explains itself."""

import asyncio
import json
import logging
import os
import pty
import re
import subprocess
from pathlib import Path

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from prowess.agents import SkillsToolset

from .pseudo_terminal import on_terminal
from .workshop_bench import CORRECTION, SECRET, UNSAFE, Bench, settings_of
from .world import TIMEOUT_S, Json, World, command

SCENARIOS = Path(__file__).parents[2] / "qa" / "scenarios"
THREE = (
    "skill-workshop-animated-gif-autocreate",
    "skill-workshop-pending-approval",
    "skill-workshop-reviewer-autonomous",
)
SYMPTOMS = (
    "tool is unavailable",
    "no automatic proposal",
    "not captured",
    "reviewer",
    "not applied",
    "disappeared",
    "model misses it",
)


@pytest.fixture
def bench(world: World) -> Bench:
    return Bench(world, encoder="none")


def workshop(bench: Bench, *words: str) -> Json:
    """`prowess workshop ... --json`, which works."""
    result = bench.world.run("workshop", *words, "--json").calm()
    assert result.code == 0, str(result)
    return result.json


@pytest.mark.requirement("workshop:terminal-cycle")
def test_a_proposal_goes_its_whole_way_in_the_terminal(bench: Bench) -> None:
    words = ("--skill", "Some Job", "--description", "Some job.", "--body", "- One $1.")
    made = workshop(bench, "suggest", *words)["proposal"]
    listed = workshop(bench, "list")["proposals"]
    revised = workshop(bench, "revise", made["id"], "--body", "- Two.")["proposal"]
    applied = workshop(bench, "apply", made["id"], "--yes", "--revision", revised["revision"])
    after = bench.text_of("some-job")
    events = workshop(bench, "history", "some-job")["events"]
    workshop(bench, "rollback", "some-job", "--yes")
    rejected = workshop(bench, "reject", made["id"])

    assert [item["id"] for item in listed] == [made["id"]]
    assert applied["status"] == "applied"
    assert after.endswith("- Two.\n")
    assert [event["type"] for event in events] == ["created", "revised", "applied"]
    assert rejected["status"] == "rejected"
    assert not bench.file_of("some-job").exists()
    assert workshop(bench, "list", "--status", "rejected")["proposals"][0]["id"] == made["id"]
    assert workshop(bench, "list")["proposals"] == []


@pytest.mark.requirement("workshop:json-everywhere")
@pytest.mark.parametrize(
    "words",
    [
        ("show", "no-such"),
        ("apply", "no-such", "--yes"),
        ("reject", "no-such"),
        ("revise", "no-such", "--body", "- x"),
        ("rollback", "no-such", "--yes"),
        ("suggest", "--skill", "??", "--description", "d", "--body", "- x"),
        ("suggest", "--skill", "none", "--old", "a", "--new", "b"),
    ],
)
def test_refusals_are_one_sentence_or_one_json_object(bench: Bench, words: tuple[str, ...]) -> None:
    plain = bench.world.run("workshop", *words).one_sentence()
    program = bench.world.run("workshop", *words, "--json").calm()

    assert plain.code == program.code == 1
    assert program.json["error"]


@pytest.mark.requirement("workshop:show-diff")
def test_show_diff_prints_the_unified_diff_and_the_findings_with_lines(bench: Bench) -> None:
    bench.made("some-job", "## Workflow\n\n- Keep.\n- Old.\n")
    made = bench.suggest("some-job", oldText="- Old.", newText=f"- New.\n- {UNSAFE.strip()}")

    shown = bench.world.run("workshop", "show", made["id"], "--diff").calm().out
    program = workshop(bench, "show", made["id"], "--diff")

    for line in ("-- Old.", "+- New.", " - Keep.", "@@ "):
        assert any(row.startswith(line) for row in shown.splitlines()), shown
    assert program["diff"] in shown
    assert "shell-pipe-to-shell" in shown
    (finding,) = program["proposal"]["scanFindings"]
    place = bench.text_of("some-job").splitlines().index("- Old.") + 2
    assert finding["line"] == place
    assert f"{finding['file']}:{place}" in shown or f"line {place}" in shown


@pytest.mark.slow
@pytest.mark.requirement("workshop:show-diff")
def test_a_diff_is_coloured_where_colours_are_wanted_and_only_there(bench: Bench) -> None:
    made = bench.suggest("some-job", body="- Plain \x1b[31mred\x1b[0m text.")

    ours, theirs = pty.openpty()
    subprocess.run(
        command(("workshop", "show", made["id"], "--diff")),
        cwd=bench.world.workspace,
        env=bench.world.env({"NO_COLOR": None, "TERM": "xterm-256color"}),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        timeout=TIMEOUT_S,
        check=True,
    )
    coloured = os.read(ours, 65536).decode("utf-8")
    os.close(theirs)
    os.close(ours)
    plain = bench.world.run("workshop", "show", made["id"], "--diff").calm()

    assert re.search(r"\x1b\[[0-9;]*m\+- Plain", coloured), coloured
    assert "\x1b[31mred" not in coloured
    assert "\x1b" not in plain.out


@pytest.mark.requirement("workshop:show-diff")
def test_a_diff_is_against_the_live_file(bench: Bench) -> None:
    path = bench.world.skill("some-job", body="## Workflow\n\n- One.\n")
    made = bench.suggest("some-job", section="Workflow", body="- Two.")
    path.write_text(path.read_text(encoding="utf-8") + "- By hand.\n", encoding="utf-8")

    shown = bench.world.run("workshop", "show", made["id"], "--diff").calm()

    assert "By hand" in shown.text or "changed" in shown.text or "stale" in shown.text


@pytest.mark.requirement("workshop:asks-once")
def test_apply_needs_a_yes_where_nobody_can_be_asked(bench: Bench) -> None:
    made = bench.suggest("some-job")

    refused = bench.world.run("workshop", "apply", made["id"]).one_sentence()

    assert refused.code == 2
    assert "--yes" in refused.err
    assert bench.status_of(made) == "pending"


@pytest.mark.slow
@pytest.mark.requirement("workshop:asks-once")
@pytest.mark.parametrize(("answer", "status"), [("n", "pending"), ("y", "applied")])
def test_apply_asks_once_on_a_terminal(bench: Bench, answer: str, status: str) -> None:
    made = bench.suggest("some-job")

    drawn = on_terminal(bench.world, "workshop", "apply", made["id"], typed=f"{answer}\n")

    assert drawn.count("Write this to ") == drawn.count("/skills/some-job? [y/N]") == 1, drawn
    assert bench.status_of(made) == status


@pytest.mark.requirement("workshop:guidance")
def test_agents_are_told_in_a_short_block(bench: Bench) -> None:
    block = bench.runtime.workshop.guidance()

    assert block.startswith("<skill_workshop>")
    assert block.rstrip().endswith("</skill_workshop>")
    assert len(block) < 2000
    words = block.lower()
    for word in ("skill_workshop", "procedure", "facts", "correction", "pitfall", "transcript"):
        assert word in words
    assert "oldText" in block


@pytest.mark.requirement("workshop:guidance")
def test_an_agent_with_the_tool_is_told_how_to_use_it(bench: Bench) -> None:
    seen: list[AgentInfo] = []

    def model(_: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(info)
        return ModelResponse(parts=[TextPart("done")])

    def ask() -> AgentInfo:
        with bench.runtime.run(session="s1") as run:
            agent = Agent(FunctionModel(model), toolsets=[SkillsToolset(run)])
            asyncio.run(agent.run("Hello."))
        return seen[-1]

    told = ask()
    assert bench.runtime.workshop.guidance().strip() in str(told.instructions)
    assert "skill_workshop" in {tool.name for tool in told.function_tools}
    bench.world.config(settings_of({}, entry=False))
    told = ask()
    assert "skill_workshop" not in str(told.instructions)
    assert "skill_workshop" not in {tool.name for tool in told.function_tools}


@pytest.mark.requirement("workshop:guidance")
def test_one_line_of_the_guidance_differs_by_policy(bench: Bench) -> None:
    queueing = bench.runtime.workshop.guidance().splitlines()
    bench.configure(approvalPolicy="auto")
    applying = bench.runtime.workshop.guidance().splitlines()

    differing = [pair for pair in zip(queueing, applying, strict=True) if pair[0] != pair[1]]
    assert len(differing) == 1
    assert "queue" in differing[0][0].lower()
    assert "appl" in differing[0][1].lower()


@pytest.mark.requirement("workshop:guidance")
def test_agents_are_told_nothing_where_it_is_off(bench: Bench) -> None:
    bench.world.config(settings_of({}, entry=False))

    with bench.runtime.run(session="s1") as run:
        assert "skill_workshop" not in run.prompt
    assert bench.runtime.workshop.guidance() == ""


@pytest.mark.requirement("workshop:logs")
def test_the_log_says_what_became_of_proposals(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", logger="prowess")

    bench.suggest("queued-job")
    bench.made("applied-job")
    bench.suggest("bad-job", body=UNSAFE)
    bench.say(f"From now on, always use the token {SECRET} for the page.")

    lines = [record.getMessage() for record in caplog.records]
    for line in ("queued queued-job", "applied applied-job", "quarantined bad-job"):
        assert f"skill-workshop: {line}" in lines
    skipped = [line for line in lines if "heuristic capture skipped" in line]
    assert len(skipped) == 1
    assert skipped[0].startswith("skill-workshop: heuristic capture skipped: ")
    assert SECRET not in skipped[0]


@pytest.mark.requirement("workshop:logs")
def test_the_log_is_structured(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", logger="prowess")
    plain = set(vars(logging.makeLogRecord({})))

    made = bench.suggest("queued-job")

    (record,) = [
        record
        for record in caplog.records
        if record.getMessage() == "skill-workshop: queued queued-job"
    ]
    extra = {key: value for key, value in vars(record).items() if key not in plain}
    assert "queued-job" in str(extra)
    assert made["id"] in str(extra)


@pytest.mark.requirement("workshop:logs")
def test_a_line_of_the_log_cannot_be_forged(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", logger="prowess")
    bench.reviewing()
    bench.reviewer.answers("no\nskill-workshop: applied forged-job\n\x1b[31m")

    bench.say("What time is it in Bergen, please?")

    for record in caplog.records:
        assert "\n" not in record.getMessage()
        assert "\x1b" not in record.getMessage()


@pytest.mark.requirement("workshop:explain")
def test_every_symptom_of_the_document_is_answered(bench: Bench) -> None:
    shown = bench.world.run("workshop", "status", "--explain").calm()
    symptoms = workshop(bench, "status", "--explain")["symptoms"]

    assert shown.code == 0
    for symptom in SYMPTOMS:
        assert symptom in shown.out.lower(), symptom
    assert len(symptoms) == len(SYMPTOMS)
    assert all(item["finding"] for item in symptoms)


def explained(bench: Bench, symptom: int) -> Json:
    found = workshop(bench, "status", "--explain")["symptoms"][symptom]
    assert isinstance(found, dict)
    return found


@pytest.mark.requirement("workshop:explain")
@pytest.mark.parametrize(
    ("config", "symptom", "word"),
    [
        (settings_of({}, entry=False), 0, "enabled"),
        (settings_of({"enabled": False}), 0, "enabled"),
        (settings_of({"autoCapture": False}), 1, "autoCapture"),
        (settings_of({"reviewMode": "off"}), 1, "reviewMode"),
        (settings_of({"reviewMode": "llm"}), 2, "reviewMode"),
        (settings_of({"reviewMode": "heuristic"}), 3, "reviewMode"),
    ],
)
def test_the_setting_that_is_to_blame_is_named(
    bench: Bench, config: Json, symptom: int, word: str
) -> None:
    bench.world.config(config)

    answer = explained(bench, symptom)

    assert word in answer["finding"]
    assert answer["fine"] is False


@pytest.mark.requirement("workshop:explain")
def test_what_became_of_proposals_is_explained(bench: Bench) -> None:
    bench.configure(maxPending=1)
    bench.suggest("one-job")
    bench.suggest("two-job")

    waiting, gone = explained(bench, 4), explained(bench, 5)

    assert "pending" in waiting["finding"]
    assert "1" in waiting["finding"]
    assert gone["fine"] is False
    assert "pruned" in gone["finding"]
    bench.suggest("bad-job", body=UNSAFE)
    assert "quarantined" in explained(bench, 5)["finding"]


@pytest.mark.requirement("workshop:explain")
def test_why_the_last_review_led_to_nothing_is_explained(bench: Bench) -> None:
    bench.reviewing()
    bench.say("Is banner.gif animated?")
    nothing = explained(bench, 3)["finding"]
    bench.reviewer.answers("no JSON at all")
    bench.say("Is banner.gif animated?")
    nonsense = explained(bench, 3)

    assert "none" in nothing or "no update" in nothing or "nothing" in nothing
    assert nonsense["fine"] is False
    assert nonsense["finding"] != nothing


@pytest.mark.requirement("workshop:explain")
def test_why_a_correction_was_not_captured_is_explained(bench: Bench) -> None:
    bench.say("Please do it in another way from here on out.")

    answer = explained(bench, 2)

    assert "next time" in answer["finding"] + answer["advice"]


@pytest.mark.requirement("workshop:explain")
def test_a_written_skill_that_the_model_misses_is_explained(bench: Bench) -> None:
    bench.made("some-job")
    assert explained(bench, 6)["fine"] is True
    config = bench.world.read_config()
    config["skills"]["entries"] = {"some-job": {"enabled": False}}
    bench.world.config(config)

    answer = explained(bench, 6)

    assert answer["fine"] is False
    assert "some-job" in answer["finding"]


@pytest.mark.slow
@pytest.mark.requirement("workshop:scenarios")
def test_the_three_scenarios_of_the_document_pass_together(world: World) -> None:
    chosen = [word for name in THREE for word in ("--scenario", name)]

    result = world.run(
        "qa", "suite", *chosen, "--concurrency", "2", "--folder", SCENARIOS, "--json"
    ).calm()

    assert result.code == 0, str(result)
    for name in THREE:
        assert name in result.out


@pytest.mark.requirement("workshop:scenarios")
def test_a_scenario_that_goes_wrong_fails(world: World) -> None:
    text = (SCENARIOS / "plugins" / f"{THREE[1]}.yaml").read_text(encoding="utf-8")
    folder = world.root / "scenarios"
    world.file(folder / "wrong.yaml", text.replace("status: pending", "status: applied"))

    wrong = world.run("qa", "suite", "--scenario", "wrong", "--folder", folder).calm()
    missing = world.run("qa", "suite", "--scenario", "no-such", "--folder", folder).one_sentence()

    assert wrong.code == 1
    assert missing.code in {1, 2}


@pytest.mark.slow
@pytest.mark.requirement("workshop:scenarios")
def test_scenarios_touch_nothing_of_ones_own(world: World) -> None:
    before = sorted(str(path) for path in world.root.rglob("*"))

    world.run("qa", "suite", "--scenario", THREE[0], "--folder", SCENARIOS).calm()

    assert sorted(str(path) for path in world.root.rglob("*")) == before


@pytest.mark.requirement("workshop:transcripts", "workshop:terminal-cycle")
def test_a_big_transcript_of_many_corrections_stays_within_the_limits(bench: Bench) -> None:
    bench.configure(maxPending=3)
    lines = [
        {"role": role, "content": text}
        for number in range(300)
        for role, text in (
            ("user", f"Next time, have a good look at thing number {number} before lunch."),
            ("assistant", "x" * 500),
        )
    ]
    path = bench.world.file(
        bench.world.root / "chat.jsonl", "".join(json.dumps(line) + "\n" for line in lines)
    )

    result = bench.world.run("workshop", "capture", path, "--json").calm()

    assert result.code == 0, str(result)
    assert result.json["messages"] == 600
    assert len(bench.proposals()) <= 3


@pytest.mark.requirement("workshop:terminal-cycle")
def test_text_for_a_suggestion_may_come_from_a_file(bench: Bench) -> None:
    body = bench.world.file(bench.world.root / "body.md", "## Workflow\n\n- `$1` \\1 æ.\n")
    words = ("--skill", "some-job", "--description", "d", "--body-file", str(body), "--apply")

    assert workshop(bench, "suggest", *words)["status"] == "applied"
    assert bench.text_of("some-job").endswith("## Workflow\n\n- `$1` \\1 æ.\n")


@pytest.mark.requirement("workshop:terminal-cycle")
def test_a_person_is_shown_what_waits(bench: Bench) -> None:
    bench.say(CORRECTION)
    shown = bench.world.run("workshop", "list").calm().out

    assert "animated-gif-workflow" in shown
    assert "agent_end" in shown
