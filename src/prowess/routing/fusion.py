"""One number per skill from all signals, and what each signal adds to it.

Meaning and words are weighed by how much words can say: skills of a line or two are found by
meaning, skills with long bodies by words. An English encoder has no say on other scripts.
"""

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prowess.routing.breadth import Breadth
from prowess.routing.dense import DenseScores
from prowess.routing.lexical import LexicalScores
from prowess.routing.words import MessageShape

Floats: TypeAlias = NDArray[np.float32]

# The weight of meaning: this much at least, and more where skills have few words.
LEAST_MEANING, _MORE_MEANING, _FEW_WORDS = 0.3, 0.5, 10.0
_PHRASE_SHARE, _OPENING_SHARE = 0.25, 0.2
_NAME_SHARE, _WORDS_FOR_NAMES = 0.03, 40.0
_BREADTH_SHARE, _MOST_BREADTH, _WORD_BREADTH_SHARE = 8.0, 0.06, 0.5
_NEGATIVE_SHARE = 0.4
# Half of the letters in another script, and an English vector means nothing.
_FOREIGN_ENOUGH = 0.5


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
    weight = LEAST_MEANING + _MORE_MEANING / (1 + (words_per_skill / _FEW_WORDS) ** 2)
    foreign = max(shape.dense_script, shape.non_latin)
    if not english_only or foreign == 0:
        return weight
    return weight * max(0.0, 1 - foreign / _FOREIGN_ENOUGH)


def fuse(
    lexical: LexicalScores,
    dense: DenseScores | None,
    *,
    breadth: Breadth,
    weight: float,
    words_per_skill: float,
) -> Fused:
    """Weigh the scores of one message against each other."""
    parts: dict[str, Floats] = {}
    if dense is not None and weight > 0:
        phrase = _PHRASE_SHARE * (dense.best - dense.whole)
        meant: Floats = dense.whole + _OPENING_SHARE * (dense.opening - dense.whole)
        parts["meaning"] = weight * meant
        parts["phrase"] = weight * phrase
        # A skill that fits everything must fit better than one that fits this.
        parts["breadth"] = -np.minimum(weight * _BREADTH_SHARE * breadth.meaning, _MOST_BREADTH)
        parts["negation"] = -weight * _NEGATIVE_SHARE * np.maximum(dense.negative - dense.best, 0)
    parts["words"] = (1 - weight) * lexical.damped
    # The same for words: a description that has a word for every message must have more of them.
    common: Floats = np.minimum(breadth.words, lexical.damped)
    parts["common"] = (weight - 1) * _WORD_BREADTH_SHARE * common
    name_share = _NAME_SHARE * min(1.0, words_per_skill / _WORDS_FOR_NAMES)
    parts["name"] = name_share * lexical.names
    total = np.zeros_like(lexical.scores)
    for part in parts.values():
        total += part
    return Fused(total, parts, weight)
