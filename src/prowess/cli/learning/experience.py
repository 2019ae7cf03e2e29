"""`experience list`, `promote`, `clean` and `restore`: what becomes of drafts.

`experience`: what an agent did well becomes a draft, and what it did often a proposal.
"""

import time
from collections.abc import Sequence

import click

from prowess.cli.options import Common, common
from prowess.cli.render import Cell, Column, print_json, print_table, print_text, shortened
from prowess.cli.terminal import LazyGroup
from prowess.cli.workshop.proposals import next_steps
from prowess.errors import ProwessError
from prowess.experience.draft import NO_TASK
from prowess.runtime.experience_drafts import Cleaned, RemovedDraft, TrashedDraft
from prowess.wire import experience as wire_experience
from prowess.wiring import open_runtime
from prowess.wiring.workshop import open_experience

_MOST_CHARS = 60


def _complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    try:
        with (
            open_runtime(ctx.params.get("workspace")) as runtime,
            open_experience(runtime) as service,
        ):
            found = service.list(agent_id=ctx.params.get("agent") or "")
    except ProwessError:
        # A person is typing: the command itself will say what is wrong.
        return []
    return [draft.id for draft in found.known if draft.id.startswith(incomplete)]


@click.command("list")
@common
def list_command(given: Common) -> int:
    """List the drafts of the workspace, newest first.

    Example: prowess experience list --json
    """
    with open_runtime(given.workspace) as runtime, open_experience(runtime) as service:
        found = service.list(agent_id=given.agent_id)
    if given.as_json:
        print_json(wire_experience.drafts(found))
        return 0
    if not found.known:
        print_text("No drafts: `prowess experience build TRACE` makes some.")
    else:
        columns = (
            Column("ID"),
            Column("Task", flexible=True),
            Column("Confidence"),
            Column("Fingerprint"),
        )
        rows = [
            (
                Cell(one.id),
                Cell(shortened(one.facts.task or NO_TASK, _MOST_CHARS)),
                Cell(f"{one.facts.confidence}{' (edited)' if one.edited else ''}"),
                Cell(one.facts.behaviour, "dim"),
            )
            for one in found.known
        ]
        print_table(columns, rows)
        next_steps(["`prowess experience promote ID` turns one that you have read into a skill."])
    for problem in found.problems:
        print_text(problem, "yellow")
    return 0


@click.command("promote")
@click.argument("draft_id", metavar="ID", shell_complete=_complete)
@click.option("--name", metavar="NAME", help="What the skill shall be called.")
@click.option("--dry-run", is_flag=True, help="Say what would be written and keep nothing.")
@common
def promote_command(given: Common, draft_id: str, *, name: str | None, dry_run: bool) -> int:
    """Turn the draft ID into a skill of the workspace, which models may then choose.

    It is scanned again. The draft goes to the trash; `prowess workshop rollback` takes the skill
    back, `prowess experience restore` brings back the draft.

    Example: prowess experience promote 20260101-101500-open-mail --name open-mail
    """
    with open_runtime(given.workspace) as runtime, open_experience(runtime) as service:
        done = service.promote(draft_id, name=name, agent_id=given.agent_id, dry_run=dry_run)
    if given.as_json:
        print_json(wire_experience.promoted(done))
        return 0
    word = "would promote" if done.dry_run else "promoted"
    print_text(f"{word}: {done.draft} -> {done.skill}", "green")
    print_text(f"  {done.path}", "dim")
    if done.proposal is not None:
        steps = [f"`prowess workshop rollback {done.proposal.id}` takes it back."]
        if done.trash:
            steps.append(f"`prowess experience restore {done.trash}` brings back the draft.")
        next_steps(steps)
    return 0


@click.command("clean")
@click.option("--dry-run", is_flag=True, help="Say what would go and move nothing.")
@common
def clean_command(given: Common, *, dry_run: bool) -> int:
    """Move drafts that are not needed any more to the trash.

    These are copies of other drafts, drafts whose goal has become a skill, and replay scripts
    without a draft. What you edited stays.

    Example: prowess experience clean --dry-run
    """
    with open_runtime(given.workspace) as runtime, open_experience(runtime) as service:
        done = service.clean(agent_id=given.agent_id, dry_run=dry_run)
    if given.as_json:
        print_json(wire_experience.cleaned(done))
    else:
        _print_cleaned(done)
    return 0


def _print_cleaned(done: Cleaned) -> None:
    gone: list[RemovedDraft] = [*done.drafts, *done.scripts]
    if not gone:
        print_text("Nothing to clean.")
        return
    for one in gone:
        print_text(f"{'would remove' if done.dry_run else 'removed'}: {one.path}")
        print_text(f"  {one.why}{f'  [{one.trash}]' if one.trash else ''}", "dim")
    if done.dry_run:
        print_text("Nothing was moved: this was a dry run.", "dim")
    else:
        next_steps(["`prowess experience restore` and the code in brackets brings one back."])


@click.command("restore")
@click.argument("trash_id", metavar="[CODE]", required=False)
@common
def restore_command(given: Common, trash_id: str | None) -> int:
    """Bring back the draft that went to the trash under CODE, over nothing.

    Without CODE, list what is in the trash.

    Example: prowess experience restore 202601011015-0a1b2c3d4e5f
    """
    with open_runtime(given.workspace) as runtime, open_experience(runtime) as service:
        if trash_id is None:
            trashed = service.trashed(agent_id=given.agent_id)
            if given.as_json:
                print_json(wire_experience.trashed(trashed))
            else:
                _print_trash(trashed)
            return 0
        path = service.restore(trash_id, agent_id=given.agent_id)
    if given.as_json:
        print_json({"path": path})
    else:
        print_text(f"restored: {path}", "green")
    return 0


def _print_trash(trashed: Sequence[TrashedDraft]) -> None:
    if not trashed:
        print_text("No draft is in the trash.")
        return
    columns = (Column("Code"), Column("Removed"), Column("What", flexible=True))
    rows = [
        (
            Cell(one.id),
            Cell(time.strftime("%Y-%m-%d %H:%M", time.localtime(one.removed_at)), "dim"),
            Cell(f"{one.path}{' and its replay' if one.has_script else ''}"),
        )
        for one in trashed
    ]
    print_table(columns, rows)
    next_steps(["`prowess experience restore CODE` brings one back."])


# name -> module, one-line help. The order is that of `prowess experience --help`.
_COMMANDS = {
    "build": ("learning.experience_build", "Make drafts and lessons of traces."),
    "list": ("learning.experience", "List the drafts that wait for you."),
    "promote": ("learning.experience", "Turn a draft that you have read into a skill."),
    "clean": ("learning.experience", "Move drafts that are not needed any more to the trash."),
    "restore": ("learning.experience", "Bring back what was replaced, promoted or cleaned away."),
}


@click.group("experience", cls=LazyGroup, table=_COMMANDS)
def experience_command() -> None:
    """Learn from what agents did: traces, sessions and transcripts.

    A task that went well becomes a draft under skills/auto with a replay script, which no model
    sees until you promote it. Three or more runs of one goal become one proposal in the workshop.

    Example: prowess experience build ~/.claude/projects/my-app --dry-run
    """
