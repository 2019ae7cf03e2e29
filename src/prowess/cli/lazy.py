"""A group of commands that are loaded when one of them is called: a quick one stays quick."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

# The name of a command -> the end of its module's name, one-line help; in the order of `--help`.
Table = Mapping[str, tuple[str, str]]


class LazyGroup(click.Group):
    """A group that knows its commands by name and loads them on demand."""

    # What else click hands to a group is click's.
    def __init__(self, *args: Any, table: Table, prefix: str, **attributes: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **attributes)
        self._table, self._prefix = table, prefix

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names without loading anything."""
        del ctx
        return list(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load the module of one command."""
        del ctx
        if cmd_name not in self._table:
            return None
        module = import_module(f"{self._prefix}{self._table[cmd_name][0]}")
        command: click.Command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table, without loading them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self._table.items()])
