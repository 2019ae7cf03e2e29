"""What programs say of themselves: `--help`, asked once in a sandbox, and kept.

Nothing is asked unless a person wants it (`prowess fresh --ask-help`), and never a command of a
skill: only `PROGRAM --help` and `PROGRAM SUBCOMMAND --help`, of programs on the PATH that do not
lie in the workspace or among skills. The sandbox sees no network and can write nothing; where the
system has none, nothing is asked.
"""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from hashlib import sha256

from prowess.host.files.handles import stamp_file
from prowess.host.files.kept_files import KeptFiles
from prowess.host.processes.children import ChildProcesses
from prowess.host.processes.facts import find_program
from prowess.runtime.ports import ChildCommand

_FOLDER, _MOST_KEPT, _SECONDS, _MOST_CHARS = "help-pages", 2_000, 5.0, 100_000
# Everything that is mounted becomes read-only, and there is no network but an empty one.
_READ_ONLY = 'mount --make-rprivate / && mount -o remount,bind,ro / && exec "$@"'
_UNSHARE = ("--user", "--map-root-user", "--mount", "--net", "--pid", "--fork", "--kill-child")
_BWRAP = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all")
_SEATBELT = "(version 1)(allow default)(deny network*)(deny file-write*)"


class HelpPages:
    """The pages of one state folder."""

    def __init__(self, state: str, environ: Mapping[str, str], workspace: str) -> None:
        """Open nothing yet; no program below `workspace` is ever asked."""
        self._kept = KeptFiles(os.path.join(state, _FOLDER), made_by="1", most=_MOST_KEPT)
        self._environ = environ
        self._workspace = os.path.realpath(workspace)

    def read(self, words: Sequence[str]) -> str:
        """Return the page of a program or of one of its subcommands; empty where none is kept."""
        path = self._locate(words[0])
        found = self._kept.load(self._key(path, words)) if path else None
        return (found or b"").decode("utf-8", "replace")

    def ask(self, words: Sequence[str]) -> str:
        """Return the page, asked for where none is kept; empty where it cannot be had."""
        known = self.read(words)
        path = self._locate(words[0])
        if known or not path or any(word.startswith("-") for word in words):
            return known
        wrapped = self._sandbox((path, *words[1:], "--help"))
        if not wrapped:
            return ""
        bare = {"PATH": self._environ.get("PATH", os.defpath), "LC_ALL": "C", "TERM": "dumb"}
        command = ChildCommand(
            argv=wrapped,
            environment={**bare, "HOME": "/nonexistent", "NO_COLOR": "1", "PAGER": "cat"},
            folder="/",
            seconds=_SECONDS,
            most_chars=_MOST_CHARS,
        )
        done = ChildProcesses().run(command)
        text = done.stdout if done.code == 0 else ""
        if text:
            self._kept.save(self._key(path, words), text.encode("utf-8", "replace"))
        return text

    def _locate(self, name: str) -> str:
        """Return the program's file, where it is one of the machine and not of a project."""
        found = find_program(name, self._environ).path if "/" not in name else ""
        real = os.path.realpath(found) if found else ""
        inside = real.startswith(f"{self._workspace}{os.sep}")
        return "" if not real or inside or f"{os.sep}skills{os.sep}" in real else found

    def _key(self, path: str, words: Sequence[str]) -> str:
        stamp = stamp_file(os.path.realpath(path))
        return sha256(repr((path, stamp, tuple(words[1:]))).encode()).hexdigest()

    def _sandbox(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """Return a command that runs another one shut in; nothing where that cannot be done."""
        search = self._environ.get("PATH", os.defpath)
        if sys.platform == "darwin":
            tool = shutil.which("sandbox-exec", path=search)
            return (tool, "-p", _SEATBELT, *argv) if tool else ()
        tool = shutil.which("bwrap", path=search)
        if tool:
            return (tool, *_BWRAP, "--die-with-parent", "--", *argv)
        tool = shutil.which("unshare", path=search)
        return (tool, *_UNSHARE, "--", "/bin/sh", "-c", _READ_ONLY, "sh", *argv) if tool else ()
