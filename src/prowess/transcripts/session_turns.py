"""Turns in the making: a reader of any harness tells what happened, in its order.

A prompt that corrects belongs to the person and not to the turn that it begins: the turn before it
is the one that was corrected. A listing holds from where it stands on, until another one replaces
it or adds to it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from prowess.language.corrections_part import Correction, correction, rejection
from prowess.language.trace_objections import MOST_OBJECTION, objects
from prowess.transcripts.session_model import MOST_LISTED, MOST_TURNS, TOO_MANY_TURNS, Session, Turn
from prowess.transcripts.traces import MOST_NAME, LeftOut, cut
from prowess.transcripts.traces_part import MOST_WORDS
from prowess.transcripts.turns_part import Role
from prowess.transcripts.turns_part import Turn as Said
from prowess.workshop.capture import capture


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
    said = Said(role=Role.USER, text=prompt)
    return "" if capture([said]) is None else Correction.NEXT_TIME.value


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
