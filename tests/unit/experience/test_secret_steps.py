"""What was typed into a password's field, and any credential, leaves no mark in a trace."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.experience.fields import means_secret, names_secret
from prowess.experience.redaction import HIDDEN, is_secret_step, remove_secrets
from prowess.transcripts.traces import Json, Trace, TraceAction, TraceStep, UiTarget, export_trace

TYPED = "correct horse 42"
TOKEN = "ghp_" + "aZ3kQ9xW7vB5nM1cR8tY6uI4oP2sD0fGhJkL"
PASSWORD = UiTarget(resource_id="com.bank:id/etPassword", class_name="android.widget.EditText")
NAME = UiTarget(resource_id="com.bank:id/user_name", class_name="android.widget.EditText")


def step(
    kind: str,
    fields: dict[str, Json] | None = None,
    *,
    target: UiTarget | None = None,
    thought: str = "",
    result: str = "",
) -> TraceStep:
    action = TraceAction(kind, fields or {})
    return TraceStep(number=1, action=action, target=target, thought=thought, result=result)


def trace(*steps: TraceStep, task: str = "log in", final_message: str = "") -> Trace:
    return Trace(task=task, ok=True, steps=steps, final_message=final_message)


def written(found: Trace) -> str:
    return json.dumps(export_trace(found), ensure_ascii=False)


@each_row(
    "name",
    [
        "com.app:id/password", "etPassword", "login_pwd", "txtPIN", "PINCode", "otp_code", "CVV",
        "Card number", "Passcode", "client_secret", "android.widget.PasswordEditText",
        "Contraseña", "密码", "パスワード", "비밀번호", "пароль", "Mot de passe", "短信验证码",
        "\uff30\uff29\uff2e",
    ],
)  # fmt: skip
def test_a_name_says_that_a_secret_stands_there(name: str) -> None:
    assert names_secret(name)


@each_row(
    "name", ["shopping list", "pinterest", "spinner", "Search", "message", "compass", "stand", ""]
)
def test_other_names_do_not(name: str) -> None:
    assert not names_secret(name)


@pytest.mark.parametrize("thought", ["Now I enter the password.", "Typing the PIN I was sent"])
def test_a_thought_says_that_a_secret_is_typed_now(thought: str) -> None:
    assert means_secret(thought)


@pytest.mark.parametrize(
    "thought",
    [
        "I will enter the user name, then the password",
        "Type the search words",
        "The password was accepted",
    ],
)
def test_a_thought_about_something_else_does_not(thought: str) -> None:
    assert not means_secret(thought)


def test_a_step_that_types_into_a_password_is_secret() -> None:
    assert is_secret_step(step("type", {"text": TYPED}, target=PASSWORD))
    assert not is_secret_step(step("type", {"text": "ada"}, target=NAME))
    assert not is_secret_step(step("tap_element", {"elementId": "7"}, target=PASSWORD))


def test_a_step_that_types_a_credential_anywhere_is_secret() -> None:
    assert is_secret_step(step("type", {"text": TOKEN}, target=NAME))


HIDING: dict[str, tuple[TraceStep, ...]] = {
    "its own target": (step("type", {"text": TYPED}, target=PASSWORD),),
    "the tap before": (
        step("tap_element", {"elementId": "3"}, target=PASSWORD),
        step("wait", {"durationMs": 100}),
        step("type", {"text": TYPED}),
    ),
    "the eye between": (
        step("tap_element", target=PASSWORD),
        step("tap_element", target=UiTarget(content_desc="Show password")),
        step("type", {"text": TYPED}),
    ),
    "the thought of a tap": (
        step("tap", {"x": 1, "y": 2}, thought="Focus the password field"),
        step("type", {"text": TYPED}),
    ),
    "its own thought": (step("type", {"text": TYPED}, thought="Enter the password"),),
    "a batch": (
        step("tap_element", target=PASSWORD),
        step("batch_actions", {"actions": [{"type": "type", "text": TYPED}]}),
    ),
    "a tap in a batch": (
        step(
            "batch_actions",
            {"actions": [{"type": "tap", "text": "Password"}, {"type": "type", "text": TYPED}]},
        ),
    ),
    "a command": (
        step("tap_element", target=PASSWORD),
        step("shell", {"command": f"input text '{TYPED}'"}),
    ),
    "a browser": (step("browser_type", {"element": "Password field", "text": TYPED}),),
    "a form": (step("fill_form", {"fields": [{"name": "Password", "value": TYPED}]}),),
    "a named value": (step("mcp__db__login", {"user": "ada", "password": TYPED}),),
    "a person's answer": (
        step("request_user_input", {"question": "Your PIN?"}, result="Input: correcthorse42"),
        step("type", {"text": "correcthorse42"}),
    ),
}


@each_row("steps", HIDING.values())
def test_a_secret_is_gone_wherever_the_trace_repeats_it(steps: tuple[TraceStep, ...]) -> None:
    echo = step("wait", result=f"typed {TYPED}", thought=f"I used {TYPED}")

    found = remove_secrets(trace(*steps, echo, final_message=f"{TYPED} was right"))

    if "correcthorse42" not in written(trace(*steps)):
        assert TYPED not in written(found)
    assert "correcthorse42" not in written(found)
    assert HIDDEN in written(found)
    assert any(is_secret_step(one) for one in found.steps)


def test_an_answer_to_a_nested_question_is_hidden() -> None:
    fields: dict[str, Json] = {"questions": [{"question": "Which password?", "options": ["a"]}]}

    found = remove_secrets(trace(step("AskUserQuestion", fields, result="It is: open sesame")))

    assert found.steps[0].result == HIDDEN


def test_the_next_field_is_no_secret_one() -> None:
    steps = (
        step("tap_element", target=PASSWORD),
        step("type", {"text": TYPED}),
        step("tap_element", target=NAME),
        step("type", {"text": "ada"}),
        step("tap_element", target=UiTarget(text="Forgot password?")),
        step("type", {"text": "ada@example.org"}),
    )

    found = remove_secrets(trace(*steps))

    assert [one.action.text("text") for one in found.steps] == [
        "", HIDDEN, "", "ada", "", "ada@example.org",
    ]  # fmt: skip


def test_a_hidden_text_in_a_command_stays_one_word() -> None:
    steps = (
        step("tap_element", target=PASSWORD),
        step("shell", {"command": f"input text {TYPED}; ls"}),
    )

    found = remove_secrets(trace(*steps))

    assert found.steps[1].action.text("command") == f"input text '{HIDDEN}'; ls"


def test_a_short_secret_is_hidden_as_a_word_only() -> None:
    steps = (step("type", {"text": "123"}, target=UiTarget(resource_id="cvv")),)

    found = remove_secrets(trace(*steps, final_message="123 was taken, order 91234 too"))

    assert found.final_message == f"{HIDDEN} was taken, order 91234 too"


def test_credentials_are_masked_in_every_text() -> None:
    target = UiTarget(text=TOKEN, label=TOKEN, content_desc=TOKEN, element_id=TOKEN)
    fields: dict[str, Json] = {"command": f"curl -H {TOKEN}", "n": [{"a": TOKEN}], TOKEN: 1}
    one = replace(step("bash", fields, target=target, result=TOKEN, thought=TOKEN), app=TOKEN)
    whole = replace(
        trace(one, task=TOKEN, final_message=TOKEN),
        session_path=TOKEN,
        session_id=TOKEN,
        folder=TOKEN,
        problem=TOKEN,
    )

    assert TOKEN not in written(remove_secrets(whole))


def test_a_trace_without_secrets_is_left_as_it_is() -> None:
    plain = trace(
        step("tap_element", {"elementId": "4", "n": 1, "is": True, "none": None}, target=NAME),
        step("type", {"text": "ada"}, result="ok", thought="Type the name"),
        replace(step("bash", {"command": ["ls", "-l"], "timeout": 1.5}), failed=True, app="sh"),
    )

    found = remove_secrets(plain)

    assert export_trace(found) == export_trace(plain)
    assert found.id == plain.id


def test_a_value_that_is_nested_without_end_is_cut() -> None:
    deep: Json = "bottom"
    for _ in range(500):
        deep = [deep]

    found = remove_secrets(trace(step("tool", {"a": deep})))

    assert "bottom" not in written(found)


TEXTS = st.one_of(
    st.sampled_from([TYPED, TOKEN, "password", "pin: 1234", "****", HIDDEN, "token=abc123def456"]),
    st.text(max_size=20),
)
STEPS = st.builds(
    lambda kind, text, said, target: step(kind, {"text": text}, thought=said, target=target),
    st.sampled_from(["type", "tap_element", "keyevent", "shell", "browser_type"]),
    TEXTS, TEXTS, st.sampled_from([None, PASSWORD, NAME]),
)  # fmt: skip


@settings(max_examples=50, deadline=None)
@given(st.lists(STEPS, max_size=5), TEXTS)
def test_to_hide_again_changes_nothing(steps: list[TraceStep], task: str) -> None:
    once = remove_secrets(trace(*steps, task=task))

    assert export_trace(remove_secrets(once)) == export_trace(once)
