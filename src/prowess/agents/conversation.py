"""A conversation as turns: what was said, and which skills were put before the model.

Turns are kept and dropped whole: half a turn would leave calls without answers. Skills stand first
and the person's own words last, so that the model and whoever learns from the words can tell them
apart; a skill cannot close its own block. A text goes in only after the scanner has passed it, and
what does not fit into the bound is named instead.
"""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar
from xml.sax.saxutils import quoteattr

from pydantic import ValidationError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from prowess.agents.events import Channel, MatchedSkill, Routed, SkillLoaded, SkillRefused, Trouble
from prowess.errors import ProwessError, StoreError
from prowess.routing.model import Decision, Route
from prowess.runtime.run import AsyncRun
from prowess.runtime.skill_tools import bound, skill_text
from prowess.skills.invocation import Invoked
from prowess.skills.text import clean, one_line

_CLOSING = re.compile(r"<(?=\s*/?\s*(?:skill_instructions|message)\b)", re.IGNORECASE)
_OPEN, _CLOSE = "<message>\n", "\n</message>"


def skill_block(name: str, text: str) -> str:
    """Return a skill's text as a block that names it."""
    inside = _CLOSING.sub("&lt;", text)
    return f"<skill_instructions name={quoteattr(name)}>\n{inside}\n</skill_instructions>"


def frame_message(blocks: Sequence[str], words: str) -> str:
    """Return what the model gets: the blocks, then the person's words."""
    if not blocks:
        return words
    return "\n\n".join([*blocks, f"{_OPEN}{words}{_CLOSE}"])


def extract_words(prompt: str) -> str:
    """Return a person's own words from what the model got."""
    start = prompt.find(_OPEN)
    if start < 0 or not prompt.endswith(_CLOSE):
        return prompt
    return prompt[start + len(_OPEN) : -len(_CLOSE)]


_MOST_EACH, _MOST_TOGETHER = 30_000, 60_000


@dataclass(slots=True)
class Prepared:
    """What the model gets for a message, or the call that takes the model's place."""

    words: str
    blocks: list[str] = field(default_factory=list)
    # The skills before the model, each with the hash of what it said.
    skills: dict[str, str] = field(default_factory=dict)
    offered: list[str] = field(default_factory=list)
    direct: Invoked | None = None

    @property
    def prompt(self) -> str:
        """The message as the model gets it."""
        blocks = list(self.blocks)
        if self.offered:
            names = ", ".join(one_line(name) for name in self.offered)
            blocks.append(f"Skills that may fit: {names}. Read one with read_skill if it does.")
        return frame_message(blocks, self.words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """What earlier turns left before the model."""

    # Name and hash of every skill that the model still sees.
    skills: Mapping[str, str] = field(default_factory=dict)
    # What the last turn loaded.
    last: tuple[str, ...] = ()
    # What was said, each with a role and a content.
    history: tuple[Mapping[str, object], ...] = ()


class Preparing:
    """Finds the skills for one message and tells what it does."""

    def __init__(self, run: AsyncRun, channel: Channel, before: Before) -> None:
        self._run, self._channel, self._before = run, channel, before
        self._left = _MOST_TOGETHER

    async def prepare(self, message: str) -> Prepared:
        """Return what the model gets for a message."""
        prepared = Prepared(words=message)
        invoked = self._run.command(message)
        if invoked is not None:
            await self._invoke(invoked, prepared)
            return prepared
        named = self._run.references(message)
        for problem in named.problems:
            self._channel.put(Trouble(code="note", message=problem))
        for skill in named.skills:
            await self._load(skill.name, "reference", prepared)
        await self._route(message, prepared)
        return prepared

    async def _invoke(self, invoked: Invoked, prepared: Prepared) -> None:
        for problem in invoked.problems:
            self._channel.put(Trouble(code="note", message=problem))
        name = invoked.command.skill_name
        if invoked.kind == "tool":
            prepared.direct = invoked
        elif await self._load(name, "command", prepared, text=invoked.text):
            asked = f'Use the skill "{one_line(name)}" for this request.'
            prepared.words = f"{asked}\n\n{invoked.arguments}".strip()

    async def _route(self, message: str, prepared: Prepared) -> None:
        try:
            before = self._before
            route = await asyncio.to_thread(
                self._run.route, message, last=before.last, history=before.history
            )
        except ProwessError as error:
            self._channel.put(Trouble(code="note", message=f"not routed: {error}"))
            return
        self._channel.put(_make_routed(route))
        # Not left out of the route: the next best would look like the best.
        there = {*self._list_current(), *prepared.skills}
        for match in route.matches:
            if match.skill.name in there:
                continue
            if route.decision is Decision.OFFER:
                prepared.offered.append(match.skill.name)
            elif route.decision is Decision.LOAD:
                await self._load(match.skill.name, "router", prepared)

    def _list_current(self) -> list[str]:
        """Return the skills that the model has before it as they are now."""
        hashes = {skill.name: skill.content_hash for skill in self._run.skills}
        return [name for name, old in self._before.skills.items() if hashes.get(name) == old]

    async def _load(self, name: str, by: str, prepared: Prepared, text: str = "") -> bool:
        """Put a skill's text before the model; False where that may not be."""
        if self._left <= 0:
            prepared.offered.append(name)
            return True
        try:
            read = await asyncio.to_thread(self._run.read, name)
        except ProwessError as error:
            self._channel.put(SkillRefused(name=name, problem=str(error)))
            return False
        most = min(_MOST_EACH, self._left)
        shown = bound(clean(text), most) if text else skill_text(read, most)
        self._left -= len(shown)
        prepared.blocks.append(skill_block(name, shown))
        prepared.skills[name] = self._run.skill(name).content_hash
        self._channel.put(SkillLoaded(name=name, by=by, chars=len(shown)))
        return True


def _make_routed(route: Route) -> Routed:
    matches: Sequence[MatchedSkill] = [
        MatchedSkill(name=match.skill.name, score=match.score, reasons=match.reasons)
        for match in route.matches
    ]
    # Where nothing was compared, they say why no skill is there, which nobody asked for here.
    notes = route.notes if route.considered else ()
    return Routed(decision=route.decision.value, matches=tuple(matches), notes=notes)


MOST_SENT_CHARS = 200_000
MOST_KEPT_CHARS = 2_000_000
# A turn is always kept, so that one alone must be small enough to be read again.
MOST_TURN_CHARS = 1_000_000
_VERSION = 1
_MOST_TOOL_CHARS = 2_000
# How much of each text is kept, tried one after the other.
_SHORTER = (100_000, 20_000, 2_000, 200)
_NOT_KEPT = "[this turn was too long to be kept]"
# A turn as learning reads it.
Lines = list[dict[str, object]]
_SURROGATE = re.compile("[\ud800-\udfff]")
_Part = TypeVar("_Part", ModelRequestPart, ModelResponsePart)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationTurn:
    """One message of a person and everything that came of it."""

    words: str
    messages: tuple[ModelMessage, ...] = ()
    # The skills before the model, each with the hash of what it said.
    skills: Mapping[str, str] = field(default_factory=dict)
    chars: int = 0


@dataclass(slots=True, kw_only=True)
class Conversation:
    """The turns of one session, oldest first."""

    session_id: str
    workspace: str = ""
    agent_id: str = ""
    turns: list[ConversationTurn] = field(default_factory=list)

    def add(self, turn: ConversationTurn) -> None:
        """Keep a turn; the oldest go where there are too many."""
        words = _cut(turn.words, MOST_TURN_CHARS // 10)
        plain = tuple(_without_instructions(turn.messages))
        self.turns.append(_fit(replace(turn, words=words, messages=plain)))
        while len(self.turns) > 1 and sum(one.chars for one in self.turns) > MOST_KEPT_CHARS:
            del self.turns[0]

    def recalled(self, most: int = MOST_SENT_CHARS) -> list[ConversationTurn]:
        """Return the newest turns that fit into what is sent, oldest first."""
        chosen: list[ConversationTurn] = []
        for turn in reversed(self.turns):
            most -= turn.chars
            if most < 0:
                break
            chosen.append(turn)
        return chosen[::-1]

    def stored(self) -> dict[str, Any]:
        """Return the conversation as JSON keeps it."""
        return {
            "version": _VERSION,
            "sessionId": self.session_id,
            "agentId": self.agent_id,
            "workspaceDir": self.workspace,
            "turns": [
                {
                    "words": turn.words,
                    "skills": dict(turn.skills),
                    "messages": ModelMessagesTypeAdapter.dump_python(
                        list(turn.messages), mode="json"
                    ),
                }
                for turn in self.turns
            ],
        }


def read_conversation(session_id: str, stored: Mapping[str, Any]) -> Conversation:
    """Return a conversation that was kept.

    Raises:
        StoreError: it is not one, or a later version wrote it.
    """
    try:
        if stored["version"] != _VERSION:
            raise StoreError(session_id, "is a chat of another version: use --new to begin anew.")
        made = Conversation(
            session_id=session_id,
            workspace=str(stored.get("workspaceDir", "")),
            agent_id=str(stored.get("agentId", "")),
        )
        for turn in stored["turns"]:
            messages = ModelMessagesTypeAdapter.validate_python(turn["messages"])
            skills = {str(name): str(hash_) for name, hash_ in turn["skills"].items()}
            made.add(
                ConversationTurn(words=str(turn["words"]), messages=tuple(messages), skills=skills)
            )
    except (KeyError, TypeError, AttributeError, ValidationError) as error:
        problem = "is no chat that can be read: use --new to begin anew."
        raise StoreError(session_id, problem) from error
    return made


def broken_off(messages: Sequence[ModelMessage], said: str, mark: str) -> tuple[ModelMessage, ...]:
    """Return the messages of a turn that did not end, so that the next one can follow.

    Args:
        messages: what the turn added so far.
        said: what the model said in the answer that was not finished.
        mark: why it ends there, for the model to read.
    """
    kept = list(messages)
    if kept and not kept[-1].parts:
        # The library keeps an answer of which not a word came.
        kept.pop()
    answered = any(isinstance(message, ModelResponse) for message in kept)
    if not answered and not said:
        # Nothing came of it: the person can say it again.
        return ()
    last = kept[-1] if kept else None
    open_calls = _open_calls(kept)
    if isinstance(last, ModelResponse) and not open_calls:
        marked = replace(last, parts=[*last.parts, TextPart(content=f"\n\n{mark}")])
        return (*kept[:-1], marked)
    if open_calls:
        # A call without an answer is nothing that a model can be shown.
        kept.append(ModelRequest(parts=[_answer_stopped(call) for call in open_calls]))
    text = TextPart(content=f"{said}\n\n{mark}".strip())
    return (*kept, ModelResponse(parts=[text], state="interrupted"))


def _open_calls(messages: Sequence[ModelMessage]) -> list[ToolCallPart]:
    parts = [part for message in messages for part in message.parts]
    answered = {part.tool_call_id for part in parts if isinstance(part, ToolReturnPart)}
    calls = [part for part in parts if isinstance(part, ToolCallPart)]
    return [call for call in calls if call.tool_call_id not in answered]


def _answer_stopped(call: ToolCallPart) -> ToolReturnPart:
    return ToolReturnPart(
        tool_name=call.tool_name,
        content="Error: this was stopped before it had a result.",
        tool_call_id=call.tool_call_id,
        outcome="interrupted",
    )


def transcript(words: str, messages: Iterable[ModelMessage]) -> Lines:
    """Return a turn as learning reads it: the person's own words, answers and results."""
    lines: Lines = [{"role": "user", "content": words}]
    for message in messages:
        for part in message.parts:
            if isinstance(part, TextPart) and part.content.strip():
                lines.append({"role": "assistant", "content": part.content})
            elif isinstance(part, ToolReturnPart):
                content = part.model_response_str()[:_MOST_TOOL_CHARS]
                lines.append({"role": "tool", "name": part.tool_name, "content": content})
    return lines


def calls_in(messages: Iterable[ModelMessage]) -> int:
    """Return how many tools were called."""
    return sum(isinstance(part, ToolCallPart) for message in messages for part in message.parts)


def _without_instructions(messages: Iterable[ModelMessage]) -> Iterable[ModelMessage]:
    for message in messages:
        if isinstance(message, ModelRequest):
            yield replace(message, instructions=None, parts=_mend_parts(message.parts))
        else:
            yield replace(message, parts=_mend_parts(message.parts))


def _mend_parts(parts: Sequence[_Part]) -> list[_Part]:
    """Return parts without half surrogate pairs, which a model or a person may send."""
    written = list(parts)
    for index, part in enumerate(written):
        # Parts are of many kinds, and no kind has both fields as text.
        some: Any = part
        for name in ("content", "args"):
            text = getattr(some, name, None)
            if isinstance(text, str) and _SURROGATE.search(text):
                written[index] = replace(some, **{name: _SURROGATE.sub("\ufffd", text)})
    return written


def _fit(turn: ConversationTurn) -> ConversationTurn:
    """Return a turn with its size, its texts shortened as far as it takes to keep it."""
    messages = turn.messages
    for most in _SHORTER:
        size = len(_dump(messages))
        if size <= MOST_TURN_CHARS:
            return replace(turn, messages=messages, chars=size)
        messages = tuple(_shorten(one, most) for one in turn.messages)
    # So many parts that even their beginnings are too much.
    asked = ModelRequest(parts=[UserPromptPart(content=_cut(turn.words, _SHORTER[-1]))])
    told = (asked, ModelResponse(parts=[TextPart(content=_NOT_KEPT)]))
    return replace(turn, messages=told, chars=len(_dump(told)))


def _shorten(message: ModelMessage, most: int) -> ModelMessage:
    if isinstance(message, ModelRequest):
        return replace(message, parts=_shorten_parts(message.parts, most))
    return replace(message, parts=_shorten_parts(message.parts, most))


def _shorten_parts(parts: Sequence[_Part], most: int) -> list[_Part]:
    """Return parts whose texts are cut; thoughts go whole, for half a thought has no signature."""
    kept: list[_Part] = []
    for part in parts:
        # Parts are of many kinds, and no kind has both fields as text.
        some: Any = part
        if isinstance(part, ThinkingPart):
            continue
        content, args = getattr(some, "content", None), getattr(some, "args", None)
        if isinstance(content, str) and len(content) > most:
            some = replace(some, content=_cut(content, most))
        elif args is not None and len(str(args)) > most:
            # Half a JSON text is none.
            some = replace(some, args={"left_out": f"{len(str(args))} characters"})
        kept.append(some)
    return kept


def _cut(text: str, most: int) -> str:
    left_out = len(text) - most
    return text if left_out <= 0 else f"{text[:most]}\n[{left_out} characters were not kept]"


def _dump(messages: Sequence[ModelMessage]) -> bytes:
    return ModelMessagesTypeAdapter.dump_json(list(messages))
