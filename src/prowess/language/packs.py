"""Phrases as data: groups of regular expressions in TOML files, by language where that matters.

An item may be a list of pieces, which are one expression, and may name a place of its file in angle
brackets (`<BEGIN>`). Expressions are compiled late and once: so many take longer to compile than
most commands run.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from prowess.data import read_table


def read_pack(pack: str) -> dict[str, Any]:
    """Return a whole file of phrases."""
    return read_table(f"language/data/{pack}.toml")


@cache
def compile_group(pack: str, group: str, key: str = "", flags: int = 0) -> re.Pattern[str]:
    """Return what finds any phrase of a group.

    Args:
        pack: the name of the file.
        group: the group in it.
        key: one list of the group; all of them where it is empty.
        flags: those of `re.compile`.
    """
    return re.compile(join_phrases(pack, group, key), flags)


def join_phrases(pack: str, group: str, key: str = "") -> str:
    """Return an expression that finds any phrase of a group."""
    lists = read_pack(pack)[group]
    found = [lists[key]] if key else [value for value in lists.values() if isinstance(value, list)]
    return "|".join(f"(?:{item})" for items in found for item in _expand(pack, items))


def join_pieces(item: str | list[str]) -> str:
    """Return an item as one expression."""
    return item if isinstance(item, str) else "".join(item)


def _expand(pack: str, items: list[str | list[str]]) -> Iterator[str]:
    places = read_pack(pack).get("places", {})
    for item in map(join_pieces, items):
        for name, value in places.items():
            if name != "reason" and f"<{name}>" in item:
                # No place names another one.
                item = item.replace(f"<{name}>", join_pieces(value))  # noqa: PLW2901
        yield item
