"""`validate`: what is wrong with skill files, and the repairs that need no judgement."""

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from prowess.cli.options import common
from prowess.cli.render import asks, print_error, print_json, print_text
from prowess.cli.sarif import to_sarif
from prowess.errors import PathError
from prowess.host.sources.documents import Candidate, named
from prowess.host.writers.repairs import refuse_links, rename_folder, replace_text
from prowess.settings import SpecMode
from prowess.skills.model import Severity, Tier
from prowess.skills.parse import parse
from prowess.skills.repair import Repair, plan
from prowess.skills.text import clean
from prowess.skills.validation import Report
from prowess.wire import skills as wire
from prowess.wiring import Runtime, open_runtime
from prowess.wiring.validate import candidates, report_on

_CONTEXT = 3
_STYLES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "dim"}


@click.command("validate")
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--strict", is_flag=True, help="Hold files to the whole Agent Skills standard.")
@click.option(
    "--fix", is_flag=True, help="Repair quoting, names and folders; the diff is shown first."
)
@click.option("--dry-run", is_flag=True, help="With --fix: show the diff and write nothing.")
@click.option("-y", "--yes", is_flag=True, help="With --fix: do not ask on a terminal.")
@click.option(
    "--format",
    "style",
    type=click.Choice(["text", "json", "sarif"]),
    default="text",
    help="How to print the findings.",
)
@common
def validate_command(
    paths: Sequence[str],
    workspace: str | None,
    agent: str | None,
    *,
    as_json: bool,
    strict: bool,
    fix: bool,
    dry_run: bool,
    yes: bool,
    style: str,
) -> int:
    """Check skill files: those at PATHS, or every one that Prowess finds.

    Exit code 1 when any file has an error.
    """
    if (dry_run or yes) and not fix:
        raise click.UsageError("--dry-run and --yes belong to --fix")
    runtime = open_runtime(workspace)
    settings = runtime.skills.settings.skills
    strict = strict or settings.spec_mode is SpecMode.STRICT
    quiet = as_json or style != "text"
    if fix and quiet and asks() and not (yes or dry_run):
        raise click.UsageError("Give --yes or --dry-run: there is no asking beside this output")
    found = list(candidates(runtime, paths, agent))
    if fix:
        # Without PATHS only the workspace's own skills are changed: other folders belong to others.
        if not paths:
            found = [item for item in found if _is_own(item)]
        repaired = _Fixer(runtime, ask=not yes, write=not dry_run, quiet=quiet)
        repaired.taken = {name for item in found if (name := _name_in(item))}
        found = [fresh for item in found for fresh in repaired.fix(item)]
    reports = [report_on(item, strict=strict) for item in found]
    _print_reports(reports, "json" if as_json and style == "text" else style)
    return 0 if all(report.valid for report in reports) else 1


def _name_in(item: Candidate) -> str:
    parsed = None if item.document is None else parse(item.document, SpecMode.LEGACY)
    return "" if parsed is None or parsed.skill is None else parsed.skill.name


def _is_own(item: Candidate) -> bool:
    if item.document is None:
        return True
    source = item.document.source
    return source.tier is Tier.WORKSPACE and not source.leads_away


class _Fixer:
    """Repairs files one by one, showing each change before it is made."""

    def __init__(self, runtime: Runtime, *, ask: bool, write: bool, quiet: bool) -> None:
        self._runtime = runtime
        self._ask = ask and asks()
        self._write = write
        self._quiet = quiet
        # Names that other files of this run have: a repair must not take one away.
        self.taken: set[str] = set()

    def fix(self, item: Candidate) -> Iterable[Candidate]:
        """Return the candidate as it is after its repair."""
        repair = None if item.document is None else plan(item.document)
        if item.document is None or repair is None or not repair.needed:
            return [item]
        if repair.name in self.taken:
            print_error(
                f"{item.path}: not repaired, another skill is called {repair.name} already."
            )
            return [item]
        if not self._quiet:
            _show(item.path, repair)
        if not self._write or (self._ask and not click.confirm("Apply?", default=True)):
            return [item]
        settings = self._runtime.skills.settings.skills
        try:
            path = self._apply(Path(item.path), repair)
        except PathError as error:
            # The others can still be repaired; this one is reported as it is.
            print_error(str(error))
            return [item]
        return named([str(path)], settings.spec_mode, settings.limits)

    def _apply(self, path: Path, repair: Repair) -> Path:
        refuse_links(path)
        target = None if repair.folder is None else path.parent.with_name(repair.folder)
        if target is not None:
            _refuse_rename(path.parent, target)
        if repair.before != repair.after:
            backup = replace_text(path, repair.after, Path(self._runtime.folders.state) / "backups")
            self._say(f"repaired {path} (the old text is kept in {backup})")
        if target is not None:
            path = rename_folder(path.parent, target.name) / path.name
            self._say(f"renamed the folder to {path.parent}")
        return path

    def _say(self, text: str) -> None:
        if not self._quiet:
            print_text(text, "green")


def _refuse_rename(folder: Path, target: Path) -> None:
    if target.exists() and not target.samefile(folder):
        raise PathError(str(folder), f"cannot be renamed: {target.name} exists already.")
    here = Path.cwd()
    if folder == here or folder in here.parents or (folder / ".git").exists():
        raise PathError(
            str(folder), f"is not renamed to {target.name} from inside: do it yourself."
        )


def _show(path: str, repair: Repair) -> None:
    # A repair changes the top of a file; the rest is the same and can be very long.
    before, after = repair.before.splitlines(), repair.after.splitlines()
    while len(before) > _CONTEXT and len(after) > _CONTEXT and before[-1] == after[-1]:
        del before[-1], after[-1]
    lines = difflib.unified_diff(before, after, path, path, lineterm="", n=1)
    for line in lines:
        print_text(line, {"+": "green", "-": "red"}.get(line[:1], ""))
    for note in repair.notes:
        print_text(f"# {note}", "bold")


def _print_reports(reports: Sequence[Report], style: str) -> None:
    invalid = sum(not report.valid for report in reports)
    if style == "sarif":
        print_json(to_sarif(reports))
    elif style == "json":
        print_json(
            {
                "files": [
                    {
                        "path": clean(report.path),
                        "valid": report.valid,
                        "diagnostics": [wire.diagnostic(found) for found in report.diagnostics],
                    }
                    for report in reports
                ],
                "valid": len(reports) - invalid,
                "invalid": invalid,
                "total": len(reports),
            }
        )
    else:
        _print_text_reports(reports, invalid)


def _print_text_reports(reports: Sequence[Report], invalid: int) -> None:
    for report in reports:
        print_text(
            f"{'PASS' if report.valid else 'FAIL'} {report.path}",
            "green" if report.valid else "red",
        )
        for found in report.diagnostics:
            place = "" if found.line is None else f"line {found.line}: "
            text = f"  [{found.severity.value}] {found.code}: {place}{found.message}. {found.fix}"
            print_text(text, _STYLES[found.severity])
    if not reports:
        print_text("No skill files found.", "yellow")
    print_text(f"valid={len(reports) - invalid} invalid={invalid} total={len(reports)}")
