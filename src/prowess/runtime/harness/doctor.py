"""Looks at every connection and at this installation, and says what is wrong and what to do.

A check never ends the examination: what it raises is a finding like any other. A problem is what
keeps something from working; a warning is what a person may want otherwise. A harness that is
neither installed nor connected is not spoken of, and one that is here and not connected is a
warning at most: nobody has to connect everything.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from prowess.errors import ProwessError, contain
from prowess.hooks.harness import Harness, HookCall
from prowess.hooks.registrations import ConnectScope, Registered, is_misled, program_of
from prowess.hooks.samples import SAMPLES, PayloadSample
from prowess.hooks.targets import ALSO_READ_BY

_REPORT = "Set PROWESS_DEBUG=1, run the command that fails, and report what it prints."


class DoctorLevel(StrEnum):
    """How bad a finding is."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorFinding:
    """One sentence about one thing, and what to do about it where there is something to do."""

    area: str
    level: DoctorLevel
    text: str
    todo: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Something to look at; `area` is what its findings are listed under."""

    area: str
    title: str
    look: Callable[[], Iterable[DoctorFinding]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """All that was found, in the order in which it was looked at."""

    findings: tuple[DoctorFinding, ...]

    def count(self, level: DoctorLevel) -> int:
        """Return how many findings there are of a level."""
        return sum(finding.level is level for finding in self.findings)

    @property
    def well(self) -> bool:
        """Whether nothing is broken."""
        return not self.count(DoctorLevel.PROBLEM)


def examine(
    checks: Sequence[Check], progress: Callable[[str, int, int], None] = lambda *_: None
) -> Examination:
    """Look at everything, one check after the other."""
    found: list[DoctorFinding] = []
    for number, check in enumerate(checks):
        progress(check.title, number, len(checks))
        found += _look(check)
    return Examination(findings=tuple(found))


def _look(check: Check) -> list[DoctorFinding]:
    found: list[DoctorFinding] = []

    def report(error: Exception) -> None:
        text, todo = f"{check.title} could not be checked ({type(error).__name__}).", _REPORT
        if isinstance(error, ProwessError):
            text, todo = str(error), ""
        found.append(
            DoctorFinding(area=check.area, level=DoctorLevel.PROBLEM, text=text, todo=todo)
        )

    # Whatever is broken here is what somebody wants to know; the other checks go on.
    with contain(report):
        found = list(check.look())
    return found


NAMES = {
    Harness.CLAUDE_CODE: "Claude Code",
    Harness.CODEX: "Codex",
    Harness.CURSOR: "Cursor",
    Harness.GEMINI: "Gemini CLI",
    Harness.COPILOT: "Copilot CLI",
    Harness.VSCODE: "VS Code",
}
_MISLED = (
    "Its command lets the folder it runs in put files in our place (`-m prowess` without `-P`),"
    " and that folder may be a stranger's project."
)
# Longer than a person waits for without noticing.
_SLOW_MS = 1_000
_MINUTE_MS = 60_000
_UNITS = (("day", 1_440), ("hour", 60), ("minute", 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """A harness on this machine; the version is empty where nothing says it cheaply."""

    version: str = ""


class HarnessWorld(Protocol):
    """What the doctor asks about harnesses."""

    def installed(self, harness: Harness) -> Installed | None:
        """Return the harness as it is installed here, or None."""

    def registered(self, harness: Harness, scope: ConnectScope) -> Mapping[str, Registered | str]:
        """Return what of ours each settings file holds, or why that cannot be said."""

    def expected(self, harness: Harness) -> Sequence[str]:
        """Return the events at which the harness should call us."""

    def program_problem(self, program: str) -> str:
        """Return why a program cannot be started, or nothing."""

    def last_call(self, harness: Harness) -> HookCall | None:
        """Return the newest call of our hook by a harness."""

    def answer(self, sample: PayloadSample) -> tuple[str, int]:
        """Return what our hook says to a recorded payload, and how many milliseconds it took."""

    def now_ms(self) -> int:
        """Return the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """One harness: where it is connected, and which files cannot be read."""

    harness: Harness
    installed: Installed | None
    found: Mapping[ConnectScope, Mapping[str, Registered]]
    unreadable: Mapping[str, str]

    @property
    def scopes(self) -> list[ConnectScope]:
        return [
            scope
            for scope, files in self.found.items()
            if any(one.events for one in files.values())
        ]

    @property
    def files(self) -> dict[str, Registered]:
        return {path: one for files in self.found.values() for path, one in files.items()}

    @property
    def concerns_us(self) -> bool:
        ours = any(one.events or one.server for one in self.files.values())
        return self.installed is not None or ours


def examine_harness(harness: Harness, world: HarnessWorld) -> Iterator[DoctorFinding]:
    """Yield all there is to say about one harness; nothing where it is not here."""
    state = _state(harness, world)
    if not state.concerns_us:
        return
    yield _presence(state)
    yield from _registration(state, world)
    yield from _commands(state, world)
    if state.scopes:
        yield _last(harness, world)
    yield _self_test(harness, world)


def _state(harness: Harness, world: HarnessWorld) -> _State:
    found, unreadable = dict[ConnectScope, dict[str, Registered]](), dict[str, str]()
    for scope in ConnectScope:
        files = world.registered(harness, scope)
        found[scope] = {path: one for path, one in files.items() if isinstance(one, Registered)}
        unreadable |= {path: one for path, one in files.items() if isinstance(one, str)}
    return _State(
        harness=harness,
        installed=world.installed(harness),
        found=found,
        unreadable=unreadable,
    )


def _finding(harness: Harness, level: DoctorLevel, text: str, todo: str = "") -> DoctorFinding:
    return DoctorFinding(area=harness.value, level=level, text=text, todo=todo)


def _presence(state: _State) -> DoctorFinding:
    name = NAMES[state.harness]
    if state.installed is None:
        todo = f"If you no longer use it: prowess connect {state.harness} --remove"
        text = f"{name} is connected, but was not found on this machine."
        return _finding(state.harness, DoctorLevel.WARNING, text, todo)
    version = f" {state.installed.version}" if state.installed.version else ""
    return _finding(state.harness, DoctorLevel.OK, f"{name}{version} is installed.")


def _registration(state: _State, world: HarnessWorld) -> Iterator[DoctorFinding]:
    harness, again = state.harness, f"prowess connect {state.harness}"
    for path, problem in state.unreadable.items():
        text = f"{path}: {problem}"
        yield _finding(harness, DoctorLevel.PROBLEM, text, f"Correct the file, then: {again}")
    if not state.scopes:
        yield _finding(
            harness, DoctorLevel.WARNING, "Its hooks do not call us.", f"Connect it: {again}"
        )
    for scope in state.scopes:
        events = [event for one in state.found[scope].values() for event in one.events]
        missing = [event for event in world.expected(harness) if event not in events]
        if missing:
            text = f"It does not call us at {', '.join(missing)} ({scope})."
            yield _finding(harness, DoctorLevel.WARNING, text, f"{again} --{scope}")
        else:
            text = f"It calls us at {', '.join(events)} ({scope})."
            yield _finding(harness, DoctorLevel.OK, text)
    if len(state.scopes) > 1:
        text = "It is connected for you and for this project, so each hook may run twice."
        yield _finding(harness, DoctorLevel.WARNING, text, f"Keep one: {again} --project --remove")
    for path, one in state.files.items():
        yield from _oddities(harness, path, one)
    if state.scopes:
        yield from _doubled(harness, world)


def _doubled(harness: Harness, world: HarnessWorld) -> Iterator[DoctorFinding]:
    """Yield that a harness runs the hooks of another in this project besides its own."""
    for other in ALSO_READ_BY.get(harness, ()):
        files = world.registered(other, ConnectScope.PROJECT).values()
        if any(isinstance(one, Registered) and one.events for one in files):
            text = (
                f"It may run the hooks of {NAMES[other]} in this project too, and call us twice:"
                " it is told the same each time, and nothing is learned twice."
            )
            todo = f"To keep one: prowess connect {other} --project --remove"
            yield _finding(harness, DoctorLevel.WARNING, text, todo)


def _oddities(harness: Harness, path: str, found: Registered) -> Iterator[DoctorFinding]:
    if found.repeated:
        text = f"{path} calls us more than once at {', '.join(found.repeated)}."
        yield _finding(harness, DoctorLevel.WARNING, text, "Remove all but one of these entries.")
    if found.foreign_server:
        text = f"{path} has a server called prowess that is not ours."
        yield _finding(
            harness, DoctorLevel.WARNING, text, "Give that one another name, then connect."
        )


def _commands(state: _State, world: HarnessWorld) -> Iterator[DoctorFinding]:
    lines = dict.fromkeys(line for one in state.files.values() for line in one.commands)
    if any(map(is_misled, lines)):
        todo = f"Write the safe form: prowess connect {state.harness}"
        yield _finding(state.harness, DoctorLevel.PROBLEM, _MISLED, todo)
    programs = dict[str, None]()
    for one in state.files.values():
        programs |= dict.fromkeys(program_of(line) for line in one.commands)
        programs |= {one.server_command: None} if one.server_command else {}
    for program in programs:
        problem = world.program_problem(program)
        if problem:
            todo = f"Install it there, or write the right one: prowess connect {state.harness}"
            yield _finding(
                state.harness, DoctorLevel.PROBLEM, f"Its command fails: {problem}", todo
            )


def _last(harness: Harness, world: HarnessWorld) -> DoctorFinding:
    call = world.last_call(harness)
    if call is None:
        text = "It has not called us yet."
        todo = "Start a new session in it" + (
            ", and trust the hooks with /hooks." if harness is Harness.CODEX else "."
        )
        return _finding(harness, DoctorLevel.OK, text, todo)
    when = f"{tell_age(world.now_ms() - call.at_ms)} ({call.moment}, {call.took_ms} ms)"
    if call.problem:
        todo = "Look at hooks.jsonl in the state folder; the agent itself was not disturbed."
        return _finding(
            harness, DoctorLevel.WARNING, f"Its last call, {when}, failed: {call.problem}.", todo
        )
    if call.took_ms > _SLOW_MS:
        todo = "Run `prowess serve` in the background: hooks then take a fraction of that."
        return _finding(harness, DoctorLevel.WARNING, f"Its last call, {when}, was slow.", todo)
    return _finding(harness, DoctorLevel.OK, f"It called us {when}.")


def _self_test(harness: Harness, world: HarnessWorld) -> DoctorFinding:
    slowest, spoken, failures = 0, 0, list[str]()
    samples = [sample for sample in SAMPLES if sample.harness is harness]
    for sample in samples:
        text, took = world.answer(sample)
        slowest, spoken = max(slowest, took), spoken + bool(text)
        problem = sample.answers_with(text)
        if problem:
            failures.append(f"{sample.event}: {problem}")
    if failures:
        text = f"Our answers are not what it reads. {' '.join(failures)}"
        return _finding(harness, DoctorLevel.PROBLEM, text, "Update Prowess, or report this.")
    told = f"{spoken} with context, slowest {slowest} ms"
    text = f"{len(samples)} recorded calls were answered as it expects ({told})."
    return _finding(harness, DoctorLevel.OK, text)


def tell_age(milliseconds: int) -> str:
    """Return a span of time in words: `3 hours ago`."""
    minutes = max(milliseconds, 0) // _MINUTE_MS
    for unit, size in _UNITS:
        count = minutes // size
        if count:
            return f"{count} {unit}{'s' * (count > 1)} ago"
    return "just now"
