"""What is learned, with real adapters: by the workshop, from traces, and from real sessions.

A transcript that somebody hands over is read by the same parts with other settings: whoever names a
file wants its corrections looked for, so that is switched on; no model is asked, since old turns
are no reason to pay for a review. A rehearsal works on a copy of the store in a folder of its own:
what it proposes, scans and finds to be known already is real, and then gone.

One router serves every folder of a session: what it knows of an encoder and of vectors is shared,
and only the skills that it looks at change with the folder.
"""

import logging
import os
import secrets
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from prowess.errors import ConfigError, ContainmentError, ModelError, ProwessError, StoreError
from prowess.host.config.file import ConfigFile
from prowess.host.files.state_files import open_readonly
from prowess.host.store.proposals import StoredCounters, copy_workshop
from prowess.host.writers.change import SkillFolder
from prowess.routing.model import Decision, Route
from prowess.runtime.route.answer import Asked, RoutingService
from prowess.runtime.scan import ScanService, Target
from prowess.runtime.workshop.ports import WorkshopPorts
from prowess.runtime.workshop.service import WorkshopService
from prowess.safety.model import Profile, ScanReport
from prowess.settings import ApprovalPolicy, ReviewMode, Settings, WorkshopSettings
from prowess.skills.model import Skill, Tier
from prowess.wire.workshop import workshop_answer
from prowess.wiring.library import Runtime, open_runtime
from prowess.wiring.state import STORE_FILE
from prowess.workshop.proposal import skill_name
from prowess.workshop.similar import Neighbour

if TYPE_CHECKING:
    from prowess.runtime.experience import ExperienceService
    from prowess.runtime.experience_drafts import ExperiencePorts
    from prowess.runtime.sessions import MissedCorrections, SessionReports
    from prowess.runtime.workshop.review import Reviews
    from prowess.skills.agent_filter_snapshot import Snapshot


log = logging.getLogger(__name__)
_LONGEST_IN_ID = 40
_NO_REVIEWER = (
    "none is configured: set plugins.entries.skill-workshop.config.reviewModel to PROVIDER:NAME, or"
    " reviewCommand, or skills.model. In `prowess chat` the model of the chat reviews."
)
# Of all skills: those of the workspace may stand behind many others.
_MOST_CONSIDERED = 100


def open_workshop(runtime: Runtime) -> WorkshopService:
    """Return the workshop of a runtime; nothing is opened or written before it is used."""
    return WorkshopService(workshop_ports(runtime), lambda: open_reviews(runtime))


def workshop_ports(runtime: Runtime) -> WorkshopPorts:
    """Return the world as the workshop of a runtime sees it."""
    world = _World(runtime)
    return WorkshopPorts(
        settings=world.settings,
        workspace=world.workspace,
        store=runtime.state.open_proposals(),
        folder=world.folder,
        scan=world.scan,
        route=world.route,
        refresh=runtime.skills.refresh,
        now=time.time,
        new_id=lambda skill: f"{skill[:_LONGEST_IN_ID]}-{secrets.token_hex(5)}",
        show=workshop_answer,
        elsewhere=world.elsewhere,
        neighbours=world.neighbours,
        agent=world.agent,
        scores=world.scores,
        compare=world.compare,
        sight=world.sight,
    )


def open_reviews(runtime: Runtime) -> "Reviews":
    """Return the reviewers of a runtime's workspaces; no model is opened before one is asked."""
    # Late: most turns are not reviewed.
    from prowess.runtime.workshop.review import ReviewPorts, Reviews

    counters = StoredCounters(runtime.state.open_database())
    world = _World(runtime)

    def ports(agent_id: str) -> ReviewPorts:
        return ReviewPorts(
            settings=world.settings,
            counters=counters,
            reviewer=world,
            nearest=lambda text, limit: world.nearest(text, limit, agent_id),
            now=time.time,
            nonce=lambda: secrets.token_hex(8),
        )

    return Reviews(ports, counters, world.workspace)


def find_missing_reviewer(runtime: Runtime, settings: WorkshopSettings) -> str:
    """Say that no model can review a turn, and what to set; empty where one can."""
    if settings.review_command or settings.review_model or runtime.environ.get("PROWESS_MODEL"):
        return ""
    try:
        runtime.language_model()
    except ModelError as error:
        chosen = runtime.skills.settings.skills.model.endpoint not in {"", "none"}
        return error.problem if chosen else _NO_REVIEWER
    return ""


class _World:
    """What the workshop asks of a runtime, each time anew; agents are named by their ids."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def settings(self) -> WorkshopSettings:
        """Return the settings as the file has them now; while it is broken, as they were."""
        try:
            return self._runtime.config.read().workshop
        except ConfigError as error:
            log.warning("config.unreadable: %s", error)
            return self._runtime.skills.settings.workshop

    def agent(self, agent_id: str) -> str:
        return self._runtime.skills.agent(agent_id or None).id

    def workspace(self, agent_id: str) -> str:
        return self._runtime.skills.workspace(agent_id or None).folder

    def folder(self, workspace: str, skill: str, place: str) -> SkillFolder:
        """Return a skill's folder in a workspace, which must lie where it seems to lie.

        Raises:
            PathError: the folder of skills leads elsewhere, or the name cannot be a folder's.
        """
        home = self._runtime.environ.get("HOME") or os.path.expanduser("~")
        is_own = place.startswith("~/")
        root = os.path.join(home if is_own else workspace, place.removeprefix("~/") or "skills")
        # To say it early and well: what holds against a swap is that each step is taken by handle.
        if os.path.islink(root):
            problem = "is a link: the workshop writes inside the workspace only."
            raise ContainmentError(root, problem)
        state, hold = Path(self._runtime.folders.state), self._runtime.state.hold_folder
        return SkillFolder(Path(root), skill, state, hold=hold)

    def scan(self, skill: str, files: Mapping[str, bytes]) -> ScanReport:
        """Scan a skill as text that an agent wrote."""
        target = Target(path=skill, name=skill, files=files, profile=Profile.PROPOSAL)
        return self._runtime.scanning.scan_target(target).report

    def route(self, message: str, agent_id: str) -> tuple[str, float] | None:
        """Return the skill that a message would load, if the workshop may write it."""
        if not self._list_writable(agent_id):
            # Nothing to find: an encoder takes a second to load, and the user waits for the turn.
            return None
        # Where there is no route, the topic's skill is always there to fall back on.
        found = self._ask_router(message, Asked(agent_id=agent_id or None))
        if found is None or found.decision is not Decision.LOAD or not found.matches:
            return None
        best = found.matches[0]
        is_writable = _may_write(best.skill, self.workspace(agent_id))
        return (best.skill.id, best.score) if is_writable else None

    def scores(self, text: str, agent_id: str) -> dict[str, float]:
        """Return what the router says of the skills that the workshop may write."""
        workspace = self.workspace(agent_id)
        asked = Asked(agent_id=agent_id or None, considered=_MOST_CONSIDERED)
        found = self._ask_router(text, asked)
        # Words alone can tell copies.
        considered = () if found is None else found.considered
        return {one.skill.id: one.score for one in considered if _may_write(one.skill, workspace)}

    def compare(self, text: str, others: Sequence[str]) -> Sequence[float]:
        """Return how nearly other texts mean what a text does; zeros where no encoder tells."""
        encoder = self._runtime.routing.encoder() if others else None
        try:
            if encoder is not None and not (encoder.english_only and not text.isascii()):
                # One by one: a hook has an encoder that takes no more than one.
                mine, *theirs = (encoder.encode([one])[0] for one in (text, *others))
                return [float(mine @ one) for one in theirs]
        except ProwessError as error:
            log.warning("encoder.unusable: %s", error)
        return [0.0] * len(others)

    def nearest(self, text: str, limit: int, agent_id: str) -> list[tuple[str, str]]:
        """Return the skills of the workspace that are nearest to a text, with what they say."""
        workspace = self.workspace(agent_id)
        asked = Asked(agent_id=agent_id or None, considered=_MOST_CONSIDERED)
        found = [one.skill for one in self._runtime.routing.route(text, asked).considered]
        own = [skill for skill in found if _may_write(skill, workspace)]
        return [(skill.id, skill.body) for skill in own[:limit]]

    def elsewhere(self, name: str, agent_id: str) -> str:
        """Return where another skill of a name lies than the workshop would write it."""
        own = os.path.join(self.workspace(agent_id), "skills", name, "SKILL.md")
        others = [
            skill.path
            for skill in self._skills(agent_id)
            if name in {skill.id.casefold(), skill.name.casefold()}
        ]
        real = os.path.realpath(own)
        return next((path for path in reversed(others) if os.path.realpath(path) != real), "")

    def neighbours(self, agent_id: str) -> list[Neighbour]:
        """Return the skills of the workspace that the workshop may write."""
        return [
            Neighbour(name=skill.id, description=skill.description, body=skill.body)
            for skill in self._list_writable(agent_id)
        ]

    def sight(self, agent_id: str) -> Callable[[str], bool]:
        """Return what says of a skill, by its name, whether the agent's model may know of it."""
        # Late: only calls of the tool ask for it.
        from prowess.runtime.workshop.tool import sight_of

        return sight_of(self._runtime.skills.status(agent_id or None))

    def ask(self, instructions: str, question: str, seconds: float) -> str:
        """Return the answer of the reviewer of the settings as they are now.

        Raises:
            ModelError: there is no model, or it does not answer.
        """
        settings, session = self.settings(), self._runtime.session_model
        if session is not None and not (settings.review_command or settings.review_model):
            return session.ask(instructions, question, seconds)
        if missing := find_missing_reviewer(self._runtime, settings):
            raise ModelError("reviewer", missing)
        # Late: it brings along what waits, and most turns are not reviewed.
        from prowess.host.models.reviewers import ReviewerChoice, open_reviewer
        from prowess.host.processes.children import ChildProcesses

        choice = ReviewerChoice(
            command=settings.review_command,
            model=settings.review_model or self._runtime.environ.get("PROWESS_MODEL", ""),
            endpoint=self._runtime.skills.settings.skills.model,
        )
        reviewer = open_reviewer(choice, self._runtime.environ, ChildProcesses())
        return reviewer.ask(instructions, question, seconds)

    def _ask_router(self, text: str, asked: Asked) -> Route | None:
        try:
            return self._runtime.routing.route(text, asked)
        except ProwessError as error:
            log.warning("routing.unusable: %s", error)
            return None

    def _skills(self, agent_id: str) -> tuple[Skill, ...]:
        skills = self._runtime.skills
        return tuple(skills.workspace(agent_id or None).state(skills.settings).scan.skills)

    def _list_writable(self, agent_id: str) -> list[Skill]:
        workspace = self.workspace(agent_id)
        return [skill for skill in self._skills(agent_id) if _may_write(skill, workspace)]


def _may_write(skill: Skill, workspace: str) -> bool:
    """Return whether a skill lies where the workshop writes, under its own name."""
    if skill.source.tier is not Tier.WORKSPACE or os.path.basename(skill.path) != "SKILL.md":
        return False
    name = os.path.basename(skill.folder)
    root = os.path.join(workspace, "skills")
    is_direct = os.path.realpath(skill.folder) == os.path.join(os.path.realpath(root), name)
    return is_direct and name == skill.id and _is_normal(name)


def _is_normal(name: str) -> bool:
    try:
        return skill_name(name) == name
    except ProwessError:
        return False


@contextmanager
def open_capture(runtime: Runtime) -> Iterator[WorkshopService]:
    """Return the workshop with phrases looked for, whatever `autoCapture` says of live turns."""
    yield open_workshop(_Other(runtime, runtime.folders.state, rehearses=False))


@contextmanager
def open_rehearsal(runtime: Runtime) -> Iterator[WorkshopService]:
    """Return a workshop that keeps nothing: it queues, and what it queued ends with it.

    Raises:
        StoreError: the store cannot be copied.
    """
    with rehearsing(runtime) as other:
        yield open_workshop(other)


@contextmanager
def rehearsing(runtime: Runtime) -> Iterator[Runtime]:
    """Return a runtime that queues proposals in a copy of the store, which ends with it.

    Raises:
        StoreError: the store cannot be copied.
    """
    with tempfile.TemporaryDirectory(prefix="prowess-rehearsal-") as folder:
        if runtime.state.database_url:
            copy_workshop(runtime.state.open_database(), os.path.join(folder, STORE_FILE))
        else:
            _copy_store(os.path.join(runtime.folders.state, STORE_FILE), folder)
        yield _Other(runtime, folder, rehearses=True)


class _Config(ConfigFile):
    """The config file, but for the few settings that a capture overrules."""

    def __init__(self, path: str, *, rehearses: bool) -> None:
        super().__init__(path)
        self._rehearses = rehearses

    def read(self) -> Settings:
        found = super().read()
        asked = replace(found.workshop, auto_capture=True, review_mode=ReviewMode.HEURISTIC)
        if self._rehearses:
            asked = replace(
                asked, selected=True, enabled=True, approval_policy=ApprovalPolicy.PENDING
            )
        return replace(found, workshop=asked)


class _Other(Runtime):
    """A runtime with another config and state folder that scans and routes as the first does."""

    def __init__(self, runtime: Runtime, state: str, *, rehearses: bool) -> None:
        super().__init__(
            skills=runtime.skills,
            config_file=_Config(runtime.config.path, rehearses=rehearses),
            folders=replace(runtime.folders, state=state),
            environ=runtime.environ,
        )
        self._first = runtime
        self.state = runtime.state.rehearse(state) if rehearses else runtime.state

    @cached_property
    def scanning(self) -> ScanService:
        return self._first.scanning

    @cached_property
    def routing(self) -> RoutingService:
        return self._first.routing


def _copy_store(path: str, folder: str) -> None:
    if not os.path.exists(path):
        return
    try:
        with (
            closing(open_readonly(path)) as source,
            closing(sqlite3.connect(os.path.join(folder, STORE_FILE))) as copy,
        ):
            source.backup(copy)
    except sqlite3.Error as error:
        raise StoreError(path, f"cannot be read ({error}): try again.") from error


@contextmanager
def open_missed_corrections(
    runtime: Runtime, agent: str, *, rehearse: bool
) -> "Iterator[MissedCorrections]":
    """Return what proposes corrections of missed skills; a rehearsal keeps nothing.

    Raises:
        StoreError: the store cannot be copied.
    """
    # Late: only real sessions have any.
    from prowess.runtime.sessions import MissedCorrections

    with ExitStack() as stack:
        chosen = stack.enter_context(rehearsing(runtime)) if rehearse else runtime
        yield MissedCorrections(workshop_ports(chosen), agent)


_MOST_SECONDS = 10.0


def open_experience(runtime: Runtime) -> "ExperienceService":
    """Return what learns from traces."""
    # Late, as all that reads traces: most of what is learned comes from turns.
    from prowess.runtime.experience import ExperienceService

    return ExperienceService(_trace_ports(runtime, runtime))


@contextmanager
def _rehearsal(runtime: Runtime) -> "Iterator[ExperiencePorts]":
    """Return the world with a copy of the store, which ends with it.

    Raises:
        StoreError: the store cannot be copied.
    """
    with rehearsing(runtime) as other:
        yield _trace_ports(runtime, other)


def _trace_ports(runtime: Runtime, proposing: Runtime) -> "ExperiencePorts":
    """Return the world; `proposing` has the store in which proposals are kept."""
    from datetime import UTC, datetime

    from prowess.experience.lessons.goals import compare_words
    from prowess.host.store.traces import KeptTraces
    from prowess.host.writers.drafts import WorkspaceDrafts
    from prowess.runtime.experience_drafts import ExperiencePorts
    from prowess.runtime.workshop.proposals import Proposals

    workshop = workshop_ports(proposing)
    return ExperiencePorts(
        enabled=lambda: runtime.config.read().experience.enabled,
        spec_mode=lambda: runtime.config.read().skills.spec_mode,
        workspace=workshop.workspace,
        shelf=lambda workspace: WorkspaceDrafts(workspace, runtime.folders.state),
        memory=lambda workspace: KeptTraces(workspace, runtime.folders.state),
        scan=workshop.scan,
        check_script=lambda script: _check(runtime, script),
        # A person promotes a draft with the workshop off too; lessons ask whether it is on.
        proposals=Proposals(workshop, always_on=True),
        proposed=workshop.store.listed,
        workshop_enabled=lambda: runtime.config.read().workshop.active,
        elsewhere=workshop.elsewhere,
        likeness=compare_words,
        refresh=runtime.skills.refresh,
        now=time.time,
        stamp=lambda at: time.strftime("%Y%m%d-%H%M%S", time.localtime(at)),
        moment=lambda at: datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds"),
        rehearse=lambda: _rehearsal(runtime),
    )


def _check(runtime: Runtime, script: str) -> str:
    """Return what bash says of a script that it reads and does not run."""
    import shutil

    bash = shutil.which("bash", path=runtime.environ.get("PATH", os.defpath))
    if bash is None:
        return ""
    # Late: most traces are read without one.
    from prowess.host.processes.children import ChildProcesses
    from prowess.runtime.ports import ChildCommand

    command = ChildCommand(argv=(bash, "-n"), environment={}, stdin=script, seconds=_MOST_SECONDS)
    result = ChildProcesses().run(command)
    if result.code == 0:
        return ""
    return result.problem or "bash cannot read it"


def open_sessions(
    runtime: Runtime, progress: Callable[[str, int, int], None] | None = None
) -> "SessionReports":
    """Return what reads sessions; nothing is read yet."""
    from prowess.host.harness.sessions import SessionFolders, lies_in_folders
    from prowess.runtime.sessions import SessionPorts, SessionReports

    def skills_in(folder: str) -> "Snapshot | None":
        try:
            opened = open_folder(runtime, folder)
            if opened is None:
                return None
            with opened as other:
                return other.skills.snapshot()
        except ProwessError:
            # Said of the session: that nothing is known about its folder.
            return None

    def route(prompt: str, asked: Asked) -> Route:
        return runtime.routing.route(prompt, asked)

    tools = SessionPorts(
        files=SessionFolders(runtime.folders.home, runtime.environ),
        skills_in=skills_in,
        route=route,
        in_folders=lies_in_folders,
    )
    return SessionReports(tools if progress is None else tools._replace(progress=progress))


def open_folder(runtime: Runtime, folder: str) -> Runtime | None:
    """Return a runtime with the same state in the project of a session's folder.

    None where the folder is gone; a folder that is not absolute would be anywhere.
    """
    if not os.path.isabs(folder) or not os.path.isdir(folder):
        return None
    from prowess.host.sources.roots import find_workspace

    project = find_workspace(folder, (), folder, runtime.folders.home)
    return open_runtime(project, home=runtime.folders.state, environ=runtime.environ)
