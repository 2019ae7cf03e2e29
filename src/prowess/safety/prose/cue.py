"""What combinations of concepts look like: rows of a table, read into patterns.

A row is written as people would say it: `IGNORE > PRIOR > INSTRUCTION; near 9` holds where the
three stand in this order within nine words of one sentence. `+` is any order, `A|B` is either,
`block` and `section` reach beyond the sentence, `unless X` is off where X stands too, `never
negated` is off after a "not", and `even negated` does not care about one. A level and a confidence
may follow; the rule's own are the default.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple, TypedDict

from prowess.safety.model import Confidence, Level

# How many words a combination may span where its row does not say.
_NEAR = 40


class Window(StrEnum):
    """How far apart the concepts of a cue may stand."""

    SENTENCE = "sentence"
    BLOCK = "block"
    SECTION = "section"


class Row(NamedTuple):
    """A rule, what to say when it is met, and the combinations that meet it."""

    rule: str
    message: str
    patterns: tuple[str, ...]


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


def pattern(text: str) -> Pattern:
    """Read one combination that meets no rule by itself."""
    return Pattern(**_read(text)[0])


def cues(rows: Iterable[Row]) -> tuple[Cue, ...]:
    """Read the combinations of a table."""
    return tuple(_cue(row, text) for row in rows for text in row.patterns)


def _cue(row: Row, text: str) -> Cue:
    shape, words = _read(text)
    return Cue(
        **shape,
        rule=row.rule,
        message=row.message,
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
            # A slip in a table would otherwise be a rule that never holds, or holds too often.
            raise ValueError(f"{text!r}: {word!r} means nothing here")
    _check_concepts(text, shape)
    return shape, words


def _check_concepts(text: str, shape: _Shape) -> None:
    named = [concept for need in shape["needs"] for concept in need.split("|")]
    for concept in (*named, *shape["unless"]):
        if not _CONCEPT.fullmatch(concept):
            raise ValueError(f"{text!r}: {concept!r} is no concept")
