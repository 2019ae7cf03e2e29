"""What a gateway tells its clients unasked: skills, config and proposals that changed.

One thread of its own looks: files are watched where the system can, and looked at every few seconds
where it cannot. Whoever changes something in this process nudges it. It compares what is with what
was told, so that no change is told twice, whoever made it. Nothing that it meets ends it.
"""

import asyncio
import hashlib
import logging
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from prowess.errors import ProwessError, UnknownAgentError, contain
from prowess.gateway.dispatch import log_without_values
from prowess.runtime.watch import Watching
from prowess.runtime.workshop.service import versions
from prowess.wire import skills as wire
from prowess.wire.workshop import event as shown_event
from prowess.wiring.library import STORE_FILE, Runtime
from prowess.workshop.proposal import ProposalEvent

log = logging.getLogger(__name__)

Publish = Callable[[str, dict[str, object]], None]
_EVERY_SECONDS = 1.0
_LOOK_EVERY = 3
# More than any look takes; a disk that hangs shall not keep the process.
_STOP_SECONDS = 30.0
_LONGEST_SAID = 500
# Programs come and go without a word to whoever watches the folders of skills.
_LOOK_AT_ALL_EVERY = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """The skills of an agent as they were told; the state stands for all of it while it is kept."""

    state: object
    version: int
    # Of all that `skills.status` shows: a config may change and mean the same.
    shown: str


class OneAtATime:
    """Does some work for many threads: once at a time, and once more for all who came meanwhile.

    Whoever calls it returns after a turn that began later than the call.
    """

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._state = threading.Condition()
        self._begun = self._ended = 0

    def __call__(self) -> None:
        """Have it done; what goes wrong is told to the one whose turn it was."""
        with self._state:
            wanted = self._begun + 1
            self._state.wait_for(lambda: self._begun == self._ended or self._ended >= wanted)
            if self._ended >= wanted:
                return
            self._begun += 1
        try:
            self._work()
        finally:
            with self._state:
                self._ended += 1
                self._state.notify_all()


class News:
    """Looks for what changed, and publishes it."""

    def __init__(self, runtime: Runtime, publish: Publish, config_hash: Callable[[], str]) -> None:
        self._runtime, self._publish, self._config_hash = runtime, publish, config_hash
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wanted: asyncio.Event | None = None
        self._thread: threading.Thread | None = None
        self._started = threading.Event()
        self._is_stopping = False
        self._known_config = ""
        self._known_skills: dict[str, _Seen] = {}
        self._cursors: dict[str, int] = {}
        self._watchers: dict[str, tuple[Watching, asyncio.Task[None]]] = {}
        # The last trouble of each kind: what stays wrong is said once.
        self._said: dict[str, str] = {}

    def start(self) -> None:
        """Begin to look; what is there by now is no news."""
        # Whoever is interrupted before it could stop this must still be able to end.
        self._thread = threading.Thread(target=self._main, name="news", daemon=True)
        self._thread.start()
        # In short turns, since not every system lets a signal through to who waits.
        while not self._started.wait(_EVERY_SECONDS):
            continue

    def nudge(self) -> None:
        """Look at once; safe from any thread."""
        loop, wanted = self._loop, self._wanted
        if loop is not None and wanted is not None:
            # The loop may end between any check and this call; then nobody is left to be told.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(wanted.set)

    def stop(self) -> None:
        """End, and wait for it, though not for ever; also safe where it never began."""
        self._is_stopping = True
        self.nudge()
        if self._thread is not None and self._thread.ident is not None:
            self._thread.join(_STOP_SECONDS)

    def _main(self) -> None:
        try:
            asyncio.run(self._run())
        finally:
            # Whoever started this waits for it, however it went.
            self._started.set()

    async def _run(self) -> None:
        self._loop, self._wanted = asyncio.get_running_loop(), asyncio.Event()
        self._remember()
        self._started.set()
        turn = 0
        try:
            while not self._is_stopping:
                self._guarded("watch", self._attend_watchers)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._wanted.wait(), _EVERY_SECONDS)
                self._wanted.clear()
                turn += 1
                self._look(turn)
        finally:
            for _, task in self._watchers.values():
                task.cancel()
            await asyncio.gather(
                *(task for _, task in self._watchers.values()), return_exceptions=True
            )

    def _guarded(self, what: str, look: Callable[[], None]) -> None:
        """Look; what goes wrong is said, and the next look may go well."""

        def report(error: Exception) -> None:
            if self._said.get(what) != type(error).__qualname__:
                log_without_values(f"gateway.news ({what})", error)
            self._said[what] = type(error).__qualname__

        # Whatever it is, the clients shall still be told of the rest.
        with contain(report):
            try:
                look()
                self._said.pop(what, None)
            except UnknownAgentError:
                # It left the config in the middle of the look: the next one does not know it.
                return
            except ProwessError as error:
                self._say(what, str(error))

    def _say(self, what: str, trouble: str) -> None:
        if self._said.get(what) != trouble:
            log.warning("gateway.news: %s", trouble[:_LONGEST_SAID])
        self._said[what] = trouble

    def _remember(self) -> None:
        """Take what is there as told."""

        def config() -> None:
            self._known_config = self._config_hash()

        def skills() -> None:
            self._known_skills = self._skills()

        self._guarded("config", config)
        self._guarded("skills", skills)
        self._guarded("proposals", self._tell_proposals)

    def _look(self, turn: int) -> None:
        is_watched = all(watching.active for watching, _ in self._watchers.values())
        every = _LOOK_AT_ALL_EVERY if is_watched else _LOOK_EVERY
        self._guarded("config", partial(self._tell_config, refresh=turn % every == 0))
        self._guarded("skills", self._tell_skills)
        self._guarded("proposals", self._tell_proposals)

    def _tell_config(self, *, refresh: bool) -> None:
        found = self._config_hash()
        is_news = found != self._known_config
        if is_news or refresh:
            self._runtime.skills.refresh()
        if is_news:
            # Also one that is broken: who asks for it is told what is wrong with it.
            self._known_config = found
            self._publish("config.changed", {"hash": found, "path": self._runtime.config.path})

    def _tell_skills(self) -> None:
        now = self._skills()
        for agent_id, seen in now.items():
            old = self._known_skills.get(agent_id)
            if old is None or (old.version, old.shown) != (seen.version, seen.shown):
                payload: dict[str, object] = {"agentId": agent_id, "version": seen.version}
                self._publish("skills.changed", payload)
        self._known_skills = now

    def _skills(self) -> dict[str, _Seen]:
        skills = self._runtime.skills
        with skills.lock:
            return {agent.id: self._seen(agent.id) for agent in skills.settings.agents}

    def _seen(self, agent_id: str) -> _Seen:
        skills, old = self._runtime.skills, self._known_skills.get(agent_id)
        state = skills.workspace(agent_id).state(skills.settings)
        version = skills.snapshot(agent_id).version
        if old is not None and old.state is state and old.version == version:
            return old
        report = skills.status(agent_id)
        text = wire.compact(wire.status_report(report, report.skills))
        shown = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return _Seen(state=state, version=version, shown=shown)

    def _workspaces(self) -> dict[str, str]:
        """Return one agent for each workspace."""
        skills = self._runtime.skills
        seen: dict[str, str] = {}
        with skills.lock:
            for agent in skills.settings.agents:
                folder = skills.workspace(agent.id).folder
                if folder not in seen.values():
                    seen[agent.id] = folder
        return seen

    def _tell_proposals(self) -> None:
        for agent_id, workspace in self._workspaces().items():
            # What a workspace had before any agent came to it is no news.
            is_known = workspace in self._cursors
            cursor = self._cursors.get(workspace, 0)
            while found := self._events(agent_id, cursor):
                cursor = found[-1].sequence
                if is_known:
                    self._cursors[workspace] = cursor
                    about = versions(self._runtime.workshop, found, agent_id)
                    for event in found:
                        shown = shown_event(event, about[event.sequence])
                        payload = {"agentId": agent_id, **shown}
                        self._publish("skills.proposal", payload)
            self._cursors[workspace] = cursor

    def _events(self, agent_id: str, cursor: int) -> tuple[ProposalEvent, ...]:
        # Nothing was ever proposed: to look must not make the file.
        if not os.path.exists(os.path.join(self._runtime.folders.state, STORE_FILE)):
            return ()
        return self._runtime.workshop.events(cursor, agent_id=agent_id)

    def _attend_watchers(self) -> None:
        """Watch each workspace that some agent has now, and no other."""
        wanted = self._workspaces()
        for agent_id in set(self._watchers) - set(wanted):
            self._watchers.pop(agent_id)[1].cancel()
        for agent_id in wanted:
            kept = self._watchers.get(agent_id)
            if kept is None or (kept[1].done() and self._may_watch(kept[0])):
                watching = self._runtime.watching()
                task = asyncio.ensure_future(self._watch(watching, agent_id))
                self._watchers[agent_id] = (watching, task)

    def _may_watch(self, ended: Watching) -> bool:
        """Return whether it makes sense to watch again where it came to an end."""
        return not ended.unavailable and self._runtime.skills.settings.skills.load.watch

    async def _watch(self, watching: Watching, agent_id: str) -> None:
        # The next look begins to watch again.
        with contain(lambda error: log_without_values("gateway.watch", error)):
            try:
                async for _ in watching.changes(agent_id):
                    self.nudge()
            except UnknownAgentError:
                # It left the config, and with it goes whoever watched for it.
                return
            except ProwessError as error:
                self._say("watch", str(error))
