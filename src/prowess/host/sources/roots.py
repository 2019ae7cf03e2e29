"""The skills of one workspace, from its folders, reading again only what changed.

Each root remembers what it found and each file its stamp. Naming the changed files skips the walk
altogether; without that, the walk looks at stamps and parses only files whose stamp moved.
"""

import hashlib
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from prowess.host.files.read import Content, read_bounded
from prowess.host.sources.discovery import (
    SIDECAR,
    SKIPPED_FOLDERS,
    FolderCache,
    Found,
    RootWalker,
    Walk,
    escape_target,
    is_inside,
    is_settled,
    sidecar_of,
)
from prowess.host.sources.roots_part import Folders, allowed_targets, resolve_roots
from prowess.runtime.ports import Scan
from prowess.settings import Settings
from prowess.skills.diagnostics import diagnose
from prowess.skills.model import Diagnostic, Document, Parsed, Skill, Source, Tier
from prowess.skills.parse import parse

_MAX_RESOURCES, _MAX_RESOURCE_DEPTH = 2_000, 8

_PROJECT_TIERS = frozenset((Tier.HARNESS_PROJECT, Tier.AGENTS_PROJECT, Tier.WORKSPACE))

_Stamp = tuple[int, ...]


class _Read(NamedTuple):
    """A file as it was last read."""

    stamp: _Stamp
    # False where the file changed so recently that its stamp cannot be trusted to move again.
    settled: bool
    found: Found
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
        self._targets = allowed_targets(settings, self._folders, self._workspace)
        roots.diagnostics += [_dangling(s) for s in roots.sources if _is_dangling(s)]
        existing = [replace(s, leads_away=True) if self._leads_away(s) else s for s in existing]
        roots.diagnostics += [_linked(source) for source in existing if source.leads_away]
        fresh = {source: self._root(source, changed) for source in existing}
        old, self._roots = self._roots, fresh
        seen = {source.root: source for source in existing}
        sources = [seen.get(source.root, source) for source in roots.sources]
        return self._combined(sources, roots.diagnostics, unchanged=_is_same(old, fresh))

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

    def _combined(
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
        return self._finished(old.source, files, old.walk, old)

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
        return self._finished(source, files, walker.walk, old)

    def _take(
        self,
        found: Sequence[Found],
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

    def _read(self, source: Source, found: Found, old: _Read | None) -> _Read | None:
        """Read one file, and parse it unless it says what it said before; None where it is gone."""
        settings = self._require_settings()
        stamp = _stamp(found)
        settled = bool(stamp) and is_settled(stamp[0])
        target = escape_target(source, found, self._targets)
        if target is not None:
            refused = _refusal(source.tier, found.path, target)
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
            sidecar=sidecar_of(found),
        )
        return _Read(stamp, settled, found, parse(document, settings.skills.spec_mode))

    def _finished(
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


def _dangling(source: Source) -> Diagnostic:
    return diagnose("root-missing", "is a link that leads nowhere", path=source.root)


def _linked(source: Source) -> Diagnostic:
    message = f"leads to {os.path.realpath(source.root)}"
    return diagnose("root-linked", message, path=source.root)


def _refusal(tier: Tier, path: str, target: str) -> Diagnostic:
    code = "bundled-symlink-escape" if tier is Tier.BUNDLED else "symlink-escape"
    return diagnose(code, f"leads to {target}", path=path)


def _is_edit(old: _RootScan, path: str) -> bool:
    """Return whether only the text of a known file can have changed, not which files there are."""
    read = old.files.get(path)
    return read is not None and read.found.folder != old.source.root and os.path.lexists(path)


def _stamp(found: Found) -> _Stamp:
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
