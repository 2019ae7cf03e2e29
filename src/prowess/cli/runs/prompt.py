"""`prompt` and `snapshot`: what the agent is told, and what it may use."""

import asyncio
import sys

import click

from prowess.cli.options import common
from prowess.cli.render import print_error, print_json, print_raw, print_text
from prowess.skills.text import clean, one_line
from prowess.wire import skills as wire
from prowess.wiring import Runtime, open_runtime


@click.command("prompt")
@click.option(
    "--tools",
    metavar="NAMES",
    help="The agent's tools, separated by commas; without one that reads files there is no block.",
)
@common
def prompt_command(
    workspace: str | None, agent: str | None, *, as_json: bool, tools: str | None
) -> int:
    """Print the block that tells the agent about its skills, and nothing else."""
    names = None if tools is None else [name for name in tools.split(",") if name.strip()]
    block = open_runtime(workspace).skills.prompt(agent, tools=names)
    if as_json:
        print_json(wire.prompt(block))
    elif block.text:
        print_raw(block.text)
    else:
        print_error(f"no prompt block: {block.omitted_because}.")
    return 0


@click.command("snapshot")
@click.option(
    "--session", metavar="ID", help="Begin a turn of this session and show what it holds."
)
@click.option("--watch", is_flag=True, help="Stay, and print a line for each new version.")
@common
def snapshot_command(
    workspace: str | None, agent: str | None, *, as_json: bool, session: str | None, watch: bool
) -> int:
    """Print what the agent may use, versioned and hashed."""
    if watch and session is not None:
        raise click.UsageError("--watch and --session do not go together")
    if session is not None and not one_line(session):
        raise click.UsageError("--session needs an id")
    runtime = open_runtime(workspace)
    if watch:
        return asyncio.run(_watch(runtime, agent, as_json=as_json))
    if session is not None:
        _show_session(runtime, session, agent, as_json=as_json)
        return 0
    snapshot = runtime.skills.snapshot(agent)
    if as_json:
        print_json(wire.snapshot(snapshot))
        return 0
    _print_version(runtime, agent)
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
