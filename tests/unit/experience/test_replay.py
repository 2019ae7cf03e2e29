"""What stands in a replay script, and when there is one."""

import re

import pytest
from tests.rows import each_row

from prowess.experience.replay.script import write_replay_script
from prowess.experience.replay.steps import clean_comment, quote_bash, show_hidden
from prowess.transcripts.traces import MOST_FIELD, Json, Trace, TraceAction, TraceStep, UiTarget


def step(number: int, kind: str, /, **fields: Json) -> TraceStep:
    return TraceStep(number=number, action=TraceAction(kind, fields))


def replay(*steps: TraceStep, folder: str = "/work/app") -> str:
    text = write_replay_script(Trace(task="t", ok=True, steps=steps, folder=folder), name="n")
    assert text is not None
    return text


@each_row(
    "steps",
    [
        (),
        (step(1, "finish", message="done"),),
        (step(1, "request_human_auth", capability="camera"),),
        (step(1, "Grep", pattern="x"), step(2, "apply_patch", input="x")),
        (step(1, "tap_element", elementId="e1"),),
        (step(1, "type", text=""), step(2, "shell", command=" ")),
    ],
)
def test_without_a_command_there_is_no_script(steps: tuple[TraceStep, ...]) -> None:
    assert write_replay_script(Trace(task="t", ok=True, steps=steps), name="n") is None


def test_every_step_has_its_comment() -> None:
    steps = [step(number, "tap", x=1, y=2) for number in range(1, 41)]

    text = replay(*steps, step(41, "finish"))

    assert text.startswith("#!/usr/bin/env bash\n")
    assert "\nset -euo pipefail\n" in text
    assert [f"\n# step {n}: tap\n" in text for n in range(1, 41)] == [True] * 40
    assert "\n# step 41: finish\n" in text


@pytest.mark.parametrize("numbers", [(1, 1, 2), (3, 2, 1), (0, 1, 2), (-1, 5, 6)])
def test_numbers_that_do_not_tell_steps_apart_are_counted_anew(numbers: tuple[int, ...]) -> None:
    text = replay(*(step(number, "tap", x=1, y=2) for number in numbers))

    assert [f"# step {n}: tap" in text for n in (1, 2, 3)] == [True] * 3


def test_the_numbers_of_the_trace_are_kept() -> None:
    text = replay(step(2, "tap", x=1, y=2), step(7, "tap", x=1, y=2))

    assert "# step 2: tap" in text
    assert "# step 7: tap" in text


def test_a_type_in_a_comment_cannot_leave_it() -> None:
    text = replay(step(1, "tap\ntouch canary", x=1, y=2), step(2, "tap", x=1, y=2))

    assert "# step 1: tap-touch-canary\n" in text


def test_a_step_that_failed_is_left_out() -> None:
    failed = TraceStep(number=1, action=TraceAction("Bash", {"command": "echo never"}), failed=True)

    text = replay(failed, step(2, "Bash", command="echo once"))

    assert "# step 1: Bash\n# (it failed" in text
    assert "echo never" not in text
    assert "echo once" in text


@each_row(
    "action",
    [
        step(1, "Write", file_path="a", content="x" * MOST_FIELD),
        step(1, "Write", file_path="a", content="\u4e2d" * 30_000),
        step(1, "Write", file_path="a", content="a\0b"),
        step(1, "Write", file_path="C:\\a", content="x"),
        step(1, "Write", file_path="a\nb", content="x"),
        step(1, "Write", file_path="a"),
        step(1, "Edit", file_path="a", old_string="x" * MOST_FIELD, new_string="y"),
        step(1, "Bash", command="x" * MOST_FIELD),
        step(1, "Bash", command="npm run dev", run_in_background=True),
        step(1, "run_script", script="#!/usr/bin/python3\nprint(1)"),
        step(1, "Task", prompt="do it all"),
        step(1, "swipe", x1=1, y1=2, x2="3", y2=4),
        step(1, "tap", x=float("nan"), y=1),
        step(1, "tap", x=10**400, y=1e300),
        step(1, "launch_app"),
        step(1, "keyevent"),
    ],
)
def test_what_cannot_be_repeated_exactly_is_left_to_a_person(action: TraceStep) -> None:
    text = replay(action, step(2, "wait"))

    assert "if begins 1 'by hand: " in text
    assert len(text) < 20_000


def test_actions_in_a_row_that_do_nothing_still_make_a_body() -> None:
    text = replay(step(1, "batch_actions", actions=[{"type": "type", "text": ""}]), step(2, "wait"))

    assert "  # step 1.1: type\n  :\nfi\n" in text


def test_paths_below_the_folder_become_relative() -> None:
    text = replay(
        step(1, "Read", file_path="/work/app/src/../a.py"), step(2, "Read", file_path="/etc/hosts")
    )

    assert "show_file 'a.py'" in text
    assert "show_file '/etc/hosts'" in text


@pytest.mark.parametrize("path", ["/etc/hosts", "../x", "~/.bashrc", ".git/hooks/pre-commit"])
def test_a_file_elsewhere_or_of_settings_is_confirmed(path: str) -> None:
    text = replay(step(1, "Write", file_path=path, content="x"))

    assert "readonly RISKY='1'" in text


@pytest.mark.parametrize(
    "folder", ["/home/u/.ssh", "/home/u/.config/autostart", "/etc/x", "/home/u"]
)
def test_a_file_is_judged_with_the_folder_of_the_trace(folder: str) -> None:
    text = replay(
        step(1, "Write", file_path=f"{folder}/bin/rc", content="x"),
        step(2, "Edit", file_path="bin/rc", old_string="x", new_string="y"),
        step(3, "Bash", command="echo x > bin/rc"),
        folder=folder,
    )

    assert "readonly RISKY='1 2 3'" in text


@each_row(
    "first",
    [
        step(1, "Write", file_path="/work/app/x.sh", content="ls"),
        step(1, "Edit", file_path="x.sh", old_string="a", new_string="b"),
        step(1, "Bash", command="echo ls >> x.sh"),
        step(1, "apply_patch", input="*** Begin Patch\n*** Update File: sub/x.sh\n+ls"),
        step(1, "apply_patch", input="--- a/x.sh\n+++ b/x.sh\n@@\n+ls"),
        step(1, "NotebookEdit", path="x.sh"),
        step(1, "batch_actions", actions=[{"type": "write", "path": "x.sh", "content": "ls"}]),
    ],
)
def test_a_build_after_a_step_that_changed_something_is_confirmed(first: TraceStep) -> None:
    text = replay(first, step(2, "Bash", command="make"), step(3, "Bash", command="ls"))

    risky = re.search("readonly RISKY='(.*)'", text)
    assert risky is not None
    assert risky[1].split()[-1:] == ["2"]


def test_what_a_failed_step_wrote_does_not_count() -> None:
    action = TraceAction("Write", {"file_path": "Makefile", "content": "ls"})

    text = replay(TraceStep(number=1, action=action, failed=True), step(2, "Bash", command="make"))

    assert "readonly RISKY=''" in text


@each_row(
    ("edit", "risky"),
    [
        ({"old_string": "a", "new_string": "b"}, ""),
        ({"old_string": "a" * 300, "new_string": "b"}, ""),
        ({"old_string": "a", "new_string": ""}, "1"),
        ({"old_string": "a", "new_string": "", "replace_all": True}, "1"),
        ({"old_string": "a", "new_string": " \n"}, "1"),
        ({"old_string": "a" * 600, "new_string": "b"}, "1"),
        ({"edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "c"}]}, "1"),
    ],
)
def test_an_edit_that_mostly_takes_away_is_confirmed(edit: dict[str, Json], risky: str) -> None:
    text = replay(step(1, "Edit", file_path="a.py", **edit))

    assert f"readonly RISKY='{risky}'" in text


def test_what_only_looks_is_not_confirmed() -> None:
    text = replay(
        step(1, "Edit", file_path="src/a.py", old_string="x", new_string="y"),
        step(2, "Bash", command="cd /work/app && git diff --stat"),
        step(3, "Bash", command="git add -A && git commit -m x"),
    )

    assert "readonly RISKY='3'" in text


def test_a_tap_on_something_that_deletes_is_confirmed() -> None:
    target = UiTarget(resource_id="com.x:id/button1", text="Delete account")
    tap = TraceStep(number=1, action=TraceAction("tap", {"x": 1, "y": 2}), target=target)

    text = replay(tap, step(2, "tap", x=3, y=4))

    assert "readonly RISKY='1'" in text


def test_numbers_have_bounds() -> None:
    text = replay(
        step(1, "wait", durationMs=10**9),
        step(2, "tap", x=-200_000, y=2.5),
        step(3, "wait", durationMs=1250),
    )

    assert "tap_at -99999 3" in text
    assert "sleep 600\n" in text
    assert "sleep 1.25\n" in text


def test_a_credential_is_in_no_part_of_a_script() -> None:
    token = "ghp_" + "a1B2" * 9
    target = UiTarget(text=token, content_desc="Key")
    steps = (
        TraceStep(number=1, action=TraceAction("tap_element", {}), target=target, thought=token),
        step(2, "Write", file_path="a", content=f"key {token}\n"),
        step(3, "Edit", file_path="a", old_string="x", new_string=token),
        step(4, "Read", file_path=f"/keys/{token}"),
    )
    trace = Trace(task=f"use {token}", ok=True, steps=steps)

    text = write_replay_script(trace, name=f"n {token}")

    assert text is not None
    assert token not in text
    assert "readonly SECRETS='REPLAY_SECRET_2 REPLAY_SECRET_3'" in text


@each_row(
    ("text", "word"),
    [
        ("", "''"),
        ("plain", "'plain'"),
        ("it's", r"'it'\''s'"),
        ("a\nb'c\\", r"$'a\nb\'c\\'"),
        ("\u4e2d\n", "'\u4e2d'$'\\n'"),
        ("a\0b", "'ab'"),
        ("\ud800", "'\ufffd'"),
        ("a\u202eb", r"$'a\342\200\256b'"),
    ],
)
def test_a_text_becomes_one_word_on_one_line(text: str, word: str) -> None:
    assert quote_bash(text) == word


def test_what_is_shown_hides_nothing() -> None:
    assert show_hidden("a\x1b[2K\u202e\n\tb") == r"a\x1b[2K\u202e\n\tb"
    assert show_hidden("a\n\tb\r", one_line=False) == "a\n\tb\\r"


@pytest.mark.parametrize(
    ("kind", "word"), [("tap", "tap"), ("", "unnamed"), ("\u4e2d", "unnamed"), ("a b\n#c", "a-b-c")]
)
def test_only_plain_letters_of_a_type_are_left(kind: str, word: str) -> None:
    assert clean_comment(kind) == word
