"""`commands` and `invoke`: the slash commands that skills give, and what one of them asks for.

Nothing is called and nothing is run here: a tool call is shown, and a skill's text is filled.
"""

from collections.abc import Sequence

import click

from prowess.cli.options import Common, common, message_of
from prowess.cli.render import Cell, Column, print_error, print_json, print_table, print_text
from prowess.runtime.service import StatusReport
from prowess.skills.commands import RESERVED, SkillCommand, build_commands
from prowess.skills.invocation import (
    InvocationPlace,
    Invoked,
    References,
    invoke,
    name_key,
    near_commands,
    references,
)
from prowess.skills.text import cut_listed
from prowess.wire import runs as wire_runs
from prowess.wire import skills as wire
from prowess.wiring import open_runtime

_NO_COMMAND = "command.not_found"
_MOST_SHOWN = 80


@click.command("commands", epilog="Example: prowess commands --agent main")
@common
def commands_command(given: Common) -> int:
    """List the slash commands that skills give.

    Every ready skill that a person may call has one, also where it is hidden from the model.
    """
    report = open_runtime(given.workspace).skills.status(given.agent)
    commands = _commands_of(report)
    if given.as_json:
        print_json(wire_runs.slash_commands(report.agent_id, commands))
        return 0
    if not commands:
        print_text("No skill gives a command: `prowess list -v` says what is missing.")
        return 0
    print_table(
        (
            Column("Command"),
            Column("Arguments"),
            Column("Skill"),
            # Last: in a pipe it is whole, and as long as its author made it.
            Column("What it does", flexible=True),
        ),
        [_row(command) for command in commands],
    )
    for command in commands:
        for problem in command.problems:
            print_text(f"! {command.skill_name}: {problem}", "yellow")
    return 0


def _commands_of(report: StatusReport) -> tuple[SkillCommand, ...]:
    return build_commands(row.skill for row in report.skills if row.command_visible)


def _row(command: SkillCommand) -> tuple[Cell, ...]:
    dispatch = command.dispatch
    way = "" if dispatch is None else f"[tool: {dispatch.tool_name}] "
    return (
        Cell(f"/{command.name}", "bold"),
        Cell(command.argument_hint),
        Cell(command.skill_name, "dim"),
        Cell(cut_listed(f"{way}{command.description}")),
    )


@click.command(
    "invoke",
    epilog='Examples: prowess invoke "/deploy staging"; prowess invoke "/skill code review app.py";'
    " prowess invoke 'Ship it with $deploy'",
)
@click.argument("text", nargs=-1, metavar="TEXT...")
@click.option(
    "--tools",
    metavar="NAMES",
    help="The agent's tools, separated by commas; a command for another one is a problem.",
)
@click.option("--session", metavar="ID", default="", help="The session, for skills that name it.")
@common
def invoke_command(given: Common, text: tuple[str, ...], *, tools: str | None, session: str) -> int:
    """Show what TEXT asks for, without doing it: a slash command, or skills named by $name.

    Put TEXT in quotes, or give `-` to read it from standard input. Exit code 1 when it calls no
    skill or one that cannot be called.
    """
    asked = message_of(text)
    runtime = open_runtime(given.workspace)
    report = runtime.skills.status(given.agent)
    commands = _commands_of(report)
    place = InvocationPlace(
        session_id=session,
        project_dir=report.workspace,
        tools=None if tools is None else frozenset(name.strip() for name in tools.split(",")),
    )
    result = invoke(asked, commands, place)
    if result is not None:
        from prowess.wiring.run import open_texts

        # Whoever hands the answer to a model relies on it.
        open_texts(runtime).check(result.command.skill)
        return _show_invoked(result, as_json=given.as_json)
    allowed = {command.skill_name for command in commands}
    named = references(asked, (row.skill for row in report.skills), allowed)
    if named.names or named.problems:
        return _show_references(named, as_json=given.as_json)
    return _show_nothing(asked, report, commands, as_json=given.as_json)


def _show_invoked(result: Invoked, *, as_json: bool) -> int:
    code = int(result.kind == "tool" and result.tool_call is None)
    if as_json:
        print_json(wire_runs.invoked(result))
        return code
    command = result.command
    if result.kind == "tool":
        print_text(f"/{command.name} calls the tool {result.tool_name}", "bold")
        for key, value in (result.tool_call or {}).items():
            _print_part(key, value)
    else:
        print_text(f"/{command.name} uses the skill {command.skill_name}", "bold")
        _print_part("Message for the model", result.message)
        _print_part("The skill's text, filled", result.body)
    _print_problems((*result.problems, *result.notes))
    return code


def _show_references(named: References, *, as_json: bool) -> int:
    code = int(bool(named.problems))
    if as_json:
        print_json(wire_runs.referenced(named))
        return code
    if named.names:
        print_text(f"The message names the skills {', '.join(named.names)}", "bold")
        _print_part("Put before the message", named.prefix.rstrip())
    _print_problems(named.problems)
    return code


def _print_part(title: str, text: str) -> None:
    """Print text from a skill or a person, indented so that no line of it can pose as ours."""
    print_text(f"{title}:")
    for line in text.splitlines():
        print_text(f"  {line}")


def _print_problems(problems: Sequence[str]) -> None:
    for problem in problems:
        print_text(f"! {problem}", "yellow")


def _show_nothing(
    asked: str, report: StatusReport, commands: Sequence[SkillCommand], *, as_json: bool
) -> int:
    near = near_commands(asked, commands)
    message = _why_nothing(asked, report, near)
    if as_json:
        print_json(wire.error(_NO_COMMAND, message, near=list(near)))
    else:
        print_error(message)
    return 1


def _why_nothing(asked: str, report: StatusReport, near: Sequence[str]) -> str:
    words = asked[:_MOST_SHOWN].split(maxsplit=1)
    if not words or not words[0].startswith("/"):
        hint = f" Did you mean {_listed(near)}?" if near else ""
        return f"this text calls no skill: the model gets it as it is.{hint}"
    by_skill = words[0].lower() == "/skill"
    if by_skill and len(words) == 1:
        return "name a skill: `/skill NAME`. `prowess commands` lists them."
    closed = _closed(words[1] if by_skill else words[0][1:], report)
    if closed:
        return closed
    if near:
        return f"no skill answers to {' '.join(words)}: did you mean {_listed(near)}?"
    if not by_skill and words[0][1:].lower() in RESERVED:
        return f"{words[0]} is a command of the chat itself, not of a skill."
    return f"no skill answers to {' '.join(words)}: `prowess commands` lists what does."


def _closed(called: str, report: StatusReport) -> str:
    """Say why a skill of that name, if there is one, has no command."""
    # Behind the name there may be arguments, and a name may have several words.
    keys = {name_key(called), name_key(called.partition(" ")[0])}
    for row in report.skills:
        if row.command_visible or name_key(row.skill.name) not in keys:
            continue
        if not row.skill.invocation.user:
            return f"{row.skill.name} cannot be called: its author says user-invocable: false."
        return f"{row.skill.name} cannot be called: `prowess why {row.skill.name}` says why."
    return ""


def _listed(near: Sequence[str]) -> str:
    return ", ".join(f"/{name}" for name in near)
