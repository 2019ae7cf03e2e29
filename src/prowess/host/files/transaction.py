"""Changes to folders that happen as a whole: made ready where nobody looks, then moved in one step.

Linux and macOS can exchange two folders in one step, and move one only where nothing is. Elsewhere,
and on file systems that know neither, a look and then a plain rename stand for it: between the two
lies a moment, in which a killed process leaves the folder under its spare name.

Whatever a killed process leaves behind has a name that begins with `TEMPORARY_PREFIX`: nobody
copies or serves it, whoever holds the lock next removes it, and so does after a day whoever comes
across it, unless it is the only place where something still is.

The trash of a state folder is such a change: each entry is a folder with what was removed and a
record of it. Things go there, and come back, by the handles of the folders around them, and only
what was looked at is moved. A link is moved itself and never followed. A move to another disk is a
copy that is private until it is whole. A record is a file like any other: whoever restores believes
nothing in it that leads elsewhere.
"""

import ctypes
import errno
import json
import os
import re
import secrets
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from prowess.errors import ContainmentError, PathError
from prowess.host.files.containment import Root
from prowess.host.files.handles import BY_HANDLE, reporting
from prowess.safety.paths import TEMPORARY_PREFIX, shown

_PLAIN, _EXECUTABLE, _PRIVATE = 0o644, 0o755, 0o700
# A file that was being written, or a folder that was being filled.
_STRAY_FILE = re.compile(re.escape(TEMPORARY_PREFIX) + r"(?:[0-9a-f]{16}|[0-9a-z_]{8})\.tmp\Z")
_STRAY_FOLDER = re.compile(re.escape(TEMPORARY_PREFIX) + r"[0-9a-f]{16}\Z")


class NewFile(Protocol):
    """A file to write: its bytes, and whether it may be run."""

    @property
    def content(self) -> bytes:
        """All of it."""

    @property
    def executable(self) -> bool:
        """Whether it is a program."""


# No write takes so long: whoever began it was ended before it could clear away.
_STALE_S = 86_400
# What lies in a staging folder under these names may be the only copy of what is to be changed.
READY, SPARE = "ready", "spare"


def hidden_name() -> str:
    """Return a new name that nothing looks at."""
    return f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}"


def is_stray_file(name: str, state: os.stat_result) -> bool:
    """Return whether something is what a write leaves behind that was killed."""
    return stat.S_ISREG(state.st_mode) and _STRAY_FILE.match(name) is not None


def is_stray(name: str, state: os.stat_result) -> bool:
    """Return whether something is what a write, or a move to another disk, left behind."""
    return is_stray_file(name, state) or is_stray_folder(name)


def is_stray_folder(name: str) -> bool:
    """Return whether a name is one under which folders, or copies from other disks, wait."""
    return _STRAY_FOLDER.match(name) is not None


def sweep_stale(folder: str) -> None:
    """Remove what killed writers left in a folder more than a day ago, as far as that is allowed.

    What may be the only copy of something is left to whoever holds its lock.
    """
    before = time.time() - _STALE_S
    # Somebody else's folder, or one that cannot be written: there it stays, and nobody looks at it.
    with suppress(PathError), Root.open(folder) as root:
        for name, state in root.list():
            if state.st_mtime >= before or not is_stray(name, state):
                continue
            inner = {one for one, _ in root.list(name)} if stat.S_ISDIR(state.st_mode) else set()
            if inner.isdisjoint((READY, SPARE)):
                root.remove_tree(name)


@contextmanager
def staging(root: Root) -> Iterator[str]:
    """Hold a private folder inside `root`, and remove it with all that is left in it.

    Raises:
        PathError: it cannot be made or removed.
    """
    name = hidden_name()
    root.make_folder(name, mode=_PRIVATE)
    try:
        yield name
    finally:
        root.remove_tree(name)


def write_files(root: Root, folder: str, files: Mapping[str, NewFile]) -> None:
    """Make a folder and write files into it, down to the disk.

    Raises:
        PathError: one cannot be written, or is there already.
    """
    root.make_folder(folder)
    with root.inside(folder) as inner:
        for path, file in files.items():
            mode = _EXECUTABLE if file.executable else _PLAIN
            inner.write(path, file.content, mode=mode, exclusive=True)


# By system: the function that renames with conditions, and how it spells them.
_BY_SYSTEM: Mapping[str, tuple[str, Mapping[str, int]]] = {
    "linux": ("renameat2", {"no-replace": 1, "exchange": 2}),
    "darwin": ("renameatx_np", {"no-replace": 4, "exchange": 2}),
}
_UNKNOWN = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)


def move(root: Root, old: str, new: str) -> None:
    """Move what is at `old` to `new`, where nothing may be.

    Raises:
        PathError: the new place is taken, or it cannot be moved.
        ContainmentError: a link is in the way.
    """
    if not _rename_by_system(root, old, new, "no-replace"):
        root.rename(old, new)


def exchange(root: Root, one: str, other: str, spare: str) -> None:
    """Let two entries change places; `spare` is a free name that the other may pass through.

    Raises:
        PathError: one of them is missing or cannot be moved; both are where they were.
        ContainmentError: a link is in the way.
    """
    if swap(root, one, other):
        return
    root.rename(other, spare)
    try:
        root.rename(one, other)
    except PathError:
        root.rename(spare, other)
        raise
    root.rename(spare, one)


def swap(root: Root, one: str, other: str) -> bool:
    """Let two entries change places in one step; False where that cannot be done here.

    Raises:
        PathError: one of them is missing or cannot be moved; both are where they were.
        ContainmentError: a link is in the way.
    """
    try:
        return _rename_by_system(root, one, other, "exchange")
    except PathError as error:
        if is_other_disk(error):
            return False
        raise


def is_other_disk(error: PathError) -> bool:
    """Return whether something could not be moved because it lies on another disk or layer."""
    return isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.EXDEV


@cache
# A function of the system: whether there is one is known only at run time.
def _rename_function() -> Any:  # noqa: ANN401
    if not BY_HANDLE or sys.platform not in _BY_SYSTEM:
        return None
    return getattr(ctypes.CDLL(None, use_errno=True), _BY_SYSTEM[sys.platform][0], None)


def _rename_by_system(root: Root, old: str, new: str, how: str) -> bool:
    """Return whether the system knew how to do it.

    Raises:
        PathError: it knew, and could not.
    """
    call = _rename_function()
    if call is None:
        return False
    (old_parent, _, old_name), (new_parent, _, new_name) = old.rpartition("/"), new.rpartition("/")
    with root.handle(old_parent) as source, root.handle(new_parent) as target:
        names = os.fsencode(old_name), os.fsencode(new_name)
        flags = _BY_SYSTEM[sys.platform][1][how]
        if call(source, names[0], target, names[1], flags) != 0:
            return _report_failure(ctypes.get_errno(), old, new)
        with reporting(new, "moved"):
            os.fsync(target)
            os.fsync(source)
    return True


def _report_failure(number: int, old: str, new: str) -> bool:
    if number in _UNKNOWN:
        return False
    if number == errno.EEXIST:
        raise PathError(shown(new), "exists already: move it away.")
    with reporting(old, "moved"):
        raise OSError(number, os.strerror(number), old)
    return False


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


def move_place(old: RootPlace, new: RootPlace, expected: os.stat_result) -> None:
    """Move what has the state `expected` from `old` to `new`, to another disk if need be.

    Raises:
        ContainmentError: something else was there when it was moved; it is where it was.
        PathError: it cannot be moved.
        OSError: the system refuses.
    """
    try:
        rename_place(old, new)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _move_over(old, new, expected)
    else:
        _check(old, new, expected)


def rename_place(old: RootPlace, new: RootPlace) -> None:
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
            rename_place(new, old)
        raise ContainmentError(shown(str(old.path)), "was swapped meanwhile: look at it again.")


def _move_over(old: RootPlace, new: RootPlace, expected: os.stat_result) -> None:
    """Copy to the other disk, then let the copy appear and the original go."""
    copy, leaving = new.hidden(), old.hidden()
    try:
        copy_over(old, copy)
        rename_place(old, leaving)
        _check(old, leaving, expected)
        rename_place(copy, new)
    except BaseException:
        if leaving.root.exists(leaving.relative) and not old.root.exists(old.relative):
            rename_place(leaving, old)
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
