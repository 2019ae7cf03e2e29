"""`chat`: a small agent that routes to skills, reads them, and asks before it acts.

One event loop serves the whole chat; between turns it stands still while a person types. Ctrl-C
stops a turn and never the chat. Where nobody can be asked, commands are denied.
"""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import aclosing, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from prowess.cli.render import asks
from prowess.cli.terminal import Common, common, index_first
from prowess.wiring import open_runtime

if TYPE_CHECKING:
    from prowess.agents.events import ApprovalAsked
    from prowess.cli.runs.chat_screen import Screen
    from prowess.wiring.run import Chat

_MOST_LINE_BYTES, _MOST_HISTORY = 1_000_000, 500
_HISTORY_FILE = "chat_history"
_PROMPT, _QUESTION = "you> ", "Run it? [y]es, [n]o, [a]lways this very command: "
# What a supervisor, or a terminal that closes, sends; and what its number is added to.
_ENDING, _SIGNAL_BASE = ("SIGTERM", "SIGHUP"), 128
_MOST_SIGNALS, _MOST_KNOCKS, _KNOCK_S = 64, 100, 0.05
_CHANGE_QUESTION = "Change it? [y]es, [n]o: "
_EPILOG = (
    "Examples: prowess chat --model anthropic:claude-sonnet-4-5; prowess chat --once 'Summarise the"
    " open pull requests'; prowess chat --model script:answers.jsonl"
)


@click.command("chat", epilog=_EPILOG)
@click.option(
    "-M",
    "--model",
    default="",
    metavar="PROVIDER:NAME",
    help="The model to talk to; by default $PROWESS_MODEL, else the one of `skills.model`.",
)
@click.option("--session", default="", metavar="ID", help="Continue the session ID, or begin it.")
@click.option("--new", is_flag=True, help="Begin a new conversation.")
@click.option("-m", "--once", metavar="MESSAGE", help="One message and its answer, then the end.")
@common
def chat_command(given: Common, *, model: str, session: str, new: bool, once: str | None) -> int:
    """Talk to an agent that routes to your skills, reads them and asks before it acts.

    The model is any that pydantic-ai knows, an OpenAI-compatible endpoint (`skills.model`), or a
    script: `--model script:FILE`, where FILE holds answers as JSON lines such as
    {"when": "words of the message", "text": "Hello", "tools": [{"name": "read_skill", "arguments":
    {"name": "x"}}]}. A terminal continues the last conversation of the workspace; --once and a pipe
    begin one. In a pipe standard output has the model's text alone. Nothing is sent but to the
    model; a model that is silent for $PROWESS_MODEL_TIMEOUT seconds (120) is given up.
    """
    from prowess.cli.runs.chat_screen import JsonScreen, TextScreen
    from prowess.wiring.run import ChatRequest, open_chat

    alone = once is not None or given.as_json or not asks()
    wanted = ChatRequest(
        model=model, agent_id=given.agent, session_id=session, new=new or (alone and not session)
    )
    with open_runtime(given.workspace) as runtime:
        chat = open_chat(runtime, wanted)
        screen = JsonScreen() if given.as_json else TextScreen()
        index_first(runtime, chat.agent_id)
        with asyncio.Runner() as runner:
            talk = _Talk(chat, screen, runner)
            with talk.open():
                if once is not None:
                    return talk.one(once)
                return talk.many(person=asks() and not given.as_json)


class _Talk:
    """A person, or a program, and the agent."""

    def __init__(self, chat: "Chat", screen: "Screen", runner: asyncio.Runner) -> None:
        self._chat, self._screen, self._runner = chat, screen, runner
        # Whether a person stopped the last turn.
        self._stopped = False
        from prowess.cli.runs.chat_screen import ChatCommands, Leave, Taken

        self._commands = ChatCommands(chat, screen)
        self._leave = Leave
        self._answered, self._for_agent = Taken.ANSWERED, Taken.FOR_AGENT

    @contextmanager
    def open(self) -> Iterator[None]:
        """Hold the model's connections until the chat is over."""
        agent = self._chat.agent
        self._runner.run(agent.__aenter__())
        try:
            yield
        finally:
            self._runner.run(agent.__aexit__(None, None, None))

    def one(self, message: str) -> int:
        """Answer one message and return the exit code."""
        if not message.strip():
            raise click.UsageError("--once needs a message")
        ok = self._take(message)
        if self._stopped:
            raise KeyboardInterrupt
        return 0 if ok else 1

    def many(self, *, person: bool) -> int:
        """Answer messages until there are no more, from a person or from a program."""
        if person:
            agent = self._chat.agent
            turns = len(agent.conversation.turns)
            kept = f" ({turns} turns so far; /new begins anew)" if turns else ""
            self._screen.note(f"{agent.model_name}, session {agent.conversation.session_id}{kept}")
            self._screen.note("/help shows the commands, Ctrl-D leaves.")
        ok = True
        with suppress(self._leave), _history(self._chat, person=person):
            for line in _read_typed(self._screen) if person else _read_piped():
                if line.strip():
                    ok = self._take_whatever(line) if person else self.one(line) == 0
        # A person has seen what went wrong; a program has only the code.
        return 0 if ok or person else 1

    def _take(self, line: str) -> bool:
        """Answer one line, whoever it is for; False where that failed."""
        taken = self._commands.take(line)
        if taken is not self._for_agent:
            return taken is self._answered
        return self._runner.run(self._turn(line.strip()))

    def _take_whatever(self, line: str) -> bool:
        """Answer one line; a Ctrl-C that comes between two steps does not end the chat either."""
        try:
            return self._take(line)
        except KeyboardInterrupt:
            self._screen.note("[stopped]", "warning")
            return False

    async def _turn(self, message: str) -> bool:
        from prowess.agents import events

        ok = self._stopped = False
        with _interrupts(self._chat):
            async with aclosing(self._chat.agent.turn(message)) as turn:
                async for event in turn:
                    self._screen.show(event)
                    if isinstance(event, events.ApprovalAsked):
                        self._ask(event)
                    elif isinstance(event, events.Interrupted):
                        self._stopped = True
                    elif isinstance(event, events.TurnEnded):
                        ok = event.ok
        return ok

    def _ask(self, question: "ApprovalAsked") -> None:
        """Ask the person at the terminal; where there is none, nothing is answered, which is no."""
        from prowess.cli.runs import chat_screen as screens

        is_text = isinstance(self._screen, screens.TextScreen)
        if not (is_text and asks() and screens.can_judge(question)):
            return
        with _allow_interrupts(self._chat):
            try:
                _forget_typed()
                asked = _QUESTION if question.tool == "shell" else _CHANGE_QUESTION
                question.answer(screens.choice_of(_read_line(asked)))
            except EOFError:
                self._screen.note("no")
            except KeyboardInterrupt:
                self._chat.agent.interrupt()


@contextmanager
def _interrupts(chat: "Chat") -> Iterator[None]:
    """Let Ctrl-C stop the turn alone, and a signal that ends us stop the turn first."""
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in _numbers()}
    ending: list[int] = []

    def end(number: int) -> None:
        ending.append(number)
        chat.agent.interrupt()

    # Elsewhere than in a main thread on a Unix, the runner's own way to stop is left in place.
    with suppress(NotImplementedError, RuntimeError, ValueError):
        loop.add_signal_handler(signal.SIGINT, chat.agent.interrupt)
        for number, handler in before.items():
            # One that is ignored (nohup) stays so.
            if callable(handler):
                loop.add_signal_handler(number, end, number)
    try:
        yield
    finally:
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.remove_signal_handler(signal.SIGINT)
            for number, handler in before.items():
                if loop.remove_signal_handler(number):
                    signal.signal(number, handler)
    if ending:
        # The turn is over and kept: now whoever ends the program hears of it.
        signal.raise_signal(ending[0])


def _numbers() -> list[int]:
    return [getattr(signal, name) for name in _ENDING if hasattr(signal, name)]


@contextmanager
def _allow_interrupts(chat: "Chat") -> Iterator[None]:
    """Let Ctrl-C, or a signal that ends us, end a question while the event loop stands still."""
    loop = asyncio.get_running_loop()
    taken = {number: signal.getsignal(number) for number in _numbers()}
    with suppress(NotImplementedError, RuntimeError, ValueError):
        loop.remove_signal_handler(signal.SIGINT)
        for number, handler in taken.items():
            if callable(handler):
                signal.signal(number, _leave)
    try:
        yield
    finally:
        with suppress(NotImplementedError, RuntimeError, ValueError):
            for number, handler in taken.items():
                signal.signal(number, handler)
            loop.add_signal_handler(signal.SIGINT, chat.agent.interrupt)


def _leave(number: int, _frame: object) -> None:
    raise SystemExit(_SIGNAL_BASE + number)


def _read_line(prompt: str) -> str:
    """Return what a person types; a signal ends the wait, whenever it comes.

    One that comes after the prompt was drawn and before the terminal is waited for is noted by the
    system and wakes nobody: a thread hears of it, and interrupts the wait until that is over.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not (is_main and hasattr(signal, "pthread_kill")):
        return input(prompt)
    heard, told = os.pipe()
    os.set_blocking(told, False)
    over = threading.Event()
    thread = threading.Thread(target=_wake, args=(heard, over, threading.get_ident()), daemon=True)
    knock = signal.signal(signal.SIGURG, lambda *_: None)
    before = signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    try:
        thread.start()
        return input(prompt)
    finally:
        over.set()
        signal.set_wakeup_fd(before)
        os.close(told)
        thread.join()
        os.close(heard)
        signal.signal(signal.SIGURG, knock)


def _wake(heard: int, over: threading.Event, waiting: int) -> None:
    """Interrupt a thread for each signal that it should know of, until it does."""
    meant = {signal.SIGINT, *_numbers()}
    while numbers := os.read(heard, _MOST_SIGNALS):
        if meant.isdisjoint(numbers):
            continue
        for _ in range(_MOST_KNOCKS):
            if over.wait(_KNOCK_S):
                break
            # Of no meaning to anybody, unlike the signal itself: that must not come twice.
            signal.pthread_kill(waiting, signal.SIGURG)


def _forget_typed() -> None:
    """Drop what was typed before the question was there: it cannot be an answer to it."""
    try:
        import termios
    except ImportError:
        return
    with suppress(termios.error, ValueError):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def _read_typed(screen: "Screen") -> Iterator[str]:
    while True:
        try:
            yield _read_line(_PROMPT)
        except KeyboardInterrupt:
            screen.note("\nCtrl-D or /exit leaves.")
        except EOFError:
            screen.note("")
            return


def _read_piped() -> Iterator[str]:
    """Yield the lines of standard input; bytes that are no text are replaced."""
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        return
    while raw := stream.readline(_MOST_LINE_BYTES):
        yield raw.decode("utf-8", "replace").rstrip("\r\n")


@contextmanager
def _history(chat: "Chat", *, person: bool) -> Iterator[None]:
    """Give a person editing and the lines of earlier chats; the file is private."""
    try:
        readline = import_module("readline") if person else None
    except ImportError:
        # Windows: the console has editing of its own.
        readline = None
    if readline is None:
        yield
        return
    path = str(Path(chat.runtime.folders.state) / _HISTORY_FILE)
    readline.set_history_length(_MOST_HISTORY)
    with suppress(OSError):
        readline.read_history_file(path)
    try:
        yield
    finally:
        # A chat without a history is better than one that ends with an error.
        with suppress(OSError):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
            readline.write_history_file(path)
