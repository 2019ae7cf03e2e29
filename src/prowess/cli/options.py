"""The options that commands share, and how a message is given to one."""

import re
import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

import click

from prowess.errors import ProwessError
from prowess.wiring import open_runtime

_SAFE = re.compile(r"[\w@+][\w@+.:-]*")
_MAX_STDIN_BYTES = 16_000_000
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


message_argument = click.argument("message", nargs=-1, metavar="MESSAGE...")


def message_of(words: Sequence[str]) -> str:
    """Return the message: the words given, or standard input for `-` and where there are none.

    Raises:
        click.UsageError: there is no message at all.
    """
    if words and tuple(words) != ("-",):
        return " ".join(words)
    if sys.stdin is None or (not words and sys.stdin.isatty()):
        raise click.UsageError("give a message, or `-` to read it from standard input")
    # Bytes that are no text must not stop a hook: they are replaced.
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        return sys.stdin.read(_MAX_STDIN_BYTES)
    raw: bytes = stream.read(_MAX_STDIN_BYTES)
    return raw.decode("utf-8", errors="replace")


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
