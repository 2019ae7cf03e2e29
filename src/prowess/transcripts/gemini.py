"""Sessions of Gemini CLI: one JSON document, or lines that are added to, replaced and taken back.

A message is written again under its id each time something of it changes, so that only its last
form counts. Which skills the model was shown is not logged.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from prowess.transcripts.events import (
    Entry,
    EventListener,
    ToolCall,
    TypedPrompt,
    find_skill_files,
    read_moment_ms,
    read_text,
    read_words,
    split_command,
)
from prowess.transcripts.sessions import Session, SessionBuilder
from prowess.transcripts.traces import LeftOutCounts
from prowess.transcripts.turns import NO_MESSAGE, TranscriptRecord

HARNESS = "gemini"

_ACTIVATES = frozenset(("activate_skill", "activateSkill"))
_READS = frozenset(("read_file", "read_many_files"))
_CONTEXT, _END_OF_CONTEXT = "<hook_context>", "</hook_context>"
_BY_PROGRAM = re.compile(r"\s{0,9}<(?:session_context|state_snapshot|loaded_context)\b")


def read_gemini_sessions(
    records: Sequence[TranscriptRecord], *, path: str, skipped: Mapping[str, int], cwd: str = ""
) -> tuple[Session, ...]:
    """Return the session of a chat, if somebody typed something in it."""
    chat = _Chat(LeftOutCounts(skipped))
    for record in records:
        chat.take(record.value)
    builder = SessionBuilder(harness=HARNESS, path=path, left_out=chat.left_out)
    builder.take_session(session_id=chat.session_id, folder=cwd, at_ms=chat.started_ms)
    for message in chat.messages.values():
        _tell(message, builder)
    found = None if chat.is_sub_agent else builder.build()
    return () if found is None else (found,)


class _Chat:
    """The messages of a chat by id, as they stand after all that was added and taken back."""

    def __init__(self, left_out: LeftOutCounts) -> None:
        self.left_out = left_out
        self.messages: dict[str, Entry] = {}
        self.session_id = ""
        self.started_ms = 0
        self.is_sub_agent = False

    def take(self, value: object) -> None:
        """Take the document, or one line of it."""
        if not isinstance(value, dict):
            self.left_out[NO_MESSAGE] += 1
        elif isinstance(value.get("$rewindTo"), str):
            self._rewind(str(value["$rewindTo"]))
        elif isinstance(value.get("$set"), dict):
            self._head(value["$set"])
        elif isinstance(value.get("type"), str):
            self._add(value)
        elif "sessionId" in value or "messages" in value:
            self._head(value)
        else:
            self.left_out[NO_MESSAGE] += 1

    def _head(self, value: Entry) -> None:
        self.session_id = self.session_id or read_text(value, "sessionId")
        self.started_ms = self.started_ms or read_moment_ms(value.get("startTime"))
        self.is_sub_agent = self.is_sub_agent or value.get("kind") == "subagent"
        messages = value.get("messages")
        for message in messages if isinstance(messages, list) else ():
            if isinstance(message, dict):
                self._add(message)
            else:
                self.left_out[NO_MESSAGE] += 1

    def _add(self, message: Entry) -> None:
        name = read_text(message, "id") or f"\0{len(self.messages)}"
        self.messages[name] = message

    def _rewind(self, name: str) -> None:
        """Take back a message and all after it; an id that is gone takes back everything."""
        names = list(self.messages)
        at = names.index(name) if name in self.messages else 0
        for gone in names[at:]:
            del self.messages[gone]


def _tell(message: Entry, listener: EventListener) -> None:
    kind = read_text(message, "type")
    if kind == "user":
        _tell_user(message, listener)
    elif kind in {"gemini", "model", "assistant"}:
        listener.take_reply(read_words(_plain(message.get("content")), "assistant"))
        calls = message.get("toolCalls")
        _tell_calls(calls if isinstance(calls, list) else (), listener)


def _tell_user(message: Entry, listener: EventListener) -> None:
    text = read_words(_plain(message.get("content")), "user")
    text, hints = _without_hints(text)
    at_ms = read_moment_ms(message.get("timestamp"))
    if not text or _BY_PROGRAM.match(text):
        # What tools answered travels as a message of the user without a word.
        listener.take_untyped()
    else:
        listener.take_prompt(TypedPrompt(text=text, at_ms=at_ms, command=split_command(text)))
    for hint in hints:
        listener.take_hint(find_skill_files(hint))


def _without_hints(text: str) -> tuple[str, list[str]]:
    """Return what a person wrote, and what hooks put into it; the last may have lost its end."""
    first, *others = text.split(_CONTEXT)
    parts = [other.partition(_END_OF_CONTEXT) for other in others]
    words = "".join((first, *(after for _, _, after in parts)))
    return words.strip(), [said for said, _, _ in parts]


def _tell_calls(calls: Iterable[object], listener: EventListener) -> None:
    for call in calls:
        if not isinstance(call, dict):
            continue
        given = call.get("args")
        name = read_text(call, "name")
        skills = _skills_of(name, given if isinstance(given, dict) else {})
        listener.take_call(ToolCall(name=name, fields=given, skills=skills))


def _skills_of(name: str, given: Entry) -> tuple[str, ...]:
    """Return the skills that a call reads or runs."""
    if name in _ACTIVATES:
        return (read_text(given, "name") or read_text(given, "skill"),)
    if name not in _READS:
        return ()
    paths = (value for value in given.values() if isinstance(value, str))
    return tuple(name for path in paths for name in find_skill_files(path))


def _plain(content: object) -> object:
    """Return content whose parts are wrapped the way `words_of` knows them."""
    return [content] if isinstance(content, dict) else content
