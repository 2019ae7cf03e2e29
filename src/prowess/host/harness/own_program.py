"""How a harness starts this installation: by its name where that finds us, else by its path."""

import os
import sys
from collections.abc import Mapping

from prowess.hooks.commands import MODULE, NAME, Program
from prowess.host.processes.facts import find_program


def own_program(environ: Mapping[str, str]) -> Program:
    """Return the words that start us.

    The name alone is best: it stays true when another version is installed, and the same command
    line may be shared with others. It counts only where the search path leads to us.
    """
    windows = os.name == "nt"
    script = _own_script()
    found = find_program(NAME, environ).path
    if script and found and os.path.realpath(found) == os.path.realpath(script):
        return Program(words=(NAME,), windows=windows)
    if script:
        return Program(words=(script,), windows=windows)
    return Program(words=(os.path.abspath(sys.executable), *MODULE), windows=windows)


def _own_script() -> str:
    """Return the script beside the interpreter that runs us, or the one we were started by."""
    ending = ".exe" if os.name == "nt" else ""
    beside = os.path.join(os.path.dirname(os.path.abspath(sys.executable)), NAME + ending)
    started = os.path.abspath(sys.argv[0]) if sys.argv and sys.argv[0] else ""
    for path in (beside, started):
        if os.path.basename(path) == NAME + ending and os.access(path, os.X_OK):
            return path if os.path.isfile(path) else ""
    return ""
