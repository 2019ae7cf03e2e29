"""`show` and `why`: everything about one skill, and why the agent does or does not see it."""

from collections.abc import Sequence

import click

from prowess.cli.list import print_blocked, problem_line, source_of, state_cell
from prowess.cli.options import Common, common, complete_skill
from prowess.cli.render import print_json, print_text
from prowess.runtime.service import SkillStatus
from prowess.skills.explanation import Explanation
from prowess.skills.parse import split_sections
from prowess.skills.text import clean
from prowess.wire import proof as wire_proof
from prowess.wire import skills as wire
from prowess.wiring import open_runtime
from prowess.wiring.proof import proof_state


@click.command("show")
@click.argument("name", shell_complete=complete_skill)
@common
def show_command(given: Common, name: str) -> int:
    """Show all there is to know about the skill NAME."""
    runtime = open_runtime(given.workspace)
    skills = runtime.skills
    status = skills.find(name, given.agent)
    parts = _sections(status)
    detail = wire.skill_detail(status, skills.resources(status.skill.name, given.agent), parts)
    proof = proof_state(runtime, status.skill)
    detail["proof"] = wire_proof.proof_state(proof)
    if given.as_json:
        print_json(detail)
        return 0
    _print_detail(status, detail)
    if proof.last is not None:
        print_text(f"  {'Proof:':<10}{proof.describe()}")
    return 0


def _sections(status: SkillStatus) -> list[wire.Json]:
    return [
        {"title": clean(part.title), "level": part.level, "line": part.line}
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
    runtime = open_runtime(given.workspace)
    found = runtime.why(name, given.agent)
    if given.as_json:
        print_json(wire.explanation(found))
    else:
        _print_path(found, runtime.skills.places.homes)
    return 0 if found.visible else 1


def _print_path(found: Explanation, homes: Sequence[str]) -> None:
    verdict = "is visible to" if found.visible else "is not visible to"
    style = "bold green" if found.visible else "bold red"
    print_text(f"{found.name} {verdict} agent {found.agent_id}", style)
    for step in found.steps:
        mark, style = ("✓", "green") if step.passed else ("✗", "red")
        print_text(f"  {mark} {step.stage + ':':<10} {_shortened(step.detail, homes)}", style)
        if step.fix:
            print_text(f"    -> {step.fix}", "bold")


def _shortened(text: str, homes: Sequence[str]) -> str:
    """Write `~` for home in a sentence that names paths."""
    for home in sorted(homes, key=len, reverse=True):
        text = text.replace(home.rstrip("/") + "/", "~/") if home.strip("/") else text
    return text
