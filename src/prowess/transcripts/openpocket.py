"""OpenPocket's sessions as Markdown: tasks, each with its steps and how it ended.

Nothing in such a file is escaped. What a tool returned can hold a fence, a heading, a step or an
end, so that a page the agent looked at could write itself a task that went well. A heading counts
where the text before it was closed. But where such headings stand in an order in which OpenPocket
never writes them, or their times run backwards, the session can be read in more than one way and
counts as done in none.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from prowess.transcripts.documents import trace_of
from prowess.transcripts.trace_openpocket import NO_JSON_ACTION, action_in, end_of, step_record
from prowess.transcripts.traces import LeftOut
from prowess.transcripts.traces_part import Trace, TraceShape

TITLE = "# OpenPocket Session"
NOT_A_SESSION = "not a session of OpenPocket"
TWO_WAYS = "its text can be read in more than one way"

_STEP = re.compile(r"### Step (\d{1,6})")
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


def read_session(text: str, *, path: str, left_out: LeftOut) -> tuple[Trace, ...]:
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
        traces.append(trace_of(whole, path=path, left_out=left_out, shape=TraceShape.OPENPOCKET))
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
    line, after = lines[place], _next_line(lines, place)
    if _TASK.fullmatch(line) and (not tasks or _follows_rule(tasks[-1], lines, place)):
        # Only what has ended is followed by another task, unless the program broke down.
        is_doubtful = bool(tasks) and (tasks[-1].end is None or tasks[-1].is_doubtful)
        tasks.append(_Task([], is_doubtful=is_doubtful))
        return True
    step = _STEP.fullmatch(line)
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


def _document(task: _Task, left_out: LeftOut) -> dict[str, object]:
    steps: list[dict[str, object]] = []
    for number, lines in task.steps:
        step = _step(number, lines)
        if step is None:
            left_out[NO_JSON_ACTION] += 1
        else:
            steps.append(step)
    ended = {} if task.end is None else _ended(task.end)
    # The agent does nothing after it has finished.
    task.is_odd |= any(_kind(step) == _FINISH for step in steps[:-1])
    return {"task": _title(task.title), "steps": steps, **ended}


def _kind(step: dict[str, object]) -> object:
    action = step["action"]
    return action.get("type") if isinstance(action, dict) else ""


def _title(lines: Sequence[str]) -> str:
    ends = [place for place, line in enumerate(lines) if line == _STEPS]
    return "\n".join(lines[: ends[-1] if ends else len(lines)]).strip()


def _ended(lines: Sequence[str]) -> dict[str, object]:
    start = lines.index(_MESSAGE) + 1 if _MESSAGE in lines else len(lines)
    message = "\n".join(lines[start:]).strip().removesuffix(f"\n{_RULE}")
    return end_of(_bullet(lines[:start], "status"), message)


def _step(number: int, lines: Sequence[str]) -> dict[str, object] | None:
    """Return a step; the first part of each name is the one that was written for it."""
    thought = _after(lines, 0, "- thought:")
    action = _after(lines, thought, "- action:")
    result = _after(lines, action, "- execution_result:")
    found = action_in("\n".join(lines[action : _closing(lines, action, result)]))
    if found is None:
        return None
    head = lines[: max(thought - 2, 0)]
    return step_record(
        number,
        found,
        thought="\n".join(lines[thought : _closing(lines, thought, action)]),
        result="\n".join(lines[result : _last_fence(lines, result)]),
        trace={"currentApp": _bullet(head, "app"), "status": _bullet(head, "status")},
    )


def _after(lines: Sequence[str], start: int, name: str) -> int:
    """Return where the text of a part begins: after its name and its fence."""
    for place in range(start, len(lines) - 1):
        if lines[place] == name and lines[place + 1].startswith(_FENCE):
            return place + 2
    return len(lines)


def _closing(lines: Sequence[str], start: int, following: int) -> int:
    """Return where a text ends, before its fence and the two lines of what follows."""
    end = max(start, min(following - 3, len(lines)))
    return end if end < len(lines) and lines[end] == _FENCE else _last_fence(lines, start)


def _last_fence(lines: Sequence[str], start: int) -> int:
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


def _next_line(lines: Sequence[str], place: int) -> str:
    return next(_filled(lines[place + 1 : place + 4]), "")


def _place_before(lines: Sequence[str], place: int) -> int:
    """Return where the last line with something on it is, within a few; else the line itself."""
    places = range(place - 1, max(-1, place - 4), -1)
    return next((before for before in places if lines[before].strip()), place)


def _filled(lines: Sequence[str]) -> Iterator[str]:
    return (line for line in lines if line.strip())
