"""One payload of each event of each harness, and what it accepts as an answer.

For tests and for the self-test of `prowess doctor`; `samples.toml` is written from the harnesses'
field lists, apart from the code that makes answers. Silence always fits.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from prowess.data import read_table
from prowess.hooks.harness import Harness, Moment

Schema = Callable[[str], str]
# What harnesses take whole; longer context is stored away and only its beginning shown.
INLINE_CHARS = 10_000


# Stands in a shape for a text that says something and is short enough to be read.
CONTEXT = "<context>"


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


def _object(text: str) -> tuple[object, str]:
    if not text:
        return None, ""
    try:
        found = json.loads(text)
    except ValueError:
        return None, "the answer is not JSON."
    return found, ""


def _difference(found: object, wanted: object, where: str) -> str:
    if wanted == CONTEXT:
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


def _read_samples() -> Iterator[PayloadSample]:
    for caller in read_table("hooks/samples.toml")["callers"]:
        for call in caller["calls"]:
            yield _sample(caller, call)


def _sample(caller: Mapping[str, Any], call: Mapping[str, Any]) -> PayloadSample:
    event, says = call["event"], call.get("says", {})
    always = {key: event if said == _EVENT else said for key, said in caller["always"].items()}
    nothing = dict.fromkeys((*caller.get("nothing", ()), *call.get("nothing", ())))
    schema = shaped(call["answer"]) if "answer" in call else silence
    return PayloadSample(
        harness=Harness(caller["harness"]),
        moment=Moment(call["moment"]),
        event=event,
        payload=json.dumps({**always, **says, **nothing}).encode(),
        environ=caller.get("environ", {}),
        answers_with=appended(says[call["repeats"]]) if "repeats" in call else schema,
    )


# Stands for the event in what a harness says with every call.
_EVENT = "{event}"
SAMPLES = tuple(_read_samples())
