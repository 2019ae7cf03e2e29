"""`workshop list`, `show`, `suggest`, `apply`, `reject`, `revise` and `tool`: proposals, by hand.

What is shown must be what would be written. So nothing is cleaned away from the difference: what
cannot be seen is spelled out, and a secret-looking text would not have been stored at all.

`workshop history` and `rollback`: what happened to proposals and skills, and the way back.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from prowess.cli.render import Cell, Column, is_terminal, print_json, print_table, print_text
from prowess.cli.scan.report import around
from prowess.cli.terminal import Common, common
from prowess.cli.workshop.proposals import (
    FAILED,
    STYLES,
    confirm,
    find_proposal,
    identified,
    need_answer,
    next_steps,
    revision_option,
    say,
    tell,
    yes_option,
)
from prowess.errors import PathError, ProposalInputError, ProposalNotFoundError, ProwessError
from prowess.host.files.handles import Content, read_bounded
from prowess.runtime.workshop.tool import revise_edit
from prowess.safety.model import Finding, Level
from prowess.safety.paths import visible
from prowess.skills.model import Diagnostic
from prowess.wire import workshop as wire_workshop
from prowess.wiring import open_runtime
from prowess.wiring.proof import list_proofs
from prowess.workshop.proposal import (
    EventKind,
    Live,
    Proposal,
    ProposalEvent,
    ProposalSource,
    State,
    Subject,
    difference,
    skill_name,
)

if TYPE_CHECKING:
    from prowess.runtime.workshop.ports import History
    from prowess.runtime.workshop.service import WorkshopService


_LEVELS = {Level.CRITICAL: "red", Level.WARN: "yellow", Level.INFO: "dim"}
_MOST_BYTES = 1_000_000


def print_proposal(proposal: Proposal, *, diff: bool) -> None:
    """Print all there is to know about a proposal."""
    print_text(f"{visible(proposal.title)}", "bold")
    print_text(f"{proposal.state.value} {proposal.skill}  [{proposal.id}]", STYLES[proposal.state])
    for label, text in _label(proposal):
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


def _label(proposal: Proposal) -> Iterator[tuple[str, str]]:
    yield "Reason", proposal.reason
    yield "Written to", f"{proposal.root}/{proposal.skill}"
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
    return difference(proposal, lambda named: _read_live(str(Path(proposal.workspace) / named)))


def _read_live(path: str) -> Live:
    found = read_bounded(path, _MOST_BYTES)
    if isinstance(found, Diagnostic):
        return found.message
    return None if found is None else found.data


_F = TypeVar("_F", bound=Callable[..., object])

_OPTIONS = (
    click.argument("stdin_mark", metavar="[-]", required=False, type=click.Choice(["-"])),
    click.option("--body", metavar="TEXT", help="The text; `-` reads standard input."),
    click.option("--body-file", metavar="FILE", type=click.Path(), help="The text, in a file."),
    click.option("--description", metavar="TEXT", help="When the skill is meant (new skills)."),
    click.option("--section", metavar="NAME", help="Append to this section."),
    click.option("--old", metavar="TEXT", help="Replace this text, which must be there exactly."),
    click.option("--new", metavar="TEXT", help="What stands there instead."),
)
_ARGUMENTS = ("description", "section", "oldText", "newText", "title", "reason")


def _describe(function: _F) -> _F:
    """Add the options that say what a proposal is."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


@click.command("suggest")
@click.option("--skill", required=True, metavar="NAME", help="The skill to make or to change.")
@_describe
@click.option("--title", metavar="TEXT", help="What it is, in a few words.")
@click.option("--reason", metavar="TEXT", help="Why it is worth keeping.")
@click.option("--overrule", is_flag=True, help="Make a new skill although a similar one is there.")
@click.option(
    "--apply/--no-apply", "apply", default=None, help="Write it at once, or only queue it."
)
@common
# Every option of a proposal arrives by its name and goes on by its name.
def suggest_command(
    given: Common, *, skill: str, overrule: bool, apply: bool | None, **described: str | None
) -> int:
    """Propose a new skill, more text for a section, or other words in place of old ones.

    Without --apply or --no-apply the config decides (approvalPolicy). The scanner decides before.

    Example: prowess workshop suggest --skill release-notes --section Workflow
    --body "- Check the changelog first."
    """
    asked = _read_options(described)
    if ("oldText" in asked) != ("newText" in asked):
        raise click.UsageError("Give --old and --new together")
    if not asked.keys() & {"body", "oldText"}:
        raise click.UsageError("Give --body, --body-file, `-`, or --old and --new")
    asked.setdefault("reason", "Suggested at the terminal")
    switches = {"apply": apply, "overrule": overrule or None}
    asked |= {name: value for name, value in switches.items() if value is not None}
    with open_runtime(given.workspace) as runtime:
        service = runtime.workshop
        call = {"action": "suggest", "skillName": skill, **asked}
        answer: dict[str, Any] = service.call(
            call, agent_id=given.agent_id, source=ProposalSource.CLI, by_person=True
        )
        done = service.inspect(answer["proposal"]["id"], agent_id=given.agent_id)
    code = _tell(done, answer, as_json=given.as_json)
    name = skill_name(skill)
    if not given.as_json and done.skill != name:
        note = "says nearly the same, so this adds to it; --overrule makes a new skill."
        print_text(f"{done.skill} {note}", "yellow")
    return code


@click.command("revise")
@identified
@_describe
@revision_option
@common
def revise_command(
    given: Common, proposal_id: str, *, revision: str, **described: str | None
) -> int:
    """Change what a pending proposal says; it is worked out and scanned again.

    Example: prowess workshop revise release-notes-1f0c --body-file better.md
    """
    with open_runtime(given.workspace) as runtime:
        service = runtime.workshop
        found = find_proposal(service, proposal_id, given.agent)
        edit = revise_edit(found.edit, _read_options(described))
        seen = revision or found.revision
        done = service.revise(found.id, edit, revision=seen, agent_id=given.agent_id)
    answer = {"status": done.state.value, "proposal": wire_workshop.proposal(done)}
    return _tell(done, answer, as_json=given.as_json)


def _read_options(described: Mapping[str, str | None]) -> dict[str, Any]:
    """Return the arguments of the tool that the options stand for."""
    given = {**described, "oldText": described["old"], "newText": described["new"]}
    asked = {name: given[name] for name in _ARGUMENTS if given.get(name) is not None}
    body = _body(described)
    if body is not None:
        asked["body"] = body
    if "oldText" in asked and "body" in asked:
        raise click.UsageError("Give either --old and --new, or a body")
    return asked


def _body(described: Mapping[str, str | None]) -> str | None:
    given = [name for name in ("stdin_mark", "body", "body_file") if described[name] is not None]
    if len(given) > 1:
        raise click.UsageError("Give one body: --body, --body-file or `-`")
    if not given:
        return None
    value = str(described[given[0]])
    if value == "-":
        return _stdin().decode(errors="replace")
    return value if given == ["body"] else _file(value)


def _stdin() -> bytes:
    if sys.stdin is None or sys.stdin.isatty():
        raise click.UsageError("`-` reads standard input, and there is none")
    content = sys.stdin.buffer.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ProposalInputError(f"standard input is larger than {_MOST_BYTES} bytes")
    return content


def _file(path: str) -> str:
    content = read_bounded(path, _MOST_BYTES)
    if isinstance(content, Content):
        return content.data.decode("utf-8-sig", errors="replace")
    problem = content.message if isinstance(content, Diagnostic) else "does not exist"
    raise PathError(path, f"{problem}: give a text file.")


def _tell(done: Proposal, answer: Mapping[str, object], *, as_json: bool) -> int:
    """Say what became of a proposal; a quarantined one is a finding."""
    if as_json:
        print_json(answer)
    else:
        say(done)
        print_findings(done)
        for near in done.similar:
            print_text(f"  similar: {near.skill} ({near.score:.2f})", "yellow")
        if done.state is State.PENDING:
            next_steps([f"`prowess workshop show {done.id} --diff` shows it, `apply` writes it."])
    return FAILED if done.state is State.QUARANTINED else 0


@click.command("tool")
@common
def tool_command(given: Common) -> int:
    """Answer one call of the tool skill_workshop: JSON on standard input, JSON on output.

    An error is an object with the key `error`, and exit code 1.

    Example: echo '{"action": "list_pending"}' | prowess workshop tool
    """
    # As JSON with or without --json: it has no other way to answer.
    try:
        arguments = _arguments()
        with open_runtime(given.workspace) as runtime:
            print_json(runtime.workshop.call(arguments, agent_id=given.agent_id))
    except ProwessError as error:
        print_json({"error": str(error)})
        return FAILED
    return 0


def _arguments() -> dict[str, object]:
    """Read the call.

    Raises:
        ProposalInputError: it is not one JSON object.
    """
    try:
        found = json.loads(_stdin())
    except (ValueError, RecursionError) as error:
        problem = 'standard input must be one JSON object such as {"action": "status"}'
        raise ProposalInputError(problem) from error
    if not isinstance(found, dict):
        raise ProposalInputError("standard input must be one JSON object")
    return found


_WAITING = (State.PENDING, State.QUARANTINED)


@click.command("list")
@click.option(
    "--status",
    type=click.Choice([*(state.value for state in State), "all"]),
    help="Only those; by default the pending and the quarantined ones.",
)
@common
def list_command(given: Common, *, status: str | None) -> int:
    """List proposals, newest first.

    Example: prowess workshop list --status applied
    """
    with open_runtime(given.workspace) as runtime:
        wanted = _WAITING if status is None else tuple(State) if status == "all" else (status,)
        found = [
            one for one in runtime.workshop.list(agent_id=given.agent_id) if one.state in wanted
        ]
        proofs = list_proofs(runtime, given.agent) if found else {}
    if given.as_json:
        shown = [wire_workshop.proposal(one, proofs.get(one.skill, "")) for one in found]
        print_json({"proposals": shown})
        return 0
    if not found:
        print_text("No proposals." if status else "No proposals wait for you.")
        return 0
    titles = [Column("Id", flexible=True), Column("State"), Column("Skill", flexible=True)]
    rows = [_row(one) for one in found]
    if any(one.skill in proofs for one in found):
        titles.append(Column("Proof"))
        for row, one in zip(rows, found, strict=True):
            row.insert(3, Cell(proofs.get(one.skill, "")))
    print_table((*titles, Column("Kind"), Column("Source"), Column("Title", flexible=True)), rows)
    if is_terminal():
        next_steps(["`prowess workshop show ID --diff` shows one; the start of an id is enough."])
    return 0


def _row(one: Proposal) -> list[Cell]:
    kind = "files" if one.edit is None else one.edit.kind
    return [
        Cell(one.id, "bold"),
        Cell(one.state.value, STYLES[one.state]),
        Cell(one.skill),
        Cell(kind),
        Cell(one.source.value),
        Cell(one.quarantine_reason or one.title),
    ]


@click.command("show")
@identified
@click.option("--diff", is_flag=True, help="Show what would change against the live files.")
@common
def show_command(given: Common, proposal_id: str, *, diff: bool) -> int:
    """Show all about a proposal: reason, evidence, similar skills, findings with their lines.

    The start of an ID is enough, or of its last part.

    Example: prowess workshop show animated-gif-workflow-1f0c --diff
    """
    with open_runtime(given.workspace) as runtime:
        found = find_proposal(runtime.workshop, proposal_id, given.agent)
    if given.as_json:
        shown = {"proposal": wire_workshop.proposal(found)}
        print_json({**shown, "diff": "\n".join(diff_lines(found))} if diff else shown)
        return 0
    print_proposal(found, diff=diff)
    if is_terminal() and found.state is State.PENDING:
        print_text()
        next_steps([f"`prowess workshop apply {found.id}` writes it, `reject` refuses it."])
    return 0


@click.command("apply")
@identified
@yes_option
@revision_option
@common
def apply_command(given: Common, proposal_id: str, *, yes: bool, revision: str) -> int:
    """Write a pending proposal to its skill, after showing the difference and asking once.

    What is shown is what is written: if it changes meanwhile, nothing is.

    Example: prowess workshop apply animated-gif-workflow-1f0c --yes
    """
    need_answer(yes=yes, as_json=given.as_json)
    with open_runtime(given.workspace) as runtime:
        service = runtime.workshop
        found = find_proposal(service, proposal_id, given.agent)
        if not yes and found.state is State.PENDING:
            service.require_enabled()
            print_findings(found)
            print_diff(found)
            if not confirm(f"Write this to {found.root}/{found.skill}?", yes=yes):
                print_text("Nothing was written.")
                return FAILED
        done = service.apply(found.id, revision=revision or found.revision, agent_id=given.agent_id)
        code = tell(done, as_json=given.as_json)
        if not given.as_json:
            skill = f"{done.root}/{done.skill}"
            next_steps([f"{skill}; `prowess workshop rollback {done.skill}` takes it back."])
    return code


@click.command("reject")
@identified
@revision_option
@click.option("--reason", default="", metavar="TEXT", help="Why; it is kept in the history.")
@common
def reject_command(given: Common, proposal_id: str, *, revision: str, reason: str) -> int:
    """Refuse a pending or quarantined proposal: the same one is not taken again.

    Example: prowess workshop reject learned-workflows-9ab2
    """
    with open_runtime(given.workspace) as runtime:
        service = runtime.workshop
        found = find_proposal(service, proposal_id, given.agent)
        seen = revision or found.revision
        done = service.reject(found.id, revision=seen, reason=reason, agent_id=given.agent_id)
        return tell(done, as_json=given.as_json)


_STYLES = {
    EventKind.APPLIED: "green",
    EventKind.QUARANTINED: "bold red",
    EventKind.ROLLED_BACK: "yellow",
    EventKind.INTERRUPTED: "bold red",
    EventKind.PRUNED: "yellow",
}


@click.command("history")
@click.argument("word", metavar="[ID|SKILL]", required=False)
@click.option(
    "--after", type=click.IntRange(0), default=0, metavar="NUMBER", help="Only what came later."
)
@common
def history_command(given: Common, word: str | None, *, after: int) -> int:
    """Say what happened, oldest first: at all, to the proposal ID or to SKILL.

    For a skill it also lists what was applied; the first of that is what `rollback` takes back.

    Example: prowess workshop history release-notes
    """
    with open_runtime(given.workspace) as runtime:
        service = runtime.workshop
        about = _find_subject(service, word or "", given.agent_id)
        events = list(_events(service, about, after, given.agent_id))
        versions = _page(service, about, after, given.agent_id).versions
    if word and not events and not after:
        raise ProposalNotFoundError(f"nothing happened to {word}: see `prowess workshop history`")
    if given.as_json:
        shown = [wire_workshop.proposal_event(event) for event in events]
        cursor = events[-1].sequence if events else after
        print_json({"events": shown, "cursor": cursor, "versions": [one.id for one in versions]})
        return 0
    _print_events(events)
    if versions:
        print_text()
        print_text("Applied, the last one first:", "bold")
        for one in versions:
            print_text(f"  {one.id}  {one.title}")
    return 0


def _find_subject(service: "WorkshopService", word: str, agent: str) -> Subject:
    """Say whether a word is a skill's name or a proposal's id, of which the start is enough."""
    if not word:
        return Subject()
    if service.history(skill=word, agent_id=agent).events:
        return Subject(skill=word)
    try:
        return Subject(proposal_id=find_proposal(service, word, agent).id)
    except ProposalNotFoundError:
        # One that was pruned is gone, and still has a history.
        return Subject(proposal_id=word)


def _events(
    service: "WorkshopService", about: Subject, after: int, agent: str
) -> Iterator[ProposalEvent]:
    more = True
    while more:
        page = _page(service, about, after, agent)
        yield from page.events
        after, more = page.cursor, page.more


def _page(service: "WorkshopService", about: Subject, after: int, agent: str) -> "History":
    return service.history(about.proposal_id, skill=about.skill, after=after, agent_id=agent)


def _print_events(events: list[ProposalEvent]) -> None:
    if not events:
        print_text("Nothing happened yet.")
        return
    titles = (Column("#"), Column("When"), Column("What"), Column("Skill", flexible=True))
    rows = [
        [
            Cell(str(event.sequence), "dim"),
            Cell(wire_workshop.proposal_event(event)["occurredAt"]),
            Cell(event.kind.value.replace("_", " "), _STYLES.get(event.kind, "")),
            Cell(event.skill),
            Cell(event.proposal_id, "bold"),
            Cell(event.note),
        ]
        for event in events
    ]
    print_table((*titles, Column("Proposal", flexible=True), Column("Note", flexible=True)), rows)


@click.command("rollback")
@click.argument("word", metavar="SKILL|ID")
@yes_option
@revision_option
@common
def rollback_command(given: Common, word: str, *, yes: bool, revision: str) -> int:
    """Bring back what the last applied proposal of a SKILL replaced; it is pending again.

    A skill that was changed by hand since is left alone.

    Example: prowess workshop rollback release-notes --yes
    """
    need_answer(yes=yes, as_json=given.as_json)
    with open_runtime(given.workspace) as runtime:
        service = runtime.workshop
        found = _find_applied(service, word, given.agent_id)
        question = f"Take back {found.title!r} ({found.id}) from {found.skill}?"
        service.require_enabled()
        if not confirm(question, yes=yes):
            print_text("Nothing was written.")
            return FAILED
        seen = revision or found.revision
        done = service.rollback(found.id, revision=seen, agent_id=given.agent_id)
    if given.as_json:
        print_json({"status": "rolled_back", "proposal": wire_workshop.proposal(done)})
    else:
        print_text(f"rolled back {done.skill}  [{done.id}]", "yellow")
        next_steps([f"It is {done.state.value}: `prowess workshop reject {done.id}` ends it."])
    return 0


def _find_applied(service: "WorkshopService", word: str, agent: str) -> Proposal:
    versions = service.history(skill=word, agent_id=agent).versions
    return versions[0] if versions else find_proposal(service, word, agent)
