"""Puts connecting together: where harnesses keep their settings on this machine, and who we are."""

import os
import sys
import time
from collections.abc import Mapping

from prowess.hooks.targets import Places
from prowess.host.harness.connection_records import ConnectionRecords
from prowess.host.harness.own_program import own_program
from prowess.host.harness.settings_files import HarnessSettings
from prowess.host.sources.roots_part import expand
from prowess.runtime.harness.connect import Connecting
from prowess.wiring.library import Runtime

_LOCK, _RECORDS = "connect", "connections.json"


def open_connecting(runtime: Runtime, project: str) -> Connecting:
    """Return what connects harnesses; `project` is the folder of a connection for a project."""
    files = HarnessSettings(
        os.path.join(runtime.folders.state, _LOCK),
        lambda: time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()),
    )
    places = places_of(runtime.folders.home, project, runtime.environ)
    records = ConnectionRecords(os.path.join(runtime.folders.state, _RECORDS))
    return Connecting(files, records, places, lambda: own_program(runtime.environ))


def places_of(home: str, project: str, environ: Mapping[str, str]) -> Places:
    """Return where harnesses look, with the folders that variables move."""
    claude = _given(environ, "CLAUDE_CONFIG_DIR", home)
    return Places(
        project=expand(project, home, os.getcwd()),
        home=home,
        claude=claude or os.path.join(home, ".claude"),
        # Beside the folder by default, and inside one that a variable names.
        claude_state=os.path.join(claude or home, ".claude.json"),
        codex=_moved(environ, "CODEX_HOME", home, ".codex"),
        copilot=_moved(environ, "COPILOT_HOME", home, ".copilot"),
        vscode=_vscode(home, environ),
    )


def _moved(environ: Mapping[str, str], variable: str, home: str, name: str) -> str:
    return _given(environ, variable, home) or os.path.join(home, name)


def _given(environ: Mapping[str, str], variable: str, home: str) -> str:
    """Return the folder that a variable names, or nothing."""
    folder = environ.get(variable, "")
    # Written in quotes, no shell has made a path of it.
    return expand(folder, home, os.getcwd()) if folder else ""


def _vscode(home: str, environ: Mapping[str, str]) -> str:
    if sys.platform == "darwin":
        base = os.path.join(home, "Library", "Application Support")
    elif sys.platform == "win32":
        base = environ.get("APPDATA") or os.path.join(home, "AppData", "Roaming")
    else:
        base = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return os.path.join(base, "Code", "User")
