"""`prowess prove`: the same tasks with and without a skill, and what that shows."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prowess.cli.main import main
from prowess.host.proof.agents import ProofsFile
from prowess.proof.tasks import read_expectation
from prowess.wiring import open_runtime
from prowess.wiring.proof import proof_state

_TASKS = 8


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROWESS_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def _write_skill(root: Path, body: str, tasks: object, name: str = "greetings") -> Path:
    folder = root / "skills" / name
    (folder / "evals").mkdir(parents=True)
    text = f"---\nname: {name}\ndescription: Greets people by our rules.\n---\n\n{body}\n"
    (folder / "SKILL.md").write_text(text, encoding="utf-8")
    (folder / "evals" / "evals.json").write_text(json.dumps(tasks), encoding="utf-8")
    return folder


def _evals(count: int = _TASKS, **more: object) -> dict[str, object]:
    rows = [
        {
            "id": f"greet-{number}",
            "prompt": f"Greet visitor number {number}, please.",
            "expectations": ['The answer contains "Good evening"', 'It never says "Yo"'],
            **more,
        }
        for number in range(count)
    ]
    return {"skill_name": "greetings", "evals": rows}


def _prove(
    root: Path, capsys: pytest.CaptureFixture[str], *more: str
) -> tuple[int, dict[str, Any]]:
    code = main(["prove", "greetings", "-w", str(root), "--runs", "1", "--json", *more])
    out, err = capsys.readouterr()
    assert out, err
    return code, json.loads(out)


def test_a_skill_that_helps_is_proven_by_the_bundled_agent_without_a_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write_skill(tmp_path, 'Say "Good evening" first.', _evals())
    out = tmp_path / "benchmark.json"

    code, found = _prove(tmp_path, capsys, "-o", str(out))

    assert (code, found["verdict"]) == (0, "proven")
    assert found["lift"]["low"] > 0
    assert found["outcomes"]["without"]["pass"] == 0
    assert json.loads(out.read_text())["verdict"] == "proven"


def test_a_skill_that_hinders_is_harmful_and_one_that_does_nothing_shows_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = _evals(expectations=['The answer never says "Yo"'])
    _write_skill(tmp_path / "a", 'Say "Yo" first.', tasks)
    _write_skill(tmp_path / "b", "Be kind.", tasks)

    assert _prove(tmp_path / "a", capsys)[1]["verdict"] == "harmful"
    code, found = _prove(tmp_path / "b", capsys)
    assert (code, found["verdict"]) == (1, "inconclusive")
    assert found["moreTasks"] > 0


def test_files_and_commands_are_checked_in_a_folder_and_a_home_of_each_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {
            "id": f"t{number}",
            "prompt": "Lay the table.",
            "files": {"plan.txt": "four plates"},
            "checks": [
                {"file": "out/table.txt", "contains": "laid"},
                {"command": "test -f plan.txt && test ! -e ../work/seen && touch seen"},
                {"command": ["sh", "-c", 'test "$HOME" != "' + os.environ["HOME"] + '"']},
            ],
        }
        for number in range(6)
    ]
    _write_skill(tmp_path, 'Write "laid" to `out/table.txt`.', {"tasks": rows})

    found = _prove(tmp_path, capsys)[1]

    # Five of six settle it.
    assert found["outcomes"]["withSkill"]["pass"] == 5
    assert found["outcomes"]["without"]["fail"] == 5


def test_what_goes_wrong_with_the_machine_or_has_no_judge_changes_no_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = _evals()
    rows = tasks["evals"]
    assert isinstance(rows, list)
    checks = ["The file `b.md` exists"]
    rows.insert(0, {"id": "broken", "prompt": "Break.", "files": {"../x": ""}, "checks": checks})
    rows.append({"id": "taste", "prompt": "Be nice.", "expectations": ["It reads with pleasure."]})
    _write_skill(tmp_path, 'Say "Good evening" first.', tasks)

    found = _prove(tmp_path, capsys)[1]

    assert found["verdict"] == "proven"
    assert found["plan"]["leftOut"] == ["taste"]
    assert found["outcomes"]["withSkill"]["infra_error"] == 1
    assert found["lift"]["mean"] == 1.0


def test_a_run_that_takes_too_long_is_a_timeout_and_counts_for_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write_skill(tmp_path, "Be kind.", _evals(2))
    slow = "command:/bin/sleep 60"

    found = _prove(tmp_path, capsys, "--agent", f"{slow} #", "--timeout", "1")[1]

    assert (
        found["outcomes"]["withSkill"]["timeout"] + found["outcomes"]["withSkill"]["infra_error"]
        == 2
    )
    assert found["lift"]["tasks"] == 0


def test_a_task_that_stands_in_the_skill_is_a_cheat(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = 'When asked "Greet visitor number 3, please." Say "Good evening" first.'
    _write_skill(tmp_path, body, _evals())

    found = _prove(tmp_path, capsys)[1]

    assert found["outcomes"]["withSkill"]["cheat"] == 1
    assert found["lift"]["tasks"] == found["outcomes"]["withSkill"]["pass"]


def test_a_budget_that_does_not_reach_is_refused_before_the_first_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    called = tmp_path / "called"
    _write_skill(tmp_path, "Be kind.", _evals())
    agent = tmp_path / "agent"
    agent.write_text(f"#!/bin/sh\ntouch {called}\n")
    agent.chmod(0o755)
    asked = ("--agent", f"command:{agent}", "--price", "1")

    code, refused = _prove(tmp_path, capsys, *asked, "--budget", "3")

    assert code == 1
    assert "Nothing was run" in refused["error"]["message"]
    assert not called.exists()
    found = _prove(tmp_path, capsys, *asked, "--budget", "12")[1]
    assert found["cost"] <= 12
    assert len(found["plan"]["tasks"]) == 6


def test_a_proof_that_was_killed_goes_on_where_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write_skill(tmp_path, 'Say "Good evening" first.', _evals())
    counted, hold = tmp_path / "counted", tmp_path / "hold"
    agent = tmp_path / "agent"
    agent.write_text(
        f'#!/bin/sh\necho x >>{counted}\nif [ "$(wc -l <{counted})" -ge 5 ]; then'
        f" while [ -e {hold} ]; do sleep 0.1; done; fi\n"
        "grep -q evening skills/*/SKILL.md 2>/dev/null && echo Good evening\nexit 0\n"
    )
    agent.chmod(0o755)
    hold.touch()
    asked = [
        "prove",
        "greetings",
        "-w",
        str(tmp_path),
        "--runs",
        "1",
        "--agent",
        f"command:{agent}",
    ]
    child = subprocess.Popen([sys.executable, "-m", "prowess", *asked], stdout=subprocess.DEVNULL)
    while not counted.exists() or len(counted.read_text().split()) < 5:
        assert child.poll() is None
        time.sleep(0.05)
    child.send_signal(signal.SIGKILL)
    child.wait()
    hold.unlink()

    found = _prove(tmp_path, capsys, "--agent", f"command:{agent}")[1]

    assert found["verdict"] == "proven"
    # The four that had ended are not done again, and the fifth is.
    assert len(counted.read_text().split()) == len(found["runs"]) + 1


def test_a_verdict_is_kept_and_lapses_when_the_skill_changes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = _write_skill(tmp_path, 'Say "Good evening" first.', _evals())
    _prove(tmp_path, capsys)
    with open_runtime(tmp_path) as runtime:
        before = proof_state(runtime, runtime.skills.find("greetings").skill)
    main(["show", "greetings", "-w", str(tmp_path)])
    shown = capsys.readouterr().out

    (folder / "SKILL.md").write_text((folder / "SKILL.md").read_text() + "More.\n")

    with open_runtime(tmp_path) as runtime:
        after = proof_state(runtime, runtime.skills.find("greetings").skill)
    assert before.state == "proven"
    assert before.last is not None
    assert (before.last.harness, len(before.last.date)) == ("scripted", 10)
    assert (after.state, after.lapsed) == ("unproven", "the skill changed since")
    assert "proven: +100 points" in shown


def test_a_verdict_lapses_for_another_model_or_harness(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _write_skill(tmp_path, 'Say "Good evening" first.', _evals())
    _prove(tmp_path, capsys)
    with open_runtime(tmp_path) as runtime:
        skill = runtime.skills.find("greetings").skill
        same = proof_state(runtime, skill, harness="scripted")
        other = proof_state(runtime, skill, harness="codex")
        named = proof_state(runtime, skill, model="a:b")
        assert same.last is not None
        shown = replace(same.last, harness="chat", model="a:old")
        ProofsFile(runtime.folders.state).write(skill.path, shown)
        monkeypatch.setenv("PROWESS_MODEL", "a:old")
        kept = proof_state(runtime, skill)
        monkeypatch.setenv("PROWESS_MODEL", "a:new")
        lapsed = proof_state(runtime, skill)

    assert (same.state, other.state, named.state) == ("proven", "unproven", "unproven")
    assert other.lapsed == "shown with scripted"
    assert kept.state == "proven"
    assert (lapsed.state, lapsed.lapsed) == ("unproven", "shown with a:old")


def test_the_workshop_lists_what_was_shown_of_the_skill_of_a_proposal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = _write_skill(tmp_path, 'Say "Good evening" first.', _evals())
    place = ("-w", str(tmp_path))
    main(["workshop", "enable"])
    about = ("--title", "Shorter", "--reason", "Asked for.", "--old", "first", "--new", "at once")
    main(["workshop", "suggest", "--skill", "greetings", *about, *place])

    def listed() -> list[dict[str, Any]]:
        capsys.readouterr()
        main(["workshop", "list", "--json", *place])
        found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["proposals"]
        return found

    before = listed()
    _prove(tmp_path, capsys)
    proven = listed()
    main(["workshop", "list", *place])
    text = capsys.readouterr().out
    (folder / "SKILL.md").write_text((folder / "SKILL.md").read_text() + "More.\n")

    assert ["proof" in one for one in before] == [False]
    assert [one["proof"] for one in proven] == ["proven"]
    assert "Proof" in text
    assert "proven" in text
    assert [one["proof"] for one in listed()] == ["unproven"]


def test_neighbours_lie_beside_it_on_both_sides_and_no_tests_of_theirs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # The neighbour does what the skill does: with it there, the skill itself adds nothing.
    _write_skill(tmp_path, 'Say "Good evening" first.', _evals())
    _write_skill(tmp_path, 'Say "Good evening" last.', _evals(), "welcomes")

    _, alone = _prove(tmp_path, capsys)
    _, beside = _prove(tmp_path, capsys, "--neighbours", "1")

    assert (alone["verdict"], alone["neighbours"]) == ("proven", [])
    assert (beside["verdict"], beside["neighbours"]) == ("inconclusive", ["welcomes"])
    assert beside["outcomes"]["without"]["pass"] == beside["outcomes"]["withSkill"]["pass"] > 0


def test_an_agent_finds_the_skill_and_not_the_answers_of_its_tests(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write_skill(tmp_path, "Be kind.", _evals())
    script = tmp_path / "agent.py"
    script.write_text(
        "import glob, os\nprint(sorted(glob.glob('skills/**', recursive=True)))\n"
        "print('Good evening' if glob.glob('skills/*/evals*') else 'nothing to read')\n"
    )

    _, found = _prove(tmp_path, capsys, "--agent", f"command:{sys.executable} {script}")

    assert found["outcomes"]["withSkill"]["pass"] == 0


def test_a_policy_can_ask_for_proof_and_what_it_keeps_out_can_still_be_proven(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = _write_skill(tmp_path, 'Say "Good evening" first.', _evals())
    (tmp_path / "prowess-policy.yml").write_text("version: 1\nproof: proven\n")

    def is_usable() -> bool:
        with open_runtime(tmp_path) as runtime:
            return runtime.skills.find("greetings").usable

    assert not is_usable()
    assert _prove(tmp_path, capsys)[1]["verdict"] == "proven"
    assert is_usable()
    page = folder / "SKILL.md"
    page.write_text(page.read_text() + "\nAnd smile.\n")
    assert not is_usable()
    main(["policy", "explain", "greetings", "-w", str(tmp_path)])
    assert "proof" in capsys.readouterr().out


def test_sentences_are_graded_by_script_only_where_every_word_of_them_is_understood() -> None:
    graded = {
        'The reply should not mention "draft"': [("answer lacks", "", "draft")],
        'It doesn\u2019t include "x"': [("answer lacks", "", "x")],
        'Never says "Yo".': [("answer lacks", "", "Yo")],
        "Creates a file named `out/a.md`": [("file exists", "out/a.md", "")],
        "`a.py` must not contain `eval`": [("file lacks", "a.py", "eval")],
        'The output includes both "A" and "B"': [("output has", "", "A"), ("output has", "", "B")],
    }
    for_a_judge = (
        'No mention of "X"',
        'The output contains no "X"',
        'The answer says "A" or "B"',
        'The answer contains "x" twice',
        'The report.md file contains "X"',
        'It writes "hello"',
    )

    for text, expected in graded.items():
        found = read_expectation(text)
        assert [(one.kind.value, one.path, one.text) for one in found] == expected
    for text in for_a_judge:
        assert [one.kind.value for one in read_expectation(text)] == ["judge"]


def test_what_the_output_holds_may_stand_in_a_file_but_in_none_that_was_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = _evals(files={"given.txt": "laid"}, expectations=['The output contains "laid"'])
    _write_skill(tmp_path / "a", 'Write "laid" to `table.txt`.', tasks)
    _write_skill(tmp_path / "b", "The table is laid.", tasks)

    wrote, talked = (_prove(tmp_path / name, capsys)[1] for name in "ab")

    assert wrote["verdict"] == "proven"
    assert wrote["outcomes"]["without"]["pass"] == 0
    # Nor does the skill itself, which lies in the folder, count as what the agent wrote.
    assert talked["outcomes"]["withSkill"]["pass"] == 0


def test_files_beside_the_skill_reach_the_agent_as_they_are_and_missing_ones_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check = {"command": "printf '\\377\\000\\376' | cmp - blank.bin"}
    tasks = _evals(files=["evals/files/blank.bin"], expectations=[], checks=[check])
    folder = _write_skill(tmp_path, "Be kind.", tasks)

    _, refused = _prove(tmp_path, capsys)
    (folder / "evals/files").mkdir()
    (folder / "evals/files/blank.bin").write_bytes(b"\xff\x00\xfe")
    _, found = _prove(tmp_path, capsys)

    assert "evals/files/blank.bin" in refused["error"]["message"]
    assert found["outcomes"]["without"]["fail"] == 0
    assert found["outcomes"]["without"]["pass"] > 0


@pytest.mark.parametrize(
    "check", [{"answr": "x"}, {"file": "a", "lacks": "x"}, {"matches": "["}, "", 7]
)
def test_a_check_that_is_not_known_is_refused_and_never_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], check: object
) -> None:
    _write_skill(tmp_path, "Be kind.", _evals(checks=[check] if check else [{"judge": ""}]))

    code, refused = _prove(tmp_path, capsys)

    assert code == 1
    assert "check" in refused["error"]["message"] or "pattern" in refused["error"]["message"]


def test_tasks_for_a_container_bring_their_tests_and_say_by_a_reward_how_they_went(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = 'Write "laid" to `table.txt`.'
    skill = _write_skill(tmp_path, body, {})
    for number in range(6):
        task = tmp_path / "tasks" / f"table-{number}"
        inside = task / "environment/skills/greetings"
        inside.mkdir(parents=True)
        # As such tasks bring it along: it must not be there on the side without.
        (inside / "SKILL.md").write_text((skill / "SKILL.md").read_text())
        (task / "environment/Dockerfile").write_text("FROM scratch\n")
        (task / "instruction.md").write_text(f"Lay table {number} at /root/table.txt.")
        (task / "tests").mkdir()
        (task / "tests/verify.sh").write_text("grep -q laid /root/table.txt\n")
        (task / "tests/test.sh").write_text(
            "if sh /tests/verify.sh; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n"
        )

    found = _prove(tmp_path, capsys, "--evals", str(tmp_path / "tasks"))[1]

    assert found["verdict"] == "proven"
    assert found["outcomes"]["withSkill"]["fail"] == found["outcomes"]["without"]["pass"] == 0


def test_an_agent_that_writes_its_own_reward_gains_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write_skill(tmp_path, "Be kind.", _evals(expectations=[], checks=[{"command": "false"}]))
    script = tmp_path / "agent.sh"
    script.write_text("mkdir -p ../logs/verifier; echo 1 > ../logs/verifier/reward.txt\n")

    found = _prove(tmp_path, capsys, "--agent", f"command:/bin/sh {script}")[1]

    assert found["outcomes"]["withSkill"]["pass"] == 0
    assert found["outcomes"]["withSkill"]["fail"] > 0


def test_a_checker_that_the_machine_lacks_says_nothing_about_the_skill(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = _evals(expectations=[], checks=[{"command": "no-such-checker-here ."}])
    _write_skill(tmp_path, "Be kind.", tasks)

    found = _prove(tmp_path, capsys)[1]

    assert found["outcomes"]["withSkill"]["infra_error"] == len(found["runs"]) / 2


def test_runs_that_went_wrong_are_done_again_when_the_proof_is_asked_for_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write_skill(tmp_path, 'Say "Good evening" first.', _evals())
    agent, key = tmp_path / "agent", tmp_path / "key"
    agent.write_text(
        f"#!/bin/sh\ntest -e {key} || exit 3\n"
        "grep -q evening skills/*/SKILL.md 2>/dev/null && echo Good evening\nexit 0\n"
    )
    agent.chmod(0o755)
    asked = ("--agent", f"command:{agent}")

    _, broken = _prove(tmp_path, capsys, *asked)
    key.touch()
    _, found = _prove(tmp_path, capsys, *asked)

    assert (broken["verdict"], broken["lift"]["tasks"]) == ("inconclusive", 0)
    assert found["verdict"] == "proven"


def test_tasks_in_any_file_of_the_skill_are_no_cheat_and_no_agent_reads_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = _write_skill(tmp_path, 'Say "Good evening" first.', {})
    for place in ("tasks.yaml", "quality/ours.yaml"):
        path = folder / place
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(_evals()))

        _, found = _prove(tmp_path, capsys, "--evals", str(path))

        assert found["verdict"] == "proven"
        path.unlink()


def test_a_judge_is_paid_from_the_budget(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROWESS_MODEL", "test")
    _write_skill(tmp_path, "Be kind.", _evals(expectations=["It is kind.", "It is short."]))

    code, refused = _prove(tmp_path, capsys, "--judge", "--budget", "0.1")

    assert code == 1
    assert "Nothing was run" in refused["error"]["message"]


def test_tasks_of_our_own_are_yaml_and_what_has_nothing_to_check_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = _write_skill(tmp_path, 'Say "Good evening" first.', {})
    rows = "".join(
        f"  - id: t{number}\n    prompt: Greet visitor {number}.\n    checks:\n"
        "      - {answer: Good evening}  # As the house has it.\n"
        for number in range(5)
    )
    tasks = folder / "evals" / "tasks.yaml"
    tasks.write_text(f"tasks:\n{rows}  - id: bare\n    prompt: Be quiet.\n")
    (folder / "evals" / "evals.json").unlink()

    _, found = _prove(tmp_path, capsys)
    tasks.write_text(f"tasks:\n{rows}      - {{answer: 1.10}}\n")
    _, refused = _prove(tmp_path, capsys)

    assert (found["verdict"], found["plan"]["leftOut"]) == ("proven", ["bare"])
    assert "without quotes" in refused["error"]["message"]


def test_an_agent_that_cannot_run_is_given_up_and_leaves_the_verdict_that_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write_skill(tmp_path, 'Say "Good evening" first.', _evals())

    _, proven = _prove(tmp_path, capsys)
    _, broken = _prove(tmp_path, capsys, "--agent", "command:false", "--price", "0.1")
    main(["show", "greetings", "-w", str(tmp_path), "--json"])
    shown = json.loads(capsys.readouterr().out)

    assert (len(broken["runs"]), broken["cost"]) == (4, 0.4)
    assert shown["proof"]["state"] == proven["verdict"] == "proven"


def test_what_went_wrong_was_paid_for_when_the_proof_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write_skill(tmp_path, 'Say "Good evening" first.', _evals(5))
    asked = ("--agent", "command:false", "--price", "0.1", "--budget", "1")

    costs = [_prove(tmp_path, capsys, *asked)[1]["cost"] for _ in range(4)]

    assert costs == pytest.approx([0.4, 0.8, 1.0, 1.0])
    code, unknown = _prove(tmp_path, capsys, "--agent", "command:true", "--budget", "0")
    assert (code, unknown["error"]["code"]) == (1, "proof")
    for price in ("nan", "inf"):
        assert _prove(tmp_path, capsys, "--price", price)[1]["error"]["code"] == "proof"


def test_long_and_binary_files_count_for_the_checks_and_for_the_digest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agent = tmp_path / "agent.sh"
    agent.write_text("#!/bin/sh\nif [ -d skills ]; then head -c 500000 /dev/zero >report.bin; fi\n")
    agent.chmod(0o755)
    folder = _write_skill(tmp_path, "Write it.", _evals(expectations=["`report.bin` exists"]))
    for data in (b"\xfe" * 500_000, b"\xff"):
        (folder / "blob.bin").write_bytes(data)

        _, found = _prove(tmp_path, capsys, "--agent", f"command:{agent}")
        main(["show", "greetings", "-w", str(tmp_path), "--json"])
        before = json.loads(capsys.readouterr().out)["proof"]["state"]
        (folder / "blob.bin").write_bytes(data[:-1] + b"\xfd")
        main(["show", "greetings", "-w", str(tmp_path), "--json"])
        after = json.loads(capsys.readouterr().out)["proof"]["state"]

        assert (found["verdict"], before, after) == ("proven", "proven", "unproven")


def test_a_link_in_a_skill_leads_no_agent_to_the_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agent = tmp_path / "agent.sh"
    agent.write_text("#!/bin/sh\ncat skills/*/answers 2>/dev/null; true\n")
    agent.chmod(0o755)
    folder = _write_skill(tmp_path, "Read it.", _evals(expectations=['It says "Good evening"']))
    (folder / "answers").symlink_to(folder / "evals" / "evals.json")

    _, found = _prove(tmp_path, capsys, "--agent", f"command:{agent}")

    assert found["outcomes"]["withSkill"]["pass"] == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the variables of a process")
def test_what_an_agent_leaves_running_in_a_session_of_its_own_ends_with_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agent, left = tmp_path / "agent.sh", tmp_path / "left"
    agent.write_text(f"#!/bin/sh\nsetsid sh -c 'echo $$ >>{left}; exec sleep 600' &\nsleep 0.3\n")
    agent.chmod(0o755)
    _write_skill(tmp_path, "Be kind.", _evals(1))

    _prove(tmp_path, capsys, "--agent", f"command:{agent}")

    numbers = left.read_text().split()
    assert len(numbers) == 2
    running = [Path(f"/proc/{one}/cmdline") for one in numbers]
    until = time.monotonic() + 30
    # What has ended keeps its number until somebody asks for it, and has no words any more.
    while any(path.exists() and path.read_bytes() for path in running):
        assert time.monotonic() < until
        time.sleep(0.05)
