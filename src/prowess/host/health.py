"""What the doctor looks at on this machine: who may read our files, and whether a gateway answers.

Nothing is started and nothing is changed: versions are read from what lies beside a program, and a
gateway is asked for nothing but a sign of life.
"""

import errno
import json
import os
import re
import socket
import sqlite3
import stat
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from urllib.parse import quote

from prowess.hooks.harness import Harness
from prowess.host.files.handles import Content, read_bounded
from prowess.host.harness.hook_client import ask
from prowess.host.harness.settings_files import BACKUP
from prowess.host.processes.facts import find_program

PROGRAMS: Mapping[Harness, tuple[str, ...]] = {
    Harness.CLAUDE_CODE: ("claude",),
    Harness.CODEX: ("codex",),
    Harness.CURSOR: ("cursor", "cursor-agent"),
    Harness.GEMINI: ("gemini",),
    Harness.COPILOT: ("copilot",),
    Harness.VSCODE: ("code",),
    Harness.QWEN: ("qwen",),
    Harness.OPENCODE: ("opencode",),
    Harness.OPENCLAW: ("openclaw",),
}
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_WRITE = stat.S_IWGRP | stat.S_IWOTH
_MOST_FILES, _MOST_BYTES = 500, 200_000
_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)?(?:[-+][\w.]{1,30})?")
_EXEC = re.compile(rb"'''exec' \"([^\"]+)\"")
_LONGEST_LINE = 4_096
_ANSWER_S = 1.0
# To look through a larger file would take longer than anybody waits.
_MOST_CHECKED = 64_000_000


def locate_program(harness: Harness, environ: Mapping[str, str]) -> str:
    """Return the program of a harness on the search path, or nothing."""
    found = (find_program(name, environ).path for name in PROGRAMS[harness])
    return next(filter(None, found), "")


def read_version_beside(program: str) -> str:
    """Return the version that the package or the path of a program says, or nothing."""
    real = os.path.realpath(program)
    if _VERSION.fullmatch(os.path.basename(real)):
        return os.path.basename(real)
    folder = os.path.dirname(real)
    for place in (folder, os.path.dirname(folder)):
        found = read_bounded(os.path.join(place, "package.json"), _MOST_BYTES)
        version = _version_in(found.data) if isinstance(found, Content) else ""
        if version:
            return version
    return ""


def check_interpreter(program: str) -> str:
    """Return that a script's interpreter is gone, as after a move or an upgrade; or nothing."""
    try:
        with open(program, "rb") as file:
            first, second = file.readline(_LONGEST_LINE), file.readline(_LONGEST_LINE)
    except OSError:
        # May be run and not be read: then nothing can be said.
        return ""
    if not first.startswith(b"#!"):
        return ""
    # Where the path is long or has blanks, installers let a shell start it in the second line.
    by_shell = _EXEC.match(second)
    found = [*first[2:].split()[:1], *([by_shell[1]] if by_shell else [])]
    gone = next((os.fsdecode(one) for one in found if not os.path.exists(one)), "")
    return f"{program} is a script for {gone}, which is not there." if gone else ""


def is_only_ours(folder: str, ours: Collection[str]) -> bool:
    """Return whether nothing lies in a folder but files of these names, and what we kept of them.

    An empty folder is what an earlier connection left behind.
    """
    try:
        return all(name in ours or BACKUP in name for name in os.listdir(folder))
    except OSError:
        # Not ours to look into: then it is nothing that we made.
        return False


def _version_in(content: bytes) -> str:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        # A program of another kind: its version is not known.
        return ""
    version = found.get("version") if isinstance(found, dict) else None
    return version if isinstance(version, str) and _VERSION.fullmatch(version) else ""


def find_exposed(folder: str) -> tuple[Sequence[str], Sequence[str]]:
    """Return what others may write, and what others may read, of a folder and the files in it.

    Raises:
        OSError: the folder cannot be looked at.
    """
    if not hasattr(os, "geteuid"):
        return (), ()
    mode = os.stat(folder).st_mode
    if not mode & _OTHERS:
        # Nobody gets past it, whatever is inside.
        return (), ()
    names = sorted(os.listdir(folder))[:_MOST_FILES]
    paths = [folder, *(os.path.join(folder, name) for name in names)]
    modes = {path: os.lstat(path).st_mode for path in paths if os.path.lexists(path)}
    plain = {path: mode for path, mode in modes.items() if not stat.S_ISLNK(mode)}
    writable = [path for path, mode in plain.items() if mode & _WRITE]
    readable = [
        path
        for path, mode in plain.items()
        if mode & _OTHERS and path not in writable and (stat.S_ISREG(mode) or path == folder)
    ]
    return writable, readable


def find_unwritable(
    state: str, replaced: Sequence[str], changed: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield what cannot be written, and what the system says.

    Args:
        state: the folder; where it is not there yet, the one counts in which it would be made.
        replaced: files in it that are written anew; where one is a link, its folder counts too.
        changed: files in it that are written in place.
    """
    folder = os.path.realpath(state)
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    homes = [os.path.dirname(os.path.realpath(os.path.join(state, name))) for name in replaced]
    there = [one for one in dict.fromkeys((folder, *homes)) if os.path.lexists(one)]
    yield from ((one, why) for one in there if (why := _try_writing(one)))
    for name in changed:
        path = os.path.join(state, name)
        if os.path.isfile(path) and not os.access(path, os.W_OK):
            yield path, os.strerror(errno.EACCES)


def _try_writing(folder: str) -> str:
    """Return what the system says against a file in a folder; nothing is left behind."""
    try:
        # Not by asking for rights: file systems that take no files give them all the same.
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return error.strerror or str(error)


def gateway_answers(state: str) -> bool | None:
    """Return whether a gateway answers hooks; None where this system has no such sockets.

    It is asked as a hook asks, since something that listens there need not be one.
    """
    if not hasattr(socket, "AF_UNIX"):
        return None
    return ask(state, b"", {}, "", seconds=_ANSWER_S) is not None


def check_database(path: str) -> str:
    """Return what is wrong with a file of SQLite, or nothing; it is only read."""
    whole = os.path.getsize(path) <= _MOST_CHECKED
    question = "PRAGMA quick_check(1)" if whole else "SELECT 'ok' FROM sqlite_master LIMIT 1"
    try:
        address = f"file:{quote(path)}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=_ANSWER_S)) as database:
            found = database.execute(question).fetchone()
    except sqlite3.Error as error:
        return str(error)
    return "" if found is None or found[0] == "ok" else "it is damaged"
