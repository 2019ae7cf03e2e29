"""The order of what was found, by the router's own code, and by whom to trust.

Each candidate gets the score that the router would give it among all skills of the catalogue: the
statistics are the catalogue's, not those of the few that were looked at. A skill whose name could
be taken for that of an older one is never above it, however well it fits: whoever imitates a name
can write any description.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from prowess.routing.breadth import Breadth
from prowess.routing.dense import DenseScores
from prowess.routing.fusion import fuse, weight_of_meaning
from prowess.routing.glosses import put_in_english
from prowess.routing.lexical import Collection, LexicalIndex, Terms, read_terms
from prowess.routing.passages import read_evidence
from prowess.routing.words import Words, find_asking_part, measure_shape, split_words
from prowess.skills.model import Skill

Floats: TypeAlias = NDArray[np.float32]
# Of the body only so many: they are in the index of full text, and the first say what it is about.
_MOST_BODY = 80
# The least step by which an imitation stays below what it imitates.
_BELOW = 1e-4
FIELDS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundText:
    """The texts by which one skill is found."""

    words: Terms
    # What an encoder reads.
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSkill:
    """A skill that may be what was asked for."""

    skill_id: int
    words: Terms
    # With the vector of what was asked.
    cosine: float
    # An older skill that its name could be taken for.
    resembles: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HubQuestion:
    """What somebody looks for, in words and as a text for the encoder."""

    text: str
    english: str
    words: Words

    @property
    def terms(self) -> tuple[str, ...]:
        """Every distinct word, in order."""
        return tuple(dict.fromkeys((*self.words.running, *self.words.joined, *self.words.grams)))


def read_asked(text: str) -> HubQuestion:
    """Prepare what somebody looks for."""
    ask = find_asking_part(text.replace("\0", " "))
    english = put_in_english(ask)
    return HubQuestion(text=ask, english=english, words=split_words(english))


def read_texts(skill: Skill) -> FoundText:
    """Return by what a skill is found, as the router reads it."""
    evidence = read_evidence(skill)
    terms = read_terms(evidence)
    return FoundText(words=terms._replace(body=_cut(terms.body)), text=evidence.text)


def _cut(words: Words) -> Words:
    return Words(*(part[:_MOST_BODY] for part in words))


def list_terms(words: Terms) -> tuple[str, ...]:
    """Return every distinct word of a skill, in the order in which writers take turns."""
    return tuple(sorted({term for field in words for part in field for term in part}))


def count_words(words: Terms) -> tuple[int, ...]:
    """Return how many words each field has."""
    return tuple(sum(len(part) for part in field) for field in words)


def dump_words(words: Terms) -> str:
    """Return words as a text that is kept."""
    return json.dumps([[" ".join(part) for part in field] for field in words])


@lru_cache(maxsize=4096)
def load_words(text: str) -> Terms:
    """Return the words that were kept; what is often found is read once."""
    fields = (Words(*(tuple(part.split()) for part in field)) for field in json.loads(text))
    return Terms(*fields)


def rank(
    asked: HubQuestion,
    candidates: Sequence[FoundSkill],
    collection: Collection,
    *,
    has_vectors: bool,
    english_only: bool,
) -> list[tuple[int, float]]:
    """Return the candidates, best first, with their scores."""
    if not candidates:
        return []
    index = LexicalIndex.build([one.words for one in candidates], collection)
    near = np.array([one.cosine for one in candidates], np.float32) if has_vectors else None
    total = weigh(asked, index, near, english_only=english_only)
    scores = {one.skill_id: float(score) for one, score in zip(candidates, total, strict=True)}
    held = _hold_below(scores, {one.skill_id: one.resembles for one in candidates})
    # By age where scores are equal, so that the order is the same on every engine.
    return sorted(held.items(), key=lambda pair: (-pair[1], pair[0]))


def weigh(
    asked: HubQuestion, index: LexicalIndex, near: Floats | None, *, english_only: bool
) -> Floats:
    """Return the score of each skill of an index; `near` are the cosines, None without vectors."""
    shape = measure_shape(asked.english if english_only else asked.text)
    weight = weight_of_meaning(index.words_per_skill, shape, english_only=english_only)
    nothing = np.zeros(index.size, np.float32)
    return fuse(
        index.score(asked.english),
        None if near is None else DenseScores(near, near, near, nothing - 1),
        # What is broad is measured among the skills of one agent; here imitation is what counts.
        breadth=Breadth(nothing, nothing),
        weight=0.0 if near is None else weight,
    ).total


def _hold_below(
    scores: Mapping[int, float], resembles: Mapping[int, int | None]
) -> dict[int, float]:
    """Put every imitation below the oldest of its kind that may be seen; ids grow with age."""
    held: dict[int, float] = {}
    eldest: dict[int, float] = {}
    for skill_id in sorted(scores):
        kind, score = resembles[skill_id] or skill_id, scores[skill_id]
        held[skill_id] = min(score, eldest[kind] - _BELOW) if kind in eldest else score
        eldest.setdefault(kind, score)
    return held
