"""A terminal with a person in front of it: a window of some width, and keys that are pressed."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

from .world import TIMEOUT_S, World, command


def on_terminal(world: World, *args: str, columns: int = 100, typed: str = "") -> str:
    """Run the terminal on a pseudo terminal and return what it drew, without its colours."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    with subprocess.Popen(
        command(args),
        cwd=world.workspace,
        env=world.env({"COLUMNS": None, "TERM": "xterm-256color"}),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        os.write(ours, typed.encode())
        drawn = _read_all(ours)
        assert process.wait(timeout=TIMEOUT_S) in {0, 1}, drawn
    os.close(ours)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", drawn.replace("\r\n", "\n"))


def _read_all(terminal: int) -> str:
    drawn = b""
    while True:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:
            # A pseudo terminal ends with an error once nobody holds its other side.
            chunk = b""
        if not chunk:
            return drawn.decode("utf-8", "replace")
        drawn += chunk
