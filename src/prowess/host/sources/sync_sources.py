"""Reads what is copied of a skill: plain files under portable names, and nothing through a link.

A link, a pipe or a name that some system cannot have is left out and named; whatever makes the
skill too large, too deep or unreadable refuses it as a whole, since half a skill misleads.
"""

import os
import stat
from dataclasses import dataclass, field

from prowess.errors import PathError
from prowess.host.files.containment import Root
from prowess.host.files.handles import is_folder
from prowess.host.sources import skill_files as scan_targets
from prowess.host.sources.skill_files import Place
from prowess.runtime.scan import Target
from prowess.runtime.sync import SKILL_FILE, CopiedFile, LeftOut, SkillCopy
from prowess.safety.intake.ledger import Limits
from prowess.safety.model import Profile
from prowess.safety.paths import PathRefused, collision_key, segments, shown
from prowess.skills.model import Skill

SKIPPED = frozenset((".git", "node_modules"))
_ENTRIES_PER_FILE = 10
_DEFAULT = Limits()


class SkillFolders:
    """Reads the folders of skills."""

    def __init__(self, limits: Limits = _DEFAULT) -> None:
        self._limits = limits

    def read(self, skill: Skill) -> SkillCopy:
        """Return what is copied of a skill.

        Raises:
            PathError: it cannot be read, or is too large.
        """
        with Root.open(skill.folder) as root:
            walker = _Walker(root, self._limits)
            walker.enter("")
        own = os.path.basename(skill.path)
        for left in walker.left_out:
            if left.path.lower() == SKILL_FILE:
                raise PathError(shown(skill.path), f"{left.reason}: put a real file in its place.")
        if own not in walker.files:
            raise PathError(shown(skill.path), "is not there any more.")
        return SkillCopy(walker.files, tuple(walker.left_out))

    def whole(self, skill: Skill) -> Target:
        """Return everything in a skill's folder, as a person scans it."""
        profile = Profile.BUNDLED if skill.bundled else Profile.PACKAGE
        return next(scan_targets.read(Place(skill.folder, profile=profile)))


@dataclass(slots=True)
class _Walker:
    """Goes through one skill, in the order of names."""

    root: Root
    limits: Limits
    files: dict[str, CopiedFile] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    bytes_read: int = 0
    entries_seen: int = 0

    def enter(self, folder: str) -> None:
        """Take all that a folder holds."""
        spelled: dict[str, str] = {}
        for name, state in self.root.list(folder):
            self.count()
            # Whatever its case: some systems take `.GIT` for a repository, hooks and all.
            if collision_key(name) in SKIPPED:
                continue
            path = f"{folder}/{name}" if folder else name
            reason = _refusal(path, state)
            first = spelled.setdefault(collision_key(name), name)
            if not reason and first != name:
                reason = f"is the same file as {shown(first)} on some systems"
            if reason:
                self.left_out.append(LeftOut(shown(path), reason))
            elif is_folder(state):
                self.enter(path)
            else:
                self.read(path, state)

    def count(self) -> None:
        """Refuse a skill that would take too long to walk through."""
        self.entries_seen += 1
        most = self.limits.files * _ENTRIES_PER_FILE
        if self.entries_seen > most:
            raise PathError(shown(str(self.root.path)), f"has more than {most} entries.")

    def read(self, path: str, state: os.stat_result) -> None:
        """Read one file."""
        here = shown(str(self.root.path))
        if len(self.files) >= self.limits.files:
            raise PathError(here, f"has more than {self.limits.files} files.")
        content = self.root.read(path, self.limits.file_bytes)
        self.bytes_read += len(content)
        if self.bytes_read > self.limits.total_bytes:
            raise PathError(here, f"is larger than {self.limits.total_bytes} bytes.")
        self.files[path] = CopiedFile(content, bool(state.st_mode & stat.S_IXUSR))


def _refusal(path: str, state: os.stat_result) -> str:
    """Return why an entry is left out; empty where it is taken.

    Raises:
        PathError: it lies too deep.
    """
    plain = stat.S_ISREG(state.st_mode)
    if not plain and not is_folder(state):
        linked = stat.S_ISLNK(state.st_mode) or stat.S_ISDIR(state.st_mode)
        return "is a link" if linked else "is not a regular file"
    try:
        segments(path)
    except PathRefused as error:
        if error.reason == "deep":
            raise PathError(shown(path), error.problem) from error
        return error.problem.removesuffix(".")
    return ""
