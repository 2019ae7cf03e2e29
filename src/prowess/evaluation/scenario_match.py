"""Whether what was seen is what a scenario expects, and where it first is not.

An object needs the keys that are named and may have others; a list needs exactly its items. In a
text `...` stands for any text, and `${name}` for a value that has this name from then on.
"""

import json
import re
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass

_ANY = "..."
_NAME = re.compile(r"\$\{([A-Za-z]\w*)\}")
_LONGEST = 400
_ABSENT = "nothing"

Names = MutableMapping[str, object]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Something that is not as it should be."""

    # Such as `proposals[0].status`.
    place: str
    expected: str
    seen: str


def match(expected: object, seen: object, names: Names, place: str) -> list[Mismatch]:
    """Return what in `seen` is not as expected; values that are named are added to `names`."""
    if isinstance(expected, Mapping):
        return _objects(expected, seen, names, place)
    if isinstance(expected, Sequence) and not isinstance(expected, str):
        return _lists(expected, seen, names, place)
    if isinstance(expected, str):
        return _texts(expected, seen, names, place)
    same = expected == seen and isinstance(expected, bool) == isinstance(seen, bool)
    return [] if same else [Mismatch(place, shown(expected), shown(seen))]


def follows(pattern: str, text: str) -> bool:
    """Return whether a text is the expected one, where `...` stands for any text."""
    parts = pattern.split(_ANY)
    if len(parts) == 1:
        return pattern == text
    # One pass from left to right: no pattern can make this slow.
    first, *middle, last = parts
    if not text.startswith(first) or len(text) < len(first) + len(last):
        return False
    end, at = len(text) - len(last), len(first)
    for part in middle:
        at = text.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return text.endswith(last)


def missing(patterns: Sequence[str], lines: Sequence[str]) -> str | None:
    """Return the first pattern that no line follows after those of the patterns before it."""
    left = iter(lines)
    for pattern in patterns:
        if not any(follows(pattern, line) for line in left):
            return pattern
    return None


def names_in(value: object) -> Iterator[str]:
    """Yield the names that stand in a value."""
    if isinstance(value, Mapping):
        for part in value.values():
            yield from names_in(part)
    elif isinstance(value, str):
        if found := _NAME.fullmatch(value):
            yield found[1]
    elif isinstance(value, Sequence):
        for part in value:
            yield from names_in(part)


def filled(value: object, names: Mapping[str, object]) -> object:
    """Return a value with what is known in place of each name."""
    if isinstance(value, Mapping):
        return {key: filled(part, names) for key, part in value.items()}
    if isinstance(value, str):
        found = _NAME.fullmatch(value)
        return names.get(found[1], value) if found else value
    return [filled(part, names) for part in value] if isinstance(value, Sequence) else value


def shown(value: object) -> str:
    """Return a value as one line that a person can compare."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _objects(
    expected: Mapping[object, object], seen: object, names: Names, place: str
) -> list[Mismatch]:
    if not isinstance(seen, Mapping):
        return [Mismatch(place, shown(expected), shown(seen))]
    found: list[Mismatch] = []
    for key, part in expected.items():
        inner = f"{place}.{key}"
        if key in seen:
            found += match(part, seen[key], names, inner)
        # `null` also means that there is no such key.
        elif part is not None:
            found.append(Mismatch(inner, shown(part), _ABSENT))
    return found


def _lists(expected: Sequence[object], seen: object, names: Names, place: str) -> list[Mismatch]:
    if not isinstance(seen, Sequence) or isinstance(seen, str):
        return [Mismatch(place, shown(expected), shown(seen))]
    if len(seen) != len(expected):
        brief = [_like(expected[0], item) for item in seen] if expected else seen
        return [Mismatch(place, shown(expected), shown(brief))]
    found: list[Mismatch] = []
    for number, (part, item) in enumerate(zip(expected, seen, strict=True)):
        found += match(part, item, names, f"{place}[{number}]")
    return found


def _like(expected: object, seen: object) -> object:
    """Return of what was seen the keys that are expected: the rest would bury them."""
    if not isinstance(expected, Mapping) or not isinstance(seen, Mapping):
        return seen
    return {key: seen[key] for key in expected if key in seen}


def _texts(expected: str, seen: object, names: Names, place: str) -> list[Mismatch]:
    named = _NAME.fullmatch(expected)
    if named:
        known = names.setdefault(named[1], seen)
        return [] if known == seen else [Mismatch(place, shown(known), shown(seen))]
    if isinstance(seen, str) and follows(expected, seen):
        return []
    return [Mismatch(place, shown(expected), shown(seen))]
