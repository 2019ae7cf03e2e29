"""`workshop suggest`, `revise` and `tool`: proposals by hand, and the agent's tool as a program."""

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from prowess.cli.options import common
from prowess.cli.render import print_json, print_text
from prowess.cli.workshop.proposals import (
    FAILED,
    find_proposal,
    identified,
    next_steps,
    revision_option,
    say,
)
from prowess.cli.workshop.workshop_show import print_findings
from prowess.errors import PathError, ProposalInputError, ProwessError
from prowess.host.files.read import Content, read_bounded
from prowess.runtime.workshop.tool import revised
from prowess.skills.model import Diagnostic
from prowess.wire import wire_workshop
from prowess.wiring import open_runtime
from prowess.workshop.proposal import Proposal, Source, State, skill_name

_MOST_BYTES = 1_000_000
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


def _described(function: _F) -> _F:
    """Add the options that say what a proposal is."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


@click.command("suggest")
@click.option("--skill", required=True, metavar="NAME", help="The skill to make or to change.")
@_described
@click.option("--title", metavar="TEXT", help="What it is, in a few words.")
@click.option("--reason", metavar="TEXT", help="Why it is worth keeping.")
@click.option("--overrule", is_flag=True, help="Make a new skill although a similar one is there.")
@click.option(
    "--apply/--no-apply", "apply", default=None, help="Write it at once, or only queue it."
)
@common
# Every option of a proposal arrives by its name and goes on by its name.
def suggest_command(
    workspace: str | None,
    agent: str | None,
    *,
    as_json: bool,
    skill: str,
    overrule: bool,
    apply: bool | None,
    **described: str | None,
) -> int:
    """Propose a new skill, more text for a section, or other words in place of old ones.

    Without --apply or --no-apply the config decides (approvalPolicy). The scanner decides before.

    Example: prowess workshop suggest --skill release-notes --section Workflow
    --body "- Check the changelog first."
    """
    asked = _asked(described)
    if ("oldText" in asked) != ("newText" in asked):
        raise click.UsageError("Give --old and --new together")
    if not asked.keys() & {"body", "oldText"}:
        raise click.UsageError("Give --body, --body-file, `-`, or --old and --new")
    asked.setdefault("reason", "Suggested at the terminal")
    switches = {"apply": apply, "overrule": overrule or None}
    asked |= {name: value for name, value in switches.items() if value is not None}
    with open_runtime(workspace) as runtime:
        service = runtime.workshop
        call = {"action": "suggest", "skillName": skill, **asked}
        answer: dict[str, Any] = service.call(
            call, agent_id=agent or "", source=Source.CLI, by_person=True
        )
        done = service.inspect(answer["proposal"]["id"], agent_id=agent or "")
    code = _told(done, answer, as_json=as_json)
    name = skill_name(skill)
    if not as_json and done.skill != name:
        note = "says nearly the same, so this adds to it; --overrule makes a new skill."
        print_text(f"{done.skill} {note}", "yellow")
    return code


@click.command("revise")
@identified
@_described
@revision_option
@common
def revise_command(
    proposal_id: str,
    workspace: str | None,
    agent: str | None,
    *,
    as_json: bool,
    revision: str,
    **described: str | None,
) -> int:
    """Change what a pending proposal says; it is worked out and scanned again.

    Example: prowess workshop revise release-notes-1f0c --body-file better.md
    """
    with open_runtime(workspace) as runtime:
        service = runtime.workshop
        found = find_proposal(service, proposal_id, agent)
        edit = revised(found.edit, _asked(described))
        seen = revision or found.revision
        done = service.revise(found.id, edit, revision=seen, agent_id=agent or "")
    answer = {"status": done.state.value, "proposal": wire_workshop.proposal(done)}
    return _told(done, answer, as_json=as_json)


def _asked(described: Mapping[str, str | None]) -> dict[str, Any]:
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


def _told(done: Proposal, answer: Mapping[str, object], *, as_json: bool) -> int:
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
def tool_command(workspace: str | None, agent: str | None, *, as_json: bool) -> int:
    """Answer one call of the tool skill_workshop: JSON on standard input, JSON on output.

    An error is an object with the key `error`, and exit code 1.

    Example: echo '{"action": "list_pending"}' | prowess workshop tool
    """
    # It has no other way to answer.
    del as_json
    try:
        arguments = _arguments()
        with open_runtime(workspace) as runtime:
            print_json(runtime.workshop.call(arguments, agent_id=agent or ""))
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
