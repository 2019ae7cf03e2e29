"""What is true of this machine: its platform, the programs that can be run, variables that are set.

A program is searched for in the environment that the child will get, never in our own: a run may
add folders to it. One that was found stays found; one that was missing is looked for again each
time, so that installing it takes effect at once. Codes are those of shells: 127 where there is no
such program, 126 where it cannot be run.
"""

import errno
import os
import shutil
import sys
from collections.abc import Collection, Mapping, Sequence

from prowess.data import dataclass
from prowess.skills.eligibility import HostFacts

NOT_FOUND, NOT_RUNNABLE = 127, 126

_REASONS = {
    # The file is there, so it is the program in its first line that is not.
    errno.ENOENT: "the interpreter that its first line names is not there",
    errno.ENOTDIR: "the interpreter that its first line names is not there",
    errno.ENOEXEC: "the system does not know its kind: scripts begin with a line like #!/bin/sh",
    errno.EACCES: "you may not run it: make it executable, or look for a disk mounted noexec",
    errno.EPERM: "you may not run it",
    errno.E2BIG: "its arguments and its environment are too long for the system",
    errno.EAGAIN: "the system allows no more processes: end some first",
    errno.ENOMEM: "the system has no memory left for it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundProgram:
    """A file to run, or why there is none."""

    path: str = ""
    # One sentence, and what a shell would end with.
    problem: str = ""
    code: int = 0


def find_program(
    name: str, environment: Mapping[str, str], folder: str = "", *, relative: bool = False
) -> FoundProgram:
    """Find the file that `name` stands for, as seen from `folder`.

    Args:
        name: a word to look up in the search path, or a path.
        environment: the variables of the child, with its search path.
        folder: where the child will run; by default the current folder.
        relative: whether relative entries of the search path count. They would let the folder
            that a child runs in decide which program it is.
    """
    if not name or "\0" in name:
        return FoundProgram(problem="No program is given: name one.", code=NOT_FOUND)
    if os.name == "nt":
        return _find_on_windows(name, environment, folder)
    if os.path.dirname(name):
        return _at(name, os.path.join(folder, name))
    entries = os.get_exec_path(environment)
    places = [os.path.join(folder, entry) for entry in entries if relative or os.path.isabs(entry)]
    return _search(name, places)


def explain_failed_start(name: str, error: OSError | ValueError) -> FoundProgram:
    """Say why a program that was found did not start; names alone, never a value."""
    if isinstance(error, ValueError):
        reason = "an argument or a variable holds what no system passes on, such as a NUL byte"
    else:
        reason = _REASONS.get(error.errno or 0) or error.strerror or "the system refuses"
    return FoundProgram(problem=f"{name} cannot be started: {reason}.", code=NOT_RUNNABLE)


def _search(name: str, places: Sequence[str]) -> FoundProgram:
    paths = [os.path.join(place, name) for place in places]
    files = [path for path in paths if os.path.isfile(path)]
    runnable = next((path for path in files if os.access(path, os.X_OK)), None)
    if runnable is not None:
        return FoundProgram(path=runnable)
    if files:
        return _at(name, files[0])
    return FoundProgram(
        problem=f"{name} is not found in PATH: install it, or give its path.", code=NOT_FOUND
    )


def _at(name: str, path: str) -> FoundProgram:
    if os.path.isfile(path) and os.access(path, os.X_OK):
        return FoundProgram(path=path)
    if os.path.isdir(path):
        return FoundProgram(problem=f"{name} is a folder: name a program.", code=NOT_RUNNABLE)
    if os.path.exists(path):
        reason = _REASONS[errno.EACCES]
        return FoundProgram(problem=f"{name} cannot be started: {reason}.", code=NOT_RUNNABLE)
    return FoundProgram(
        problem=f"{name} does not exist: give the path of a program.", code=NOT_FOUND
    )


def _find_on_windows(name: str, environment: Mapping[str, str], folder: str) -> FoundProgram:
    """Leave endings such as .exe and .cmd to the system's own rules."""
    search = next((value for key, value in environment.items() if key.upper() == "PATH"), "")
    where = os.path.join(folder, name) if os.path.dirname(name) else name
    found = shutil.which(where, path=search)
    return FoundProgram(path=found) if found else _search(name, ())


class LocalFacts:
    """Probes the machine that Prowess runs on, with an environment that is passed in.

    `folders` are looked into after the PATH: programs that were installed for skills count as well.
    """

    def __init__(self, environ: Mapping[str, str], folders: Sequence[str] = ()) -> None:
        self._environ = environ
        self._folders = tuple(folders)
        self._found: set[str] = set()
        self._search_path = ""

    def probe(self, bins: Collection[str], env: Collection[str]) -> HostFacts:
        """Say which of these programs and variables exist; values are never looked at further."""
        search_path = self._environ.get("PATH", os.defpath)
        if search_path != self._search_path:
            self._search_path, self._found = search_path, set()
        self._found.update(name for name in bins if name not in self._found and self._has(name))
        return HostFacts(
            platform=sys.platform,
            bins=frozenset(self._found.intersection(bins)),
            env=frozenset(name for name in env if self._is_set(name)),
        )

    def _is_set(self, name: str) -> bool:
        try:
            return bool(self._environ.get(name, "").strip())
        except (UnicodeEncodeError, ValueError):
            # A name that the system cannot even ask for.
            return False

    def _has(self, name: str) -> bool:
        if not name or "\0" in name:
            return False
        if os.path.isabs(name):
            return _is_program(name)
        # A relative path would depend on where Prowess was started, so only plain names count.
        if "/" in name or "\\" in name:
            return False
        folders = (*self._search_path.split(os.pathsep), *self._folders)
        return any(
            _is_program(os.path.join(folder, name + end))
            for folder in folders
            if folder
            for end in self._endings()
        )

    def _endings(self) -> tuple[str, ...]:
        if sys.platform != "win32":
            return ("",)
        return ("", *self._environ.get("PATHEXT", ".EXE;.CMD;.BAT").split(";"))


def _is_program(path: str) -> bool:
    try:
        return os.path.isfile(path) and os.access(path, os.X_OK)
    except OSError:
        return False
