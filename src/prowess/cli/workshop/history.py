"""`workshop history` and `rollback`: what happened to proposals and skills, and the way back."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from prowess.cli.options import Common, common
from prowess.cli.render import Cell, Column, print_json, print_table, print_text
from prowess.cli.workshop.proposals import (
    FAILED,
    confirm,
    find_proposal,
    need_answer,
    next_steps,
    revision_option,
    yes_option,
)
from prowess.errors import ProposalNotFoundError
from prowess.wire import workshop as wire_workshop
from prowess.wiring import open_runtime
from prowess.workshop.proposal import EventKind, Proposal, ProposalEvent, Subject

if TYPE_CHECKING:
    from prowess.runtime.workshop.ports import History
    from prowess.runtime.workshop.service import WorkshopService

_STYLES = {
    EventKind.APPLIED: "green",
    EventKind.QUARANTINED: "bold red",
    EventKind.ROLLED_BACK: "yellow",
    EventKind.INTERRUPTED: "bold red",
    EventKind.PRUNED: "yellow",
}


@click.command("history")
@click.argument("word", metavar="[ID|SKILL]", required=False)
@click.option(
    "--after", type=click.IntRange(0), default=0, metavar="NUMBER", help="Only what came later."
)
@common
def history_command(given: Common, word: str | None, *, after: int) -> int:
    """Say what happened, oldest first: at all, to the proposal ID or to SKILL.

    For a skill it also lists what was applied; the first of that is what `rollback` takes back.

    Example: prowess workshop history release-notes
    """
    with open_runtime(given.workspace) as runtime:
        service = runtime.workshop
        about = _about(service, word or "", given.agent_id)
        events = list(_events(service, about, after, given.agent_id))
        versions = _page(service, about, after, given.agent_id).versions
    if word and not events and not after:
        raise ProposalNotFoundError(f"nothing happened to {word}: see `prowess workshop history`")
    if given.as_json:
        shown = [wire_workshop.proposal_event(event) for event in events]
        cursor = events[-1].sequence if events else after
        print_json({"events": shown, "cursor": cursor, "versions": [one.id for one in versions]})
        return 0
    _print_events(events)
    if versions:
        print_text()
        print_text("Applied, the last one first:", "bold")
        for one in versions:
            print_text(f"  {one.id}  {one.title}")
    return 0


def _about(service: "WorkshopService", word: str, agent: str) -> Subject:
    """Say whether a word is a skill's name or a proposal's id, of which the start is enough."""
    if not word:
        return Subject()
    if service.history(skill=word, agent_id=agent).events:
        return Subject(skill=word)
    try:
        return Subject(proposal_id=find_proposal(service, word, agent).id)
    except ProposalNotFoundError:
        # One that was pruned is gone, and still has a history.
        return Subject(proposal_id=word)


def _events(
    service: "WorkshopService", about: Subject, after: int, agent: str
) -> Iterator[ProposalEvent]:
    more = True
    while more:
        page = _page(service, about, after, agent)
        yield from page.events
        after, more = page.cursor, page.more


def _page(service: "WorkshopService", about: Subject, after: int, agent: str) -> "History":
    return service.history(about.proposal_id, skill=about.skill, after=after, agent_id=agent)


def _print_events(events: list[ProposalEvent]) -> None:
    if not events:
        print_text("Nothing happened yet.")
        return
    titles = (Column("#"), Column("When"), Column("What"), Column("Skill", flexible=True))
    rows = [
        [
            Cell(str(event.sequence), "dim"),
            Cell(wire_workshop.proposal_event(event)["occurredAt"]),
            Cell(event.kind.value.replace("_", " "), _STYLES.get(event.kind, "")),
            Cell(event.skill),
            Cell(event.proposal_id, "bold"),
            Cell(event.note),
        ]
        for event in events
    ]
    print_table((*titles, Column("Proposal", flexible=True), Column("Note", flexible=True)), rows)


@click.command("rollback")
@click.argument("word", metavar="SKILL|ID")
@yes_option
@revision_option
@common
def rollback_command(given: Common, word: str, *, yes: bool, revision: str) -> int:
    """Bring back what the last applied proposal of a SKILL replaced; it is pending again.

    A skill that was changed by hand since is left alone.

    Example: prowess workshop rollback release-notes --yes
    """
    need_answer(yes=yes, as_json=given.as_json)
    with open_runtime(given.workspace) as runtime:
        service = runtime.workshop
        found = _applied(service, word, given.agent_id)
        question = f"Take back {found.title!r} ({found.id}) from {found.skill}?"
        service.require_enabled()
        if not confirm(question, yes=yes):
            print_text("Nothing was written.")
            return FAILED
        seen = revision or found.revision
        done = service.rollback(found.id, revision=seen, agent_id=given.agent_id)
    if given.as_json:
        print_json({"status": "rolled_back", "proposal": wire_workshop.proposal(done)})
    else:
        print_text(f"rolled back {done.skill}  [{done.id}]", "yellow")
        next_steps([f"It is {done.state.value}: `prowess workshop reject {done.id}` ends it."])
    return 0


def _applied(service: "WorkshopService", word: str, agent: str) -> Proposal:
    versions = service.history(skill=word, agent_id=agent).versions
    return versions[0] if versions else find_proposal(service, word, agent)
