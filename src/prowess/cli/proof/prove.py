"""`prove`: whether an agent does better with a skill than without it."""

from collections.abc import Sequence
from typing import Any

import click

from prowess.cli.options import complete_skill, json_option, workspace_option
from prowess.cli.render import ProgressBar, print_json, print_text
from prowess.proof.lift import LiftVerdict
from prowess.proof.tasks import RunOutcome
from prowess.runtime.proof.prove import ProofPlan, ProofReport
from prowess.wire import proof as wire_proof
from prowess.wiring import open_runtime
from prowess.wiring.proof import ProofRequest, ProofSession

_STYLES = {
    LiftVerdict.PROVEN: "green",
    LiftVerdict.HARMFUL: "red",
    LiftVerdict.INCONCLUSIVE: "yellow",
}
_MOST_SHOWN = 10


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
        _write(output, shown)
    if as_json:
        print_json(shown)
    else:
        _print_report(report)
    return 0 if report.lift.verdict is LiftVerdict.PROVEN else 1


def _write(path: str, shown: object) -> None:
    import json
    from pathlib import Path

    from prowess.errors import PathError

    try:
        Path(path).write_text(json.dumps(shown, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise PathError(path, f"cannot be written: {error.strerror}.") from error


def _print_plan(plan: ProofPlan, beside: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        print_json({**wire_proof.proof_plan(plan), "neighbours": list(beside)})
        return
    cost = f", at most ${plan.cost:.2f}" if plan.cost else ", at no cost"
    print_text(
        f"{len(plan.tasks)} tasks, {plan.runs} runs each with and without: {plan.size}{cost}"
    )
    if beside:
        print_text(f"beside it on both sides: {', '.join(beside)}")
    if plan.left_out:
        named = ", ".join(plan.left_out[:_MOST_SHOWN])
        print_text(f"left out (no judge, or beyond the budget): {named}", "yellow")


def _print_report(report: ProofReport) -> None:
    lift = report.lift
    print_text(f"{lift.verdict.value}: {report.skill.name}", f"bold {_STYLES[lift.verdict]}")
    low, mean, high = (100 * value for value in (lift.low, lift.mean, lift.high))
    print_text(f"  lift {mean:+.1f} points, between {low:+.1f} and {high:+.1f}, {lift.tasks} tasks")
    for with_skill, word in ((True, "with"), (False, "without")):
        counts = report.counts(with_skill=with_skill)
        named = ", ".join(f"{counts[one]} {one.value}" for one in RunOutcome if counts[one])
        print_text(f"  {word:<8} {named or 'no runs'}")
    print_text(f"  {len(report.records)} of {report.plan.size} runs, ${report.cost:.2f}")
    if lift.more_tasks:
        print_text(f"  it would take about {lift.more_tasks} more tasks like these", "dim")
    for one in [one for one in report.records if one.problem][:_MOST_SHOWN]:
        print_text(f"  ! {one.task}: {one.problem}", "yellow")
