"""`export`: one skill as a strict, portable build, with a word on what each harness ignores."""

import click

from prowess.cli.options import common, complete_skill
from prowess.cli.render import print_error, print_json, print_text
from prowess.runtime.harness.export import ExportReport, ExportRequest, Placed
from prowess.skills.harness.portability import Note, Weight
from prowess.skills.harness.rules import RULES, Reader, reader_named
from prowess.skills.model import Severity
from prowess.wire import sharing as wire_sharing
from prowess.wiring import open_runtime
from prowess.wiring.exporting import open_exporting

_TARGETS = (
    "claude",
    *(reader.value for reader in Reader if reader is not Reader.PROWESS),
    wire_sharing.EVERYBODY,
)
_STYLES = {Weight.LOST: "yellow", Weight.IGNORED: "dim", Weight.UNKNOWN: "dim"}
_SEVERITIES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "dim"}
_DONE = {
    Placed.ADDED: "was written to",
    Placed.REPLACED: "replaced what was in",
    Placed.UNCHANGED: "is up to date in",
}


@click.command("export")
@click.argument("name", shell_complete=complete_skill)
@click.option(
    "--for",
    "target",
    type=click.Choice(_TARGETS),
    default=wire_sharing.EVERYBODY,
    show_default=True,
    help="Whose reader it is for; `standard` reports on all of them.",
)
@click.option("--to", "folder", metavar="DIR", help="Write it as a folder below DIR.")
@click.option("--zip", "archive", metavar="FILE", help="Write it as one .skill file.")
@click.option("--force", is_flag=True, help="Replace a skill of that name that is there already.")
@common
def export_command(
    name: str,
    workspace: str | None,
    agent: str | None,
    *,
    target: str,
    folder: str | None,
    archive: str | None,
    force: bool,
    as_json: bool,
) -> int:
    """Build the skill NAME as every strict reader takes it, and say what each harness ignores.

    Only the six keys of the standard are left at the top; everything else stands under metadata as
    plain text. Hidden files stay behind; what the scanner finds critical, and a secret in any file,
    is refused. Without --to and --zip nothing is written: the report is all you get.

    Example: prowess export deploy --for claude --to ~/.claude/skills

    Exit code 0 when the build is fine, 1 when it was refused or something was in the way.
    """
    _check_place(folder, archive, force=force)
    reader = None if target == wire_sharing.EVERYBODY else reader_named(target)
    request = ExportRequest(
        name=name,
        reader=reader,
        folder=folder or "",
        archive=archive or "",
        force=force,
        agent_id=agent,
    )
    with open_runtime(workspace) as runtime:
        report = open_exporting(runtime).export(request)
    if as_json:
        print_json(wire_sharing.export_report(report, reader))
    else:
        _print_report(report)
    return 1 if report.refusal else 0


def _check_place(folder: str | None, archive: str | None, *, force: bool) -> None:
    if folder is not None and archive is not None:
        raise click.UsageError("--to and --zip do not go together: give one of them")
    if force and folder is None and archive is None:
        raise click.UsageError("--force belongs to --to or --zip")
    if "" in (folder, archive):
        raise click.UsageError("--to and --zip need a path")


def _print_report(report: ExportReport) -> None:
    if report.refusal:
        # Whoever gets nothing need not know what others would make of it.
        print_error(report.refusal)
        return
    _print_changes(report)
    for left in report.left_out:
        print_text(f"left out {left.path}: {left.reason}.", "yellow")
    for found in report.diagnostics:
        print_text(f"note     {found.message}. {found.fix}", _SEVERITIES[found.severity])
    for doubt in report.doubts:
        print_text(
            f"found    {doubt.rule_id} in {doubt.file}:{doubt.line}: {doubt.message}", "yellow"
        )
    for reader, notes in (report.notes or {}).items():
        _print_notes(reader, notes)
    if report.placed is not None:
        print_text(f"{report.name} ({_count(report)}) {_DONE[report.placed]} {report.written_to}.")
    else:
        print_text(f"{report.name} ({_count(report)}) is strict and portable.")
        print_text("Nothing was written: give --to DIR or --zip FILE.skill.")


def _count(report: ExportReport) -> str:
    count = len(report.files or {})
    return f"{count} file{'' if count == 1 else 's'}"


def _print_changes(report: ExportReport) -> None:
    """Print what was said in other words, one line for all that share one fate."""
    subjects: dict[str, list[str]] = {}
    for change in report.changes:
        subjects.setdefault(change.detail, []).append(change.subject)
    for detail, names in subjects.items():
        print_text(f"changed  {', '.join(names)}: {detail}.")


def _print_notes(reader: Reader, notes: tuple[Note, ...]) -> None:
    rules = RULES[reader]
    print_text(f"{rules.title} (put it into {rules.places[0]} or {rules.places[1]})", "bold")
    grouped: dict[tuple[Weight, str], list[str]] = {}
    for note in notes:
        grouped.setdefault((note.weight, note.detail), []).append(note.subject)
    for (weight, detail), subjects in grouped.items():
        print_text(f"  {weight.value:<8} {', '.join(subjects)}: {detail}.", _STYLES[weight])
    if not notes:
        print_text("  reads all of it.")
    if rules.remark:
        print_text(f"  {rules.remark}", "dim")
