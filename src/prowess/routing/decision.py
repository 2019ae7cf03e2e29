"""One number per skill from all signals, and whether the best are good enough to load or offer.

Ranking and deciding are different questions. Words help to tell skills apart and say little about
whether any is meant, so the evidence for "is meant at all" has terms of its own: a lead over the
next skill counts where texts are long (everything shares words there), and so does how much the
message says; a message that any assistant could answer needs more, and one that tells of an
occasion needs less of a topic. The scale is fitted on labelled sets of very different catalogues,
so that one half means "load" for all of them (`training.constants`); it lies beside the model.

For the ranking, meaning and words are weighed by how much words can say: skills of a line or two
are found by meaning, skills with long bodies by words. An English encoder has no say on other
scripts.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prowess.data import read_table
from prowess.late import dataclass
from prowess.routing.dense import DenseScores
from prowess.routing.lexical_and_breadth import Breadth, LexicalScores
from prowess.routing.model import Decision, Thresholds
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


DEFAULT = Thresholds(load=0.5, offer=0.2)
# A skill is loaded beside the best only if it fits nearly as well; an offer costs one line more.
_NEARLY = {Decision.LOAD: 0.75, Decision.OFFER: 0.5}
# From the first cosine on a phrase is near to a message, and from the second on the same; by so
# much it must be nearer than the whole text.
_NEAR, _SAME, _NEARER = 0.4, 0.65, 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """From raw evidence to a score: the evidence that stands for one half, and how steep it is."""

    least: float
    # Meaning scores higher than words, and long texts share words with anything.
    by_meaning: float
    long_texts: float
    # Without an encoder only words are left, on a scale of their own.
    words_only: float
    long_words_only: float
    words_steepness: float
    steepness: float
    # Long texts differ more, so that what may fit lies further below what does.
    long_steepness: float
    lead: float
    everyday: float
    # How much a message says, in rare words, to be believed by half; where texts are long.
    half_said: float
    said: float
    # What kinds of messages that need no skill add to the bar; where texts are short, all ask.
    idle: float
    # What an occasion adds, and from which evidence of the topic on it is not asked.
    occasion: float
    topic_enough: float
    topic_steepness: float

    def half(self, words_per_skill: float, weight: float) -> float:
        """Return the evidence that is as likely enough as not; `weight` is that of meaning."""
        if weight <= 0:
            return self.words_only + self.long_words_only * _many(words_per_skill)
        more = max(0.0, weight - read_shares().least_meaning)
        return self.least + self.by_meaning * more + self.long_texts * _many(words_per_skill)


@cache
def read_scale() -> Scale:
    """Return the scale that was fitted for the model that ships."""
    return Scale(**read_table("model/constants.toml")["decision"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What is known of a message and of a catalogue when skills are scored.

    `mass` is how much the message says in rare words, `asked_so` how nearly it is a request that
    the author of each skill wrote, `leaning` how far it leans to errands,
    `idle` how far it is of a kind that needs no skill, `words_per_skill` how long the catalogue's
    texts are, and `weight` what meaning had; 0 without an encoder. All functions here take one
    message, or many: then what belongs to a message is a column, and evidence has a row for each.
    """

    mass: float | Floats
    asked_so: Floats
    words_per_skill: float
    weight: float
    leaning: float | Floats = 0.0
    idle: float | Floats = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Clarity:
    """What tells that a skill is meant from what is merely the best: a logistic regression.

    Unlike a score it asks nothing of the catalogue: it is the same for long texts and short.
    """

    # The cosine of message and skill.
    meaning: float
    # The words that they share, and by how much those are more than with any other skill.
    words: float
    lead: float
    # The logarithm of how much the message says in rare words.
    said: float
    none: float


@cache
def read_clarity() -> Clarity:
    """Return the weights that were fitted for the model that ships."""
    return Clarity(**read_table("model/clarity.toml"))


def list_clues(meant: Floats, shared: Floats, mass: float) -> Floats:
    """Return what clarity weighs, in the order of its weights: a row for each skill."""
    # What is shared with no other skill: the best has the second to beat, and all others the best.
    second, first = np.sort(np.append(shared, np.zeros(2, np.float32)))[-2:]
    lead = shared - np.where(shared == first, second, first)
    said = np.full(len(shared), np.log1p(mass), np.float32)
    return np.stack([meant, shared, lead, said], axis=1)


def measure_clarity(meant: Floats, shared: Floats, mass: float) -> Floats:
    """Return for each skill how likely it is that a person who wrote the message means it.

    Args:
        meant: the cosine of the message with each skill.
        shared: how far each has the words of the message.
        mass: how much the message says in rare words.
    """
    by = read_clarity()
    weights = np.array([by.meaning, by.words, by.lead, by.said], np.float32)
    odds = list_clues(meant, shared, mass) @ weights + by.none
    found: Floats = 1 / (1 + np.exp(-odds))
    return found


def _many(words_per_skill: float) -> float:
    return words_per_skill / (words_per_skill + 400)


def measure_nearness(dense: DenseScores) -> Floats:
    """Return how nearly a message is one of the requests of each skill, from 0 to 1.

    A phrase that is no nearer than the whole description is only more of the same.
    """
    near = np.clip((dense.best - _NEAR) / (_SAME - _NEAR), 0, 1)
    found: Floats = near * np.clip((dense.best - dense.whole) / _NEARER, 0, 1)
    return found


def weigh_topic(topic: Floats, outright: Floats, signs: Signs, scale: Scale) -> Floats:
    """Return by how much the evidence of each skill is above what is as likely enough as not.

    Args:
        topic: the fused total of each skill.
        outright: what the message says outright for each of them.
        signs: what is known of message and catalogue.
        scale: the constants that were fitted for encoder and fusion.
    """
    many = _many(signs.words_per_skill)
    believed: NDArray[np.floating] | float = 1.0
    if signs.weight > 0:
        # Among long texts a few words find something anywhere; among short ones they have to do.
        believed = (signs.mass / (signs.mass + scale.half_said)) ** (scale.said * many**2)
    raised: Floats = topic * (believed + (1 - believed) * signs.asked_so) + outright
    raised += scale.everyday * (1 - many) * signs.leaning - scale.idle * many * signs.idle
    if topic.shape[-1] > 1:
        total = topic + outright
        second = np.partition(total, -2, axis=-1)[..., -2:-1]
        raised += scale.lead * many * np.maximum(total - second, 0)
    above: Floats = raised - np.float32(scale.half(signs.words_per_skill, signs.weight))
    return above


def weigh_occasion(above: Floats, serving: Floats, scale: Scale) -> Floats:
    """Return what the occasion adds for each skill: the less, the more the topic says."""
    best = above.max(axis=-1, keepdims=True, initial=-1.0)
    steps = (best - scale.topic_enough) / scale.topic_steepness
    unsaid = 1 / (1 + np.exp(np.clip(steps, -40, 40)))
    found: Floats = (scale.occasion * unsaid * serving).astype(np.float32)
    return found


def scores(above: Floats, signs: Signs, scale: Scale) -> Floats:
    """Return the score of each skill, from 0 to 1, in the same order."""
    many = _many(signs.words_per_skill)
    steepness = scale.steepness + scale.long_steepness * many
    if signs.weight <= 0:
        steepness = scale.words_steepness * (1 + many)
    # Beyond these the exponential overflows, and the score is 0 or 1 anyway.
    steps = np.clip(above / steepness, -40, 40)
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
                if (scored[index] >= least or decision is Decision.OFFER)
                and evidence[index] >= _NEARLY[decision] * evidence[top]
            ]
            return decision, near or [top]
    return Decision.NONE, []
