"""Which file a command's first word stands for, and why a program does not start, in words.

The search path is that of the environment the child will get, never our own: a run may add folders
to it. Codes are those of shells: 127 where there is no such program, 126 where it cannot be run.
"""

import errno
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
class Program:
    """A file to run, or why there is none."""

    path: str = ""
    # One sentence, and what a shell would end with.
    problem: str = ""
    code: int = 0


def find_program(
    name: str, environment: Mapping[str, str], folder: str = "", *, relative: bool = False
) -> Program:
    """Find the file that `name` stands for, as seen from `folder`.

    Args:
        name: a word to look up in the search path, or a path.
        environment: the variables of the child, with its search path.
        folder: where the child will run; by default the current folder.
        relative: whether relative entries of the search path count. They would let the folder
            that a child runs in decide which program it is.
    """
    if not name or "\0" in name:
        return Program(problem="No program is given: name one.", code=NOT_FOUND)
    if os.name == "nt":
        return _found_on_windows(name, environment, folder)
    if os.path.dirname(name):
        return _at(name, os.path.join(folder, name))
    entries = os.get_exec_path(environment)
    places = [os.path.join(folder, entry) for entry in entries if relative or os.path.isabs(entry)]
    return _searched(name, places)


def start_problem(name: str, error: OSError | ValueError) -> Program:
    """Say why a program that was found did not start; names alone, never a value."""
    if isinstance(error, ValueError):
        reason = "an argument or a variable holds what no system passes on, such as a NUL byte"
    else:
        reason = _REASONS.get(error.errno or 0) or error.strerror or "the system refuses"
    return Program(problem=f"{name} cannot be started: {reason}.", code=NOT_RUNNABLE)


def _searched(name: str, places: Sequence[str]) -> Program:
    paths = [os.path.join(place, name) for place in places]
    files = [path for path in paths if os.path.isfile(path)]
    runnable = next((path for path in files if os.access(path, os.X_OK)), None)
    if runnable is not None:
        return Program(path=runnable)
    if files:
        return _at(name, files[0])
    return Program(
        problem=f"{name} is not found in PATH: install it, or give its path.", code=NOT_FOUND
    )


def _at(name: str, path: str) -> Program:
    if os.path.isfile(path) and os.access(path, os.X_OK):
        return Program(path=path)
    if os.path.isdir(path):
        return Program(problem=f"{name} is a folder: name a program.", code=NOT_RUNNABLE)
    if os.path.exists(path):
        reason = _REASONS[errno.EACCES]
        return Program(problem=f"{name} cannot be started: {reason}.", code=NOT_RUNNABLE)
    return Program(problem=f"{name} does not exist: give the path of a program.", code=NOT_FOUND)


def _found_on_windows(name: str, environment: Mapping[str, str], folder: str) -> Program:
    """Leave endings such as .exe and .cmd to the system's own rules."""
    search = next((value for key, value in environment.items() if key.upper() == "PATH"), "")
    where = os.path.join(folder, name) if os.path.dirname(name) else name
    found = shutil.which(where, path=search)
    return Program(path=found) if found else _searched(name, ())
