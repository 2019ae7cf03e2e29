"""The workshop with real adapters: the embedded store, the skill folders, scanner and router."""

import logging
import os
import secrets
import time
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from prowess.errors import ConfigError, ContainmentError, ProwessError
from prowess.host.store.counters import SqliteCounters
from prowess.host.store.proposals import SqliteProposals
from prowess.host.writers.change import SkillFolder
from prowess.routing.model import Decision, Match
from prowess.runtime.route.answer import Asked
from prowess.runtime.scan import Target
from prowess.runtime.workshop.ports import WorkshopTools
from prowess.runtime.workshop.review import Reviewer, Reviews, ReviewTools
from prowess.runtime.workshop.service import WorkshopService
from prowess.safety.model import Profile, ScanReport
from prowess.settings import WorkshopSettings
from prowess.skills.model import Skill, Tier
from prowess.wire.wire_workshop import workshop_answer
from prowess.wiring.library import STORE_FILE, Runtime
from prowess.workshop.proposal import skill_name
from prowess.workshop.similar import Neighbour

log = logging.getLogger(__name__)
_LONGEST_IN_ID = 40
# Of all skills: those of the workspace may stand behind many others.
_MOST_CONSIDERED = 100


def open_workshop(runtime: Runtime) -> WorkshopService:
    """Return the workshop of a runtime; nothing is opened or written before it is used."""
    return WorkshopService(workshop_tools(runtime), open_reviews(runtime))


def workshop_tools(runtime: Runtime) -> WorkshopTools:
    """Return the world as the workshop of a runtime sees it."""
    return WorkshopTools(
        settings=lambda: _settings(runtime),
        workspace=lambda agent_id: runtime.skills.workspace(agent_id or None).folder,
        store=SqliteProposals(os.path.join(runtime.folders.state, STORE_FILE)),
        folder=lambda workspace, skill: _folder(workspace, skill, runtime.folders.state),
        scan=lambda skill, files: _scan(runtime, skill, files),
        route=lambda message, agent_id: _route(runtime, message, agent_id),
        refresh=runtime.skills.refresh,
        now=time.time,
        new_id=lambda skill: f"{skill[:_LONGEST_IN_ID]}-{secrets.token_hex(5)}",
        show=workshop_answer,
        elsewhere=lambda skill, agent_id: _elsewhere(runtime, skill, agent_id),
        neighbours=lambda agent_id: _neighbours(runtime, agent_id),
        scores=lambda text, agent_id: _scores(runtime, text, agent_id),
    )


def open_reviews(runtime: Runtime) -> Reviews:
    """Return the reviewers of a runtime's workspaces; no model is opened before one is asked."""
    counters = SqliteCounters(os.path.join(runtime.folders.state, STORE_FILE))

    def tools(agent_id: str) -> ReviewTools:
        return ReviewTools(
            settings=lambda: _settings(runtime),
            counters=counters,
            reviewer=_LateReviewer(runtime),
            nearest=lambda text, limit: _nearest(runtime, text, limit, agent_id),
            now=time.time,
            nonce=lambda: secrets.token_hex(8),
        )

    return Reviews(
        tools, counters, lambda agent_id: runtime.skills.workspace(agent_id or None).folder
    )


class _LateReviewer:
    """Opens the reviewer of the settings as they are when it is asked."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def ask(self, instructions: str, question: str, seconds: float) -> str:
        """Return the model's answer.

        Raises:
            ModelError: there is no model, or it does not answer.
        """
        settings = _settings(self._runtime)
        # Late: it brings along what waits, and most turns are not reviewed.
        reviewers = import_module("prowess.host.models.reviewers")
        choice = reviewers.ReviewerChoice(
            command=settings.review_command,
            model=settings.review_model or self._runtime.environ.get("PROWESS_MODEL", ""),
            endpoint=self._runtime.skills.settings.skills.model,
        )
        processes = import_module("prowess.host.processes.children").ChildProcesses()
        reviewer: Reviewer = reviewers.open_reviewer(choice, self._runtime.environ, processes)
        return reviewer.ask(instructions, question, seconds)


def _nearest(runtime: Runtime, text: str, limit: int, agent_id: str) -> list[tuple[str, str]]:
    """Return the skills of the workspace that are nearest to a text, with what they say."""
    workspace = runtime.skills.workspace(agent_id or None).folder
    asked = Asked(agent_id=agent_id or None, considered=_MOST_CONSIDERED)
    found = runtime.routing.route(text, asked).considered
    own = [match.skill for match in found if _is_writable(match, workspace)]
    return [(skill.id, skill.body) for skill in own[:limit]]


def _settings(runtime: Runtime) -> WorkshopSettings:
    """Return the settings as the file has them now; while it is broken, as they were."""
    try:
        return runtime.config.read().workshop
    except ConfigError as error:
        log.warning("config.unreadable: %s", error)
        return runtime.skills.settings.workshop


def _folder(workspace: str, skill: str, state: str) -> SkillFolder:
    """Return a skill's folder in a workspace, which must lie where it seems to lie.

    Raises:
        PathError: the `skills` folder leads elsewhere, or the name cannot be a folder's.
    """
    root = os.path.join(workspace, "skills")
    # To say it early and well: what holds against a swap is that each step is taken by handle.
    if os.path.islink(root):
        raise ContainmentError(root, "is a link: the workshop writes inside the workspace only.")
    return SkillFolder(Path(root), skill, Path(state))


def _scan(runtime: Runtime, skill: str, files: Mapping[str, bytes]) -> ScanReport:
    target = Target(path=skill, name=skill, files=files, profile=Profile.PROPOSAL)
    return runtime.scanning.scan_target(target).report


def _route(runtime: Runtime, message: str, agent_id: str) -> tuple[str, float] | None:
    """Return the skill of the workspace that a message would load, if the workshop may write it."""
    workspace = runtime.skills.workspace(agent_id or None).folder
    if not _writable_skills(runtime, agent_id):
        # Nothing to find: an encoder takes a second to load, and the user waits for the turn.
        return None
    try:
        found = runtime.routing.route(message, Asked(agent_id=agent_id or None))
    except ProwessError as error:
        # The topic's skill is always there to fall back on.
        log.warning("routing.unusable: %s", error)
        return None
    if found.decision is not Decision.LOAD or not found.matches:
        return None
    best = found.matches[0]
    return (best.skill.id, best.score) if _is_writable(best, workspace) else None


def _elsewhere(runtime: Runtime, name: str, agent_id: str) -> str:
    """Return where another skill of a name lies than the workshop would write it."""
    workspace = runtime.skills.workspace(agent_id or None)
    own = os.path.realpath(os.path.join(workspace.folder, "skills", name, "SKILL.md"))
    found = workspace.state(runtime.skills.settings).scan.skills
    others = [skill.path for skill in found if _is_called(skill, name)]
    return next((path for path in reversed(others) if os.path.realpath(path) != own), "")


def _is_called(skill: Skill, name: str) -> bool:
    return name in {skill.id.casefold(), skill.name.casefold()}


def _neighbours(runtime: Runtime, agent_id: str) -> list[Neighbour]:
    """Return the skills of the workspace that the workshop may write."""
    return [
        Neighbour(name=skill.id, description=skill.description, body=skill.body)
        for skill in _writable_skills(runtime, agent_id)
    ]


def _scores(runtime: Runtime, text: str, agent_id: str) -> dict[str, float]:
    """Return what the router says of the skills that the workshop may write."""
    workspace = runtime.skills.workspace(agent_id or None).folder
    asked = Asked(agent_id=agent_id or None, considered=_MOST_CONSIDERED)
    try:
        found = runtime.routing.route(text, asked).considered
    except ProwessError as error:
        # Words alone can tell copies.
        log.warning("routing.unusable: %s", error)
        return {}
    return {match.skill.id: match.score for match in found if _is_writable(match, workspace)}


def _writable_skills(runtime: Runtime, agent_id: str) -> list[Skill]:
    workspace = runtime.skills.workspace(agent_id or None)
    found = workspace.state(runtime.skills.settings).scan.skills
    return [skill for skill in found if _may_write(skill, workspace.folder)]


def _is_writable(match: Match, workspace: str) -> bool:
    return _may_write(match.skill, workspace)


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
