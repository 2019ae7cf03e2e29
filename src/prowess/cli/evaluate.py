"""`eval`: how well messages find the right skills, on your own suites or on benchmarks."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import click

from prowess.cli.render import Cell, Column, ProgressBar, print_json, print_table, print_text
from prowess.cli.terminal import Common, common
from prowess.errors import PathError, SuiteError
from prowess.evaluation.metrics import (
    Outcome,
    Summary,
    collisions,
    confusion,
    split_by_kind,
    summarise,
)
from prowess.evaluation.routing import BASELINES, OURS, Evaluation, NamedSkills, calibrate
from prowess.evaluation.suites import Bench, Case, Suite, without_examples
from prowess.host.evaluation import RoutingTestsFile, bench_folders, read_bench_folder, read_suites
from prowess.host.sources.candidates import find_named
from prowess.host.store.routing import ThresholdsFile
from prowess.routing.model import Thresholds
from prowess.skills.catalog import merge
from prowess.skills.model import Skill
from prowess.skills.parse import parse
from prowess.wire import routing as wire_routing
from prowess.wire import skills as wire
from prowess.wire.skills import pick
from prowess.wiring import Runtime, open_runtime

_MOST_SHOWN = 20
_LONGEST_NAMES = 60
_FIGURES = ("Cases", "Hit@1", "Recall@5", "AUROC", "Precision", "Recall", "Abstained", "ms")
# Of what is loaded first: clearly right, or plausible at least; then of clear jobs and of messages
# without need, what is loaded or offered.
_ACTIVATION = ("Load right", "Load plausible", "Reached", "Noise")


class BenchRow(NamedTuple):
    """One way to route on one labelled set."""

    name: str
    method: str
    summary: Summary
    problems: tuple[str, ...] = ()
    # The same by language and by length of the messages.
    kinds: Mapping[str, Summary] = MappingProxyType({})


def print_bench(rows: Sequence[BenchRow]) -> None:
    """Print a row of figures for each set and way to route."""
    columns = [Column("Set"), Column("Method"), *map(Column, _FIGURES), Column("Rejected@95")]
    print_table(
        columns,
        [
            (
                Cell(row.name, "bold"),
                Cell(row.method),
                *_cells(row.summary),
                Cell(_share(row.summary.rejected95)),
            )
            for row in rows
        ],
    )
    print_text()
    print_table(
        [Column("Set"), Column("Messages"), Column("Cases"), *map(Column, _ACTIVATION)],
        [
            (Cell(row.name, "bold"), Cell(kind), Cell(str(found.cases)), *_activation(found))
            for row in rows
            if row.method == OURS
            for kind, found in (("all", row.summary), *row.kinds.items())
        ],
    )


def print_outcomes(
    suites: Sequence[tuple[str, Sequence[Outcome]]],
    outcomes: Sequence[Outcome],
    baselines: Mapping[str, Sequence[Outcome]],
) -> None:
    """Print the figures of suites, then what failed and why."""
    rows = [(name, summarise(found)) for name, found in suites]
    if len(rows) > 1:
        rows.append(("all together", summarise(outcomes)))
    rows += [(f"baseline {kind}", summarise(found)) for kind, found in baselines.items()]
    print_table(
        [Column("Suite", flexible=True), *map(Column, _FIGURES)],
        [(Cell(name, "bold"), *_cells(found)) for name, found in rows],
    )
    _print_failures(outcomes)
    _print_confusion(outcomes)
    _print_collisions(outcomes)


def print_problems(problems: Sequence[str], degraded: str) -> None:
    """Print what could not be read, and why meaning took no part."""
    for problem in problems[:_MOST_SHOWN]:
        print_text(f"! {problem}", "yellow")
    if len(problems) > _MOST_SHOWN:
        print_text(f"! and {len(problems) - _MOST_SHOWN} more", "yellow")
    if degraded:
        print_text(f"! degraded: {degraded}", "yellow")


def _cells(found: Summary) -> list[Cell]:
    return [
        Cell(str(found.cases)),
        Cell(_percent(found.hit1)),
        Cell(_percent(found.recall5)),
        Cell(_share(found.auroc)),
        Cell(_share(found.precision)),
        Cell(_share(found.recall)),
        Cell(_share(found.abstained)),
        Cell("-" if found.ms_median is None else f"{found.ms_median:.1f}"),
    ]


def _activation(found: Summary) -> list[Cell]:
    shares = (found.precision_strict, found.precision_first, found.reached, found.noise)
    return [Cell(_share(share)) for share in shares]


def _print_failures(outcomes: Sequence[Outcome]) -> None:
    failed = [outcome for outcome in outcomes if not outcome.passed]
    if not failed:
        print_text(f"{len(outcomes)} of {len(outcomes)} came out as they should.", "green")
        return
    print_text()
    print_text(f"{len(failed)} of {len(outcomes)} did not come out as they should", "bold")
    print_table(
        (Column("Message", flexible=True), Column("Expected"), Column("Got"), Column("Score")),
        [
            (
                Cell(outcome.prompt),
                Cell(_name_expected(outcome)),
                Cell(", ".join(outcome.chosen) or f"none (first: {[*outcome.ranked, '-'][0]})"),
                Cell(f"{outcome.confidence:.2f}"),
            )
            for outcome in failed[:_MOST_SHOWN]
        ],
    )
    if len(failed) > _MOST_SHOWN:
        print_text(f"and {len(failed) - _MOST_SHOWN} more; --json has them all", "dim")


def _print_confusion(outcomes: Sequence[Outcome]) -> None:
    rows = [row for row in confusion(outcomes) if row.hit < row.cases or row.intruded]
    if not rows:
        return
    print_text()
    print_table(
        (Column("Skill"), Column("Right"), Column("Uninvited"), Column("Lost to", flexible=True)),
        [
            (
                Cell(row.skill),
                Cell(f"{row.hit}/{row.cases}"),
                Cell(str(row.intruded)),
                Cell(", ".join(f"{name} {count}x" for name, count in row.taken_by)),
            )
            for row in rows[:_MOST_SHOWN]
        ],
    )


def _print_collisions(outcomes: Sequence[Outcome]) -> None:
    pairs = collisions(outcomes)
    if not pairs:
        return
    print_text()
    print_table(
        (Column("These take each other's prompts"), Column("and"), Column("Lost")),
        [
            (
                Cell(pair.first),
                Cell(pair.second),
                Cell(f"{pair.lost_by_first} to the second, {pair.lost_by_second} to the first"),
            )
            for pair in pairs[:_MOST_SHOWN]
        ],
    )


def _name_expected(outcome: Outcome) -> str:
    if outcome.expected:
        return ", ".join(sorted(outcome.expected))[:_LONGEST_NAMES]
    if outcome.is_open:
        return f"not {', '.join(sorted(outcome.forbidden))}"[:_LONGEST_NAMES]
    return "none"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


_WHOLE = 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What the command line asked for."""

    runtime: Runtime
    agent: str | None
    baselines: tuple[str, ...]
    bar: ProgressBar = field(default_factory=ProgressBar)

    @property
    def evaluation(self) -> Evaluation:
        """What routes the cases."""
        return Evaluation(self.runtime.routing, time.perf_counter)


@dataclass(slots=True, kw_only=True)
class _Result:
    """What all suites together gave."""

    outcomes: list[Outcome] = field(default_factory=list)
    baselines: dict[str, list[Outcome]] = field(default_factory=dict)
    suites: list[tuple[str, list[Outcome]]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def _minimum(_ctx: click.Context, _param: click.Parameter, value: float | None) -> float | None:
    """Take 0.9 and 90 for the same."""
    return value / _WHOLE if value is not None and value > 1 else value


@click.command("eval")
@click.argument("suites", nargs=-1, metavar="[SUITE...]", type=click.Path())
@click.option(
    "--bench",
    metavar="DIR",
    type=click.Path(),
    help="A labelled set (skills, queries, qrels as .jsonl or .xz), or a folder of them.",
)
@click.option(
    "--baseline",
    "baselines",
    multiple=True,
    type=click.Choice(BASELINES),
    help="Show a simpler way to route beside ours; may be given more than once.",
)
@click.option(
    "--min",
    "least",
    metavar="SHARE",
    type=click.FloatRange(0, 100),
    callback=_minimum,
    help="Exit with 1 when fewer cases than this come out right (0.9 or 90).",
)
@click.option(
    "--calibrate",
    "calibrating",
    is_flag=True,
    help="Choose the load threshold that fits these cases best, and keep it.",
)
@click.option(
    "--no-examples",
    "plain",
    is_flag=True,
    help="With --bench: leave out the example requests that come with a set's skills.",
)
@click.option("--saved", is_flag=True, help="Run the messages that were saved in the studio, too.")
@click.option("--dry-run", is_flag=True, help="With --calibrate: show it and keep nothing.")
@common
def eval_command(
    given: Common,
    suites: tuple[str, ...],
    *,
    bench: str | None,
    plain: bool,
    baselines: tuple[str, ...],
    least: float | None,
    calibrating: bool,
    saved: bool,
    dry_run: bool,
) -> int:
    """Measure how well messages find the right skills, without a key and always alike.

    A SUITE is YAML or JSON: {skills: DIR?, cases: [{prompt, expect: name | [names] | none}]}, the
    evals/evals.json or trigger file that an author ships, or a folder that holds such files.
    Without one, the suites beside the workspace's own skills are run. Exit code 1 below --min, and
    when a file or a case cannot be read.
    """
    if dry_run and not calibrating:
        raise click.UsageError("--dry-run belongs to --calibrate")
    if bench is not None and (suites or calibrating or saved):
        raise click.UsageError("--bench does not go together with suites, --saved or --calibrate")
    if plain and bench is None:
        raise click.UsageError("--no-examples belongs to --bench")
    with open_runtime(given.workspace) as runtime:
        plan = _Plan(runtime=runtime, agent=given.agent, baselines=tuple(dict.fromkeys(baselines)))
        if bench is not None:
            rows = _bench(plan, bench, plain=plain)
            return _report_bench(plan, rows, least=least, as_json=given.as_json)
        result = _run_suites(plan, (*suites, *_find_saved(plan.runtime, wanted=saved)))
        thresholds = calibrate(result.outcomes) if calibrating else None
        _report(plan, result, thresholds, as_json=given.as_json)
        if calibrating:
            _keep(plan, thresholds, dry_run=dry_run, quiet=given.as_json)
    passed = summarise(result.outcomes).passed or 0.0
    # A case that cannot be read tests nothing: a suite that lost some has not passed.
    return 1 if result.problems or (least is not None and passed < least) else 0


def _find_saved(runtime: Runtime, *, wanted: bool) -> tuple[str, ...]:
    """Return the file of the saved messages, where it is wanted."""
    if not wanted:
        return ()
    store = RoutingTestsFile(runtime.folders.state)
    if not store.read():
        raise SuiteError(
            store.path, "holds no saved message: save one in the studio, or leave --saved out."
        )
    return (store.path,)


def _run_suites(plan: _Plan, paths: Sequence[str]) -> _Result:
    result = _Result()
    folder = plan.runtime.skills.workspace(plan.agent).folder
    for path in paths or (folder,):
        try:
            found = read_suites(path)
        except SuiteError as error:
            # The others still run; what is wrong here is told with them.
            result.problems.append(str(error))
            continue
        result.problems += found.problems
        inside = str(Path(path).resolve()) if Path(path).is_dir() else None
        for suite in found.suites:
            result.problems += [f"{suite.name}: {problem}" for problem in suite.problems]
            try:
                _run_suite(plan, suite, inside, result)
            except PathError as error:
                result.problems.append(f"{suite.name}: {error}")
    if not result.outcomes:
        reason = f" ({result.problems[0]})" if result.problems else ""
        raise SuiteError(", ".join(paths) or folder, f"has no case that can be run{reason}.")
    return result


def _run_suite(plan: _Plan, suite: Suite, inside: str | None, result: _Result) -> None:
    catalogue = _catalogue(plan, suite.skills_dir or inside)
    cases = _select_runnable(suite, catalogue, result.problems)
    found = plan.evaluation.compare(catalogue, cases, plan.baselines, plan.bar)
    outcomes = found.pop(OURS)
    result.suites.append((suite.name, outcomes))
    result.outcomes += outcomes
    for kind, answers in found.items():
        result.baselines.setdefault(kind, []).extend(answers)


def _catalogue(plan: _Plan, folder: str | None) -> NamedSkills:
    """Return the skills of `folder`, ready or not, else those that the agent may use."""
    found = _skills_in(plan.runtime, folder) if folder is not None else ()
    routing = plan.runtime.routing
    if found:
        return NamedSkills.of(routing.index_of(found, plan.bar), lambda skill: skill.name)
    return NamedSkills.of(routing.index(plan.agent, plan.bar), lambda skill: skill.name)


def _skills_in(runtime: Runtime, folder: str) -> tuple[Skill, ...]:
    settings = runtime.skills.settings.skills
    candidates = find_named([folder], settings.spec_mode, settings.limits)
    read = (
        parse(candidate.document, settings.spec_mode).skill
        for candidate in candidates
        if candidate.document is not None and candidate.document.is_skill_file
    )
    skills = [skill for skill in read if skill is not None]
    return tuple(merge(skills, settings.load.precedence).winners.values())


def _select_runnable(suite: Suite, catalogue: NamedSkills, problems: list[str]) -> list[Case]:
    """Return the cases whose skills are there; a case for a missing one could only fail."""
    there, cases = set(catalogue.names), []
    for case in suite.cases:
        missing = sorted(case.expect - there)
        if case.expect and len(missing) == len(case.expect):
            problems.append(f"{suite.name}: {case.where}: no skill is called {', '.join(missing)}")
        else:
            cases.append(case)
    return cases


def _report(plan: _Plan, result: _Result, thresholds: Thresholds | None, *, as_json: bool) -> None:
    plan.bar.clear()
    problem = plan.runtime.routing.degraded
    if not as_json:
        print_outcomes(result.suites, result.outcomes, result.baselines)
        print_problems(result.problems, problem)
        return
    print_json(
        {
            "total": wire_routing.summary(summarise(result.outcomes)),
            "suites": [
                {"suite": name, **wire_routing.summary(summarise(outcomes))}
                for name, outcomes in result.suites
            ],
            "failures": wire_routing.failures(result.outcomes),
            "skills": wire_routing.confusion(confusion(result.outcomes)),
            "collisions": wire_routing.collisions(collisions(result.outcomes)),
            "baselines": {
                kind: wire_routing.summary(summarise(outcomes))
                for kind, outcomes in result.baselines.items()
            },
            "calibrated": None if thresholds is None else pick(thresholds, "load offer"),
            "status": "degraded" if problem else "ok",
            "problems": result.problems,
        }
    )


def _keep(plan: _Plan, thresholds: Thresholds | None, *, dry_run: bool, quiet: bool) -> None:
    encoder = plan.runtime.routing.encoder()
    if thresholds is None or encoder is None:
        said = "nothing to calibrate: the cases are all right, all wrong, or there is no encoder."
    elif dry_run:
        said = f"would load from {thresholds.load} and offer from {thresholds.offer} on."
    else:
        kept = ThresholdsFile(plan.runtime.folders.state, plan.runtime.state.hold)
        kept.write(encoder.id, thresholds)
        said = (
            f"loads from {thresholds.load} and offers from {thresholds.offer} on from now; "
            "delete routing-thresholds.json in the state folder to undo."
        )
    if not quiet:
        print_text(said, "bold")


def _bench(plan: _Plan, path: str, *, plain: bool) -> list[BenchRow]:
    rows: list[BenchRow] = []
    for folder in bench_folders(path):
        bench = read_bench_folder(folder)
        skills = [without_examples(skill) if plain else skill for skill in bench.skills]
        index = plan.runtime.routing.index_of(skills, plan.bar)
        catalogue = NamedSkills.of(index, lambda skill: skill.id)
        found = plan.evaluation.compare(catalogue, bench.cases, plan.baselines, plan.bar)
        rows += [_bench_row(bench, method, outcomes) for method, outcomes in found.items()]
    plan.bar.clear()
    return rows


def _bench_row(bench: Bench, method: str, outcomes: Sequence[Outcome]) -> BenchRow:
    if method != OURS:
        return BenchRow(bench.name, method, summarise(outcomes))
    kinds = {name: summarise(some) for name, some in split_by_kind(outcomes).items()}
    return BenchRow(bench.name, method, summarise(outcomes), bench.problems, kinds)


def _report_bench(
    plan: _Plan, rows: Sequence[BenchRow], *, least: float | None, as_json: bool
) -> int:
    if as_json:
        shown: list[wire.Json] = [
            {
                **pick(row, "name=set method"),
                **wire_routing.summary(row.summary),
                "kinds": {kind: wire_routing.summary(some) for kind, some in row.kinds.items()},
            }
            for row in rows
        ]
        print_json(shown)
    else:
        print_bench(rows)
        problems = [problem for row in rows for problem in row.problems]
        print_problems(problems, plan.runtime.routing.degraded)
    worst = min(row.summary.hit1 or 0.0 for row in rows if row.method == OURS)
    unread = any(row.problems for row in rows)
    return 1 if unread or (least is not None and worst < least) else 0
