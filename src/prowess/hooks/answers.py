"""What a hook answers, in the schema of its caller; nothing where the caller would not read it.

Some harnesses refuse an answer with one key too many and others lose it without a word, so each
event has its own form. Harnesses treat orders in a hook's voice as an attack, so the words state
what exists and where. They come from skills, which strangers write: they are cleaned, and cut
before they could crowd out the user's own.
"""

import json
from collections.abc import Callable, Mapping, Sequence

from prowess.hooks.harness import Harness
from prowess.hooks.payloads import Incoming
from prowess.late import compile_late, dataclass
from prowess.skills.text import clean, one_line

# What we add stands behind what was there, after an empty line.
_APART = "\n\n"
Form = Callable[[Incoming, str], Mapping[str, object]]


def _specific(incoming: Incoming, context: str) -> Mapping[str, object]:
    said = {"hookEventName": incoming.event, "additionalContext": context}
    return {"hookSpecificOutput": said}


def _gemini_turn(_incoming: Incoming, context: str) -> Mapping[str, object]:
    return {"hookSpecificOutput": {"additionalContext": context}}


def _cursor_prompt(_incoming: Incoming, context: str) -> Mapping[str, object]:
    return {"continue": True, "additional_context": context}


def _cursor_session(_incoming: Incoming, context: str) -> Mapping[str, object]:
    return {"additional_context": context, "env": {}}


def _plain_context(_incoming: Incoming, context: str) -> Mapping[str, object]:
    return {"additionalContext": context}


def _copilot_prompt(incoming: Incoming, context: str) -> Mapping[str, object]:
    # What the user wrote stays as it is, to the last blank: we only add behind it.
    given = incoming.transformed or incoming.prompt
    if f"{_APART}{context}" in given:
        # We were asked before, as where two of our hooks run one after the other.
        return {}
    return {"modifiedTransformedPrompt": f"{given}{_APART}{context}"}


_FORMS: Mapping[tuple[Harness, str], Form] = {
    (Harness.CLAUDE_CODE, "UserPromptSubmit"): _specific,
    (Harness.CLAUDE_CODE, "SessionStart"): _specific,
    (Harness.CODEX, "UserPromptSubmit"): _specific,
    (Harness.CODEX, "SessionStart"): _specific,
    (Harness.CURSOR, "beforeSubmitPrompt"): _cursor_prompt,
    (Harness.CURSOR, "UserPromptSubmit"): _cursor_prompt,
    (Harness.CURSOR, "sessionStart"): _cursor_session,
    (Harness.CURSOR, "SessionStart"): _cursor_session,
    (Harness.GEMINI, "BeforeAgent"): _gemini_turn,
    (Harness.GEMINI, "SessionStart"): _specific,
    # What it says at `userPromptSubmitted` is dropped, so that event has no form.
    (Harness.COPILOT, "userPromptTransformed"): _copilot_prompt,
    (Harness.COPILOT, "sessionStart"): _plain_context,
    (Harness.COPILOT, "SessionStart"): _specific,
    # It takes no context with a prompt.
    (Harness.VSCODE, "SessionStart"): _specific,
    (Harness.QWEN, "UserPromptSubmit"): _specific,
    (Harness.QWEN, "SessionStart"): _specific,
    (Harness.OPENCODE, "UserPromptSubmit"): _plain_context,
    (Harness.OPENCLAW, "UserPromptSubmit"): _plain_context,
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
    Harness.COPILOT: "skill tool: {name}",
    Harness.QWEN: "skill tool: {name}",
    Harness.OPENCODE: "skill tool: {name}",
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
    fitting = _listed(_COVER, hints[:MOST_SKILLS], room, _WAYS.get(harness, ""))
    return _APART.join(part for part in (fitting, question) if part)


# How the tools of our MCP server are called where that is not their own name.
_TOOLS = {
    Harness.CLAUDE_CODE: "mcp__prowess__{}",
    Harness.CODEX: "mcp__prowess__{}",
    Harness.QWEN: "mcp__prowess__{}",
    Harness.GEMINI: "mcp_prowess_{}",
    Harness.VSCODE: "mcp_prowess_{}",
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
    return _listed(_UNLISTED, skills, LONGEST_AT_START, "")


def _listed(head: str, hints: Sequence[Hint], most: int, way: str) -> str:
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
    name = _unframed(one_line(hint.name)[:_LONGEST_NAME])
    score = "" if hint.score is None else f" (score {hint.score:.2f})"
    loaded = f", {way.format(name=name)}" if way else ""
    short = f"- {name}{score}{loaded}"
    said = f"{short}, file {hint.path}"
    why = one_line(hint.why)
    why = why if len(why) <= _LONGEST_WHY else why[: _LONGEST_WHY - 1].rstrip() + "…"
    whole = f"{said}: {_unframed(why)}" if why else said
    forms = (whole, said, short) if way else (whole, said)
    return next((text for text in forms if len(text) <= most), "")


def _unframed(text: str) -> str:
    """Return text that opens and closes no frame: harnesses put what we say between tags."""
    return text.replace("<", "&lt;").replace(">", "&gt;")
