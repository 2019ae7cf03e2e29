"""The skills of one workspace, from its eight sources, reading again only what changed.

Each root remembers what it found and each file its stamp. Naming the changed files skips the walk
altogether; without that, the walk looks at stamps and parses only files whose stamp moved. For
validation the same files are given as documents: those that people name, or all of a workspace.
"""

import hashlib
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from prowess.errors import PathError
from prowess.host.files.read import Content, is_path, read_bounded
from prowess.host.sources.discovery import (
    SIDECAR,
    FolderCache,
    FoundFile,
    RootWalker,
    SourceRoots,
    Walk,
    find_plugin_sources,
    is_settled,
    read_sidecar,
)
from prowess.host.sources.harness_folders import PERSONAL, PROJECT, HarnessFolder
from prowess.host.sources.symlinks import find_escape, is_inside, refuse_link
from prowess.runtime.ports import Scan
from prowess.settings import Limits, Settings, SpecMode
from prowess.skills.diagnostics import diagnose
from prowess.skills.model import SKIPPED_FOLDERS, Diagnostic, Document, Parsed, Skill, Source, Tier
from prowess.skills.parse import parse

_MAX_FILES = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A file to validate: its document or the reason why it has none, and its neighbours."""

    path: str
    document: Document | None
    problem: Diagnostic | None = None
    files: tuple[str, ...] = ()


def find_named(
    paths: Sequence[str], mode: SpecMode, limits: Limits, allowed_targets: Sequence[str] = ()
) -> Iterator[Candidate]:
    """Yield the candidates at `paths`: files, skill folders, or folders of skills.

    Raises:
        PathError: a path does not exist.
    """
    for path in paths:
        if not path or not is_path(path):
            raise PathError(repr(path), "is not a path.")
        absolute = os.path.abspath(path)
        if os.path.isdir(absolute):
            source = Source(tier=Tier.WORKSPACE, root=absolute)
            yield from find_inside(source, mode, limits, allowed_targets)
        elif os.path.isfile(absolute) and absolute.lower().endswith((".md", ".mdc")):
            is_skill = os.path.basename(absolute).lower() == "skill.md"
            source = Source(tier=Tier.WORKSPACE, root=os.path.dirname(absolute))
            found = FoundFile(absolute, os.path.dirname(absolute), is_skill)
            yield from _candidate(source, found, limits)
        else:
            problem = "is not a Markdown file" if os.path.isfile(absolute) else "does not exist"
            raise PathError(
                path, f"{problem}: give a skill file, a skill's folder or a folder of skills."
            )


def find_inside(
    source: Source, mode: SpecMode, limits: Limits, allowed_targets: Sequence[str] = ()
) -> Iterator[Candidate]:
    """Yield every candidate of one root, with what the walk itself refused."""
    walker = RootWalker(source, mode, limits, allowed_targets)
    own = walker.root_file()
    if own is None:
        walker.run()
    for found in [own] if own is not None else walker.walk.found:
        yield from _candidate(source, found, limits)
    for problem in walker.walk.diagnostics:
        yield Candidate(path=problem.path, document=None, problem=problem)


def _candidate(source: Source, found: FoundFile, limits: Limits) -> Iterator[Candidate]:
    path = os.path.realpath(found.path)
    bundled = source.tier is Tier.BUNDLED
    content = read_bounded(path, limits.max_skill_file_bytes, hard_links=bundled)
    if isinstance(content, Diagnostic):
        yield Candidate(path=found.path, document=None, problem=content)
    elif isinstance(content, Content):
        document = Document(
            source=source,
            path=found.path,
            folder=found.folder,
            content=content.data,
            is_skill_file=found.is_skill_file,
            sidecar=read_sidecar(found._replace(has_sidecar=found.is_skill_file)),
        )
        # A stand-alone text has no files of its own.
        files = _files(found.folder) if found.is_skill_file else ()
        yield Candidate(path=found.path, document=document, files=files)


def _files(folder: str) -> tuple[str, ...]:
    """Return the files below `folder`, with forward slashes, for checking links."""
    found: list[str] = []
    for base, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        relative = os.path.relpath(base, folder).replace(os.sep, "/")
        prefix = "" if relative == "." else relative + "/"
        found += [prefix + name for name in sorted(names)]
        if len(found) >= _MAX_FILES:
            break
    return tuple(found[:_MAX_FILES])


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


def resolve_roots(workspace: str, folders: Folders, settings: Settings) -> SourceRoots:
    """Return every root, lowest precedence first; a folder that is two counts as the higher."""
    roots = SourceRoots()
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


def expand_path(path: str, home: str, base: str) -> str:
    """Return `path` with `~` and relative parts resolved."""
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    return os.path.normpath(os.path.join(base, path))


def find_allowed_targets(settings: Settings, folders: Folders, workspace: str) -> tuple[str, ...]:
    """Return the real folders that links in project roots may lead to."""
    return tuple(
        os.path.realpath(expand_path(path, folders.home, workspace))
        for path in settings.skills.load.allow_symlink_targets
    )


def _add_extra(workspace: str, folders: Folders, settings: Settings, roots: SourceRoots) -> None:
    for extra in settings.skills.load.extra_dirs:
        root = expand_path(extra, folders.home, workspace)
        if not os.path.isdir(root):
            message = "is in skills.load.extraDirs but is not a folder"
            roots.diagnostics.append(diagnose("root-missing", message, path=root))
        roots.sources.append(Source(tier=Tier.EXTRA, root=root))
    paths = [expand_path(path, folders.home, workspace) for path in settings.plugins.paths]
    plugins = find_plugin_sources(paths, settings.plugins.disabled)
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


_MAX_RESOURCES, _MAX_RESOURCE_DEPTH = 2_000, 8

_PROJECT_TIERS = frozenset((Tier.HARNESS_PROJECT, Tier.AGENTS_PROJECT, Tier.WORKSPACE))

_Stamp = tuple[int, ...]


class _Read(NamedTuple):
    """A file as it was last read."""

    stamp: _Stamp
    # False where the file changed so recently that its stamp cannot be trusted to move again.
    settled: bool
    found: FoundFile
    parsed: Parsed


@dataclass(frozen=True, slots=True)
class _RootScan:
    """One root as it was last walked; compared by identity to see that nothing changed."""

    source: Source
    files: dict[str, _Read]
    walk: Walk
    skills: tuple[Skill, ...]
    diagnostics: tuple[Diagnostic, ...]


class FolderSources:
    """Reads the folders of one workspace."""

    def __init__(self, workspace: str, folders: Folders) -> None:
        self._workspace, self._folders = workspace, folders
        self._settings: Settings | None = None
        self._roots: dict[Source, _RootScan] = {}
        self._listings = FolderCache()
        self._targets: tuple[str, ...] = ()
        self._scan: Scan | None = None

    def scan(self, settings: Settings, changed: Collection[str] | None = None) -> Scan:
        """Return all skills, lowest source first."""
        if self._settings is None or _reading(settings) != _reading(self._settings):
            self._roots, changed = {}, None
        self._settings = settings
        roots = resolve_roots(self._workspace, self._folders, settings)
        existing = [source for source in roots.sources if os.path.isdir(source.root)]
        self._targets = find_allowed_targets(settings, self._folders, self._workspace)
        roots.diagnostics += [_diagnose_dangling(s) for s in roots.sources if _is_dangling(s)]
        existing = [replace(s, leads_away=True) if self._leads_away(s) else s for s in existing]
        roots.diagnostics += [_diagnose_link(source) for source in existing if source.leads_away]
        fresh = {source: self._root(source, changed) for source in existing}
        old, self._roots = self._roots, fresh
        seen = {source.root: source for source in existing}
        sources = [seen.get(source.root, source) for source in roots.sources]
        return self._combine(sources, roots.diagnostics, unchanged=_is_same(old, fresh))

    def resources(self, skill: Skill) -> Sequence[str]:
        """Return the files of `skill`, relative to its folder, without links and vendor folders."""
        found: list[str] = []
        if os.path.basename(skill.path).lower() != "skill.md":
            return found
        for folder, folders, files in os.walk(skill.folder):
            depth = os.path.relpath(folder, skill.folder).count(os.sep)
            hidden = [n for n in folders if n.startswith(".") or n in SKIPPED_FOLDERS]
            folders[:] = [] if depth >= _MAX_RESOURCE_DEPTH else sorted(set(folders) - set(hidden))
            paths = [os.path.join(folder, name) for name in sorted(files)]
            found += [os.path.relpath(p, skill.folder) for p in paths if not os.path.islink(p)]
            if len(found) >= _MAX_RESOURCES:
                break
        own = os.path.basename(skill.path)
        return [path for path in found[:_MAX_RESOURCES] if path != own]

    def _combine(
        self, sources: Sequence[Source], problems: Sequence[Diagnostic], *, unchanged: bool
    ) -> Scan:
        scans = self._roots.values()
        diagnostics = (*problems, *(item for scan in scans for item in scan.diagnostics))
        if unchanged and self._scan is not None and diagnostics == self._scan.diagnostics:
            return self._scan
        self._scan = Scan(
            skills=tuple(skill for scan in scans for skill in scan.skills),
            diagnostics=diagnostics,
            sources=tuple(sources),
            folders=tuple(folder for scan in scans for folder in scan.walk.folders),
        )
        return self._scan

    def _leads_away(self, source: Source) -> bool:
        """Return whether a project's root is a link out of the project."""
        if source.tier not in _PROJECT_TIERS:
            return False
        real = os.path.realpath(source.root)
        allowed = (os.path.realpath(self._workspace), *self._targets)
        return not any(is_inside(real, folder) for folder in allowed)

    def _root(self, source: Source, changed: Collection[str] | None) -> _RootScan:
        old = self._roots.get(source)
        if old is None or changed is None:
            return self._walk(source, old)
        touched = [path for path in changed if is_inside(path, source.root)]
        if not touched:
            return old
        if all(_is_edit(old, path) for path in touched):
            return self._reread(old, touched)
        return self._walk(source, old)

    def _reread(self, old: _RootScan, touched: Sequence[str]) -> _RootScan:
        files = dict(old.files)
        for path in touched:
            read = self._read(old.source, old.files[path].found, old.files[path])
            if read is None:
                return self._walk(old.source, old)
            files[path] = read
        return self._finish(old.source, files, old.walk, old)

    def _walk(self, source: Source, old: _RootScan | None) -> _RootScan:
        skills = self._require_settings().skills
        walker = RootWalker(source, skills.spec_mode, skills.limits, self._targets, self._listings)
        known = {} if old is None else old.files
        files: dict[str, _Read] = {}
        own = walker.root_file()
        if own is not None:
            self._take([own], source, known, files)
        start = "" if own is None else os.path.join(source.root, "skills")
        # A root that is itself a skill is only that; where its file is broken, `skills/` counts.
        if own is None or all(read.parsed.skill is None for read in files.values()):
            walker.run(start)
            self._take(walker.walk.found, source, known, files)
        return self._finish(source, files, walker.walk, old)

    def _take(
        self,
        found: Sequence[FoundFile],
        source: Source,
        known: dict[str, _Read],
        files: dict[str, _Read],
    ) -> None:
        for item in found:
            old = known.get(item.path)
            if old is not None and old.found != item:
                old = None
            if old is not None and old.settled and old.stamp == _stamp(item):
                files[item.path] = old
            elif (read := self._read(source, item, old)) is not None:
                files[item.path] = read

    def _read(self, source: Source, found: FoundFile, old: _Read | None) -> _Read | None:
        """Read one file, and parse it unless it says what it said before; None where it is gone."""
        settings = self._require_settings()
        stamp = _stamp(found)
        settled = bool(stamp) and is_settled(stamp[0])
        target = find_escape(source, found, self._targets)
        if target is not None:
            refused = refuse_link(source.tier, found.path, target)
            return _Read(stamp, settled, found, Parsed(skill=None, diagnostics=(refused,)))
        path = os.path.realpath(found.path) if os.path.islink(found.path) else found.path
        limit = settings.skills.limits.max_skill_file_bytes
        content = read_bounded(path, limit, hard_links=source.tier is Tier.BUNDLED)
        if content is None:
            return None
        if isinstance(content, Diagnostic):
            refused = replace(content, path=found.path)
            return _Read(stamp, settled, found, Parsed(skill=None, diagnostics=(refused,)))
        if old is not None and not found.has_sidecar and _says_the_same(old, content):
            return old._replace(stamp=stamp, settled=settled)
        document = Document(
            source=source,
            path=found.path,
            folder=found.folder,
            content=content.data,
            is_skill_file=found.is_skill_file,
            resources=found.resources,
            sidecar=read_sidecar(found),
        )
        return _Read(stamp, settled, found, parse(document, settings.skills.spec_mode))

    def _finish(
        self, source: Source, files: dict[str, _Read], walk: Walk, old: _RootScan | None
    ) -> _RootScan:
        if old is not None and _same_files(old.files, files) and old.walk == walk:
            # Only stamps may have moved: nothing that anyone would notice.
            old.files.update(files)
            return old
        limit = self._require_settings().skills.limits.max_skills_loaded_per_source
        skills = [read.parsed.skill for read in files.values() if read.parsed.skill is not None]
        diagnostics = [problem for read in files.values() for problem in read.parsed.diagnostics]
        if len(skills) > limit:
            message = f"{len(skills)} skills, of which the first {limit} are loaded"
            diagnostics.append(diagnose("skills-truncated", message, path=source.root))
        problems = (*walk.diagnostics, *diagnostics)
        return _RootScan(source, files, walk, tuple(skills[:limit]), problems)

    def _require_settings(self) -> Settings:
        if self._settings is None:
            raise RuntimeError("scan() comes first: it brings the settings")
        return self._settings


def _reading(settings: Settings) -> tuple[object, ...]:
    """Return what decides how files are read; other settings leave what was read as it is."""
    skills = settings.skills
    return skills.spec_mode, skills.limits, skills.load, settings.plugins


def _is_dangling(source: Source) -> bool:
    return os.path.islink(source.root) and not os.path.exists(source.root)


def _diagnose_dangling(source: Source) -> Diagnostic:
    return diagnose("root-missing", "is a link that leads nowhere", path=source.root)


def _diagnose_link(source: Source) -> Diagnostic:
    message = f"leads to {os.path.realpath(source.root)}"
    return diagnose("root-linked", message, path=source.root)


def _is_edit(old: _RootScan, path: str) -> bool:
    """Return whether only the text of a known file can have changed, not which files there are."""
    read = old.files.get(path)
    return read is not None and read.found.folder != old.source.root and os.path.lexists(path)


def _stamp(found: FoundFile) -> _Stamp:
    """Return what changes when a file does; its sidecar counts as part of it."""
    stamp = _stat(found.path)
    if found.has_sidecar:
        stamp += _stat(os.path.join(found.folder, SIDECAR))
    return stamp


def _stat(path: str) -> _Stamp:
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def _says_the_same(old: _Read, content: Content) -> bool:
    skill = old.parsed.skill
    return skill is not None and skill.content_hash == hashlib.sha256(content.data).hexdigest()


def _same_files(old: dict[str, _Read], new: dict[str, _Read]) -> bool:
    """Return whether both hold the same parsed files, in the same order."""
    return len(old) == len(new) and all(
        one is other or one.parsed is other.parsed
        for one, other in zip(old.values(), new.values(), strict=True)
    )


def _is_same(old: dict[Source, _RootScan], new: dict[Source, _RootScan]) -> bool:
    return list(old) == list(new) and all(old[source] is new[source] for source in new)
