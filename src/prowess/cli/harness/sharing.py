"""`export`: one skill as a strict, portable build, with a word on what each harness ignores.

`budget`: which descriptions a harness will show its model, and how to have all of them shown.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import click

from prowess import __version__
from prowess.cli.render import (
    Cell,
    Column,
    count_up,
    print_error,
    print_json,
    print_table,
    print_text,
)
from prowess.cli.terminal import Common, NearChoice, common, complete_skill
from prowess.runtime.harness.budget import BudgetReport, HarnessBudget
from prowess.runtime.harness.export import ExportReport, ExportRequest, Placed
from prowess.sharing.lock import CYCLONEDX, SPDX, Lock, make_cyclonedx, make_spdx
from prowess.skills.harness.listings import Fate, ListedSkill
from prowess.skills.harness.portable import HarnessNote, Weight
from prowess.skills.harness.rules import ALIASES, Reader, read_rules, reader_named, why_hidden
from prowess.skills.model import Severity, Skill
from prowess.wire import sharing as wire_sharing
from prowess.wiring import in_project, open_runtime
from prowess.wiring.sharing import open_folders
from prowess.wiring.transfer import open_budgets, open_exporting

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
@click.argument("name", required=False, shell_complete=complete_skill)
@click.option(
    "--for",
    "target",
    type=NearChoice(_TARGETS),
    default=wire_sharing.EVERYBODY,
    show_default=True,
    help="Whose reader it is for; `standard` reports on all of them.",
)
@click.option("--to", "folder", metavar="DIR", help="Write it as a folder below DIR.")
@click.option("--zip", "archive", metavar="FILE", help="Write it as one .skill file.")
@click.option("--force", is_flag=True, help="Replace a skill of that name that is there already.")
@click.option(
    "--sbom",
    type=click.Choice((CYCLONEDX, SPDX)),
    help="Print a bill of materials of all locked skills; takes no NAME.",
)
@common
def export_command(
    given: Common,
    name: str | None,
    *,
    target: str,
    folder: str | None,
    archive: str | None,
    force: bool,
    sbom: str | None,
) -> int:
    """Build the skill NAME as every strict reader takes it, and say what each harness ignores.

    Only the six keys of the standard are left at the top; everything else stands under metadata as
    plain text. Hidden files stay behind; what the scanner finds critical, and a secret in any file,
    is refused. Without --to and --zip nothing is written: the report is all you get.

    With --sbom and no NAME, all locked skills are printed as CycloneDX 1.6 or SPDX 2.3.

    Example: prowess export deploy --for claude --to ~/.claude/skills

    Exit code 0 when the build is fine, 1 when it was refused or something was in the way.
    """
    if sbom is not None:
        if name or folder or archive:
            raise click.UsageError("--sbom takes neither NAME nor a place: it prints all skills")
        return _print_sbom(given, sbom)
    if name is None:
        raise click.UsageError("give the NAME of a skill, or --sbom")
    _check_place(folder, archive, force=force)
    reader = None if target == wire_sharing.EVERYBODY else reader_named(target)
    request = ExportRequest(
        name=name, reader=reader, folder=folder or "", archive=archive or "", force=force
    )
    return _export(given, replace(request, agent_id=given.agent))


def _export(given: Common, request: ExportRequest) -> int:
    with open_runtime(given.workspace) as runtime:
        report = open_exporting(runtime).export(request)
    if given.as_json:
        print_json(wire_sharing.export_report(report, request.reader))
    else:
        _print_export(report)
    return 1 if report.refusal else 0


def _print_sbom(given: Common, kind: str) -> int:
    with open_runtime(given.workspace) as runtime:
        folders = open_folders(runtime, given.agent)
        lock = Lock()
        for folder in folders.values():
            for name, entry in folder.read_lock().skills.items():
                lock = lock if name in lock.skills else lock.put(name, entry)
        stamp = runtime.environ.get("SOURCE_DATE_EPOCH", "")
    if not folders:
        raise click.UsageError("there is no prowess.lock: `prowess add SOURCE` makes one")
    made = datetime.fromtimestamp(int(stamp), UTC) if stamp.isdigit() else datetime.now(UTC)
    created = made.strftime("%Y-%m-%dT%H:%M:%SZ")
    print_json(
        make_cyclonedx(lock, __version__)
        if kind == CYCLONEDX
        else make_spdx(lock, __version__, created)
    )
    return 0


def _check_place(folder: str | None, archive: str | None, *, force: bool) -> None:
    if folder is not None and archive is not None:
        raise click.UsageError("--to and --zip do not go together: give one of them")
    if force and folder is None and archive is None:
        raise click.UsageError("--force belongs to --to or --zip")
    if "" in (folder, archive):
        raise click.UsageError("--to and --zip need a path")


def _print_export(report: ExportReport) -> None:
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
    what = f"{report.name} ({count_up(len(report.files or {}), 'file')})"
    if report.placed is not None:
        print_text(f"{what} {_DONE[report.placed]} {report.written_to}.")
    else:
        print_text(f"{what} is strict and portable.")
        print_text("Nothing was written: give --to DIR or --zip FILE.skill.")


def _print_changes(report: ExportReport) -> None:
    """Print what was said in other words, one line for all that share one fate."""
    subjects: dict[str, list[str]] = {}
    for change in report.changes:
        subjects.setdefault(change.detail, []).append(change.subject)
    for detail, names in subjects.items():
        print_text(f"changed  {', '.join(names)}: {detail}.")


def _print_notes(reader: Reader, notes: tuple[HarnessNote, ...]) -> None:
    rules = read_rules()[reader]
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


_NAMES = (*(reader.value for reader in Reader), *ALIASES)
_FATE_STYLES = {Fate.SHOWN: "", Fate.CUT: "yellow", Fate.NAME_ONLY: "red", Fate.DROPPED: "red"}
_WORDS = {
    Fate.SHOWN: "shown",
    Fate.CUT: "cut",
    Fate.NAME_ONLY: "name only",
    Fate.DROPPED: "dropped",
}
_MOST_STEPS = 10


@click.command("budget")
@click.option(
    "--harness",
    type=NearChoice(_NAMES),
    metavar="NAME",
    help=f"One of {', '.join(reader.value for reader in Reader)}; by default all of them.",
)
@click.option(
    "--window",
    type=click.IntRange(1, 100_000_000),
    metavar="TOKENS",
    help="The window of the model; by default what the harness assumes.",
)
@click.option(
    "--every-skill", is_flag=True, help="As if every usable skill lay where the harness reads."
)
@common
def budget_command(
    given: Common, *, harness: str | None, window: int | None, every_skill: bool
) -> int:
    """Say which descriptions each harness will show its model, cut or drop, and the cheapest fix.

    Harnesses give the list of skills a small share of the window and shorten it without a word.
    What is listed here is what lies in the folders that each of them reads.

    Example: prowess budget --harness claude-code --window 200000

    Exit code 0 when every description is shown, 1 when some are not.
    """
    reader = None if harness is None else reader_named(harness)
    with in_project(open_runtime(given.workspace)) as runtime:
        report = open_budgets(runtime).report(given.agent, reader, window, everywhere=every_skill)
    if given.as_json:
        print_json(wire_sharing.budget_report(report))
    else:
        _print_budgets(report, detailed=reader is not None)
    return 0 if report.is_whole else 1


def _print_budgets(report: BudgetReport, *, detailed: bool) -> None:
    if not detailed:
        _print_overview(report.harnesses)
    for harness in report.harnesses:
        if detailed or not harness.is_whole:
            _print_harness(harness, detailed=detailed)
    if not detailed and report.is_whole:
        print_text("Every description is shown. Give --harness NAME for the list of one of them.")


def _print_overview(harnesses: Sequence[HarnessBudget]) -> None:
    columns = ("Harness", "Skills", *(_WORDS[fate].capitalize() for fate in Fate), "Used", "Limit")
    print_table(
        (*(Column(title) for title in columns), Column("Tokens")),
        [
            (
                Cell(harness.reader.value),
                Cell(str(len(harness.entries))),
                *(_count_fate(harness, fate) for fate in Fate),
                Cell(f"{harness.used:,}"),
                Cell("unknown" if harness.limit is None else f"{harness.limit:,} {harness.unit}"),
                Cell(f"~{harness.tokens:,}"),
            )
            for harness in harnesses
        ],
    )


def _count_fate(harness: HarnessBudget, fate: Fate) -> Cell:
    count = harness.count(fate)
    return Cell(str(count), _FATE_STYLES[fate] if count else "")


def _print_harness(harness: HarnessBudget, *, detailed: bool) -> None:
    print_text()
    limit = "no known limit" if harness.limit is None else f"of {harness.limit:,} {harness.unit}"
    room = f"{harness.used:,} {limit} ({harness.limit_from}), about {harness.tokens:,} tokens"
    print_text(f"{harness.title}: {count_up(len(harness.entries), 'skill')}, {room}", "bold")
    shown = [
        (place, entry)
        for place, entry in enumerate(harness.entries, start=1)
        if detailed or entry.fate is not Fate.SHOWN
    ]
    most = len(shown) if detailed else _MOST_STEPS
    if shown:
        _print_entries(shown[:most])
    if shown[most:]:
        print_text(f"... and {len(shown) - most} more: --harness {harness.reader.value}", "dim")
    whys = [why_hidden(read_rules()[harness.reader], skill) for skill in harness.hidden]
    for why in dict.fromkeys(whys):
        kept = [skill for skill, own in zip(harness.hidden, whys, strict=True) if own == why]
        print_text(f"Kept from the model by {why}: {_names(kept)}.", "dim")
    if harness.elsewhere:
        _print_elsewhere(harness)
    _print_fix(harness)
    if detailed:
        for note in harness.notes:
            print_text(note, "dim")


def _print_elsewhere(harness: HarnessBudget) -> None:
    (project, personal), skills = harness.places, count_up(harness.elsewhere, "skill")
    print_text(
        f"{harness.title} does not look where {skills} of yours can be found:"
        f" use {project} or {personal}, or count everything with --every-skill.",
        "dim",
    )


def _print_entries(entries: Sequence[tuple[int, ListedSkill]]) -> None:
    print_table(
        (
            Column("No."),
            Column("Skill"),
            Column("Description"),
            Column("Characters"),
            Column("Location", flexible=True),
        ),
        [
            (
                Cell(str(place)),
                Cell(entry.skill.name),
                Cell(_WORDS[entry.fate], _FATE_STYLES[entry.fate]),
                Cell(_size(entry)),
                Cell(entry.skill.path),
            )
            for place, entry in entries
        ],
    )


def _size(entry: ListedSkill) -> str:
    return str(entry.whole) if entry.fate is Fate.SHOWN else f"{entry.shown} of {entry.whole}"


def _print_fix(harness: HarnessBudget) -> None:
    fix = harness.fix
    if harness.is_whole:
        return
    print_text("Cheapest fix:", "bold")
    for step in fix.shorten[:_MOST_STEPS]:
        print_text(f"  shorten {step.skill.name} by {step.by} characters, to {step.to}")
    if len(fix.shorten) > _MOST_STEPS:
        rest = fix.shorten[_MOST_STEPS:]
        print_text(f"  and {len(rest)} more, each to {rest[0].to} (--json lists them)")
    if fix.hide:
        print_text(f"  hide {_names(fix.hide)}: {harness.how_to_hide}")
    if not fix.enough:
        print_text("  not one skill fits this limit", "red")
    if harness.how_to_raise:
        print_text(f"  or {harness.how_to_raise}")


def _names(skills: Sequence[Skill]) -> str:
    names = [skill.name for skill in skills]
    more = f" and {len(names) - _MOST_STEPS} more" if len(names) > _MOST_STEPS else ""
    return ", ".join(names[:_MOST_STEPS]) + more
