"""Files of a tool, made ready out of sight and then put in place in one go.

Every step goes by the handle of the folder that was opened at the beginning. What an earlier
install put there makes way only once the new files are complete, and comes back if anything goes
wrong; what no install put there is not replaced. A record in the folder tells the two apart.
"""

import json
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from prowess.errors import ContainmentError, PathError
from prowess.host.files.containment import TEMPORARY_PREFIX, Root
from prowess.host.files.handles import BY_HANDLE
from prowess.safety.paths import shown

RECORD = f"{TEMPORARY_PREFIX}installed.json"
_MOST_RECORD = 4 << 20
_HANDLES = "/proc/self/fd"
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)


@dataclass(frozen=True, slots=True)
class Stage:
    """The hidden folder in which an install is made ready, inside the tool's own."""

    home: Root
    name: str

    @property
    def fetched(self) -> str:
        """Where downloads arrive."""
        return f"{self.name}/fetched"

    @property
    def tree(self) -> str:
        """What is to be published."""
        return f"{self.name}/tree"

    @property
    def old(self) -> str:
        """What made way for it."""
        return f"{self.name}/old"

    def set_mode(self, path: str, mode: int) -> None:
        """Set the permissions of a file of the tree, where the system knows such.

        Raises:
            PathError: it is not there, or behind a link.
            OSError: the system refuses.
        """
        if not BY_HANDLE:
            return
        folder, _, name = f"{self.tree}/{path}".rpartition("/")
        with self.home.handle(folder) as parent:
            file = os.open(name, _READ, dir_fd=parent)
            try:
                os.fchmod(file, mode)
            finally:
                os.close(file)


@contextmanager
def staged(home: Root) -> Iterator[Stage]:
    """Hold a hidden folder inside `home`, and remove it with all that is left in it.

    The caller holds a lock, so what is hidden there already was left by an install that was cut
    off; it goes, too.

    Raises:
        PathError: it cannot be made.
    """
    for name, state in home.list():
        if name.startswith(TEMPORARY_PREFIX) and stat.S_ISDIR(state.st_mode):
            home.remove_tree(name)
    stage = Stage(home, f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}")
    home.make_folder(stage.name, mode=0o700)
    try:
        for folder in (stage.fetched, stage.tree, stage.old):
            home.make_folder(folder)
        yield stage
    finally:
        home.remove_tree(stage.name)


@contextmanager
def path_of(root: Root, relative: str) -> Iterator[str]:
    """Hold a path that leads to a folder by its handle, where the system has such paths.

    Raises:
        PathError: it is no folder or cannot be opened.
    """
    if BY_HANDLE and os.path.isdir(_HANDLES):
        with root.handle(relative) as folder:
            yield f"{_HANDLES}/{folder}"
    else:
        yield os.path.join(str(root.path), relative)


def check_place(tools: Root, home: Root, key: str) -> None:
    """Refuse to go on if the folder of the tool is no longer the one that was opened.

    Raises:
        ContainmentError: it was swapped for a link or for another folder.
    """
    if not BY_HANDLE:
        return
    try:
        named = os.lstat(os.path.join(str(tools.path), key))
    except OSError:
        named = None
    with home.handle() as held:
        mine = os.fstat(held)
    if named is None or (named.st_dev, named.st_ino) != (mine.st_dev, mine.st_ino):
        problem = "was swapped while the install ran: look who writes there, then try again."
        raise ContainmentError(shown(os.path.join(str(tools.path), key)), problem)


def publish(stage: Stage, option_id: str, target_dir: str, check: Callable[[], None]) -> None:
    """Put the tree in place of what the same option put there before.

    Args:
        stage: where the tree is.
        option_id: whose files they are, for the next time.
        target_dir: the folder inside the tool's own; "" is that itself.
        check: called before the record is written; raises to undo everything.

    Raises:
        PathError: something that no install put there is in the way, or a step failed.
    """
    home, record = stage.home, _read_record(stage.home)
    tops = [name for name, _ in home.list(stage.tree)]
    places = {f"{target_dir}/{name}" if target_dir else name: name for name in tops}
    _refuse_strangers(home, places, record)
    if target_dir:
        home.make_folder(target_dir)
    former = [path for path in record.get(option_id, ()) if path not in places]
    moves = _Moves(home)
    try:
        for number, (place, name) in enumerate(places.items()):
            moves.away(place, f"{stage.old}/{number}")
            moves.move(f"{stage.tree}/{name}", place)
        for number, place in enumerate(former, start=len(places)):
            moves.away(place, f"{stage.old}/{number}")
        check()
        _write_record(home, record | {option_id: list(places)})
    except BaseException:
        moves.undo()
        raise


class _Moves:
    """Renames that can be taken back, the last one first."""

    def __init__(self, home: Root) -> None:
        self._home = home
        self._done: list[tuple[str, str]] = []

    def move(self, old: str, new: str) -> None:
        """Move one entry to where nothing is."""
        self._home.rename(old, new)
        self._done.append((old, new))

    def away(self, place: str, new: str) -> None:
        """Move what is at a place, if anything is."""
        if self._home.exists(place):
            self.move(place, new)

    def undo(self) -> None:
        """Put everything back where it was."""
        while self._done:
            old, new = self._done.pop()
            # The rest goes back whatever becomes of one entry.
            with suppress(PathError):
                self._home.rename(new, old)


def _refuse_strangers(
    home: Root, places: Mapping[str, str], record: Mapping[str, Sequence[str]]
) -> None:
    known = {path for paths in record.values() for path in paths}
    for place, name in places.items():
        if name.startswith(TEMPORARY_PREFIX):
            raise PathError(shown(place), "has a name that is kept for installs themselves.")
        if place not in known and home.exists(place):
            problem = f"is in {home.path} already, and no install put it there: move it away."
            raise PathError(shown(place), problem)


def _read_record(home: Root) -> dict[str, list[str]]:
    """Return which option put which entries there; a record that makes no sense counts as none."""
    if not home.exists(RECORD):
        return {}
    try:
        found = json.loads(home.read(RECORD, _MOST_RECORD))
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        str(key): [path for path in paths if isinstance(path, str) and path]
        for key, paths in found.items()
        if isinstance(paths, list)
    }


def _write_record(home: Root, record: Mapping[str, Sequence[str]]) -> None:
    home.write(RECORD, json.dumps(record, ensure_ascii=True).encode(), mode=0o600)
