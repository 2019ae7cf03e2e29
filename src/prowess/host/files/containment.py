"""The one way into a folder for reading, writing, installing, removing and unpacking.

Three checks, each of which would do against an honest mistake: the name alone (no `..`, nothing
absolute), the real path of what exists already, and then every step by the handle of the folder
before it, without following a link. The last one holds against someone who swaps a folder for a
link in the middle: a handle stays with its folder, whatever its name leads to by then.

Where the system cannot open a file relative to a folder's handle (Windows), each step is checked by
its kind and its real path instead. That refuses links that lie there, but leaves a moment between
check and use, and `Root.handle` is refused.
"""

import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from prowess.errors import ContainmentError, PathError
from prowess.host.files import handles
from prowess.host.files.handles import Folder, is_path, reporting
from prowess.safety.paths import TEMPORARY_PREFIX, PathRefused, segments, shown

MAX_ENTRIES = 100_000

Hook = Callable[[str], None]
Entries = list[tuple[str, os.stat_result]]


def contain(root: Path | str, path: Path | str, *, strictly: bool = False) -> Path:
    """Return the real path of `path`, which is `root` or lies below it; `strictly` refuses `root`.

    A check for messages and early refusals: what it says can be out of date a moment later, so
    reading and writing go through `Root`.

    Raises:
        ContainmentError: the path leaves the root by its name or through a link.
    """
    text = _text(path)
    if not os.path.isabs(text) and ".." in text.replace("\\", "/").split("/"):
        raise ContainmentError(shown(text), "has a `..` step: give a path inside the folder.")
    base = os.path.abspath(_text(root))
    named = Path(os.path.normpath(os.path.join(base, text)))
    real_root = Path(os.path.realpath(base))
    if not (named.is_relative_to(base) or named.is_relative_to(real_root)):
        raise ContainmentError(shown(text), f"is not inside {shown(base)}.")
    real = Path(os.path.realpath(os.path.join(base, text)))
    if not real.is_relative_to(real_root):
        raise ContainmentError(shown(text), f"leads out of {shown(base)} through a link.")
    if strictly and real == real_root:
        raise ContainmentError(shown(text), "is the folder itself: name something inside it.")
    return real


class Root:
    """A folder held open by a handle; nothing reached through it can leave it.

    A name for something new must be portable (`safety.portable_paths`); what exists already may be
    called anything that is one plain step after the other.
    """

    def __init__(self, folder: Folder, hook: Hook | None = None) -> None:
        self._folder = folder
        self._hook = hook or _no_hook
        self.path = Path(folder.path)

    @classmethod
    @contextmanager
    def open(
        cls, path: Path | str, *, create: bool = False, swap_hook: Hook | None = None
    ) -> Iterator["Root"]:
        """Hold the folder `path` open; with `create`, make it and its parents where missing.

        `swap_hook` is called with the name of each step, so that a test can change the disk there.

        Raises:
            PathError: there is no such folder, or it cannot be opened.
        """
        real = os.path.realpath(_text(path))
        (swap_hook or _no_hook)("resolved")
        with ExitStack() as stack:
            with reporting(real, "opened"):
                folder = handles.open_real(real, create=create)
            if folder.fd is not None:
                stack.callback(os.close, folder.fd)
            yield cls(folder, swap_hook)

    @classmethod
    @contextmanager
    def open_real(cls, real: str) -> Iterator["Root"]:
        """Hold the folder at a path that was found to be real, whatever has its names by now.

        Raises:
            PathError: there is no such folder, or it cannot be opened.
            ContainmentError: a link has one of its names.
        """
        with ExitStack() as stack:
            with reporting(real, "opened"):
                folder = stack.enter_context(handles.hold_real(real))
            yield cls(folder)

    def read(self, relative: str, limit: int) -> bytes:
        """Return the bytes of a regular file, at most `limit` of them.

        Raises:
            PathError: it is missing, not a regular file, or too large.
            ContainmentError: it is or lies behind a link.
        """
        with self._parent(relative) as (parent, name), reporting(relative, "read"):
            handles.refuse_link(parent, name, relative)
            self._hook("checked")
            fd = handles.open_file(parent, name, relative)
            try:
                self._hook("opened-file")
                return handles.read_all(relative, fd, limit)
            finally:
                os.close(fd)

    def exists(self, relative: str) -> bool:
        """Return whether something is there, a link included.

        Raises:
            ContainmentError: it lies behind a link.
        """
        return self.state(relative) is not None

    def state(self, relative: str) -> os.stat_result | None:
        """Return the state of what is there, of a link its own; None where nothing is.

        Raises:
            ContainmentError: it lies behind a link.
        """
        held, looking = self._parent(relative), reporting(relative, "looked at")
        try:
            with held as (parent, name), looking, suppress(FileNotFoundError):
                return parent.lstat(name)
        except PathError as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                raise
        return None

    def list(self, relative: str = "") -> Entries:
        """Return the entries of a folder by name, each with its own state, never a link's target.

        Raises:
            PathError: it is no folder or cannot be read.
            ContainmentError: it is or lies behind a link.
        """
        with self._open(relative) as folder, reporting(relative, "listed"):
            return folder.entries(MAX_ENTRIES)

    def walk(
        self, relative: str = "", *, max_files: int, max_depth: int
    ) -> Iterator[tuple[str, os.stat_result]]:
        """Yield everything below a folder that is no folder: files, and links as what they are.

        Raises:
            PathError: there are more entries or levels than allowed.
            ContainmentError: a folder was swapped for a link meanwhile.
        """
        waiting, seen = [(relative, 1)], 0
        while waiting:
            folder, depth = waiting.pop()
            found = self.list(folder)
            seen += len(found)
            if seen > max_files:
                raise PathError(shown(relative or "."), f"has more than {max_files} entries.")
            inner = []
            for name, state in found:
                path = f"{folder}/{name}" if folder else name
                if not stat.S_ISDIR(state.st_mode):
                    yield path, state
                elif depth >= max_depth:
                    raise PathError(shown(path), f"lies deeper than {max_depth} levels.")
                else:
                    inner.append((path, depth + 1))
            waiting.extend(reversed(inner))

    def write(
        self, relative: str, data: bytes, *, mode: int = 0o644, exclusive: bool = False
    ) -> None:
        """Replace or make a file in one step; its folders are made where missing.

        The umask applies to `mode`. With `exclusive` an existing file stays and is an error.

        Raises:
            PathError: it cannot be written.
            ContainmentError: the name is not portable, or is or lies behind a link.
        """
        with (
            self._parent(relative, create=True) as (parent, name),
            reporting(relative, "written", shown(str(self.path))),
        ):
            handles.refuse_occupied(parent, name, relative, exclusive=exclusive)
            self._hook("checked")
            temporary = f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}.tmp"
            try:
                with handles.new_file(parent, temporary, data, mode) as written:
                    self._hook("temp-written")
                    self._hook("before-rename")
                    handles.publish(parent, temporary, name, exclusive=exclusive)
                    handles.check_published(parent, name, written, relative)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(parent.at(temporary), dir_fd=parent.fd)
            parent.sync()

    def make_folder(self, relative: str, *, mode: int = 0o755) -> None:
        """Make a folder and its parents; one that exists stays as it is.

        Raises:
            PathError: it cannot be made.
            ContainmentError: the name is not portable, or a link is in the way.
        """
        parts = _split_new(relative)
        with ExitStack() as stack:
            folder = self._folder
            for index, name in enumerate(parts):
                wanted = mode if index == len(parts) - 1 else 0o755
                with reporting(relative, "made", shown(str(self.path))):
                    handles.make(folder, name, wanted)
                folder = stack.enter_context(handles.step(folder, name, relative))

    def rename(self, old: str, new: str, *, replace: bool = False) -> None:
        """Give a file or folder another place inside; a link is moved, never followed.

        The folder of `new` must exist. Without `replace`, so must nothing be at `new`.

        Raises:
            PathError: it cannot be moved, or the new place is taken.
            ContainmentError: either name leads out.
        """
        _split_new(new)
        with self._parent(old) as (source, name), self._parent(new) as (target, new_name):
            with reporting(old, "renamed"):
                before = source.lstat(name)
            if not replace and handles.is_taken(target, new_name, before):
                raise PathError(shown(new), "exists already: remove it or choose another name.")
            self._hook("before-rename")
            with reporting(old, "renamed"):
                os.replace(
                    source.at(name), target.at(new_name), src_dir_fd=source.fd, dst_dir_fd=target.fd
                )
                source.sync()
                target.sync()

    def unlink(self, relative: str) -> None:
        """Remove a file; of a link only the link itself.

        Raises:
            PathError: it is a folder, or cannot be removed.
            ContainmentError: it lies behind a link.
        """
        with self._parent(relative) as (parent, name), reporting(relative, "removed"):
            self._hook("before-unlink")
            os.unlink(parent.at(name), dir_fd=parent.fd)
            parent.sync()

    def remove_tree(self, relative: str) -> None:
        """Remove a folder with all that is in it; links go, their targets stay.

        Raises:
            PathError: it cannot be removed.
            ContainmentError: it lies behind a link, holds another file system, or was swapped.
        """
        with self._parent(relative) as (parent, name), reporting(relative, "removed"):
            state = parent.lstat(name)
            self._hook("checked")
            if not handles.is_folder(state):
                os.unlink(parent.at(name), dir_fd=parent.fd)
            else:
                with handles.step(parent, name, relative) as top:
                    handles.check_same(top, state, relative)
                    self._hook("opened-folder")
                    handles.remove_contents(top, state.st_dev, relative)
                    self._hook("before-rmdir")
                    handles.remove_empty(parent, name, state, relative)
            parent.sync()

    def remove_empty(self, relative: str) -> None:
        """Remove a folder if nothing is in it; one that stays is nothing to stop for."""
        with suppress(PathError, OSError), self._parent(relative) as (parent, name):
            os.rmdir(parent.at(name), dir_fd=parent.fd)
            parent.sync()

    @contextmanager
    def inside(self, relative: str) -> Iterator["Root"]:
        """Hold a folder inside as a root of its own: nothing reached through it leaves that.

        Raises:
            PathError: it is no folder or cannot be opened.
            ContainmentError: it is or lies behind a link.
        """
        with self._open(relative) as folder:
            yield Root(folder, self._hook)

    @contextmanager
    def handle(self, relative: str = "") -> Iterator[int]:
        """Hold the handle of a folder inside.

        Raises:
            PathError: it is no folder, cannot be opened, or the system has no such handles.
            ContainmentError: it is or lies behind a link.
        """
        with self._open(relative) as folder:
            if folder.fd is None:
                raise PathError(shown(relative), "has no folder handle on this system.")
            yield folder.fd

    @contextmanager
    def _parent(self, relative: str, *, create: bool = False) -> Iterator[tuple[Folder, str]]:
        parts = _split_new(relative) if create else _steps(relative)
        if not parts:
            raise ContainmentError(".", "is the folder itself: name something inside it.")
        with self._descend(parts[:-1], relative, create=create) as folder:
            self._hook("opened-parent")
            yield folder, parts[-1]

    @contextmanager
    def _open(self, relative: str) -> Iterator[Folder]:
        with self._descend(_steps(relative), relative) as folder:
            self._hook("opened-folder")
            yield folder

    @contextmanager
    def _descend(
        self, parts: tuple[str, ...], relative: str, *, create: bool = False
    ) -> Iterator[Folder]:
        with ExitStack() as stack:
            folder = self._folder
            for name in parts:
                if create:
                    with reporting(relative, "made", shown(str(self.path))):
                        handles.make(folder, name)
                self._hook("before-step")
                folder = stack.enter_context(handles.step(folder, name, relative))
            yield folder


def _no_hook(_step: str) -> None:
    """Stand for the hook where nobody watches."""


def _text(path: Path | str) -> str:
    text = os.fspath(path)
    if not is_path(text):
        raise PathError(shown(text), "is not a path: it is empty or has a character none can have.")
    return text


def _steps(relative: str) -> tuple[str, ...]:
    """Return the steps to something that may exist under any name a system can give."""
    if relative in {"", "."}:
        return ()
    parts = tuple(relative.split("/"))
    if not is_path(relative) or any(part in {"", ".", ".."} for part in parts):
        problem = "is not a plain path inside the folder: use names joined by single slashes."
        raise ContainmentError(shown(relative), problem)
    if os.sep != "/" and ("\\" in relative or ":" in relative):
        raise ContainmentError(shown(relative), "has a backslash or a colon: use plain names.")
    return parts


def _split_new(relative: str) -> tuple[str, ...]:
    """Return the steps to something that is to be made: portable names only."""
    try:
        return segments(relative)
    except PathRefused as error:
        raise ContainmentError(shown(relative), error.problem) from error
