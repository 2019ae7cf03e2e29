"""Which folder skills may be copied to, and who may do it now: one process at a time.

The lock is a file that stays. Its owner may be killed at any moment, and the system then lets the
next one in. A dry run makes no file, so it waits only where there is a lock already.
"""

import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from prowess.errors import ContainmentError, PathError
from prowess.host.files.containment import Hook, Root
from prowess.host.files.handles import BY_HANDLE, reported
from prowess.host.files.read import is_path
from prowess.host.writers.sync import TargetFolder
from prowess.safety.paths import shown

try:
    import fcntl
except ImportError:
    # Windows has no such locks: there two syncs at once are the user's to avoid.
    fcntl = None  # type: ignore[assignment]

SKILLS, LOCK = "skills", ".prowess-sync.lock"
_PAUSE_S = 0.05
_OPEN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait for another process, and when to say so."""

    notice_s: float = 1.0
    limit_s: float = 30.0


_DEFAULT = Patience()


class FolderTargets:
    """Opens targets on this machine."""

    def __init__(
        self,
        home: str,
        *,
        waiting: Callable[[], None],
        patience: Patience = _DEFAULT,
        hook: Hook | None = None,
    ) -> None:
        """`waiting` is called when the wait gets long; `hook` lets a test step in anywhere."""
        self._home = home
        self._waiting = waiting
        self._patience = patience
        self._hook: Hook = hook or (lambda _step: None)

    def check(self, target: str, sources: Sequence[str]) -> str:
        """Return the real path of a folder that skills may be copied to.

        Raises:
            PathError: it is none, or copying there would be copying into a source.
        """
        if not target or not is_path(target):
            raise PathError(repr(target), "is not a path: give the folder to copy to.")
        real = os.path.realpath(target)
        if os.path.lexists(target) and not os.path.isdir(real):
            raise PathError(shown(target), "is not a folder: give another one.")
        if not os.path.isdir(os.path.dirname(real)):
            raise PathError(shown(os.path.dirname(real)), "does not exist: create it first.")
        if _is_within(self._home, real):
            problem = "is or holds your home folder: give a folder made for the copy."
            raise PathError(shown(real), problem)
        skills = os.path.join(real, SKILLS)
        if os.path.islink(skills):
            raise ContainmentError(shown(skills), "is a link: put a real folder in its place.")
        if os.path.lexists(skills) and not os.path.isdir(skills):
            raise PathError(shown(skills), "is not a folder: move it away.")
        _refuse_sources(skills, sources)
        return real

    @contextmanager
    def open(self, target: str, *, dry_run: bool) -> Iterator[TargetFolder]:
        """Hold a target; in a dry run nothing is made and nothing is written.

        Raises:
            PathError: it cannot be opened, or somebody else holds it.
        """
        if dry_run and not os.path.isdir(os.path.join(target, SKILLS)):
            yield TargetFolder(None, check_place=lambda: None, hook=self._hook)
            return
        if not dry_run:
            self._make(target)
        with (
            Root.open(target, swap_hook=self._hook) as outer,
            outer.inside(SKILLS) as root,
            self._locked(root, dry_run=dry_run),
        ):
            place = partial(_check_place, outer, root)
            held = TargetFolder(root, check_place=place, hook=self._hook)
            if not dry_run:
                place()
                held.recover()
            yield held

    def _make(self, target: str) -> None:
        """Make the target and its `skills`, and nothing above."""
        parent, name = os.path.split(target)
        if not os.path.isdir(target):
            with Root.open(parent, swap_hook=self._hook) as above:
                above.make_folder(name)
        with Root.open(target, swap_hook=self._hook) as outer:
            if not outer.exists(SKILLS):
                outer.make_folder(SKILLS)

    @contextmanager
    def _locked(self, root: Root, *, dry_run: bool) -> Iterator[None]:
        with ExitStack() as stack:
            # Without handles for folders there are no such locks either.
            if BY_HANDLE and (not dry_run or root.exists(LOCK)):
                stack.callback(os.close, self._acquired(root, dry_run=dry_run))
            yield

    def _acquired(self, root: Root, *, dry_run: bool) -> int:
        begun, told = time.monotonic(), False
        while True:
            lock = _taken(root, dry_run=dry_run)
            if lock is not None:
                return lock
            waited = time.monotonic() - begun
            if waited > self._patience.limit_s:
                raise PathError(
                    shown(str(root.path)),
                    f"is in use by another sync for more than {self._patience.limit_s:g} s:"
                    " wait until it is done, then sync again.",
                )
            if waited > self._patience.notice_s and not told:
                told = True
                self._waiting()
            time.sleep(_PAUSE_S)


def _taken(root: Root, *, dry_run: bool) -> int | None:
    """Return the handle of the lock; None where another process has it."""
    access = os.O_RDONLY if dry_run else os.O_RDWR | os.O_CREAT
    with root.handle() as folder, reported(LOCK, "locked"), ExitStack() as stack:
        lock = os.open(LOCK, access | _OPEN, stat.S_IRUSR | stat.S_IWUSR, dir_fd=folder)
        stack.callback(os.close, lock)
        if not stat.S_ISREG(os.fstat(lock).st_mode):
            raise PathError(LOCK, "is not a regular file: move it away.")
        try:
            fcntl.flock(lock, (fcntl.LOCK_SH if dry_run else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        # Somebody may have removed the file meanwhile: a lock on it keeps nobody out.
        if not os.path.samestat(os.fstat(lock), os.stat(LOCK, dir_fd=folder)):
            return None
        stack.pop_all()
        return lock


def _check_place(outer: Root, root: Root) -> None:
    """Refuse to write into a folder that has been moved away.

    Raises:
        ContainmentError: something else is where it was.
    """
    found = dict(outer.list()).get(SKILLS)
    if BY_HANDLE:
        with root.handle() as folder:
            held = os.fstat(folder)
    else:
        held = os.stat(root.path)
    if found is None or not os.path.samestat(found, held):
        raise ContainmentError(shown(str(root.path)), "was swapped meanwhile: look at it.")


def _refuse_sources(skills: str, sources: Sequence[str]) -> None:
    for source in sources:
        if _is_within(skills, source) or _is_within(source, skills):
            problem = f"would be copied into itself: choose a folder apart from {shown(source)}."
            raise PathError(shown(skills), problem)


def _is_within(inner: str, outer: str) -> bool:
    """Return whether a path is another one or lies below it, however both are spelled."""
    real = Path(os.path.realpath(inner))
    if real.is_relative_to(os.path.realpath(outer)):
        return True
    if not os.path.isdir(outer):
        return False
    for step in (real, *real.parents):
        # What does not exist yet is no other folder under another name.
        with suppress(FileNotFoundError, NotADirectoryError):
            if os.path.samefile(step, outer):
                return True
    return False
