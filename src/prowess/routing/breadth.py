"""The bar for broad skills: one that fits everything must fit a message better than others.

How broad a skill is shows in how well it fits messages that are not for it.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prowess.routing.dense import DenseIndex
from prowess.routing.lexical import LexicalIndex

Floats: TypeAlias = NDArray[np.float32]
Numbers: TypeAlias = NDArray[np.floating]

# The share of messages for others above which a skill counts as broad.
_BROAD_QUANTILE = 0.98
# So many times the distance of the lower quarter from the middle, above the middle, sticks out.
_STICKS_OUT = 2.5
_FEW_SKILLS = 4
_HALF = 0.5


class Breadth(NamedTuple):
    """How much more than a typical skill each one fits messages that are not for it."""

    meaning: Floats
    words: Floats


def measure_words(lexical: LexicalIndex, texts: Sequence[str]) -> Floats:
    """Return how far each skill's words reach beyond a typical skill's, never below zero."""
    found = [lexical.score(text).damped for text in texts]
    if not lexical.size:
        return np.zeros(0, np.float32)
    high = quantile(np.array(found, np.float32).T, _BROAD_QUANTILE)
    above: Floats = np.maximum(high - middle(high[: lexical.known]), 0).astype(np.float32)
    return above


def measure_meaning(dense: DenseIndex, strangers: Floats, known: int | None = None) -> Floats:
    """Return how far beyond the others a skill is close to everything; zero for nearly all.

    Only what sticks out counts: some catalogues are close to everyday language as a whole.
    """
    near = (dense.whole @ strangers.T).mean(axis=1) if len(dense.whole) else np.zeros(0)
    # What the encoder cannot read is close to nothing, and no measure for the rest.
    read = near[:known][np.any(dense.whole[:known] != 0, axis=1)]
    if len(read) < _FEW_SKILLS:
        # Too few to say what is typical.
        return np.zeros(len(near), np.float32)
    # By the lower half alone: in a small catalogue the broad skill would be its own measure.
    low, half = (quantile(read, np.float64(share)) for share in (0.25, 0.5))
    above: Floats = np.maximum(near - (half + _STICKS_OUT * (half - low)), 0).astype(np.float32)
    return above


def quantile(values: Numbers, share: float) -> Numbers:
    """Return below what number this share of the values is, along the last axis.

    To the last bit as numpy has it, whose own function brings masked arrays along: to load them
    takes longer than to route a message. As there, a `share` of numpy's own kind makes the result
    as exact as that is, and a plain one leaves the kind of the values. All must be numbers.
    """
    last = values.shape[-1] - 1
    place = last * share
    # The last one has none above it, and is counted from the end as numpy does.
    below, above = (-1, -1) if place >= last else (int(place), int(place) + 1)
    part = place - below
    ordered = np.partition(values, (below, above), axis=-1)
    low, high = ordered[..., below], ordered[..., above]
    # From the nearer end, so that nothing is lost where the two are far apart.
    is_nearer_above = part >= _HALF
    found: Numbers = (
        high - (high - low) * (1 - part) if is_nearer_above else low + (high - low) * part
    )
    return found


def middle(values: Numbers) -> np.floating:
    """Return the median of a row of numbers, as numpy has it and for the same reason not by it."""
    first, last = (len(values) - 1) // 2, len(values) // 2
    found: np.floating = np.partition(values, (first, last))[first : last + 1].mean()
    return found
