"""Installs by package managers: brew, npm and its relatives, go and uv.

Each runs in an empty folder of ours, so that no settings file of a workspace speaks along, and in a
clean environment. All but brew are directed to a folder of their own below the tools folder, from
where programs are linked. A manager that is missing is explained, never fetched by a script.
"""

import os
import re
import sys
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from prowess.errors import PathError
from prowess.host.files.containment import Root
from prowess.host.files.private_files import locked
from prowess.host.processes.facts import find_program
from prowess.host.tool_environment import Directions, directions, installer_environment
from prowess.host.tool_links import BIN, link_programs, search_path_note
from prowess.host.tool_work import work_folder
from prowess.runtime.install import Command, Job, Outcome, Preview, Watch
from prowess.runtime.ports import ChildCommand, ChildResult, Processes
from prowess.safety.packages import DownloadPlan, InstallPlan, brew_plan

LEAST_GO = (1, 21)
_GO_VERSION = re.compile(r"\bgo([0-9]+)\.([0-9]+)")
_ASK_GO = Command(argv=("go", "version"))
# What brew can bring where a manager is missing.
_FROM_BREW = frozenset({"go", "uv"})
_EXPLAINED = {
    "npm": "npm is not installed: it comes with Node.js, see https://nodejs.org/en/download.",
    "go": (
        "Go is not installed: see https://go.dev/doc/install, or ask your system's package manager"
        " for it (apt: golang-go, dnf: golang)."
    ),
    "uv": (
        "uv is not installed:"
        " see https://docs.astral.sh/uv/getting-started/installation/ for your system."
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
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

    def __init__(self, processes: Processes, machine: Machine) -> None:
        self._processes, self._machine = processes, machine

    def preview(self, job: Job) -> Preview:
        """Say what would be run, or how to get the manager that is missing."""
        plan = _plan(job)
        way = self._directions(plan.tool)
        commands: tuple[Command, ...] = (_command(plan, way),)
        if plan.tool == "go":
            commands = (_ASK_GO, *commands)
        if not self._has(plan.tool):
            if plan.tool not in _FROM_BREW or not self._has("brew"):
                return Preview(problem=self._explained(plan))
            commands = (_command(brew_plan(plan.tool), Directions()), *commands)
        if not way.home:
            return Preview(commands=commands)
        return Preview(
            commands=commands,
            target=os.path.join(self._machine.tools, way.home),
            links=os.path.join(self._machine.tools, BIN),
        )

    def carry_out(self, job: Job, watch: Watch) -> Outcome:
        """Run the manager, then link the programs that it brought."""
        preview, plan = self.preview(job), _plan(job)
        if preview.problem:
            return Outcome(ok=False, problem=preview.problem)
        try:
            with Root.open(self._machine.tools, create=True) as tools:
                place = str(tools.path)
                with locked(os.path.join(place, ".locks", plan.tool)):
                    return self._installed(tools, job, preview, watch)
        except (PathError, OSError) as error:
            return Outcome(ok=False, problem=str(error))

    def _installed(self, tools: Root, job: Job, preview: Preview, watch: Watch) -> Outcome:
        way = self._directions(_plan(job).tool)
        if way.home:
            tools.make_folder(_programs_folder(way))
        before = _listed(tools, way)
        with work_folder(tools) as folder:
            outcome = self._run_all(preview.commands, job, watch, folder)
        if not outcome.ok or not way.home:
            return outcome
        after = _listed(tools, way)
        wanted = [name for name in job.bins if name in after] if job.bins else after - before
        path = f"{way.programs}/" if way.programs else ""
        linked = link_programs(tools, way.home, {name: path + name for name in sorted(wanted)})
        warnings = list(linked.warnings)
        if linked.names:
            warnings.append(search_path_note(str(tools.path / BIN), self._machine.environ))
        added = ", ".join(sorted(after - before))
        if added and not set(job.bins) <= after:
            warnings.append(f"the package brought {added}, and not all that the skill declares")
        return replace(outcome, warnings=tuple(filter(None, warnings)))

    def _run_all(
        self, commands: tuple[Command, ...], job: Job, watch: Watch, folder: str
    ) -> Outcome:
        """Run the commands one after the other, in the time that they have together."""
        end = time.monotonic() + job.seconds
        outcome = Outcome(ok=True)
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
        environment = installer_environment(self._machine.environ, self._machine.configured())
        # Nobody is there to answer a question.
        environment["GIT_TERMINAL_PROMPT"] = "0"
        return environment

    def _has(self, tool: str) -> bool:
        return bool(find_program(tool, self._environment()).path)

    def _directions(self, tool: str) -> Directions:
        tools = os.path.realpath(self._machine.tools)
        way = directions(tool, tools, windows=self._machine.platform == "win32")
        if tool != "pnpm":
            return way
        # It refuses to install where nobody would find it.
        found = self._machine.environ.get("PATH", os.defpath)
        entry = ("PATH", os.pathsep.join((found, os.path.join(tools, _programs_folder(way)))))
        return replace(way, environment=(*way.environment, entry))

    def _explained(self, plan: InstallPlan) -> str:
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
        return _EXPLAINED.get(plan.tool, fallback)


def _plan(job: Job) -> InstallPlan:
    if isinstance(job.plan, DownloadPlan):
        raise TypeError("a download is not for package managers")
    return job.plan


def _command(plan: InstallPlan, way: Directions) -> Command:
    # Before the name and the mark that ends the options.
    at = plan.argv.index("--") if "--" in plan.argv else len(plan.argv) - 1
    argv = (*plan.argv[:at], *way.options, *plan.argv[at:])
    return Command(argv=argv, environment=(*plan.environment, *way.environment))


def _programs_folder(way: Directions) -> str:
    return f"{way.home}/{way.programs}".removesuffix("/")


def _listed(tools: Root, way: Directions) -> set[str]:
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


def _outcome(result: ChildResult, seconds: float) -> Outcome:
    problem = result.problem
    if result.timed_out:
        problem = (
            f"it took longer than {seconds:g} s and was ended:"
            " allow more (--timeout in a terminal, timeoutMs for a client)."
        )
    elif result.stopped:
        problem = "it was stopped."
    return Outcome(
        ok=result.code == 0 and not problem,
        code=result.code,
        stdout=result.stdout,
        stderr=result.stderr,
        problem=problem,
    )
