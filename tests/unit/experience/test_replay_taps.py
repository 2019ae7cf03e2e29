"""Which touches of a screen are asked about: those that pay, buy, delete or send money."""

from tests.rows import each_row

from prowess.experience.replay.script import question_touch, write_replay_script
from prowess.transcripts.traces import Json, Trace, TraceAction, TraceStep, UiTarget

TAP = TraceAction("tap", {"x": 1, "y": 2})

DANGEROUS = """
Delete|Pay now|Confirm payment|Proceed to payment|Send money|Transfer|Slide to pay|Place bid|Donate
Withdraw|Empty trash|Clear all data|Deactivate account|Cancel subscription|Overwrite|Format SD card
L\u00f6schen|Konto l\u00f6schen|Bezahlen|Jetzt kaufen|Kostenpflichtig bestellen|\u00dcberweisen
Supprimer|Payer|Acheter|D\u00e9sinstaller|Eliminar|Borrar|Pagar|Comprar|Elimina|Paga ora|Acquista
Excluir|Pagamento|Verwijderen|Betalen|Koop nu|Usu\u0144|Zap\u0142a\u0107|Kup teraz
\u0423\u0434\u0430\u043b\u0438\u0442\u044c|\u041e\u043f\u043b\u0430\u0442\u0438\u0442\u044c
\u5220\u9664|\u652f\u4ed8|\u4ed8\u6b3e|\u8d2d\u4e70|\u78ba\u8a8d\u4ed8\u6b3e|\u524a\u9664|\u8cfc\u5165
\uc0ad\uc81c|\uacb0\uc81c|\u062d\u0630\u0641|Sil|\u00d6de|Sat\u0131n al|DELETE2|D\u200belete
"""
ORDINARY = """
Send|Post|Search|OK|Next|Save|Submit|Yes|Confirm|Cancel|Open|Share|Replay|Display|Payload|Silent
Format text|Sort order|Suchen|Senden|Weiter|Enregistrer|Envoyer|Guardar|Enviar|Deleted items|Easily
"""


def split(text: str) -> list[str]:
    return text.strip().replace("\n", "|").split("|")


def touched(text: str = "", content_desc: str = "", label: str = "", resource_id: str = "") -> str:
    target = UiTarget(text=text, content_desc=content_desc, label=label, resource_id=resource_id)
    return question_touch(TAP, TraceStep(number=1, action=TAP, target=target))


@each_row("text", split(DANGEROUS))
def test_what_pays_buys_deletes_or_sends_money_is_asked_about(text: str) -> None:
    assert touched(text=text) != ""


@each_row("text", split(ORDINARY))
def test_ordinary_words_are_not(text: str) -> None:
    assert touched(text=text, resource_id="com.example.pay:id/button1") == ""


@each_row("name", ["btn_delete", "deleteButton", "delete2", "btnpay", "deletebutton", "quickBuy"])
def test_names_of_elements_are_taken_apart(name: str) -> None:
    assert touched(text="OK", resource_id=f"com.x:id/{name}") != ""


def test_every_name_of_an_element_is_looked_at() -> None:
    assert touched(text="OK", content_desc="Delete account") != ""
    assert touched(content_desc="x", label="Delete") != ""


def test_what_was_thought_and_what_came_of_it_is_looked_at() -> None:
    thought = TraceStep(number=1, action=TAP, thought="Tap the button to delete the account")
    result = TraceStep(number=1, action=TAP, result="Tapped 'Pay'")

    assert question_touch(TAP, thought) != ""
    assert question_touch(TAP, result) != ""


def test_touches_in_a_row_and_swipes_are_looked_at_too() -> None:
    inner: list[dict[str, Json]] = [
        {"type": "tap", "x": 1, "y": 2, "text": "OK"},
        {"type": "tap", "x": 1, "y": 2, "label": "Delete"},
    ]
    swipe = TraceAction("swipe", {"x1": 1, "y1": 2, "x2": 3, "y2": 4})
    steps = (
        TraceStep(number=1, action=TraceAction("batch_actions", {"actions": inner})),
        TraceStep(number=2, action=swipe, target=UiTarget(text="Slide to pay")),
        TraceStep(number=3, action=TraceAction("batch_actions", {"actions": inner[:1]})),
    )

    text = write_replay_script(Trace(task="t", ok=True, steps=steps), name="n")

    assert text is not None
    assert "readonly RISKY='1 2'" in text
