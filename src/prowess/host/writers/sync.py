"""The `skills` folder of a copy's target: how it stands, and how it is changed.

The order is what makes a kill harmless. The staging folder is noted before it is made, and every
folder that is to change is noted with its old and its new files before it is touched. So whatever
lies there afterwards is known: a folder is the old one or the new one, and what is in the staging
folder is a copy of ours, or what somebody changed in the last moment, which is then kept.
"""

import re
import secrets
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from prowess.errors import PathError
from prowess.host.files import folder_swap
from prowess.host.files.containment import TEMPORARY_PREFIX, Hook, Root
from prowess.host.files.handles import is_folder
from prowess.host.writers.sync_manifest import (
    HEADER,
    MANIFEST,
    MAX_BYTES,
    Manifest,
    dump,
    load,
    matches,
)
from prowess.runtime.sync import Change, CopiedFile, Outcome
from prowess.runtime.sync_plan import KEPT, FolderState, Record, Standing

_STAGING_PREFIX = ".prowess-staging-"
# Made ready, or after an exchange what was there before; passed through; looked at and ours.
_NEW, _SPARE, _DONE = "new", "spare", "done"
_STRAY = re.compile(re.escape(TEMPORARY_PREFIX) + r"[0-9a-f]{16}\.tmp\Z")
_PLAIN, _EXECUTABLE, _PRIVATE = 0o644, 0o755, 0o700


class TargetFolder:
    """The `skills` folder of one target; None stands for one that is not there yet."""

    def __init__(
        self,
        root: Root | None,
        *,
        check_place: Callable[[], None],
        hook: Hook,
    ) -> None:
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
            self._manifest = load(content, str(root.path / MANIFEST))

    def standing(self) -> Standing:
        """Return how the target stands."""
        if self._root is None:
            return Standing()
        present = {name for name, _ in self._root.list()}
        records: dict[str, Record] = {}
        states: dict[str, FolderState] = {}
        noted = self._manifest
        for folder in sorted({*noted.records, *noted.pending}):
            found = self._found(self._root, folder, present)
            if found is not None:
                records[folder], states[folder] = found
        return Standing(records=records, states=states, others=frozenset(present - records.keys()))

    def recover(self) -> None:
        """Clear away what a sync left that was cut off; what is not its own is kept.

        Raises:
            PathError: it cannot be cleared away.
        """
        root, staging = self._opened(), self._manifest.staging
        for name, state in root.list():
            if stat.S_ISREG(state.st_mode) and _STRAY.match(name) and _is_cut_off(root, name):
                root.unlink(name)
        left = dict(root.list()).get(staging)
        if left is None or not is_folder(left):
            return
        for part in (_NEW, _SPARE):
            self._rescue(root, f"{staging}/{part}")
        root.remove_tree(staging)
        self._hook("cleared")

    def apply(self, changes: Sequence[Change], kept: Mapping[str, Record]) -> Mapping[str, Outcome]:
        """Make the changes and note what is there afterwards; `kept` is what stays noted.

        Raises:
            PathError: the target cannot be written; the next sync puts it right.
        """
        outcomes: dict[str, Outcome] = {}
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

    def _found(
        self, root: Root, folder: str, present: set[str]
    ) -> tuple[Record, FolderState] | None:
        """Return which of its noted states a folder has; None where it is none of ours."""
        old, new = self._manifest.records.get(folder), self._manifest.pending.get(folder)
        if folder not in present:
            return None if old is None else (old, FolderState.GONE)
        for record in (new, old):
            if record is not None and matches(root, folder, record):
                return record, FolderState.UNCHANGED
        # A place that was only about to be filled belongs to whoever filled it.
        return None if old is None else (old, FolderState.CHANGED)

    def _change(self, changes: Sequence[Change], outcomes: dict[str, Outcome]) -> None:
        root = self._opened()
        staging = f"{_STAGING_PREFIX}{secrets.token_hex(8)}"
        before = self.standing().records
        self._note(Manifest(records=before, staging=staging))
        root.make_folder(staging, mode=_PRIVATE)
        for part in (_NEW, _SPARE, _DONE):
            root.make_folder(f"{staging}/{part}")
        for change in changes:
            problem = self._staged(root, change)
            if problem:
                outcomes[change.folder] = Outcome(problem=problem)
        ready = [change for change in changes if change.folder not in outcomes]
        self._check_place()
        pending = {change.folder: change.new for change in ready}
        self._note(replace(self._manifest, pending=pending))
        for change in ready:
            outcomes[change.folder] = self._published(root, change)
            self._hook("published")
        self.recover()

    def _staged(self, root: Root, change: Change) -> str:
        """Write the new folder down to the disk, and return what went wrong."""
        if change.new is None:
            return ""
        place = f"{self._manifest.staging}/{_NEW}/{change.folder}"
        try:
            files = change.content()
            if change.keeps_changed:
                root.make_folder(KEPT)
            root.make_folder(place)
            with root.inside(place) as folder:
                _write(folder, files)
        except PathError as error:
            if root.exists(place):
                root.remove_tree(place)
            return str(error)
        self._hook("staged")
        return ""

    def _published(self, root: Root, change: Change) -> Outcome:
        """Let a folder take its place, or go from there."""
        ready = f"{self._manifest.staging}/{_NEW}/{change.folder}"
        spare = f"{self._manifest.staging}/{_SPARE}/{change.folder}"
        try:
            if change.new is None:
                folder_swap.move(root, change.folder, spare)
                self._hook("moved")
                return self._settled(root, change, spare)
            if change.old is None or not root.exists(change.folder):
                folder_swap.move(root, ready, change.folder)
                return Outcome()
            folder_swap.exchange(root, ready, change.folder, spare)
            self._hook("moved")
            return self._settled(root, change, ready)
        except PathError as error:
            return Outcome(problem=str(error), conflict=True)

    def _settled(self, root: Root, change: Change, previous: str) -> Outcome:
        """Part with what was there before if it is ours; if not, put it back or keep it."""
        staging = self._manifest.staging
        if matches(root, previous, change.old):
            folder_swap.move(root, previous, f"{staging}/{_DONE}/{change.folder}")
            return Outcome()
        if change.keeps_changed:
            return Outcome(kept_at=_keep(root, previous, change.folder))
        if change.new is None:
            folder_swap.move(root, previous, change.folder)
        else:
            spare = f"{staging}/{_SPARE}/{change.folder}"
            folder_swap.exchange(root, previous, change.folder, spare)
        problem = f"skills/{change.folder} was changed during the sync: it is left as it is."
        return Outcome(problem=problem, conflict=True)

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
            if any(matches(root, place, record) for record in records):
                done = f"{noted.staging}/{_DONE}/{secrets.token_hex(8)}"
                folder_swap.move(root, place, done)
            else:
                _keep(root, place, name)

    def _note(self, manifest: Manifest) -> None:
        """Replace what is noted, if it is something else."""
        if manifest != self._manifest:
            self._opened().write(MANIFEST, dump(manifest))
            self._manifest = manifest
            self._hook("noted")

    def _opened(self) -> Root:
        if self._root is None:
            raise PathError("skills", "does not exist: nothing can be written in a dry run.")
        return self._root


def _write(folder: Root, files: Mapping[str, CopiedFile]) -> None:
    for path, file in files.items():
        mode = _EXECUTABLE if file.executable else _PLAIN
        folder.write(path, file.content, mode=mode)


def _keep(root: Root, place: str, name: str) -> str:
    """Move what is not ours to the folder of kept things, and return where it is."""
    root.make_folder(KEPT)
    number = 1
    while root.exists(f"{KEPT}/{name}-{number}"):
        number += 1
    kept = f"{KEPT}/{name}-{number}"
    folder_swap.move(root, place, kept)
    return str(root.path / kept)


def _is_cut_off(root: Root, name: str) -> bool:
    """Return whether a temporary file is the beginning of a manifest."""
    try:
        begins = root.read(name, MAX_BYTES)[: len(HEADER)]
    except PathError:
        # Larger than any of ours, or not for us to read.
        return False
    return HEADER.startswith(begins)
