"""What coding agents log, cut into tasks: one for each prompt that a person typed.

No log says that a task was done. It counts as done where the agent closed it with words of its
own that do not admit the opposite, nothing broke off, its last call worked, and the person did not
object with the next prompt.
A prompt that only nods (`yes`, `go on`) is no task: the work after it belongs to the one before.

A session of any harness, prompt by prompt: what was listed, hinted at and used, and what came.

Names of skills are as the harness spells them. What a harness does not log is None and not empty:
that no skill was listed is another thing than that nobody knows.

Which skills a text lists to a model, and with which words of their descriptions.

Harnesses write a line for each skill, or an element; what a line says after the name is what the
model had to choose by, so it is kept as it was shown, cut or not. A description may go on in the
next lines. A name alone is a skill whose description was dropped.

A session as a transcript that the workshop reads: what was typed and what was answered.

The log itself also holds branches that a person left and words that a program put into the
person's mouth. A session is free of both, so corrections are looked for here and not in the log.

Turns in the making: a reader of any harness tells what happened, in its order.

A prompt that corrects belongs to the person and not to the turn that it begins: the turn before it
is the one that was corrected. A listing holds from where it stands on, until another one replaces
it or adds to it.
"""

import html
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from prowess.language.closings import MOST_CLOSING, says_not_done
from prowess.language.corrections import (
    MOST_OBJECTION,
    Correction,
    correction,
    objects,
    rejection,
    states_a_rule,
)
from prowess.transcripts.documents import ADMITTED, NOT_JUDGED
from prowess.transcripts.traces import (
    MOST_NAME,
    MOST_STEPS,
    MOST_TASK,
    MOST_WORDS,
    TOO_MANY_STEPS,
    Action,
    Json,
    LeftOut,
    Step,
    Trace,
    TraceShape,
    cut,
    fields_for,
    kind_of,
)
from prowess.transcripts.turns import Message, Shape, Transcript, UserTurn, turns

MOST_TURNS, MOST_LISTED, MOST_SHOWN = 5_000, 2_000, 2_000
TOO_MANY_TURNS = f"a prompt after {MOST_TURNS} others"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One prompt of a person and what followed until the next."""

    # Counted from one over the whole session.
    number: int
    # When it was typed, in milliseconds since 1970; zero where the log does not say.
    at_ms: int
    prompt: str
    # What the model was shown by then; None where the harness does not log it.
    listed: tuple[str, ...] | None = None
    # What a hook named to the agent for this prompt.
    hinted: tuple[str, ...] = ()
    used: tuple[str, ...] = ()
    # Whether the next prompt of the person corrects what was done here.
    corrected: bool = False
    answer: str = ""
    # The command that the person called instead of writing a prompt (`/name`), if it was one.
    by_hand: str = ""
    tool_calls: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What happened between a person and an agent, and what of the log was left out."""

    # As `hooks.harness` spells it.
    harness: str
    id: str
    path: str
    cwd: str
    started_ms: int
    turns: tuple[Turn, ...]
    skipped: Mapping[str, int] = field(default_factory=dict)
    # The descriptions as the model was shown them, by name; one that was dropped is empty.
    shown: Mapping[str, str] = field(default_factory=dict)

    @property
    def ended_ms(self) -> int:
        """When the last prompt was typed."""
        return max((turn.at_ms for turn in self.turns), default=self.started_ms)


_MOST_TEXT = 400_000
_NAME = r"[\w.-]{1,100}(?::[\w.-]{1,100}){0,3}"
_LINE = re.compile(
    rf"[ \t]{{0,4}}[-*] [`*]{{0,2}}(?P<name>{_NAME})[`*]{{0,2}}(?::[ \t](?P<said>.*)|:?)"
)
_FILE = re.compile(r"\s{0,3}\((?:file|path|location): ?(?P<path>[^()\n]{1,1000})\)\s{0,3}\Z")
_SKILL, _END_OF_SKILL = "<skill>", "</skill>"
_SKILL_FILE = re.compile(r"[/\\]{1,2}SKILL\.md\b", re.IGNORECASE)
_LONGEST_NAME = 200
_FOLDER, _LONGEST_FOLDER = re.compile(r"[\w.-]+\Z"), 100


def listing(text: str) -> dict[str, str]:
    """Return each skill that a text lists, with the description as it stands there."""
    text = text[:_MOST_TEXT]
    if "<skill>" in text:
        found = dict(_elements(text))
    else:
        lines = list(_lines(text))
        # Beside a list with files, other lines that begin alike tell how to use it.
        filed = [line for line in lines if _FILE.search(line[1])]
        found = {name: _FILE.sub("", said).strip() for name, said in filed or lines}
    return {name: found[name][:MOST_SHOWN] for name in list(found)[:MOST_LISTED]}


def skill_files(text: str) -> tuple[str, ...]:
    """Return the folders of the skill files (`NAME/SKILL.md`) that a text names, each once."""
    text = text[:_MOST_TEXT]
    ends = (hit.start() for hit in _SKILL_FILE.finditer(text))
    # From the file backwards: a text without any would be searched once for each of its letters.
    found = (_FOLDER.search(text[max(0, end - _LONGEST_FOLDER) : end]) for end in ends)
    return tuple(dict.fromkeys(folder.group() for folder in found if folder is not None))


def _elements(text: str) -> Iterator[tuple[str, str]]:
    # No pattern: an element that does not end would be searched for its end again and again.
    for part in text.split(_SKILL)[1:]:
        inner, end, _ = part.partition(_END_OF_SKILL)
        name = _inside(inner, "name")[:_LONGEST_NAME]
        if end and name:
            yield name, _inside(inner, "description")


def _inside(text: str, element: str) -> str:
    said, end, _ = text.partition(f"<{element}>")[2].partition(f"</{element}>")
    return html.unescape(said).strip() if end else ""


def _lines(text: str) -> Iterator[tuple[str, str]]:
    name = ""
    said: list[str] = []
    for line in [*text.splitlines(), ""]:
        hit = _LINE.fullmatch(line)
        ends = not line.strip() or line.lstrip().startswith(("#", "<"))
        if name and (hit is not None or ends):
            yield name, "\n".join(said).strip()
            name = ""
        if hit is not None:
            name, said = hit["name"], [hit["said"] or ""]
        elif name:
            said.append(line.strip())


def as_transcript(session: Session) -> Transcript:
    """Return the prompts of a session with the agent's last words after each."""
    turns = tuple(_turn(turn) for turn in session.turns if not turn.by_hand)
    return Transcript(
        turns=turns,
        messages=sum(len(turn.messages) for turn in turns),
        shape=Shape.SESSION,
        skipped=session.skipped,
        session_id=session.id,
    )


def _turn(turn: Turn) -> UserTurn:
    said = [{"role": "user", "content": turn.prompt}]
    if turn.answer:
        said.append({"role": "assistant", "content": turn.answer})
    # Both have the number of the prompt: that is what a person looks for.
    return UserTurn(
        tuple(
            Message(content=content, shape=Shape.SESSION, line=0, number=turn.number)
            for content in said
        )
    )


@dataclass(slots=True)
class _Open:
    """A turn that may still go on."""

    at_ms: int
    prompt: str
    by_hand: str = ""
    listed: tuple[str, ...] | None = None
    hinted: dict[str, None] = field(default_factory=dict)
    used: dict[str, None] = field(default_factory=dict)
    answer: str = ""
    tool_calls: int = 0


class SessionBuilder:
    """One session, fed with what happened in its order."""

    def __init__(self, *, harness: str, path: str, left_out: LeftOut) -> None:
        self._harness, self._path, self.left_out = harness, path, left_out
        self._turns: list[_Open] = []
        self._shown: dict[str, str] | None = None
        # Its names, which all turns share until there is another list.
        self._listed: tuple[str, ...] | None = None
        self._id = self._cwd = ""
        self._started_ms = 0

    def about(self, *, session_id: str = "", cwd: str = "", at_ms: int = 0) -> None:
        """Take what a line says of the session; the first that says something counts."""
        self._id = self._id or cut(session_id, MOST_NAME, self.left_out)
        self._cwd = self._cwd or cut(cwd, MOST_WORDS, self.left_out)
        self._started_ms = self._started_ms or at_ms

    def typed(self, text: str, at_ms: int) -> None:
        """Begin a turn with what a person typed."""
        self._begin(_Open(at_ms, cut(text.strip(), MOST_WORDS, self.left_out)))

    def commanded(self, name: str, arguments: str, at_ms: int) -> None:
        """Begin a turn with a command that a person called by its name."""
        name = cut(name.strip().lstrip("/"), MOST_NAME, self.left_out)
        prompt = cut(f"/{name} {arguments}".strip(), MOST_WORDS, self.left_out)
        self._begin(_Open(at_ms, prompt, by_hand=name, used={name: None}))

    def retyped(self, text: str) -> None:
        """Set the prompt again; the log has it twice."""
        if self._turns:
            self._turns[-1].prompt = cut(text.strip(), MOST_WORDS, self.left_out)

    def lists(self, skills: Mapping[str, str], *, anew: bool) -> None:
        """Take which skills the model is shown from here on."""
        if anew or self._shown is None:
            self._shown = {}
        room = MOST_LISTED - len(self._shown)
        self._shown.update(list(skills.items())[: max(0, room)])
        self._listed = tuple(self._shown)
        if self._turns:
            self._turns[-1].listed = self._listed

    def hinted(self, names: Iterable[str]) -> None:
        """Take that a hook named skills for the prompt."""
        if self._turns:
            self._turns[-1].hinted.update(dict.fromkeys(names))

    def used(self, names: Iterable[str]) -> None:
        """Take that the agent read or ran skills."""
        if self._turns:
            given = (cut(name.strip(), MOST_NAME, self.left_out) for name in names)
            self._turns[-1].used.update(dict.fromkeys(name for name in given if name))

    def called(self) -> None:
        """Take that the agent called a tool."""
        if self._turns:
            self._turns[-1].tool_calls += 1

    def told(self, text: str) -> None:
        """Take what the agent said; what it said last is its answer."""
        if self._turns and text.strip():
            self._turns[-1].answer = cut(text.strip(), MOST_WORDS, self.left_out)

    def undo(self, count: int) -> None:
        """Take that a person took the last turns back."""
        del self._turns[max(0, len(self._turns) - count) :]

    def session(self) -> Session | None:
        """Return the session; None where nobody typed anything in it."""
        kept = [turn for turn in self._turns if turn.prompt]
        if not kept:
            return None
        following = [*(one.prompt for one in kept[1:]), ""]
        return Session(
            harness=self._harness,
            id=self._id,
            path=self._path,
            cwd=self._cwd,
            started_ms=self._started_ms or kept[0].at_ms,
            turns=tuple(
                self._turn(number, one, after)
                for number, (one, after) in enumerate(zip(kept, following, strict=True), 1)
            ),
            skipped=dict(self.left_out),
            shown=dict(self._shown or {}),
        )

    def _begin(self, turn: _Open) -> None:
        if len(self._turns) >= MOST_TURNS:
            self.left_out[TOO_MANY_TURNS] += 1
            return
        turn.listed = self._listed
        self._turns.append(turn)

    def _turn(self, number: int, one: _Open, after: str) -> Turn:
        return Turn(
            number=number,
            at_ms=one.at_ms,
            prompt=one.prompt,
            listed=one.listed,
            hinted=tuple(one.hinted),
            used=tuple(one.used),
            corrected=self._corrects(after),
            answer=one.answer,
            by_hand=one.by_hand,
            tool_calls=one.tool_calls,
        )

    def _corrects(self, prompt: str) -> bool:
        is_read = bool(prompt) and self.left_out.takes_words(min(len(prompt), MOST_OBJECTION))
        return is_read and corrects(prompt)


def corrects(prompt: str) -> bool:
    """Return whether a prompt objects to what was done, or says how it is to be done from now on.

    It is what the workshop hears as a correction, or what makes a task count as not done.
    """
    return told(prompt) != ""


def told(prompt: str) -> str:
    """Return how a prompt corrects, in words that go on `the next message ...`; or nothing."""
    kind = rejection(prompt)
    if kind is not None:
        return kind.value
    if objects(prompt):
        return Correction.NOT_SO.value
    kind = correction(prompt)
    if kind is not None:
        return kind.value
    return Correction.NEXT_TIME.value if states_a_rule(" ".join(prompt.split())) else ""


def moment_ms(value: object) -> int:
    """Return a time of a log in milliseconds since 1970; zero where it is none."""
    if not isinstance(value, str):
        return 0
    try:
        moment = datetime.fromisoformat(value.strip())
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0, round(moment.timestamp() * 1000))
    except (ValueError, OverflowError):
        return 0


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

_NOD = re.compile(
    r"(?:(?:yes|yep|yeah|y|ok|okay|sure|continue|proceed|resume|go|go on|go ahead|keep going"
    r"|carry on|do it|do that|please|please do|please continue|ja|weiter|mach weiter|oui|si|s\u00ed"
    r"|continua|contin\u00faa|\u7ee7\u7eed|\u7e7c\u7e8c|\u597d|\u597d\u7684|\u662f|\u306f\u3044)"
    r"[\s,.!\u3002\uff01\uff0c]{0,5}){1,3}",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """What a tool answered, and whether its harness calls that an error."""

    text: str
    failed: bool = False


class Results:
    """The answers of tools by the id of the call, each handed out once."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Returned]] = {}

    def add(self, call_id: object, returned: Returned) -> None:
        """Keep the answer to a call."""
        if isinstance(call_id, str):
            self._waiting.setdefault(call_id, deque()).append(returned)

    def take(self, call_id: object) -> Returned | None:
        """Return the first answer to a call that nobody took; None where there is none."""
        waiting = self._waiting.get(call_id) if isinstance(call_id, str) else None
        return waiting.popleft() if waiting else None


@dataclass(slots=True)
class _Turn:
    task: str
    session_id: str
    folder: str
    steps: list[Step] = field(default_factory=list)
    said: str = ""
    mused: str = ""
    final: str = ""
    has_ended: bool = False
    is_answered: bool = True
    is_undone: bool = False
    is_doubtful: bool = False
    problem: str = ""


class TurnReader:
    """Tasks in the making, fed with what happened in its order."""

    def __init__(self, *, path: str, shape: TraceShape, left_out: LeftOut) -> None:
        self._path, self._shape, self._left_out = path, shape, left_out
        self._turns: list[_Turn] = []
        # Those that a person could still undo.
        self._standing: list[_Turn] = []

    def typed(self, text: str, *, session_id: str = "", folder: str = "") -> bool:
        """Begin a task with what a person typed; return whether it is one, and not a nod."""
        if self._turns and self._turns[-1].task and _NOD.fullmatch(text.strip()):
            return False
        self._turns.append(_Turn(text.strip(), session_id, folder))
        self._standing.append(self._turns[-1])
        return True

    def retyped(self, text: str) -> None:
        """Set the prompt again where nothing has happened since; the log has it twice."""
        self._turns[-1].task = text.strip()

    def doubt(self) -> None:
        """Take that the prompt may be another one than was read."""
        self._turns[-1].is_doubtful = True

    def begin_unnamed(self) -> None:
        """Begin something that no person put into words: what follows is nobody's task."""
        self._turns.append(_Turn("", "", ""))

    def mused(self, text: str) -> None:
        """Take what the agent thought."""
        if self._turns and text.strip():
            self._turns[-1].mused = text

    def told(self, text: str) -> None:
        """Take what the agent said."""
        if not self._turns or not text.strip():
            return
        turn = self._turns[-1]
        turn.said = turn.final = text
        turn.has_ended, turn.problem = True, ""

    def called(self, kind: object, fields: object, returned: Returned | None) -> None:
        """Take a call of a tool, with what came of it where that is known."""
        name = kind_of(kind, self._left_out)
        if not name:
            self._left_out[NO_NAME] += 1
        elif not self._turns or not self._turns[-1].task:
            self._left_out[NO_PROMPT] += 1
        else:
            self._add(self._turns[-1], name, fields, returned)

    def refused(self) -> None:
        """Take that a call was refused before anything was done: it is no step, and no end."""
        if self._turns:
            self._turns[-1].has_ended = False

    def stopped(self, problem: str) -> None:
        """Take that something broke off; what the agent does afterwards takes that back."""
        if self._turns:
            self._turns[-1].has_ended, self._turns[-1].problem = False, problem

    def rolled_back(self, count: int) -> None:
        """Take that a person undid the last tasks that were not undone before."""
        kept = max(0, len(self._standing) - count)
        for turn in self._standing[kept:]:
            turn.is_undone = True
        del self._standing[kept:]

    def traces(self) -> tuple[Trace, ...]:
        """Return a trace for each task."""
        typed = [turn for turn in self._turns if turn.task]
        following = [*(turn.task for turn in typed[1:]), ""]
        found = (
            self._trace(turn, after)
            for turn, after in zip(typed, following, strict=False)
            if self._left_out.takes_task()
        )
        # A prompt of characters that nothing can hold says nothing.
        return tuple(trace for trace in found if trace.task)

    def _add(self, turn: _Turn, kind: str, fields: object, returned: Returned | None) -> None:
        turn.has_ended, turn.problem, turn.is_answered = False, "", returned is not None
        thought, turn.said, turn.mused = turn.said or turn.mused, "", ""
        if len(turn.steps) >= MOST_STEPS:
            self._left_out[TOO_MANY_STEPS] += 1
            return
        answer = returned or Returned(text="")
        step = Step(
            number=len(turn.steps) + 1,
            action=Action(kind, self._fields(kind, fields)),
            result=cut(answer.text, MOST_WORDS, self._left_out),
            thought=cut(thought, MOST_WORDS, self._left_out),
            failed=answer.failed,
        )
        turn.steps.append(step)

    def _fields(self, kind: str, fields: object) -> Mapping[str, Json]:
        if isinstance(fields, dict):
            return fields_for(kind, fields, self._left_out)
        if fields is not None:
            self._left_out[NO_INPUT] += 1
        given: dict[str, object] = {"input": fields} if isinstance(fields, str) else {}
        return fields_for(kind, given, self._left_out)

    def _trace(self, turn: _Turn, after: str) -> Trace:
        problem = _problem(turn) or self._spoken_problem(turn, after)
        return Trace(
            task=cut(turn.task, MOST_TASK, self._left_out).strip(),
            ok=not problem,
            steps=tuple(turn.steps),
            session_path=self._path,
            final_message=cut(turn.final, MOST_WORDS, self._left_out),
            shape=self._shape,
            session_id=cut(turn.session_id, MOST_NAME, self._left_out),
            folder=cut(turn.folder, MOST_WORDS, self._left_out),
            problem=problem,
        )

    def _spoken_problem(self, turn: _Turn, after: str) -> str:
        """Return what the agent's last words or the person's next ones have against a task."""
        length = min(len(turn.final), MOST_CLOSING) + min(len(after), MOST_OBJECTION)
        if not self._left_out.takes_words(length):
            return NOT_JUDGED
        if says_not_done(turn.final):
            return ADMITTED
        return REJECTED if objects(after) else ""


def words_of(content: object, role: str) -> str:
    """Return the text of a message's content; of a user's only what the user wrote."""
    if isinstance(content, str) and (role != "user" or "<" not in content):
        return content
    said = turns([{"role": role, "content": content}])
    return said[0].text if said else ""


def _problem(turn: _Turn) -> str:
    if turn.is_undone:
        return ROLLED_BACK
    if turn.problem or not turn.has_ended:
        return turn.problem or NO_END
    if turn.steps and turn.steps[-1].failed:
        return LAST_FAILED
    if not turn.is_answered:
        return NO_RESULT
    return TWO_WAYS if turn.is_doubtful else ""
