"""Which folders are searched, lowest precedence first: the eight sources of one workspace."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from prowess.host.sources.harnesses import PERSONAL, PROJECT, HarnessFolder
from prowess.host.sources.plugins import plugin_sources
from prowess.settings import Settings
from prowess.skills.diagnostics import diagnose
from prowess.skills.model import Diagnostic, Source, Tier


@dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """Where this installation lives."""

    home: str
    state: str
    bundled: str
    # Some harnesses let a variable move their home; empty where it does not.
    codex_home: str = ""

    @property
    def managed(self) -> str:
        """The folder of skills that Prowess manages for its user."""
        return os.path.join(self.state, "skills")

    @property
    def tools(self) -> str:
        """The folder of programs that were installed for skills."""
        return os.path.join(self.state, "tools")

    @property
    def tools_bin(self) -> str:
        """The folder that ends the search path of skills' programs."""
        return os.path.join(self.tools, "bin")


@dataclass(slots=True)
class Roots:
    """The roots of one workspace, existing or not, and problems with configured ones."""

    sources: list[Source] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)


def resolve_roots(workspace: str, folders: Folders, settings: Settings) -> Roots:
    """Return every root, lowest precedence first; a folder that is two counts as the higher."""
    roots = Roots()
    _add_extra(workspace, folders, settings, roots)
    roots.sources += [
        Source(tier=Tier.BUNDLED, root=folders.bundled),
        Source(tier=Tier.MANAGED, root=folders.managed),
        *_harness(Tier.HARNESS_PERSONAL, folders.home, PERSONAL, settings),
        *_codex_home(folders, settings),
        Source(tier=Tier.AGENTS_PERSONAL, root=os.path.join(folders.home, ".agents", "skills")),
        *_harness(Tier.HARNESS_PROJECT, workspace, PROJECT, settings),
        Source(tier=Tier.AGENTS_PROJECT, root=os.path.join(workspace, ".agents", "skills")),
        Source(tier=Tier.WORKSPACE, root=os.path.join(workspace, "skills")),
    ]
    roots.sources = _without_repetition(roots.sources)
    return roots


def expand(path: str, home: str, base: str) -> str:
    """Return `path` with `~` and relative parts resolved."""
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    return os.path.normpath(os.path.join(base, path))


def allowed_targets(settings: Settings, folders: Folders, workspace: str) -> tuple[str, ...]:
    """Return the real folders that links in project roots may lead to."""
    return tuple(
        os.path.realpath(expand(path, folders.home, workspace))
        for path in settings.skills.load.allow_symlink_targets
    )


def _add_extra(workspace: str, folders: Folders, settings: Settings, roots: Roots) -> None:
    for extra in settings.skills.load.extra_dirs:
        root = expand(extra, folders.home, workspace)
        if not os.path.isdir(root):
            message = "is in skills.load.extraDirs but is not a folder"
            roots.diagnostics.append(diagnose("root-missing", message, path=root))
        roots.sources.append(Source(tier=Tier.EXTRA, root=root))
    paths = [expand(path, folders.home, workspace) for path in settings.plugins.paths]
    plugins = plugin_sources(paths, settings.plugins.disabled)
    roots.sources += plugins.sources
    roots.diagnostics += plugins.diagnostics


def _harness(
    tier: Tier, base: str, table: Sequence[HarnessFolder], settings: Settings
) -> list[Source]:
    wanted = settings.skills.load.harnesses
    return [
        Source(
            tier=tier,
            root=os.path.join(base, *folder.path.split("/")),
            label=folder.harness,
            kind=folder.kind,
        )
        for folder in table
        if wanted is None or folder.harness in wanted
    ]


def _codex_home(folders: Folders, settings: Settings) -> list[Source]:
    wanted = settings.skills.load.harnesses
    if not folders.codex_home or (wanted is not None and "codex" not in wanted):
        return []
    root = os.path.join(folders.codex_home, "skills")
    return [Source(tier=Tier.HARNESS_PERSONAL, root=root, label="codex")]


def _without_repetition(sources: Sequence[Source]) -> list[Source]:
    """Drop a root that occurs again higher up: where home is the workspace, some do."""
    last = {source.root: index for index, source in enumerate(sources)}
    return [source for index, source in enumerate(sources) if last[source.root] == index]
