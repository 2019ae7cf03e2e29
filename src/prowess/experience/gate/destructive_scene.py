"""Where a command line runs, and what reading it brings to light: folders, files, programs.

A folder that a command may have gone to is never left again: whether a `cd` took place depends on
more than its text, so what is written is judged in each of them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from prowess.experience.gate.destructive_options import UNKNOWN, operands
from prowess.experience.gate.destructive_places import joined
from prowess.experience.gate.destructive_written import Written

_MOST_FOLDERS = 8
_PATTERN = re.compile(r"[*?\[\]{}]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What is known before a command line runs."""

    # The folder of the trace, and where the command runs; empty where nobody said.
    root: str = ""
    folder: str = ""
    # What earlier steps wrote.
    written: Written = field(default_factory=Written)

    def seen(self) -> "Seen":
        """Return what is known before the first word is read."""
        root = joined("", self.root) if self.root else ""
        return Seen(root=root, folders=[joined(root, self.folder)], written=self.written.copy())


@dataclass(slots=True, kw_only=True)
class Seen:
    """What has been met so far; shared by all who read parts of the same text."""

    root: str
    folders: list[str]
    written: Written
    # The files that are written anew by the text itself, and not by something it runs.
    overwritten: list[str] = field(default_factory=list)
    ran: list[Sequence[str]] = field(default_factory=list)
    has_left: bool = False

    def go(self, args: Sequence[str]) -> None:
        """Take note of a `cd`."""
        self.has_left = True
        target = next(iter(operands(args[1:])), "" if args[0] == "pushd" else "~")
        if args[0] == "popd" or target in ("", "-", "--"):
            return
        if len(self.folders) > _MOST_FOLDERS or UNKNOWN in target or _PATTERN.search(target):
            self._add(UNKNOWN)
            return
        for folder in list(self.folders):
            self._add(joined(folder, target))

    def _add(self, folder: str) -> None:
        if folder not in self.folders:
            self.folders.append(folder)
