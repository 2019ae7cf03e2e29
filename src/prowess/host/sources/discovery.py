"""Finding skill files below one root: breadth first, bounded, and never out of the root.

Nothing is parsed here. A folder that holds `SKILL.md` ends its branch: what lies below belongs to
that skill. Every refusal is a diagnostic; a file that vanishes meanwhile is simply not there.
Plugins contribute roots by their manifests; a path that leaves its plugin is refused by itself, and
the others still count.
"""

import json
import os
import stat
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from prowess.host.files.read import Content, is_path, read_bounded
from prowess.host.sources.symlinks import LinkRule, is_inside, refuse_link
from prowess.settings import Limits, SpecMode
from prowess.skills.diagnostics import diagnose
from prowess.skills.model import SKIPPED_FOLDERS, Diagnostic, RootKind, Source, Tier

_STANDALONE_TIERS = frozenset((Tier.BUNDLED, Tier.MANAGED, Tier.WORKSPACE))
SIDECAR = os.path.join("agents", "openai.yaml")
_MAX_SIDECAR_BYTES = 64_000
_MIN_ENTRIES, _ENTRIES_PER_CANDIDATE = 1000, 10
_SETTLING_NS = 1_000_000_000


class FoundFile(NamedTuple):
    """A file that may be a skill, and what stands beside it."""

    path: str
    folder: str
    is_skill_file: bool = True
    resources: tuple[str, ...] = ()
    has_sidecar: bool = False


class _Listing(NamedTuple):
    """A folder as it was last read; good as long as its stamp stays."""

    stamp: tuple[int, int, int]
    entries: list[os.DirEntry[str]]
    # The folder's own skill, where that needs no second look; a link always does.
    skill: FoundFile | None


class FolderCache:
    """Listings of folders, so that looking again costs one `stat` each.

    A folder that changed within the last second is not kept: the clock of a file system is coarse,
    and a second change in the same tick would go unseen.
    """

    def __init__(self) -> None:
        self._known: dict[str, _Listing] = {}

    def get(self, folder: str) -> _Listing | None:
        """Return the listing of `folder` if it still holds."""
        known = self._known.get(folder)
        if known is None:
            return None
        try:
            found = os.stat(folder)
        except OSError:
            return None
        return known if known.stamp == _folder_stamp(found) else None

    def keep(self, folder: str, entries: list[os.DirEntry[str]], skill: FoundFile | None) -> None:
        """Remember a listing that was just made."""
        try:
            found = os.stat(folder)
        except OSError:
            return
        if is_settled(found.st_ctime_ns):
            self._known[folder] = _Listing(_folder_stamp(found), entries, skill)


def _folder_stamp(found: os.stat_result) -> tuple[int, int, int]:
    # The time of the last status change too: it moves with permissions and nobody can set it back.
    return found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def is_settled(changed_ns: int) -> bool:
    """Return whether a change lies so far back that a later one would show in the time stamp."""
    return time.time_ns() - changed_ns > _SETTLING_NS


@dataclass(slots=True)
class Walk:
    """What a walk over one root found, and the folders it looked into."""

    found: list[FoundFile] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)


def reads_standalone(source: Source, mode: SpecMode) -> bool:
    """Return whether plain Markdown files of this root are skills of their own."""
    if mode is SpecMode.STRICT or source.kind is not RootKind.SKILLS:
        return False
    return mode is SpecMode.LEGACY or source.tier in _STANDALONE_TIERS


class RootWalker:
    """Walks one root once."""

    def __init__(
        self,
        source: Source,
        mode: SpecMode,
        limits: Limits,
        allowed_targets: Sequence[str] = (),
        cache: FolderCache | None = None,
    ) -> None:
        self._source, self._limits = source, limits
        self._cache = cache or FolderCache()
        self._links = LinkRule(source, allowed_targets)
        self._endings = _file_endings(source, mode)
        self._queue: deque[tuple[str, int]] = deque()
        self._candidates = 0
        self._truncated = False
        self._walk = Walk()

    @property
    def walk(self) -> Walk:
        """What was found so far."""
        return self._walk

    def root_file(self) -> FoundFile | None:
        """Return the root's own SKILL.md, where the root itself is a skill."""
        if self._source.kind is not RootKind.SKILLS:
            return None
        return self._skill_file(self._source.root, self._entries(self._source.root))

    def run(self, start: str = "") -> None:
        """Walk everything below `start`, by default the root."""
        first = start or self._source.root
        self._queue.append((first, 0))
        while self._queue:
            folder, depth = self._queue.popleft()
            self._visit(folder, depth, is_start=folder == first)
        if self._truncated:
            limit = self._limits.max_candidates_per_root
            message = f"more than {limit} folders: the rest was not looked at"
            self._report("candidates-truncated", message, self._source.root)

    def _visit(self, folder: str, depth: int, *, is_start: bool) -> None:
        known = self._cache.get(folder)
        if known is not None and known.skill is not None and not is_start:
            self._walk.folders.append(folder)
            self._take_skill(known.skill)
            return
        entries = self._entries(folder, known)
        # A start folder with a SKILL.md of its own was judged before: only what lies below counts.
        if self._source.kind is RootKind.SKILLS and not is_start:
            skill = self._skill_file(folder, entries)
            if skill is not None:
                self._take_skill(skill)
                return
        if any(entry.name == "pyvenv.cfg" for entry in entries):
            return
        for entry in entries:
            if self._is_standalone(entry):
                self._take_standalone(entry, folder)
        if depth < self._source.depth:
            self._descend(entries, depth)

    def _take_skill(self, skill: FoundFile) -> None:
        self._walk.found.append(skill)
        if skill.has_sidecar:
            self._walk.folders.append(os.path.join(skill.folder, "agents"))

    def _entries(self, folder: str, known: _Listing | None = None) -> list[os.DirEntry[str]]:
        self._walk.folders.append(folder)
        if known is not None:
            return known.entries
        reported = len(self._walk.diagnostics)
        entries = self._list(folder)
        # What was refused must be said again next time, so only a whole listing is kept.
        if len(self._walk.diagnostics) == reported:
            self._cache.keep(folder, entries, self._plain_skill(folder, entries))
        return entries

    def _list(self, folder: str) -> list[os.DirEntry[str]]:
        most = max(_MIN_ENTRIES, _ENTRIES_PER_CANDIDATE * self._limits.max_candidates_per_root)
        found: list[os.DirEntry[str]] = []
        try:
            with os.scandir(folder) as scan:
                for entry in scan:
                    found.append(entry)
                    if len(found) > most:
                        self._report("entries-truncated", f"more than {most} entries", folder)
                        break
        except FileNotFoundError:
            return []
        except OSError as error:
            self._report("unreadable", f"cannot be read: {error.strerror}", folder)
            return []
        found.sort(key=_entry_name)
        return found

    def _skill_file(self, folder: str, entries: Sequence[os.DirEntry[str]]) -> FoundFile | None:
        entry = _skill_entry(entries)
        if entry is None or (entry.is_symlink() and not self._stays(entry, folder)):
            return None
        return _make_found(folder, entry, entries)

    def _plain_skill(self, folder: str, entries: Sequence[os.DirEntry[str]]) -> FoundFile | None:
        """Return the folder's skill file unless it is a link, which must be judged each time."""
        if self._source.kind is not RootKind.SKILLS:
            return None
        entry = _skill_entry(entries)
        return None if entry is None or entry.is_symlink() else _make_found(folder, entry, entries)

    def _stays(self, entry: os.DirEntry[str], folder: str) -> bool:
        """A linked SKILL.md must stay in its own skill's folder, whatever the root allows."""
        if is_inside(os.path.realpath(entry.path), os.path.realpath(folder)):
            return True
        self._refuse(entry.path)
        return False

    def _is_standalone(self, entry: os.DirEntry[str]) -> bool:
        name = entry.name.lower()
        if not name.endswith(self._endings) or name.startswith("."):
            return False
        return name not in {"readme.md", "skill.md"}

    def _take_standalone(self, entry: os.DirEntry[str], folder: str) -> None:
        if not _is_file(entry):
            if not entry.is_symlink() and not entry.is_dir():
                self._report("not-a-file", "is not a regular file", entry.path)
            return
        if entry.is_symlink() and not self._links.is_allowed(os.path.realpath(entry.path)):
            self._refuse(entry.path)
            return
        self._walk.found.append(FoundFile(path=entry.path, folder=folder, is_skill_file=False))

    def _descend(self, entries: Sequence[os.DirEntry[str]], depth: int) -> None:
        folders = [entry for entry in entries if self._may_enter(entry)]
        # A repository keeps its skills in `skills/`: it is looked at even when the cap is full.
        folders.sort(key=_skills_first)
        for entry in folders:
            if self._candidates >= self._limits.max_candidates_per_root and entry.name != "skills":
                self._truncated = True
                return
            self._candidates += 1
            self._queue.append((entry.path, depth + 1))

    def _may_enter(self, entry: os.DirEntry[str]) -> bool:
        if entry.name.startswith(".") or entry.name in SKIPPED_FOLDERS:
            return False
        try:
            if not entry.is_symlink():
                return entry.is_dir(follow_symlinks=False)
            return self._is_folder(entry) and self._may_follow(entry.path)
        except OSError:
            return False

    def _is_folder(self, entry: os.DirEntry[str]) -> bool:
        """Return whether a link leads to a folder; one that leads to itself is reported."""
        try:
            return stat.S_ISDIR(os.stat(entry.path).st_mode)
        except FileNotFoundError:
            return False
        except OSError as error:
            self._report("unreadable", f"cannot be read: {error.strerror}", entry.path)
            return False

    def _may_follow(self, path: str) -> bool:
        target = os.path.realpath(path)
        if not self._links.may_lead_to(target):
            self._refuse(path, target)
            return False
        return self._links.enter(path, target)

    def _refuse(self, path: str, target: str = "") -> None:
        self._walk.diagnostics.append(
            refuse_link(self._source.tier, path, target or os.path.realpath(path))
        )

    def _report(self, code: str, message: str, path: str) -> None:
        self._walk.diagnostics.append(diagnose(code, message, path=path))


def _skill_entry(entries: Sequence[os.DirEntry[str]]) -> os.DirEntry[str] | None:
    named = [entry for entry in entries if entry.name.lower() == "skill.md"]
    exact = [entry for entry in named if entry.name == "SKILL.md"]
    return next(iter(exact or named), None)


def _make_found(
    folder: str, skill: os.DirEntry[str], entries: Sequence[os.DirEntry[str]]
) -> FoundFile:
    others = [entry for entry in entries if entry is not skill]
    return FoundFile(
        path=skill.path,
        folder=folder,
        resources=tuple(_label(other) for other in others if not other.name.startswith(".")),
        has_sidecar=any(other.name == "agents" for other in others),
    )


def _file_endings(source: Source, mode: SpecMode) -> tuple[str, ...]:
    if source.leads_away:
        # Any text of the target could be somebody's notes; a SKILL.md is meant to be read.
        return ()
    if source.kind is RootKind.RULES:
        return (".mdc",)
    if source.kind is RootKind.COMMANDS or reads_standalone(source, mode):
        return (".md",)
    return ()


def _entry_name(entry: os.DirEntry[str]) -> str:
    return entry.name


def _skills_first(entry: os.DirEntry[str]) -> bool:
    return entry.name != "skills"


def _label(entry: os.DirEntry[str]) -> str:
    try:
        return entry.name + "/" if entry.is_dir(follow_symlinks=False) else entry.name
    except OSError:
        return entry.name


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False


def read_sidecar(found: FoundFile) -> bytes | None:
    """Return the text of Codex's policy file, if the skill has one."""
    if not found.has_sidecar:
        return None
    content = read_bounded(os.path.join(found.folder, SIDECAR), _MAX_SIDECAR_BYTES)
    if content is None:
        return None
    # What is there but cannot be read is a NUL to the parser, which then keeps the model away.
    return content.data if isinstance(content, Content) else b"\0"


_MANIFESTS = (
    "plugin.json",
    ".claude-plugin/plugin.json",
    ".codex-plugin/plugin.json",
    "openclaw.plugin.json",
)
_MAX_MANIFEST_BYTES = 256_000
_DEFAULT_FOLDERS = ("skills", "commands")


@dataclass(slots=True)
class SourceRoots:
    """Folders to search, existing or not, and problems with configured ones."""

    sources: list[Source] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)


def find_plugin_sources(folders: Sequence[str], disabled: frozenset[str]) -> SourceRoots:
    """Read the manifests below `folders`; a folder may be a plugin or hold several."""
    result = SourceRoots()
    for folder in folders:
        plugins = [folder] if _manifest_path(folder) else _children(folder)
        if not plugins:
            message = "holds no plugin manifest"
            result.diagnostics.append(diagnose("plugin-invalid", message, path=folder))
        for plugin in plugins:
            _add_plugin(plugin, disabled, result)
    return result


def _manifest_path(folder: str) -> str:
    for name in _MANIFESTS:
        path = os.path.join(folder, *name.split("/"))
        if os.path.isfile(path):
            return path
    return ""


def _children(folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    paths = [os.path.join(folder, name) for name in names if not name.startswith(".")]
    return [path for path in paths if _manifest_path(path)]


def _add_plugin(folder: str, disabled: frozenset[str], result: SourceRoots) -> None:
    path = _manifest_path(folder)
    manifest = _read_manifest(path)
    if isinstance(manifest, Diagnostic):
        result.diagnostics.append(manifest)
        return
    plugin_id = str(manifest.get("id") or manifest.get("name") or os.path.basename(folder))
    if plugin_id in disabled:
        return
    neutral = os.path.relpath(path, folder) == "plugin.json"
    # The neutral standard fixes the folder and its depth; the others let the manifest say.
    wanted = ["skills"] if neutral else _paths(manifest.get("skills"), default="skills")
    source = Source(
        tier=Tier.EXTRA, root=folder, label=plugin_id, depth=1 if neutral else 6, boundary=folder
    )
    _add_roots(source, wanted, result)
    if ".claude-plugin" in path:
        commands = _paths(manifest.get("commands"), default="commands")
        _add_roots(replace(source, kind=RootKind.COMMANDS), commands, result)


def _read_manifest(path: str) -> Mapping[str, Any] | Diagnostic:
    content = read_bounded(path, _MAX_MANIFEST_BYTES)
    if isinstance(content, Diagnostic):
        return diagnose("plugin-invalid", content.message, path=path)
    try:
        manifest = json.loads(content.data if isinstance(content, Content) else b"")
    except (ValueError, RecursionError):
        return diagnose("plugin-invalid", "is not JSON", path=path)
    if isinstance(manifest, dict):
        return manifest
    return diagnose("plugin-invalid", "is not an object", path=path)


def _paths(value: object, *, default: str) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [item for item in value if isinstance(item, str)]
    return [default]


def _add_roots(plugin: Source, wanted: Sequence[str], result: SourceRoots) -> None:
    """Add the folders that `plugin` names, each of which must lie inside it."""
    for relative in wanted:
        if not is_path(relative):
            message = f"{relative!r} is not a path"
            result.diagnostics.append(diagnose("plugin-invalid", message, path=plugin.root))
            continue
        root = os.path.normpath(os.path.join(plugin.root, relative))
        if not is_inside(os.path.realpath(root), os.path.realpath(plugin.root)):
            message = f"{relative!r} leaves the plugin"
            result.diagnostics.append(diagnose("path-escape", message, path=plugin.root))
        elif os.path.isdir(root):
            result.sources.append(replace(plugin, root=root))
        elif relative not in _DEFAULT_FOLDERS:
            message = f"{relative!r} is not a folder"
            result.diagnostics.append(diagnose("plugin-invalid", message, path=plugin.root))
