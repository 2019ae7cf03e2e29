"""`install`: the programs that a skill needs, shown before, watched meanwhile, checked after."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from prowess.cli.options import common, complete_skill
from prowess.cli.render import (
    Cell,
    Column,
    asks,
    print_error,
    print_json,
    print_table,
    print_text,
    silence,
)
from prowess.cli.runs.install_live import Live
from prowess.runtime.install import InstallRequest, InstallResult, InstallService, Prepared, Watch
from prowess.skills.eligibility import missing_text
from prowess.wire import runs as wire_runs
from prowess.wiring import Runtime, open_runtime
from prowess.wiring.transfer import open_installing

_FAILED = 1


def _given(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    """Refuse an id that is empty: it would mean what is offered."""
    if value is not None and not value.strip():
        raise click.BadParameter("needs an id: --list shows them")
    return value


@click.command("install")
@click.argument("skill", shell_complete=complete_skill)
@click.option(
    "--option", "option_id", metavar="ID", callback=_given, help="Another way than offered."
)
@click.option("--list", "listing", is_flag=True, help="Show the options and install nothing.")
@click.option("--dry-run", is_flag=True, help="Show exactly what would be run or fetched.")
@click.option(
    "--timeout",
    type=click.IntRange(1, 900),
    metavar="SECONDS",
    help="How long it may take, 1 to 900; by default 300.",
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask; needed where nobody can be asked.")
@common
def install_command(
    skill: str,
    workspace: str | None,
    agent: str | None,
    *,
    as_json: bool,
    option_id: str | None,
    listing: bool,
    dry_run: bool,
    timeout: int | None,
    yes: bool,
) -> int:
    """Install the programs that SKILL declares, by brew, npm, go, uv or a download.

    The skill is scanned first, and critical findings block. Scripts of packages do not run. All but
    brew install below the state folder; programs are linked into its tools/bin, for skills to find.

    Example: prowess install video-frames --dry-run
    """
    if not (yes or listing or dry_run or asks()):
        raise click.UsageError("Give --yes: there is no terminal to ask on")
    milliseconds = None if timeout is None else timeout * 1000
    request = InstallRequest(
        skill=skill, option_id=option_id or "", timeout_ms=milliseconds, agent_id=agent
    )
    with open_runtime(workspace) as runtime:
        service = open_installing(runtime)
        if listing:
            return _list(service, request, as_json=as_json)
        prepared = service.prepare(request)
        if isinstance(prepared, InstallResult):
            return _answered(prepared, as_json=as_json)
        if dry_run:
            return _preview(prepared, as_json=as_json)
        result = _install(service, prepared, yes=yes, as_json=as_json)
        if result.ok and not as_json:
            with _whoever_reads():
                _say_where_it_stands(runtime, prepared.skill.name, agent)
        return 0 if result.ok else _FAILED


def _install(
    service: InstallService, prepared: Prepared, *, yes: bool, as_json: bool
) -> InstallResult:
    """Ask, install, and say what came of it."""
    # Whoever is asked must see what about, also where the answer is for a program.
    live = Live(quiet=as_json and yes)
    live.tell(_shown(prepared))
    live.warn(prepared.warnings)
    if not yes and not click.confirm(_question(prepared), err=True):
        declined = InstallResult(ok=False, message="Nothing was installed.", skip_reason="declined")
        _answered(declined, as_json=as_json)
        return declined
    with live:
        result = service.carry_out(prepared, Watch(output=live.output, progress=live.progress))
    with _whoever_reads():
        _answered(result, as_json=as_json, told=len(prepared.warnings), after=live.elapsed)
    return result


@contextmanager
def _whoever_reads() -> Iterator[None]:
    """Print after the work: who stopped reading still gets the exit code of what was done."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        silence()


def _question(prepared: Prepared) -> str:
    bins = ", ".join(prepared.spec.bins) or prepared.spec.target
    if prepared.preview.url:
        return f"Install {bins} by this download?"
    first, last = prepared.preview.commands[0].argv[0], prepared.preview.commands[-1].argv[0]
    before = "" if first == last else f", and {last} itself with {first} before"
    return f"Install {bins} with {last}{before}?"


def _shown(prepared: Prepared) -> list[str]:
    """Return what would happen, line by line, as it would be typed."""
    preview = prepared.preview
    lines = [f"run: {_line(c.environment, c.argv)}" for c in preview.commands]
    if preview.url:
        lines.append(f"fetch: {preview.url}")
        lines.append(f"sha256: {prepared.spec.sha256 or 'not given'}")
    if preview.target:
        lines.append(f"into: {preview.target}")
    if preview.links:
        names = ", ".join(prepared.spec.bins) or "all that it brings"
        lines.append(f"programs: {names} in {preview.links}")
    return lines


def _line(environment: tuple[tuple[str, str], ...], argv: tuple[str, ...]) -> str:
    variables = [f"{name}={shlex.quote(value)}" for name, value in environment]
    return " ".join([*variables, shlex.join(argv)])


def _preview(prepared: Prepared, *, as_json: bool) -> int:
    if as_json:
        print_json(wire_runs.install_preview(prepared))
        return 0
    for line in _shown(prepared):
        print_text(line)
    print_text(f"time: at most {prepared.job.seconds:g} s")
    for warning in prepared.warnings:
        print_text(f"note: {warning}", "yellow")
    print_text("Nothing was installed: this was a dry run.", "dim")
    return 0


def _answered(result: InstallResult, *, as_json: bool, told: int = 0, after: str = "") -> int:
    """Print the result; the first `told` warnings were said before."""
    if as_json:
        print_json(wire_runs.install_result(result))
    elif result.ok:
        print_text(f"{result.message}{f' in {after}' if after else ''}", "green")
        for warning in result.warnings[told:]:
            print_text(f"note: {warning}", "yellow")
    else:
        print_error(result.message)
    return 0 if result.ok else _FAILED


def _say_where_it_stands(runtime: Runtime, name: str, agent: str | None) -> None:
    """Say whether the skill can be used now, or what it waits for."""
    verdict = runtime.skills.find(name, agent).verdict
    if verdict.eligible:
        print_text(f"{name} is ready.")
    else:
        print_text(f"{name} still needs {missing_text(verdict.missing)}: see `prowess why {name}`.")


def _list(service: InstallService, request: InstallRequest, *, as_json: bool) -> int:
    choices = service.options(request.skill, request.agent_id)
    if as_json:
        print_json(wire_runs.install_choices(request.skill, choices))
        return 0
    if not choices:
        print_text(f"{request.skill} declares nothing to install.")
        return 0
    columns = [Column("Id"), Column("Kind"), Column("What", flexible=True), Column("Programs")]
    columns.append(Column("Note", flexible=True))
    rows = []
    for choice in choices:
        note = "offered" if choice.offered else choice.problem
        style = "" if not choice.problem else "dim"
        texts = (choice.id, choice.kind, choice.label, ", ".join(choice.bins), note)
        rows.append([Cell(text, style) for text in texts])
    print_table(columns, rows)
    return 0
