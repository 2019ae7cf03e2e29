"""Lift as a service: each task with and without a skill, until the statistics are settled.

The plan is made and priced before the first call, and never goes beyond the budget. Every run is
written down as it ends, so that a proof that was stopped goes on where it was. What went wrong with
the machine or the judge says nothing about the skill: such runs are listed and change no verdict.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import accumulate, product
from typing import NamedTuple, Protocol

from prowess.errors import ProofError
from prowess.proof.tasks import (
    LEAST_TASKS,
    LeftBehind,
    Lift,
    ProofTask,
    RunOutcome,
    TaskRuns,
    gives_away,
    grade,
    measure,
    plan_looks,
)
from prowess.skills.model import Skill

_COUNTED = {RunOutcome.PASS: True, RunOutcome.FAIL: False}
_WENT_WRONG = {RunOutcome.INFRA_ERROR, RunOutcome.JUDGE_ERROR, RunOutcome.TIMEOUT}
# After so many whole tasks in a row in which nothing could be run, the next ones are no better.
_GIVEN_UP = 2
_SAID_NOTHING = {
    RunOutcome.JUDGE_ERROR: "the judge gave no answer, or another one when asked again"
}
# Sums of dollars in floats: far less than a cent.
_CENT = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRun:
    """What an agent did with one task."""

    left: LeftBehind = field(default_factory=LeftBehind)
    cost: float = 0.0
    timed_out: bool = False
    # Why it could not be run at all.
    problem: str = ""


class ProofAgent(Protocol):
    """Who does the tasks: a harness, a model behind our own loop, a command."""

    @property
    def name(self) -> str:
        """The harness, as it is written down with the verdict."""

    @property
    def model(self) -> str:
        """The model, as it is written down with the verdict; empty where nobody says."""

    @property
    def price(self) -> float:
        """What one run is expected to cost at most, in dollars."""

    def run(self, task: ProofTask, skills: Sequence[Skill]) -> AgentRun:
        """Do one task in a fresh folder and a fresh home, with these skills and no others."""


class ProofJudge(Protocol):
    """Reads what no script can check; never told which side it reads."""

    def judge(self, task: ProofTask, left: LeftBehind) -> Mapping[str, bool | None]:
        """Return by expectation whether it holds; None where it cannot be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One run that ended."""

    task: str
    with_skill: bool
    number: int
    outcome: RunOutcome
    cost: float = 0.0
    problem: str = ""

    @property
    def key(self) -> tuple[str, bool, int]:
        """By which the same run is known again."""
        return self.task, self.with_skill, self.number


class RunJournal(Protocol):
    """Where runs are written down as they end."""

    def read(self) -> Sequence[RunRecord]:
        """Return those of an earlier, stopped proof of the same."""

    def add(self, record: RunRecord) -> None:
        """Write one down before the next begins."""


class ProofPlan(NamedTuple):
    """What is about to be run, and what it may cost."""

    tasks: tuple[ProofTask, ...]
    runs: int
    cost: float
    left_out: tuple[str, ...] = ()
    # What an expectation costs that is judged.
    judge_price: float = 0.0

    @property
    def size(self) -> int:
        """How many runs it takes at most."""
        return len(self.tasks) * self.runs * 2


@dataclass(frozen=True, slots=True)
class ProofReport:
    """What a proof found."""

    skill: Skill
    lift: Lift
    records: tuple[RunRecord, ...]
    plan: ProofPlan
    cost: float

    def counts(self, *, with_skill: bool) -> Counter[RunOutcome]:
        """Return how the runs of one side came out."""
        return Counter(one.outcome for one in self.records if one.with_skill is with_skill)


def plan_proof(
    tasks: Sequence[ProofTask],
    *,
    runs: int,
    price: float,
    budget: float | None,
    judge_price: float | None,
) -> ProofPlan:
    """Return as many tasks as the budget allows; what only a judge can tell needs one.

    No `judge_price`, of one expectation, means that there is no judge.

    Raises:
        ProofError: the budget does not reach for a proof, or nothing can be graded.
    """
    usable = [
        task for task in tasks if task.checks and (judge_price is not None or not task.judged)
    ]
    left_out = tuple(task.id for task in tasks if task not in usable)
    if not usable:
        raise ProofError(
            "no task can be graded without a judge: give --judge, or checks by script."
        )
    each = ((price + task.judged * (judge_price or 0.0)) * runs * 2 for task in usable)
    sums = list(accumulate(each))
    if not math.isfinite(sums[-1] + (budget or 0.0)):
        raise ProofError("price and budget are numbers of dollars: give one such as 2.50.")
    most = len(usable) if budget is None else sum(one <= budget + _CENT for one in sums)
    least = min(LEAST_TASKS, len(usable))
    if most < least:
        each_run = sums[least - 1] / (least * runs * 2)
        raise ProofError(
            f"a budget of ${budget:.2f} does not reach: {least} tasks take"
            f" ${sums[least - 1]:.2f} at ${each_run:.2f} a run. Nothing was run."
        )
    left_out += tuple(task.id for task in usable[most:])
    return ProofPlan(tuple(usable[:most]), runs, sums[most - 1], left_out, judge_price or 0.0)


class ProofPorts(NamedTuple):
    """Who does, judges and writes down."""

    agent: ProofAgent
    journal: RunJournal
    texts: Sequence[str]
    judge: ProofJudge | None = None
    # Skills that lie beside it on both sides, as they would at work.
    neighbours: Sequence[Skill] = ()
    budget: float | None = None
    progress: Callable[[str, int, int], None] = lambda _what, _done, _total: None


def prove(skill: Skill, plan: ProofPlan, ports: ProofPorts) -> ProofReport:
    """Run the plan until it is settled, used up or has cost what it may."""
    # What went wrong last time is tried again, and was paid: a key may be there now, or more time.
    earlier = ports.journal.read()
    spent, idle = sum(record.cost for record in earlier), 0
    known = {record.key: record for record in earlier if record.outcome not in _WENT_WRONG}
    looks = plan_looks(len(plan.tasks))
    lift = measure([], planned=len(plan.tasks), looks=len(looks))
    for number, task in enumerate(plan.tasks, start=1):
        most = ports.agent.price + task.judged * plan.judge_price
        for run, side in product(range(plan.runs), (skill, None)):
            if (task.id, side is not None, run) in known:
                continue
            too_much = ports.budget is not None and spent + most > ports.budget + _CENT
            if too_much or idle == _GIVEN_UP * plan.runs * 2:
                return ProofReport(skill, lift, tuple(known.values()), plan, spent)
            ports.progress("runs", len(known), plan.size)
            record = _run(task, side, run, ports)
            record = replace(record, cost=record.cost + task.judged * plan.judge_price)
            known[record.key] = record
            spent += record.cost
            idle = idle + 1 if record.outcome is RunOutcome.INFRA_ERROR else 0
            ports.journal.add(record)
        if number in looks:
            lift = _measure(plan, known, number, len(looks))
            if lift.is_settled:
                break
    return ProofReport(skill, lift, tuple(known.values()), plan, spent)


def _measure(
    plan: ProofPlan, known: Mapping[tuple[str, bool, int], RunRecord], done: int, looks: int
) -> Lift:
    """Measure the tasks that were run; what says nothing about the skill is left out."""

    def passed(task: ProofTask, *, with_skill: bool) -> tuple[bool, ...]:
        found = (known.get((task.id, with_skill, run)) for run in range(plan.runs))
        return tuple(
            _COUNTED[one.outcome] for one in found if one is not None and one.outcome in _COUNTED
        )

    tasks = [
        TaskRuns(with_skill=passed(task, with_skill=True), without=passed(task, with_skill=False))
        for task in plan.tasks[:done]
    ]
    return measure(tasks, planned=len(plan.tasks), looks=looks)


def _run(task: ProofTask, skill: Skill | None, number: int, ports: ProofPorts) -> RunRecord:
    beside = tuple(ports.neighbours)
    found = ports.agent.run(task, beside if skill is None else (skill, *beside))
    outcome = RunOutcome.INFRA_ERROR
    if found.timed_out:
        outcome = RunOutcome.TIMEOUT
    elif not found.problem:
        judged: Mapping[str, bool | None] = {}
        if task.judged and ports.judge is not None:
            judged = ports.judge.judge(task, found.left)
        outcome = grade(task, found.left, judged)
        if skill is not None and outcome is RunOutcome.PASS and gives_away(task, ports.texts):
            outcome = RunOutcome.CHEAT
    return RunRecord(
        task=task.id,
        with_skill=skill is not None,
        number=number,
        outcome=outcome,
        cost=found.cost,
        problem=found.problem or _SAID_NOTHING.get(outcome, ""),
    )


UNPROVEN = "unproven"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofVerdict:
    """One verdict, and all that it depends on."""

    verdict: str
    mean: float
    low: float
    high: float
    tasks: int
    model: str
    harness: str
    date: str
    digest: str

    def fields(self) -> dict[str, object]:
        """Return it as it is kept."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofState:
    """Where a skill stands now: proven, harmful, inconclusive or unproven."""

    state: str = UNPROVEN
    last: ProofVerdict | None = None
    # Why the last verdict does not count any more.
    lapsed: str = ""

    def describe(self) -> str:
        """Return one line for a person."""
        if self.last is None:
            return UNPROVEN
        last = self.last
        lift = f"{100 * last.mean:+.0f} points ({100 * last.low:+.0f} to {100 * last.high:+.0f})"
        model = f", {last.model}" if last.model else ""
        said = f"{last.verdict}: {lift} over {last.tasks} tasks, {last.harness}{model}, {last.date}"
        return f"{UNPROVEN} ({self.lapsed}; was {said})" if self.lapsed else said


def find_state(
    known: Mapping[str, ProofVerdict], path: str, digest: str, *, model: str = "", harness: str = ""
) -> ProofState:
    """Return where a skill stands.

    Args:
        known: the last verdicts by path.
        path: the skill's.
        digest: of its files as they are now.
        model: the one in use, where that is known.
        harness: the one in use, where that is known.
    """
    last = known.get(path)
    if last is None:
        return ProofState()
    lapsed = ""
    if last.digest != digest:
        lapsed = "the skill changed since"
    elif model and last.model != model:
        lapsed = f"shown with {last.model or 'another model'}"
    elif harness and last.harness != harness:
        lapsed = f"shown with {last.harness}"
    return ProofState(state=UNPROVEN if lapsed else last.verdict, last=last, lapsed=lapsed)
