"""`list` and `check`: what skills there are and how each stands."""

from collections.abc import Sequence
from typing import Any

import click

from prowess.cli.options import common
from prowess.cli.render import (
    Cell,
    Column,
    is_terminal,
    print_json,
    print_table,
    print_text,
)
from prowess.runtime.service import SkillStatus, StatusReport
from prowess.skills.eligibility import missing_text
from prowess.skills.model import Diagnostic, Severity
from prowess.skills.prompt import shorten_path
from prowess.wire import skills as wire
from prowess.wiring import open_runtime

_SHOWN_PROBLEMS = 20


def state_cell(status: SkillStatus) -> Cell:
    """Return the state of a skill in two words and a colour."""
    verdict = status.verdict
    if verdict.disabled:
        return Cell("⏸ disabled", "dim")
    if verdict.blocked_by_allowlist or verdict.blocked_by_metadata:
        return Cell("🚫 blocked", "red")
    if status.matched is None:
        return Cell("🚫 excluded", "red")
    if status.skill.is_draft:
        return Cell("✎ draft", "dim")
    return Cell("✓ ready", "green") if verdict.eligible else Cell("△ needs setup", "yellow")


def _missing(status: SkillStatus) -> str:
    if status.verdict.blocked_by_metadata:
        return "metadata cannot be read"
    return missing_text(status.verdict.missing)


def source_of(status: SkillStatus) -> str:
    """Return where a skill comes from."""
    source = status.skill.source
    return f"{source.tier.source_id} ({source.label})" if source.label else source.tier.source_id


@click.command("list")
@click.option(
    "--eligible", is_flag=True, help="Only eligible skills: nothing they need is missing."
)
@click.option("-v", "--verbose", is_flag=True, help="Also say what is missing.")
@common
def list_command(
    workspace: str | None, agent: str | None, *, as_json: bool, eligible: bool, verbose: bool
) -> int:
    """Show every skill and whether it is ready."""
    runtime = open_runtime(workspace)
    report = runtime.skills.status(agent)
    shown = [row for row in report.skills if row.verdict.eligible or not eligible]
    if as_json:
        print_json(wire.status_report(report, shown))
        return 0
    if not shown:
        print_text(
            "No eligible skills found: `prowess list -v` says what is missing."
            if eligible
            else "No skills found."
        )
    else:
        ready = sum(row.usable for row in report.skills)
        print_text(f"Skills ({ready}/{len(report.skills)} ready)", "bold")
        _print_list(shown, verbose=verbose)
    _print_problems(report, homes=runtime.skills.places.homes)
    if is_terminal():
        print_text("Tip: `prowess why NAME` tells the whole story of one skill.", "dim")
    return 0


def _print_list(shown: Sequence[SkillStatus], *, verbose: bool) -> None:
    columns = [
        Column(title="Status"),
        Column(title="Skill"),
        Column(title="Description", flexible=True),
        Column(title="Source"),
    ]
    rows = [
        [
            state_cell(row),
            Cell(_titled(row)),
            Cell(row.skill.description),
            Cell(source_of(row), "dim"),
        ]
        for row in shown
    ]
    if verbose:
        columns.append(Column(title="Missing", flexible=True))
        rows = [[*cells, Cell(_missing(row))] for cells, row in zip(rows, shown, strict=True)]
    print_table(columns, rows)


def _titled(row: SkillStatus) -> str:
    emoji = row.skill.metadata.emoji
    return f"{emoji} {row.skill.name}" if emoji else row.skill.name


def _print_problems(report: StatusReport, homes: Sequence[str]) -> None:
    """Say what could not be read, in the order of how much it matters."""
    worst = [d for d in report.diagnostics if d.severity is not Severity.INFO]
    worst.sort(key=lambda problem: problem.severity is not Severity.ERROR)
    for problem in worst[:_SHOWN_PROBLEMS]:
        style = "red" if problem.severity is Severity.ERROR else "yellow"
        print_text(f"! {problem_line(problem, homes)}", style)
    if len(worst) > _SHOWN_PROBLEMS:
        print_text(f"! {len(worst) - _SHOWN_PROBLEMS} more: `prowess check --json` lists all.")
    for setting in report.problems:
        if not setting.unknown:
            print_text(f"! config {setting.key} {setting.message}", "yellow")


def problem_line(problem: Diagnostic, homes: Sequence[str] = ()) -> str:
    """Return a diagnostic as one line: place, code, message and what to do."""
    place = shorten_path(problem.path, homes)
    if problem.line is not None:
        place += f":{problem.line}"
    return f"{place}: {problem.code}: {problem.message}. {problem.fix}"


@click.command("check")
@common
def check_command(workspace: str | None, agent: str | None, *, as_json: bool) -> int:
    """Summarise what is ready, what is missing and what is broken.

    Exit code 1 when a file could not be read.
    """
    runtime = open_runtime(workspace)
    report = runtime.skills.status(agent)
    block = runtime.skills.prompt(agent)
    broken = any(problem.severity is Severity.ERROR for problem in report.diagnostics)
    if as_json:
        print_json(wire.check_report(report, block))
        return int(broken)
    summary = wire.check_report(report, block)
    _print_summary(summary)
    for lost in report.shadowed:
        print_text(f"- {lost.skill.path} is shadowed by {lost.winner.path}")
    for entry in report.unmatched:
        print_text(f"! the agent's list names {entry}, which no skill is called", "yellow")
    _print_problems(report, homes=runtime.skills.places.homes)
    unknown = [problem.key for problem in report.problems if problem.unknown]
    if unknown:
        print_text(f"Config keys that are not known here (kept): {', '.join(unknown)}", "dim")
    return int(broken)


_SUMMARY_ROWS = (
    ("eligible", "eligible"),
    ("modelVisible", "visible to the model"),
    ("commandVisible", "callable as a command"),
    ("disabled", "disabled"),
    ("blocked", "blocked by skills.allowBundled"),
    ("unreadableMetadata", "blocked by unreadable metadata"),
    ("agentFiltered", "not in the agent's list"),
    ("notInjected", "kept from the model by their author"),
    ("missingRequirements", "missing something"),
    ("droppedFromPrompt", "dropped from the prompt for space"),
)


def _print_summary(summary: dict[str, Any]) -> None:
    total = summary["summary"]["total"]
    print_text(f"{total} skills for agent {summary['agentId']}", "bold")
    for key, label in _SUMMARY_ROWS:
        members = summary[key]
        if not members and key not in {"eligible", "modelVisible"}:
            continue
        print_text(f"{len(members):>5}  {label}")
        if key not in {"eligible", "modelVisible", "commandVisible"}:
            for member in members:
                print_text(f"         {_member(member)}")


def _member(member: str | dict[str, Any]) -> str:
    if isinstance(member, str):
        return member
    if "missing" not in member:
        return str(member["name"])
    groups = [f"{kind}: {', '.join(names)}" for kind, names in member["missing"].items() if names]
    options = [option["label"] for option in member["install"]]
    hint = f" (install: {', '.join(options)})" if options else ""
    return f"{member['name']}: {'; '.join(groups)}{hint}"
