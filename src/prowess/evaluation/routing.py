"""How well messages find their skills: cases in, outcomes and calibrated thresholds out.

No key, no network, no chance: the same skills and cases give the same figures. Messages that people
saved as tests are kept in the shape that `prowess eval` reads, so that what was seen in the studio
can be held by a pipeline; one that holds a credential is not kept. Routing is compared with
keywords, plain BM25 and the likeness of descriptions, which stay as simple as people have them.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prowess.errors import SuiteError
from prowess.evaluation.metrics import Outcome
from prowess.evaluation.suites import Case, prompt_text
from prowess.routing import router
from prowess.routing.model import Decision, Thresholds
from prowess.routing.router import SkillIndex
from prowess.routing.words import split_words
from prowess.runtime.route.answer import RoutingService
from prowess.runtime.route.index import Progress
from prowess.runtime.service import SkillsService
from prowess.secrets.credentials import refuse_secrets
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
    return [_cut_plural(word) for word in words if word not in _STOP_WORDS]


def _cut_plural(word: str) -> str:
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
            having = self._found_in[word]
            rarity = math.log1p((self._size - having + 0.5) / (having + 0.5))
            best += rarity
            if word in self._postings:
                skills, impacts = self._postings[word]
                scores[skills] += rarity * impacts
        # Skills without a shared word are all alike: their order would be chance.
        return [(index, score / best) for index, score in _sort_best_first(scores) if score > 0]


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
        return _sort_best_first(self._vectors @ _unit(self._encode([message]))[0])


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-9), np.float32)


def _sort_best_first(scores: NDArray[np.floating]) -> list[tuple[int, float]]:
    order = np.argsort(-scores, kind="stable")
    return [(int(index), float(scores[index])) for index in order]


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
        self, cases: Sequence[Case], answer: Callable[[Case], _Answer], progress: Progress | None
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
                clear=case.clear,
                language=case.language,
                took_ms=took,
                **found._asdict(),
            )
            outcomes.append(outcome)
            if progress is not None and done % _EACH == 0:
                progress("routing cases", done, len(cases))
        return outcomes

    def _answer(self, catalogue: NamedSkills, case: Case, choice: router.RouteChoice) -> _Answer:
        index = catalogue.index
        query = router.read(case.prompt, router.Context(reply=case.reply))
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
        value = _weigh(right / loaded, right / inside)
        if value >= best:
            best, load = value, confidence
    # Just below the case that decided, so that it stays on its side.
    load = max(0.01, min(0.99, load - 0.005))
    return Thresholds(load=round(load, 3), offer=round(load * _OFFER_SHARE, 3))


def _weigh(precision: float, recall: float) -> float:
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
        # What no scan has looked at yet is tested like the rest.
        self._skills.settle(self._skills.allowed(agent).hopeful, agent)
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
