"""Finding skill files below one root: breadth first, bounded, and never out of the root.

Nothing is parsed here. A folder that holds `SKILL.md` ends its branch: what lies below belongs to
that skill. Every refusal is a diagnostic; a file that vanishes meanwhile is simply not there. So is
a name that cannot be shown as it is: not UTF-8, a line end, an escape sequence. Each folder is
listed by the handle of its real place, and what was found says where that is: whoever puts a link
in its place meanwhile leads nobody anywhere.

The reference files of a skill, beside its page, are what an agent may read and finds it by: only
Markdown directly below the skill or in its `references` folder. Links are not followed.
"""

import os
import stat
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import field
from functools import cached_property
from typing import NamedTuple

from prowess.data import dataclass
from prowess.errors import ContainmentError, PathError
from prowess.host.files import handles
from prowess.host.files.containment import Root
from prowess.host.files.handles import (
    Content,
    Folder,
    Stamp,
    hold_real,
    is_folder,
    is_inside,
    is_settled,
    read_bounded,
    read_real,
    stamp_file,
    step,
)
from prowess.host.sources.symlinks import LinkRule, refuse_link
from prowess.safety.paths import TEMPORARY_PREFIX, is_hidden, shown
from prowess.settings import Limits, SpecMode
from prowess.skills.model import (
    SKIPPED_FOLDERS,
    Diagnostic,
    Document,
    RootKind,
    Skill,
    Source,
    Tier,
    diagnose,
)
from prowess.skills.text import find_name_problem

_STANDALONE_TIERS = frozenset((Tier.BUNDLED, Tier.MANAGED, Tier.WORKSPACE))
_AGENTS, _OPENAI = "agents", "openai.yaml"
SIDECAR = os.path.join(_AGENTS, _OPENAI)
_MAX_SIDECAR_BYTES = 64_000
# What is there but cannot be read is a NUL to the parser, which then keeps the model away.
_UNREADABLE = b"\0"
_MIN_ENTRIES, _ENTRIES_PER_CANDIDATE = 1000, 10
# Folders that only hold other folders are no candidates, but somebody has to look into them.
_FOLDERS_PER_CANDIDATE = 6


class FoundFile(NamedTuple):
    """A file that may be a skill, and what stands beside it."""

    path: str
    folder: str
    is_skill_file: bool = True
    resources: tuple[str, ...] = ()
    has_sidecar: bool = False
    # Where it really is, without a link on the way: the folder of a SKILL.md, else the file itself.
    real: str = ""


def stamp_found(found: FoundFile) -> Stamp:
    """Return the stamp of a file that may be a skill; its sidecar counts as part of it."""
    stamp = stamp_file(found.path)
    if found.has_sidecar:
        stamp += stamp_file(os.path.join(found.folder, SIDECAR))
    return stamp


class _Entry(NamedTuple):
    """One name in a folder, and what it is: of a link, that it is one."""

    name: str
    path: str
    is_link: bool = False
    is_folder: bool = False
    is_file: bool = False


class _Listing(NamedTuple):
    """A folder as it was last read; good as long as its stamp stays."""

    stamp: Stamp
    entries: list[_Entry]
    # The folder's own skill, where that needs no second look; a link always does.
    skill: FoundFile | None


class FolderCache:
    """Listings of folders, so that looking again costs one `stat` each."""

    def __init__(self) -> None:
        self._known: dict[str, _Listing] = {}

    def get(self, folder: "_Place") -> _Listing | None:
        """Return the listing of `folder` if it still holds."""
        known = self._known.get(folder.path)
        if known is None:
            return None
        return known if known.stamp == stamp_file(folder.real) else None

    def keep(self, folder: "_Place", listing: _Listing) -> None:
        """Remember a listing that was just made."""
        if is_settled(listing.stamp):
            self._known[folder.path] = listing


class _Place(NamedTuple):
    """A folder as it is called and as it really lies, and how deep below the root."""

    path: str
    real: str
    depth: int = 0


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
        self._allowed_targets = allowed_targets
        self._endings = _file_endings(source, mode)
        self._root = _Place(source.root, os.path.realpath(source.root))
        self._queue: deque[_Place] = deque()
        self._candidates = 0
        self._cut = ""
        self._walk = Walk()

    @cached_property
    def _links(self) -> LinkRule:
        """Most roots have no link."""
        return LinkRule(self._source, self._root.real, self._allowed_targets)

    @property
    def walk(self) -> Walk:
        """What was found so far."""
        return self._walk

    def root_file(self) -> FoundFile | None:
        """Return the root's own SKILL.md, where the root itself is a skill."""
        if self._source.kind is not RootKind.SKILLS:
            return None
        return self._skill_file(self._root, self._entries(self._root))

    def run(self, start: str = "") -> None:
        """Walk everything below the folder `start` of the root, by default the root."""
        path, real, _ = self._root
        first = (
            _Place(os.path.join(path, start), os.path.join(real, start)) if start else self._root
        )
        self._queue.append(first)
        while self._queue and not self._cut:
            folder = self._queue.popleft()
            self._visit(folder, is_start=folder == first)
        if self._cut:
            message = f"{self._cut}, and what comes after it, was not looked at"
            self._report("candidates-truncated", message, self._source.root)

    def _visit(self, folder: _Place, *, is_start: bool) -> None:
        known = self._cache.get(folder)
        if known is not None and known.skill is not None and not is_start:
            self._walk.folders.append(folder.path)
            self._take_skill(known.skill._replace(real=folder.real))
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
            if self._is_standalone(entry) and self._has_plain_name(entry):
                self._take_standalone(entry, folder)
        if folder.depth < self._source.depth:
            self._descend(folder, entries)

    def _take_skill(self, skill: FoundFile) -> None:
        limit = self._limits.max_candidates_per_root
        if self._candidates >= limit:
            self._cut = f"more than {limit} skills: {os.path.basename(skill.folder)}"
            return
        self._candidates += 1
        self._walk.found.append(skill)
        if skill.has_sidecar:
            self._walk.folders.append(os.path.join(skill.folder, _AGENTS))

    def _entries(self, folder: _Place, known: _Listing | None = None) -> list[_Entry]:
        self._walk.folders.append(folder.path)
        if known is not None:
            return known.entries
        reported = len(self._walk.diagnostics)
        try:
            with hold_real(folder.real) as held:
                stamp = stamp_file(folder.real if held.fd is None else held.fd)
                entries = self._list(folder, folder.real if held.fd is None else held.fd)
        except FileNotFoundError:
            return []
        except ContainmentError:
            # It was a folder when it was found, and a link has its name by now.
            self._refuse(folder.path)
            return []
        except OSError as error:
            self._report("unreadable", f"cannot be read: {error.strerror}", folder.path)
            return []
        # What was refused must be said again next time, so only a whole listing is kept.
        if len(self._walk.diagnostics) == reported:
            self._cache.keep(folder, _Listing(stamp, entries, self._find_plain(folder, entries)))
        return entries

    def _list(self, folder: _Place, handle: int | str) -> list[_Entry]:
        most = max(_MIN_ENTRIES, _ENTRIES_PER_CANDIDATE * self._limits.max_candidates_per_root)
        found: list[_Entry] = []
        with os.scandir(handle) as scan:
            for entry in scan:
                found.append(_look_at(folder, entry))
                if len(found) > most:
                    self._report("entries-truncated", f"more than {most} entries", folder.path)
                    break
        found.sort()
        if any(entry.name.startswith(TEMPORARY_PREFIX) for entry in found):
            # Almost never, and what it takes to remove things is not needed otherwise.
            from prowess.host.files.transaction import sweep_stale

            sweep_stale(folder.real)
        return found

    def _skill_file(self, folder: _Place, entries: Sequence[_Entry]) -> FoundFile | None:
        entry = _skill_entry(entries)
        if entry is None or (entry.is_link and not self._stays(entry, folder)):
            return None
        return _make_found(folder, entry, entries)

    def _find_plain(self, folder: _Place, entries: Sequence[_Entry]) -> FoundFile | None:
        """Return the folder's skill file unless it is a link, which must be judged each time."""
        if self._source.kind is not RootKind.SKILLS:
            return None
        entry = _skill_entry(entries)
        return None if entry is None or entry.is_link else _make_found(folder, entry, entries)

    def _stays(self, entry: _Entry, folder: _Place) -> bool:
        """A linked SKILL.md must stay in its own skill's folder, whatever the root allows."""
        if is_inside(_resolve(os.path.join(folder.real, entry.name)), folder.real):
            return True
        self._refuse(entry.path)
        return False

    def _is_standalone(self, entry: _Entry) -> bool:
        name = entry.name.lower()
        if not name.endswith(self._endings) or name.startswith("."):
            return False
        return name not in {"readme.md", "skill.md"}

    def _take_standalone(self, entry: _Entry, folder: _Place) -> None:
        real = os.path.join(folder.real, entry.name)
        if entry.is_link:
            real = _resolve(real)
            if not os.path.isfile(real):
                return
            if not self._links.is_allowed(real):
                self._refuse(entry.path, real)
                return
        elif not entry.is_file:
            if not entry.is_folder:
                self._report("not-a-file", "is not a regular file", entry.path)
            return
        found = FoundFile(path=entry.path, folder=folder.path, is_skill_file=False, real=real)
        self._walk.found.append(found)

    def _descend(self, folder: _Place, entries: Sequence[_Entry]) -> None:
        folders = [inner for entry in entries if (inner := self._enter(folder, entry)) is not None]
        # A repository keeps its skills in `skills/`: it comes first where not all can be looked at.
        folders.sort(key=_skills_first)
        limit = max(_MIN_ENTRIES, _FOLDERS_PER_CANDIDATE * self._limits.max_candidates_per_root)
        left = limit - len(self._walk.folders) - len(self._queue)
        self._queue += folders[: max(left, 0)]
        if len(folders) > left:
            first = os.path.basename(folders[max(left, 0)].path)
            self._cut = self._cut or f"more than {limit} folders: {first}"

    def _enter(self, folder: _Place, entry: _Entry) -> _Place | None:
        """Return the folder that an entry is or leads to, where it is one to look into."""
        if entry.name.startswith(".") or entry.name in SKIPPED_FOLDERS:
            return None
        real = os.path.join(folder.real, entry.name)
        if entry.is_link:
            if not (self._leads_to_folder(entry) and self._has_plain_name(entry)):
                return None
            real = _resolve(real)
            if not (real and self._may_follow(entry.path, real)):
                return None
        elif not (entry.is_folder and self._has_plain_name(entry)):
            return None
        return _Place(entry.path, real, folder.depth + 1)

    def _has_plain_name(self, entry: _Entry) -> bool:
        """Return whether a name can be shown as it is; one that cannot is reported."""
        problem = diagnose_name(entry.path)
        self._walk.diagnostics += problem
        return not problem

    def _leads_to_folder(self, entry: _Entry) -> bool:
        """Return whether a link leads to a folder; one that leads to itself is reported."""
        try:
            return stat.S_ISDIR(os.stat(entry.path).st_mode)
        except FileNotFoundError:
            return False
        except OSError as error:
            self._report("unreadable", f"cannot be read: {error.strerror}", entry.path)
            return False

    def _may_follow(self, path: str, target: str) -> bool:
        if not self._links.may_lead_to(target):
            self._refuse(path, target)
            return False
        return self._links.enter(path, target)

    def _refuse(self, path: str, target: str = "") -> None:
        self._walk.diagnostics.append(
            refuse_link(self._source.tier, path, target or _resolve(path))
        )

    def _report(self, code: str, message: str, path: str) -> None:
        self._walk.diagnostics.append(diagnose(code, message, path=path))


def _resolve(path: str) -> str:
    """Return the real path, or nothing where a link goes away while it is followed."""
    try:
        return os.path.realpath(path)
    except OSError:
        return ""


def diagnose_name(path: str) -> list[Diagnostic]:
    """Return what is wrong with the name of a file or folder, if anything is."""
    folder, name = os.path.split(path)
    problem = find_name_problem(name)
    if not problem:
        return []
    message = f"is left out: its name {problem}"
    return [diagnose("name-unusable", message, path=os.path.join(folder, shown(name)))]


def _look_at(folder: _Place, entry: os.DirEntry[str]) -> _Entry:
    path = os.path.join(folder.path, entry.name)
    try:
        if entry.is_symlink():
            return _Entry(entry.name, path, is_link=True)
        is_folder = entry.is_dir(follow_symlinks=False)
        return _Entry(
            entry.name,
            path,
            is_folder=is_folder,
            is_file=not is_folder and entry.is_file(follow_symlinks=False),
        )
    except OSError:
        # Gone meanwhile, or not for us to look at: it has a name and nothing else.
        return _Entry(entry.name, path)


def _skill_entry(entries: Sequence[_Entry]) -> _Entry | None:
    named = [entry for entry in entries if entry.name.lower() == "skill.md"]
    exact = [entry for entry in named if entry.name == "SKILL.md"]
    return next(iter(exact or named), None)


def _make_found(folder: _Place, skill: _Entry, entries: Sequence[_Entry]) -> FoundFile:
    others = [entry for entry in entries if entry is not skill]
    return FoundFile(
        path=skill.path,
        folder=folder.path,
        real=folder.real,
        resources=tuple(
            f"{other.name}/" if other.is_folder else other.name
            for other in others
            if not other.name.startswith(".") and not find_name_problem(other.name)
        ),
        has_sidecar=any(other.name == _AGENTS for other in others),
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


def _skills_first(folder: _Place) -> bool:
    return os.path.basename(folder.path) != "skills"


def read_sidecar(found: FoundFile) -> bytes | None:
    """Return the text of Codex's policy file, if the skill has one."""
    if not found.has_sidecar:
        return None
    try:
        content = read_real(os.path.join(found.real, _AGENTS), _OPENAI, _MAX_SIDECAR_BYTES)
    except ContainmentError:
        return _UNREADABLE
    if content is None:
        return None
    return content.data if isinstance(content, Content) else _UNREADABLE


def read_found(source: Source, found: FoundFile, limit: int) -> Content | Diagnostic | None:
    """Return the bytes of a file where it was found, the reason why there are none, or None.

    Whatever was checked is what is read: every step is taken by a handle and none through a link,
    so that a folder or file that was exchanged for a link since leads nowhere. Only a `SKILL.md`
    may be a link, to a file in its own folder.
    """
    folder, name = found.real, os.path.basename(found.path)
    if not found.is_skill_file:
        folder, name = os.path.split(found.real)
    hard_links = source.tier is Tier.BUNDLED
    try:
        return read_real(folder, name, limit, hard_links=hard_links)
    except ContainmentError:
        target = os.path.realpath(os.path.join(folder, name))
    if not (found.is_skill_file and is_inside(target, folder)):
        return refuse_link(source.tier, found.path, target)
    try:
        return read_real(*os.path.split(target), limit, hard_links=hard_links)
    except ContainmentError:
        return diagnose("unreadable", "cannot be read: it is a link that leads back or away again")


def make_document(source: Source, found: FoundFile, content: Content) -> Document:
    """Return what a parser is given of a file that was read."""
    return Document(
        source=source,
        path=found.path,
        folder=found.folder,
        content=content.data,
        is_skill_file=found.is_skill_file,
        resources=found.resources,
        real=found.real,
        sidecar=read_sidecar(found),
    )


_MAX_RESOURCES, _MAX_RESOURCE_DEPTH = 2_000, 8


def list_resources(skill: Skill) -> list[str]:
    """Return the files of `skill`, relative to its folder, without links and vendor folders."""
    found: list[str] = []
    if os.path.basename(skill.path).lower() != "skill.md":
        return found
    # Whoever reads one of them is told what stands in the way.
    with suppress(PathError), Root.open_real(skill.place) as root:
        _add_resources(root, "", 0, found)
    own = os.path.basename(skill.path)
    return [path for path in found[:_MAX_RESOURCES] if path != own]


def _add_resources(root: Root, folder: str, depth: int, found: list[str]) -> None:
    """Add the files of a folder, and then those of the folders in it."""
    inner: list[str] = []
    for name, state in root.list(folder):
        path = f"{folder}/{name}" if folder else name
        if is_hidden(name) or find_name_problem(name):
            continue
        if stat.S_ISREG(state.st_mode):
            found.append(path)
        elif is_folder(state) and not (name.startswith(".") or name in SKIPPED_FOLDERS):
            inner.append(path)
    for path in inner if depth < _MAX_RESOURCE_DEPTH else ():
        if len(found) >= _MAX_RESOURCES:
            return
        _add_resources(root, path, depth + 1, found)


_REFERENCES = ("references", "reference")
# They tell people about the folder, not the agent about the job.
_FOR_PEOPLE = ("readme", "license", "changelog", "contributing", "security")
_LARGEST, _MOST_ENTRIES = 1_000_000, 100_000


class ReferenceFiles:
    """Reads the reference files of skills where they were found."""

    def stamp(self, skill: Skill) -> str:
        """Return what changes when a reference file does; empty where there is none."""
        found = []
        # Whoever reads the skill is told what stands in the way.
        with suppress(PathError, OSError):
            for folder, name, state in _list_references(skill):
                path = os.path.relpath(os.path.join(folder.path, name), skill.place)
                found.append((path, state.st_size, state.st_mtime_ns))
        return repr(found) if found else ""

    def read(self, skill: Skill, most: int) -> str:
        """Return the text of the reference files, one after the other, `most` characters of it."""
        found = ""
        with suppress(PathError, OSError):
            for folder, name, _ in _list_references(skill):
                if len(found) >= most:
                    break
                # One that cannot be read leaves the others.
                with suppress(PathError, OSError):
                    handles.refuse_link(folder, name, name)
                    read = read_bounded(folder.at(name), _LARGEST, dir_fd=folder.fd)
                    if isinstance(read, Content):
                        found += f"\n{read.data.decode('utf-8', 'replace')}"
        return found[:most]


def _may_have(skill: Skill) -> bool:
    """True where what lies beside the page may be read: known since the folder was walked."""
    return any(
        name.rstrip("/") in _REFERENCES if name.endswith("/") else _is_reference(name)
        for name in skill.resources
    )


def _is_reference(name: str) -> bool:
    lower = name.lower()
    return lower.endswith(".md") and not lower.startswith(_FOR_PEOPLE) and lower != "skill.md"


def _list_references(skill: Skill) -> Iterator[tuple[Folder, str, os.stat_result]]:
    """Yield each file with the folder that it is in, by name."""
    if not _may_have(skill):
        return
    beside = {name.rstrip("/") for name in skill.resources}
    with ExitStack() as held:
        place = held.enter_context(hold_real(skill.place))
        inner = (name for name in _REFERENCES if name in beside)
        for folder in (place, *(held.enter_context(step(place, name, name)) for name in inner)):
            for name, state in folder.entries(_MOST_ENTRIES):
                if _is_reference(name) and state.st_size <= _LARGEST:
                    yield folder, name, state
