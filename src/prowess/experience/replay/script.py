"""A trace as a bash script that does the same again, and says first what it would do.

The script is a dry run unless it is told to execute. No text of a trace stands in it but inside a
word made by `quoted`; the one exception is the type of a step in a comment, of which only letters,
digits and a few signs are left. Secrets are not in it at all: they are asked for when it runs.

Steps on a phone as parts of a replay: gestures, typing, keys, programs and its own shell.

An element is looked for on the screen when the replay runs, since it seldom stands where it stood.
Coordinates are what is left when it is not found. What is typed is never a part of a command here:
the script puts it together for the device when it runs.

The words by which a touch that pays, buys, deletes or sends money is known: lists, no code.

Accents and capitals do not matter. A word too many costs a question; one that is missing costs
somebody's money, or what they kept.

Touches that pay, buy, delete or send money: found by the words on and around what is touched.

Words are compared without accents and capitals, and names of elements are taken apart first. A word
that only looks so (`Replay`, `Display`) must not count, and neither must what every program has:
sending a message, saving, searching, going on.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple
from xml.sax.saxutils import escape

from prowess.experience.commands import comment_word, quoted, visible
from prowess.experience.redaction import without_secrets
from prowess.experience.replay.gate.command_line import Scene, judged
from prowess.experience.replay.gate.tables import Written
from prowess.experience.replay.steps import (
    Around,
    Part,
    Place,
    Secrets,
    by_hand,
    device_part,
    edit_part,
    has_secret,
    note,
    patch_part,
    read_part,
    script_part,
    shell_part,
    spelled,
    together,
    tool_part,
    with_value,
    without_marks,
    write_part,
)
from prowess.experience.replay.template import COMMON, DEVICE, HEAD, HOST, TAIL
from prowess.secrets.credentials import masked
from prowess.transcripts.traces import (
    MOST_FIELD,
    Action,
    Deed,
    Json,
    Step,
    Trace,
    UiTarget,
    command_of,
    deed_of,
)

# Milliseconds, as the agents that write such traces take them.
_SHORTEST, _SWIPE, _DRAG = 100, 300, 360
_SHORTEST_HOLD, _HOLD, _WAIT = 120, 450, 1_000
_LONGEST_WAIT = 600_000
# Beyond this no screen reaches.
_FARTHEST = 99_999
_LAST_BASIC, _FIRST_PRINTABLE = 0xFFFF, 0x20
_TAPS = ("tap", "tap_element")


class _Spot(NamedTuple):
    x: int
    y: int


def gesture_part(action: Action, target: UiTarget | None) -> Part:
    """Return a touch of the screen."""
    kind = action.kind.strip().casefold()
    if kind in _TAPS:
        return _tap(action, target)
    start, end = _spot(action, "x1", "y1"), _spot(action, "x2", "y2")
    if start is None or end is None:
        return by_hand(f"{kind}; where it began or ended was not recorded")
    lasts = _duration(action, kind)
    words = f"{kind} from {start.x},{start.y} to {end.x},{end.y} in {lasts} ms"
    return device_part(words, f"swipe {start.x} {start.y} {end.x} {end.y} {lasts}")


def type_part(action: Action, around: Around) -> Part:
    """Return text that is typed; what is secret is asked for when the replay runs."""
    text = action.text("text", "value", "inputText", "input_text")
    if not text:
        return note("types nothing")
    if has_secret(text):
        name = around.secrets.another()
        words = f"types a text that was not recorded; it is asked for, or taken from {name}"
        return device_part(words, f"ask_secret {name}", 'type_text "$SECRET"')
    lost = " (without its zero bytes)" if "\0" in text else ""
    return replace(device_part(f"types{lost}:", 'type_text "$value"'), value=text)


def key_part(action: Action) -> Part:
    """Return a key that is pressed."""
    key = action.text("keycode", "keyCode", "key") or _whole(action, "keycode", "keyCode", "key")
    if not key or has_secret(key):
        return by_hand("press a key; which one was not recorded")
    return device_part(f"presses the key {key}", f"press_key {quoted(key)}")


def launch_part(action: Action) -> Part:
    """Return a program that is opened."""
    package = action.text("packageName", "package_name", "package", "app")
    if not package or has_secret(package):
        return by_hand("open a program; which one was not recorded")
    return device_part(f"opens {package}", f"launch_app {quoted(package)}")


def wait_part(action: Action) -> Part:
    """Return a wait."""
    asked = action.number("durationMs", action.number("duration_ms", _WAIT))
    seconds = min(max(asked, _SHORTEST), _LONGEST_WAIT) / 1_000
    shown = f"{seconds:.3f}".rstrip("0").rstrip(".")
    return Part(words=f"waits {shown} s", lines=(f"sleep {shown}",), is_command=True)


def device_shell_part(action: Action, around: Around) -> Part:
    """Return a command of the device's own shell."""
    command = command_of(action)
    if not command.strip():
        return note("a command of the device that is empty")
    told = spelled(command, around.secrets, in_command=True)
    found = judged(without_marks(command), Scene(written=around.written))
    around.written.add(found.written)
    if len(command) >= MOST_FIELD or "\0" in command or told is None:
        return by_hand("run a command on the device that cannot be written here", command[:200])
    # A command that begins like an option would be read by adb itself.
    guard = " " if command.startswith("-") else ""
    part = device_part("on the device:", f'on_device "{guard}$value"', danger=found.danger)
    return with_value(part, command, told)


def _tap(action: Action, target: UiTarget | None) -> Part:
    spot = _spot(action, "x", "y")
    wanted = tuple(_wanted(target)) if target is not None else ()
    name = _name_of(target) if target is not None else ""
    if not wanted:
        if spot is None:
            element = name or action.text("elementId", "element_id", "element")
            return by_hand(f"tap {element or 'an element'}; how to find it was not recorded")
        return device_part(f"taps at {spot.x},{spot.y}", f"tap_at {spot.x} {spot.y}")
    place = f"{spot.x} {spot.y}" if spot else "'' ''"
    words = f"taps {name}" + (f", or at {spot.x},{spot.y} where it is not found" if spot else "")
    attributes = " ".join(f"{attribute} {quoted(value)}" for attribute, value in wanted)
    return device_part(words, f"tap_element {place} {attributes}")


def _wanted(target: UiTarget) -> Iterator[tuple[str, str]]:
    """Yield by what an element is found: the surest first, what only breaks ties last."""
    named = [("resource-id", target.resource_id), ("text", target.text)]
    named += [("content-desc", target.content_desc)]
    if not target.is_known:
        named = [("text", target.label), ("content-desc", target.label)]
    known = [(name, value) for name, value in named if value and not has_secret(value)]
    for name, value in known:
        yield from ((name, form) for form in _escaped(value))
    if known and target.class_name:
        yield "class", escape(target.class_name, {'"': "&quot;"})


def _escaped(value: str) -> tuple[str, ...]:
    """Return a value as the device writes it in XML; letters of the upper planes in both ways."""
    basic = "".join(
        letter if ord(letter) >= _FIRST_PRINTABLE else f"&#{ord(letter)};"
        for letter in escape(value, {'"': "&quot;"})
        if letter != "\0"
    )
    numbered = "".join(
        letter if ord(letter) <= _LAST_BASIC else f"&#{ord(letter)};" for letter in basic
    )
    return tuple(dict.fromkeys((basic, numbered)))


def _name_of(target: UiTarget) -> str:
    seen = target.text or target.content_desc or target.label
    if not seen:
        return target.resource_id
    return f'"{seen}"' + (f" ({target.resource_id})" if target.resource_id else "")


def _spot(action: Action, across: str, down: str) -> _Spot | None:
    x, y = action.number(across, math.nan), action.number(down, math.nan)
    if math.isnan(x) or math.isnan(y):
        return None
    return _Spot(_rounded(x), _rounded(y))


def _rounded(number: float) -> int:
    # Halves go up, as where the traces come from.
    return math.floor(min(max(number, -_FARTHEST), _FARTHEST) + 0.5)


def _whole(action: Action, *names: str) -> str:
    found = (action.number(name, math.nan) for name in names)
    return next((str(_rounded(number)) for number in found if not math.isnan(number)), "")


def _duration(action: Action, kind: str) -> int:
    if kind != "long_press_drag":
        usual = _DRAG if kind == "drag" else _SWIPE
        return max(_SHORTEST, _rounded(action.number("durationMs", usual)))
    held = max(_SHORTEST_HOLD, _rounded(action.number("holdMs", _HOLD)))
    return held + max(_SHORTEST, _rounded(action.number("durationMs", _SWIPE)))


PARTS_WITHOUT_SECRETS = {Deed.KEY: key_part, Deed.LAUNCH: launch_part, Deed.WAIT: wait_part}


# A line is one language. `word` stands for a whole word, `word*` for how one begins, and `*word*`
# for a part of one, which is how words are put together in names and in some languages.
WORDS = """
*delete* *uninstall* *erase* *wipe* *purchase* *checkout* *discard* *pay* paid *buy* *remove*
removing factory reset transfer trash overwrite donate donation withdraw withdrawal unfriend
deactivate subscribe unsubscribe recharge
*loschen* *loesche* losch* *bezahl* zahlen
zahlung* *kaufen* kaufe kauf kostenpflichtig* *bestellen*
*uberweis* *entfernen* spenden kundigen kundigung *deinstallier* zurucksetzen zahlungspflichtig*
*supprim* effacer payer paiement* acheter achat achats commander *desinstall* virement resilier
reinitialiser vider
*eliminar* elimina eliminare borrar borra pagar pagalo pago pagos comprar compra transferir
transferencia desinstalar restablecer vaciar donar
cancella cancellare paga pagare pagamento acquista acquistare acquisto bonifico disinstalla svuota
ripristina rimuovi rimuovere
excluir apagar remover pagamento doar limpar desinstalar
удал* *удалить* оплат* *плат* купить купи покуп* стереть очистить заказать пожертв*
видал* сплат* *платити* купити
sil silin silmek ode odeme* odeyin kaldir havale sifirla satinal
usun usuwa* skasuj zaplac* *platnosc* kup kupuj kupic przelew* przelej
odinstaluj zamow zamawiam wyczysc
*verwijder* betaal betaald betalen *betaling* koop kopen bestellen bestel overmaken overboeken
wissen
hapus bayar beli pembayaran xoa mua radera betala kop slet slett betal kob kjop smazat zaplatit
koupit poista maksa osta διαγραφη πληρωμη
"""
PHRASES = """
place order|order now|place bid|place bet|book now|send money|send payment|transfer money|top up
format sd|format card|format storage|format disk
clear data|clear all
clear history|clear storage|empty trash|empty bin|bin it|close account
cancel subscription|one click|1 click|slide to pay|tap to pay|confirm purchase|confirm order
geld senden|geld uberweisen|konto schliessen|envoyer de l argent|vider la corbeille|enviar dinero
invia denaro|effettua ordine|enviar dinheiro|finalizar compra|finalizar pedido|realizar pedido
перевести деньги|перевод денег|перевод средств|отправить деньги|оформить заказ
para gonder|satin al|siparis ver|hesabi
kapat|wyslij pieniadze|kup teraz|geld sturen|geld overmaken
thanh toan|chuyen tien|ta bort|kirim uang
"""
PARTS = """
删除 刪除 支付 付款 购买 購買 转账 轉帳 轉賬 下单 下單 结账 結帳 結賬
清空 卸载 解除安裝 充值 提现 打赏 付费 付費 买单
買單 提交订单 确认订单 汇款 匯款 注销 恢复出厂 格式化 抹掉 移除
削除 購入 支払 決済 送金 振込 注文を確定 注文する
消去 買う 初期化 アンインストール 退会 課金 寄付 払う
삭제 결제 구매 송금 이체 주문하기 지불 초기화 탈퇴 구입 제거
حذف احذف دفع شراء اشتر إزالة تحويل_الأموال إرسال_الأموال تبرع
ลบ ชำระ จ่าย ซื้อ โอนเงิน हटा भुगतान खरीद मिटा מחק תשלום לשלם קנה
"""
# What looks like one of the above and is none.
NOT = """deleted display replay payload spray repay безоплатн бесплатн платформ"""


_MOST_RESULT, _MOST_THOUGHT = 200, 600
_FIELDS = ("text", "label", "contentDesc", "content_desc", "resourceId", "resource_id", "element",
           "elementId", "element_id", "description", "target", "name", "reason")  # fmt: skip
# Letters with a stroke or without a dot have no accent that could be taken away.
_STROKED = str.maketrans({"\u0142": "l", "\u0131": "i", "\u00f8": "o", "\u0111": "d"})
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BREAK = re.compile(r"[\W_0-9]+")


def _plain(text: str) -> str:
    """Return a text without capitals, accents and what cannot be seen."""
    parted = unicodedata.normalize("NFKD", text.casefold().translate(_STROKED))
    return "".join(
        letter for letter in parted if unicodedata.category(letter) not in ("Mn", "Cf", "Cc")
    )


def _pattern(words: str) -> re.Pattern[str]:
    """Return what finds any of these words."""
    found: list[str] = []
    for word in words.split():
        bare = re.escape(_plain(word.strip("*")))
        begins, ends = word.startswith("*"), word.endswith("*")
        found.append(("" if begins else r"\b") + bare + ("" if ends else r"\b"))
    return re.compile("|".join(found))


_WORD = _pattern(WORDS)
_PHRASE = re.compile(
    "|".join(rf"\b{_plain(phrase.strip())}\b" for phrase in re.split(r"[|\n]", PHRASES.strip()))
)
_IS_NONE = re.compile("|".join(_plain(word) for word in NOT.split()))
_PART = re.compile("|".join(_plain(part).replace("_", " ") for part in PARTS.split()))


def touch_danger(action: Action, step: Step) -> str:
    """Return why a touch needs a confirmation, by all that is known of what it touches."""
    found = next(filter(None, map(_found, _texts(action, step))), "")
    return f"it touches something called {found}" if found else ""


def _texts(action: Action, step: Step) -> Iterator[str]:
    if step.target is not None:
        target = step.target
        yield from (target.text, target.content_desc, target.label, target.element_id)
        # The package of a program says nothing about one of its elements.
        yield target.resource_id.rpartition("/")[2]
    for name in _FIELDS:
        yield action.text(name).rpartition("/" if "esource" in name else "\0")[2]
    yield step.thought[:_MOST_THOUGHT]
    yield step.result[:_MOST_RESULT]


def _found(text: str) -> str:
    """Return the word in a text that pays, buys, deletes or sends money."""
    if not text:
        return ""
    apart = _plain(_CAPITAL.sub(" ", text))
    words = _IS_NONE.sub(" ", " ".join(_BREAK.split(apart)))
    numbered = " ".join(re.split(r"[\W_]+", apart))
    found = _WORD.search(words) or _PHRASE.search(numbered) or _PART.search(apart)
    return found[0] if found else ""


_MOST_WORDS = 400
_MOST_TASK = 180
_MOST_BATCH = 100
_DEEPEST_BATCH = 3
_LAST_NUMBER = 999_999


@dataclass(frozen=True, slots=True, kw_only=True)
class _Numbered:
    """A step under the number by which the script knows it; without a part it is left out."""

    number: int
    kind: str
    part: Part | None = None
    # Why there is no part.
    reason: str = ""
    secrets: tuple[str, ...] = ()


def replay_script(trace: Trace, *, name: str) -> str | None:
    """Return a whole bash file, or nothing where no step gives a command."""
    safe = without_secrets(trace)
    written = Written()
    steps = [
        _numbered(step, number, safe, written)
        for number, step in zip(_numbers(safe.steps), safe.steps, strict=True)
    ]
    parts = [step.part for step in steps if step.part is not None]
    if not any(part.is_command for part in parts):
        return None
    places = frozenset[Place]().union(*(part.places for part in parts))
    sections = [HEAD, _values(safe, name, steps, places), COMMON]
    sections += [text for place, text in _SECTIONS.items() if place in places]
    sections += ["\n".join(_step_lines(step)) + "\n" for step in steps]
    return "".join([*sections, TAIL])


_SECTIONS: Mapping[Place, str] = {Place.DEVICE: DEVICE, Place.HOST: HOST}


def _numbers(steps: Sequence[Step]) -> list[int]:
    """Return the numbers of the trace, or plain ones where those do not tell steps apart."""
    own = [step.number for step in steps]
    counted = list(range(1, len(steps) + 1))
    rising = all(before < after for before, after in zip([0, *own], own, strict=False))
    return own if rising and own[-1:] <= [_LAST_NUMBER] else counted


def _numbered(step: Step, number: int, trace: Trace, written: Written) -> _Numbered:
    kind = comment_word(step.action.kind)
    if step.failed:
        reason = "it failed when it was recorded, and is left out"
        return _Numbered(number=number, kind=kind, reason=reason)
    secrets = Secrets(number)
    around = _Step(trace, step, Around(trace.folder, secrets, written))
    part = _part(step.action, around, f"{number}")
    reason = "" if part else "there is nothing to do"
    return _Numbered(
        number=number, kind=kind, part=part, reason=reason, secrets=tuple(secrets.names)
    )


@dataclass(frozen=True, slots=True)
class _Step:
    """The step of an action, which may be one of several."""

    trace: Trace
    step: Step
    around: Around
    depth: int = 0


def _part(action: Action, of: _Step, label: str) -> Part | None:
    deed = deed_of(action, on_device=of.trace.is_on_device)
    if deed is Deed.FINISH:
        return None
    if deed is Deed.BATCH:
        return _batch_part(action, of, label)
    if deed is Deed.GESTURE:
        # The element is known of the step as a whole, not of what a batch holds.
        part = gesture_part(action, of.step.target if of.depth == 0 else None)
        return replace(part, danger=touch_danger(action, of.step)) if part.is_command else part
    if deed in PARTS_WITHOUT_SECRETS:
        return PARTS_WITHOUT_SECRETS[deed](action)
    if deed is Deed.READ:
        return read_part(action, of.around.folder)
    return _PARTS.get(deed, tool_part)(action, of.around)


_PARTS: Mapping[Deed, Callable[[Action, Around], Part]] = {
    Deed.TYPE: type_part,
    Deed.DEVICE_SHELL: device_shell_part,
    Deed.SHELL: shell_part,
    Deed.SCRIPT: script_part,
    Deed.WRITE: write_part,
    Deed.EDIT: edit_part,
    Deed.PATCH: patch_part,
}


def _batch_part(action: Action, of: _Step, label: str) -> Part | None:
    inner = _inner_actions(action.fields.get("actions"))
    if len(inner) > _MOST_BATCH or of.depth >= _DEEPEST_BATCH:
        return by_hand("do many actions at once; there are too many to be written here")
    deeper = replace(of, depth=of.depth + 1)
    parts: list[tuple[str, Part]] = []
    for count, one in enumerate(inner, 1):
        part = _part(one, deeper, f"{label}.{count}")
        if part is not None:
            parts.append((f"step {label}.{count}: {comment_word(one.kind)}", part))
    return together(f"{len(parts)} actions in a row:", parts) if parts else None


def _inner_actions(listed: Json) -> list[Action]:
    if isinstance(listed, str) or not isinstance(listed, Sequence):
        return []
    return [Action(str(one.get("type", "")), one) for one in listed if isinstance(one, Mapping)]


def _values(trace: Trace, name: str, steps: Sequence[_Numbered], places: frozenset[Place]) -> str:
    """Return what the script knows of its trace."""
    risky = " ".join(str(step.number) for step in steps if step.part and step.part.danger)
    on_device, on_host = Place.DEVICE in places, Place.HOST in places
    values = {
        "NAME": _line(masked(name), _MOST_TASK),
        "TASK": _line(trace.task, _MOST_TASK),
        "RECORDED_FOLDER": trace.folder if visible(trace.folder) == trace.folder else "",
        "RISKY": risky,
        "SECRETS": " ".join(secret for step in steps for secret in step.secrets),
        "USES_DEVICE": "yes" if on_device else "no",
        "USES_FOLDER": "yes" if on_host else "no",
        "PLAIN_ARGUMENT": " [SERIAL]" if on_device else "",
    }
    lines = [f"readonly {key}={quoted(value)}" for key, value in values.items()]
    return "\n".join([*lines, f"readonly STEPS={steps[-1].number}", ""])


def _step_lines(step: _Numbered) -> Iterator[str]:
    yield ""
    yield f"# step {step.number}: {step.kind}"
    if step.part is None:
        yield f"# ({step.reason})"
        return
    part = step.part
    if part.value:
        yield f"value={quoted(part.value)}"
    words = [quoted(_line(part.words)), quoted(_line(part.danger)), *_shown(part)]
    begins = " ".join(["begins", str(step.number), *words])
    if not part.lines:
        yield f"{begins} || true"
        return
    yield f"if {begins}; then"
    yield from (f"  {line}" for line in part.lines)
    yield "fi"


def _shown(part: Part) -> tuple[str, ...]:
    """Return what is shown of a step in full: its text itself, where all of it can be seen."""
    text = part.shown or part.value
    seen = visible(text, one_line=False)
    if not text:
        return ()
    return ('"$value"',) if seen == part.value else (quoted(seen),)


def _line(text: str, most: int = _MOST_WORDS) -> str:
    line = visible(" ".join(text.split()))
    return line if len(line) <= most else line[:most] + "..."
