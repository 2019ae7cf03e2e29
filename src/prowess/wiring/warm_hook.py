"""`prowess hook` inside a gateway: answers within a few milliseconds, and learns in the background.

Agents work in any folder, so a runtime is kept for each of the last few; all share the encoder of
the gateway, which is what takes memory. Files are looked at again at each call: an answer is the
same as that of a hook on its own.
"""

import logging
import queue
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from prowess.errors import PathError, contain
from prowess.hooks.answers import answer
from prowess.hooks.harness import Harness
from prowess.hooks.payloads import Incoming, read, unpack_call
from prowess.host.harness.call_records import HookMarks
from prowess.host.harness.hook_socket import HookQuestion, HookSocket
from prowess.host.harness.sessions import SessionFolders
from prowess.host.harness.transcripts import read_transcript
from prowess.host.sources.harness_folders import find_workspace
from prowess.runtime.route.answer import Hurry
from prowess.runtime.workshop.service import LearningTools, TurnLearning
from prowess.transcripts.sessions import convert_session
from prowess.transcripts.turns import Transcript, build_transcript
from prowess.wiring.hook import (
    ENDINGS,
    Watched,
    find_session_file,
    folder_of,
    is_worth_loading,
    learns,
    open_hooks,
)
from prowess.wiring.library import WARM_HOOK, Runtime, open_runtime

if TYPE_CHECKING:
    from prowess.runtime.ports import Encoder


# Their sessions are no plain messages, or lie in a database: the reader of the format knows.
_BY_ID = frozenset((Harness.COPILOT, Harness.QWEN, Harness.OPENCODE, Harness.OPENCLAW))


def open_turn_learning(runtime: Runtime) -> TurnLearning:
    """Return what learns from turns of the runtime's folder."""
    return TurnLearning(
        LearningTools(
            workshop=lambda: runtime.workshop,
            session=lambda incoming: _session(runtime, incoming),
            is_first=HookMarks(runtime.folders.state).is_first,
        )
    )


def _session(runtime: Runtime, incoming: Incoming) -> Transcript | None:
    """Read the session that a payload names, if it lies where that harness keeps its own."""
    if incoming.harness in _BY_ID:
        folders = SessionFolders(runtime.folders.home, runtime.environ)
        found = folders.find(incoming.harness, incoming.session)
        return None if found is None else convert_session(found)
    path = find_session_file(runtime, incoming)
    if path is None:
        return None
    try:
        raw = read_transcript(path)
    except PathError:
        # Not written yet, or cleared away: then there is nothing to learn from.
        return None
    return build_transcript(raw.records, None, raw.skipped)


def learn_alone(raw: bytes, folder: str) -> None:
    """Learn from one call in a process that was started for it.

    Raises:
        ProwessError: the session or the store cannot be used.
        ValueError: `raw` is no call.
    """
    incoming = unpack_call(raw)
    with open_runtime(folder) as runtime:
        open_turn_learning(runtime).learn(incoming)


log = logging.getLogger(__name__)

_MOST_FOLDERS = 8
_MOST_WAITING = 64
_STOP_SECONDS = 5.0
# In a folder that is new here words answer, as a hook on its own would, until its index is made; an
# index that is kept is loaded well within that.
_HURRY = Hurry(least_skills=1, seconds=0.3)
# A thread that is inside of the model when the process ends makes that an abort. It stops at the
# next batch of texts, well within a second; a machine that is busy may need far longer.
_WARM_SECONDS = 20.0
# Of no skill's words: it is routed by its meaning, which is what has to be loaded.
_ANY_MESSAGE = "good morning"


class _ClosedError(Exception):
    """Nobody waits for what is being loaded any more; never leaves this module."""


class WarmHooks:
    """Answers the hooks of every folder; threads may share it."""

    def __init__(self, runtime: Runtime) -> None:
        self._first = runtime
        self._lock = threading.Lock()
        self._folders: OrderedDict[str, Runtime] = OrderedDict()
        self._ended: queue.Queue[tuple[Incoming, str] | None] = queue.Queue(_MOST_WAITING)
        self._learner: threading.Thread | None = None
        self._warmer: threading.Thread | None = None
        self._closing = threading.Event()

    def start(self) -> None:
        """Begin to learn from turns that end."""
        self._learner = threading.Thread(target=self._learn, name="hook-learning", daemon=True)
        self._learner.start()

    def warm(self) -> None:
        """Begin to load what the first prompt in the default agent's folder would wait for."""
        self._warmer = threading.Thread(target=self._warm, name="hook-warming", daemon=True)
        self._warmer.start()

    def close(self) -> None:
        """Stop learning and give back every folder but the gateway's own."""
        self._closing.set()
        if self._warmer is not None:
            self._warmer.join(_WARM_SECONDS)
        if self._learner is not None:
            self._put(None)
            self._learner.join(_STOP_SECONDS)
        with self._lock:
            for runtime in self._folders.values():
                runtime.routing.finish(_WARM_SECONDS)
                runtime.close()
            self._folders.clear()

    def answer(self, asked: HookQuestion) -> str | None:
        """Return what the hook prints; None where it had better look for itself."""
        watched = Watched(self._first.folders.state)
        incoming = read(asked.raw, asked.environ)
        if incoming is None:
            watched.note(None)
            return ""
        # Alone it fails in the same way, and notes why; or it is more lucky.
        with contain(lambda error: log.warning("hooks.no-answer: %s", type(error).__name__)):
            folder = folder_of(incoming, asked.folder, self._first.folders.home)
            text = self._answered(incoming, folder)
            watched.note(incoming, spoke=bool(text))
            return text
        return None

    def _answered(self, incoming: Incoming, folder: str) -> str:
        runtime = self._runtime(folder)
        runtime.skills.refresh()
        context = open_hooks(runtime).context(incoming)
        if incoming.moment in ENDINGS and not incoming.stop_hook_active and learns(runtime):
            self._put((incoming, folder))
        return answer(incoming, context)

    def _runtime(self, folder: str) -> Runtime:
        with self._lock:
            found = self._folders.pop(folder, None)
            if found is None:
                opened = open_runtime(
                    folder,
                    home=self._first.folders.state,
                    environ=self._first.environ,
                    patience=WARM_HOOK,
                )
                found = _Beside(self._first, opened)
                found.routing.hurries = _HURRY
            # The last one that was used is the last to go.
            self._folders[folder] = found
            if len(self._folders) > _MOST_FOLDERS:
                # Whoever still uses it opens what it needs again.
                self._folders.popitem(last=False)[1].close()
        return found

    def _put(self, item: tuple[Incoming, str] | None) -> None:
        try:
            self._ended.put_nowait(item)
        except queue.Full:
            log.warning("hooks.learning-late: a turn was left out.")

    def _warm(self) -> None:
        # The first prompt loads it then, as it always did.
        with contain(lambda error: log.warning("hooks.not-warmed: %s", type(error).__name__)):
            try:
                self._load_ahead()
            except _ClosedError:
                log.info("hooks.warming-ended: the gateway stops.")

    def _load_ahead(self) -> None:
        if not is_worth_loading(self._first):
            return
        own = self._first.skills.workspace().folder
        folder = find_workspace(own, (), own, self._first.folders.home)
        for runtime in (self._first, self._runtime(folder)):
            self._go_on()
            # By itself first: it alone can be stopped, and takes long where skills are new.
            runtime.routing.index(progress=self._go_on)
            self._go_on()
            runtime.routing.route(_ANY_MESSAGE)

    def _go_on(self, *_progress: object) -> None:
        if self._closing.is_set():
            raise _ClosedError

    def _learn(self) -> None:
        while (item := self._ended.get()) is not None:
            incoming, folder = item
            # The next turn is another one.
            with contain(lambda error: log.warning("hooks.not-learned: %s", type(error).__name__)):
                open_turn_learning(self._runtime(folder)).learn(incoming)


@contextmanager
def serving_hooks(runtime: Runtime) -> Iterator[WarmHooks]:
    """Answer hooks on the socket of the runtime's state folder meanwhile."""
    desk = WarmHooks(runtime)
    line = HookSocket(runtime.folders.state, desk.answer)
    desk.start()
    line.start()
    try:
        yield desk
    finally:
        line.close()
        desk.close()


class _Beside(Runtime):
    """A runtime for another folder that shares the encoder of the first."""

    def __init__(self, first: Runtime, own: Runtime) -> None:
        super().__init__(
            skills=own.skills, config_file=own.config, folders=own.folders, environ=own.environ
        )
        self.state, self.judges = own.state, own.judges
        self._shared = first

    def _open_encoder(self) -> "Encoder | None":
        routing = self._shared.routing
        # Where it fails it is tried again here as well; without a problem there is none to try.
        return routing.needed_encoder() if routing.problem else routing.encoder()
