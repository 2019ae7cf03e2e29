"""One proposal for a person who must decide: what it changes, why, and what the scanner says.

What is shown must be what would be written. So nothing is cleaned away from the difference: what
cannot be seen is spelled out, and a secret-looking text would not have been stored at all.
"""

from collections.abc import Iterator
from pathlib import Path

from prowess.cli.render import print_text
from prowess.cli.scan.report import around
from prowess.cli.workshop.proposals import STYLES
from prowess.host.files.read import read_bounded
from prowess.safety.model import Finding, Level
from prowess.skills.model import Diagnostic
from prowess.wire import wire_workshop
from prowess.wire.safety import visible
from prowess.workshop.difference import Live, difference
from prowess.workshop.proposal import Proposal, State

_LEVELS = {Level.CRITICAL: "red", Level.WARN: "yellow", Level.INFO: "dim"}
_MOST_BYTES = 1_000_000


def print_proposal(proposal: Proposal, *, diff: bool) -> None:
    """Print all there is to know about a proposal."""
    print_text(f"{visible(proposal.title)}", "bold")
    print_text(f"{proposal.state.value} {proposal.skill}  [{proposal.id}]", STYLES[proposal.state])
    for label, text in _labelled(proposal):
        if text:
            print_text(f"  {label + ':':<13}{visible(text)}")
    for one in proposal.evidence:
        print_text(f"  {'Evidence:':<13}{one.role}, message {one.place + 1} of the turn")
        print_text(f'    "{visible(one.quote)}"', "dim")
    for near in proposal.similar:
        print_text(f"  {'Similar:':<13}{visible(near.skill)} ({near.score:.2f})", "yellow")
    print_findings(proposal)
    if diff:
        print_text()
        print_diff(proposal)


def _labelled(proposal: Proposal) -> Iterator[tuple[str, str]]:
    yield "Reason", proposal.reason
    yield "Source", proposal.source.value
    yield "Session", proposal.session_id
    shown = wire_workshop.proposal(proposal)
    yield "Made", shown["createdAt"]
    if proposal.updated_at > proposal.created_at + 1:
        yield "Changed", shown["updatedAt"]
    yield "Kind", "support files" if proposal.edit is None else proposal.edit.kind
    yield "Files", ", ".join(proposal.change.files)
    yield "Revision", proposal.revision
    yield "Quarantined", proposal.quarantine_reason


def print_findings(proposal: Proposal) -> None:
    """Print what the scanner found, each with its line and the place underlined."""
    told: set[str] = set()
    for finding in sorted(proposal.findings, key=lambda one: one.level.rank):
        style = _LEVELS[finding.level]
        place = f"{visible(finding.file)}:{finding.line}:{finding.column}"
        message = f"{finding.rule_id}  {visible(finding.message)}"
        print_text(f"  {finding.level.value:<9}{place}  {message}", style)
        _print_source(finding, proposal, style)
        if finding.rule_id not in told and finding.fix:
            told.add(finding.rule_id)
            print_text(f"      fix: {finding.fix}", "dim")


def _print_source(finding: Finding, proposal: Proposal, style: str) -> None:
    body = proposal.change.files.get(finding.file)
    lines = [] if body is None else body.decode(errors="replace").split("\n")
    if not 0 < finding.line <= len(lines):
        if finding.evidence:
            print_text(f"      {visible(finding.evidence)}")
        return
    text, before, marked = around(lines[finding.line - 1], finding.column)
    print_text(f"      {finding.line} | {text}")
    margin = " " * (len(str(finding.line)) + 6)
    print_text(f"{margin} | {' ' * before}^{'~' * (marked - 1)}", style)


def print_diff(proposal: Proposal) -> None:
    """Print what would change against the files as they are now."""
    lines = list(diff_lines(proposal))
    if proposal.state is State.STALE:
        print_text("The skill changed since this was made: it cannot be applied.", "yellow")
    if not lines:
        print_text("No difference: the skill says this already.", "dim")
    for line in lines:
        print_text("\t".join(map(visible, line.split("\t"))), _style_of(line))


def _style_of(line: str) -> str:
    if line.startswith(("+++", "---")):
        return "bold"
    if line.startswith("@@"):
        return "dim"
    return {"+": "green", "-": "red", "!": "yellow"}.get(line[:1], "")


def diff_lines(proposal: Proposal) -> Iterator[str]:
    """Return the unified difference between the live files and the proposal, without line ends."""
    return difference(proposal, lambda named: _live(str(Path(proposal.workspace) / named)))


def _live(path: str) -> Live:
    found = read_bounded(path, _MOST_BYTES)
    if isinstance(found, Diagnostic):
        return found.message
    return None if found is None else found.data
