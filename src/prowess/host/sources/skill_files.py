"""What a path given to the scanner means: a skill, a file, a folder of skills, or an archive.

A folder that holds a `SKILL.md` is a skill with everything below it. A second `SKILL.md` inside
makes a skill of its own, too, but takes nothing out of the first: a planted file must not split a
skill into halves that look harmless alone.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from prowess.errors import ArchiveError, PathError
from prowess.host.files.archives_part import ArchiveLimits, read_archive
from prowess.host.files.read import is_path
from prowess.host.sources.discovery import SKIPPED_FOLDERS
from prowess.host.sources.skill_files_part import Gathered, gather, read_file
from prowess.runtime.scan import Target
from prowess.safety.intake.ledger import Limits
from prowess.safety.model import Handling, LedgerEntry, Profile
from prowess.skills import frontmatter
from prowess.skills.model import Skill, Tier
from prowess.skills.text import plain_name

_ARCHIVES = (".zip", ".skill", ".tar", ".tgz", ".tbz2", ".txz", ".tar.gz", ".tar.bz2", ".tar.xz")
_SKILL_FILE = "skill.md"
_MOST_FOLDERS, _DEEPEST = 20_000, 12
_LIMITS, _ARCHIVE_LIMITS = Limits(), ArchiveLimits()


class Kind(Enum):
    """How a place is read."""

    FOLDER = "folder"
    FILE = "file"
    ARCHIVE = "archive"
    LINK = "link"


@dataclass(frozen=True, slots=True)
class Place:
    """Something to scan that has not been read yet."""

    path: str
    kind: Kind = Kind.FOLDER
    profile: Profile = Profile.PACKAGE


def is_there(path: str) -> bool:
    """Return whether something of that name exists, a link to nothing included."""
    return bool(path) and is_path(path) and os.path.lexists(path)


def places(path: str, profile: Profile = Profile.PACKAGE) -> tuple[Place, ...]:
    """Return what there is to scan at `path`.

    Raises:
        PathError: nothing is there, or nothing that can be scanned.
    """
    if not is_there(path):
        raise PathError(path or "''", "does not exist: give a skill's folder, file or archive.")
    if os.path.isdir(path):
        found = tuple(_inside(os.path.abspath(path), profile))
        return found or (Place(os.path.abspath(path), Kind.FOLDER, profile),)
    if not os.path.isfile(path):
        raise PathError(path, "is neither a folder nor a regular file.")
    kind = Kind.ARCHIVE if path.lower().endswith(_ARCHIVES) else Kind.FILE
    return (Place(os.path.abspath(path), kind, profile),)


def place_of(skill: Skill) -> Place:
    """Return where a skill that was found is scanned."""
    profile = Profile.BUNDLED if skill.source.tier is Tier.BUNDLED else Profile.PACKAGE
    if os.path.basename(skill.path).lower() == _SKILL_FILE:
        return Place(skill.folder, Kind.FOLDER, profile)
    # A command or a rule is one file among others that are not its own.
    return Place(skill.path, Kind.FILE, profile)


def read(place: Place) -> Iterator[Target]:
    """Read what is to be scanned at a place; what cannot be read is a target that says why."""
    readers: Mapping[Kind, Callable[[Place], Iterable[Target]]] = {
        Kind.FOLDER: _folder,
        Kind.FILE: _file,
        Kind.ARCHIVE: _archive,
        Kind.LINK: _link,
    }
    try:
        yield from readers[place.kind](place)
    except (PathError, ArchiveError) as error:
        name = os.path.basename(place.path)
        yield Target(path=place.path, name=name, profile=place.profile, problem=_problem(error))


def _problem(error: PathError | ArchiveError) -> str:
    return str(error) if isinstance(error, ArchiveError) else error.problem.removesuffix(".")


def _inside(top: str, profile: Profile) -> Iterator[Place]:
    """Yield every folder with a SKILL.md, and every link to one, from the top down."""
    left = _MOST_FOLDERS
    closed: list[OSError] = []
    for base, folders, names in os.walk(top, onerror=closed.append):
        depth = os.path.relpath(base, top).count(os.sep) + (base != top)
        if any(name.lower() == _SKILL_FILE for name in names):
            yield Place(base, Kind.FOLDER, profile)
        paths = [os.path.join(base, name) for name in sorted(folders)]
        for path in paths:
            if os.path.islink(path) and _has_skill_file(path):
                yield Place(path, Kind.LINK, profile)
        left -= len(paths)
        if left < 0:
            raise PathError(top, f"has more than {_MOST_FOLDERS} folders: give a smaller one.")
        folders[:] = [os.path.basename(path) for path in paths if _is_entered(path, depth)]
    # A folder that does not open may hold a skill: reading it says so.
    for error in closed:
        if isinstance(error.filename, str) and error.filename != top:
            yield Place(error.filename, Kind.FOLDER, profile)


def _is_entered(path: str, depth: int) -> bool:
    name = os.path.basename(path)
    vendored = name == ".git" or name in SKIPPED_FOLDERS
    return depth < _DEEPEST and not vendored and not os.path.islink(path)


def _has_skill_file(folder: str) -> bool:
    try:
        return any(name.lower() == _SKILL_FILE for name in os.listdir(folder))
    except OSError:
        # Not for us to read: then it is no skill for anybody who runs as us.
        return False


def _folder(place: Place) -> Iterator[Target]:
    yield _target(place, gather(place.path, _LIMITS))


def _file(place: Place) -> Iterator[Target]:
    yield _target(place, read_file(place.path, _LIMITS))


def _link(place: Place) -> Iterator[Target]:
    reason = "is a link to a skill elsewhere, and links are not followed: name its target"
    entry = LedgerEntry(os.path.basename(place.path), Handling.REFUSED, 0, reason)
    yield _target(place, Gathered(refused=(entry,)))


def _archive(place: Place) -> Iterator[Target]:
    try:
        with open(place.path, "rb") as file:
            archive = read_archive(file, _ARCHIVE_LIMITS)
    except OSError as error:
        raise PathError(place.path, f"cannot be read: {error.strerror}.") from error
    files = {member.path: member.data for member in archive.members}
    for inner, part in _skills_of(files).items():
        shown = f"{place.path}!{inner}" if inner else place.path
        yield _target(Place(shown, place.kind, place.profile), Gathered(part))


def _skills_of(files: Mapping[str, bytes]) -> dict[str, dict[str, bytes]]:
    """Split what an archive holds into its skills; what belongs to none stays together."""
    heads = {os.path.dirname(path) for path in files if _is_skill_file(path)}
    tops = sorted(head for head in heads if not any(_is_below(head, other) for other in heads))
    if len(tops) <= 1:
        return {"": _without_wrapper(dict(files))}
    parts: dict[str, dict[str, bytes]] = {}
    for path, data in files.items():
        top = next((top for top in tops if _is_below(path, top)), "")
        parts.setdefault(top, {})[path[len(top) :].lstrip("/")] = data
    return dict(sorted(parts.items()))


def _is_skill_file(path: str) -> bool:
    return os.path.basename(path).lower() == _SKILL_FILE


def _is_below(path: str, folder: str) -> bool:
    return path != folder and (not folder or path.startswith(f"{folder}/"))


def _without_wrapper(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files without the one folder that most archives wrap everything in."""
    first = {path.partition("/")[0] for path in files}
    if len(first) != 1 or any("/" not in path for path in files):
        return files
    return {path.partition("/")[2]: data for path, data in files.items()}


def _target(place: Place, gathered: Gathered) -> Target:
    if not gathered.files and not gathered.refused:
        raise PathError(place.path, "holds no file to scan.")
    lost = [entry for entry in gathered.refused if entry.path.lower() == _SKILL_FILE]
    if place.kind is not Kind.LINK and (lost or not gathered.files):
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
