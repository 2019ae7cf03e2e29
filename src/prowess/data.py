"""Tables that ship with the code, as TOML beside their readers: words, hosts, names, rule texts.

A list of words is one long string with blanks between them: that is short to read, and a TOML
parser written in Python takes it as fast as a file can be read.

A pattern is one text or a list of alternatives; a list is joined by `|`. Phrases stand in packs,
groups of regular expressions by language where that matters; an item of theirs may be a list of
pieces, which are one expression, and may name a place of its file in angle brackets (`<BEGIN>`).
They are compiled late and once: so many take longer to compile than most commands run.
"""

import hashlib
import os
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_CODE = (".py", ".toml", ".txt")


@cache
def read_table(name: str) -> dict[str, Any]:
    """Return a TOML file of the package; callers share it and must not change it.

    Args:
        name: its path below the package, such as `safety/prose/lexicon.toml`.
    """
    # Late: many modules have a table, and most quick commands need none of them.
    import tomllib

    with open(os.path.join(_PACKAGE, *name.split("/")), "rb") as file:
        return tomllib.load(file)


def read_text(name: str) -> str:
    """Return a text file of the package, such as a part of a script."""
    with open(os.path.join(_PACKAGE, *name.split("/")), encoding="utf-8") as file:
        return file.read()


@cache
def hash_code(*places: str) -> str:
    """Return what tells the code and tables in some places of the package from any others."""
    found = hashlib.sha256()
    for path in sorted(path for place in places for path in _list_code(place)):
        with open(path, "rb") as file:
            content = file.read()
        found.update(f"{os.path.relpath(path, _PACKAGE)}\0{len(content)}\0".encode())
        found.update(content)
    return found.hexdigest()


def _list_code(place: str) -> Iterator[str]:
    top = os.path.join(_PACKAGE, *place.split("/"))
    if place.endswith(_CODE):
        yield top
    for base, _folders, names in os.walk(top):
        yield from (os.path.join(base, name) for name in names if name.endswith(_CODE))


@cache
def read_word_group(name: str, group: str) -> frozenset[str]:
    """Return the `words` of one group of a TOML file of the package."""
    return read_words(read_table(name)[group]["words"])


def read_words(text: str) -> frozenset[str]:
    """Return the words of a list that is written as one string."""
    return frozenset(text.split())


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
