"""`list` and `check`, what skills there are and how each stands; `show` and `why`, one of them.

`why` says why the agent does or does not see it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from prowess.cli.render import (
    Cell,
    Column,
    columns_of_reader,
    is_terminal,
    print_json,
    print_table,
    print_text,
)
from prowess.cli.terminal import Common, common, complete_skill
from prowess.runtime.service import SkillStatus, StatusReport
from prowess.skills.eligibility import missing_text
from prowess.skills.model import Diagnostic, Severity
from prowess.skills.prompt import shorten_path
from prowess.skills.text import clean, cut_listed
from prowess.wire import skills as wire
from prowess.wire.skills import pick
from prowess.wiring import in_project, open_runtime

if TYPE_CHECKING:
    from prowess.skills.explanation import Explanation

_SHOWN_PROBLEMS = 20
# The width of a pipe that says nothing, and the narrowest terminal with room for where skills lie.
_WIDTH, _FEWEST_FOR_SOURCE = 120, 60


def state_cell(status: SkillStatus) -> Cell:
    """Return the state of a skill in two words and a colour."""
    verdict = status.verdict
    if verdict.disabled:
        return Cell("⏸ disabled", "dim")
    if verdict.blocked is not None and verdict.blocked.is_pending:
        return Cell("… not scanned", "yellow")
    if verdict.blocked is not None or verdict.blocked_by_allowlist or verdict.blocked_by_metadata:
        return Cell("🚫 blocked", "red")
    if status.matched is None:
        return Cell("🚫 excluded", "red")
    if status.skill.is_draft:
        return Cell("✎ draft", "dim")
    return Cell("✓ ready", "green") if verdict.eligible else Cell("△ needs setup", "yellow")


def _explain_missing(status: SkillStatus) -> str:
    if status.verdict.blocked is not None:
        return f"blocked by {status.verdict.blocked.by}: {status.verdict.blocked.reason}"
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
@click.option("--wide", is_flag=True, help="Cut no description, however long the line.")
@common
def list_command(given: Common, *, eligible: bool, verbose: bool, wide: bool) -> int:
    """Show every skill and whether it is ready.

    A description is cut where the line ends: that of the terminal, and in a pipe that of COLUMNS,
    else 120. A pipe gets each skill on one line, its name whole, and two spaces between columns.

    Example: prowess list | awk -F '  +' '$1 ~ /ready/ {print $2}'
    """
    runtime = in_project(open_runtime(given.workspace))
    report = runtime.skills.status(given.agent)
    shown = [row for row in report.skills if row.verdict.eligible or not eligible]
    if given.as_json:
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
        _print_list(shown, verbose=verbose, wide=wide)
    print_blocked(report.skills)
    _print_problems(report, homes=runtime.skills.places.homes)
    if is_terminal():
        print_text("Tip: `prowess why NAME` tells the whole story of one skill.", "dim")
    return 0


def _print_list(shown: Sequence[SkillStatus], *, verbose: bool, wide: bool) -> None:
    drawn = is_terminal()
    table = {
        Column("Status"): [state_cell(row) for row in shown],
        Column("Skill"): [Cell(_write_title(row) if drawn else row.skill.name) for row in shown],
        Column("Description", flexible=True): [
            Cell(cut_listed(row.skill.description)) for row in shown
        ],
    }
    missing = [_explain_missing(row) for row in shown] if verbose else []
    if wide or not drawn or columns_of_reader(_WIDTH) >= _FEWEST_FOR_SOURCE:
        table[Column("Source")] = [Cell(source_of(row), "dim") for row in shown]
    if missing and not drawn:
        table[Column("Missing")] = [Cell(text) for text in missing]
    # An empty cell would be none to whoever counts columns.
    rows = [
        [cell._replace(text=cell.text or "-") for cell in row]
        for row in zip(*table.values(), strict=True)
    ]
    # What is missing stands at the end of a piped line, and takes nothing from the description.
    piped = columns_of_reader(_WIDTH) + max(map(len, missing), default=0)
    width = 0 if wide else None if drawn else piped
    notes = [text and f"missing: {text}" for text in missing] if drawn else ()
    print_table(tuple(table), rows, most=width, below=notes)


def print_blocked(rows: Sequence[SkillStatus]) -> None:
    """Say which skills the scanner keeps from use, why, and what to do."""
    blocked = [(row.skill.name, row.verdict.blocked) for row in rows if row.verdict.blocked]
    for name, block in blocked[:_SHOWN_PROBLEMS]:
        way_out = block.find_way_out(name)
        print_text(f"! {name} is blocked by {block.by}: {block.reason}: {way_out}", "red")
    if len(blocked) > _SHOWN_PROBLEMS:
        print_text(f"! {len(blocked) - _SHOWN_PROBLEMS} more: `prowess check --json` lists all.")


def _write_title(row: SkillStatus) -> str:
    emoji = row.skill.metadata.emoji
    return f"{emoji} {row.skill.name}" if emoji else row.skill.name


def _print_problems(report: StatusReport, homes: Sequence[str]) -> None:
    """Say what could not be read, in the order of how much it matters."""
    worst = [d for d in report.diagnostics if d.severity is not Severity.INFO]
    worst.sort(key=_rank)
    for problem in worst[:_SHOWN_PROBLEMS]:
        style = "red" if problem.severity is Severity.ERROR else "yellow"
        print_text(f"! {problem_line(problem, homes)}", style)
    if len(worst) > _SHOWN_PROBLEMS:
        print_text(f"! {len(worst) - _SHOWN_PROBLEMS} more: `prowess check --json` lists all.")
    for setting in report.problems:
        if not setting.unknown:
            print_text(f"! config {setting.key} {setting.message}", "yellow")


def _rank(problem: Diagnostic) -> tuple[bool, bool]:
    # What was left out altogether is missed most, and is one line among hundreds.
    return not problem.code.endswith("-truncated"), problem.severity is not Severity.ERROR


def problem_line(problem: Diagnostic, homes: Sequence[str] = ()) -> str:
    """Return a diagnostic as one line: place, code, message and what to do."""
    place = shorten_path(problem.path, homes)
    if problem.line is not None:
        place += f":{problem.line}"
    return f"{place}: {problem.code}: {problem.message}. {problem.fix}"


@click.command("check")
@common
def check_command(given: Common) -> int:
    """Summarise what is ready, what is missing and what is broken.

    Exit code 1 when a file could not be read, or a policy requires and misses a skill.
    """
    runtime = in_project(open_runtime(given.workspace))
    report = runtime.skills.status(given.agent)
    block = runtime.skills.prompt(given.agent)
    broken = any(problem.severity is Severity.ERROR for problem in report.diagnostics)
    if given.as_json:
        print_json(wire.check_report(report, block))
        return int(broken)
    summary = wire.check_report(report, block)
    _print_summary(summary)
    print_blocked(report.skills)
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
    ("blockedByScanner", "blocked by the scanner"),
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


@click.command("show")
@click.argument("name", shell_complete=complete_skill)
@common
def show_command(given: Common, name: str) -> int:
    """Show all there is to know about the skill NAME."""
    runtime = in_project(open_runtime(given.workspace))
    skills = runtime.skills
    status = skills.find(name, given.agent)
    parts = _list_sections(status)
    detail = wire.skill_detail(status, skills.resources(status.skill.name, given.agent), parts)
    # Late: lists say nothing of proofs.
    from prowess.wire import safety as wire_proof
    from prowess.wiring.proof import proof_state

    proof = proof_state(runtime, status.skill)
    detail["proof"] = wire_proof.proof_state(proof)
    if given.as_json:
        print_json(detail)
        return 0
    _print_detail(status, detail)
    if proof.last is not None:
        print_text(f"  {'Proof:':<10}{proof.describe()}")
    return 0


def _list_sections(status: SkillStatus) -> list[wire.Json]:
    # Late: lists parse no Markdown.
    from prowess.skills.parse import split_sections

    return [
        pick(part, "title level line")
        for part in split_sections(status.skill)
        # What stands before the first heading, or below an empty one, has no name to find it by.
        if clean(part.title).strip()
    ]


def _print_detail(status: SkillStatus, detail: wire.Json) -> None:
    skill = status.skill
    state = state_cell(status)
    print_text(f"{skill.metadata.emoji or '📦'} {skill.name}", "bold")
    print_text(state.text, state.style)
    if skill.description.strip():
        print_text(skill.description)
    for label, value in (
        ("Title", skill.title),
        ("Version", skill.version),
        ("File", skill.path),
        ("Source", source_of(status)),
        ("Dialect", skill.dialect.value),
        ("Key", skill.key),
        ("Homepage", skill.metadata.homepage),
        ("Tags", ", ".join(skill.tags)),
        ("Files", ", ".join(detail["resources"])),
    ):
        if value:
            print_text(f"  {label + ':':<10}{value}")
    _print_requirements(status)
    print_blocked([status])
    if detail["sections"]:
        print_text("  Sections:")
        for part in detail["sections"]:
            print_text(
                f"    line {part['line']:>4}  {'  ' * max(part['level'] - 1, 0)}{part['title']}"
            )
    for problem in skill.diagnostics:
        print_text(f"! {problem_line(problem)}", "yellow")


def _print_requirements(status: SkillStatus) -> None:
    requires, missing = status.skill.metadata.requires, status.verdict.missing
    groups = (
        ("bins", requires.bins, missing.bins),
        ("anyBins", requires.any_bins, missing.any_bins),
        ("env", requires.env, missing.env),
        ("config", requires.config, missing.config),
        ("os", requires.os, missing.os),
    )
    if requires:
        print_text("  Requirements:")
    for kind, wanted, lacking in groups:
        for name in wanted:
            found = name not in lacking
            print_text(f"    {'✓' if found else '✗'} {kind}: {name}", "green" if found else "red")
    if not status.verdict.eligible:
        for option in status.verdict.install:
            print_text(f"  Install: {option.label} [{option.id}]")
    primary = status.skill.metadata.primary_env
    if primary and primary in missing.env:
        key = f"skills.entries.{status.skill.key}.apiKey"
        print_text(f"  Set {primary}, or run `prowess config set {key} --secret`.")


@click.command("why")
@click.argument("name", shell_complete=complete_skill)
@common
def why_command(given: Common, name: str) -> int:
    """Say why the skill NAME is, or is not, visible to the agent.

    Exit code 0 when it is visible, 1 when it is not.
    """
    runtime = in_project(open_runtime(given.workspace))
    found = runtime.why(name, given.agent)
    if given.as_json:
        print_json(wire.explanation(found))
    else:
        _print_path(found, runtime.skills.places.homes)
    return 0 if found.visible else 1


def _print_path(found: "Explanation", homes: Sequence[str]) -> None:
    verdict = "is visible to" if found.visible else "is not visible to"
    style = "bold green" if found.visible else "bold red"
    print_text(f"{found.name} {verdict} agent {found.agent_id}", style)
    for step in found.steps:
        mark, style = ("✓", "green") if step.passed else ("✗", "red")
        print_text(f"  {mark} {step.stage + ':':<10} {_shorten(step.detail, homes)}", style)
        if step.fix:
            print_text(f"    -> {step.fix}", "bold")


def _shorten(text: str, homes: Sequence[str]) -> str:
    """Write `~` for home in a sentence that names paths."""
    for home in sorted(homes, key=len, reverse=True):
        text = text.replace(home.rstrip("/") + "/", "~/") if home.strip("/") else text
    return text
