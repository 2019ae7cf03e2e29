"""Installs by package managers: brew, npm and its relatives, go and uv.

Each runs in an empty folder of ours, so that no settings file of a workspace speaks along, and in a
clean environment: the operator's own, less what would have it load other code and less secrets that
are none of its business. What says where packages come from stays (registries, indexes, proxies and
certificates): skills cannot set those. All but brew are directed to a folder of their own below the
tools folder, from where programs are linked. A manager that is missing is explained, never fetched
by a script.

The empty folder is locked by its own handle, and the system lets go of that lock when its owner
dies. So a later install can tell what is left over from what is in use, without trusting the number
of a process, which another one may have by then.
"""

import os
import re
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from prowess.data import read_table, read_words
from prowess.errors import PathError
from prowess.host.files.containment import Root
from prowess.host.files.handles import BY_HANDLE
from prowess.host.files.state_files import locked
from prowess.host.processes.facts import find_program
from prowess.host.tool_downloads import BIN, explain_search_path, link_programs
from prowess.runtime.install import InstallCommand, InstallOutcome, Job, Preview, Watch
from prowess.runtime.ports import ChildCommand, ChildResult, Processes
from prowess.safety.environment import comparable, find_group
from prowess.safety.packages import DownloadPlan, InstallPlan, brew_plan
from prowess.secrets.names import is_secret_in_environment

# Of the groups that make a tool run other code, these say where packages come from.
_REGISTRIES = "package_managers"
# Run together with the word before, or plain words in other places.
_SECRET_END = re.compile(
    r"(?:APIKEY|COOKIES?|CREDS?|PASS|PASSPHRASE|PASSWD|PASSWORD|SECRET|TOKEN|[A-Z0-9]_PWD)$"
)
_LOGIN_IN_ADDRESS = re.compile(r"://[^/\s:@]*:[^/\s@]+@")


@dataclass(frozen=True, slots=True, kw_only=True)
class Directions:
    """How one package manager is made to install below the tools folder."""

    # Placed before the package's name.
    options: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    # Its folder below the tools folder, and where in it programs appear; "" where it has its own.
    home: str = ""
    programs: str = "bin"


def direct_tool(tool: str, tools: str, *, windows: bool = False) -> Directions:
    """Return how `tool` is directed; what cannot be directed installs where it always does."""
    home = f"{tools}/{tool}"
    options: dict[str, tuple[str, ...]] = {
        "npm": ("--prefix", home),
        "pnpm": ("--global-dir", f"{home}/global", "--global-bin-dir", f"{home}/bin"),
        "yarn": ("--prefix", home, "--global-folder", f"{home}/global"),
    }
    places: dict[str, tuple[tuple[str, str], ...]] = {
        "pnpm": (("PNPM_HOME", home),),
        "bun": (("BUN_INSTALL", home),),
        "uv": (("UV_TOOL_DIR", f"{home}/tools"), ("UV_TOOL_BIN_DIR", f"{home}/bin")),
        "go": (("GOBIN", f"{home}/bin"),),
    }
    if tool not in options and tool not in places:
        return Directions()
    return Directions(
        options=options.get(tool, ()),
        environment=places.get(tool, ()),
        home=tool,
        programs="" if windows and tool == "npm" else "bin",
    )


def clean_environment(base: Mapping[str, str], configured: Collection[str] = ()) -> dict[str, str]:
    """Return `base` as an installer may see it; `configured` names the secrets of skills."""
    secret = {comparable(name) for name in configured}
    return {name: value for name, value in base.items() if _stays(comparable(name), value, secret)}


def _stays(name: str, value: str, secret: Collection[str]) -> bool:
    table = read_table("host/installs.toml")["variables"]
    if name in read_words(table["kept"]) or name.startswith(tuple(table["kept_prefixes"].split())):
        return True
    group = find_group(name)
    if group and group.name == _REGISTRIES:
        return name not in read_words(table["dropped"])
    if (group and group.runs_code) or is_secret_in_environment(name):
        return False
    # A skill may not set those anyway, so none of them is a skill's secret: PATH, HOME, proxies.
    return group is not None or not (name in secret or _is_secret(name, value))


def _is_secret(name: str, value: str) -> bool:
    """Say whether a variable of nobody's looks like a secret to an installer, by a wide guess."""
    words = read_words(read_table("host/installs.toml")["variables"]["secret_words"])
    if not words.isdisjoint(name.split("_")) or _SECRET_END.search(name):
        return True
    return _LOGIN_IN_ADDRESS.search(value) is not None


try:
    import fcntl
except ImportError:
    # Windows has no such locks: nobody can tell what is left over, so it stays.
    fcntl = None  # type: ignore[assignment]

PREFIX = ".work-"
# No skill's folder has such a name, so no install of a skill waits for this lock.
_LOCK = os.path.join(".locks", ".work")


@contextmanager
def open_work_folder(tools: Root) -> Iterator[str]:
    """Hold an empty folder of ours in the tools folder, having removed those of the dead.

    Raises:
        OSError: it cannot be made, or not be removed.
    """
    place = str(tools.path)
    # The lock goes last: until then the folder is ours to remove.
    with ExitStack() as lock, ExitStack() as stack:
        # A folder that is made and not yet locked looks like one that is left over.
        with locked(os.path.join(place, _LOCK)):
            _clear(tools)
            folder = stack.enter_context(tempfile.TemporaryDirectory(dir=place, prefix=PREFIX))
            if BY_HANDLE and fcntl is not None:
                _lock(lock.enter_context(tools.handle(os.path.basename(folder))))
        yield folder


def _clear(tools: Root) -> None:
    if not BY_HANDLE or fcntl is None:
        return
    for name, state in tools.list():
        is_ours = stat.S_ISDIR(state.st_mode) and state.st_uid == os.getuid()
        if not name.startswith(PREFIX) or not is_ours:
            continue
        try:
            with tools.handle(name) as handle:
                if _lock(handle):
                    tools.remove_tree(name)
        except PathError:
            # Swapped meanwhile, or not to be removed: an install does not fail for that.
            continue


def _lock(handle: int) -> bool:
    """Take the lock of a folder, and say whether nobody else has it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        # In use; or a file system without locks, on which nothing can be told.
        return False
    return True


LEAST_GO = (1, 21)
_GO_VERSION = re.compile(r"\bgo([0-9]+)\.([0-9]+)")
_ASK_GO = InstallCommand(argv=("go", "version"))
# What brew can bring where a manager is missing.
_FROM_BREW = frozenset({"go", "uv"})


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallMachine:
    """What an install is told about the machine it happens on."""

    # The folder of everything that was installed for skills.
    tools: str
    # Read and never shown: it holds secrets.
    environ: Mapping[str, str]
    # Names of variables that hold the secrets of skills.
    configured: Callable[[], Collection[str]] = tuple
    platform: str = sys.platform


class ToolInstalls:
    """Runs package managers, one install at a time for each of them."""

    def __init__(self, processes: Processes, machine: InstallMachine) -> None:
        self._processes, self._machine = processes, machine

    def preview(self, job: Job) -> Preview:
        """Say what would be run, or how to get the manager that is missing."""
        plan = _plan(job)
        way = self._directions(plan.tool)
        commands: tuple[InstallCommand, ...] = (_command(plan, way),)
        if plan.tool == "go":
            commands = (_ASK_GO, *commands)
        if not self._has(plan.tool):
            if plan.tool not in _FROM_BREW or not self._has("brew"):
                return Preview(problem=self._explain_missing(plan))
            commands = (_command(brew_plan(plan.tool), Directions()), *commands)
        if not way.home:
            return Preview(commands=commands)
        return Preview(
            commands=commands,
            target=os.path.join(self._machine.tools, way.home),
            links=os.path.join(self._machine.tools, BIN),
        )

    def carry_out(self, job: Job, watch: Watch) -> InstallOutcome:
        """Run the manager, then link the programs that it brought."""
        preview, plan = self.preview(job), _plan(job)
        if preview.problem:
            return InstallOutcome(ok=False, problem=preview.problem)
        try:
            with Root.open(self._machine.tools, create=True) as tools:
                place = str(tools.path)
                with locked(os.path.join(place, ".locks", plan.tool)):
                    return self._install(tools, job, preview, watch)
        except (PathError, OSError) as error:
            return InstallOutcome(ok=False, problem=str(error))

    def _install(self, tools: Root, job: Job, preview: Preview, watch: Watch) -> InstallOutcome:
        way = self._directions(_plan(job).tool)
        if way.home:
            tools.make_folder(_programs_folder(way))
        before = _list_programs(tools, way)
        with open_work_folder(tools) as folder:
            outcome = self._run_all(preview.commands, job, watch, folder)
        if not outcome.ok or not way.home:
            return outcome
        after = _list_programs(tools, way)
        wanted = [name for name in job.bins if name in after] if job.bins else after - before
        path = f"{way.programs}/" if way.programs else ""
        linked = link_programs(tools, way.home, {name: path + name for name in sorted(wanted)})
        warnings = list(linked.warnings)
        if linked.names:
            warnings.append(explain_search_path(str(tools.path / BIN), self._machine.environ))
        added = ", ".join(sorted(after - before))
        if added and not set(job.bins) <= after:
            warnings.append(f"the package brought {added}, and not all that the skill declares")
        return replace(outcome, warnings=tuple(filter(None, warnings)))

    def _run_all(
        self, commands: tuple[InstallCommand, ...], job: Job, watch: Watch, folder: str
    ) -> InstallOutcome:
        """Run the commands one after the other, in the time that they have together."""
        end = time.monotonic() + job.seconds
        outcome = InstallOutcome(ok=True)
        for command in commands:
            child = ChildCommand(
                argv=command.argv,
                environment=self._environment() | dict(command.environment),
                folder=folder,
                seconds=max(end - time.monotonic(), 0.1),
            )
            done = _outcome(self._processes.run(child, watch.output, watch.stop), job.seconds)
            if done.ok and command == _ASK_GO:
                problem = _version_problem(done.stdout)
                done = replace(done, ok=not problem, problem=problem)
            outcome = replace(
                done, stdout=outcome.stdout + done.stdout, stderr=outcome.stderr + done.stderr
            )
            if not done.ok:
                break
        return outcome

    def _environment(self) -> dict[str, str]:
        environment = clean_environment(self._machine.environ, self._machine.configured())
        # Nobody is there to answer a question.
        environment["GIT_TERMINAL_PROMPT"] = "0"
        return environment

    def _has(self, tool: str) -> bool:
        return bool(find_program(tool, self._environment()).path)

    def _directions(self, tool: str) -> Directions:
        tools = os.path.realpath(self._machine.tools)
        way = direct_tool(tool, tools, windows=self._machine.platform == "win32")
        if tool != "pnpm":
            return way
        # It refuses to install where nobody would find it.
        found = self._machine.environ.get("PATH", os.defpath)
        entry = ("PATH", os.pathsep.join((found, os.path.join(tools, _programs_folder(way)))))
        return replace(way, environment=(*way.environment, entry))

    def _explain_missing(self, plan: InstallPlan) -> str:
        if plan.tool == "brew":
            name = plan.argv[-1]
            text = "Homebrew is not installed: see https://brew.sh"
            if self._machine.platform == "darwin":
                return f"{text}, then try again."
            return f"{text}, or ask your system's package manager (apt, dnf, pacman) for {name}."
        fallback = (
            f"{plan.tool} is not installed:"
            " install it, or set skills.install.nodeManager to one that you have."
        )
        explained: str = read_table("host/installs.toml")["missing"].get(plan.tool, fallback)
        return explained


def _plan(job: Job) -> InstallPlan:
    if isinstance(job.plan, DownloadPlan):
        raise TypeError("a download is not for package managers")
    return job.plan


def _command(plan: InstallPlan, way: Directions) -> InstallCommand:
    # Before the name and the mark that ends the options.
    at = plan.argv.index("--") if "--" in plan.argv else len(plan.argv) - 1
    argv = (*plan.argv[:at], *way.options, *plan.argv[at:])
    return InstallCommand(argv=argv, environment=(*plan.environment, *way.environment))


def _programs_folder(way: Directions) -> str:
    return f"{way.home}/{way.programs}".removesuffix("/")


def _list_programs(tools: Root, way: Directions) -> set[str]:
    if not way.home:
        return set()
    return {name for name, _ in tools.list(_programs_folder(way))}


def _version_problem(said: str) -> str:
    """Return what is wrong with the Go that answered so."""
    found, needed = _GO_VERSION.search(said), ".".join(map(str, LEAST_GO))
    if found is None:
        return f"`go version` does not say which one it is: Go {needed} or newer is needed."
    if (int(found[1]), int(found[2])) >= LEAST_GO:
        return ""
    version = f"{found[1]}.{found[2]}"
    return f"Go {version} is too old, {needed} or newer is needed: see https://go.dev/doc/install."


def _outcome(result: ChildResult, seconds: float) -> InstallOutcome:
    problem = result.problem
    if result.timed_out:
        problem = (
            f"it took longer than {seconds:g} s and was ended:"
            " allow more (--timeout in a terminal, timeoutMs for a client)."
        )
    elif result.stopped:
        problem = "it was stopped."
    return InstallOutcome(
        ok=result.code == 0 and not problem,
        code=result.code,
        stdout=result.stdout,
        stderr=result.stderr,
        problem=problem,
    )
