"""Codex's rollouts: lines that wrap what the model was sent and what the program reported.

A prompt and an answer are often logged twice, once as an item of the conversation and once as an
event; and what the program tells the model about its surroundings travels as a message of the user.
The arguments of a call are JSON inside a text, and an answer can be JSON inside a text too.

Sessions of Codex: its rollouts log what the model was told as messages of the program.

Codex has no tool for skills: the model reads the `SKILL.md` that its instructions list, and a
skill that a person named with a dollar sign is put into the conversation by the program.
"""

import json
import re
from collections.abc import Mapping, Sequence

from prowess.transcripts.sessions import (
    INTERRUPTED,
    SERVICE_FAILED,
    Results,
    Returned,
    Session,
    SessionBuilder,
    TurnReader,
    listing,
    moment_ms,
    skill_files,
    words_of,
)
from prowess.transcripts.traces import LeftOut, Trace, TraceShape, json_text
from prowess.transcripts.turns import NO_MESSAGE, NOT_TYPED, Record

Entry = Mapping[str, object]

NO_ARGUMENTS = "a call whose arguments are no JSON"
SUB_AGENT = "work of a sub-agent"

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


def read_codex(records: Sequence[Record], *, path: str, left_out: LeftOut) -> tuple[Trace, ...]:
    """Return a trace for each prompt of a rollout."""
    rollout = _Rollout(path, left_out)
    lines = [line_of(record.value, left_out) for record in records]
    for kind, payload in lines:
        if kind == "response_item" and str(payload.get("type")).endswith("_output"):
            rollout.results.add(payload.get("call_id"), _returned(payload, left_out))
    for kind, payload in lines:
        rollout.take(kind, payload)
    return rollout.reader.traces()


def line_of(value: object, left_out: LeftOut) -> tuple[str, Entry]:
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

    def __init__(self, path: str, left_out: LeftOut) -> None:
        self.reader = TurnReader(path=path, shape=TraceShape.CODEX, left_out=left_out)
        self.results = Results()
        self._left_out = left_out
        self._session_id = self._folder = ""
        self._is_sub_agent = False
        # How the prompt was logged after which nothing has happened yet; empty afterwards.
        self._fresh = ""

    def take(self, kind: str, payload: Entry) -> None:
        """Take one line."""
        if kind == "session_meta":
            self._begin(payload)
        elif self._is_sub_agent:
            self._left_out[SUB_AGENT] += 1
        elif kind == "turn_context":
            self._folder = _text(payload, "cwd") or self._folder
        elif kind == "event_msg":
            self._take_event(payload)
        elif kind == "response_item":
            self._take_item(payload)

    def _begin(self, payload: Entry) -> None:
        session_id = _text(payload, "id") or _text(payload, "session_id")
        if self._session_id and session_id != self._session_id:
            self.reader.begin_unnamed()
        self._session_id, self._folder = session_id, _text(payload, "cwd")
        source = payload.get("source")
        self._is_sub_agent = isinstance(source, dict) and "subagent" in source

    def _take_event(self, payload: Entry) -> None:
        kind = payload.get("type")
        if kind == "user_message":
            self._typed(_text(payload, "message"), "event")
        elif kind == "agent_message":
            self._told(_text(payload, "message"))
        elif kind == "task_complete":
            self._told(_text(payload, "last_agent_message"))
        elif kind == "turn_aborted":
            self.reader.stopped(INTERRUPTED)
        elif kind == "error":
            self.reader.stopped(SERVICE_FAILED)
        elif kind == "thread_rolled_back":
            count = payload.get("num_turns")
            self.reader.rolled_back(count if isinstance(count, int) and count > 0 else 1)

    def _take_item(self, payload: Entry) -> None:
        kind, role = str(payload.get("type")), payload.get("role")
        if kind == "message" and role == "user":
            self._typed(words_of(payload.get("content"), "user"), "item")
        elif kind == "message" and role == "assistant":
            self._told(words_of(payload.get("content"), "assistant"))
        elif kind == "reasoning":
            self.reader.mused(_reasoning(payload))
        elif kind.endswith(_CALL):
            self._fresh = ""
            self._called(kind, payload)

    def _typed(self, text: str, logged: str) -> None:
        text, is_doubtful = request_in(text)
        if _ABORTED.match(text):
            self.reader.stopped(INTERRUPTED)
        elif not text or _BY_PROGRAM.match(text):
            self._left_out[NOT_TYPED] += 1
        elif self._fresh == "item" and logged == "event":
            self.reader.retyped(text)
            self._fresh = "both"
        elif self._fresh == "event" and logged == "item":
            self._fresh = "both"
        else:
            began = self.reader.typed(text, session_id=self._session_id, folder=self._folder)
            self._fresh = logged if began else ""
            if began and is_doubtful:
                self.reader.doubt()

    def _told(self, text: str) -> None:
        self._fresh = "" if text else self._fresh
        self.reader.told(text)

    def _called(self, kind: str, payload: Entry) -> None:
        call_id = payload.get("call_id") or payload.get("id")
        if kind == "function_call" or "arguments" in payload:
            name = payload.get("name") or kind.removesuffix(_CALL)
            given = _arguments(payload.get("arguments"))
            if given is None:
                self.results.take(call_id)
                self._left_out[NO_ARGUMENTS] += 1
                self.reader.refused()
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
        self.reader.called(name, fields, self._answer(call_id, payload))

    def _answer(self, call_id: object, payload: Entry) -> Returned | None:
        found = self.results.take(call_id)
        status = payload.get("status")
        if found is None and isinstance(status, str) and payload.get("type") not in _ANSWERED:
            return Returned(text="", failed=status in _FAILED)
        return found


def is_by_program(text: str) -> bool:
    """Return whether a message of the user is what the program tells the model."""
    return _BY_PROGRAM.match(text) is not None or _ABORTED.match(text) is not None


def request_in(text: str) -> tuple[str, bool]:
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


def _returned(payload: Entry, left_out: LeftOut) -> Returned:
    output = payload.get("output")
    if isinstance(output, str) and output.lstrip().startswith("{"):
        found = _json(output)
        output = found if _is_envelope(found) else output
    if isinstance(output, dict):
        return _of_mapping(output, left_out)
    text = output if isinstance(output, str) else words_of(output, "tool")
    return Returned(text=text, failed=_exit_code(text) != 0)


def _is_envelope(value: object) -> bool:
    """Return whether the program wrapped an answer; a tool can answer with JSON of its own."""
    if not isinstance(value, dict) or "output" not in value:
        return False
    return isinstance(value.get("metadata"), dict)


def _of_mapping(output: Entry, left_out: LeftOut) -> Returned:
    metadata = output.get("metadata")
    code = metadata.get("exit_code") if isinstance(metadata, dict) else None
    content = next((output[key] for key in ("output", "content") if key in output), None)
    text = content if isinstance(content, str) else words_of(content, "tool")
    failed = output.get("success") is False or (isinstance(code, int) and code != 0)
    return Returned(text=text or json_text(content, left_out), failed=failed)


def _exit_code(text: str) -> int:
    """Return the code that the program wrote above a tool's output; that output says nothing."""
    head = text[:_HEAD]
    end = _OUTPUT.search(head)
    found = _CODE.search(head[: end.start()] if end else head.partition("\n")[0])
    return int(found[1]) if found else 0


def _reasoning(payload: Entry) -> str:
    summary = payload.get("summary")
    parts = summary if isinstance(summary, list | tuple) else ()
    texts = [_text(part, "text") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if text)


def _json(text: str) -> object:
    """Return the value that a text is; None where it is none, which JSON's null also gives."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def _text(entry: Entry, name: str) -> str:
    value = entry.get(name)
    return value if isinstance(value, str) else ""


HARNESS = "codex"
CODEX_SUB_AGENT = "work of a sub-agent"

_LISTS = re.compile(r"<skills_instructions>|#{2,3} (?:Available )?skills\b", re.IGNORECASE)
_GIVEN = re.compile(r"\s{0,9}<skill>\s{0,9}<name>(?P<name>[^<>\n]{1,200})</name>")


def read_codex_sessions(
    records: Sequence[Record], *, path: str, skipped: Mapping[str, int]
) -> tuple[Session, ...]:
    """Return the session of a rollout, if somebody typed something in it."""
    rollout = _CodexRollout(path, LeftOut(skipped))
    for record in records:
        at = record.value.get("timestamp") if isinstance(record.value, dict) else None
        rollout.take(*line_of(record.value, rollout.builder.left_out), moment_ms(at))
    found = None if rollout.is_sub_agent else rollout.builder.session()
    return () if found is None else (found,)


class _CodexRollout:
    """Where the reading stands."""

    def __init__(self, path: str, left_out: LeftOut) -> None:
        self.builder = SessionBuilder(harness=HARNESS, path=path, left_out=left_out)
        self.is_sub_agent = False
        # How the prompt was logged after which nothing has happened yet; empty afterwards.
        self._fresh = ""

    def take(self, kind: str, payload: Entry, at_ms: int) -> None:
        """Take one line."""
        if kind == "session_meta":
            source = payload.get("source")
            self.is_sub_agent = isinstance(source, dict) and "subagent" in source
            session_id = _text_codex(payload, "id") or _text_codex(payload, "session_id")
            self.builder.about(session_id=session_id, cwd=_text_codex(payload, "cwd"), at_ms=at_ms)
        elif kind == "turn_context":
            self.builder.about(cwd=_text_codex(payload, "cwd"))
        elif kind == "event_msg":
            self._take_event(payload, at_ms)
        elif kind == "response_item":
            self._take_item(payload, at_ms)

    def _take_event(self, payload: Entry, at_ms: int) -> None:
        kind = _text_codex(payload, "type")
        if kind == "user_message":
            self._typed(_text_codex(payload, "message"), "event", at_ms)
        elif kind in {"agent_message", "task_complete"}:
            self._fresh = ""
            self.builder.told(
                _text_codex(payload, "message") or _text_codex(payload, "last_agent_message")
            )
        elif kind == "thread_rolled_back":
            count = payload.get("num_turns")
            self.builder.undo(count if isinstance(count, int) and count > 0 else 1)

    def _take_item(self, payload: Entry, at_ms: int) -> None:
        kind, role = _text_codex(payload, "type"), payload.get("role")
        if kind == "message" and role == "user":
            self._typed(words_of(payload.get("content"), "user"), "item", at_ms)
        elif kind == "message" and role == "assistant":
            self._fresh = ""
            self.builder.told(words_of(payload.get("content"), "assistant"))
        elif kind == "message":
            self._informed(words_of(payload.get("content"), "tool"))
        elif kind.endswith("_call"):
            self._fresh = ""
            self.builder.called()
            self.builder.used(skill_files(_given(payload)))

    def _typed(self, text: str, logged: str, at_ms: int) -> None:
        text, _ = request_in(text)
        if not text or is_by_program(text):
            self.builder.left_out[NOT_TYPED] += 1
            self._informed(text)
        elif self._fresh and self._fresh != logged:
            if logged == "event":
                self.builder.retyped(text)
            self._fresh = ""
        else:
            self._fresh = logged
            self.builder.typed(text, at_ms)

    def _informed(self, text: str) -> None:
        """Take what the program tells the model: a list of skills, one skill, a hook's word."""
        given = _GIVEN.match(text)
        if given is not None:
            self.builder.used([given["name"]])
        elif _LISTS.search(text):
            if skills := listing(text):
                self.builder.lists(skills, anew=True)
        else:
            self.builder.hinted(skill_files(text))


def _given(payload: Entry) -> str:
    """Return what a call was given, as a text to look for paths in."""
    given = next((payload[key] for key in ("arguments", "input", "action") if key in payload), "")
    if isinstance(given, str):
        return given
    try:
        return json.dumps(given, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return ""


def _text_codex(entry: Entry, name: str) -> str:
    value = entry.get(name)
    return value if isinstance(value, str) else ""
