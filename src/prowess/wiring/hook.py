"""`prowess hook` without a gateway, and the parts that it shares with the one inside a gateway.

The cold path answers exactly as `prowess route --workspace FOLDER` would: it only does things at
the same time that a patient program does one after the other. The encoder is loaded on a thread of
its own while the index is made, since loading it is work outside of Python.
"""

import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from prowess.errors import EncoderError, contain
from prowess.hooks.answers import answer
from prowess.hooks.harness import HookCall, Moment
from prowess.hooks.payloads import Incoming, pack_call, read
from prowess.host.harness.call_records import HookLog, HookMarks
from prowess.host.sources.harness_folders import find_home, find_workspace
from prowess.runtime.harness.hook import HookService, read_typed
from prowess.wiring.library import Runtime, open_runtime

if TYPE_CHECKING:
    from prowess.runtime.ports import Encoder, Vectors

# The moments after which something may have been learned.
ENDINGS = frozenset((Moment.TURN_END, Moment.SESSION_END))
_UNKNOWN = "unknown payload"


def answer_hook(raw: bytes, environ: Mapping[str, str], *, runtime: Runtime | None = None) -> str:
    """Return what the hook prints for a payload, and change nothing: no log, no reminder.

    Args:
        raw: the payload.
        environ: the variables by which the caller is told.
        runtime: what to answer from; by default the folder that the payload names.
    """
    incoming = read(raw, environ)
    if incoming is None:
        return ""
    if runtime is not None:
        return answer(incoming, _context(runtime, incoming))
    with open_runtime(folder_of(incoming, os.getcwd(), find_home(os.environ))) as opened:
        return answer(incoming, _context(opened, incoming))


def _context(runtime: Runtime, incoming: Incoming) -> str:
    return HookService(runtime.skills, lambda: runtime.routing).context(incoming)


def folder_of(incoming: Incoming, current: str, home: str) -> str:
    """Return the folder that a call is about: the agent's project, else where the hook runs."""
    return find_workspace(incoming.cwd, incoming.projects, current, home)


class Watched:
    """Notes each call in the log, whatever becomes of it."""

    def __init__(self, state: str) -> None:
        self._log = HookLog(state)
        self._started = time.perf_counter()
        self._at_ms = time.time_ns() // 1_000_000

    def note(self, incoming: Incoming | None, *, spoke: bool = False, problem: str = "") -> None:
        """Write the one line of this call."""
        if incoming is None:
            self._log.note_unknown(self._at_ms, problem or _UNKNOWN)
            return
        took = round((time.perf_counter() - self._started) * 1_000)
        self._log.note(
            HookCall(
                harness=incoming.harness,
                moment=incoming.moment,
                at_ms=self._at_ms,
                took_ms=took,
                spoke=spoke,
                problem=problem,
            )
        )


class AnswerPrinter(Protocol):
    """Writes an answer where the caller waits for it."""

    def __call__(self, text: str, /) -> None:
        """Write `text`, which may be empty."""


def answer_alone(
    raw: bytes, environ: Mapping[str, str], current: str, state: str, show: AnswerPrinter
) -> None:
    """Answer without a gateway and show it; whatever goes wrong is noted and shows nothing."""
    watched = Watched(state)
    incoming: Incoming | None = None
    # A hook that fails must not be noticed by the agent: the log says of what kind it was.
    with contain(lambda error: watched.note(incoming, problem=type(error).__name__)):
        incoming = read(raw, environ)
        if incoming is None:
            watched.note(None)
            return
        text = _cold(incoming, environ, current)
        show(text)
        watched.note(incoming, spoke=bool(text))


def _cold(incoming: Incoming, environ: Mapping[str, str], current: str) -> str:
    folder = folder_of(incoming, current, find_home(environ))
    # Not closed: the process ends at once, and what it opened is on the disk.
    message = read_typed(incoming.prompt) if incoming.moment is Moment.PROMPT else ""
    runtime = _Ahead(open_runtime(folder, environ=environ), message)
    if message:
        _be_quiet()
    marks = HookMarks(runtime.folders.state)
    context = HookService(runtime.skills, lambda: runtime.routing, marks).context(incoming)
    if incoming.moment in ENDINGS and learns(runtime):
        _hand_over(incoming, runtime, folder)
    return answer(incoming, context)


def _be_quiet() -> None:
    """Say nothing beside an answer: some harnesses show it to their user as an error."""
    # Late: most calls need no log.
    import logging

    logging.getLogger("prowess").addHandler(logging.NullHandler())


def learns(runtime: Runtime) -> bool:
    """Return whether the operator wants anything learned from turns."""
    workshop = runtime.skills.settings.workshop
    return workshop.active and workshop.auto_capture


def _hand_over(incoming: Incoming, runtime: Runtime, folder: str) -> None:
    """Leave a turn to a process of its own, which outlives the caller's patience."""
    if incoming.stop_hook_active or not sys.executable:
        return
    # -P: the folder is the agent's, and nothing in it may be imported.
    argv = (sys.executable, "-P", "-m", "prowess", "hook", "--learn")
    from prowess.host.processes.children import start_detached

    start_detached(
        argv,
        stdin=pack_call(incoming),
        environment=runtime.environ,
        folder=folder,
    )


def is_worth_loading(runtime: Runtime) -> bool:
    """Return whether an encoder can be loaded ahead; an endpoint is asked only in need."""
    which = runtime.skills.settings.skills.routing.encoder.which
    return which.strip() != "none" and "://" not in which


class _Ahead(Runtime):
    """A runtime whose encoder reads a message while the index is made."""

    def __init__(self, own: Runtime, message: str) -> None:
        super().__init__(
            skills=own.skills, config_file=own.config, folders=own.folders, environ=own.environ
        )
        self._message = message

    def _open_encoder(self) -> "Encoder | None":
        made = super()._open_encoder()
        if made is None or not self._message or not is_worth_loading(self):
            return made
        return _AheadEncoder(made, self._message)


class _AheadEncoder:
    """Loads a model and encodes one message on a thread of its own.

    Not begun before somebody asks for the encoder: until then both threads would run Python, and
    only take the interpreter from each other.
    """

    def __init__(self, own: "Encoder", message: str) -> None:
        self._own, self._message = own, message
        self._known: dict[str, Vectors] = {}
        self._thread = threading.Thread(target=self._begin, daemon=True)
        self._thread.start()

    @property
    def id(self) -> str:
        """Name the model."""
        return self._own.id

    @property
    def english_only(self) -> bool:
        """True where the vectors of other scripts mean nothing."""
        return self._own.english_only

    def encode(self, texts: Sequence[str]) -> "Vectors":
        """Return one row for each text, in order.

        Raises:
            EncoderError: the model cannot be loaded or does not answer.
        """
        if len(texts) == 1:
            self._thread.join()
            known = self._known.get(texts[0])
            if known is not None:
                return known
        return self._own.encode(texts)

    def _begin(self) -> None:
        # It fails again where its answer is needed, and is told there.
        with suppress(EncoderError):
            # As routing cuts it; with that, and numpy, this module is loaded by now.
            from prowess.routing.router import read as read_message

            ask = read_message(self._message).ask
            self._known[ask] = self._own.encode((ask,))
