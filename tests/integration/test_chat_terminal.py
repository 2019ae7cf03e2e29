"""`prowess chat` on a terminal: approvals, Ctrl-C and Ctrl-D, with a person who types."""

import fcntl
import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from tests.integration.chat_world import World, server, text, world

__all__ = ["world"]

SECONDS = 60.0
CTRL_C, CTRL_D = "\x03", "\x04"


class Terminal:
    """A pseudo terminal and what was drawn on it so far."""

    def __init__(self, ours: int) -> None:
        self.ours, self._place, self.drawn = ours, 0, ""

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self.ours, keys.encode())

    def say(self, line: str) -> None:
        """Answer the prompt."""
        self.until("you> ")
        self.type(f"{line}\n")

    def until(self, words: str) -> str:
        """Wait for words that nobody waited for yet and return everything up to them."""
        end = time.monotonic() + SECONDS
        while not self._came(words):
            assert time.monotonic() < end, f"{words!r} did not come: {self.drawn[-2000:]!r}"
        found = self.drawn.index(words, self._place) + len(words)
        seen, self._place = self.drawn[self._place : found], found
        return seen

    def interrupt(self, words: str) -> None:
        """Press Ctrl-C until the words come: between two instructions readline does not hear it."""
        end = time.monotonic() + SECONDS
        while words not in self.drawn[self._place :]:
            assert time.monotonic() < end, f"{words!r} did not come"
            self.type(CTRL_C)
            # The terminal draws `^C` at once, which is no answer. One too many would go to whatever
            # comes next, so that only one that was lost is pressed again.
            again = time.monotonic() + SECONDS / 4
            while time.monotonic() < again and not self._came(words):
                pass
        self.until(words)

    def _came(self, words: str) -> bool:
        """Read what there is and return whether the words are in it."""
        if select.select([self.ours], [], [], 0.3)[0]:
            try:
                raw = os.read(self.ours, 65536)
            except OSError:
                # A pseudo terminal ends with an error once nobody holds its other side.
                pytest.fail(f"the chat ended before {words!r} came: {self.drawn[-2000:]!r}")
            plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", raw.decode("utf-8", "replace"))
            self.drawn += plain
        return words in self.drawn[self._place :]


@contextmanager
def chatting(
    world: World, *args: str, start: Sequence[str] = ("-m", "prowess", "chat")
) -> Iterator[tuple[Terminal, "subprocess.Popen[bytes]"]]:
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "HOME": str(world.root / "home")}
    with subprocess.Popen(
        [sys.executable, *start, *args],
        cwd=world.work,
        env=env,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        # Ctrl-C is a signal only on a terminal that is one's own.
        start_new_session=True,
        # No threads are about in the child.
        preexec_fn=_own_terminal,  # noqa: PLW1509
    ) as process:
        os.close(theirs)
        try:
            yield Terminal(ours), process
        finally:
            process.kill()
    os.close(ours)


def _own_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def test_a_command_runs_when_a_person_says_so_and_never_else(world: World) -> None:
    def run(name: str) -> dict[str, object]:
        return {"name": "shell", "arguments": {"command": f"echo made > {name}; echo out-$((1+1))"}}

    model = world.script(
        {"tools": [run("first")]},
        {"text": "one."},
        {"tools": [run("second")]},
        {"text": "two."},
        {"tools": [run("third")]},
        {"tools": [run("third")]},
        {"text": "three."},
    )
    with chatting(world, "--model", model) as (terminal, process):
        for message, answer, end in (
            ("hello", "y", "one."),
            ("again", "maybe", "two."),
            ("and again", "a", "three."),
        ):
            terminal.say(message)
            terminal.until("very command: ")
            terminal.type(f"{answer}\n")
            terminal.until(end)
        terminal.until("you> ")
        terminal.type(CTRL_D)
        code = process.wait(SECONDS)

    assert code == 0
    assert terminal.drawn.count("Run it?") == 3
    assert "| out-2" in terminal.drawn
    assert (world.work / "first").exists()
    assert not (world.work / "second").exists()
    assert (world.work / "third").exists()


def test_ctrl_c_stops_the_answer_keeps_what_was_said_and_the_chat_goes_on(world: World) -> None:
    with server([text("Half an ", "answer"), text("Whole.")], way="slow") as model:
        world.config(skills={"model": {"endpoint": model.address, "name": "m"}})
        with chatting(world, "--session", "s1") as (terminal, process):
            terminal.until("you> ")
            terminal.interrupt("Ctrl-D or /exit leaves")
            terminal.say("hello")
            terminal.until("Half an")
            terminal.type(CTRL_C)
            terminal.until("[stopped]")
            model.closing.set()
            terminal.say("go on")
            terminal.until("Whole.")
            terminal.say("/exit")
            code = process.wait(SECONDS)

    assert code == 0
    sent = str(model.requests[1]["messages"])
    assert "Half an" in sent
    assert "[stopped by the user]" in sent
    assert len(world.chats()[0]["turns"]) == 2


@pytest.mark.parametrize("at", ["question", "command"])
def test_ctrl_c_ends_a_question_and_a_running_command(world: World, at: str) -> None:
    command = "echo started; sleep 300; echo made > made"
    run = {"name": "shell", "arguments": {"command": command}}
    model = world.script({"text": "Wait.", "tools": [run]}, {"text": "Still here."})
    with chatting(world, "--model", model, "--session", "s1") as (terminal, process):
        terminal.say("hello")
        terminal.until("very command: ")
        if at == "command":
            terminal.type("y\n")
            terminal.until("| started")
        terminal.interrupt("[stopped]")
        terminal.say("still there?")
        terminal.until("Still here.")
        terminal.until("you> ")
        terminal.type(CTRL_D)
        code = process.wait(SECONDS)

    assert code == 0
    assert not (world.work / "made").exists()
    assert [turn["words"] for turn in world.chats()[0]["turns"]] == ["hello", "still there?"]


def test_a_terminal_goes_on_with_the_last_conversation(world: World) -> None:
    model = world.script({"text": "Answer.", "repeat": True})
    for expected in ("session", "(1 turns so far"):
        with chatting(world, "--model", model) as (terminal, process):
            assert expected in terminal.until("leaves.")
            terminal.say("hello")
            terminal.until("Answer.")
            terminal.until("you> ")
            terminal.type(CTRL_D)
            assert process.wait(SECONDS) == 0

    assert [len(chat["turns"]) for chat in world.chats()] == [2]
    assert (world.state / "chat_history").stat().st_mode & 0o077 == 0
