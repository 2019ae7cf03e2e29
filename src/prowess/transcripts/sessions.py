"""A session of any harness, prompt by prompt: what was listed, hinted at and used, and what came.

Names of skills are as the harness spells them. What a harness does not log is None and not empty:
that no skill was listed is another thing than that nobody knows. A prompt that corrects belongs to
the person and not to the turn that it begins: the turn before it is the one that was corrected. A
listing holds from where it stands on, until another one replaces it or adds to it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from prowess.language.corrections import MOST_READ, find_correction
from prowess.transcripts.events import (
    MOST_LISTED,
    EventListener,
    ToolCall,
    TypedPrompt,
    find_used_skills,
)
from prowess.transcripts.traces import MOST_NAME, MOST_WORDS, LeftOutCounts, cut_text
from prowess.transcripts.turns import (
    NOT_TYPED,
    Transcript,
    TranscriptMessage,
    TranscriptShape,
    UserTurn,
)

MOST_TURNS = 5_000
TOO_MANY_TURNS = f"a prompt after {MOST_TURNS} others"


@dataclass(frozen=True, slots=True)
class ShownText:
    """What a tool or a command showed to the agent, and the folders of skill files in its call."""

    text: str
    named: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTurn:
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
    # Loaded by a tool for that, or, where the log does not have what came back, named by a call.
    used: tuple[str, ...] = ()
    # What may be the text of a skill: only who knows the skills can tell.
    shown: tuple[ShownText, ...] = ()
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
    turns: tuple[SessionTurn, ...]
    skipped: Mapping[str, int] = field(default_factory=dict)
    # The descriptions as the model was shown them, by name; one that was dropped is empty.
    shown: Mapping[str, str] = field(default_factory=dict)

    @property
    def ended_ms(self) -> int:
        """When the last prompt was typed."""
        return max((turn.at_ms for turn in self.turns), default=self.started_ms)


def convert_session(session: Session) -> Transcript:
    """Return the prompts of a session with the agent's last words after each.

    The log itself also holds branches that a person left and words that a program put into the
    person's mouth. A session is free of both, so corrections are looked for here.
    """
    turns = tuple(_turn(turn) for turn in session.turns if not turn.by_hand)
    return Transcript(
        turns=turns,
        messages=sum(len(turn.messages) for turn in turns),
        shape=TranscriptShape.SESSION,
        skipped=session.skipped,
        session_id=session.id,
    )


def _turn(turn: SessionTurn) -> UserTurn:
    said = [{"role": "user", "content": turn.prompt}]
    if turn.answer:
        said.append({"role": "assistant", "content": turn.answer})
    # Both have the number of the prompt: that is what a person looks for.
    return UserTurn(
        tuple(
            TranscriptMessage(
                content=content, shape=TranscriptShape.SESSION, line=0, number=turn.number
            )
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
    shown: list[ShownText] = field(default_factory=list)
    answer: str = ""
    tool_calls: int = 0


class SessionBuilder(EventListener):
    """One session in the making."""

    def __init__(self, *, harness: str, path: str, left_out: LeftOutCounts) -> None:
        super().__init__(left_out)
        self._harness, self._path = harness, path
        self._turns: list[_Open] = []
        self._shown: dict[str, str] | None = None
        # Its names, which all turns share until there is another list.
        self._listed: tuple[str, ...] | None = None
        self._id = self._cwd = ""
        self._started_ms = 0

    def take_session(self, *, session_id: str = "", folder: str = "", at_ms: int = 0) -> None:
        """Take what a line says of the session; the first that says something counts."""
        self._id = self._id or cut_text(session_id, MOST_NAME, self.left_out)
        self._cwd = self._cwd or cut_text(folder, MOST_WORDS, self.left_out)
        self._started_ms = self._started_ms or at_ms

    def take_prompt(self, prompt: TypedPrompt) -> bool:
        """Begin a turn with what a person typed."""
        if prompt.command is not None:
            self.take_command(*prompt.command, prompt.at_ms)
            return True
        self._begin(_Open(prompt.at_ms, cut_text(prompt.text.strip(), MOST_WORDS, self.left_out)))
        return True

    def take_command(self, name: str, arguments: str, at_ms: int) -> None:
        """Begin a turn with a command that a person called by its name."""
        name = cut_text(name.strip().lstrip("/"), MOST_NAME, self.left_out)
        prompt = cut_text(f"/{name} {arguments}".strip(), MOST_WORDS, self.left_out)
        self._begin(_Open(at_ms, prompt, by_hand=name, used={name: None}))

    # What is told and not used here, another listener needs.
    def take_untyped(self, *, is_break: bool = False) -> None:  # noqa: ARG002
        """Count a message that nobody typed."""
        self.left_out[NOT_TYPED] += 1

    # What is told and not used here, another listener needs.
    def take_stop(self, problem: str, *, is_message: bool = False) -> None:  # noqa: ARG002
        """Count a message that only says that something broke off."""
        if is_message:
            self.take_untyped()

    def take_prompt_again(self, text: str) -> None:
        """Set the prompt again; the log has it twice."""
        if self._turns:
            self._turns[-1].prompt = cut_text(text.strip(), MOST_WORDS, self.left_out)

    def take_listing(self, skills: Mapping[str, str], *, anew: bool) -> None:
        """Take which skills the model is shown from here on."""
        if anew or self._shown is None:
            self._shown = {}
        room = MOST_LISTED - len(self._shown)
        self._shown.update(list(skills.items())[: max(0, room)])
        self._listed = tuple(self._shown)
        if self._turns:
            self._turns[-1].listed = self._listed

    def take_hint(self, names: Iterable[str]) -> None:
        """Take that a hook named skills for the prompt."""
        if self._turns:
            self._turns[-1].hinted.update(dict.fromkeys(names))

    def take_use(self, names: Iterable[str]) -> None:
        """Take that the agent read or ran skills."""
        if self._turns:
            given = (cut_text(name.strip(), MOST_NAME, self.left_out) for name in names)
            self._turns[-1].used.update(dict.fromkeys(name for name in given if name))

    def take_call(self, call: ToolCall) -> None:
        """Count a call that the harness answered, and take what it has to do with skills."""
        if not self._turns or call.by_service:
            return
        turn, answer = self._turns[-1], call.returned
        turn.tool_calls += 1
        found = find_used_skills(call.name, call.fields)
        if answer is None or not answer.failed:
            self.take_use(found.loaded)
        if answer is None:
            self.take_use(found.named)
        elif found.reads and answer.text:
            turn.shown.append(ShownText(answer.text, () if answer.failed else found.named))

    def take_refused_call(self, reason: str) -> None:
        """Count it as any other call."""
        self.take_call(ToolCall(name=reason, fields=None))

    def take_reply(self, text: str) -> None:
        """Take what the agent said; what it said last is its answer."""
        if self._turns and text.strip():
            self._turns[-1].answer = cut_text(text.strip(), MOST_WORDS, self.left_out)

    def take_undo(self, count: int) -> None:
        """Take that a person took the last turns back."""
        del self._turns[max(0, len(self._turns) - count) :]

    def build(self) -> Session | None:
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

    def _turn(self, number: int, one: _Open, after: str) -> SessionTurn:
        return SessionTurn(
            number=number,
            at_ms=one.at_ms,
            prompt=one.prompt,
            listed=one.listed,
            hinted=tuple(one.hinted),
            used=tuple(one.used),
            shown=tuple(one.shown),
            corrected=self._corrects(after),
            answer=one.answer,
            by_hand=one.by_hand,
            tool_calls=one.tool_calls,
        )

    def _corrects(self, prompt: str) -> bool:
        is_read = bool(prompt) and self.left_out.takes_words(min(len(prompt), MOST_READ))
        return is_read and corrects(prompt)


def corrects(prompt: str) -> bool:
    """Return whether a prompt objects to what was done, or says how it is to be done from now on.

    It is what the workshop hears as a correction, or what makes a task count as not done.
    """
    return describe_correction(prompt) != ""


def describe_correction(prompt: str) -> str:
    """Return how a prompt corrects, in words that go on `the next message ...`; or nothing."""
    kind = find_correction(prompt)
    return "" if kind is None else kind.value
