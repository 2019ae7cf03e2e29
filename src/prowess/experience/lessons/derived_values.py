"""How one value follows from another: a file's name without its ending, a title as a slug.

Only what is certain counts: a derivation holds for a parameter where it holds in every trace.
"""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from urllib.parse import quote, quote_plus

from prowess.experience.value_kinds import Kind, ending_of, kind_of, without_ending


class Derivation(StrEnum):
    """A way in which a value follows from another, told as what it is."""

    SAME = ""
    FILE_NAME = "without its folder"
    STEM = "without folder and ending"
    PATH_STEM = "without its ending"
    FOLDER = "only its folder"
    BARE_VERSION = "without the leading v"
    DIGITS = "only its digits"
    DASHED = "with dashes between its parts"
    LOWER = "in small letters"
    UPPER = "in capitals"
    TITLE = "with a capital at its beginning"
    KEBAB = "in small letters with dashes"
    SNAKE = "in small letters with underscores"
    PASCAL = "as one word with inner capitals"
    SPACED = "in small letters with spaces"
    STEM_LOWER = "without folder and ending, in small letters"
    PLUS = "for a query, with + for each space"
    PERCENT = "percent-encoded"
    DEVICE = "with %s for each space"


_LONGEST = 300
_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")
_NOT_DIGIT = re.compile(r"\D+")


def _stem(value: str) -> str:
    return without_ending(value.rsplit("/", 1)[-1])


def _joined(value: str, sign: str) -> str:
    return sign.join(part.lower() for part in _PARTS.findall(value))


def _pascal(value: str) -> str:
    return "".join(part[:1].upper() + part[1:].lower() for part in _PARTS.findall(value))


_OF_PATHS: Mapping[Derivation, Callable[[str], str]] = MappingProxyType(
    {
        Derivation.FILE_NAME: lambda value: value.rstrip("/").rsplit("/", 1)[-1],
        Derivation.STEM: _stem,
        Derivation.PATH_STEM: without_ending,
        Derivation.FOLDER: lambda value: value.rpartition("/")[0],
        Derivation.STEM_LOWER: lambda value: _stem(value).lower(),
    }
)
_OF_DATES: Mapping[Derivation, Callable[[str], str]] = MappingProxyType(
    {
        Derivation.DIGITS: lambda value: _NOT_DIGIT.sub("", value),
        Derivation.DASHED: lambda value: _NOT_DIGIT.sub("-", value).strip("-"),
    }
)
_OF_WORDS: Mapping[Derivation, Callable[[str], str]] = MappingProxyType(
    {
        Derivation.LOWER: str.lower,
        Derivation.UPPER: str.upper,
        Derivation.TITLE: lambda value: value[:1].upper() + value[1:],
        Derivation.KEBAB: lambda value: _joined(value, "-"),
        Derivation.SNAKE: lambda value: _joined(value, "_"),
        Derivation.PASCAL: _pascal,
        Derivation.SPACED: lambda value: _joined(value, " "),
        Derivation.PLUS: quote_plus,
        Derivation.PERCENT: quote,
        Derivation.DEVICE: lambda value: value.replace(" ", "%s"),
    }
)


@lru_cache(maxsize=4_096)
def derived(value: str) -> Mapping[Derivation, str]:
    """Return what follows from a value, each way that applies to its kind."""
    if not value or len(value) > _LONGEST or "\n" in value:
        return MappingProxyType({Derivation.SAME: value})
    found = {Derivation.SAME: value}
    found |= {way: follow(value) for way, follow in _ways(value).items()}
    return MappingProxyType({way: text for way, text in found.items() if text})


def _ways(value: str) -> Mapping[Derivation, Callable[[str], str]]:
    kind = kind_of(value)
    if kind in (Kind.FILE, Kind.FOLDER) or "/" in value or ending_of(value):
        return _OF_PATHS
    if kind is Kind.DATE:
        return _OF_DATES
    if kind is Kind.VERSION:
        return {Derivation.BARE_VERSION: lambda text: text.lstrip("v")}
    return _OF_WORDS if kind in (Kind.TEXT, Kind.QUOTED) else {}
