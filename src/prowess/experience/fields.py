"""Which fields hold a secret, and which one has the focus while a trace goes on.

A name is judged by its words, however they are written together: `etPassword`, `otp_code`, `PIN`.
Short words count only as words of their own, since `pin` is also a part of `shopping`. To take a
field for a secret one costs a readable draft; to miss one shows a password. So doubt hides.

A step that types seldom names its field: the touch before it does, or the key that went on from the
name of a user to what is mostly a password. What was touched last is often only what led there (the
row of a conversation, a button), and such an element gives its name to no text.
"""

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import partial

from prowess.data import compile_group, read_word_group
from prowess.secrets.credentials import mask_credentials
from prowess.secrets.names import plain_words, read_names
from prowess.transcripts.traces import (
    Deed,
    Json,
    Trace,
    TraceAction,
    TraceStep,
    UiTarget,
    find_command,
    find_deed,
)

# What an action puts into a field.
VALUE_NAMES = frozenset(
    ("text", "value", "inputText", "input_text", "keys", "chars", "characters", "string", "answer")
)
# By what an action names the field that it fills.
_FIELD_NAMES = (
    "element", "selector", "field", "label", "name", "placeholder", "locator", "resourceId",
    "resource_id", "id", "elementId", "contentDesc", "className", "hint", "target", "question",
)  # fmt: skip
# A name that makes a secret of some values: a token is one, a `next_token: 7` is not.
_MAYBE = re.compile(r"(?i)token|key|auth|cred|login|session")
_MOST_LABEL, _MOST_THOUGHT, _SHORT_THOUGHT = 400, 1_000, 60


_words = partial(read_word_group, "language/data/fields.toml")


def _phrases(group: str, flags: int = 0) -> re.Pattern[str]:
    return compile_group("fields", group, flags=flags)


def names_secret(text: str) -> bool:
    """Return whether a name or a label says that what stands there is a secret."""
    words = plain_words(text[:_MOST_LABEL])
    return _has_part(words) or not _WORDS.isdisjoint(words.split())


def is_secret_target(target: UiTarget | None) -> bool:
    """Return whether an element is a secret field, or belongs to one."""
    return target is not None and any(names_secret(label) for label in list_labels(target))


def names_user(text: str) -> bool:
    """Return whether a label is that of a user's name, which mostly a password follows."""
    return bool(_phrases("user").search(plain_words(text[:_MOST_LABEL])))


def names_other(text: str) -> bool:
    """Return whether a label is surely that of a field for something else."""
    return not names_secret(text) and bool(
        _phrases("other_field").search(plain_words(text[:_MOST_LABEL]))
    )


def is_beside_secret(text: str) -> bool:
    """Return whether a label is that of a helper of a password: to show, forget or reset it."""
    return bool(_phrases("beside").search(plain_words(text)))


def means_secret(thought: str) -> bool:
    """Return whether a thought says that a secret is typed now."""
    words = plain_words(thought[:_MOST_THOUGHT])
    meant = (_phrases("not_now").split(hit["what"])[0] for hit in _phrases("meant").finditer(words))
    if any(names_secret(what) for what in meant):
        return True
    # Nothing else is spoken of: `Now the password`.
    return (
        len(words) <= _SHORT_THOUGHT
        and names_secret(words)
        and not _phrases("settled").search(words)
    )


def names_secret_field(fields: Mapping[str, Json]) -> bool:
    """Return whether fields name the element that they fill, and it is a secret one."""
    named = (fields.get(name) for name in _FIELD_NAMES)
    return any(isinstance(name, str) and names_secret(name) for name in named)


def find_field_labels(fields: Mapping[str, Json]) -> tuple[str, ...]:
    """Return by what fields name the element that they are about."""
    named = (fields.get(name) for name in _FIELD_NAMES)
    return tuple(name for name in named if isinstance(name, str) and name)


def asks_for_code(question: str) -> bool:
    """Return whether a person is asked for a code; of which kind, a question seldom says."""
    return bool(re.search(r"\b(?:code|codigo|kod|sms)\b", plain_words(question)))


def is_secret_value(name: str, value: str) -> bool:
    """Return whether the name of a field says that its value is a secret."""
    if not value or name in _FIELD_NAMES:
        return False
    said = f"{name}={value}"
    words = plain_words(name)
    is_named = _has_part(words) or not (_WORDS - _LABEL_WORDS).isdisjoint(words.split())
    return is_named or bool(_MAYBE.search(name) and mask_credentials(said) != said)


def list_labels(target: UiTarget) -> tuple[str, ...]:
    """Return by what an element is named; of its id the part that its program gave it."""
    named = (target.text, target.content_desc, target.label, target.class_name, target.element_id)
    # The name of the program is no name of the field.
    return (target.resource_id.rsplit("/", 1)[-1], *named)


def _has_part(words: str) -> bool:
    return any(part in words for part in _PARTS) or bool(_CODE.search(words))


_PARTS = tuple(dict.fromkeys(plain_words(part) for part in read_names().parts))
_WORDS = frozenset(plain_words(word) for word in read_names().words)
# Words that also name what is no secret where a call has them: `next_token`, `tan`.
_LABEL_WORDS = frozenset(("token", "parole", "parola", "clave", "tan"))
_CODE = re.compile(
    rf"\b(?:{'|'.join(plain_words(word) for word in read_names().codes)}) ?(?:codes?|kod|codigo)\b"
    r"|\A(?:(?:enter|the|input|et|edit|txt|text|field) ){0,3}(?:code|codigo)(?: eingeben)?\Z"
)


class Focus(Enum):
    """What kind of field has the focus."""

    OTHER = "other"
    USER = "user"
    # A kind of field, not what stands in it.
    SECRET = "secret"  # noqa: S105


_TYPES = re.compile(r"(?i)(?:\b|_)(?:type|fill|send_?keys|press_sequentially|input_text|set_value)")
_KEYS = re.compile(r"(?i)(?:\b|_)(?:press|key|hotkey|keypress)")
_TOUCHES = re.compile(r"(?i)(?:\b|_)(?:click|tap|touch|focus)")
# Keys that leave a field: on to the next one, or away from all.
_ONWARD = re.compile(
    r"(?i)(?:keycode_)?(?:tab|enter|return|next|dpad_down|numpad_enter)|61|66|20|160"
)
_AWAY = re.compile(r"(?i)(?:keycode_)?(?:back|home|escape|esc|app_switch)|[34]|111|187")
_CHARACTER = re.compile(r"(?i)(?:keycode_|key_|digit_?)?(?:numpad_?)?(?P<one>[a-z0-9])")
# Where the numbers of the keys for digits and letters begin: 0 to 9, a to z, the pad.
_NUMBERED = ((7, 16, "0"), (29, 54, "a"), (144, 153, "0"))
_KEY_NAMES = ("keycode", "keyCode", "key", "text", "keys")
_FEWEST_DIGITS = 4
# A digit, or the name of a key that writes one.
_PAD_KEY = re.compile(
    r"(?i)(?:(?:key|digit|num(?:ber|pad)?|pin)(?:[_ ]?(?:key|btn|button))?[_ ]?)?(?P<digit>\d)"
)
_THOUGHT_KEY = re.compile(r"(?<!\w)(?:digit |key |number )?['\"]?(\d)['\"]?(?!\w)")
_TOUCHING = re.compile(r"(?i)\W*(?:tap|press|touch|enter|digit)")
# Numbers by which a harness or a person counts what is on a screen.
_COUNTED = re.compile(
    r"(?i)\b(?:element|item|option|entry|row|index|tab|page|result)s?(?: id| no\.?| number)?"
    r"[ :=]{0,2}#?['\"]?\d+"
)
_NUMBERS = frozenset(("id", "elementId", "element_id", "ref", "index"))


def classify_action(action: TraceAction) -> Deed:
    """Return whether an action touches, types or presses a key, also where a tool does it."""
    deed = find_deed(action, on_device=True)
    if deed is not Deed.TOOL:
        return deed
    said = f"{action.kind} {action.text('action')}"
    for pattern, way in ((_TYPES, Deed.TYPE), (_TOUCHES, Deed.GESTURE), (_KEYS, Deed.KEY)):
        if pattern.search(said):
            return way
    return deed


def find_labels(step: TraceStep) -> tuple[str, ...]:
    """Return by what a step names the element that it is about."""
    target = step.target
    if target is not None and target.is_known:
        return list_labels(target)
    is_tool = find_deed(step.action, on_device=True) is Deed.TOOL
    return find_field_labels(step.action.fields) if is_tool else ()


def move_focus(step: TraceStep, had: Focus) -> Focus:
    """Return what has the focus once a step is done."""
    way = classify_action(step.action)
    if way is Deed.GESTURE:
        return _follow_touch(step, had)
    if way is Deed.KEY:
        key = read_key(step.action)
        if _AWAY.fullmatch(key):
            return Focus.OTHER
        if not _ONWARD.fullmatch(key):
            return had
        return Focus.SECRET if had is Focus.USER else Focus.OTHER
    if way is Deed.TYPE:
        return _follow_typing(step, had)
    return Focus.OTHER if way in (Deed.LAUNCH, Deed.FINISH) else had


def _follow_touch(step: TraceStep, had: Focus) -> Focus:
    named = find_labels(step)
    if not named:
        named = (step.thought,)
    if read_digit(step) or any(is_beside_secret(label) for label in named):
        # The eye beside a password leaves the focus where it is, as the keys of a pad do.
        return had
    if any(names_secret(label) for label in named):
        return Focus.SECRET
    if any(names_user(label) for label in named):
        return Focus.USER
    goes_on = any(
        _phrases("next_button", re.IGNORECASE).fullmatch(label.strip()) for label in named
    )
    return Focus.SECRET if goes_on and had is Focus.USER else Focus.OTHER


def _follow_typing(step: TraceStep, had: Focus) -> Focus:
    named = find_labels(step)
    if any(names_secret(label) for label in named):
        return Focus.SECRET
    if any(names_user(label) for label in named):
        return Focus.SECRET if step.action.fields.get("submit") is True else Focus.USER
    is_user = not named and names_user(step.thought) and not names_secret(step.thought)
    return Focus.USER if is_user else had


def fills_secret(step: TraceStep, focus: Focus) -> bool:
    """Return whether what a step types goes into a secret field."""
    named = find_labels(step)
    if any(names_secret(label) for label in named):
        return True
    if not named and _may_fill(step.action) and means_secret(step.thought):
        return True
    return focus is Focus.SECRET and not any(names_other(label) for label in named)


def _may_fill(action: TraceAction) -> bool:
    """Return whether an action can put a text into a field of a screen."""
    if find_deed(action, on_device=True) in (Deed.TYPE, Deed.TOOL, Deed.BATCH):
        return True
    return "input" in find_command(action)


def says_login(trace: Trace) -> bool:
    """Return whether a trace is about logging in somewhere, so that a password follows a name."""
    said = (label for step in trace.steps for label in (step.thought, *find_labels(step)))
    return any(_phrases("login", re.IGNORECASE).search(text) for text in (trace.task, *said))


def read_key(action: TraceAction) -> str:
    """Return the key that an action presses, as it is written."""
    found = (action.fields.get(name) for name in _KEY_NAMES)
    named = (value for value in found if isinstance(value, (str, int)))
    return str(next((value for value in named if not isinstance(value, bool)), "")).strip()


def read_character(action: TraceAction) -> str:
    """Return the letter or digit that a key writes; empty for any other key."""
    key = read_key(action)
    if key.isdigit() and find_deed(action, on_device=True) is Deed.KEY:
        number = int(key[:6])
        for first, last, begins in _NUMBERED:
            if first <= number <= last:
                return chr(ord(begins) + number - first)
        return ""
    hit = _CHARACTER.fullmatch(key)
    return hit["one"].lower() if hit else ""


def read_digit(step: TraceStep) -> str:
    """Return the digit of the key on the screen that a step touches; empty for anything else."""
    if classify_action(step.action) is not Deed.GESTURE:
        return ""
    named = _key_labels(step)
    digits = (hit["digit"] for label in named if (hit := _PAD_KEY.fullmatch(label.strip())))
    found = next(digits, "")
    if found or named:
        return found
    thought = _THOUGHT_KEY.search(_COUNTED.sub("", step.thought))
    return thought[1] if thought and _TOUCHING.match(step.thought) else ""


def _key_labels(step: TraceStep) -> tuple[str, ...]:
    """Return what may stand on the key that a step touches.

    Never the number that a harness gave an element: that counts what is on the screen.
    """
    target = step.target
    if target is not None and target.is_known:
        # Of an id only one that says by itself that it is a key: the keys of a lock screen have no
        # words of their own.
        own = target.resource_id.rsplit("/", 1)[-1]
        named = (target.text, target.content_desc, target.label)
        is_key = len(own) > 1 and _PAD_KEY.fullmatch(own) is not None
        return tuple(filter(None, (*named, own if is_key else "")))
    if find_deed(step.action, on_device=True) is not Deed.TOOL:
        return ()
    fields = step.action.fields
    return find_field_labels({name: fields[name] for name in fields if name not in _NUMBERS})


def find_pad_steps(steps: Sequence[TraceStep], focused: Sequence[Focus]) -> dict[int, str]:
    """Return the places of the steps that enter a number on a pad, each with its digit."""
    found: dict[int, str] = {}
    row: list[int] = []
    for place in range(len(steps) + 1):
        step = steps[place] if place < len(steps) else None
        if step is not None and read_digit(step):
            row.append(place)
            continue
        if step is not None and classify_action(step.action) is Deed.WAIT:
            continue
        if row and _is_secret_row(row, steps, focused):
            found |= {at: read_digit(steps[at]) for at in row}
        row = []
    return found


def _is_secret_row(
    row: Sequence[int], steps: Sequence[TraceStep], focused: Sequence[Focus]
) -> bool:
    if focused[row[0]] is Focus.SECRET:
        return True
    return len(row) >= _FEWEST_DIGITS and not _phrases("counting", re.IGNORECASE).search(
        steps[row[0]].app
    )


_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[^\W\d_]+")
_FIELD_CLASS = re.compile(r"(?i)edit|input|field|autocomplete|search")
_NO_FIELD_CLASS = re.compile(
    r"(?:Button|CheckBox|RadioButton|ImageView|ListView|RecyclerView|ViewGroup|TabView)\Z"
)


def find_field(near: Sequence[UiTarget]) -> UiTarget | None:
    """Return the field of a text, of the elements that were touched last before it in each run."""
    if not near:
        return None
    secret = next((target for target in near if is_secret_target(target)), None)
    if secret is not None:
        return secret
    first = near[0]
    if _FIELD_CLASS.search(first.class_name.rsplit(".", 1)[-1]):
        return first
    if len({_tell(target) for target in near}) > 1 or not _can_be_field(first):
        return None
    return first


def _tell(target: UiTarget) -> str:
    return target.text or target.content_desc or target.label


def _can_be_field(target: UiTarget) -> bool:
    named = f"{target.resource_id.rsplit('/', 1)[-1]} {target.content_desc} {_tell(target)}"
    words = {word.casefold() for word in _WORD.findall(named)}
    if words & _words("entered"):
        return not words & {"row", "item", "result", "results", "send"}
    is_pressed = bool(_NO_FIELD_CLASS.search(target.class_name)) or bool(words & _words("pressed"))
    return not is_pressed
