"""`connect`: our hook and our MCP server in the settings of a harness, and out again.

`doctor`: every connection and this installation, and what to do about what is wrong.

`hook`: the processes that a hook leaves behind, and its help. The hook itself takes its own lane
(`cli.main`) before anything is loaded here.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress

import click

from prowess.cli.main import answer_call, limit_time
from prowess.cli.render import ProgressBar, asks, count_up, print_json, print_text
from prowess.cli.terminal import Common, NearChoice, common, json_option, workspace_option
from prowess.errors import ProwessError
from prowess.hooks.harness import Harness
from prowess.hooks.registrations import ConnectScope
from prowess.host.harness.hook_client import current_folder, state_folder
from prowess.host.harness.marks_and_places import place_to_index, place_to_learn
from prowess.runtime.harness.connect import Connecting, ConnectPlan, ConnectRequest, WrittenSettings
from prowess.runtime.harness.doctor import DoctorLevel, Examination, examine
from prowess.wire.studio import connection, examination
from prowess.wiring import in_project, open_runtime

_COLOURS = {"+": "green", "-": "red", "@": "dim"}


@click.command("connect", epilog="Example: prowess connect claude-code --project --dry-run")
@click.argument("harness", metavar="HARNESS", type=NearChoice([one.value for one in Harness]))
@click.option("--project", is_flag=True, help="For everybody in this project.")
@click.option("--user", is_flag=True, help="For you, in every project.")
@click.option("--remove", is_flag=True, help="Take out what connecting put in, and nothing else.")
@click.option("--no-mcp", is_flag=True, help="Leave MCP servers alone: hooks only.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask before files are written.")
@json_option
@workspace_option
def connect_command(
    harness: str,
    workspace: str | None,
    *,
    project: bool,
    user: bool,
    remove: bool,
    no_mcp: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """Write our hook and our MCP server into the settings of HARNESS.

    HARNESS is claude-code, codex, gemini, copilot, qwen, opencode, openclaw, cursor or vscode. You
    see the difference before anything is written, the old file is kept, and comments and order
    stay. To connect again changes nothing; --remove takes out exactly what was put in.

    Without --project and --user it is for you alone, since not everybody in a project may have
    Prowess; for VS Code it is the project, since it has no hooks elsewhere.
    """
    if not dry_run and not yes and (as_json or not asks()):
        raise click.UsageError(
            "Nobody can be asked here: give --yes to write, or --dry-run to look"
        )
    where = _scope(project=project, user=user)
    connecting = _open(workspace)
    request = ConnectRequest(
        harness=Harness(harness), scope=where, remove=remove, with_mcp=not no_mcp
    )
    differences = _differences(plan := connecting.plan(request))
    if not as_json:
        _print_plan(plan, differences)
    written = None if dry_run else _write_plan(connecting, plan, sure=yes)
    _prepare(workspace, wanted=written is not None and not remove, with_mcp=not no_mcp)
    if as_json:
        print_json(connection(plan, differences, written))
    elif written:
        _print_written(plan, written)
    return 0


def _prepare(workspace: str | None, *, wanted: bool, with_mcp: bool) -> None:
    """Do now, while somebody watches, what a harness does not wait for: scan, index, greet."""
    if not wanted:
        return
    with in_project(open_runtime(workspace)) as runtime, ProgressBar() as bar:
        runtime.skills.status()
        runtime.routing.index(progress=bar)
        if with_mcp:
            from prowess.cli.harness.mcp_lane import open_greeting
            from prowess.wiring.mcp import keep_first_answers

            keep_first_answers(runtime, lambda: open_greeting(anywhere=True))


def _scope(*, project: bool, user: bool) -> ConnectScope | None:
    if project and user:
        raise click.UsageError("--project and --user are two places: give one of them")
    if project:
        return ConnectScope.PROJECT
    return ConnectScope.USER if user else None


def _open(workspace: str | None) -> Connecting:
    # Late: it reads settings files of every kind, which nothing else needs.
    from prowess.wiring.doctor import open_connecting

    return open_connecting(open_runtime(workspace), workspace or ".")


def _differences(plan: ConnectPlan) -> dict[str, list[str]]:
    from prowess.wire.studio import compare_files

    return {
        file.path: compare_files(file.path, file.before, file.after)
        for file in plan.files
        if file.needed
    }


def _write_plan(
    connecting: Connecting, plan: ConnectPlan, *, sure: bool
) -> Sequence[WrittenSettings] | None:
    if not plan.needed:
        return ()
    if not sure:
        click.confirm("Write this?", default=True, abort=True)
    return connecting.apply(plan)


def _print_plan(plan: ConnectPlan, differences: Mapping[str, Sequence[str]]) -> None:
    for file in plan.files:
        if not file.needed:
            continue
        if file.leads_to:
            print_text(f"{file.path} leads to {file.leads_to}, which is what gets changed.")
        for number, line in enumerate(differences[file.path]):
            heading = number < len(("---", "+++"))
            print_text(line, "bold" if heading else _COLOURS.get(line[:1], ""))
        print_text()
    if not plan.needed:
        state = "is not connected" if plan.remove else "is connected already"
        print_text(f"{plan.harness} ({plan.scope}) {state}: nothing to do.")
    for note in plan.notes:
        print_text(f"Note: {note}", "yellow")


def _print_written(plan: ConnectPlan, written: Sequence[WrittenSettings]) -> None:
    gone = {file.path for file in plan.files if file.after is None}
    for one in written:
        kept = f" (before: {one.backup})" if one.backup else ""
        print_text(f"{'removed' if one.path in gone else 'written'}: {one.path}{kept}")
    if plan.remove:
        print_text(f"{plan.harness} is no longer connected ({plan.scope}).", "green")
    else:
        print_text(f"{plan.harness} is connected ({plan.scope}). Check it: prowess doctor", "green")


_MARKS = {
    DoctorLevel.OK: ("✓", "green"),
    DoctorLevel.WARNING: ("!", "yellow"),
    DoctorLevel.PROBLEM: ("✗", "red"),
}


@click.command("doctor", epilog="Example: prowess doctor --json")
@common
def doctor_command(given: Common) -> int:
    """Check every coding agent that is found here, and this installation.

    Of each agent: whether it is connected, whether the command it would run is there, when it
    called last and how long that took, and whether our answers to recorded calls are what it
    reads. Of Prowess: configuration, skills, routing, stores, permissions, gateway and MCP.
    Nothing is changed. Exit code 1 when something is broken.
    """
    with in_project(open_runtime(given.workspace)) as runtime:
        # Late: it brings the hook and routing along.
        from prowess.wiring.doctor import open_doctor

        checks = open_doctor(runtime, given.agent, given.workspace or ".")
        with ProgressBar() as bar:
            found = examine(checks, bar)
    if given.as_json:
        print_json(examination(found))
    else:
        _print(found)
    return 0 if found.well else 1


def _print(found: Examination) -> None:
    area = ""
    for finding in found.findings:
        if finding.area != area:
            if area:
                print_text()
            area = finding.area
            print_text(area, "bold")
        mark, colour = _MARKS[finding.level]
        print_text(
            f"  {mark} {finding.text}", colour if finding.level is not DoctorLevel.OK else ""
        )
        if finding.todo:
            print_text(f"    {finding.todo}", "dim")
    print_text()
    problems, warnings = found.count(DoctorLevel.PROBLEM), found.count(DoctorLevel.WARNING)
    if not problems and not warnings:
        print_text("All is well.", "green")
    else:
        said = f"{count_up(problems, 'problem')}, {count_up(warnings, 'warning')}."
        print_text(said, "red" if problems else "yellow")


_MOST_BYTES = 8 * 1024 * 1024
# Far above what a review by a model may take; nobody else ends a process that hangs.
_MOST_SECONDS = 600.0


@click.command("hook")
# For the processes that a hook leaves behind; nobody types them.
@click.option("--learn", is_flag=True, hidden=True)
@click.option("--index", is_flag=True, hidden=True)
def hook_command(*, learn: bool, index: bool) -> int:
    """Answer a hook of a coding agent: its payload on standard input, our answer on output.

    The nine harnesses of `prowess connect` are told apart by what they send. At a prompt the answer
    names the skills that fit, at the start of a session those that the agent does not list itself;
    at the end of a turn the workshop learns in the background, if it is on. Whatever goes wrong,
    the exit code is 0 and nothing is printed; `prowess doctor` says what did.

    `prowess connect` registers it. Example: prowess hook < payload.json
    """
    if not learn and not index:
        return answer_call()
    limit_time(_MOST_SECONDS)
    current = current_folder()
    take_place, work = (place_to_index, _index) if index else (place_to_learn, _learn)
    with take_place(state_folder(os.environ, current)) as is_free:
        if is_free:
            work(current)
    return 0


def _index(current: str) -> None:
    from prowess.wiring.hook import index_alone

    # Nobody reads what a process in the background says; the next hook tries again.
    with suppress(ProwessError, OSError):
        index_alone(current)


def _learn(current: str) -> None:
    from prowess.wiring.hook import learn_alone

    # Nobody reads what a process in the background says; the workshop has its own log.
    with suppress(ProwessError, ValueError, OSError):
        learn_alone(sys.stdin.buffer.read(_MOST_BYTES), current)
