"""Places in the config, as people and clients write them: `agents.list[0].skills`.

A place is a tuple of parts and not a text, since a key may hold dots itself. Only `matches` reads
the text form, and there an entry of a list goes by its number, by its id, or as any of them (`[]`).
"""

import re
from typing import NamedTuple, TypeAlias

from prowess.skills.text import one_line

_TOKEN = re.compile(r'"(?P<quoted>[^"]*)"|\[(?P<item>[^\]]*)\]|(?P<key>[^.\[\]"]+)')
_PLAIN_KEY = re.compile(r"[^.\[\]\"\s]+")
_LONGEST = 300


class Item(NamedTuple):
    """An entry of a list."""

    number: int
    # Empty where it has none.
    id: str = ""


Path: TypeAlias = tuple[str | Item, ...]


def dotted(path: Path) -> str:
    """Return how a place is written in an answer or a message."""
    text = ""
    for part in path:
        if isinstance(part, Item):
            text += f"[{part.number}]"
        else:
            key = part if _PLAIN_KEY.fullmatch(part) else f'"{part}"'
            text += f".{key}" if text else key
    return one_line(text)[:_LONGEST] or "config"


def pattern(path: Path) -> str:
    """Return how a place is written where any entry of a list is meant."""
    return re.sub(r"\[\d+\]", "[]", dotted(path))


def matches(path: Path, wanted: str) -> bool:
    """Return whether `wanted` names this place."""
    tokens = list(_TOKEN.finditer(wanted))
    return len(tokens) == len(path) and all(
        _is_meant(part, token) for part, token in zip(path, tokens, strict=True)
    )


def _is_meant(part: str | Item, token: re.Match[str]) -> bool:
    if isinstance(part, Item):
        names = {"", "*", str(part.number)} | ({part.id} if part.id else set())
        return token["item"] is not None and token["item"] in names
    return part == (token["key"] if token["quoted"] is None else token["quoted"])
