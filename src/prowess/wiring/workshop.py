"""The workshop with real adapters: the embedded store, the skill folders, scanner and router."""

import logging
import os
import secrets
import time
from collections.abc import Mapping
from pathlib import Path

from prowess.errors import ConfigError, ContainmentError, ProwessError
from prowess.host.skill_folder import SkillFolder
from prowess.host.store_proposals import SqliteProposals
from prowess.learning.proposal import skill_name
from prowess.routing.model import Decision, Match
from prowess.runtime.routing import Asked
from prowess.runtime.scanning import Target
from prowess.runtime.workshop import WorkshopService
from prowess.runtime.workshop_ports import WorkshopTools
from prowess.safety.model import Profile, ScanReport
from prowess.settings import WorkshopSettings
from prowess.skills.model import Tier
from prowess.wire_runs import workshop_answer
from prowess.wiring.runtime import STORE_FILE, Runtime

log = logging.getLogger(__name__)
_LONGEST_IN_ID = 40


def open_workshop(runtime: Runtime) -> WorkshopService:
    """Return the workshop of a runtime; nothing is opened or written before it is used."""
    tools = WorkshopTools(
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
    )
    return WorkshopService(tools)


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
    if os.path.realpath(root) != os.path.join(os.path.realpath(workspace), "skills"):
        raise ContainmentError(root, "is a link: the workshop writes inside the workspace only.")
    return SkillFolder(Path(root), skill, Path(state))


def _scan(runtime: Runtime, skill: str, files: Mapping[str, bytes]) -> ScanReport:
    target = Target(path=skill, name=skill, files=files, profile=Profile.PROPOSAL)
    return runtime.scanning.scan_target(target).report


def _route(runtime: Runtime, message: str, agent_id: str) -> tuple[str, float] | None:
    """Return the skill of the workspace that a message would load, if the workshop may write it."""
    try:
        found = runtime.routing.route(message, Asked(agent_id=agent_id or None))
    except ProwessError as error:
        # The topic's skill is always there to fall back on.
        log.warning("routing.unusable: %s", error)
        return None
    if found.decision is not Decision.LOAD or not found.matches:
        return None
    best = found.matches[0]
    workspace = runtime.skills.workspace(agent_id or None).folder
    return (best.skill.id, best.score) if _is_writable(best, workspace) else None


def _is_writable(match: Match, workspace: str) -> bool:
    skill = match.skill
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
