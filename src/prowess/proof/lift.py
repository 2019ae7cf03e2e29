"""Whether runs with a skill do better than runs without, and how many more it would take to say.

The unit is the task: runs of one task are alike, so each task gives one difference, the share of
its runs that passed with the skill less the share without. The interval of their mean is Student's.

Looks along the way are allowed. The level of a look grows with the square of how far the work has
come, so that early looks stop only what is plain; at the last it is 5 %, for both directions
together. Over all looks a skill that does nothing is said to help in less than one case of twenty,
which is simulated in the tests, and so is what stopping costs in power and saves in runs. Work also
stops where what is left could hardly bring a verdict any more.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from statistics import NormalDist

_NORMAL = NormalDist()
_ALPHA, _POWER = 0.05, 0.8
_LEAST_TASKS = 5
_SMALLEST = 1e-12
# A smaller lift is not looked for: it would take more tasks than anybody has.
_SMALLEST_LIFT = 0.05
# Nobody gives up before so much of the work is done, or while so much of a chance is left.
_TOO_EARLY, _HOPELESS = 0.35, 0.25


class LiftVerdict(Enum):
    """What the runs show."""

    PROVEN = "proven"
    HARMFUL = "harmful"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRuns:
    """How the runs of one task came out, with and without the skill."""

    with_skill: tuple[bool, ...] = ()
    without: tuple[bool, ...] = ()

    @property
    def difference(self) -> float | None:
        """The lift of this task; None where one side has no run that counts."""
        if not self.with_skill or not self.without:
            return None
        return _share(self.with_skill) - _share(self.without)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lift:
    """The mean difference over tasks, its interval, and what follows from it."""

    verdict: LiftVerdict
    tasks: int
    mean: float
    low: float
    high: float
    # How many more tasks like these it would take, at this lift, to be as good as sure.
    more_tasks: int = 0
    # Whether more runs of this plan would be wasted.
    is_settled: bool = False


def measure(tasks: Sequence[TaskRuns], *, planned: int | None = None, looks: int = 1) -> Lift:
    """Return what the runs so far show.

    Args:
        tasks: one for each task that was run.
        planned: how many tasks there are in all; by default these.
        looks: how often anybody looks in all, this being one of them.
    """
    found = [one for one in (task.difference for task in tasks) if one is not None]
    # A task that says nothing is as good as never planned: it must not make a look look early.
    total = max((planned or len(tasks)) - (len(tasks) - len(found)), len(found))
    if len(found) < _LEAST_TASKS:
        return Lift(
            verdict=LiftVerdict.INCONCLUSIVE,
            tasks=len(found),
            mean=sum(found) / len(found) if found else 0.0,
            low=-1.0,
            high=1.0,
            more_tasks=_LEAST_TASKS - len(found),
        )
    mean, error = _mean_and_error(found)
    level = _spent(len(found) / total, looks)
    half = student_quantile(1 - level / 2, len(found) - 1) * error
    verdict = LiftVerdict.INCONCLUSIVE
    if abs(mean) > half:
        verdict = LiftVerdict.PROVEN if mean > 0 else LiftVerdict.HARMFUL
    is_open = verdict is LiftVerdict.INCONCLUSIVE
    return Lift(
        verdict=verdict,
        tasks=len(found),
        mean=mean,
        low=max(mean - half, -1.0),
        high=min(mean + half, 1.0),
        more_tasks=max(needed_tasks(found) - len(found), 0) if is_open else 0,
        is_settled=not is_open or len(found) >= total or _is_futile(found, total),
    )


def needed_tasks(differences: Sequence[float]) -> int:
    """Return how many tasks such differences need to be shown with four chances in five."""
    mean, error = _mean_and_error(differences)
    spread = error * math.sqrt(len(differences))
    effect = max(abs(mean), _SMALLEST_LIFT)
    sure = _NORMAL.inv_cdf(1 - _ALPHA / 2) + _NORMAL.inv_cdf(_POWER)
    return max(math.ceil((sure * spread / effect) ** 2), _LEAST_TASKS)


def plan_looks(planned: int, most: int = 8) -> tuple[int, ...]:
    """Return after how many tasks it is worth looking."""
    steps = [round(planned * part / most) for part in range(1, most + 1)]
    return tuple(sorted({step for step in steps if step >= _LEAST_TASKS} | {planned}))


def _share(runs: Sequence[bool]) -> float:
    return sum(runs) / len(runs)


def _mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and its standard error; what never varied is not taken for certain."""
    count = len(values)
    mean = sum(values) / count
    variance = sum((value - mean) ** 2 for value in values) / max(count - 1, 1)
    # Where all tasks came out alike the next one may still not: half a run is added to each side.
    floor = 1 / (4 * count) if variance < _SMALLEST else 0.0
    return mean, math.sqrt(max(variance, floor) / count)


def _spent(done: float, looks: int) -> float:
    """Return the level of one look, after a share `done` of the work."""
    return _ALPHA if looks <= 1 else _ALPHA * min(done, 1.0) ** 2


def _is_futile(found: Sequence[float], total: int) -> bool:
    """Return whether what is left could hardly bring a verdict, even if it went well."""
    if len(found) < total * _TOO_EARLY:
        return False
    mean, error = _mean_and_error(found)
    spread, left = error * math.sqrt(len(found)), total - len(found)
    bar = _NORMAL.inv_cdf(1 - _ALPHA / 2) * spread * math.sqrt(total)
    # The sum at the end: what there is, and the rest at a lift of one error more than is seen.
    expected = abs(mean) * len(found) + (abs(mean) + error) * left
    chance = 1 - _NORMAL.cdf((bar - expected) / max(spread * math.sqrt(left), _SMALLEST))
    return chance < _HOPELESS


@cache
def student_quantile(share: float, freedom: int) -> float:
    """Return the quantile of Student's distribution, by bisection on its exact tail."""
    low, high = 0.0, 1_000.0
    if share == 1 / 2:
        return 0.0
    for _ in range(80):
        middle = (low + high) / 2
        if _student_cdf(middle, freedom) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _student_cdf(value: float, freedom: int) -> float:
    """Return the distribution at a positive value, by the finite sums for whole numbers."""
    angle = math.atan(value / math.sqrt(freedom))
    cosine = math.cos(angle)
    if freedom % 2:
        total, term = 0.0, cosine
        for step in range(1, (freedom - 1) // 2 + 1):
            total += term
            term *= cosine * cosine * (2 * step) / (2 * step + 1)
        inside = (angle + math.sin(angle) * total) * 2 / math.pi
    else:
        total, term = 0.0, 1.0
        for step in range(1, freedom // 2 + 1):
            total += term
            term *= cosine * cosine * (2 * step - 1) / (2 * step)
        inside = math.sin(angle) * total
    return (1 + inside) / 2
