"""The terminal: finds a command, runs it, and turns every failure into a sentence.

What commands share is here as well: their options, and how a message is given to one.

Commands are imported only when they are called, so that a quick one stays quick.
"""

import codecs
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple

import click

from prowess import __version__
from prowess.cli.main import COMMANDS
from prowess.cli.render import ProgressBar, print_error, print_json, print_raw, silence
from prowess.data import read_table
from prowess.errors import ProwessError, explain_failure
from prowess.runtime.ports import show_progress
from prowess.wire.skills import error as wire_error

if TYPE_CHECKING:
    from prowess.wiring import Runtime

# The name of a command -> the end of its module's name, one-line help; in the order of `--help`.
Table = Mapping[str, tuple[str, str]]
_FOREIGN = "cli/foreign.toml"
_MOST, _CUTOFF = 3, 0.6
# The group in which other programs keep what stands at the top here.
_GROUPS = ("skills", "skill")


class NearChoice(click.Choice[str]):
    """A choice of names that says which one is near to a word that is none of them."""

    def get_invalid_choice_message(self, value: object, ctx: click.Context | None) -> str:
        """Return the sentence for a word that is no choice."""
        near = find_near(str(value).casefold(), [str(one) for one in self.choices])
        meant = f"; did you mean {' or '.join(near)}?" if near else ""
        return super().get_invalid_choice_message(value, ctx).removesuffix(".") + (meant or ".")


class CommandGroup(click.Group):
    """A group that says what was meant by a word that is none of its commands."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which one is near."""
        if args[0].startswith("-") or ctx.resilient_parsing or self.get_command(ctx, args[0]):
            return super().resolve_command(ctx, args)
        raise click.UsageError(_describe_unknown(ctx, args), ctx)


class LazyGroup(CommandGroup):
    """A group that knows its commands by name and loads them on demand."""

    # What else click hands to a group is click's.
    def __init__(self, *args: Any, table: Table, **attributes: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **attributes)
        self._table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names without loading anything."""
        del ctx
        return list(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load the module of one command."""
        del ctx
        if cmd_name not in self._table:
            return None
        module = import_module(f".{self._table[cmd_name][0]}", __package__)
        command: click.Command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table, without loading them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self._table.items()])


# Our own marks, as wide where a stream knows only ASCII.
_PLAIN = str.maketrans("✓✗△⏸✎…→", "+x!-~~>", "\ufe0f") | {ord("🚫"): "--", ord("✅"): "ok"}
_INTERRUPTED, _INTERNAL_ERROR, _USAGE, _FAILED = 130, 70, 2, 1
_SIGNAL_BASE = 128
# What a supervisor, a shell that logs out or a terminal that closes sends.
_ORDERLY = ("SIGTERM", "SIGHUP")


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 fine, 1 a finding or something not found, 2 wrong usage.",
)
@click.version_option(__version__, "-V", "--version", prog_name="prowess")
def app() -> None:
    """Find skills, say which are ready and why the others are not, and tell the agent.

    Skills are folders with a SKILL.md. Prowess reads those of the workspace, of your home folder
    and of every harness you have, and bundles a few of its own. Start with `prowess list`.
    """


def run(argv: Sequence[str]) -> int:
    """Run the terminal and return the exit code."""
    _prepare_streams()
    show_progress.set(ProgressBar())
    args = _use_our_names(argv)
    code: object = 0
    try:
        with _end_in_order():
            code = app.main(args=args, prog_name="prowess", standalone_mode=False)
        sys.stdout.flush()
    except (click.ClickException, ProwessError) as error:
        return _refuse(error, as_json=_wants_json(args))
    except (click.Abort, KeyboardInterrupt):
        print_error("stopped.")
        return _INTERRUPTED
    except OSError as error:
        # click draws a line when somebody interrupts, also where nobody can read it.
        interrupted = isinstance(error.__context__, KeyboardInterrupt)
        return _output_lost(error, _INTERRUPTED if interrupted else code)
    except SystemExit as stop:
        return _leave(stop)
    # The outermost loop: whatever is left becomes a sentence, or a traceback on request.
    except Exception as error:  # noqa: BLE001
        return _fail_inside(error)
    return code if isinstance(code, int) else 0


def _use_our_names(argv: Sequence[str]) -> list[str]:
    """Return the arguments, with our name for a command that is called otherwise elsewhere."""
    if not argv or argv[0] in COMMANDS or argv[0].startswith("-"):
        return list(argv)
    args = _translate_foreign(argv)
    if args[0] in COMMANDS and argv[0] != "help":
        typed = " ".join(argv[: len(argv) - len(args) + 1] or argv[:1])
        print_error(f"`prowess {typed}` is `prowess {args[0]}` here.")
    return args


def _translate_foreign(args: Sequence[str]) -> list[str]:
    """Return the arguments of a command under our name for it, as far as there is one."""
    table = read_table(_FOREIGN)
    if args[0] == "help":
        return [*args[1:], "--help"]
    if " ".join(args[:2]) in table["other"]:
        return list(args)
    words = list(args)
    if words[0] in _GROUPS:
        words = words[1:] if len(words) > 1 and not words[1].startswith("-") else ["ls", *words[1:]]
    needless = table["without"].get(words[0])
    return [table["same"].get(words[0], words[0]), *(one for one in words[1:] if one != needless)]


def _describe_unknown(ctx: click.Context, typed: Sequence[str]) -> str:
    """Return the sentence for a command that the group of this context has not."""
    other = read_table(_FOREIGN)["other"] if ctx.parent is None else {}
    for name in (" ".join(typed[:2]), typed[0]):
        if name in other:
            return f"There is no `{ctx.command_path} {name}` here: {other[name]}"
    word = typed[0].casefold()
    near = list(_find_near(ctx, word)) or list(_find_elsewhere(ctx, word))
    meant = " or ".join(f"`{name}`" for name in near[:_MOST])
    return f"No such command '{typed[0]}'" + (f": did you mean {meant}?" if meant else "")


def find_near(word: str, names: Sequence[str]) -> list[str]:
    """Return the commands that whoever typed `word` may have meant, the nearest first."""
    import difflib

    alike = difflib.get_close_matches(word, names, n=_MOST, cutoff=_CUTOFF)
    # Half a name is like no whole one, yet it is what people type first.
    begun = [name for name in names if len(word) > 1 and name.startswith(word)]
    return list(dict.fromkeys(alike + begun))


def _find_near(ctx: click.Context, word: str) -> Iterator[str]:
    group = ctx.command
    if isinstance(group, click.Group):
        names = group.list_commands(ctx)
        # What is understood at the top may be mistyped as well.
        if ctx.parent is None:
            names = [*names, *_GROUPS, *read_table(_FOREIGN)["same"]]
        for name in find_near(word, names):
            yield f"{ctx.command_path} {name}"


def _find_elsewhere(ctx: click.Context, word: str) -> Iterator[str]:
    """Yield the commands of this name in other groups."""
    root = ctx.find_root()
    if not isinstance(root.command, click.Group):
        return
    for name in root.command.list_commands(root):
        if name == word:
            yield f"{root.command_path} {name}"
        group = root.command.get_command(root, name)
        if isinstance(group, click.Group) and word in group.list_commands(root):
            yield f"{root.command_path} {name} {word}"


@contextmanager
def _end_in_order() -> Iterator[None]:
    """Have a signal that ends us unwind everything first: children end, half-made things go.

    The second one ends us at once. A signal that is ignored (nohup) or taken by somebody else stays
    so, and `prowess run` takes them all while its command runs.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in _ORDERLY if hasattr(signal, name)]
    mine = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]

    def leave(number: int, _frame: object) -> None:
        for one in mine:
            signal.signal(one, signal.SIG_DFL)
        raise SystemExit(_SIGNAL_BASE + number)

    for number in mine:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in mine:
            signal.signal(number, signal.SIG_DFL)


def _leave(stop: SystemExit) -> int:
    """Return the code of what left by itself: click for a lost pipe, or a signal."""
    if stop.code == 1:
        return _output_lost(BrokenPipeError())
    code = stop.code if isinstance(stop.code, int) else 0
    if code > _SIGNAL_BASE:
        print_error("stopped.")
    return code


def _wants_json(args: Sequence[str]) -> bool:
    """Return whether the reader is a program, also where the arguments make no sense otherwise."""
    # What stands behind `--` is for somebody else.
    args = args[: args.index("--")] if "--" in args else args
    joined = " ".join(args)
    return "--json" in args or "--format json" in joined or "--format=json" in joined


def _prepare_streams() -> None:
    """Never fail on a character that the terminal cannot show, nor on a stream that is closed."""
    codecs.register_error("prowess", _write_plainly)
    if sys.stdout is None:
        silence()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="prowess")


def _write_plainly(error: UnicodeError) -> tuple[str, int]:
    """Return what stands for characters that a stream cannot write."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end].translate(_PLAIN)
    return lost.encode("ascii", "backslashreplace").decode("ascii"), error.end


def _refuse(error: click.ClickException | ProwessError, *, as_json: bool) -> int:
    if isinstance(error, ProwessError):
        return fail(error, as_json=as_json)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        print_raw(error.format_message())
        return 0
    message = error.format_message().strip().replace("\n", " ")
    message += "" if message.endswith("?") else "." if not message.endswith(".") else ""
    context = getattr(error, "ctx", None)
    path = "prowess" if context is None else context.command_path
    message = f"{message} Try `{path} --help`."
    # Whoever wrote the program has to read it too.
    print_error(message)
    if as_json:
        print_json(wire_error("usage", message))
    return _USAGE


def fail(error: ProwessError, *, as_json: bool, code: int = _FAILED) -> int:
    """Say what went wrong to whoever reads it, and return an exit code."""
    if as_json:
        name = getattr(error, "name", None)
        fields = {} if name is None else {"name": name}
        print_json(wire_error(error.code, str(error), **fields))
    else:
        print_error(str(error))
    return code


def _output_lost(error: OSError, code: object = 0) -> int:
    """`prowess list | head` closes the pipe early, which is fine; a full disk is not."""
    # Python would complain once more when it flushes at exit.
    silence()
    if isinstance(error, BrokenPipeError):
        return code if isinstance(code, int) else 0
    print_error(f"the output cannot be written: {explain_failure(error)}.")
    return _FAILED


def _fail_inside(error: Exception) -> int:
    if os.environ.get("PROWESS_DEBUG"):
        raise error
    kind = type(error).__name__
    print_error(
        f"internal error ({kind}: {error}). Set PROWESS_DEBUG=1 for the traceback and report it."
    )
    return _INTERNAL_ERROR


_SAFE = re.compile(r"[\w@+][\w@+.:-]*")
_MAX_STDIN_BYTES = 16_000_000


class Common(NamedTuple):
    """What --workspace, --agent and --json say."""

    workspace: str | None
    agent: str | None
    as_json: bool

    @property
    def agent_id(self) -> str:
        """The agent; empty for the default one."""
        return self.agent or ""


def common(function: Callable[Concatenate[Common, ...], int]) -> Callable[..., int]:
    """Add --workspace, --agent and --json, which come as one argument before all others."""

    @wraps(function)
    # Whatever click hands on.
    def call(*, workspace: str | None, agent: str | None, as_json: bool, **rest: Any) -> int:  # noqa: ANN401
        return function(Common(workspace, agent, as_json), **rest)

    for option in (
        json_option,
        click.option(
            "-a",
            "--agent",
            metavar="ID",
            help="The agent to answer for; by default the default one.",
        ),
        workspace_option,
    ):
        call = option(call)
    return call


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for a program.")
workspace_option = click.option(
    "-w",
    "--workspace",
    metavar="DIR",
    type=click.Path(),
    help="The folder to work in; by default the agent's, else the current one.",
)


_LOG_OPTIONS = (
    click.option(
        "--log-format",
        type=click.Choice(("text", "json")),
        default="text",
        show_default=True,
        help="How a line of the log looks.",
    ),
    click.option(
        "--log-level",
        type=click.Choice(("debug", "info", "warning", "error")),
        default="info",
        show_default=True,
        help="From which weight on events are logged.",
    ),
)


def log_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add --log-level and --log-format to what runs until it is stopped."""
    for option in _LOG_OPTIONS:
        function = option(function)
    return function


message_argument = click.argument("message", nargs=-1, metavar="MESSAGE...")


def message_of(words: Sequence[str]) -> str:
    """Return the message: the words given, or standard input for `-` and where there are none.

    Raises:
        click.UsageError: there is no message at all.
    """
    if words and tuple(words) != ("-",):
        return " ".join(words)
    if sys.stdin is None or (not words and sys.stdin.isatty()):
        raise click.UsageError("give a message, or `-` to read it from standard input")
    # Bytes that are no text must not stop a hook: they are replaced.
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        return sys.stdin.read(_MAX_STDIN_BYTES)
    raw: bytes = stream.read(_MAX_STDIN_BYTES)
    return raw.decode("utf-8", errors="replace")


def index_first(runtime: "Runtime", agent: str | None) -> None:
    """Index with a bar, so that no answer takes long without a word."""
    with ProgressBar() as bar:
        runtime.routing.index(agent, bar)


def complete_by(
    find: "Callable[[Runtime, str | None], Iterable[str]]",
) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return what completes a word by the names that a runtime knows for an agent."""

    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
        from prowess.wiring.library import HOOK, open_runtime

        try:
            # Nobody who presses a key waits for scans.
            with open_runtime(ctx.params.get("workspace"), patience=HOOK) as runtime:
                names = list(find(runtime, ctx.params.get("agent")))
        except ProwessError:
            # A person is typing: the command itself will say what is wrong.
            return []
        # A shell runs what it completes: a name that is more than a word is not offered.
        return [name for name in names if name.startswith(incomplete) and _SAFE.fullmatch(name)]

    return complete


complete_skill = complete_by(
    lambda runtime, agent: (row.skill.name for row in runtime.skills.status(agent).skills)
)
