"""The trash of a state folder: each entry is a folder with what was removed and a record of it.

Things go there, and come back, by the handles of the folders around them, and only what was looked
at is moved. A link is moved itself and never followed. A move to another disk is a copy that is
private until it is whole.

A record is a file like any other: whoever restores believes nothing in it that leads elsewhere.
"""

import errno
import json
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from prowess.errors import ContainmentError, PathError
from prowess.host.files.containment import Root
from prowess.host.files.handles import BY_HANDLE
from prowess.host.files.transaction import hidden_name
from prowess.safety.paths import shown

# The first of the two decides where the second belongs.
MAIN, RECORD = "skill", "record.json"
_ID = re.compile(r"[0-9]{12}-[0-9a-f]{12}\Z")
_MAX_RECORD = 64 * 1024
_CHUNK = 1 << 20
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)


class RootPlace(NamedTuple):
    """Something in a root, by the way from there."""

    root: Root
    relative: str

    @property
    def parent(self) -> str:
        """The way to the folder around it."""
        return self.relative.rpartition("/")[0]

    @property
    def name(self) -> str:
        """Its name in that folder."""
        return self.relative.rpartition("/")[2]

    @property
    def path(self) -> Path:
        """The whole path, for messages."""
        return self.root.path / self.relative

    @property
    def state(self) -> os.stat_result | None:
        """The state of what is there, of a link its own; None where nothing is."""
        return self.root.state(self.relative)

    def hidden(self) -> "RootPlace":
        """Return a place beside it that nothing looks at."""
        return self._replace(relative=f"{self.parent}/{hidden_name()}".lstrip("/"))


def move(old: RootPlace, new: RootPlace, expected: os.stat_result) -> None:
    """Move what has the state `expected` from `old` to `new`, to another disk if need be.

    Raises:
        ContainmentError: something else was there when it was moved; it is where it was.
        PathError: it cannot be moved.
        OSError: the system refuses.
    """
    try:
        rename(old, new)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _move_over(old, new, expected)
    else:
        _check(old, new, expected)


def rename(old: RootPlace, new: RootPlace) -> None:
    """Move whatever is at `old` now, in one step; a link itself."""
    if not BY_HANDLE:
        os.rename(old.path, new.path)
        return
    with old.root.handle(old.parent) as source, new.root.handle(new.parent) as target:
        os.rename(old.name, new.name, src_dir_fd=source, dst_dir_fd=target)
        os.fsync(target)
        os.fsync(source)


def _check(old: RootPlace, new: RootPlace, expected: os.stat_result) -> None:
    """Move back what is not the folder that was looked at."""
    found = new.state
    if found is None or (found.st_dev, found.st_ino) != (expected.st_dev, expected.st_ino):
        if found is not None:
            rename(new, old)
        raise ContainmentError(shown(str(old.path)), "was swapped meanwhile: look at it again.")


def _move_over(old: RootPlace, new: RootPlace, expected: os.stat_result) -> None:
    """Copy to the other disk, then let the copy appear and the original go."""
    copy, leaving = new.hidden(), old.hidden()
    try:
        copy_over(old, copy)
        rename(old, leaving)
        _check(old, leaving, expected)
        rename(copy, new)
    except BaseException:
        if leaving.root.exists(leaving.relative) and not old.root.exists(old.relative):
            rename(leaving, old)
        if copy.root.exists(copy.relative):
            copy.root.remove_tree(copy.relative)
        raise
    leaving.root.remove_tree(leaving.relative)


def copy_over(
    old: RootPlace,
    new: RootPlace,
    skip: Callable[[str], bool] = lambda _path: False,
    *,
    by_link: bool = False,
) -> None:
    """Copy what is at `old` with its permissions, down to the disk.

    Args:
        old: what is copied.
        new: where to, and where nothing may be.
        skip: says of a path inside whether it is left out.
        by_link: whether files may be shared with the original.

    Raises:
        PathError: something in it is neither a file nor a folder nor a link.
        OSError: the system refuses.
    """
    if not BY_HANDLE:
        _copy_by_path(old.path, new.path, skip)
        return
    with old.root.handle(old.parent) as source, new.root.handle(new.parent) as target:
        mode = _copy_entry(source, old.name, target, new.name, by_link=by_link)
    if not stat.S_ISDIR(mode):
        return
    with old.root.handle(old.relative) as source, new.root.handle(new.relative) as target:
        for folder, folders, files, here in os.fwalk(".", dir_fd=source, follow_symlinks=False):
            base = "" if folder == "." else f"{folder.removeprefix('./')}/"
            folders[:] = [name for name in folders if not skip(base + name)]
            for name in (*folders, *(name for name in files if not skip(base + name))):
                _copy_entry(here, name, target, base + name, by_link=by_link)


def _copy_by_path(old: Path, new: Path, skip: Callable[[str], bool]) -> None:
    if old.is_symlink() or not old.is_dir():
        shutil.copy2(old, new, follow_symlinks=False)
    else:

        def left_out(folder: str, names: list[str]) -> list[str]:
            base = Path(folder).relative_to(old)
            return [name for name in names if skip((base / name).as_posix())]

        shutil.copytree(old, new, symlinks=True, ignore=left_out)


def _copy_entry(here: int, name: str, target: int, path: str, *, by_link: bool) -> int:
    """Copy one entry and return its mode.

    The copy is private until it is whole, so its path can be used as it is.
    """
    state = os.stat(name, dir_fd=here, follow_symlinks=False)
    if stat.S_ISDIR(state.st_mode):
        os.mkdir(path, stat.S_IRWXU, dir_fd=target)
        os.chmod(path, stat.S_IMODE(state.st_mode) | stat.S_IRWXU, dir_fd=target)
    elif stat.S_ISLNK(state.st_mode):
        os.symlink(os.readlink(name, dir_fd=here), path, dir_fd=target)
    elif not stat.S_ISREG(state.st_mode):
        raise PathError(shown(path), "is neither a file nor a folder: it cannot be copied.")
    elif by_link and _link_file(here, name, target, path):
        return state.st_mode
    else:
        _copy_file(here, name, target, path)
    if state.st_uid != os.geteuid():
        # Whose it was it stays, where whoever copies may say so.
        with suppress(PermissionError):
            os.chown(path, state.st_uid, state.st_gid, dir_fd=target, follow_symlinks=False)
    return state.st_mode


def _link_file(here: int, name: str, target: int, path: str) -> bool:
    try:
        os.link(name, path, src_dir_fd=here, dst_dir_fd=target, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links, or a file that may not have more of them.
        return False
    return True


def _copy_file(here: int, name: str, target: int, path: str) -> None:
    source = os.open(name, _READ, dir_fd=here)
    try:
        mode = stat.S_IMODE(os.fstat(source).st_mode) & 0o777
        written = os.open(path, _CREATE, stat.S_IRUSR | stat.S_IWUSR, dir_fd=target)
        try:
            while chunk := os.read(source, _CHUNK):
                rest = memoryview(chunk)
                while rest:
                    rest = rest[os.write(written, rest) :]
            os.fchmod(written, mode)
            os.fsync(written)
        finally:
            os.close(written)
    finally:
        os.close(source)


def new_id(now: float) -> str:
    """Return the name of a new entry; the order of names is that of time."""
    return f"{max(int(now), 0):012d}-{secrets.token_hex(6)}"


def list_ids(trash: Root) -> list[str]:
    """Return the names of all entries, oldest first."""
    return [name for name, _ in trash.list() if _ID.match(name)]


def is_entry(trash: Root, removed: str) -> bool:
    """Return whether there is an entry of that name, with a record."""
    return _ID.match(removed) is not None and trash.exists(f"{removed}/{RECORD}")


def read_record(trash: Root, removed: str) -> dict[str, Any]:
    """Return the record of an entry; an empty one where the file holds another value.

    Raises:
        PathError: there is none, or it is damaged.
    """
    if not is_entry(trash, removed):
        raise PathError(shown(removed), "is not in the trash.")
    try:
        found = json.loads(trash.read(f"{removed}/{RECORD}", _MAX_RECORD))
    except (ValueError, RecursionError) as error:
        raise PathError(removed, "has a damaged record: move it back by hand.") from error
    return found if isinstance(found, dict) else {}
