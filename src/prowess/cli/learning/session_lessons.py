"""`sessions --learn`: corrections of real sessions, through the workshop that takes any other.

Each goes to the workspace of its session, with the session's id and the words as evidence. The same
words are the same wish: a second run proposes nothing again, also not what was rejected. A phrase
(`from now on ...`) is heard in any prompt; where a skill was missed, the correction that proves it
needs none.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from prowess.cli.render import ProgressBar, print_text
from prowess.cli.workshop.capture import CaptureOutcome, Heard, capture_all, heard_json, print_heard
from prowess.cli.workshop.proposals import next_steps
from prowess.errors import ProposalError
from prowess.runtime.sessions import MissedCorrections, MissedLesson, SessionsReport, find_lessons
from prowess.skills.text import clean
from prowess.transcripts.sessions import Session, convert_session
from prowess.transcripts.turns import Transcript, read_turns
from prowess.wire.experience import label
from prowess.wiring import Runtime
from prowess.wiring.workshop import open_folder, open_missed_corrections
from prowess.workshop.capture import capture
from prowess.workshop.proposal import State

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
    said: Transcript
    lessons: list[MissedLesson] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What came of one session; none where its folder is gone."""

    session: Session
    outcome: CaptureOutcome | None
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
    by_folder = _collect(report)
    found: list[Learned] = []
    bar = ProgressBar()
    for done, (folder, group) in enumerate(by_folder.items()):
        bar("learning", done, len(by_folder))
        outcomes: Sequence[CaptureOutcome | None] = [None] * len(group)
        opened = open_folder(runtime, folder)
        if opened is not None:
            with opened as other:
                outcomes = _hand_over(other, group, agent, dry_run=dry_run)
        found += [
            Learned(session=one.session, outcome=outcome, dry_run=dry_run, is_off=is_off)
            for one, outcome in zip(group, outcomes, strict=True)
        ]
    bar.clear()
    return found


def _collect(report: SessionsReport) -> dict[str, list[_Material]]:
    """Return what there is to learn, by folder."""
    taught: defaultdict[str, list[MissedLesson]] = defaultdict(list)
    for one in find_lessons(report.missed):
        taught[_key(one.missed.session)].append(one)
    by_folder: defaultdict[str, list[_Material]] = defaultdict(list)
    for session in reversed(report.sessions):
        said, own = convert_session(session), taught[_key(session)]
        if own or any(capture(read_turns(turn.contents)) is not None for turn in said.turns):
            by_folder[session.cwd].append(_Material(session, said, own))
    return dict(by_folder)


def _key(session: Session) -> str:
    return f"{session.harness}\0{session.id or session.path}"


def _hand_over(
    runtime: Runtime, group: Sequence[_Material], agent: str, *, dry_run: bool
) -> list[CaptureOutcome]:
    outcomes = capture_all(runtime, [one.said for one in group], agent, dry_run=dry_run)
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
    runtime: Runtime, group: Sequence[_Material], outcomes: Sequence[CaptureOutcome], room: _Room
) -> None:
    with open_missed_corrections(runtime, room.agent, rehearse=room.dry_run) as corrections:
        for material, outcome in zip(group, outcomes, strict=True):
            for one in material.lessons:
                if room.left <= 0:
                    outcome.left += 1
                    continue
                heard = _propose(corrections, one)
                outcome.heard.append(heard)
                room.left -= heard.is_new


def _propose(corrections: MissedCorrections, one: MissedLesson) -> Heard:
    place, problem, is_new = f"message {one.proof.number}", "", False
    try:
        proposal, is_new = corrections.propose(one)
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
