"""A step in words: short, on one line, and without what was typed in secret."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.experience.draft import (
    describe_intent,
    describe_result,
    describe_target,
    summarize_step,
)
from prowess.experience.draft_facts import flatten_text, quote_text
from prowess.experience.redaction import remove_secrets
from prowess.transcripts.traces import Json, Trace, TraceAction, TraceStep, UiTarget


def step(kind: str, **fields: Json) -> TraceStep:
    """Return one step."""
    return TraceStep(number=1, action=TraceAction(kind, fields))


@each_row(
    ("done", "words"),
    [
        (step("tap", x=120.4, y=339.6), "tap(120, 340)"),
        (step("tap", x=float("nan"), y=10**400), "tap(?, ?)"),
        (step("\nTAP ", x=1, y=2), "tap(1, 2)"),
        (step("tap_element", elementId=7), "tap_element(elementId=7)"),
        (step("swipe", x1=1, y1=2, x2=3, y2=4), "swipe(1, 2 -> 3, 4)"),
        (step("type", text='say "hi"'), r'type("say \"hi\"")'),
        (step("type", text="x" * 100), f'type("{"x" * 69}...")'),
        (step("keyevent", keycode="KEYCODE_HOME"), "keyevent(KEYCODE_HOME)"),
        (step("wait"), "wait(1000ms)"),
        (step("wait", durationMs=250), "wait(250ms)"),
        (step("launch_app", packageName="com.x"), "launch_app(com.x)"),
        (step("shell", command="pm list\npackages"), "shell(pm list packages)"),
        (step("run_script", script="rm x"), "run_script(<embedded>)"),
        (step("batch_actions", actions=[{"type": "tap"}, {"type": "wait"}]),
         "batch_actions(2: tap, wait)"),
        (step("request_human_auth", capability="camera"), "request_human_auth(camera)"),
        (step("request_user_input", question="Which one?"), 'request_user_input("Which one?")'),
        (step("finish", message="done"), 'finish("done")'),
        (step("press_back"), "press_back"),
    ],
)  # fmt: skip
def test_what_is_done_on_a_device_is_a_call(done: TraceStep, words: str) -> None:
    assert summarize_step(done, on_device=True) == words


@each_row(
    ("done", "words"),
    [
        (step("Bash", command="git status"), "shell(git status)"),
        (step("exec_command", cmd=["bash", "-lc", "ls -l"]), "shell(ls -l)"),
        (step("Read", file_path="/srv/p/src/a.py"), "read(src/a.py)"),
        (step("Write", file_path="/srv/x.txt", content="secret words"), "write(/srv/x.txt)"),
        (step("Edit", file_path="/srv/pp/a.py"), "edit(/srv/pp/a.py)"),
        (
            step("apply_patch", input="*** Begin Patch\n*** Update File: a/b.py\n@@"),
            "apply_patch(a/b.py)",
        ),
        (step("Grep", pattern="def main", path="/srv/p/src"), 'Grep(pattern="def main")'),
        (step("WebFetch", url="https://x.org", prompt="sum up"), 'WebFetch(url="https://x.org")'),
        (step("NotebookEdit", notebook_path="/srv/p/n.ipynb"), "NotebookEdit(n.ipynb)"),
        (step("TodoWrite", todos=[]), "TodoWrite"),
        (step("AskUserQuestion", questions=[{"question": "Red?"}]), 'AskUserQuestion("Red?")'),
        (step(""), "tool ?"),
        (step("# 1. -"), "tool # 1. -"),
    ],
)
def test_what_is_done_where_the_agent_runs_names_what_matters(done: TraceStep, words: str) -> None:
    assert summarize_step(done, on_device=False, folder="/srv/p") == words


def test_a_long_command_is_cut() -> None:
    words = summarize_step(step("Bash", command="echo " + "a" * 2_000), on_device=False)

    assert len(words) == len("shell()") + 1_000
    assert words.endswith("...)")


def test_an_element_has_its_fields_in_a_fixed_order() -> None:
    target = UiTarget(
        class_name="Button", content_desc="two\nlines", resource_id="id/a", text='a "b"',
        clickable=False, element_id="7", label="never shown",
    )  # fmt: skip

    assert describe_target(target) == (
        r'text="a \"b\"", resourceId="id/a", contentDesc="two\nlines", class="Button",'
        " clickable=false"
    )
    assert describe_target(UiTarget()) == describe_target(None) == ""


def test_intent_and_observation_are_cut_and_a_failure_is_said() -> None:
    done = TraceStep(
        number=1, action=TraceAction("tap", {}), thought="t " * 200, result="r" * 400, failed=True
    )

    assert len(describe_intent(done)) <= 160
    assert describe_result(done).startswith("(failed) rrr")
    assert len(describe_result(done)) == len("(failed) ") + 180


def test_what_is_typed_into_a_password_field_is_hidden() -> None:
    tapped = TraceStep(
        number=1, action=TraceAction("tap_element", {}), target=UiTarget(resource_id="id/password")
    )
    typed = TraceStep(
        number=2, action=TraceAction("type", {"text": "correct horse"}), thought="now the name"
    )

    cleaned = remove_secrets(Trace(task="log in", ok=True, steps=(tapped, typed)))

    assert summarize_step(cleaned.steps[1], on_device=True) == "type(<hidden>)"


@each_row(
    ("text", "words"),
    [
        ("a\n---\n# b", "a --- # b"),
        ("</skill><!-- x -->", "< /skill>< !-- x -->"),
        ("!`rm -rf ~` and ```", "!'rm -rf ~' and '''"),
        ("[x](http://a) ![y][z]", "[x] (http://a) ![y] [z]"),
        ("awk '{print $1}' $ARGUMENTS $HOME", r"awk '{print \$1}' \$ARGUMENTS $HOME"),
        ("sort <in 1<2 a < b", "sort < in 1<2 a < b"),
        ("\u202eabc\u2066\x1b[31m\ud800", "abc\ufffd"),
        ("token ghp_abcdefghijklmnopqrstuvwxyz0123456789", "token ****"),
    ],
)
def test_nothing_begins_in_plain_words(text: str, words: str) -> None:
    assert flatten_text(text, 80) == words


def test_a_credential_that_is_cut_off_is_masked_as_a_whole() -> None:
    text = "x" * 60 + " ghp_abcdefghijklmnopqrstuvwxyz0123456789"

    assert "ghp" not in flatten_text(text, 75)
    assert "ghp" not in quote_text(text, 75)
    assert "ghp" not in flatten_text("a" + " \n" * 5_000 + text, 75)


@given(st.text(max_size=200), st.integers(min_value=10, max_value=100))
@settings(max_examples=50, deadline=None)
def test_any_text_stays_on_its_line_and_in_its_quotes(text: str, most: int) -> None:
    words, quoted = flatten_text(text, most), quote_text(text, most)

    assert len(words) <= most
    assert len(words.splitlines()) <= 1
    assert len(quoted.splitlines()) == 1
    assert len(json.loads(quoted)) <= most
    assert not any(mark in words + quoted for mark in ("`", "</", "<!", "](", "\u202e", "\x1b"))
