"""The symlink rule: which links are followed on the way to a skill, and which are refused.

A link may lead to where a skill of its root may lie: the root itself, the plugin that brought it,
and the folders that the operator allows. A `SKILL.md` that is a link stays in its own skill's
folder, whatever the root allows: else any file of the machine could be read out as a skill.
"""

import os
from collections.abc import Sequence
from typing import Protocol

from prowess.skills.diagnostics import diagnose
from prowess.skills.model import Diagnostic, Source, Tier


class LinkedFile(Protocol):
    """A file that may be a skill, and the folder that it was found in."""

    @property
    def path(self) -> str:
        """Where it was found."""

    @property
    def folder(self) -> str:
        """The folder that it stands in."""

    @property
    def is_skill_file(self) -> bool:
        """Whether it is a `SKILL.md`."""


def is_inside(path: str, root: str) -> bool:
    """Return whether the resolved `path` is `root` or lies below it."""
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def find_boundaries(source: Source, allowed_targets: Sequence[str]) -> tuple[str, ...]:
    """Return the real folders in which a skill of `source` may lie."""
    root = os.path.realpath(source.root)
    plugin = os.path.realpath(source.boundary) if source.boundary else root
    return (root, plugin, *allowed_targets)


def find_escape(source: Source, found: LinkedFile, allowed_targets: Sequence[str]) -> str | None:
    """Return where a file really is, if a link has carried it out of where it may be.

    Asked again at each reading: what was a file when it was found may be a link by now.
    """
    if not _has_link(source.root, found.path):
        return None
    real = os.path.realpath(found.path)
    if found.is_skill_file:
        if not is_inside(real, os.path.realpath(found.folder)):
            return real
        if source.links_allowed:
            return None
    allowed = find_boundaries(source, allowed_targets)
    return None if any(is_inside(real, boundary) for boundary in allowed) else real


def _has_link(root: str, path: str) -> bool:
    """Return whether a link stands between `root` and `path`, the last step included."""
    step = path
    while len(step) > len(root):
        if os.path.islink(step):
            return True
        step = os.path.dirname(step)
    return False


def refuse_link(tier: Tier, path: str, target: str) -> Diagnostic:
    """Return what is said of a link that leads out of where it may lead."""
    code = "bundled-symlink-escape" if tier is Tier.BUNDLED else "symlink-escape"
    return diagnose(code, f"leads to {target}", path=path)


class LinkRule:
    """Which links of one root are followed, in one walk."""

    def __init__(self, source: Source, allowed_targets: Sequence[str]) -> None:
        self._source = source
        self._boundaries = find_boundaries(source, allowed_targets)
        self._followed: set[str] = set()

    def is_allowed(self, target: str) -> bool:
        """Return whether a file may really be at `target`."""
        return any(is_inside(target, boundary) for boundary in self._boundaries)

    def may_lead_to(self, target: str) -> bool:
        """Return whether a link to a folder may lead to `target`."""
        return self._source.links_allowed or self.is_allowed(target)

    def enter(self, path: str, target: str) -> bool:
        """Return whether a folder is entered: each target once, and never an ancestor."""
        # Links can go in circles.
        if target in self._followed or is_inside(os.path.realpath(os.path.dirname(path)), target):
            return False
        self._followed.add(target)
        return True
