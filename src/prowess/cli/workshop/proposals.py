"""`workshop` and what its commands share, and `workshop capture`, which others use as well.

Each command is loaded when it is called. Shared are finding a proposal, asking, and saying what
happened. The corrections in a transcript become proposals turn by turn: only what a person typed
counts, one correction a turn, as it would have been while the turn was live. It stops before
proposals that already wait would have to go to make room for more.
"""

import difflib
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import click

from prowess.cli.render import asks, print_error, print_json, print_text
from prowess.cli.terminal import Common, LazyGroup, common, complete_by
from prowess.errors import PathError, ProposalInputError, ProposalNotFoundError
from prowess.host.harness.transcripts import RawTranscript, read_stream, read_transcript, reasons
from prowess.runtime.workshop.ports import REVIEW_SESSION_PREFIX
from prowess.runtime.workshop.service import TurnSeen, WorkshopService
from prowess.safety.paths import visible
from prowess.skills.text import one_line
from prowess.spans import heard
from prowess.transcripts.turns import (
    Transcript,
    TranscriptShape,
    UserTurn,
    build_transcript,
    read_turns,
)
from prowess.wire import workshop as wire_workshop
from prowess.wire.skills import pick
from prowess.wiring import Runtime, open_runtime
from prowess.wiring.workshop import open_capture, open_rehearsal
from prowess.workshop.proposal import Capture, Proposal, State, capture

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

yes_option = click.option(
    "-y", "--yes", is_flag=True, help="Do not ask; needed where nobody can be asked."
)
revision_option = click.option(
    "--revision", default="", metavar="HASH", help="Refuse unless it is this revision."
)


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


def identified(function: _F) -> _F:
    """Add the argument ID, which shells complete."""
    return click.argument("proposal_id", metavar="ID", shell_complete=_complete)(function)


_complete = complete_by(
    lambda runtime, agent: (one.id for one in runtime.workshop.list(agent_id=agent or ""))
)


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


def log_to_terminal(ctx: click.Context) -> None:
    """Print the workshop's log on the error stream until the command ends."""
    if sys.stderr is not None:
        ctx.with_resource(heard(_Printed(), logging.INFO, _LOG))


_MOST_CHARS = 160
_SKIPPED = "skill-workshop: heuristic capture skipped: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A correction, where it stands, and what became of it."""

    found: Capture
    place: str
    proposal: Proposal | None
    is_new: bool = False
    # Why it became no proposal.
    problem: str = ""

    @property
    def quote(self) -> str:
        """What was said; empty where it was refused, perhaps because it holds a credential."""
        return "" if self.proposal is None else self.found.instruction


@dataclass(slots=True)
class CaptureOutcome:
    """What was heard in one transcript, and how much was left for lack of room."""

    heard: list[Heard] = field(default_factory=list)
    left: int = 0

    @property
    def new(self) -> list[Heard]:
        """What was not known before."""
        return [one for one in self.heard if one.is_new]


@click.command("capture")
@click.argument("path", metavar="TRANSCRIPT", type=click.Path())
@click.option(
    "--format",
    "shape",
    type=click.Choice(["auto", *(shape.value for shape in TranscriptShape)]),
    default="auto",
    show_default=True,
    help="Whose transcript it is.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be proposed and keep nothing.")
@common
def capture_command(given: Common, path: str, *, shape: str, dry_run: bool) -> int:
    """Look for corrections in a TRANSCRIPT, a file of JSON or JSON lines (`-` reads it).

    Chats of OpenAI, Anthropic and Gemini, logs of coding agents, and plain lines of role and
    content are read. No model is asked. Each correction goes through the same scanner and the same
    approval as in a live turn.

    Example: prowess workshop capture session.jsonl --dry-run
    """
    raw = _read(path)
    said = build_transcript(
        raw.records, None if shape == "auto" else TranscriptShape(shape), raw.skipped
    )
    if not said.messages:
        problem = f"holds no messages ({reasons(said.skipped)}): is it a transcript?"
        raise PathError(path, problem)
    with open_runtime(given.workspace) as runtime:
        (outcome,) = capture_all(runtime, [said], given.agent_id, dry_run=dry_run)
    if given.as_json:
        print_json(_show(said, outcome, dry_run=dry_run))
    else:
        _print(said, outcome, dry_run=dry_run)
    return 0


def _read(path: str) -> RawTranscript:
    if path != "-":
        return read_transcript(path)
    if sys.stdin is None or sys.stdin.isatty():
        raise click.UsageError("`-` reads standard input, and there is none")
    return read_stream(sys.stdin.buffer, "standard input")


def capture_all(
    runtime: Runtime, heap: Sequence[Transcript], agent: str, *, dry_run: bool
) -> list[CaptureOutcome]:
    """Hand the corrections of each transcript to the workshop; a dry run keeps nothing.

    Raises:
        WorkshopDisabledError: it is switched off, and this is no dry run.
        StoreError: the store cannot be used.
    """
    if not dry_run:
        runtime.workshop.require_enabled()
    opened = open_rehearsal(runtime) if dry_run else open_capture(runtime)
    with opened as service:
        known = {one.id: one for one in service.list(agent_id=agent)}
        waiting = sum(one.state is State.PENDING for one in known.values())
        room = runtime.config.read().workshop.max_pending - waiting
        feed = _Feed(service, agent, set(known), room)
        return [feed.take(said) for said in heap]


@dataclass(slots=True)
class _Feed:
    """The workshop while it is fed, with what it knows and how much room is left."""

    service: WorkshopService
    agent: str
    known: set[str]
    room: int

    def take(self, said: Transcript) -> CaptureOutcome:
        """Hand over one transcript."""
        outcome = CaptureOutcome()
        for turn, found in _corrections(said):
            if self.room <= 0:
                outcome.left += 1
            else:
                outcome.heard.append(self._hear(said, turn, found))
        return outcome

    def _hear(self, said: Transcript, turn: UserTurn, found: Capture) -> Heard:
        log = Collected()
        seen = TurnSeen(
            messages=turn.contents,
            tool_calls=turn.tool_calls,
            agent_id=self.agent,
            session_id=said.session_id,
        )
        with heard(log, logging.INFO, _LOG):
            proposals = self.service.observe(seen)
        proposal = proposals[0] if proposals else None
        is_new = proposal is not None and proposal.id not in self.known
        if proposal is not None:
            self.known.add(proposal.id)
            self.room -= is_new and proposal.state is State.PENDING
        return Heard(
            found=found,
            place=turn.messages[found.turn.place].place,
            proposal=proposal,
            is_new=is_new,
            problem="" if proposal else _why(log.lines, said.session_id),
        )


def _corrections(said: Transcript) -> Iterator[tuple[UserTurn, Capture]]:
    """Yield the turns in which a phrase is found; the others would be looked at in vain."""
    for turn in said.turns:
        found = capture(read_turns(turn.contents))
        if found is not None:
            yield turn, found


def _why(lines: list[str], session_id: str) -> str:
    if session_id.startswith(REVIEW_SESSION_PREFIX):
        return "it is a review's own conversation, from which nothing is learned"
    told = [line.removeprefix(_SKIPPED) for line in lines if line.startswith(_SKIPPED)]
    return told[-1] if told else "it was decided about before"


def _show(said: Transcript, outcome: CaptureOutcome, *, dry_run: bool) -> dict[str, object]:
    return {
        "dryRun": dry_run,
        "format": None if said.shape is None else said.shape.value,
        "messages": said.messages,
        "turns": len(said.turns),
        "skipped": dict(said.skipped),
        **heard_json(outcome),
    }


def heard_json(outcome: CaptureOutcome) -> dict[str, object]:
    """Show what became of the corrections of a transcript."""
    return {
        "corrections": [
            {
                **pick(one, "place quote? is_new=isNew problem?"),
                "proposal": None if one.proposal is None else wire_workshop.proposal(one.proposal),
            }
            for one in outcome.heard
        ],
        "leftForLater": outcome.left,
    }


def _print(said: Transcript, outcome: CaptureOutcome, *, dry_run: bool) -> None:
    shape = said.shape.value if said.shape else "none"
    print_text(f"messages: {said.messages}, turns of the user: {len(said.turns)} ({shape})")
    if said.skipped:
        print_text(f"left out: {reasons(said.skipped)}", "yellow")
    for one in outcome.heard:
        print_heard(one)
    if not outcome.heard and not outcome.left:
        print_text("No correction was found in what users typed.")
    if outcome.left:
        print_text(f"left for later: {outcome.left}, since maxPending wait already.", "yellow")
        next_steps(["Decide about some (`prowess workshop list`), then run this again."])
    if dry_run:
        print_text("Nothing was kept: this was a dry run.", "dim")
    elif outcome.new:
        next_steps(["`prowess workshop list` shows what waits for you."])


def print_heard(one: Heard) -> None:
    """Print a correction and what became of it."""
    if one.proposal is None:
        print_text(f"skipped: {one.problem}", "yellow")
        print_text(f"  {one.place}", "dim")
        return
    if one.is_new:
        say(one.proposal)
    else:
        print_text(f"waits already: {one.proposal.skill}  [{one.proposal.id}]", "dim")
    quote = visible(one.quote)
    cut = quote if len(quote) <= _MOST_CHARS else f"{quote[:_MOST_CHARS]}..."
    print_text(f'  {one.place}: "{cut}"', "dim")
