"""Tables of the readers, as TOML beside them: lists of words, and patterns written in parts.

A pattern is one text or a list of alternatives; a list is joined by `|`.
"""

import re
from functools import cache
from typing import Any

from prowess.data import read_table, read_words


@cache
# What a table holds is known to who asks for it.
def load_table(name: str, *keys: str) -> Any:  # noqa: ANN401
    """Return what a table of the readers holds under `keys`; nobody may change it."""
    found: Any = read_table(f"safety/languages/{name}.toml")
    for key in keys:
        found = found[key]
    return found


@cache
def load_words(name: str, *keys: str) -> frozenset[str]:
    """Return a list of words."""
    return read_words(load_table(name, *keys))


@cache
def load_pattern(name: str, *keys: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern, compiled."""
    return re.compile(join_pattern(load_table(name, *keys)), flags)


def join_pattern(written: str | list[str]) -> str:
    """Return a pattern as one text."""
    return written if isinstance(written, str) else "|".join(written)


@cache
def load_index(name: str, *keys: str) -> dict[str, str]:
    """Return each word of several lists with the name of its list."""
    lists: dict[str, str] = load_table(name, *keys)
    return {word: kind for kind, text in lists.items() for word in text.split()}
