"""The options that commands share, and how a message is given to one."""

import re
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Concatenate, NamedTuple

import click

from prowess.cli.render import ProgressBar
from prowess.errors import ProwessError
from prowess.wiring import Runtime, open_runtime
from prowess.wiring.library import HOOK

_SAFE = re.compile(r"[\w@+][\w@+.:-]*")
_MAX_STDIN_BYTES = 16_000_000


class Common(NamedTuple):
    """What --workspace, --agent and --json say."""

    workspace: str | None
    agent: str | None
    as_json: bool

    @property
    def agent_id(self) -> str:
        """The agent; empty for the default one."""
        return self.agent or ""


def common(function: Callable[Concatenate[Common, ...], int]) -> Callable[..., int]:
    """Add --workspace, --agent and --json, which come as one argument before all others."""

    @wraps(function)
    # Whatever click hands on.
    def call(*, workspace: str | None, agent: str | None, as_json: bool, **rest: Any) -> int:  # noqa: ANN401
        return function(Common(workspace, agent, as_json), **rest)

    for option in (
        json_option,
        click.option(
            "-a",
            "--agent",
            metavar="ID",
            help="The agent to answer for; by default the default one.",
        ),
        workspace_option,
    ):
        call = option(call)
    return call


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for a program.")
workspace_option = click.option(
    "-w",
    "--workspace",
    metavar="DIR",
    type=click.Path(),
    help="The folder to work in; by default the agent's, else the current one.",
)


_LOG_OPTIONS = (
    click.option(
        "--log-format",
        type=click.Choice(("text", "json")),
        default="text",
        show_default=True,
        help="How a line of the log looks.",
    ),
    click.option(
        "--log-level",
        type=click.Choice(("debug", "info", "warning", "error")),
        default="info",
        show_default=True,
        help="From which weight on events are logged.",
    ),
)


def log_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add --log-level and --log-format to what runs until it is stopped."""
    for option in _LOG_OPTIONS:
        function = option(function)
    return function


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


def index_first(runtime: Runtime, agent: str | None) -> None:
    """Index with a bar, so that no answer takes long without a word."""
    with ProgressBar() as bar:
        runtime.routing.index(agent, bar)


def complete_skill(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the name of a skill."""
    try:
        # Nobody who presses a key waits for scans.
        runtime = open_runtime(ctx.params.get("workspace"), patience=HOOK)
        report = runtime.skills.status(ctx.params.get("agent"))
    except ProwessError:
        # A person is typing: the command itself will say what is wrong.
        return []
    # A shell runs what it completes: a name that is more than a word is not offered.
    names = [status.skill.name for status in report.skills if _SAFE.fullmatch(status.skill.name)]
    return [name for name in names if name.startswith(incomplete)]
