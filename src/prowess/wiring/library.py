"""The `Runtime`: the skills service with real adapters, and the rest on demand.

Environment and clock enter here and are handed on. Heavy adapters (store, watcher) are loaded when
they are first used: most commands need neither.
"""

import os
import signal
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Self, TypeVar

from prowess.errors import EncoderError, PathError, StoreError
from prowess.host.config import file as config
from prowess.host.config.file import ConfigFile
from prowess.host.files.handles import stamp_file
from prowess.host.files.state_files import ACCEPTANCES_FILE, PolicyPlaces
from prowess.host.sources.roots import (
    Folders,
    FolderSources,
    expand_path,
    find_workspace,
    has_many_folders,
)
from prowess.host.store.reports import BlockFinder, KeptListings, SkillVerdicts, VerdictPorts
from prowess.runtime.ports import KnownVerdict, ScanPatience
from prowess.runtime.service import Places, SkillsService, Workspace, WorkspaceState
from prowess.settings import AgentSettings, Settings
from prowess.skills.agent_filter_snapshot import AgentFilter
from prowess.skills.catalog import AddressedSkill
from prowess.skills.model import Skill, Tier
from prowess.wiring.state import STORE_FILE, USAGE_FILE, StateStores

if TYPE_CHECKING:
    from prowess.runtime.ports import (
        Encoder,
        FactsProbe,
        Judge,
        LanguageModel,
        SessionStore,
        SettingsSource,
        VectorStore,
    )
    from prowess.runtime.route.answer import RoutingService
    from prowess.runtime.route.examples import ExampleService
    from prowess.runtime.run import RunContext, RunPorts
    from prowess.runtime.scan import ScanService, Target
    from prowess.runtime.usage import UsageLog
    from prowess.runtime.watch import Sessions, Watching
    from prowess.runtime.workshop.review import ReviewModel
    from prowess.runtime.workshop.service import WorkshopService
    from prowess.safety.rules.table import Acceptance
    from prowess.settings import EncoderSettings
    from prowess.skills.explanation import Explanation

HOME_VARIABLE = "PROWESS_HOME"
# So many folders of skills take longer to look at than a client waits for a list.
LARGE = 400
# Names the model of our own chat.
MODEL_VARIABLE = "PROWESS_MODEL"
_SIGNALS, _SIGNAL_BASE = ("SIGTERM", "SIGHUP"), 128
_T = TypeVar("_T")
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Hooks run in front of every prompt: a few candidates are scanned, and nothing ahead of them.
HOOK = ScanPatience(seconds=0.2, most_ahead=0)
# A process that stays: a few new skills at once, and many while nobody waits.
SERVER = ScanPatience(seconds=3.0, most_ahead=8, in_background=True)
# Who is started by a client that waits for a list: nothing is scanned to be listed.
LISTED = ScanPatience(seconds=3.0, most_ahead=0, in_background=True)
# The same, for folders that hooks are asked about.
WARM_HOOK = ScanPatience(seconds=0.2, most_ahead=0, in_background=True)


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
        # Where its stores are: files of the state folder, or the database of a fleet.
        self.state = StateStores(skills, config_file, folders.state, environ)
        self.judges: list[SkillVerdicts] = []
        # The model that a person talks to: it reviews turns where no other was chosen for that.
        self.session_model: ReviewModel | None = None

    @cached_property
    def store(self) -> "SessionStore":
        """The embedded store, opened on first use.

        Raises:
            StoreError: it cannot be opened.
        """
        return self.state.open_sessions()

    @cached_property
    def routing(self) -> "RoutingService":
        """What finds the right skills for a message, made on first use."""
        from prowess.host.sources.discovery import ReferenceFiles
        from prowess.host.store import routing as files
        from prowess.host.store.routing import FreshnessFile
        from prowess.runtime.route.answer import RoutingPorts, RoutingService

        tools = RoutingPorts(
            open_encoder=self._open_encoder,
            open_judge=self._open_reranker,
            vectors=self._vectors,
            examples=files.ExamplesFile(self.folders.state, self.state.hold),
            calibrated=files.ThresholdsFile(self.folders.state).read,
            seconds=time.monotonic,
            indexes=files.open_indexes(self.folders.state),
            tidy=files.give_back,
            stale=FreshnessFile(self.folders.state).read,
            references=ReferenceFiles(),
            usage=lambda: self.usage,
        )
        return RoutingService(self.skills, tools)

    @cached_property
    def _vectors(self) -> "VectorStore":
        """Return the vectors that routing and examples share."""
        return self.state.open_vectors()

    @cached_property
    def examples(self) -> "ExampleService":
        """What learns how people ask for a skill, made on first use."""
        from prowess.host.store.routing import ExamplesFile
        from prowess.runtime.route.examples import ExampleService

        store = ExamplesFile(self.folders.state, self.state.hold)
        return ExampleService(self.skills, self.routing, store, self._vectors)

    @cached_property
    def scanning(self) -> "ScanService":
        """What looks for harm in skills, made on first use."""
        from prowess.host.safety import AcceptanceFile
        from prowess.runtime.scan import ScanPorts, ScanService
        from prowess.spans import deadline

        tools = ScanPorts(
            open_acceptances=lambda: AcceptanceFile(self.folders.state, self.state.hold),
            reports=self.state.reports,
            egress=lambda: self.skills.settings.skills.safety.egress,
            trusted_names=self._list_trusted,
            seconds=time.thread_time,
            now=lambda: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            clock=time.time,
            deadline=deadline,
        )
        return ScanService(tools)

    def _list_trusted(self) -> list[str]:
        """Return the names of skills that somebody vouched for: bundled and managed ones."""
        # Not all of the workspace: whoever scans one skill need not read the others.
        workspace = expand_path(self.skills.folder(), self.folders.home, self.folders.state)
        sources = FolderSources(workspace, self.folders, (Tier.BUNDLED, Tier.MANAGED))
        return [skill.name for skill in sources.scan(self.skills.settings).skills]

    @cached_property
    def usage(self) -> "UsageLog":
        """The log of what became of skills, opened by the first use."""
        from prowess.host.store.usage import local_day
        from prowess.runtime.usage import UsageLog, know_names

        return UsageLog(
            self.state.open_usage(),
            known=know_names(self.skills),
            now_ms=lambda: time.time_ns() // 1_000_000,
            day_of=local_day,
        )

    def language_model(self) -> "LanguageModel":
        """Return the user's own language model; nothing is asked yet.

        Raises:
            ModelError: none is configured, or it cannot be used.
        """
        from prowess.host.models.endpoint import open_model

        return open_model(self.skills.settings.skills.model, self.environ)

    def _open_encoder(self) -> "Encoder | None":
        return open_encoder(
            self.skills.settings.skills.routing.encoder,
            self.environ,
            self.folders.home,
            bundled=os.path.join(_PACKAGE, "model"),
        )

    def _open_reranker(self, which: str) -> "Judge | None":
        if which == "off":
            return None
        from prowess.host.models.local import OnnxJudge

        return OnnxJudge(expand_path(which, self.folders.home, self.folders.home))

    def sessions(self) -> "Sessions":
        """Return the keeper of session snapshots."""
        from prowess.runtime.watch import Sessions

        return Sessions(self.skills, self.store)

    @cached_property
    def workshop(self) -> "WorkshopService":
        """What turns corrections and experience into proposals, made on first use."""
        from prowess.wiring.workshop import open_workshop

        return open_workshop(self)

    def run(
        self, agent: str | None = None, session: str | None = None, *, process_wide: bool = True
    ) -> "RunContext":
        """Return one turn of an agent, to be entered with `with` or `async with`.

        Args:
            agent: whose turn it is; by default the default agent's.
            session: what keeps its snapshot between turns; by default nothing does.
            process_wide: whether the variables of skills are set in this process for as long as the
                turn lasts; otherwise only `run.environ`, for child processes, has them.
        """
        from prowess.runtime.run import RunContext, RunRequest

        asked = RunRequest(agent_id=agent, session_id=session, process_wide=process_wide)
        return RunContext(self._runs, asked)

    @cached_property
    def _runs(self) -> "RunPorts":
        """What every run needs of the world."""
        from prowess.wiring.run import open_runs

        return open_runs(self)

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
        from prowess.runtime.route.answer import why

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
        kept = vars(self)
        # What was not used was not made; routing and examples hold what is given back.
        made = [kept.pop(name, None) for name in ("store", "_vectors", "usage")]
        for opened in (*self.judges, *made):
            if opened is not None:
                opened.close()
        self.state.close()
        for name in ("routing", "examples"):
            kept.pop(name, None)


def open_runtime(
    workspace: str | os.PathLike[str] | None = None,
    *,
    home: str | os.PathLike[str] | None = None,
    environ: Mapping[str, str] | None = None,
    settings: "Callable[[SettingsSource], SettingsSource] | None" = None,
    patience: ScanPatience | None = None,
) -> Runtime:
    """Open Prowess on this machine.

    Args:
        workspace: the folder to work in; by default the agent's own, else the current folder.
        home: the state folder; by default `$PROWESS_HOME`, else `~/.prowess`.
        environ: the environment to look at; by default the process's.
        settings: makes of the config file what skills are judged by; by default the file itself.
        patience: how long whoever asks may wait for skills to be scanned; by default for all.

    Raises:
        PathError: the workspace is not a folder.
    """
    variables = os.environ if environ is None else environ
    current = _find_current(workspace)
    folders = find_folders(variables, home, current)
    config_file = ConfigFile(os.path.join(folders.state, config.FILE_NAME))

    service = SkillsService(
        settings=config_file if settings is None else settings(config_file),
        places=_places(workspace, folders, variables, current),
        open_workspace=lambda folder: _open_workspace(folder, runtime, patience or ScanPatience()),
        now_ms=lambda: time.time_ns() // 1_000_000,
        last_used=lambda: last_used(runtime),
    )
    runtime = Runtime(skills=service, config_file=config_file, folders=folders, environ=variables)
    return runtime


def in_project(runtime: Runtime) -> Runtime:
    """Return the runtime for the project around where it was opened, as hooks find it."""
    places = runtime.skills.places
    if not places.workspace_given:
        found = find_workspace("", (), places.workspace, runtime.folders.home)
        runtime.skills.places = replace(places, workspace=found)
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
        above = os.path.dirname(given)
        shut = os.path.isdir(above) and not os.access(above, os.X_OK)
        problem = (
            f"cannot be reached, since {above} is closed to you" if shut else "is not a folder"
        )
        raise PathError(given, f"{problem}: give an existing workspace.")
    homes = {folders.home, os.path.realpath(folders.home)}
    if environ.get("USERPROFILE"):
        homes.add(environ["USERPROFILE"])
    return Places(
        workspace=given or current,
        workspace_given=given is not None,
        managed=folders.managed,
        homes=tuple(homes),
    )


def _find_current(workspace: str | os.PathLike[str] | None) -> str:
    try:
        return os.getcwd()
    except OSError as error:
        if workspace is not None and os.path.isabs(workspace):
            return os.fspath(workspace)
        raise PathError("the current folder", "no longer exists: change to another one.") from error


def _open_workspace(folder: str, runtime: Runtime, patience: ScanPatience) -> Workspace:
    folders = runtime.folders
    path = expand_path(folder, folders.home, folders.state)
    judge = _open_judge(runtime, path, patience)
    runtime.judges.append(judge)
    workspace = Workspace(
        path,
        FolderSources(path, folders),
        lambda: _open_facts(runtime),
        judge,
        partial(_bind, folders.state),
    )
    workspace.keep = lambda state: _keep_listing(path, runtime, state)
    return workspace


def _open_facts(runtime: Runtime) -> "FactsProbe":
    # Late: where no skill asks anything of the machine, nothing is looked for.
    from prowess.host.processes.facts import LocalFacts

    return LocalFacts(runtime.environ, (runtime.folders.tools_bin,))


def _open_governor(runtime: Runtime, workspace: str) -> BlockFinder:
    from prowess.wiring.sharing import open_governor

    return open_governor(runtime, workspace)


def _keep_listing(path: str, runtime: Runtime, state: WorkspaceState) -> None:
    """Keep the list of a workspace that takes time to look at, once all of it was scanned."""
    is_large = len(state.scan.folders) >= LARGE // 2
    if not is_large or any(block.is_pending for block in state.blocks.values()):
        return
    winners = state.catalog.winners
    listed = [skill for name, skill in winners.items() if state.verdicts[name].eligible]
    visible = [one for one in listed if one.invocation.model and not one.is_draft]
    KeptListings(runtime.folders.state).save(path, _operators_word(runtime, path), visible)


def _operators_word(runtime: Runtime, workspace: str) -> object:
    """Return what is another one once the operator has changed what agents may use."""
    names = (config.FILE_NAME, ACCEPTANCES_FILE)
    state = runtime.folders.state
    stamps = [stamp_file(os.path.join(state, name)) for name in names]
    policies = PolicyPlaces(runtime.environ, state, workspace).stamp()
    return [*stamps, policies] if policies else stamps


def load_listing(
    folder: str, runtime: Runtime, settings: Settings, agent: AgentSettings
) -> Sequence[AddressedSkill] | None:
    """Return the list of a large workspace as it was last found; None where it must be looked at.

    A large one that nobody ever looked at has no skill that was scanned, and so none to be listed.
    """
    folders = runtime.folders
    listings = KeptListings(folders.state)
    rows = listings.load(folder, _operators_word(runtime, folder))
    if rows is not None:
        allowed = AgentFilter.of(agent).entries
        return [row for row in rows if allowed is None or {row.name, row.key} & set(allowed)]
    is_new = not listings.is_kept(folder) and has_many_folders(folder, folders, settings, LARGE)
    return () if is_new else None


def _bind(state: str, found: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
    """Keep which sources have entries of the config; asked only where some hold secrets."""
    from prowess.host.safety import EntrySources

    return EntrySources(state).bind(found)


def last_used(runtime: Runtime) -> Mapping[str, int]:
    """Return when each skill was last used, by any of the two that remember it."""
    found: dict[str, int] = {}
    try:
        if runtime.state.exists(STORE_FILE):
            found.update(runtime.store.last_used())
        if runtime.state.exists(USAGE_FILE):
            for name, used in runtime.usage.last_used().items():
                found[name] = max(used, found.get(name, 0))
    except StoreError as error:
        # Use only breaks ties: a prompt without it is better than none.
        import logging

        logging.getLogger(__name__).warning("store.unusable: %s", error)
    return found


# Not the address itself in a message: it may hold a password.
_ENDPOINT = "the endpoint"


def open_encoder(
    settings: "EncoderSettings", environ: Mapping[str, str], home: str, *, bundled: str
) -> "Encoder | None":
    """Return the encoder of the settings, not loaded yet, or None where words alone shall route.

    Args:
        settings: what was chosen.
        environ: where the endpoint's key is looked for.
        home: the user's folder, for `~` and for relative paths.
        bundled: the folder of the bundled model.

    Raises:
        EncoderError: what was chosen cannot be used.
    """
    which = settings.which.strip()
    if which == "none":
        return None
    if which == "bundled":
        from prowess.host.models.local import OnnxEncoder

        return OnnxEncoder(bundled, english_only=True)
    if "://" in which:
        return _endpoint(settings, which, environ)
    return _folder(expand_path(which, home, home))


def _endpoint(settings: "EncoderSettings", address: str, environ: Mapping[str, str]) -> "Encoder":
    if not settings.model:
        problem = "needs the name of a model: set `skills.routing.encoderModel`."
        raise EncoderError(_ENDPOINT, problem)
    key = environ.get(settings.key_env, "").strip() if settings.key_env else ""
    if settings.key_env and not key:
        problem = f"needs a key: set the environment variable {settings.key_env}."
        raise EncoderError(_ENDPOINT, problem)
    from prowess.host.models.endpoint import EndpointEncoder

    return EndpointEncoder(address, model=settings.model, key=key)


def _folder(folder: str) -> "Encoder":
    from prowess.host.models.local import MARK, OnnxEncoder, SentenceTransformersEncoder, find_model

    if find_model(folder) is not None:
        return OnnxEncoder(folder, english_only=False)
    if os.path.isfile(os.path.join(folder, MARK)):
        return SentenceTransformersEncoder(folder)
    problem = (
        "holds neither model.onnx nor modules.json: set `skills.routing.encoder` to the folder of"
        " a model, to the address of an endpoint, to `bundled` or to `none`."
        if os.path.isdir(folder)
        else "is no folder: check `skills.routing.encoder`."
    )
    raise EncoderError(folder, problem)


def _open_judge(runtime: Runtime, workspace: str, patience: ScanPatience) -> SkillVerdicts:
    """Return what judges the skills of one workspace."""
    accepted = os.path.join(runtime.folders.state, ACCEPTANCES_FILE)

    def scan(skill: Skill) -> tuple[str, KnownVerdict]:
        target = read_target(skill)
        key, card = runtime.scanning.find_report(target, target.profile)
        return key, card.known

    ports = VerdictPorts(
        store=runtime.state.reports,
        scan=scan,
        scanner=_read_scanner,
        acceptances=lambda: runtime.scanning.accepted() if os.path.exists(accepted) else (),
        accepted=lambda: stamp_file(accepted),
        policies=PolicyPlaces(runtime.environ, runtime.folders.state, workspace),
        governor=lambda: _open_governor(runtime, workspace),
    )
    return SkillVerdicts(ports, patience)


def accept_finding(
    runtime: Runtime, skill: Skill, rule_id: str, reason: str, evidence: str
) -> "tuple[Acceptance, ...]":
    """Accept what one rule found in a skill that was found.

    Raises:
        AcceptanceError: there is nothing to accept, or it cannot be accepted.
        StoreError: it cannot be kept.
    """
    scanned = runtime.scanning.scan_target(read_target(skill))
    return runtime.scanning.accept(scanned, rule_id, reason, evidence)


def revoke_finding(
    runtime: Runtime, skill: Skill, rule_id: str, evidence: str
) -> "tuple[Acceptance, ...]":
    """Take back what was accepted of a skill that was found.

    Raises:
        AcceptanceError: there is none of that kind.
        StoreError: it cannot be forgotten.
    """
    return runtime.scanning.revoke(read_target(skill).name, rule_id, evidence)


def read_target(skill: Skill) -> "Target":
    """Return a skill as the scanner reads it."""
    from prowess.host.sources.skill_files import SkillReading

    return SkillReading().target(skill)


def _read_scanner() -> str:
    from prowess.safety.rules.table import read_version

    return read_version()


def run_until_signal(work: Coroutine[None, None, _T]) -> _T:
    """Run to the end and return what came out; a signal ends it in order.

    Left to the terminal, a signal would raise in the middle of whatever the loop does.

    Raises:
        SystemExit: a signal came, with the code that shells give it.
    """
    # Most commands have no loop.
    import asyncio

    came: list[int] = []

    async def run() -> _T:
        task = asyncio.ensure_future(work)

        def stop(number: int) -> None:
            came.append(number)
            task.cancel()

        known = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
        # Whoever started us with one ignored wants it ignored; loops of Windows have none.
        with suppress(NotImplementedError):
            for number in known:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    asyncio.get_running_loop().add_signal_handler(number, stop, number)
        return await task

    try:
        found = asyncio.run(run())
    except asyncio.CancelledError:
        if not came:
            raise
    if came:
        raise SystemExit(_SIGNAL_BASE + came[0])
    return found
