"""`prowess hook`: alone, and inside a gateway, where it answers within a few milliseconds.

A coding agent is told of skills that fit a prompt, and at the start of what it cannot know. A
harness lists its own skills itself, so they are never listed a second time; with a prompt they are
hinted at by the way in which that harness loads them. Where a prompt may set a rule, the agent is
asked, which is a language model and can tell. Most calls need no routing, so it is asked for late.

The cold path answers exactly as `prowess route --workspace FOLDER` would, as far as there is time.
It makes no index: where none is kept it answers from words, and leaves the work to a process of its
own, one for each state folder. The encoder reads the message on a thread, and where the machine is
so busy that this takes long, words answer as well: no prompt waits for us until it is lost. What
only a gateway needs is imported there.

A gateway keeps a runtime for each of the last few folders; all share its encoder, which is what
takes memory. Files are looked at again at each call: an answer is the same as that of a hook alone.
"""

import os
import queue
import re
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from prowess.errors import PathError
from prowess.hooks.answers import (
    MOST_SKILLS,
    Hint,
    Incoming,
    answer,
    can_speak,
    is_command,
    keep_typed,
    pack_call,
    prompt_context,
    read,
    rule_context,
    session_context,
    unpack_call,
)
from prowess.hooks.harness import LIMIT_VARIABLE, Harness, Moment
from prowess.host.harness.hook_client import HookLog, is_in_roots, list_session_roots
from prowess.host.harness.marks_and_places import is_first, place_to_index
from prowess.host.sources.roots import find_home, find_workspace
from prowess.skills.model import Tier
from prowess.spans import contain
from prowess.wiring.library import HOOK, WARM_HOOK, Runtime, open_runtime

if TYPE_CHECKING:
    import logging

    from prowess.host.harness.hook_socket import HookQuestion
    from prowess.routing.model import Match
    from prowess.runtime.ports import Encoder
    from prowess.runtime.workshop.service import TurnLearning
    from prowess.skills.model import Skill
    from prowess.transcripts.turns import Transcript


# The moments after which something may have been learned.
ENDINGS = frozenset((Moment.TURN_END, Moment.SESSION_END))
# Until when one message may be read, as a part of what the caller waits at all: from its beginning,
# since on a busy machine it took long to come as far. Words need a moment after that.
_PATIENCE, _LONGEST_WAIT_S = 0.6, 20.0
# Their sessions are no plain messages, or lie in a database: the reader of the format knows.
_BY_ID = frozenset((Harness.COPILOT, Harness.QWEN, Harness.OPENCODE, Harness.OPENCLAW))
_MOST_FOLDERS = 8
_MOST_WAITING = 64
_STOP_SECONDS = 5.0
# A thread that is inside of the model when the process ends makes that an abort. It stops at the
# next batch of texts, well within a second; a machine that is busy may need far longer.
_WARM_SECONDS = 20.0
# Where no other harness looks for skills.
_OUR_OWN = frozenset((Tier.EXTRA, Tier.BUNDLED, Tier.MANAGED, Tier.WORKSPACE))
# Of no skill's words: it is routed by its meaning, which is what has to be loaded.
_ANY_MESSAGE = "good morning"


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
        return answer(incoming, HookService(runtime).context(incoming))
    with open_runtime(folder_of(incoming, os.getcwd(), find_home(os.environ))) as opened:
        return answer(incoming, HookService(opened).context(incoming))


_ABOUT_US = re.compile(r"\bprowess\b", re.IGNORECASE)


class HookService:
    """Answers the hooks of one folder."""

    def __init__(self, runtime: Runtime, is_first: Callable[[str], bool] | None = None) -> None:
        """Without `is_first`, which knows what was asked before, nothing is counted or kept."""
        self._runtime, self._skills, self._is_first = runtime, runtime.skills, is_first

    def context(self, incoming: Incoming) -> str:
        """Return what to tell the agent; nothing where it would not be read or nothing fits."""
        if not can_speak(incoming):
            return ""
        if incoming.moment is Moment.PROMPT:
            message = read_typed(incoming.prompt)
            hints = self._hints(incoming, message)
            return prompt_context(incoming.harness, hints, self._ask(incoming, message))
        told = self._list_unlisted(incoming)
        return "" if told and self._is_kept(incoming, told) else told

    def _is_kept(self, incoming: Incoming, told: str) -> bool:
        """Return whether a session that is resumed still has what it was told: only Codex does."""
        if incoming.harness is not Harness.CODEX or self._is_first is None:
            return False
        is_new = self._is_first(f"told\0{incoming.session}\0{told}")
        return incoming.source == "resume" and not is_new

    def _ask(self, incoming: Incoming, message: str) -> str:
        """Return the line that asks about a rule, once for each; nothing where it is not wanted."""
        if not (message and learns(self._runtime) and self._skills.settings.workshop.ask_agent):
            return ""
        # Late: most prompts are asked about by nobody, and the tables take a while to read.
        from prowess.language.corrections import may_last
        from prowess.workshop.proposal import name_rule

        if not may_last(message):
            return ""
        if self._is_first is not None and not self._is_first(f"rule\0{name_rule(message)}"):
            return ""
        # What was proposed in other words was asked about then.
        is_known = self._runtime.workshop.knows_rule(message)
        return "" if is_known else rule_context(incoming.harness)

    def _hints(self, incoming: Incoming, message: str) -> list[Hint]:
        if not message:
            return []
        # Late: it brings along numbers and vectors, which no other moment needs.
        from prowess.routing.router import Context
        from prowess.runtime.route.answer import Asked, Caller, Surface

        caller = Caller(surface=Surface.HOOK)
        # Unless a message is about Prowess, our own skills are none of its business.
        context = Context(bundled=_ABOUT_US.search(message) is not None)
        history = _recall(self._runtime, incoming)
        asked = Asked(rehearsal=self._is_first is None, context=context, history=history)
        found = self._runtime.routing.answer(message, caller, asked).route
        return [self._hint(match, incoming) for match in found.matches[:MOST_SKILLS]]

    def _list_unlisted(self, incoming: Incoming) -> str:
        """Return the skills that a harness does not list itself, as far as there is room."""
        unlisted = self._leave_listed(self._skills.allowed().hopeful, incoming)
        if unlisted:
            # What was not scanned yet is not told of: as many as there is time for are, and none
            # of that time goes to what the harness lists.
            self._skills.settle(unlisted)
        usable = self._leave_listed(self._skills.allowed().usable, incoming)
        return session_context(
            [Hint(name=one.name, path=one.path, why=one.description) for one in usable]
        )

    def _leave_listed(self, skills: "Sequence[Skill]", incoming: Incoming) -> "list[Skill]":
        return [
            skill
            for skill in skills
            if skill.invocation.model and not (skill.bundled or self._is_listed(skill, incoming))
        ]

    def _is_listed(self, skill: "Skill", incoming: Incoming) -> bool:
        """Return whether a harness finds a skill, or a copy of it, and tells its model of it."""
        shadowed = self._skills.workspace().state(self._skills.settings).catalog.shadowed
        copies = (one.skill for one in shadowed if one.winner.path == skill.path and one.identical)
        # OpenClaw alone looks into folders of ours: our workspace is its own.
        ours = () if incoming.harness is Harness.OPENCLAW else _OUR_OWN
        theirs = [one for one in (skill, *copies) if one.source.tier not in ours]
        if not theirs:
            return False
        # Late: for what lies in folders of our own alone nobody needs the table.
        from prowess.skills.harness.rules import Reader, read_rules, reads, why_hidden

        if incoming.harness.value not in set(Reader):
            return False
        rules = read_rules()[Reader(incoming.harness.value)]
        found = (one for one in theirs if reads(rules, one, incoming.cwd))
        return any(not why_hidden(rules, one) for one in found)

    def _hint(self, match: "Match", incoming: Incoming) -> Hint:
        return Hint(
            name=match.skill.name,
            path=match.skill.path,
            score=match.score,
            why="; ".join(match.reasons),
            is_listed=self._is_listed(match.skill, incoming),
        )


def read_typed(prompt: str) -> str:
    """Return what a person typed; nothing for commands and for what a program put in between."""
    text = keep_typed(prompt).strip()
    return "" if is_command(text) else text


def find_session_file(runtime: Runtime, incoming: Incoming) -> str | None:
    """Return the transcript that a payload names, if it lies where that harness keeps its own."""
    path = incoming.transcript_path
    if path.startswith("~/"):
        path = runtime.folders.home + path[1:]
    roots = list_session_roots(runtime.folders.home, runtime.environ).get(incoming.harness, ())
    return path if is_in_roots(path, roots) else None


def _recall(runtime: Runtime, incoming: Incoming) -> tuple[Mapping[str, object], ...]:
    """Return the last messages of the session, as far as its file has them at its end."""
    path = find_session_file(runtime, incoming)
    if path is None:
        return ()
    # Late: only a prompt has something before it.
    from prowess.host.harness.transcripts import read_end
    from prowess.transcripts.turns import build_transcript

    turns = build_transcript(read_end(path)).turns
    return tuple(content for turn in turns for content in turn.contents)


def folder_of(incoming: Incoming, current: str, home: str) -> str:
    """Return the folder that a call is about: the agent's project, else where the hook runs."""
    return find_workspace(incoming.cwd, incoming.projects, current, home)


class HookPlace(NamedTuple):
    """Where a hook runs, and since when, by the monotonic clock, its caller waits."""

    current: str
    state: str
    begun: float


class AnswerPrinter(Protocol):
    """Writes an answer where the caller waits for it."""

    def __call__(self, text: str, /) -> None:
        """Write `text`, which may be empty."""


def answer_alone(
    raw: bytes, environ: Mapping[str, str], place: HookPlace, show: AnswerPrinter
) -> None:
    """Answer without a gateway and show it; whatever goes wrong is noted and shows nothing."""
    log = HookLog(place.state, place.begun)
    incoming: Incoming | None = None
    # A hook that fails must not be noticed by the agent: the log says of what kind it was.
    with contain(lambda error: log.note_end(incoming, problem=type(error).__name__)):
        incoming = read(raw, environ)
        if incoming is None:
            log.note_end(None)
            return
        text = _answer_cold(incoming, environ, place)
        show(text)
        log.note_end(incoming, spoke=bool(text))


def _answer_cold(incoming: Incoming, environ: Mapping[str, str], place: HookPlace) -> str:
    folder = folder_of(incoming, place.current, find_home(environ))
    # Not closed: the process ends at once, and what it opened is on the disk.
    message = read_typed(incoming.prompt) if incoming.moment is Moment.PROMPT else ""
    opened = open_runtime(folder, environ=environ, patience=HOOK)
    runtime = _Ahead(opened, folder, place.begun)
    if message:
        _be_quiet()
    context = open_hooks(runtime).context(incoming)
    if incoming.moment in ENDINGS and learns(runtime):
        _hand_over(incoming, runtime, folder)
    return answer(incoming, context)


def open_hooks(runtime: Runtime) -> HookService:
    """Return what answers the hooks of a runtime's folder, and remembers what it asked."""
    return HookService(runtime, partial(is_first, runtime.folders.state))


def _be_quiet() -> None:
    """Say nothing beside an answer: some harnesses show it to their user as an error."""
    # Late: most calls need no log.
    import logging

    logging.getLogger("prowess").addHandler(logging.NullHandler())


def _log() -> "logging.Logger":
    # Late: most calls need no log.
    import logging

    return logging.getLogger(__name__)


def _warn(what: str, error: Exception) -> None:
    _log().warning("%s: %s", what, type(error).__name__)


def learns(runtime: Runtime) -> bool:
    """Return whether the operator wants anything learned from turns."""
    workshop = runtime.skills.settings.workshop
    return workshop.active and workshop.auto_capture


def _leave_index(runtime: Runtime, folder: str) -> None:
    """Leave an index to a process of its own, unless one is at work for this state folder."""
    with place_to_index(runtime.folders.state) as is_free:
        if not is_free or not sys.executable:
            return
    from prowess.host.processes.children import start_detached

    argv = (sys.executable, "-P", "-m", "prowess", "hook", "--index")
    start_detached(argv, stdin=b"", environment=runtime.environ, folder=folder)


def index_alone(folder: str) -> None:
    """Scan and index the skills of a folder, in a process that was started for it."""
    with open_runtime(folder) as runtime:
        runtime.skills.status()
        runtime.routing.index()


def _hand_over(incoming: Incoming, runtime: Runtime, folder: str) -> None:
    """Leave a turn to a process of its own, which outlives the caller's patience."""
    if incoming.stop_hook_active or not sys.executable:
        return
    # -P: the folder is the agent's, and nothing in it may be imported.
    argv = (sys.executable, "-P", "-m", "prowess", "hook", "--learn")
    from prowess.host.processes.children import start_detached

    start_detached(argv, stdin=pack_call(incoming), environment=runtime.environ, folder=folder)


def is_worth_loading(runtime: Runtime) -> bool:
    """Return whether an encoder can be loaded ahead; an endpoint is asked only in need."""
    which = runtime.skills.settings.skills.routing.encoder.which
    return which.strip() != "none" and "://" not in which


class _Ahead(Runtime):
    """A runtime whose encoder reads one message, and nothing else."""

    def __init__(self, own: Runtime, folder: str, begun: float) -> None:
        super().__init__(
            skills=own.skills, config_file=own.config, folders=own.folders, environ=own.environ
        )
        self.state, self.judges = own.state, own.judges
        self._folder, self._begun = folder, begun

    def _open_encoder(self) -> "Encoder | None":
        made = super()._open_encoder()
        if made is None or not is_worth_loading(self):
            return made
        # Late: an endpoint needs none of it.
        from prowess.host.models.local import OnnxEncoder, QuickEncoder

        if isinstance(made, OnnxEncoder):
            made.is_brief = True
        given = self.environ.get(LIMIT_VARIABLE, "")
        seconds = _PATIENCE * (int(given) if given.isdecimal() else _LONGEST_WAIT_S)
        until = self._begun + seconds
        return QuickEncoder(made, until, lambda: _leave_index(self, self._folder))


def open_turn_learning(runtime: Runtime) -> "TurnLearning":
    """Return what learns from turns of the runtime's folder."""
    from prowess.runtime.workshop.service import LearningTools, TurnLearning

    return TurnLearning(
        LearningTools(
            workshop=lambda: runtime.workshop,
            session=lambda incoming: _session(runtime, incoming),
            is_first=partial(is_first, runtime.folders.state),
        )
    )


def _session(runtime: Runtime, incoming: Incoming) -> "Transcript | None":
    """Read the session that a payload names, if it lies where that harness keeps its own."""
    if incoming.harness in _BY_ID:
        from prowess.host.harness.sessions import SessionFolders
        from prowess.transcripts.sessions import convert_session

        folders = SessionFolders(runtime.folders.home, runtime.environ)
        found = folders.find(incoming.harness, incoming.session)
        return None if found is None else convert_session(found)
    path = find_session_file(runtime, incoming)
    if path is None:
        return None
    from prowess.host.harness.transcripts import read_transcript
    from prowess.transcripts.turns import build_transcript

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
        self._warmer = threading.Thread(target=self._warm_up, name="hook-warming", daemon=True)
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

    def answer(self, asked: "HookQuestion") -> str | None:
        """Return what the hook prints; None where it had better look for itself."""
        log = HookLog(self._first.folders.state)
        incoming = read(asked.raw, asked.environ)
        if incoming is None:
            log.note_end(None)
            return ""
        # Alone it fails in the same way, and notes why; or it is more lucky.
        with contain(lambda error: _warn("hooks.no-answer", error)):
            folder = folder_of(incoming, asked.folder, self._first.folders.home)
            text = self._answer(incoming, folder)
            log.note_end(incoming, spoke=bool(text))
            return text
        return None

    def _answer(self, incoming: Incoming, folder: str) -> str:
        runtime = self._runtime(folder)
        runtime.skills.refresh()
        context = open_hooks(runtime).context(incoming)
        if incoming.moment in ENDINGS and not incoming.stop_hook_active and learns(runtime):
            self._put((incoming, folder))
        return answer(incoming, context)

    def _runtime(self, folder: str) -> Runtime:
        from prowess.runtime.route.answer import Hurry

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
                # In a folder that is new here words answer, as a hook alone would, until its index
                # is made; an index that is kept is loaded well within that.
                found.routing.hurries = Hurry(least_skills=1, seconds=0.3)
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
            _log().warning("hooks.learning-late: a turn was left out.")

    def _warm_up(self) -> None:
        # The first prompt loads it then, as it always did.
        with contain(lambda error: _warn("hooks.not-warmed", error)):
            try:
                self._load_ahead()
            except _ClosedError:
                _log().info("hooks.warming-ended: the gateway stops.")

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
            with contain(lambda error: _warn("hooks.not-learned", error)):
                open_turn_learning(self._runtime(folder)).learn(incoming)


@contextmanager
def serving_hooks(runtime: Runtime) -> Iterator[WarmHooks]:
    """Answer hooks on the socket of the runtime's state folder meanwhile."""
    from prowess.host.harness.hook_socket import HookSocket

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
