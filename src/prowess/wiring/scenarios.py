"""Stages for scenarios: each a runtime of its own in a folder of its own, with everything real.

Only the reviewing model is none: a program stands for it that keeps each question and prints the
next reply. Nothing of the user's home, config or environment but what programs need to start is on
a stage. A stage belongs to one thread, by which the log tells the stages of a suite apart.
"""

import json
import logging
import os
import shutil
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from prowess.evaluation.scenarios import DEFAULT_SESSION, PLUGIN, Say, Scenario
from prowess.evaluation.stage import Played, Seen, play
from prowess.host.config import file as config
from prowess.host.files.state_files import write_private
from prowess.wire import workshop as wire_workshop
from prowess.wiring.library import Runtime, open_runtime

_LOGGER = "prowess.workshop"
# What the system needs to start a program, and no more.
_NEEDED = ("PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "LANG", "LC_ALL")
_FOLDERS = ("home", "state", "work", "reviewer")
_REVIEWER = """\
import pathlib
import sys

folder = pathlib.Path(__file__).parent
number = len(list(folder.glob("asked-*.txt"))) + 1
(folder / f"asked-{number}.txt").write_bytes(sys.stdin.buffer.read())
reply = folder / f"reply-{number}.txt"
if not reply.exists():
    sys.exit(f"the scenario has no reply number {number}")
sys.stdout.buffer.write(reply.read_bytes())
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a scenario went, and the folder that is left of it; empty where it is gone."""

    played: Played
    folder: str = ""


def run_scenarios(
    scenarios: Iterable[Scenario], *, concurrency: int = 1, keep: bool = False
) -> Iterator[Finished]:
    """Play scenarios, so many at once, and yield them in the order given.

    Not twice at the same time in one process: the log is listened to as a whole.

    Args:
        scenarios: what to play; the same one may be there twice.
        concurrency: how many at once.
        keep: whether their folders are left for a person to look at.
    """
    with _listening() as log, _pool(concurrency) as pool:
        yield from pool.map(lambda scenario: _finished(scenario, log, keep=keep), scenarios)


@contextmanager
def _pool(size: int) -> Iterator[ThreadPoolExecutor]:
    pool = ThreadPoolExecutor(max_workers=size, thread_name_prefix="prowess-qa")
    try:
        yield pool
    finally:
        # Whoever stops it waits for what is being played, which clears its folder away.
        pool.shutdown(cancel_futures=True)


def _finished(scenario: Scenario, log: "_Log", *, keep: bool) -> Finished:
    folder = tempfile.mkdtemp(prefix=f"prowess-qa-{scenario.name[:40]}-")
    try:
        log.begin()
        with _stage(folder, log) as stage:
            played = play(scenario, stage, time.monotonic)
        return Finished(played=played, folder=folder if keep else "")
    finally:
        if not keep:
            # A file that cannot be removed is the system's to clear away, and no failed scenario.
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _stage(folder: str, log: "_Log") -> Iterator["_Stage"]:
    for name in _FOLDERS:
        os.mkdir(os.path.join(folder, name))
    environ = {name: os.environ[name] for name in _NEEDED if name in os.environ}
    with open_runtime(
        os.path.join(folder, "work"),
        home=os.path.join(folder, "state"),
        environ={**environ, "HOME": os.path.join(folder, "home")},
    ) as runtime:
        yield _Stage(folder, runtime, log)


class _Stage:
    """One scenario's own workspace, state folder, home and reviewer."""

    def __init__(self, folder: str, runtime: Runtime, log: "_Log") -> None:
        self._folder, self._runtime, self._log = folder, runtime, log
        self._said: dict[str, list[Mapping[str, object]]] = defaultdict(list)
        self._replies = 0
        _write(self._reviewer("reviewer.py"), _REVIEWER)

    def configure(self, wanted: Mapping[str, object]) -> Sequence[str]:
        """Write the config with our reviewer in it, and return what was not understood."""
        path = os.path.join(self._folder, "state", config.FILE_NAME)
        write_private(path, json.dumps(self._with_reviewer(wanted), indent=2))
        problems = self._runtime.config.read().problems
        return [f"{problem.key} {problem.message}" for problem in problems]

    def write(self, path: str, text: str) -> None:
        """Write a file of the workspace."""
        _write(self._work(path), text)

    def read(self, path: str) -> bytes | None:
        """Return a file of the workspace; None where there is none."""
        whole = self._work(path)
        return _read(whole) if os.path.isfile(whole) else None

    def reply(self, text: str) -> None:
        """Add an answer of the reviewer."""
        self._replies += 1
        _write(self._reviewer(f"reply-{self._replies}.txt"), text)

    def say(self, turn: Say) -> None:
        """Let one turn end, with what was said before in its session as history."""
        history = self._said[turn.session]
        with self._runtime.run(session=turn.session, process_wide=False) as run:
            run.turn(turn.messages, turn.tool_calls, ok=turn.ok, history=tuple(history))
        history.extend(turn.messages)

    def call(
        self, arguments: Mapping[str, object], session: str, *, by_person: bool = False
    ) -> Mapping[str, object]:
        """Call the tool, as an agent does in a run.

        Raises:
            ProposalError: it is refused.
        """
        session = session or DEFAULT_SESSION
        with self._runtime.run(session=session, process_wide=False) as run:
            return run.workshop.call(
                arguments, agent_id=run.agent_id, session_id=session, by_person=by_person
            )

    def look(self, session: str) -> Seen:
        """Return what is to be seen; a run begins for it, as it would for the next turn."""
        session = session or DEFAULT_SESSION
        with self._runtime.run(session=session, process_wide=False) as run:
            skills = [skill.name for skill in run.snapshot.resolved]
            agent = run.agent_id
        workshop = self._runtime.workshop
        found = reversed(workshop.list(agent_id=agent))
        return Seen(
            proposals=[wire_workshop.proposal(one) for one in found],
            events=[wire_workshop.proposal_event(one) for one in workshop.events(agent_id=agent)],
            skills=skills,
            log=self._log.lines(),
            questions=self._questions(),
        )

    def _questions(self) -> list[str]:
        found: list[str] = []
        while os.path.exists(path := self._reviewer(f"asked-{len(found) + 1}.txt")):
            found.append(_read(path).decode("utf-8", "replace"))
        return found

    def _with_reviewer(self, wanted: Mapping[str, object]) -> Mapping[str, object]:
        command = [sys.executable, "-I", self._reviewer("reviewer.py")]
        # The reader of scenarios lets nothing else through.
        whole = json.loads(json.dumps(wanted))
        entry = whole.get("plugins", {}).get("entries", {}).get(PLUGIN)
        if isinstance(entry, dict) and isinstance(entry.setdefault("config", {}), dict):
            entry["config"]["reviewCommand"] = command
        made: Mapping[str, object] = whole
        return made

    def _work(self, path: str) -> str:
        return os.path.join(self._folder, "work", *path.split("/"))

    def _reviewer(self, name: str) -> str:
        return os.path.join(self._folder, "reviewer", name)


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(text.encode())


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


class _Log(logging.Handler):
    """Keeps what the workshop says, apart for each thread."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._lines: dict[int, list[str]] = defaultdict(list)

    def begin(self) -> None:
        """Forget what was said in this thread."""
        self._lines[threading.get_ident()] = []

    def lines(self) -> tuple[str, ...]:
        """Return what was said in this thread since it began."""
        return tuple(self._lines[threading.get_ident()])

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one line."""
        self._lines[record.thread or threading.get_ident()].append(record.getMessage())


@contextmanager
def _listening() -> Iterator[_Log]:
    logger, log = logging.getLogger(_LOGGER), _Log()
    level = logger.level
    logger.addHandler(log)
    logger.setLevel(logging.INFO)
    try:
        yield log
    finally:
        logger.removeHandler(log)
        logger.setLevel(level)
