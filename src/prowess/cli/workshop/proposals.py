"""What the commands of `workshop` share: finding a proposal, asking, and saying what happened."""

import difflib
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import click

from prowess.cli.render import asks, print_error, print_json, print_text
from prowess.errors import ProposalInputError, ProposalNotFoundError, ProwessError
from prowess.skills.text import one_line
from prowess.wire import workshop as wire_workshop
from prowess.wiring import open_runtime
from prowess.workshop.proposal import Proposal, State

if TYPE_CHECKING:
    from prowess.runtime.workshop.service import WorkshopService

FAILED = 1
STYLES = {
    State.PENDING: "yellow",
    State.APPLIED: "green",
    State.REJECTED: "dim",
    State.QUARANTINED: "bold red",
    State.STALE: "dim",
}
_SAID = {State.PENDING: "queued"}
_MOST_NAMED = 5
_LOG = "prowess.workshop"
_F = TypeVar("_F", bound=Callable[..., object])

yes_option = click.option(
    "-y", "--yes", is_flag=True, help="Do not ask; needed where nobody can be asked."
)
revision_option = click.option(
    "--revision", default="", metavar="HASH", help="Refuse unless it is this revision."
)


def identified(function: _F) -> _F:
    """Add the argument ID, which shells complete."""
    return click.argument("proposal_id", metavar="ID", shell_complete=_complete)(function)


def _complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    try:
        with open_runtime(ctx.params.get("workspace")) as runtime:
            found = runtime.workshop.list(agent_id=ctx.params.get("agent") or "")
    except ProwessError:
        # A person is typing: the command itself will say what is wrong.
        return []
    return [proposal.id for proposal in found if proposal.id.startswith(incomplete)]


def find_proposal(service: "WorkshopService", word: str, agent: str | None) -> Proposal:
    """Return the proposal of that id, or the only one whose id begins so.

    Raises:
        ProposalNotFoundError: there is none.
        ProposalInputError: several begin so.
        StoreError: the store cannot be read.
    """
    known = {proposal.id: proposal for proposal in service.list(agent_id=agent or "")}
    if word in known:
        return known[word]
    # A random part is how people tell two proposals for one skill apart.
    same = [one for one in known if one.startswith(word) or one.rpartition("-")[2].startswith(word)]
    if word and len(same) == 1:
        return known[same[0]]
    if word and same:
        more = ", ..." if len(same) > _MOST_NAMED else ""
        named = f"{', '.join(same[:_MOST_NAMED])}{more}"
        raise ProposalInputError(f"which proposal is {word}? Give more of its id: {named}")
    near = difflib.get_close_matches(word, known, n=1)
    hint = f"did you mean {near[0]}?" if near else "`prowess workshop list --status all` shows all."
    raise ProposalNotFoundError(f"proposal not found: {word}; {hint}")


def confirm(question: str, *, yes: bool) -> bool:
    """Ask once; `--yes` is an answer."""
    return yes or click.confirm(one_line(question), err=True)


def need_answer(*, yes: bool, as_json: bool) -> None:
    """Refuse before anything is done where nobody could say yes later.

    Raises:
        click.UsageError: nobody can be asked.
    """
    if not yes and as_json:
        raise click.UsageError("Give --yes: an answer for a program has no room for a question")
    if not yes and not asks():
        raise click.UsageError("Give --yes: there is no terminal to ask on")


def say(proposal: Proposal) -> None:
    """Say what became of a proposal, in the words of the log."""
    word = _SAID.get(proposal.state, proposal.state.value)
    why = f": {proposal.quarantine_reason}" if proposal.quarantine_reason else ""
    print_text(f"{word} {proposal.skill}{why}  [{proposal.id}]", STYLES[proposal.state])


def tell(proposal: Proposal, *, as_json: bool) -> int:
    """Print what became of a proposal; a quarantined one is a finding."""
    if as_json:
        status = {"status": proposal.state.value}
        print_json({**status, "proposal": wire_workshop.proposal(proposal)})
    else:
        say(proposal)
    return FAILED if proposal.state is State.QUARANTINED else 0


def next_steps(lines: Sequence[str]) -> None:
    """Say what to do next, quietly."""
    for line in lines:
        print_text(f"  {line}", "dim")


class Collected(logging.Handler):
    """Keeps the lines that the workshop logs."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one line."""
        self.lines.append(record.getMessage())


class _Printed(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        print_error(record.getMessage())


@contextmanager
def listening(handler: logging.Handler) -> Iterator[None]:
    """Let a handler hear the workshop's log for as long as this lasts."""
    log = logging.getLogger(_LOG)
    level = log.level
    log.addHandler(handler)
    log.setLevel(min(level or logging.INFO, logging.INFO))
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


def log_to_terminal(ctx: click.Context) -> None:
    """Print the workshop's log on the error stream until the command ends."""
    if sys.stderr is not None:
        ctx.with_resource(listening(_Printed()))
