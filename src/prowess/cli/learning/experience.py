"""`experience list`, `promote`, `clean` and `restore`: what becomes of drafts.

`experience`: what an agent did well becomes a draft, and what it did often a proposal.

`experience build`: files of traces to drafts and proposals, with a reason for each.
"""

import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import click

from prowess.cli.render import (
    Cell,
    Column,
    ProgressBar,
    print_error,
    print_json,
    print_table,
    print_text,
    shortened,
)
from prowess.cli.terminal import Common, LazyGroup, common, complete_by
from prowess.cli.workshop.proposals import next_steps
from prowess.errors import PathError
from prowess.experience.draft import NO_TASK
from prowess.experience.redaction import remove_secrets
from prowess.host.harness.transcripts import reasons
from prowess.host.store.traces import read_trace_file, read_trace_stream, trace_files_below
from prowess.runtime.experience_drafts import (
    BuiltExperience,
    Cleaned,
    DraftOutcome,
    DraftStatus,
    ExperienceLesson,
    LessonStatus,
    RemovedDraft,
    TrashedDraft,
)
from prowess.transcripts.formats import TraceReading
from prowess.transcripts.traces import Trace, TraceShape
from prowess.wire import experience as wire_experience
from prowess.wiring import open_runtime
from prowess.wiring.workshop import open_experience

_MOST_CHARS = 60


_complete = complete_by(
    lambda runtime, agent: (
        one.id for one in open_experience(runtime).list(agent_id=agent or "").known
    )
)


@click.command("list")
@common
def list_command(given: Common) -> int:
    """List the drafts of the workspace, newest first.

    Example: prowess experience list --json
    """
    with open_runtime(given.workspace) as runtime:
        found = open_experience(runtime).list(agent_id=given.agent_id)
    if given.as_json:
        print_json(wire_experience.drafts(found))
        return 0
    if not found.known:
        print_text("No drafts: `prowess experience build TRACE` makes some.")
    else:
        columns = (
            Column("ID"),
            Column("Task", flexible=True),
            Column("Confidence"),
            Column("Fingerprint"),
        )
        rows = [
            (
                Cell(one.id),
                Cell(shortened(one.facts.task or NO_TASK, _MOST_CHARS)),
                Cell(f"{one.facts.confidence}{' (edited)' if one.edited else ''}"),
                Cell(one.facts.behaviour, "dim"),
            )
            for one in found.known
        ]
        print_table(columns, rows)
        next_steps(["`prowess experience promote ID` turns one that you have read into a skill."])
    for problem in found.problems:
        print_text(problem, "yellow")
    return 0


@click.command("promote")
@click.argument("draft_id", metavar="ID", shell_complete=_complete)
@click.option("--name", metavar="NAME", help="What the skill shall be called.")
@click.option("--dry-run", is_flag=True, help="Say what would be written and keep nothing.")
@common
def promote_command(given: Common, draft_id: str, *, name: str | None, dry_run: bool) -> int:
    """Turn the draft ID into a skill of the workspace, which models may then choose.

    It is scanned again. The draft goes to the trash; `prowess workshop rollback` takes the skill
    back, `prowess experience restore` brings back the draft.

    Example: prowess experience promote 20260101-101500-open-mail --name open-mail
    """
    with open_runtime(given.workspace) as runtime:
        done = open_experience(runtime).promote(
            draft_id, name=name, agent_id=given.agent_id, dry_run=dry_run
        )
    if given.as_json:
        print_json(wire_experience.promoted(done))
        return 0
    word = "would promote" if done.dry_run else "promoted"
    print_text(f"{word}: {done.draft} -> {done.skill}", "green")
    print_text(f"  {done.path}", "dim")
    if done.proposal is not None:
        steps = [f"`prowess workshop rollback {done.proposal.id}` takes it back."]
        if done.trash:
            steps.append(f"`prowess experience restore {done.trash}` brings back the draft.")
        next_steps(steps)
    return 0


@click.command("clean")
@click.option("--dry-run", is_flag=True, help="Say what would go and move nothing.")
@common
def clean_command(given: Common, *, dry_run: bool) -> int:
    """Move drafts that are not needed any more to the trash.

    These are copies of other drafts, drafts whose goal has become a skill, and replay scripts
    without a draft. What you edited stays.

    Example: prowess experience clean --dry-run
    """
    with open_runtime(given.workspace) as runtime:
        done = open_experience(runtime).clean(agent_id=given.agent_id, dry_run=dry_run)
    if given.as_json:
        print_json(wire_experience.cleaned(done))
    else:
        _print_cleaned(done)
    return 0


def _print_cleaned(done: Cleaned) -> None:
    gone: list[RemovedDraft] = [*done.drafts, *done.scripts]
    if not gone:
        print_text("Nothing to clean.")
        return
    for one in gone:
        print_text(f"{'would remove' if done.dry_run else 'removed'}: {one.path}")
        print_text(f"  {one.why}{f'  [{one.trash}]' if one.trash else ''}", "dim")
    if done.dry_run:
        print_text("Nothing was moved: this was a dry run.", "dim")
    else:
        next_steps(["`prowess experience restore` and the code in brackets brings one back."])


@click.command("restore")
@click.argument("trash_id", metavar="[CODE]", required=False)
@common
def restore_command(given: Common, trash_id: str | None) -> int:
    """Bring back the draft that went to the trash under CODE, over nothing.

    Without CODE, list what is in the trash.

    Example: prowess experience restore 202601011015-0a1b2c3d4e5f
    """
    with open_runtime(given.workspace) as runtime:
        service = open_experience(runtime)
        if trash_id is None:
            trashed = service.trashed(agent_id=given.agent_id)
            if given.as_json:
                print_json(wire_experience.trashed(trashed))
            else:
                _print_trash(trashed)
            return 0
        path = service.restore(trash_id, agent_id=given.agent_id)
    if given.as_json:
        print_json({"path": path})
    else:
        print_text(f"restored: {path}", "green")
    return 0


def _print_trash(trashed: Sequence[TrashedDraft]) -> None:
    if not trashed:
        print_text("No draft is in the trash.")
        return
    columns = (Column("Code"), Column("Removed"), Column("What", flexible=True))
    rows = [
        (
            Cell(one.id),
            Cell(time.strftime("%Y-%m-%d %H:%M", time.localtime(one.removed_at)), "dim"),
            Cell(f"{one.path}{' and its replay' if one.has_script else ''}"),
        )
        for one in trashed
    ]
    print_table(columns, rows)
    next_steps(["`prowess experience restore CODE` brings one back."])


# name -> module, one-line help. The order is that of `prowess experience --help`.
_COMMANDS = {
    "build": ("learning.experience", "Make drafts and lessons of traces."),
    "list": ("learning.experience", "List the drafts that wait for you."),
    "promote": ("learning.experience", "Turn a draft that you have read into a skill."),
    "clean": ("learning.experience", "Move drafts that are not needed any more to the trash."),
    "restore": ("learning.experience", "Bring back what was replaced, promoted or cleaned away."),
}


@click.group("experience", cls=LazyGroup, table=_COMMANDS)
def experience_command() -> None:
    """Learn from what agents did: traces, sessions and transcripts.

    A task that went well becomes a draft under skills/auto with a replay script, which no model
    sees until you promote it. Three or more runs of one goal become one proposal in the workshop.

    Example: prowess experience build ~/.claude/projects/my-app --dry-run
    """


_STYLES = {
    DraftStatus.WRITTEN: "green",
    DraftStatus.REPLACED: "green",
    DraftStatus.UNCHANGED: "dim",
    DraftStatus.REFUSED: "bold red",
    DraftStatus.WOULD_WRITE: "green",
}
_LESSON_STYLES = {
    LessonStatus.PROPOSED: "green",
    LessonStatus.WOULD_PROPOSE: "green",
    LessonStatus.KNOWN: "dim",
    LessonStatus.OFF: "yellow",
    LessonStatus.REFUSED: "bold red",
}
_MOST_SHOWN, _MOST_NAMED = 100, 20


@dataclass(slots=True)
class _Heap:
    """What was read from all files."""

    traces: list[Trace] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    problems: list[PathError] = field(default_factory=list)

    def add(self, reading: TraceReading) -> None:
        # Whatever is shown of a trace, no secret in it is.
        self.traces += [remove_secrets(trace) for trace in reading.traces]
        self.skipped.update(reading.skipped)


@click.command("build")
@click.argument("paths", nargs=-1, required=True, metavar="TRACE...", type=click.Path())
@click.option(
    "--format",
    "shape",
    type=click.Choice(["auto", *(shape.value for shape in TraceShape)]),
    default="auto",
    show_default=True,
    help="How the traces are written down.",
)
@click.option("--again", is_flag=True, help="Draft also what was seen before.")
@click.option("--dry-run", is_flag=True, help="Say what would be written and keep nothing.")
@common
def build_command(
    given: Common, *, paths: Sequence[str], shape: str, again: bool, dry_run: bool
) -> int:
    """Make a draft of each task in TRACE that went well, and lessons of those done often.

    TRACE is a file of JSON or JSON lines, a session of OpenPocket, a transcript of Claude Code or
    Codex, a folder of these, or `-` for standard input. Drafts lie under skills/auto of the
    workspace, replay scripts under scripts/auto; a script does nothing without --execute. What the
    scanner refuses is not written.

    Exit code 0 when something was learned or is known, 1 when nothing could be or a TRACE cannot
    be read; the others are built all the same.

    Example: prowess experience build session.jsonl --dry-run
    """
    heap = _read(paths, None if shape == "auto" else TraceShape(shape))
    with open_runtime(given.workspace) as runtime:
        service = open_experience(runtime)
        bar = ProgressBar()
        built = service.build(
            heap.traces, agent_id=given.agent_id, again=again, dry_run=dry_run, progress=bar
        )
        bar.clear()
    if given.as_json:
        shown = wire_experience.built(built, heap.traces, heap.skipped, dry_run=dry_run)
        print_json({**shown, "problems": [str(problem) for problem in heap.problems]})
    else:
        _print(heap, built, dry_run=dry_run)
    return _code(heap, built)


def _read(paths: Iterable[str], shape: TraceShape | None) -> _Heap:
    """Read every file; one that cannot be read does not keep the others from being read.

    Raises:
        PathError: there is only one, and it cannot be read.
    """
    heap, read = _Heap(), 0
    files = [file for path in paths for file in _files(path, heap)]
    bar = ProgressBar()
    for done, file in enumerate(files):
        bar("reading", done, len(files))
        try:
            heap.add(_read_traces(file, shape))
            read += 1
        except PathError as error:
            heap.problems.append(error)
    bar.clear()
    if len(heap.problems) == 1 and not read:
        raise heap.problems[0]
    return heap


def _files(path: str, heap: _Heap) -> Sequence[str]:
    if path == "-":
        return (path,)
    try:
        return trace_files_below(path)
    except PathError as error:
        heap.problems.append(error)
        return ()


def _read_traces(path: str, shape: TraceShape | None) -> TraceReading:
    if path != "-":
        return read_trace_file(path, shape)
    if sys.stdin is None or sys.stdin.isatty():
        raise click.UsageError("`-` reads standard input, and there is none")
    return read_trace_stream(sys.stdin.buffer, "standard input", shape)


def _code(heap: _Heap, built: BuiltExperience) -> int:
    learned = any(one.status is not DraftStatus.REFUSED for one in built.drafts)
    return 0 if learned and not heap.problems else 1


def _print(heap: _Heap, built: BuiltExperience, *, dry_run: bool) -> None:
    for problem in heap.problems:
        print_error(str(problem))
    good = sum(trace.ok and bool(trace.steps) for trace in heap.traces)
    print_text(f"traces: {len(heap.traces)}, of which {good} went well and have steps")
    if heap.skipped:
        print_text(f"left out: {reasons(heap.skipped)}", "yellow")
    _print_passed_over([trace for trace in heap.traces if not (trace.ok and trace.steps)])
    if not heap.traces and not heap.problems:
        kinds = "a trace, a session of OpenPocket, or a transcript of Claude Code or Codex"
        next_steps([f"No task was found. Give {kinds}; `--format` says which one it is."])
    if not built.enabled:
        print_text("Nothing was learned: experience.enabled is false.", "yellow")
        next_steps(["`prowess config set experience.enabled true` switches it on."])
        return
    for outcome in built.drafts:
        _print_draft(outcome)
    for lesson in built.lessons:
        _print_lesson(lesson)
    _print_end(built, dry_run=dry_run)


def _print_passed_over(traces: Sequence[Trace]) -> None:
    for trace in traces[:_MOST_NAMED]:
        why = trace.problem or ("it did not go well" if trace.steps else "it has no steps")
        print_text(f"  passed over: {shortened(trace.task or NO_TASK, _MOST_SHOWN)} ({why})", "dim")
    if len(traces) > _MOST_NAMED:
        print_text(f"  passed over: {len(traces) - _MOST_NAMED} more (--json names them)", "dim")


def _print_draft(one: DraftOutcome) -> None:
    where = one.path or one.id
    text = f"{one.status.value}: {where or shortened(one.trace.task or NO_TASK, _MOST_SHOWN)}"
    print_text(text, _STYLES[one.status])
    if one.script:
        print_text(f"  replay: {one.script}", "dim")
    elif one.status is DraftStatus.WOULD_WRITE and not one.reason:
        print_text("  replay: none, since no step can be repeated", "dim")
    if one.replaced:
        print_text(f"  in place of {', '.join(one.replaced)}", "dim")
    if one.reason:
        print_text(f"  {one.reason}", "dim")


def _print_lesson(one: ExperienceLesson) -> None:
    count = len(one.aligned.traces)
    text = f"{one.status.value}: skill {one.name}, learned from {count} runs"
    print_text(text, _LESSON_STYLES[one.status])
    for parameter in one.aligned.parameters:
        examples = ", ".join(parameter.examples[:3])
        about = shortened(parameter.about, _MOST_SHOWN)
        shown = shortened(examples, _MOST_SHOWN)
        print_text(f"  {{{parameter.name}}}: {about} ({shown})", "dim")
    if one.reason:
        print_text(f"  {one.reason}", "dim")


def _print_end(built: BuiltExperience, *, dry_run: bool) -> None:
    if dry_run:
        print_text("Nothing was kept: this was a dry run.", "dim")
        return
    steps = []
    if any(one.status in {DraftStatus.WRITTEN, DraftStatus.REPLACED} for one in built.drafts):
        steps.append("Read a draft, then `prowess experience promote ID` makes it a skill.")
    if any(one.status is LessonStatus.PROPOSED for one in built.lessons):
        steps.append("`prowess workshop list` shows what waits for your yes.")
    if steps:
        next_steps(steps)
