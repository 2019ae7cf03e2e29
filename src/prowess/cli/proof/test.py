"""`test` and `prove`: what can be tested of skills without a key, and whether agents do better."""

import json
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

import click

from prowess.cli.render import ProgressBar, count_up, print_json, print_raw, print_text
from prowess.cli.sarif import log, uri
from prowess.cli.terminal import Common, common, complete_skill, json_option, workspace_option
from prowess.data import read_text
from prowess.errors import PathError
from prowess.evaluation.skill_tests import KINDS, SkillTest, SkillTests
from prowess.proof.tasks import LiftVerdict, RunOutcome
from prowess.runtime.proof.prove import ProofPlan, ProofReport
from prowess.skills.text import clean
from prowess.wire import safety as wire_proof
from prowess.wire.skills import Json
from prowess.wiring import open_runtime
from prowess.wiring.proof import ProofRequest, ProofSession
from prowess.wiring.skill_tests import TestedSkills, run_tests

_MOST_SHOWN = 20
_FILES = {
    "github": (".github/workflows/skills.yml", "cli/proof/workflow.txt"),
    "pre-commit": (".pre-commit-config.yaml", "cli/proof/pre_commit.txt"),
}


@click.command("test")
@click.argument("paths", nargs=-1, type=click.Path(exists=True))
@click.option(
    "--only",
    multiple=True,
    type=click.Choice(KINDS),
    help="Test only this; may be given more than once.",
)
@click.option("--strict", is_flag=True, help="Hold files to the whole Agent Skills standard.")
@click.option("--junit", metavar="FILE", type=click.Path(), help="Write JUnit XML there.")
@click.option("--sarif", metavar="FILE", type=click.Path(), help="Write SARIF there.")
@click.option("--markdown", metavar="FILE", type=click.Path(), help="Write a summary there.")
@click.option(
    "--init",
    type=click.Choice(sorted(_FILES)),
    help="Write the file that runs this in CI or before a commit, and test nothing.",
)
@common
def test_command(
    given: Common,
    paths: Sequence[str],
    *,
    only: Sequence[str],
    strict: bool,
    junit: str | None,
    sarif: str | None,
    markdown: str | None,
    init: str | None,
) -> int:
    """Test skills: files, scanner, freshness, messages that should find them, and budgets.

    Messages are those of the suites beside the skills (`evals/triggers.yaml`, and what `prowess
    eval` reads) and those saved in the studio. With PATHS only the files and suites there count.
    Nothing needs a key. Exit code 1 when a test fails or a suite cannot be read.
    """
    if init is not None:
        return _init(init)
    with open_runtime(given.workspace) as runtime, ProgressBar() as bar:
        found = run_tests(runtime, TestedSkills(paths, given.agent, only or KINDS, strict), bar)
    for target, text in ((junit, _junit), (markdown, _markdown)):
        if target:
            _write(target, text(found))
    if sarif:
        _write(sarif, json.dumps(_sarif(found), indent=2) + "\n")
    if given.as_json:
        print_json(wire_proof.skill_tests(found))
    else:
        _print(found)
    return 0 if found.passed else 1


def _init(which: str) -> int:
    place, text = _FILES[which]
    target = Path(place)
    if target.exists():
        print_raw(read_text(text))
        raise PathError(place, "exists: add what is printed here to it yourself.")
    _write(place, read_text(text))
    print_text(f"written: {place}")
    return 0


def _write(path: str, text: str) -> None:
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise PathError(path, f"cannot be written: {error.strerror}.") from error


def _print(found: SkillTests) -> None:
    for one in found.failed[:_MOST_SHOWN]:
        print_text(f"✗ {one.kind}: {one.name}", "red")
        for failure in one.failures[:_MOST_SHOWN]:
            print_text(f"    {failure}")
    if len(found.failed) > _MOST_SHOWN:
        print_text(f"and {len(found.failed) - _MOST_SHOWN} more; --json has them all", "dim")
    for problem in found.problems[:_MOST_SHOWN]:
        print_text(f"! {problem}", "yellow")
    for kind, (every, lost) in found.counts().items():
        if every:
            print_text(f"{kind:<11} {every - lost} of {every} passed", "red" if lost else "green")


def _junit(found: SkillTests) -> str:
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>"]
    for kind, (every, lost) in found.counts().items():
        lines.append(f'  <testsuite name="{kind}" tests="{every}" failures="{lost}">')
        for one in found.tests:
            if one.kind == kind:
                lines += _junit_case(one)
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def _junit_case(one: SkillTest) -> Iterator[str]:
    head = (
        f"    <testcase classname={_attribute(one.skill or one.kind)} name={_attribute(one.name)}"
    )
    if one.passed:
        yield f"{head}/>"
        return
    yield f"{head}>"
    yield f"      <failure message={_attribute('; '.join(one.failures))}/>"
    yield "    </testcase>"


def _attribute(text: str) -> str:
    return '"' + escape(clean(text).replace("\n", " ")) + '"'


def _markdown(found: SkillTests) -> str:
    lines = ["# Skills", "", "| test | passed | failed |", "| --- | --- | --- |"]
    lines += [
        f"| {kind} | {n - lost} | {lost} |" for kind, (n, lost) in found.counts().items() if n
    ]
    lines.append("")
    lines += [
        f"- **{_cell(one.kind)}** {_cell(one.name)}: {_cell('; '.join(one.failures))}"
        for one in found.failed
    ]
    lines += [f"- could not be tested: {_cell(one)}" for one in found.problems]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    # What a skill says is text here, and neither a link nor a column.
    plain = clean(text).replace("\n", " ")
    return "".join(f"\\{char}" if char in "|[]<>*_`\\" else char for char in plain)


def _sarif(found: SkillTests) -> Json:
    kinds = [kind for kind in KINDS if any(one.kind == kind for one in found.failed)]
    rules = [
        {"id": kind, "shortDescription": {"text": f"A skill fails its {kind}."}} for kind in kinds
    ]
    results = [
        {
            "ruleId": one.kind,
            "ruleIndex": kinds.index(one.kind),
            "level": "error",
            "message": {"text": clean("; ".join(one.failures))},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": uri(one.path or ".")},
                        "region": {"startLine": one.line},
                    }
                }
            ],
        }
        for one in found.failed
    ]
    return log(rules, results)


_STYLES = {
    LiftVerdict.PROVEN: "green",
    LiftVerdict.HARMFUL: "red",
    LiftVerdict.INCONCLUSIVE: "yellow",
}
_MOST_LESSONS = 10


@click.command("prove")
@click.argument("name", metavar="SKILL", shell_complete=complete_skill)
@click.option(
    "--evals",
    metavar="FILE",
    type=click.Path(exists=True),
    help="The tasks: evals.json, our YAML, or a folder of tasks; by default those of the skill.",
)
@click.option(
    "--agent",
    "who",
    default="scripted",
    metavar="NAME",
    help="scripted (no key), claude-code, codex, gemini, chat, or command:PROGRAM {prompt}.",
)
@click.option("--model", default="", metavar="NAME", help="The model that the agent uses.")
@click.option("--runs", default=3, type=click.IntRange(1, 100), help="Runs of each task and side.")
@click.option("--budget", type=click.FloatRange(0), metavar="USD", help="Never spend more.")
@click.option(
    "--price", type=click.FloatRange(0), metavar="USD", help="What one run costs at most."
)
@click.option(
    "--timeout", "seconds", default=600.0, type=click.FloatRange(1), help="Seconds for one run."
)
@click.option(
    "--neighbours",
    default=0,
    type=click.IntRange(0, 50),
    metavar="N",
    help="Lay the N skills that are nearest to it beside it, on both sides.",
)
@click.option("--judge", "judged", is_flag=True, help="Let your model judge what no script can.")
@click.option("--dry-run", is_flag=True, help="Show the plan and its cost, and run nothing.")
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="FILE",
    help="Also write the figures there, as benchmark.json.",
)
@json_option
@workspace_option
def prove_command(
    workspace: str | None,
    name: str,
    who: str,
    output: str | None,
    *,
    as_json: bool,
    dry_run: bool,
    # Whatever click has checked above.
    **asked: Any,  # noqa: ANN401
) -> int:
    """Run tasks with and without SKILL, and say whether it helps, by how much and how sure.

    Each run has a folder and a home of its own. Runs are written down as they end: the same command
    goes on where it was stopped. Exit code 0 when the skill is proven, 1 when it is harmful or
    nothing could be shown.
    """
    with open_runtime(workspace) as runtime, ProgressBar() as bar:
        request = ProofRequest(skill=name, agent=who, **asked)
        session = ProofSession(runtime, request, bar)
        beside = [one.name for one in session.neighbours]
        if dry_run or not as_json:
            _print_plan(session.plan, beside, as_json=as_json)
        if dry_run:
            return 0
        report = session.run()
    shown = wire_proof.benchmark(report, harness=who, model=request.model)
    shown["neighbours"] = beside
    if output:
        _write(output, json.dumps(shown, indent=2) + "\n")
    if as_json:
        print_json(shown)
    else:
        _print_report(report)
    return 0 if report.lift.verdict is LiftVerdict.PROVEN else 1


def _print_plan(plan: ProofPlan, beside: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        print_json({**wire_proof.proof_plan(plan), "neighbours": list(beside)})
        return
    cost = f", at most ${plan.cost:.2f}" if plan.cost else ", at no known cost"
    print_text(
        f"{count_up(len(plan.tasks), 'task')}, {count_up(plan.runs, 'run')} each with and without: "
        f"{plan.size}{cost}"
    )
    if beside:
        print_text(f"beside it on both sides: {', '.join(beside)}")
    if plan.left_out:
        named = ", ".join(plan.left_out[:_MOST_LESSONS])
        print_text(f"left out (no check or judge, or beyond the budget): {named}", "yellow")


def _print_report(report: ProofReport) -> None:
    lift = report.lift
    print_text(f"{lift.verdict.value}: {report.skill.name}", f"bold {_STYLES[lift.verdict]}")
    low, mean, high = (100 * value for value in (lift.low, lift.mean, lift.high))
    tasks = count_up(lift.tasks, "task")
    print_text(f"  lift {mean:+.1f} points, between {low:+.1f} and {high:+.1f}, {tasks}")
    for with_skill, word in ((True, "with"), (False, "without")):
        counts = report.counts(with_skill=with_skill)
        named = ", ".join(f"{counts[one]} {one.value}" for one in RunOutcome if counts[one])
        print_text(f"  {word:<8} {named or 'no runs'}")
    print_text(f"  {len(report.records)} of {report.plan.size} runs, ${report.cost:.2f}")
    if lift.more_tasks:
        more = count_up(lift.more_tasks, "more task")
        print_text(f"  it would take about {more} like these", "dim")
    for one in [one for one in report.records if one.problem][:_MOST_LESSONS]:
        print_text(f"  ! {one.task}: {one.problem}", "yellow")
