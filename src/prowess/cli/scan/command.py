"""`scan`: what could harm you in skills, on their exact lines, and how well that is found."""

import sys
from collections.abc import Sequence

import click

from prowess.cli.options import common
from prowess.cli.render import ProgressBar, print_error, print_json, silence
from prowess.cli.scan.bench import Bounds, bound, run_bench
from prowess.cli.scan.report import Printer
from prowess.cli.scan.scan_accept import accept_command, accepted_command, revoke_command
from prowess.cli.scan.scan_explain import explain_command
from prowess.cli.scan.scan_review import Review, review_of
from prowess.cli.scan.scan_sarif import to_sarif
from prowess.cli.scan.scan_words import ERROR, FINDING, profile_option, target_places
from prowess.errors import ProwessError
from prowess.host.sources.skill_files import Place, read
from prowess.runtime.scan import Scanned, worst
from prowess.safety.model import Profile, ScanVerdict
from prowess.wire import safety as wire_safety
from prowess.wire.skills import error as wire_error
from prowess.wiring import Runtime, open_runtime


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
    paths: tuple[str, ...],
    workspace: str | None,
    agent: str | None,
    *,
    as_json: bool,
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
    """Look for what could harm you in the skills at PATHS, or in every skill that Prowess finds.

    A PATH is a skill's folder, a folder of skills, one file, an archive, or the name of a skill. A
    first word that is a command below runs that command: write ./explain for a folder of that name.
    Nothing that ships inside a skill switches a rule off. A clean scan is no proof.

    Exit code 0 when clean or only warned of, 1 when something is to be quarantined (with --fail-on
    warn also for warnings), 2 when a scan failed or nothing could be read: that is never clean.
    """
    _refuse(bench and (not paths or style == "sarif"), "--bench wants files, as text or JSON")
    _refuse(not bench and (baseline or least or most), "this belongs to --bench")
    style = "json" if as_json and style == "text" else style
    chosen = None if profile is None else Profile(profile)
    try:
        with open_runtime(workspace) as runtime:
            if bench:
                wanted = run_bench(runtime, paths, chosen or Profile.PACKAGE, baseline=baseline)
                return wanted.report(least, most, as_json=style == "json", verbose=verbose)
            places = target_places(runtime, paths, agent)
            printer = Printer(active=style == "text", verbose=verbose)
            found = _scan(runtime, places, chosen, printer, review_of(runtime, asked=review))
    except ProwessError as error:
        return _refused(error, as_json=style != "text")
    return _answered(found, style, fail_on)


scan_command = ScanGroup(paths_command)
for _command in (explain_command, accept_command, accepted_command, revoke_command):
    scan_command.add_command(_command)


def _refuse(is_wrong: object, problem: str) -> None:
    if is_wrong:
        raise click.UsageError(problem)


def _scan(
    runtime: Runtime,
    places: Sequence[Place],
    profile: Profile | None,
    printer: Printer,
    review: Review,
) -> list[Scanned]:
    """Show each report as it comes, below a bar that says how far it is."""
    bar, found = ProgressBar(), []
    for done, place in enumerate(places):
        bar("scanning skills", done, len(places))
        for target in read(place):
            scanned = review(runtime.scanning.scan_target(target, profile))
            bar.clear()
            printer = _told(printer, scanned)
            found.append(scanned)
    bar.clear()
    printer.summary(found)
    return found


def _told(printer: Printer, scanned: Scanned) -> Printer:
    """Show a report; who stops reading still gets the exit code of the whole scan."""
    try:
        printer.show(scanned)
        sys.stdout.flush()
    except BrokenPipeError:
        silence()
        return Printer(active=False, verbose=False)
    return printer


def _answered(found: Sequence[Scanned], style: str, fail_on: str) -> int:
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
        print_error(f"the output cannot be written: {error.strerror}.")
        return ERROR
    verdict = worst(scanned.report for scanned in found)
    if verdict is ScanVerdict.ERROR:
        return ERROR
    failing = {ScanVerdict.QUARANTINE} | ({ScanVerdict.WARN} if fail_on == "warn" else set())
    return FINDING if verdict in failing else 0


def _refused(error: ProwessError, *, as_json: bool) -> int:
    """Nothing was scanned, which must not look like a scan that found something."""
    if as_json:
        print_json(wire_error(error.code, str(error)))
    else:
        print_error(str(error))
    return ERROR
