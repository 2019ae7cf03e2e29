"""What is noted about a change to a skill before it begins, so that it can be taken back.

Each change has a folder with the files that it replaces. While it is being made, one note beside
those folders names it; to remove that note is what makes the change last.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from prowess.errors import PathError
from prowess.host.files.containment import Root
from prowess.safety.paths import shown

KEPT_CHANGES = 20
_NOTE, _RECORD, _OLD = "open.json", "record.json", "old"
_ID = re.compile(r"[0-9]{20}-[0-9a-f]{8}\Z")
_MAX_RECORD = 4 * 1024 * 1024
_MAX_FILE = 64 * 1024 * 1024
_PRIVATE = 0o600


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedChange:
    """Which files a change replaces, and what it puts on the disk on its way."""

    id: str
    # By path: the permissions of the file that is there, and the digest of the one that will be.
    old: Mapping[str, int | None]
    new: Mapping[str, str | None]
    # By path: where the new file waits.
    temporaries: Mapping[str, str]
    # The folders that the change makes, from the root on, the deepest last.
    folders: tuple[str, ...]

    def dump(self) -> bytes:
        """Return it as JSON."""
        fields = {"old": self.old, "new": self.new, "temporaries": self.temporaries}
        return json.dumps({**fields, "folders": self.folders}).encode()

    @classmethod
    def parse(cls, change: str, found: Mapping[str, Any]) -> "NotedChange":
        """Read what `dump` wrote."""
        old, new = found["old"], found["new"]
        return cls(
            id=change,
            old={str(path): None if mode is None else int(mode) for path, mode in old.items()},
            new={str(path): None if new[path] is None else str(new[path]) for path in old},
            temporaries={str(path): str(place) for path, place in found["temporaries"].items()},
            folders=tuple(map(str, found["folders"])),
        )


class ChangeJournal:
    """The notes about one skill, in a folder of their own."""

    def __init__(self, folder: Root) -> None:
        self._folder = folder

    def begin(self, change: NotedChange, files: Mapping[str, bytes]) -> None:
        """Keep the files that will be replaced, then note that the change is open."""
        for path in self.ids()[: -(KEPT_CHANGES - 1)]:
            self._folder.remove_tree(path)
        for path, data in files.items():
            kept = f"{change.id}/{_OLD}/{path}"
            self._folder.write(kept, data, mode=_PRIVATE, exclusive=True)
        self._folder.write(f"{change.id}/{_RECORD}", change.dump(), mode=_PRIVATE)
        self.note(change)

    def note(self, change: NotedChange) -> None:
        """Note that the change is open."""
        if not self._folder.exists(_NOTE):
            note = json.dumps({"change": change.id}).encode()
            self._folder.write(_NOTE, note, mode=_PRIVATE)

    def close(self) -> None:
        """Let the change last, or say that it has been taken back."""
        self._folder.unlink(_NOTE)

    def cut_off(self) -> NotedChange | None:
        """Return the change that was begun and never closed.

        Raises:
            PathError: what is noted cannot be read.
        """
        if not self._folder.exists(_NOTE):
            return None
        return self.load(str(self._json(_NOTE).get("change", "")))

    def load(self, change: str) -> NotedChange:
        """Return what is noted about a change.

        Raises:
            PathError: nothing is, or it cannot be read.
        """
        if not _ID.match(change):
            raise PathError(shown(change), "is not a change that is kept for this skill.")
        found = self._json(f"{change}/{_RECORD}")
        try:
            return NotedChange.parse(change, found)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self._damaged(change) from error

    def old_files(self, change: NotedChange) -> Iterator[tuple[str, bytes | None]]:
        """Yield the files as they were before the change; None for one that was not there."""
        for path, mode in change.old.items():
            kept = f"{change.id}/{_OLD}/{path}"
            yield path, None if mode is None else self._folder.read(kept, _MAX_FILE)

    def ids(self) -> tuple[str, ...]:
        """Return the ids of all changes that are kept, oldest first."""
        return tuple(name for name, _ in self._folder.list() if _ID.match(name))

    def _json(self, path: str) -> dict[str, Any]:
        try:
            found = json.loads(self._folder.read(path, _MAX_RECORD))
        except ValueError as error:
            raise self._damaged(path) from error
        return found if isinstance(found, dict) else {}

    def _damaged(self, path: str) -> PathError:
        problem = "is damaged: look at the skill, then delete this folder."
        return PathError(str(self._folder.path / path), problem)
