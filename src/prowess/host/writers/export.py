"""What is copied of a skill, and where exported skills are written: a folder, or one `.skill` file.

A copy holds plain files under portable names. A link, a pipe or a name that some system cannot have
is left out and named; whatever makes the skill too large, too deep or unreadable refuses it as a
whole, since half a skill misleads.

A build appears in one step or not at all. It replaces something only on request, and then only what
is a skill itself: a wrong path must not cost anybody a folder of something else. Links are never
written through.
"""

import io
import os
import stat
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field

from prowess.errors import ArchiveError, PathError
from prowess.host.files.archives import read_archive
from prowess.host.files.containment import Root
from prowess.host.files.handles import is_folder
from prowess.host.files.transaction import exchange, move, staging, write_files
from prowess.host.sources.roots import expand_path
from prowess.host.sources.skill_files import locate_skill, read_file, read_targets
from prowess.runtime.harness.export import SKILL_FILE, Build, Placed
from prowess.runtime.scan import Target
from prowess.runtime.sharing.sync import CopiedFile, LeftOutFile, SkillCopy
from prowess.safety.intake.ledger import ScanLimits
from prowess.safety.paths import PathRefused, collision_key, is_hidden, segments, shown
from prowess.skills.harness.rules import is_skill_file
from prowess.skills.model import Skill

ARCHIVE_ENDINGS = (".skill", ".zip")
_PLAIN, _EXECUTABLE = 0o644, 0o755
# The first day that a zip can name: the same skill always makes the same file.
_NO_TIME = (1980, 1, 1, 0, 0, 0)
_UNIX = 3
_MAX_DEPTH, _MAX_FILES = 16, 4_000
_SKIPPED = frozenset((".git", "node_modules"))
_ENTRIES_PER_FILE = 10
_DEFAULT = ScanLimits()


class SkillFolders:
    """Reads the folders of skills."""

    def __init__(self, limits: ScanLimits = _DEFAULT) -> None:
        self._limits = limits

    def read(self, skill: Skill) -> SkillCopy:
        """Return what is copied of a skill."""
        with Root.open_real(skill.place) as root:
            walker = _CopyWalker(root, self._limits)
            walker.enter("")
        own = os.path.basename(skill.path)
        for left in walker.left_out:
            if left.path.lower() == SKILL_FILE.lower():
                raise PathError(shown(skill.path), f"{left.reason}: put a real file in its place.")
        if own not in walker.files:
            raise PathError(shown(skill.path), "is not there any more.")
        return SkillCopy(walker.files, tuple(walker.left_out))

    def whole(self, skill: Skill) -> Target:
        """Return everything in a skill's folder, as a person scans it."""
        return next(read_targets(locate_skill(skill)))


@dataclass(slots=True)
class _CopyWalker:
    """Goes through one skill, in the order of names."""

    root: Root
    limits: ScanLimits
    files: dict[str, CopiedFile] = field(default_factory=dict)
    left_out: list[LeftOutFile] = field(default_factory=list)
    bytes_read: int = 0
    entries_seen: int = 0

    def enter(self, folder: str) -> None:
        """Take all that a folder holds."""
        spelled: dict[str, str] = {}
        for name, state in self.root.list(folder):
            self.count()
            # Whatever its case: some systems take `.GIT` for a repository, hooks and all.
            if collision_key(name) in _SKIPPED or is_hidden(collision_key(name)):
                continue
            path = f"{folder}/{name}" if folder else name
            reason = _refuse(path, state)
            first = spelled.setdefault(collision_key(name), name)
            if not reason and first != name:
                reason = f"is the same file as {shown(first)} on some systems"
            if reason:
                self.left_out.append(LeftOutFile(shown(path), reason))
            elif is_folder(state):
                self.enter(path)
            else:
                self.read(path, state)

    def count(self) -> None:
        """Refuse a skill that would take too long to walk through."""
        self.entries_seen += 1
        most = self.limits.files * _ENTRIES_PER_FILE
        if self.entries_seen > most:
            raise PathError(shown(str(self.root.path)), f"has more than {most} entries.")

    def read(self, path: str, state: os.stat_result) -> None:
        here = shown(str(self.root.path))
        if len(self.files) >= self.limits.files:
            raise PathError(here, f"has more than {self.limits.files} files.")
        content = self.root.read(path, self.limits.file_bytes)
        self.bytes_read += len(content)
        if self.bytes_read > self.limits.total_bytes:
            raise PathError(here, f"is larger than {self.limits.total_bytes} bytes.")
        self.files[path] = CopiedFile(content, bool(state.st_mode & stat.S_IXUSR))


def _refuse(path: str, state: os.stat_result) -> str:
    """Return why an entry is left out; empty where it is taken.

    Raises:
        PathError: it lies too deep.
    """
    plain = stat.S_ISREG(state.st_mode)
    if not plain and not is_folder(state):
        linked = stat.S_ISLNK(state.st_mode) or stat.S_ISDIR(state.st_mode)
        return "is a link" if linked else "is not a regular file"
    try:
        segments(path)
    except PathRefused as error:
        if error.reason == "deep":
            raise PathError(shown(path), error.problem) from error
        return error.problem.removesuffix(".")
    return ""


class SkillMaterial(SkillFolders):
    """Reads skills to export: folders, and single texts such as commands and rules."""

    def read(self, skill: Skill) -> SkillCopy:
        """Return the files of a skill."""
        if is_skill_file(skill):
            return super().read(skill)
        found = read_file(skill.path, ScanLimits(), skill.place).files
        return SkillCopy({path: CopiedFile(content) for path, content in found.items()})


class ExportFolders:
    """Writes builds where a person says."""

    def __init__(self, home: str, current: str) -> None:
        self._home, self._current = home, current

    def to_folder(
        self, place: str, build: Build, source: str, *, force: bool
    ) -> tuple[str, Placed]:
        """Write a build as a folder below `place`, and return where it is."""
        parent = self._expand(place)
        target = os.path.join(os.path.realpath(parent), build.name)
        _refuse_overlap(target, os.path.realpath(source))
        with Root.open(parent, create=True) as root:
            state = dict(root.list()).get(build.name)
            if state is None:
                return target, _place(root, build, is_there=False)
            if not is_folder(state):
                raise PathError(shown(target), "is a file or a link: move it away first.")
            with root.inside(build.name) as old:
                if _is_same(old, build.files):
                    return target, Placed.UNCHANGED
                _refuse_stranger(old, target, force=force)
            return target, _place(root, build, is_there=True)

    def to_archive(
        self, place: str, build: Build, source: str, *, force: bool
    ) -> tuple[str, Placed]:
        """Write a build as one `.skill` file, and return where it is."""
        path = self._expand(place)
        folder, name = os.path.split(path)
        if not name.lower().endswith(ARCHIVE_ENDINGS):
            endings = " or ".join(ARCHIVE_ENDINGS)
            raise PathError(shown(path), f"does not end in {endings}: name the file so.")
        # The next archive would hold this one.
        _refuse_overlap(os.path.join(os.path.realpath(folder), name), os.path.realpath(source))
        content = pack_build(build)
        with Root.open(folder, create=True) as root:
            is_there = root.exists(name)
            if is_there and _holds(root, name, content):
                return path, Placed.UNCHANGED
            if is_there and not force:
                raise PathError(shown(path), "exists already: give --force to replace it.")
            root.write(name, content, exclusive=not force)
        return path, Placed.REPLACED if is_there else Placed.ADDED

    def _expand(self, place: str) -> str:
        if not place or "\0" in place:
            raise PathError(shown(place) or "''", "is not a path: name a folder or a file.")
        return expand_path(place, self._home, self._current)


def pack_build(build: Build) -> bytes:
    """Return a build as a zip: the same bytes for the same files, whenever and wherever.

    Raises:
        PathError: it is larger than what we would take ourselves.
    """
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
        content = _zip(build, method)
        try:
            read_archive(io.BytesIO(content))
        except ArchiveError as error:
            # What packs too well looks like a bomb to whoever unpacks it: then it is not packed.
            problem = error
        else:
            return content
    raise PathError(shown(build.name), f"cannot be packed: {problem.problem}")


def _zip(build: Build, method: int) -> bytes:
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w", method) as archive:
        for path in sorted(build.files):
            file = build.files[path]
            inside = f"{build.name}/{path}" if build.name else path
            entry = zipfile.ZipInfo(inside, _NO_TIME)
            entry.create_system, entry.compress_type = _UNIX, method
            mode = _EXECUTABLE if file.executable else _PLAIN
            entry.external_attr = (stat.S_IFREG | mode) << 16
            archive.writestr(entry, file.content)
    return found.getvalue()


def _refuse_overlap(target: str, source: str) -> None:
    inside = f"{target}{os.sep}".startswith(f"{source}{os.sep}")
    around = f"{source}{os.sep}".startswith(f"{target}{os.sep}")
    if inside or around:
        problem = "is where the skill itself lies: choose another folder."
        raise PathError(shown(target), problem)


def _refuse_stranger(old: Root, target: str, *, force: bool) -> None:
    names = {name.lower() for name, _ in old.list()}
    if SKILL_FILE.lower() not in names:
        raise PathError(shown(target), "is a folder that holds no skill: choose another place.")
    if not force:
        raise PathError(shown(target), "holds another skill already: give --force to replace it.")


def _place(root: Root, build: Build, *, is_there: bool) -> Placed:
    """Write a build where nobody looks, then let it take its place in one step."""
    with staging(root) as folder:
        ready, spare = f"{folder}/{build.name}", f"{folder}/spare"
        write_files(root, ready, build.files)
        if is_there:
            exchange(root, ready, build.name, spare)
        else:
            move(root, ready, build.name)
    return Placed.REPLACED if is_there else Placed.ADDED


def _is_same(old: Root, files: Mapping[str, CopiedFile]) -> bool:
    try:
        entries = dict(old.walk(max_files=_MAX_FILES, max_depth=_MAX_DEPTH))
        return entries.keys() == files.keys() and all(
            stat.S_ISREG(entries[path].st_mode)
            and bool(entries[path].st_mode & stat.S_IXUSR) is file.executable
            and _holds(old, path, file.content)
            for path, file in files.items()
        )
    except PathError:
        # Too much of it, or not for us to read: in any case it is not what we would write.
        return False


def _holds(root: Root, path: str, content: bytes) -> bool:
    try:
        return root.read(path, len(content)) == content
    except PathError:
        # Longer, a link or a folder: something else.
        return False
