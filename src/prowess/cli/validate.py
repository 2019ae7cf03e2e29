"""`validate`: what is wrong with skill files, and the repairs that need no judgement.

`load`: bundled skills become files of the workspace, to be edited.
"""

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from prowess.cli.render import asks, print_error, print_json, print_text
from prowess.cli.sarif import to_sarif
from prowess.cli.terminal import Common, common, json_option, workspace_option
from prowess.errors import PathError, SkillNotFoundError
from prowess.host.sources.candidates import Candidate, find_named
from prowess.host.writers.repairs import (
    Copied,
    copy_skill,
    move_text,
    refuse_links,
    rename_folder,
    replace_text,
)
from prowess.settings import SpecMode
from prowess.skills.catalog import find
from prowess.skills.model import Severity, Skill, Tier
from prowess.skills.parse import parse
from prowess.skills.validation import Repair, Report, plan
from prowess.wire import skills as wire
from prowess.wire.skills import pick
from prowess.wiring import Runtime, open_runtime
from prowess.wiring.transfer import candidates, report_on


@click.command("load")
@click.argument("names", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Copy every bundled skill.")
@click.option("-a", "--agent", metavar="ID", help="The agent whose workspace receives the copies.")
@json_option
@workspace_option
def load_command(
    names: Sequence[str],
    workspace: str | None,
    agent: str | None,
    *,
    everything: bool,
    as_json: bool,
) -> int:
    """Copy bundled skills into the workspace for editing; existing ones are left alone.

    Without NAMES and --all a terminal asks which ones.
    """
    runtime = open_runtime(workspace)
    target = runtime.skills.workspace(agent)
    if not Path(target.folder).is_dir():
        raise PathError(target.folder, "is not a folder: create the workspace first.")
    scan = target.state(runtime.skills.settings).scan
    bundled = [skill for skill in scan.skills if skill.source.tier is Tier.BUNDLED]
    chosen, unknown = _choose(bundled, names, everything=everything)
    root = Path(runtime.folders.bundled)
    done = [
        copy_skill(skill.name, Path(skill.path), root, Path(target.folder) / "skills")
        for skill in chosen
    ]
    _report(runtime, done, unknown, as_json=as_json)
    return 1 if unknown else 0


def _choose(
    bundled: Sequence[Skill], names: Sequence[str], *, everything: bool
) -> tuple[list[Skill], list[SkillNotFoundError]]:
    if everything:
        return list(bundled), []
    if not names:
        return _ask(bundled), []
    chosen: dict[str, Skill] = {}
    unknown = []
    for name in names:
        try:
            skill = find(bundled, name)
        except SkillNotFoundError as error:
            unknown.append(error)
        else:
            chosen[skill.path] = skill
    return list(chosen.values()), unknown


def _ask(bundled: Sequence[Skill]) -> list[Skill]:
    if not asks():
        raise click.UsageError(
            "Name the skills to load or give --all: there is no interactive terminal"
        )
    for number, skill in enumerate(bundled, start=1):
        print_text(f"{number:>3}  {skill.name}")
    answer: str = click.prompt(
        "Which ones (numbers or names, separated by commas, or all)", default="all"
    )
    words = answer.replace(",", " ").split()
    if [word.lower() for word in words] == ["all"]:
        return list(bundled)
    by_number = {str(number): skill for number, skill in enumerate(bundled, start=1)}
    chosen = [by_number[word] if word in by_number else find(bundled, word) for word in words]
    return list({skill.path: skill for skill in chosen}.values())


def _report(
    runtime: Runtime,
    done: Sequence[Copied],
    unknown: Sequence[SkillNotFoundError],
    *,
    as_json: bool,
) -> None:
    copied = [item for item in done if item.copied]
    skipped = [item for item in done if not item.copied]
    if as_json:
        print_json(
            {
                "selected": len(done),
                "copied": [{"name": item.name, "path": str(item.target)} for item in copied],
                "skipped": [{"name": item.name, "path": str(item.target)} for item in skipped],
                "notFound": [error.name for error in unknown],
            }
        )
        return
    for item in done:
        print_text(f"{'copied' if item.copied else 'skipped, it exists'}: {item.target}")
    for error in unknown:
        print_error(str(error))
    print_text(f"selected={len(done)} copied={len(copied)} skipped={len(skipped)}")
    if copied and runtime.skills.settings.skills.load.precedence.value == "openpocket":
        print_text("The bundled ones still win: skills.load.precedence is openpocket.", "yellow")


_CONTEXT = 3
_STYLES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "dim"}


@click.command("validate")
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--strict", is_flag=True, help="Hold files to the whole Agent Skills standard.")
@click.option(
    "--fix",
    is_flag=True,
    help="Repair quoting, names and folders, and move stand-alone texts to folders of their own;"
    " the diff is shown first.",
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
    given: Common,
    paths: Sequence[str],
    *,
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
    runtime = open_runtime(given.workspace)
    settings = runtime.skills.settings.skills
    strict = strict or settings.spec_mode is SpecMode.STRICT
    quiet = given.as_json or style != "text"
    if fix and quiet and asks() and not (yes or dry_run):
        raise click.UsageError("Give --yes or --dry-run: there is no asking beside this output")
    found = list(candidates(runtime, paths, given.agent))
    if fix:
        # Without PATHS only the workspace's own skills are changed: other folders belong to others.
        if not paths:
            found = [item for item in found if _is_own(item)]
        repaired = _Fixer(runtime, ask=not yes, write=not dry_run, quiet=quiet)
        repaired.taken = {name for item in found if (name := _name_in(item))}
        found = [fresh for item in found for fresh in repaired.fix(item)]
    reports = [report_on(item, strict=strict) for item in found]
    # Whoever reads one verdict takes it for both: what loads here may be refused elsewhere.
    standard = [
        report if strict else report_on(item, strict=True)
        for report, item in zip(reports, found, strict=True)
    ]
    _print_reports(reports, standard, "json" if given.as_json and style == "text" else style)
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
        obstacle = self._find_obstacle(Path(item.path), repair)
        if obstacle:
            print_error(f"{item.path}: not repaired, {obstacle}.")
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
        return find_named([str(path)], settings.spec_mode, settings.limits)

    def _find_obstacle(self, path: Path, repair: Repair) -> str:
        """Return why a repair is not made; empty where nothing stands in its way."""
        if repair.name in self.taken:
            return f"another skill is called {repair.name} already"
        if repair.own_folder and not _is_loose(path):
            return "only texts below a folder called skills are moved, and no files of a skill"
        return f"it {repair.obstacle}: move it yourself" if repair.obstacle else ""

    def _apply(self, path: Path, repair: Repair) -> Path:
        refuse_links(path)
        if repair.own_folder:
            backups = Path(self._runtime.folders.state) / "backups"
            new, kept = move_text(path, repair.own_folder, repair.before, repair.after, backups)
            self._say(f"moved {path} to {new} (the old text is kept in {kept})")
            return new
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


def _is_loose(path: Path) -> bool:
    """Return whether a text lies where texts are skills: not in a skill, nor among the drafts.

    A person who has a whole repository repaired must not find every page of it turned into a skill.
    """
    inner = ""
    for folder in path.parents:
        if any(entry.name.lower() == "skill.md" for entry in folder.iterdir()):
            return False
        if folder.name == "skills":
            return inner != "auto"
        inner = folder.name
    return False


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


def _print_reports(reports: Sequence[Report], standard: Sequence[Report], style: str) -> None:
    invalid = sum(not report.valid for report in reports)
    if style == "sarif":
        print_json(to_sarif(reports))
    elif style == "json":
        print_json(
            {
                "files": [
                    {
                        **pick(report, "path valid"),
                        "standard": kept.valid,
                        "diagnostics": [wire.diagnostic(found) for found in report.diagnostics],
                    }
                    for report, kept in zip(reports, standard, strict=True)
                ],
                "valid": len(reports) - invalid,
                "invalid": invalid,
                "total": len(reports),
            }
        )
    else:
        _print_text_reports(reports, standard, invalid)


def _print_text_reports(
    reports: Sequence[Report], standard: Sequence[Report], invalid: int
) -> None:
    for report, kept in zip(reports, standard, strict=True):
        print_text(
            f"{'PASS' if report.valid else 'FAIL'} {report.path}",
            "green" if report.valid else "red",
        )
        if report.valid and not kept.valid:
            errors = sum(one.severity is Severity.ERROR for one in kept.diagnostics)
            said = f"  loads here; the standard refuses it ({errors} errors with --strict)"
            print_text(said, "yellow")
        for found in report.diagnostics:
            place = "" if found.line is None else f"line {found.line}: "
            text = f"  [{found.severity.value}] {found.code}: {place}{found.message}. {found.fix}"
            print_text(text, _STYLES[found.severity])
    if not reports:
        print_text("No skill files found.", "yellow")
    print_text(f"valid={len(reports) - invalid} invalid={invalid} total={len(reports)}")
    refused = sum(not report.valid for report in standard)
    print_text(f"standard: {len(standard) - refused} pass, {refused} do not")
