"""What a hook answers, in the schema of its caller; nothing where the caller would not read it.

Some harnesses refuse an answer with one key too many and others lose it without a word, so each
event has its own form. Harnesses treat orders in a hook's voice as an attack, so the words state
what exists and where. They come from skills, which strangers write: they are cleaned, and cut
before they could crowd out the user's own.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from prowess.hooks.harness import Harness
from prowess.hooks.payloads import Incoming
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


def _copilot_context(_incoming: Incoming, context: str) -> Mapping[str, object]:
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
    (Harness.COPILOT, "sessionStart"): _copilot_context,
    (Harness.COPILOT, "SessionStart"): _specific,
    # It takes no context with a prompt.
    (Harness.VSCODE, "SessionStart"): _specific,
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


LONGEST = 2_000
MOST_SKILLS = 3
# With the hints of a prompt still below what every harness takes inline.
LONGEST_INDEX = 7_800
_LONGEST_NAME, _LONGEST_WHY = 120, 320
_COVER = "Skills of this workspace that cover this request (found by Prowess):"
_MAY_COVER = "Skills of this workspace that may cover this request (found by Prowess):"
_INDEX = (
    "Skills that are ready in this workspace (listed by Prowess). The file at a location holds the"
    " instructions of its skill."
)
_OPEN = "<available_skills>"
_NO_PATH = re.compile(r"[<>\t\n]")
_COMMAND = re.compile(r"/[A-Za-z][\w:.-]*(?:\s|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """A skill that fits a prompt, and what shows it."""

    name: str
    path: str
    score: float
    why: str = ""


def is_command(prompt: str) -> bool:
    """Return whether a prompt calls a command of the harness, which knows best what that means."""
    return _COMMAND.match(prompt.lstrip()) is not None


def prompt_context(hints: Sequence[Hint], *, is_sure: bool) -> str:
    """Return what to say beside a prompt; nothing where no skill fits."""
    lines = [_COVER if is_sure else _MAY_COVER]
    left = LONGEST - len(lines[0])
    for hint in hints[:MOST_SKILLS]:
        line = _line(hint, left - 1)
        if line:
            lines.append(line)
            left -= len(line) + 1
    return "\n".join(lines) if len(lines) > 1 else ""


def _line(hint: Hint, most: int) -> str:
    """Return one skill on one line; a cut path would lead nowhere, so that is never cut.

    Nor is one shown that cannot be shown as it is: a folder whose name closes a frame of the
    harness, or begins a line of its own, was named to be read as something else.
    """
    if clean(hint.path) != hint.path or _NO_PATH.search(hint.path):
        return ""
    name = _unframed(one_line(hint.name)[:_LONGEST_NAME])
    said = f"- {name} (score {hint.score:.2f}), file {hint.path}"
    why = one_line(hint.why)
    why = why if len(why) <= _LONGEST_WHY else why[: _LONGEST_WHY - 1].rstrip() + "…"
    whole = f"{said}: {_unframed(why)}" if why else said
    return next((text for text in (whole, said) if len(text) <= most), "")


def _unframed(text: str) -> str:
    """Return text that opens and closes no frame: harnesses put what we say between tags."""
    return text.replace("<", "&lt;").replace(">", "&gt;")


def index_context(block: str, *, listed: int, total: int) -> str:
    """Return the list of all skills out of a prompt's block; nothing where it lists none."""
    start = block.find(_OPEN)
    if start < 0 or not listed:
        return ""
    rest = f" {listed} of {total} fit here." if listed < total else ""
    return f"{_INDEX}{rest}\n{block[start:]}"
