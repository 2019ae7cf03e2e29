"""The statistics of lift, by simulation: what is said of skills that do nothing, and that help."""

import math
import random
import statistics

import pytest

from prowess.proof.tasks import Lift, LiftVerdict, TaskRuns, measure, plan_looks, student_quantile

_NULLS, _TRIALS = 2_000, 1_500


def _is_shown_at_once(tasks: list[TaskRuns]) -> bool:
    """Return what Student's test says of all tasks at 5 %: no approximation of what is drawn."""
    each = [task.difference or 0.0 for task in tasks]
    error = statistics.stdev(each) / math.sqrt(len(each))
    return statistics.mean(each) > student_quantile(0.975, len(each) - 1) * error


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
@pytest.mark.parametrize(
    ("tasks", "runs", "lift"),
    [(40, 3, 0.2), (30, 3, 0.25), (20, 3, 0.3), (60, 3, 0.15), (40, 1, 0.3), (20, 1, 0.35)],
)
def test_power_with_looks_is_that_of_the_exact_test_within_three_points(
    tasks: int, runs: int, lift: float
) -> None:
    # The same seed is the same simulation; nothing here is a secret.
    seed = random.Random(5)  # noqa: S311
    drawn = [_draw(seed, tasks, runs, lift) for _ in range(_TRIALS)]

    exact = sum(map(_is_shown_at_once, drawn)) / _TRIALS
    stopped = [_look_along_the_way(trial)[0].verdict for trial in drawn]

    assert abs(stopped.count(LiftVerdict.PROVEN) / _TRIALS - exact) <= 0.03


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tasks", "lift"), [(40, 0.0), (20, 0.0), (40, 0.2), (30, 0.25), (20, 0.3), (40, 0.3)]
)
def test_stopping_saves_a_third_where_there_is_nothing_or_what_the_tasks_can_show(
    tasks: int, lift: float
) -> None:
    # The same seed is the same simulation; nothing here is a secret.
    seed = random.Random(9)  # noqa: S311

    used = [_look_along_the_way(_draw(seed, tasks, 3, lift))[1] for _ in range(_TRIALS)]

    assert 1 - statistics.mean(used) / tasks >= 0.35


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
