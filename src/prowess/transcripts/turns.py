"""Transcripts of any program as neutral turns, cut at what a person typed.

A record may be a message, wrap one, or hold many. Whatever is none of these is counted and left
out: a transcript is a stranger's file, and one bad line must not cost the others. Only text that a
person typed is a user's turn. What a tool returned often travels inside a message with the role
`user`; it is a stranger's text and is left out, and so is what a program put into the user's mouth
(a sub-agent's task, words between tags of its own).
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

from prowess.late import compile_late, dataclass


class Role(StrEnum):
    """Who speaks."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTurn:
    """What one speaker said in one message."""

    role: Role
    text: str
    # The message it comes from, counted from zero.
    place: int = 0
    tool_calls: int = 0


_SAID_BY = {
    Role.USER: "user human user-prompt",
    Role.ASSISTANT: "assistant agent ai gemini model text tool-call tool_call function_call",
    Role.SYSTEM: "system developer system-prompt",
    Role.TOOL: "tool function tool-return retry-prompt function_call_output",
}
_ROLES = {name: role for role, names in _SAID_BY.items() for name in names.split()}
# What a program puts around words of its own in a message of its user; without an end, the rest.
_WRAPPED = compile_late(
    r"<(?P<tag>local-command-[a-z]{1,20}|command-(?:message|name|args|contents)|system-reminder"
    r"|task-notification|bash-(?:input|stdout|stderr)|user-prompt-submit-hook)\b[^<>]{0,200}>"
    r".*?(?:</(?P=tag)>|\Z)"
    # What people may speak of as well, so that only a whole one is a program's.
    r"|<(?P<frame>hook_context|session_context|loaded_context|environment_context"
    r"|skills_instructions|available_skills)>.*?</(?P=frame)>",
    re.DOTALL,
)
# What Prowess itself told an agent, with the skills that it named on a line each; also where a
# person quotes it, or copied it with what a harness writes before it.
_TOLD = compile_late(
    r"^[> \t]{0,9}(?:\w{1,40} hook additional context: )?(?:Skills|This message) [^\n]{0,120}"
    r"\((?:found|listed|noticed) by Prowess\)[^\n]*\n?(?:[> \t]{0,9}- [^\n]*\n?)*",
    re.MULTILINE,
)
# What a program puts in the place of, or before, a call of a skill that a person typed.
_CALLED, _ARGUMENTS = "Base directory for this skill: ", "<skill-args>"
_EXPLICIT = compile_late(
    r"\AUse the following explicitly referenced skills[^\n]*\n(?:- [^\n]*\n)+\nUser request:\n"
)
_TEXT_BLOCKS = frozenset(("text", "input_text", "output_text"))
_CALLS = frozenset(("tool_call", "tool-call", "tool_use", "toolcall", "function_call"))


def read_turns(messages: Iterable[Mapping[str, object]]) -> tuple[ChatTurn, ...]:
    """Return what was said, in order; messages without text and calls say nothing."""
    found = (turn for place, message in enumerate(messages) for turn in _turns_of(message, place))
    return tuple(turn for turn in found if turn.text or turn.tool_calls)


def count_calls(said: Iterable[ChatTurn]) -> int:
    """Return how many tools were called."""
    return sum(turn.tool_calls for turn in said)


_MOST_GIVEN = 300


def tell_calls(message: Mapping[str, object]) -> str:
    """Return the calls of tools in a message, one on a line, each with the start of its input."""
    message = _unwrap(message)
    content = next((message[key] for key in ("content", "parts") if key in message), ())
    told = []
    for block in (*_blocks(content), *_blocks(message.get("tool_calls")), message):
        inner = next((block[key] for key in ("function", "functionCall") if key in block), block)
        if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str):
            continue
        given = next((inner[key] for key in ("input", "arguments", "args") if key in inner), None)
        if given is not None:
            text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
            told.append(f"{inner['name']} {text[:_MOST_GIVEN]}")
    return "\n".join(told)


def find_role(word: str) -> Role:
    """Return who speaks by the word that a program has for it."""
    return _ROLES.get(word.strip().lower(), Role.OTHER)


def has_program_words(message: Mapping[str, object]) -> bool:
    """Return whether a message holds words that a program put into it."""
    content = _unwrap(message)
    found = next((content[key] for key in ("content", "parts", "text") if key in content), "")
    return _WRAPPED.search(_text_of(found)) is not None


def _turns_of(message: Mapping[str, object], place: int) -> Iterator[ChatTurn]:
    message = _unwrap(message)
    parts = message.get("parts")
    kinds = [part for part in _blocks(parts) if isinstance(part.get("part_kind"), str)]
    if kinds:
        # One request of such a program holds parts by several speakers.
        yield from (_turn(part, str(part["part_kind"]), place) for part in kinds)
        return
    yield _turn(message, str(message.get("role") or message.get("type") or ""), place)


def _unwrap(message: Mapping[str, object]) -> Mapping[str, object]:
    """Return the message of a line of a session's log, which wraps it in a record."""
    inner = message.get("message")
    if "role" in message or not isinstance(inner, Mapping):
        return message
    return {"role": message.get("type"), **inner}


def _turn(message: Mapping[str, object], speaker: str, place: int) -> ChatTurn:
    word = speaker.strip().lower()
    content = next((message[key] for key in ("content", "parts", "text") if key in message), "")
    role, text = find_role(word), _text_of(content)
    return ChatTurn(
        role=role,
        text=_as_typed(text) if role is Role.USER else text,
        place=place,
        tool_calls=max(_count_listed_calls(message), _calls_among(content)) + (word in _CALLS),
    )


def read_call(text: str) -> str:
    """Return the call (`/name ...`) for which a program wrote a skill's whole text, or the text."""
    if not text.startswith(_CALLED):
        return text
    name = re.split(r"[\\/]", text[len(_CALLED) :].partition("\n")[0].rstrip("\\/ "))[-1]
    said = text.rpartition(_ARGUMENTS)[2] if _ARGUMENTS in text else ""
    return f"/{name} {said.partition('</skill-args>')[0].strip()}".rstrip()


def _as_typed(text: str) -> str:
    """Return a message of a person without what programs put into it, ourselves included."""
    typed = read_call(_EXPLICIT.sub("", text))
    typed = _WRAPPED.sub("", typed) if "<" in typed else typed
    typed = _TOLD.sub("", typed) if "by Prowess)" in typed else typed
    return text if typed == text else typed.strip()


def _text_of(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return _block_text(content)
    if not isinstance(content, Sequence) or isinstance(content, bytes | bytearray):
        return ""
    texts = (item if isinstance(item, str) else _block_text(item) for item in content)
    return "\n".join(text for text in texts if text)


def _block_text(block: object) -> str:
    if not isinstance(block, Mapping) or str(block.get("type", "text")) not in _TEXT_BLOCKS:
        return ""
    text = block.get("text")
    if isinstance(text, Mapping):
        text = text.get("value")
    return text if isinstance(text, str) else ""


def _count_listed_calls(message: Mapping[str, object]) -> int:
    listed = message.get("tool_calls")
    return len(listed) if isinstance(listed, Sequence) and not isinstance(listed, str) else 0


def _calls_among(content: object) -> int:
    return sum(
        str(block.get("type", "")).lower() in _CALLS or "functionCall" in block
        for block in _blocks(content)
    )


def _blocks(content: object) -> list[Mapping[str, object]]:
    if not isinstance(content, Sequence) or isinstance(content, str | bytes | bytearray):
        return []
    return [item for item in content if isinstance(item, Mapping)]


class TranscriptShape(StrEnum):
    """Whose transcript it is; a plain one has a role and a content and nothing else."""

    MESSAGES = "messages"
    OPENAI_CHAT = "openai-chat"
    OPENAI_RESPONSES = "openai-responses"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"
    SESSION = "session"


@dataclass(frozen=True, slots=True)
class TranscriptRecord:
    """One value of a file, and the line that it stands on; zero where the file is one value."""

    value: object
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptMessage:
    """What was said, and where."""

    content: Mapping[str, object]
    shape: TranscriptShape
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

    messages: tuple[TranscriptMessage, ...]

    @property
    def contents(self) -> tuple[Mapping[str, object], ...]:
        """The messages alone."""
        return tuple(message.content for message in self.messages)

    @property
    def tool_calls(self) -> int:
        """How many tools were called."""
        return count_calls(read_turns(self.contents))


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """What a file says, and what of it was left out and why."""

    turns: tuple[UserTurn, ...]
    messages: int
    # The shape that most messages have; None where there are none.
    shape: TranscriptShape | None
    skipped: Mapping[str, int]
    # The same for the same conversation, also after it grew.
    session_id: str = ""


NO_MESSAGE = "no message in it"
NOT_TYPED = "not typed by a person"
TOO_DEEP = "wrapped too deeply"

# Where each shape keeps its messages. A bare message is taken whatever the shape.
_HOLDERS: Mapping[TranscriptShape, tuple[str, ...]] = {
    TranscriptShape.MESSAGES: ("messages",),
    TranscriptShape.OPENAI_CHAT: ("messages", "choices"),
    TranscriptShape.OPENAI_RESPONSES: ("input", "output"),
    TranscriptShape.ANTHROPIC: ("messages",),
    TranscriptShape.GEMINI: ("contents", "candidates"),
    TranscriptShape.SESSION: ("message", "payload"),
}
_EVERY_HOLDER = tuple(dict.fromkeys(name for names in _HOLDERS.values() for name in names))
_SHAPE_OF_HOLDER = {
    name: shape for shape, names in _HOLDERS.items() for name in names if name != "messages"
}
_SPEAKERS = frozenset(("user", "gemini"))
# Where Copilot CLI says that a message of the user comes from, if nobody typed it.
NOT_BY_PERSON = frozenset(("skill-invoked", "system", "hook", "agent"))
_ITEMS = frozenset(("function_call", "function_call_output"))
_ANTHROPIC_BLOCKS = frozenset(("tool_use", "tool_result", "thinking"))
# Marks of a session's log on what its program, and not its user, wrote.
_NOT_TYPED_MARKS = ("isMeta", "isSidechain", "isCompactSummary")
# Records about the work of tools, whatever they hold: it is a stranger's.
_TOOL_KIND = compile_late(r"progress|.*tool[_-]?(?:use|call|result|return).*|.*_call(?:_output)?")
_TOOL_KEYS = ("toolUseResult", "tool_use_id", "tool_use_result", "functionResponse")
_TRUE = frozenset(("true", "1", "yes"))
_SESSION_KEYS = ("sessionId", "session_id", "conversation_id", "conversationId")
_DEEPEST, _LONGEST_SESSION_ID = 6, 120
_Found = tuple[Mapping[str, object], TranscriptShape] | str


def build_transcript(
    records: Iterable[TranscriptRecord],
    shape: TranscriptShape | None = None,
    skipped: Mapping[str, int] | None = None,
) -> Transcript:
    """Return the messages of a file, as turns of its user.

    Args:
        records: the values of the file, in order.
        shape: whose transcript it is; by default each record says so itself.
        skipped: what was left out before, by reason.
    """
    left_out = Counter(skipped or {})
    messages: list[TranscriptMessage] = []
    session_id = ""
    names = _EVERY_HOLDER if shape is None else _HOLDERS[shape]
    for record in records:
        session_id = session_id or _session_id(record.value)
        for found in _unpack(record.value, names, shape or TranscriptShape.MESSAGES):
            if isinstance(found, str):
                left_out[found] += 1
                continue
            content, seen = found
            number = len(messages) + 1
            messages.append(
                TranscriptMessage(
                    content=content, shape=shape or seen, line=record.line, number=number
                )
            )
    shapes = Counter(message.shape for message in messages).most_common(1)
    return Transcript(
        turns=tuple(_cut(messages)),
        messages=len(messages),
        shape=shapes[0][0] if shapes else None,
        skipped=dict(left_out),
        session_id=session_id or _name_by_beginning(messages),
    )


def _cut(messages: Sequence[TranscriptMessage]) -> Iterator[UserTurn]:
    """Cut before each message of a person; what stands before the first is nobody's turn."""
    turn: list[TranscriptMessage] = []
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
    return any(turn.role is Role.USER and turn.text.strip() for turn in read_turns([content]))


def _unpack(
    value: object, names: Sequence[str], shape: TranscriptShape, depth: int = 0
) -> Iterator[_Found]:
    """Yield each message of a value and its shape, and a reason for each part that is none."""
    if depth > _DEEPEST:
        yield TOO_DEEP
    elif isinstance(value, Mapping):
        yield from _of_mapping(value, names, shape, depth)
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for item in value:
            yield from _unpack(item, names, shape, depth + 1)
    else:
        yield NO_MESSAGE


def _of_mapping(
    value: Mapping[str, object], names: Sequence[str], shape: TranscriptShape, depth: int
) -> Iterator[_Found]:
    value = _by_its_speaker(value)
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
        yield from _find_held(value, name, names, depth)


def _by_its_speaker(value: Mapping[str, object]) -> Mapping[str, object]:
    """Return a message with its role, where it stands elsewhere: Gemini CLI, Copilot, opencode."""
    kind, data, info = str(value.get("type")), value.get("data"), value.get("info")
    if kind in _SPEAKERS and "content" in value:
        return {"role": kind, **value}
    if kind.endswith(".message") and isinstance(data, Mapping):
        is_added = "agentId" in value or str(data.get("source")) in NOT_BY_PERSON
        return {"role": kind.removesuffix(".message"), "isMeta": is_added, **data}
    if isinstance(info, Mapping) and "role" in info:
        typed = [part for part in _blocks(value.get("parts")) if not part.get("synthetic")]
        return {"role": info.get("role"), "parts": typed}
    return value


def _is_by_program(value: Mapping[str, object]) -> bool:
    """Return whether a record says itself that nobody typed it; some write each value as text."""
    if any(str(value.get(mark, "")).strip().lower() in _TRUE for mark in _NOT_TYPED_MARKS):
        return True
    kind = str(value.get("type", "")).strip().lower()
    is_tools = _TOOL_KIND.fullmatch(kind) is not None and kind not in _ITEMS
    is_tools = is_tools or any(value.get(key) is not None for key in _TOOL_KEYS)
    # Of an agent's own message a mark says that it called a tool, which counts.
    return is_tools and find_role(str(value.get("role") or "user")) is Role.USER


def _is_wrapped(message: Mapping[str, object]) -> bool:
    """Return whether a message of the user is nothing but a program's own words."""
    said = read_turns([message])
    return not any(turn.text or turn.tool_calls for turn in said) and has_program_words(message)


def _find_held(
    value: Mapping[str, object], name: str, names: Sequence[str], depth: int
) -> Iterator[_Found]:
    inner, shape = value[name], _SHAPE_OF_HOLDER.get(name, TranscriptShape.MESSAGES)
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
    yield from _unpack(inner, names, shape, depth + 1)


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


def _shape_of(message: Mapping[str, object], held_by: TranscriptShape) -> TranscriptShape:
    """Return what a message looks like, where what holds it does not say so."""
    if held_by is not TranscriptShape.MESSAGES:
        return held_by
    if str(message.get("type")) in {"message", *_ITEMS}:
        return TranscriptShape.OPENAI_RESPONSES
    if "tool_calls" in message or message.get("role") == "tool":
        return TranscriptShape.OPENAI_CHAT
    if "parts" in message:
        return TranscriptShape.GEMINI
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    kinds = {str(block.get("type")) for block in blocks if isinstance(block, Mapping)}
    return TranscriptShape.ANTHROPIC if kinds & _ANTHROPIC_BLOCKS else TranscriptShape.MESSAGES


def _session_id(value: object) -> str:
    if not isinstance(value, Mapping):
        return ""
    named = (value.get(key) for key in _SESSION_KEYS)
    return next((name[:_LONGEST_SESSION_ID] for name in named if isinstance(name, str)), "")


def _name_by_beginning(messages: Sequence[TranscriptMessage]) -> str:
    if not messages:
        return ""
    said = "\0".join(
        turn.text for message in messages[:2] for turn in read_turns([message.content])
    )
    digest = hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()
    return f"transcript-{digest[:16]}"
