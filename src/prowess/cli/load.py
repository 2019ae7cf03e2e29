"""`load`: bundled skills become files of the workspace, to be edited."""

from collections.abc import Sequence
from pathlib import Path

import click

from prowess.cli.options import workspace_option
from prowess.cli.render import asks, print_error, print_json, print_text
from prowess.errors import PathError, SkillNotFoundError
from prowess.host.writers.repairs import Copied, copy_skill
from prowess.runtime.ports import Scan
from prowess.skills.lookup import find
from prowess.skills.model import Skill, Tier
from prowess.wiring import Runtime, open_runtime


@click.command("load")
@click.argument("names", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Copy every bundled skill.")
@click.option("-a", "--agent", metavar="ID", help="The agent whose workspace receives the copies.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for a program.")
@workspace_option
def load_command(
    names: Sequence[str],
    workspace: str | None,
    agent: str | None,
    *,
    everything: bool,
    as_json: bool,
) -> int:
    """Copy bundled skills into the workspace for editing; existing ones are left alone.

    Without NAMES and --all a terminal asks which ones.
    """
    runtime = open_runtime(workspace)
    target = runtime.skills.workspace(agent)
    if not Path(target.folder).is_dir():
        raise PathError(target.folder, "is not a folder: create the workspace first.")
    bundled = _bundled(target.state(runtime.skills.settings).scan)
    chosen, unknown = _choose(bundled, names, everything=everything)
    root = Path(runtime.folders.bundled)
    done = [
        copy_skill(skill.name, Path(skill.path), root, Path(target.folder) / "skills")
        for skill in chosen
    ]
    _report(runtime, done, unknown, as_json=as_json)
    return 1 if unknown else 0


def _bundled(scan: Scan) -> list[Skill]:
    return [skill for skill in scan.skills if skill.source.tier is Tier.BUNDLED]


def _choose(
    bundled: Sequence[Skill], names: Sequence[str], *, everything: bool
) -> tuple[list[Skill], list[SkillNotFoundError]]:
    if everything:
        return list(bundled), []
    if not names:
        return _ask(bundled), []
    chosen: dict[str, Skill] = {}
    unknown = []
    for name in names:
        try:
            skill = find(bundled, name)
        except SkillNotFoundError as error:
            unknown.append(error)
        else:
            chosen[skill.path] = skill
    return list(chosen.values()), unknown


def _ask(bundled: Sequence[Skill]) -> list[Skill]:
    if not asks():
        raise click.UsageError(
            "Name the skills to load or give --all: there is no interactive terminal"
        )
    for number, skill in enumerate(bundled, start=1):
        print_text(f"{number:>3}  {skill.name}")
    answer: str = click.prompt(
        "Which ones (numbers or names, separated by commas, or all)", default="all"
    )
    words = answer.replace(",", " ").split()
    if [word.lower() for word in words] == ["all"]:
        return list(bundled)
    by_number = {str(number): skill for number, skill in enumerate(bundled, start=1)}
    chosen = [by_number[word] if word in by_number else find(bundled, word) for word in words]
    return list({skill.path: skill for skill in chosen}.values())


def _report(
    runtime: Runtime,
    done: Sequence[Copied],
    unknown: Sequence[SkillNotFoundError],
    *,
    as_json: bool,
) -> None:
    copied = [item for item in done if item.copied]
    skipped = [item for item in done if not item.copied]
    if as_json:
        print_json(
            {
                "selected": len(done),
                "copied": [{"name": item.name, "path": str(item.target)} for item in copied],
                "skipped": [{"name": item.name, "path": str(item.target)} for item in skipped],
                "notFound": [error.name for error in unknown],
            }
        )
        return
    for item in done:
        print_text(f"{'copied' if item.copied else 'skipped, it exists'}: {item.target}")
    for error in unknown:
        print_error(str(error))
    print_text(f"selected={len(done)} copied={len(copied)} skipped={len(skipped)}")
    if copied and runtime.skills.settings.skills.load.precedence.value == "openpocket":
        print_text("The bundled ones still win: skills.load.precedence is openpocket.", "yellow")
