"""Whether the best skills are good enough: to load, to offer, or neither.

Ranking and deciding are different questions. Words help to tell skills apart and say little about
whether any is meant, so the evidence for "is meant at all" has terms of its own: a lead over the
next skill counts where texts are long (everything shares words there), and a message that any
assistant could answer needs more. The scale was fitted once, on labelled sets of very different
catalogues, so that one half means "load" for all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from prowess.routing.fusion import LEAST_MEANING
from prowess.routing.model import Decision, Thresholds

Floats: TypeAlias = NDArray[np.float32]

DEFAULT = Thresholds(load=0.5, offer=0.2)
# A skill is loaded beside the best only if it fits nearly as well.
_NEARLY = 0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """From raw evidence to a score: the evidence that stands for one half, and how steep it is."""

    least: float = 0.17
    # Meaning scores higher than words, and long texts share words with anything.
    by_meaning: float = 0.44
    long_texts: float = 0.11
    # Without an encoder only words are left, on a scale of their own.
    words_only: float = 0.115
    long_words_only: float = 0.06
    steepness: float = 0.05
    lead: float = 1.2
    everyday: float = 0.06

    def half(self, words_per_skill: float, weight: float) -> float:
        """Return the evidence that is as likely enough as not; `weight` is that of meaning."""
        if weight <= 0:
            return self.words_only + self.long_words_only * _many(words_per_skill)
        more = max(0.0, weight - LEAST_MEANING)
        return self.least + self.by_meaning * more + self.long_texts * _many(words_per_skill)


def _many(words_per_skill: float) -> float:
    return words_per_skill / (words_per_skill + 400)


def scores(
    evidence: Floats, leaning: float, *, words_per_skill: float, weight: float, scale: Scale
) -> Floats:
    """Return the score of each skill from its evidence, from 0 to 1, in the same order.

    Args:
        evidence: the fused total of each skill.
        leaning: how far the message leans to errands, negative for everyday messages.
        words_per_skill: how long the catalogue's texts are.
        weight: the weight that meaning had; 0 without an encoder.
        scale: the constants that were fitted for encoder and fusion.
    """
    if not len(evidence):
        return evidence
    raised = evidence + scale.everyday * leaning
    if len(evidence) > 1:
        best = int(evidence.argmax())
        second = float(np.partition(evidence, -2)[-2])
        lead = float(evidence[best]) - second
        raised = raised.copy()
        raised[best] += scale.lead * _many(words_per_skill) * lead
    half = scale.half(words_per_skill, weight)
    # Beyond these the exponential overflows, and the score is 0 or 1 anyway.
    steps = np.clip((raised - half) / scale.steepness, -40, 40)
    scored: Floats = (1 / (1 + np.exp(-steps))).astype(np.float32)
    return scored


def decide(
    order: Sequence[int], scored: Floats, evidence: Floats, thresholds: Thresholds, most: int
) -> tuple[Decision, list[int]]:
    """Return what to do and with which skills, best first."""
    if not order or most < 1:
        return Decision.NONE, []
    top = order[0]
    for decision, least in ((Decision.LOAD, thresholds.load), (Decision.OFFER, thresholds.offer)):
        if scored[top] >= least:
            near = [
                index
                for index in order[:most]
                if scored[index] >= least and evidence[index] >= _NEARLY * evidence[top]
            ]
            return decision, near or [top]
    return Decision.NONE, []
