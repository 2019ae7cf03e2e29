"""A gateway as one of a fleet: it hears of what others changed, and says when it is cut off."""

import logging
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from prowess.gateway.limits import HEALTH
from prowess.wiring.library import Runtime

if TYPE_CHECKING:
    from prowess.host.store.fleet.files import SharedFiles
    from prowess.host.store.fleet.turns import Listening

log = logging.getLogger(__name__)
# What is only added to; the database has the lines of every gateway.
_LOGS = ("safety-log.jsonl",)
_TOPICS = frozenset(("proposals",))


class FleetMember:
    """What keeps a gateway in step with the others; nothing where it is the only one.

    Args:
        runtime: the gateway's own.
        told: looks again at config and skills, and tells the clients.
        nudge: looks for news of proposals.
        publish: tells clients that the database is lost, or found.
    """

    def __init__(
        self,
        runtime: Runtime,
        told: Callable[[], None],
        nudge: Callable[[], None],
        publish: Callable[[str, dict[str, object]], None],
    ) -> None:
        self._runtime, self._told, self._nudge = runtime, told, nudge
        self._publish = publish
        self._listening: Listening | None = None
        self._files: SharedFiles | None = None
        self._sizes: dict[str, int] = {}
        self._lock = threading.Lock()
        self._problem = ""

    def start(self) -> None:
        """Take what the fleet has, and begin to listen.

        Raises:
            StoreError: the database cannot be used: a gateway does not begin without it.
        """
        self._files = self._runtime.state.files
        if self._files is None:
            return
        from prowess.host.store.fleet.turns import Listening

        self._files.sync()
        self._listening = Listening(self._runtime.state.open_database(), self._look, self._turn)
        self._listening.start()
        log.info("fleet.joined", extra={"gateway": self._files.gateway})

    def stop(self) -> None:
        """Listen no more; safe where it never began."""
        if self._listening is not None:
            self._listening.stop()

    def describe(self) -> dict[str, Any]:
        """Return how the gateway stands with its database, for health and status."""
        if self._files is None:
            return {}
        with self._lock:
            problem = self._problem
        said = {"state": "lost" if problem else "ok", "gateway": self._files.gateway}
        if problem:
            said |= {"problem": problem, "reads": "last known", "writes": "refused"}
        return {"database": said}

    def _look(self, topics: frozenset[str]) -> None:
        files = self._files
        if files is None:
            return
        if files.sync():
            self._told()
        if topics & _TOPICS:
            self._nudge()
        for name in _LOGS:
            path = os.path.join(self._runtime.folders.state, name)
            size = os.path.getsize(path) if os.path.exists(path) else 0
            if size != self._sizes.get(name, 0):
                while files.ship(name, path):
                    pass
                self._sizes[name] = size

    def _turn(self, problem: str) -> None:
        with self._lock:
            self._problem = problem
        self._publish(HEALTH, {"database": {"state": "lost" if problem else "ok"}})
        # Either way clients see another state than before.
        self._told()
