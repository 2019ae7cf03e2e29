"""The drafts of a workspace and their replay scripts: `skills/auto` and `scripts/auto`.

Every step goes through `containment.Root` from the workspace on, so that neither folder is reached
through a link. Nothing is ever written over something. A draft is a file or a folder, ours or
OpenPocket's: whoever made it, its script has its name. The script is written first and the draft
last, so that a cut leaves at most a script without a draft, which `orphan_scripts` finds.
"""

import hashlib
import os
import re
import stat
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from prowess.errors import ContainmentError, PathError
from prowess.experience.replay.script import script_head
from prowess.host.files.containment import Hook, Root
from prowess.host.files.handles import is_folder
from prowess.host.files.state_files import hold_alone
from prowess.host.files.transaction import is_stray_file
from prowess.host.writers.draft_trash import DraftInTrash, DraftItem, DraftTrash, read_files
from prowess.safety.paths import PathRefused, content_hash, segments, shown

if TYPE_CHECKING:
    from prowess.runtime.experience_drafts import ShelvedDraft

MOST_DRAFTS = 1_000
MOST_BYTES = 1_000_000
_DRAFTS, _SCRIPTS = "skills/auto", "scripts/auto"
_SKILL_FILE, _DRAFT_END, _SCRIPT_END = "SKILL.md", ".md", ".sh"
# Files that lie among drafts and are none.
_NO_DRAFTS = frozenset(("readme", "skill"))
_STAMPED = re.compile(r"(?P<stamp>[0-9]{8}-[0-9]{6})-.")
_DRAFT_MODE, _SCRIPT_MODE = 0o644, 0o700


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedDraft:
    """A draft as it was when it was listed; only exactly this is removed."""

    stem: str
    path: str
    text: str
    is_folder: bool
    # Where it lies in the workspace, and the hash of all that is there.
    place: str
    hash: str
    script: str = ""
    script_text: str = ""
    script_hash: str = ""


class WorkspaceDrafts:
    """The drafts of one workspace; whoever writes or removes holds the lock."""

    def __init__(self, workspace: str, state: str, *, swap_hook: Hook | None = None) -> None:
        """Nothing is read or made yet; `swap_hook` lets a test change the disk at each step."""
        self._workspace = Path(os.path.realpath(workspace))
        self._hook: Hook = swap_hook or (lambda _step: None)
        key = hashlib.sha256(os.fsencode(self._workspace)).hexdigest()[:32]
        self._notes = Path(state) / "drafts" / key
        self._trash = DraftTrash(Path(state) / "trash", self._notes, self._hook)
        self.problems: tuple[str, ...] = ()

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other writers out, in this process and in others; what was cut off is settled.

        Raises:
            PathError: the state folder cannot be used, or what was cut off cannot be settled.
        """
        with hold_alone(str(self._notes / "change"), str(self._notes)):
            if self._workspace.is_dir():
                with self._open() as root:
                    self._trash.settle(root)
                    _sweep(root)
            yield

    def listed(self) -> tuple[ListedDraft, ...]:
        """Return the drafts, newest name first; what cannot be read as one is in `problems`.

        Raises:
            PathError: one of the folders is a link or cannot be read.
        """
        self.problems = ()
        if not self._workspace.is_dir():
            return ()
        with self._open() as root:
            found = sorted(_find_drafts(root), key=_key_newest, reverse=True)
            scripts = {name for name, _ in _entries(root, _SCRIPTS)}
            problems: list[str] = []
            if len(found) > MOST_DRAFTS:
                left = len(found) - MOST_DRAFTS
                problems.append(f"{_DRAFTS}: {left} drafts are too many and were not read.")
            drafts = []
            for name, state in found[:MOST_DRAFTS]:
                try:
                    draft = _read_draft(root, name, state)
                    drafts.append(_with_script(root, draft, scripts, problems))
                except PathError as error:
                    problems.append(str(error))
            self.problems = tuple(problems)
            return tuple(drafts)

    def write(
        self, stem: str, text: str, script: str | None, *, as_folder: bool
    ) -> tuple[str, str]:
        """Write a draft and its script, over nothing, and return where they are.

        Raises:
            PathError: the name is taken or cannot be one, or they cannot be written; then neither
                is there.
        """
        _refuse_stem(stem)
        body, commands = _encode(stem, text), _encode(stem, script or "")
        place = f"{_DRAFTS}/{stem}"
        draft, replay = _places(stem, as_folder=as_folder)
        with self._open(create=True) as root:
            # A script of ours whose draft was cut off: it is the same, so it is as good as written.
            is_there = script is not None and _holds(root, replay, commands)
            for taken in (place, f"{place}{_DRAFT_END}", *(() if is_there else (replay,))):
                _refuse_taken(root, taken)
            with ExitStack() as stack:
                if script is not None and not is_there:
                    root.write(replay, commands, mode=_SCRIPT_MODE, exclusive=True)
                    stack.callback(root.unlink, replay)
                    self._hook("script-written")
                if as_folder:
                    stack.callback(root.remove_empty, place)
                root.write(draft, body, mode=_DRAFT_MODE, exclusive=True)
                stack.pop_all()
            self._hook("draft-written")
            return str(root.path / draft), "" if script is None else str(root.path / replay)

    def places(self, stem: str, *, scripted: bool, as_folder: bool) -> tuple[str, str]:
        """Return where `write` would put a draft and its script; empty for what it has not."""
        draft, replay = _places(stem, as_folder=as_folder)
        return str(self._workspace / draft), str(self._workspace / replay) if scripted else ""

    def remove(self, draft: "ShelvedDraft", *, now: float) -> str:
        """Move a draft that was listed and its script to the trash, and return the id there.

        Raises:
            PathError: either changed meanwhile or cannot be moved; both are where they were.
        """
        if not isinstance(draft, ListedDraft):
            raise PathError(shown(draft.path), "was not listed here: list the drafts again.")
        with self._open() as root:
            script = None
            if draft.script and not _has_other_form(root, draft):
                script = DraftItem(f"{_SCRIPTS}/{draft.stem}{_SCRIPT_END}", draft.script_hash)
            return self._trash.put(root, DraftItem(draft.place, draft.hash), script, now=now)

    def restore(self, trash_id: str) -> str:
        """Bring a removed draft and its script back, over nothing, and return where it is.

        Raises:
            PathError: it is not in the trash, was changed there, or its place is taken.
        """
        with self._open(create=True) as root:
            place = self._trash.take(root, trash_id)
            state = dict(_entries(root, _DRAFTS)).get(place.rpartition("/")[2])
            inner = _skill_file(root, place) if state is not None and is_folder(state) else ""
            return str(root.path / place / inner)

    def trashed(self) -> tuple[DraftInTrash, ...]:
        """Return what of this workspace is in the trash, newest first.

        Raises:
            PathError: the trash cannot be read.
        """
        return self._trash.listed(self._workspace)

    def orphan_scripts(self) -> tuple[str, ...]:
        """Return the scripts of drafts that are gone; what a person put there does not count.

        Raises:
            PathError: one of the folders is a link or cannot be read.
        """
        if not self._workspace.is_dir():
            return ()
        with self._open() as root:
            return tuple(str(root.path / _SCRIPTS / name) for name in _orphans(root))

    def remove_script(self, path: str, *, now: float) -> str:
        """Move a script without a draft to the trash, and return its id there.

        Raises:
            PathError: it is no such script, or cannot be moved.
        """
        with self._open() as root:
            name = os.path.basename(path)
            if path != str(root.path / _SCRIPTS / name) or name not in _orphans(root):
                raise PathError(shown(path), "is no script of a draft that is gone.")
            place = f"{_SCRIPTS}/{name}"
            found = content_hash(read_files(root, place, in_folder=False))
            return self._trash.put(root, DraftItem(place, found), None, now=now)

    @contextmanager
    def _open(self, *, create: bool = False) -> Iterator[Root]:
        with Root.open(self._workspace, create=create, swap_hook=self._hook) as root:
            if root.path != self._workspace:
                problem = "has become a link since it was looked at: try again."
                raise ContainmentError(shown(str(self._workspace)), problem)
            yield root


def _places(stem: str, *, as_folder: bool) -> tuple[str, str]:
    """Return where a draft of that name and its script lie in a workspace."""
    end = f"/{_SKILL_FILE}" if as_folder else _DRAFT_END
    return f"{_DRAFTS}/{stem}{end}", f"{_SCRIPTS}/{stem}{_SCRIPT_END}"


def _entries(root: Root, folder: str) -> list[tuple[str, os.stat_result]]:
    """Return what lies in one of the two folders; nothing where it is missing."""
    above, _, _ = folder.partition("/")
    return root.list(folder) if root.exists(above) and root.exists(folder) else []


def _find_drafts(root: Root) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the entries that are drafts by their names and kinds, links among them."""
    for name, state in _entries(root, _DRAFTS):
        if name.startswith("."):
            continue
        stem, end = os.path.splitext(name)
        is_flat = end.lower() == _DRAFT_END and stem.lower() not in _NO_DRAFTS
        # A link that could stand for a folder; what it leads to is not looked at.
        is_linked = stat.S_ISLNK(state.st_mode) and not end
        if is_flat or is_linked or (is_folder(state) and _may_be_draft(root, f"{_DRAFTS}/{name}")):
            yield name, state


def _may_be_draft(root: Root, folder: str) -> bool:
    try:
        return bool(_skill_file(root, folder))
    except PathError:
        # It cannot be looked into: whoever reads it will say why.
        return True


def _key_newest(entry: tuple[str, os.stat_result]) -> tuple[str, str]:
    name, _ = entry
    return _stamp(name), name


def _skill_file(root: Root, folder: str) -> str:
    """Return how a folder spells its `SKILL.md`; empty where it has none."""
    names = [name for name, _ in root.list(folder) if name.lower() == _SKILL_FILE.lower()]
    return _SKILL_FILE if _SKILL_FILE in names else next(iter(names), "")


def _read_draft(root: Root, name: str, state: os.stat_result) -> ListedDraft:
    place = f"{_DRAFTS}/{name}"
    try:
        segments(name, max_depth=1)
    except PathRefused as error:
        raise PathError(shown(place), f"cannot be a draft: {error.problem}") from error
    in_folder = is_folder(state)
    files = read_files(root, place, in_folder=in_folder)
    inner = _skill_file(root, place) if in_folder else ""
    return ListedDraft(
        stem=name if in_folder else os.path.splitext(name)[0],
        path=str(root.path / place / inner),
        text=_decode(place, files.get(inner)),
        is_folder=in_folder,
        place=place,
        hash=content_hash(files),
    )


def _with_script(
    root: Root, draft: ListedDraft, scripts: Collection[str], problems: list[str]
) -> ListedDraft:
    name = draft.stem + _SCRIPT_END
    if name not in scripts:
        return draft
    place = f"{_SCRIPTS}/{name}"
    try:
        files = read_files(root, place, in_folder=False)
        text = _decode(place, files.get(""))
    except PathError as error:
        # The draft is one all the same, only without this script.
        problems.append(str(error))
        return draft
    path = str(root.path / place)
    return replace(draft, script=path, script_text=text, script_hash=content_hash(files))


def _decode(place: str, body: bytes | None) -> str:
    if body is None:
        raise PathError(shown(place), "changed while it was read: list the drafts again.")
    if len(body) > MOST_BYTES:
        raise PathError(shown(place), f"is larger than {MOST_BYTES} bytes.")
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise PathError(shown(place), "is not UTF-8 text; save it as UTF-8.") from error


def _encode(stem: str, text: str) -> bytes:
    body = text.encode("utf-8", "replace")
    if len(body) > MOST_BYTES:
        raise PathError(shown(stem), f"is larger than {MOST_BYTES} bytes.")
    return body


def _orphans(root: Root) -> list[str]:
    """Return the names of scripts whose draft is gone."""
    scripts = [name for name, state in _entries(root, _SCRIPTS) if stat.S_ISREG(state.st_mode)]
    stems = {
        name if is_folder(state) else os.path.splitext(name)[0]
        for name, state in _find_drafts(root)
    }
    # OpenPocket may spell the task of a script otherwise than in the name of its draft.
    alone = {_stamp(stem) for stem in stems if stem + _SCRIPT_END not in scripts}
    return [
        name
        for name in scripts
        if name.endswith(_SCRIPT_END)
        and _stamp(name)
        and _stamp(name) not in alone
        and name.removesuffix(_SCRIPT_END) not in stems
        and _is_replay(root, f"{_SCRIPTS}/{name}")
    ]


def _is_replay(root: Root, place: str) -> bool:
    """Return whether a script is one of ours; what a person put there is theirs."""
    try:
        return script_head().encode() in root.read(place, MOST_BYTES)
    except PathError:
        # It went, or is a link, or too large: whatever it is, it is not ours to remove.
        return False


def _stamp(name: str) -> str:
    """Return the moment in front of a name; empty where there is none."""
    found = _STAMPED.match(name)
    return found["stamp"] if found else ""


def _sweep(root: Root) -> None:
    """Remove what a killed write left behind; nobody else writes while the lock is held."""
    for folder in (_DRAFTS, _SCRIPTS):
        for name, state in _entries(root, folder):
            place = f"{folder}/{name}"
            if is_stray_file(name, state):
                root.unlink(place)
            elif folder == _DRAFTS and _stamp(name) and is_folder(state):
                # One that cannot be looked into is no worse than before.
                with suppress(PathError):
                    _sweep_folder(root, place)


def _sweep_folder(root: Root, place: str) -> None:
    found = root.list(place)
    if all(is_stray_file(name, state) for name, state in found):
        for name, _ in found:
            root.unlink(f"{place}/{name}")
        root.remove_empty(place)


def _has_other_form(root: Root, draft: ListedDraft) -> bool:
    """Return whether a file and a folder share the name, and with it the script."""
    if draft.is_folder:
        return root.exists(f"{_DRAFTS}/{draft.stem}{_DRAFT_END}")
    folder = dict(_entries(root, _DRAFTS)).get(draft.stem)
    is_there = folder is not None and is_folder(folder)
    return is_there and _may_be_draft(root, f"{_DRAFTS}/{draft.stem}")


def _refuse_stem(stem: str) -> None:
    try:
        segments(f"{stem}{_SCRIPT_END}", max_depth=1)
        segments(stem, max_depth=1)
    except PathRefused as error:
        raise PathError(shown(stem), f"cannot be a draft's name: {error.problem}") from error
    if stem.startswith(".") or stem.lower() in _NO_DRAFTS:
        raise PathError(shown(stem), "cannot be a draft's name: no draft would be found there.")


def _holds(root: Root, place: str, body: bytes) -> bool:
    try:
        return root.read(place, MOST_BYTES) == body
    except PathError:
        # Nothing is there, or nothing of ours.
        return False


def _refuse_taken(root: Root, place: str) -> None:
    if root.exists(place):
        raise PathError(shown(place), "exists already: take the timestamp of the next second.")
