"""The skills of one workspace, from its eight sources, reading again only what changed.

A workspace is a project, and not the corner of it that is open: agents look for skills in parent
folders themselves. Who names a folder is not trusted: it never makes the home folder, or one above
it, a workspace, and on the way up folders of other people do not count, since anybody may put
skills into a shared one. A fixed number of paths is looked at, and no folder is listed.

Each root remembers what it found and each file its stamp. Naming the changed files skips the walk
altogether; without that, the walk looks at stamps and parses only files whose stamp moved.

What the files of one root said is kept between processes, so that each is parsed once. A file is
known again by its stamp: where it is, its size, its inode, and when its content and its status last
changed. One that changed within the last second is not kept, since a second change might show the
same stamp. What is kept is data and never code, in a private file that is read only where nobody
else could have written it; what does not read as expected counts as nothing.
"""

import hashlib
import json
import os
import stat
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields, replace
from enum import Enum
from os.path import join
from typing import Any, NamedTuple, TypeAlias

from prowess import skills
from prowess.data import dataclass
from prowess.host.files.handles import Content, Stamp, is_inside, is_settled
from prowess.host.files.state_files import KeptFiles, stamp_code
from prowess.host.sources.discovery import (
    FolderCache,
    FoundFile,
    RootWalker,
    Walk,
    list_resources,
    make_document,
    read_found,
    stamp_found,
)
from prowess.host.sources.harness_folders import (
    PERSONAL,
    PROJECT,
    HarnessFolder,
    SourceRoots,
    find_plugin_sources,
)
from prowess.runtime.ports import Scan
from prowess.settings import Settings
from prowess.skills.model import (
    Diagnostic,
    Dialect,
    InstallSpec,
    Invocation,
    Metadata,
    Parsed,
    Requirements,
    Severity,
    Skill,
    Source,
    Tier,
    Triggers,
    diagnose,
)


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
    """Return every root, lowest precedence first; a folder that is two counts as the higher.

    A part of a repository has its skills beside those of the whole, as most harnesses see it.
    """
    roots = SourceRoots()
    projects = [*find_folders_above(workspace, folders.home), workspace]
    _add_extra(workspace, folders, settings, roots)
    roots.sources += [
        Source(tier=Tier.BUNDLED, root=folders.bundled),
        Source(tier=Tier.MANAGED, root=folders.managed),
        *_harness(Tier.HARNESS_PERSONAL, folders.home, PERSONAL, settings),
        *_codex_home(folders, settings),
        Source(tier=Tier.AGENTS_PERSONAL, root=os.path.join(folders.home, ".agents", "skills")),
        *(s for one in projects for s in _harness(Tier.HARNESS_PROJECT, one, PROJECT, settings)),
        *(
            Source(tier=Tier.AGENTS_PROJECT, root=join(one, ".agents", "skills"))
            for one in projects
        ),
        *(Source(tier=Tier.WORKSPACE, root=join(one, "skills")) for one in projects),
    ]
    roots.sources = _without_repetition(roots.sources)
    return roots


def has_many_folders(workspace: str, folders: Folders, settings: Settings, most: int) -> bool:
    """Return whether more than `most` folders lie right in the roots, without looking into one."""
    left = most
    for source in resolve_roots(workspace, folders, settings).sources:
        # What is not there, or not for us to see, holds nothing.
        with suppress(OSError), os.scandir(source.root) as entries:
            left -= sum(not one.name.startswith(".") and one.is_dir() for one in entries)
        if left < 0:
            return True
    return False


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
    if paths:
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


_MOST_STEPS = 24
_LONGEST_PATH = 4096
_REPOSITORY = ".git"
_SKILL_FOLDERS = (
    "skills",
    os.path.join(".agents", "skills"),
    *dict.fromkeys(os.path.join(*folder.path.split("/")) for folder in PROJECT),
)


def find_home(environ: Mapping[str, str]) -> str:
    """Return the user's home folder, as everything else finds it."""
    return os.path.abspath(environ.get("HOME") or os.path.expanduser("~"))


def find_workspace(cwd: str, projects: Sequence[str], current: str, home: str) -> str:
    """Return the folder whose skills an agent should be told of.

    It is the project that the harness names, if the agent works in it and it holds skills; else the
    nearest folder from the agent's own upwards that holds some or is the root of a repository; else
    the one that was named, or the agent's own.

    Args:
        cwd: where the agent works, as the payload says.
        projects: the folders of the project, as the harness says.
        current: where the hook runs, which counts where `cwd` cannot be used.
        home: the user's home folder; what lies above it is nobody's project.
    """
    own_home = os.path.realpath(home)
    place = cwd if _is_usable(cwd, own_home) else current
    real = os.path.realpath(place)
    if is_inside(own_home, real):
        return place
    named = [
        folder
        for folder in projects
        if _is_usable(folder, own_home) and is_inside(real, os.path.realpath(folder))
    ]
    with_skills = (folder for folder in named if _has_skills(folder))
    found = next(with_skills, None) or next(_find_marked(real, own_home), None)
    if found is None:
        return named[0] if named else place
    # As the agent spells it: that is what its user sees.
    return place if found == real else found


def find_folders_above(folder: str, home: str) -> list[str]:
    """Return the folders above one, up to the root of its repository, that hold skills as well.

    The outermost comes first. In one that belongs to no repository nothing above counts.
    """
    seen: list[str] = []
    for place in _walk_up(os.path.realpath(folder), os.path.realpath(home)):
        seen.append(place)
        if os.path.lexists(os.path.join(place, _REPOSITORY)):
            return [one for one in reversed(seen[1:]) if _has_skills(one)]
    return []


def is_project(folder: str, home: str) -> bool:
    """Return whether a folder is somebody's project: it holds skills, or is a repository."""
    real, own_home = os.path.realpath(folder), os.path.realpath(home)
    is_above = is_inside(own_home, real)
    return not is_above and next(_find_marked(real, own_home), None) == real


def _is_usable(folder: str, own_home: str) -> bool:
    """Return whether a folder that somebody named exists, and is no home and nothing above one."""
    if not folder or len(folder) > _LONGEST_PATH or "\0" in folder or not os.path.isabs(folder):
        return False
    return os.path.isdir(folder) and not is_inside(own_home, os.path.realpath(folder))


def _find_marked(real: str, own_home: str) -> Iterator[str]:
    """Yield the folders from here upwards that are a project by themselves."""
    for folder in _walk_up(real, own_home):
        if os.path.lexists(os.path.join(folder, _REPOSITORY)) or _has_skills(folder):
            yield folder


def _walk_up(real: str, own_home: str) -> Iterable[str]:
    """Yield a folder and those above it that belong to the same people."""
    yield real
    owners = {_owner(real), _find_own_id()} - {None}
    below, folder = real, os.path.dirname(real)
    for _ in range(_MOST_STEPS):
        is_top = folder == below or is_inside(own_home, folder)
        if is_top or _owner(folder) not in owners:
            return
        yield folder
        below, folder = folder, os.path.dirname(folder)


def _owner(folder: str) -> int | None:
    """Return who alone may write to a folder; None where others may as well."""
    try:
        found = os.stat(folder)
    except OSError:
        return None
    # Windows knows neither owners nor such rights here.
    is_shared = os.name == "posix" and found.st_mode & stat.S_IWOTH
    return None if is_shared else found.st_uid


def _find_own_id() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else 0


def _has_skills(folder: str) -> bool:
    return any(os.path.isdir(os.path.join(folder, name)) for name in _SKILL_FOLDERS)


_FOLDER, _MOST_ROOTS = "catalogs", 64
# These travel once for the whole root, or are those of the file that was found.
_ELSEWHERE = frozenset(("source", "path", "folder", "real", "resources", "diagnostics"))
_SKILL = tuple(field.name for field in fields(Skill) if field.name not in _ELSEWHERE)
_SOURCE = tuple(field.name for field in fields(Source))
_PLAIN_METADATA, _PLAIN_INVOCATION = Metadata(), Invocation()
_PLAIN = asdict(_PLAIN_METADATA), asdict(_PLAIN_INVOCATION)
_Part: TypeAlias = Diagnostic | InstallSpec | Invocation | Metadata | Requirements | Triggers


class ReadFile(NamedTuple):
    """A file as it was last read."""

    stamp: Stamp
    # False where the file changed so recently that its stamp cannot be trusted to move again.
    settled: bool
    found: FoundFile
    parsed: Parsed
    # Whether another process finds it by now.
    kept: bool = False


class ParsedFiles:
    """The files that were parsed, by root and by what decides how they are read."""

    def __init__(self, state: str) -> None:
        self._files = KeptFiles(
            os.path.join(state, _FOLDER), made_by=stamp_code(*skills.__path__), most=_MOST_ROOTS
        )

    def load(self, source: Source, reading: object) -> dict[str, ReadFile]:
        """Return the files of a root by their paths, as they were read; none where none are kept.

        Args:
            source: the root.
            reading: all else that decides what a file says, as a value whose `repr` tells it.
        """
        raw = self._files.load(_key(source, reading)) or b""
        total, _, body = raw.partition(b"\n")
        if total != b"%d" % zlib.crc32(body):
            return {}
        try:
            return {row[0][0]: _read_row(row, source) for row in json.loads(body)}
        except (LookupError, TypeError, ValueError, RecursionError):
            return {}

    def save(self, source: Source, reading: object, files: Iterable[ReadFile]) -> None:
        """Keep what was read of a root."""
        rows = [_row(read) for read in files]
        body = json.dumps(rows, separators=(",", ":"), default=_simplify).encode()
        self._files.save(_key(source, reading), b"%d\n%b" % (zlib.crc32(body), body))


def _key(source: Source, reading: object) -> str:
    place = [getattr(source, name) for name in _SOURCE]
    return hashlib.sha256(repr((place, reading)).encode("utf-8", "surrogatepass")).hexdigest()


def _row(read: ReadFile) -> list[object]:
    skill = read.parsed.skill
    said = None if skill is None else [getattr(skill, name) for name in _SKILL]
    return [read.found, read.stamp, said, read.parsed.diagnostics]


def _simplify(value: Enum | _Part) -> object:
    """Return a value that JSON does not know by its parts; what is plain is nothing at all."""
    if isinstance(value, Enum):
        return value.value
    parts = asdict(value)
    return None if parts in _PLAIN else parts


def _read_row(row: list[Any], source: Source) -> ReadFile:
    (path, folder, is_skill_file, resources, has_sidecar, real), stamp, said, problems = row
    found = FoundFile(path, folder, is_skill_file, tuple(resources), has_sidecar, real)
    diagnostics = tuple(
        Diagnostic(**{**one, "severity": Severity(one["severity"])}) for one in problems
    )
    skill = None if said is None else _skill(said, source, found, diagnostics)
    parsed = Parsed(skill=skill, diagnostics=diagnostics)
    return ReadFile(tuple(stamp), settled=True, found=found, parsed=parsed, kept=True)


def _skill(
    said: list[Any], source: Source, found: FoundFile, diagnostics: tuple[Diagnostic, ...]
) -> Skill:
    values = dict(zip(_SKILL, said, strict=True))
    values["dialect"] = Dialect(values["dialect"])
    metadata, invocation = values["metadata"], values["invocation"]
    values["metadata"] = _PLAIN_METADATA if metadata is None else _metadata(metadata)
    values["invocation"] = _PLAIN_INVOCATION if invocation is None else Invocation(**invocation)
    return Skill(
        source=source,
        path=found.path,
        folder=found.folder,
        real=found.real,
        resources=found.resources,
        diagnostics=diagnostics,
        **_with_tuples(values),
    )


def _metadata(values: dict[str, Any]) -> Metadata:
    made = {
        "requires": Requirements(**_with_tuples(values["requires"])),
        "install": tuple(InstallSpec(**_with_tuples(one)) for one in values["install"]),
        "triggers": Triggers(**_with_tuples(values["triggers"])),
    }
    return Metadata(**{**values, **made})


def _with_tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a frozen value; its lists were tuples."""
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }


# To parse fewer takes less time than to look after a file of what they said.
_FEWEST_KEPT = 24
_PROJECT_TIERS = frozenset((Tier.HARNESS_PROJECT, Tier.AGENTS_PROJECT, Tier.WORKSPACE))


@dataclass(frozen=True, slots=True)
class _RootScan:
    """One root as it was last walked; compared by identity to see that nothing changed."""

    source: Source
    files: dict[str, ReadFile]
    walk: Walk
    skills: tuple[Skill, ...]
    diagnostics: tuple[Diagnostic, ...]
    cut: tuple[Skill, ...]


class FolderSources:
    """Reads the folders of one workspace, or those of some tiers alone."""

    def __init__(
        self, workspace: str, folders: Folders, tiers: Collection[Tier] = frozenset(Tier)
    ) -> None:
        self._workspace, self._folders, self._tiers = workspace, folders, tiers
        self._settings: Settings | None = None
        self._roots: dict[str, _RootScan] = {}
        self._listings = FolderCache()
        self._kept = ParsedFiles(folders.state)
        self._targets: tuple[str, ...] = ()
        self._scan: Scan | None = None

    def scan(self, settings: Settings, changed: Collection[str] | None = None) -> Scan:
        """Return all skills, lowest source first."""
        if self._settings is None or _key_reading(settings) != _key_reading(self._settings):
            self._roots, changed = {}, None
        self._settings = settings
        roots = resolve_roots(self._workspace, self._folders, settings)
        wanted = (source for source in roots.sources if source.tier in self._tiers)
        existing = [source for source in wanted if os.path.isdir(source.root)]
        self._targets = find_allowed_targets(settings, self._folders, self._workspace)
        roots.diagnostics += [_diagnose_dangling(s) for s in roots.sources if _is_dangling(s)]
        existing = [replace(s, leads_away=True) if self._leads_away(s) else s for s in existing]
        roots.diagnostics += [_diagnose_link(source) for source in existing if source.leads_away]
        fresh = {source.root: self._root(source, changed) for source in existing}
        old, self._roots = self._roots, fresh
        self._keep(fresh.values())
        seen = {source.root: source for source in existing}
        sources = [seen.get(source.root, source) for source in roots.sources]
        return self._combine(sources, roots.diagnostics, unchanged=_is_same(old, fresh))

    def resources(self, skill: Skill) -> Sequence[str]:
        """Return the files of `skill`, relative to its folder, without links and vendor folders."""
        return list_resources(skill)

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
            cut=tuple(skill for scan in scans for skill in scan.cut),
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
        old = self._roots.get(source.root)
        if old is not None and old.source != source:
            # It leads elsewhere by now, or is what another setting says.
            old = None
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
        known = self._kept.load(source, self._key_parsing()) if old is None else old.files
        files: dict[str, ReadFile] = {}
        own = walker.root_file()
        if own is not None:
            self._take([own], source, known, files)
        start = "" if own is None else "skills"
        # A root that is itself a skill is only that; where its file is broken, `skills/` counts.
        if own is None or all(read.parsed.skill is None for read in files.values()):
            walker.run(start)
            self._take(walker.walk.found, source, known, files)
        return self._finish(source, files, walker.walk, old)

    def _key_parsing(self) -> tuple[object, ...]:
        """Return what decides what a file of a root says, beside the file."""
        skills = self._require_settings().skills
        return skills.spec_mode, skills.limits.max_skill_file_bytes, self._targets

    def _keep(self, roots: Collection[_RootScan]) -> None:
        """Let other processes know what was parsed, where it is worth their while."""
        if sum(len(root.files) for root in roots) < _FEWEST_KEPT:
            return
        for root in roots:
            if any(read.settled and not read.kept for read in root.files.values()):
                settled = [read for read in root.files.values() if read.settled]
                self._kept.save(root.source, self._key_parsing(), settled)
                root.files.update({read.found.path: read._replace(kept=True) for read in settled})

    def _take(
        self,
        found: Sequence[FoundFile],
        source: Source,
        known: dict[str, ReadFile],
        files: dict[str, ReadFile],
    ) -> None:
        for item in found:
            old = known.get(item.path)
            if old is not None and old.found != item:
                old = None
            if old is not None and old.settled and old.stamp == stamp_found(item):
                files[item.path] = old
            elif (read := self._read(source, item, old)) is not None:
                files[item.path] = read

    def _read(self, source: Source, found: FoundFile, old: ReadFile | None) -> ReadFile | None:
        """Read one file, and parse it unless it says what it said before; None where it is gone."""
        settings = self._require_settings()
        stamp = stamp_found(found)
        content = read_found(source, found, settings.skills.limits.max_skill_file_bytes)
        if content is None:
            return None
        if isinstance(content, Diagnostic):
            return _refuse(stamp, found, replace(content, path=found.path), old)
        if old is not None and not found.has_sidecar and _says_the_same(old, content):
            return old._replace(stamp=stamp, settled=is_settled(stamp), kept=False)
        document = make_document(source, found, content)
        # Whoever finds all files as they were kept needs no parser.
        from prowess.skills.parse import parse

        parsed = parse(document, settings.skills.spec_mode)
        read = ReadFile(stamp, is_settled(stamp), found, parsed)
        if old is not None and _is_being_saved(old, read, content):
            # What it said before stands, and it is looked at again until it is left alone.
            return old._replace(settled=False, kept=False)
        return read

    def _finish(
        self, source: Source, files: dict[str, ReadFile], walk: Walk, old: _RootScan | None
    ) -> _RootScan:
        if old is not None and _has_same_files(old.files, files) and old.walk == walk:
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
        kept, cut = tuple(skills[:limit]), tuple(skills[limit:])
        return _RootScan(source, files, walk, kept, problems, cut)

    def _require_settings(self) -> Settings:
        if self._settings is None:
            raise RuntimeError("scan() comes first: it brings the settings")
        return self._settings


def _key_reading(settings: Settings) -> tuple[object, ...]:
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


def _refuse(stamp: Stamp, found: FoundFile, problem: Diagnostic, old: ReadFile | None) -> ReadFile:
    """Return a file that cannot be read; never settled, for what stood in the way may be gone."""
    parsed = Parsed(skill=None, diagnostics=(problem,))
    if old is not None and old.parsed == parsed:
        parsed = old.parsed
    return ReadFile(stamp, settled=False, found=found, parsed=parsed)


def _is_being_saved(old: ReadFile, read: ReadFile, content: Content) -> bool:
    """Return whether a skill that was touched a moment ago is none: half of it may be written."""
    is_less = read.parsed.skill is None or not content.data.strip()
    return old.parsed.skill is not None and is_less and not read.settled


def _says_the_same(old: ReadFile, content: Content) -> bool:
    skill = old.parsed.skill
    return skill is not None and skill.content_hash == hashlib.sha256(content.data).hexdigest()


def _has_same_files(old: dict[str, ReadFile], new: dict[str, ReadFile]) -> bool:
    """Return whether both hold the same parsed files, in the same order."""
    return len(old) == len(new) and all(
        one is other or one.parsed is other.parsed
        for one, other in zip(old.values(), new.values(), strict=True)
    )


def _is_same(old: dict[str, _RootScan], new: dict[str, _RootScan]) -> bool:
    return list(old) == list(new) and all(old[root] is new[root] for root in new)
