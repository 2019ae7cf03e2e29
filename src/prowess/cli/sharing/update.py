"""`update`, and `sync --frozen`: what is new with the edits kept, and what the lock says."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import click

from prowess.cli.options import Common, common
from prowess.cli.render import ProgressBar, asks, print_error, print_json, print_text
from prowess.cli.sharing.commands import existing_folders, yes_option
from prowess.runtime.sharing.update import (
    FrozenRequest,
    FrozenStep,
    FrozenSync,
    PreparedUpdate,
    UpdateRequest,
    Updating,
)
from prowess.safety.paths import shown
from prowess.wire import sharing as wire_sharing
from prowess.wiring import open_runtime
from prowess.wiring.sharing import open_sharing

_FAILED = 1
_COLOURS = {"+": "green", "-": "red", "@": "bold"}
_BAD = frozenset(("conflict", "refused", "failed", "declined"))
_WORDS = {
    "keep": "is as it was locked",
    "restore": "was brought back",
    "changed": "was edited here, so it stays: `prowess update` keeps edits, --force replaces them",
    "unmanaged": "is in no lock: --adopt takes it in",
    "prune": "was moved to the trash",
    "adopt": "was taken into the lock",
    "failed": "could not be brought back",
}
_PLANNED = {
    "restore": "would be brought back",
    "prune": "would be moved to the trash",
    "adopt": "would be taken into the lock",
}


@click.command("update")
@click.argument("names", nargs=-1, metavar="[SKILL]...")
@click.option("--preview", is_flag=True, help="Show difference and findings; change nothing.")
@click.option(
    "--keep",
    type=click.Choice(["local", "upstream", "both"]),
    default=None,
    help="Settle conflicts for one side, or keep the lines of both.",
)
@click.option("--allow-signer-change", is_flag=True, help="Take what somebody else has signed.")
@yes_option
@common
def update_command(
    given: Common,
    names: tuple[str, ...],
    *,
    preview: bool,
    keep: str | None,
    allow_signer_change: bool,
    yes: bool,
) -> int:
    """Bring skills up to date with their sources, and keep what you edited.

    Edits of different lines are merged. Where both sides changed the same lines, the skill stays
    as it is and both are shown; --keep settles it. Pinned skills stay.

    Example: prowess update --preview

    Exit code 0 when all is up to date, 1 when something is in the way (with --preview: newer).
    """
    request = UpdateRequest(names=names, keep=keep or "", allow_signer_change=allow_signer_change)
    rows: dict[str, tuple[PreparedUpdate, str]] = {}
    with open_runtime(given.workspace) as runtime:
        for place, folder in existing_folders(runtime, given).items():
            mine = tuple(name for name in names if name in folder.read_lock().skills)
            if names and not mine:
                continue
            updating = Updating(open_sharing(runtime, folder, given.agent))
            with ProgressBar() as bar:
                found = updating.prepare(replace(request, names=mine), bar)
            for one in found:
                outcome = _settle(updating, one, preview=preview, yes=yes, quiet=given.as_json)
                rows[f"{place}/{one.name}"] = one, outcome
    _refuse_unknown(names, rows)
    if given.as_json:
        print_json({"skills": [wire_sharing.prepared_update(*row) for row in rows.values()]})
    outcomes = {outcome for _, outcome in rows.values()}
    return _FAILED if outcomes & (_BAD | {"ready"}) else 0


def _refuse_unknown(names: Sequence[str], rows: Mapping[str, tuple[PreparedUpdate, str]]) -> None:
    unknown = set(names) - {one.name for one, _ in rows.values()}
    if unknown:
        raise click.UsageError(f"{shown(min(unknown))} is in no lock; `prowess verify` names all")


def _settle(
    updating: Updating, one: PreparedUpdate, *, preview: bool, yes: bool, quiet: bool
) -> str:
    """Say what an update does, ask, and do it."""
    if not quiet:
        _say(one, preview=preview)
    if one.state == "refused" and not preview:
        updating.decline(one)
    if one.state != "ready" or preview:
        return one.state
    if not yes and not asks():
        raise click.UsageError("Give --yes: there is no terminal to ask on")
    if not yes and not click.confirm(f"Update {shown(one.name)}?", err=True):
        updating.decline(one)
        return "declined"
    updating.apply(one)
    if not quiet:
        print_text(f"{one.name} was updated.", "green")
    return "updated"


def _say(one: PreparedUpdate, *, preview: bool) -> None:
    if one.state in {"current", "pinned"}:
        print_text(f"{one.name} is {'up to date' if one.state == 'current' else 'pinned'}.")
        return
    arrival = one.arrival
    if one.problem or arrival is None:
        print_error(f"{one.name} cannot be updated: {one.problem}")
        return
    print_text(f"{one.name}: {one.old.resolved} to {arrival.entry.resolved}", "bold")
    _say_what_changes(one)
    if preview or one.conflicts:
        # Every line begins with its mark, so that none of them can pose as one of ours.
        for line in one.difference.splitlines():
            print_text(f"  {line}", _COLOURS.get(line[:1], ""))
    for conflict in one.conflicts:
        print_error(f"{one.name}: {conflict.path} {conflict.problem}: settle it with --keep.")
    if arrival.refusal:
        print_error(f"{one.name} was not updated: {arrival.refusal}")


def _say_what_changes(one: PreparedUpdate) -> None:
    print_text(f"  {_describe_freshness(one)}")
    for line in one.edits.lines:
        print_text(f"  kept: {line}")
    for word, findings in (("new", one.new_findings), ("gone", one.gone_findings)):
        for found in findings:
            print_text(f"  {word} finding: {found.rule_id} in {found.file}:{found.line}", "yellow")


def _describe_freshness(one: PreparedUpdate) -> str:
    approved = one.old.approval.get("when") or "a day that the lock does not name"
    made = f"was made on {one.made}" if one.made else "does not say when it was made"
    return f"what is new {made}; what you have was approved on {approved}"


def bring_back(given: Common, request: FrozenRequest) -> int:
    """Make folders hold what their locks say."""
    steps: list[FrozenStep] = []
    with open_runtime(given.workspace) as runtime:
        for folder in existing_folders(runtime, given).values():
            with ProgressBar() as bar:
                frozen = FrozenSync(open_sharing(runtime, folder, given.agent))
                steps += frozen.run(request, bar)
    bad = {"failed", "changed"} | ({"restore", "prune", "adopt"} if request.check else set())
    is_right = not any(step.action in bad for step in steps)
    if given.as_json:
        print_json({"ok": is_right, "steps": [wire_sharing.frozen_step(one) for one in steps]})
        return 0 if is_right else _FAILED
    for step in steps:
        words = (_PLANNED if request.check else _WORDS).get(step.action, _WORDS[step.action])
        detail = step.detail.removesuffix(".")
        print_text(f"{step.name} {words}{f': {detail}' if detail else ''}.")
    return 0 if is_right else _FAILED
