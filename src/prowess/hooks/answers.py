"""What a hook answers, in the schema of its caller; nothing where the caller would not read it.

Some harnesses refuse an answer with one key too many and others lose it without a word, so each
event has its own form here and no form is shared for looking alike.
"""

import json
from collections.abc import Callable, Mapping

from prowess.hooks.harness import Harness
from prowess.hooks.payloads import Incoming

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
