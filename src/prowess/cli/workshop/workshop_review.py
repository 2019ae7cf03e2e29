"""`workshop list`, `show`, `apply` and `reject`: what was proposed, for the one who decides."""

import click

from prowess.cli.options import common
from prowess.cli.render import Cell, Column, is_terminal, print_json, print_table, print_text
from prowess.cli.workshop.proposals import (
    FAILED,
    STYLES,
    confirmed,
    find_proposal,
    identified,
    need_answer,
    next_steps,
    revision_option,
    tell,
    yes_option,
)
from prowess.cli.workshop.workshop_show import (
    diff_lines,
    print_diff,
    print_findings,
    print_proposal,
)
from prowess.wire import wire_workshop
from prowess.wiring import open_runtime
from prowess.workshop.proposal import Proposal, State

_WAITING = (State.PENDING, State.QUARANTINED)


@click.command("list")
@click.option(
    "--status",
    type=click.Choice([*(state.value for state in State), "all"]),
    help="Only those; by default the pending and the quarantined ones.",
)
@common
def list_command(
    workspace: str | None, agent: str | None, *, as_json: bool, status: str | None
) -> int:
    """List proposals, newest first.

    Example: prowess workshop list --status applied
    """
    with open_runtime(workspace) as runtime:
        wanted = _WAITING if status is None else tuple(State) if status == "all" else (status,)
        found = [one for one in runtime.workshop.list(agent_id=agent or "") if one.state in wanted]
    if as_json:
        print_json({"proposals": [wire_workshop.proposal(one) for one in found]})
        return 0
    if not found:
        print_text("No proposals." if status else "No proposals wait for you.")
        return 0
    titles = (Column("Id", flexible=True), Column("State"), Column("Skill", flexible=True))
    rows = [_row(one) for one in found]
    print_table((*titles, Column("Kind"), Column("Source"), Column("Title", flexible=True)), rows)
    if is_terminal():
        next_steps(["`prowess workshop show ID --diff` shows one; the start of an id is enough."])
    return 0


def _row(one: Proposal) -> list[Cell]:
    kind = "files" if one.edit is None else one.edit.kind
    return [
        Cell(one.id, "bold"),
        Cell(one.state.value, STYLES[one.state]),
        Cell(one.skill),
        Cell(kind),
        Cell(one.source.value),
        Cell(one.quarantine_reason or one.title),
    ]


@click.command("show")
@identified
@click.option("--diff", is_flag=True, help="Show what would change against the live files.")
@common
def show_command(
    proposal_id: str, workspace: str | None, agent: str | None, *, as_json: bool, diff: bool
) -> int:
    """Show all about a proposal: reason, evidence, similar skills, findings with their lines.

    The start of an ID is enough, or of its last part.

    Example: prowess workshop show animated-gif-workflow-1f0c --diff
    """
    with open_runtime(workspace) as runtime:
        found = find_proposal(runtime.workshop, proposal_id, agent)
    if as_json:
        shown = {"proposal": wire_workshop.proposal(found)}
        print_json({**shown, "diff": "\n".join(diff_lines(found))} if diff else shown)
        return 0
    print_proposal(found, diff=diff)
    if is_terminal() and found.state is State.PENDING:
        print_text()
        next_steps([f"`prowess workshop apply {found.id}` writes it, `reject` refuses it."])
    return 0


@click.command("apply")
@identified
@yes_option
@revision_option
@common
def apply_command(
    proposal_id: str,
    workspace: str | None,
    agent: str | None,
    *,
    as_json: bool,
    yes: bool,
    revision: str,
) -> int:
    """Write a pending proposal to its skill, after showing the difference and asking once.

    What is shown is what is written: if it changes meanwhile, nothing is.

    Example: prowess workshop apply animated-gif-workflow-1f0c --yes
    """
    need_answer(yes=yes, as_json=as_json)
    with open_runtime(workspace) as runtime:
        service = runtime.workshop
        found = find_proposal(service, proposal_id, agent)
        if not yes and found.state is State.PENDING:
            print_findings(found)
            print_diff(found)
            if not confirmed(f"Write this to {found.skill}?", yes=yes):
                print_text("Nothing was written.")
                return FAILED
        done = service.apply(found.id, revision=revision or found.revision, agent_id=agent or "")
        code = tell(done, as_json=as_json)
        if not as_json:
            skill = f"{done.workspace}/skills/{done.skill}"
            next_steps([f"{skill}; `prowess workshop rollback {done.skill}` takes it back."])
    return code


@click.command("reject")
@identified
@revision_option
@click.option("--reason", default="", metavar="TEXT", help="Why; it is kept in the history.")
@common
def reject_command(
    proposal_id: str,
    workspace: str | None,
    agent: str | None,
    *,
    as_json: bool,
    revision: str,
    reason: str,
) -> int:
    """Refuse a pending or quarantined proposal: the same one is not taken again.

    Example: prowess workshop reject learned-workflows-9ab2
    """
    with open_runtime(workspace) as runtime:
        service = runtime.workshop
        found = find_proposal(service, proposal_id, agent)
        seen = revision or found.revision
        done = service.reject(found.id, revision=seen, reason=reason, agent_id=agent or "")
        return tell(done, as_json=as_json)
