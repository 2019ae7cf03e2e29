"""One payload of each event of each harness, and what it accepts as an answer.

For tests and for the self-test of `prowess doctor`; written from the harnesses' field lists, apart
from the code that makes answers. Silence always fits.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from prowess.hooks.harness import Harness, Moment

Schema = Callable[[str], str]
# What harnesses take whole; longer context is stored away and only its beginning shown.
INLINE_CHARS = 10_000


class _Context:
    """Stands in a shape for a text that says something and is short enough to be read."""


CONTEXT = _Context()


def silence(text: str) -> str:
    """Accept nothing but silence: this harness reads no answer to this event."""
    return "" if not text else "an answer was printed where none is read."


def shaped(shape: Mapping[str, object]) -> Schema:
    """Return the schema that accepts exactly the keys and values of `shape`."""

    def check(text: str) -> str:
        found, problem = _object(text)
        return problem or (_difference(found, shape, "") if text else "")

    return check


def appended(given: str) -> Schema:
    """Return the schema of an answer that repeats a prompt to the letter and adds to it."""

    def check(text: str) -> str:
        found, problem = _object(text)
        if problem or not text:
            return problem
        if not isinstance(found, dict) or set(found) != {"modifiedTransformedPrompt"}:
            return "the answer has other keys than modifiedTransformedPrompt."
        said = found["modifiedTransformedPrompt"]
        if not isinstance(said, str) or not said.startswith(given):
            return "the prompt was changed instead of being added to."
        return _context_problem(said[len(given) :], "modifiedTransformedPrompt")

    return check


def specific(event: str) -> Schema:
    """Return the schema of context in the envelope that Claude Code made."""
    said = {"hookEventName": event, "additionalContext": CONTEXT}
    return shaped({"hookSpecificOutput": said})


def _object(text: str) -> tuple[object, str]:
    if not text:
        return None, ""
    try:
        found = json.loads(text)
    except ValueError:
        return None, "the answer is not JSON."
    return found, ""


def _difference(found: object, wanted: object, where: str) -> str:
    if isinstance(wanted, _Context):
        return _context_problem(found, where)
    if not isinstance(wanted, Mapping):
        return (
            "" if found == wanted and type(found) is type(wanted) else f"{where} has another value."
        )
    if not isinstance(found, dict):
        return f"{where or 'the answer'} is no object."
    if set(found) != set(wanted):
        odd = ", ".join(sorted(set(found) ^ set(wanted)))
        return f"{where or 'the answer'} has other keys than expected ({odd})."
    parts = (_difference(found[key], wanted[key], f"{where}.{key}".lstrip(".")) for key in wanted)
    return next(filter(None, parts), "")


def _context_problem(found: object, where: str) -> str:
    if not isinstance(found, str) or not found.strip():
        return f"{where} says nothing."
    return (
        "" if len(found) <= INLINE_CHARS else f"{where} is longer than {INLINE_CHARS} characters."
    )


_PROMPT = "fill in the tax form pdf"
_FOLDER = "/repo"
_SESSION = "6f2c1f5e-0d1b-4b52-9d4e-1f0a6f9d2c11"
_DONE = "Done, all fields are set."
_STAMP = "2026-11-15T09:00:00.000Z"
_COPILOT_FILE = f"/home/me/.copilot/session-state/{_SESSION}/events.jsonl"
_COPILOT_PROMPT = f"<current_datetime>{_STAMP}</current_datetime>\n\n{_PROMPT}\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class PayloadSample:
    """A call of the hook as a harness makes it, and what its answer has to look like."""

    harness: Harness
    moment: Moment
    event: str
    payload: bytes
    environ: Mapping[str, str] = field(default_factory=dict)
    # Returns what is wrong with an answer, or nothing; silence is never wrong.
    answers_with: Schema = silence


# Stands for the event in what a harness says with every call.
_EVENT = "{event}"


@dataclass(frozen=True, slots=True)
class _Caller:
    """A harness, with what it says and sets at every call."""

    harness: Harness
    always: Mapping[str, object]
    environ: Mapping[str, str] = field(default_factory=dict)

    def __call__(
        self, event: str, moment: Moment, schema: Schema = silence, **fields: object
    ) -> PayloadSample:
        always = {key: event if said is _EVENT else said for key, said in self.always.items()}
        return PayloadSample(
            harness=self.harness,
            moment=moment,
            event=event,
            payload=json.dumps({**always, **fields}).encode(),
            environ=self.environ,
            answers_with=schema,
        )


_claude = _Caller(
    Harness.CLAUDE_CODE,
    {
        "session_id": _SESSION,
        "transcript_path": f"/home/me/.claude/projects/-repo/{_SESSION}.jsonl",
        "cwd": _FOLDER,
        "permission_mode": "default",
        "hook_event_name": _EVENT,
    },
    {"CLAUDE_PROJECT_DIR": _FOLDER, "CLAUDECODE": "1"},
)
_codex = _Caller(
    Harness.CODEX,
    {
        "session_id": _SESSION,
        "transcript_path": "/home/me/.codex/sessions/2026/11/15/"
        f"rollout-2026-11-15T09-00-00-{_SESSION}.jsonl",
        "cwd": _FOLDER,
        "hook_event_name": _EVENT,
        "model": "gpt-5.2-codex",
        "permission_mode": "default",
    },
)
_cursor = _Caller(
    Harness.CURSOR,
    {
        "conversation_id": _SESSION,
        "generation_id": "a1b2c3d4-0000-4000-8000-000000000001",
        "model": "default",
        "hook_event_name": _EVENT,
        "cursor_version": "3.20.17",
        "workspace_roots": [_FOLDER],
        "user_email": None,
    },
    {"CURSOR_VERSION": "3.20.17", "CURSOR_PROJECT_DIR": _FOLDER},
)
_gemini = _Caller(
    Harness.GEMINI,
    {
        "session_id": _SESSION,
        "transcript_path": "/home/me/.gemini/tmp/repo/chats/session-2026-11-15T09-00-6f2c1f5e.json",
        "cwd": _FOLDER,
        "hook_event_name": _EVENT,
        "timestamp": _STAMP,
    },
    {"GEMINI_PROJECT_DIR": _FOLDER, "CLAUDE_PROJECT_DIR": _FOLDER},
)
_copilot = _Caller(
    Harness.COPILOT, {"sessionId": _SESSION, "timestamp": 1_794_733_200_000, "cwd": _FOLDER}
)
_copilot_as_claude = _Caller(
    Harness.COPILOT,
    {"hook_event_name": _EVENT, "session_id": _SESSION, "timestamp": _STAMP, "cwd": _FOLDER},
)
_vscode = _Caller(
    Harness.VSCODE,
    {
        "timestamp": _STAMP,
        "cwd": _FOLDER,
        "sessionId": _SESSION,
        "hookEventName": _EVENT,
        "transcript_path": "/home/me/.config/Code/User/workspaceStorage/1/transcript.json",
    },
)
_qwen = _Caller(
    Harness.QWEN,
    {
        "session_id": _SESSION,
        "transcript_path": f"/home/me/.qwen/projects/-repo/chats/{_SESSION}.jsonl",
        "cwd": _FOLDER,
        "hook_event_name": _EVENT,
        "timestamp": _STAMP,
        "permission_mode": "default",
    },
    dict.fromkeys(("QWEN_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"), _FOLDER),
)
_opencode, _openclaw = (
    _Caller(
        harness,
        {
            "prowess_plugin": harness.value,
            "hook_event_name": _EVENT,
            "session_id": _SESSION,
            "cwd": _FOLDER,
        },
    )
    for harness in (Harness.OPENCODE, Harness.OPENCLAW)
)

_START, _TURN, _END = Moment.SESSION_START, Moment.TURN_END, Moment.SESSION_END
_COMPACT, _ASKED = Moment.COMPACTION, Moment.PROMPT
_STARTED = specific("SessionStart")
_CURSOR_START = shaped({"additional_context": CONTEXT, "env": {}})
_CURSOR_ASKED = shaped({"continue": True, "additional_context": CONTEXT})
_GEMINI_ASKED = shaped({"hookSpecificOutput": {"additionalContext": CONTEXT}})
_CONTEXT_ALONE = shaped({"additionalContext": CONTEXT})

SAMPLES: tuple[PayloadSample, ...] = (
    _claude(
        "UserPromptSubmit", _ASKED, specific("UserPromptSubmit"), prompt_id="p1", prompt=_PROMPT
    ),
    _claude("SessionStart", _START, _STARTED, source="startup", model="claude-opus-4-6"),
    _claude("SessionStart", _START, _STARTED, source="resume"),
    _claude("SessionStart", _COMPACT, _STARTED, source="compact"),
    _claude("PreCompact", _COMPACT, trigger="auto", custom_instructions=""),
    _claude(
        "Stop",
        _TURN,
        stop_hook_active=False,
        last_assistant_message=_DONE,
        background_tasks=[],
        session_crons=[],
    ),
    _claude("SessionEnd", _END, reason="prompt_input_exit"),
    _codex(
        "UserPromptSubmit",
        _ASKED,
        specific("UserPromptSubmit"),
        turn_id="t1",
        transcript_path=None,
        prompt=_PROMPT,
    ),
    _codex("SessionStart", _START, _STARTED, source="startup"),
    _codex("SessionStart", _COMPACT, _STARTED, source="compact"),
    _codex("PreCompact", _COMPACT, turn_id="t1", trigger="auto"),
    _codex("Stop", _TURN, turn_id="t1", stop_hook_active=False, last_assistant_message=_DONE),
    _codex("SessionEnd", _END, reason="other"),
    _cursor("beforeSubmitPrompt", _ASKED, _CURSOR_ASKED, prompt=_PROMPT, attachments=[]),
    _cursor("sessionStart", _START, _CURSOR_START, is_background_agent=False),
    _cursor("preCompact", _COMPACT, trigger="auto", context_usage_percent=92),
    _cursor("stop", _TURN, status="completed", loop_count=0),
    _cursor("sessionEnd", _END, reason="completed"),
    _gemini("BeforeAgent", _ASKED, _GEMINI_ASKED, prompt=_PROMPT),
    _gemini("SessionStart", _START, _STARTED, source="startup"),
    _gemini("PreCompress", _COMPACT, trigger="auto"),
    _gemini("AfterAgent", _TURN, prompt=_PROMPT, prompt_response=_DONE, stop_hook_active=False),
    _gemini("SessionEnd", _END, reason="exit"),
    _copilot("userPromptSubmitted", _ASKED, prompt=_PROMPT),
    _copilot(
        "userPromptTransformed",
        _ASKED,
        appended(_COPILOT_PROMPT),
        prompt=_PROMPT,
        transformedPrompt=_COPILOT_PROMPT,
    ),
    _copilot("sessionStart", _START, _CONTEXT_ALONE, source="new"),
    _copilot("preCompact", _COMPACT, transcriptPath=_COPILOT_FILE, trigger="auto"),
    _copilot("agentStop", _TURN, transcriptPath=_COPILOT_FILE, stopReason="end_turn"),
    _copilot("sessionEnd", _END, reason="complete"),
    _copilot_as_claude("UserPromptSubmit", _ASKED, prompt=_PROMPT),
    _copilot_as_claude("SessionStart", _START, _STARTED, source="startup"),
    _copilot_as_claude(
        "Stop", _TURN, transcript_path=_COPILOT_FILE, stop_reason="end_turn", stop_hook_active=False
    ),
    _copilot_as_claude("SessionEnd", _END, reason="complete"),
    _vscode("UserPromptSubmit", _ASKED, prompt=_PROMPT),
    _vscode("SessionStart", _START, _STARTED, source="new"),
    _vscode("PreCompact", _COMPACT, trigger="auto"),
    _vscode("Stop", _TURN, stop_hook_active=False),
    _qwen("UserPromptSubmit", _ASKED, specific("UserPromptSubmit"), prompt=_PROMPT),
    _qwen("SessionStart", _START, _STARTED, source="startup"),
    _qwen("SessionStart", _COMPACT, _STARTED, source="compact"),
    _qwen("PreCompact", _COMPACT, trigger="auto", custom_instructions=""),
    _qwen("Stop", _TURN, stop_hook_active=False, last_assistant_message=_DONE),
    _qwen("SessionEnd", _END, reason="other"),
    _opencode("UserPromptSubmit", _ASKED, _CONTEXT_ALONE, prompt=_PROMPT),
    _opencode("Stop", _TURN),
    _openclaw("UserPromptSubmit", _ASKED, _CONTEXT_ALONE, prompt=_PROMPT),
    _openclaw("Stop", _TURN),
)
