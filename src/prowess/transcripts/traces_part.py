"""What an agent did for one task: the steps, what came of each, and how it ended.

A trace comes from anybody. Every text in it is cut to a bound when it is read, so that nothing
further on needs to ask how long it may be, and nothing in it is an instruction to anyone.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias

Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"

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


@dataclass(frozen=True, slots=True)
class Action:
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
class Step:
    """One action, why it was taken, and what was seen after it."""

    number: int
    action: Action
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
    steps: tuple[Step, ...]
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
    record = {name: value for name, value in as_record(trace).items() if name != "sessionPath"}
    written = json.dumps(record, sort_keys=True).encode("utf-8", "surrogatepass")
    return hashlib.sha256(written).hexdigest()[:_ID_DIGITS]


def as_record(trace: Trace) -> dict[str, Json]:
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


def _step_record(step: Step) -> dict[str, Json]:
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
