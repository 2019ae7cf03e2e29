"""The parts of a trace as they are read: each text cut to its bound, each value one that JSON has.

Whatever is no part of a trace is counted by its reason and left out. A reason never holds a word
of the file: it is printed. Texts keep their control characters, since a command may need them; only
what no file and no shell can hold is taken out here.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice

from prowess.transcripts.traces_part import (
    MOST_FIELD,
    MOST_STEPS,
    MOST_WORDS,
    Action,
    Json,
    Step,
    UiTarget,
)

# What is taken from one file: values in its actions, tasks, and characters that are read for what
# they say. More than that nobody's session holds; it would only keep a reader busy.
MOST_FILE_PARTS, MOST_FILE_TASKS, MOST_FILE_WORDS = 2_000_000, 20_000, 1_000_000
TOO_MANY_TASKS = f"a task after {MOST_FILE_TASKS} others"


class LeftOut(Counter[str]):
    """What was left out of a file by its reason, and how much may still be taken from it."""

    parts_left, tasks_left, words_left = MOST_FILE_PARTS, MOST_FILE_TASKS, MOST_FILE_WORDS

    def takes_task(self) -> bool:
        """Return whether the file may hold one more task; one too many is counted."""
        self.tasks_left -= 1
        if self.tasks_left >= 0:
            return True
        self[TOO_MANY_TASKS] += 1
        return False

    def takes_words(self, length: int) -> bool:
        """Return whether so many more characters of the file may be read for what they say."""
        self.words_left -= length
        return self.words_left >= 0


# Names, ids and the texts of one element on a screen.
MOST_NAME = 500
NO_ACTION, NO_STEPS = "a step without an action", "`steps` is no list"
TOO_MANY_STEPS = f"a step after {MOST_STEPS} others"
TOO_NESTED, TOO_MUCH = "a value nested too deeply", "a value with too many parts"
NO_NUMBER, NO_VALUE = "a number that is none or too large", "a value that JSON does not have"

TOO_MANY_FIELDS = "an action with too many fields"
TOO_MANY_ACTIONS = "actions in a row that are too many or nested too deeply"
# A batch of more is nobody's routine; one more is kept, so that it is seen to be too long.
MOST_BATCH, DEEPEST_BATCH = 100, 3

_BATCH, _INNER = "batch_actions", "actions"
_MOST_BATCH_WALK = 1_000
_DEEPEST, _MOST_PARTS, _MOST_CHARACTERS = 12, 2_000, 4 * MOST_FIELD
_MOST_FIELDS = 100
_LARGEST = 2**63
_LARGEST_STEP = 1_000_000
_SURROGATE = re.compile("[\ud800-\udfff]")


def cut(text: str, most: int, left_out: LeftOut) -> str:
    """Return the beginning of a text, without what cannot be written to a file."""
    # Nearly every text is such a one, and there are a great many.
    if len(text) <= most and text.isascii() and "\0" not in text:
        return text
    if len(text) > most:
        left_out[f"text cut to {most} characters"] += 1
        text = text[:most]
    return _SURROGATE.sub("\ufffd", text).replace("\0", "")


def text_at(record: Mapping[str, object], name: str, most: int, left_out: LeftOut) -> str:
    """Return a field as a text; another type is counted, and nothing at all is not."""
    value = record.get(name)
    if isinstance(value, str):
        return cut(value, most, left_out)
    if value is not None:
        left_out[f"`{name}` is no text"] += 1
    return ""


def fields_of(value: Mapping[str, object], left_out: LeftOut) -> dict[str, Json]:
    """Return the fields of an action as plain JSON within bounds."""
    return _Copy(left_out).mapping(value, 0)


def fields_for(kind: str, value: Mapping[str, object], left_out: LeftOut) -> dict[str, Json]:
    """Return the fields of an action of this kind as plain JSON within bounds."""
    is_batch = kind.casefold() == _BATCH and isinstance(value.get(_INNER), list)
    return fields_of(_bounded_batch(value, left_out) if is_batch else value, left_out)


def _bounded_batch(fields: Mapping[str, object], left_out: LeftOut) -> Mapping[str, object]:
    """Return a batch of too many actions, or of batches in batches, as one short row of actions."""
    row: list[object] = []
    waiting: list[tuple[object, int]] = [(fields, 0)]
    deepest = walked = 0
    while waiting and len(row) <= MOST_BATCH and walked < _MOST_BATCH_WALK:
        one, depth = waiting.pop()
        walked += 1
        inner = _inner_actions(one, depth)
        if inner:
            deepest = max(deepest, depth + 1)
            waiting += [(item, depth + 1) for item in reversed(inner[: MOST_BATCH + 1])]
        elif depth > 0:
            row.append(one)
    if not waiting and deepest <= DEEPEST_BATCH and len(row) <= MOST_BATCH:
        return fields
    left_out[TOO_MANY_ACTIONS] += 1
    return {**fields, _INNER: row}


def _inner_actions(one: object, depth: int) -> list[object]:
    if not isinstance(one, dict) or (depth > 0 and one.get("type") != _BATCH):
        return []
    inner = one.get(_INNER)
    return inner if isinstance(inner, list) else []


def json_text(value: object, left_out: LeftOut) -> str:
    """Return a value as one line of JSON; a text stands for itself."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(_Copy(left_out).value(value, 0), ensure_ascii=False)


def action_of(value: object, left_out: LeftOut) -> Action | None:
    """Return an action by its record, or None where it has no type."""
    kind = kind_of(value.get("type"), left_out) if isinstance(value, dict) else ""
    if not isinstance(value, dict) or not kind:
        return None
    fields = {name: item for name, item in value.items() if name != "type"}
    return Action(kind, fields_for(kind, fields, left_out))


def kind_of(value: object, left_out: LeftOut) -> str:
    """Return the name of what was done; nothing where it is none."""
    return cut(value, MOST_NAME, left_out).strip() if isinstance(value, str) else ""


def steps_of(listed: object, left_out: LeftOut) -> tuple[Step, ...]:
    """Return the steps of a list; what is none is counted."""
    if listed is None:
        return ()
    if not isinstance(listed, Sequence) or isinstance(listed, str | bytes):
        left_out[NO_STEPS] += 1
        return ()
    if len(listed) > MOST_STEPS:
        left_out[TOO_MANY_STEPS] += len(listed) - MOST_STEPS
    found = (_step_of(item, number, left_out) for number, item in enumerate(listed[:MOST_STEPS], 1))
    return tuple(step for step in found if step is not None)


def _step_of(record: object, position: int, left_out: LeftOut) -> Step | None:
    action = action_of(record.get("action"), left_out) if isinstance(record, dict) else None
    if not isinstance(record, dict) or action is None:
        left_out[NO_ACTION] += 1
        return None
    # OpenPocket has another name for the program in front.
    app = "app" if record.get("app") is not None else "currentApp"
    return Step(
        number=_number_of(record, position, left_out),
        action=action,
        result=cut(json_text(record.get("result"), left_out), MOST_WORDS, left_out),
        thought=text_at(record, "thought", MOST_WORDS, left_out),
        app=text_at(record, app, MOST_NAME, left_out),
        target=_target_of(record.get("uiContext"), left_out),
        failed=record.get("failed") is True,
    )


def _number_of(record: Mapping[str, object], position: int, left_out: LeftOut) -> int:
    number = record.get("step")
    if isinstance(number, int) and not isinstance(number, bool) and 0 < number < _LARGEST_STEP:
        return number
    if number is not None:
        left_out["`step` is no number of a step"] += 1
    return position


def _target_of(value: object, left_out: LeftOut) -> UiTarget | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        left_out["`uiContext` is no object"] += 1
        return None
    clickable = value.get("clickable")
    return UiTarget(
        element_id=_element_id(value, left_out),
        label=text_at(value, "label", MOST_NAME, left_out),
        resource_id=text_at(value, "resourceId", MOST_NAME, left_out),
        text=text_at(value, "text", MOST_NAME, left_out),
        content_desc=text_at(value, "contentDesc", MOST_NAME, left_out),
        class_name=text_at(value, "className", MOST_NAME, left_out),
        clickable=clickable if isinstance(clickable, bool) else None,
    )


def _element_id(value: Mapping[str, object], left_out: LeftOut) -> str:
    number = value.get("elementId")
    if isinstance(number, int) and not isinstance(number, bool) and abs(number) < _LARGEST:
        return str(number)
    return text_at(value, "elementId", MOST_NAME, left_out)


class _Copy:
    """One value copied: a budget for all its parts and characters together."""

    def __init__(self, left_out: LeftOut) -> None:
        self._left_out = left_out
        self._parts, self._characters = min(_MOST_PARTS, left_out.parts_left), _MOST_CHARACTERS

    def value(self, value: object, depth: int) -> Json:
        """Return a value as plain JSON."""
        self._parts -= 1
        self._left_out.parts_left -= 1
        if isinstance(value, str):
            return self._text(value)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float):
            return self._number(value)
        if depth >= _DEEPEST:
            self._left_out[TOO_NESTED] += 1
            return None
        if isinstance(value, dict):
            return self.mapping(value, depth)
        return self._list(value, depth)

    def mapping(self, value: Mapping[str, object], depth: int) -> dict[str, Json]:
        """Return an object as plain JSON."""
        copied: dict[str, Json] = {}
        if len(value) > _MOST_FIELDS:
            self._left_out[TOO_MANY_FIELDS] += 1
        for name, item in islice(value.items(), _MOST_FIELDS):
            if self._is_spent():
                break
            copied[self._name(name)] = self.value(item, depth + 1)
        return copied

    def _list(self, value: object, depth: int) -> Json:
        if not isinstance(value, list | tuple):
            self._left_out[NO_VALUE] += 1
            return None
        copied: list[Json] = []
        for item in value:
            if self._is_spent():
                break
            copied.append(self.value(item, depth + 1))
        return copied

    def _is_spent(self) -> bool:
        if self._parts > 0:
            return False
        self._left_out[TOO_MUCH] += 1
        return True

    def _name(self, name: object) -> str:
        return cut(name if isinstance(name, str) else repr(name), MOST_NAME, self._left_out)

    def _text(self, text: str) -> str:
        kept = cut(text, min(MOST_FIELD, self._characters), self._left_out)
        self._characters -= len(kept)
        return kept

    def _number(self, number: float) -> Json:
        # A whole number can be too large to become a float, and JSON knows no infinity.
        is_fine = -_LARGEST <= number <= _LARGEST if isinstance(number, int) else True
        if is_fine and math.isfinite(number):
            return number
        self._left_out[NO_NUMBER] += 1
        return None
