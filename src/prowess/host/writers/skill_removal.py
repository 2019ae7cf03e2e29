"""The trash for `runtime.removing`: a skill's lock first, then one move, then another look.

`SkillTrash` moves folders safely and knows no locks. Here a removal waits for a change of the same
skill to come to its end, and no two processes sort the trash at once. The root is resolved once; if
it is another folder by the time of the move, the skill goes back to where it was taken from.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from prowess.errors import PathError, RemovalError
from prowess.host.files.containment import TEMPORARY_PREFIX, Hook, Root, contain
from prowess.host.files.private_files import locked
from prowess.host.writers.change import SkillFolder
from prowess.host.writers.trash import REMOVABLE, SkillTrash, Trashed
from prowess.runtime.removing import RemovedSkill
from prowess.safety.paths import shown

TRASH_FOLDER = "trash"
# What a move from another disk leaves behind where it was killed.
_COPY = re.compile(re.escape(TEMPORARY_PREFIX) + r"[0-9a-f]{16}\Z")


class SkillRemoval:
    """The trash of one state folder."""

    def __init__(self, state: Path | str, *, swap_hook: Hook | None = None) -> None:
        """Nothing is made yet; `swap_hook` lets a test change the disk at each step."""
        self._state = Path(state)
        self._folder = self._state / TRASH_FOLDER
        self._trash = SkillTrash(self._folder, swap_hook=swap_hook)
        self._hook: Hook = swap_hook or (lambda _step: None)

    def exists(self, folder: str) -> bool:
        """Return whether anything is at that path, be it a link that leads nowhere."""
        return os.path.lexists(folder)

    def put(self, folder: str, root: str, source: str, now: float) -> RemovedSkill | None:
        """Move a skill's folder out of its root, while nobody changes it; None where it is gone.

        Raises:
            RemovalError: it is no skill inside the root, or cannot be moved.
        """
        real, relative = Path(os.path.realpath(root)), _relative(folder, root)
        with self._alone(folder, real, relative):
            if not os.path.lexists(folder):
                return None
            # A link to elsewhere is somebody's own arrangement, and not a skill of this root.
            contain(root, folder, strictly=True)
            removed = self._trash.remove(real / relative, real, source=source, now=now)
            self._refuse_swapped(removed, real, relative)
        return _shown(removed)

    def take_back(self, removed: RemovedSkill, roots: Sequence[str]) -> str:
        """Put a skill back where it was, which must be inside one of the roots.

        Raises:
            RemovalError: it cannot come back, and the message says why.
        """
        original = Path(removed.original)
        around = [real for real in map(_real, roots) if real in original.parents]
        if not around:
            problem = (
                f"was removed from {shown(str(original.parent))}, which is no skills folder of the"
                f" agent now: it is still in {self._folder / removed.id}."
            )
            raise RemovalError(shown(removed.id), problem)
        root = max(around, key=lambda real: len(real.parts))
        with self._alone(removed.original, root, str(original.relative_to(root))):
            return str(self._trash.restore(removed.id, root))

    def entries(self) -> tuple[RemovedSkill, ...]:
        """Return what can come back, oldest first.

        Raises:
            RemovalError: the trash cannot be read.
        """
        with _reported(str(self._folder)):
            # One that was cut off before its move has a record and no skill.
            found = [entry for entry in self._trash.entries() if os.path.lexists(entry.path)]
        return tuple(_shown(entry) for entry in found)

    def purge(self, before: float) -> tuple[str, ...]:
        """Delete for good what was removed before that time, and return the ids.

        Raises:
            RemovalError: something cannot be deleted.
        """
        if not self._folder.is_dir():
            return ()
        with _reported(str(self._folder)), self._sorting():
            self._settle()
            return self._trash.purge(before)

    def _settle(self) -> None:
        """Bring to its end what was killed between two disks, once the original was out of its way.

        Until then the original is where it was, and the copy is of no use.
        """
        for entry in self._trash.entries():
            # Drafts are moved under another lock, and settled by whoever holds it.
            is_ours = entry.source in REMOVABLE
            if not is_ours or os.path.lexists(entry.path) or os.path.lexists(entry.original):
                continue
            with Root.open(self._folder) as trash:
                copies = [name for name, _ in trash.list(entry.id) if _COPY.match(name)]
                if len(copies) == 1:
                    kept = f"{entry.id}/{entry.path.name}"
                    trash.rename(f"{entry.id}/{copies[0]}", kept)

    def _refuse_swapped(self, removed: Trashed, real: Path, relative: str) -> None:
        if removed.original == real / relative:
            return
        steps = len(Path(relative).parts)
        self._trash.restore(removed.id, removed.original.parents[steps - 1])
        problem = "was swapped for another folder meanwhile: look at it again."
        raise RemovalError(shown(str(real)), problem)

    @contextmanager
    def _alone(self, path: str, root: Path, relative: str) -> Iterator[None]:
        """Keep everybody else from the skill, and from the trash."""
        with _reported(path), ExitStack() as stack:
            # All that lies below a folder of the root is changed under the lock of that folder.
            first = Path(relative).parts[0]
            try:
                skill = SkillFolder(root, first, self._state)
            except PathError:
                # Nobody can be writing it: whoever writes skills refuses the name just so.
                pass
            else:
                stack.enter_context(skill.lock())
            stack.enter_context(self._sorting())
            self._hook("locked")
            yield

    @contextmanager
    def _sorting(self) -> Iterator[None]:
        with locked(str(self._folder)):
            yield


def _relative(folder: str, root: str) -> str:
    """Return the way from the root to the folder, by their names alone."""
    named, base = Path(os.path.abspath(folder)), Path(os.path.abspath(root))
    if named == base:
        raise RemovalError(shown(folder), "is the skills root itself: name one skill in it.")
    if not named.is_relative_to(base):
        raise RemovalError(shown(folder), f"is not inside {shown(root)}.")
    return str(named.relative_to(base))


def _real(root: str) -> Path:
    return Path(os.path.realpath(root))


def _shown(entry: Trashed) -> RemovedSkill:
    return RemovedSkill(
        id=entry.id,
        original=str(entry.original),
        source=entry.source,
        removed_at=entry.removed_at,
    )


@contextmanager
def _reported(path: str) -> Iterator[None]:
    """Turn what is wrong with a path into an error of a removal."""
    try:
        yield
    except PathError as error:
        raise RemovalError(error.path, error.problem) from error
    except OSError as error:
        raise RemovalError(shown(path), f"cannot be moved: {error.strerror}.") from error
