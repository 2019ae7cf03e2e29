"""Which skills share words with a message: BM25 over the fields of a skill, from 0 to 1.

A raw BM25 score grows with the length of the message, so neither a threshold nor a sum with
another signal would mean anything. Here it is divided by the best score that the message could
reach. Words that no skill has count in that best score: a message about something else stays low.

The bar for broad skills stands here too: one that fits everything must fit a message better than
others do.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain, pairwise
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prowess.data import dataclass, read_table
from prowess.routing.dense import DenseIndex
from prowess.routing.handoffs_and_passages import SkillEvidence
from prowess.routing.words import Words, find_spellings, split_words

Floats: TypeAlias = NDArray[np.float32]
_Ids: TypeAlias = NDArray[np.int64]

_K1 = 1.2
_B = 0.75
# Two words side by side are worth about a third of a word: enough to tell "pull request" from both.
_PAIR_WEIGHT = 0.35
# A message of this many rare words has half of a long message's say: two words match by chance.
_HALF_TRUST = 4.0
# Where texts have fewer words, a name is most of what they say and counts as that already.
_WORDS_FOR_NAMES = 40.0


class Terms(NamedTuple):
    """The words of one skill, field by field; costly to make, so callers keep them by content."""

    name: Words = Words()
    description: Words = Words()
    requests: Words = Words()
    body: Words = Words()


_FIELD_WEIGHTS = (3.0, 2.0, 2.0, 0.7)


def read_terms(evidence: SkillEvidence) -> Terms:
    """Return the words by which a message can find the skill."""
    return Terms(
        name=split_words(evidence.name),
        description=split_words(evidence.positive),
        requests=split_words("\n".join(evidence.requests)),
        body=split_words(evidence.body),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LexicalScores:
    """How the words of one message fit each skill, in the order of the index.

    `scores` is the share of the best possible score, `names` the share of a skill's name that the
    message has, lower where texts are short. `mass` is how much the message says, counted in words
    so rare that no skill has them.
    """

    scores: Floats
    names: Floats
    mass: float

    @property
    def damped(self) -> Floats:
        """The scores, lower for short messages: what to add to another signal."""
        believed = np.asarray(self.mass / (self.mass + _HALF_TRUST), np.float32)
        return self.scores * believed


class Postings(NamedTuple):
    """For each term a slice of the skills that have it, ascending, and what it is worth there."""

    starts: _Ids
    skills: NDArray[np.int32]
    impacts: Floats
    idf: Floats

    def of_all(self, terms: _Ids, idf: Floats | None = None) -> tuple[_Ids, Floats]:
        """Return where the postings of all `terms` stand, term by term, and how rare each is."""
        first = self.starts[terms]
        counts = self.starts[terms + 1] - first
        begins = np.cumsum(counts) - counts
        rows = np.arange(int(counts.sum())) + np.repeat(first - begins, counts)
        return rows, np.repeat((self.idf if idf is None else idf)[terms], counts)


class Collection(NamedTuple):
    """What is known of many more skills than those at hand: they are scored as all would be."""

    size: int
    words_per_skill: float
    # How many words a field typically has, in the order of `Terms`.
    typical: tuple[float, ...]
    # In how many skills a word is; one that is not named counts as those at hand say.
    counts: Mapping[str, int]


class _Occurrences(NamedTuple):
    """Terms as they occur, skill by skill, and the skill and the weight of each occurrence."""

    terms: NDArray[np.integer]
    skills: NDArray[np.int32]
    weights: Floats


class _Query(NamedTuple):
    """A message in the terms of an index."""

    words: _Ids
    pairs: _Ids
    unknown: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LexicalIndex:
    """The words of many skills, ready to be matched; never changed, so threads may share it."""

    size: int
    # Of the collection that they are from: all but the guests where they are all there is.
    known: int
    # Skills of a few words can hardly be found by words: a reason to trust another signal more.
    words_per_skill: float
    _vocabulary: Mapping[str, int]
    _words: Postings
    _pair_keys: _Ids
    _pairs: Postings
    _names: Postings
    _name_mass: Floats

    @classmethod
    def build(
        cls, skills: Sequence[Terms], collection: Collection | None = None, *, guests: int = 0
    ) -> Self:
        """Index `skills`; scores come back in their order.

        With a `collection` each gets the score that it would have among all of those. The last
        `guests` are only tried on: they are scored, and no word is more common or no text longer
        than usual because of them.
        """
        counted = len(skills) - guests
        numbered = _number(skills, collection, counted)
        pair_keys = _keep_distinct(numbered.pairs.terms)
        terms = np.arange(len(numbered.vocabulary))
        words = _postings(numbered.words, terms, counted)
        names = _postings(numbered.names, terms, counted)
        pairs = _postings(numbered.pairs, pair_keys, counted)
        per_skill = int((numbered.words.skills < counted).sum()) / max(counted, 1)
        if collection is not None:
            words = words._replace(idf=_count_in(collection, numbered.vocabulary, words))
            pairs = pairs._replace(idf=_find_rarer(pair_keys, words.idf))
            per_skill = collection.words_per_skill
        return cls(
            size=len(skills),
            known=counted if collection is None else collection.size,
            words_per_skill=per_skill,
            _vocabulary=numbered.vocabulary,
            _words=words,
            _pair_keys=pair_keys,
            _pairs=pairs,
            _names=names,
            _name_mass=_name_mass(skills, numbered.vocabulary, words.idf),
        )

    def score(self, message: str) -> LexicalScores:
        """Score every skill; a long message should be cut to its asking part before."""
        query = self._query(split_words(message))
        scores, names = np.zeros(self.size, np.float32), np.zeros(self.size, np.float32)
        rows, worth = self._words.of_all(query.words)
        np.add.at(scores, self._words.skills[rows], worth * self._words.impacts[rows])
        rows, worth = self._names.of_all(query.words, self._words.idf)
        np.add.at(names, self._names.skills[rows], worth)
        rows, worth = self._pairs.of_all(query.pairs)
        worth = _PAIR_WEIGHT * worth * self._pairs.impacts[rows]
        np.add.at(scores, self._pairs.skills[rows], worth)
        rarest = _idf(np.zeros(1), self.known)[0]
        mass = float(self._words.idf[query.words].sum() + query.unknown * rarest)
        best = mass + _PAIR_WEIGHT * float(self._pairs.idf[query.pairs].sum())
        return LexicalScores(
            scores=_share(scores, best),
            names=_share(names, self._name_mass)
            * np.float32(min(1.0, self.words_per_skill / _WORDS_FOR_NAMES)),
            mass=best / float(rarest),
        )

    def matched_words(self, message: str, skill: int, most: int = 5) -> tuple[str, ...]:
        """Return the words of `message` that speak most for the skill, as they are written."""
        worth: dict[str, float] = {}
        for word, written in find_spellings(message).items():
            term = self._vocabulary.get(word)
            if term is None:
                continue
            rows, idf = self._words.of_all(np.array([term]))
            here = self._words.skills[rows] == skill
            if here.any():
                value = float((idf * self._words.impacts[rows])[here][0])
                worth[written] = max(value, worth.get(written, 0.0))
        return tuple(sorted(worth, key=worth.__getitem__, reverse=True)[:most])

    def _query(self, words: Words) -> _Query:
        running = [self._vocabulary.get(word, -1) for word in words.running]
        grams = {gram: self._vocabulary.get(gram, -1) for gram in words.grams}
        # The joined form of an identifier repeats its parts, so it counts only where it is known.
        joined = (self._vocabulary.get(word, -1) for word in words.joined)
        missing = {word for word, term in zip(words.running, running, strict=True) if term < 0}
        missing.update(gram for gram, term in grams.items() if term < 0)
        known = {term for term in chain(running, grams.values(), joined) if term >= 0}
        return _Query(np.array(sorted(known), np.int64), self._find_pairs(running), len(missing))

    def _find_pairs(self, running: list[int]) -> _Ids:
        size = len(self._vocabulary)
        keys = {a * size + b for a, b in pairwise(running) if a >= 0 and b >= 0}
        wanted = np.array(sorted(keys), np.int64)
        places = np.searchsorted(self._pair_keys, wanted)
        inside = places < len(self._pair_keys)
        found: _Ids = places[inside][self._pair_keys[places[inside]] == wanted[inside]]
        return found


class _Numbered(NamedTuple):
    """Skills in numbers: all their words, those of their names, and each two neighbours as one."""

    vocabulary: dict[str, int]
    words: _Occurrences
    names: _Occurrences
    pairs: _Occurrences


def _number(skills: Sequence[Terms], collection: Collection | None, counted: int) -> _Numbered:
    # A word that others of the collection have is no unknown one.
    named = () if collection is None else collection.counts
    vocabulary: dict[str, int] = {word: at for at, word in enumerate(named)}
    numbers = (
        vocabulary.setdefault(word, len(vocabulary))
        for terms in skills
        for word in chain.from_iterable(chain.from_iterable(terms))
    )
    found = np.fromiter(numbers, np.int32)
    shape = (len(skills), len(_FIELD_WEIGHTS), len(Words._fields))
    lengths = np.array([len(part) for terms in skills for words in terms for part in words], int)
    per_field = lengths.reshape(shape).sum(axis=2)
    typical = _find_typical(per_field[:counted]) if collection is None else collection.typical
    words = _Occurrences(
        terms=found,
        skills=np.repeat(np.arange(len(skills), dtype=np.int32), per_field.sum(axis=1)),
        weights=np.repeat(_weights(per_field, typical).ravel(), per_field.ravel()),
    )
    in_name = np.repeat(np.arange(per_field.size) % len(_FIELD_WEIGHTS) == 0, per_field.ravel())
    names = _Occurrences(found[in_name], words.skills[in_name], words.weights[in_name])
    at = _followers(lengths)
    keys = found[at - 1].astype(np.int64) * len(vocabulary) + found[at]
    pairs = _Occurrences(keys, words.skills[at], words.weights[at])
    return _Numbered(vocabulary, words, names, pairs)


def _followers(lengths: _Ids) -> _Ids:
    """Return where a word follows another: running words have neighbours, within their field."""
    follows = np.repeat(np.arange(lengths.size) % len(Words._fields) == 0, lengths)
    first = np.cumsum(lengths) - lengths
    follows[first[lengths > 0]] = False
    return np.flatnonzero(follows)


def _keep_distinct(terms: NDArray[np.integer]) -> _Ids:
    # As `np.unique`, which takes far more memory for the same.
    ascending = np.sort(terms)
    return ascending[np.flatnonzero(np.diff(ascending, prepend=-1))]


def _find_typical(lengths: _Ids) -> tuple[float, ...]:
    """Return how many words each field has where it has any."""
    return tuple((lengths.sum(axis=0) / np.maximum((lengths > 0).sum(axis=0), 1)).tolist())


def _weights(lengths: _Ids, typical: Sequence[float]) -> Floats:
    """Return what an occurrence is worth, per skill and field: less in long texts."""
    relative: NDArray[np.float64] = 1 - _B + _B * lengths / np.maximum(typical, 1)
    return (np.array(_FIELD_WEIGHTS, np.float64) / relative).astype(np.float32)


def _postings(found: _Occurrences, terms: _Ids, counted: int) -> Postings:
    """Sum up the occurrences of each term in a skill; their worth levels off as in BM25.

    How rare a term is says how many of the first `counted` skills have it.
    """
    # Occurrences come skill by skill, so a stable sort by term leaves skills ascending.
    order = np.argsort(found.terms, kind="stable")
    keys, owners = found.terms[order], found.skills[order]
    is_first = np.ones(len(keys), np.bool_)
    is_first[1:] = (keys[1:] != keys[:-1]) | (owners[1:] != owners[:-1])
    first = np.flatnonzero(is_first)
    counts = np.add.reduceat(found.weights[order], first) if len(first) else found.weights
    starts = np.searchsorted(keys[first], np.append(terms, np.iinfo(np.int64).max))
    return Postings(
        starts=starts,
        skills=owners[first],
        impacts=(counts / (counts + _K1)).astype(np.float32),
        idf=_idf(_count_owners(owners[first], starts, counted), counted),
    )


def _count_owners(owners: NDArray[np.int32], starts: _Ids, counted: int) -> _Ids:
    """Return for each term how many of the counted skills have it; at least one where any has."""
    before = np.concatenate(([0], np.cumsum(owners < counted)))
    counts: _Ids = np.maximum(np.diff(before[starts]), np.minimum(np.diff(starts), 1))
    return counts


def _count_in(collection: Collection, vocabulary: Mapping[str, int], words: Postings) -> Floats:
    """Return how rare each word is among all skills of a collection."""
    here = np.diff(words.starts)
    counts = np.array(
        [collection.counts.get(word, here[term]) for word, term in vocabulary.items()], np.int64
    )
    return _idf(counts, collection.size)


def _find_rarer(pair_keys: _Ids, idf: Floats) -> Floats:
    """Return how rare pairs are at least: as the rarer one of two words, for nobody counts them."""
    rarer: Floats = np.maximum(idf[pair_keys // len(idf)], idf[pair_keys % len(idf)])
    return rarer


def _name_mass(skills: Sequence[Terms], vocabulary: Mapping[str, int], idf: Floats) -> Floats:
    """Return what each name weighs; a joined form is left out, as it repeats its parts."""
    names = ({*terms.name.running, *terms.name.grams} for terms in skills)
    return np.array([sum(idf[vocabulary[word]] for word in name) for name in names], np.float32)


def _idf(counts: NDArray[np.int64] | NDArray[np.float64], skills: int) -> Floats:
    return np.log1p((skills - counts + 0.5) / (counts + 0.5)).astype(np.float32)


def _share(values: Floats, of: float | Floats) -> Floats:
    whole = np.maximum(of, np.float32(1e-9))
    return np.minimum(values / whole, np.float32(1.0)).astype(np.float32)


Numbers: TypeAlias = NDArray[np.floating]

# How broad a skill is shows in how well it fits messages that are not for it.
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


class Messages(NamedTuple):
    """The background texts, each on its side of the line."""

    everyday: tuple[str, ...]
    errands: tuple[str, ...]


@cache
def read_messages() -> Messages:
    """Return the messages that need no skill, and the errands that do."""
    table = read_table("routing/background.toml")
    return Messages(*(tuple(table[side].strip().splitlines()) for side in Messages._fields))


def list_messages() -> tuple[str, ...]:
    """Return every text whose vector is needed to draw the line."""
    return (*read_messages().errands, *read_messages().everyday)
