"""What routing is compared with: keywords, plain BM25, and the likeness of descriptions.

They are yardsticks, so they stay as simple as those who use them have them; what Prowess does
better must not leak into them.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prowess.routing.words import split_words
from prowess.skills.model import Skill

Encode: TypeAlias = Callable[[Sequence[str]], NDArray[np.float32]]


class Baseline(Protocol):
    """Another way to choose among skills."""

    def rank(self, message: str) -> list[tuple[int, float]]:
        """Return skills, by their places in the given list, with scores, best first."""


_TOKEN = re.compile(r"[^\W_][\w-]*")
_STOP_LIST = (
    "a an and about are at be did do for from how i if in is it of on or the to we what when where "
    "with you"
)
_STOP_WORDS = frozenset(_STOP_LIST.split())
_SHORTEST_TOKEN = 2
# Endings, the length that a word must exceed, how much is cut, and what comes instead.
_PLURALS = (
    (("ies",), 4, 3, "y"),
    (("ses", "xes", "zes"), 4, 2, ""),
    (("ches", "shes"), 5, 2, ""),
    (("s",), 3, 1, ""),
)
_PHRASE_WORTH = 1.5
_MOST_LOADED = 3
_THRESHOLD = 2.0


class _Keywords(NamedTuple):
    """The words of a skill, and each two neighbours of its trigger phrases."""

    tokens: frozenset[str]
    phrases: frozenset[tuple[str, str]]


class _KeywordMatch(NamedTuple):
    score: float
    phrases: int
    tokens: int


class KeywordBaseline:
    """Shared words count, less where several skills have them; what reaches a bar is loaded.

    Only skills that reach their bar are returned, at most three: this method knows no others.
    """

    def __init__(
        self, skills: Sequence[Skill], *, thresholds: Mapping[str, float] | None = None
    ) -> None:
        self._skills = [_keywords(skill) for skill in skills]
        self._bars = [(thresholds or {}).get(skill.name, _THRESHOLD) for skill in skills]
        self._spread = Counter(token for skill in self._skills for token in skill.tokens)

    def rank(self, message: str) -> list[tuple[int, float]]:
        """Return the matches, best first; among equals, those with more phrases, then words."""
        tokens = _tokens(message)
        found = [
            (index, match)
            for index, match in enumerate(map(self._match(tokens), self._skills))
            if match.tokens and match.score >= self._bars[index]
        ]
        # Sorting keeps the order of equals, so the answer never depends on chance.
        found.sort(key=lambda item: item[1], reverse=True)
        return [(index, match.score) for index, match in found[:_MOST_LOADED]]

    def _match(self, tokens: Sequence[str]) -> Callable[[_Keywords], _KeywordMatch]:
        asked, pairs = frozenset(tokens), frozenset(pairwise(tokens))

        def match(skill: _Keywords) -> _KeywordMatch:
            shared, phrases = asked & skill.tokens, len(pairs & skill.phrases)
            worth = math.fsum(_token_worth(self._spread[token]) for token in shared)
            return _KeywordMatch(worth + _PHRASE_WORTH * phrases, phrases, len(shared))

        return match


def _keywords(skill: Skill) -> _Keywords:
    triggers = (*skill.metadata.triggers.any, *skill.metadata.triggers.all)
    phrases = [_tokens(phrase) for trigger in triggers for phrase in trigger.split("|")]
    return _Keywords(
        tokens=frozenset(_tokens(skill.description)).union(*phrases),
        phrases=frozenset(pair for phrase in phrases for pair in pairwise(phrase)),
    )


def _token_worth(skills: int) -> float:
    return {1: 1.0, 2: 0.75}.get(skills, 0.5)


def _tokens(text: str) -> list[str]:
    words = (word for word in _TOKEN.findall(text.lower()) if len(word) >= _SHORTEST_TOKEN)
    return [_singular(word) for word in words if word not in _STOP_WORDS]


def _singular(word: str) -> str:
    """Cut what looks like a plural; that it also cuts "status" is part of the method."""
    for endings, longer_than, cut, instead in _PLURALS:
        if word.endswith(endings) and len(word) > longer_than and not word.endswith("ss"):
            return word[:-cut] + instead
    return word


class Bm25Baseline:
    """BM25 over name and description, as a share of the best score that the message could reach."""

    _K1 = 1.2
    _B = 0.75

    def __init__(self, skills: Sequence[Skill]) -> None:
        counts = [Counter(_stems(f"{skill.name} {skill.description}")) for skill in skills]
        self._size = len(skills)
        self._found_in = Counter(word for count in counts for word in count)
        lengths = np.array([count.total() for count in counts], np.float64)
        relative = 1 - self._B + self._B * lengths / max(float(lengths.mean()) if skills else 0, 1)
        postings: dict[str, list[tuple[int, float]]] = {}
        for index, count in enumerate(counts):
            for word, times in count.items():
                impact = times / (times + self._K1 * relative[index])
                postings.setdefault(word, []).append((index, impact))
        self._postings = {
            word: (np.array([i for i, _ in found]), np.array([impact for _, impact in found]))
            for word, found in postings.items()
        }

    def rank(self, message: str) -> list[tuple[int, float]]:
        """Return the skills that share a word with the message, best first."""
        scores = np.zeros(self._size, np.float64)
        best = 0.0
        for word in sorted(set(_stems(message))):
            rarity = self._rarity(word)
            best += rarity
            if word in self._postings:
                skills, impacts = self._postings[word]
                scores[skills] += rarity * impacts
        # Skills without a shared word are all alike: their order would be chance.
        return [(index, score / best) for index, score in _best_first(scores) if score > 0]

    def _rarity(self, word: str) -> float:
        having = self._found_in[word]
        return math.log1p((self._size - having + 0.5) / (having + 0.5))


def _stems(text: str) -> tuple[str, ...]:
    words = split_words(text)
    return words.running + words.grams


class DescriptionBaseline:
    """The likeness of the message to "name: description", by the vectors of an encoder."""

    def __init__(self, skills: Sequence[Skill], encode: Encode) -> None:
        self._encode = encode
        texts = [f"{skill.name}: {skill.description}" for skill in skills]
        # An encoder cannot tell the shape of nothing.
        self._vectors = _unit(encode(texts)) if texts else np.zeros((0, 0), np.float32)

    def rank(self, message: str) -> list[tuple[int, float]]:
        """Return every skill, best first."""
        if not len(self._vectors):
            return []
        return _best_first(self._vectors @ _unit(self._encode([message]))[0])


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-9), np.float32)


def _best_first(scores: NDArray[np.floating]) -> list[tuple[int, float]]:
    order = np.argsort(-scores, kind="stable")
    return [(int(index), float(scores[index])) for index in order]
