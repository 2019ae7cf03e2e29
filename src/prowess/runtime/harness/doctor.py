"""Looks at every connection and at this installation, and says what is wrong and what to do.

A check never ends the examination: what it raises is a finding like any other. A problem is what
keeps something from working; a warning is what a person may want otherwise. A harness that is
neither installed nor connected is not spoken of, and one that is here and not connected is a
warning at most: nobody has to connect everything.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from prowess.errors import ProwessError
from prowess.hooks.harness import Harness, HookCall, Moment
from prowess.hooks.registrations import ConnectScope, Registered, is_misled, program_of
from prowess.hooks.samples import SAMPLES, PayloadSample
from prowess.hooks.targets import ALSO_READ_BY, RUNS_ONCE, HarnessHomes
from prowess.skills.harness.rules import Reader, read_rules
from prowess.spans import contain

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


def name_of(harness: Harness) -> str:
    """Return what people call a harness."""
    return read_rules()[Reader(harness.value)].title


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

    def calls(self, harness: Harness) -> Sequence[HookCall]:
        """Return the last calls of our hook by a harness, newest last."""

    def unheard_ms(self, harness: Harness, project: str) -> int:
        """Return when a person last typed a prompt of which our hook was not told; 0 for never.

        Only what came after the last call, and after connecting, counts; `project` is the folder
        that is connected, and empty where all are.
        """

    # A settings file can hold anything.
    def document(self, path: str) -> Mapping[str, Any]:
        """Return what a settings file of a harness says; nothing where it cannot be read."""

    def variable(self, name: str) -> str:
        """Return a variable of the environment, or nothing."""

    @property
    def places(self) -> HarnessHomes:
        """Where harnesses keep their settings."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessHealth:
    """How the connection to one harness does, from its settings and its last calls."""

    harness: Harness
    # None where it is not on this machine.
    version: str | None
    # For whom it is connected: the user, this project, or both.
    scopes: tuple[ConnectScope, ...]
    # Settings files that cannot be read, with what is wrong.
    unreadable: Mapping[str, str]
    calls: Sequence[HookCall]

    @property
    def latency_ms(self) -> int | None:
        """How long a call takes, in the middle of the last ones."""
        took = sorted(call.took_ms for call in self.calls)
        return took[len(took) // 2] if took else None

    @property
    def hint_rate(self) -> float | None:
        """At which share of the last prompts the agent was told of a skill."""
        prompts = [call for call in self.calls if call.moment is Moment.PROMPT]
        return sum(call.spoke for call in prompts) / len(prompts) if prompts else None


def find_health(harness: Harness, world: HarnessWorld) -> HarnessHealth:
    """Return how one harness is connected, and how its last calls went."""
    state = _state(harness, world)
    return HarnessHealth(
        harness=harness,
        version=None if state.installed is None else state.installed.version,
        scopes=tuple(state.scopes),
        unreadable=state.unreadable,
        calls=world.calls(harness),
    )


def examine_harness(harness: Harness, world: HarnessWorld) -> Iterator[DoctorFinding]:
    """Yield all there is to say about one harness; nothing where it is not here."""
    state = _state(harness, world)
    if not state.concerns_us:
        return
    yield _presence(state)
    yield from _registration(state, world)
    yield from _commands(state, world)
    if state.scopes:
        yield from find_obstacles(harness, state.scopes, world)
        yield from _check_last(harness, world)
        yield from _check_unheard(state, world)
    yield _self_test(harness, world)


def _state(harness: Harness, world: HarnessWorld) -> _State:
    found, unreadable = dict[ConnectScope, dict[str, Registered]](), dict[str, str]()
    for scope in ConnectScope:
        files = world.registered(harness, scope)
        found[scope] = {path: one for path, one in files.items() if isinstance(one, Registered)}
        unreadable |= {path: one for path, one in files.items() if isinstance(one, str)}
    return _State(
        harness=harness, installed=world.installed(harness), found=found, unreadable=unreadable
    )


def _report(harness: Harness, level: DoctorLevel, text: str, todo: str = "") -> DoctorFinding:
    return DoctorFinding(area=harness.value, level=level, text=text, todo=todo)


def _presence(state: _State) -> DoctorFinding:
    name = name_of(state.harness)
    if state.installed is None:
        todo = f"If you no longer use it: prowess connect {state.harness} --remove"
        text = f"{name} is connected, but was not found on this machine."
        return _report(state.harness, DoctorLevel.WARNING, text, todo)
    version = f" {state.installed.version}" if state.installed.version else ""
    return _report(state.harness, DoctorLevel.OK, f"{name}{version} is installed.")


def _registration(state: _State, world: HarnessWorld) -> Iterator[DoctorFinding]:
    harness, again = state.harness, f"prowess connect {state.harness}"
    for path, problem in state.unreadable.items():
        text = f"{path}: {problem}"
        yield _report(harness, DoctorLevel.PROBLEM, text, f"Correct the file, then: {again}")
    if not state.scopes:
        yield _report(
            harness, DoctorLevel.WARNING, "Its hooks do not call us.", f"Connect it: {again}"
        )
    for scope in state.scopes:
        events = [event for one in state.found[scope].values() for event in one.events]
        missing = [event for event in world.expected(harness) if event not in events]
        if missing:
            text = f"It does not call us at {', '.join(missing)} ({scope})."
            yield _report(harness, DoctorLevel.WARNING, text, f"{again} --{scope}")
        else:
            text = f"It calls us at {', '.join(events)} ({scope})."
            yield _report(harness, DoctorLevel.OK, text)
    yield from _repetitions(state, world)


def _repetitions(state: _State, world: HarnessWorld) -> Iterator[DoctorFinding]:
    """Yield where a harness calls us more than once at the same moment."""
    harness, again = state.harness, f"prowess connect {state.harness}"
    if len(state.scopes) > 1 and harness not in RUNS_ONCE:
        text = "It is connected for you and for this project, so each hook runs twice."
        yield _report(harness, DoctorLevel.WARNING, text, f"Keep one: {again} --project --remove")
    for files in state.found.values():
        yield from _in_two_files(harness, files)
    for path, one in state.files.items():
        yield from _oddities(harness, path, one)
    if state.scopes:
        yield from _check_doubled(harness, world)


def _in_two_files(harness: Harness, files: Mapping[str, Registered]) -> Iterator[DoctorFinding]:
    """Yield that two files that the harness reads together call us at the same event."""
    by_event: dict[str, list[str]] = {}
    for path, one in files.items():
        for event in one.events:
            by_event.setdefault(event, []).append(path)
    doubled = {event: paths for event, paths in by_event.items() if len(paths) > 1}
    if doubled:
        paths = " and ".join(dict.fromkeys(path for paths in doubled.values() for path in paths))
        text = f"It calls us more than once at {', '.join(doubled)}: {paths} both say so."
        yield _report(harness, DoctorLevel.WARNING, text, "Remove our entries from one of them.")


def _check_doubled(harness: Harness, world: HarnessWorld) -> Iterator[DoctorFinding]:
    """Yield that a harness runs the hooks of another in this project besides its own."""
    for other in ALSO_READ_BY.get(harness, ()):
        files = world.registered(other, ConnectScope.PROJECT).values()
        if any(isinstance(one, Registered) and one.events for one in files):
            text = (
                f"It may run the hooks of {name_of(other)} in this project too, and call us twice:"
                " it is told the same each time, and nothing is learned twice."
            )
            todo = f"To keep one: prowess connect {other} --project --remove"
            yield _report(harness, DoctorLevel.WARNING, text, todo)


def _oddities(harness: Harness, path: str, found: Registered) -> Iterator[DoctorFinding]:
    if found.repeated:
        text = f"{path} calls us more than once at {', '.join(found.repeated)}."
        yield _report(harness, DoctorLevel.WARNING, text, "Remove all but one of these entries.")
    if found.foreign_server:
        text = f"{path} has a server called prowess that is not ours."
        yield _report(
            harness, DoctorLevel.WARNING, text, "Give that one another name, then connect."
        )


def _commands(state: _State, world: HarnessWorld) -> Iterator[DoctorFinding]:
    lines = dict.fromkeys(line for one in state.files.values() for line in one.commands)
    if any(map(is_misled, lines)):
        todo = f"Write the safe form: prowess connect {state.harness}"
        yield _report(state.harness, DoctorLevel.PROBLEM, _MISLED, todo)
    programs = dict[str, None]()
    for one in state.files.values():
        programs |= dict.fromkeys(program_of(line) for line in one.commands)
        programs |= {one.server_command: None} if one.server_command else {}
    for program in programs:
        problem = world.program_problem(program)
        if problem:
            todo = f"Install it there, or write the right one: prowess connect {state.harness}"
            yield _report(state.harness, DoctorLevel.PROBLEM, f"Its command fails: {problem}", todo)


def _check_last(harness: Harness, world: HarnessWorld) -> Iterator[DoctorFinding]:
    """Yield when it called us last, and how often that went wrong or was slow."""
    calls = world.calls(harness)
    if not calls:
        todo = "Start a new session in it" + (
            ", and trust the hooks with /hooks." if harness is Harness.CODEX else "."
        )
        yield _report(harness, DoctorLevel.OK, "It has not called us yet.", todo)
        return
    last = calls[-1]
    when = f"{tell_age(world.now_ms() - last.at_ms)} ({last.moment}, {last.took_ms} ms)"
    yield _report(harness, DoctorLevel.OK, f"It called us {when}.")
    failed = [call for call in calls if call.problem]
    if failed:
        age = tell_age(world.now_ms() - failed[-1].at_ms)
        text = (
            f"{len(failed)} of its last {len(calls)} calls failed, {age} the last time"
            f" ({failed[-1].moment}, {failed[-1].took_ms} ms): {failed[-1].problem}."
        )
        todo = "Look at hooks.jsonl in the state folder; the agent itself was not disturbed."
        yield _report(harness, DoctorLevel.WARNING, text, todo)
    slow = [call.took_ms for call in calls if call.took_ms > _SLOW_MS]
    if slow:
        text = f"{len(slow)} of its last {len(calls)} calls were slow, up to {max(slow)} ms."
        todo = "Run `prowess serve` in the background: hooks then take a fraction of that."
        yield _report(harness, DoctorLevel.WARNING, text, todo)


def _check_unheard(state: _State, world: HarnessWorld) -> Iterator[DoctorFinding]:
    """Yield that somebody worked with it and no hook was called, whatever the reason is."""
    project = "" if ConnectScope.USER in state.scopes else world.places.project
    at_ms = world.unheard_ms(state.harness, project)
    if at_ms:
        text = f"It had a prompt {tell_age(world.now_ms() - at_ms)} and did not call us."
        todo = "It reads its hooks when it starts: begin a new session, and look here again."
        yield _report(state.harness, DoctorLevel.WARNING, text, todo)


def find_obstacles(
    harness: Harness, scopes: Sequence[ConnectScope], world: HarnessWorld
) -> Iterator[DoctorFinding]:
    """Yield what keeps a harness from calling us though it is connected, as its settings say."""
    look = _OBSTACLES.get(harness)
    if look is None:
        yield _report(harness, DoctorLevel.OK, _NOT_KNOWN.format(name=name_of(harness)))
        return
    for text, todo in look(world, scopes):
        yield _report(harness, DoctorLevel.WARNING, text, todo)


_NOT_KNOWN = "Whether {name} has hooks switched off or distrusts them is not known."
_Obstacles = Iterator[tuple[str, str]]
# For whom it is connected: a person, one project, or both.
_Scopes = Sequence[ConnectScope]


def _check_switched_off(world: HarnessWorld, *paths: str) -> _Obstacles:
    for path in paths:
        if world.document(path).get("disableAllHooks") is True:
            yield f"Its hooks are switched off: disableAllHooks in {path}.", "Take that out there."


# Settings of others can hold anything.
def _in(document: Mapping[str, Any], *keys: str) -> Any:  # noqa: ANN401
    """Return what keys lead to; None where there is no such place."""
    found: Any = document
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _distrusts(project: str, trusted: Iterable[object], how: str) -> _Obstacles:
    known = [one.rstrip("/\\") for one in trusted if isinstance(one, str)]
    if not any(project == one or project.startswith(f"{one}/") for one in known):
        yield f"It does not trust {project}, so the hooks of this project do not run.", how


def _claude_obstacles(world: HarnessWorld, _scopes: _Scopes) -> _Obstacles:
    places, own = world.places, f"{world.places.project}/.claude"
    files = (f"{places.claude}/settings.json", f"{own}/settings.json", f"{own}/settings.local.json")
    yield from _check_switched_off(world, *files)


def _gemini_obstacles(world: HarnessWorld, scopes: _Scopes) -> _Obstacles:
    home, own = f"{world.places.home}/.gemini", f"{world.places.project}/.gemini"
    for path in (f"{home}/settings.json", f"{own}/settings.json"):
        switch = _in(world.document(path), "hooksConfig")
        if _in(switch, "enabled") is False:
            yield f"Its hooks are switched off: hooksConfig.enabled in {path}.", "Set it to true."
        if "prowess" in (_in(switch, "disabled") or ()):
            yield f"Our hook is switched off: hooksConfig.disabled in {path}.", "Take it out there."
    is_off = _in(world.document(f"{home}/settings.json"), "security", "folderTrust", "enabled")
    is_given = world.variable("GEMINI_CLI_TRUST_WORKSPACE") == "true"
    if ConnectScope.PROJECT in scopes and is_off is not False and not is_given:
        yield from _by_trusted_folders(world, f"{home}/trustedFolders.json", "gemini")


def _qwen_obstacles(world: HarnessWorld, scopes: _Scopes) -> _Obstacles:
    home = f"{world.places.home}/.qwen"
    own = f"{world.places.project}/.qwen/settings.json"
    yield from _check_switched_off(world, f"{home}/settings.json", own)
    is_on = _in(world.document(f"{home}/settings.json"), "security", "folderTrust", "enabled")
    if ConnectScope.PROJECT in scopes and is_on is True:
        yield from _by_trusted_folders(world, f"{home}/trustedFolders.json", "qwen")


def _by_trusted_folders(world: HarnessWorld, path: str, program: str) -> _Obstacles:
    rules = world.document(path)
    folders = [folder for folder, rule in rules.items() if rule == "TRUST_FOLDER"]
    folders += [f"{one}/.." for one, rule in rules.items() if rule == "TRUST_PARENT"]
    how = f"Start `{program}` here, and trust the folder."
    yield from _distrusts(world.places.project, map(_find_above, folders), how)


def _find_above(folder: str) -> str:
    return folder.removesuffix("/..").rpartition("/")[0] if folder.endswith("/..") else folder


def _codex_obstacles(world: HarnessWorld, scopes: _Scopes) -> _Obstacles:
    places = world.places
    settings = world.document(f"{places.codex}/config.toml")
    features = _in(settings, "features") or {}
    if any(_in(features, name) is False for name in ("hooks", "codex_hooks")):
        yield (
            f"Its hooks are switched off: features in {places.codex}/config.toml.",
            "Set hooks to true there.",
        )
    states = _in(settings, "hooks", "state") or {}
    is_own = ConnectScope.PROJECT in scopes
    if is_own:
        folders = (_in(settings, "projects") or {}).items()
        trusted = [name for name, one in folders if _in(one, "trust_level") == "trusted"]
        how = "Start `codex` here, and trust the folder."
        yield from _distrusts(places.project, trusted, how)
    file = f"{places.project}/.codex/hooks.json" if is_own else f"{places.codex}/hooks.json"
    ours = [state for name, state in states.items() if str(name).startswith(file)]
    if not any(_in(state, "trusted_hash") for state in ours):
        yield (
            "It has not trusted our hooks yet, and runs them only if told to trust any.",
            "Start `codex`, and review the hooks with /hooks.",
        )
    elif any(_in(state, "enabled") is False for state in ours):
        yield "Some of our hooks are switched off there.", "Switch them on with /hooks in `codex`."


def _copilot_obstacles(world: HarnessWorld, scopes: _Scopes) -> _Obstacles:
    home = world.places.copilot
    # In its settings the same key does nothing.
    yield from _check_switched_off(world, f"{home}/hooks/prowess.json")
    if ConnectScope.PROJECT in scopes:
        yield from _check_switched_off(world, f"{world.places.project}/.github/hooks/prowess.json")
        files = (world.document(f"{home}/{name}") for name in ("settings.json", "config.json"))
        trusted = [one for file in files for one in _in(file, "trustedFolders") or ()]
        how = "Start `copilot` here, and trust the folder; with -p give --trust-folder."
        yield from _distrusts(world.places.project, trusted, how)


def _openclaw_obstacles(world: HarnessWorld, _scopes: _Scopes) -> _Obstacles:
    path = f"{world.places.openclaw}/openclaw.json"
    plugins = _in(world.document(path), "plugins") or {}
    own = _in(plugins, "entries", "prowess")
    allowed = _in(plugins, "allow")
    wrong = {
        "plugins.enabled is false": _in(plugins, "enabled") is False,
        "plugins.entries.prowess.enabled is not true": _in(own, "enabled") is not True,
        "plugins.deny names prowess": "prowess" in (_in(plugins, "deny") or ()),
        "plugins.allow does not name prowess": bool(allowed) and "prowess" not in allowed,
        "plugins.entries.prowess.hooks.allowConversationAccess is not true": _in(
            own, "hooks", "allowConversationAccess"
        )
        is not True,
        "plugins.entries.prowess.hooks.allowPromptInjection is false": _in(
            own, "hooks", "allowPromptInjection"
        )
        is False,
    }
    for why, is_so in wrong.items():
        if is_so:
            yield f"Our plugin cannot work: {why} in {path}.", "Change it there."


def _opencode_obstacles(world: HarnessWorld, scopes: _Scopes) -> _Obstacles:
    """Nothing in its settings keeps a plugin from running, but variables do."""
    wanted = ["OPENCODE_PURE"]
    if ConnectScope.USER not in scopes:
        wanted.append("OPENCODE_DISABLE_PROJECT_CONFIG")
    for name in wanted:
        if world.variable(name).lower() in {"1", "true"}:
            yield f"Our plugin does not run: {name} is set.", "Start it without that variable."


_OBSTACLES: Mapping[Harness, Callable[[HarnessWorld, _Scopes], _Obstacles]] = {
    Harness.CLAUDE_CODE: _claude_obstacles,
    Harness.CODEX: _codex_obstacles,
    Harness.GEMINI: _gemini_obstacles,
    Harness.COPILOT: _copilot_obstacles,
    Harness.QWEN: _qwen_obstacles,
    Harness.OPENCODE: _opencode_obstacles,
    Harness.OPENCLAW: _openclaw_obstacles,
}


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
        return _report(harness, DoctorLevel.PROBLEM, text, "Update Prowess, or report this.")
    told = f"{spoken} with context, slowest {slowest} ms"
    text = f"{len(samples)} recorded calls were answered as it expects ({told})."
    return _report(harness, DoctorLevel.OK, text)


def tell_age(milliseconds: int) -> str:
    """Return a span of time in words: `3 hours ago`."""
    minutes = max(milliseconds, 0) // _MINUTE_MS
    for unit, size in _UNITS:
        count = minutes // size
        if count:
            return f"{count} {unit}{'s' * (count > 1)} ago"
    return "just now"
