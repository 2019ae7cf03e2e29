"""`prowess sessions` on recorded sessions: what it reports, exports and learns."""

import json
import stat
from pathlib import Path
from typing import Any

import click
import pytest
from tests.integration.sessions_world import (
    CORRECTION,
    OTHER,
    PROMPT,
    SESSION_ID,
    SHOWN,
    SKILL,
    Machine,
    Recorder,
    recorded,
)

from prowess.cli.main import main
from prowess.cli.terminal import app
from prowess.errors import PathError
from prowess.host.evaluation import read_suites
from prowess.wiring import open_runtime
from prowess.workshop.proposal import State

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path)
    for name, value in made.environ.items():
        monkeypatch.setenv(name, value)
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(made.work)
    return made


def _text(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str]:
    capsys.readouterr()
    code = app.main(["sessions", "--since", "all", *args], standalone_mode=False)
    return code, capsys.readouterr().out


# Any JSON.
def _json(capsys: pytest.CaptureFixture[str], *args: str) -> Any:  # noqa: ANN401
    return json.loads(_text(capsys, *args, "--json")[1])


def test_the_missed_activation_is_reported_with_its_reason(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.claude([*recorded(str(machine.work)), '{"cut off'])

    report = _json(capsys)
    code, text = _text(capsys, "--missed")

    (miss,) = report["missed"]
    assert (miss["kind"], miss["skill"], miss["turn"]) == ("missed", "pdf-forms", 1)
    assert (miss["sessionId"], miss["harness"]) == (SESSION_ID, "claude-code")
    # Whole, so that it can be given back: two sessions of Codex may begin alike.
    assert f"claude-code {SESSION_ID}, prompt 1" in text
    assert miss["reasons"][0].startswith(f"listed with its description cut to {len(SHOWN)} of ")
    assert "sure" in miss["reasons"][1]
    assert miss["reasons"][2] == "the next message said how to work from now on"
    assert miss["proof"] == {"turn": 2, "prompt": CORRECTION}
    numbers = {one["name"]: one for one in report["skills"]}
    assert numbers["pdf-forms"] == {
        "name": "pdf-forms",
        "listed": 3,
        "routed": 2,
        "used": 1,
        "corrected": 0,
        "missed": 1,
        "probable": 0,
    }
    assert report["skipped"] == {"not JSON": 1}
    assert code == 1
    assert "the next message said how to work from now on" in text
    assert PROMPT in text


def test_the_correction_becomes_a_proposal_with_its_evidence_once(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.skill("pdf-forms", SKILL, folder="skills")
    machine.configure(workshop=True)
    machine.claude(recorded(str(machine.work)))

    first = _json(capsys, "--learn")["learned"]
    again = _json(capsys, "--learn")["learned"]

    (heard,) = first[0]["corrections"]
    assert (heard["isNew"], heard["quote"], heard["place"]) == (True, CORRECTION, "message 2")
    assert [one["isNew"] for one in again[0]["corrections"]] == [False]
    with open_runtime(machine.work) as runtime:
        (proposal,) = runtime.workshop.list()
    assert proposal.state is State.PENDING
    assert (proposal.skill, proposal.session_id) == ("pdf-forms", SESSION_ID)
    assert [one.quote for one in proposal.evidence] == [CORRECTION]


def test_with_the_workshop_off_learning_is_a_rehearsal(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.claude(recorded(str(machine.work)))

    code, text = _text(capsys, "--learn")

    assert code == 0
    assert "Nothing was kept" in text
    assert "prowess workshop enable" in text
    with open_runtime(machine.work) as runtime:
        assert runtime.workshop.list() == ()


@pytest.mark.parametrize("name", ["t.json", "t.jsonl", "t.yaml"])
def test_an_exported_suite_is_read_by_eval_and_is_private(
    machine: Machine, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    machine.claude(recorded(str(machine.work)))

    _text(capsys, "--export", name)

    (suite,) = read_suites(name).suites
    assert {case.prompt: case.expect for case in suite.cases} == {
        PROMPT: {"pdf-forms"},
        "thanks, now write the release notes for the last version": {"release-notes"},
    }
    assert stat.S_IMODE(Path(name).stat().st_mode) == 0o600
    assert main(["eval", name]) == 0
    with pytest.raises(PathError, match="--force"):
        _text(capsys, "--export", name)
    assert _text(capsys, "--export", name, "--force")[0] == 0


def test_secrets_are_hidden_on_the_screen_and_left_out_of_a_suite(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    recorder = Recorder(str(machine.work))
    recorder.typed(f"fill in the tax form pdf, my token: {SECRET}")
    recorder.listed({"pdf-forms": "Fill in PDF forms.", "release-notes": ""})
    recorder.said("done")
    recorder.typed("no, that is wrong")
    machine.claude(recorder.lines)

    code, text = _text(capsys, "--missed", "--export", "t.json")
    _, detail = _text(capsys, "--session", SESSION_ID, "--json")

    assert code == 1
    assert SECRET not in text + detail
    assert "****" in text
    assert "left out for a secret" in text
    assert not Path("t.json").exists()


def test_secrets_in_the_place_of_names_are_hidden_and_no_name_adds_a_line(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    recorder = Recorder(f"{machine.work}\nmissed activations: 99")
    recorder.typed(PROMPT)
    recorder.listed({SECRET: "Is none."})
    recorder.called("Skill", {"skill": SECRET})
    recorder.typed(f"/{SECRET} now")
    machine.claude(recorder.lines)

    shown = [_text(capsys, "--session", SESSION_ID, *more)[1] for more in ((), ("--json",))]

    assert SECRET not in "".join(shown)
    assert "used ****" in shown[0]
    assert "\nmissed activations: 99" not in shown[0]


def test_a_session_is_shown_prompt_by_prompt_by_the_beginning_of_its_id(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.claude(recorded(str(machine.work)))

    report = _json(capsys, "--session", SESSION_ID[:6])
    code, _ = _text(capsys, "--session", "nobody")

    (session,) = report["sessions"]
    assert [turn["used"] for turn in session["turns"]] == [[], ["pdf-forms"], ["release-notes"]]
    assert code == 1


def test_only_sessions_of_the_time_and_the_folder_that_were_asked_for_count(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.claude(recorded(str(machine.work)))
    elsewhere = machine.home / "elsewhere"
    elsewhere.mkdir()

    assert len(_json(capsys, "-w", str(machine.work))["sessions"]) == 1
    assert _json(capsys, "-w", str(elsewhere))["sessions"] == []
    assert _json(capsys, "--since", "2026-11-14T09:06:00Z")["missed"] == []
    assert len(_json(capsys, "--since", "2026-11-14T09:00:00Z")["missed"]) == 1
    assert _json(capsys, "--since", "2026-11-15")["sessions"] == []
    assert _json(capsys, "--harness", "codex")["sessions"] == []


def test_a_session_whose_folder_is_gone_is_counted_and_nothing_is_guessed(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.claude(recorded("/nowhere/at/all"))

    report = _json(capsys, "--learn")

    assert report["missed"] == []
    assert [one["used"] for one in report["skills"]] == [1, 1]
    assert any("folder is gone" in reason for reason in report["skipped"])
    assert report["learned"][0]["problem"] == "its folder is gone"


@pytest.mark.parametrize("below", ["", "src"])
def test_where_the_harness_logs_no_list_its_folders_count(
    machine: Machine, capsys: pytest.CaptureFixture[str], below: str
) -> None:
    (machine.work / below).mkdir(exist_ok=True)
    machine.skill("pdf-forms", SKILL, folder=".gemini/skills")
    machine.skill("release-notes", OTHER, folder=".gemini/skills")
    said = [
        {"id": "1", "type": "user", "content": PROMPT},
        {"id": "2", "type": "gemini", "content": "done"},
        {"id": "3", "type": "user", "content": "no, that is wrong"},
    ]
    machine.write(".gemini/tmp/w/.project_root", [str(machine.work / below)])
    machine.write(".gemini/tmp/w/chats/session-1.json", [{"sessionId": "g1", "messages": said}])

    (miss,) = _json(capsys)["missed"]

    assert (miss["skill"], miss["harness"], miss["kind"]) == ("pdf-forms", "gemini", "missed")
    assert "does not log" in miss["reasons"][0]


@pytest.mark.parametrize(
    "args",
    [
        ("--since", "soon"),
        ("--dry-run",),
        ("--force",),
        ("--export", "t.txt"),
        ("--harness", "cursor"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_read(
    machine: Machine, capsys: pytest.CaptureFixture[str], args: tuple[str, ...]
) -> None:
    machine.claude(recorded(str(machine.work)))

    with pytest.raises(click.UsageError):
        _text(capsys, *args)


def test_nothing_at_all_is_an_answer(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = _text(capsys)

    assert code == 0
    assert machine.home.exists()
    assert "No sessions" in text
