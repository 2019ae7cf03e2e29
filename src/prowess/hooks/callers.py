"""Which coding agent wrote a payload: told by what only that one writes, then by its environment.

Cursor and Copilot run hooks that were registered for Claude Code, Gemini CLI sets the variables of
Claude Code besides its own, and any of them may be started inside another: so a variable decides
only where the payload leaves it open.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from prowess.hooks.harness import Harness

# A JSON object can hold anything until each field is looked at.
Payload = Mapping[str, Any]
_GEMINI_EVENTS = frozenset(("BeforeAgent", "AfterAgent", "PreCompress"))
_CURSOR_FIELDS = ("cursor_version", "conversation_id", "generation_id", "workspace_roots")
_GEMINI_VARIABLES = ("GEMINI_PROJECT_DIR", "GEMINI_SESSION_ID", "GEMINI_CWD")


# Where each says which project it works in; the others say only where they are.
_PROJECT_VARIABLES = {
    Harness.CLAUDE_CODE: ("CLAUDE_PROJECT_DIR",),
    Harness.CURSOR: ("CURSOR_PROJECT_DIR", "CLAUDE_PROJECT_DIR"),
    Harness.GEMINI: ("GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"),
}


class Caller(NamedTuple):
    """Who calls, and its own word for the event."""

    harness: Harness
    event: str


def project_variables(harness: Harness, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the folders that a harness calls its project in the environment of a hook."""
    names = _PROJECT_VARIABLES.get(harness, ())
    return tuple(environ[name] for name in names if environ.get(name))


def caller_of(payload: Payload, environ: Mapping[str, str]) -> Caller | None:
    """Return who wrote `payload`, or None where nobody we know did."""
    snake, camel = payload.get("hook_event_name"), payload.get("hookEventName")
    if isinstance(snake, str):
        return Caller(_of_snake(payload, snake, environ), snake)
    if isinstance(camel, str):
        # Both write this key; Copilot's own events begin with a small letter.
        return Caller(Harness.COPILOT if camel[:1].islower() else Harness.VSCODE, camel)
    if snake is not None or camel is not None:
        return None
    event = _copilot_event(payload)
    return Caller(Harness.COPILOT, event) if event else None


def _of_snake(payload: Payload, event: str, environ: Mapping[str, str]) -> Harness:
    if any(name in payload for name in _CURSOR_FIELDS):
        return Harness.CURSOR
    if event in _GEMINI_EVENTS:
        return Harness.GEMINI
    if "sessionId" in payload:
        return Harness.VSCODE
    if "timestamp" in payload:
        return _of_stamped(payload, environ)
    if "turn_id" not in payload and environ.get("CURSOR_VERSION"):
        return Harness.CURSOR
    return Harness.CODEX if _is_codex(payload, environ) else Harness.CLAUDE_CODE


def _of_stamped(payload: Payload, environ: Mapping[str, str]) -> Harness:
    """Two harnesses stamp their payloads; only Gemini names the transcript each time."""
    if any(environ.get(name) for name in _GEMINI_VARIABLES):
        return Harness.GEMINI
    is_claude_like = payload.get("hook_event_name") in {"SessionStart", "SessionEnd"}
    if is_claude_like and isinstance(payload.get("transcript_path"), str):
        return Harness.GEMINI
    return Harness.COPILOT


def _is_codex(payload: Payload, environ: Mapping[str, str]) -> bool:
    """Outside of a turn Codex writes as Claude Code does, but for where its sessions lie."""
    if "turn_id" in payload:
        return True
    path = payload.get("transcript_path")
    if isinstance(path, str) and path:
        slashed = path.replace("\\", "/")
        home = environ.get("CODEX_HOME", "").replace("\\", "/").rstrip("/")
        return "/.codex/" in slashed or bool(home and slashed.startswith(home + "/"))
    if environ.get("CLAUDE_PROJECT_DIR"):
        return False
    return "transcript_path" in payload or bool(environ.get("CODEX_HOME"))


def _copilot_event(payload: Payload) -> str:
    """Copilot leaves the event's name out of its own dialect: its fields tell which one it is."""
    if "timestamp" not in payload or "toolName" in payload or "agentName" in payload:
        return ""
    fields = {
        "transformedPrompt": "userPromptTransformed",
        "stopReason": "agentStop",
        "trigger": "preCompact",
        "prompt": "userPromptSubmitted",
        "source": "sessionStart",
        "reason": "sessionEnd",
        "transcriptPath": "agentStop",
    }
    return next((event for name, event in fields.items() if name in payload), "")
