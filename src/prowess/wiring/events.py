"""What a gateway tells unasked: its clients what changed, and its operator what happened.

One thread of its own looks: files are watched where the system can, and looked at every few seconds
where it cannot. Whoever changes something in this process nudges it. It compares what is with what
was told, so that no change is told twice, whoever made it. Nothing that it meets ends it.

The log has one line for each event: when, how much it matters, what happened (`what`), and ids.
Whatever a stranger named is one line of bounded length, and what looks like a credential, or is the
token of this very gateway, is stars.

One of a fleet hears of what the others changed, and says when it is cut off.
"""

import asyncio
import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO

from prowess.errors import ProwessError, UnknownAgentError
from prowess.gateway.dispatch import log_without_values
from prowess.gateway.limits import HEALTH
from prowess.runtime.service import StatusReport
from prowess.runtime.watch import Watching
from prowess.runtime.workshop.service import versions
from prowess.secrets.credentials import STARS, mask_credentials
from prowess.skills.text import one_line
from prowess.spans import contain, heard
from prowess.wire.workshop import event as shown_event
from prowess.wiring.library import Runtime
from prowess.wiring.state import STORE_FILE
from prowess.workshop.proposal import ProposalEvent

if TYPE_CHECKING:
    from prowess.host.store.fleet.files import SharedFiles
    from prowess.host.store.fleet.turns import Listening


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
    # A config may change and mean the same. What was not read again is the same object, so that
    # comparing thousands takes a moment.
    shown: StatusReport


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
                self._guard("watch", self._attend_watchers)
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

    def _guard(self, what: str, look: Callable[[], None]) -> None:
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

        self._guard("config", config)
        self._guard("skills", skills)
        self._guard("proposals", self._tell_proposals)

    def _look(self, turn: int) -> None:
        is_watched = all(watching.active for watching, _ in self._watchers.values())
        every = _LOOK_AT_ALL_EVERY if is_watched else _LOOK_EVERY
        self._guard("config", partial(self._tell_config, refresh=turn % every == 0))
        self._guard("skills", self._tell_skills)
        self._guard("proposals", self._tell_proposals)

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
            return {agent.id: self._look_at(agent.id) for agent in skills.settings.agents}

    def _look_at(self, agent_id: str) -> _Seen:
        skills, old = self._runtime.skills, self._known_skills.get(agent_id)
        state = skills.workspace(agent_id).state(skills.settings)
        version = skills.snapshot(agent_id).version
        if old is not None and old.state is state and old.version == version:
            return old
        return _Seen(state=state, version=version, shown=skills.status(agent_id))

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
        if not self._runtime.state.exists(STORE_FILE):
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


OTLP_VARIABLE = "OTEL_EXPORTER_OTLP_ENDPOINT"
_LONGEST_LINE = 2_000
# What every record has; all else was given by whoever logs.
_USUAL = frozenset((*logging.makeLogRecord({}).__dict__, "message", "asctime", "timed", "taskName"))


class EventFormatter(logging.Formatter):
    """Makes one line of an event."""

    def __init__(self, style: str, hidden: Iterable[str] = ()) -> None:
        """Take how lines look, and texts that never stand in one."""
        super().__init__()
        self._as_json = style == "json"
        self._hidden = tuple(sorted((text for text in hidden if text), key=len, reverse=True))

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record; no traceback, since its lines may hold anything."""
        message = self._clean(record.getMessage())
        what, colon, _ = message.partition(":")
        fields = {name: value for name, value in vars(record).items() if name not in _USUAL}
        shown = {
            name: self._clean(value) if isinstance(value, str) else value
            for name, value in fields.items()
            if isinstance(value, str | int | float)
        }
        if record.exc_info and record.exc_info[0] is not None:
            shown["failed"] = record.exc_info[0].__qualname__
        level = record.levelname.lower()
        if self._as_json:
            event = what if colon or " " not in message else record.name
            head = {"time": _time(record), "level": level, "what": event, "message": message}
            return json.dumps(head | {k: v for k, v in shown.items() if k not in head})
        ids = "".join(f" {name}={_quote(value)}" for name, value in shown.items())
        return f"{_time(record)} {level:<7} {message}{ids}"

    def _clean(self, text: str) -> str:
        for hidden in self._hidden:
            text = text.replace(hidden, STARS)
        return mask_credentials(one_line(text[:_LONGEST_LINE]))


def _time(record: logging.LogRecord) -> str:
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    return f"{seconds}.{int(record.msecs):03}Z"


def _quote(value: object) -> str:
    text = str(value)
    return json.dumps(text) if not text or any(sign in text for sign in ' "=') else text


@contextmanager
def logging_to(
    stream: TextIO | None, level: str, style: str, hidden: Iterable[str] = ()
) -> Iterator[None]:
    """Write the log of this process to a stream for as long as this lasts."""
    handler = _Quiet(sys.stderr if stream is None else stream)
    handler.setFormatter(EventFormatter(style, hidden))
    handler.setLevel(level.upper())
    with heard(handler, logging.getLevelNamesMapping()[level.upper()]):
        yield


def open_telemetry(environ: Mapping[str, str], version: str) -> logging.Handler | None:
    """Return what makes traces and metrics of events; None, with a warning, where it cannot."""
    try:
        # Only who asks for it loads it, and not everybody has installed it.
        from prowess.host.telemetry import Telemetry
    except ImportError as error:
        log.warning(
            "telemetry.missing: %s is set, and %s is not installed: pip install 'prowess[otel]', or"
            " unset it. The gateway runs without traces and metrics.",
            OTLP_VARIABLE,
            error.name or "opentelemetry",
        )
        return None
    return Telemetry(environ, version)


class _Quiet(logging.StreamHandler[TextIO]):
    """Writes lines as long as somebody reads them."""

    # As in the class that it extends.
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Go on: whoever closed the other end wants no more lines, and clients are still served."""


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
