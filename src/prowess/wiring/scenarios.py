"""Plays scenarios: each in a runtime and folders of its own, with everything real but the model.

A program stands for the reviewing model, which keeps each question and prints the next reply.
Nothing of the user's home, config or environment but what programs need to start is on a stage. A
stage belongs to one thread, by which the log tells the stages of a suite apart.

After the first step that fails the rest is not played: what follows from a mistake says nothing.
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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from prowess.errors import ProposalError, ProwessError
from prowess.evaluation.scenarios import (
    DEFAULT_SESSION,
    PLUGIN,
    CallTool,
    Configure,
    Expect,
    Expected,
    FileWanted,
    Mismatch,
    Reply,
    Say,
    Scenario,
    Step,
    WriteFile,
    fill,
    find_missing,
    follows,
    match,
    quote,
)
from prowess.host.config.file import FILE_NAME
from prowess.host.files.state_files import write_private
from prowess.spans import heard
from prowess.wire import workshop as wire_workshop
from prowess.wiring.library import Runtime, open_runtime

_LOGGER = "prowess.workshop"
# What the system needs to start a program, and no more.
_NEEDED = ("PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "LANG", "LC_ALL")
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


class StepOutcome(StrEnum):
    """How a step went."""

    PASSED = "passed"
    FAILED = "failed"
    # A step before it failed.
    NOT_REACHED = "not-reached"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """How one step went, and what was not as it should be."""

    step: Step
    outcome: StepOutcome
    mismatches: tuple[Mismatch, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """How a scenario went, and the folder that is left of it; empty where it is gone."""

    scenario: Scenario
    results: tuple[StepResult, ...]
    seconds: float
    folder: str = ""

    @property
    def passed(self) -> bool:
        """True where every step went as it should."""
        return all(result.outcome is StepOutcome.PASSED for result in self.results)


def run_scenarios(
    scenarios: Iterable[Scenario], *, concurrency: int = 1, keep: bool = False
) -> Iterator[Played]:
    """Play scenarios, so many at once, and yield them in the order given.

    Not twice at the same time in one process: the log is listened to as a whole.

    Args:
        scenarios: what to play; the same one may be there twice.
        concurrency: how many at once.
        keep: whether their folders are left for a person to look at.
    """
    pool = ThreadPoolExecutor(max_workers=concurrency, thread_name_prefix="prowess-qa")
    log = _Log()
    with heard(log, logging.INFO, _LOGGER):
        try:
            yield from pool.map(lambda scenario: _play(scenario, log, keep=keep), scenarios)
        finally:
            # Whoever stops it waits for what is being played, which clears its folder away.
            pool.shutdown(cancel_futures=True)


def _play(scenario: Scenario, log: "_Log", *, keep: bool) -> Played:
    folder, begun = tempfile.mkdtemp(prefix=f"prowess-qa-{scenario.name[:40]}-"), time.monotonic()
    try:
        log.begin()
        with _open_stage(Path(folder), log) as stage:
            results = tuple(_play_steps(scenario.steps, stage))
        seconds = time.monotonic() - begun
        left = folder if keep else ""
        return Played(scenario=scenario, results=results, seconds=seconds, folder=left)
    finally:
        if not keep:
            # A file that cannot be removed is the system's to clear away, and no failed scenario.
            shutil.rmtree(folder, ignore_errors=True)


def _play_steps(steps: Sequence[Step], stage: "_Stage") -> Iterator[StepResult]:
    outcome = StepOutcome.PASSED
    for step in steps:
        if outcome is not StepOutcome.PASSED:
            outcome = StepOutcome.NOT_REACHED
            yield StepResult(step=step, outcome=outcome)
            continue
        found = _find_mismatches(stage, step)
        outcome = StepOutcome.FAILED if found else StepOutcome.PASSED
        yield StepResult(step=step, outcome=outcome, mismatches=found)
    unused = stage.find_unused_replies() if outcome is StepOutcome.PASSED else ()
    if unused:
        end = Step(title="Every reply of the reviewer was used")
        yield StepResult(step=end, outcome=StepOutcome.FAILED, mismatches=unused)


def _find_mismatches(stage: "_Stage", step: Step) -> tuple[Mismatch, ...]:
    try:
        return tuple(stage.take(step))
    # Text with half a character cannot be written.
    except (ProwessError, OSError, UnicodeError) as error:
        return (Mismatch("it", "to work", str(error)),)


@contextmanager
def _open_stage(folder: Path, log: "_Log") -> Iterator["_Stage"]:
    for name in ("home", "state", "work", "reviewer"):
        (folder / name).mkdir()
    environ = {name: os.environ[name] for name in _NEEDED if name in os.environ}
    with open_runtime(
        str(folder / "work"),
        home=str(folder / "state"),
        environ={**environ, "HOME": str(folder / "home")},
    ) as runtime:
        yield _Stage(folder, runtime, log)


class _Stage:
    """One scenario's own workspace, state folder, home and reviewer."""

    def __init__(self, folder: Path, runtime: Runtime, log: "_Log") -> None:
        self._folder, self._runtime, self._log = folder, runtime, log
        self._said: dict[str, list[Mapping[str, object]]] = defaultdict(list)
        self._session = DEFAULT_SESSION
        self._names: dict[str, object] = {}
        self._written: dict[str, str] = {}
        self._replies: list[Reply] = []
        self._log_read = 0
        self._steps: Mapping[type[Step], Callable[..., Iterable[Mismatch]]] = {
            Configure: self._configure,
            WriteFile: self._write,
            Reply: self._reply,
            Say: self._say,
            CallTool: self._call,
            Expect: self._expect,
        }
        _write(folder / "reviewer" / "reviewer.py", _REVIEWER)

    def take(self, step: Step) -> Iterable[Mismatch]:
        """Let a step happen, and return what is not as it should be."""
        return self._steps[type(step)](step)

    def find_unused_replies(self) -> tuple[Mismatch, ...]:
        """Return that a reply is left which the model was never asked for."""
        asked = len(self._read_questions())
        if asked >= len(self._replies):
            return ()
        wanted = f"a question for the reply on line {self._replies[asked].line}"
        return (Mismatch("reviewer", wanted, f"{asked} questions"),)

    def _configure(self, step: Configure) -> Iterator[Mismatch]:
        whole = step.config.model_dump(by_alias=True, exclude_none=True)
        entry = whole.get("plugins", {}).get("entries", {}).get(PLUGIN, {})
        if isinstance(entry.setdefault("config", {}), dict):
            reviewer = str(self._folder / "reviewer" / "reviewer.py")
            entry["config"]["reviewCommand"] = [sys.executable, "-I", reviewer]
        write_private(str(self._folder / "state" / FILE_NAME), json.dumps(whole, indent=2))
        for problem in self._runtime.config.read().problems:
            yield Mismatch("config", "to be understood", f"{problem.key} {problem.message}")

    def _write(self, step: WriteFile) -> tuple[Mismatch, ...]:
        _write(self._folder / "work" / step.file, step.text)
        self._written[step.file] = step.text
        return ()

    def _reply(self, step: Reply) -> tuple[Mismatch, ...]:
        self._replies.append(step)
        text = step.reviewer if isinstance(step.reviewer, str) else json.dumps(step.reviewer)
        _write(self._folder / "reviewer" / f"reply-{len(self._replies)}.txt", text)
        return ()

    def _say(self, step: Say) -> Iterator[Mismatch]:
        self._session = step.session
        history = self._said[step.session]
        messages = [one.model_dump() for one in step.turn]
        for _ in range(step.times):
            with self._runtime.run(session=step.session, process_wide=False) as run:
                run.turn(messages, step.tool_calls, ok=step.ok, history=tuple(history))
            history.extend(messages)
        most, asked = len(self._replies), len(self._read_questions())
        if asked > most:
            wanted = f"at most {most}, one for each reply"
            yield Mismatch("questions to the reviewer", wanted, str(asked))

    def _call(self, step: CallTool) -> list[Mismatch]:
        arguments = {name: fill(value, self._names) for name, value in step.call.items()}
        try:
            with self._runtime.run(session=self._session, process_wide=False) as run:
                answer = run.workshop.call(
                    arguments,
                    agent_id=run.agent_id,
                    session_id=self._session,
                    by_person=step.by == "person",
                )
        except ProposalError as error:
            if step.error is None:
                return [Mismatch("the call", "to be answered", f"error: {error}")]
            fits = follows(step.error, str(error))
            return [] if fits else [Mismatch("error", step.error, str(error))]
        if step.error is not None:
            return [Mismatch("the call", f"error: {step.error}", quote(answer))]
        return match(step.result or {}, answer, self._names, "result")

    def _expect(self, step: Expect) -> list[Mismatch]:
        wanted, workshop = step.expect, self._runtime.workshop
        # A run begins for it, as it would for the next turn.
        with self._runtime.run(session=self._session, process_wide=False) as run:
            skills = sorted(skill.name for skill in run.snapshot.resolved)
            agent = run.agent_id
        proposals = [wire_workshop.proposal(one) for one in reversed(workshop.list(agent_id=agent))]
        events = [wire_workshop.proposal_event(one) for one in workshop.events(agent_id=agent)]
        found: list[Mismatch] = []
        if wanted.proposals is not None:
            found += match(wanted.proposals, proposals, self._names, "proposals")
        if wanted.events is not None:
            found += match(wanted.events, events, self._names, "events")
        for path, how in wanted.files.items():
            found += self._check_file(path, how)
        named, snapshot = ", ".join(skills) or "none", wanted.snapshot
        gone = [f"to list {name}" for name in snapshot.lists if name not in skills]
        gone += [f"not to list {name}" for name in snapshot.lacks if name in skills]
        found += [Mismatch("snapshot", expected, named) for expected in gone]
        return [*found, *self._check_log(wanted), *self._check_questions(wanted)]

    # A file of a scenario is `true`, `false` or an object.
    def _check_file(self, path: str, wanted: bool | FileWanted) -> Iterator[Mismatch]:  # noqa: FBT001
        whole = self._folder / "work" / path
        content = whole.read_bytes() if whole.is_file() else None
        if content is None or isinstance(wanted, bool):
            words = ("no file", "a file")
            if (content is not None) != bool(wanted):
                yield Mismatch(path, words[bool(wanted)], words[content is not None])
            return
        text = content.decode("utf-8", "replace")
        yield from _check_parts(path, text, wanted.contains, wanted.lacks)
        exact = [wanted.equals] if wanted.equals is not None else []
        exact += [self._written.get(path, "")] if wanted.unchanged else []
        for body in exact:
            if content != body.encode():
                yield Mismatch(path, f"exactly {quote(body)}", quote(text))

    def _check_log(self, wanted: Expected) -> Iterator[Mismatch]:
        if wanted.log is None:
            return
        lines = self._log.lines()
        news, self._log_read = lines[self._log_read :], len(lines)
        gone = find_missing(wanted.log, news)
        if gone is not None:
            yield Mismatch("log", quote(gone), quote(list(news)))

    def _check_questions(self, wanted: Expected) -> Iterator[Mismatch]:
        questions, asked = self._read_questions(), wanted.reviewer.asked
        if asked is not None and asked != len(questions):
            yield Mismatch("reviewer", f"asked {asked} times", f"asked {len(questions)} times")
        last = questions[-1] if questions else ""
        yield from _check_parts("last question", last, wanted.reviewer.saw, wanted.reviewer.lacks)

    def _read_questions(self) -> list[str]:
        found: list[str] = []
        folder = self._folder / "reviewer"
        while (path := folder / f"asked-{len(found) + 1}.txt").exists():
            found.append(path.read_bytes().decode("utf-8", "replace"))
        return found


def _check_parts(
    place: str, text: str, contains: Sequence[str], lacks: Sequence[str]
) -> Iterator[Mismatch]:
    for part in contains:
        if part not in text:
            yield Mismatch(place, f"to hold {quote(part)}", quote(text))
    for part in lacks:
        if part in text:
            yield Mismatch(place, f"not to hold {quote(part)}", quote(text))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


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
        self._lines[record.thread or threading.get_ident()].append(record.getMessage())
