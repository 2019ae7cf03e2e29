"""Keeping the service up to date while a process lives.

With a watcher, changes arrive by themselves. Where the system refuses to watch, that is said once
and every turn looks for itself: slower, never stale.
"""

import logging
from collections.abc import AsyncIterator

from prowess.errors import ConfigError, WatchUnavailableError
from prowess.runtime.ports import Watcher, WatchTargets
from prowess.runtime.service import SkillsService

log = logging.getLogger(__name__)


class Watching:
    """Refreshes the service as files change."""

    def __init__(self, skills: SkillsService, watcher: Watcher, *, config_path: str) -> None:
        self._skills, self._watcher, self._config_path = skills, watcher, config_path
        self.active = False
        self.unavailable = ""

    def begin_turn(self) -> None:
        """Look at the files, unless a watcher does so already."""
        if not self.active:
            self._skills.refresh()

    async def changes(self, agent_id: str | None = None) -> AsyncIterator[int]:
        """Yield the agent's snapshot version each time it moved; end where nothing can watch."""
        try:
            while self._skills.settings.skills.load.watch and not self.unavailable:
                try:
                    async for version in self._until_folders_change(agent_id):
                        yield version
                except WatchUnavailableError as error:
                    self._give_up(str(error))
        finally:
            # Also where the caller stops listening: from then on every turn looks for itself.
            self.active = False

    async def _until_folders_change(self, agent_id: str | None) -> AsyncIterator[int]:
        """Watch the folders that are known now; return when there are others to watch."""
        known = self._skills.snapshot(agent_id).version
        targets = self._targets(agent_id)
        debounce = self._skills.settings.skills.load.watch_debounce_ms
        self.active = True
        async for paths in self._watcher.changes(targets, debounce_ms=debounce):
            try:
                self._skills.refresh(paths - {self._config_path} or None)
            except ConfigError as error:
                # A file that is being saved can be half there: the next event brings the rest.
                log.warning("config.unreadable: %s The last one stays in force.", error)
                continue
            version = self._skills.snapshot(agent_id).version
            if version != known:
                known = version
                yield version
            if not self._skills.settings.skills.load.watch or self._targets(agent_id) != targets:
                return
        self.active = False

    def _targets(self, agent_id: str | None) -> WatchTargets:
        skills = self._skills
        scan = skills.workspace(agent_id).state(skills.settings).scan
        return WatchTargets(
            folders=scan.folders,
            roots=tuple(source.root for source in scan.sources),
            files=(self._config_path,),
        )

    def _give_up(self, reason: str) -> None:
        self.unavailable = reason
        self.active = False
        log.warning("watch.unavailable: %s Changes are looked for at each turn instead.", reason)
