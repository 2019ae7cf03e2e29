"""Where exported skills are written: as a folder, or as one `.skill` file.

A build appears in one step or not at all. It replaces something only on request, and then only what
is a skill itself: a wrong path must not cost anybody a folder of something else. Links are never
written through.
"""

import io
import os
import stat
import zipfile
from collections.abc import Mapping

from prowess.errors import ArchiveError, PathError
from prowess.host.files.archives import read_archive
from prowess.host.files.containment import Root
from prowess.host.files.handles import is_folder
from prowess.host.files.transaction import exchange, move, staging, write_files
from prowess.host.sources import skill_files as scan_targets
from prowess.host.sources.roots import expand_path
from prowess.host.sources.skill_files import SkillFolders, read_file
from prowess.runtime.harness.export import SKILL_FILE, Build, Placed
from prowess.runtime.scan import Target
from prowess.runtime.sync import CopiedFile, SkillCopy
from prowess.safety.intake.ledger import ScanLimits
from prowess.safety.paths import shown
from prowess.skills.harness.rules import is_skill_file
from prowess.skills.model import Skill

ARCHIVE_ENDINGS = (".skill", ".zip")
_PLAIN, _EXECUTABLE = 0o644, 0o755
# The first day that a zip can name: the same skill always makes the same file.
_NO_TIME = (1980, 1, 1, 0, 0, 0)
_UNIX = 3
_MAX_DEPTH, _MAX_FILES = 16, 4_000


class SkillMaterial:
    """Reads skills to export: folders, and single texts such as commands and rules."""

    def __init__(self) -> None:
        self._folders = SkillFolders()

    def read(self, skill: Skill) -> SkillCopy:
        """Return the files of a skill."""
        if is_skill_file(skill):
            return self._folders.read(skill)
        found = read_file(skill.path, ScanLimits()).files
        return SkillCopy({path: CopiedFile(content) for path, content in found.items()})

    def whole(self, skill: Skill) -> Target:
        """Return everything that belongs to a skill, as a person scans it."""
        return next(scan_targets.read_targets(scan_targets.locate_skill(skill)))


class ExportFolders:
    """Writes builds where a person says."""

    def __init__(self, home: str, current: str) -> None:
        self._home, self._current = home, current

    def to_folder(
        self, place: str, build: Build, source: str, *, force: bool
    ) -> tuple[str, Placed]:
        """Write a build as a folder below `place`, and return where it is."""
        parent = self._whole(place)
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
        path = self._whole(place)
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

    def _whole(self, place: str) -> str:
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
            entry = zipfile.ZipInfo(f"{build.name}/{path}", _NO_TIME)
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
