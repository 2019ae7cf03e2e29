"""`fresh`: which lines of skills no longer fit the project and the machine."""

from collections.abc import Sequence

import click

from prowess.cli.options import Common, common, complete_skill
from prowess.cli.render import print_json, print_text
from prowess.cli.sarif import log, uri
from prowess.proof.freshness import FreshState, SkillFreshness
from prowess.runtime.proof.fresh import FixProposal, describe
from prowess.skills.text import clean
from prowess.wire import proof as wire_proof
from prowess.wire.skills import Json
from prowess.wiring import open_runtime
from prowess.wiring.proof import open_freshness

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
    return {
        "skill": one.skill,
        "line": one.line,
        "proposal": one.proposal_id or None,
        "status": one.state or None,
        "problem": one.problem or None,
    }


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
