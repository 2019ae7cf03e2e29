"""The files of skills as bytes: for the scanner, for agents and people.

A path given to the scanner is a skill, a file, a folder of skills, or an archive. A folder that
holds a `SKILL.md` is a skill with everything below it. A second `SKILL.md` inside makes a skill of
its own, too, but takes nothing out of the first: a planted file must not split a skill into halves
that look harmless alone. Nothing is followed and nothing is passed over: a link, a device or a file
that cannot be read becomes an entry of the ledger that says so, as does everything beyond the
limits; no name or ignore file keeps a file out.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path

from prowess.errors import ArchiveError, PathError
from prowess.host.files.archives import ArchiveLimits, read_archive
from prowess.host.files.containment import Root
from prowess.host.files.handles import (
    Folder,
    hold_real,
    is_folder,
    is_path,
    open_file,
    read_handle,
    step,
)
from prowess.runtime.ports import Scan
from prowess.runtime.scan import Target
from prowess.safety.intake.ledger import ScanLimits
from prowess.safety.model import Handling, LedgerEntry, Profile
from prowess.safety.paths import is_hidden, shown
from prowess.skills import frontmatter
from prowess.skills.model import (
    SKIPPED_FOLDERS,
    Diagnostic,
    RootKind,
    Severity,
    Skill,
    Source,
    Tier,
)
from prowess.skills.text import plain_name

_MOST_ENTRIES = 20_000
# Of a repository's insides these take effect by themselves; the rest is its history.
_GIT = ".git"
_GIT_FILES = frozenset(("config", "config.worktree", "attributes"))
_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISDIR, "a folder that is reached through a link"),
)


@dataclass(frozen=True, slots=True)
class Gathered:
    """The files of a skill by their paths inside it, and what became of all others."""

    files: dict[str, bytes] = field(default_factory=dict)
    # Not read: each is a finding.
    refused: tuple[LedgerEntry, ...] = ()
    # Not read and no finding: what belongs to the history of a repository.
    noted: tuple[LedgerEntry, ...] = ()


def gather(folder: str, limits: ScanLimits, real: str = "") -> Gathered:
    """Read every file below `folder`, where it was found to be, else where it leads now.

    Raises:
        PathError: the folder itself cannot be read.
        ContainmentError: a link has taken the place where it was found.
    """
    walker = _Walker(limits)
    try:
        with hold_real(real or os.path.realpath(folder)) as top:
            walker.enter(top, "", 0)
    except OSError as error:
        raise PathError(folder, f"cannot be read: {error.strerror}.") from error
    return walker.result()


def read_file(path: str, limits: ScanLimits, real: str = "") -> Gathered:
    """Read one file as a skill of its own, where it was found to be, else where it leads now.

    Raises:
        PathError: it cannot be read.
        ContainmentError: a link has taken the place where it was found.
    """
    folder, name = os.path.split(real or os.path.realpath(path))
    try:
        with hold_real(folder) as held:
            handle = open_file(held, name, path)
            try:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    raise PathError(path, "is not a regular file.")
                data = read_handle(handle, limits.file_bytes + 1)
            finally:
                os.close(handle)
    except OSError as error:
        raise PathError(path, f"cannot be read: {error.strerror}.") from error
    return Gathered({os.path.basename(path): data})


@dataclass(slots=True)
class _Walker:
    """Goes through one skill, in the order of names."""

    limits: ScanLimits
    files: dict[str, bytes] = field(default_factory=dict)
    refused: list[LedgerEntry] = field(default_factory=list)
    bytes_read: int = 0
    entries_seen: int = 0
    history_files: int = 0
    history_bytes: int = 0
    # The skill's own text where that is a link, and what it leads to.
    linked: tuple[str, str] = ("", "")

    def enter(self, folder: Folder, prefix: str, depth: int) -> None:
        try:
            entries = folder.entries(_MOST_ENTRIES)
        except OSError as error:
            self.refuse(prefix.removesuffix("/"), 0, f"cannot be listed: {error.strerror}")
            return
        except PathError as error:
            self.refuse(prefix.removesuffix("/"), 0, error.problem.removesuffix("."))
            return
        for name, state in entries:
            if self.is_full(prefix + name):
                return
            self.entries_seen += 1
            try:
                self.take(folder, name, prefix, state, depth)
            except PathError as error:
                self.refuse(prefix + name, 0, error.problem.removesuffix("."))
            except OSError as error:
                self.refuse(prefix + name, 0, f"cannot be read: {error.strerror}")

    def is_full(self, path: str) -> bool:
        """Return whether the skill has more entries than are read; the first left out is named."""
        if self.entries_seen == _MOST_ENTRIES:
            self.refuse(path, 0, f"more than {_MOST_ENTRIES} entries: this and the rest is unread")
            self.entries_seen += 1
        return self.entries_seen > _MOST_ENTRIES

    def take(
        self, folder: Folder, name: str, prefix: str, state: os.stat_result, depth: int
    ) -> None:
        """Take one entry: go into a folder, read a file, name anything else."""
        path = prefix + name
        if stat.S_ISLNK(state.st_mode):
            self.refuse(path, 0, _link(folder, name))
            if path.lower() == _SKILL_FILE:
                self.linked = path, os.readlink(folder.at(name), dir_fd=folder.fd)
        elif is_folder(state):
            if depth >= self.limits.depth:
                self.refuse(path, 0, f"lies deeper than {self.limits.depth} folders")
                return
            with step(folder, name, path) as inner:
                self.enter(inner, f"{path}/", depth + 1)
        elif not stat.S_ISREG(state.st_mode):
            self.refuse(path, 0, f"is {_kind(state.st_mode)}, not a file")
        elif _is_history(path):
            self.history_files += 1
            self.history_bytes += state.st_size
        else:
            self.read(folder, name, path, state.st_size)

    def read(self, folder: Folder, name: str, path: str, size: int) -> None:
        """Read one file, at most one byte more than the scanner takes."""
        if len(self.files) >= self.limits.files:
            self.refuse(path, size, f"the skill has more than {self.limits.files} files")
            return
        if self.bytes_read > self.limits.total_bytes:
            self.refuse(path, size, f"the skill is larger than {self.limits.total_bytes} bytes")
            return
        handle = open_file(folder, name, path)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                self.refuse(path, 0, "was swapped while it was opened")
                return
            data = read_handle(handle, self.limits.file_bytes + 1)
        finally:
            os.close(handle)
        self.bytes_read += len(data)
        self.files[path] = data

    def refuse(self, path: str, size: int, reason: str) -> None:
        """Name something that was not read."""
        self.refused.append(LedgerEntry(path or ".", Handling.REFUSED, size, reason))

    def result(self) -> Gathered:
        """Return what was gathered.

        A SKILL.md may be a link to a file of its own folder: that file was read, and is its text.
        """
        own, target = self.linked
        text = self.files.get(os.path.normpath(target).replace(os.sep, "/")) if own else None
        if text is not None:
            self.files[own] = text
            self.refused = [entry for entry in self.refused if entry.path != own]
        noted: tuple[LedgerEntry, ...] = ()
        if self.history_files:
            reason = (
                f"{self.history_files} files of a repository's history were not read;"
                " its hooks and its config were"
            )
            noted = (LedgerEntry(_GIT, Handling.HARMLESS, self.history_bytes, reason),)
        return Gathered(self.files, tuple(self.refused), noted)


def _is_history(path: str) -> bool:
    """Return whether a file only records what a repository was; hooks and config act."""
    parts = path.split("/")
    if _GIT not in parts[:-1]:
        return False
    inside = parts[parts.index(_GIT) + 1 :]
    return "hooks" not in inside[:-1] and inside[-1] not in _GIT_FILES


def _kind(mode: int) -> str:
    return next((kind for is_kind, kind in _KINDS if is_kind(mode)), "something unknown")


def _link(folder: Folder, name: str) -> str:
    """Say what a link leads to, without opening it."""
    try:
        target = os.readlink(folder.at(name), dir_fd=folder.fd)
        found = os.stat(folder.at(name), dir_fd=folder.fd)
    except FileNotFoundError:
        return "is a link to nothing"
    except OSError as error:
        return f"is a link that leads nowhere: {error.strerror}"
    plain = stat.S_ISREG(found.st_mode)
    kind = "a file" if plain else "a folder" if is_folder(found) else _kind(found.st_mode)
    away = " outside its folder" if os.path.isabs(target) or ".." in target.split("/") else ""
    return f"is a link to {kind}{away}, and links are not followed"


_ARCHIVES = (".zip", ".skill", ".tar", ".tgz", ".tbz2", ".txz", ".tar.gz", ".tar.bz2", ".tar.xz")
_SKILL_FILE = "skill.md"
_MOST_FOLDERS, _DEEPEST = 20_000, 12
_LIMITS, _ARCHIVE_LIMITS = ScanLimits(), ArchiveLimits()


class ScanPlaceKind(Enum):
    """How a place is read."""

    FOLDER = "folder"
    FILE = "file"
    ARCHIVE = "archive"
    LINK = "link"


@dataclass(frozen=True, slots=True)
class ScanPlace:
    """Something to scan that has not been read yet."""

    path: str
    kind: ScanPlaceKind = ScanPlaceKind.FOLDER
    profile: Profile = Profile.PACKAGE
    # Where a skill was found to be; empty for what a person names.
    real: str = ""
    # Why no agent can have it, whatever the scanner says; empty where one can.
    not_loaded: str = ""


def is_there(path: str) -> bool:
    """Return whether something of that name exists, a link to nothing included."""
    return bool(path) and is_path(path) and os.path.lexists(path)


def find_places(path: str, profile: Profile = Profile.PACKAGE) -> tuple[ScanPlace, ...]:
    """Return what there is to scan at `path`.

    Raises:
        PathError: nothing is there, or nothing that can be scanned.
    """
    if not is_there(path):
        raise PathError(path or "''", "does not exist: give a skill's folder, file or archive.")
    if os.path.isdir(path):
        found = tuple(_find_inside(os.path.abspath(path), profile))
        return found or (ScanPlace(os.path.abspath(path), ScanPlaceKind.FOLDER, profile),)
    if not os.path.isfile(path):
        raise PathError(path, "is neither a folder nor a regular file.")
    kind = ScanPlaceKind.ARCHIVE if path.lower().endswith(_ARCHIVES) else ScanPlaceKind.FILE
    return (ScanPlace(os.path.abspath(path), kind, profile),)


def locate_skill(skill: Skill) -> ScanPlace:
    """Return where a skill that was found is scanned."""
    profile = Profile.BUNDLED if skill.source.tier is Tier.BUNDLED else Profile.PACKAGE
    if os.path.basename(skill.path).lower() == _SKILL_FILE:
        return ScanPlace(skill.folder, ScanPlaceKind.FOLDER, profile, skill.place)
    # A command or a rule is one file among others that are not its own.
    return ScanPlace(skill.path, ScanPlaceKind.FILE, profile, skill.place)


def find_candidates(scan: Scan) -> tuple[ScanPlace, ...]:
    """Return everything in the sources that may be a skill, also what the loader does not take.

    Raises:
        PathError: a source has more folders than are looked into.
    """
    found = {place.path: place for place in map(locate_skill, scan.skills)}
    refused = {one.path: one for one in scan.diagnostics if one.severity is Severity.ERROR}
    places = (place for source in scan.sources for place in _in_source(source))
    for place in (*places, *filter(None, map(_place_refused, refused))):
        if place.path in found or any(is_below(place.path, other) for other in found):
            continue
        page = next((one for one in refused if os.path.dirname(one) == place.path), place.path)
        why = refused.get(place.path) or refused.get(page) or _find_unusable(place, scan)
        reason = "too deep, or beyond a limit" if why is None else f"{why.code}: {why.message}"
        found[place.path] = replace(place, not_loaded=reason)
    return tuple(found.values())


def _find_unusable(place: ScanPlace, scan: Scan) -> Diagnostic | None:
    """Return what keeps a folder out whose own name, or that of one above it, cannot be shown."""
    unusable = {one.path: one for one in scan.diagnostics if one.code == "name-unusable"}
    folders = (place.path, *map(str, Path(place.path).parents)) if unusable else ()
    split = map(os.path.split, folders)
    known = (unusable.get(os.path.join(folder, shown(name))) for folder, name in split)
    return next(filter(None, known), None)


def _in_source(source: Source) -> Iterator[ScanPlace]:
    """Yield the folders of skills in a root, but for those that no loader looks into."""
    if source.kind is not RootKind.SKILLS or not os.path.isdir(source.root):
        return
    profile = Profile.BUNDLED if source.tier is Tier.BUNDLED else Profile.PACKAGE
    for place in _find_inside(source.root, profile):
        parts = os.path.relpath(place.path, source.root).split(os.sep)
        if parts == ["."] or not any(part.startswith(".") for part in parts):
            yield place


def _place_refused(path: str) -> ScanPlace | None:
    """Return what to scan of a file or folder that the loader refuses; None for a whole root."""
    if os.path.basename(path).lower() == _SKILL_FILE and os.path.lexists(path):
        return ScanPlace(os.path.dirname(path))
    if os.path.isfile(path) and path.lower().endswith((".md", ".mdc")):
        return ScanPlace(path, ScanPlaceKind.FILE)
    return None


def read_targets(place: ScanPlace) -> Iterator[Target]:
    """Read what is to be scanned at a place; what cannot be read is a target that says why."""
    readers: Mapping[ScanPlaceKind, Callable[[ScanPlace], Iterable[Target]]] = {
        ScanPlaceKind.FOLDER: _folder,
        ScanPlaceKind.FILE: _file,
        ScanPlaceKind.ARCHIVE: _archive,
        ScanPlaceKind.LINK: _link_files,
    }
    try:
        for target in readers[place.kind](place):
            yield replace(target, not_loaded=place.not_loaded)
    except (PathError, ArchiveError) as error:
        name = os.path.basename(place.path)
        yield Target(
            path=place.path,
            name=name,
            profile=place.profile,
            problem=_problem(error),
            not_loaded=place.not_loaded,
        )


def _problem(error: PathError | ArchiveError) -> str:
    return str(error) if isinstance(error, ArchiveError) else error.problem.removesuffix(".")


def _find_inside(top: str, profile: Profile) -> Iterator[ScanPlace]:
    """Yield every folder with a SKILL.md, and every link to one, from the top down."""
    left = _MOST_FOLDERS
    closed: list[OSError] = []
    for base, folders, names in os.walk(top, onerror=closed.append):
        depth = os.path.relpath(base, top).count(os.sep) + (base != top)
        if any(name.lower() == _SKILL_FILE for name in names):
            yield ScanPlace(base, ScanPlaceKind.FOLDER, profile)
        paths = [os.path.join(base, name) for name in sorted(folders)]
        for path in paths:
            if os.path.islink(path) and _has_skill_file(path):
                yield ScanPlace(path, ScanPlaceKind.LINK, profile)
        left -= len(paths)
        if left < 0:
            raise PathError(top, f"has more than {_MOST_FOLDERS} folders: give a smaller one.")
        folders[:] = [os.path.basename(path) for path in paths if _is_entered(path, depth)]
    # A folder that does not open may hold a skill: reading it says so.
    for error in closed:
        if isinstance(error.filename, str) and error.filename != top:
            yield ScanPlace(error.filename, ScanPlaceKind.FOLDER, profile)


def _is_entered(path: str, depth: int) -> bool:
    name = os.path.basename(path)
    vendored = name == ".git" or name in SKIPPED_FOLDERS or is_hidden(name)
    return depth < _DEEPEST and not vendored and not os.path.islink(path)


def _has_skill_file(folder: str) -> bool:
    try:
        return any(name.lower() == _SKILL_FILE for name in os.listdir(folder))
    except OSError:
        # Not for us to read: then it is no skill for anybody who runs as us.
        return False


def _folder(place: ScanPlace) -> Iterator[Target]:
    yield _target(place, gather(place.path, _LIMITS, place.real))


def _file(place: ScanPlace) -> Iterator[Target]:
    yield _target(place, read_file(place.path, _LIMITS, place.real))


def _link_files(place: ScanPlace) -> Iterator[Target]:
    reason = "is a link to a skill elsewhere, and links are not followed: name its target"
    entry = LedgerEntry(os.path.basename(place.path), Handling.REFUSED, 0, reason)
    yield _target(place, Gathered(refused=(entry,)))


def _archive(place: ScanPlace) -> Iterator[Target]:
    try:
        with open(place.path, "rb") as file:
            archive = read_archive(file, _ARCHIVE_LIMITS)
    except OSError as error:
        raise PathError(place.path, f"cannot be read: {error.strerror}.") from error
    files = {member.path: member.content for member in archive.members}
    for inner, part in _skills_of(files).items():
        shown = f"{place.path}!{inner}" if inner else place.path
        yield _target(ScanPlace(shown, place.kind, place.profile), Gathered(part))


def _skills_of(files: Mapping[str, bytes]) -> dict[str, dict[str, bytes]]:
    """Split what an archive holds into its skills; what belongs to none stays together."""
    heads = {os.path.dirname(path) for path in files if _is_skill_file(path)}
    tops = sorted(head for head in heads if not any(is_below(head, other) for other in heads))
    if len(tops) <= 1:
        return {"": _without_wrapper(dict(files))}
    parts: dict[str, dict[str, bytes]] = {}
    for path, data in files.items():
        top = next((top for top in tops if is_below(path, top)), "")
        parts.setdefault(top, {})[path[len(top) :].lstrip("/")] = data
    return dict(sorted(parts.items()))


def _is_skill_file(path: str) -> bool:
    return os.path.basename(path).lower() == _SKILL_FILE


def is_below(path: str, folder: str) -> bool:
    """Return whether a path lies below a folder of the same archive or source."""
    return path != folder and (not folder or path.startswith(f"{folder}/"))


def _without_wrapper(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files without the one folder that most archives wrap everything in."""
    first = {path.partition("/")[0] for path in files}
    if len(first) != 1 or any("/" not in path for path in files):
        return files
    return {path.partition("/")[2]: data for path, data in files.items()}


def _target(place: ScanPlace, gathered: Gathered) -> Target:
    if not gathered.files and not gathered.refused:
        raise PathError(place.path, "holds no file to scan.")
    lost = [entry for entry in gathered.refused if entry.path.lower() == _SKILL_FILE]
    if place.kind is not ScanPlaceKind.LINK and (lost or not gathered.files):
        entry = (lost or list(gathered.refused))[0]
        raise PathError(place.path, f"cannot be judged: {entry.path} {entry.reason}.")
    return Target(
        path=place.path,
        name=_name(gathered.files) or os.path.basename(place.path),
        files=gathered.files,
        refused=gathered.refused,
        noted=gathered.noted,
        profile=place.profile,
    )


def _name(files: Mapping[str, bytes]) -> str:
    """Return the name that the skill gives itself."""
    path = next((path for path in sorted(files) if path.lower() == _SKILL_FILE), "")
    if not path or len(files[path]) > _LIMITS.file_bytes:
        return ""
    name = frontmatter.read(frontmatter.decode(files[path]).text).fields.get("name")
    return plain_name(name if isinstance(name, str) else "")


class SkillReading:
    """Reads skills where they were found."""

    def target(self, skill: Skill) -> Target:
        """Return all of a skill, for the scanner."""
        place = locate_skill(skill)
        # A folder is one skill here, whatever other skills lie below it.
        target = next(iter(read_targets(place)), None)
        if target is None:
            return Target(path=place.path, name=skill.name, problem="nothing is there any more")
        return target


def read_inside(skill: Skill, path: str, limit: int) -> bytes | None:
    """Return the bytes of a file of `skill`; None where there are more than `limit`.

    Raises:
        PathError: it is missing, or no regular file.
        ContainmentError: it is or lies behind a link.
    """
    parent, _, name = path.replace("\\", "/").rpartition("/")
    # A stand-alone text has no files but itself.
    is_text = locate_skill(skill).kind is ScanPlaceKind.FILE
    with Root.open_real(os.path.dirname(skill.place) if is_text else skill.place) as root:
        states = dict(root.list(parent))
        if name in states and states[name].st_size > limit:
            return None
        return root.read(path, limit)
