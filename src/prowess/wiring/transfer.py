"""Installing with real adapters: the scanner, child processes, downloads and the tools folder."""

import hashlib
import os
from collections.abc import Sequence

from prowess.host.config.secrets import referred_variables
from prowess.host.package_managers import Machine, ToolInstalls
from prowess.host.processes.children import ChildProcesses
from prowess.host.processes.facts_part import LocalFacts
from prowess.host.sources.skill_files import place_of, read
from prowess.host.tool_downloads import ToolDownloads
from prowess.runtime.install import InstallService, Tools
from prowess.runtime.scan import failed
from prowess.safety.model import ScanReport
from prowess.skills.model import Skill
from prowess.wiring.library import Runtime


def open_installing(runtime: Runtime) -> InstallService:
    """Return what installs the programs that skills need."""
    folders, environ = runtime.folders, runtime.environ
    machine = Machine(tools=folders.tools, environ=environ, configured=lambda: _configured(runtime))

    def missing(names: Sequence[str]) -> tuple[str, ...]:
        facts = LocalFacts(environ, (folders.tools_bin,)).probe(names, ())
        return tuple(name for name in names if name not in facts.bins)

    tools = Tools(
        scan=lambda skill: _scan(runtime, skill),
        commands=ToolInstalls(ChildProcesses(), machine),
        downloads=ToolDownloads(folders.tools, environ),
        missing=missing,
        tools_dir=os.path.realpath(folders.tools),
    )
    return InstallService(runtime.skills, tools)


def _scan(runtime: Runtime, skill: Skill) -> ScanReport:
    """Scan a skill as it lies there, which must be the text that the install entry is from."""
    target = next(read(place_of(skill)))
    text = target.files.get(os.path.basename(skill.path))
    if text is None and not target.problem:
        # Whoever moves it away for a moment must not have the rest pass for the whole.
        return failed("its own text could not be read: try again")
    if text is not None and hashlib.sha256(text).hexdigest() != skill.content_hash:
        return failed("the skill changed while it was read: try again")
    return runtime.scanning.scan_target(target).report


def _configured(runtime: Runtime) -> set[str]:
    """Return the variables that hold what the config gives to skills, and keys of our own."""
    settings = runtime.skills.settings.skills
    entries = settings.entries
    names = {name for entry in entries.values() for name in entry.env_names}
    names |= referred_variables(runtime.config.values())
    names |= {settings.model.key_env, settings.routing.encoder.key_env, *settings.safety.egress}
    state = runtime.skills.workspace().state(runtime.skills.settings)
    for skill in state.catalog.skills:
        entry = entries.get(skill.key)
        if entry is not None and entry.has_api_key and skill.metadata.primary_env:
            names.add(skill.metadata.primary_env)
    return names
