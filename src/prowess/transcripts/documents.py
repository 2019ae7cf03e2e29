"""Traces that are written as such: a document, a list of them, or a line for each step.

Done is only what says so itself: `ok` has to be true and nothing that looks like it, and one step
has to have worked. Where nobody says anything, the agent's own `finish` counts, unless its words
admit that it is not done.
"""

from collections.abc import Mapping, Sequence

from prowess.language.closings import MOST_CLOSING, says_not_done
from prowess.transcripts.traces import (
    MOST_NAME,
    MOST_TASK,
    MOST_WORDS,
    NO_ACTION,
    Deed,
    LeftOutCounts,
    Trace,
    TraceShape,
    TraceStep,
    find_deed,
    read_field,
    read_steps,
)
from prowess.transcripts.turns import TranscriptRecord

NO_TRACE, NO_TASK = "no trace in it", "a trace without a task"
NO_TRUTH = "`ok` is neither true nor false"
BEFORE_ANY, AFTER_END = "a step before any task", "a step after the end of its task"
NOTHING_SAID = "nothing says that it went well"
MARKED = "it is marked as not done"
ALL_FAILED = "every step of it went wrong"
NOT_JUDGED = "its file tells of too much to judge how this task ended"
ADMITTED = "the agent's last words say that it is not done"

_STEPS = ("steps", "traces")
_END = ("ok", "finalMessage")
_DEEPEST = 3


def is_document_line(value: object) -> bool:
    """Return whether a value is a trace, or a line of one."""
    if not isinstance(value, dict):
        return False
    return any(name in value for name in ("task", "steps", "traces")) or (
        isinstance(value.get("action"), dict) and "payload" not in value
    )


def read_documents(
    records: Sequence[TranscriptRecord], *, path: str, left_out: LeftOutCounts
) -> tuple[Trace, ...]:
    """Return the traces of a file that holds traces."""
    reader = _Reader(path, left_out)
    for record in records:
        reader.take(record.value)
    reader.close()
    return tuple(reader.traces)


def read_trace(
    document: Mapping[str, object],
    *,
    path: str,
    left_out: LeftOutCounts,
    shape: TraceShape = TraceShape.DOCUMENT,
) -> Trace | None:
    """Return the trace of one document; None where it names no task.

    A task that was left blank is one whose words nobody wrote down, as long as something was done.
    """
    task = read_field(document, "task", MOST_TASK, left_out).strip()
    listed = document.get("steps")
    listed = document.get("traces") if listed is None else listed
    if not task and not (isinstance(document.get("task"), str) and listed):
        left_out[NO_TASK] += 1
        return None
    if not left_out.takes_task():
        return None
    steps = read_steps(listed, left_out)
    message = read_field(document, "finalMessage", MOST_WORDS, left_out) or _last_words(steps)
    problem = _problem(document, steps, message, left_out)
    return Trace(
        task=task,
        ok=not problem,
        steps=steps,
        session_path=read_field(document, "sessionPath", MOST_WORDS, left_out) or path,
        final_message=message,
        shape=_shape_of(document, shape),
        session_id=_session_of(document, left_out),
        folder=read_field(document, "cwd", MOST_WORDS, left_out),
        problem=problem,
    )


def _session_of(document: Mapping[str, object], left_out: LeftOutCounts) -> str:
    """Return what a document itself calls its session: two runs that did the same are two.

    What we wrote ourselves has a shape, and names the file that a trace came from as its path.
    """
    own = read_field(document, "sessionId", MOST_NAME, left_out)
    if own or "shape" in document:
        return own
    return read_field(document, "sessionPath", MOST_WORDS, LeftOutCounts())


def _problem(
    document: Mapping[str, object],
    steps: Sequence[TraceStep],
    message: str,
    left_out: LeftOutCounts,
) -> str:
    """Return why a task does not count as done; nothing where it does."""
    if "ok" not in document:
        return _unsaid_problem(steps, message, left_out)
    if document["ok"] is True:
        return ALL_FAILED if _all_failed(steps) else ""
    if document["ok"] is not False:
        left_out[NO_TRUTH] += 1
    return read_field(document, "problem", MOST_NAME, left_out) or MARKED


def _unsaid_problem(steps: Sequence[TraceStep], message: str, left_out: LeftOutCounts) -> str:
    """Return why the agent's own end does not count; nothing where it does."""
    if not any(_is_finish(step) for step in steps):
        return NOTHING_SAID
    if _all_failed([step for step in steps if not _is_finish(step)]):
        return ALL_FAILED
    own = _last_words(steps)
    if not left_out.takes_words(min(len(message), MOST_CLOSING) + min(len(own), MOST_CLOSING)):
        return NOT_JUDGED
    admits = says_not_done(message) or says_not_done(own)
    return ADMITTED if admits else ""


def _all_failed(steps: Sequence[TraceStep]) -> bool:
    return bool(steps) and all(step.failed for step in steps)


def _is_finish(step: TraceStep) -> bool:
    return find_deed(step.action, on_device=False) is Deed.FINISH and not step.failed


def _last_words(steps: Sequence[TraceStep]) -> str:
    finished = (step.action.text("message") for step in reversed(steps) if _is_finish(step))
    return next(finished, "")[:MOST_WORDS]


def _shape_of(document: Mapping[str, object], default: TraceShape) -> TraceShape:
    named = document.get("shape")
    return next((shape for shape in TraceShape if shape.value == named), default)


class _Reader:
    """The traces so far, and the one whose lines are being read."""

    def __init__(self, path: str, left_out: LeftOutCounts) -> None:
        self._path, self._left_out = path, left_out
        self._open: dict[str, object] = {}
        self._steps: list[object] = []
        self._has_ended = False
        self.traces: list[Trace] = []

    def take(self, value: object, depth: int = 0) -> None:
        """Take one value of a file."""
        if isinstance(value, list | tuple) and depth < _DEEPEST:
            for item in value:
                self.take(item, depth + 1)
        elif not isinstance(value, dict):
            self._left_out[NO_TRACE] += 1
        elif _holds_documents(value):
            self.take(value["traces"], depth + 1)
        elif any(name in value for name in _STEPS):
            self.close()
            self._add(value, TraceShape.DOCUMENT)
        else:
            self._take_line(value)

    def close(self) -> None:
        """End the trace whose lines are being read."""
        if self._open:
            self._add({**self._open, "steps": self._steps}, TraceShape.LINES)
        self._open, self._steps, self._has_ended = {}, [], False

    def _take_line(self, line: Mapping[str, object]) -> None:
        if "action" in line:
            self._take_step(line)
        elif "task" in line and not self._ends_by(line):
            self.close()
            self._open = dict(line)
        elif any(name in line for name in _END) and self._open:
            self._end(line)
        else:
            self._left_out[NO_TRACE] += 1

    def _take_step(self, line: Mapping[str, object]) -> None:
        if not self._open or self._has_ended:
            self._left_out[AFTER_END if self._open else BEFORE_ANY] += 1
        elif isinstance(line["action"], dict):
            self._steps.append(line)
        else:
            self._left_out[NO_ACTION] += 1

    def _ends_by(self, line: Mapping[str, object]) -> bool:
        """Return whether a line only names the task again to say how it ended."""
        is_same = bool(self._steps) and line["task"] == self._open.get("task")
        return is_same and any(name in line for name in _END)

    def _end(self, line: Mapping[str, object]) -> None:
        # Whoever said first that it failed is not overruled by a later line.
        has_failed = "ok" in self._open and self._open["ok"] is not True
        self._open |= {name: value for name, value in line.items() if name != "ok"}
        if "ok" in line and not has_failed:
            self._open["ok"] = line["ok"]
        self._has_ended = True

    def _add(self, document: Mapping[str, object], shape: TraceShape) -> None:
        found = read_trace(document, path=self._path, left_out=self._left_out, shape=shape)
        if found is not None:
            self.traces.append(found)


def _holds_documents(value: Mapping[str, object]) -> bool:
    """Return whether `traces` are whole traces here, and not the steps of one."""
    listed = value.get("traces")
    if "task" in value or "steps" in value or not isinstance(listed, list | tuple):
        return False
    return not any(isinstance(item, dict) and "action" in item for item in listed)
