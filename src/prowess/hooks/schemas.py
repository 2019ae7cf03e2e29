"""What each harness accepts as an answer, written down apart from the code that makes answers.

A schema takes the text that a hook printed and returns what is wrong with it, or nothing. Silence
always fits: every harness goes on as if there were no hook.
"""

import json
from collections.abc import Callable, Mapping

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
