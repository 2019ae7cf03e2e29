"""The statistics of lift, by simulation: what is said of skills that do nothing, and that help."""

import math
import random
import statistics

import pytest

from prowess.proof.lift import (
    Lift,
    LiftVerdict,
    TaskRuns,
    measure,
    plan_looks,
    student_quantile,
)

_NULLS, _TRIALS = 2_000, 600
_NORMAL = statistics.NormalDist()


def _power_in_theory(each: list[float], tasks: int) -> float:
    """Return the chance that a lift like these is shown by so many tasks at 5 %."""
    effect = statistics.mean(each) / (statistics.stdev(each) / math.sqrt(tasks))
    bar = student_quantile(0.975, tasks - 1)
    return 1 - _NORMAL.cdf(bar - effect) + _NORMAL.cdf(-bar - effect)


def _draw(seed: random.Random, tasks: int, runs: int, lift: float) -> list[TaskRuns]:
    """Draw tasks of different difficulty; the skill adds `lift` to the chance of each."""
    found = []
    for _ in range(tasks):
        chance = seed.uniform(0.2, 0.6)
        found.append(
            TaskRuns(
                with_skill=tuple(seed.random() < chance + lift for _ in range(runs)),
                without=tuple(seed.random() < chance for _ in range(runs)),
            )
        )
    return found


def _look_along_the_way(tasks: list[TaskRuns]) -> tuple[Lift, int]:
    looks = plan_looks(len(tasks))
    for count in looks:
        found = measure(tasks[:count], planned=len(tasks), looks=len(looks))
        if found.is_settled:
            return found, count
    raise AssertionError("the last look settles it")


@pytest.mark.slow
@pytest.mark.parametrize(("tasks", "runs"), [(40, 3), (20, 1)])
def test_a_skill_that_does_nothing_is_said_to_help_at_most_once_in_twenty(
    tasks: int, runs: int
) -> None:
    # The same seed is the same simulation; nothing here is a secret.
    seed = random.Random(tasks)  # noqa: S311

    found = [_look_along_the_way(_draw(seed, tasks, runs, 0.0)) for _ in range(_NULLS)]

    proven = sum(lift.verdict is LiftVerdict.PROVEN for lift, _ in found)
    assert proven / _NULLS <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("tasks", "lift"), [(40, 0.2), (30, 0.25), (40, 0.3)])
def test_power_is_that_of_theory_within_three_points(tasks: int, lift: float) -> None:
    # The same seed is the same simulation; nothing here is a secret.
    seed = random.Random(5)  # noqa: S311
    drawn = [_draw(seed, tasks, 3, lift) for _ in range(_TRIALS)]
    each = [task.difference or 0.0 for trial in drawn for task in trial]
    theory = _power_in_theory(each, tasks)

    at_once = sum(measure(trial).verdict is LiftVerdict.PROVEN for trial in drawn) / _TRIALS
    stopped = [_look_along_the_way(trial)[0].verdict for trial in drawn]
    in_steps = stopped.count(LiftVerdict.PROVEN) / _TRIALS

    assert abs(at_once - theory) <= 0.03
    assert abs(in_steps - theory) <= 0.03


@pytest.mark.slow
def test_stopping_saves_a_third_of_the_runs_and_more() -> None:
    # The same seed is the same simulation; nothing here is a secret.
    seed = random.Random(9)  # noqa: S311
    used = planned = 0
    for lift in (0.0, 0.2, 0.3):
        for _ in range(_TRIALS):
            used += _look_along_the_way(_draw(seed, 40, 3, lift))[1]
            planned += 40

    assert 1 - used / planned >= 0.35


def test_a_harmful_skill_is_called_so() -> None:
    tasks = [TaskRuns(with_skill=(False, False, True), without=(True, True, True))] * 8

    assert measure(tasks).verdict is LiftVerdict.HARMFUL


def test_few_tasks_prove_nothing_and_it_is_said_how_many_more_it_takes() -> None:
    found = measure([TaskRuns(with_skill=(True,), without=(False,))] * 3)

    assert (found.verdict, found.more_tasks) == (LiftVerdict.INCONCLUSIVE, 2)


def test_runs_of_one_task_count_as_one() -> None:
    split = TaskRuns(with_skill=(True,) * 50, without=(False,) * 50)
    other = TaskRuns(with_skill=(False,) * 50, without=(True,) * 50)

    assert measure([split, other, split, split, split]).verdict is LiftVerdict.INCONCLUSIVE


def test_a_task_with_runs_on_one_side_alone_does_not_count() -> None:
    assert measure([TaskRuns(with_skill=(True,))] * 9).tasks == 0


def test_tasks_that_went_wrong_change_no_verdict() -> None:
    chance = random.Random(11)  # noqa: S311
    wrong = TaskRuns(with_skill=(True,))
    for _ in range(200):
        tasks = _draw(chance, 9, 3, 0.3)
        looks = len(plan_looks(9))

        alone = measure(tasks, planned=9, looks=looks)
        beside = measure([*tasks, *[wrong] * 3], planned=12, looks=looks)

        assert beside == alone


@pytest.mark.parametrize(
    ("freedom", "known"), [(1, 12.7062), (4, 2.7764), (9, 2.2622), (30, 2.0423)]
)
def test_students_quantiles_are_those_of_the_tables(freedom: int, known: float) -> None:
    assert student_quantile(0.975, freedom) == pytest.approx(known, abs=1e-3)
