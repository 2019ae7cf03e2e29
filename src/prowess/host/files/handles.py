"""Single steps on folders by handle, never through a link: what `containment.Root` is made of.

Every function takes the folder it works in, and a name in it that is one step. Where the system has
no handles for folders, a folder is its real path and each step is checked before it is used. A file
is read bounded, regular, not through a link and never waiting; its stamp tells whether it has to be
read again.
"""

import errno
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from prowess.errors import ContainmentError, PathError, explain_failure
from prowess.safety.paths import shown
from prowess.skills.model import Diagnostic, diagnose

Stamp = tuple[int, ...]

_TIMES, _NUMBERS = 2, 4
_SETTLING_NS = 1_000_000_000


def stamp_file(path: str | int) -> Stamp:
    """Return what changes when a file or a folder does; empty where there is none.

    The time of the last status change too: it moves with permissions, and nobody can set it back.
    """
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def is_settled(stamps: Stamp) -> bool:
    """Return whether the last change lies so far back that a later one would show in the stamp.

    The clock of a file system is coarse: a second change in the same tick goes unseen.

    Args:
        stamps: the stamp of a file, or those of several, one behind the other.
    """
    times = [at for first in range(_TIMES) for at in stamps[first::_NUMBERS]]
    return bool(times) and time.time_ns() - max(times) > _SETTLING_NS


class Content(NamedTuple):
    """The bytes of a file."""

    data: bytes


def read_bounded(
    path: str, limit: int, *, hard_links: bool = True, dir_fd: int | None = None
) -> Content | Diagnostic | None:
    """Return the content of `path`, the reason why there is none, or None where it is gone."""
    try:
        handle = os.open(path, _READ, dir_fd=dir_fd)
    except FileNotFoundError:
        return None
    except OSError as error:
        return diagnose("unreadable", f"cannot be read: {error.strerror}", path=path)
    try:
        problem = _objection(path, os.fstat(handle), limit, hard_links=hard_links)
        return problem or _read(path, handle, limit)
    except OSError as error:
        return diagnose("unreadable", f"cannot be read: {error.strerror}", path=path)
    finally:
        os.close(handle)


def _objection(
    path: str, found: os.stat_result, limit: int, *, hard_links: bool
) -> Diagnostic | None:
    if not stat.S_ISREG(found.st_mode):
        return diagnose("not-a-file", "is not a regular file", path=path)
    if found.st_nlink > 1 and not hard_links:
        return diagnose("hard-link", f"has {found.st_nlink} hard links", path=path)
    if found.st_size > limit:
        return _too_large(path, limit)
    return None


def _read(path: str, handle: int, limit: int) -> Content | Diagnostic:
    data = read_handle(handle, limit + 1)
    # A file can grow while it is read, so the size is checked on what was read too.
    return Content(data) if len(data) <= limit else _too_large(path, limit)


def read_handle(handle: int, most: int) -> bytes:
    """Return the bytes of an open file, at most so many."""
    chunks, left = [], most
    while left > 0 and (chunk := os.read(handle, min(left, 1 << 18))):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)


def _too_large(path: str, limit: int) -> Diagnostic:
    return diagnose("FILE_TOO_LARGE", f"is larger than {limit} bytes", path=path)


def is_path(text: str) -> bool:
    """Return whether the system could look for a file of that name at all."""
    try:
        return "\0" not in text and bool(os.fsencode(text))
    except UnicodeEncodeError:
        return False


BY_HANDLE = {os.open, os.mkdir, os.stat, os.unlink, os.rmdir, os.rename} <= os.supports_dir_fd
_BASE = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
_FOLDER = os.O_RDONLY | _BASE | getattr(os, "O_DIRECTORY", 0)
# A folder above the root may be one that can be passed but not listed.
_PASSAGE = _FOLDER | getattr(os, "O_PATH", 0)
# A FIFO must not hang the reader, nor a link be followed after it was checked.
_READ = os.O_RDONLY | _BASE | getattr(os, "O_NONBLOCK", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BASE
_LINK_ERRORS = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)
_REPARSE_POINT = 0x400
_MAX_ROUNDS = 100_000


class Folder(NamedTuple):
    """A folder: by its handle, or where there are none by its real path."""

    fd: int | None
    path: str

    def at(self, name: str) -> str:
        """Return how to call `name`: relative to the handle, or by the whole path."""
        return os.path.join(self.path, name) if self.fd is None else name

    def lstat(self, name: str) -> os.stat_result:
        """Return the state of an entry, of a link its own."""
        return os.stat(self.at(name), dir_fd=self.fd, follow_symlinks=False)

    def entries(self, most: int | None = None) -> list[tuple[str, os.stat_result]]:
        """Return the entries by name with their own states."""
        found = []
        with os.scandir(self.path if self.fd is None else self.fd) as scan:
            for entry in scan:
                # It may be gone by now, which is as good as never seen.
                with suppress(FileNotFoundError):
                    found.append((entry.name, self.lstat(entry.name)))
                if most is not None and len(found) > most:
                    raise PathError(shown(self.path), f"has more than {most} entries.")
        return sorted(found, key=lambda entry: entry[0])

    def sync(self) -> None:
        """Make new and changed names last through a power cut."""
        if self.fd is not None:
            os.fsync(self.fd)


@contextmanager
def reporting(path: str, done: str, place: str = "") -> Iterator[None]:
    """Turn what the system says into an error that names the path, and the place of a full disk."""
    try:
        yield
    except FileNotFoundError as error:
        raise PathError(shown(path), f"cannot be {done}: it is not there.") from error
    except OSError as error:
        raise PathError(
            shown(path), f"cannot be {done}: {explain_failure(error, place)}."
        ) from error


def is_folder(state: os.stat_result) -> bool:
    """Return whether it is a folder, and not a link or a junction that looks like one."""
    return stat.S_ISDIR(state.st_mode) and not _is_link(state)


def open_real(real: str, *, create: bool) -> Folder:
    """Open the folder at a real path without following a link that has appeared in it since."""
    # Elsewhere a folder that cannot be listed cannot be passed by handle, so the path is opened as
    # a whole: only its last step is then safe from a link that appears in this moment.
    if not (BY_HANDLE and hasattr(os, "O_PATH")):
        if create:
            os.makedirs(real, 0o755, exist_ok=True)
        return _open_whole(real)
    passed = Folder(os.open("/", _PASSAGE), "/")
    for name in Path(real).parts[1:]:
        passed = _pass(passed, name, create=create)
    try:
        return Folder(os.open(".", _FOLDER, dir_fd=passed.fd), real)
    finally:
        _close(passed)


def _open_whole(real: str) -> Folder:
    if BY_HANDLE:
        return Folder(os.open(real, _FOLDER), real)
    if not stat.S_ISDIR(os.stat(real).st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), real)
    return Folder(None, real)


def _pass(folder: Folder, name: str, *, create: bool) -> Folder:
    """Go one folder down and let go of the one above."""
    try:
        if create:
            with suppress(FileExistsError):
                os.mkdir(name, 0o755, dir_fd=folder.fd)
        path = os.path.join(folder.path, name)
        return Folder(os.open(name, _PASSAGE, dir_fd=folder.fd), path)
    finally:
        _close(folder)


@contextmanager
def hold_real(real: str) -> Iterator[Folder]:
    """Hold the folder at a real path, through no link that has appeared in it since.

    Raises:
        ContainmentError: a link, or something else than a folder, has one of its names by now.
        OSError: there is none, or it cannot be opened.
    """
    try:
        held = open_real(real, create=False)
    except OSError as error:
        if error.errno in _LINK_ERRORS:
            problem = "is or lies behind a link: put a real folder in its place."
            raise ContainmentError(shown(real), problem) from error
        raise
    try:
        yield held
    finally:
        _close(held)


@contextmanager
def step(folder: Folder, name: str, relative: str) -> Iterator[Folder]:
    """Hold the folder `name` inside `folder`."""
    inner = _enter(folder, name, relative)
    try:
        yield inner
    finally:
        _close(inner)


def _enter(folder: Folder, name: str, relative: str) -> Folder:
    path = os.path.join(folder.path, name)
    with reporting(relative, "opened"):
        if folder.fd is not None:
            try:
                return Folder(os.open(name, _FOLDER, dir_fd=folder.fd), path)
            except OSError as error:
                if error.errno in _LINK_ERRORS:
                    refuse_link(folder, name, relative)
                raise
        refuse_link(folder, name, relative)
        if not os.path.isdir(path):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    if Path(os.path.realpath(path)).parent != Path(folder.path):
        raise ContainmentError(shown(relative), "is reached through a link.")
    return Folder(None, path)


def _close(folder: Folder) -> None:
    if folder.fd is not None:
        os.close(folder.fd)


def _is_link(state: os.stat_result) -> bool:
    junction = getattr(state, "st_file_attributes", 0) & _REPARSE_POINT
    return stat.S_ISLNK(state.st_mode) or bool(junction)


def refuse_link(folder: Folder, name: str, relative: str) -> None:
    """Refuse an entry that is a link.

    Raises:
        ContainmentError: it is one.
    """
    if _is_link(folder.lstat(name)):
        problem = "is or lies behind a link: put a real file or folder in its place."
        raise ContainmentError(shown(relative), problem)


def refuse_occupied(folder: Folder, name: str, relative: str, *, exclusive: bool) -> None:
    """Refuse to write where a link or a folder is, and with `exclusive` where anything is.

    Raises:
        PathError: the place is taken.
    """
    try:
        state = folder.lstat(name)
    except FileNotFoundError:
        return
    refuse_link(folder, name, relative)
    if exclusive:
        raise PathError(shown(relative), "exists already: remove it or choose another name.")
    if not stat.S_ISREG(state.st_mode):
        raise PathError(shown(relative), "is not a regular file, so it is not replaced.")


def make(folder: Folder, name: str, mode: int = 0o755) -> None:
    """Make a folder where there is none; whether it is one is found out by the next step."""
    try:
        os.mkdir(folder.at(name), mode, dir_fd=folder.fd)
    except FileExistsError:
        return
    folder.sync()


def open_file(folder: Folder, name: str, relative: str) -> int:
    """Return the handle of a file to read."""
    try:
        fd = os.open(folder.at(name), _READ, dir_fd=folder.fd)
    except OSError as error:
        if error.errno in _LINK_ERRORS:
            refuse_link(folder, name, relative)
        raise
    # Without handles a link may have appeared since the check: what was opened must lie there.
    if folder.fd is None and not _is_same(os.fstat(fd), folder.lstat(name)):
        os.close(fd)
        raise ContainmentError(shown(relative), "was swapped while it was opened: try again.")
    return fd


def read_all(relative: str, fd: int, limit: int) -> bytes:
    """Return all bytes of an open regular file.

    Raises:
        PathError: it is something else, or has more than `limit`.
    """
    problem = _objection(relative, os.fstat(fd), limit, hard_links=True)
    found = problem or _read(relative, fd, limit)
    if isinstance(found, Content):
        return found.data
    raise PathError(shown(relative), f"{found.message}.")


@contextmanager
def new_file(folder: Folder, name: str, data: bytes, mode: int) -> Iterator[os.stat_result]:
    """Write a file that did not exist, down to the disk, and hold it open.

    As long as it is held, no other file can be given its number. Where there are no handles for
    folders a file that is open cannot be renamed either, so there it is closed at once.
    """
    fd = os.open(folder.at(name), _CREATE, mode, dir_fd=folder.fd)
    with ExitStack() as stack:
        stack.callback(os.close, fd)
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(fd, rest) :]
        os.fsync(fd)
        state = os.fstat(fd)
        if folder.fd is None:
            stack.close()
        yield state


def publish(folder: Folder, temporary: str, name: str, *, exclusive: bool) -> None:
    """Give a finished file its name in one step; with `exclusive` only where there is none."""
    old, new = folder.at(temporary), folder.at(name)
    if exclusive:
        try:
            os.link(old, new, src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
        except FileExistsError:
            raise
        except OSError:
            # A file system without hard links: claim the name first, then take it.
            os.close(os.open(new, _CREATE, 0o600, dir_fd=folder.fd))
        else:
            return
    os.replace(old, new, src_dir_fd=folder.fd, dst_dir_fd=folder.fd)


def check_published(folder: Folder, name: str, written: os.stat_result, relative: str) -> None:
    """Refuse to call it written if something else has the name now.

    Raises:
        ContainmentError: the file was swapped on its way.
    """
    if not _is_same(folder.lstat(name), written):
        raise ContainmentError(shown(relative), "was swapped while it was written: look at it.")


def is_taken(folder: Folder, name: str, moving: os.stat_result) -> bool:
    """Return whether something else than what is moved has that name already."""
    try:
        found = folder.lstat(name)
    except FileNotFoundError:
        return False
    return not _is_same(found, moving)


def check_same(folder: Folder, state: os.stat_result, relative: str) -> None:
    """Refuse a folder that is another one than was looked at.

    Raises:
        ContainmentError: it is.
    """
    now = os.stat(folder.path) if folder.fd is None else os.fstat(folder.fd)
    if not _is_same(now, state):
        raise ContainmentError(shown(relative), "was swapped meanwhile: look at it again.")


def _is_same(one: os.stat_result, other: os.stat_result) -> bool:
    return _identity(one) == _identity(other)


def _identity(state: os.stat_result) -> tuple[int, int, int]:
    # The number of a file that is gone is given to the next one, which may be of another kind.
    return state.st_dev, state.st_ino, stat.S_IFMT(state.st_mode)


def remove_contents(top: Folder, device: int, relative: str) -> None:
    """Remove all that is in a folder.

    Folders inside are lifted to the top one by one instead of going down into them: two handles are
    enough, however deep the tree was made.
    """
    prefix, count = f".prowess-{secrets.token_hex(8)}-", 0
    _unlock(top)
    for _ in range(_MAX_ROUNDS):
        found = top.entries()
        if not found:
            return
        for name, state in found:
            if not is_folder(state):
                os.unlink(top.at(name), dir_fd=top.fd)
                continue
            if state.st_dev != device:
                problem = "holds another file system: unmount it first."
                raise ContainmentError(shown(relative), problem)
            with step(top, name, relative) as inner:
                check_same(inner, state, relative)
                count = _lift(inner, top, prefix, count)
                remove_empty(top, name, state, relative)
    raise PathError(shown(relative), "keeps changing while it is removed: stop who writes there.")


def _unlock(folder: Folder) -> None:
    """Let its owner empty a folder that nobody may write: it is on its way out."""
    os.chmod(folder.path if folder.fd is None else folder.fd, stat.S_IRWXU)


def _lift(inner: Folder, top: Folder, prefix: str, count: int) -> int:
    _unlock(inner)
    for name, state in inner.entries():
        if is_folder(state):
            count += 1
            if not state.st_mode & stat.S_IWUSR:
                with step(inner, name, name) as locked:
                    _unlock(locked)
            lifted = top.at(f"{prefix}{count}")
            os.rename(inner.at(name), lifted, src_dir_fd=inner.fd, dst_dir_fd=top.fd)
        else:
            os.unlink(inner.at(name), dir_fd=inner.fd)
    return count


def remove_empty(folder: Folder, name: str, state: os.stat_result, relative: str) -> None:
    """Remove an empty folder if it is still the one that was looked at.

    Raises:
        ContainmentError: another one has its name by now.
    """
    if not _is_same(folder.lstat(name), state):
        raise ContainmentError(shown(relative), "was swapped meanwhile: look at it again.")
    os.rmdir(folder.at(name), dir_fd=folder.fd)


def is_inside(path: str, root: str) -> bool:
    """Return whether the resolved `path` is `root` or lies below it."""
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def read_real(
    folder: str, name: str, limit: int, *, hard_links: bool = True
) -> Content | Diagnostic | None:
    """Return the bytes of a file in a real folder, the reason why there are none, or None.

    Raises:
        ContainmentError: it is or lies behind a link.
    """
    try:
        with hold_real(folder) as held:
            refuse_link(held, name, name)
            return read_bounded(held.at(name), limit, hard_links=hard_links, dir_fd=held.fd)
    except FileNotFoundError:
        return None
    except OSError as error:
        return diagnose("unreadable", f"cannot be read: {error.strerror}")
