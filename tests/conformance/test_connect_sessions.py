"""`prowess sessions`: what skills did in real sessions, and what was missed in them."""

import json
import os
import re
from pathlib import Path

import pytest

from .connect_bench import (
    CORRECTION,
    DAY_S,
    GIF_DESCRIPTION,
    TAX,
    TAX_DESCRIPTION,
    Transcript,
    holding,
    learning,
    missed,
    stamp,
    two_skills,
    words_only,
)
from .workshop_bench import SECRET
from .world import Json, World

BY_HAND = "I typed every field by hand."
COMMAND = (
    "<command-message>pdf-forms</command-message>\n<command-name>/pdf-forms</command-name>\n"
    "<command-args></command-args>"
)


@pytest.fixture
def home(world: World) -> World:
    world.config(words_only())
    two_skills(world)
    return world


def listed(world: World, session: str = "6f6f6f6f-0000-4000-8000-000000000001") -> Transcript:
    """A session in which the model was told of both skills."""
    made = Transcript(world, session=session)
    return made.lists(pdf_forms=TAX_DESCRIPTION, gif_maker=GIF_DESCRIPTION)


def numbers(world: World, *words: str) -> dict[str, Json]:
    """The row of each skill."""
    return {row["name"]: row for row in world.document("sessions", *words)["skills"]}


@pytest.mark.requirement("connect:missed", "connect:readers", "connect:counts")
def test_a_skill_that_was_listed_and_not_used_and_then_corrected_was_missed(home: World) -> None:
    session = listed(home).says(TAX).answers(BY_HAND).says(CORRECTION).answers("Sorry.")
    path = session.saved()

    document = home.document("sessions")

    (found,) = [item for item in document["missed"] if item["kind"] == "missed"]
    assert (found["skill"], found["harness"]) == ("pdf-forms", "claude-code")
    assert (found["sessionId"], found["path"]) == (session.session, str(path))
    assert found["prompt"] == TAX
    assert found["proof"]["prompt"] == CORRECTION
    reasons = " ".join(found["reasons"])
    assert "listed" in reasons
    assert re.search(r"[01]\.\d\d", reasons), "how sure the router was"
    assert "the next message " in reasons
    row = numbers(home)["pdf-forms"]
    assert (row["used"], row["missed"]) == (0, 1)
    assert row["listed"] >= 1
    assert row["routed"] >= 1


@pytest.mark.requirement("connect:missed")
@pytest.mark.parametrize(
    "later", [COMMAND, "/pdf-forms", "use the pdf-forms skill", "please use pdf-forms for that"]
)
def test_a_skill_that_the_person_had_to_call_was_missed(home: World, later: str) -> None:
    listed(home).says(TAX).answers(BY_HAND).says(later).uses("pdf-forms").answers("Done.").saved()

    assert ("missed", "pdf-forms") in missed(home)


@pytest.mark.requirement("connect:missed")
def test_the_correction_may_come_with_the_second_message(home: World) -> None:
    session = listed(home).says(TAX).answers(BY_HAND).says("show me the result").answers("Here.")
    session.says(CORRECTION).answers("Sorry.").saved()

    assert ("missed", "pdf-forms") in missed(home)


@pytest.mark.requirement("connect:not-missed")
def test_a_skill_that_was_used_was_not_missed(home: World) -> None:
    session = listed(home).says(TAX).uses("pdf-forms").answers("Done.")
    session.says(CORRECTION).answers("Sorry.").saved()

    row = numbers(home)["pdf-forms"]
    assert "pdf-forms" not in [skill for kind, skill in missed(home) if kind == "missed"]
    assert row["used"] == 1
    assert row["corrected"] == 1


@pytest.mark.requirement("connect:not-missed", "connect:counts")
@pytest.mark.parametrize("how", ["attribution", "attachment", "split"])
def test_every_sign_of_use_counts_once(home: World, how: str) -> None:
    session = listed(home).says(TAX)
    if how == "attachment":
        invoked = {"name": "pdf-forms", "path": "p", "content": "c"}
        session.line("attachment", attachment={"type": "invoked_skills", "skills": [invoked]})
    elif how == "split":
        session.uses("pdf-forms").uses("pdf-forms")
    session.answers("Done.", attributionSkill="pdf-forms")
    session.says(CORRECTION).answers("Sorry.").saved()

    assert numbers(home)["pdf-forms"]["used"] == 1
    assert "missed" not in [kind for kind, _ in missed(home)]


@pytest.mark.requirement("connect:not-missed")
def test_a_skill_that_was_not_listed_was_not_missed(home: World) -> None:
    session = Transcript(home).lists(gif_maker=GIF_DESCRIPTION)
    session.says(TAX).answers(BY_HAND).says(CORRECTION).answers("Sorry.").saved()

    assert missed(home) == []


@pytest.mark.requirement("connect:not-missed")
def test_where_nobody_complained_it_is_at_most_probable(home: World) -> None:
    session = listed(home).says(TAX).answers(BY_HAND)
    session.says("thanks, that is all").answers("Bye.").saved()

    assert "missed" not in [kind for kind, _ in missed(home)]


@pytest.mark.requirement("connect:not-missed")
def test_a_correction_of_something_else_is_no_missed_skill(home: World) -> None:
    session = listed(home).says("what is the capital of France?").answers("Lyon.")
    session.says("No, that is wrong, it is Paris.").answers("Sorry.").saved()

    assert missed(home) == []


@pytest.mark.requirement("connect:not-missed", "connect:tolerant")
def test_what_is_no_prompt_of_a_person_is_not_counted(home: World) -> None:
    session = listed(home)
    session.says(TAX, isSidechain=True).answers(BY_HAND, isSidechain=True)
    session.says(TAX, isMeta=True).says(TAX, isCompactSummary=True)
    session.says("<local-command-stdout>fill in the tax form pdf</local-command-stdout>")
    session.says("hello").answers("Hello.").saved()

    (found,) = home.document("sessions")["sessions"]
    assert found["prompts"] == 1
    assert missed(home) == []


@pytest.mark.requirement("connect:not-missed")
def test_a_branch_that_was_left_does_not_count(home: World) -> None:
    session = listed(home).says("hello").answers("Hello.")
    fork = session.last
    session.says(TAX).answers(BY_HAND).says(CORRECTION).answers("Sorry.")
    session.last = fork
    session.says("what is the capital of France?").answers("Paris.").saved()

    assert missed(home) == []


@pytest.mark.requirement("connect:tolerant", "connect:readers")
def test_lines_that_nobody_knows_do_not_hide_the_rest(home: World) -> None:
    session = listed(home).raw("{torn").raw("").raw("[]").raw("null").raw('{"type": "novelty"}')
    session.raw("[" * 100_000).raw('{"type": "user", "message": 5}').raw("\x00\x01")
    session.raw(json.dumps({"type": "user", "uuid": "x", "message": {"role": "user"}}))
    session.says(TAX).raw("x" * 300_000).answers(BY_HAND).says(CORRECTION).answers("Sorry.")
    path = session.saved()
    path.write_bytes(path.read_bytes() + b'\xff\xfe{"type": "user"')
    home.file(path.with_name("empty.jsonl"), "")
    home.file(path.with_name("noise.jsonl"), os.urandom(5000))

    document = home.document("sessions")

    assert ("missed", "pdf-forms") in [(m["kind"], m["skill"]) for m in document["missed"]]
    assert sum(document["skipped"].values()) >= 3


@pytest.mark.requirement("connect:tolerant")
def test_a_link_out_of_the_sessions_is_not_followed(home: World) -> None:
    outside = listed(home).says(TAX).answers(BY_HAND).says(CORRECTION).saved("elsewhere")
    home.link(home.home / ".claude" / "projects" / "p" / "linked.jsonl", outside)

    assert home.document("sessions")["sessions"] == []


@pytest.mark.requirement("connect:since")
def test_only_sessions_since_then_are_shown(home: World) -> None:
    for number, days in enumerate((0.5, 6, 20, 200)):
        session = Transcript(home, session=f"6f6f6f6f-0000-4000-8000-00000000000{number}")
        session.days_ago = days
        session.lists(pdf_forms=TAX_DESCRIPTION).says(TAX).answers(BY_HAND).saved()

    counts = [
        len(home.document("sessions", *words)["sessions"])
        for words in ((), ("--since", "1d"), ("--since", "4w"), ("--since", "all"))
    ]

    assert counts == [2, 1, 3, 4]
    for wrong in ("soon", "-3d", "7x", "1e9d"):
        assert home.run("sessions", "--since", wrong).one_sentence().code == 2


@pytest.mark.requirement("connect:sessions-masked")
def test_secrets_in_prompts_are_shown_to_nobody(home: World) -> None:
    session = listed(home).says(f"{TAX} with token {SECRET}").answers(f"{BY_HAND} {SECRET}")
    session.says(f"{CORRECTION} {SECRET}").answers("Sorry.").saved()
    target = home.root / "triggers.json"

    for words in (("--json",), (), ("--missed",), ("--export", str(target))):
        result = home.run("sessions", *words).calm()
        assert "pdf-forms" in result.out
        assert SECRET not in result.text

    assert holding(home.state, SECRET) == []
    # A test with a hole where the secret was would be none, so there need not be one.
    assert not target.exists() or SECRET not in target.read_text(encoding="utf-8")


@pytest.mark.requirement("connect:missed")
def test_people_read_why_it_was_missed(home: World) -> None:
    listed(home).says(TAX).answers(BY_HAND).says(CORRECTION).answers("Sorry.").saved()

    shown = home.run("sessions", "--missed").calm()

    assert shown.code == 1
    for part in ("pdf-forms", TAX, "listed", "field by field"):
        assert part in shown.out


@pytest.mark.requirement("connect:missed")
def test_text_of_a_session_cannot_drive_the_terminal(home: World) -> None:
    session = listed(home).says(f"{TAX} \x1b]0;owned\x07\x1b[2J\u202e").answers(BY_HAND)
    session.says(CORRECTION).answers("Sorry.").saved()

    shown = home.run("sessions").calm()

    assert "pdf-forms" in shown.out
    assert not re.search(r"[\x1b\x07\u202e]", shown.out)


@pytest.mark.requirement("connect:triggers")
def test_missed_activations_become_tests_that_eval_runs(home: World) -> None:
    listed(home).says(TAX).answers(BY_HAND).says(CORRECTION).answers("Sorry.").saved()
    target = home.root / "triggers.json"

    exported = home.run("sessions", "--export", target).calm()
    evaluated = home.document("eval", target)

    assert exported.code in {0, 1}
    assert {"prompt": TAX, "expect": "pdf-forms"}.items() <= _first_case(target).items()
    assert evaluated["total"]["cases"] == 1
    assert evaluated["total"]["passed"] == 1.0


def _first_case(path: Path) -> Json:
    (case,) = json.loads(path.read_text(encoding="utf-8"))["cases"]
    assert isinstance(case, dict)
    return case


@pytest.mark.requirement("connect:triggers")
def test_an_export_writes_over_nothing(home: World) -> None:
    listed(home).says(TAX).answers(BY_HAND).says(CORRECTION).answers("Sorry.").saved()
    target = home.file(home.root / "triggers.json", "mine")

    refused = home.run("sessions", "--export", target).calm()
    kept = target.read_text(encoding="utf-8")
    forced = home.run("sessions", "--export", target, "--force").calm()

    assert refused.code in {1, 2}
    assert "--force" in refused.err
    assert kept == "mine"
    assert forced.code in {0, 1}
    assert _first_case(target)["expect"] == "pdf-forms"


@pytest.mark.requirement("connect:corrections")
def test_a_correction_becomes_one_proposal_with_its_evidence(home: World) -> None:
    home.config(learning())
    session = listed(home).says(TAX).answers(BY_HAND).says(CORRECTION).answers("Sorry.")
    session.saved()

    for _ in range(2):
        learned = home.run("sessions", "--learn", "--json").calm()
        assert learned.code in {0, 1}
    (proposal,) = home.document("workshop", "list")["proposals"]

    assert proposal["sessionId"] == session.session
    assert any("field by field" in item["quote"] for item in proposal["evidence"])
    assert proposal["status"] == "pending"
    assert "field by field" not in (home.skills / "pdf-forms" / "SKILL.md").read_text("utf-8")


@pytest.mark.requirement("connect:corrections")
@pytest.mark.parametrize("words", [(), ("--dry-run",)], ids=["off", "dry"])
def test_nothing_is_kept_where_the_workshop_is_off_or_it_is_dry(
    home: World, words: tuple[str, ...]
) -> None:
    if words:
        home.config(learning())
    listed(home).says(TAX).answers(BY_HAND).says(CORRECTION).answers("Sorry.").saved()

    shown = home.run("sessions", "--learn", *words, "--json").calm()

    assert shown.code in {0, 1}
    assert "field by field" in shown.out
    assert home.document("workshop", "list", "--status", "all")["proposals"] == []


@pytest.mark.requirement("connect:readers", "connect:missed")
@pytest.mark.parametrize("archived", [False, True], ids=["sessions", "archived"])
def test_sessions_of_codex_are_read(world: World, *, archived: bool) -> None:
    world.config(words_only())
    # Codex does not write down what it listed: it is what lies in its folders.
    two_skills(world, world.project)
    _codex(world, archived=archived)

    document = world.document("sessions", "--harness", "codex")

    (session,) = document["sessions"]
    assert (session["harness"], session["prompts"]) == ("codex", 2)
    assert session["cwd"] == str(world.workspace)
    assert ("missed", "pdf-forms") in [(m["kind"], m["skill"]) for m in document["missed"]]


@pytest.mark.requirement("connect:not-missed")
def test_a_skill_where_codex_does_not_look_was_not_missed_there(home: World) -> None:
    _codex(home, archived=False)

    assert missed(home) == []


def _codex(world: World, *, archived: bool) -> None:
    def said(role: str, text: str) -> Json:
        kind = "input_text" if role == "user" else "output_text"
        content = [{"type": kind, "text": text}]
        return {
            "type": "response_item",
            "payload": {"type": "message", "role": role, "content": content},
        }

    meta = {
        "id": "0199aaaa-0000-7000-8000-000000000001",
        "session_id": "0199aaaa-0000-7000-8000-000000000001",
        "timestamp": stamp(0.1),
        "cwd": str(world.workspace),
        "originator": "codex_cli_rs",
        "cli_version": "0.145.0",
        "source": "cli",
        "git": {},
    }
    call = {"type": "function_call", "name": "shell", "call_id": "c1"}
    lines: list[Json] = [
        {"type": "session_meta", "payload": meta},
        said("user", "<environment_context>\n<cwd>/repo</cwd>\n</environment_context>"),
        {"type": "turn_context", "payload": {"cwd": str(world.workspace)}},
        said("user", TAX),
        {"type": "response_item", "payload": {**call, "arguments": '{"command": ["ls"]}'}},
        {"type": "event_msg", "payload": {"type": "token_count", "info": None}},
        {"type": "mystery", "payload": []},
        said("assistant", BY_HAND),
        said("user", CORRECTION),
        said("assistant", "Sorry."),
    ]
    text = "".join(
        json.dumps({"timestamp": stamp(0.1, number), **line}) + "\n"
        for number, line in enumerate(lines)
    )
    root = world.home / ".codex"
    folder = root / "archived_sessions" if archived else root / "sessions" / "2026" / "11" / "15"
    name = "rollout-2026-11-15T09-00-00-0199aaaa-0000-7000-8000-000000000001.jsonl"
    world.file(folder / name, text)


@pytest.mark.requirement("connect:readers")
def test_sessions_of_gemini_are_read(home: World) -> None:
    two_skills(home, home.project)
    said = [("user", TAX), ("gemini", BY_HAND), ("user", CORRECTION), ("gemini", "Sorry.")]
    messages = [
        {"id": f"m{number}", "timestamp": stamp(0.1, number), "type": kind, "content": text}
        for number, (kind, text) in enumerate(said)
    ]
    chat = {
        "sessionId": "9e9e9e9e-0000-4000-8000-000000000001",
        "projectHash": "ab" * 32,
        "startTime": stamp(0.1),
        "lastUpdated": stamp(0.1, 9),
        "messages": messages,
    }
    folder = home.home / ".gemini" / "tmp" / ("ab" * 32) / "chats"
    home.file(folder / "session-2026-11-15T09-00-9e9e9e9e.json", json.dumps(chat))

    (session,) = home.document("sessions", "--harness", "gemini")["sessions"]

    assert (session["harness"], session["prompts"]) == ("gemini", 2)


@pytest.mark.requirement("connect:readers")
def test_one_session_can_be_asked_for(home: World) -> None:
    ids = [f"{letter * 8}-0000-4000-8000-000000000001" for letter in "ab"]
    for name in ids:
        listed(home, session=name).says(TAX).answers(BY_HAND).saved()

    (found,) = home.document("sessions", "--session", ids[0][:8])["sessions"]
    nobody = home.run("sessions", "--session", "ffffffff").calm()

    assert found["id"] == ids[0]
    assert nobody.code == 1


@pytest.mark.requirement("connect:readers", "connect:since")
def test_a_person_without_sessions_is_told_so(home: World) -> None:
    shown = home.run("sessions").calm()

    assert shown.code == 0
    assert re.search(r"no sessions|sessions .*: 0|nothing", shown.text, re.IGNORECASE)
    assert home.document("sessions")["sessions"] == []


@pytest.mark.requirement("connect:since", "connect:tolerant")
def test_times_that_are_none_do_not_hide_a_session(home: World) -> None:
    session = listed(home).says(TAX).answers(BY_HAND)
    session.lines = [re.sub(r'"timestamp": "[^"]*"', '"timestamp": 5', x) for x in session.lines]
    path = session.saved()
    moment = path.stat().st_mtime + DAY_S / 100
    os.utime(path, (moment, moment))

    assert len(home.document("sessions")["sessions"]) == 1
