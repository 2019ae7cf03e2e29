"""Messages of any chat, as neutral turns: who said what, and how many tools were called.

Only text that a person typed is a user's turn. What a tool returned often travels inside a message
with the role `user`; it is a stranger's text and is left out. So is what a program put into the
user's mouth between tags of its own.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """Who speaks."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one speaker said in one message."""

    role: Role
    text: str
    # The message it comes from, counted from zero.
    place: int = 0
    tool_calls: int = 0


_ROLES = {
    "user": Role.USER,
    "human": Role.USER,
    "user-prompt": Role.USER,
    "assistant": Role.ASSISTANT,
    "model": Role.ASSISTANT,
    "ai": Role.ASSISTANT,
    "text": Role.ASSISTANT,
    "tool-call": Role.ASSISTANT,
    "tool_call": Role.ASSISTANT,
    "function_call": Role.ASSISTANT,
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "system-prompt": Role.SYSTEM,
    "tool": Role.TOOL,
    "function": Role.TOOL,
    "tool-return": Role.TOOL,
    "retry-prompt": Role.TOOL,
    "function_call_output": Role.TOOL,
}
# What a program puts around words of its own in a message of its user; without an end, the rest.
_WRAPPED = re.compile(
    r"<(?P<tag>local-command-[a-z]{1,20}|command-(?:message|name|args|contents)|system-reminder"
    r"|task-notification|bash-(?:input|stdout|stderr)|user-prompt-submit-hook)\b[^<>]{0,200}>"
    r".*?(?:</(?P=tag)>|\Z)",
    re.DOTALL,
)
_TEXT_BLOCKS = frozenset(("text", "input_text", "output_text"))
_CALLS = frozenset(("tool_call", "tool-call", "tool_use", "toolcall", "function_call"))


def turns(messages: Iterable[Mapping[str, object]]) -> tuple[Turn, ...]:
    """Return what was said, in order; messages without text and calls say nothing."""
    found = (turn for place, message in enumerate(messages) for turn in _turns_of(message, place))
    return tuple(turn for turn in found if turn.text or turn.tool_calls)


def calls(said: Iterable[Turn]) -> int:
    """Return how many tools were called."""
    return sum(turn.tool_calls for turn in said)


def role_of(word: str) -> Role:
    """Return who speaks by the word that a program has for it."""
    return _ROLES.get(word.strip().lower(), Role.OTHER)


def wraps(message: Mapping[str, object]) -> bool:
    """Return whether a message holds words that a program put into it."""
    content = _unwrapped(message)
    found = next((content[key] for key in ("content", "parts", "text") if key in content), "")
    return _WRAPPED.search(_text_of(found)) is not None


def _turns_of(message: Mapping[str, object], place: int) -> Iterator[Turn]:
    message = _unwrapped(message)
    parts = message.get("parts")
    kinds = [part for part in _blocks(parts) if isinstance(part.get("part_kind"), str)]
    if kinds:
        # One request of such a program holds parts by several speakers.
        yield from (_turn(part, str(part["part_kind"]), place) for part in kinds)
        return
    yield _turn(message, str(message.get("role") or message.get("type") or ""), place)


def _unwrapped(message: Mapping[str, object]) -> Mapping[str, object]:
    """Return the message of a line of a session's log, which wraps it in a record."""
    inner = message.get("message")
    if "role" in message or not isinstance(inner, Mapping):
        return message
    return {"role": message.get("type"), **inner}


def _turn(message: Mapping[str, object], speaker: str, place: int) -> Turn:
    word = speaker.strip().lower()
    content = next((message[key] for key in ("content", "parts", "text") if key in message), "")
    role, text = role_of(word), _text_of(content)
    return Turn(
        role=role,
        text=_WRAPPED.sub("", text).strip() if role is Role.USER and "<" in text else text,
        place=place,
        tool_calls=max(_listed_calls(message), _calls_among(content)) + (word in _CALLS),
    )


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


def _listed_calls(message: Mapping[str, object]) -> int:
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
