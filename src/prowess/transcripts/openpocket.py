"""OpenPocket's sessions, as JSON lines in each of their versions and as Markdown.

The oldest lines name an event each. The later ones wrap a message: a task is a user's, a step is a
text of a kind of its own with the action as JSON in the middle, and the end is an assistant's. The
text of a step is not escaped, so the first action that parses counts: what a tool returned stands
after it and can contain anything.

Nothing in a Markdown session is escaped either: a page that the agent looked at could write itself
a task that went well. A heading counts where the text before it was closed. Where headings stand in
an order in which OpenPocket never writes them, or their times run backwards, the session can be
read in more than one way and counts as done in none.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from prowess.transcripts.events import Entry, read_text, read_words
from prowess.transcripts.tasks import AFTER_END, BEFORE_ANY, read_trace
from prowess.transcripts.traces import LeftOutCounts, Trace, TraceShape
from prowess.transcripts.turns import NO_MESSAGE, TranscriptRecord

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
    records: Sequence[TranscriptRecord], *, path: str, left_out: LeftOutCounts
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
        read_trace(document, path=path, left_out=left_out, shape=TraceShape.OPENPOCKET)
        for document in session.documents()
    )
    return tuple(trace for trace in found if trace is not None)


def parse_action(text: str) -> Mapping[str, object] | None:
    """Return the action that a text is as JSON."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and isinstance(value.get("type"), str) else None


def read_end(status: str, message: str) -> dict[str, object]:
    """Return how a session says that a task ended, as fields of a document."""
    is_ok = status.strip() == SUCCESS
    ended: dict[str, object] = {"ok": is_ok, "finalMessage": message.strip()}
    return ended if is_ok else ended | {"problem": SAYS_FAILED}


def make_step_record(
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

    def __init__(self, left_out: LeftOutCounts) -> None:
        self._left_out = left_out
        self._tasks: list[dict[str, object]] = []
        self._steps: list[list[object]] = []
        self._about: dict[str, object] = {}

    def documents(self) -> Iterator[Entry]:
        for task, steps in zip(self._tasks, self._steps, strict=True):
            yield {**self._about, **task, "steps": steps}

    def take_event(self, line: Entry) -> None:
        """Take a line of the oldest kind."""
        event = line.get("event")
        if event == "session_started":
            named = {name: line.get(name) for name in ("task", "sessionId", "sessionPath")}
            self._begin(named)
        elif event == "step_appended":
            action = parse_action(str(line.get("actionJson")))
            step = action and make_step_record(
                line.get("stepNo"),
                action,
                thought=read_text(line, "thought"),
                result=read_text(line, "result"),
                trace=line.get("trace"),
            )
            self._add(step)
        elif event == "session_finalized":
            self._end(read_end(read_text(line, "status"), read_text(line, "message")))

    def take_line(self, line: Entry) -> None:
        """Take a line that wraps a message."""
        message = line.get("message")
        if line.get("type") == "session":
            self._about = {"sessionId": read_text(line, "id"), "cwd": read_text(line, "cwd")}
        elif not isinstance(message, dict):
            self._left_out[NO_MESSAGE] += 1
        elif message.get("role") == "user":
            self._begin({"task": read_words(message.get("content"), "user")})
        elif message.get("customType") == _STEP:
            self._add(_step_in(message))
        elif message.get("role") == "assistant":
            self._take_end(message)

    def _take_end(self, message: Entry) -> None:
        text = read_words(message.get("content"), "assistant")
        if message.get("model") == _END:
            self._end(read_end(SUCCESS if message.get("stopReason") == "stop" else "", text))
        elif message.get("model") == _TEXTUAL_END:
            head, _, rest = text.partition("\n\n")
            status = head.partition("\n")[0].removeprefix("status:")
            self._end(read_end(status, rest))

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
    text = read_words(message.get("content"), "custom")
    head, mark, rest = text.partition("\nthought:\n")
    if not mark:
        return None
    found = _action_within(f"\n{rest}")
    details = message.get("details")
    about = details if isinstance(details, dict) else {}
    number = about.get("stepNo", _number_in(head))
    return found and make_step_record(
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
        action = parse_action(text[start + len(_ACTION) : end])
        if action is not None:
            return text[1:start], action, text[end + len(_RESULT) :]
    return None


def _number_in(head: str) -> int | None:
    number = head.partition("\n")[0].removeprefix("step:").strip()
    is_number = number.isascii() and number.isdigit() and len(number) <= _MOST_DIGITS
    return int(number) if is_number else None


TITLE = "# OpenPocket Session"
NOT_A_SESSION = "not a session of OpenPocket"
TWO_WAYS = "its text can be read in more than one way"

_OPENPOCKET_STEP = re.compile(r"### Step (\d{1,6})")
_TASK = re.compile(r"## Task(?: \((?P<at>[^()]{1,60})\))?")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)?")
_STEPS, _FINAL, _MESSAGE, _RULE, _FENCE = "## Steps", "## Final", "### Message", "---", "```"
_FINISH = "finish"
_SECONDS = len("2026-01-01T00:00:00")
# No agent gets that far: whoever wrote more wants to keep the reader busy.
_MOST_HEADINGS = 20_000


@dataclass(slots=True)
class _Task:
    """A task: its own lines, those of each step, and those of its end."""

    title: list[str]
    steps: list[tuple[int, list[str]]] = field(default_factory=list)
    end: list[str] | None = None
    # Whether a heading in it stands where none is written.
    is_odd: bool = False
    # Whether it follows one without an end, so that it may be part of a result there.
    is_doubtful: bool = False

    @property
    def last(self) -> list[str]:
        """The lines that are being read."""
        if self.end is not None:
            return self.end
        return self.steps[-1][1] if self.steps else self.title


def read_markdown_session(text: str, *, path: str, left_out: LeftOutCounts) -> tuple[Trace, ...]:
    """Return a trace for each task of a session."""
    lines = [line.rstrip("\r") for line in text.lstrip("\ufeff \t\r\n").split("\n")]
    if lines[0].rstrip() != TITLE:
        left_out[NOT_A_SESSION] += 1
        return ()
    start = next((place for place, line in enumerate(lines) if _TASK.fullmatch(line)), len(lines))
    about = {"sessionId": _bullet(lines[:start], "id")}
    tasks = _tasks(lines, start)
    documents = [_document(task, left_out) for task in tasks]
    # One forged heading leaves no way to tell which of the others are real.
    is_odd = any(task.is_odd for task in tasks)
    traces: list[Trace | None] = []
    for task, document in zip(tasks, documents, strict=True):
        if is_odd or task.is_doubtful:
            left_out[TWO_WAYS] += 1
            document |= {"ok": False, "problem": TWO_WAYS}
        whole = about | document
        traces.append(read_trace(whole, path=path, left_out=left_out, shape=TraceShape.OPENPOCKET))
    return tuple(trace for trace in traces if trace is not None)


def _tasks(lines: Sequence[str], start: int) -> list[_Task]:
    tasks: list[_Task] = []
    headings = 0
    latest = _bullet(lines[:start], "started_at")
    for place in range(start, len(lines)):
        line = lines[place]
        if not line.startswith("##"):
            tasks[-1].last.append(line)
        elif _take_heading(tasks, lines, place):
            at = _time_of(lines, place)
            # An end may be without a time; whatever follows it then may not.
            has_time = line != _FINAL or bool(_TIME.fullmatch(at))
            tasks[-1].is_odd |= place > start and has_time and _is_before(at, latest)
            latest = at if _TIME.fullmatch(at) else latest
            headings += 1
            if headings > _MOST_HEADINGS:
                tasks[-1].is_odd = True
                break
        else:
            tasks[-1].last.append(line)
    return tasks


def _take_heading(tasks: list[_Task], lines: Sequence[str], place: int) -> bool:
    """Take a heading that OpenPocket writes; return whether it was one."""
    line = lines[place]
    after = next((one for one in lines[place + 1 : place + 4] if one.strip()), "")
    if _TASK.fullmatch(line) and (not tasks or _follows_rule(tasks[-1], lines, place)):
        # Only what has ended is followed by another task, unless the program broke down.
        is_doubtful = bool(tasks) and (tasks[-1].end is None or tasks[-1].is_doubtful)
        tasks.append(_Task([], is_doubtful=is_doubtful))
        return True
    step = _OPENPOCKET_STEP.fullmatch(line)
    is_step = step is not None and after.startswith("- at:")
    is_end = line == _FINAL and after.startswith("- status:")
    if not (is_step or is_end) or _is_quoted(tasks[-1], lines, place):
        return False
    if step:
        _take_step(tasks[-1], int(step[1]))
    else:
        tasks[-1].is_odd |= tasks[-1].end is not None
        tasks[-1].end = []
    return True


def _follows_rule(task: _Task, lines: Sequence[str], place: int) -> bool:
    rule = _place_before(lines, place)
    return lines[rule] == _RULE and not _is_quoted(task, lines, rule)


def _is_quoted(task: _Task, lines: Sequence[str], place: int) -> bool:
    """Return whether a line stands in a text: what is real follows a fence that was closed."""
    before = lines[_place_before(lines, place)]
    return task.end is None and before != (_FENCE if task.steps else _STEPS)


def _take_step(task: _Task, number: int) -> None:
    task.is_odd |= task.end is not None or (bool(task.steps) and number <= task.steps[-1][0])
    task.end = None
    task.steps.append((number, []))


def _document(task: _Task, left_out: LeftOutCounts) -> dict[str, object]:
    steps: list[dict[str, object]] = []
    for number, lines in task.steps:
        step = _step(number, lines)
        if step is None:
            left_out[NO_JSON_ACTION] += 1
        else:
            steps.append(step)
    ended = {} if task.end is None else _read_end(task.end)
    # The agent does nothing after it has finished.
    task.is_odd |= any(_kind(step) == _FINISH for step in steps[:-1])
    return {"task": _title(task.title), "steps": steps, **ended}


def _kind(step: dict[str, object]) -> object:
    action = step["action"]
    return action.get("type") if isinstance(action, dict) else ""


def _title(lines: Sequence[str]) -> str:
    ends = [place for place, line in enumerate(lines) if line == _STEPS]
    return "\n".join(lines[: ends[-1] if ends else len(lines)]).strip()


def _read_end(lines: Sequence[str]) -> dict[str, object]:
    start = lines.index(_MESSAGE) + 1 if _MESSAGE in lines else len(lines)
    message = "\n".join(lines[start:]).strip().removesuffix(f"\n{_RULE}")
    return read_end(_bullet(lines[:start], "status"), message)


def _step(number: int, lines: Sequence[str]) -> dict[str, object] | None:
    """Return a step; the first part of each name is the one that was written for it."""
    thought = _find_start(lines, 0, "- thought:")
    action = _find_start(lines, thought, "- action:")
    result = _find_start(lines, action, "- execution_result:")
    found = parse_action("\n".join(lines[action : _find_end(lines, action, result)]))
    if found is None:
        return None
    head = lines[: max(thought - 2, 0)]
    return make_step_record(
        number,
        found,
        thought="\n".join(lines[thought : _find_end(lines, thought, action)]),
        result="\n".join(lines[result : _find_last_fence(lines, result)]),
        trace={"currentApp": _bullet(head, "app"), "status": _bullet(head, "status")},
    )


def _find_start(lines: Sequence[str], start: int, name: str) -> int:
    """Return where the text of a part begins: after its name and its fence."""
    for place in range(start, len(lines) - 1):
        if lines[place] == name and lines[place + 1].startswith(_FENCE):
            return place + 2
    return len(lines)


def _find_end(lines: Sequence[str], start: int, following: int) -> int:
    """Return where a text ends, before its fence and the two lines of what follows."""
    end = max(start, min(following - 3, len(lines)))
    return end if end < len(lines) and lines[end] == _FENCE else _find_last_fence(lines, start)


def _find_last_fence(lines: Sequence[str], start: int) -> int:
    places = range(len(lines) - 1, start - 1, -1)
    return next((place for place in places if lines[place] == _FENCE), len(lines))


def _bullet(lines: Sequence[str], name: str) -> str:
    start = f"- {name}:"
    return next((line[len(start) :].strip() for line in lines if line.startswith(start)), "")


def _time_of(lines: Sequence[str], place: int) -> str:
    task = _TASK.fullmatch(lines[place])
    if task:
        return task["at"] or ""
    near = lines[place + 1 : place + 5]
    return _bullet(near, "at") or _bullet(near, "ended_at")


def _is_before(at: str, latest: str) -> bool:
    """Return whether a time is earlier than the last one, or none while that was one."""
    if not _TIME.fullmatch(latest):
        return False
    return not _TIME.fullmatch(at) or at[:_SECONDS] < latest[:_SECONDS]


def _place_before(lines: Sequence[str], place: int) -> int:
    """Return where the last line with something on it is, within a few; else the line itself."""
    places = range(place - 1, max(-1, place - 4), -1)
    return next((before for before in places if lines[before].strip()), place)
