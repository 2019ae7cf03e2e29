"""Plays a scenario on a stage, step by step, and says where it first goes another way.

After the first step that fails the rest is not played: what follows from a mistake says nothing. A
scenario never raises. Whatever breaks is the failure of the step that broke.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from prowess.errors import ProposalError, ProwessError
from prowess.evaluation.scenarios import (
    Call,
    Configure,
    Expect,
    FileWanted,
    Mismatch,
    Reply,
    Say,
    Scenario,
    Step,
    WriteFile,
    filled,
    follows,
    match,
    missing,
    shown,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What there is to see on a stage now."""

    # As clients see them, oldest first.
    proposals: Sequence[Mapping[str, object]]
    events: Sequence[Mapping[str, object]]
    # The names in the prompt of the next run.
    skills: Sequence[str]
    # Since the beginning.
    log: Sequence[str]
    # What the reviewer was asked.
    questions: Sequence[str]


class Stage(Protocol):
    """A workspace of its own with everything that learns, and nobody else in it."""

    def configure(self, config: Mapping[str, object]) -> Sequence[str]:
        """Write the config, and return what in it was not understood."""

    def write(self, path: str, text: str) -> None:
        """Write a file of the workspace."""

    def read(self, path: str) -> bytes | None:
        """Return a file of the workspace; None where there is none."""

    def reply(self, text: str) -> None:
        """Add an answer of the reviewer to those that it gives, one after the other."""

    def say(self, turn: Say) -> None:
        """Let one turn end."""

    def call(
        self, arguments: Mapping[str, object], session: str, *, by_person: bool = False
    ) -> Mapping[str, object]:
        """Call the tool; `by_person` where a person said yes to it.

        Raises:
            ProposalError: it is refused.
        """

    def look(self, session: str) -> Seen:
        """Return what is to be seen, with the skills that the next run of a session has."""


class Outcome(StrEnum):
    """How a step went."""

    PASSED = "passed"
    FAILED = "failed"
    # A step before it failed.
    NOT_REACHED = "not-reached"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How one step went, and what was not as it should be."""

    step: Step
    outcome: Outcome
    mismatches: tuple[Mismatch, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """How a scenario went."""

    scenario: Scenario
    results: tuple[Result, ...]
    seconds: float

    @property
    def passed(self) -> bool:
        """True where every step went as it should."""
        return all(result.outcome is Outcome.PASSED for result in self.results)


@dataclass(slots=True, kw_only=True)
class _Story:
    """What is known while a scenario is played."""

    stage: Stage
    session: str = ""
    names: dict[str, object] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)
    replies: list[Reply] = field(default_factory=list)
    log_read: int = 0


def play(scenario: Scenario, stage: Stage, clock: Callable[[], float]) -> Played:
    """Play every step until one fails; `clock` counts seconds."""
    begun, story = clock(), _Story(stage=stage)
    results: list[Result] = []
    for step in (*scenario.steps, _End(line=0, title="Every reply of the reviewer was used")):
        if results and results[-1].outcome is not Outcome.PASSED:
            results.append(Result(step=step, outcome=Outcome.NOT_REACHED))
            continue
        found = tuple(_mismatches(story, step))
        outcome = Outcome.FAILED if found else Outcome.PASSED
        results.append(Result(step=step, outcome=outcome, mismatches=found))
    return Played(scenario=scenario, results=_told(results), seconds=clock() - begun)


@dataclass(frozen=True, slots=True, kw_only=True)
class _End(Step):
    """The end of the story, which a reader wants to hear of only where it is a bad one."""


def _told(results: Sequence[Result]) -> tuple[Result, ...]:
    return tuple(
        result
        for result in results
        if not isinstance(result.step, _End) or result.outcome is Outcome.FAILED
    )


def _mismatches(story: _Story, step: Step) -> list[Mismatch]:
    try:
        return _PLAYERS[type(step)](story, step)
    except ProwessError as error:
        return [Mismatch("it", "to work", str(error))]
    # The stage reaches disks, processes and models: what breaks there is a failed step.
    except Exception as error:  # noqa: BLE001
        return [Mismatch("it", "to work", f"{type(error).__name__}: {error}")]


def _configure(story: _Story, step: Configure) -> list[Mismatch]:
    problems = story.stage.configure(step.config)
    return [Mismatch("config", "to be understood", problem) for problem in problems]


def _write(story: _Story, step: WriteFile) -> list[Mismatch]:
    story.stage.write(step.path, step.text)
    story.written[step.path] = step.text
    return []


def _reply(story: _Story, step: Reply) -> list[Mismatch]:
    story.stage.reply(step.text)
    story.replies.append(step)
    return []


def _say(story: _Story, step: Say) -> list[Mismatch]:
    story.session = step.session
    for _ in range(step.times):
        story.stage.say(step)
    most, asked = len(story.replies), len(story.stage.look(story.session).questions)
    if asked <= most:
        return []
    return [
        Mismatch("questions to the reviewer", f"at most {most}, one for each reply", f"{asked}")
    ]


def _call(story: _Story, step: Call) -> list[Mismatch]:
    wanted = filled(step.arguments, story.names)
    arguments = wanted if isinstance(wanted, Mapping) else {}
    try:
        answer = story.stage.call(arguments, story.session, by_person=step.by_person)
    except ProposalError as error:
        if step.error is None:
            return [Mismatch("the call", "to be answered", f"error: {error}")]
        fits = follows(step.error, str(error))
        return [] if fits else [Mismatch("error", step.error, str(error))]
    if step.error is not None:
        return [Mismatch("the call", f"error: {step.error}", shown(answer))]
    return match(step.result or {}, answer, story.names, "result")


def _expect(story: _Story, step: Expect) -> list[Mismatch]:
    seen = story.stage.look(story.session)
    found: list[Mismatch] = []
    if step.proposals is not None:
        found += match(step.proposals, seen.proposals, story.names, "proposals")
    if step.events is not None:
        found += match(step.events, seen.events, story.names, "events")
    for path, wanted in step.files.items():
        found += _file(path, wanted, story.stage.read(path), story.written.get(path))
    found += _skills(step, seen)
    found += _log(story, step, seen)
    return found + _questions(step, seen)


def _end(story: _Story, _step: Step) -> list[Mismatch]:
    asked = len(story.stage.look(story.session).questions)
    if asked >= len(story.replies):
        return []
    line = story.replies[asked].line
    return [Mismatch("reviewer", f"a question for the reply on line {line}", f"{asked} questions")]


# Each takes the step that it stands beside.
_PLAYERS: Mapping[type[Step], Callable[..., list[Mismatch]]] = {
    Configure: _configure,
    WriteFile: _write,
    Reply: _reply,
    Say: _say,
    Call: _call,
    Expect: _expect,
    _End: _end,
}


def _file(
    path: str, wanted: FileWanted, content: bytes | None, written: str | None
) -> list[Mismatch]:
    if content is None or not wanted.exists:
        expected, there = ("a file" if wanted.exists else "no file"), content is not None
        is_fine = there == wanted.exists
        return [] if is_fine else [Mismatch(path, expected, "a file" if there else "no file")]
    text = content.decode("utf-8", "replace")
    found = [
        Mismatch(path, f"to hold {shown(part)}", shown(text))
        for part in wanted.contains
        if part not in text
    ]
    found += [
        Mismatch(path, f"not to hold {shown(part)}", shown(text))
        for part in wanted.lacks
        if part in text
    ]
    exact = [wanted.equals] if wanted.equals is not None else []
    exact += [written or ""] if wanted.unchanged else []
    return found + [
        Mismatch(path, f"exactly {shown(body)}", shown(text))
        for body in exact
        if content != body.encode()
    ]


def _skills(step: Expect, seen: Seen) -> list[Mismatch]:
    names = sorted(seen.skills)
    found = [(name, f"to list {name}") for name in step.listed if name not in names]
    found += [(name, f"not to list {name}") for name in step.unlisted if name in names]
    return [Mismatch("snapshot", expected, ", ".join(names) or "none") for _, expected in found]


def _log(story: _Story, step: Expect, seen: Seen) -> list[Mismatch]:
    if step.log is None:
        return []
    news = seen.log[story.log_read :]
    story.log_read = len(seen.log)
    gone = missing(step.log, news)
    return [] if gone is None else [Mismatch("log", shown(gone), shown(list(news)))]


def _questions(step: Expect, seen: Seen) -> list[Mismatch]:
    found: list[Mismatch] = []
    asked, last = len(seen.questions), seen.questions[-1] if seen.questions else ""
    if step.asked is not None and step.asked != asked:
        found.append(Mismatch("reviewer", f"asked {step.asked} times", f"asked {asked} times"))
    found += [
        Mismatch("last question", f"to hold {shown(part)}", shown(last))
        for part in step.saw
        if part not in last
    ]
    return found + [
        Mismatch("last question", f"not to hold {shown(part)}", shown(last))
        for part in step.unseen
        if part in last
    ]
