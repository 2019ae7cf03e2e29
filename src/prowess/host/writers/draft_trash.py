"""Where removed drafts wait: a draft and its script in one entry of the trash, together.

The entries lie beside those of removed skills (`writers/trash`) and look alike to whoever lists or
purges the trash. They are not made there: a skill is one folder and goes in one step, while a draft
may be a file and its script goes with it. Two steps can be cut apart. So a note names the entry
that is being filled or emptied, and whoever finds one lets the script follow the draft.

An entry names no `root`, so that `SkillTrash.restore` does not take it for a skill and drop half.
Nothing in its record is believed: neither the workspace that it names nor a place outside of the
two folders of drafts.
"""

import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from prowess.errors import PathError
from prowess.host.files.containment import Hook, Root
from prowess.host.files.handles import BY_HANDLE, is_folder, reporting
from prowess.host.files.transaction import (
    MAIN,
    RECORD,
    RootPlace,
    is_entry,
    is_stray,
    list_ids,
    move_place,
    new_id,
    read_record,
)
from prowess.safety.paths import content_hash, shown

SOURCE = "workspace-draft"
SCRIPT = "script"
_PLACE = re.compile(r"(?:skills|scripts)/auto/(?!\.)[^/\\\0]+\Z")
_HASH = re.compile(r"[0-9a-f]{64}\Z")
_MAX_NOTE = 64 * 1024


class DraftItem(NamedTuple):
    """Something in a workspace, by its place, and the hash that it was seen with."""

    place: str
    hash: str


class DraftInTrash(NamedTuple):
    """Something that was removed, as whoever looks for it wants to see it."""

    id: str
    # Where it was.
    path: str
    removed_at: float
    has_script: bool


class DraftEntry(NamedTuple):
    """One entry of the trash: what belongs in it, by the name that it has there."""

    id: str
    items: Mapping[str, DraftItem]

    def kept(self, name: str) -> str:
        """Return where one of its items is in the trash."""
        return f"{self.id}/{name}"


def dump_entry(entry: DraftEntry, workspace: Root, trash: Root, now: float) -> bytes:
    """Return the record of an entry."""
    main = entry.items[MAIN]
    fields: dict[str, Any] = {
        "id": entry.id,
        "path": str(trash.path / entry.kept(MAIN)),
        "original": str(workspace.path / main.place),
        "source": SOURCE,
        "removed_at": now,
        "hash": main.hash,
        "workspace": str(workspace.path),
        "items": {name: item._asdict() for name, item in entry.items.items()},
    }
    return json.dumps(fields, indent=2).encode()


def show_entry(workspace: Path, trash: Root, removed: str) -> DraftInTrash | None:
    """Return an entry as it is listed; None where nothing of this workspace can come back."""
    try:
        entry = load_entry(workspace, trash, removed)
        is_there = trash.exists(entry.kept(MAIN))
    except PathError:
        # It is a removed skill, of another workspace, or damaged: whoever names it is told.
        return None
    if not is_there:
        return None
    at = float(int(removed.partition("-")[0]))
    place = str(workspace / entry.items[MAIN].place)
    has_script = SCRIPT in entry.items and trash.exists(entry.kept(SCRIPT))
    return DraftInTrash(removed, place, at, has_script)


def load_entry(workspace: Path, trash: Root, removed: str) -> DraftEntry:
    """Return what belongs in an entry.

    Raises:
        PathError: there is none of that id, it is of another workspace, or its record is damaged.
    """
    record = read_record(trash, removed)
    # The record is a file like any other: it may choose neither the workspace nor the folder.
    if record.get("source") != SOURCE or record.get("workspace") != str(workspace):
        raise PathError(removed, f"is no draft that was removed from {workspace}.")
    try:
        items = {
            name: DraftItem(_check(_PLACE, found["place"]), _check(_HASH, found["hash"]))
            for name, found in sorted(record["items"].items(), key=lambda one: one[0] != MAIN)
            if name in (MAIN, SCRIPT)
        }
        return DraftEntry(removed, {MAIN: items.pop(MAIN), **items})
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise PathError(removed, "has a damaged record: move it back by hand.") from error


def _check(form: re.Pattern[str], text: str) -> str:
    if not form.match(text):
        raise ValueError(text)
    return text


def _read_note(root: Root, path: str) -> dict[str, Any]:
    try:
        found = json.loads(root.read(path, _MAX_NOTE))
    except (ValueError, RecursionError) as error:
        problem = "is damaged: look at it, then move it away."
        raise PathError(shown(str(root.path / path)), problem) from error
    return found if isinstance(found, dict) else {}


MOST_FILES, MOST_DEPTH, MOST_BYTES = 200, 8, 8 * 1024 * 1024
_NOTE = "open.json"
_CLAIM = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
_PRIVATE, _PRIVATE_FOLDER = 0o600, 0o700


def read_files(root: Root, place: str, *, in_folder: bool) -> dict[str, bytes]:
    """Return the files of a folder by their paths, or one file under an empty path.

    Raises:
        PathError: there is a link in it, it cannot be read, or it is too large.
    """
    if not in_folder:
        return {"": root.read(place, MOST_BYTES)}
    files, left = {}, MOST_BYTES
    for path, _ in root.walk(place, max_files=MOST_FILES, max_depth=MOST_DEPTH):
        data = root.read(path, left)
        files[path[len(place) + 1 :]], left = data, left - len(data)
    return files


class DraftTrash:
    """The trash of the drafts of one workspace; whoever uses it holds the lock of the drafts."""

    def __init__(self, trash: Path, notes: Path, hook: Hook) -> None:
        """Nothing is made yet; `hook` is called with the name of each step."""
        self._trash = Path(os.path.realpath(trash))
        self._notes, self._hook = notes, hook

    def put(self, workspace: Root, main: DraftItem, script: DraftItem | None, *, now: float) -> str:
        """Move a draft and its script, or one thing alone, to the trash, and return its id there.

        Raises:
            PathError: either is not what was seen, or cannot be moved; both are where they were.
        """
        self.settle(workspace)
        items = {MAIN: main} if script is None else {MAIN: main, SCRIPT: script}
        for item in items.values():
            if _hash(workspace, item.place) != item.hash:
                raise _explain_change(item.place)
        entry = DraftEntry(new_id(now), items)
        with self._open(workspace) as trash, self._note(entry.id):
            try:
                trash.make_folder(entry.id, mode=_PRIVATE_FOLDER)
                record = dump_entry(entry, workspace, trash, now)
                trash.write(entry.kept(RECORD), record, mode=_PRIVATE)
                self._hook("recorded")
                for name, item in items.items():
                    _store(workspace, trash, item, entry.kept(name))
                    self._hook(f"stored-{name}")
            except BaseException as error:
                _attempt(error, lambda: _give_back(workspace, trash, entry))
                raise
        return entry.id

    def take(self, workspace: Root, removed: str) -> str:
        """Put what an entry holds back where it was, and return the place of the first of it.

        Raises:
            PathError: it is not in the trash, was changed there, or a place is taken.
        """
        self.settle(workspace)
        with self._open(workspace) as trash:
            entry = load_entry(workspace.path, trash, removed)
            kept = [name for name in entry.items if trash.exists(entry.kept(name))]
            there = {name: entry.items[name] for name in kept}
            _refuse_taking(workspace, trash, entry, there)
            with self._note(entry.id):
                try:
                    for name in reversed(there):
                        _fetch(workspace, trash, entry.kept(name), there[name].place)
                        self._hook(f"fetched-{name}")
                    trash.remove_tree(entry.id)
                except BaseException as error:
                    _attempt(error, lambda: _finish(workspace, trash, entry))
                    raise
        return entry.items[MAIN].place

    def listed(self, workspace: Path) -> tuple[DraftInTrash, ...]:
        """Return what of a workspace could be taken back, newest first.

        What is damaged or was changed since is left out: `take` would refuse it, and says why.

        Raises:
            PathError: the trash cannot be read.
        """
        if not self._trash.is_dir():
            return ()
        with Root.open(self._trash, swap_hook=self._hook) as trash:
            names = reversed(list_ids(trash))
            found = (show_entry(workspace, trash, name) for name in names)
            return tuple(one for one in found if one is not None)

    def settle(self, workspace: Root) -> None:
        """Bring to its end what was cut off: draft and script are in the trash, or out of it.

        Raises:
            PathError: what is noted cannot be read, or something cannot be moved.
        """
        if not self._notes.is_dir():
            return
        with Root.open(self._notes, swap_hook=self._hook) as notes:
            _sweep(notes, "")
            if not notes.exists(_NOTE):
                return
            removed = str(_read_note(notes, _NOTE).get("entry", ""))
            with self._open(workspace) as trash:
                if is_entry(trash, removed):
                    _finish(workspace, trash, load_entry(workspace.path, trash, removed))
                elif removed in list_ids(trash):
                    _drop(trash, removed)
            notes.unlink(_NOTE)

    @contextmanager
    def _open(self, workspace: Root) -> Iterator[Root]:
        for folder in (workspace.path / "skills" / "auto", workspace.path / "scripts" / "auto"):
            if self._trash.is_relative_to(folder) or folder.is_relative_to(self._trash):
                problem = "cannot be the trash of drafts that it lies in or around."
                raise PathError(str(self._trash), problem)
        with Root.open(self._trash, create=True, swap_hook=self._hook) as trash:
            yield trash

    @contextmanager
    def _note(self, removed: str) -> Iterator[None]:
        """Note what is under way; where it fails the note stays for whoever comes next."""
        with Root.open(self._notes, create=True, swap_hook=self._hook) as notes:
            notes.write(_NOTE, json.dumps({"entry": removed}).encode(), mode=_PRIVATE)
            self._hook("noted")
            yield
            notes.unlink(_NOTE)


def _refuse_taking(
    workspace: Root, trash: Root, entry: DraftEntry, there: Mapping[str, DraftItem]
) -> None:
    if MAIN not in there:
        raise PathError(entry.id, "is not in the trash any more.")
    for name, item in there.items():
        if _hash(trash, entry.kept(name)) != item.hash:
            raise PathError(entry.id, "was changed in the trash: look at it there.")
        if workspace.state(item.place) is not None:
            problem = f"cannot go back: {shown(item.place)} exists already. Move it away first."
            raise PathError(entry.id, problem)


def _finish(workspace: Root, trash: Root, entry: DraftEntry) -> None:
    """Let the script follow the draft, wherever the cut left the two."""
    for name, item in entry.items.items():
        if _hash(workspace, item.place) != item.hash:
            _bring_back(trash, entry.kept(name), item.hash)
        _drop_claim(workspace, item.place, is_kept=trash.exists(entry.kept(name)))
        _bring_back(workspace, item.place, item.hash)
    main = entry.items[MAIN]
    is_out = _hash(workspace, main.place) == main.hash or not trash.exists(entry.kept(MAIN))
    is_changed = any(
        trash.exists(entry.kept(name)) and _hash(trash, entry.kept(name)) != item.hash
        for name, item in entry.items.items()
    )
    if is_out or is_changed:
        _give_back(workspace, trash, entry)
    elif SCRIPT in entry.items:
        _follow(workspace, trash, entry)
    for name, item in entry.items.items():
        if item.hash in (_hash(workspace, item.place), _hash(trash, entry.kept(name))):
            _sweep(workspace, item.place.rpartition("/")[0])
            _sweep(trash, entry.id)


def _follow(workspace: Root, trash: Root, entry: DraftEntry) -> None:
    """Move the script to the draft in the trash, unless somebody has another one by now."""
    script, kept = entry.items[SCRIPT], entry.kept(SCRIPT)
    if _hash(workspace, script.place) != script.hash:
        return
    if trash.exists(kept):
        workspace.unlink(script.place)
    else:
        _store(workspace, trash, script, kept)


def _give_back(workspace: Root, trash: Root, entry: DraftEntry) -> None:
    """Put everything back that is in the trash, over nothing, and drop the entry."""
    for name in reversed(list(entry.items)):
        item, kept = entry.items[name], entry.kept(name)
        if not trash.exists(kept):
            continue
        if workspace.state(item.place) is None:
            _fetch(workspace, trash, kept, item.place)
        elif _hash(workspace, item.place) == item.hash:
            trash.remove_tree(kept)
    _drop(trash, entry.id)


def _drop_claim(workspace: Root, place: str, *, is_kept: bool) -> None:
    """Remove a name that was claimed for something from the trash, and never filled."""
    state = workspace.state(place)
    if is_kept and state is not None and stat.S_ISREG(state.st_mode) and not state.st_size:
        workspace.unlink(place)


def _bring_back(root: Root, place: str, expected: str) -> None:
    """Give something its name again that a move to another disk was killed with."""
    if root.exists(place):
        return
    for stray in _strays(root, place.rpartition("/")[0]):
        if _hash(root, stray) == expected:
            root.rename(stray, place)
            return


def _sweep(root: Root, folder: str) -> None:
    """Remove what is left of copies that were being made, or of what was copied."""
    for stray in _strays(root, folder):
        root.remove_tree(stray)


def _strays(root: Root, folder: str) -> list[str]:
    found = root.list(folder) if not folder or root.exists(folder) else []
    return [f"{folder}/{name}".lstrip("/") for name, state in found if is_stray(name, state)]


def _store(workspace: Root, trash: Root, item: DraftItem, kept: str) -> None:
    place = RootPlace(workspace, item.place)
    state = place.state
    if state is None:
        raise _explain_change(item.place)
    with reporting(item.place, "moved to the trash"):
        move_place(place, RootPlace(trash, kept), state)
    # What arrived is what counts: until now somebody could write to it.
    if _hash(trash, kept) != item.hash:
        raise _explain_change(item.place)


def _fetch(workspace: Root, trash: Root, kept: str, place: str) -> None:
    """Move something out of the trash to a place that is free, and over nothing."""
    old, new = RootPlace(trash, kept), RootPlace(workspace, place)
    workspace.make_folder(new.parent)
    state = old.state
    if state is None:
        raise PathError(shown(kept), "is not in the trash any more.")
    with reporting(place, "moved back"):
        # A folder takes the place of nothing but an empty one.
        if is_folder(state) or not BY_HANDLE or not _link(old, new):
            move_place(old, new, state)


def _link(old: RootPlace, new: RootPlace) -> bool:
    """Move a file in a way that never replaces one; False where its name is only claimed yet."""
    with old.root.handle(old.parent) as source, new.root.handle(new.parent) as target:
        try:
            os.link(old.name, new.name, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
        except FileExistsError:
            raise
        except OSError:
            # Another disk, or one without hard links.
            os.close(os.open(new.name, _CLAIM, _PRIVATE, dir_fd=target))
            return False
        os.fsync(target)
        os.unlink(old.name, dir_fd=source)
        os.fsync(source)
        return True


def _drop(trash: Root, removed: str) -> None:
    """Remove an entry, unless something that somebody could want back is still in it."""
    if not any(trash.exists(f"{removed}/{name}") for name in (MAIN, SCRIPT)):
        trash.remove_tree(removed)


def _attempt(error: BaseException, action: Callable[[], None]) -> None:
    try:
        action()
    except PathError as second:
        error.add_note(f"Not everything could be put back yet: {second}")


def _explain_change(place: str) -> PathError:
    return PathError(shown(place), "changed meanwhile: look at it again.")


def _hash(root: Root, place: str) -> str:
    """Return the hash of what is there; empty where nothing is that could have been removed."""
    try:
        state = root.state(place)
        if state is None:
            return ""
        return content_hash(read_files(root, place, in_folder=is_folder(state)))
    except PathError:
        # A link, too large, not readable: whatever it is, it is not what was seen.
        return ""
