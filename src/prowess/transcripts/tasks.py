"""Traces of what coding agents log: one for each prompt that a person typed.

No log says that a task was done. It counts as done where the agent closed it with words of its own
that do not admit the opposite, nothing broke off, its last call worked, and the person did not
object with the next prompt. A prompt that only nods (`yes`, `go on`) is no task: the work after it
belongs to the one before.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from prowess.language.closings import MOST_CLOSING, says_not_done
from prowess.language.corrections import MOST_READ, refuses
from prowess.language.packs import join_phrases
from prowess.transcripts.documents import ADMITTED, NOT_JUDGED
from prowess.transcripts.events import EventListener, Returned, ToolCall, TypedPrompt
from prowess.transcripts.traces import (
    MOST_NAME,
    MOST_STEPS,
    MOST_TASK,
    MOST_WORDS,
    TOO_MANY_STEPS,
    Json,
    LeftOutCounts,
    Trace,
    TraceAction,
    TraceShape,
    TraceStep,
    copy_fields_for,
    cut_text,
    read_kind,
)
from prowess.transcripts.turns import NOT_TYPED

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

    wants_results = True
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

    # What is told and not used here, another listener needs.
    def take_refused_call(self, reason: str, skills: tuple[str, ...]) -> None:  # noqa: ARG002
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
