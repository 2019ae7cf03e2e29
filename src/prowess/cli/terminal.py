"""The terminal: finds a command, runs it, and turns every failure into a sentence.

Commands are imported only when they are called, so that a quick one stays quick.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from io import TextIOWrapper
from typing import Any

import click

from prowess import __version__
from prowess.cli.main import COMMANDS
from prowess.cli.render import print_error, print_json, print_raw
from prowess.errors import ProwessError
from prowess.wire.skills import error as wire_error

# The name of a command -> the end of its module's name, one-line help; in the order of `--help`.
Table = Mapping[str, tuple[str, str]]


class LazyGroup(click.Group):
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
    args = list(argv)
    code: object = 0
    try:
        with _ended_in_order():
            code = app.main(args=args, prog_name="prowess", standalone_mode=False)
        sys.stdout.flush()
    except (click.ClickException, ProwessError) as error:
        return _refused(error, as_json=_wants_json(args))
    except (click.Abort, KeyboardInterrupt):
        print_error("stopped.")
        return _INTERRUPTED
    except OSError as error:
        # click draws a line when somebody interrupts, also where nobody can read it.
        interrupted = isinstance(error.__context__, KeyboardInterrupt)
        return _output_lost(error, _INTERRUPTED if interrupted else code)
    except SystemExit as stop:
        return _left(stop)
    # The outermost loop: whatever is left becomes a sentence, or a traceback on request.
    except Exception as error:  # noqa: BLE001
        return _internal(error)
    return code if isinstance(code, int) else 0


@contextmanager
def _ended_in_order() -> Iterator[None]:
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


def _left(stop: SystemExit) -> int:
    """Return the code of what left by itself: click for a lost pipe, or a signal."""
    if stop.code == 1:
        return _output_lost(BrokenPipeError())
    code = stop.code if isinstance(stop.code, int) else 0
    if code > _SIGNAL_BASE:
        print_error("stopped.")
    return code


def _wants_json(args: Sequence[str]) -> bool:
    """Return whether the reader is a program, also where the arguments make no sense otherwise."""
    joined = " ".join(args)
    return "--json" in args or "--format json" in joined or "--format=json" in joined


def _prepare_streams() -> None:
    """Never fail on a character that the terminal cannot show, nor on a stream that is closed."""
    if sys.stdout is None:
        # Open until the process ends, like the stream it stands for.
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _refused(error: click.ClickException | ProwessError, *, as_json: bool) -> int:
    if isinstance(error, ProwessError):
        return _failed(error, as_json=as_json)
    return _usage(error)


def _usage(error: click.ClickException) -> int:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        print_raw(error.format_message())
        return 0
    message = error.format_message().strip().replace("\n", " ")
    message += "" if message.endswith("?") else "." if not message.endswith(".") else ""
    context = getattr(error, "ctx", None)
    path = "prowess" if context is None else context.command_path
    print_error(f"{message} Try `{path} --help`.")
    return _USAGE


def _failed(error: ProwessError, *, as_json: bool) -> int:
    if as_json:
        name = getattr(error, "name", None)
        fields = {} if name is None else {"name": name}
        print_json(wire_error(error.code, str(error), **fields))
    else:
        print_error(str(error))
    return _FAILED


def _output_lost(error: OSError, code: object = 0) -> int:
    """`prowess list | head` closes the pipe early, which is fine; a full disk is not."""
    # Python would complain once more when it flushes at exit.
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
    if isinstance(error, BrokenPipeError):
        return code if isinstance(code, int) else 0
    print_error(f"the output cannot be written: {error.strerror}.")
    return _FAILED


def _internal(error: Exception) -> int:
    if os.environ.get("PROWESS_DEBUG"):
        raise error
    kind = type(error).__name__
    print_error(
        f"internal error ({kind}: {error}). Set PROWESS_DEBUG=1 for the traceback and report it."
    )
    return _INTERNAL_ERROR
