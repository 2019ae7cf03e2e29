"""`scan`: what could harm you in skills, on their exact lines, and how well that is found.

`scan accept`, `accepted` and `revoke`: the operator's own word on single findings.

`scan explain`: what a rule looks for, why it matters, and what to do about a finding.

The second look of `scan --review`: the person's own language model, and when it cannot.
"""

import difflib
import secrets
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

import click

from prowess.cli.render import (
    Cell,
    Column,
    ProgressBar,
    print_error,
    print_json,
    print_table,
    print_text,
    silence,
)
from prowess.cli.scan.report import (
    ERROR,
    FINDING,
    Bounds,
    Printer,
    bound,
    profile_option,
    run_bench,
    target_places,
    to_sarif,
)
from prowess.cli.terminal import Common, common, fail, find_near, json_option
from prowess.errors import AcceptanceError, ModelError, PathError, ProwessError, explain_failure
from prowess.host.sources.skill_files import ScanPlace, read_targets
from prowess.runtime.scan import Scanned, ScanReviewer, worst
from prowess.safety.model import Example, Profile, Rule, ScanVerdict
from prowess.safety.paths import visible
from prowess.safety.rules.table import read_examples, read_rules, read_version
from prowess.skills.text import one_line
from prowess.wire import safety as wire_safety
from prowess.wire.safety import levels
from prowess.wire.skills import error as wire_error
from prowess.wiring import Runtime, open_runtime


@click.command("accept")
@click.argument("path", type=click.Path())
@click.option("--rule", required=True, metavar="RULE", help="The rule whose finding is fine here.")
@click.option("--evidence", default="", metavar="HASH", help="Which finding, where it has several.")
@click.option("--reason", required=True, metavar="TEXT", help="Why it is fine; it is kept.")
@profile_option
@common
def accept_command(
    given: Common, path: str, *, rule: str, evidence: str, reason: str, profile: str | None
) -> int:
    """Accept one finding of RULE in the skill at PATH, as the operator.

    It holds for exactly this skill, rule, evidence and content, and this version of the scanner:
    any change makes it void. A scan that failed is never accepted. Every acceptance is logged.
    """

    def accept(runtime: Runtime) -> int:
        scanned = _pick(runtime, path, given.agent, None if profile is None else Profile(profile))
        accepted = runtime.scanning.accept(scanned, rule, reason, evidence)
        now = runtime.scanning.scan_target(scanned.target, scanned.profile).report.verdict
        if given.as_json:
            shown = [wire_safety.acceptance(one) for one in accepted]
            print_json({"accepted": shown, "verdict": now.value})
        else:
            for one in accepted:
                print_text(f"accepted {one.rule_id} in {one.skill} (evidence {one.evidence_hash})")
            print_text(f"the verdict is now {now.value}; any change of the skill makes it void.")
        return 0

    return _answer(given.workspace, accept, as_json=given.as_json)


@click.command("accepted")
@common
def accepted_command(given: Common) -> int:
    """List what the operator accepted."""

    def show(runtime: Runtime) -> int:
        found = runtime.scanning.accepted()
        if given.as_json:
            print_json({"accepted": [wire_safety.acceptance(one) for one in found]})
        elif not found:
            print_text("Nothing is accepted.")
        else:
            titles = ("Skill", "Rule", "Evidence", "When", "State")
            print_table(
                [*map(Column, titles), Column("Reason", flexible=True)],
                [
                    (
                        Cell(one.skill, "bold"),
                        Cell(one.rule_id),
                        Cell(one.evidence_hash),
                        Cell(one.accepted_at),
                        Cell("for this scanner" if one.scanner == read_version() else "void"),
                        Cell(one.reason),
                    )
                    for one in found
                ],
            )
        return 0

    return _answer(given.workspace, show, as_json=given.as_json)


@click.command("revoke")
@click.argument("skill")
@click.option("--rule", default="", metavar="RULE", help="Only what was accepted of this rule.")
@click.option("--evidence", default="", metavar="HASH", help="Only this finding.")
@common
def revoke_command(given: Common, skill: str, *, rule: str, evidence: str) -> int:
    """Take back what was accepted of SKILL, by the name that `accepted` shows."""

    def revoke(runtime: Runtime) -> int:
        taken = runtime.scanning.revoke(skill, rule, evidence)
        if given.as_json:
            print_json({"revoked": [wire_safety.acceptance(one) for one in taken]})
        else:
            for one in taken:
                print_text(f"revoked {one.rule_id} in {one.skill} (evidence {one.evidence_hash})")
        return 0

    return _answer(given.workspace, revoke, as_json=given.as_json)


def _pick(runtime: Runtime, path: str, agent: str | None, profile: Profile | None) -> Scanned:
    """Scan what must be one skill."""
    targets = [
        target for place in target_places(runtime, (path,), agent) for target in read_targets(place)
    ]
    if len(targets) != 1:
        raise AcceptanceError(path, f"holds {len(targets)} skills: give the path of one.")
    return runtime.scanning.scan_target(targets[0], profile)


def _answer(workspace: str | None, answer: Callable[[Runtime], int], *, as_json: bool) -> int:
    """Run one command; a path that cannot be read is an error, anything else a finding."""
    try:
        with open_runtime(workspace) as runtime:
            return answer(runtime)
    except ProwessError as error:
        code = FINDING if isinstance(error, AcceptanceError) else ERROR
        return fail(error, as_json=as_json, code=code)


_MOST_LINES = 12


def _complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in read_rules() if name.startswith(incomplete)]


@click.command("explain")
@click.argument("rule", required=False, shell_complete=_complete)
@json_option
def explain_command(rule: str | None, *, as_json: bool) -> int:
    """Say what RULE looks for, why, and what to do; without RULE list them all."""
    if rule is None:
        _list(as_json=as_json)
        return 0
    found = read_rules().get(rule)
    if found is None:
        return _refuse_unknown(rule, as_json=as_json)
    if as_json:
        print_json(wire_safety.rule(found))
    else:
        _print(found)
    return 0


def _refuse_unknown(name: str, *, as_json: bool) -> int:
    near = [rule for rule in read_rules() if name and name in rule][:3]
    near += [
        rule for rule in difflib.get_close_matches(name, read_rules(), n=3) if rule not in near
    ]
    hint = f"did you mean {', '.join(near)}?" if near else "`prowess scan explain` lists all."
    message = f"no rule is called {name!r}: {hint}"
    if as_json:
        print_json(wire_error("rule.not_found", message))
    else:
        print_error(message)
    return ERROR


def _list(*, as_json: bool) -> None:
    if as_json:
        print_json({"rules": [wire_safety.rule(rule) for rule in read_rules().values()]})
        return
    columns = (Column("Rule"), Column("Family"), Column("Level"), Column("Title", flexible=True))
    print_table(
        columns,
        [
            (Cell(rule.id, "bold"), Cell(rule.family), Cell(_level(rule)), Cell(rule.title))
            for rule in read_rules().values()
        ],
    )


def _level(rule: Rule) -> str:
    own = "" if rule.proposal in {None, rule.level} else f", proposal {rule.proposal}"
    return f"{rule.level.value}{own}"


def _print(rule: Rule) -> None:
    print_text(f"{rule.id}  ({rule.family})", "bold")
    print_text(f"  {rule.title}")
    found = ", ".join(f"{profile} {level}" for profile, level in levels(rule).items())
    print_text(f"  levels: {found}")
    print_text(f"  why: {rule.why}")
    print_text(f"  fix: {rule.fix}")
    if rule.references:
        print_text(f"  see: {', '.join(rule.references)}")
    known = read_examples(rule.id)
    for title, examples in (("fires on", known.fires), ("quiet on", known.quiet)):
        if examples:
            print_text(f"  {title}", "bold")
            _print_example(examples[0])


def _print_example(example: Example) -> None:
    files = {"": example} if isinstance(example, str) else dict(example)
    for path, text in files.items():
        if path:
            print_text(f"    {visible(path)}", "dim")
        lines = text.rstrip("\n").split("\n")
        for line in lines[:_MOST_LINES]:
            print_text(f"    | {visible(line)}")
        if len(lines) > _MOST_LINES:
            print_text(f"    | … {len(lines) - _MOST_LINES} lines more", "dim")


Review = Callable[[Scanned], Scanned]


def review_of(runtime: Runtime, *, asked: bool) -> Review:
    """Return the second look that was asked for, by the option or by the settings.

    Raises:
        ModelError: the option asks for a model, and none can be used.
    """
    if not asked and not runtime.skills.settings.skills.safety.review:
        return _keep
    try:
        reviewer = ScanReviewer(runtime.language_model(), lambda: secrets.token_hex(16))
    except ModelError as error:
        if asked:
            raise
        # A setting must not stop the scan that needs no model.
        _note(f"not reviewed: {error}")
        return _keep

    def look(scanned: Scanned) -> Scanned:
        outcome = reviewer.review(scanned.target.files, scanned.report, scanned.profile)
        if outcome.problem:
            _note(f"{scanned.target.name or scanned.target.path}: {outcome.problem}")
        return replace(scanned, report=outcome.report)

    return look


def _keep(scanned: Scanned) -> Scanned:
    return scanned


def _note(text: str) -> None:
    # Beside the report, never inside it: a program may be reading that.
    click.echo(f"note: {one_line(text)}", err=True)


class _Paths(click.Command):
    """The command without a name: what `prowess scan PATH` runs, and how it speaks of itself."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: object,
    ) -> click.Context:
        """Stand in the place of the group, so that messages say `prowess scan`."""
        if parent is not None:
            info_name, parent = parent.info_name, parent.parent
        return super().make_context(info_name, args, parent, **extra)


class ScanGroup(click.Group):
    """A group whose first word is a subcommand or, if it is none, the first of the paths."""

    def __init__(self, paths: click.Command) -> None:
        super().__init__("scan", help=paths.help)
        self.no_args_is_help = False
        self._paths = paths

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Send everything but a subcommand to the command that takes paths."""
        plain = args[: args.index("--")] if "--" in args else args
        if not (args and args[0] in self.commands):
            asks = any(word in ctx.help_option_names for word in plain)
            args = ["--help"] if asks else ["", *args]
        return super().parse_args(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a subcommand, or for the empty name the one that takes paths."""
        return super().get_command(ctx, cmd_name) if cmd_name else self._paths

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Show the usage of the command that takes paths."""
        return self._paths.collect_usage_pieces(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show the options of the command that takes paths, then the subcommands."""
        self._paths.format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


@click.command("paths", cls=_Paths)
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path())
@profile_option
@click.option(
    "--format",
    "style",
    type=click.Choice(["text", "json", "sarif"]),
    default="text",
    help="How to print the findings.",
)
@click.option(
    "--fail-on",
    "fail_on",
    type=click.Choice(["warn", "critical"]),
    default="critical",
    help="From which finding on the exit code is 1.",
)
@click.option("-v", "--verbose", is_flag=True, help="Show notes and every file, too.")
@click.option("--review", is_flag=True, help="Ask your language model, too: it only raises.")
@click.option("--bench", is_flag=True, help="PATHS are labelled sets (.jsonl, .jsonl.xz): measure.")
@click.option("--baseline", is_flag=True, help="With --bench: the seven first rules beside ours.")
@click.option(
    "--min", "least", multiple=True, callback=bound, metavar="[SET.]KEY=VALUE",
    help="With --bench: exit with 1 when a figure is lower, such as recall=97.",
)  # fmt: skip
@click.option(
    "--max", "most", multiple=True, callback=bound, metavar="[SET.]KEY=VALUE",
    help="With --bench: exit with 1 when a figure is higher, such as benign.false=1.",
)  # fmt: skip
@common
def paths_command(
    given: Common,
    paths: tuple[str, ...],
    *,
    profile: str | None,
    style: str,
    fail_on: str,
    verbose: bool,
    review: bool,
    bench: bool,
    baseline: bool,
    least: Bounds,
    most: Bounds,
) -> int:
    """Look for what could harm you in the skills at PATHS, or in everything that may be a skill.

    A PATH is a skill's folder, a folder of skills, one file, an archive, or the name of a skill.
    Without one, what cannot be loaded is scanned, too. A first word that is a command below runs
    that: write ./explain for a folder of that name. A clean scan is no proof.

    Exit code 0 when clean or only warned of, 1 when something is to be quarantined (with --fail-on
    warn also for warnings), 2 when a scan failed or nothing could be read: that is never clean.
    """
    _refuse(bench and (not paths or style == "sarif"), "--bench wants files, as text or JSON")
    _refuse(not bench and (baseline or least or most), "this belongs to --bench")
    style = "json" if given.as_json and style == "text" else style
    chosen = None if profile is None else Profile(profile)
    try:
        with open_runtime(given.workspace) as runtime:
            if bench:
                wanted = run_bench(runtime, paths, chosen or Profile.PACKAGE, baseline=baseline)
                return wanted.report(least, most, as_json=style == "json", verbose=verbose)
            places = target_places(runtime, paths, given.agent)
            printer = Printer(active=style == "text", verbose=verbose)
            found = _scan(runtime, places, chosen, printer, review_of(runtime, asked=review))
    except ProwessError as error:
        # Nothing was scanned, which must not look like a scan that found something.
        return fail(_name_near(error, paths), as_json=style != "text", code=ERROR)
    return _answer_command(found, style, fail_on)


scan_command = ScanGroup(paths_command)
for _command in (explain_command, accept_command, accepted_command, revoke_command):
    scan_command.add_command(_command)


def _name_near(error: ProwessError, paths: Sequence[str]) -> ProwessError:
    """Return `error`, with the command that the first word may have been meant for."""
    word = error.path if isinstance(error, PathError) else ""
    near = find_near(word, list(scan_command.commands)) if word and word == paths[0] else []
    if not near or not isinstance(error, PathError) or "/" in word:
        return error
    meant = " or ".join(f"`prowess scan {name}`" for name in near)
    return PathError(word, f"{error.problem.rstrip('?.')}; or did you mean {meant}?")


def _refuse(is_wrong: object, problem: str) -> None:
    if is_wrong:
        raise click.UsageError(problem)


def _scan(
    runtime: Runtime,
    places: Sequence[ScanPlace],
    profile: Profile | None,
    printer: Printer,
    review: Review,
) -> list[Scanned]:
    """Show each report as it comes, below a bar that says how far it is."""
    bar, found = ProgressBar(), []
    for done, place in enumerate(places):
        bar("scanning skills", done, len(places))
        for target in read_targets(place):
            scanned = review(runtime.scanning.scan_target(target, profile))
            bar.clear()
            printer = _tell(printer, scanned)
            found.append(scanned)
    bar.clear()
    printer.summary(found)
    return found


def _tell(printer: Printer, scanned: Scanned) -> Printer:
    """Show a report; who stops reading still gets the exit code of the whole scan."""
    try:
        printer.show(scanned)
        sys.stdout.flush()
    except BrokenPipeError:
        silence()
        return Printer(active=False, verbose=False)
    return printer


def _answer_command(found: Sequence[Scanned], style: str, fail_on: str) -> int:
    """Print what a program reads and return the exit code."""
    try:
        if style != "text":
            print_json(wire_safety.scans(found) if style == "json" else to_sarif(found))
        sys.stdout.flush()
    except BrokenPipeError:
        silence()
    except OSError as error:
        # A verdict that nobody could read must not look like one that somebody read.
        silence()
        print_error(f"the output cannot be written: {explain_failure(error)}.")
        return ERROR
    verdict = worst(scanned.report for scanned in found)
    if verdict is ScanVerdict.ERROR:
        return ERROR
    failing = {ScanVerdict.QUARANTINE} | ({ScanVerdict.WARN} if fail_on == "warn" else set())
    return FINDING if verdict in failing else 0
