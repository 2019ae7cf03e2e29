"""`workshop capture`: the corrections in a transcript become proposals, turn by turn.

Only what a person typed counts, one correction a turn, as it would have been while the turn was
live. It stops before proposals that already wait would have to go to make room for more.

`sessions --learn`: corrections of real sessions, through the workshop that takes any other.

Each goes to the workspace of its session, with the session's id and the words as evidence. The same
words are the same wish: a second run proposes nothing again, also not what was rejected. A phrase
(`from now on ...`) is heard in any prompt; where a skill was missed, the correction that proves it
needs none.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from prowess.cli.options import common
from prowess.cli.render import ProgressBar, print_json, print_text
from prowess.cli.workshop.proposals import Collected, listening, next_steps, say
from prowess.errors import PathError, ProposalError
from prowess.host.harness.transcripts import RawTranscript, read_stream, read_transcript, reasons
from prowess.runtime.sessions import Lesson, SessionsReport, lessons
from prowess.runtime.workshop.review import REVIEW_SESSION_PREFIX
from prowess.runtime.workshop.service import TurnSeen, WorkshopService
from prowess.skills.text import clean
from prowess.transcripts.sessions import Session, as_transcript
from prowess.transcripts.turns import Shape, Transcript, UserTurn, transcript, turns
from prowess.wire import workshop as wire_workshop
from prowess.wire.experience import label
from prowess.wire.safety import visible
from prowess.wiring import Runtime, open_runtime
from prowess.wiring.sessions import open_folder
from prowess.wiring.workshop import open_capture, open_rehearsal
from prowess.workshop.capture import Capture, capture
from prowess.workshop.proposal import Proposal, State

if TYPE_CHECKING:
    from prowess.runtime.sessions import MissedCorrections


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
class Outcome:
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
    type=click.Choice(["auto", *(shape.value for shape in Shape)]),
    default="auto",
    show_default=True,
    help="Whose transcript it is.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be proposed and keep nothing.")
@common
def capture_command(
    path: str,
    workspace: str | None,
    agent: str | None,
    *,
    as_json: bool,
    shape: str,
    dry_run: bool,
) -> int:
    """Look for corrections in a TRANSCRIPT, a file of JSON or JSON lines (`-` reads it).

    Chats of OpenAI, Anthropic and Gemini, logs of coding agents, and plain lines of role and
    content are read. No model is asked. Each correction goes through the same scanner and the same
    approval as in a live turn.

    Example: prowess workshop capture session.jsonl --dry-run
    """
    raw = _read(path)
    said = transcript(raw.records, None if shape == "auto" else Shape(shape), raw.skipped)
    if not said.messages:
        problem = f"holds no messages ({reasons(said.skipped)}): is it a transcript?"
        raise PathError(path, problem)
    with open_runtime(workspace) as runtime:
        (outcome,) = captured(runtime, [said], agent or "", dry_run=dry_run)
    if as_json:
        print_json(_shown(said, outcome, dry_run=dry_run))
    else:
        _print(said, outcome, dry_run=dry_run)
    return 0


def _read(path: str) -> RawTranscript:
    if path != "-":
        return read_transcript(path)
    if sys.stdin is None or sys.stdin.isatty():
        raise click.UsageError("`-` reads standard input, and there is none")
    return read_stream(sys.stdin.buffer, "standard input")


def captured(
    runtime: Runtime, heap: Sequence[Transcript], agent: str, *, dry_run: bool
) -> list[Outcome]:
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

    def take(self, said: Transcript) -> Outcome:
        """Hand over one transcript."""
        outcome = Outcome()
        for turn, found in _corrections(said):
            if self.room <= 0:
                outcome.left += 1
            else:
                outcome.heard.append(self._heard(said, turn, found))
        return outcome

    def _heard(self, said: Transcript, turn: UserTurn, found: Capture) -> Heard:
        log = Collected()
        seen = TurnSeen(
            messages=turn.contents,
            tool_calls=turn.tool_calls,
            agent_id=self.agent,
            session_id=said.session_id,
        )
        with listening(log):
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
        found = capture(turns(turn.contents))
        if found is not None:
            yield turn, found


def _why(lines: list[str], session_id: str) -> str:
    if session_id.startswith(REVIEW_SESSION_PREFIX):
        return "it is a review's own conversation, from which nothing is learned"
    told = [line.removeprefix(_SKIPPED) for line in lines if line.startswith(_SKIPPED)]
    return told[-1] if told else "it was decided about before"


def _shown(said: Transcript, outcome: Outcome, *, dry_run: bool) -> dict[str, object]:
    return {
        "dryRun": dry_run,
        "format": None if said.shape is None else said.shape.value,
        "messages": said.messages,
        "turns": len(said.turns),
        "skipped": dict(said.skipped),
        **heard_json(outcome),
    }


def heard_json(outcome: Outcome) -> dict[str, object]:
    """Show what became of the corrections of a transcript."""
    return {
        "corrections": [
            {
                "place": one.place,
                "quote": one.quote or None,
                "isNew": one.is_new,
                "problem": one.problem or None,
                "proposal": None if one.proposal is None else wire_workshop.proposal(one.proposal),
            }
            for one in outcome.heard
        ],
        "leftForLater": outcome.left,
    }


def _print(said: Transcript, outcome: Outcome, *, dry_run: bool) -> None:
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


_GONE = "its folder is gone"
_DECIDED = "it was decided about before"
_NOTHING = (
    "Nothing to learn: no prompt says how to work from now on, and no correction of a missed skill"
    " says what to do."
)


@dataclass(slots=True)
class _Material:
    """What one session has to teach."""

    session: Session
    said: "Transcript"
    lessons: list[Lesson] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What came of one session; none where its folder is gone."""

    session: Session
    outcome: Outcome | None
    dry_run: bool
    # Whether it is only tried since the workshop is switched off.
    is_off: bool


def learn(runtime: Runtime, report: SessionsReport, agent: str, *, dry_run: bool) -> list[Learned]:
    """Hand over every session with a correction, oldest first.

    Raises:
        StoreError: the store cannot be used.
    """
    is_off = not runtime.workshop.enabled
    dry_run = dry_run or is_off
    by_folder = _material(report)
    found: list[Learned] = []
    bar = ProgressBar()
    for done, (folder, group) in enumerate(by_folder.items()):
        bar("learning", done, len(by_folder))
        outcomes: Sequence[Outcome | None] = [None] * len(group)
        opened = open_folder(runtime, folder)
        if opened is not None:
            with opened as other:
                outcomes = _handed_over(other, group, agent, dry_run=dry_run)
        found += [
            Learned(session=one.session, outcome=outcome, dry_run=dry_run, is_off=is_off)
            for one, outcome in zip(group, outcomes, strict=True)
        ]
    bar.clear()
    return found


def _material(report: SessionsReport) -> dict[str, list[_Material]]:
    """Return what there is to learn, by folder."""
    taught: defaultdict[str, list[Lesson]] = defaultdict(list)
    for one in lessons(report.missed):
        taught[_key(one.missed.session)].append(one)
    by_folder: defaultdict[str, list[_Material]] = defaultdict(list)
    for session in reversed(report.sessions):
        said, own = as_transcript(session), taught[_key(session)]
        if own or any(capture(turns(turn.contents)) is not None for turn in said.turns):
            by_folder[session.cwd].append(_Material(session, said, own))
    return dict(by_folder)


def _key(session: Session) -> str:
    return f"{session.harness}\0{session.id or session.path}"


def _handed_over(
    runtime: Runtime, group: Sequence[_Material], agent: str, *, dry_run: bool
) -> list[Outcome]:
    outcomes = captured(runtime, [one.said for one in group], agent, dry_run=dry_run)
    if any(one.lessons for one in group):
        known = runtime.workshop.list(agent_id=agent)
        room = runtime.config.read().workshop.max_pending
        room -= sum(one.state is State.PENDING for one in known)
        if dry_run:
            room -= sum(len(one.new) for one in outcomes)
        _add_lessons(runtime, group, outcomes, _Room(agent, room, dry_run=dry_run))
    return outcomes


@dataclass(slots=True)
class _Room:
    """Whose workshop it is, and how much may still wait in it."""

    agent: str
    left: int
    dry_run: bool


def _add_lessons(
    runtime: Runtime, group: Sequence[_Material], outcomes: Sequence[Outcome], room: _Room
) -> None:
    from prowess.wiring.workshop import open_missed_corrections

    with open_missed_corrections(runtime, room.agent, rehearse=room.dry_run) as desk:
        for material, outcome in zip(group, outcomes, strict=True):
            for one in material.lessons:
                if room.left <= 0:
                    outcome.left += 1
                    continue
                heard = _proposed(desk, one)
                outcome.heard.append(heard)
                room.left -= heard.is_new


def _proposed(desk: "MissedCorrections", one: Lesson) -> Heard:
    place, problem, is_new = f"message {one.proof.number}", "", False
    try:
        proposal, is_new = desk.propose(one)
    except ProposalError as error:
        proposal, problem = None, str(error)
    if proposal is None:
        problem = problem or _DECIDED
    return Heard(found=one.found, place=place, proposal=proposal, is_new=is_new, problem=problem)


def learned_json(one: Learned) -> dict[str, object]:
    """Show what came of one session."""
    heard = {} if one.outcome is None else heard_json(one.outcome)
    return {
        "sessionId": clean(one.session.id),
        "harness": one.session.harness,
        "cwd": clean(one.session.cwd) or None,
        "dryRun": one.dry_run,
        "workshopEnabled": not one.is_off,
        "problem": _GONE if one.outcome is None else None,
        **heard,
    }


def print_learned(found: Sequence[Learned]) -> None:
    """Print what was learned, or what would be."""
    print_text()
    if not found:
        print_text(_NOTHING)
        return
    for one in found:
        _print_one(one)
    if found[0].is_off:
        print_text("Nothing was kept: the workshop is off.", "yellow")
        next_steps(["Switch it on, then run this again: prowess workshop enable"])
    elif found[0].dry_run:
        print_text("Nothing was kept: this was a dry run.", "dim")
    elif any(one.outcome and one.outcome.new for one in found):
        next_steps(["`prowess workshop list` shows what waits for you."])


def _print_one(one: Learned) -> None:
    print_text(label(f"{one.session.harness} {one.session.id}  {one.session.cwd}"), "bold")
    if one.outcome is None:
        print_text(f"  not learned from: {_GONE}", "yellow")
        return
    for heard in one.outcome.heard:
        print_heard(heard)
        if heard.proposal is not None:
            print_text(f"  why: {label(heard.proposal.reason)}", "dim")
    if one.outcome.left:
        print_text(f"left for later: {one.outcome.left}, since maxPending wait already.", "yellow")
