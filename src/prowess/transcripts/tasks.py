"""Traces of what coding agents log: one for each prompt that a person typed.

No log says that a task was done. It counts as done where the agent closed it with words of its own
that do not admit the opposite, nothing broke off, its last call worked, and the person did not
object with the next prompt. A prompt that only nods (`yes`, `go on`) is no task: the work after it
belongs to the one before.

A trace can also be written as such: a document, a list of them, or a line for each step. Done is
only what says so itself: `ok` has to be true and nothing that looks like it, and one step has to
have worked. Where nobody says anything, the agent's own `finish` counts, unless its words admit
that it is not done.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from prowess.data import join_phrases
from prowess.language.corrections import MOST_CLOSING, MOST_READ, refuses, says_not_done
from prowess.transcripts.events import EventListener, Returned, ToolCall, TypedPrompt
from prowess.transcripts.traces import (
    MOST_NAME,
    MOST_STEPS,
    MOST_TASK,
    MOST_WORDS,
    NO_ACTION,
    TOO_MANY_STEPS,
    Deed,
    Json,
    LeftOutCounts,
    Trace,
    TraceAction,
    TraceShape,
    TraceStep,
    copy_fields_for,
    cut_text,
    find_deed,
    read_field,
    read_kind,
    read_steps,
)
from prowess.transcripts.turns import NOT_TYPED, TranscriptRecord

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
    message = read_field(document, "finalMessage", MOST_WORDS, left_out) or _find_last_words(steps)
    problem = _find_problem(document, steps, message, left_out)
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


def _find_problem(
    document: Mapping[str, object],
    steps: Sequence[TraceStep],
    message: str,
    left_out: LeftOutCounts,
) -> str:
    """Return why a task does not count as done; nothing where it does."""
    if "ok" not in document:
        return _unsaid_problem(steps, message, left_out)
    if document["ok"] is True:
        return ALL_FAILED if _has_all_failed(steps) else ""
    if document["ok"] is not False:
        left_out[NO_TRUTH] += 1
    return read_field(document, "problem", MOST_NAME, left_out) or MARKED


def _unsaid_problem(steps: Sequence[TraceStep], message: str, left_out: LeftOutCounts) -> str:
    """Return why the agent's own end does not count; nothing where it does."""
    if not any(_is_finish(step) for step in steps):
        return NOTHING_SAID
    if _has_all_failed([step for step in steps if not _is_finish(step)]):
        return ALL_FAILED
    own = _find_last_words(steps)
    if not left_out.takes_words(min(len(message), MOST_CLOSING) + min(len(own), MOST_CLOSING)):
        return NOT_JUDGED
    admits = says_not_done(message) or says_not_done(own)
    return ADMITTED if admits else ""


def _has_all_failed(steps: Sequence[TraceStep]) -> bool:
    return bool(steps) and all(step.failed for step in steps)


def _is_finish(step: TraceStep) -> bool:
    return find_deed(step.action, on_device=False) is Deed.FINISH and not step.failed


def _find_last_words(steps: Sequence[TraceStep]) -> str:
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


INTERRUPTED = "it was interrupted"
SERVICE_FAILED = "the model's service answered with an error"
CUT_OFF = "the agent's last message was cut off"
ROLLED_BACK = "it was rolled back"
NO_END = "it does not end with a message of the agent"
LAST_FAILED, NO_RESULT = "its last step went wrong", "its last step has no result"
REJECTED = "what was typed next rejects it"
TWO_WAYS = "its prompt can be read in more than one way"
NO_PROMPT = "a step that follows no typed prompt"
NO_NAME, NO_INPUT = "a call without a name", "a call whose input is no object"


@cache
def _compile_nods() -> re.Pattern[str]:
    nods = join_phrases("small_talk", "nods")
    return re.compile(rf"(?:(?:{nods})[\s,.!\u3002\uff01\uff0c]{{0,5}}){{1,3}}", re.IGNORECASE)


@dataclass(slots=True)
class _Task:
    task: str
    session_id: str
    folder: str
    steps: list[TraceStep] = field(default_factory=list)
    said: str = ""
    mused: str = ""
    final: str = ""
    has_ended: bool = False
    is_answered: bool = True
    is_undone: bool = False
    is_doubtful: bool = False
    problem: str = ""


class TraceBuilder(EventListener):
    """The tasks of a session in the making."""

    hears_sub_agents = False

    def __init__(self, *, path: str, shape: TraceShape, left_out: LeftOutCounts) -> None:
        super().__init__(left_out)
        self._path, self._shape = path, shape
        self._turns: list[_Task] = []
        # Those that a person could still undo.
        self._standing: list[_Task] = []

    def take_prompt(self, prompt: TypedPrompt) -> bool:
        """Begin a task; return whether it is one, and not a nod."""
        text = prompt.text.strip()
        if self._turns and self._turns[-1].task and _compile_nods().fullmatch(text):
            return False
        turn = _Task(text, prompt.session_id, prompt.folder, is_doubtful=prompt.is_doubtful)
        self._turns.append(turn)
        self._standing.append(turn)
        return True

    def take_prompt_again(self, text: str) -> None:
        """Set the task again; nothing has happened since."""
        self._turns[-1].task = text.strip()

    # What is told and not used here, another listener needs.
    def take_command(self, name: str, arguments: str, at_ms: int) -> None:  # noqa: ARG002
        """Count a command, whose work is no prompt's."""
        self.take_untyped(is_break=True)

    def take_untyped(self, *, is_break: bool = False) -> None:
        """Count a message that nobody typed."""
        self.left_out[NOT_TYPED] += 1
        if is_break:
            self.take_break()

    def take_break(self) -> None:
        """Begin something that no person put into words."""
        self._turns.append(_Task("", "", ""))

    def take_thought(self, text: str) -> None:
        """Take what the agent thought."""
        if self._turns and text.strip():
            self._turns[-1].mused = text

    def take_reply(self, text: str) -> None:
        """Take what the agent said."""
        if not self._turns or not text.strip():
            return
        turn = self._turns[-1]
        turn.said = turn.final = text
        turn.has_ended, turn.problem = True, ""

    def take_call(self, call: ToolCall) -> None:
        """Take a call of a tool, with what came of it where that is known."""
        name = read_kind(call.name, self.left_out)
        if not name:
            self.left_out[NO_NAME] += 1
        elif not self._turns or not self._turns[-1].task:
            self.left_out[NO_PROMPT] += 1
        else:
            self._add(self._turns[-1], name, call.fields, call.returned)

    def take_refused_call(self, reason: str) -> None:
        """Count a call that is no step; it is no end either."""
        self.left_out[reason] += 1
        if self._turns:
            self._turns[-1].has_ended = False

    # What is told and not used here, another listener needs.
    def take_stop(self, problem: str, *, is_message: bool = False) -> None:  # noqa: ARG002
        """Take that something broke off; what the agent does afterwards takes that back."""
        if self._turns:
            self._turns[-1].has_ended, self._turns[-1].problem = False, problem

    def take_undo(self, count: int) -> None:
        """Take that a person undid the last tasks that were not undone before."""
        kept = max(0, len(self._standing) - count)
        for turn in self._standing[kept:]:
            turn.is_undone = True
        del self._standing[kept:]

    def build(self) -> tuple[Trace, ...]:
        """Return a trace for each task; what was done after an objection has the first request."""
        typed = [turn for turn in self._turns if turn.task]
        following = [*(turn.task for turn in typed[1:]), ""]
        found: list[Trace] = []
        asked = ""
        for turn, after in zip(typed, following, strict=False):
            if not self.left_out.takes_task():
                continue
            turn.task = asked or turn.task
            trace = self._trace(turn, after)
            asked = turn.task if trace.problem == REJECTED else ""
            found.append(trace)
        # A prompt of characters that nothing can hold says nothing.
        return tuple(trace for trace in found if trace.task)

    def _add(self, turn: _Task, kind: str, fields: object, returned: Returned | None) -> None:
        turn.has_ended, turn.problem, turn.is_answered = False, "", returned is not None
        thought, turn.said, turn.mused = turn.said or turn.mused, "", ""
        if len(turn.steps) >= MOST_STEPS:
            self.left_out[TOO_MANY_STEPS] += 1
            return
        answer = returned or Returned(text="")
        step = TraceStep(
            number=len(turn.steps) + 1,
            action=TraceAction(kind, self._fields(kind, fields)),
            result=cut_text(answer.text, MOST_WORDS, self.left_out),
            thought=cut_text(thought, MOST_WORDS, self.left_out),
            failed=answer.failed,
        )
        turn.steps.append(step)

    def _fields(self, kind: str, fields: object) -> Mapping[str, Json]:
        if isinstance(fields, dict):
            return copy_fields_for(kind, fields, self.left_out)
        if fields is not None:
            self.left_out[NO_INPUT] += 1
        given: dict[str, object] = {"input": fields} if isinstance(fields, str) else {}
        return copy_fields_for(kind, given, self.left_out)

    def _trace(self, turn: _Task, after: str) -> Trace:
        problem = _problem(turn) or self._find_spoken_problem(turn, after)
        return Trace(
            task=cut_text(turn.task, MOST_TASK, self.left_out).strip(),
            ok=not problem,
            steps=tuple(turn.steps),
            session_path=self._path,
            final_message=cut_text(turn.final, MOST_WORDS, self.left_out),
            shape=self._shape,
            session_id=cut_text(turn.session_id, MOST_NAME, self.left_out),
            folder=cut_text(turn.folder, MOST_WORDS, self.left_out),
            problem=problem,
        )

    def _find_spoken_problem(self, turn: _Task, after: str) -> str:
        """Return what the agent's last words or the person's next ones have against a task."""
        length = min(len(turn.final), MOST_CLOSING) + min(len(after), MOST_READ)
        if not self.left_out.takes_words(length):
            return NOT_JUDGED
        if says_not_done(turn.final):
            return ADMITTED
        return REJECTED if refuses(after) else ""


def _problem(turn: _Task) -> str:
    if turn.is_undone:
        return ROLLED_BACK
    if turn.problem or not turn.has_ended:
        return turn.problem or NO_END
    if turn.steps and turn.steps[-1].failed:
        return LAST_FAILED
    if not turn.is_answered:
        return NO_RESULT
    return TWO_WAYS if turn.is_doubtful else ""
