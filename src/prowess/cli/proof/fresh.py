"""`fresh` and `improve`: which lines of skills no longer fit, and what descriptions lack."""

from collections.abc import Sequence
from pathlib import Path

import click

from prowess.cli.learning.sessions import read_since
from prowess.cli.render import ProgressBar, print_error, print_json, print_text
from prowess.cli.sarif import log, uri
from prowess.cli.terminal import Common, common, complete_skill
from prowess.errors import PathError, ProposalError
from prowess.evaluation.improving import Count, Improvement
from prowess.host.writers.repairs import replace_text
from prowess.proof.freshness import FreshState, SkillFreshness
from prowess.runtime.proof.fresh import FixProposal, describe
from prowess.skills.text import clean
from prowess.wire import safety as wire_proof
from prowess.wire.skills import Json, pick
from prowess.wiring import Runtime, open_runtime
from prowess.wiring.proof import open_freshness
from prowess.wiring.skill_tests import ImproveRequest, improve_skills
from prowess.workshop.edit import redescribe

_MARKS = {FreshState.FRESH: "✓", FreshState.STALE: "✗", FreshState.UNKNOWN: "-"}
_STYLES = {FreshState.FRESH: "green", FreshState.STALE: "red", FreshState.UNKNOWN: "dim"}


@click.command("fresh")
@click.argument("names", nargs=-1, metavar="[SKILL...]", shell_complete=complete_skill)
@click.option(
    "--ask-help",
    is_flag=True,
    help="Ask programs on the PATH for their --help, in a sandbox, to check flags and subcommands.",
)
@click.option("--fix", is_flag=True, help="Propose the lines anew, through the workshop.")
@click.option("--all", "every", is_flag=True, help="List what holds and what is unknown, too.")
@click.option(
    "--format",
    "style",
    type=click.Choice(["text", "json", "sarif"]),
    default="text",
    help="How to print what was found.",
)
@common
def fresh_command(
    given: Common, names: Sequence[str], *, ask_help: bool, fix: bool, every: bool, style: str
) -> int:
    """Say which claims of skills no longer hold: commands, flags, paths, names, packages, skills.

    Without a SKILL all but the bundled ones are checked. Nothing of a skill is run, and nothing is
    asked over the network. What cannot be decided is unknown, and no fault. Exit code 1 when
    something is stale.
    """
    with open_runtime(given.workspace) as runtime:
        service = open_freshness(runtime)
        found = service.check(names, given.agent, with_help=ask_help)
        fixes = service.propose(found, runtime.workshop, given.agent) if fix else ()
    style = "json" if given.as_json else style
    if style == "sarif":
        print_json(fresh_sarif(found))
    elif style == "json":
        print_json({**wire_proof.freshness(found), "proposals": [_fix(one) for one in fixes]})
    else:
        _print(found, every=every)
        _print_fixes(fixes)
    return 1 if any(one.stale for one in found) else 0


def _print(found: Sequence[SkillFreshness], *, every: bool) -> None:
    for one in found:
        if not (every or one.stale):
            continue
        held = sum(claim.state is FreshState.FRESH for claim in one.claims)
        unknown = len(one.claims) - held - len(one.stale)
        counts = f"{len(one.stale)} stale, {held} fresh, {unknown} unknown"
        print_text(f"{_MARKS[one.state]} {one.skill.name}: {counts}", _STYLES[one.state])
        print_text(f"  {one.skill.path}", "dim")
        for claim in one.claims if every else one.stale:
            section = f" ({claim.claim.section})" if claim.claim.section else ""
            mark = f"  {_MARKS[claim.state]} " if every else "  "
            print_text(f"{mark}{describe(claim)}{section}")
    stale = sum(bool(one.stale) for one in found)
    said = f"{stale} of {len(found)} skills have lines that no longer hold."
    print_text(said if stale else f"nothing stale in {len(found)} skills.")


def _print_fixes(fixes: Sequence[FixProposal]) -> None:
    for one in fixes:
        if one.problem:
            print_text(f"not proposed: {one.skill}, line {one.line}: {one.problem}", "yellow")
        else:
            print_text(f"{one.state}: {one.skill}, line {one.line}  [{one.proposal_id}]")


def _fix(one: FixProposal) -> Json:
    return pick(one, "skill line proposal_id?=proposal state?=status problem?")


def fresh_sarif(found: Sequence[SkillFreshness]) -> Json:
    """Return the stale claims as a SARIF log, a rule for each kind."""
    kinds = sorted({claim.claim.kind.value for one in found for claim in one.stale})
    rules = [
        {
            "id": f"stale-{kind}",
            "shortDescription": {"text": f"A {kind} that a skill names is no longer there."},
            "defaultConfiguration": {"level": "warning"},
        }
        for kind in kinds
    ]
    results = [
        {
            "ruleId": f"stale-{claim.claim.kind.value}",
            "ruleIndex": kinds.index(claim.claim.kind.value),
            "level": "warning",
            "message": {"text": clean(describe(claim))},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": uri(one.skill.path)},
                        "region": {"startLine": claim.claim.line},
                    }
                }
            ],
        }
        for one in found
        for claim in one.stale
    ]
    return log(rules, results)


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
                _print_improvement(one, done.cuts.get(one.skill.name, ()), chosen=bool(names))
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


def _print_improvement(one: Improvement, cuts: Sequence[str], *, chosen: bool) -> None:
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
            " More of them: evals/triggers.yaml beside a skill, or --sessions 30d."
        )
    elif not is_written:
        print_text(f"{better} of {len(found)} would be better: --apply writes, --propose asks.")
