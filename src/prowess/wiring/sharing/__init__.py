"""Sharing with real adapters: which folders have a lock, where skills come from, who decides."""

import getpass
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from prowess.errors import PathError
from prowess.host.files.state_files import PolicyPlaces
from prowess.host.sharing.folder import KeptPackages, LockedFolder
from prowess.host.sharing.governance import (
    AskedOfSkills,
    DecisionLog,
    Governor,
    PolicyGate,
    SharedDecisionLog,
)
from prowess.host.sharing.signatures import SkillSignatures
from prowess.host.sharing.sources import AllSources
from prowess.runtime.sharing.service import Sharing, SharingPorts
from prowess.safety.rules.table import read_version
from prowess.sharing.policy import PolicyDecision, PolicyFacts, PolicyReason
from prowess.skills.model import Skill
from prowess.skills.text import clean
from prowess.wire import sharing as wire_sharing
from prowess.wiring.library import Runtime, read_target

if TYPE_CHECKING:
    from prowess.host.store.database import Database

PLACES = ("user", "project", "agent")
_SKILLS = "skills"
# The logs of a database, by what decides.
DECISIONS, HUB_DECISIONS = "decisions", "hub-decisions"


def open_sources(runtime: Runtime) -> AllSources:
    """Return what reads sources of every kind.

    Raises:
        PathError: the current folder is gone.
    """
    try:
        current = os.getcwd()
    except OSError as error:
        raise PathError("the current folder", "no longer exists: change to another one.") from error
    private = runtime.skills.settings.skills.install.private_hosts
    return AllSources(runtime.environ, runtime.folders.home, current, private)


def open_folder(runtime: Runtime, place: str, agent_id: str | None = None) -> LockedFolder:
    """Return a folder of skills with its lock: the user's, the project's or the agent's.

    Raises:
        UnknownAgentError: there is no such agent.
    """
    state = runtime.folders.state
    if place == "user":
        return LockedFolder(state, runtime.folders.managed, state, source="managed", now=time.time)
    skills = runtime.skills
    is_agent = place == "agent"
    top = skills.workspace(agent_id).folder if is_agent else skills.places.workspace
    return _workspace_folder(top, state)


def _workspace_folder(top: str, state: str) -> LockedFolder:
    return LockedFolder(top, os.path.join(top, _SKILLS), state, source="workspace", now=time.time)


def open_folders(
    runtime: Runtime,
    agent_id: str | None = None,
    places: Sequence[str] = ("project", "agent", "user"),
) -> dict[str, LockedFolder]:
    """Return every folder that has a lock, each once; a server has no project of its own."""
    found: dict[str, LockedFolder] = {}
    for place in places:
        folder = open_folder(runtime, place, agent_id)
        known = {os.path.realpath(one.lock_path) for one in found.values()}
        if folder.has_lock() and os.path.realpath(folder.lock_path) not in known:
            found[place] = folder
    return found


def open_gate(runtime: Runtime, agent_id: str | None = None) -> PolicyGate:
    """Return what asks the policies of a workspace."""
    return PolicyGate(_places(runtime, runtime.skills.workspace(agent_id).folder), _find_today)


def open_governor(runtime: Runtime, workspace: str) -> Governor:
    """Return what holds the skills of a workspace against its policies."""
    state = runtime.folders.state
    folders = _workspace_folder(workspace, state), open_folder(runtime, "user")
    gate = PolicyGate(_places(runtime, workspace), _find_today)
    return Governor(
        gate,
        folders,
        state,
        open_audit(runtime).note,
        AskedOfSkills(
            verdict=lambda skill: (
                runtime.scanning.scan_target(read_target(skill)).report.verdict.value
            ),
            proof=partial(_read_proof, runtime),
        ),
    )


def _read_proof(runtime: Runtime, skill: Skill) -> str:
    # Late: few policies ask for it.
    from prowess.wiring.proof import proof_state

    return proof_state(runtime, skill).state


def find_missing(runtime: Runtime, agent_id: str | None = None) -> tuple[PolicyReason, ...]:
    """Return what the policies require and is not there, or not as it was locked."""
    governor = open_governor(runtime, runtime.skills.workspace(agent_id).folder)
    return governor.find_missing(_find_unmet(runtime, governor, agent_id))


def _find_unmet(runtime: Runtime, governor: Governor, agent_id: str | None) -> dict[str, str]:
    if not governor.requires:
        return {}
    rows = runtime.skills.status(agent_id).skills
    disabled = {row.skill.path for row in rows if row.verdict.disabled}
    return governor.find_unmet([row.skill for row in rows], disabled)


def _places(runtime: Runtime, workspace: str) -> PolicyPlaces:
    return PolicyPlaces(runtime.environ, runtime.folders.state, workspace)


def open_audit(runtime: Runtime) -> DecisionLog:
    """Return the log of decisions: of this machine, or of the fleet that it is part of."""
    url, folder = runtime.state.database_url, runtime.folders.state
    return open_log(runtime.state.open_database() if url else None, folder, DECISIONS)


def open_log(database: "Database | None", folder: str, name: str) -> DecisionLog:
    """Return a log of decisions: in a folder, or in a database under a name."""
    if database is None:
        return DecisionLog(folder, lambda: datetime.now(UTC))
    from prowess.host.store.fleet.files import LogLines, read_id

    lines = LogLines(database, name, read_id(folder))
    return SharedDecisionLog(lines, lambda: datetime.now(UTC))


def open_sharing(runtime: Runtime, folder: LockedFolder, agent_id: str | None = None) -> Sharing:
    """Return what adds to a folder, and checks it."""
    ports = SharingPorts(
        sources=open_sources(runtime),
        packages=KeptPackages(runtime.folders.state),
        signatures=SkillSignatures(runtime.folders.state),
        scanning=runtime.scanning,
        gate=partial(_decide_arrival, runtime, agent_id),
        spec_mode=lambda: runtime.skills.settings.skills.spec_mode,
        scanner=read_version,
        approver=lambda: _approver(runtime.environ),
        record=open_audit(runtime).note,
    )
    return Sharing(folder, ports)


def _decide_arrival(runtime: Runtime, agent_id: str | None, facts: PolicyFacts) -> PolicyDecision:
    """Decide about a skill that comes: what is required is there first, but for itself."""
    governor = open_governor(runtime, runtime.skills.workspace(agent_id).folder)
    unmet = _find_unmet(runtime, governor, agent_id)
    unmet.pop(facts.skill, None)
    return open_gate(runtime, agent_id)(replace(facts, unmet=unmet))


def _find_today() -> date:
    return datetime.now(UTC).date()


def _approver(environ: Mapping[str, str]) -> dict[str, str]:
    """Return who says yes, and on which day: a moment would make every lock another one."""
    name = environ.get("USER") or environ.get("USERNAME")
    return {"by": name or getpass.getuser(), "when": str(_find_today())}


def explain_policy(runtime: Runtime, name: str, agent_id: str | None = None) -> dict[str, Any]:
    """Return what the policies say of a skill, with the files and lines, and what is missing.

    Raises:
        SkillNotFoundError: there is no such skill.
    """
    found = runtime.skills.find(name, agent_id).skill
    governor = open_governor(runtime, runtime.skills.workspace(agent_id).folder)
    gate = open_gate(runtime, agent_id)
    unmet = _find_unmet(runtime, governor, agent_id)
    return {
        "skill": clean(found.name),
        **wire_sharing.policy_decision(gate(governor.facts(found, unmet))),
        "policies": [
            {"level": one.level, "file": clean(one.path), "mode": one.mode.word}
            for one in gate.levels
        ],
        "missing": [wire_sharing.policy_reason(one) for one in governor.find_missing(unmet)],
    }


def check_audit(runtime: Runtime) -> dict[str, Any]:
    """Return whether the log of decisions is whole, and its last digest."""
    found = open_audit(runtime).check()
    return {
        "ok": not found.problem,
        "file": found.path,
        "lines": found.lines,
        "line": found.line or None,
        "problem": found.problem or None,
        "head": found.head,
    }
