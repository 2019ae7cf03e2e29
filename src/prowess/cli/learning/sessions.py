"""`sessions`: what skills did in the sessions that your agents already keep.

Nothing is sent anywhere and, without --learn or --export, nothing is kept. Prompts are shown cut
and with secrets hidden; an exported suite holds whole prompts, and is readable by you alone.

With --learn, corrections go to the workshop that takes any other, each in the workspace of its
session. The same words are the same wish: a second run proposes nothing again, also not what was
rejected.
"""

import json
import os
import re
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from prowess.cli.render import Cell, Column, ProgressBar, print_json, print_table, print_text
from prowess.cli.terminal import Common, NearChoice, common
from prowess.cli.workshop.proposals import (
    CaptureOutcome,
    Heard,
    capture_all,
    heard_json,
    next_steps,
    print_heard,
)
from prowess.errors import PathError, ProposalError
from prowess.hooks.harness import Harness
from prowess.host.files.state_files import write_private
from prowess.host.harness.sessions import READABLE
from prowess.host.harness.transcripts import reasons
from prowess.runtime.sessions import (
    MissedCorrections,
    MissedLesson,
    SessionsReport,
    SkillNumbers,
    find_lessons,
)
from prowess.skills.text import clean, one_line
from prowess.transcripts.sessions import Session, convert_session
from prowess.transcripts.turns import Transcript, read_turns
from prowess.wire import experience as wire_sessions
from prowess.wire.experience import label, moment, shown
from prowess.wiring import Runtime, open_runtime
from prowess.wiring.workshop import open_folder, open_missed_corrections
from prowess.workshop.missed_activations import Missed, MissKind
from prowess.workshop.proposal import State, capture

if TYPE_CHECKING:
    from prowess.runtime.sessions import TriggerCases

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
        _print_lesson(one)
    if found[0].is_off:
        print_text("Nothing was kept: the workshop is off.", "yellow")
        next_steps(["Switch it on, then run this again: prowess workshop enable"])
    elif found[0].dry_run:
        print_text("Nothing was kept: this was a dry run.", "dim")
    elif any(one.outcome and one.outcome.new for one in found):
        next_steps(["`prowess workshop list` shows what waits for you."])


def _print_lesson(one: Learned) -> None:
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


_SPAN = re.compile(r"(?P<number>\d{1,6})\s?(?P<unit>[mhdw])", re.IGNORECASE)
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_USUAL = "7d"
_SUFFIXES = (".json", ".jsonl", ".yaml", ".yml")


def read_since(_ctx: click.Context, _param: click.Parameter, value: str | None) -> int | None:
    """Read an option that says how far back; None where it is not given."""
    return None if value is None else _since(value)


def _since(value: str) -> int:
    """Return the time that a person means, in milliseconds since 1970."""
    word = value.strip().lower()
    if word == "all":
        return 0
    span = _SPAN.fullmatch(word)
    try:
        if span is not None:
            ago = timedelta(**{_UNITS[span["unit"]]: int(span["number"])})
            return max(0, round((time.time() - ago.total_seconds()) * 1000))
        moment = datetime.fromisoformat(value.strip())
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0, round(moment.timestamp() * 1000))
    except (ValueError, OverflowError) as error:
        raise click.BadParameter("give a span (30m, 12h, 7d, 2w), a date, or `all`") from error


@click.command("sessions")
@click.option(
    "--since",
    metavar="WHEN",
    callback=read_since,
    help="How far back: 12h, 7d, 2w, a date, or `all`. [default: 7d, with --session: all]",
)
@click.option(
    "--harness",
    type=NearChoice([one.value for one in READABLE]),
    help="Whose sessions; by default all that can be read.",
)
@click.option(
    "--session", metavar="ID", default="", help="One session, by its id or its beginning."
)
@click.option("--missed", "only_missed", is_flag=True, help="Only what was missed; exit 1 if any.")
@click.option(
    "--export",
    "target",
    metavar="FILE",
    type=click.Path(),
    help="Write trigger tests for `prowess eval` (.json, .jsonl or .yaml).",
)
@click.option("--force", is_flag=True, help="With --export: replace a file that is there.")
@click.option("--learn", is_flag=True, help="Hand the corrections to the workshop.")
@click.option("--dry-run", is_flag=True, help="With --learn: keep nothing.")
@common
def sessions_command(
    given: Common,
    *,
    since: int | None,
    harness: str | None,
    session: str,
    only_missed: bool,
    target: str | None,
    force: bool,
    learn: bool,
    dry_run: bool,
) -> int:
    """Show what skills did in your sessions with coding agents.

    For each skill: for how many prompts it was listed, would have been routed, was used, and was
    corrected. A missed activation is a skill that was listed and that the router is sure of, that
    was not used, and that you then asked for or corrected the agent about; without anything that
    we recognise as a correction it is only probable. With --workspace, only sessions in that
    folder.

    --learn proposes to the workshop what you said about how to work from now on, and what you
    corrected where a skill was missed. No skill is changed before you say yes.

    Exit code 1 when --session finds none, or --missed finds one.

    Example: prowess sessions --since 30d --missed --export triggers.json
    """
    _check(target, force=force, dry_run=dry_run and not learn)
    with open_runtime(given.workspace) as runtime:
        found = _find(runtime, since, harness=harness, workspace=given.workspace, session=session)
        exported = _export(found, target) if target is not None else None
        learned = _learn(runtime, found, given.agent_id, dry_run=dry_run) if learn else None
    if given.as_json:
        print_json(_show(found, exported, learned, one=bool(session)))
    else:
        _print(found, exported, learned, one=bool(session), only_missed=only_missed, target=target)
    return _code(found, session, only_missed=only_missed)


def _find(
    runtime: Runtime, since: int | None, *, harness: str | None, workspace: str | None, session: str
) -> "SessionsReport":
    if since is None:
        since = 0 if session else _since(_USUAL)
    bar = ProgressBar()
    from prowess.wiring.workshop import open_sessions

    found = open_sessions(runtime, bar).report(
        since,
        harness=None if harness is None else Harness(harness),
        workspace=None if workspace is None else os.path.realpath(workspace),
        session=session,
    )
    bar.clear()
    return found


def _check(target: str | None, *, force: bool, dry_run: bool) -> None:
    """Refuse before the work what could not be done after it.

    Raises:
        PathError: the file for the export is there already.
    """
    if dry_run:
        raise click.UsageError("--dry-run belongs to --learn")
    if target is None:
        if force:
            raise click.UsageError("--force belongs to --export")
        return
    if not target.lower().endswith(_SUFFIXES):
        raise click.UsageError(f"--export needs a name that ends in {', '.join(_SUFFIXES)}")
    if os.path.lexists(target) and not force:
        raise PathError(target, "is there already: give --force to replace it.")
    if Path(target).is_dir():
        raise PathError(target, "is a folder: give a file.")


def _code(found: "SessionsReport", session: str, *, only_missed: bool) -> int:
    if session and not found.sessions:
        return 1
    proved = any(one.kind.value == "missed" for one in found.missed)
    return int(only_missed and proved)


def _export(found: "SessionsReport", target: str) -> "TriggerCases":
    from prowess.runtime.sessions import make_trigger_cases

    made = make_trigger_cases(found)
    if target.lower().endswith(".jsonl"):
        lines = [json.dumps(wire_sessions.case(one), ensure_ascii=False) for one in made.cases]
        text = "".join(f"{line}\n" for line in lines)
    else:
        # JSON is YAML too, and a prompt may hold anything that YAML reads in its own way.
        suite = wire_sessions.suite(made.cases)
        text = json.dumps(suite, ensure_ascii=False, indent=2) + "\n"
    if made.cases:
        try:
            write_private(target, text)
        except (OSError, ValueError) as error:
            problem = getattr(error, "strerror", None) or "it holds what no file can"
            raise PathError(target, f"cannot be written: {problem}.") from error
    return made


def _learn(
    runtime: Runtime, found: "SessionsReport", agent: str, *, dry_run: bool
) -> "Sequence[Learned]":

    return learn(runtime, found, agent, dry_run=dry_run)


def _show(
    found: "SessionsReport",
    exported: "TriggerCases | None",
    learned: "Sequence[Learned] | None",
    *,
    one: bool,
) -> dict[str, object]:
    answer: dict[str, object] = dict(wire_sessions.report(found))
    if one:
        answer["sessions"] = [wire_sessions.turns(session) for session in found.sessions]
    if exported is not None:
        answer["exported"] = {
            "cases": len(exported.cases),
            "leftOutForSecrets": exported.with_secrets,
        }
    if learned is not None:
        answer["learned"] = [learned_json(part) for part in learned]
    return answer


def _print(
    found: "SessionsReport",
    exported: "TriggerCases | None",
    learned: "Sequence[Learned] | None",
    *,
    one: bool,
    only_missed: bool,
    target: str | None,
) -> None:
    if not only_missed:
        print_overview(found)
        if one:
            print_turns(found.sessions)
        print_skills(found.skills)
    print_missed(found.missed)
    print_left_out(found)
    if exported is not None:
        if exported.cases:
            print_text(f"wrote {len(exported.cases)} trigger tests to {target}")
            print_text(f"  `prowess eval {target}` runs them.", "dim")
        else:
            print_text("no trigger tests: no prompt is certain enough.", "yellow")
        if exported.with_secrets:
            print_text(f"left out for a secret in them: {exported.with_secrets} prompts", "yellow")
    if learned is not None:
        print_learned(learned)


_MOST_PROBABLE, _MOST_PROBLEMS = 10, 5
_WIDE = 400


def print_overview(found: SessionsReport) -> None:
    """Say how many sessions there are, and since when."""
    since = moment(found.since_ms)
    when = f" since {since}" if since else ""
    if not found.sessions:
        print_text(f"No sessions{when}. `--since 30d` looks further back.")
        return
    counted = Counter(one.harness for one in found.sessions)
    by_harness = ", ".join(f"{name} {count}" for name, count in counted.most_common())
    prompts = sum(len(one.turns) for one in found.sessions)
    print_text(f"sessions{when}: {len(found.sessions)} ({by_harness})")
    print_text(f"prompts: {prompts}, corrected by the next one: {found.corrections}")


def print_turns(sessions: Sequence[Session]) -> None:
    """Print every prompt of a few sessions."""
    for session in sessions:
        print_text()
        print_text(label(f"{session.harness} {session.id}  {session.cwd}"), "bold")
        print_text(f"  {one_line(session.path)}", "dim")
        for turn in session.turns:
            marks = [f"used {', '.join(turn.used)}"] if turn.used else []
            marks += [f"hinted {', '.join(turn.hinted)}"] if turn.hinted else []
            marks += ["then corrected"] if turn.corrected else []
            listed = "" if turn.listed is None else f"{len(turn.listed)} listed"
            told = "; ".join(part for part in (listed, *marks) if part)
            print_text(f"  {turn.number}. {shown(turn.prompt)}")
            if told:
                print_text(f"     {label(told)}", "dim")


def print_skills(skills: Sequence[SkillNumbers]) -> None:
    """Print what happened to each skill, for how many prompts."""
    if not skills:
        return
    print_text()
    names = ("listed", "routed", "used", "corrected", "missed", "probable")
    columns = [Column("Skill"), *(Column(name.capitalize()) for name in names)]
    print_table(
        columns,
        [
            [
                Cell(label(one.name), "bold"),
                *(Cell(str(getattr(one, name) or "-"), _style(name, one)) for name in names),
            ]
            for one in skills
        ],
    )


def _style(name: str, one: SkillNumbers) -> str:
    return "yellow" if name in {"missed", "corrected"} and getattr(one, name) else ""


def print_missed(found: Sequence[Missed]) -> None:
    """Print what was missed for certain, then what probably was."""
    proved = [one for one in found if one.kind is MissKind.MISSED]
    probable = [one for one in found if one.kind is MissKind.PROBABLE]
    print_text()
    if not proved:
        print_text("No missed activation is certain.", "green")
    else:
        print_text(f"missed activations: {len(proved)}", "bold yellow")
    for one in proved:
        _print_one(one)
    if probable:
        hint = "listed and sure, not used; then nothing that we recognise as a correction"
        print_text()
        print_text(f"probably missed: {len(probable)} ({hint})", "bold")
    for one in probable[:_MOST_PROBABLE]:
        _print_one(one)
    if len(probable) > _MOST_PROBABLE:
        print_text(f"  and {len(probable) - _MOST_PROBABLE} more: --json shows all.", "dim")


def _print_one(one: Missed) -> None:
    when = moment(one.turn.at_ms)
    where = f"{one.session.harness} {one.session.id}, prompt {one.turn.number}"
    print_text(f"  {label(f'{one.skill}  {where}')}{f', {when}' if when else ''}", "bold")
    print_text(f'    "{shown(one.turn.prompt)}"')
    print_text(f"    {shown('; '.join(one.reasons), _WIDE)}", "dim")
    if one.proof is not None:
        print_text(f'    then: "{shown(one.proof.prompt)}"', "dim")


def print_left_out(found: SessionsReport) -> None:
    """Say what was not read or not known."""
    for note in found.notes:
        print_text(f"note: {note}", "yellow")
    if found.skipped:
        print_text(f"left out: {reasons(found.skipped)}", "dim")
    for problem in found.problems[:_MOST_PROBLEMS]:
        print_text(f"not read: {one_line(problem)}", "yellow")
    if len(found.problems) > _MOST_PROBLEMS:
        print_text(f"  and {len(found.problems) - _MOST_PROBLEMS} more: --json shows all.", "dim")
