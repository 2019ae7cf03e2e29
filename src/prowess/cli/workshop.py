"""`workshop`: what was learned, reviewed by a person, and turned into skills.

Each command stands in a module of its own that is loaded when it is called: `status` needs no
reader of transcripts, and `list` no scanner's report.
"""

import os
from importlib import import_module

import click

from prowess.cli.workshop_words import log_to_terminal

# name -> module, one-line help. The order is that of `prowess workshop --help`.
_COMMANDS = {
    "enable": ("switch", "Switch the workshop on, with a profile or as it is set."),
    "disable": ("switch", "Switch the workshop off."),
    "status": ("status", "Count proposals, show the settings, and explain what seems wrong."),
    "list": ("review", "List proposals, newest first."),
    "show": ("review", "Show one proposal: difference, findings, evidence."),
    "suggest": ("suggest", "Propose a skill or a change to one."),
    "apply": ("review", "Write a pending proposal to its skill."),
    "reject": ("review", "Refuse a proposal."),
    "revise": ("suggest", "Change what a pending proposal says."),
    "rollback": ("history", "Take back what was applied last to a skill."),
    "history": ("history", "Say what happened to proposals and skills."),
    "capture": ("capture", "Look for corrections in a transcript."),
    "tool": ("suggest", "Answer one call of the agent's tool, JSON in and JSON out."),
}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"prowess.cli.workshop_{_COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


@click.group("workshop", cls=_Commands)
@click.option("-v", "--verbose", is_flag=True, help="Print the workshop's log on the error stream.")
@click.pass_context
def workshop_command(ctx: click.Context, *, verbose: bool) -> None:
    """Review what was learned, and turn it into skills.

    Corrections of users, reviews by a model and the agent's own suggestions wait here as proposals,
    scanned, until they are applied or rejected. It is off until `workshop enable`.

    Example: prowess workshop list, then prowess workshop show ID --diff
    """
    if verbose or os.environ.get("PROWESS_DEBUG"):
        log_to_terminal(ctx)
