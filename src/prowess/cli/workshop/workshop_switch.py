"""`workshop enable` and `disable`: the entry of the config, with a profile or as it is."""

import json

import click

from prowess.cli.render import print_json, print_text
from prowess.host.config.workshop_profiles import PROFILES, Switch, carry_out, plan_switch
from prowess.wiring import open_runtime

_MOST_CHARS = 80
_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for a program.")
_dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Show what would change and write nothing."
)


@click.command("enable")
@click.option(
    "--profile",
    type=click.Choice(list(PROFILES)),
    default=None,
    help="How it works; by default as the config says, which is review-first if it says nothing.",
)
@_dry_run_option
@_json_option
def enable_command(profile: str | None, *, dry_run: bool, as_json: bool) -> int:
    """Switch the workshop on.

    conservative: only what an agent or you suggest. review-first: captures corrections, lets a
    model review, and you approve. trusted: the same, but what the scanner finds safe is written at
    once. low-cost: captures corrections by their phrases, and no model is asked.

    Example: prowess workshop enable --profile low-cost --dry-run
    """
    return _switch(profile or "", enabled=True, dry_run=dry_run, as_json=as_json)


@click.command("disable")
@_dry_run_option
@_json_option
def disable_command(*, dry_run: bool, as_json: bool) -> int:
    """Switch the workshop off; its settings and proposals stay as they are.

    Example: prowess workshop disable
    """
    return _switch("", enabled=False, dry_run=dry_run, as_json=as_json)


def _switch(profile: str, *, enabled: bool, dry_run: bool, as_json: bool) -> int:
    config = open_runtime().config
    switch = plan_switch(config, enabled=enabled, profile=profile)
    backup = None
    if switch.changes and not dry_run:
        backup = carry_out(config, switch)
    if as_json:
        changes = [
            {"key": one.key, "before": one.before, "after": one.after} for one in switch.changes
        ]
        print_json({"path": config.path, "changes": changes, "backup": backup, "dryRun": dry_run})
        return 0
    _print_changes(switch, config.path, dry_run=dry_run)
    if backup is not None:
        print_text(f"The comments of the old file are kept in {backup}.", "yellow")
    if enabled and not dry_run:
        _print_next(profile)
    return 0


def _print_changes(switch: Switch, path: str, *, dry_run: bool) -> None:
    if not switch.changes:
        print_text(f"Nothing to change in {path}.")
        return
    for one in switch.changes:
        before = "not set" if one.before is None else _shown(one.before)
        print_text(f"  {one.key}: {before} -> {_shown(one.after)}")
    done = "would be changed" if dry_run else "changed"
    print_text(f"{done} in {path}", "green")


def _print_next(profile: str) -> None:
    if profile == "trusted":
        note = "Safe proposals are now written without asking: for workspaces that only you feed."
        print_text(note, "yellow")
    print_text("It holds from the next turn. `prowess workshop status` shows how it works.", "dim")


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}..."
