"""OpenPocket's sessions as JSON lines, in each of the ways in which it has written them.

The oldest names an event on each line. The later ones wrap a message: a task is a user's, a step is
a text of a kind of its own with the action as JSON in the middle, and the end is an assistant's.
The text of a step is not escaped. So the first action that parses counts: what a tool returned
stands after it, and can contain anything.
"""

import json
from collections.abc import Iterator, Mapping, Sequence

from prowess.transcripts.documents import AFTER_END, BEFORE_ANY, trace_of
from prowess.transcripts.sessions import words_of
from prowess.transcripts.traces import LeftOut
from prowess.transcripts.traces_part import Trace, TraceShape
from prowess.transcripts.turns import NO_MESSAGE, Record

Entry = Mapping[str, object]

NO_JSON_ACTION = "a step whose action is no JSON"
SAYS_FAILED = "OpenPocket says that it failed"
EMPTY, UNKNOWN, SUCCESS = "(empty)", "unknown", "SUCCESS"

_EVENTS = frozenset(("session_started", "step_appended", "session_finalized"))
_STEP, _OWN = "openpocket_step", "openpocket_"
_ACTION, _RESULT = "\naction_json:\n", "\nexecution_result:\n"
_MOST_TRIES, _MOST_DIGITS = 20, 6
# How the end was written, first with its status as a text and then as the reason of a stop.
_TEXTUAL_END, _END = "session-finalizer", "session-task-outcome"


def is_openpocket_line(value: object) -> bool:
    """Return whether a value is a line that OpenPocket writes."""
    if not isinstance(value, dict):
        return False
    message = value.get("message")
    if isinstance(message, dict):
        kind = message.get("customType")
        is_own = isinstance(kind, str) and kind.startswith(_OWN)
        return is_own or message.get("provider") == "openpocket"
    return value.get("event") in _EVENTS if isinstance(value.get("event"), str) else False


def read_openpocket(
    records: Sequence[Record], *, path: str, left_out: LeftOut
) -> tuple[Trace, ...]:
    """Return a trace for each task of a session."""
    session = _Session(left_out)
    for record in records:
        value = record.value
        if not isinstance(value, dict):
            left_out[NO_MESSAGE] += 1
        elif "event" in value:
            session.take_event(value)
        else:
            session.take_line(value)
    found = (
        trace_of(document, path=path, left_out=left_out, shape=TraceShape.OPENPOCKET)
        for document in session.documents()
    )
    return tuple(trace for trace in found if trace is not None)


def action_in(text: str) -> Mapping[str, object] | None:
    """Return the action that a text is as JSON."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and isinstance(value.get("type"), str) else None


def end_of(status: str, message: str) -> dict[str, object]:
    """Return how a session says that a task ended, as fields of a document."""
    is_ok = status.strip() == SUCCESS
    ended: dict[str, object] = {"ok": is_ok, "finalMessage": message.strip()}
    return ended if is_ok else ended | {"problem": SAYS_FAILED}


def step_record(
    number: object, action: Entry, *, thought: str, result: str, trace: object
) -> dict[str, object]:
    """Return a step as a document has it; `trace` is what OpenPocket measured around it."""
    measured = trace if isinstance(trace, dict) else {}
    app, status = measured.get("currentApp"), measured.get("status")
    return {
        "step": number,
        "action": action,
        "result": result,
        "thought": "" if thought.strip() == EMPTY else thought,
        "app": app if isinstance(app, str) and app != UNKNOWN else "",
        "failed": status == "error",
    }


class _Session:
    """The tasks of a session so far."""

    def __init__(self, left_out: LeftOut) -> None:
        self._left_out = left_out
        self._tasks: list[dict[str, object]] = []
        self._steps: list[list[object]] = []
        self._about: dict[str, object] = {}

    def documents(self) -> Iterator[Entry]:
        """Yield each task as a document."""
        for task, steps in zip(self._tasks, self._steps, strict=True):
            yield {**self._about, **task, "steps": steps}

    def take_event(self, line: Entry) -> None:
        """Take a line of the oldest kind."""
        event = line.get("event")
        if event == "session_started":
            named = {name: line.get(name) for name in ("task", "sessionId", "sessionPath")}
            self._begin(named)
        elif event == "step_appended":
            action = action_in(str(line.get("actionJson")))
            step = action and step_record(
                line.get("stepNo"),
                action,
                thought=_text(line, "thought"),
                result=_text(line, "result"),
                trace=line.get("trace"),
            )
            self._add(step)
        elif event == "session_finalized":
            self._end(end_of(_text(line, "status"), _text(line, "message")))

    def take_line(self, line: Entry) -> None:
        """Take a line that wraps a message."""
        message = line.get("message")
        if line.get("type") == "session":
            self._about = {"sessionId": _text(line, "id"), "cwd": _text(line, "cwd")}
        elif not isinstance(message, dict):
            self._left_out[NO_MESSAGE] += 1
        elif message.get("role") == "user":
            self._begin({"task": words_of(message.get("content"), "user")})
        elif message.get("customType") == _STEP:
            self._add(_step_in(message))
        elif message.get("role") == "assistant":
            self._take_end(message)

    def _take_end(self, message: Entry) -> None:
        text = words_of(message.get("content"), "assistant")
        if message.get("model") == _END:
            self._end(end_of(SUCCESS if message.get("stopReason") == "stop" else "", text))
        elif message.get("model") == _TEXTUAL_END:
            head, _, rest = text.partition("\n\n")
            status = head.partition("\n")[0].removeprefix("status:")
            self._end(end_of(status, rest))

    def _begin(self, task: dict[str, object]) -> None:
        self._tasks.append(task)
        self._steps.append([])

    def _add(self, step: Entry | None) -> None:
        if step is None:
            self._left_out[NO_JSON_ACTION] += 1
        elif not self._tasks or "ok" in self._tasks[-1]:
            self._left_out[AFTER_END if self._tasks else BEFORE_ANY] += 1
        else:
            self._steps[-1].append(step)

    def _end(self, ended: dict[str, object]) -> None:
        if self._tasks and "ok" not in self._tasks[-1]:
            self._tasks[-1] |= ended


def _step_in(message: Entry) -> dict[str, object] | None:
    """Return the step that is written out in the text of a message."""
    text = words_of(message.get("content"), "custom")
    head, mark, rest = text.partition("\nthought:\n")
    if not mark:
        return None
    found = _action_within(f"\n{rest}")
    details = message.get("details")
    about = details if isinstance(details, dict) else {}
    number = about.get("stepNo", _number_in(head))
    return found and step_record(
        number, found[1], thought=found[0], result=found[2], trace=about.get("trace")
    )


def _action_within(text: str) -> tuple[str, Entry, str] | None:
    """Return thought, action and result around the first place where an action stands."""
    start = -1
    for _ in range(_MOST_TRIES):
        start = text.find(_ACTION, start + 1)
        end = text.find(_RESULT, start)
        if start < 0 or end < 0:
            return None
        action = action_in(text[start + len(_ACTION) : end])
        if action is not None:
            return text[1:start], action, text[end + len(_RESULT) :]
    return None


def _number_in(head: str) -> int | None:
    number = head.partition("\n")[0].removeprefix("step:").strip()
    is_number = number.isascii() and number.isdigit() and len(number) <= _MOST_DIGITS
    return int(number) if is_number else None


def _text(line: Entry, name: str) -> str:
    value = line.get(name)
    return value if isinstance(value, str) else ""
