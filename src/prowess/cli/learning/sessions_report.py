"""How a report on sessions is printed."""

from collections import Counter
from collections.abc import Sequence

from prowess.cli.render import Cell, Column, print_table, print_text
from prowess.host.harness.transcripts import reasons
from prowess.runtime.sessions import SessionsReport, SkillNumbers
from prowess.skills.text import one_line
from prowess.transcripts.session_model import Session
from prowess.wire.wire_sessions import label, moment, shown
from prowess.workshop.missed_activations import Missed, MissKind

_MOST_PROBABLE, _MOST_PROBLEMS, _SHORT_ID = 10, 5, 8
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
    where = f"{one.session.harness} {one.session.id[:_SHORT_ID]}, prompt {one.turn.number}"
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
