"""Arguments of tool calls, checked against the closed schemas that the model was given.

A model makes mistakes: what is wrong comes back as a sentence that it can act on, never as an
exception. Only what our own schemas use is understood: flat objects of strings, numbers and flags.
"""

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any]
Arguments: TypeAlias = str | Mapping[str, Any]

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "boolean": (bool,),
}
_MOST_CHARS = 200_000
# Stands for arguments that are no object, so that nothing takes them for one.
NO_OBJECT = "(no object)"


# No error of ours: it is caught near by and becomes a sentence.
class ArgumentsRefused(ValueError):  # noqa: N818
    """The arguments do not fit the schema; the message says how to mend them."""


def closed(properties: Mapping[str, Schema], required: tuple[str, ...] = ()) -> Schema:
    """Return the schema of an object that has these properties and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def as_object(parsed: object) -> dict[str, Any]:
    """Return what was parsed if it is an object, else one that `read_arguments` refuses.

    A string is never parsed a second time: whoever decides about a call and whoever acts on it must
    see the same arguments.
    """
    return parsed if isinstance(parsed, dict) else {NO_OBJECT: True}


def read_arguments(arguments: Arguments, schema: Schema) -> dict[str, Any]:
    """Return the arguments of a call, checked.

    Raises:
        ArgumentsRefused: they are no JSON object, or do not fit.
    """
    given = _parsed(arguments)
    properties: Mapping[str, Schema] = schema["properties"]
    unknown = sorted(set(given) - set(properties))
    if unknown:
        known = ", ".join(properties)
        raise ArgumentsRefused(f"there is no argument {unknown[0]!r}: give only {known}")
    # A model that has nothing to say often says null.
    present = {name: value for name, value in given.items() if value is not None}
    for name in schema["required"]:
        if name not in present:
            raise ArgumentsRefused(f"the argument {name!r} is missing")
    for name, value in present.items():
        _check(name, value, properties[name])
    return present


def _parsed(arguments: object) -> dict[str, Any]:
    if isinstance(arguments, str):
        if len(arguments) > _MOST_CHARS:
            raise ArgumentsRefused(f"the arguments are longer than {_MOST_CHARS} characters")
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError) as error:
            raise ArgumentsRefused(f"the arguments are not JSON ({error})") from error
    if not isinstance(arguments, Mapping) or NO_OBJECT in arguments:
        raise ArgumentsRefused(
            "the arguments must be one JSON object, and not a string that holds one"
        )
    return {str(name): value for name, value in arguments.items()}


def _check(name: str, value: object, schema: Schema) -> None:
    kind: str = schema["type"]
    # A flag is a number to Python and to nobody else.
    is_flag = isinstance(value, bool)
    if not isinstance(value, _TYPES[kind]) or (is_flag and kind != "boolean"):
        raise ArgumentsRefused(f"the argument {name!r} must be of type {kind}")
    allowed = schema.get("enum")
    if allowed is not None and value not in allowed:
        raise ArgumentsRefused(f"the argument {name!r} must be one of {', '.join(allowed)}")
    low, high = schema.get("minimum"), schema.get("maximum")
    if isinstance(value, int) and low is not None and high is not None and not low <= value <= high:
        raise ArgumentsRefused(f"the argument {name!r} must be from {low} to {high}")
