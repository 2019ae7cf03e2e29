"""JSON and JSON5 objects out of text that another format carries.

Only what every later stage can print and compare is let through: bounded depth and numbers, no
repeated keys, no half characters.
"""

import json
import math
import re
from typing import Any

from prowess.skills.model import Value

_MAX_JSON5_CHARS = 1_500
_MAX_DEPTH = 32
_MAX_NUMBER = 2**63
# What plain JSON does not know: single quotes, comments, trailing commas, keys without quotes.
# No part is tried twice at one place: a file of a stranger must not take longer than its length.
_RELAXED = re.compile(
    r'"(?:[^"\\\n]|\\.)*+"?'
    r"|(?P<single>'(?:[^'\\\n]|\\.)*+')|'(?:[^'\\\n]|\\.)*+"
    r"|(?P<gap>//[^\n]*|/\*.*?\*/|,(?=\s*[}\]]))|/\*.*"
    r"|(?<![A-Za-z0-9_$])(?P<key>[A-Za-z_$][A-Za-z0-9_$]*+)(?=\s*:)",
    re.DOTALL,
)


class RepeatedKeyError(ValueError):
    """A key occurs twice in one object; never leaves the readers of JSON."""


def read_object(text: str) -> dict[str, Value] | None:
    """Read one JSON or JSON5 object, or return None where `text` is not one that we trust."""
    value = _read(text)
    return value if isinstance(value, dict) and is_plain(value) else None


# JSON can be anything until it is looked at; the same below.
def _read(text: str) -> Any:  # noqa: ANN401
    for attempt in (text, relax(text)):
        try:
            return strict_loads(attempt)
        except RepeatedKeyError:
            return None
        except (ValueError, RecursionError):
            continue
    # What is left is rare (hexadecimal numbers, line ends in strings), and its reader is slow.
    if len(text) > _MAX_JSON5_CHARS:
        return None
    # Most files are plain JSON: the reader for the rest costs as much to import as all of YAML.
    import json5

    try:
        return json5.loads(text, allow_duplicate_keys=False)
    except (ValueError, RecursionError):
        return None


# See above.
def strict_loads(text: str) -> Any:  # noqa: ANN401
    """Read JSON in which no key is repeated and no number is a word.

    Raises:
        ValueError: the text is something else.
    """
    return json.loads(text, object_pairs_hook=_without_repetition, parse_constant=_no_constant)


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise RepeatedKeyError(key)
        found[key] = value
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")


def relax(text: str) -> str:
    """Return JSON5 as plain JSON, as far as that goes without reading it."""
    return _RELAXED.sub(_as_json, text)


def _as_json(match: re.Match[str]) -> str:
    if match["single"]:
        inner = match["single"][1:-1].replace("\\'", "'")
        return '"' + re.sub(r'(?<!\\)"', '\\"', inner) + '"'
    if match["key"]:
        return f'"{match["key"]}"'
    return " " if match["gap"] else match[0]


# See above.
def is_plain(value: Any) -> bool:  # noqa: ANN401
    """Return whether every part of `value` can be printed, compared and encoded."""
    stack = [(value, 0)]
    while stack:
        item, depth = stack.pop()
        if depth > _MAX_DEPTH or not _is_plain_scalar(item):
            return False
        if isinstance(item, dict):
            stack += [(part, depth + 1) for pair in item.items() for part in pair]
        elif isinstance(item, list):
            stack += [(part, depth + 1) for part in item]
    return True


def _is_plain_scalar(item: object) -> bool:
    if isinstance(item, str):
        return item.isascii() or not any("\ud800" <= char <= "\udfff" for char in item)
    if isinstance(item, float):
        return math.isfinite(item)
    return not isinstance(item, int) or abs(item) < _MAX_NUMBER


def closing_brace(text: str, start: int) -> int | None:
    """Return the index after the `}` that closes the `{` at `start`; strings are skipped."""
    depth, index = 0, start
    while index < len(text):
        char = text[index]
        if char in "\"'":
            index = _after_string(text, index)
            continue
        if text.startswith(("//", "/*"), index):
            index = _after_comment(text, index)
            continue
        depth += {"{": 1, "}": -1}.get(char, 0)
        index += 1
        if depth == 0:
            return index
    return None


def _after_string(text: str, start: int) -> int:
    index = start + 1
    while index < len(text) and text[index] != text[start]:
        index += 2 if text[index] == "\\" else 1
    return index + 1


def _after_comment(text: str, start: int) -> int:
    mark = "\n" if text.startswith("//", start) else "*/"
    end = text.find(mark, start + 2)
    return len(text) if end < 0 else end + len(mark)
