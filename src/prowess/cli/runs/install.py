"""`install` and `sync`: the programs that a skill needs, and its files in a sandbox.

A program's output comes in pieces that end anywhere, also in the middle of an escape sequence, so
only whole lines are cleaned and shown. Where nobody reads them any more, the install goes on.
"""

import os
import shlex
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Self

import click

from prowess.cli.render import (
    Cell,
    Column,
    ProgressBar,
    asks,
    print_error,
    print_json,
    print_table,
    print_text,
    silence,
    silence_errors,
)
from prowess.cli.terminal import Common, common, complete_skill
from prowess.runtime.install import (
    InstallReport,
    InstallRequest,
    InstallService,
    PreparedInstall,
    Watch,
)
from prowess.runtime.sharing.sync import SyncAction, SyncReport, SyncRequest, SyncStep
from prowess.skills.eligibility import missing_text
from prowess.skills.text import clean, one_line
from prowess.wire import runs as wire_runs
from prowess.wiring import Runtime, open_runtime
from prowess.wiring.transfer import open_installing, open_syncing

_MIB = 1 << 20
_BAR, _EVERY_S, _MOST_LINE, _REMEMBERED = 30, 0.1, 4000, 50


class Live:
    """Shows the output of programs and the progress of downloads; `quiet` shows nothing."""

    def __init__(self, *, quiet: bool) -> None:
        self._stream = None if quiet else sys.stderr
        self._is_terminal = self._stream is not None and self._stream.isatty()
        self._pending = {"stdout": "", "stderr": ""}
        self._started = self._drawn_at = time.monotonic()
        self._drawn = False
        # What was shown last, so that an error need not say it again.
        self._said = deque[str](maxlen=_REMEMBERED)

    @property
    def elapsed(self) -> str:
        """How long it has taken."""
        return f"{time.monotonic() - self._started:.1f} s"

    def tell(self, lines: Iterable[str]) -> None:
        """Show lines of our own."""
        for line in lines:
            self._write(one_line(line), "")

    def warn(self, warnings: Iterable[str]) -> None:
        """Show what should be known before."""
        for warning in warnings:
            self._write(f"note: {one_line(warning)}", "33")

    def output(self, stream: str, text: str) -> None:
        """Take a piece of a program's output, and show the lines that are whole."""
        *lines, rest = (self._pending[stream] + text).replace("\r", "\n").split("\n")
        # A program that never ends its line is shown all the same.
        if len(rest) > _MOST_LINE:
            lines, rest = [*lines, rest], ""
        self._pending[stream] = rest
        for line in lines:
            self._show(line)

    def leave_out_shown(self, message: str) -> str:
        """Return `message` without the lines of the program that stand above it already."""
        start, colon, quoted = message.partition(": ")
        shown = any(quoted.endswith(line) for line in self._said)
        return f"{start}{colon}its own words are above." if shown else message

    def progress(self, done: int, total: int | None) -> None:
        """Draw how much has arrived."""
        now = time.monotonic()
        if not self._is_terminal or (now - self._drawn_at < _EVERY_S and done != total):
            return
        self._drawn_at = now
        size = f"{done / _MIB:.1f}"
        if total:
            filled = min(_BAR * done // total, _BAR)
            bar = "#" * filled + "-" * (_BAR - filled)
            size = f"[{bar}] {size}/{total / _MIB:.1f}"
        self._draw(f"\r\x1b[Kdownloading {size} MiB, {self.elapsed} ")
        self._drawn = True

    def __enter__(self) -> Self:
        self._started = self._drawn_at = time.monotonic()
        return self

    def __exit__(self, *_problem: object) -> None:
        for stream, rest in self._pending.items():
            self._pending[stream] = ""
            self._show(rest)
        if self._drawn:
            self._draw("\r\x1b[K")
            self._drawn = False

    def _show(self, line: str) -> None:
        text = clean(line).rstrip()
        if text and self._stream is not None:
            self._said.append(one_line(text))
            self._write(text, "2")

    def _write(self, text: str, code: str) -> None:
        plain = not code or not self._is_terminal or os.environ.get("NO_COLOR")
        self._draw(f"{text}\n" if plain else f"\x1b[{code}m{text}\x1b[0m\n")

    def _draw(self, text: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._stream = None
            silence_errors()


_FAILED = 1
_NO_SKILL = "skill-not-found"


def _require_id(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    """Refuse an id that is empty: it would mean what is offered."""
    if value is not None and not value.strip():
        raise click.BadParameter("needs an id: --list shows them")
    return value


@click.command("install")
@click.argument("skill", shell_complete=complete_skill)
@click.option(
    "--option", "option_id", metavar="ID", callback=_require_id, help="Another way than offered."
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
    given: Common,
    skill: str,
    *,
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
    milliseconds = None if timeout is None else timeout * 1000
    request = InstallRequest(
        skill=skill, option_id=option_id or "", timeout_ms=milliseconds, agent_id=given.agent
    )
    with open_runtime(given.workspace) as runtime:
        service = open_installing(runtime)
        if listing:
            return _list(service, request, as_json=given.as_json)
        prepared = service.prepare(request)
        if isinstance(prepared, InstallReport):
            return _answer(prepared, as_json=given.as_json)
        if dry_run:
            return _preview(prepared, as_json=given.as_json)
        if not (yes or asks()):
            raise click.UsageError("Give --yes: there is no terminal to ask on")
        result = _install(service, prepared, yes=yes, as_json=given.as_json)
        if result.ok and not given.as_json:
            with _whoever_reads():
                _say_where_it_stands(runtime, prepared.skill.name, given.agent)
        return 0 if result.ok else _FAILED


def _install(
    service: InstallService, prepared: PreparedInstall, *, yes: bool, as_json: bool
) -> InstallReport:
    """Ask, install, and say what came of it."""
    # Whoever is asked must see what about, also where the answer is for a program.
    live = Live(quiet=as_json and yes)
    live.tell(_list_actions(prepared))
    live.warn(prepared.warnings)
    if not yes and not click.confirm(one_line(_question(prepared)), err=True):
        declined = InstallReport(ok=False, message="Nothing was installed.", skip_reason="declined")
        _answer(declined, as_json=as_json)
        return declined
    with live:
        result = service.carry_out(prepared, Watch(output=live.output, progress=live.progress))
    if not (result.ok or as_json):
        result = replace(result, message=live.leave_out_shown(result.message))
    with _whoever_reads():
        _answer(result, as_json=as_json, told=len(prepared.warnings), after=live.elapsed)
    return result


@contextmanager
def _whoever_reads() -> Iterator[None]:
    """Print after the work: who stopped reading still gets the exit code of what was done."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        silence()


def _question(prepared: PreparedInstall) -> str:
    bins = ", ".join(prepared.spec.bins) or prepared.spec.target
    if prepared.preview.url:
        return f"Install {bins} by this download?"
    first, last = prepared.preview.commands[0].argv[0], prepared.preview.commands[-1].argv[0]
    before = "" if first == last else f", and {last} itself with {first} before"
    return f"Install {bins} with {last}{before}?"


def _list_actions(prepared: PreparedInstall) -> list[str]:
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


def _preview(prepared: PreparedInstall, *, as_json: bool) -> int:
    if as_json:
        print_json(wire_runs.install_preview(prepared))
        return 0
    for line in _list_actions(prepared):
        print_text(line)
    print_text(f"time: at most {prepared.job.seconds:g} s")
    for warning in prepared.warnings:
        print_text(f"note: {warning}", "yellow")
    print_text("Nothing was installed: this was a dry run.", "dim")
    return 0


def _answer(result: InstallReport, *, as_json: bool, told: int = 0, after: str = "") -> int:
    """Print the result; the first `told` warnings were said before."""
    if as_json:
        print_json(wire_runs.install_result(result))
    elif result.ok:
        print_text(f"{result.message}{f' in {after}' if after else ''}", "green")
        for warning in result.warnings[told:]:
            print_text(f"note: {warning}", "yellow")
    else:
        # People who come from a registry mean the skill itself.
        is_unknown = result.skip_reason == _NO_SKILL
        more = " To add a skill, run `prowess add SOURCE`." if is_unknown else ""
        print_error(f"{result.message}{more}")
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


_STYLES = {
    SyncAction.ADD: "green",
    SyncAction.UPDATE: "green",
    SyncAction.REMOVE: "yellow",
    SyncAction.CONFLICT: "red",
    SyncAction.REFUSED: "red",
    SyncAction.SKIPPED: "dim",
    SyncAction.KEEP: "dim",
}
_COUNTED = (
    (SyncAction.ADD, "added"),
    (SyncAction.UPDATE, "updated"),
    (SyncAction.REMOVE, "removed"),
    (SyncAction.KEEP, "unchanged"),
    (SyncAction.CONFLICT, "conflicts"),
    (SyncAction.REFUSED, "refused"),
    (SyncAction.SKIPPED, "skipped"),
)


@click.command("sync")
@click.argument("target", type=click.Path(), required=False)
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
@click.option(
    "--force",
    is_flag=True,
    help="Replace copies that were changed since; the changed ones are kept in .prowess-kept.",
)
@click.option("--frozen", is_flag=True, help="Bring skills back to prowess.lock; takes no TARGET.")
@click.option("--check", is_flag=True, help="With --frozen: change nothing, say what differs.")
@click.option("--prune", is_flag=True, help="With --frozen: what was added and left the lock goes.")
@click.option("--adopt", is_flag=True, help="With --frozen: take what is in no lock into it.")
@common
def sync_command(
    given: Common,
    target: str | None,
    *,
    dry_run: bool,
    force: bool,
    frozen: bool,
    **frozen_options: bool,
) -> int:
    """Copy the agent's usable skills into TARGET/skills, for a sandbox to read.

    Each skill is a folder named after its own folder. Links, .git and node_modules stay behind, and
    what the scanner finds critical is refused. Only what sync wrote is ever replaced or removed.

    With --frozen and no TARGET, skills that were added are brought back to what prowess.lock says,
    from what is kept on this machine or else from their sources; the lock stays as it is.

    Example: prowess sync ./sandbox --dry-run

    Exit code 0 when the copy is complete, 1 when something was in the way or was refused.
    """
    if frozen:
        from prowess.cli.sharing.commands import bring_back
        from prowess.runtime.sharing.update import FrozenRequest

        if target is not None:
            raise click.UsageError("--frozen takes no TARGET: it works where the lock is")
        frozen_options["check"] |= dry_run
        return bring_back(given, FrozenRequest(force=force, **frozen_options))
    if target is None or any(frozen_options.values()):
        raise click.UsageError("give a TARGET, or --frozen for the skills of prowess.lock")
    request = SyncRequest(target=target, agent_id=given.agent, dry_run=dry_run, force=force)
    with open_runtime(given.workspace) as runtime, ProgressBar() as bar:
        busy = "another sync is at work on this target: waiting for it."
        report = open_syncing(runtime, waiting=lambda: print_error(busy)).sync(request, bar)
    if given.as_json:
        print_json(wire_runs.sync_report(report))
    else:
        _print_report(report)
    return 0 if report.is_clean else 1


def _print_report(report: SyncReport) -> None:
    rows = [step for step in report.steps if report.dry_run or step.action is not SyncAction.KEEP]
    if rows:
        _print_steps(rows)
    for warning in report.warnings:
        print_text(f"! {warning.skill}: {warning.path} {warning.reason}: left out.", "yellow")
    counts = ", ".join(
        f"{len(report.of(action))} {word}" for action, word in _COUNTED if report.of(action)
    )
    print_text(f"{report.target}/skills: {counts or 'no skills to copy'}.")
    if report.dry_run:
        print_text("This was a dry run: nothing was written.")
    elif not report.changes_anything:
        print_text("Nothing was written." if not report.is_clean else "Everything is up to date.")


def _print_steps(steps: Sequence[SyncStep]) -> None:
    print_table(
        (Column("Action"), Column("Folder"), Column("Skill"), Column("Note", flexible=True)),
        [
            (
                Cell(step.action.value, _STYLES[step.action]),
                Cell(step.folder or "-"),
                Cell(step.skill),
                Cell(_note(step)),
            )
            for step in steps
        ],
    )


def _note(step: SyncStep) -> str:
    if step.kept_at:
        return f"the changed version is in {step.kept_at}"
    return step.reason or step.source
