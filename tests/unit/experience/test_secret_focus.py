"""What is typed is hidden by the field that has the focus, however a harness tells of it."""

import json

import pytest
from tests.rows import each_row

from prowess.experience.redaction import HIDDEN, remove_secrets
from prowess.transcripts.traces import Json, Trace, TraceAction, TraceStep, UiTarget, export_trace

TYPED = "geheim99x"


def step(kind: str, *, result: str = "ok", thought: str = "", **fields: Json) -> TraceStep:
    return TraceStep(number=1, action=TraceAction(kind, fields), result=result, thought=thought)


def tap(
    text: str = "", *, resource_id: str = "", cls: str = "EditText", app: str = ""
) -> TraceStep:
    target = UiTarget(text=text, resource_id=resource_id, class_name=f"android.widget.{cls}")
    action = TraceAction("tap_element", {"elementId": "7"})
    return TraceStep(number=1, action=action, result="ok", target=target, app=app)


def press(key: Json) -> TraceStep:
    return step("keyevent", keycode=key)


def shown(*steps: TraceStep, task: str = "Log in") -> str:
    found = remove_secrets(Trace(task=task, ok=True, steps=steps))
    return json.dumps(export_trace(found), ensure_ascii=False)


@each_row(
    "label",
    [
        "Clave", "Palavra-passe", "Parola", "Şifre", "Adgangskode", "Passord", "Salasana", "Jelszó",
        "Парола", "Лозинка", "Κωδικός", "סיסמה", "كلمة المرور", "رمز عبور", "पासवर्ड", "암호",
        "รหัสผ่าน", "Mật khẩu", "Kata sandi", "Geslo", "Slaptažodis", "TAN", "SMS-Code", "PUK",
        "Einmalcode", "Code", "6-digit code", "Card number", "IBAN", "SSN", "API key", "Passkey",
        "Access token", "Recovery phrase", "Mnemonic", "Security answer",
    ],
)  # fmt: skip
def test_a_field_is_known_in_many_languages(label: str) -> None:
    assert TYPED not in shown(tap(label), step("type", text=TYPED))


@pytest.mark.parametrize("name", ["com.x:id/et_pw", "com.x:id/card_num", "com.x:id/otp"])
def test_a_field_is_known_by_its_id(name: str) -> None:
    assert TYPED not in shown(tap(resource_id=name), step("type", text=TYPED))


@each_row(
    "label", ["Zip code", "Promo code", "Search", "QR code", "Message", "Tangent", "Pinterest"]
)
def test_other_fields_show_what_is_typed(label: str) -> None:
    assert TYPED in shown(tap(label), step("type", text=TYPED), task="Buy a lamp")


WAYS: dict[str, tuple[TraceStep, ...]] = {
    "tab": (
        tap("Username"), step("type", text="me"), press("KEYCODE_TAB"), step("type", text=TYPED),
    ),
    "a thought": (press("KEYCODE_ENTER"), step("type", text=TYPED, thought="Now the password")),
    "a button": (
        tap("Username"), step("type", text="me"), tap("Next", cls="Button"),
        step("type", text=TYPED),
    ),
    "a button named so": (tap("Password", cls="ImageButton"), step("type", text=TYPED)),
    "pairs": (step("fill", fields=[["password", TYPED]]),),
    "a computer": (
        step("computer", action="left_click", thought="click the password field"),
        step("computer", action="type", text=TYPED),
    ),
    "a selector": (step("browser_fill", selector="#pw", value=TYPED),),
    "a click": (
        step("browser_click", element="Password box"),
        step("browser_press_sequentially", text=TYPED),
    ),
    "a store": (step("bash", command="pass show bank", result=TYPED),),
    "a file": (step("bash", command="cat ~/.pgpass", result=f"host:5432:db:me:{TYPED}"),),
    "an answer": (
        step("request_user_input", question="Password?", result=f"User input: {TYPED} (typed)"),
    ),
    "a quoted answer": (
        step("ask_user", question="Code from the SMS?", result=f'User answered: "{TYPED}" for it'),
    ),
    "a written file": (step("write", file_path=".env", content=f"MAIL_PW={TYPED}\n"),),
    "words of a command": (step("bash", command=["docker", "login", "-p", TYPED]),),
}  # fmt: skip


@each_row("steps", WAYS.values())
def test_a_secret_is_gone_also_from_the_task(steps: tuple[TraceStep, ...]) -> None:
    echo = step("wait", thought=f"I used {TYPED.upper()} here")

    found = shown(*steps, echo, task=f"Log in, it is {TYPED}")

    assert TYPED not in found.lower()
    assert HIDDEN in found


def test_keys_that_spell_a_secret_are_hidden_with_what_they_spell() -> None:
    keys = [press(f"KEYCODE_{letter}") for letter in "7391"]

    found = shown(tap("PIN"), *keys, press(66), step("wait", result="entered 7391"))

    assert "KEYCODE_" not in found
    assert "7391" not in found
    assert '"keycode": 66' in found


def test_keys_elsewhere_are_shown() -> None:
    assert "KEYCODE_7" in shown(tap("Search"), press("KEYCODE_7"))


def test_digits_on_a_pad_are_hidden_with_their_places() -> None:
    pad = [tap(digit, resource_id=f"com.x:id/key_{digit}") for digit in "7391"]

    found = shown(*pad, tap("OK"))

    assert "key_" not in found
    assert '"OK"' in found


NUMBERED = (("3", "Settings"), ("7", "Network & internet"), ("2", "Wi-Fi"), ("5", "Home"))


def counted(number: str, text: str = "", resource_id: str = "", thought: str = "") -> TraceStep:
    """A tap on an element that the harness knows by the place it has on the screen."""
    target = UiTarget(element_id=number, text=text, label=text, resource_id=resource_id)
    action = TraceAction("tap_element", {"elementId": number})
    return TraceStep(number=1, action=action, result="ok", target=target, thought=thought)


def test_the_numbers_that_a_harness_gives_to_elements_are_no_pad() -> None:
    found = shown(*(counted(number, text) for number, text in NUMBERED), task="Join the network")

    assert HIDDEN not in found
    assert all(text in found for _, text in NUMBERED)


def test_numbers_of_elements_in_a_thought_or_a_field_are_no_pad() -> None:
    thoughts = [
        counted(number, resource_id=f"com.x:id/{text}", thought=f"Tap element {number} to go on")
        for number, text in NUMBERED
    ]
    fields = [step("mobile_tap", elementId=number) for number, _ in NUMBERED]

    assert HIDDEN not in shown(*thoughts, task="Join the network")
    assert HIDDEN not in shown(*fields, task="Join the network")


@pytest.mark.parametrize("number", ["7", "19"])
def test_a_pad_is_known_by_its_words_whatever_numbers_its_elements_have(number: str) -> None:
    found = shown(*(counted(number, digit) for digit in "7391"), task="Unlock it")

    assert found.count(HIDDEN) >= 4
    assert not any(f'"text": "{digit}"' in found for digit in "7391")


def test_a_pad_whose_keys_have_no_words_is_known_by_their_names() -> None:
    keys = [counted("19", resource_id=f"com.android.systemui:id/key{digit}") for digit in "7391"]

    assert "id/key" not in shown(*keys, task="Unlock it")


def test_digits_of_a_calculator_are_shown() -> None:
    pad = [
        tap(digit, resource_id=f"key_{digit}", app="com.android.calculator2") for digit in "7391"
    ]

    assert "key_3" in shown(*pad, task="Add numbers")


def test_what_a_tab_leads_to_is_shown_where_nobody_logs_in() -> None:
    steps = (tap("E-mail"), step("type", text="a@b.org"), press("KEYCODE_TAB"))

    assert TYPED in shown(*steps, step("type", text=TYPED), task="Write to Bob")


def test_a_failed_look_into_a_store_says_why() -> None:
    action = TraceAction("bash", {"command": "pass show bank"})
    failed = TraceStep(number=1, action=action, result="Error: bank is not there.", failed=True)

    assert "is not there" in shown(failed)


def test_fragments_of_a_secret_that_holds_a_name_are_gone() -> None:
    typed = step("browser_type", element="Clave", text="geheim-ann-99")

    found = shown(step("browser_type", element="User", text="ann"), typed)

    assert "geheim" not in found
    assert '"ann"' in found
