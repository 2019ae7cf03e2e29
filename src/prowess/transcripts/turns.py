"""Transcripts of any program, as messages that `turns` reads, cut at what a person typed.

A record may be a message, wrap one, or hold many. Whatever is none of these is counted and left
out: a transcript is a stranger's file, and one bad line must not cost the others. What a program
put into the user's mouth (a sub-agent's task, a note of its own) is no user's turn.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from prowess.transcripts.turns_part import Role, calls, role_of, turns, wraps


class Shape(StrEnum):
    """Whose transcript it is; a plain one has a role and a content and nothing else."""

    MESSAGES = "messages"
    OPENAI_CHAT = "openai-chat"
    OPENAI_RESPONSES = "openai-responses"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"
    SESSION = "session"


@dataclass(frozen=True, slots=True)
class Record:
    """One value of a file, and the line that it stands on; zero where the file is one value."""

    value: object
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What was said, and where."""

    content: Mapping[str, object]
    shape: Shape
    line: int
    # Counted from one over the whole transcript.
    number: int

    @property
    def place(self) -> str:
        """Where to look for it."""
        return f"line {self.line}" if self.line else f"message {self.number}"


@dataclass(frozen=True, slots=True)
class UserTurn:
    """What a person typed, and all that followed until the next time."""

    messages: tuple[Message, ...]

    @property
    def contents(self) -> tuple[Mapping[str, object], ...]:
        """The messages alone."""
        return tuple(message.content for message in self.messages)

    @property
    def tool_calls(self) -> int:
        """How many tools were called."""
        return calls(turns(self.contents))


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """What a file says, and what of it was left out and why."""

    turns: tuple[UserTurn, ...]
    messages: int
    # The shape that most messages have; None where there are none.
    shape: Shape | None
    skipped: Mapping[str, int]
    # The same for the same conversation, also after it grew.
    session_id: str = ""


NO_MESSAGE = "no message in it"
NOT_TYPED = "not typed by a person"
TOO_DEEP = "wrapped too deeply"

# Where each shape keeps its messages. A bare message is taken whatever the shape.
_HOLDERS: Mapping[Shape, tuple[str, ...]] = {
    Shape.MESSAGES: ("messages",),
    Shape.OPENAI_CHAT: ("messages", "choices"),
    Shape.OPENAI_RESPONSES: ("input", "output"),
    Shape.ANTHROPIC: ("messages",),
    Shape.GEMINI: ("contents", "candidates"),
    Shape.SESSION: ("message", "payload"),
}
_EVERY_HOLDER = tuple(dict.fromkeys(name for names in _HOLDERS.values() for name in names))
_SHAPE_OF_HOLDER = {
    "choices": Shape.OPENAI_CHAT,
    "input": Shape.OPENAI_RESPONSES,
    "output": Shape.OPENAI_RESPONSES,
    "contents": Shape.GEMINI,
    "candidates": Shape.GEMINI,
    "message": Shape.SESSION,
    "payload": Shape.SESSION,
}
_ITEMS = frozenset(("function_call", "function_call_output"))
_ANTHROPIC_BLOCKS = frozenset(("tool_use", "tool_result", "thinking"))
# Marks of a session's log on what its program, and not its user, wrote.
_NOT_TYPED_MARKS = ("isMeta", "isSidechain", "isCompactSummary")
# Records about the work of tools, whatever they hold: it is a stranger's.
_TOOL_KIND = re.compile(r"progress|.*tool[_-]?(?:use|call|result|return).*|.*_call(?:_output)?")
_TOOL_KEYS = ("toolUseResult", "tool_use_id", "tool_use_result", "functionResponse")
_TRUE = frozenset(("true", "1", "yes"))
_SESSION_KEYS = ("sessionId", "session_id", "conversation_id", "conversationId")
_DEEPEST, _LONGEST_SESSION_ID = 6, 120
_Found = tuple[Mapping[str, object], Shape] | str


def transcript(
    records: Iterable[Record], shape: Shape | None = None, skipped: Mapping[str, int] | None = None
) -> Transcript:
    """Return the messages of a file, as turns of its user.

    Args:
        records: the values of the file, in order.
        shape: whose transcript it is; by default each record says so itself.
        skipped: what was left out before, by reason.
    """
    left_out = Counter(skipped or {})
    messages: list[Message] = []
    session_id = ""
    names = _EVERY_HOLDER if shape is None else _HOLDERS[shape]
    for record in records:
        session_id = session_id or _session_id(record.value)
        for found in _unpacked(record.value, names, shape or Shape.MESSAGES):
            if isinstance(found, str):
                left_out[found] += 1
                continue
            content, seen = found
            number = len(messages) + 1
            messages.append(
                Message(content=content, shape=shape or seen, line=record.line, number=number)
            )
    shapes = Counter(message.shape for message in messages).most_common(1)
    return Transcript(
        turns=tuple(_cut(messages)),
        messages=len(messages),
        shape=shapes[0][0] if shapes else None,
        skipped=dict(left_out),
        session_id=session_id or _name_by_beginning(messages),
    )


def _cut(messages: Sequence[Message]) -> Iterator[UserTurn]:
    """Cut before each message of a person; what stands before the first is nobody's turn."""
    turn: list[Message] = []
    for message in messages:
        if _is_typed(message.content):
            if turn:
                yield UserTurn(tuple(turn))
            turn = [message]
        elif turn:
            turn.append(message)
    if turn:
        yield UserTurn(tuple(turn))


def _is_typed(content: Mapping[str, object]) -> bool:
    return any(turn.role is Role.USER and turn.text.strip() for turn in turns([content]))


def _unpacked(
    value: object, names: Sequence[str], shape: Shape, depth: int = 0
) -> Iterator[_Found]:
    """Yield each message of a value and its shape, and a reason for each part that is none."""
    if depth > _DEEPEST:
        yield TOO_DEEP
    elif isinstance(value, Mapping):
        yield from _of_mapping(value, names, shape, depth)
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for item in value:
            yield from _unpacked(item, names, shape, depth + 1)
    else:
        yield NO_MESSAGE


def _of_mapping(
    value: Mapping[str, object], names: Sequence[str], shape: Shape, depth: int
) -> Iterator[_Found]:
    if _is_by_program(value):
        yield NOT_TYPED
        return
    if _is_message(value):
        yield NOT_TYPED if _is_wrapped(value) else (value, _shape_of(value, shape))
        return
    holders = [name for name in names if isinstance(value.get(name), str | Mapping | list)]
    if not holders:
        yield NO_MESSAGE
    for name in holders:
        yield from _held(value, name, names, depth)


def _is_by_program(value: Mapping[str, object]) -> bool:
    """Return whether a record says itself that nobody typed it; some write each value as text."""
    if any(str(value.get(mark, "")).strip().lower() in _TRUE for mark in _NOT_TYPED_MARKS):
        return True
    kind = str(value.get("type", "")).strip().lower()
    is_tools = _TOOL_KIND.fullmatch(kind) is not None and kind not in _ITEMS
    is_tools = is_tools or any(value.get(key) is not None for key in _TOOL_KEYS)
    # Of an agent's own message a mark says that it called a tool, which counts.
    return is_tools and role_of(str(value.get("role") or "user")) is Role.USER


def _is_wrapped(message: Mapping[str, object]) -> bool:
    """Return whether a message of the user is nothing but a program's own words."""
    said = turns([message])
    return not any(turn.text or turn.tool_calls for turn in said) and wraps(message)


def _held(
    value: Mapping[str, object], name: str, names: Sequence[str], depth: int
) -> Iterator[_Found]:
    inner, shape = value[name], _SHAPE_OF_HOLDER.get(name, Shape.MESSAGES)
    if isinstance(inner, str):
        # A request with one question writes it as a text.
        yield ({"role": "user", "content": inner}, shape) if name in _ASKED else NO_MESSAGE
        return
    if name == "message" and isinstance(inner, Mapping) and "role" not in inner:
        inner = {"role": value.get("type"), **inner}
    elif name in _ASKED and isinstance(inner, list):
        inner = [_with_speaker(item) for item in inner]
    elif name in {"choices", "candidates"} and isinstance(inner, list):
        inner = [_reply_of(item) for item in inner]
    yield from _unpacked(inner, names, shape, depth + 1)


# What is sent to a model; where nobody is named, the user speaks.
_ASKED = frozenset(("input", "contents"))


def _with_speaker(item: object) -> object:
    if isinstance(item, str):
        return {"role": "user", "content": item}
    if isinstance(item, Mapping) and "parts" in item and "role" not in item:
        return {"role": "user", **item}
    return item


def _reply_of(item: object) -> object:
    """Return the message of one of several answers of a model."""
    if not isinstance(item, Mapping):
        return item
    reply = item.get("message", item.get("content"))
    return {"role": "assistant", **reply} if isinstance(reply, Mapping) else reply


def _is_message(value: Mapping[str, object]) -> bool:
    if isinstance(value.get("role"), str):
        return True
    parts = value.get("parts")
    # A program that keeps requests and answers as lists of parts, each with its kind.
    has_kinds = isinstance(parts, list) and any(
        isinstance(part, Mapping) and "part_kind" in part for part in parts
    )
    return has_kinds or str(value.get("type")) in _ITEMS


def _shape_of(message: Mapping[str, object], held_by: Shape) -> Shape:
    """Return what a message looks like, where what holds it does not say so."""
    if held_by is not Shape.MESSAGES:
        return held_by
    if str(message.get("type")) in {"message", *_ITEMS}:
        return Shape.OPENAI_RESPONSES
    if "tool_calls" in message or message.get("role") == "tool":
        return Shape.OPENAI_CHAT
    if "parts" in message:
        return Shape.GEMINI
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    kinds = {str(block.get("type")) for block in blocks if isinstance(block, Mapping)}
    return Shape.ANTHROPIC if kinds & _ANTHROPIC_BLOCKS else Shape.MESSAGES


def _session_id(value: object) -> str:
    if not isinstance(value, Mapping):
        return ""
    named = (value.get(key) for key in _SESSION_KEYS)
    return next((name[:_LONGEST_SESSION_ID] for name in named if isinstance(name, str)), "")


def _name_by_beginning(messages: Sequence[Message]) -> str:
    if not messages:
        return ""
    said = "\0".join(turn.text for message in messages[:2] for turn in turns([message.content]))
    digest = hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()
    return f"transcript-{digest[:16]}"
