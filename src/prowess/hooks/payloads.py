"""What a coding agent writes to a hook's standard input, read into one shape.

The caller is told by what only it writes, then by its environment: harnesses run each other's
hooks, so an event's name alone proves nothing. Whatever is unknown, cut, too deep or of another
type is None, and the hook then says nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from prowess.hooks.callers import Payload, caller_of, project_variables
from prowess.hooks.harness import Harness, Moment
from prowess.skills.json_text import strict_loads

LONGEST_PAYLOAD = 1024 * 1024
_LONGEST_NAME = 512
_LONGEST_PATH = 4096
_MOST_ROOTS = 16

_CLAUDE_EVENTS = {
    "UserPromptSubmit": Moment.PROMPT,
    "SessionStart": Moment.SESSION_START,
    "Stop": Moment.TURN_END,
    "SessionEnd": Moment.SESSION_END,
    "PreCompact": Moment.COMPACTION,
}
_EVENTS: Mapping[Harness, Mapping[str, Moment]] = {
    Harness.CLAUDE_CODE: _CLAUDE_EVENTS,
    Harness.CODEX: _CLAUDE_EVENTS,
    Harness.CURSOR: {
        # It runs hooks of Claude Code too, where its user allows that.
        **_CLAUDE_EVENTS,
        "beforeSubmitPrompt": Moment.PROMPT,
        "sessionStart": Moment.SESSION_START,
        "preCompact": Moment.COMPACTION,
        "stop": Moment.TURN_END,
        "sessionEnd": Moment.SESSION_END,
    },
    Harness.GEMINI: {
        "BeforeAgent": Moment.PROMPT,
        "SessionStart": Moment.SESSION_START,
        "PreCompress": Moment.COMPACTION,
        "AfterAgent": Moment.TURN_END,
        "SessionEnd": Moment.SESSION_END,
    },
    Harness.COPILOT: {
        **_CLAUDE_EVENTS,
        "userPromptSubmitted": Moment.PROMPT,
        "userPromptTransformed": Moment.PROMPT,
        "sessionStart": Moment.SESSION_START,
        "preCompact": Moment.COMPACTION,
        "agentStop": Moment.TURN_END,
        "sessionEnd": Moment.SESSION_END,
    },
    Harness.VSCODE: _CLAUDE_EVENTS,
}
_NEEDS_PROMPT = frozenset((Moment.PROMPT,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """One call of a hook; what somebody wrote to an agent never shows in its `repr`."""

    harness: Harness
    moment: Moment
    # As the harness spells it: its answer repeats it.
    event: str
    session: str = ""
    cwd: str = ""
    # The folders of its project, where the harness names any: nothing says that they exist.
    projects: tuple[str, ...] = ()
    # How a session began: startup, resume, clear, compact.
    source: str = ""
    transcript_path: str = field(default="", repr=False)
    prompt: str = field(default="", repr=False)
    # What the agent said last, at the end of a turn.
    last_message: str = field(default="", repr=False)
    # The prompt as the model will see it, where the harness lets a hook add to that.
    transformed: str = field(default="", repr=False)
    # An agent that goes on because a hook said so: nothing is learned from that twice.
    stop_hook_active: bool = False


class _WrongTypeError(ValueError):
    """A field holds something else than its harness writes; never leaves this module."""


def read(raw: bytes, environ: Mapping[str, str]) -> Incoming | None:
    """Read one payload, or return None where it is nothing that we answer."""
    payload = _object(raw)
    if payload is None:
        return None
    caller = caller_of(payload, environ)
    if caller is None:
        return None
    moment = _EVENTS[caller.harness].get(caller.event)
    if moment is None:
        return None
    try:
        found = _incoming(payload, caller.harness, moment, caller.event)
    except _WrongTypeError:
        return None
    return replace(found, projects=_projects(payload, caller.harness, environ))


def _object(raw: bytes) -> Payload | None:
    if len(raw) > LONGEST_PAYLOAD:
        return None
    try:
        # Shells of Windows put a mark before what they pipe.
        found = strict_loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _incoming(payload: Payload, harness: Harness, moment: Moment, event: str) -> Incoming:
    source = _text(payload, "source", limit=_LONGEST_NAME)
    if moment is Moment.SESSION_START and source == "compact":
        moment = Moment.COMPACTION
    transformed = _text(payload, "transformedPrompt")
    return Incoming(
        harness=harness,
        moment=moment,
        event=event,
        session=_text(payload, "session_id", "sessionId", "conversation_id", limit=_LONGEST_NAME),
        cwd=_folder(payload),
        source=source,
        transcript_path=_text(payload, "transcript_path", "transcriptPath", limit=_LONGEST_PATH),
        prompt=_text(payload, "prompt", needed=moment in _NEEDS_PROMPT),
        last_message=_text(payload, "last_assistant_message", "prompt_response"),
        transformed=transformed,
        stop_hook_active=_switch(payload, "stop_hook_active", "stopHookActive"),
    )


def _text(payload: Payload, *names: str, limit: int = LONGEST_PAYLOAD, needed: bool = False) -> str:
    """Return the first of the fields that is there; null is the same as nothing."""
    for name in names:
        value = payload.get(name)
        if value is None:
            continue
        if not isinstance(value, str) or len(value) > limit:
            raise _WrongTypeError(name)
        return value
    if needed:
        raise _WrongTypeError(names[0])
    return ""


def _switch(payload: Payload, *names: str) -> bool:
    for name in names:
        value = payload.get(name)
        if value is None:
            continue
        if not isinstance(value, bool):
            raise _WrongTypeError(name)
        return value
    return False


def _folder(payload: Payload) -> str:
    """Return where the agent works; Cursor names all folders of its window, the first one leads."""
    found = _text(payload, "cwd", limit=_LONGEST_PATH)
    roots = payload.get("workspace_roots")
    if found or roots is None:
        return found
    if not isinstance(roots, list) or not all(isinstance(root, str) for root in roots):
        raise _WrongTypeError("workspace_roots")
    return str(roots[0])[:_LONGEST_PATH] if roots else ""


def _projects(payload: Payload, harness: Harness, environ: Mapping[str, str]) -> tuple[str, ...]:
    roots = payload.get("workspace_roots")
    listed = roots[:_MOST_ROOTS] if isinstance(roots, list) else []
    named = (*listed, *project_variables(harness, environ))
    return tuple(one for one in named if isinstance(one, str) and len(one) <= _LONGEST_PATH)
