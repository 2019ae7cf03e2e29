"""Puts the copy of skills to a sandbox together; what it writes lies under its target alone."""

from collections.abc import Callable

from prowess.host.sources.sync_sources import SkillFolders
from prowess.host.writers.sync_targets import FolderTargets
from prowess.runtime.sync import SyncService
from prowess.wiring.library import Runtime


def open_syncing(runtime: Runtime, waiting: Callable[[], None] | None = None) -> SyncService:
    """Return what copies skills; `waiting` is called when another sync holds the target long."""
    targets = FolderTargets(runtime.folders.home, waiting=waiting or (lambda: None))
    return SyncService(runtime.skills, SkillFolders(), runtime.scanning, targets)
