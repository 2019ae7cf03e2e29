"""A machine on which replay scripts run: a stand-in for adb with a device behind it, and files.

The device reads what it is given once more with a shell of its own, as a real one does. Its
programs only note what they are called with.
"""

import os
import pty
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from prowess.experience.replay.script import write_replay_script
from prowess.transcripts.traces import Json, Trace, TraceAction, TraceStep, UiTarget

_ADB = """#!/bin/sh
printf '%s\\0' "$@" >>"$WORLD/adb"
printf '\\1\\0' >>"$WORLD/adb"
if [ "$1" = devices ]; then
  printf 'List of devices attached\\nasleep\\toffline\\nphone-1\\tdevice\\nphone-2\\tdevice\\n'
  exit 0
fi
shift 3
PATH="$WORLD/device:/usr/bin:/bin" exec sh -c "$*"
"""
_PROGRAM = """#!/bin/sh
printf '%s\\0' "${0##*/}" "$@" >>"$WORLD/device-log"
printf '\\1\\0' >>"$WORLD/device-log"
case "${0##*/} $1" in
  'cat /data/local/tmp/'*) exec /bin/cat "$WORLD/screen.xml" ;;
  'cmd clipboard') [ ! -e "$WORLD/no-clipboard" ] || echo 'No shell command implementation.' ;;
  'input keyevent') [ ! -e "$WORLD/no-keys" ] || exit 7 ;;
esac
"""
# Takes the terminal that it is given as its own, and becomes the script.
_WITH_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
    "os.execvp(sys.argv[1], sys.argv[1:])"
)


@dataclass(frozen=True)
class World:
    """One machine."""

    root: Path

    @property
    def work(self) -> Path:
        """The folder of the trace."""
        return self.root / "work"

    def script(self, *steps: TraceStep, task: str = "do it", folder: str | None = None) -> Path:
        """Write the replay of these steps."""
        where = str(self.work) if folder is None else folder
        trace = Trace(task=task, ok=True, steps=steps, folder=where)
        text = write_replay_script(trace, name="a replay")
        assert text is not None
        path = self.root / "replay.sh"
        path.write_bytes(text.encode())
        return path

    def run(
        self, script: Path, *args: str, hidden: str = "", tries: str = "5"
    ) -> subprocess.CompletedProcess[str]:
        """Run it where there is no terminal; `hidden` is what its first secret is."""
        variables = {"REPLAY_TRIES": tries}
        variables |= dict.fromkeys(("REPLAY_SECRET_1", "REPLAY_SECRET_2"), hidden)
        return subprocess.run(
            ["bash", str(script), *args],
            env=self._environ(variables),
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            start_new_session=True,
        )

    def run_with_terminal(self, script: Path, *args: str, typed: str) -> tuple[int, str]:
        """Run it on a terminal where somebody typed ahead; return how it ended, and its output."""
        ours, theirs = pty.openpty()
        os.write(ours, typed.encode())
        with subprocess.Popen(
            [sys.executable, "-c", _WITH_TERMINAL, "bash", str(script), *args],
            env=self._environ({}),
            cwd=self.root,
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as child:
            os.close(theirs)
            said = child.communicate(timeout=60)[0].decode()
        os.close(ours)
        return child.returncode, said

    def adb_calls(self) -> list[list[str]]:
        """What adb was called with."""
        return _records(self.root / "adb")

    def device_calls(self) -> list[list[str]]:
        """What the programs of the device were called with."""
        return _records(self.root / "device-log")

    def typed(self) -> str:
        """What arrived in the field, as a device reads `input text`."""
        texts = [call[2] for call in self.device_calls() if call[:2] == ["input", "text"]]
        return "".join(text.replace("%s", " ") for text in texts)

    def show_screen(self, *nodes: str) -> None:
        """Let the device show these elements."""
        dump = f"<?xml version='1.0'?><hierarchy rotation=\"0\">{''.join(nodes)}</hierarchy>"
        (self.root / "screen.xml").write_text(dump, encoding="utf-8")

    def _environ(self, variables: dict[str, str]) -> dict[str, str]:
        path = f"{self.root / 'bin'}:{os.environ['PATH']}"
        return {"PATH": path, "HOME": str(self.root), "WORLD": str(self.root), **variables}


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A machine with adb and a device."""
    for folder in ("bin", "device", "work"):
        (tmp_path / folder).mkdir()
    _program(tmp_path / "bin/adb", _ADB)
    for name in ("input", "monkey", "cmd", "uiautomator", "cat", "rm", "getprop"):
        _program(tmp_path / "device" / name, _PROGRAM)
    return World(tmp_path)


def step(number: int, kind: str, target: UiTarget | None = None, /, **fields: Json) -> TraceStep:
    """Return one step."""
    return TraceStep(number=number, action=TraceAction(kind, fields), target=target)


def node(bounds: str, **attributes: str) -> str:
    """Return an element of a screen; names are written with a low line instead of a hyphen."""
    named = "".join(
        f' {name.replace("_", "-").strip("-")}="{value}"' for name, value in attributes.items()
    )
    return f'<node index="0"{named} bounds="{bounds}" />'


def _program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def _records(path: Path) -> list[list[str]]:
    if not path.exists():
        return []
    records = path.read_bytes().decode().split("\1\0")[:-1]
    return [record.split("\0")[:-1] for record in records]
