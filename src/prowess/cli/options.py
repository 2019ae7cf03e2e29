"""The options that every command shares."""

import re
from collections.abc import Callable
from typing import TypeVar

import click

from prowess.errors import ProwessError
from prowess.wiring import open_runtime

_SAFE = re.compile(r"[\w@+][\w@+.:-]*")
_F = TypeVar("_F", bound=Callable[..., object])


def common(function: _F) -> _F:
    """Add --workspace, --agent and --json."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON for a program."),
        click.option(
            "-a",
            "--agent",
            metavar="ID",
            help="The agent to answer for; by default the default one.",
        ),
        workspace_option,
    ):
        function = option(function)
    return function


workspace_option = click.option(
    "-w",
    "--workspace",
    metavar="DIR",
    type=click.Path(),
    help="The folder to work in; by default the agent's, else the current one.",
)


def complete_skill(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the name of a skill."""
    try:
        report = open_runtime(ctx.params.get("workspace")).skills.status(ctx.params.get("agent"))
    except ProwessError:
        # A person is typing: the command itself will say what is wrong.
        return []
    # A shell runs what it completes: a name that is more than a word is not offered.
    names = [status.skill.name for status in report.skills if _SAFE.fullmatch(status.skill.name)]
    return [name for name in names if name.startswith(incomplete)]
