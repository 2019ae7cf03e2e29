"""What a coding agent writes to a hook's standard input, read into one shape.

The caller is told by what only it writes, then by its environment: Cursor and Copilot run hooks
that were registered for Claude Code, Gemini CLI sets its variables, and any of them may be started
inside another. Whatever is unknown, cut, too deep or of another type is None, and the hook then
says nothing. A call is also packed as bytes, for the process that learns from it later.

What a hook answers, in the schema of its caller; nothing where the caller would not read it.

Some harnesses refuse an answer with one key too many and others lose it without a word, so each
event has its own form. Harnesses treat orders in a hook's voice as an attack, so the words state
what exists and where. They come from skills, which strangers write: they are cleaned, and cut
before they could crowd out the user's own.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, field, replace
from typing import Any, NamedTuple

from prowess.data import compile_late, dataclass
from prowess.hooks.harness import Harness, Moment
from prowess.skills.text import clean, one_line, strict_loads

# A JSON object can hold anything until each field is looked at.
Payload = Mapping[str, Any]
_GEMINI_EVENTS = frozenset(("BeforeAgent", "AfterAgent", "PreCompress"))
# Where harnesses keep their sessions, and what only those without a stamp name of a turn.
_SESSION_FOLDERS = {
    "/.claude/": Harness.CLAUDE_CODE,
    "/.codex/": Harness.CODEX,
    "/.gemini/": Harness.GEMINI,
    "/.qwen/": Harness.QWEN,
    "/.copilot/": Harness.COPILOT,
}
_OF_A_TURN = frozenset(("turn_id", "prompt_id"))
_CURSOR_FIELDS = ("cursor_version", "conversation_id", "generation_id", "workspace_roots")
_QWEN_VARIABLES = ("QWEN_PROJECT_DIR", "QWEN_CODE_SESSION_ID")
# Plugins of ours say whom they speak for.
_PLUGIN = "prowess_plugin"
_GEMINI_VARIABLES = ("GEMINI_PROJECT_DIR", "GEMINI_SESSION_ID", "GEMINI_CWD")


# Where each says which project it works in; the others say only where they are.
_PROJECT_VARIABLES = {
    Harness.CLAUDE_CODE: ("CLAUDE_PROJECT_DIR",),
    Harness.CURSOR: ("CURSOR_PROJECT_DIR", "CLAUDE_PROJECT_DIR"),
    Harness.GEMINI: ("GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"),
    Harness.QWEN: ("QWEN_PROJECT_DIR",),
}


class _Caller(NamedTuple):
    """Who calls, and its own word for the event."""

    harness: Harness
    event: str


def project_variables(harness: Harness, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the folders that a harness calls its project in the environment of a hook."""
    names = _PROJECT_VARIABLES.get(harness, ())
    return tuple(environ[name] for name in names if environ.get(name))


def caller_of(payload: Payload, environ: Mapping[str, str]) -> _Caller | None:
    """Return who wrote `payload`, or None where nobody we know did."""
    snake, camel = payload.get("hook_event_name"), payload.get("hookEventName")
    if isinstance(snake, str) and payload.get(_PLUGIN) in {Harness.OPENCODE, Harness.OPENCLAW}:
        return _Caller(Harness(payload[_PLUGIN]), snake)
    if isinstance(snake, str):
        return _Caller(_of_snake(payload, snake, environ), snake)
    if isinstance(camel, str):
        # Both write this key; Copilot's own events begin with a small letter.
        return _Caller(Harness.COPILOT if camel[:1].islower() else Harness.VSCODE, camel)
    if snake is not None or camel is not None:
        return None
    event = _copilot_event(payload)
    return _Caller(Harness.COPILOT, event) if event else None


def _of_snake(payload: Payload, event: str, environ: Mapping[str, str]) -> Harness:
    known = _by_own_field(payload, event) or _by_place(payload, environ)
    if known is not None:
        return known
    if "timestamp" in payload and not _OF_A_TURN & payload.keys():
        return _of_stamped(payload, environ)
    return Harness.CODEX if _is_codex(payload, environ) else Harness.CLAUDE_CODE


def _by_own_field(payload: Payload, event: str) -> Harness | None:
    if any(name in payload for name in _CURSOR_FIELDS):
        return Harness.CURSOR
    if event in _GEMINI_EVENTS:
        return Harness.GEMINI
    return Harness.VSCODE if "sessionId" in payload else None


def _by_place(payload: Payload, environ: Mapping[str, str]) -> Harness | None:
    """Return whose sessions lie where the transcript is, whatever other fields there are."""
    if environ.get("CURSOR_VERSION") and not {"turn_id", "timestamp"} & payload.keys():
        return Harness.CURSOR
    path = str(payload.get("transcript_path") or "").replace("\\", "/")
    if path.rpartition("/")[2].startswith("rollout-"):
        return Harness.CODEX
    return next((own for folder, own in _SESSION_FOLDERS.items() if folder in path), None)


def _of_stamped(payload: Payload, environ: Mapping[str, str]) -> Harness:
    """Three harnesses stamp their payloads; Copilot alone does not name the transcript each time.

    Qwen Code is made from Gemini CLI and sets its variables as well, but keeps sessions elsewhere.
    """
    path = str(payload.get("transcript_path") or "").replace("\\", "/")
    is_qwen = any(environ.get(name) for name in _QWEN_VARIABLES) and "/.gemini/" not in path
    if "/.qwen/" in path or is_qwen:
        return Harness.QWEN
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
    return payload.get("transcript_path", "") is None or bool(environ.get("CODEX_HOME"))


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


LONGEST_PAYLOAD = 1024 * 1024
_LONGEST_FIELD = 512
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
    **dict.fromkeys(Harness, _CLAUDE_EVENTS),
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
}


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
        found = _read_incoming(payload, caller.harness, moment, caller.event)
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


def _read_incoming(payload: Payload, harness: Harness, moment: Moment, event: str) -> Incoming:
    source = _text(payload, "source", limit=_LONGEST_FIELD)
    if moment is Moment.SESSION_START and source == "compact":
        moment = Moment.COMPACTION
    transformed = _text(payload, "transformedPrompt")
    return Incoming(
        harness=harness,
        moment=moment,
        event=event,
        session=_text(payload, "session_id", "sessionId", "conversation_id", limit=_LONGEST_FIELD),
        cwd=_folder(payload),
        source=source,
        transcript_path=_text(payload, "transcript_path", "transcriptPath", limit=_LONGEST_PATH),
        prompt=_text(payload, "prompt", needed=moment is Moment.PROMPT),
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


def pack_call(incoming: Incoming) -> bytes:
    """Return a call as bytes."""
    return json.dumps(asdict(incoming)).encode()


def unpack_call(raw: bytes) -> Incoming:
    """Return the call that `packed` made bytes of.

    Raises:
        ValueError: it is something else.
    """
    try:
        fields = json.loads(raw)
        return Incoming(
            **{
                **fields,
                "harness": Harness(fields["harness"]),
                "moment": Moment(fields["moment"]),
                "projects": tuple(fields["projects"]),
            }
        )
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError("no call of a hook") from error


# What we add stands behind what was there, after an empty line.
_APART = "\n\n"
Form = Callable[[Incoming, str], Mapping[str, object]]


def _write_specific(incoming: Incoming, context: str) -> Mapping[str, object]:
    said = {"hookEventName": incoming.event, "additionalContext": context}
    return {"hookSpecificOutput": said}


def _write_plain(_incoming: Incoming, context: str) -> Mapping[str, object]:
    return {"additionalContext": context}


def _copilot_prompt(incoming: Incoming, context: str) -> Mapping[str, object]:
    # What the user wrote stays as it is, to the last blank: we only add behind it.
    given = incoming.transformed or incoming.prompt
    if f"{_APART}{context}" in given:
        # We were asked before, as where two of our hooks run one after the other.
        return {}
    return {"modifiedTransformedPrompt": f"{given}{_APART}{context}"}


_FORMS: Mapping[tuple[Harness, str], Form] = {
    **{
        (harness, event): _write_specific
        for harness in (Harness.CLAUDE_CODE, Harness.CODEX, Harness.QWEN)
        for event in ("UserPromptSubmit", "SessionStart")
    },
    **dict.fromkeys(
        ((Harness.CURSOR, "beforeSubmitPrompt"), (Harness.CURSOR, "UserPromptSubmit")),
        lambda _, context: {"continue": True, "additional_context": context},
    ),
    **dict.fromkeys(
        ((Harness.CURSOR, "sessionStart"), (Harness.CURSOR, "SessionStart")),
        lambda _, context: {"additional_context": context, "env": {}},
    ),
    (Harness.GEMINI, "BeforeAgent"): lambda _, said: {"hookSpecificOutput": _write_plain(_, said)},
    (Harness.GEMINI, "SessionStart"): _write_specific,
    # What it says at `userPromptSubmitted` is dropped, so that event has no form.
    (Harness.COPILOT, "userPromptTransformed"): _copilot_prompt,
    (Harness.COPILOT, "sessionStart"): _write_plain,
    (Harness.COPILOT, "SessionStart"): _write_specific,
    # It takes no context with a prompt.
    (Harness.VSCODE, "SessionStart"): _write_specific,
    (Harness.OPENCODE, "UserPromptSubmit"): _write_plain,
    (Harness.OPENCLAW, "UserPromptSubmit"): _write_plain,
}


def can_speak(incoming: Incoming) -> bool:
    """Return whether anything that we said to this call would reach the agent."""
    return (incoming.harness, incoming.event) in _FORMS


def answer(incoming: Incoming, context: str) -> str:
    """Return the exact text for standard output; nothing where there is nothing to say."""
    form = _FORMS.get((incoming.harness, incoming.event))
    if form is None or not context:
        return ""
    said = form(incoming, context)
    # Only ASCII: half a character in a prompt comes back as it came, and no console can fail on it.
    return json.dumps(said) if said else ""


LONGEST, LONGEST_AT_START = 600, 1_500
MOST_SKILLS = 3
_LONGEST_NAME, _LONGEST_WHY = 120, 200
_COVER = "Skills of this workspace that cover this request (found by Prowess):"
_UNLISTED = "Skills of this workspace that are listed nowhere else (found by Prowess):"
# How its model loads a skill that a harness lists itself.
_WAYS: Mapping[Harness, str] = {
    Harness.CLAUDE_CODE: "Skill tool: {name}",
    Harness.CODEX: "${name}",
    Harness.CURSOR: "/{name}",
    Harness.GEMINI: "activate_skill: {name}",
    **dict.fromkeys((Harness.COPILOT, Harness.QWEN, Harness.OPENCODE), "skill tool: {name}"),
}
_NO_PATH = compile_late(r"[<>\t\n]")
_COMMAND = compile_late(r"/[A-Za-z][\w:.-]*(?:\s|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """A skill that fits a prompt, and what shows it; without a score, one that is merely there."""

    name: str
    path: str
    score: float | None = None
    why: str = ""
    # Whether the harness lists it as well, so that its own way to load it is open.
    is_listed: bool = False


def is_command(prompt: str) -> bool:
    """Return whether a prompt calls a command of the harness, which knows best what that means."""
    return _COMMAND.match(prompt.lstrip()) is not None


def prompt_context(harness: Harness, hints: Sequence[Hint], question: str = "") -> str:
    """Return what to say beside a prompt: skills that fit, then a question, in one limit for both.

    A question is short and stays whole; skills take what room it leaves.
    """
    room = LONGEST - (len(question) + len(_APART) if question else 0)
    fitting = _list(_COVER, hints[:MOST_SKILLS], room, _WAYS.get(harness, ""))
    return _APART.join(part for part in (fitting, question) if part)


# How the tools of our MCP server are called where that is not their own name.
_TOOLS = {
    **dict.fromkeys((Harness.CLAUDE_CODE, Harness.CODEX, Harness.QWEN), "mcp__prowess__{}"),
    **dict.fromkeys((Harness.GEMINI, Harness.VSCODE), "mcp_prowess_{}"),
    Harness.COPILOT: "prowess-{}",
    Harness.OPENCODE: "prowess_{}",
}
_MAY_LAST = (
    "This message may set a rule for later work too (noticed by Prowess). If it does, {tool}"
    ' (action "suggest", harness "{harness}") keeps it for the user to confirm; if it is only for'
    " now, nothing is kept."
)


def rule_context(harness: Harness) -> str:
    """Return the one line that leaves it to the agent whether a message sets a lasting rule."""
    tool = _TOOLS.get(harness, "{}").format("skill_workshop")
    return _MAY_LAST.format(tool=tool, harness=harness.value)


def session_context(skills: Sequence[Hint]) -> str:
    """Return what to say of skills that a harness does not list, as many as there is room for."""
    return _list(_UNLISTED, skills, LONGEST_AT_START, "")


def _list(head: str, hints: Sequence[Hint], most: int, way: str) -> str:
    lines = [head]
    left = most - len(head)
    for hint in hints:
        line = _line(hint, left - 1, way if hint.is_listed else "")
        if line:
            lines.append(line)
            left -= len(line) + 1
    return "\n".join(lines) if len(lines) > 1 else ""


def _line(hint: Hint, most: int, way: str) -> str:
    """Return one skill on one line; a cut path would lead nowhere, so that is never cut.

    Nor is one shown that cannot be shown as it is: a folder whose name closes a frame of the
    harness, or begins a line of its own, was named to be read as something else.
    """
    if clean(hint.path) != hint.path or _NO_PATH.search(hint.path):
        return ""
    name = _unframe(one_line(hint.name)[:_LONGEST_NAME])
    score = "" if hint.score is None else f" (score {hint.score:.2f})"
    loaded = f", {way.format(name=name)}" if way else ""
    short = f"- {name}{score}{loaded}"
    said = f"{short}, file {hint.path}"
    why = one_line(hint.why)
    why = why if len(why) <= _LONGEST_WHY else why[: _LONGEST_WHY - 1].rstrip() + "…"
    whole = f"{said}: {_unframe(why)}" if why else said
    forms = (whole, said, short) if way else (whole, said)
    return next((text for text in forms if len(text) <= most), "")


def _unframe(text: str) -> str:
    """Return text that opens and closes no frame: harnesses put what we say between tags."""
    return text.replace("<", "&lt;").replace(">", "&gt;")


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


def read_call(text: str) -> str:
    """Return the call (`/name ...`) for which a program wrote a skill's whole text, or the text."""
    if not text.startswith(_CALLED):
        return text
    name = re.split(r"[\\/]", text[len(_CALLED) :].partition("\n")[0].rstrip("\\/ "))[-1]
    said = text.rpartition(_ARGUMENTS)[2] if _ARGUMENTS in text else ""
    return f"/{name} {said.partition('</skill-args>')[0].strip()}".rstrip()


def keep_typed(text: str) -> str:
    """Return a message of a person without what programs put into it, ourselves included."""
    typed = read_call(_EXPLICIT.sub("", text))
    typed = _WRAPPED.sub("", typed) if "<" in typed else typed
    typed = _TOLD.sub("", typed) if "by Prowess)" in typed else typed
    return text if typed == text else typed.strip()


def has_frames(text: str) -> bool:
    """Return whether a text holds words that a program put around its own."""
    return _WRAPPED.search(text) is not None
