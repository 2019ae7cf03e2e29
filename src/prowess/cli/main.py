"""The `prowess` command: hooks take a lane of their own, all other commands the terminal's.

Coding agents wait for `prowess hook` at every prompt, so nothing is imported here that it does not
need; the terminal (`prowess.cli.terminal`) is loaded for the others. `prowess mcp` answers its
first requests meanwhile.

The lane goes from standard input to standard output, and always to exit code 0. It asks a running
gateway first, and ends the process without tidying up. Whatever goes wrong, the agent goes on as if
there were no hook.
"""

import gc
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from prowess.host.harness.hook_client import HookLog, ask, current_folder, read_input, state_folder

if TYPE_CHECKING:
    # The same name again says that it is meant for others.
    from prowess.cli.terminal import app as app  # noqa: PLC0414

# name -> module beside this one, one-line help, in the order of `prowess --help`. Names and no
# imports: thirty-five functions would say the same at length. A test loads every row.
COMMANDS = {
    "list": ("list", "Show every skill and whether it is ready."),
    "show": ("list", "Show all there is to know about one skill."),
    "check": ("list", "Summarise what is ready, what is missing and what is broken."),
    "why": ("list", "Say why a skill is, or is not, visible to the agent."),
    "validate": ("validate", "Check skill files against the standard, and repair what can be."),
    "add": ("sharing.commands", "Add skills from a folder, repository, archive or registry."),
    "remove": ("sharing.commands", "Remove skills that were added, to the trash."),
    "outdated": ("sharing.commands", "Say which skills have something newer at their source."),
    "update": ("sharing.commands", "Update added skills, and keep what you edited."),
    "verify": ("sharing.commands", "Compare every file of added skills with the lock."),
    "policy": ("sharing.exchange", "Say which rule of which policy decides about a skill."),
    "audit": ("sharing.exchange", "Show and check the log of decisions about skills."),
    "lock": ("sharing.exchange", "Read and write the locks of other tools."),
    "publish": ("sharing.exchange", "Put skills into a web site for others to add."),
    "search": ("sharing.commands", "Search a registry for skills."),
    "hub": ("sharing.hub", "Run a registry of skills of your own."),
    "scan": ("scan.command", "Look for what could harm you in skills before an agent reads them."),
    "fresh": ("proof.fresh", "Say which lines of skills no longer fit the project."),
    "new": ("proof.new", "Write a skill that passes the standard, with tests of its messages."),
    "test": ("proof.test", "Test skills: files, scanner, freshness, messages and budgets."),
    "improve": ("proof.fresh", "Say what descriptions lack, and propose sentences that help."),
    "prove": ("proof.test", "Say whether an agent does better with a skill than without it."),
    "install": ("runs.install", "Install the programs that a skill needs."),
    "load": ("validate", "Copy bundled skills into the workspace for editing."),
    "prompt": ("runs.run", "Print the block that tells the agent about its skills."),
    "snapshot": ("runs.run", "Print what the agent may use, versioned and hashed."),
    "route": ("route", "Say which skills a message needs, and why, or that it needs none."),
    "why-not": ("route", "Say why a skill was not loaded for a message."),
    "commands": ("runs.run", "List the slash commands that skills give."),
    "invoke": ("runs.run", "Show what a slash command would do, without doing it."),
    "run": ("runs.run", "Run a command with the environment and the skills prompt of a run."),
    "sync": ("runs.install", "Copy skills into a sandbox, or bring them back to the lock."),
    "eval": ("evaluate", "Measure how well messages find the right skills."),
    "examples": ("route", "Teach routing how people ask for a skill."),
    "chat": ("runs.chat", "Talk to an agent that reads your skills and asks before it acts."),
    "sessions": ("learning.sessions", "Show what skills did in sessions, and which were missed."),
    "workshop": ("workshop.proposals", "Review what was learned, and turn it into skills."),
    "serve": ("serve", "Run the gateway for every client, in one process."),
    "db": ("serve", "Make, move and check the database of a fleet of gateways."),
    "experience": ("learning.experience", "Learn from what agents did: drafts and lessons."),
    "plugins": ("config", "Show plugins, and whether they are on."),
    "qa": ("learning.qa", "Run scenarios that show that learning works, end to end."),
    "connect": ("harness.connect", "Let a coding agent ask Prowess, over hooks and MCP."),
    "doctor": ("harness.connect", "Check every connection and our own parts, and say what to do."),
    "hook": ("harness.connect", "Answer a hook of a coding agent; `prowess connect` registers it."),
    "mcp": ("serve", "Serve skills to an MCP client over standard input and output."),
    "lsp": ("serve", "Serve an editor: findings, explanations and fixes while you write."),
    "export": ("harness.sharing", "Build a portable copy of a skill, or a bill of materials."),
    "budget": ("harness.sharing", "Say which descriptions a harness will show, cut or drop."),
    "migrate": ("harness.migrate", "Take over settings, skills and proposals of OpenClaw."),
    "enable": ("config", "Switch a skill on for every agent."),
    "disable": ("config", "Switch a skill off for every agent."),
    "trust": ("config", "Give a project's skill what was configured for one of your own."),
    "config": ("config", "Read and write the configuration."),
    "completion": ("config", "Print the shell completion script."),
}
_HOOK, _MCP = ["hook"], ["mcp"]

_MOST_BYTES = 1024 * 1024
# A hook that hangs must not outlive its caller for ever, where nobody says how long that waits.
_MOST_SECONDS = 20.0
# What is left of a caller's patience when the process gives up, and for its last words.
_EARLIER, _LEAST_SECONDS, _LAST_SECONDS = 0.9, 0.5, 1.6
_OUT_OF_TIME, _ENDED = "out of time", "ended by its caller"
# From which part of its time on a process that is ended has used it up.
_WHOLE = 0.9
# Which field behind the name of a process, in what Linux tells of it, says when it was started.
_STARTED = 19


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code; a hook ends the process by itself."""
    args = list(sys.argv[1:] if argv is None else argv)
    if args == _HOOK:
        if argv is None:
            # A process of its own, which this ends.
            answer_and_leave()
        return answer_call()
    if argv is None and args[:1] == _MCP:
        from prowess.cli.harness import mcp_lane

        if mcp_lane.is_wanted(args):
            with mcp_lane.greet(args[1:]):
                return _run(args)
    return _run(args)


def _run(args: Sequence[str]) -> int:
    from prowess.cli.terminal import run

    return run(args)


# Whatever the name stands for: the type checker takes the import above instead.
def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Load the terminal for whoever asks for its commands."""
    if name == "app":
        from prowess.cli.terminal import app

        return app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def answer_and_leave() -> None:
    """Answer the payload on standard input and end the process at once.

    Threads that still load something are of no use any more, and what was opened is on the disk.
    """
    gc.disable()
    # Before numpy is loaded: one message is no work to share, and threads that wait for some take
    # the processor from whoever else runs.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _call.begun = _find_begin()
    # Where all of it went before we began, there is still enough to say so.
    limit_time(max(_LEAST_SECONDS, _count_seconds()))
    _answer_quietly()
    # The caller may have gone.
    with suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
    os._exit(0)


def _count_seconds() -> float:
    """Return for how many seconds this may still go on, a little less than its caller waits."""
    given = os.environ.get("PROWESS_HOOK_SECONDS", "")
    whole = int(given) * _EARLIER if given.isdecimal() and int(given) else _MOST_SECONDS
    return whole - (time.monotonic() - _call.begun)


def answer_call() -> int:
    """Answer the payload on standard input; return the exit code, which is always zero."""
    # The process may be older than the call.
    _call.begun, _call.payload = time.monotonic(), None
    _answer_quietly()
    return 0


def _answer_quietly() -> None:
    # Whoever answers notes what went wrong; the rest is a caller that has gone, or no standard
    # input: nobody can do anything about it, and the agent must not be disturbed.
    with suppress(Exception):
        _answer_payload()


def _answer_payload() -> None:
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        return
    if sys.stdin.isatty():
        sys.stderr.write(
            "prowess hook: coding agents call this with a payload on standard input;"
            " `prowess connect` registers it.\n"
        )
        return
    raw = read_input(stream, _MOST_BYTES + 1)
    _call.payload = raw
    current = current_folder()
    state = state_folder(os.environ, current)
    if len(raw) > _MOST_BYTES:
        _note("too large")
        return
    if not raw.strip():
        return
    if _count_seconds() <= 0:
        _note(_OUT_OF_TIME)
        return
    answer = ask(state, raw, os.environ, current)
    if answer is not None:
        _show(answer.decode("ascii"))
        return
    from prowess.wiring.hook import HookPlace, answer_alone

    answer_alone(raw, os.environ, HookPlace(current, state, _call.begun), _show)


def _find_begin() -> float:
    """Return when this process was started, by the monotonic clock: its caller waits since then.

    On a machine that is busy, or has to fetch us from a slow disk, it takes long to come as far.
    """
    now = time.monotonic()
    try:
        handle = os.open("/proc/self/stat", os.O_RDONLY)
        with os.fdopen(handle, "rb") as file:
            told = file.read()
        ticks = int(told.rpartition(b")")[2].split()[_STARTED])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        # Another system, or a world whose clock is hidden: then it begins here.
        return now
    return now - age if 0 < age < _MOST_SECONDS else now


class _Call:
    """The call at hand, as whoever ends the process has to tell of it."""

    begun = time.monotonic()
    # Once it was read.
    payload: bytes | None = None


_call = _Call()


def _note(problem: str) -> None:
    """Leave a line in the log about a call that never came as far as to an answer."""
    from prowess.hooks.answers import read
    from prowess.hooks.harness import Moment

    caller = read(_read_waiting() if _call.payload is None else _call.payload, os.environ)
    ends = (Moment.TURN_END, Moment.SESSION_END)
    if problem == _ENDED and caller is not None and caller.moment in ends:
        # A program that ends takes its hooks with it, as in print mode: nothing went wrong.
        return
    log = HookLog(state_folder(os.environ, current_folder()), _call.begun)
    log.note_end(caller, problem=problem)


def _read_waiting() -> bytes:
    """Return what stands on standard input by now: time may be over before it is read."""
    import select

    return os.read(0, _MOST_BYTES) if select.select([0], [], [], 0)[0] else b""


def _show(text: str) -> None:
    # Answers are ASCII, and go out as such: no variable may make another encoding of them.
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:
        sys.stdout.write(text)
    else:
        stream.write(text.encode("ascii"))
    sys.stdout.flush()


def limit_time(seconds: float) -> None:
    """End this process, as if all were well, if it goes on for longer."""
    import signal

    if not hasattr(signal, "setitimer"):
        return
    began = time.monotonic()

    def end(number: int, _frame: object) -> None:
        # Whatever holds the process up may hold up the log as well.
        signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
        signal.setitimer(signal.ITIMER_REAL, _LAST_SECONDS)
        with suppress(Exception):
            is_early = number == signal.SIGTERM and time.monotonic() < began + _WHOLE * seconds
            _note(_ENDED if is_early else _OUT_OF_TIME)
        os._exit(0)

    signal.signal(signal.SIGALRM, end)
    signal.signal(signal.SIGTERM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
