"""The text of a Python literal as a view: each letter at its place in the source."""

import re

from prowess.safety.views import View

_OPENING = re.compile(r"[A-Za-z]{0,2}(?:\"\"\"|'''|\"|')")
# What stands for one letter, or for none where a line is continued.
_UNIT = re.compile(
    r"\\(?:\r\n|[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]{0,80}\}|.)|\r\n|.",
    re.DOTALL,
)


def literal_view(view: View, text: str, start: int, end: int) -> View:
    """Return the text of a literal that stands from `start` to `end`, as a view of its letters."""
    raw = view.text[start:end]
    opening = _OPENING.match(raw)
    skip = opening.end() if opening else 0
    at = raw.find(text, skip) if text else -1
    if at >= 0:
        return view.cut(start + at, start + at + len(text))
    indices = _escaped(raw, skip, len(text))
    if indices is None:
        indices = _line_by_line(raw, text)
    if indices is None:
        return view.decoded(text, start, "")
    return view.derive(text, [start + index for index in indices])


def _escaped(raw: str, skip: int, size: int) -> list[int] | None:
    """Return where each letter stands; None where the literal is not one plain piece."""
    prefix = raw[:skip].rstrip("'\"").lower()
    if not skip or "r" in prefix or "f" in prefix:
        return None
    quotes = skip - len(prefix)
    found = [
        unit.start()
        for unit in _UNIT.finditer(raw, skip, max(skip, len(raw) - quotes))
        if unit[0] not in {"\\\n", "\\\r\n"}
    ]
    return found if len(found) == size else None


def _line_by_line(raw: str, text: str) -> list[int] | None:
    """Escapes and fields move letters within a line, never to another one."""
    if text.count("\n") != raw.count("\n"):
        return None
    indices: list[int] = []
    at = 0
    for shown, line in zip(text.split("\n"), raw.split("\n"), strict=True):
        last = at + len(line)
        indices.extend(min(at + column, last) for column in range(len(shown) + 1))
        at = last + 1
    return indices[: len(text)]
