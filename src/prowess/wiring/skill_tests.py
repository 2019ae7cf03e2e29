"""All tests of skills with real adapters."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from prowess.errors import SuiteError
from prowess.evaluation.improving import Improvement, Improver, LabelledMessage, word_by
from prowess.evaluation.routing import Evaluation, NamedSkills
from prowess.evaluation.skill_tests import (
    KINDS,
    SkillTest,
    SkillTests,
    check_budget,
    check_claims,
    check_files,
    check_scans,
    check_triggers,
    join_tests,
)
from prowess.evaluation.suites import Suite
from prowess.host.evaluation import RoutingTestsFile, read_suites
from prowess.runtime.route.index import Progress
from prowess.skills.catalog import find
from prowess.skills.harness.listings import Fate
from prowess.skills.model import Skill
from prowess.wiring.library import Runtime
from prowess.wiring.proof import open_freshness, proof_state
from prowess.wiring.transfer import candidates, open_budgets, report_on

if TYPE_CHECKING:
    from prowess.gateway.methods.skills import ProofServices

_AT_ONCE = 60


class TestedSkills(NamedTuple):
    """What is tested: the skills of an agent, or the files and suites at some paths."""

    paths: Sequence[str]
    agent: str | None
    only: Sequence[str]
    strict: bool = False
    # Whether what is found stale counts from now on; who may only read changes nothing.
    keep: bool = True
    # The one skill that it is about: of messages saved elsewhere, only those about it count.
    about: str = ""


def open_proof(runtime: Runtime) -> "ProofServices":
    """Return what the methods of the gateway about proof call."""
    from prowess.gateway.methods.skills import ProofServices  # `prowess test` has no use for it.

    return ProofServices(
        fresh=lambda names, agent: open_freshness(runtime).check(names, agent, keep=False),
        proof=lambda skill, model, harness: proof_state(
            runtime, skill, model=model, harness=harness
        ),
        tests=lambda agent, name: run_tests(
            runtime, _find_asked(runtime, agent, name), lambda *_: None
        ),
    )


def _find_asked(runtime: Runtime, agent: str | None, name: str | None) -> TestedSkills:
    """Return what a client asks for: all skills of an agent, or one and what is beside it."""
    if name is None:
        return TestedSkills((), agent, KINDS, keep=False)
    skill = runtime.skills.find(name, agent).skill
    folder, file = os.path.split(skill.path)
    # A text that stands alone in a folder of many has no tests beside it.
    place = folder if file.lower() == "skill.md" else skill.path
    kinds = [kind for kind in KINDS if kind != "budget"]
    return TestedSkills((place,), agent, kinds, keep=False, about=skill.name)


def run_tests(runtime: Runtime, asked: TestedSkills, bar: Progress) -> SkillTests:
    """Run all tests that are asked for.

    Raises:
        PathError: a path cannot be used.
    """
    paths, agent, only, strict, keep, about = asked
    parts: list[list[SkillTest]] = []
    problems: list[str] = []
    own = [
        status
        for status in runtime.skills.status(agent).skills
        if (about or not status.skill.bundled) and _lies_in(status.skill.path, paths)
    ]
    if "validation" in only:
        found = [
            one
            for one in candidates(runtime, paths, agent)
            if about or not one.path.startswith(runtime.folders.bundled)
        ]
        parts.append(check_files(report_on(one, strict=strict) for one in found))
    if "scan" in only:
        parts.append(check_scans(own))
    if "freshness" in only:
        names = [status.skill.id for status in own]
        parts.append(
            check_claims(open_freshness(runtime).check(names, agent, keep=keep) if names else ())
        )
    if "triggers" in only:
        parts.append(_check_messages(runtime, asked, problems, bar))
    if "budget" in only:
        parts.append(
            check_budget(open_budgets(runtime).report(agent, None, None, everywhere=False))
        )
    return join_tests(parts, problems)


def _lies_in(path: str, paths: Sequence[str]) -> bool:
    places = [os.path.realpath(one) for one in paths]
    real = os.path.realpath(path)
    return not places or any(real == one or real.startswith(one + os.sep) for one in places)


def _check_messages(
    runtime: Runtime, asked: TestedSkills, problems: list[str], bar: Progress
) -> list[SkillTest]:
    suites = _read_messages(runtime, asked, problems)
    if not suites:
        return []
    catalogue = NamedSkills.of(runtime.routing.index(asked.agent, bar), lambda skill: skill.name)
    evaluation = Evaluation(runtime.routing, time.perf_counter)
    tests: list[SkillTest] = []
    for some in _take_together(suites):
        runtime.routing.prepare([case.prompt for suite in some for case in suite.cases])
        for suite in some:
            problems += [f"{suite.name}: {one}" for one in suite.problems]
            tests += check_triggers(suite.name, evaluation.run(catalogue, suite.cases, bar))
    return tests


def _take_together(suites: Sequence[Suite]) -> Iterator[list[Suite]]:
    """Yield suites with about as many messages as routing remembers the words of."""
    # Given vectors all at once, every message would have to be read a second time to be routed.
    some: list[Suite] = []
    for suite in suites:
        if some and sum(len(one.cases) for one in (*some, suite)) > _AT_ONCE:
            yield some
            some = []
        some.append(suite)
    yield some


def _read_messages(runtime: Runtime, asked: TestedSkills, problems: list[str]) -> list[Suite]:
    suites: list[Suite] = []
    paths, about = asked.paths, asked.about
    saved = RoutingTestsFile(runtime.folders.state)
    places = [*(paths or [runtime.skills.workspace(asked.agent).folder])]
    places += [saved.path] if saved.read() and (about or not paths) else []
    for place in places:
        try:
            found = read_suites(place)
        except SuiteError as error:
            if "holds no" not in str(error) and "no suite" not in str(error):
                problems.append(str(error))
            continue
        problems += found.problems
        is_shared = bool(about) and place == saved.path
        for suite in found.suites:
            cases = [case for case in suite.cases if about in case.expect | case.not_expected]
            suites.append(replace(suite, cases=tuple(cases)) if is_shared else suite)
    return suites


class ImproveRequest(NamedTuple):
    """Whose descriptions are looked at, and by what."""

    names: Sequence[str]
    agent: str | None = None
    # Milliseconds since 1970 from which on sessions are read; None reads none.
    since_ms: int | None = None
    # Whether the user's own model words what was found.
    with_model: bool = False


class ImprovedSkills(NamedTuple):
    """What became of each skill, by which harnesses its description is cut, and what was odd."""

    found: Sequence[Improvement]
    cuts: Mapping[str, Sequence[str]]
    problems: Sequence[str]


def improve_skills(runtime: Runtime, asked: ImproveRequest, bar: Progress) -> ImprovedSkills:
    """Find what descriptions lack and what would mend them; nothing is written.

    Raises:
        SkillNotFoundError: there is no such skill, or the agent may not use it.
        ModelError: a model is asked for and none is there.
    """
    problems: list[str] = []
    skills = runtime.skills.allowed(asked.agent).usable
    chosen = [find(skills, name) for name in asked.names]
    chosen = chosen or [skill for skill in skills if not skill.bundled]
    messages = [*_list_messages(runtime, asked, problems, bar)]
    improver = Improver(runtime.routing, skills, [skill.name for skill in skills], messages)
    reword = word_by(runtime.language_model()) if asked.with_model else None
    places = [skills.index(skill) for skill in chosen]
    found = improver.improve(places, reword=reword, progress=bar)
    return ImprovedSkills(found, _find_cuts(runtime, asked.agent, chosen), problems)


def _list_messages(
    runtime: Runtime, asked: ImproveRequest, problems: list[str], bar: Progress
) -> Iterator[LabelledMessage]:
    for suite in _read_messages(runtime, TestedSkills((), asked.agent, KINDS), problems):
        problems += [f"{suite.name}: {one}" for one in suite.problems]
        for case in suite.cases:
            yield LabelledMessage(case.prompt, case.expect, case.not_expected, suite.name)
    for known in runtime.examples.list(asked.agent):
        for text in known.examples.confirmed:
            yield LabelledMessage(text, frozenset((known.name,)), origin="a use of it")
    if asked.since_ms is not None:
        # Late: tests read no sessions, and the stores of the workshop take long to load.
        from prowess.wiring.workshop import open_sessions
        from prowess.workshop.missed_activations import MissKind

        report = open_sessions(runtime, bar).report(
            asked.since_ms, workspace=runtime.skills.workspace(asked.agent).folder
        )
        for one in report.missed:
            if one.kind is MissKind.MISSED:
                skill = frozenset((one.skill,))
                yield LabelledMessage(one.turn.prompt, skill, origin="a session that missed it")


def _find_cuts(
    runtime: Runtime, agent: str | None, chosen: Sequence[Skill]
) -> dict[str, list[str]]:
    """Return by skill which harnesses show less than its whole description."""
    names = {skill.name for skill in chosen}
    found: dict[str, list[str]] = {}
    for page in open_budgets(runtime).report(agent).harnesses:
        for entry in page.entries:
            if entry.skill.name in names and entry.fate is not Fate.SHOWN:
                said = f"{page.reader.value} shows {entry.shown} of {entry.whole} characters"
                found.setdefault(entry.skill.name, []).append(said)
    return found
