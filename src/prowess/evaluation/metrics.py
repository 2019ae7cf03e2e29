"""How well routing did on cases whose right answer is known.

A case expects skills, expects none, or is open: an open one only says which skill must stay away,
so it tells nothing about rank and precision. A figure that has nothing to measure is None, never
zero: a suite without out-of-scope messages did not fail at them.
"""

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from prowess.routing.words import measure_shape

_SHORT_LIST = 5
_LONG_LIST = 10
# One in twenty in-scope messages may fall below the bar at which out-of-scope ones are counted.
_KEPT_OF = 20
_LENGTHS = {8: "up to 8 words", 32: "9 to 32 words", math.inf: "over 32 words"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What routing answered in one case, and what it should have answered."""

    prompt: str
    # Any of these is right; none at all means that nothing should be loaded, unless it is open.
    expected: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()
    is_open: bool = False
    # Those of `expected` whose job it clearly is; by default all of them.
    clear: frozenset[str] | None = None
    language: str = ""
    # The best skills whatever was decided, best first: at least ten where there are that many.
    ranked: tuple[str, ...] = ()
    confidence: float = 0.0
    chosen: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()
    took_ms: float = 0.0

    @property
    def in_scope(self) -> bool:
        """True where a skill is meant."""
        return bool(self.expected)

    @property
    def out_of_scope(self) -> bool:
        """True where no skill is meant."""
        return not self.expected and not self.is_open

    @property
    def meant(self) -> frozenset[str]:
        """The skills whose job the message clearly is."""
        return self.expected if self.clear is None else self.clear

    @property
    def reached(self) -> bool:
        """True where a skill whose job it clearly is was loaded or offered."""
        return not self.meant.isdisjoint((*self.chosen, *self.offered))

    @property
    def hit(self) -> bool:
        """True where the best skill is one that is meant."""
        return self.ranked[:1] != () and self.ranked[0] in self.expected

    @property
    def passed(self) -> bool:
        """True where the case came out as it should."""
        if self.in_scope and not self.hit:
            return False
        return self.restrained

    @property
    def restrained(self) -> bool:
        """True where nothing was loaded that had to stay away."""
        return not self.chosen if self.out_of_scope else self.forbidden.isdisjoint(self.chosen)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The figures of a suite: shares from 0 to 1, None where no case could tell."""

    cases: int
    in_scope: int
    out_of_scope: int
    open_cases: int
    # In-scope cases: is a meant skill first, how many are among the first five, how high they are.
    hit1: float | None
    recall5: float | None
    mrr10: float | None
    ndcg10: float | None
    # How well confidence tells in-scope from out-of-scope, and how much of the latter falls below
    # the bar that keeps 95 % of the former.
    auroc: float | None
    rejected95: float | None
    # Where something was loaded: is a meant skill among it, is it the first, how much of it all is.
    precision: float | None
    precision_first: float | None
    precision_all: float | None
    # The same of the first, where only a skill counts whose job it clearly is.
    precision_strict: float | None
    # In-scope cases in which a meant skill was loaded.
    recall: float | None
    # Cases that are clearly some skill's job in which one such was loaded or offered.
    reached: float | None
    # Out-of-scope cases in which anything was loaded or offered.
    noise: float | None
    # Out-of-scope cases in which nothing was loaded, and open ones that kept their skill away.
    abstained: float | None
    # Cases that name forbidden skills, of whatever kind, in which none of those was loaded.
    kept_out: float | None
    # Cases that came out as they should: the meant skill first, or nothing where nothing is meant.
    passed: float | None
    ms_median: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillRow:
    """What became of the cases that mean one skill, and how often it came uninvited."""

    skill: str
    cases: int = 0
    hit: int = 0
    # Who was first instead, and how often: most first.
    taken_by: tuple[tuple[str, int], ...] = ()
    # Cases that mean no skill, or forbid this one, in which it was loaded.
    intruded: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Collision:
    """Two skills of which at least one takes prompts that mean the other."""

    first: str
    second: str
    # Prompts that mean the first and were won by the second, and the other way round.
    lost_by_first: int
    lost_by_second: int

    @property
    def total(self) -> int:
        """How many prompts went to the wrong one of the two."""
        return self.lost_by_first + self.lost_by_second


def summarise(outcomes: Sequence[Outcome]) -> Summary:
    """Return the figures of all cases together."""
    inside = [outcome for outcome in outcomes if outcome.in_scope]
    outside = [outcome for outcome in outcomes if outcome.out_of_scope]
    undecided = [outcome for outcome in outcomes if not outcome.expected and outcome.is_open]
    loading = [outcome for outcome in (*inside, *outside) if outcome.chosen]
    told = sorted(outcome.confidence for outcome in inside)
    untold = [outcome.confidence for outcome in outside]
    return Summary(
        cases=len(outcomes),
        in_scope=len(inside),
        out_of_scope=len(outside),
        open_cases=len(undecided),
        hit1=_average(outcome.hit for outcome in inside),
        recall5=_average(map(_recall, inside)),
        mrr10=_average(map(_reciprocal_rank, inside)),
        ndcg10=_average(map(_gain, inside)),
        auroc=_auroc(told, untold),
        rejected95=_count_rejected(told, untold),
        precision=_average(not outcome.expected.isdisjoint(outcome.chosen) for outcome in loading),
        precision_first=_average(outcome.chosen[0] in outcome.expected for outcome in loading),
        precision_all=_average(
            skill in outcome.expected for outcome in loading for skill in outcome.chosen
        ),
        precision_strict=_average(outcome.chosen[0] in outcome.meant for outcome in loading),
        recall=_average(not outcome.expected.isdisjoint(outcome.chosen) for outcome in inside),
        reached=_average(outcome.reached for outcome in inside if outcome.meant),
        noise=_average(bool(outcome.chosen or outcome.offered) for outcome in outside),
        abstained=_average(outcome.restrained for outcome in (*outside, *undecided)),
        kept_out=_average(
            outcome.forbidden.isdisjoint(outcome.chosen)
            for outcome in outcomes
            if outcome.forbidden
        ),
        passed=_average(outcome.passed for outcome in outcomes),
        ms_median=median(outcome.took_ms for outcome in outcomes) if outcomes else None,
    )


def split_by_kind(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """Return the cases by language, where their file names it, and by how many words they have."""
    found: dict[str, list[Outcome]] = {}
    for outcome in sorted(outcomes, key=lambda one: one.language):
        if outcome.language:
            found.setdefault(f"in {outcome.language}", []).append(outcome)
    for outcome in sorted(outcomes, key=lambda one: measure_shape(one.prompt).words):
        words = measure_shape(outcome.prompt).words
        name = next(name for most, name in _LENGTHS.items() if words <= most)
        found.setdefault(name, []).append(outcome)
    return found


def confusion(outcomes: Iterable[Outcome]) -> tuple[SkillRow, ...]:
    """Return a row for each skill that is meant or intrudes, those with the most misses first.

    A case that accepts several skills counts for each of them, and any of them is a hit.
    """
    cases, hits, intrusions = Counter[str](), Counter[str](), Counter[str]()
    losses: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        cases.update(outcome.expected)
        hits.update(outcome.expected if outcome.hit else ())
        intrusions.update(_intruders(outcome))
        for skill, winner in _losses(outcome):
            losses.setdefault(skill, Counter())[winner] += 1
    rows = (
        SkillRow(
            skill=skill,
            cases=cases[skill],
            hit=hits[skill],
            taken_by=_sort_by_count(losses.get(skill, Counter())),
            intruded=intrusions[skill],
        )
        for skill in {*cases, *intrusions}
    )
    return tuple(sorted(rows, key=lambda row: (row.hit - row.cases, -row.intruded, row.skill)))


def collisions(outcomes: Iterable[Outcome]) -> tuple[Collision, ...]:
    """Return the pairs of skills that take each other's prompts, the worst first."""
    lost = Counter(loss for outcome in outcomes for loss in _losses(outcome))
    pairs = {(min(loss), max(loss)) for loss in lost}
    found = (
        Collision(
            first=first,
            second=second,
            lost_by_first=lost[first, second],
            lost_by_second=lost[second, first],
        )
        for first, second in pairs
    )
    return tuple(sorted(found, key=lambda pair: (-pair.total, pair.first, pair.second)))


def _losses(outcome: Outcome) -> list[tuple[str, str]]:
    """Return each skill that the case means with the one that was first instead."""
    if outcome.hit or not outcome.ranked:
        return []
    return [(skill, outcome.ranked[0]) for skill in outcome.expected]


def _intruders(outcome: Outcome) -> set[str]:
    loaded = set(outcome.chosen)
    return loaded if outcome.out_of_scope else loaded & outcome.forbidden


def _sort_by_count(counts: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _average(values: Iterable[float]) -> float | None:
    found = list(values)
    return fmean(found) if found else None


def _recall(outcome: Outcome) -> float:
    found = outcome.expected.intersection(outcome.ranked[:_SHORT_LIST])
    return len(found) / len(outcome.expected)


def _reciprocal_rank(outcome: Outcome) -> float:
    ranks = (
        rank
        for rank, skill in enumerate(outcome.ranked[:_LONG_LIST], start=1)
        if skill in outcome.expected
    )
    return 1 / next(ranks, math.inf)


def _gain(outcome: Outcome) -> float:
    """Return the discounted gain of the first ten, as a share of the best that there could be."""
    best = sum(_worth(rank) for rank in range(min(len(outcome.expected), _LONG_LIST)))
    reached = sum(
        _worth(rank)
        for rank, skill in enumerate(outcome.ranked[:_LONG_LIST])
        if skill in outcome.expected
    )
    return reached / best


def _worth(rank: int) -> float:
    return 1 / math.log2(rank + 2)


def _auroc(told: Sequence[float], untold: Sequence[float]) -> float | None:
    """Return how often an in-scope confidence (ascending) is the higher one; a tie is half."""
    if not told or not untold:
        return None
    won = sum(
        len(told) - (bisect_left(told, value) + bisect_right(told, value)) / 2 for value in untold
    )
    return won / (len(told) * len(untold))


def _count_rejected(told: Sequence[float], untold: Sequence[float]) -> float | None:
    if not told or not untold:
        return None
    bar = told[len(told) // _KEPT_OF]
    return _average(value < bar for value in untold)
