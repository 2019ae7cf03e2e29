"""What is true of this machine: platform, programs that can be run, variables that are set.

A program that was found stays found; one that was missing is looked for again each time, so that
installing it takes effect at once.
"""

import os
import sys
from collections.abc import Collection, Mapping, Sequence

from prowess.skills.eligibility import HostFacts


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
