"""`sessions --learn`: corrections of real sessions, through the workshop that takes any other.

Each goes to the workspace of its session, with the session's id and the words as evidence. The same
words are the same wish: a second run proposes nothing again, also not what was rejected.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prowess.cli.render import ProgressBar, print_text
from prowess.cli.workshop_capture import Outcome, captured, heard_json, print_heard
from prowess.cli.workshop_words import next_steps
from prowess.learning.capture import capture
from prowess.learning.session_model import Session
from prowess.learning.session_transcript import as_transcript
from prowess.learning.turns import turns
from prowess.skills.text import clean
from prowess.wire_sessions import label
from prowess.wiring import Runtime
from prowess.wiring.sessions import open_folder

if TYPE_CHECKING:
    from prowess.learning.transcripts import Transcript

_GONE = "its folder is gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What came of one session; none where its folder is gone."""

    session: Session
    outcome: Outcome | None
    dry_run: bool
    # Whether it is only tried since the workshop is switched off.
    is_off: bool


def learn(
    runtime: Runtime, sessions: Sequence[Session], agent: str, *, dry_run: bool
) -> list[Learned]:
    """Hand over every session with a correction, oldest first.

    Raises:
        StoreError: the store cannot be used.
    """
    is_off = not runtime.workshop.enabled
    dry_run = dry_run or is_off
    by_folder: defaultdict[str, list[tuple[Session, Transcript]]] = defaultdict(list)
    for session in reversed(sessions):
        said = as_transcript(session)
        if any(capture(turns(turn.contents)) is not None for turn in said.turns):
            by_folder[session.cwd].append((session, said))
    found: list[Learned] = []
    bar = ProgressBar()
    for done, (folder, group) in enumerate(by_folder.items()):
        bar("learning", done, len(by_folder))
        outcomes: Sequence[Outcome | None] = [None] * len(group)
        opened = open_folder(runtime, folder)
        if opened is not None:
            with opened as other:
                outcomes = captured(other, [said for _, said in group], agent, dry_run=dry_run)
        found += [
            Learned(session=session, outcome=outcome, dry_run=dry_run, is_off=is_off)
            for (session, _), outcome in zip(group, outcomes, strict=True)
        ]
    bar.clear()
    return found


def learned_json(one: Learned) -> dict[str, object]:
    """Show what came of one session."""
    heard = {} if one.outcome is None else heard_json(one.outcome)
    return {
        "sessionId": clean(one.session.id),
        "harness": one.session.harness,
        "cwd": clean(one.session.cwd) or None,
        "dryRun": one.dry_run,
        "problem": _GONE if one.outcome is None else None,
        **heard,
    }


def print_learned(found: Sequence[Learned]) -> None:
    """Print what was learned, or what would be."""
    print_text()
    if not found:
        print_text("Nothing to learn: no prompt says how to work from now on.")
        return
    for one in found:
        _print_one(one)
    if found[0].dry_run:
        print_text("Nothing was kept: this was a dry run.", "dim")
    if found[0].is_off:
        next_steps(["The workshop is off: `prowess workshop enable` keeps what it learns."])
    elif any(one.outcome and one.outcome.new for one in found) and not found[0].dry_run:
        next_steps(["`prowess workshop list` shows what waits for you."])


def _print_one(one: Learned) -> None:
    print_text(label(f"{one.session.harness} {one.session.id}  {one.session.cwd}"), "bold")
    if one.outcome is None:
        print_text(f"  not learned from: {_GONE}", "yellow")
        return
    for heard in one.outcome.heard:
        print_heard(heard)
    if one.outcome.left:
        print_text(f"left for later: {one.outcome.left}, since maxPending wait already.", "yellow")
