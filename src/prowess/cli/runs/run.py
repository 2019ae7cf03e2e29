"""`run`, `prompt` and `snapshot`: a program in a run, what the agent is told, what it may use.

With `run`, standard output belongs to that program alone, and so does the exit code.

`commands` and `invoke`: the slash commands that skills give, and what one of them asks for.

Nothing is called and nothing is run here: a tool call is shown, and a skill's text is filled.
"""

import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from prowess.cli.render import (
    Cell,
    Column,
    print_error,
    print_json,
    print_raw,
    print_table,
    print_text,
)
from prowess.cli.terminal import Common, common, fail, message_of
from prowess.errors import ProwessError
from prowess.host.processes.facts import find_program
from prowess.host.processes.foreground import (
    VARIABLE,
    holding_signals,
    run_foreground,
    write_prompt_file,
)
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
from prowess.skills.text import clean, cut_listed, one_line
from prowess.wire import runs as wire_runs
from prowess.wire import skills as wire
from prowess.wiring import Runtime, open_runtime, run_until_signal

if TYPE_CHECKING:
    from prowess.runtime.run import Run


@click.command("prompt")
@click.option(
    "--tools",
    metavar="NAMES",
    help="The agent's tools, separated by commas; without one that reads files there is no block.",
)
@click.option(
    "--workshop", is_flag=True, help="Also print what it is told about the tool skill_workshop."
)
@common
def prompt_command(given: Common, *, tools: str | None, workshop: bool) -> int:
    """Print the block that tells the agent about its skills, and nothing else."""
    names = None if tools is None else [name for name in tools.split(",") if name.strip()]
    runtime = open_runtime(given.workspace)
    block = runtime.skills.prompt(given.agent, tools=names)
    told = _workshop_guidance(runtime) if workshop else None
    if given.as_json:
        print_json(wire.prompt(block) | ({} if told is None else {"workshop": told}))
        return 0
    if block.text:
        print_raw(block.text)
    else:
        print_error(f"no prompt block: {block.omitted_because}.")
    if told:
        print_raw(told)
    elif told is not None:
        print_error("the workshop is off: `prowess workshop enable` switches it on.")
    return 0


def _workshop_guidance(runtime: Runtime) -> str:
    # Late: hardly anybody asks for it here.
    from prowess.runtime.workshop.tool import guide_agent

    return guide_agent(runtime.skills.settings.workshop)


@click.command("snapshot")
@click.option(
    "--session", metavar="ID", help="Begin a turn of this session and show what it holds."
)
@click.option("--watch", is_flag=True, help="Stay, and print a line for each new version.")
@common
def snapshot_command(given: Common, *, session: str | None, watch: bool) -> int:
    """Print what the agent may use, versioned and hashed."""
    if watch and session is not None:
        raise click.UsageError("--watch and --session do not go together")
    if session is not None and not one_line(session):
        raise click.UsageError("--session needs an id")
    runtime = open_runtime(given.workspace)
    if watch:
        return run_until_signal(_watch(runtime, given.agent, as_json=given.as_json))
    if session is not None:
        _show_session(runtime, session, given.agent, as_json=given.as_json)
        return 0
    snapshot = runtime.skills.snapshot(given.agent)
    if given.as_json:
        print_json(wire.snapshot(snapshot))
        return 0
    _print_version(runtime, given.agent)
    for skill in snapshot.skills:
        print_text(f"  {skill.name}")
    return 0


def _print_version(runtime: Runtime, agent: str | None) -> None:
    snapshot = runtime.skills.snapshot(agent)
    print_text(
        f"version {snapshot.version}  hash {snapshot.hash[:12]}  agent {snapshot.agent_id}  "
        f"{len(snapshot.skills)} skills  {len(snapshot.prompt)} prompt characters",
        "bold",
    )


def _show_session(runtime: Runtime, session: str, agent: str | None, *, as_json: bool) -> None:
    turn = runtime.sessions().begin_turn(session, agent)
    if as_json:
        print_json(wire.stored_snapshot(turn.stored, rebuilt=turn.rebuilt))
        return
    how = "rebuilt for this turn" if turn.rebuilt else "unchanged since its last turn"
    stored = turn.stored
    print_text(f"session {stored.session_id}: version {stored.version}, {how}", "bold")


async def _watch(runtime: Runtime, agent: str | None, *, as_json: bool) -> int:
    watching = runtime.watching()
    _show_version(runtime, agent, as_json=as_json)
    async for _version in watching.changes(agent):
        _show_version(runtime, agent, as_json=as_json)
    reason = watching.unavailable or "skills.load.watch is false."
    print_error(f"not watching: {reason}")
    return 1


def _show_version(runtime: Runtime, agent: str | None, *, as_json: bool) -> None:
    if as_json:
        snapshot = runtime.skills.snapshot(agent)
        names = [clean(skill.name) for skill in snapshot.skills]
        line = {"version": snapshot.version, "hash": snapshot.hash, "skills": names}
        click.echo(wire.compact(line))
    else:
        _print_version(runtime, agent)
    sys.stdout.flush()


@click.command(
    "run",
    # What follows the command's first word is the command's, whatever it looks like.
    context_settings={"allow_interspersed_args": False},
    epilog="Examples: prowess run -- claude --continue;  prowess run --dry-run -- npm test",
)
@click.argument("command", nargs=-1, metavar="[--] COMMAND...", type=click.UNPROCESSED)
@click.option(
    "--session", metavar="ID", help="Begin a turn of this session, and use what it holds."
)
@click.option("--dry-run", is_flag=True, help="Start nothing; show what would be set.")
@common
def run_command(
    given: Common, command: tuple[str, ...], *, session: str | None, dry_run: bool
) -> int:
    """Run COMMAND with the environment and the skills prompt of a run.

    It has the variables that the configuration gives to skills (env, apiKey), programs that were
    installed for skills at the end of PATH, and the file PROWESS_SKILLS_PROMPT_FILE with the block
    that tells the agent about its skills. The file is removed when COMMAND ends. COMMAND runs in
    the current folder and on this terminal; its exit code is passed on, 128 and the number where a
    signal ended it, 127 where it is not found and 126 where it cannot be run.
    """
    _check(command, session, as_json=given.as_json, dry_run=dry_run)
    try:
        with open_runtime(given.workspace) as runtime:
            context = runtime.run(agent=given.agent, session=session, process_wide=False)
            if dry_run:
                _show(context.preview(), command, as_json=given.as_json)
                return 0
            with context as run:
                return _run(run, command)
    except ProwessError as error:
        # Here, for the word --json may be one of COMMAND's.
        return fail(error, as_json=given.as_json)


def _check(command: Sequence[str], session: str | None, *, as_json: bool, dry_run: bool) -> None:
    if not command:
        raise click.UsageError("give a command, such as `prowess run -- env`")
    if as_json and not dry_run:
        raise click.UsageError("--json goes with --dry-run: the output is the command's own")
    if session is not None and not one_line(session):
        raise click.UsageError("--session needs an id")


def _run(run: "Run", command: Sequence[str]) -> int:
    for note in run.environment.notes:
        print_error(f"{note}.")
    # A signal that ends us must not leave the file behind, so none comes before it is removed.
    with holding_signals() as held, write_prompt_file(run.prompt) as path:
        environment = {**run.environ, VARIABLE: path}
        return run_foreground(command, environment, tell=print_error, held=held)


def _show(run: "Run", command: Sequence[str], *, as_json: bool) -> None:
    program = find_program(command[0], run.environ, relative=True)
    if as_json:
        print_json(wire_runs.planned_run(run, command, program.path, VARIABLE))
        return
    environment = run.environment
    print_text(f"would run: {shlex.join(command)}", "bold")
    print_text(f"  {program.path or program.problem}", "dim" if program.path else "yellow")
    print_text(f"  prompt: {len(run.prompt)} characters, in the file {VARIABLE}")
    print_text(f"  set: {', '.join(environment.applied) or 'nothing'}")
    if environment.kept:
        print_text(f"  kept, they have a value already: {', '.join(environment.kept)}")
    if environment.allowed:
        print_text(f"  opened by allowEnv: {', '.join(environment.allowed)}")
    for one in environment.blocked:
        print_text(f"  blocked: {one.key} {one.reason}", "yellow")
    for warning in environment.warnings:
        print_text(f"  ! {warning}", "yellow")


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
        hint = f" Did you mean {_list(near)}?" if near else ""
        return f"this text calls no skill: the model gets it as it is.{hint}"
    by_skill = words[0].lower() == "/skill"
    if by_skill and len(words) == 1:
        return "name a skill: `/skill NAME`. `prowess commands` lists them."
    closed = _explain_closed(words[1] if by_skill else words[0][1:], report)
    if closed:
        return closed
    if near:
        return f"no skill answers to {' '.join(words)}: did you mean {_list(near)}?"
    if not by_skill and words[0][1:].lower() in RESERVED:
        return f"{words[0]} is a command of the chat itself, not of a skill."
    return f"no skill answers to {' '.join(words)}: `prowess commands` lists what does."


def _explain_closed(called: str, report: StatusReport) -> str:
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


def _list(near: Sequence[str]) -> str:
    return ", ".join(f"/{name}" for name in near)
