"""The `Runtime`: the skills service with real adapters, and the rest on demand.

Environment and clock enter here and are handed on. Heavy adapters (store, watcher) are loaded when
they are first used: most commands need neither.
"""

import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Self

from prowess.errors import PathError, StoreError
from prowess.host.config import file as config
from prowess.host.config.file import ConfigFile
from prowess.host.processes.facts import LocalFacts
from prowess.host.sources.roots import Folders, FolderSources, expand_path
from prowess.runtime.service import Places, Sessions, SkillsService, Workspace
from prowess.skills.model import Tier
from prowess.skills.snapshot import VersionClock

if TYPE_CHECKING:
    from prowess.runtime.ports import (
        Encoder,
        Judge,
        LanguageModel,
        SessionStore,
        SettingsSource,
        VectorStore,
    )
    from prowess.runtime.route.answer import RoutingService
    from prowess.runtime.route.examples import ExampleService
    from prowess.runtime.run import RunContext, RunPorts
    from prowess.runtime.scan import ScanService
    from prowess.runtime.usage import UsageLog
    from prowess.runtime.watch import Watching
    from prowess.runtime.workshop.service import WorkshopService
    from prowess.skills.explanation import Explanation

HOME_VARIABLE = "PROWESS_HOME"
STORE_FILE = "prowess.db"
VECTORS_FILE = "vectors.db"
USAGE_FILE = "usage.db"
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Runtime:
    """What a program holds: the skills service, and the rest on demand."""

    def __init__(
        self,
        *,
        skills: SkillsService,
        config_file: ConfigFile,
        folders: Folders,
        environ: Mapping[str, str],
    ) -> None:
        self.skills = skills
        self.config = config_file
        self.folders = folders
        # Read and never shown: it holds secrets.
        self.environ = environ
        self._store: SessionStore | None = None
        self._routing: RoutingService | None = None
        self._examples: ExampleService | None = None
        self._vectors: VectorStore | None = None
        self._scanning: ScanService | None = None
        self._runs: RunPorts | None = None
        self._workshop: WorkshopService | None = None
        self._usage: UsageLog | None = None

    @property
    def store(self) -> "SessionStore":
        """The embedded store, opened on first use.

        Raises:
            StoreError: it cannot be opened.
        """
        if self._store is None:
            from prowess.host.store.sessions import SqliteStore

            self._store = SqliteStore(os.path.join(self.folders.state, STORE_FILE))
        return self._store

    @property
    def routing(self) -> "RoutingService":
        """What finds the right skills for a message, made on first use."""
        if self._routing is None:
            from prowess.host.store import routing as files
            from prowess.runtime.route.answer import RoutingPorts, RoutingService

            tools = RoutingPorts(
                open_encoder=self._open_encoder,
                open_judge=self._open_judge,
                vectors=self._open_vectors(),
                examples=files.ExamplesFile(self.folders.state),
                calibrated=files.ThresholdsFile(self.folders.state).read,
                seconds=time.monotonic,
                indexes=files.IndexFiles.of(self.folders.state),
                tidy=files.give_back,
                usage=lambda: self.usage,
            )
            self._routing = RoutingService(self.skills, tools)
        return self._routing

    def _open_vectors(self) -> "VectorStore":
        """Return the vectors that routing and examples share."""
        if self._vectors is None:
            from prowess.host.store.vectors import SqliteVectors

            self._vectors = SqliteVectors(os.path.join(self.folders.state, VECTORS_FILE))
        return self._vectors

    @property
    def examples(self) -> "ExampleService":
        """What learns how people ask for a skill, made on first use."""
        if self._examples is None:
            from prowess.host.store.routing import ExamplesFile
            from prowess.runtime.route.examples import ExampleService

            store = ExamplesFile(self.folders.state)
            self._examples = ExampleService(self.skills, self.routing, store, self._open_vectors())
        return self._examples

    @property
    def scanning(self) -> "ScanService":
        """What looks for harm in skills, made on first use."""
        if self._scanning is None:
            from prowess.host.safety import AcceptanceFile, deadline
            from prowess.runtime.scan import ScanPorts, ScanService

            tools = ScanPorts(
                acceptances=AcceptanceFile(self.folders.state),
                egress=lambda: self.skills.settings.skills.safety.egress,
                trusted_names=self._trusted_names,
                seconds=time.perf_counter,
                now=lambda: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                deadline=deadline,
            )
            self._scanning = ScanService(tools)
        return self._scanning

    def _trusted_names(self) -> list[str]:
        """Return the names of skills that somebody vouched for: bundled and managed ones."""
        state = self.skills.workspace().state(self.skills.settings)
        return [
            skill.name
            for skill in state.scan.skills
            if skill.source.tier in {Tier.BUNDLED, Tier.MANAGED}
        ]

    @property
    def usage(self) -> "UsageLog":
        """The log of what became of skills, opened by the first use."""
        if self._usage is None:
            from prowess.host.store.usage import SqliteUsage, local_day
            from prowess.runtime.usage import UsageLog, know_names

            self._usage = UsageLog(
                SqliteUsage(os.path.join(self.folders.state, USAGE_FILE)),
                known=know_names(self.skills),
                now_ms=lambda: time.time_ns() // 1_000_000,
                day_of=local_day,
            )
        return self._usage

    def language_model(self) -> "LanguageModel":
        """Return the user's own language model; nothing is asked yet.

        Raises:
            ModelError: none is configured, or it cannot be used.
        """
        from prowess.host.models.endpoint import open_model

        return open_model(self.skills.settings.skills.model, self.environ)

    def _open_encoder(self) -> "Encoder | None":
        from prowess.host.models.choice import open_encoder

        return open_encoder(
            self.skills.settings.skills.routing.encoder,
            self.environ,
            self.folders.home,
            bundled=os.path.join(_PACKAGE, "model"),
        )

    def _open_judge(self, which: str) -> "Judge | None":
        if which == "off":
            return None
        from prowess.host.models.local import OnnxJudge

        return OnnxJudge(expand_path(which, self.folders.home, self.folders.home))

    def sessions(self) -> "Sessions":
        """Return the keeper of session snapshots."""
        return Sessions(self.skills, self.store)

    @property
    def workshop(self) -> "WorkshopService":
        """What turns corrections and experience into proposals, made on first use."""
        if self._workshop is None:
            from prowess.wiring.workshop import open_workshop

            self._workshop = open_workshop(self)
        return self._workshop

    def run(
        self,
        agent: str | None = None,
        session: str | None = None,
        *,
        process_wide: bool = True,
    ) -> "RunContext":
        """Return one turn of an agent, to be entered with `with` or `async with`.

        Args:
            agent: whose turn it is; by default the default agent's.
            session: what keeps its snapshot between turns; by default nothing does.
            process_wide: whether the variables of skills are set in this process for as long as the
                turn lasts; otherwise only `run.environ`, for child processes, has them.
        """
        from prowess.runtime.run import RunContext, RunRequest

        if self._runs is None:
            from prowess.wiring.run import open_runs

            self._runs = open_runs(self)
        asked = RunRequest(agent_id=agent, session_id=session, process_wide=process_wide)
        return RunContext(self._runs, asked)

    def watching(self) -> "Watching":
        """Return what keeps the service up to date while the process lives."""
        from prowess.host.sources.watcher import FolderWatcher
        from prowess.runtime.watch import Watching

        return Watching(self.skills, FolderWatcher(), config_path=self.config.path)

    def why(self, name: str, agent_id: str | None = None) -> "Explanation":
        """Explain why a skill is, or is not, visible to an agent.

        Raises:
            SkillNotFoundError: nothing of that name was found, not even a broken file.
        """
        from prowess.runtime.route.why import why

        return why(self.skills, name, agent_id)

    def record_use(self, skill_name: str, message: str = "") -> None:
        """Remember that a skill was used: it is then dropped later when space is short.

        Args:
            skill_name: the skill.
            message: what it was used for; routing learns from it how people ask.
        """
        skill = self.skills.find(skill_name).skill
        self.store.record_use(skill.name, time.time_ns() // 1_000_000)
        self.skills.reconsider()
        if message:
            self.examples.confirm(skill.name, message)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_problem: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back what was opened."""
        for opened in (self._store, self._vectors, self._usage):
            if opened is not None:
                opened.close()
        self._usage = None
        self._store, self._vectors, self._routing, self._examples = None, None, None, None


def open_runtime(
    workspace: str | os.PathLike[str] | None = None,
    *,
    home: str | os.PathLike[str] | None = None,
    environ: Mapping[str, str] | None = None,
    settings: "Callable[[SettingsSource], SettingsSource] | None" = None,
) -> Runtime:
    """Open Prowess on this machine.

    Args:
        workspace: the folder to work in; by default the agent's own, else the current folder.
        home: the state folder; by default `$PROWESS_HOME`, else `~/.prowess`.
        environ: the environment to look at; by default the process's.
        settings: makes of the config file what skills are judged by; by default the file itself.

    Raises:
        PathError: the workspace is not a folder.
    """
    variables = os.environ if environ is None else environ
    current = _current_folder(workspace)
    folders = find_folders(variables, home, current)
    config_file = ConfigFile(os.path.join(folders.state, config.FILE_NAME))
    facts = LocalFacts(variables, (folders.tools_bin,))
    service = SkillsService(
        settings=config_file if settings is None else settings(config_file),
        places=_places(workspace, folders, variables, current),
        open_workspace=lambda folder: _open_workspace(folder, folders, facts),
        next_version=VersionClock(lambda: time.time_ns() // 1_000_000).next,
        last_used=lambda: last_used(runtime),
    )
    runtime = Runtime(skills=service, config_file=config_file, folders=folders, environ=variables)
    return runtime


def find_folders(
    environ: Mapping[str, str], home: str | os.PathLike[str] | None, current: str
) -> Folders:
    """Return where state, bundled skills and the user's home are."""
    user_home = environ.get("HOME") or os.path.expanduser("~")
    state = os.fspath(home) if home is not None else environ.get(HOME_VARIABLE, "")
    default = os.path.join(user_home, ".prowess")
    return Folders(
        home=os.path.abspath(user_home),
        state=expand_path(state, user_home, current) if state else default,
        bundled=os.path.join(_PACKAGE, "bundled"),
        codex_home=environ.get("CODEX_HOME", ""),
    )


def _places(
    workspace: str | os.PathLike[str] | None,
    folders: Folders,
    environ: Mapping[str, str],
    current: str,
) -> Places:
    given = None
    if workspace is not None:
        given = expand_path(os.fspath(workspace), folders.home, current)
    if given is not None and not os.path.isdir(given):
        raise PathError(given, "is not a folder: give an existing workspace.")
    homes = {folders.home, os.path.realpath(folders.home)}
    if environ.get("USERPROFILE"):
        homes.add(environ["USERPROFILE"])
    return Places(
        workspace=given or current,
        workspace_given=given is not None,
        managed=folders.managed,
        homes=tuple(homes),
    )


def _current_folder(workspace: str | os.PathLike[str] | None) -> str:
    try:
        return os.getcwd()
    except OSError as error:
        if workspace is not None and os.path.isabs(workspace):
            return os.fspath(workspace)
        raise PathError("the current folder", "no longer exists: change to another one.") from error


def _open_workspace(folder: str, folders: Folders, facts: LocalFacts) -> Workspace:
    path = expand_path(folder, folders.home, folders.state)
    return Workspace(path, FolderSources(path, folders), facts)


def last_used(runtime: Runtime) -> Mapping[str, int]:
    """Return when each skill was last used, by any of the two that remember it."""
    found: dict[str, int] = {}
    try:
        if os.path.exists(os.path.join(runtime.folders.state, STORE_FILE)):
            found.update(runtime.store.last_used())
        if os.path.exists(os.path.join(runtime.folders.state, USAGE_FILE)):
            for name, used in runtime.usage.last_used().items():
                found[name] = max(used, found.get(name, 0))
    except StoreError as error:
        # Use only breaks ties: a prompt without it is better than none.
        import logging

        logging.getLogger(__name__).warning("store.unusable: %s", error)
    return found
