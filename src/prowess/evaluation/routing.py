"""How well messages find their skills: cases in, outcomes and calibrated thresholds out.

No key, no network, no chance: the same skills and cases give the same figures. Messages that people
saved as tests are kept in the shape that `prowess eval` reads, so that what was seen in the studio
can be held by a pipeline; one that holds a credential is not kept.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from prowess.errors import SuiteError
from prowess.evaluation.baselines import (
    Baseline,
    Bm25Baseline,
    DescriptionBaseline,
    KeywordBaseline,
)
from prowess.evaluation.metrics import Outcome
from prowess.evaluation.suites import Case, prompt_text
from prowess.routing import router
from prowess.routing.index import SkillIndex
from prowess.routing.model import Decision, Thresholds
from prowess.runtime.route.answer import RoutingService
from prowess.runtime.route.index import Progress
from prowess.runtime.service import SkillsService
from prowess.secrets.credentials import refuse_secrets
from prowess.skills.model import Skill

OURS = "prowess"
BASELINES = ("keyword", "description", "bm25")
_RANKED = 10
_EACH = 25
# Offered is what is a little less likely than what is loaded.
_OFFER_SHARE = 0.4
# A wrong skill costs the agent more than a missing one, which it can still ask for.
_PRECISION_COUNTS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSkills:
    """The skills of an evaluation and the names by which its cases call them."""

    index: SkillIndex
    names: tuple[str, ...]

    @classmethod
    def of(cls, index: SkillIndex, called: Callable[[Skill], str]) -> "NamedSkills":
        """Name the skills of an index as the cases do."""
        return cls(index=index, names=tuple(called(skill) for skill in index.skills))


class _Answer(NamedTuple):
    """What one way to route says to a message, by the names of the cases."""

    ranked: tuple[str, ...]
    confidence: float
    chosen: tuple[str, ...]
    offered: tuple[str, ...] = ()


class Evaluation:
    """Routes every case of a suite and notes what came of it."""

    def __init__(self, routing: RoutingService, seconds: Callable[[], float]) -> None:
        self._routing, self._seconds = routing, seconds

    def run(
        self, catalogue: NamedSkills, cases: Sequence[Case], progress: Progress | None = None
    ) -> list[Outcome]:
        """Return what routing answers in each case."""
        choice = self._routing.choice()
        return self._each(cases, lambda case: self._answer(catalogue, case, choice), progress)

    def compare(
        self,
        catalogue: NamedSkills,
        cases: Sequence[Case],
        kinds: Sequence[str],
        progress: Progress | None = None,
    ) -> dict[str, list[Outcome]]:
        """Return what routing answers in each case, and beside it each kind of `BASELINES`.

        Raises:
            EncoderError: a baseline needs an encoder and there is none that works.
        """
        found = {OURS: self.run(catalogue, cases, progress)}
        for kind in kinds:
            simpler = self.baseline(kind, catalogue)
            found[kind] = self.run_baseline(catalogue, cases, simpler, progress)
        return found

    def run_baseline(
        self,
        catalogue: NamedSkills,
        cases: Sequence[Case],
        baseline: Baseline,
        progress: Progress | None = None,
    ) -> list[Outcome]:
        """Return what a simpler way to route answers; it loads its best match, if it has one."""

        def answer(case: Case) -> _Answer:
            ranked = baseline.rank(case.prompt)
            names = tuple(catalogue.names[place] for place, _ in ranked[:_RANKED])
            top = ranked[0][1] if ranked else 0.0
            return _Answer(names, top, names[:1] if top > 0 else ())

        return self._each(cases, answer, progress)

    def baseline(self, kind: str, catalogue: NamedSkills) -> Baseline:
        """Return one of `BASELINES` over the skills of a catalogue.

        Raises:
            EncoderError: it needs an encoder and there is none that works.
        """
        skills = catalogue.index.skills
        if kind == "keyword":
            return KeywordBaseline(skills)
        if kind == "bm25":
            return Bm25Baseline(skills)
        return DescriptionBaseline(skills, self._routing.needed_encoder().encode)

    def _each(
        self,
        cases: Sequence[Case],
        answer: Callable[[Case], _Answer],
        progress: Progress | None,
    ) -> list[Outcome]:
        outcomes = []
        for done, case in enumerate(cases, start=1):
            started = self._seconds()
            found = answer(case)
            took = (self._seconds() - started) * 1_000
            outcome = Outcome(
                prompt=case.prompt,
                expected=case.expect,
                forbidden=case.not_expected,
                is_open=case.is_open,
                ranked=found.ranked,
                confidence=found.confidence,
                chosen=found.chosen,
                offered=found.offered,
                took_ms=took,
            )
            outcomes.append(outcome)
            if progress is not None and done % _EACH == 0:
                progress("routing cases", done, len(cases))
        return outcomes

    def _answer(self, catalogue: NamedSkills, case: Case, choice: router.RouteChoice) -> _Answer:
        index = catalogue.index
        query = router.read(case.prompt)
        settled = router.outright(index, query, choice)
        if settled is not None:
            places = {id(skill): place for place, skill in enumerate(index.skills)}
            names = tuple(catalogue.names[places[id(match.skill)]] for match in settled.matches)
            return _Answer(names, float(bool(names)), names)
        ranking = router.rank(index, self._routing.with_vector(index, query), choice.scale)
        decision, chosen = router.decide(ranking, choice)
        picked = tuple(catalogue.names[place] for place in chosen)
        return _Answer(
            ranked=tuple(catalogue.names[place] for place in ranking.order[:_RANKED]),
            confidence=ranking.confidence,
            chosen=picked if decision is Decision.LOAD else (),
            offered=picked if decision is Decision.OFFER else (),
        )


def calibrate(outcomes: Sequence[Outcome]) -> Thresholds | None:
    """Return the thresholds under which loading the best skill would have been right most often.

    None where the cases cannot tell: none in scope, or all of them right or all wrong.
    """
    judged = [(o.confidence, o.hit) for o in outcomes if not o.is_open or o.in_scope]
    inside = sum(outcome.in_scope for outcome in outcomes)
    if not inside or len({right for _, right in judged}) == 1:
        return None
    best, load, right = -1.0, 0.5, 0
    judged.sort(reverse=True)
    for loaded, (confidence, hit) in enumerate(judged, start=1):
        right += hit
        if loaded < len(judged) and judged[loaded][0] == confidence:
            # Equal ones are loaded together or not at all.
            continue
        value = _weighted(right / loaded, right / inside)
        if value >= best:
            best, load = value, confidence
    # Just below the case that decided, so that it stays on its side.
    load = max(0.01, min(0.99, load - 0.005))
    return Thresholds(load=round(load, 3), offer=round(load * _OFFER_SHARE, 3))


def _weighted(precision: float, recall: float) -> float:
    """Return the F-measure that counts precision twice as much."""
    share = _PRECISION_COUNTS**2
    below = share * precision + recall
    return (1 + share) * precision * recall / below if below else 0.0


MOST_TESTS = 500
LONGEST_MESSAGE = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingTest:
    """A message, and whether a skill should be loaded for it."""

    id: str
    message: str
    # Empty where no skill at all should be loaded.
    skill: str = ""
    should: bool = True
    # Seconds since 1970.
    added_at: float = 0.0

    @property
    def case(self) -> Case:
        """The same for an evaluation."""
        meant = frozenset((self.skill,)) if self.skill else frozenset()
        if self.should or not self.skill:
            return Case(prompt=self.message, expect=meant, where=self.id)
        return Case(prompt=self.message, not_expected=meant, is_open=True, where=self.id)


class RoutingTestStore(Protocol):
    """Keeps the tests; safe for several threads and processes."""

    @property
    def path(self) -> str:
        """Where they are, for messages and for `prowess eval`."""

    def read(self) -> Sequence[RoutingTest]:
        """Return all of them, the oldest first; what cannot be read counts as none."""

    def change(self, edit: Callable[[list[RoutingTest]], None]) -> None:
        """Read, change and write them as one step.

        Raises:
            StoreError: they cannot be kept.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRun:
    """What became of one test; no outcome where the skill it asks for is not there."""

    # Nothing that pytest should collect.
    __test__ = False

    test: RoutingTest
    outcome: Outcome | None
    problem: str = ""

    @property
    def passed(self) -> bool:
        """True where routing answers as the test wants."""
        return self.outcome is not None and self.outcome.passed


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingTestPorts:
    """What the tests need from the world."""

    store: RoutingTestStore
    # Seconds since 1970, and seconds that only grow.
    now: Callable[[], float]
    seconds: Callable[[], float]
    new_id: Callable[[], str]


class RoutingTests:
    """Adds, lists, removes and runs the tests."""

    def __init__(
        self, skills: SkillsService, routing: Callable[[], RoutingService], tools: RoutingTestPorts
    ) -> None:
        self._skills, self._routing, self._tools = skills, routing, tools
        self._store = tools.store

    def listed(self) -> Sequence[RoutingTest]:
        """Return all tests, the oldest first."""
        return self._store.read()

    def add(self, message: str, skill: str, *, should: bool, agent_id: str | None) -> RoutingTest:
        """Keep a test; the same message about the same skill is only kept once, as said last.

        Raises:
            SkillNotFoundError: there is no such skill.
            ProposalSecretError: the message holds a credential.
            SuiteError: there are too many tests.
            StoreError: it cannot be kept.
        """
        refuse_secrets({"message": message})
        name = self._skills.find(skill, agent_id).skill.name if skill else ""
        text = prompt_text(message.strip())[:LONGEST_MESSAGE]
        made = RoutingTest(
            id=self._tools.new_id(),
            message=text,
            skill=name,
            should=should,
            added_at=self._tools.now(),
        )

        def edit(tests: list[RoutingTest]) -> None:
            tests[:] = [one for one in tests if (one.message, one.skill) != (text, name)]
            if len(tests) >= MOST_TESTS:
                raise SuiteError(
                    self._store.path, f"holds {MOST_TESTS} tests already: remove some first."
                )
            tests.append(made)

        self._store.change(edit)
        return made

    def remove(self, test_id: str) -> bool:
        """Forget a test; False where there was none.

        Raises:
            StoreError: it cannot be written.
        """
        gone: list[RoutingTest] = []

        def edit(tests: list[RoutingTest]) -> None:
            gone.extend(one for one in tests if one.id == test_id)
            tests[:] = [one for one in tests if one.id != test_id]

        self._store.change(edit)
        return bool(gone)

    def run(self, agent_id: str | None) -> list[TestRun]:
        """Route every message as an agent would, and say what came of it.

        Raises:
            UnknownAgentError: there is no such agent.
        """
        tests, agent = self.listed(), self._skills.agent(agent_id).id
        if not tests:
            return []
        routing = self._routing()
        catalogue = NamedSkills.of(routing.index(agent), lambda skill: skill.name)
        there = set(catalogue.names)
        runnable = [one for one in tests if not one.should or not one.skill or one.skill in there]
        evaluation = Evaluation(routing, self._tools.seconds)
        outcomes = evaluation.run(catalogue, [one.case for one in runnable])
        by_id = {one.id: outcome for one, outcome in zip(runnable, outcomes, strict=True)}
        return [_run(one, by_id.get(one.id), agent) for one in tests]


def _run(test: RoutingTest, outcome: Outcome | None, agent_id: str) -> TestRun:
    problem = "" if outcome is not None else f"{agent_id} may not use {test.skill}, or it is gone"
    return TestRun(test=test, outcome=outcome, problem=problem)
