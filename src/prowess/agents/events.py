"""What happens in a turn of a chat, as values, and the channel that carries them in order.

Texts are as they came, from models, skills and programs: clean them before they reach a terminal. A
question waits until whoever shows it has gone on; by then it was answered, or the answer is no.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from enum import Enum


class Choice(Enum):
    """A person's answer to a request for approval."""

    YES = "yes"
    NO = "no"
    # For this very command, until the chat ends.
    ALWAYS = "always"


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedSkill:
    """A skill that routing found, and why."""

    name: str
    score: float
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Routed:
    """What routing made of the message: `load`, `offer` or `none`."""

    decision: str
    matches: tuple[MatchedSkill, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillLoaded:
    """A skill's text is before the model; `by` says who saw to it."""

    name: str
    # `router`, `command`, `reference` or `model`.
    by: str
    chars: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillRefused:
    """A skill was wanted and is not before the model."""

    name: str
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """A piece of the model's answer."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalled:
    """The model calls a tool."""

    call_id: str
    name: str
    arguments: str


@dataclass(slots=True, kw_only=True, eq=False)
class ApprovalAsked:
    """A command waits for a person; whoever goes on without an answer has said no."""

    call_id: str
    # `shell`, or the tool that would change skills.
    tool: str
    command: str
    # The same for a person: all of it, with nothing hidden; of a change to a skill the difference.
    shown: str
    folder: str
    choice: Choice = field(default=Choice.NO)

    def answer(self, choice: Choice) -> None:
        """Decide whether the command may run."""
        self.choice = choice


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput:
    """A piece of what a running command prints."""

    call_id: str
    # `stdout` or `stderr`.
    stream: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswered:
    """A tool's answer, as the model gets it; a reply is for the person, whose command called it."""

    call_id: str
    name: str
    text: str
    ok: bool = True
    reply: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """Learning made a proposal of the turn."""

    id: str
    skill_name: str
    title: str
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What the turn took."""

    requests: int
    input_tokens: int
    output_tokens: int
    tool_calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Something went wrong; the turn ends unless it is only a note."""

    # A code of the error, `limit` for too many requests, or `note` where the turn goes on.
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupted:
    """A person stopped the turn; what was said so far is kept and marked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded:
    """The last event of every turn."""

    ok: bool


Event = (
    Routed
    | SkillLoaded
    | SkillRefused
    | TextDelta
    | ToolCalled
    | ApprovalAsked
    | ToolOutput
    | ToolAnswered
    | Proposed
    | Used
    | Trouble
    | Interrupted
    | TurnEnded
)


class Channel:
    """One turn's events, from many places to one reader."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[tuple[Event, asyncio.Event | None] | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()

    def put(self, event: Event) -> None:
        """Tell the reader something."""
        self._queue.put_nowait((event, None))

    def put_from_thread(self, event: Event) -> None:
        """Tell the reader something from another thread."""
        self._loop.call_soon_threadsafe(self.put, event)

    async def ask(self, question: ApprovalAsked) -> Choice:
        """Wait until the reader has seen the question and return the answer."""
        seen = asyncio.Event()
        self._queue.put_nowait((question, seen))
        await seen.wait()
        return question.choice

    def close(self) -> None:
        """Tell the reader that nothing follows."""
        self._queue.put_nowait(None)

    async def read(self) -> AsyncIterator[Event]:
        """Yield what was put in until the channel is closed."""
        while (found := await self._queue.get()) is not None:
            event, seen = found
            yield event
            if seen is not None:
                seen.set()
