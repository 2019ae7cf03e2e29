"""Combinations of concepts that meet a rule, read from the rows of `cues.toml`.

The file says how a row is written. A slip in it is refused: it would be a rule that never holds, or
holds too often.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from typing import TypedDict

from prowess.data import read_table
from prowess.safety.model import Confidence, Level

_FILE = "safety/prose/cues.toml"
# How many words a combination may span where its row does not say.
_NEAR = 40


class Window(StrEnum):
    """How far apart the concepts of a cue may stand."""

    SENTENCE = "sentence"
    BLOCK = "block"
    SECTION = "section"


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """Concepts that stand together."""

    # Each entry is a concept, or several with `|` of which one must be there.
    needs: tuple[str, ...]
    near: int = _NEAR
    ordered: bool = False
    window: Window = Window.SENTENCE
    # It does not hold where one of these stands in the same sentences.
    unless: tuple[str, ...] = ()
    # It does not hold where a "not" stands right before it.
    never_negated: bool = False

    @cached_property
    def musts(self) -> tuple[str, ...]:
        """The needs that are one concept; most combinations fail at the first of them."""
        return tuple(need for need in self.needs if "|" not in need)

    @cached_property
    def groups(self) -> tuple[frozenset[str], ...]:
        """The needs as sets, to see quickly that one of them is missing."""
        return tuple(frozenset(need.split("|")) for need in self.needs)


@dataclass(frozen=True, kw_only=True)
class Cue(Pattern):
    """A combination of concepts that meets a rule."""

    rule: str
    message: str
    # Whether a "not" before it turns the sentence around ("never ignore …").
    negatable: bool = True
    # None: the level of the rule's row.
    level: Level | None = None
    confidence: Confidence = Confidence.HIGH


@cache
def read_cues() -> tuple[Cue, ...]:
    """Return the cues for any text."""
    return _read_groups("orders", "secrecy", "data")


@cache
def read_hidden_cues() -> tuple[Cue, ...]:
    """Return the cues for a text that the reader of the page does not see, beyond all others."""
    return _read_groups("hidden")


@cache
def read_compounds() -> dict[str, tuple[Pattern, ...]]:
    """Return the concepts made of concepts; each may use those above it."""
    rows = read_table(_FILE)["compounds"].items()
    return {name: tuple(map(read_pattern, texts.strip().splitlines())) for name, texts in rows}


def _read_groups(*groups: str) -> tuple[Cue, ...]:
    rows = (row for group in groups for row in read_table(_FILE)[group])
    return tuple(
        read_cue(row["rule"], row["message"], text)
        for row in rows
        for text in row["patterns"].strip().splitlines()
    )


def read_pattern(text: str) -> Pattern:
    """Read one combination that meets no rule by itself."""
    return Pattern(**_read(text)[0])


def read_cue(rule: str, message: str, text: str) -> Cue:
    """Read one combination that meets a rule."""
    shape, words = _read(text)
    return Cue(
        **shape,
        rule=rule,
        message=message,
        negatable="even negated" not in words,
        level=next((level for level in Level if level.value in words), None),
        confidence=next((each for each in Confidence if each.value in words), Confidence.HIGH),
    )


class _Shape(TypedDict):
    """The fields of a `Pattern`."""

    needs: tuple[str, ...]
    near: int
    ordered: bool
    window: Window
    unless: tuple[str, ...]
    never_negated: bool


_CONCEPT = re.compile(r"[A-Z][A-Z_]*")
_FLAGS = frozenset(
    (
        "even negated",
        "never negated",
        *(level.value for level in Level),
        *(confidence.value for confidence in Confidence),
    )
)


def _read(text: str) -> tuple[_Shape, list[str]]:
    first, *words = (part.strip() for part in text.split(";"))
    separator = ">" if ">" in first else "+"
    shape = _Shape(
        needs=tuple(need.strip() for need in first.split(separator)),
        near=_NEAR,
        ordered=separator == ">",
        window=Window.SENTENCE,
        unless=(),
        never_negated="never negated" in words,
    )
    for word in words:
        if word.startswith("near "):
            shape["near"] = int(word.removeprefix("near "))
        elif word.startswith("unless "):
            shape["unless"] = tuple(word.split()[1:])
        elif word in {Window.BLOCK, Window.SECTION}:
            shape["window"] = Window(word)
        elif word not in _FLAGS:
            raise ValueError(f"{text!r}: {word!r} means nothing here")
    _check_concepts(text, shape)
    return shape, words


def _check_concepts(text: str, shape: _Shape) -> None:
    named = [concept for need in shape["needs"] for concept in need.split("|")]
    for concept in (*named, *shape["unless"]):
        if not _CONCEPT.fullmatch(concept):
            raise ValueError(f"{text!r}: {concept!r} is no concept")
