"""Keeping the service up to date while a process lives.

With a watcher, changes arrive by themselves; where the system refuses to watch, every turn looks
for itself: slower, never stale. Through a turn a session keeps its snapshot. Settings stay as they
were while their file is broken, and gain what connected machines lend: the same object until the
file or a machine changes, since that is how the service knows that nothing did.
"""

import logging
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace

from prowess.errors import ConfigError, WatchUnavailableError
from prowess.runtime.ports import (
    SessionStore,
    SettingsSource,
    StoredSnapshot,
    Watcher,
    WatchTargets,
)
from prowess.runtime.service import SkillsService
from prowess.settings import NodeSettings, Settings
from prowess.skills.agent_filter_snapshot import Snapshot
from prowess.skills.text import one_line

log = logging.getLogger(__name__)


class LastGoodSettings:
    """Settings as they were last understood."""

    def __init__(self, settings: SettingsSource) -> None:
        self._settings = settings
        # As they were last read, for whoever must not wait for a file.
        self.last: Settings | None = None
        # What was said about the file as it is: it is said once.
        self._said = ""

    def read(self) -> Settings:
        """Return the settings, or those from before where they cannot be read now.

        Raises:
            ConfigError: they could never be read.
        """
        try:
            self.last = self._settings.read()
        except ConfigError as error:
            if self.last is None:
                raise
            if self._said != str(error):
                log.warning("config.unreadable: %s The last one stays in force.", error)
            self._said = str(error)
            return self.last
        self._said = ""
        return self.last


_MOST_NODES = 50
_LONGEST_SHOWN = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchNode:
    """One machine, by the connection it came over."""

    connection: str
    name: str
    platform: str
    bins: frozenset[str]


class Nodes:
    """The machines that are connected now; safe from any thread."""

    def __init__(self, changed: Callable[[], object]) -> None:
        """Begin with none; `changed` is called whenever what they lend is another."""
        self._changed = changed
        self._nodes: dict[str, WatchNode] = {}
        self._lock = threading.Lock()

    def report(self, connection: str, name: str, platform: str, bins: Sequence[str]) -> bool:
        """Take what a machine says that it has, in place of what it said before.

        Return whether there was room for it.
        """
        node = WatchNode(
            connection=connection,
            name=_show(name) or "node",
            platform=_show(platform),
            bins=frozenset(bins),
        )
        with self._lock:
            if connection not in self._nodes and len(self._nodes) >= _MOST_NODES:
                return False
            is_news = self._nodes.get(connection) != node
            self._nodes[connection] = node
        if is_news:
            self._changed()
        return True

    def has(self, connection: str) -> bool:
        """Return whether a machine is here over that connection."""
        with self._lock:
            return connection in self._nodes

    def leave(self, connection: str) -> None:
        """Forget a machine whose connection ended."""
        with self._lock:
            was_here = self._nodes.pop(connection, None) is not None
        if was_here:
            self._changed()

    def listed(self) -> list[dict[str, object]]:
        """Return the machines as clients see them."""
        return [
            {"name": node.name, "platform": node.platform, "bins": len(node.bins)}
            for node in self.current()
        ]

    def current(self) -> tuple[WatchNode, ...]:
        """Return the machines, in the order in which they came."""
        with self._lock:
            return tuple(self._nodes.values())


class WithNodes:
    """Settings with the machines that are connected now beside those of the file."""

    def __init__(self, settings: SettingsSource, nodes: Nodes) -> None:
        self._settings, self._nodes = settings, nodes
        self._kept: tuple[Settings, tuple[WatchNode, ...], Settings] | None = None

    def read(self) -> Settings:
        """Return the settings; the same object as before where nothing changed.

        Raises:
            ConfigError: the file cannot be read.
        """
        base, here = self._settings.read(), self._nodes.current()
        kept = self._kept
        if kept is not None and kept[0] is base and kept[1] == here:
            return kept[2]
        joined = base if not here else _join(base, here)
        self._kept = (base, here, joined)
        return joined


def _show(text: str) -> str:
    return one_line(text)[:_LONGEST_SHOWN]


def _join(settings: Settings, here: Sequence[WatchNode]) -> Settings:
    more = tuple(
        NodeSettings(
            name=node.name, platforms=(node.platform,) if node.platform else (), bins=node.bins
        )
        for node in here
    )
    skills = replace(settings.skills, nodes=(*settings.skills.nodes, *more))
    return replace(settings, skills=skills)


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
        workspace = skills.workspace(agent_id)
        scan = workspace.state(skills.settings).scan
        return WatchTargets(
            folders=scan.folders,
            whole=workspace.skill_folders,
            roots=tuple(source.root for source in scan.sources),
            files=(self._config_path,),
        )

    def _give_up(self, reason: str) -> None:
        self.unavailable = reason
        self.active = False
        log.warning("watch.unavailable: %s Changes are looked for at each turn instead.", reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What a session works with during one turn."""

    stored: StoredSnapshot
    # True where this turn sees something else than the last one did.
    rebuilt: bool


class Sessions:
    """Hands each session its snapshot at the start of a turn."""

    def __init__(self, skills: SkillsService, store: SessionStore) -> None:
        self._skills, self._store = skills, store

    def begin_turn(self, session_id: str, agent_id: str | None = None) -> Turn:
        """Return the snapshot for this turn, renewed if files, config or filter changed."""
        session_id = one_line(session_id)
        # A turn is where changes land, whether or not anything watches.
        self._skills.refresh()
        current = self._skills.snapshot(agent_id)
        stored = self._store.load(session_id)
        if stored is not None and not _is_stale(stored, current):
            return Turn(stored=stored, rebuilt=False)
        fresh = StoredSnapshot(
            session_id=session_id,
            agent_id=current.agent_id,
            # Another process may have stored a later one: versions of a session only grow.
            version=current.version if stored is None else max(current.version, stored.version + 1),
            hash=current.hash,
            prompt=current.prompt,
            skills=current.skills,
            skill_filter=current.skill_filter,
        )
        self._store.save(fresh)
        return Turn(stored=fresh, rebuilt=True)


def _is_stale(stored: StoredSnapshot, current: Snapshot) -> bool:
    """Compare meanings, not versions: each process counts its own."""
    return (stored.agent_id, stored.skill_filter, stored.hash) != (
        current.agent_id,
        current.skill_filter,
        current.hash,
    )
