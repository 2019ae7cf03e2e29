"""Messages that people saved as tests: which skill each should find, or must not.

They are kept in the shape that `prowess eval` reads, so that what was seen in the studio can be
held by a pipeline. A message that holds a credential is not kept.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from prowess.errors import SuiteError
from prowess.evaluation.evaluation import Catalogue, Evaluation
from prowess.evaluation.metrics import Outcome
from prowess.evaluation.suites import Case, prompt_text
from prowess.runtime.route.answer import RoutingService
from prowess.runtime.service import SkillsService
from prowess.secrets.secret_guard import refuse_secrets

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
class Tools:
    """What the tests need from the world."""

    store: RoutingTestStore
    # Seconds since 1970, and seconds that only grow.
    now: Callable[[], float]
    seconds: Callable[[], float]
    new_id: Callable[[], str]


class RoutingTests:
    """Adds, lists, removes and runs the tests."""

    def __init__(
        self, skills: SkillsService, routing: Callable[[], RoutingService], tools: Tools
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
        catalogue = Catalogue.of(routing.index(agent), lambda skill: skill.name)
        there = set(catalogue.names)
        runnable = [one for one in tests if not one.should or not one.skill or one.skill in there]
        evaluation = Evaluation(routing, self._tools.seconds)
        outcomes = evaluation.run(catalogue, [one.case for one in runnable])
        by_id = {one.id: outcome for one, outcome in zip(runnable, outcomes, strict=True)}
        return [_run(one, by_id.get(one.id), agent) for one in tests]


def _run(test: RoutingTest, outcome: Outcome | None, agent_id: str) -> TestRun:
    problem = "" if outcome is not None else f"{agent_id} may not use {test.skill}, or it is gone"
    return TestRun(test=test, outcome=outcome, problem=problem)
