"""Coding agents in a real terminal: tmux draws it, types into it and says what stands on it.

Nothing here waits for a time: it waits for what is on the screen, for what reached the model, or
for the program to end, and gives up only when nothing of that came for minutes.
"""

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.outside.harnesses import CannotBeHadError, OutsideWorld, entry_of

# How each begins in a terminal; a person says yes to a key, a folder and a hook once, before.
_ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "claude-code": (),
    "codex": ("--dangerously-bypass-hook-trust",),
    "gemini": ("-m", "gemini-2.5-pro"),
    "qwen": (),
    "opencode": (),
    "copilot": ("--allow-all-tools",),
}
# What stands on the screen once a prompt can be typed.
_READY: Mapping[str, str] = {
    "claude-code": "\u276f",
    "codex": "Ask Codex to do anything",
    "gemini": "Type your message",
    "qwen": "Type your message",
    "opencode": "Ask anything",
    "copilot": "\u276f",
}
# What a session's file says when a turn is over, where that is later than its answer: what is typed
# in between is taken into the turn that ends, and never reaches the model.
_OVER: Mapping[str, tuple[str, str]] = {"codex": (".codex/sessions", '"type":"task_complete"')}
_PATIENCE_S = 600
_AGAIN_S = 3.0


class Terminal:
    """A window of 150 by 45 characters with one program in it."""

    def __init__(self, socket: Path, world: OutsideWorld) -> None:
        self._tmux = ("tmux", "-S", str(socket), "-f", "/dev/null")
        self._world, self._turns = world, 0

    def start(self) -> None:
        """Run the harness of the world until somebody can type."""
        world = self._world
        given = {**world.environment, "TERM": "xterm-256color"}
        command = ["env", "-i", *(f"{name}={value}" for name, value in given.items())]
        command += [str(entry_of(world.name)), *_ARGUMENTS[world.name]]
        self._run("new-session", "-d", "-x", "150", "-y", "45", "-c", str(world.project), *command)
        self.wait(lambda: _READY[world.name] in self.screen(), "it can be typed into")

    def read(self, answer: str) -> None:
        """Wait until an answer stands on the screen and its turn is over."""

        self._turns += 1
        self.wait(lambda: answer in self.screen(), f"the answer {answer!r}")
        if self._world.name in _OVER:
            folder, mark = _OVER[self._world.name]
            files = (self._world.home / folder).rglob
            self.wait(
                lambda: (
                    sum(file.read_text().count(mark) for file in files("*.jsonl")) >= self._turns
                ),
                f"the end of turn {self._turns}",
            )

    def screen(self) -> str:
        """Return what can be read now; nothing once the program has ended."""
        return self._run("capture-pane", "-p", check=False)

    def say(self, prompt: str, is_taken: Callable[[], bool]) -> None:
        """Type a prompt, and press return until it is taken.

        The first return may only close a list of suggestions, or be taken for a part of the text
        where that came faster than anybody types. One more into an empty line does nothing.
        """
        self._run("send-keys", "-l", prompt)
        self.wait(lambda: prompt.rsplit(maxsplit=1)[-1] in self.screen(), "the prompt stands there")
        self.press("Enter", is_taken)

    def press(self, keys: str, is_taken: Callable[[], bool]) -> None:
        """Press keys, again and again, until they did something."""
        pressed = 0.0

        def is_so() -> bool:
            nonlocal pressed
            if time.monotonic() - pressed > _AGAIN_S:
                self._run("send-keys", *keys.split(), check=False)
                pressed = time.monotonic()
            return is_taken()

        self.wait(is_so, f"{keys} is taken")

    def has_ended(self) -> bool:
        """Return whether the program is gone, and the window with it."""
        return not self._run("list-sessions", check=False)

    def wait(self, is_so: Callable[[], bool], what: str) -> None:
        """Wait until something is so."""
        until = time.monotonic() + _PATIENCE_S
        while not is_so():
            assert time.monotonic() < until, f"never: {what}. The screen:\n{self.screen()}"
            time.sleep(0.1)

    def _run(self, *words: str, check: bool = True) -> str:
        done = subprocess.run(
            [*self._tmux, *words], capture_output=True, text=True, check=False, timeout=_PATIENCE_S
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

    def close(self) -> None:
        """End whatever is left."""
        self._run("kill-server", check=False)


@contextmanager
def open_terminal(world: OutsideWorld) -> Iterator[Terminal]:
    """Start the harness of a world in a terminal.

    Raises:
        CannotBeHadError: there is no terminal to be had.
    """
    if shutil.which("tmux") is None:
        raise CannotBeHadError("tmux is not installed, so there is no terminal")
    _agree(world)
    # The name of a socket may have about a hundred characters.
    terminal = Terminal(Path(tempfile.mkdtemp(prefix="pt")) / "socket", world)
    try:
        terminal.start()
        yield terminal
    finally:
        terminal.close()


def _agree(world: OutsideWorld) -> None:
    """Answer beforehand what a harness asks a person when it is started for the first time."""
    if world.name == "claude-code":
        key = world.environment["ANTHROPIC_API_KEY"]
        settings = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [key[-20:]], "rejected": []},
            "projects": {str(world.project): {"hasTrustDialogAccepted": True}},
        }
        (world.home / ".claude.json").write_text(json.dumps(settings), encoding="utf-8")
    if world.name == "codex":
        with (world.home / ".codex/config.toml").open("a", encoding="utf-8") as file:
            file.write(f'\n[projects."{world.project}"]\ntrust_level = "trusted"\n')
    if world.name == "copilot":
        folder = world.home / ".copilot"
        folder.mkdir(exist_ok=True)
        trusted = {"trustedFolders": [str(world.project)]}
        (folder / "config.json").write_text(json.dumps(trusted), encoding="utf-8")
