"""JSON and JSON5 objects out of text that another format carries."""

import json
from typing import Any

from prowess.skills.model import Value

_MAX_JSON5_CHARS = 20_000


def read_object(text: str) -> dict[str, Value] | None:
    """Read one JSON or JSON5 object, or return None where `text` is not one."""
    value = _read(text)
    return value if isinstance(value, dict) else None


def _read(text: str) -> Any:  # noqa: ANN401
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    # The JSON5 reader is slow on long text; no real metadata comes near the bound.
    if len(text) > _MAX_JSON5_CHARS:
        return None
    # Most files are plain JSON: the reader for the rest costs as much to import as all of YAML.
    import json5  # noqa: PLC0415

    try:
        return json5.loads(text)
    except (ValueError, RecursionError):
        return None


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
