"""The `skills` folder of a copy's target: what is noted there, how it stands, how it is changed.

The order is what makes a kill harmless. The staging folder is noted before it is made, and every
folder that is to change is noted with its old and its new files before it is touched. So whatever
lies there afterwards is known: a folder is the old one or the new one, and what is in the staging
folder is a copy of ours, or what somebody changed in the last moment, which is then kept.

The manifest lies where strangers may write. So nothing in it is believed before it was checked:
every name in it is a plain one in its own folder, and none of them ever leads anywhere else. The
lock is a file that stays; its owner may be killed at any moment, and the system then lets the next
one in. A dry run makes no file, so it waits only where there is a lock already.
"""

import hashlib
import json
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from prowess.errors import ContainmentError, PathError
from prowess.host.files.containment import Hook, Root
from prowess.host.files.handles import BY_HANDLE, is_folder, is_path, reporting
from prowess.host.files.transaction import exchange, is_stray_file, move, write_files
from prowess.runtime.sharing.sync import (
    KEPT,
    ChangeOutcome,
    CopyRecord,
    FileMark,
    FolderChange,
    FolderState,
    TargetStanding,
    is_folder_name,
)
from prowess.safety.intake.ledger import ScanLimits
from prowess.safety.paths import PathRefused, check_all, collision_key, shown

MANIFEST = ".prowess-sync.json"
MAX_BYTES = 64 * 1024 * 1024
VERSION = 1
STAGING = re.compile(r"\.prowess-staging-[0-9a-f]{16}\Z")
# Every manifest begins like this, so that a cut off one is known as ours.
HEADER = b'{\n "prowessSync": '
_HASH = re.compile(r"[0-9a-f]{64}\Z")
_MAX_FILE_BYTES = ScanLimits().file_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What was copied, and while a sync is under way also what is being copied."""

    records: Mapping[str, CopyRecord] = field(default_factory=dict)
    # What folders are about to become, None where one is to go.
    pending: Mapping[str, CopyRecord | None] = field(default_factory=dict)
    # The folder in which it is made ready; empty where no sync is under way.
    staging: str = ""


def dump_manifest(manifest: Manifest) -> bytes:
    """Return a manifest as text for its file."""
    value = {
        "prowessSync": VERSION,
        "staging": manifest.staging,
        "folders": {
            name: _dump_record(record) for name, record in sorted(manifest.records.items())
        },
        "pending": {
            name: None if record is None else _dump_record(record)
            for name, record in sorted(manifest.pending.items())
        },
    }
    return (json.dumps(value, indent=1) + "\n").encode()


def load_manifest(content: bytes, path: str) -> Manifest:
    """Return the manifest in `content`; `path` is for messages.

    Raises:
        PathError: it is broken, or names something that no copy could have written.
    """
    try:
        return _manifest(_read_map(json.loads(content), "a list of copied skills"))
    except (ValueError, RecursionError) as error:
        problem = str(error) if type(error) is ValueError else "it is not JSON"
        message = (
            f"cannot be trusted: {problem}. Nothing was changed. Put the right file back, or move"
            " it away together with the folders that sync wrote, then sync again."
        )
        raise PathError(shown(path), message) from error


def matches_record(root: Root, place: str, record: CopyRecord | None) -> bool:
    """Return whether a folder holds exactly the files of a record, and nothing else."""
    if record is None:
        return False
    split = [path.split("/") for path in record.files]
    above = {"/".join(parts[:end]) for parts in split for end in range(1, len(parts))}
    left, waiting = dict(record.files), [""]
    try:
        while waiting:
            folder = waiting.pop()
            for name, state in root.list(f"{place}/{folder}".removesuffix("/")):
                path = f"{folder}/{name}".removeprefix("/")
                if is_folder(state) and path in above:
                    waiting.append(path)
                elif not _is_marked(root, f"{place}/{path}", state.st_mode, left.pop(path, None)):
                    return False
    except PathError:
        # A link, something that cannot be read or lists too much: not what was written.
        return False
    return not left


def _is_marked(root: Root, place: str, mode: int, mark: FileMark | None) -> bool:
    if mark is None or not stat.S_ISREG(mode) or bool(mode & stat.S_IXUSR) != mark.executable:
        return False
    return hashlib.sha256(root.read(place, _MAX_FILE_BYTES)).hexdigest() == mark.sha256


def _dump_record(record: CopyRecord) -> dict[str, Any]:
    return {
        "source": record.source,
        "skill": record.skill,
        "files": {
            path: {"sha256": mark.sha256, "executable": mark.executable}
            for path, mark in sorted(record.files.items())
        },
    }


def _manifest(value: Mapping[str, Any]) -> Manifest:
    if value.get("prowessSync") != VERSION:
        raise ValueError("it is not a list of copied skills of this version")
    staging = value.get("staging", "")
    if not isinstance(staging, str) or (staging and not STAGING.match(staging)):
        raise ValueError(f"{shown(str(staging))!r} is no name of a staging folder")
    folders, pending = (
        _check_names(value.get("folders", {})),
        _check_names(value.get("pending", {})),
    )
    return Manifest(
        records={name: _record(name, found) for name, found in folders.items()},
        pending={
            name: None if found is None else _record(name, found) for name, found in pending.items()
        },
        staging=staging,
    )


def _check_names(value: object) -> dict[str, Any]:
    """Return folders by name, each a plain one of its own."""
    folders = _read_map(value, "a list of folders")
    for name in folders:
        if not is_folder_name(name):
            raise ValueError(f"{shown(name)!r} is no folder that sync could have written")
    if len({collision_key(name) for name in folders}) != len(folders):
        raise ValueError("two of its folders are the same on some systems")
    return folders


def _record(name: str, value: object) -> CopyRecord:
    found = _read_map(value, shown(name))
    files = {
        path: _mark(path, mark) for path, mark in _read_map(found.get("files"), "files").items()
    }
    try:
        check_all(files)
    except PathRefused as error:
        raise ValueError(f"{shown(name)} has a file that no copy has: {error}") from error
    return CopyRecord(
        source=_text(found.get("source")), skill=_text(found.get("skill")), files=files
    )


def _mark(path: str, value: object) -> FileMark:
    found = _read_map(value, shown(path))
    digest, executable = _text(found.get("sha256")), found.get("executable")
    if not _HASH.match(digest) or not isinstance(executable, bool):
        raise ValueError(f"{shown(path)} has no hash")
    return FileMark(digest, executable)


def _read_map(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        # The caller reports every kind of broken text in the same way.
        raise ValueError(f"{what} is missing")  # noqa: TRY004
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        # The same.
        raise ValueError("a text is missing")  # noqa: TRY004
    return value


_STAGING_PREFIX = ".prowess-staging-"
# Made ready, or after an exchange what was there before; passed through; looked at and ours.
_NEW, _SPARE, _DONE = "new", "spare", "done"
_PRIVATE = 0o700


class TargetFolder:
    """The `skills` folder of one target; None stands for one that is not there yet."""

    def __init__(self, root: Root | None, *, check_place: Callable[[], None], hook: Hook) -> None:
        """Nothing is written; `check_place` refuses a folder that is no longer where it was.

        Raises:
            PathError: what was noted there is broken.
        """
        self._root = root
        self._check_place = check_place
        self._hook = hook
        self._manifest = Manifest()
        if root is not None and root.exists(MANIFEST):
            content = root.read(MANIFEST, MAX_BYTES)
            self._manifest = load_manifest(content, str(root.path / MANIFEST))

    def standing(self) -> TargetStanding:
        """Return how the target stands."""
        if self._root is None:
            return TargetStanding()
        present = {name for name, _ in self._root.list()}
        records: dict[str, CopyRecord] = {}
        states: dict[str, FolderState] = {}
        noted = self._manifest
        for folder in sorted({*noted.records, *noted.pending}):
            found = self._find(self._root, folder, present)
            if found is not None:
                records[folder], states[folder] = found
        return TargetStanding(
            records=records, states=states, others=frozenset(present - records.keys())
        )

    def recover(self) -> None:
        """Clear away what a sync left that was cut off; what is not its own is kept.

        Raises:
            PathError: it cannot be cleared away.
        """
        root, staging = self._require_root(), self._manifest.staging
        for name, state in root.list():
            if is_stray_file(name, state) and _is_cut_off(root, name):
                root.unlink(name)
        left = dict(root.list()).get(staging)
        if left is None or not is_folder(left):
            return
        for part in (_NEW, _SPARE):
            self._rescue(root, f"{staging}/{part}")
        root.remove_tree(staging)
        self._hook("cleared")

    def apply(
        self, changes: Sequence[FolderChange], kept: Mapping[str, CopyRecord]
    ) -> Mapping[str, ChangeOutcome]:
        """Make the changes and note what is there afterwards; `kept` is what stays noted."""
        outcomes: dict[str, ChangeOutcome] = {}
        if changes:
            try:
                self._change(changes, outcomes)
            except BaseException:
                # Clearing away now is a kindness: the next sync does it all the same.
                with suppress(PathError):
                    self.recover()
                raise
        records = dict(kept)
        for change in changes:
            record = change.old if outcomes[change.folder].problem else change.new
            if record is not None:
                records[change.folder] = record
        self._note(Manifest(records=records))
        return outcomes

    def _find(
        self, root: Root, folder: str, present: set[str]
    ) -> tuple[CopyRecord, FolderState] | None:
        """Return which of its noted states a folder has; None where it is none of ours."""
        old, new = self._manifest.records.get(folder), self._manifest.pending.get(folder)
        if folder not in present:
            return None if old is None else (old, FolderState.GONE)
        for record in (new, old):
            if record is not None and matches_record(root, folder, record):
                return record, FolderState.UNCHANGED
        # A place that was only about to be filled belongs to whoever filled it.
        return None if old is None else (old, FolderState.CHANGED)

    def _change(self, changes: Sequence[FolderChange], outcomes: dict[str, ChangeOutcome]) -> None:
        root = self._require_root()
        staging = f"{_STAGING_PREFIX}{secrets.token_hex(8)}"
        before = self.standing().records
        self._note(Manifest(records=before, staging=staging))
        root.make_folder(staging, mode=_PRIVATE)
        for part in (_NEW, _SPARE, _DONE):
            root.make_folder(f"{staging}/{part}")
        for change in changes:
            problem = self._stage(root, change)
            if problem:
                outcomes[change.folder] = ChangeOutcome(problem=problem)
        ready = [change for change in changes if change.folder not in outcomes]
        self._check_place()
        pending = {change.folder: change.new for change in ready}
        self._note(replace(self._manifest, pending=pending))
        for change in ready:
            outcomes[change.folder] = self._publish(root, change)
            self._hook("published")
        self.recover()

    def _stage(self, root: Root, change: FolderChange) -> str:
        """Write the new folder down to the disk, and return what went wrong."""
        if change.new is None:
            return ""
        place = f"{self._manifest.staging}/{_NEW}/{change.folder}"
        try:
            files = change.content()
            if change.keeps_changed:
                root.make_folder(KEPT)
            write_files(root, place, files)
        except PathError as error:
            if root.exists(place):
                root.remove_tree(place)
            return str(error)
        self._hook("staged")
        return ""

    def _publish(self, root: Root, change: FolderChange) -> ChangeOutcome:
        """Let a folder take its place, or go from there."""
        ready = f"{self._manifest.staging}/{_NEW}/{change.folder}"
        spare = f"{self._manifest.staging}/{_SPARE}/{change.folder}"
        try:
            if change.new is None:
                move(root, change.folder, spare)
                self._hook("moved")
                return self._settle(root, change, spare)
            if change.old is None or not root.exists(change.folder):
                move(root, ready, change.folder)
                return ChangeOutcome()
            exchange(root, ready, change.folder, spare)
            self._hook("moved")
            return self._settle(root, change, ready)
        except PathError as error:
            return ChangeOutcome(problem=str(error), conflict=True)

    def _settle(self, root: Root, change: FolderChange, previous: str) -> ChangeOutcome:
        """Part with what was there before if it is ours; if not, put it back or keep it."""
        staging = self._manifest.staging
        if matches_record(root, previous, change.old):
            move(root, previous, f"{staging}/{_DONE}/{change.folder}")
            return ChangeOutcome()
        if change.keeps_changed:
            return ChangeOutcome(kept_at=_keep(root, previous, change.folder))
        if change.new is None:
            move(root, previous, change.folder)
        else:
            spare = f"{staging}/{_SPARE}/{change.folder}"
            exchange(root, previous, change.folder, spare)
        problem = f"skills/{change.folder} was changed during the sync: it is left as it is."
        return ChangeOutcome(problem=problem, conflict=True)

    def _rescue(self, root: Root, part: str) -> None:
        """Set aside what is ours and is to go; keep what is not."""
        noted = self._manifest
        if not noted.pending or not root.exists(part):
            return
        for name, _ in root.list(part):
            # What is not about to change was never moved here: it is a copy that failed.
            if name not in noted.pending:
                continue
            place, records = f"{part}/{name}", (noted.records.get(name), noted.pending[name])
            if any(matches_record(root, place, record) for record in records):
                done = f"{noted.staging}/{_DONE}/{secrets.token_hex(8)}"
                move(root, place, done)
            else:
                _keep(root, place, name)

    def _note(self, manifest: Manifest) -> None:
        """Replace what is noted, if it is something else."""
        if manifest != self._manifest:
            self._require_root().write(MANIFEST, dump_manifest(manifest))
            self._manifest = manifest
            self._hook("noted")

    def _require_root(self) -> Root:
        if self._root is None:
            raise PathError("skills", "does not exist: nothing can be written in a dry run.")
        return self._root


def _keep(root: Root, place: str, name: str) -> str:
    """Move what is not ours to the folder of kept things, and return where it is."""
    root.make_folder(KEPT)
    number = 1
    while root.exists(f"{KEPT}/{name}-{number}"):
        number += 1
    kept = f"{KEPT}/{name}-{number}"
    move(root, place, kept)
    return str(root.path / kept)


def _is_cut_off(root: Root, name: str) -> bool:
    """Return whether a temporary file is the beginning of a manifest."""
    try:
        begins = root.read(name, MAX_BYTES)[: len(HEADER)]
    except PathError:
        # Larger than any of ours, or not for us to read.
        return False
    return HEADER.startswith(begins)


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
        """Return the real path of a folder that skills may be copied to."""
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
        """Hold a target; in a dry run nothing is made and nothing is written."""
        if dry_run and not os.path.isdir(os.path.join(target, SKILLS)):
            yield TargetFolder(None, check_place=lambda: None, hook=self._hook)
            return
        if not dry_run:
            self._make(target)
        with (
            Root.open(target, swap_hook=self._hook) as outer,
            outer.inside(SKILLS) as root,
            self._lock(root, dry_run=dry_run),
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
    def _lock(self, root: Root, *, dry_run: bool) -> Iterator[None]:
        with ExitStack() as stack:
            # Without handles for folders there are no such locks either.
            if BY_HANDLE and (not dry_run or root.exists(LOCK)):
                stack.callback(os.close, self._acquire(root, dry_run=dry_run))
            yield

    def _acquire(self, root: Root, *, dry_run: bool) -> int:
        begun, told = time.monotonic(), False
        while True:
            lock = _take_lock(root, dry_run=dry_run)
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


def _take_lock(root: Root, *, dry_run: bool) -> int | None:
    """Return the handle of the lock; None where another process has it."""
    access = os.O_RDONLY if dry_run else os.O_RDWR | os.O_CREAT
    with root.handle() as folder, reporting(LOCK, "locked"), ExitStack() as stack:
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
