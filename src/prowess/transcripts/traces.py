"""What an agent did for one task: the steps, what came of each, and how it ended.

A trace comes from anybody. Every text in it is cut to a bound when it is read, so that nothing
further on needs to ask how long it may be, and nothing in it is an instruction to anyone. Whatever
is no part of a trace is counted by its reason and left out; a reason never holds a word of the
file, since it is printed. Texts keep their control characters, since a command may need them. What
kind of thing a step did is asked here as well: every harness has its own name for a shell.
"""

import hashlib
import json
import math
import re
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from itertools import islice
from types import MappingProxyType
from typing import TypeAlias

from prowess.data import read_table

Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"

# The table of what tools are called.
TOOLS = "transcripts/tools.toml"
# How much of each text is kept. Nothing that is made from a trace shows more.
MOST_TASK, MOST_WORDS, MOST_FIELD = 2_000, 4_000, 64_000
MOST_STEPS = 2_000
_MOST_NUMBER = 10**15
_ID_DIGITS = 16


class TraceShape(StrEnum):
    """How a trace was written down."""

    DOCUMENT = "document"
    LINES = "lines"
    OPENPOCKET = "openpocket"
    CLAUDE_CODE = "claude-code"
    CODEX = "codex"


# What only happens on a screen that is touched. Reading a file or running a program happens
# wherever the agent runs.
_ON_DEVICE = frozenset(
    ("tap", "tap_element", "swipe", "drag", "long_press_drag", "type", "keyevent", "launch_app",
     "batch_actions", "request_human_auth")
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class UiTarget:
    """The element of a screen that a step was about; what is empty was not known."""

    element_id: str = ""
    label: str = ""
    resource_id: str = ""
    text: str = ""
    content_desc: str = ""
    class_name: str = ""
    clickable: bool | None = None

    @property
    def is_known(self) -> bool:
        """True where it says enough to find the element again."""
        return bool(self.resource_id or self.text or self.content_desc)

    def change_texts(self, change: Callable[[str], str]) -> "UiTarget":
        """Return the element with each of its texts changed."""
        return replace(
            self,
            element_id=change(self.element_id),
            label=change(self.label),
            resource_id=change(self.resource_id),
            text=change(self.text),
            content_desc=change(self.content_desc),
            class_name=change(self.class_name),
        )


@dataclass(frozen=True, slots=True)
class TraceAction:
    """What was done: its type as it was written, and its fields."""

    kind: str
    fields: Mapping[str, Json]

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", MappingProxyType(dict(self.fields)))

    def text(self, *names: str) -> str:
        """Return the first of these fields that is a text that says something."""
        found = (self.fields.get(name) for name in names)
        return next((value for value in found if isinstance(value, str) and value), "")

    def number(self, name: str, default: float = 0.0) -> float:
        """Return a field as a number; a text or a truth value is none."""
        value = self.fields.get(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return default
        # Nothing on a screen or a clock is so large, and not every such integer is a float.
        return float(value) if abs(value) < _MOST_NUMBER else default


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceStep:
    """One action, why it was taken, and what was seen after it."""

    number: int
    action: TraceAction
    result: str = ""
    thought: str = ""
    # The program in front, as a device names it; empty where there was none.
    app: str = ""
    target: UiTarget | None = None
    # Whether the harness said that it went wrong.
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One task from its first step to its end."""

    task: str
    ok: bool
    steps: tuple[TraceStep, ...]
    session_path: str = ""
    final_message: str = ""
    shape: TraceShape = TraceShape.DOCUMENT
    session_id: str = ""
    # The folder in which the agent worked, where it is known.
    folder: str = ""
    # Why it does not count as done; empty where it does or nobody said.
    problem: str = ""
    # The hash, once it was asked for: everything in a trace goes into it.
    _id: str = field(default="", init=False, repr=False, compare=False)

    @property
    def is_on_device(self) -> bool:
        """True where a screen was touched, so that `shell` means the device's own."""
        if self.shape is TraceShape.OPENPOCKET:
            return True
        return any(step.action.kind in _ON_DEVICE or step.app for step in self.steps)

    @property
    def id(self) -> str:
        """The hash by which the same trace is known again, wherever its file lies by then."""
        if not self._id:
            # Nothing else in a trace changes, so neither does this.
            object.__setattr__(self, "_id", _hash_of(self))
        return self._id


def _hash_of(trace: Trace) -> str:
    record = {name: value for name, value in export_trace(trace).items() if name != "sessionPath"}
    written = json.dumps(record, sort_keys=True).encode("utf-8", "surrogatepass")
    return hashlib.sha256(written).hexdigest()[:_ID_DIGITS]


def export_trace(trace: Trace) -> dict[str, Json]:
    """Return a trace as the JSON document that the reader of documents reads again."""
    record: dict[str, Json] = {
        "task": trace.task,
        "sessionPath": trace.session_path,
        "ok": trace.ok,
        "finalMessage": trace.final_message,
        "shape": trace.shape.value,
        "steps": [_step_record(step) for step in trace.steps],
    }
    optional = {"sessionId": trace.session_id, "cwd": trace.folder, "problem": trace.problem}
    return record | {name: value for name, value in optional.items() if value}


def _step_record(step: TraceStep) -> dict[str, Json]:
    record: dict[str, Json] = {
        "step": step.number,
        "action": {**step.action.fields, "type": step.action.kind},
        "result": step.result,
    }
    optional: dict[str, Json] = {"thought": step.thought, "app": step.app}
    record |= {name: value for name, value in optional.items() if value}
    if step.failed:
        record["failed"] = True
    if step.target is not None:
        record["uiContext"] = _target_record(step.target)
    return record


def _target_record(target: UiTarget) -> dict[str, Json]:
    named: dict[str, Json] = {
        "elementId": target.element_id,
        "label": target.label,
        "resourceId": target.resource_id,
        "text": target.text,
        "contentDesc": target.content_desc,
        "className": target.class_name,
    }
    if target.clickable is not None:
        named["clickable"] = target.clickable
    return {name: value for name, value in named.items() if value != ""}


class Deed(StrEnum):
    """A kind of step."""

    GESTURE = "gesture"
    TYPE = "type"
    KEY = "key"
    LAUNCH = "launch"
    WAIT = "wait"
    BATCH = "batch"
    # A command on the device itself.
    DEVICE_SHELL = "device-shell"
    # A command where the agent runs.
    SHELL = "shell"
    SCRIPT = "script"
    READ = "read"
    WRITE = "write"
    EDIT = "edit"
    PATCH = "patch"
    # A person was asked for something.
    ASK = "ask"
    FINISH = "finish"
    # Any other tool.
    TOOL = "tool"


@cache
def _deeds_by_name() -> Mapping[str, Deed]:
    deeds = read_table(TOOLS)["deeds"].items()
    return {name: Deed(deed) for deed, names in deeds for name in names.split()}


_SHELLS = frozenset(("sh", "bash", "zsh", "dash", "ksh"))
_RUN_FLAGS = frozenset(("-c", "-lc", "-ic", "-cl", "-euc", "-ec"))
_WRAPPED = 3


def find_deed(action: TraceAction, *, on_device: bool) -> Deed:
    """Return what an action does; `on_device` is the trace's own word for where `shell` runs."""
    name = action.kind.strip().casefold()
    if name == "shell" and on_device:
        return Deed.DEVICE_SHELL
    return _deeds_by_name().get(name, Deed.TOOL)


def find_command(action: TraceAction) -> str:
    """Return the command line that a step ran, without the shell around it; empty where none."""
    for name in ("command", "cmd", "script", "code"):
        value = action.fields.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, Sequence) and value and all(isinstance(part, str) for part in value):
            return _unwrap([str(part) for part in value])
    inner = action.fields.get("action")
    return find_command(TraceAction(action.kind, inner)) if isinstance(inner, Mapping) else ""


def _unwrap(words: list[str]) -> str:
    shell = words[0].rsplit("/", 1)[-1]
    if len(words) == _WRAPPED and shell in _SHELLS and words[1] in _RUN_FLAGS:
        return words[2]
    return shlex.join(words)


def find_path(action: TraceAction) -> str:
    """Return the file that a step read or wrote; empty where it names none."""
    return action.text("file_path", "path", "filePath", "notebook_path", "absolute_path")


# What is taken from one file: values in its actions, tasks, and characters that are read for what
# they say. More than that nobody's session holds; it would only keep a reader busy.
MOST_FILE_PARTS, MOST_FILE_TASKS, MOST_FILE_WORDS = 2_000_000, 20_000, 1_000_000
TOO_MANY_TASKS = f"a task after {MOST_FILE_TASKS} others"


class LeftOutCounts(Counter[str]):
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


def cut_text(text: str, most: int, left_out: LeftOutCounts) -> str:
    """Return the beginning of a text, without what cannot be written to a file."""
    # Nearly every text is such a one, and there are a great many.
    if len(text) <= most and text.isascii() and "\0" not in text:
        return text
    if len(text) > most:
        left_out[f"text cut to {most} characters"] += 1
        text = text[:most]
    return _SURROGATE.sub("\ufffd", text).replace("\0", "")


def read_field(record: Mapping[str, object], name: str, most: int, left_out: LeftOutCounts) -> str:
    """Return a field as a text; another type is counted, and nothing at all is not."""
    value = record.get(name)
    if isinstance(value, str):
        return cut_text(value, most, left_out)
    if value is not None:
        left_out[f"`{name}` is no text"] += 1
    return ""


def copy_fields(value: Mapping[str, object], left_out: LeftOutCounts) -> dict[str, Json]:
    """Return the fields of an action as plain JSON within bounds."""
    return _Copy(left_out).mapping(value, 0)


def copy_fields_for(
    kind: str, value: Mapping[str, object], left_out: LeftOutCounts
) -> dict[str, Json]:
    """Return the fields of an action of this kind as plain JSON within bounds."""
    is_batch = kind.casefold() == _BATCH and isinstance(value.get(_INNER), list)
    return copy_fields(_shorten_batch(value, left_out) if is_batch else value, left_out)


def _shorten_batch(fields: Mapping[str, object], left_out: LeftOutCounts) -> Mapping[str, object]:
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


def write_json(value: object, left_out: LeftOutCounts) -> str:
    """Return a value as one line of JSON; a text stands for itself."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(_Copy(left_out).value(value, 0), ensure_ascii=False)


def read_action(value: object, left_out: LeftOutCounts) -> TraceAction | None:
    """Return an action by its record, or None where it has no type."""
    kind = read_kind(value.get("type"), left_out) if isinstance(value, dict) else ""
    if not isinstance(value, dict) or not kind:
        return None
    fields = {name: item for name, item in value.items() if name != "type"}
    return TraceAction(kind, copy_fields_for(kind, fields, left_out))


def read_kind(value: object, left_out: LeftOutCounts) -> str:
    """Return the name of what was done; nothing where it is none."""
    return cut_text(value, MOST_NAME, left_out).strip() if isinstance(value, str) else ""


def read_steps(listed: object, left_out: LeftOutCounts) -> tuple[TraceStep, ...]:
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


def _step_of(record: object, position: int, left_out: LeftOutCounts) -> TraceStep | None:
    action = read_action(record.get("action"), left_out) if isinstance(record, dict) else None
    if not isinstance(record, dict) or action is None:
        left_out[NO_ACTION] += 1
        return None
    # OpenPocket has another name for the program in front.
    app = "app" if record.get("app") is not None else "currentApp"
    return TraceStep(
        number=_number_of(record, position, left_out),
        action=action,
        result=cut_text(write_json(record.get("result"), left_out), MOST_WORDS, left_out),
        thought=read_field(record, "thought", MOST_WORDS, left_out),
        app=read_field(record, app, MOST_NAME, left_out),
        target=_target_of(record.get("uiContext"), left_out),
        failed=record.get("failed") is True,
    )


def _number_of(record: Mapping[str, object], position: int, left_out: LeftOutCounts) -> int:
    number = record.get("step")
    if isinstance(number, int) and not isinstance(number, bool) and 0 < number < _LARGEST_STEP:
        return number
    if number is not None:
        left_out["`step` is no number of a step"] += 1
    return position


def _target_of(value: object, left_out: LeftOutCounts) -> UiTarget | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        left_out["`uiContext` is no object"] += 1
        return None
    clickable = value.get("clickable")
    return UiTarget(
        element_id=_element_id(value, left_out),
        label=read_field(value, "label", MOST_NAME, left_out),
        resource_id=read_field(value, "resourceId", MOST_NAME, left_out),
        text=read_field(value, "text", MOST_NAME, left_out),
        content_desc=read_field(value, "contentDesc", MOST_NAME, left_out),
        class_name=read_field(value, "className", MOST_NAME, left_out),
        clickable=clickable if isinstance(clickable, bool) else None,
    )


def _element_id(value: Mapping[str, object], left_out: LeftOutCounts) -> str:
    number = value.get("elementId")
    if isinstance(number, int) and not isinstance(number, bool) and abs(number) < _LARGEST:
        return str(number)
    return read_field(value, "elementId", MOST_NAME, left_out)


class _Copy:
    """One value copied: a budget for all its parts and characters together."""

    def __init__(self, left_out: LeftOutCounts) -> None:
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
        return cut_text(name if isinstance(name, str) else repr(name), MOST_NAME, self._left_out)

    def _text(self, text: str) -> str:
        kept = cut_text(text, min(MOST_FIELD, self._characters), self._left_out)
        self._characters -= len(kept)
        return kept

    def _number(self, number: float) -> Json:
        # A whole number can be too large to become a float, and JSON knows no infinity.
        is_fine = -_LARGEST <= number <= _LARGEST if isinstance(number, int) else True
        if is_fine and math.isfinite(number):
            return number
        self._left_out[NO_NUMBER] += 1
        return None
