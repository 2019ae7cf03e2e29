"""Sessions of Codex: its rollouts log what the model was told as messages of the program.

Codex has no tool for skills: the model reads the `SKILL.md` that its instructions list, and a
skill that a person named with a dollar sign is put into the conversation by the program.
"""

import json
import re
from collections.abc import Mapping, Sequence

from prowess.transcripts.codex import Entry, is_by_program, line_of, request_in
from prowess.transcripts.session_listing import listing, skill_files
from prowess.transcripts.session_model import Session
from prowess.transcripts.session_turns import SessionBuilder, moment_ms
from prowess.transcripts.sessions import words_of
from prowess.transcripts.traces import LeftOut
from prowess.transcripts.turns import NOT_TYPED, Record

HARNESS = "codex"
SUB_AGENT = "work of a sub-agent"

_LISTS = re.compile(r"<skills_instructions>|#{2,3} (?:Available )?skills\b", re.IGNORECASE)
_GIVEN = re.compile(r"\s{0,9}<skill>\s{0,9}<name>(?P<name>[^<>\n]{1,200})</name>")


def read_codex_sessions(
    records: Sequence[Record], *, path: str, skipped: Mapping[str, int]
) -> tuple[Session, ...]:
    """Return the session of a rollout, if somebody typed something in it."""
    rollout = _Rollout(path, LeftOut(skipped))
    for record in records:
        at = record.value.get("timestamp") if isinstance(record.value, dict) else None
        rollout.take(*line_of(record.value, rollout.builder.left_out), moment_ms(at))
    found = None if rollout.is_sub_agent else rollout.builder.session()
    return () if found is None else (found,)


class _Rollout:
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
            session_id = _text(payload, "id") or _text(payload, "session_id")
            self.builder.about(session_id=session_id, cwd=_text(payload, "cwd"), at_ms=at_ms)
        elif kind == "turn_context":
            self.builder.about(cwd=_text(payload, "cwd"))
        elif kind == "event_msg":
            self._take_event(payload, at_ms)
        elif kind == "response_item":
            self._take_item(payload, at_ms)

    def _take_event(self, payload: Entry, at_ms: int) -> None:
        kind = _text(payload, "type")
        if kind == "user_message":
            self._typed(_text(payload, "message"), "event", at_ms)
        elif kind in {"agent_message", "task_complete"}:
            self._fresh = ""
            self.builder.told(_text(payload, "message") or _text(payload, "last_agent_message"))
        elif kind == "thread_rolled_back":
            count = payload.get("num_turns")
            self.builder.undo(count if isinstance(count, int) and count > 0 else 1)

    def _take_item(self, payload: Entry, at_ms: int) -> None:
        kind, role = _text(payload, "type"), payload.get("role")
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


def _text(entry: Entry, name: str) -> str:
    value = entry.get(name)
    return value if isinstance(value, str) else ""
