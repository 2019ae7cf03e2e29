"""Which skills mean something like a message: cosines of its vector with those of the evidence.

The whole positive text counts most and the best single phrase lends a hand: the bare maximum
over phrases would let one stray sentence of a broad skill win. How clearly a skill is meant at all,
whatever the others say, follows from cosine and shared words.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prowess.data import dataclass, read_table
from prowess.routing.handoffs_and_passages import SkillEvidence
from prowess.routing.words import is_foreign, put_in_english

Floats: TypeAlias = NDArray[np.float32]
_Ids: TypeAlias = NDArray[np.int64]

_MOST_NEGATIVES = 8
# Phrases of skills that are far from the top in everything else cannot lift them there.
_CANDIDATES = 256
_STRIP = 512


class Encoded(NamedTuple):
    """The vectors of texts, and whose they are: those of another encoder do not compare."""

    vectors: Mapping[str, Floats]
    encoder_id: str = ""
    english_only: bool = True


class DenseScores(NamedTuple):
    """Cosines of one message, in the order of the index."""

    whole: Floats
    # How the body begins; as high as `whole` where there is no body.
    opening: Floats
    # At least as high as `whole`: the best of the text and its phrases.
    best: Floats
    # What the skill is not for; -1 where it says nothing of the kind.
    negative: Floats


class PhraseGroup(NamedTuple):
    """Vectors of several skills in one array, each skill's in one slice."""

    vectors: Floats
    starts: _Ids
    texts: tuple[str, ...]

    def best_of(self, message: Floats, skills: _Ids) -> Floats:
        """Return the highest cosine of each of `skills`; -1 where one has no vector."""
        found = np.full(len(skills), -1.0, np.float32)
        first = self.starts[skills]
        counts = self.starts[skills + 1] - first
        some = np.flatnonzero(counts)
        if not len(some):
            return found
        # All rows of all these skills side by side, and where each skill begins among them.
        begins = np.cumsum(counts[some]) - counts[some]
        vectors = self.vectors  # Of all skills, in order, they lie side by side already.
        if len(skills) < len(self.starts) - 1:
            rows = np.arange(int(counts.sum())) + np.repeat(first[some] - begins, counts[some])
            vectors = vectors[rows]
        found[some] = np.maximum.reduceat(cosines(vectors, message), begins)
        return found

    def nearest(self, message: Floats, skill: int) -> tuple[str, float]:
        """Return the nearest text of one skill and its cosine; nothing and -1 where it has none."""
        first, last = int(self.starts[skill]), int(self.starts[skill + 1])
        if first == last:
            return "", -1.0
        near = cosines(self.vectors[first:last], message)
        place = int(near.argmax())
        return self.texts[first + place], float(near[place])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DenseIndex:
    """The vectors of many skills; never changed, so threads may share it."""

    whole: Floats
    _openings: Floats
    _phrases: PhraseGroup
    _negatives: PhraseGroup

    @classmethod
    def build(
        cls, skills: Sequence[SkillEvidence], vectors: Mapping[str, Floats], *, english_only: bool
    ) -> Self:
        """Collect the vectors of `skills`; what an English encoder cannot read stays at zero."""
        width = len(next(iter(vectors.values())))
        silent = np.array(
            [english_only and is_foreign(put_in_english(skill.positive)) for skill in skills],
            np.bool_,
        )
        whole = np.array([vectors[skill.text] for skill in skills], np.float32)
        whole = whole.reshape(len(skills), width)
        openings = [vectors[skill.opening_text or skill.text] for skill in skills]
        return cls(
            whole=whole * ~silent[:, None],
            _openings=np.array(openings, np.float32).reshape(whole.shape) * ~silent[:, None],
            _phrases=_group([skill.phrases for skill in skills], vectors, silent),
            _negatives=_group(
                [skill.negatives[:_MOST_NEGATIVES] for skill in skills], vectors, silent
            ),
        )

    def score(self, message: Floats, lexical: Floats, known: int | None = None) -> DenseScores:
        """Score every skill; `lexical` helps to choose whose phrases are looked at."""
        whole = cosines(self.whole, message)
        best, negative = whole.copy(), np.full_like(whole, -1.0)
        some, near = np.arange(len(whole)), whole + lexical
        size = len(near[:known])
        if size > _CANDIDATES:
            some = np.argpartition(near[:size], -_CANDIDATES)[-_CANDIDATES:]
            # Behind them are guests: each is looked at as if it came alone.
            guests = np.flatnonzero(near[size:] >= near[some].min())
            some = np.concatenate((some, size + guests))
        best[some] = np.maximum(best[some], self._phrases.best_of(message, some))
        negative[some] = self._negatives.best_of(message, some)
        return DenseScores(whole, cosines(self._openings, message), best, negative)

    def best_phrases(self, message: Floats) -> Floats:
        """Return the cosine of each skill's nearest phrase; -1 where it has none."""
        return self._phrases.best_of(message, np.arange(len(self.whole)))

    def best_phrase(self, message: Floats, skill: int) -> tuple[str, float]:
        """Return the phrase of one skill that is nearest to the message, and its cosine."""
        return self._phrases.nearest(message, skill)

    def best_negative(self, message: Floats, skill: int) -> tuple[str, float]:
        """Return what the skill says it is not for that is nearest to the message."""
        return self._negatives.nearest(message, skill)


def project(vectors: Floats) -> Floats:
    """Return where each vector stands on the plane on which they differ most, from -1 to 1."""
    if not len(vectors):
        return np.zeros((0, 2), np.float32)
    middled = vectors - vectors.mean(axis=0)
    _, directions = np.linalg.eigh(middled.T @ middled)
    plane = middled @ directions[:, :-3:-1]
    # The sign of a direction is chance: the same skills shall give the same picture.
    signs = np.sign(plane[np.abs(plane).argmax(axis=0), np.arange(plane.shape[1])])
    flat = plane * np.where(signs == 0, 1, signs) / max(float(np.abs(plane).max()), 1e-9)
    return np.pad(flat, ((0, 0), (0, 2 - flat.shape[1]))).astype(np.float32)


class NearPairs(NamedTuple):
    """Pairs of rows with their cosine, the nearest first, and how many there are in all."""

    pairs: list[tuple[int, int, float]]
    total: int


def find_near(vectors: Floats, least: float, most: int) -> NearPairs:
    """Return the pairs whose cosine is at least `least`, so many at most."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = vectors / np.maximum(lengths, 1e-9)
    found: list[tuple[int, int, float]] = []
    total = 0
    # In strips: all pairs of thousands would take hundreds of megabytes.
    for start in range(0, len(units), _STRIP):
        near = np.triu(units[start : start + _STRIP] @ units[start:].T, 1)
        rows, columns = np.nonzero(near >= least)
        total += len(rows)
        scores = near[rows, columns]
        # Where thousands say the same there are millions of pairs: only the best become objects.
        best = np.argsort(-scores, kind="stable")[:most]
        pairs = [
            (start + int(rows[at]), start + int(columns[at]), float(scores[at])) for at in best
        ]
        found = sorted([*found, *pairs], key=lambda pair: -pair[2])[:most]
    return NearPairs(found, total)


def cosines(rows: Floats, message: Floats) -> Floats:
    """Return the cosine of each row with the message, all of unit length.

    Not by `@`: a matrix library splits even this little work among threads, and on a busy machine
    waiting for them takes a hundred times as long as the work.
    """
    near: Floats = np.einsum("ij,j->i", rows, message)
    return near


# From the first cosine on a phrase is near to a message, and from the second on the same; by so
# much it must be nearer than the whole text.
_NEAR, _SAME, _NEARER = 0.4, 0.65, 0.15
# From here on a message says a phrase in nearly its very words, which counts twice.
_VERY_WORDS = 0.9


def measure_nearness(dense: DenseScores) -> Floats:
    """Return how nearly a message is one of the requests of each skill, from 0 to 2.

    A phrase that is no nearer than the whole description is only more of the same.
    """
    near = np.clip((dense.best - _NEAR) / (_SAME - _NEAR), 0, 1)
    near += np.clip((dense.best - _VERY_WORDS) / (1 - _VERY_WORDS), 0, 1)
    found: Floats = near * np.clip((dense.best - dense.whole) / _NEARER, 0, 1)
    return found


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


def list_texts(skill: SkillEvidence) -> Iterator[str]:
    """Yield every text of a skill whose vector is needed."""
    yield skill.text
    if skill.opening:
        yield skill.opening_text
    yield from skill.phrases
    yield from skill.negatives[:_MOST_NEGATIVES]


def _group(
    texts: Sequence[Sequence[str]], vectors: Mapping[str, Floats], silent: NDArray[np.bool_]
) -> PhraseGroup:
    flat = tuple(text for some in texts for text in some)
    counts = [len(some) for some in texts]
    width = len(next(iter(vectors.values())))
    rows = np.array([vectors[text] for text in flat], np.float32).reshape(len(flat), width)
    rows[np.repeat(silent, counts)] = 0
    return PhraseGroup(rows, np.cumsum([0, *counts]), flat)
