"""`improve`: what descriptions lack, and sentences that help messages find their skill."""

from collections.abc import Sequence
from pathlib import Path

import click

from prowess.cli.learning.sessions import read_since
from prowess.cli.options import Common, common, complete_skill
from prowess.cli.render import ProgressBar, print_error, print_json, print_text
from prowess.errors import PathError, ProposalError
from prowess.evaluation.improving import Count, Improvement
from prowess.host.writers.repairs import replace_text
from prowess.wire import proof as wire_proof
from prowess.wiring import Runtime, open_runtime
from prowess.wiring.skill_tests import ImproveRequest, improve_skills
from prowess.workshop.edit import redescribe

_MOST_SHOWN = 5
_REASON = "More of the messages that should find it do, and no other skill loses."


@click.command("improve")
@click.argument("names", nargs=-1, metavar="[SKILL...]", shell_complete=complete_skill)
@click.option("--apply", is_flag=True, help="Write the new descriptions; the old texts are kept.")
@click.option("--propose", is_flag=True, help="Put them into the workshop instead, for review.")
@click.option("--with-model", is_flag=True, help="Let your own model word what was found.")
@click.option(
    "--sessions",
    "since",
    metavar="WHEN",
    callback=read_since,
    help="Also learn from skills missed in your sessions since then, such as 30d.",
)
@common
def improve_command(
    given: Common,
    names: Sequence[str],
    *,
    apply: bool,
    propose: bool,
    with_model: bool,
    since: int | None,
) -> int:
    """Say what the description of SKILL lacks, and propose sentences that help.

    Sentences come from the skill's own text and from messages that should find it: the suites
    beside skills (`evals/triggers.yaml`), tests saved in the studio, uses, and sessions. One is
    taken only if messages that it was not made from gain by it, and no other skill loses more than
    a point. Nothing is written without --apply or --propose. Without a SKILL all but the bundled
    ones are looked at. Exit code 1 when something could not be written.
    """
    if apply and propose:
        raise click.UsageError("Give --apply or --propose, not both")
    asked = ImproveRequest(names, given.agent, since, with_model)
    with open_runtime(given.workspace) as runtime, ProgressBar() as bar:
        done = improve_skills(runtime, asked, bar)
        bar.clear()
        rows, failed = [], False
        for one in done.found:
            written, problem = "", ""
            if not given.as_json:
                _print(one, done.cuts.get(one.skill.name, ()), chosen=bool(names))
            if one.is_better and (apply or propose):
                written, problem = _write(runtime, one, given, propose=propose)
                failed = failed or bool(problem)
            row = wire_proof.improvement(one, done.cuts.get(one.skill.name, ()))
            rows.append({**row, "written": written or None, "problem": problem or None})
    if given.as_json:
        print_json({"skills": rows, "problems": list(done.problems)})
    else:
        _print_end(done.found, done.problems, is_written=apply or propose)
    return 1 if failed else 0


def _write(runtime: Runtime, one: Improvement, given: Common, *, propose: bool) -> tuple[str, str]:
    """Return where it went, or why it did not."""
    try:
        if propose:
            made = runtime.workshop.redescribe(one.skill, one.description, _REASON, given.agent_id)
            said = f"proposal {made.id} ({made.state.value})"
        else:
            path = Path(one.skill.path)
            text = redescribe(path.read_bytes(), one.description).decode()
            kept = replace_text(path, text, Path(runtime.folders.state) / "backups")
            said = f"written: {path} (the old text is kept in {kept})"
    except (ProposalError, PathError, OSError) as error:
        # The others can still be written.
        print_error(f"{one.skill.name}: {error}")
        return "", str(error)
    if not given.as_json:
        print_text(f"  {said}", "green")
    return said, ""


def _print(one: Improvement, cuts: Sequence[str], *, chosen: bool) -> None:
    if not (chosen or one.is_better or one.missed or cuts):
        return
    print_text(one.skill.name, "bold")
    _print_lacks(one, cuts)
    if not one.is_better:
        print_text(f"  {one.tried} sentences tried, none helps without harm", "dim")
        return
    print_text(f"  - {one.skill.description}", "red")
    print_text(f"  + {one.description}", "green")
    for sentence in one.sentences:
        print_text(f"    from {sentence.origin}: {sentence.text[:100]}", "dim")
    _print_count("held-out messages found first", one.held_out)
    _print_count("by name and description alone", one.listed)
    _print_count("messages of other skills", one.siblings)


def _print_lacks(one: Improvement, cuts: Sequence[str]) -> None:
    for text, other in one.missed[:_MOST_SHOWN]:
        print_text(f"  missed: {text[:100]!r} finds {other}")
    if len(one.missed) > _MOST_SHOWN:
        print_text(f"  and {len(one.missed) - _MOST_SHOWN} more", "dim")
    for name, times in one.confused[:_MOST_SHOWN]:
        print_text(f"  taken for {name}, or the other way round: {times}")
    for said in cuts:
        print_text(f"  cut: {said}", "yellow")


def _print_count(what: str, found: Count) -> None:
    print_text(f"  {what}: {found.before} -> {found.after} of {found.messages}")


def _print_end(found: Sequence[Improvement], problems: Sequence[str], *, is_written: bool) -> None:
    for problem in problems:
        print_text(f"! {problem}", "yellow")
    better = sum(one.is_better for one in found)
    if not better:
        print_text(
            f"nothing to improve in {len(found)} skills, by the messages there are."
            " More of them: evals/triggers.yaml beside a skill, or --sessions 30d.",
        )
    elif not is_written:
        print_text(f"{better} of {len(found)} would be better: --apply writes, --propose asks.")
