"""`workshop status`, `enable` and `disable`: what waits, how it is set, and what seems wrong."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from prowess.cli.render import print_json, print_text
from prowess.cli.terminal import Common, common, json_option
from prowess.cli.workshop.proposals import STYLES
from prowess.errors import SkillNotFoundError
from prowess.host.config.writer import PROFILES, Switch, carry_out, plan_switch, profile_of
from prowess.runtime.workshop.explain import (
    ENTRY,
    Situation,
    SymptomAnswer,
    Visibility,
    describe_next_review,
    explain_off,
    explain_symptoms,
)
from prowess.runtime.workshop.ports import Counters
from prowess.runtime.workshop.review import reviews_turns
from prowess.settings import SettingProblem
from prowess.wire import workshop as wire_workshop
from prowess.wire.skills import pick, setting_problem
from prowess.wiring import Runtime, open_runtime
from prowess.wiring.workshop import find_missing_reviewer
from prowess.workshop.proposal import ProposalEvent, State

if TYPE_CHECKING:
    from prowess.runtime.workshop.ports import Note


_MOST_SKILLS = 50


@click.command("status")
@click.option("--explain", is_flag=True, help="Answer each known symptom for this installation.")
@common
def status_command(given: Common, *, explain: bool) -> int:
    """Count proposals by state, and say how the workshop is set.

    With --explain, also say why nothing is captured, reviewed, applied or seen, and what to do.

    Example: prowess workshop status --explain
    """
    with open_runtime(given.workspace) as runtime:
        seen = _situation(runtime, given.agent_id, explain=explain)
        found = explain_symptoms(seen) if explain else ()
        if given.as_json:
            folder = runtime.skills.workspace(given.agent).folder
            counts = {state.value: seen.counts.get(state, 0) for state in State}
            status = wire_workshop.workshop_status(seen, found)
            problems = [setting_problem(one) for one in _problems(runtime)]
            print_json({"workspaceDir": folder, **counts, **status, "configProblems": problems})
            return 0
        print_text(f"Workspace: {runtime.skills.workspace(given.agent).folder}")
        _print_status(seen)
        for problem in _problems(runtime):
            print_text(f"! {problem.key} {problem.message}", "yellow")
        _print_answers(found)
    return 0


def _situation(runtime: Runtime, agent: str, *, explain: bool) -> Situation:
    service = runtime.workshop
    settings = runtime.config.read().workshop
    proposals = service.list(agent_id=agent)
    counts = {state: sum(one.state is state for one in proposals) for state in State}
    applied = dict.fromkeys(one.skill for one in proposals if one.state is State.APPLIED)
    reviews = service.reviews
    notes = {} if reviews is None else reviews.notes(agent)
    seen = Situation(
        settings=settings,
        counts=counts,
        counters=Counters() if reviews is None else reviews.counters(agent),
        no_reviewer=find_missing_reviewer(runtime, settings) if reviews_turns(settings) else "",
    )
    if not explain:
        return seen
    return replace(
        seen,
        events=_read_events(runtime, agent),
        phrase_note=_tell(notes.get("phrases")),
        review_note=_tell(notes.get("reviewer")),
        applied=[_visibility(runtime, skill, agent) for skill in list(applied)[:_MOST_SKILLS]],
    )


def _read_events(runtime: Runtime, agent: str) -> list[ProposalEvent]:
    events: list[ProposalEvent] = []
    while page := runtime.workshop.events(events[-1].sequence if events else 0, agent_id=agent):
        events += page
    return events


def _tell(note: "Note | None") -> str:
    return "" if note is None else note.text


def _visibility(runtime: Runtime, skill: str, agent: str) -> Visibility:
    try:
        found = runtime.why(skill, agent or None)
    except SkillNotFoundError:
        reason, fix = "its folder is gone", f"`prowess workshop history {skill}` says what was."
        return Visibility(skill=skill, visible=False, reason=reason, fix=fix)
    step = found.reason
    if step is None:
        return Visibility(skill=skill, visible=True)
    return Visibility(skill=skill, visible=False, reason=step.detail, fix=step.fix)


def _problems(runtime: Runtime) -> list[SettingProblem]:
    return [one for one in runtime.config.read().problems if one.key.startswith(ENTRY)]


def _print_status(seen: Situation) -> None:
    settings = seen.settings
    off = explain_off(settings)
    if off:
        print_text(f"The workshop is off: {off}. `prowess workshop enable` switches it on.", "red")
    else:
        print_text("The workshop is on.", "green")
    for state in State:
        count = seen.counts.get(state, 0)
        print_text(f"  {state.value:<12}{count:>4}", STYLES[state] if count else "dim")
    named = profile_of(wire_workshop.workshop_status(seen)["settings"])
    print_text(f"Settings{f' (profile {named})' if named else ''}:")
    for name, value in wire_workshop.workshop_status(seen)["settings"].items():
        word = str(value).lower() if isinstance(value, bool) else str(value)
        print_text(f"  {name:<20}{word}")
    print_text(f"Next review: {describe_next_review(seen)}.")
    if seen.no_reviewer:
        print_text(f"! Reviewer: {seen.no_reviewer}", "yellow")
    pending = seen.counts.get(State.PENDING, 0)
    if pending:
        print_text("`prowess workshop list` shows what waits for you.", "dim")


def _print_answers(found: Sequence[SymptomAnswer]) -> None:
    for answer in found:
        print_text()
        mark, style = ("✓", "green") if answer.fine else ("!", "yellow")
        print_text(f"{mark} {answer.symptom}?", style)
        print_text(f"    {answer.finding}")
        if answer.advice:
            print_text(f"    -> {answer.advice}", "dim" if answer.fine else "bold")


_MOST_CHARS = 80
_dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Show what would change and write nothing."
)


@click.command("enable")
@click.option(
    "--profile",
    type=click.Choice(list(PROFILES)),
    default=None,
    help="How it works; by default as the config says, which is review-first if it says nothing.",
)
@_dry_run_option
@json_option
def enable_command(profile: str | None, *, dry_run: bool, as_json: bool) -> int:
    """Switch the workshop on.

    conservative: only what an agent or you suggest. review-first: captures corrections, lets a
    model review, and you approve. trusted: the same, but what the scanner finds safe is written at
    once. low-cost: captures corrections by their phrases, and no model is asked.

    Example: prowess workshop enable --profile low-cost --dry-run
    """
    return _switch(profile or "", enabled=True, dry_run=dry_run, as_json=as_json)


@click.command("disable")
@_dry_run_option
@json_option
def disable_command(*, dry_run: bool, as_json: bool) -> int:
    """Switch the workshop off; its settings and proposals stay as they are.

    Example: prowess workshop disable
    """
    return _switch("", enabled=False, dry_run=dry_run, as_json=as_json)


def _switch(profile: str, *, enabled: bool, dry_run: bool, as_json: bool) -> int:
    config = open_runtime().config
    switch = plan_switch(config, enabled=enabled, profile=profile)
    backup = None
    if switch.changes and not dry_run:
        backup = carry_out(config, switch)
    if as_json:
        changes = [pick(one, "key before after") for one in switch.changes]
        print_json({"path": config.path, "changes": changes, "backup": backup, "dryRun": dry_run})
        return 0
    _print_changes(switch, config.path, dry_run=dry_run)
    if backup is not None:
        print_text(f"The comments of the old file are kept in {backup}.", "yellow")
    if enabled and not dry_run:
        _print_next(profile)
        _print_reviewer()
    return 0


def _print_reviewer() -> None:
    """Say at once that nobody can review, and not when a review is due."""
    runtime = open_runtime()
    settings = runtime.config.read().workshop
    missing = find_missing_reviewer(runtime, settings) if reviews_turns(settings) else ""
    if missing:
        print_text(f"! Reviewer: {missing}", "yellow")


def _print_changes(switch: Switch, path: str, *, dry_run: bool) -> None:
    if not switch.changes:
        print_text(f"Nothing to change in {path}.")
        return
    for one in switch.changes:
        before = "not set" if one.before is None else _show(one.before)
        print_text(f"  {one.key}: {before} -> {_show(one.after)}")
    done = "would be changed" if dry_run else "changed"
    print_text(f"{done} in {path}", "green")


def _print_next(profile: str) -> None:
    if profile == "trusted":
        note = "Safe proposals are now written without asking: for workspaces that only you feed."
        print_text(note, "yellow")
    print_text("It holds from the next turn. `prowess workshop status` shows how it works.", "dim")


def _show(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}..."
