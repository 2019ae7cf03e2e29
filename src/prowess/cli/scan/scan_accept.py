"""`scan accept`, `accepted` and `revoke`: the operator's own word on single findings."""

from collections.abc import Callable

import click

from prowess.cli.options import common
from prowess.cli.render import Cell, Column, print_error, print_json, print_table, print_text
from prowess.cli.scan.scan_words import ERROR, FINDING, profile_option, target_places
from prowess.errors import AcceptanceError, ProwessError
from prowess.host.sources.skill_files import read
from prowess.runtime.scan import Scanned
from prowess.safety.model import Profile
from prowess.safety.rules.acceptance import SCANNER
from prowess.wire import safety as wire_safety
from prowess.wire.skills import error as wire_error
from prowess.wiring import Runtime, open_runtime


@click.command("accept")
@click.argument("path", type=click.Path())
@click.option("--rule", required=True, metavar="RULE", help="The rule whose finding is fine here.")
@click.option("--evidence", default="", metavar="HASH", help="Which finding, where it has several.")
@click.option("--reason", required=True, metavar="TEXT", help="Why it is fine; it is kept.")
@profile_option
@common
def accept_command(
    path: str,
    workspace: str | None,
    agent: str | None,
    *,
    as_json: bool,
    rule: str,
    evidence: str,
    reason: str,
    profile: str | None,
) -> int:
    """Accept one finding of RULE in the skill at PATH, as the operator.

    It holds for exactly this skill, rule, evidence and content, and this version of the scanner:
    any change makes it void. A scan that failed is never accepted. Every acceptance is logged.
    """

    def accept(runtime: Runtime) -> int:
        scanned = _only(runtime, path, agent, None if profile is None else Profile(profile))
        given = runtime.scanning.accept(scanned, rule, reason, evidence)
        now = runtime.scanning.scan_target(scanned.target, scanned.profile).report.verdict
        if as_json:
            shown = [wire_safety.acceptance(one) for one in given]
            print_json({"accepted": shown, "verdict": now.value})
        else:
            for one in given:
                print_text(f"accepted {one.rule_id} in {one.skill} (evidence {one.evidence_hash})")
            print_text(f"the verdict is now {now.value}; any change of the skill makes it void.")
        return 0

    return _answered(workspace, accept, as_json=as_json)


@click.command("accepted")
@common
def accepted_command(workspace: str | None, agent: str | None, *, as_json: bool) -> int:
    """List what the operator accepted."""
    del agent

    def show(runtime: Runtime) -> int:
        found = runtime.scanning.accepted()
        if as_json:
            print_json({"accepted": [wire_safety.acceptance(one) for one in found]})
        elif not found:
            print_text("Nothing is accepted.")
        else:
            titles = ("Skill", "Rule", "Evidence", "When", "State")
            print_table(
                [*map(Column, titles), Column("Reason", flexible=True)],
                [
                    (
                        Cell(one.skill, "bold"),
                        Cell(one.rule_id),
                        Cell(one.evidence_hash),
                        Cell(one.accepted_at),
                        Cell("for this scanner" if one.scanner == SCANNER else "void"),
                        Cell(one.reason),
                    )
                    for one in found
                ],
            )
        return 0

    return _answered(workspace, show, as_json=as_json)


@click.command("revoke")
@click.argument("skill")
@click.option("--rule", default="", metavar="RULE", help="Only what was accepted of this rule.")
@click.option("--evidence", default="", metavar="HASH", help="Only this finding.")
@common
def revoke_command(
    skill: str,
    workspace: str | None,
    agent: str | None,
    *,
    as_json: bool,
    rule: str,
    evidence: str,
) -> int:
    """Take back what was accepted of SKILL, by the name that `accepted` shows."""
    del agent

    def revoke(runtime: Runtime) -> int:
        taken = runtime.scanning.revoke(skill, rule, evidence)
        if as_json:
            print_json({"revoked": [wire_safety.acceptance(one) for one in taken]})
        else:
            for one in taken:
                print_text(f"revoked {one.rule_id} in {one.skill} (evidence {one.evidence_hash})")
        return 0

    return _answered(workspace, revoke, as_json=as_json)


def _only(runtime: Runtime, path: str, agent: str | None, profile: Profile | None) -> Scanned:
    """Scan what must be one skill."""
    targets = [target for place in target_places(runtime, (path,), agent) for target in read(place)]
    if len(targets) != 1:
        raise AcceptanceError(path, f"holds {len(targets)} skills: give the path of one.")
    return runtime.scanning.scan_target(targets[0], profile)


def _answered(workspace: str | None, answer: Callable[[Runtime], int], *, as_json: bool) -> int:
    """Run one command; a path that cannot be read is an error, anything else a finding."""
    try:
        with open_runtime(workspace) as runtime:
            return answer(runtime)
    except ProwessError as error:
        if as_json:
            print_json(wire_error(error.code, str(error)))
        else:
            print_error(str(error))
        return FINDING if isinstance(error, AcceptanceError) else ERROR
