"""Unpacking an archive that a stranger packed: all of it, or nothing.

The file is read once, whole and bounded; its hash, its names and its members all come from those
bytes, so nobody can change it between check and use. All names are judged before any member is
unpacked, and all members before anything is written. An archive inside an archive stays a file.
"""

import hashlib
import io
import os
import secrets
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from prowess.errors import ArchiveError, PathError
from prowess.host.files import archives as archive_zip
from prowess.host.files import tar as archive_tar
from prowess.host.files.archive_entries import ArchiveLimits, Entry, Listing, refuse
from prowess.host.files.containment import TEMPORARY_PREFIX, Root
from prowess.safety.paths import PathRefused, check_all, shown

__all__ = ["Archive", "ArchiveLimits", "Member", "extract", "read_archive"]

DEFAULT_LIMITS = ArchiveLimits()
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_CHUNK = 1 << 20

Scan = Callable[[Mapping[str, bytes]], None]


@dataclass(frozen=True, slots=True)
class Member:
    """One file of an archive, at its place below the folder it is unpacked to."""

    path: str
    data: bytes
    executable: bool


@dataclass(frozen=True, slots=True)
class Archive:
    """The files of an archive in its own order, and the hash of the archive itself."""

    members: tuple[Member, ...]
    sha256: str


def read_archive(file: BinaryIO, limits: ArchiveLimits = DEFAULT_LIMITS, strip: int = 0) -> Archive:
    """Return all files of a zip or tar, without the first `strip` folders of each path.

    Raises:
        ArchiveError: the archive or a member breaks a rule.
    """
    blob = _read_bounded(file, limits.compressed)
    entries, confirm = _parse(blob, limits)
    paths = _paths(entries, limits, strip)
    _check_sizes(entries, len(blob), limits)
    confirm()
    members = [
        Member(path, entry.read(), entry.executable)
        for entry, path in zip(entries, paths, strict=True)
        if path and not entry.is_folder
    ]
    if not members:
        refuse("", "empty", "holds no file.")
    return Archive(tuple(members), hashlib.sha256(blob).hexdigest())


def extract(
    archive_path: Path | str,
    root: Root | Path,
    limits: ArchiveLimits = DEFAULT_LIMITS,
    strip: int = 0,
    *,
    scan: Scan | None = None,
) -> tuple[str, ...]:
    """Unpack an archive into a folder, over nothing that is there, and return the paths.

    A folder that does not exist yet appears in one step. `scan` gets the files before any of them
    is written and refuses them by raising.

    Raises:
        ArchiveError: the archive or a member breaks a rule.
        PathError: the archive cannot be read, or something is in the way.
    """
    with _open(archive_path) as file:
        archive = read_archive(file, limits, strip)
    if scan is not None:
        scan({member.path: member.data for member in archive.members})
    if isinstance(root, Root):
        _add(root, archive.members)
    elif os.path.lexists(root):
        with Root.open(root) as opened:
            _add(opened, archive.members)
    else:
        whole = Path(os.path.abspath(root))
        with Root.open(whole.parent, create=True) as opened:
            _place(opened, archive.members, {"": whole.name})
    return tuple(member.path for member in archive.members)


def _open(path: Path | str) -> BinaryIO:
    try:
        file = os.fdopen(os.open(path, _FLAGS), "rb")
    except (OSError, ValueError) as error:
        raise PathError(shown(str(path)), f"cannot be opened: {error}.") from error
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise PathError(shown(str(path)), "is not a regular file.")
    return file


def _read_bounded(file: BinaryIO, limit: int) -> bytes:
    found = io.BytesIO()
    while found.tell() <= limit and (chunk := file.read(_CHUNK)):
        found.write(chunk)
    if found.tell() > limit:
        refuse("", "compressed", f"is larger than {limit} bytes.")
    return found.getvalue()


def _parse(blob: bytes, limits: ArchiveLimits) -> Listing:
    if blob.startswith(archive_zip.MAGIC):
        return archive_zip.parse(blob, limits)
    if not archive_tar.is_tar(blob):
        refuse("", "archive-format", "is neither a zip nor a tar, or has data before it.")
    return archive_tar.parse(blob, limits)


def _paths(entries: Sequence[Entry], limits: ArchiveLimits, strip: int) -> list[str]:
    """Return where each entry goes, empty for a folder that is stripped away.

    The names are judged as they are in the archive and once more without their first folders:
    neither may hide what the other shows.
    """
    names = [_plain_name(entry) for entry in entries]
    _check_names(entries, names, limits)
    if not strip:
        return names
    stripped = ["/".join(name.split("/")[strip:]) for name in names]
    for entry, name in zip(entries, stripped, strict=True):
        if not name and not entry.is_folder:
            refuse(entry.name, "strip", f"does not lie inside {strip} folders.")
    _check_names(entries, stripped, limits)
    return stripped


def _plain_name(entry: Entry) -> str:
    """Return the name without the `./` that `tar -C folder .` writes and the slash of a folder."""
    if "\\" in entry.name:
        refuse(entry.name, "backslash", "has a backslash in its name.")
    name = entry.name.removesuffix("/") if entry.is_folder else entry.name
    if entry.is_folder and name == ".":
        return ""
    if not name:
        refuse(entry.name, "absolute", "is the top of the file system.")
    return name.removeprefix("./")


def _check_names(entries: Sequence[Entry], names: Sequence[str], limits: ArchiveLimits) -> None:
    pairs = [pair for pair in zip(entries, names, strict=True) if pair[1]]
    files = [name for entry, name in pairs if not entry.is_folder]
    folders = [name for entry, name in pairs if entry.is_folder]
    try:
        check_all(files, folders=folders, max_depth=limits.depth)
    except PathRefused as error:
        raise ArchiveError(shown(error.path), error.reason, error.problem) from error


def _check_sizes(entries: Sequence[Entry], compressed: int, limits: ArchiveLimits) -> None:
    total = 0
    for entry in entries:
        total += entry.size
        if entry.size > limits.per_file:
            refuse(entry.name, "per-file", f"is larger than {limits.per_file} bytes.")
        if entry.size > max(limits.small, limits.ratio * entry.packed):
            refuse(entry.name, "ratio", f"unpacks to more than {limits.ratio} times its size.")
    if total > limits.total:
        refuse("", "total", f"unpacks to more than {limits.total} bytes.")
    if total > max(limits.small, limits.ratio * compressed):
        refuse("", "ratio", f"unpacks to more than {limits.ratio} times its size.")


def _add(root: Root, members: Sequence[Member]) -> None:
    """Put the files into a folder that exists."""
    tops = dict.fromkeys(member.path.partition("/")[0] for member in members)
    for top in tops:
        if root.exists(top):
            raise PathError(shown(top), "exists already: remove it or choose another folder.")
    _place(root, members, {top: top for top in tops})


def _place(root: Root, members: Sequence[Member], moves: Mapping[str, str]) -> None:
    """Write the files where only we look, then move them into place; undo it all on a failure."""
    staging = f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}"
    root.make_folder(staging, mode=0o700)
    done: list[str] = []
    try:
        root.make_folder(f"{staging}/tree")
        with root.inside(f"{staging}/tree") as tree:
            for member in members:
                mode = 0o755 if member.executable else 0o644
                tree.write(member.path, member.data, mode=mode, exclusive=True)
        for source, target in moves.items():
            root.rename(f"{staging}/tree/{source}".removesuffix("/"), target)
            done.append(target)
    except BaseException:
        for target in done:
            with suppress(PathError):
                root.remove_tree(target)
        raise
    finally:
        root.remove_tree(staging)
