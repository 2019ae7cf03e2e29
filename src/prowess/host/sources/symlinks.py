"""The symlink rule: which links are followed on the way to a skill, and which are refused.

A link may lead to where a skill of its root may lie: the root itself, the plugin that brought it,
and the folders that the operator allows. A `SKILL.md` that is a link stays in its own skill's
folder, whatever the root allows: else any file of the machine could be read out as a skill.
"""

import os
from collections.abc import Sequence

from prowess.host.files.handles import is_inside
from prowess.skills.model import Diagnostic, Source, Tier, diagnose


def refuse_link(tier: Tier, path: str, target: str) -> Diagnostic:
    """Return what is said of a link that leads out of where it may lead."""
    code = "bundled-symlink-escape" if tier is Tier.BUNDLED else "symlink-escape"
    return diagnose(code, f"leads to {target}", path=path)


class LinkRule:
    """Which links of one root are followed, in one walk."""

    def __init__(self, source: Source, root: str, allowed_targets: Sequence[str]) -> None:
        """Follow nothing yet; `root` is where the root really is."""
        self._source = source
        plugin = os.path.realpath(source.boundary) if source.boundary else root
        # The real folders in which a skill of the root may lie.
        self._boundaries = (root, plugin, *allowed_targets)
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
