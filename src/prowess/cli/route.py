"""`route` and `why-not`: which skills a message needs, and why one is not among them.

`examples`: how people ask for a skill, in their own words, kept beside the index.
"""

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from prowess.cli.render import Cell, Column, asks, print_error, print_json, print_table, print_text
from prowess.cli.terminal import (
    CommandGroup,
    Common,
    common,
    complete_skill,
    index_first,
    message_argument,
    message_of,
)
from prowess.errors import ModelError, PathError, SkillNotFoundError
from prowess.host.harness.transcripts import read_transcript
from prowess.routing.model import Decision, Match, Route, Status
from prowess.routing.router import Context
from prowess.runtime.ports import LanguageModel
from prowess.runtime.route.answer import Asked, Caller, Surface, Withheld
from prowess.runtime.route.examples import (
    LONGEST_EXAMPLE,
    ExampleKind,
    ExampleStanding,
    GeneratedExamples,
    PassedExample,
    SkillExamples,
)
from prowess.runtime.route.why_not import Absence, why_not
from prowess.skills.text import one_line
from prowess.transcripts.turns import build_transcript
from prowess.wire import routing as wire_routing
from prowess.wire.skills import pick
from prowess.wiring import Runtime, in_project, open_runtime

# A model that is down would fail, slowly, for each of many skills.
_PATIENCE = 3
_NONE_YET = (
    "No examples yet: `prowess examples add SKILL MESSAGE` keeps yours, and"
    " `prowess examples generate SKILL` has your own model write some."
)

skill_argument = click.argument("skill", shell_complete=complete_skill)


@click.group("examples", cls=CommandGroup)
def examples_command() -> None:
    """Teach routing how people ask for a skill.

    Examples are kept in the state folder, beside the index; the files of a skill are never changed.
    """


@examples_command.command("list")
@click.argument("skill", required=False, shell_complete=complete_skill)
@common
def list_command(given: Common, skill: str | None) -> int:
    """Show the examples of SKILL, or of every skill."""
    with open_runtime(given.workspace) as runtime:
        examples = runtime.examples
        found = examples.list(given.agent) if skill is None else (examples.of(skill, given.agent),)
    if given.as_json:
        print_json({"skills": [_list_examples(one) for one in found]})
        return 0
    rows = [row for one in found for row in _rows(one)]
    if rows:
        print_table((Column("Skill"), Column("Kind"), Column("Message", flexible=True)), rows)
    else:
        print_text(_NONE_YET)
    return 0


@examples_command.command("add")
@skill_argument
@click.argument("messages", nargs=-1, required=True, metavar="MESSAGE...")
@common
def add_command(given: Common, skill: str, messages: tuple[str, ...]) -> int:
    """Say that MESSAGE is for SKILL.

    Several messages can be given, each in quotes; words without quotes are one message.
    """
    wanted = _part(messages)
    if not all(one_line(text) and len(text) <= LONGEST_EXAMPLE for text in wanted):
        raise click.UsageError(f"A MESSAGE has 1 to {LONGEST_EXAMPLE} characters")
    with open_runtime(given.workspace) as runtime:
        for text in wanted:
            runtime.examples.add(skill, text, given.agent)
        now = runtime.examples.of(skill, given.agent)
    if given.as_json:
        print_json(_list_examples(now))
    else:
        for text in wanted:
            print_text(f"added to {now.name}: {text}")
    return 0


@examples_command.command("remove")
@skill_argument
@click.argument("messages", nargs=-1, metavar="[MESSAGE]...")
@click.option("--all", "everything", is_flag=True, help="Remove every example of SKILL.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask before removing all.")
@common
def remove_command(
    given: Common, skill: str, messages: tuple[str, ...], *, everything: bool, yes: bool
) -> int:
    """Forget MESSAGE as an example of SKILL, whoever it is from."""
    if bool(messages) is everything:
        raise click.UsageError("Give a MESSAGE, or --all for every example of the skill")
    with open_runtime(given.workspace) as runtime:
        name = runtime.examples.of(skill, given.agent).name
        if everything and not yes and not _agree(name):
            print_text("nothing was removed.")
            return 0
        wanted = (None,) if everything else _part(messages)
        counts = {text: runtime.examples.remove(name, text, given.agent) for text in wanted}
    removed = sum(counts.values())
    missing = [text for text, count in counts.items() if text is not None and not count]
    if given.as_json:
        print_json({"name": name, "removed": removed, "notFound": missing})
        return 1 if missing else 0
    print_text(f"removed from {name}: {removed} example{'' if removed == 1 else 's'}")
    for text in missing:
        print_error(f"{name} has no such example: {text}. `prowess examples list` prints all.")
    return 1 if missing else 0


def _agree(name: str) -> bool:
    """Ask where a person can be asked; a program that gives --all has decided already."""
    return not asks() or click.confirm(f"Remove all examples of {one_line(name)}?", err=True)


def _part(messages: Sequence[str]) -> tuple[str, ...]:
    """Return the messages: in quotes each is its own, bare words are one."""
    if any(" " in text.strip() for text in messages):
        return tuple(messages)
    return (" ".join(messages),) if messages else ()


@examples_command.command("generate")
@click.argument("names", nargs=-1, metavar="[SKILL]...", shell_complete=complete_skill)
@click.option("--all", "everything", is_flag=True, help="Every skill that the agent can choose.")
@click.option("--dry-run", is_flag=True, help="Show what would change and keep nothing.")
@common
def generate_command(
    given: Common, names: tuple[str, ...], *, everything: bool, dry_run: bool
) -> int:
    """Have your own model write how people ask for SKILL.

    The name, the description and the beginning of the skill's text are sent to the model that
    `skills.model.endpoint` and `skills.model.name` say. What it writes is tried: a message counts
    only if the router ranks the skill among the first ten for it. The table shows the place and the
    score of the skill for each message, before and after.
    """
    if bool(names) is everything:
        raise click.UsageError("Name the skills, or give --all for every skill that is ready")
    with open_runtime(given.workspace) as runtime:
        run = _Run(
            runtime, runtime.language_model(), given.agent, dry_run=dry_run, as_json=given.as_json
        )
        index_first(runtime, given.agent)
        run.all_of(_list_ready(runtime, given.agent) if everything else tuple(dict.fromkeys(names)))
        problem = runtime.routing.problem
    if given.as_json:
        print_json({**run.summary(), "problem": problem or None})
    elif problem:
        print_text(f"! degraded: {problem}", "yellow")
    return 1 if run.failed else 0


def _list_ready(runtime: Runtime, agent: str | None) -> tuple[str, ...]:
    return tuple(
        status.skill.name for status in runtime.skills.status(agent).skills if status.model_visible
    )


class _Run:
    """One `generate` over several skills: each is kept when it is done, so stopping loses none."""

    def __init__(
        self,
        runtime: Runtime,
        model: LanguageModel,
        agent: str | None,
        *,
        dry_run: bool,
        as_json: bool,
    ) -> None:
        self._runtime, self._model, self._agent = runtime, model, agent
        self._dry_run, self._as_json = dry_run, as_json
        self._done: list[dict[str, Any]] = []
        self.failed: list[dict[str, str]] = []

    def all_of(self, names: Sequence[str]) -> None:
        """Take one skill after the other; stop where the model fails again and again."""
        in_a_row = 0
        for number, name in enumerate(names, start=1):
            if in_a_row == _PATIENCE:
                self._fail(name, f"not asked: the model failed {_PATIENCE} times in a row.")
                continue
            line = f"{number}/{len(names)} {name}"
            if sys.stderr is not None and sys.stderr.isatty():
                click.echo(one_line(line), err=True)
            in_a_row = 0 if self._do_one(name) else in_a_row + 1

    def _do_one(self, name: str) -> bool:
        """Do one skill; return whether the model works, whatever became of the skill."""
        try:
            found = self._runtime.examples.generate(name, self._model, self._agent)
        except (ModelError, SkillNotFoundError) as error:
            self._fail(name, str(error))
            return isinstance(error, SkillNotFoundError)
        if found.problem:
            self._fail(found.skill, f"{found.problem}.")
            return True
        saved = not self._dry_run and self._runtime.examples.keep(found)
        self._done.append(_show_generated(found, saved=saved))
        if not self._as_json:
            _print_generated(found, "would be kept" if self._dry_run else "kept")
        return True

    def _fail(self, name: str, problem: str) -> None:
        self.failed.append({"name": name, "message": problem})
        if not self._as_json:
            print_error(f"{name}: {problem}")

    def summary(self) -> dict[str, Any]:
        """Return all of it for a program."""
        return {
            "model": self._model.name,
            "dryRun": self._dry_run,
            "skills": self._done,
            "failed": self.failed,
        }


def _print_generated(found: GeneratedExamples, verdict: str) -> None:
    print_text(f"{found.skill}: {len(found.kept)} {verdict}, {len(found.dropped)} dropped", "bold")
    if found.kept:
        print_table(
            (Column("Request", flexible=True), Column("Before"), Column("After")),
            [
                (Cell(_show(kept)), Cell(_stand(kept.before), "dim"), Cell(_stand(kept.after)))
                for kept in found.kept
            ],
        )
    for dropped in found.dropped:
        print_text(f"  dropped: {dropped.message or 'an entry'} ({dropped.reason})", "dim")
    print_text()


def _show(kept: PassedExample) -> str:
    return kept.message if kept.kind is ExampleKind.REQUEST else f"near miss: {kept.message}"


def _stand(standing: ExampleStanding) -> str:
    return "-" if standing.rank is None else f"#{standing.rank} {standing.score:.2f}"


def _rows(found: SkillExamples) -> Iterator[tuple[Cell, ...]]:
    name = found.name if found.present else f"{found.name} (not here)"
    kinds = (
        ("confirmed", found.examples.confirmed),
        ("generated", found.examples.generated),
        ("near miss", found.examples.near_misses),
    )
    for kind, messages in kinds:
        for message in messages:
            yield Cell(name), Cell(kind, "dim"), Cell(message)


def _list_examples(found: SkillExamples) -> dict[str, Any]:
    return pick(
        found,
        "name present examples.confirmed=confirmed examples.generated=generated"
        " examples.near_misses=nearMisses",
    )


def _show_generated(found: GeneratedExamples, *, saved: bool) -> dict[str, Any]:
    return {
        "name": found.skill,
        "saved": saved,
        **{
            kind.value: [_show_kept(kept) for kept in found.kept if kept.kind is kind]
            for kind in ExampleKind
        },
        "dropped": [pick(dropped, "kind message reason") for dropped in found.dropped],
    }


def _show_kept(kept: PassedExample) -> dict[str, Any]:
    return {
        "message": kept.message,
        "before": {"rank": kept.before.rank, "score": round(kept.before.score, 4)},
        "after": {"rank": kept.after.rank, "score": round(kept.after.score, 4)},
    }


_STYLES = {Decision.LOAD: "bold green", Decision.OFFER: "bold yellow", Decision.NONE: "bold"}


def _number(_ctx: click.Context, _param: click.Parameter, value: float | None) -> float | None:
    """Refuse what is a number to Python only: it would compare with nothing."""
    if value is not None and math.isnan(value):
        raise click.BadParameter("is not a number between 0 and 1")
    return value


def _read_conversation(path: str) -> tuple[Mapping[str, object], ...]:
    """Return the messages of a file of any kind that transcripts are read from."""
    raw = read_transcript(path)
    found = build_transcript(raw.records, None, raw.skipped)
    if not found.turns:
        raise PathError(path, "holds no message of a user: give a transcript, or messages as JSON.")
    return tuple(content for turn in found.turns for content in turn.contents)


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
@click.option(
    "--context",
    "conversation",
    metavar="FILE",
    type=click.Path(),
    help="What was said before: the transcript of a session, or messages as JSON.",
)
@common
def route_command(
    given: Common,
    message: tuple[str, ...],
    *,
    top: int,
    threshold: float | None,
    loaded: tuple[str, ...],
    last: tuple[str, ...],
    files: tuple[str, ...],
    conversation: str | None,
) -> int:
    """Say which skills MESSAGE needs, and why, or that it needs none.

    The answer is `load` (these skills fit), `offer` (they may fit: name them to the agent) or
    `none`. Nothing is sent anywhere; only caches and counts of use in the state folder may grow.
    """
    text = message_of(message)
    asked = Asked(
        context=Context(loaded=frozenset(loaded), last=last, paths=files),
        history=() if conversation is None else _read_conversation(conversation),
        considered=top,
        threshold=threshold,
        withheld=True,
    )
    with in_project(open_runtime(given.workspace)) as runtime:
        index_first(runtime, given.agent)
        caller = Caller(surface=Surface.TERMINAL, agent_id=given.agent)
        answer = runtime.routing.answer(text, caller, asked)
    if given.as_json:
        not_ready = wire_routing.not_ready(answer.withheld)
        print_json({**wire_routing.route(answer.route), "notReady": not_ready})
    else:
        _print_route(answer.route, answer.withheld)
        if not text.strip():
            print_text("The message is empty.", "yellow")
    return 0


def _print_route(answer: Route, kept_out: Sequence[Withheld]) -> None:
    names = ", ".join(match.skill.name for match in answer.matches)
    nothing = _explain_nothing(kept_out)
    print_text(f"{answer.decision.value}: {names or nothing}", _STYLES[answer.decision])
    for match in answer.matches:
        _print_reasons(match)
    for one in kept_out:
        _print_withheld(one)
    shown = {match.skill.name for match in answer.matches}
    rest = [match for match in answer.considered if match.skill.name not in shown]
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


def _explain_nothing(kept_out: Sequence[Withheld]) -> str:
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
def why_not_command(given: Common, skill: str, message: tuple[str, ...]) -> int:
    """Say why SKILL was not loaded for MESSAGE, and what would change that."""
    text = message_of(message)
    with in_project(open_runtime(given.workspace)) as runtime:
        index_first(runtime, given.agent)
        found = why_not(runtime.skills, runtime.routing, skill, text, Asked(agent_id=given.agent))
        problem = runtime.routing.degraded
    if given.as_json:
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
