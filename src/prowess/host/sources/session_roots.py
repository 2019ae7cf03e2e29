"""Where each harness keeps its sessions, and whether a path lies there.

A transcript's path arrives from outside, in the payload of a hook: it is followed only where its
real place, with every link resolved, lies below one of these folders. A link that leads out of
them is outside, whatever its name says. A harness may keep both: folders that exist, and folders
that were never made; all are named, and whoever reads looks which are there.
"""

import os
from collections.abc import Mapping

from prowess.hooks.harness import Harness

_CODEX_FOLDERS = ("sessions", "archived_sessions")
_CODE_STORAGE = os.path.join("Code", "User", "workspaceStorage")


def session_roots(home: str, environ: Mapping[str, str]) -> Mapping[Harness, tuple[str, ...]]:
    """Return the folders in which each harness keeps transcripts, whether they exist or not."""
    claude = _moved(environ, "CLAUDE_CONFIG_DIR", home, ".claude")
    codex = _moved(environ, "CODEX_HOME", home, ".codex")
    copilot = _moved(environ, "COPILOT_HOME", home, ".copilot")
    gemini = os.path.join(_moved(environ, "GEMINI_CLI_HOME", home, ""), ".gemini")
    cursor = os.path.join(home, ".cursor")
    return {
        Harness.CLAUDE_CODE: (os.path.join(claude, "projects"),),
        Harness.CODEX: tuple(os.path.join(codex, name) for name in _CODEX_FOLDERS),
        Harness.CURSOR: (os.path.join(cursor, "projects"), os.path.join(cursor, "chats")),
        Harness.GEMINI: (os.path.join(gemini, "tmp"),),
        Harness.COPILOT: (
            os.path.join(copilot, "session-state"),
            os.path.join(copilot, "history-session-state"),
        ),
        Harness.VSCODE: _code_folders(home, environ),
    }


def is_in_roots(path: str, roots: tuple[str, ...]) -> bool:
    """Return whether the real place of `path` lies below one of `roots`."""
    if not path or "\0" in path or not os.path.isabs(path):
        return False
    real = os.path.normcase(os.path.realpath(path))
    bases = (os.path.normcase(os.path.realpath(root)).rstrip(os.sep) for root in roots)
    return any(base and real.startswith(base + os.sep) for base in bases)


def _moved(environ: Mapping[str, str], variable: str, home: str, usual: str) -> str:
    """Return the folder that a variable names, or the usual one below the home folder."""
    given = environ.get(variable, "")
    if given == "~" or given.startswith(("~/", "~\\")):
        given = home + given[1:]
    # A relative one would depend on where the harness happened to be started.
    return given if os.path.isabs(given) else os.path.join(home, usual)


def _code_folders(home: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    bases = (
        _moved(environ, "XDG_CONFIG_HOME", home, ".config"),
        os.path.join(home, "Library", "Application Support"),
        _moved(environ, "APPDATA", home, os.path.join("AppData", "Roaming")),
    )
    return tuple(os.path.join(base, _CODE_STORAGE) for base in dict.fromkeys(bases))
