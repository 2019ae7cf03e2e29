"""`sync`: the agent's skills as plain files in a sandbox."""

from collections.abc import Sequence

import click

from prowess.cli.options import common
from prowess.cli.render import (
    Cell,
    Column,
    ProgressBar,
    print_error,
    print_json,
    print_table,
    print_text,
)
from prowess.runtime.sync import SyncReport, SyncRequest
from prowess.runtime.sync_plan import Action, Step
from prowess.wire import runs as wire_runs
from prowess.wiring import open_runtime
from prowess.wiring.syncing import open_syncing

_STYLES = {
    Action.ADD: "green",
    Action.UPDATE: "green",
    Action.REMOVE: "yellow",
    Action.CONFLICT: "red",
    Action.REFUSED: "red",
    Action.SKIPPED: "dim",
    Action.KEEP: "dim",
}
_COUNTED = (
    (Action.ADD, "added"),
    (Action.UPDATE, "updated"),
    (Action.REMOVE, "removed"),
    (Action.KEEP, "unchanged"),
    (Action.CONFLICT, "conflicts"),
    (Action.REFUSED, "refused"),
    (Action.SKIPPED, "skipped"),
)


@click.command("sync")
@click.argument("target", type=click.Path())
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
@click.option(
    "--force",
    is_flag=True,
    help="Replace copies that were changed since; the changed ones are kept in .prowess-kept.",
)
@common
def sync_command(
    target: str,
    workspace: str | None,
    agent: str | None,
    *,
    dry_run: bool,
    force: bool,
    as_json: bool,
) -> int:
    """Copy the agent's usable skills into TARGET/skills, for a sandbox to read.

    Each skill is a folder named after its own folder. Links, .git and node_modules stay behind, and
    what the scanner finds critical is refused. Only what sync wrote is ever replaced or removed.

    Example: prowess sync ./sandbox --dry-run

    Exit code 0 when the copy is complete, 1 when something was in the way or was refused.
    """
    bar = ProgressBar()
    request = SyncRequest(target=target, agent_id=agent, dry_run=dry_run, force=force)
    with open_runtime(workspace) as runtime:
        try:
            report = open_syncing(runtime, waiting=_waiting).sync(request, bar)
        finally:
            bar.clear()
    if as_json:
        print_json(wire_runs.sync_report(report))
    else:
        _print_report(report)
    return 0 if report.is_clean else 1


def _waiting() -> None:
    print_error("another sync is at work on this target: waiting for it.")


def _print_report(report: SyncReport) -> None:
    rows = [step for step in report.steps if report.dry_run or step.action is not Action.KEEP]
    if rows:
        _print_steps(rows)
    for warning in report.warnings:
        print_text(f"! {warning.skill}: {warning.path} {warning.reason}: left out.", "yellow")
    counts = ", ".join(
        f"{len(report.of(action))} {word}" for action, word in _COUNTED if report.of(action)
    )
    print_text(f"{report.target}/skills: {counts or 'no skills to copy'}.")
    if report.dry_run:
        print_text("This was a dry run: nothing was written.")
    elif not report.changes_anything:
        print_text("Nothing was written." if not report.is_clean else "Everything is up to date.")


def _print_steps(steps: Sequence[Step]) -> None:
    print_table(
        (Column("Action"), Column("Folder"), Column("Skill"), Column("Note", flexible=True)),
        [
            (
                Cell(step.action.value, _STYLES[step.action]),
                Cell(step.folder or "-"),
                Cell(step.skill),
                Cell(_note(step)),
            )
            for step in steps
        ],
    )


def _note(step: Step) -> str:
    if step.kept_at:
        return f"the changed version is in {step.kept_at}"
    return step.reason or step.source
