"""Installing, exporting, syncing, budgets and validation with real adapters.

An export writes only where a person says, and a sync below its target alone.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence

from prowess.errors import PathError
from prowess.host.config.secrets import referred_variables
from prowess.host.package_managers import InstallMachine, ToolInstalls
from prowess.host.processes.children import ChildProcesses
from prowess.host.processes.facts import LocalFacts
from prowess.host.sources.candidates import Candidate, find_inside, find_named
from prowess.host.sources.roots import find_allowed_targets
from prowess.host.sources.skill_files import locate_skill, read_targets
from prowess.host.tool_downloads import ToolDownloads
from prowess.host.writers.export import ExportFolders, SkillFolders, SkillMaterial
from prowess.host.writers.sync import FolderTargets
from prowess.runtime.harness.budget import Budgets
from prowess.runtime.harness.export import Exporting
from prowess.runtime.install import InstallPorts, InstallService
from prowess.runtime.scan import failed
from prowess.runtime.sharing.sync import SyncService
from prowess.safety.model import ScanReport
from prowess.skills.model import Skill
from prowess.skills.validation import Report, report_links, validate
from prowess.wiring.library import Runtime, last_used


def open_budgets(runtime: Runtime) -> Budgets:
    """Return what says which descriptions a harness will show."""
    return Budgets(runtime.skills, lambda: last_used(runtime), runtime.environ)


def open_exporting(runtime: Runtime) -> Exporting:
    """Return what builds skills for others.

    Raises:
        PathError: the current folder is gone.
    """
    try:
        current = os.getcwd()
    except OSError as error:
        raise PathError("the current folder", "no longer exists: change to another one.") from error
    places = ExportFolders(runtime.folders.home, current)
    return Exporting(runtime.skills, SkillMaterial(), runtime.scanning, places)


def open_syncing(runtime: Runtime, waiting: Callable[[], None] | None = None) -> SyncService:
    """Return what copies skills; `waiting` is called when another sync holds the target long."""
    targets = FolderTargets(runtime.folders.home, waiting=waiting or (lambda: None))
    return SyncService(runtime.skills, SkillFolders(), runtime.scanning, targets)


def open_installing(runtime: Runtime) -> InstallService:
    """Return what installs the programs that skills need."""
    folders, environ = runtime.folders, runtime.environ
    machine = InstallMachine(
        tools=folders.tools, environ=environ, configured=lambda: _list_configured(runtime)
    )

    def missing(names: Sequence[str]) -> tuple[str, ...]:
        facts = LocalFacts(environ, (folders.tools_bin,)).probe(names, ())
        return tuple(name for name in names if name not in facts.bins)

    tools = InstallPorts(
        scan=lambda skill: _scan(runtime, skill),
        commands=ToolInstalls(ChildProcesses(), machine),
        downloads=ToolDownloads(folders.tools, environ),
        missing=missing,
        tools_dir=os.path.realpath(folders.tools),
    )
    return InstallService(runtime.skills, tools)


def _scan(runtime: Runtime, skill: Skill) -> ScanReport:
    """Scan a skill as it lies there, which must be the text that the install entry is from."""
    target = next(read_targets(locate_skill(skill)))
    text = target.files.get(os.path.basename(skill.path))
    if text is None and not target.problem:
        # Whoever moves it away for a moment must not have the rest pass for the whole.
        return failed("its own text could not be read: try again")
    if text is not None and hashlib.sha256(text).hexdigest() != skill.content_hash:
        return failed("the skill changed while it was read: try again")
    return runtime.scanning.scan_target(target).report


def _list_configured(runtime: Runtime) -> set[str]:
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


def candidates(runtime: Runtime, paths: Sequence[str], agent: str | None) -> Iterable[Candidate]:
    """Return the files at `paths`; without any, all that the agent's workspace finds.

    Raises:
        PathError: a path does not exist.
        UnknownAgentError: no agent has that id.
    """
    settings = runtime.skills.settings.skills
    workspace = runtime.skills.workspace(agent).folder
    targets = find_allowed_targets(runtime.skills.settings, runtime.folders, workspace)
    if paths:
        # A person who names a folder means its skills, in whatever mode they will be read.
        return find_named(paths, settings.spec_mode, settings.limits, targets)
    state = runtime.skills.workspace(agent).state(runtime.skills.settings)
    existing = [source for source in state.scan.sources if os.path.isdir(source.root)]
    return [
        item
        for source in existing
        for item in find_inside(source, settings.spec_mode, settings.limits, targets)
    ]


def report_on(item: Candidate, *, strict: bool) -> Report:
    """Return the findings on one candidate."""
    if item.document is None:
        return Report(path=item.path, diagnostics=(item.problem,) if item.problem else ())
    found = validate(item.document, strict=strict, files=item.files, pages=item.pages)
    return report_links(found, item.away)
