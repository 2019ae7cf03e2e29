"""Sessions of Gemini CLI, Copilot CLI, Qwen Code, opencode and OpenClaw.

Gemini CLI writes a message again under its id each time something of it changes, so that only its
last form counts. Of the others each line knows the one that it follows: who goes back and types
something else leaves the old branch in the log, so that only the lines on the way to the last one
count. What a hook added to a prompt stands beside the person's words or between tags, and is no
part of them. Which skills the model was shown is logged by Copilot CLI and OpenClaw alone.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from prowess.hooks.answers import read_call
from prowess.transcripts.events import (
    Entry,
    EventListener,
    Results,
    Returned,
    ToolCall,
    TypedPrompt,
    find_skill_files,
    read_listing,
    read_moment_ms,
    read_text,
    read_words,
    split_command,
)
from prowess.transcripts.sessions import Session, SessionBuilder
from prowess.transcripts.traces import LeftOutCounts
from prowess.transcripts.turns import NO_MESSAGE, NOT_BY_PERSON, TranscriptRecord

GEMINI, COPILOT, QWEN = "gemini", "copilot", "qwen"
OPENCODE, OPENCLAW = "opencode", "openclaw"
# By which of its fields a line is called, and which one names the line that it follows.
_LINKS = {COPILOT: ("id", "parentId"), QWEN: ("uuid", "parentUuid"), OPENCLAW: ("id", "parentId")}
_Teller = Callable[[Entry, EventListener, Results], None]
# What Qwen Code puts around the words of a hook, and around its own.
_QWEN_HOOK = "qwen:user-prompt-submit-context"
_QWEN_TAGS = re.compile(rf"<({_QWEN_HOOK}|system-reminder)>.*?(?:</\1>|\Z)", re.DOTALL)
# What OpenClaw puts before and around a message.
_CLAW_STAMP = re.compile(r"\[[A-Z][a-z]{2} \d{4}-\d\d-\d\d [^\]\n]{1,20}\] ")
_CLAW_INTERNAL = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>"
_CONTEXT, _END_OF_CONTEXT = "<hook_context>", "</hook_context>"
_BY_PROGRAM = re.compile(r"\s{0,9}<(?:session_context|state_snapshot|loaded_context)\b")


def _read(
    harness: str,
    tell: _Teller,
    records: Sequence[TranscriptRecord],
    *,
    path: str,
    skipped: Mapping[str, int],
) -> tuple[Session, ...]:
    """Return the session that a harness keeps in these records, if somebody typed something."""
    lines = _branch(records, *_LINKS[harness]) if harness in _LINKS else _entries(records)
    builder = SessionBuilder(harness=harness, path=path, left_out=LeftOutCounts(skipped))
    results = Results()
    for line in lines:
        for call_id, returned in _read_answers(line):
            results.add(call_id, returned)
    for line in lines:
        if line:
            tell(line, builder, results)
        else:
            builder.left_out[NO_MESSAGE] += 1
    found = builder.build()
    return () if found is None else (found,)


def _entries(records: Sequence[TranscriptRecord]) -> list[Entry]:
    """Return each line; an empty one for what is none."""
    return [one.value if isinstance(one.value, dict) else {} for one in records]


def _branch(records: Sequence[TranscriptRecord], own: str, parent: str) -> list[Entry]:
    """Return the lines that lead to the last one, and those that are linked to nothing."""
    lines = _entries(records)
    places = {name: place for place, line in enumerate(lines) if (name := read_text(line, own))}
    kept, place = set[int](), len(lines) - 1
    while place >= 0 and place not in kept:
        kept.add(place)
        # Without a link, or with one that leads nowhere, the line before it is the best guess.
        named = places.get(read_text(lines[place], parent))
        is_first = parent in lines[place] and lines[place][parent] is None
        place = place - 1 if named is None and not is_first else -1 if named is None else named
    loose = {place for place, line in enumerate(lines) if own not in line or parent not in line}
    return [lines[place] for place in sorted(kept | loose)]


def _object(entry: Entry, name: str) -> Entry:
    value = entry.get(name)
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> list[Entry]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _prompt(text: str, at_ms: int, listener: EventListener) -> None:
    text = text.strip()
    if text:
        listener.take_prompt(TypedPrompt(text=text, at_ms=at_ms, command=split_command(text)))
    else:
        listener.take_untyped()


def _read_answers(line: Entry) -> Iterator[tuple[object, Returned]]:
    """Yield what tools answered, where it stands on a line of its own, by the id of the call."""
    said, message = _object(line, "data"), _object(line, "message")
    if line.get("type") == "tool.execution_complete":
        text = read_words(_object(said, "result").get("content"), "tool")
        yield said.get("toolCallId"), Returned(text=text, failed=said.get("success") is False)
    elif message.get("role") == "toolResult":
        text = read_words(message.get("content"), "tool")
        yield message.get("toolCallId"), Returned(text=text, failed=message.get("isError") is True)
    for answer in _responses(message.get("parts")):
        yield answer.get("id"), _read_response(answer)


def _responses(parts: object) -> list[Entry]:
    return [one for part in _objects(parts) if (one := _object(part, "functionResponse"))]


def _read_response(answer: Entry) -> Returned:
    said = _object(answer, "response")
    return Returned(text=read_words(said.get("output"), "tool"), failed="error" in said)


def _call(name: object, fields: object, returned: Returned | None, listener: EventListener) -> None:
    listener.take_call(ToolCall(name=name, fields=fields, returned=returned))


def _tell_copilot(line: Entry, listener: EventListener, results: Results) -> None:
    kind, said = read_text(line, "type"), _object(line, "data")
    at_ms = read_moment_ms(line.get("timestamp"))
    if kind == "session.start":
        folder = read_text(_object(said, "context"), "cwd")
        listener.take_session(session_id=read_text(said, "sessionId"), folder=folder, at_ms=at_ms)
    elif kind == "user.message":
        content = read_text(said, "content")
        is_typed = read_text(said, "source") not in NOT_BY_PERSON and "agentId" not in line
        _prompt(content if is_typed else "", at_ms, listener)
        added = read_text(said, "transformedContent").replace(content, "", 1)
        listener.take_hint(find_skill_files(added))
    elif kind == "system.message":
        if listed := read_listing(_find_listing(read_text(said, "content"))):
            listener.take_listing(listed, anew=True)
    elif kind == "assistant.message":
        listener.take_reply(read_text(said, "content"))
    elif kind == "tool.execution_start":
        returned = results.take(said.get("toolCallId"))
        _call(said.get("toolName"), said.get("arguments"), returned, listener)
    elif kind == "skill.invoked":
        listener.take_use([read_text(said, "name")])


def _find_listing(text: str) -> str:
    """Return the list of skills in a system prompt; the rest has lists of other things."""
    return text.partition("<available_skills>")[2].partition("</available_skills>")[0]


def _tell_qwen(line: Entry, listener: EventListener, results: Results) -> None:
    at_ms, kind = read_moment_ms(line.get("timestamp")), read_text(line, "type")
    listener.take_session(
        session_id=read_text(line, "sessionId"), folder=read_text(line, "cwd"), at_ms=at_ms
    )
    parts = _objects(_object(line, "message").get("parts"))
    text = "\n".join(read_text(part, "text") for part in parts if part.get("thought") is not True)
    if kind == "user":
        _prompt(read_call(_QWEN_TAGS.sub("", text)), at_ms, listener)
        listener.take_hint(find_skill_files(text.partition(f"<{_QWEN_HOOK}>")[2]))
    elif kind == "assistant":
        listener.take_reply(text)
        for part in parts:
            if call := _object(part, "functionCall"):
                _call(call.get("name"), call.get("args"), results.take(call.get("id")), listener)


# Its answers stand with the calls.
def _tell_opencode(line: Entry, listener: EventListener, _results: Results) -> None:
    if "directory" in line:
        listener.take_session(
            session_id=read_text(line, "id"),
            folder=read_text(line, "directory"),
            at_ms=_number(line.get("time_created")),
        )
        return
    parts = _objects(line.get("parts"))
    if line.get("role") == "user":
        texts = [part for part in parts if part.get("type") == "text"]
        typed = "\n".join(read_text(one, "text") for one in texts if not one.get("synthetic"))
        # `opencode run` puts what it is given between quotes.
        bare = re.fullmatch(r'\s*"([^"]*)"\s*', typed)
        at_ms = _number(_object(line, "time").get("created"))
        _prompt(bare[1] if bare else typed, at_ms, listener)
        for one in texts:
            if one.get("synthetic") is True:
                listener.take_hint(find_skill_files(read_text(one, "text")))
        return
    for part in parts:
        if part.get("type") == "text":
            listener.take_reply(read_text(part, "text"))
        elif part.get("type") == "tool":
            state = _object(part, "state")
            has_ended = state.get("status") in {"completed", "error"}
            failed = state.get("status") == "error"
            returned = Returned(text=read_text(state, "output"), failed=failed)
            _call(part.get("tool"), state.get("input"), returned if has_ended else None, listener)


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _tell_openclaw(line: Entry, listener: EventListener, results: Results) -> None:
    kind, at_ms = read_text(line, "type"), read_moment_ms(line.get("timestamp"))
    if kind == "session":
        folder = read_text(line, "cwd")
        listener.take_session(session_id=read_text(line, "id"), folder=folder, at_ms=at_ms)
    elif kind == "skills":
        listener.take_listing(read_listing(_find_listing(read_text(line, "prompt"))), anew=True)
    message = _object(line, "message")
    content, role = message.get("content"), message.get("role")
    if role == "user":
        text = _CLAW_STAMP.sub("", read_words(content, "user"), count=1)
        _prompt("" if _CLAW_INTERNAL in text else text, at_ms, listener)
    elif role == "assistant":
        listener.take_reply(read_words(content, "assistant"))
        for block in _objects(content):
            if block.get("type") in {"toolCall", "tool_use"}:
                fields = block.get("arguments", block.get("input"))
                _call(block.get("name"), fields, results.take(block.get("id")), listener)


read_copilot_sessions = partial(_read, COPILOT, _tell_copilot)
read_qwen_sessions = partial(_read, QWEN, _tell_qwen)
read_openclaw_sessions = partial(_read, OPENCLAW, _tell_openclaw)
# Its head, then each message with its parts.
read_opencode_sessions = partial(_read, OPENCODE, _tell_opencode)


def read_gemini_sessions(
    records: Sequence[TranscriptRecord], *, path: str, skipped: Mapping[str, int], cwd: str = ""
) -> tuple[Session, ...]:
    """Return the session of a chat, if somebody typed something in it."""
    chat = _Chat(LeftOutCounts(skipped))
    for record in records:
        chat.take(record.value)
    builder = SessionBuilder(harness=GEMINI, path=path, left_out=chat.left_out)
    builder.take_session(session_id=chat.session_id, folder=cwd, at_ms=chat.started_ms)
    for message in chat.messages.values():
        _tell_gemini(message, builder)
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


def _tell_gemini(message: Entry, listener: EventListener) -> None:
    kind = read_text(message, "type")
    if kind == "user":
        _tell_user(message, listener)
    elif kind in {"gemini", "model", "assistant"}:
        listener.take_reply(read_words(_wrap(message.get("content")), "assistant"))
        for call in _objects(message.get("toolCalls")):
            answers = [_read_response(one) for one in _responses(call.get("result"))]
            _call(call.get("name"), call.get("args"), next(iter(answers), None), listener)


def _tell_user(message: Entry, listener: EventListener) -> None:
    # Of a user's words those of hooks would be gone before they could be looked at.
    words, hints = _without_hints(read_words(_wrap(message.get("content")), "assistant"))
    text = read_words(words, "user")
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


def _wrap(content: object) -> object:
    """Return content whose parts are wrapped the way `words_of` knows them."""
    return [content] if isinstance(content, dict) else content
