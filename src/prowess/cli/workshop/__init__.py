"""`workshop`: what was learned, reviewed by a person, and turned into skills.

Each command stands in a module of its own that is loaded when it is called: `status` needs no
reader of transcripts, and `list` no scanner's report.
"""

import os

import click

from prowess.cli.terminal import LazyGroup
from prowess.cli.workshop.proposals import log_to_terminal

# name -> module, one-line help. The order is that of `prowess workshop --help`.
_COMMANDS = {
    "enable": ("workshop.status", "Switch the workshop on, with a profile or as it is set."),
    "disable": ("workshop.status", "Switch the workshop off."),
    "status": ("workshop.status", "Count proposals, and explain what seems wrong."),
    "list": ("workshop.review", "List proposals, newest first."),
    "show": ("workshop.review", "Show one proposal: difference, findings, evidence."),
    "suggest": ("workshop.review", "Propose a skill or a change to one."),
    "apply": ("workshop.review", "Write a pending proposal to its skill."),
    "reject": ("workshop.review", "Refuse a proposal."),
    "revise": ("workshop.review", "Change what a pending proposal says."),
    "rollback": ("workshop.review", "Take back what was applied last to a skill."),
    "history": ("workshop.review", "Say what happened to proposals and skills."),
    "capture": ("workshop.proposals", "Look for corrections in a transcript."),
    "tool": ("workshop.review", "Answer one call of the agent's tool, JSON in and JSON out."),
}


@click.group("workshop", cls=LazyGroup, table=_COMMANDS)
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
