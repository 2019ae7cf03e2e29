"""Typed access to frontmatter fields, whatever their spelling.

Harnesses spell one key as `user-invocable`, `user_invocable` or `userInvocable`; all are one here.
"""

import json
import re
from collections import Counter

from prowess.skills.frontmatter import Frontmatter
from prowess.skills.json_text import read_object
from prowess.skills.model import Fields, Value

_TRUE = frozenset(("true", "1", "yes", "on", "y", "t"))
_FALSE = frozenset(("false", "0", "no", "off", "n", "f"))


class UnreadableError(Exception):
    """A value is present but has a shape that says nothing; never leaves `skills`."""


def squeeze(key: str) -> str:
    """Return `key` without the differences between kebab, snake and camel case."""
    return key.replace("-", "").replace("_", "").lower()


class FieldReader:
    """Reads the top-level fields of one frontmatter."""

    def __init__(self, front: Frontmatter) -> None:
        self.front = front
        self._keys = {squeeze(key): key for key in reversed(front.fields)}
        # One key in two spellings: which of the two was meant is anybody's guess.
        spellings = Counter(squeeze(key) for key in front.fields)
        self.ambiguous = {key for key, count in spellings.items() if count > 1}

    def key(self, *names: str) -> str | None:
        """Return the spelling, as written, of the first of `names` that is present."""
        for name in names:
            found = self._keys.get(squeeze(name))
            if found is not None:
                return found
        return None

    def value(self, *names: str) -> Value:
        """Return the value of the first of `names` that is present, else None."""
        key = self.key(*names)
        return None if key is None else self.front.fields[key]

    def text(self, *names: str) -> str:
        """Return a value as trimmed text; empty where absent or null."""
        key = self.key(*names)
        if key is None or self.front.fields[key] is None:
            return ""
        raw, value = self.front.texts.get(key, "").strip(), self.front.fields[key]
        # `[file] [line]` is text to people; a list over several lines is not.
        is_block = isinstance(value, (dict, list)) and raw[:1] not in {"[", "{"}
        return as_text(value) if is_block or not raw else raw

    def flag(self, name: str, *, default: bool, ambiguous: bool) -> bool:
        """Return a yes or no in any of its spellings; anything else is the default.

        Args:
            name: the key.
            default: what an absent or nonsensical value means.
            ambiguous: what the key means where it stands there in two spellings.
        """
        if squeeze(name) in self.ambiguous:
            return ambiguous
        return as_flag(self.value(name), default=default)

    def words(self, *names: str) -> tuple[str, ...]:
        """Return a list, or a comma-separated string as a list; other shapes are empty."""
        try:
            return strings(self.value(*names))
        except UnreadableError:
            return ()

    def line(self, *names: str) -> int | None:
        """Return the line on which the value stands."""
        key = self.key(*names)
        return None if key is None else self.front.lines.get(key)


def as_text(value: Value) -> str:
    """Return a scalar as text and a list or map as compact JSON."""
    if isinstance(value, str):
        return value.strip()
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def as_flag(value: Value, *, default: bool) -> bool:
    """Return a yes or no in any of its spellings; anything else is the default."""
    word = as_text(value).lower()
    if word in _TRUE:
        return True
    return False if word in _FALSE else default


def strings(value: Value, *, split: str = ",") -> tuple[str, ...]:
    """Return a list of strings, in order and without blanks or repetitions.

    Raises:
        UnreadableError: the value is neither a list of scalars nor a string.
    """
    if value is None:
        return ()
    if isinstance(value, str):
        items: list[str] = re.split(f"[{split}]", value)
    elif isinstance(value, (list, tuple)):
        items = [_scalar(item) for item in value]
    else:
        raise UnreadableError
    words = tuple(dict.fromkeys(word for item in items if (word := item.strip())))
    if items and not words:
        # Blanks where names were meant: an empty list would ask for nothing at all.
        raise UnreadableError
    return words


def _scalar(value: Value) -> str:
    if value is None or isinstance(value, (dict, list)):
        raise UnreadableError
    return as_text(value)


def keyed(value: Fields) -> Fields:
    """Return a map with its keys squeezed, for look-ups that forgive spelling.

    Raises:
        UnreadableError: two of its keys are one key in two spellings.
    """
    found = {squeeze(key): item for key, item in value.items()}
    if len(found) != len(value):
        raise UnreadableError
    return found


def mapping(value: Value) -> Fields:
    """Return a map, also one that is written as a JSON string; absent is empty.

    Raises:
        UnreadableError: the value is something else.
    """
    if value is None:
        return {}
    found = read_object(value) if isinstance(value, str) else value
    if not isinstance(found, dict):
        raise UnreadableError
    return found
