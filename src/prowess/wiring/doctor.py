"""Puts the doctor and connecting together: every harness of this machine, and this installation.

The doctor starts nothing and changes nothing: versions are read from what lies beside a program,
and a gateway is asked for nothing but a sign of life.
"""

import errno
import json
import os
import re
import shlex
import socket
import sqlite3
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import chain, islice
from typing import Any

from prowess.errors import PathError
from prowess.hooks.harness import Harness, HookCall
from prowess.hooks.registrations import ConnectScope, Format, Registered
from prowess.hooks.samples import PayloadSample
from prowess.hooks.targets import HarnessHomes, default_scope, home_of, targets
from prowess.host.config import file as config
from prowess.host.files.handles import Content, read_bounded
from prowess.host.files.state_files import open_readonly
from prowess.host.harness.hook_client import HookLog, ask
from prowess.host.harness.sessions import READABLE, SessionFolders
from prowess.host.harness.settings_files import (
    BACKUP,
    ConnectionRecords,
    HarnessSettings,
    find_own_program,
)
from prowess.host.processes.facts import find_program
from prowess.host.sources.roots import expand_path
from prowess.host.store.reports import REPORTS_FILE
from prowess.runtime.harness.connect import Connecting
from prowess.runtime.harness.doctor import (
    Check,
    DoctorFinding,
    DoctorLevel,
    HarnessHealth,
    Installed,
    examine_harness,
    find_health,
    name_of,
)
from prowess.runtime.service import StatusReport
from prowess.skills.model import Severity
from prowess.wiring.hook import answer_hook
from prowess.wiring.library import Runtime
from prowess.wiring.state import STORE_FILE, USAGE_FILE, VECTORS_FILE

# Those whose program has another name than they.
_PROGRAMS: Mapping[Harness, tuple[str, ...]] = {
    Harness.CLAUDE_CODE: ("claude",),
    Harness.CURSOR: ("cursor", "cursor-agent"),
    Harness.VSCODE: ("code",),
}
# Sessions that are looked into for a prompt that no hook was told of, and how late a call may be.
_MOST_SESSIONS, _LATEST_CALL_MS = 5, 20_000
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_WRITE = stat.S_IWGRP | stat.S_IWOTH
_MOST_FILES, _MOST_BYTES = 500, 200_000
_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)?(?:[-+][\w.]{1,30})?")
_EXEC = re.compile(rb"'''exec' \"([^\"]+)\"")
_LONGEST_LINE = 4_096
_ANSWER_S = 1.0
# To look through a larger file would take longer than anybody waits.
_MOST_CHECKED = 64_000_000


def locate_program(harness: Harness, environ: Mapping[str, str]) -> str:
    """Return the program of a harness on the search path, or nothing."""
    found = (find_program(name, environ).path for name in _PROGRAMS.get(harness, (harness.value,)))
    return next(filter(None, found), "")


def read_version_beside(program: str) -> str:
    """Return the version that the package or the path of a program says, or nothing."""
    real = os.path.realpath(program)
    if _VERSION.fullmatch(os.path.basename(real)):
        return os.path.basename(real)
    folder = os.path.dirname(real)
    for place in (folder, os.path.dirname(folder)):
        found = read_bounded(os.path.join(place, "package.json"), _MOST_BYTES)
        version = _version_in(found.data) if isinstance(found, Content) else ""
        if version:
            return version
    return ""


def check_interpreter(program: str) -> str:
    """Return that a script's interpreter is gone, as after a move or an upgrade; or nothing."""
    try:
        with open(program, "rb") as file:
            first, second = file.readline(_LONGEST_LINE), file.readline(_LONGEST_LINE)
    except OSError:
        # May be run and not be read: then nothing can be said.
        return ""
    if not first.startswith(b"#!"):
        return ""
    # Where the path is long or has blanks, installers let a shell start it in the second line.
    by_shell = _EXEC.match(second)
    found = [*first[2:].split()[:1], *([by_shell[1]] if by_shell else [])]
    gone = next((os.fsdecode(one) for one in found if not os.path.exists(one)), "")
    return f"{program} is a script for {gone}, which is not there." if gone else ""


def is_only_ours(folder: str, ours: Collection[str]) -> bool:
    """Return whether nothing lies in a folder but files of these names, and what we kept of them.

    An empty folder is what an earlier connection left behind.
    """
    try:
        return all(name in ours or BACKUP in name for name in os.listdir(folder))
    except OSError:
        # Not ours to look into: then it is nothing that we made.
        return False


def _version_in(content: bytes) -> str:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        # A program of another kind: its version is not known.
        return ""
    version = found.get("version") if isinstance(found, dict) else None
    return version if isinstance(version, str) and _VERSION.fullmatch(version) else ""


def find_exposed(folder: str) -> tuple[Sequence[str], Sequence[str]]:
    """Return what others may write, and what others may read, of a folder and the files in it.

    Raises:
        OSError: the folder cannot be looked at.
    """
    if not hasattr(os, "geteuid"):
        return (), ()
    mode = os.stat(folder).st_mode
    if not mode & _OTHERS:
        # Nobody gets past it, whatever is inside.
        return (), ()
    names = sorted(os.listdir(folder))[:_MOST_FILES]
    paths = [folder, *(os.path.join(folder, name) for name in names)]
    modes = {path: os.lstat(path).st_mode for path in paths if os.path.lexists(path)}
    plain = {path: mode for path, mode in modes.items() if not stat.S_ISLNK(mode)}
    writable = [path for path, mode in plain.items() if mode & _WRITE]
    readable = [
        path
        for path, mode in plain.items()
        if mode & _OTHERS and path not in writable and (stat.S_ISREG(mode) or path == folder)
    ]
    return writable, readable


def find_unwritable(
    state: str, replaced: Sequence[str], changed: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield what cannot be written, and what the system says.

    Args:
        state: the folder; where it is not there yet, the one counts in which it would be made.
        replaced: files in it that are written anew; where one is a link, its folder counts too.
        changed: files in it that are written in place.
    """
    folder = os.path.realpath(state)
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    homes = [os.path.dirname(os.path.realpath(os.path.join(state, name))) for name in replaced]
    there = [one for one in dict.fromkeys((folder, *homes)) if os.path.lexists(one)]
    shut = {one: why for one in there if (why := _try_writing(one))}
    yield from shut.items()
    for name in changed:
        path = os.path.join(state, name)
        if folder not in shut and os.path.isfile(path) and not os.access(path, os.W_OK):
            yield path, os.strerror(errno.EACCES)


def _try_writing(folder: str) -> str:
    """Return what the system says against a file in a folder; nothing is left behind."""
    try:
        # Not by asking for rights: file systems that take no files give them all the same.
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return error.strerror or str(error)


def gateway_answers(state: str) -> bool | None:
    """Return whether a gateway answers hooks; None where this system has no such sockets.

    It is asked as a hook asks, since something that listens there need not be one.
    """
    if not hasattr(socket, "AF_UNIX"):
        return None
    return ask(state, b"", {}, "", seconds=_ANSWER_S) is not None


def check_database(path: str) -> str:
    """Return what is wrong with a file of SQLite, or nothing; it is only read."""
    whole = os.path.getsize(path) <= _MOST_CHECKED
    question = "PRAGMA quick_check(1)" if whole else "SELECT 'ok' FROM sqlite_master LIMIT 1"
    try:
        with closing(open_readonly(path, _ANSWER_S)) as database:
            found = database.execute(question).fetchone()
    except sqlite3.Error as error:
        return str(error)
    return "" if found is None or found[0] == "ok" else "it is damaged"


_LOCK, _RECORDS = "connect", "connections.json"


def open_connecting(runtime: Runtime, project: str) -> Connecting:
    """Return what connects harnesses; `project` is the folder of a connection for a project."""
    places = places_of(runtime.folders.home, project, runtime.environ)
    records = ConnectionRecords(os.path.join(runtime.folders.state, _RECORDS))
    return Connecting(
        _open_files(runtime), records, places, lambda: find_own_program(runtime.environ)
    )


def _open_files(runtime: Runtime) -> HarnessSettings:
    return HarnessSettings(
        os.path.join(runtime.folders.state, _LOCK),
        lambda: time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()),
    )


def places_of(home: str, project: str, environ: Mapping[str, str]) -> HarnessHomes:
    """Return where harnesses look, with the folders that variables move."""
    claude = _find_given(environ, "CLAUDE_CONFIG_DIR", home)
    return HarnessHomes(
        project=expand_path(project, home, os.getcwd()),
        home=home,
        claude=claude or os.path.join(home, ".claude"),
        # Beside the folder by default, and inside one that a variable names.
        claude_state=os.path.join(claude or home, ".claude.json"),
        codex=_find_moved(environ, "CODEX_HOME", home, ".codex"),
        copilot=_find_moved(environ, "COPILOT_HOME", home, ".copilot"),
        vscode=_vscode(home, environ),
        opencode=os.path.join(_find_moved(environ, "XDG_CONFIG_HOME", home, ".config"), "opencode"),
        openclaw=_find_moved(environ, "OPENCLAW_STATE_DIR", home, ".openclaw"),
    )


def _find_moved(environ: Mapping[str, str], variable: str, home: str, name: str) -> str:
    return _find_given(environ, variable, home) or os.path.join(home, name)


def _find_given(environ: Mapping[str, str], variable: str, home: str) -> str:
    """Return the folder that a variable names, or nothing."""
    folder = environ.get(variable, "")
    # Written in quotes, no shell has made a path of it.
    return expand_path(folder, home, os.getcwd()) if folder else ""


def _vscode(home: str, environ: Mapping[str, str]) -> str:
    if sys.platform == "darwin":
        base = os.path.join(home, "Library", "Application Support")
    elif sys.platform == "win32":
        base = environ.get("APPDATA") or os.path.join(home, "AppData", "Roaming")
    else:
        base = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return os.path.join(base, "Code", "User")


US = "prowess"
_MESSAGE = "Please summarise the release notes in a table."
_MOST_NAMED = 5
_FORMATS = {"config.toml": Format.TOML, "openclaw.json": Format.JSON5}
_OF_POLICIES = frozenset(("policy-unreadable", "skill-required"))
# What somebody is without who begins anew.
_LOST = {
    STORE_FILE: "without the workshop's proposals, their history and what sessions were pinned to",
    USAGE_FILE: "without the numbers of how often skills were used",
    VECTORS_FILE: "and nothing is lost: it is worked out again",
    REPORTS_FILE: "and nothing is lost: skills are scanned again",
}
_STORES = tuple(_LOST)


def open_harnesses(runtime: Runtime, project: str) -> Callable[[], Sequence[HarnessHealth]]:
    """Return what looks at every harness: how it is connected, and how its last calls went."""
    world = _World(runtime, project)
    return lambda: [find_health(harness, world) for harness in Harness]


def open_doctor(runtime: Runtime, agent: str | None, project: str) -> list[Check]:
    """Return all that is to be looked at; `project` is the folder whose connections count."""
    world = _World(runtime, project)
    harnesses = [
        Check(area=harness.value, title=name_of(harness), look=partial(_harness, harness, world))
        for harness in Harness
    ]
    own = (
        ("This installation", lambda: _installation(runtime)),
        ("The configuration", lambda: _config(runtime)),
        ("Skills", lambda: _skills(runtime, agent)),
        ("Routing", lambda: _check_routing(runtime)),
        ("The store", lambda: _stores(runtime.folders.state)),
        ("Permissions", lambda: _permissions(runtime.folders.state)),
        ("The gateway", lambda: _gateway(runtime.folders.state)),
        ("The MCP library", _mcp),
    )
    return [*harnesses, *(Check(area=US, title=title, look=look) for title, look in own)]


def _harness(harness: Harness, world: "_World") -> Iterator[DoctorFinding]:
    return examine_harness(harness, world)


class _World:
    """What the doctor asks about harnesses, answered by this machine."""

    def __init__(self, runtime: Runtime, project: str) -> None:
        self._runtime = runtime
        self._places = places_of(runtime.folders.home, project, runtime.environ)
        self._connecting = open_connecting(runtime, project)
        self._files = _open_files(runtime)
        self._log = HookLog(runtime.folders.state)

    def installed(self, harness: Harness) -> Installed | None:
        program = locate_program(harness, self._runtime.environ)
        if program:
            return Installed(version=read_version_beside(program))
        home = home_of(harness, self._places)
        # Connecting makes the folder where there was none: what we wrote proves nothing.
        if not os.path.isdir(home) or is_only_ours(home, self._list_written(harness, home)):
            return None
        return Installed()

    def _list_written(self, harness: Harness, home: str) -> set[str]:
        """Return the names in the folder of a harness below which only something of ours is."""
        names: set[str] = set()
        for path, one in self.registered(harness, ConnectScope.USER).items():
            name = os.path.relpath(path, home).split(os.sep)[0]
            is_ours = isinstance(one, Registered) and bool(one.events or one.server)
            # Where the file itself is gone, connecting may have made the folder for it.
            inside = os.path.join(home, name)
            is_empty = os.path.isdir(inside) and is_only_ours(inside, ())
            if is_ours or is_empty:
                names.add(name)
        return names

    def registered(self, harness: Harness, scope: ConnectScope) -> Mapping[str, Registered | str]:
        return self._connecting.found(harness, scope)

    def expected(self, harness: Harness) -> Sequence[str]:
        program = find_own_program(self._runtime.environ)
        found = targets(harness, default_scope(harness), self._places, program)
        return [event for target in found for event in target.hooks]

    def program_problem(self, program: str) -> str:
        if program.startswith("~/"):
            # A shell reads it so.
            program = self._runtime.folders.home + program[1:]
        found = find_program(program, self._runtime.environ)
        return found.problem or check_interpreter(found.path)

    def calls(self, harness: Harness) -> Sequence[HookCall]:
        return self._log.recent(harness)

    def unheard_ms(self, harness: Harness, project: str) -> int:
        records = os.path.join(self._runtime.folders.state, _RECORDS)
        if harness not in READABLE or not os.path.exists(records):
            return 0
        calls = [call.at_ms for call in self.calls(harness)]
        # Some harnesses write their settings anew at every start, so that those tell no time.
        since = max(round(os.path.getmtime(records) * 1_000), *calls, 0)
        folders = SessionFolders(self._runtime.folders.home, self._runtime.environ)
        found = (read().sessions for read in islice(folders.files(since, harness), _MOST_SESSIONS))
        typed = [
            turn.at_ms
            for session in chain.from_iterable(found)
            if not project or f"{session.cwd}/".startswith(f"{project}/")
            for turn in session.turns
            if not turn.by_hand
        ]
        return last if (last := max(typed, default=0)) > since + _LATEST_CALL_MS else 0

    def variable(self, name: str) -> str:
        return self._runtime.environ.get(name, "")

    # A settings file can hold anything.
    def document(self, path: str) -> Mapping[str, Any]:
        kind = _FORMATS.get(os.path.basename(path), Format.JSON)
        try:
            return self._files.document(path, kind, self._files.read(path))
        except PathError:
            # Not to be read by anybody then, which is said where it is ours to edit.
            return {}

    @property
    def places(self) -> HarnessHomes:
        return self._places

    def answer(self, sample: PayloadSample) -> tuple[str, int]:
        started = time.perf_counter()
        text = answer_hook(sample.payload, sample.environ, runtime=self._runtime)
        return text, round((time.perf_counter() - started) * 1_000)

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000


def _tell(level: DoctorLevel, text: str, todo: str = "") -> DoctorFinding:
    return DoctorFinding(area=US, level=level, text=text, todo=todo)


def _installation(runtime: Runtime) -> Iterator[DoctorFinding]:
    """Yield that the name starts another installation; that it starts none is no such thing."""
    program = find_own_program(runtime.environ)
    if program.other:
        text = f"`prowess` on your PATH is another installation: {program.other}."
        todo = "Remove one of them, or put this one first: hooks by name call the other one."
        yield _tell(DoctorLevel.WARNING, text, todo)


def _config(runtime: Runtime) -> Iterator[DoctorFinding]:
    settings = runtime.config.read()
    wrong = [problem for problem in settings.problems if not problem.unknown]
    for problem in wrong:
        todo = f"Correct it: prowess config set {problem.key} VALUE"
        yield _tell(DoctorLevel.WARNING, f"{problem.key}: {problem.message}.", todo)
    if not wrong:
        there = "is fine" if os.path.exists(runtime.config.path) else "is not there: defaults count"
        yield _tell(DoctorLevel.OK, f"The configuration {there} ({runtime.config.path}).")


def _skills(runtime: Runtime, agent: str | None) -> Iterator[DoctorFinding]:
    report = runtime.skills.status(agent)
    usable = sum(status.usable for status in report.skills)
    yield _tell(DoctorLevel.OK, f"{len(report.skills)} skills were found, and {usable} are ready.")
    blocked = [(row.skill.name, row.verdict.blocked) for row in report.skills]
    found = [(name, block) for name, block in blocked if block is not None]
    for name, block in found[:_MOST_NAMED]:
        text = f"{name} is blocked by {block.by}: {block.reason}."
        yield _tell(DoctorLevel.WARNING, text, block.find_way_out(name))
    if len(found) > _MOST_NAMED:
        more = f"{len(found) - _MOST_NAMED} more skills are blocked."
        yield _tell(DoctorLevel.WARNING, more, "See them all: prowess check")
    yield from _files(report)


def _files(report: StatusReport) -> Iterator[DoctorFinding]:
    """Say what was cut by a limit, and which files cannot be used."""
    for cut in report.diagnostics:
        if cut.code.endswith("-truncated"):
            text = f"Not all of {cut.path} was loaded: {cut.message}."
            yield _tell(DoctorLevel.WARNING, text, cut.fix)
    broken = []
    for one in report.diagnostics:
        if one.code in _OF_POLICIES:
            is_strict = one.severity is Severity.ERROR
            level = DoctorLevel.PROBLEM if is_strict else DoctorLevel.WARNING
            yield _tell(level, f"{one.path}:{one.line}: {one.message}.", one.fix)
        elif one.severity is Severity.ERROR:
            broken.append(one)
    for problem in broken[:_MOST_NAMED]:
        there = os.path.lexists(problem.path)
        todo = f"Look at it: prowess validate {problem.path}" if there else problem.fix
        yield _tell(DoctorLevel.WARNING, f"{problem.path} {problem.message}.", todo)
    if len(broken) > _MOST_NAMED:
        more = f"{len(broken) - _MOST_NAMED} more files cannot be used."
        yield _tell(DoctorLevel.WARNING, more, "See them all: prowess check")


def _check_routing(runtime: Runtime) -> Iterator[DoctorFinding]:
    routing = runtime.routing
    answer = routing.route(_MESSAGE)
    count, which = len(routing.index().skills), routing.settings.encoder.which
    if not routing.degraded:
        text = f"Routing knows {count} skills, and its model works ({answer.took_ms:.0f} ms)."
        yield _tell(DoctorLevel.OK, text)
    elif which.strip() == "none":
        yield _tell(
            DoctorLevel.OK, f"Routing knows {count} skills, and uses words alone as configured."
        )
    else:
        todo = "Install Prowess again, or set `skills.routing.encoder`."
        yield _tell(DoctorLevel.PROBLEM, f"Routing uses words alone: {routing.degraded}.", todo)


def _stores(state: str) -> Iterator[DoctorFinding]:
    if os.path.lexists(state) and (not os.path.isdir(state) or _try_writing(state)):
        # Said of the folder itself; what cannot be opened in one that takes no files may be whole.
        return
    there = [name for name in _STORES if os.path.isfile(os.path.join(state, name))]
    problems = {name: check_database(os.path.join(state, name)) for name in there}
    for name, problem in problems.items():
        if problem:
            text = f"{name} cannot be used: {problem}."
            yield _tell(
                DoctorLevel.PROBLEM, text, _explain_move(os.path.join(state, name), _LOST[name])
            )
    if not any(problems.values()):
        text = f"{', '.join(there)} can be read." if there else "Nothing is stored yet."
        yield _tell(DoctorLevel.OK, text)


def _explain_move(path: str, lost: str) -> str:
    """Return how to put a damaged store away where nothing of it is lost for good."""
    there = [one for one in (path, f"{path}-wal", f"{path}-shm") if os.path.exists(one)]
    moves = "; ".join(f"mv {shlex.quote(one)} {shlex.quote(f'{one}.damaged')}" for one in there)
    return f"End `prowess serve`, then rename it: {moves}. A new one is made, {lost}."


def _permissions(state: str) -> Iterator[DoctorFinding]:
    if os.path.lexists(state) and not os.path.isdir(state):
        todo = "Move it away, or set PROWESS_HOME to a folder."
        text = f"{state} is no folder, so nothing can be kept: no proposals, no settings, no log."
        yield _tell(DoctorLevel.PROBLEM, text, todo)
        return
    unwritable = list(find_unwritable(state, (config.FILE_NAME,), _STORES))
    for path, why in unwritable:
        text = f"{path} cannot be written ({why}), so nothing that belongs there is kept."
        own = f"Make it yours (chown -R $USER {shlex.quote(path)}), or set"
        todo = f"{'Set' if why == os.strerror(errno.EROFS) else own} PROWESS_HOME elsewhere."
        yield _tell(DoctorLevel.PROBLEM, text, todo)
    if not os.path.isdir(state):
        if unwritable:
            return
        yield _tell(DoctorLevel.OK, f"The state folder is not there yet ({state}).")
        return
    writable, readable = find_exposed(state)
    for level, paths, what in (
        (DoctorLevel.PROBLEM, writable, "may be changed"),
        (DoctorLevel.WARNING, readable, "may be read"),
    ):
        if paths:
            named = ", ".join(paths[:_MOST_NAMED])
            more = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
            todo = f"Close the folder: chmod {stat.S_IRWXU:o} {state}"
            yield _tell(level, f"{named}{more} {what} by others.", todo)
    if not (unwritable or writable or readable):
        yield _tell(DoctorLevel.OK, f"The state folder is closed to others ({state}).")


def _gateway(state: str) -> Iterator[DoctorFinding]:
    answers = gateway_answers(state)
    if answers:
        yield _tell(DoctorLevel.OK, "A gateway is running and answers hooks.")
    elif answers is None:
        yield _tell(DoctorLevel.OK, "Hooks answer by themselves: this system has no local sockets.")
    else:
        todo = "For quicker hooks, keep one running: prowess serve"
        yield _tell(DoctorLevel.OK, "No gateway is running: hooks answer by themselves.", todo)


def _mcp() -> Iterator[DoctorFinding]:
    try:
        import mcp
    except ImportError as error:
        todo = "Install Prowess again: pip install --upgrade prowess"
        yield _tell(DoctorLevel.PROBLEM, f"The MCP library cannot be loaded: {error.name}.", todo)
        return
    from importlib.metadata import version

    yield _tell(DoctorLevel.OK, f"The MCP library is there ({version(mcp.__name__)}).")
