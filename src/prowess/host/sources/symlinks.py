"""The symlink rule: which links are followed on the way to a skill, and which are refused.

A link may lead to where a skill of its root may lie: the root itself, the plugin that brought it,
and the folders that the operator allows. A `SKILL.md` that is a link stays in its own skill's
folder, whatever the root allows: else any file of the machine could be read out as a skill.
"""

import os
from collections.abc import Sequence
from typing import Protocol

from prowess.errors import ContainmentError
from prowess.host.files.handles import Content, hold_real, read_bounded
from prowess.host.files.handles import refuse_link as refuse_linked
from prowess.skills.model import Diagnostic, Source, Tier, diagnose


class LinkedFile(Protocol):
    """A file that may be a skill, and where it was found."""

    @property
    def path(self) -> str:
        """Where it was found."""

    @property
    def real(self) -> str:
        """Where it really is: the folder of a `SKILL.md`, else the file itself."""

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


def read_found(source: Source, found: LinkedFile, limit: int) -> Content | Diagnostic | None:
    """Return the bytes of a file where it was found, the reason why there are none, or None.

    Whatever was checked is what is read: every step is taken by a handle and none through a link,
    so that a folder or file that was exchanged for a link since leads nowhere. Only a `SKILL.md`
    may be a link, to a file in its own folder.
    """
    folder, name = found.real, os.path.basename(found.path)
    if not found.is_skill_file:
        folder, name = os.path.split(found.real)
    hard_links = source.tier is Tier.BUNDLED
    try:
        return read_real(folder, name, limit, hard_links=hard_links)
    except ContainmentError:
        target = os.path.realpath(os.path.join(folder, name))
    if not (found.is_skill_file and is_inside(target, folder)):
        return refuse_link(source.tier, found.path, target)
    try:
        return read_real(*os.path.split(target), limit, hard_links=hard_links)
    except ContainmentError:
        return diagnose("unreadable", "cannot be read: it is a link that leads back or away again")


def read_real(
    folder: str, name: str, limit: int, *, hard_links: bool = True
) -> Content | Diagnostic | None:
    """Return the bytes of a file in a real folder, the reason why there are none, or None.

    Raises:
        ContainmentError: it is or lies behind a link.
    """
    try:
        with hold_real(folder) as held:
            refuse_linked(held, name, name)
            return read_bounded(held.at(name), limit, hard_links=hard_links, dir_fd=held.fd)
    except FileNotFoundError:
        return None
    except OSError as error:
        return diagnose("unreadable", f"cannot be read: {error.strerror}")


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
