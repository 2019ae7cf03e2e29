"""`experience`: what an agent did well becomes a draft, and what it did often a proposal."""

import click

from prowess.cli.lazy import LazyGroup

# name -> module, one-line help. The order is that of `prowess experience --help`.
_COMMANDS = {
    "build": ("learning.experience_build", "Make drafts and lessons of traces."),
    "list": ("learning.experience", "List the drafts that wait for you."),
    "promote": ("learning.experience", "Turn a draft that you have read into a skill."),
    "clean": ("learning.experience", "Move drafts that are not needed any more to the trash."),
    "restore": ("learning.experience", "Bring back what was replaced, promoted or cleaned away."),
}


@click.group("experience", cls=LazyGroup, table=_COMMANDS, prefix="prowess.cli.")
def experience_command() -> None:
    """Learn from what agents did: traces, sessions and transcripts.

    A task that went well becomes a draft under skills/auto with a replay script, which no model
    sees until you promote it. Three or more runs of one goal become one proposal in the workshop.

    Example: prowess experience build ~/.claude/projects/my-app --dry-run
    """
