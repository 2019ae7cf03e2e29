"""`prowess sessions --learn` where a skill was missed: the correction that proves it is kept."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.integration.sessions_world import PROMPT, SESSION_ID, SHOWN, SKILL, Machine, Recorder

from prowess.cli.terminal import app
from prowess.wiring import open_runtime
from prowess.workshop.proposal import Proposal, State

WRONG = (
    "No, that's wrong: you drew text on top. Fill the real form fields and flatten the pdf"
    " afterwards."
)
TAUGHT = "You drew text on top. Fill the real form fields and flatten the pdf afterwards."
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


def _record(machine: Machine, correction: str, prompt: str = PROMPT) -> None:
    recorder = Recorder(str(machine.work))
    recorder.typed(prompt)
    recorder.listed({"pdf-forms": SHOWN, "release-notes": "Writes release notes."})
    recorder.called("Bash", {"command": "python draw_text.py tax.pdf"})
    recorder.said("I wrote the values onto the first page as text.")
    recorder.typed(correction)
    recorder.said("Sorry.")
    machine.claude(recorder.lines)


def _text(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    capsys.readouterr()
    app.main(["sessions", "--since", "all", *args], standalone_mode=False)
    return capsys.readouterr().out


# Any JSON.
def _json(capsys: pytest.CaptureFixture[str], *args: str) -> Any:  # noqa: ANN401
    return json.loads(_text(capsys, *args, "--json"))


def _kept(machine: Machine) -> tuple[Proposal, ...]:
    with open_runtime(machine.work) as runtime:
        return runtime.workshop.list()


def test_a_proven_correction_waits_for_a_yes_in_the_skill_that_was_missed(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.skill("pdf-forms", SKILL, folder="skills")
    machine.configure(workshop=True)
    _record(machine, WRONG)

    first = _json(capsys, "--learn")["learned"]
    again = _text(capsys, "--learn")

    (heard,) = first[0]["corrections"]
    assert (heard["isNew"], heard["quote"], heard["place"]) == (True, TAUGHT, "message 2")
    assert "waits already: pdf-forms" in again
    (proposal,) = _kept(machine)
    assert (proposal.skill, proposal.state) == ("pdf-forms", State.PENDING)
    assert proposal.session_id == SESSION_ID
    assert [one.quote for one in proposal.evidence] == [PROMPT, WRONG]
    page = (proposal.change.files["SKILL.md"] or b"").decode()
    assert page.endswith(f"## Corrections\n\n- {TAUGHT}\n")
    assert (machine.work / "skills/pdf-forms/SKILL.md").read_text(encoding="utf-8") == SKILL


def test_even_where_safe_things_are_applied_at_once_it_waits(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.skill("pdf-forms", SKILL, folder="skills")
    entry = {"enabled": True, "config": {"approvalPolicy": "auto"}}
    values = {
        "skills": {"routing": {"encoder": "none"}},
        "plugins": {"entries": {"skill-workshop": entry}},
    }
    (machine.state / "prowess.json").write_text(json.dumps(values), encoding="utf-8")
    _record(machine, WRONG)

    _text(capsys, "--learn")

    assert [one.state for one in _kept(machine)] == [State.PENDING]


def test_a_skill_that_is_not_changed_from_here_stays_and_that_is_said(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.configure(workshop=True)
    _record(machine, WRONG)

    text = _text(capsys, "--learn")

    assert "queued learned-workflows" in text
    assert "is not changed from here" in text
    (proposal,) = _kept(machine)
    page = (proposal.change.files["SKILL.md"] or b"").decode()
    assert f"- pdf-forms: {TAUGHT}" in page


def test_what_was_rejected_is_not_brought_up_again(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.skill("pdf-forms", SKILL, folder="skills")
    machine.configure(workshop=True)
    _record(machine, WRONG)
    _text(capsys, "--learn")
    with open_runtime(machine.work) as runtime:
        (proposal,) = runtime.workshop.list()
        runtime.workshop.reject(proposal.id)

    text = _text(capsys, "--learn")

    assert "it was decided about before" in text
    assert [one.state for one in _kept(machine)] == [State.REJECTED]


def test_a_dry_run_keeps_nothing_and_finds_the_same(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.configure(workshop=True)
    _record(machine, WRONG)

    (learned,) = _json(capsys, "--learn", "--dry-run")["learned"]
    text = _text(capsys, "--learn", "--dry-run")

    assert (learned["dryRun"], learned["workshopEnabled"]) == (True, True)
    assert [one["isNew"] for one in learned["corrections"]] == [True]
    assert "Nothing was kept: this was a dry run." in text
    assert _kept(machine) == ()


def test_where_the_workshop_is_off_it_is_said_and_how_to_switch_it_on(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    _record(machine, WRONG)

    text = _text(capsys, "--learn")
    (learned,) = _json(capsys, "--learn")["learned"]

    assert "Nothing was kept: the workshop is off." in text
    assert "dry run" not in text
    assert "prowess workshop enable" in text
    assert learned["workshopEnabled"] is False


def test_a_credential_in_a_correction_is_kept_nowhere(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.skill("pdf-forms", SKILL, folder="skills")
    machine.configure(workshop=True)
    _record(machine, f"No, that's wrong. Sign the form with {SECRET} before you save it.")

    text = _text(capsys, "--learn")

    assert "skipped: " in text
    assert SECRET not in text
    assert _kept(machine) == ()


def test_a_credential_in_the_prompt_is_hidden_in_the_evidence(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.skill("pdf-forms", SKILL, folder="skills")
    machine.configure(workshop=True)
    _record(machine, WRONG, prompt=f"{PROMPT} with token {SECRET}")

    _text(capsys, "--learn")

    (proposal,) = _kept(machine)
    assert all(SECRET not in one.quote for one in proposal.evidence)


@pytest.mark.parametrize(
    "complaint",
    ["Why didn't you use the skill we have for that?", "use the pdf-forms skill please"],
)
def test_a_complaint_that_teaches_nothing_proves_a_miss_and_proposes_nothing(
    machine: Machine, capsys: pytest.CaptureFixture[str], complaint: str
) -> None:
    machine.configure(workshop=True)
    _record(machine, complaint)

    report = _json(capsys, "--learn")
    text = _text(capsys, "--learn")

    assert report["missed"][0]["kind"] == "missed"
    assert "Nothing to learn" in text
    assert _kept(machine) == ()


def test_without_a_heard_correction_the_heading_claims_no_more_than_that(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    _record(machine, "thanks, that is all for today")

    text = _text(capsys)

    assert "nothing that we recognise as a correction" in text
