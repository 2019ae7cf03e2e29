"""Machines that are connected and lend their programs: what they have counts while they are here.

They are settings that come and go. Whoever reads the settings through `WithNodes` gets the same
object until the file or a machine changes, since that is how the service knows that nothing did.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from prowess.runtime.ports import SettingsSource
from prowess.settings import NodeSettings, Settings
from prowess.skills.text import one_line

_MOST_NODES = 50
_LONGEST_SHOWN = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
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
        self._nodes: dict[str, Node] = {}
        self._lock = threading.Lock()

    def report(self, connection: str, name: str, platform: str, bins: Sequence[str]) -> bool:
        """Take what a machine says that it has, in place of what it said before.

        Return whether there was room for it.
        """
        node = Node(
            connection=connection,
            name=_shown(name) or "node",
            platform=_shown(platform),
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

    def current(self) -> tuple[Node, ...]:
        """Return the machines, in the order in which they came."""
        with self._lock:
            return tuple(self._nodes.values())


class WithNodes:
    """Settings with the machines that are connected now beside those of the file."""

    def __init__(self, settings: SettingsSource, nodes: Nodes) -> None:
        self._settings, self._nodes = settings, nodes
        self._kept: tuple[Settings, tuple[Node, ...], Settings] | None = None

    def read(self) -> Settings:
        """Return the settings; the same object as before where nothing changed.

        Raises:
            ConfigError: the file cannot be read.
        """
        base, here = self._settings.read(), self._nodes.current()
        kept = self._kept
        if kept is not None and kept[0] is base and kept[1] == here:
            return kept[2]
        joined = base if not here else _joined(base, here)
        self._kept = (base, here, joined)
        return joined


def _shown(text: str) -> str:
    return one_line(text)[:_LONGEST_SHOWN]


def _joined(settings: Settings, here: Sequence[Node]) -> Settings:
    more = tuple(
        NodeSettings(
            name=node.name, platforms=(node.platform,) if node.platform else (), bins=node.bins
        )
        for node in here
    )
    skills = replace(settings.skills, nodes=(*settings.skills.nodes, *more))
    return replace(settings, skills=skills)
