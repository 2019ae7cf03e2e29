"""One number per skill from all signals, and what each signal adds to it.

Meaning and words are weighed by how much words can say: skills of a line or two are found by
meaning, skills with long bodies by words. An English encoder has no say on other scripts. The
weights are fitted by `training.constants` and lie beside the model.
"""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prowess.data import read_table
from prowess.routing.breadth import Breadth
from prowess.routing.dense import DenseScores
from prowess.routing.lexical import LexicalScores
from prowess.routing.words import MessageShape

Floats: TypeAlias = NDArray[np.float32]

# Against skills that are made to fit everything: no set of honest ones can say how much.
_BREADTH_SHARE, _MOST_BREADTH = 8.0, 0.06
_NEGATIVE_SHARE = 0.4
# Half of the letters in another script, and an English vector means nothing.
_FOREIGN_ENOUGH = 0.5


class Shares(NamedTuple):
    """What each signal weighs."""

    # The weight of meaning: this much at least, and more where skills have few words.
    least_meaning: float
    more_meaning: float
    few_words: float
    phrase: float
    opening: float
    name: float
    word_breadth: float
    # Of words that only paths, addresses and identifiers have: for the order, never for a load.
    mention: float


@cache
def read_shares() -> Shares:
    """Return the weights that were fitted for the model that ships."""
    return Shares(**read_table("model/constants.toml")["ranking"])


class Fused(NamedTuple):
    """What every signal adds for each skill; the total is their sum."""

    total: Floats
    parts: Mapping[str, Floats]
    # The weight that meaning had.
    meaning: float


def weight_of_meaning(words_per_skill: float, shape: MessageShape, *, english_only: bool) -> float:
    """Return how much meaning counts against words, from 0 to 1."""
    if not shape.words:
        return 0.0
    weight = weigh_meaning(words_per_skill, read_shares())
    foreign = max(shape.dense_script, shape.non_latin)
    if not english_only or foreign == 0:
        return weight
    return weight * max(0.0, 1 - foreign / _FOREIGN_ENOUGH)


def weigh_meaning(words_per_skill: float, shares: Shares) -> float:
    """Return how much meaning counts in a catalogue."""
    many = (words_per_skill / shares.few_words) ** 2
    return min(1.0, shares.least_meaning + shares.more_meaning / (1 + many))


def fuse(
    lexical: LexicalScores,
    dense: DenseScores | None,
    *,
    breadth: Breadth,
    weight: float,
    shares: Shares | None = None,
) -> Fused:
    """Weigh the scores of one message against each other, or of many, a row for each."""
    shares = shares or read_shares()
    parts: dict[str, Floats] = {}
    if dense is not None and weight > 0:
        phrase = shares.phrase * (dense.best - dense.whole)
        meant: Floats = dense.whole + shares.opening * (dense.opening - dense.whole)
        parts["meaning"] = weight * meant
        parts["phrase"] = weight * phrase
        # A skill that fits everything must fit better than one that fits this.
        parts["breadth"] = -np.minimum(weight * _BREADTH_SHARE * breadth.meaning, _MOST_BREADTH)
        parts["negation"] = -weight * _NEGATIVE_SHARE * np.maximum(dense.negative - dense.best, 0)
    parts["words"] = (1 - weight) * lexical.damped
    # The same for words: a description that has a word for every message must have more of them.
    common: Floats = np.minimum(breadth.words, lexical.damped)
    parts["common"] = (weight - 1) * shares.word_breadth * common
    parts["name"] = shares.name * lexical.names
    total = np.zeros_like(lexical.scores)
    for part in parts.values():
        total += part
    return Fused(total, parts, weight)
