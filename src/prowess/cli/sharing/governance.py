"""`policy explain` and `audit`: which rule decides about a skill, and what was decided."""

from typing import Any

import click

from prowess.cli.options import Common, common, complete_skill
from prowess.cli.render import print_error, print_json, print_text
from prowess.cli.terminal import CommandGroup
from prowess.wiring import open_runtime
from prowess.wiring.sharing import check_audit, explain_policy, open_audit

_FAILED, _MOST_ROWS = 1, 50
_WORDS = {
    "off": ("is allowed", "green"),
    "warn": ("is allowed with a warning", "yellow"),
    "block": ("is blocked", "red"),
}


@click.group("policy", cls=CommandGroup)
def policy_command() -> None:
    """Say what the policies of organisation, team and project decide about skills."""


@policy_command.command("explain")
@click.argument("skill", shell_complete=complete_skill)
@common
def explain_command(given: Common, skill: str) -> int:
    """Name the file and the line that decide about SKILL.

    Policies are prowess-policy.yml in /etc/prowess and where PROWESS_POLICY says (organisation),
    in the state folder (team) and in the workspace (project). The strictest wins.

    Example: prowess policy explain release-notes

    Exit code 0 when the skill may be used, 1 when a policy blocks it.
    """
    with open_runtime(given.workspace) as runtime:
        said = explain_policy(runtime, skill, given.agent)
    if given.as_json:
        print_json(said)
    else:
        _say(said)
    return _FAILED if said["effect"] == "block" else 0


def _say(said: dict[str, Any]) -> None:
    name = said["skill"]
    if not said["policies"]:
        print_text(f"{name} is allowed: there is no policy.")
        return
    off = [one["file"] for one in said["policies"] if one["mode"] == "off"]
    if len(off) == len(said["policies"]):
        print_text(f"{name} is allowed: the policy is off.", "yellow")
    else:
        words, style = _WORDS[said["effect"]]
        print_text(f"{name} {words}.", style)
    for place in off:
        print_text(f"  {place} is off: nothing that it says counts.", "yellow")
    for one in said["reasons"]:
        place = f"{one['file']}:{one['line']}"
        print_text(f"  {one['level']}, {one['rule']}, {one['effect']}: {place}: {one['text']}")
    counted = [one["file"] for one in said["policies"] if one["mode"] != "off"]
    if counted and not said["reasons"]:
        print_text("  no rule is about it in " + ", ".join(counted))
    for one in said["missing"]:
        print_text(f"! {one['file']}:{one['line']}: {one['text']}", "yellow")


@click.group("audit", cls=CommandGroup)
def audit_command() -> None:
    """Show and check the log of what was added, removed, refused and forbidden."""


@audit_command.command("verify")
@common
def audit_verify_command(given: Common) -> int:
    """Check that no line of the log was changed, taken out or cut off.

    Exit code 0 when the log is whole, 1 when it is not.
    """
    with open_runtime(given.workspace) as runtime:
        said = check_audit(runtime)
    if given.as_json:
        print_json(said)
    elif said["problem"]:
        print_error(f"{said['file']}: {said['problem']}.")
    else:
        print_text(f"{said['file']}: {said['lines']} lines, all of them in their place.", "green")
    return 0 if said["ok"] else _FAILED


@audit_command.command("show")
@click.option("--last", type=click.IntRange(1, 10_000), default=_MOST_ROWS, show_default=True)
@common
def audit_show_command(given: Common, *, last: int) -> int:
    """Show the last lines of the log."""
    with open_runtime(given.workspace) as runtime:
        rows = open_audit(runtime).read(last)
    if given.as_json:
        print_json({"rows": rows})
        return 0
    for row in rows:
        reason = f": {row['reason']}" if row.get("reason") else ""
        print_text(f"{row['time']} {row['event']} {row.get('skill', '')} {row['outcome']}{reason}")
    return 0
