"""`completion`: the script that makes a shell complete commands, options and skill names."""

import os

import click
from click.shell_completion import get_completion_class

from prowess.cli.main import app
from prowess.cli.render import print_raw

_SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(_SHELLS), required=False)
def completion_command(shell: str | None) -> int:
    """Print the completion script for SHELL, by default the one in $SHELL.

    For bash, add to ~/.bashrc: eval "$(prowess completion bash)"
    """
    name = shell or os.path.basename(os.environ.get("SHELL", ""))
    found = get_completion_class(name)
    if name not in _SHELLS or found is None:
        raise click.UsageError(f"Name the shell: {', '.join(_SHELLS)}")
    print_raw(found(app, {}, "prowess", "_PROWESS_COMPLETE").source())
    return 0
