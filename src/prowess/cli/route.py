"""`route` and `why-not`: which skills a message needs, and why one is not among them."""

import math
from collections.abc import Sequence

import click

from prowess.cli.options import common, complete_skill, message_argument, message_of
from prowess.cli.render import Cell, Column, ProgressBar, print_json, print_table, print_text
from prowess.routing.model import Decision, Match, Route, Status
from prowess.routing.router import Context
from prowess.runtime.route.answer import Asked
from prowess.runtime.route.why_not import Absence, why_not
from prowess.runtime.route.withheld import Withheld, withheld
from prowess.wire import routing as wire_routing
from prowess.wiring import Runtime, open_runtime

_STYLES = {Decision.LOAD: "bold green", Decision.OFFER: "bold yellow", Decision.NONE: "bold"}


def _number(_ctx: click.Context, _param: click.Parameter, value: float | None) -> float | None:
    """Refuse what is a number to Python only: it would compare with nothing."""
    if value is not None and math.isnan(value):
        raise click.BadParameter("is not a number between 0 and 1")
    return value


@click.command("route")
@message_argument
@click.option(
    "--top",
    default=5,
    metavar="N",
    type=click.IntRange(0, 100),
    show_default=True,
    help="How many skills to show, whatever the decision.",
)
@click.option(
    "--threshold",
    metavar="T",
    type=click.FloatRange(0, 1),
    callback=_number,
    help="Load from this score on, instead of the configured one.",
)
@click.option(
    "--loaded",
    multiple=True,
    metavar="NAME",
    help="A skill that is loaded already; it is left out.",
)
@click.option(
    "--last",
    multiple=True,
    metavar="NAME",
    help='A skill that the last message loaded, for "yes, do it".',
)
@click.option(
    "--file",
    "files",
    multiple=True,
    metavar="PATH",
    help="A file at hand, for skills that are for certain files.",
)
@common
def route_command(
    message: tuple[str, ...],
    workspace: str | None,
    agent: str | None,
    *,
    as_json: bool,
    top: int,
    threshold: float | None,
    loaded: tuple[str, ...],
    last: tuple[str, ...],
    files: tuple[str, ...],
) -> int:
    """Say which skills MESSAGE needs, and why, or that it needs none.

    The answer is `load` (these skills fit), `offer` (they may fit: name them to the agent) or
    `none`. Nothing is sent anywhere; only the caches in the state folder may grow.
    """
    text = message_of(message)
    asked = Asked(
        agent_id=agent,
        context=Context(loaded=frozenset(loaded), last=last, paths=files),
        considered=top,
        threshold=threshold,
    )
    with open_runtime(workspace) as runtime:
        _prepare(runtime, agent)
        answer = runtime.routing.route(text, asked)
        kept_out = withheld(runtime.skills, runtime.routing, text, asked)
    if as_json:
        print_json({**wire_routing.route(answer), "notReady": wire_routing.not_ready(kept_out)})
    else:
        _print_route(answer, kept_out)
    return 0


def _prepare(runtime: Runtime, agent: str | None) -> None:
    """Index first, with a bar, so that the time of the answer is that of the answer."""
    bar = ProgressBar()
    try:
        runtime.routing.index(agent, bar)
    finally:
        bar.clear()


def _print_route(answer: Route, kept_out: Sequence[Withheld]) -> None:
    names = ", ".join(match.skill.name for match in answer.matches)
    nothing = _nothing(kept_out)
    print_text(f"{answer.decision.value}: {names or nothing}", _STYLES[answer.decision])
    for match in answer.matches:
        _print_reasons(match)
    for one in kept_out:
        _print_withheld(one)
    rest = [match for match in answer.considered if match not in answer.matches]
    if rest:
        print_text()
        print_table(
            (Column("Considered"), Column("Score"), Column("Why", flexible=True)),
            [
                (
                    Cell(match.skill.name),
                    Cell(f"{match.score:.2f}", "dim"),
                    Cell("; ".join(match.reasons), "dim"),
                )
                for match in rest
            ],
        )
    degraded = answer.status is Status.DEGRADED
    for note in answer.notes:
        print_text(f"{'! degraded: ' if degraded else ''}{note}", "yellow" if degraded else "dim")


def _nothing(kept_out: Sequence[Withheld]) -> str:
    if not kept_out:
        return "no skill is needed"
    switched_off = {one.is_switched_off for one in kept_out}
    if switched_off == {True}:
        return "no skill that is switched on fits"
    return "no skill that is ready fits" if switched_off == {False} else "no usable skill fits"


def _print_withheld(found: Withheld) -> None:
    name, score = found.match.skill.name, f"{found.match.score:.2f}"
    what = "is switched off for this agent" if found.is_switched_off else "is not ready"
    print_text(f"  {name} would fit ({score}), but {what}: {found.reason.detail}", "yellow")
    if found.reason.fix:
        print_text(f"    To change that: {found.reason.fix}.", "dim")


def _print_reasons(match: Match) -> None:
    print_text(f"  {match.skill.name}  {match.score:.2f}  {match.skill.path}")
    for reason in match.reasons:
        print_text(f"    {reason}", "dim")


@click.command("why-not")
@click.argument("skill", shell_complete=complete_skill)
@message_argument
@common
def why_not_command(
    skill: str, message: tuple[str, ...], workspace: str | None, agent: str | None, *, as_json: bool
) -> int:
    """Say why SKILL was not loaded for MESSAGE, and what would change that."""
    text = message_of(message)
    with open_runtime(workspace) as runtime:
        _prepare(runtime, agent)
        found = why_not(runtime.skills, runtime.routing, skill, text, Asked(agent_id=agent))
        problem = runtime.routing.degraded
    if as_json:
        print_json(wire_routing.absence(found))
        return 0
    _print_absence(found)
    if problem:
        print_text(f"! degraded: {problem}", "yellow")
    return 0


def _print_absence(found: Absence) -> None:
    reason = found.reason
    if found.loaded or reason is None:
        print_text(f"{found.name} is loaded for this message.", "bold green")
    else:
        print_text(f"{found.name} is not loaded: {reason.detail}.", "bold")
        if reason.fix:
            print_text(f"  To change that: {reason.fix}.")
    for step in found.steps:
        print_text(f"  {'✓' if step.passed else '✗'} {step.stage}: {step.detail}")
    if found.match is not None:
        for line in found.match.reasons:
            print_text(f"    {line}", "dim")
    for match in found.ahead:
        print_text(f"  ahead of it: {match.skill.name} ({match.score:.2f})")
        for line in match.reasons:
            print_text(f"    {line}", "dim")
