"""Codex's rollouts: lines that wrap what the model was sent and what the program reported.

A prompt and an answer are often logged twice, once as an item of the conversation and once as an
event; and what the program tells the model about its surroundings travels as a message of the user.
The arguments of a call are JSON inside a text, and an answer can be JSON inside a text too. Codex
has no tool for skills: the model reads the `SKILL.md` that its instructions list, and a skill that
a person named with a dollar sign is put into the conversation by the program.
"""

import json
import re
from collections.abc import Mapping, Sequence

from prowess.transcripts.events import (
    SUB_AGENT,
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
)
from prowess.transcripts.sessions import Session, SessionBuilder
from prowess.transcripts.tasks import INTERRUPTED, SERVICE_FAILED, TraceBuilder
from prowess.transcripts.traces import LeftOutCounts, Trace, TraceShape, write_json
from prowess.transcripts.turns import NO_MESSAGE, TranscriptRecord

HARNESS = "codex"
NO_ARGUMENTS = "a call whose arguments are no JSON"

_LINES = frozenset(
    ("session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state")
)
# Older rollouts have the items themselves as lines.
_BARE = frozenset(
    ("function_call", "function_call_output", "local_shell_call", "custom_tool_call",
     "custom_tool_call_output")
)  # fmt: skip
_BY_PROGRAM = re.compile(
    r"\s{0,9}(?:<(?:environment_context|user_instructions|instructions|permissions instructions"
    r"|collaboration_mode|skills_instructions|skill|user_shell_command|user_action"
    r"|subagent_notification|model_switch|personality_spec|apps_instructions)\b"
    r"|# AGENTS\.md instructions)",
    re.IGNORECASE,
)
_ABORTED = re.compile(r"\s{0,9}<turn_aborted>", re.IGNORECASE)
# An editor puts what is open there before what was typed, and a heading between them. The heading
# alone says nothing: anybody can write it, and it can stand in what a person pastes.
_PREAMBLE = re.compile(
    r"\s{0,9}#{1,3} (?:Context from my (?:IDE|editor)(?: setup)?|Files mentioned by the user"
    r"|Images? mentioned by the user|In app browser|Diff comments|Review findings)\b",
    re.IGNORECASE,
)
_REQUEST = re.compile(r"^#{2,6} My request for Codex:?", re.IGNORECASE | re.MULTILINE)
_CODE = re.compile(r"(?m)^(?:Process exited with code|Exit code:)\s{1,3}(-?\d{1,10})\s{0,3}$")
_OUTPUT = re.compile(r"(?m)^(?:Output|Total output lines):")
_HEAD = 600
_LISTS = re.compile(r"<skills_instructions>|#{2,3} (?:Available )?skills\b", re.IGNORECASE)
_GIVEN = re.compile(r"\s{0,9}<skill>\s{0,9}<name>(?P<name>[^<>\n]{1,200})</name>")
_FAILED = frozenset(("failed", "incomplete", "error", "aborted"))
_CALL = "_call"
# Calls that the program answers; the others are made by the service, whose answer is not logged.
_ANSWERED = frozenset(("function_call", "custom_tool_call"))


def is_codex_line(value: object) -> bool:
    """Return whether a value is a line that Codex writes."""
    if not isinstance(value, dict):
        return False
    kind = str(value.get("type"))
    if isinstance(value.get("payload"), dict):
        return kind in _LINES
    return kind in _BARE or (kind == "message" and isinstance(value.get("role"), str))


def read_codex(
    records: Sequence[TranscriptRecord], *, path: str, left_out: LeftOutCounts
) -> tuple[Trace, ...]:
    """Return a trace for each prompt of a rollout."""
    builder = TraceBuilder(path=path, shape=TraceShape.CODEX, left_out=left_out)
    _Rollout(builder).tell(records)
    return builder.build()


def read_codex_sessions(
    records: Sequence[TranscriptRecord], *, path: str, skipped: Mapping[str, int]
) -> tuple[Session, ...]:
    """Return the session of a rollout, if somebody typed something in it."""
    builder = SessionBuilder(harness=HARNESS, path=path, left_out=LeftOutCounts(skipped))
    rollout = _Rollout(builder)
    rollout.tell(records)
    found = None if rollout.is_sub_agent else builder.build()
    return () if found is None else (found,)


def _read_line(value: object, left_out: LeftOutCounts) -> tuple[str, Entry]:
    """Return the kind of a line and what it holds, also where it is written as it once was."""
    if isinstance(value, dict):
        kind, payload = value.get("type"), value.get("payload")
        if isinstance(payload, dict):
            return str(kind), payload
        if is_codex_line(value) or kind == "reasoning":
            return "response_item", value
        if kind is None and "id" in value:
            return "session_meta", value
    left_out[NO_MESSAGE] += 1
    return "", {}


class _Rollout:
    """Where the reading stands: which session, and how the last prompt was logged."""

    def __init__(self, listener: EventListener) -> None:
        self._listener, self._left_out = listener, listener.left_out
        self._results = Results()
        self._session_id = self._folder = ""
        self.is_sub_agent = False
        # How the prompt was logged after which nothing has happened yet; empty afterwards.
        self._fresh = ""

    def tell(self, records: Sequence[TranscriptRecord]) -> None:
        lines = [_read_line(record.value, self._left_out) for record in records]
        for kind, payload in lines:
            if kind == "response_item" and str(payload.get("type")).endswith("_output"):
                returned = _read_returned(payload, self._left_out)
                self._results.add(payload.get("call_id"), returned)
        for record, (kind, payload) in zip(records, lines, strict=True):
            at = record.value.get("timestamp") if isinstance(record.value, dict) else None
            self._tell_line(kind, payload, read_moment_ms(at))

    def _tell_line(self, kind: str, payload: Entry, at_ms: int) -> None:
        if kind == "session_meta":
            self._begin(payload, at_ms)
        elif self.is_sub_agent and not self._listener.hears_sub_agents:
            self._left_out[SUB_AGENT] += 1
        elif kind == "turn_context":
            self._folder = read_text(payload, "cwd") or self._folder
            self._listener.take_session(folder=read_text(payload, "cwd"))
        elif kind == "event_msg":
            self._tell_event(payload, at_ms)
        elif kind == "response_item":
            self._tell_item(payload, at_ms)

    def _begin(self, payload: Entry, at_ms: int) -> None:
        session_id = read_text(payload, "id") or read_text(payload, "session_id")
        if self._session_id and session_id != self._session_id:
            self._listener.take_break()
        self._session_id, self._folder = session_id, read_text(payload, "cwd")
        source = payload.get("source")
        self.is_sub_agent = isinstance(source, dict) and "subagent" in source
        self._listener.take_session(session_id=session_id, folder=self._folder, at_ms=at_ms)

    def _tell_event(self, payload: Entry, at_ms: int) -> None:
        kind = payload.get("type")
        if kind == "user_message":
            self._tell_prompt(read_text(payload, "message"), "event", at_ms)
        elif kind == "agent_message":
            self._tell_reply(read_text(payload, "message"))
        elif kind == "task_complete":
            self._tell_reply(read_text(payload, "last_agent_message"))
        elif kind == "turn_aborted":
            self._listener.take_stop(INTERRUPTED)
        elif kind == "error":
            self._listener.take_stop(SERVICE_FAILED)
        elif kind == "thread_rolled_back":
            count = payload.get("num_turns")
            self._listener.take_undo(count if isinstance(count, int) and count > 0 else 1)

    def _tell_item(self, payload: Entry, at_ms: int) -> None:
        kind, role = str(payload.get("type")), payload.get("role")
        if kind == "message" and role == "user":
            self._tell_prompt(read_words(payload.get("content"), "user"), "item", at_ms)
        elif kind == "message" and role == "assistant":
            self._tell_reply(read_words(payload.get("content"), "assistant"))
        elif kind == "message":
            self._tell_notice(read_words(payload.get("content"), "tool"))
        elif kind == "reasoning":
            self._listener.take_thought(_read_reasoning(payload))
        elif kind.endswith(_CALL):
            self._fresh = ""
            self._tell_call(kind, payload)

    def _tell_prompt(self, text: str, logged: str, at_ms: int) -> None:
        text, is_doubtful = _read_request(text)
        if _ABORTED.match(text):
            self._listener.take_stop(INTERRUPTED, is_message=True)
        elif not text or _BY_PROGRAM.match(text):
            self._listener.take_untyped()
            self._tell_notice(text)
        elif self._fresh and self._fresh != logged:
            if logged == "event":
                self._listener.take_prompt_again(text)
            self._fresh = ""
        else:
            prompt = TypedPrompt(
                text=text,
                at_ms=at_ms,
                session_id=self._session_id,
                folder=self._folder,
                is_doubtful=is_doubtful,
            )
            self._fresh = logged if self._listener.take_prompt(prompt) else ""

    def _tell_reply(self, text: str) -> None:
        self._fresh = "" if text else self._fresh
        self._listener.take_reply(text)

    def _tell_notice(self, text: str) -> None:
        """Tell what the program says to the model: a list of skills, one skill, a hook's word."""
        given = _GIVEN.match(text)
        if given is not None:
            self._listener.take_use([given["name"]])
        elif _LISTS.search(text):
            if skills := read_listing(text):
                self._listener.take_listing(skills, anew=True)
        else:
            self._listener.take_hint(find_skill_files(text))

    def _tell_call(self, kind: str, payload: Entry) -> None:
        call_id = payload.get("call_id") or payload.get("id")
        if kind == "function_call" or "arguments" in payload:
            name = payload.get("name") or kind.removesuffix(_CALL)
            given = _arguments(payload.get("arguments"))
            if given is None:
                self._results.take(call_id)
                self._listener.take_refused_call(NO_ARGUMENTS)
                return
            fields = given
        elif kind == "custom_tool_call":
            text = payload.get("input")
            name, fields = payload.get("name"), {"input": text} if text is not None else {}
        else:
            done = payload.get("action")
            name = kind.removesuffix(_CALL)
            fields = dict(done) if isinstance(done, dict) else {}
            fields.pop("type", None)
        returned = self._answer(call_id, payload)
        self._listener.take_call(ToolCall(name=name, fields=fields, returned=returned))

    def _answer(self, call_id: object, payload: Entry) -> Returned | None:
        found = self._results.take(call_id)
        status = payload.get("status")
        if found is None and isinstance(status, str) and payload.get("type") not in _ANSWERED:
            return Returned(text="", failed=status in _FAILED)
        return found


def _read_request(text: str) -> tuple[str, bool]:
    """Return what was typed, and whether it can be read in more than one way."""
    if not _PREAMBLE.match(text):
        return text.strip(), False
    _, *after = _REQUEST.split(text, maxsplit=1)
    request = after[0] if after else text
    # What is open in the editor, or what was pasted, has the heading as well.
    return request.strip(), _REQUEST.search(request) is not None


def _arguments(value: object) -> dict[str, object] | None:
    """Return the arguments of a call; None where nobody could have called with them."""
    found = _json(value) if isinstance(value, str) else value
    if isinstance(found, dict):
        return dict(found)
    return {} if value is None or value == "" else None


def _read_returned(payload: Entry, left_out: LeftOutCounts) -> Returned:
    output = payload.get("output")
    if isinstance(output, str) and output.lstrip().startswith("{"):
        found = _json(output)
        output = found if _is_envelope(found) else output
    if isinstance(output, dict):
        return _of_mapping(output, left_out)
    text = output if isinstance(output, str) else read_words(output, "tool")
    return Returned(text=text, failed=_exit_code(text) != 0)


def _is_envelope(value: object) -> bool:
    """Return whether the program wrapped an answer; a tool can answer with JSON of its own."""
    if not isinstance(value, dict) or "output" not in value:
        return False
    return isinstance(value.get("metadata"), dict)


def _of_mapping(output: Entry, left_out: LeftOutCounts) -> Returned:
    metadata = output.get("metadata")
    code = metadata.get("exit_code") if isinstance(metadata, dict) else None
    content = next((output[key] for key in ("output", "content") if key in output), None)
    text = content if isinstance(content, str) else read_words(content, "tool")
    failed = output.get("success") is False or (isinstance(code, int) and code != 0)
    return Returned(text=text or write_json(content, left_out), failed=failed)


def _exit_code(text: str) -> int:
    """Return the code that the program wrote above a tool's output; that output says nothing."""
    head = text[:_HEAD]
    end = _OUTPUT.search(head)
    found = _CODE.search(head[: end.start()] if end else head.partition("\n")[0])
    return int(found[1]) if found else 0


def _read_reasoning(payload: Entry) -> str:
    summary = payload.get("summary")
    parts = summary if isinstance(summary, list | tuple) else ()
    texts = [read_text(part, "text") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if text)


def _json(text: str) -> object:
    """Return the value that a text is; None where it is none, which JSON's null also gives."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value
