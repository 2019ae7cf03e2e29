"""What the trash notes of a removed draft, and how it is read back.

A record is a file like any other, so nothing in it is believed: neither the workspace that it names
nor a place outside of the two folders of drafts.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from prowess.errors import PathError
from prowess.host.files.containment import Root
from prowess.safety.paths import shown

SOURCE = "workspace-draft"
# The first of the two decides where the second belongs.
MAIN, SCRIPT, RECORD = "skill", "script", "record.json"
ID = re.compile(r"[0-9]{12}-[0-9a-f]{12}\Z")
_PLACE = re.compile(r"(?:skills|scripts)/auto/(?!\.)[^/\\\0]+\Z")
_HASH = re.compile(r"[0-9a-f]{64}\Z")
_MAX_RECORD = 64 * 1024


class Item(NamedTuple):
    """Something in a workspace, by its place, and the hash that it was seen with."""

    place: str
    hash: str


class Trashed(NamedTuple):
    """Something that was removed, as whoever looks for it wants to see it."""

    id: str
    # Where it was.
    path: str
    removed_at: float
    has_script: bool


class Entry(NamedTuple):
    """One entry of the trash: what belongs in it, by the name that it has there."""

    id: str
    items: Mapping[str, Item]

    def kept(self, name: str) -> str:
        """Return where one of its items is in the trash."""
        return f"{self.id}/{name}"


def dump(entry: Entry, workspace: Root, trash: Root, now: float) -> bytes:
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


def shown_entry(workspace: Path, trash: Root, removed: str) -> Trashed | None:
    """Return an entry as it is listed; None where nothing of this workspace can come back."""
    try:
        entry = load(workspace, trash, removed)
        is_there = trash.exists(entry.kept(MAIN))
    except PathError:
        # It is a removed skill, of another workspace, or damaged: whoever names it is told.
        return None
    if not is_there:
        return None
    at = float(int(removed.partition("-")[0]))
    place = str(workspace / entry.items[MAIN].place)
    has_script = SCRIPT in entry.items and trash.exists(entry.kept(SCRIPT))
    return Trashed(removed, place, at, has_script)


def load(workspace: Path, trash: Root, removed: str) -> Entry:
    """Return what belongs in an entry.

    Raises:
        PathError: there is none of that id, it is of another workspace, or its record is damaged.
    """
    if not ID.match(removed) or not trash.exists(f"{removed}/{RECORD}"):
        raise PathError(shown(removed), "is not in the trash.")
    record = json_in(trash, f"{removed}/{RECORD}")
    # The record is a file like any other: it may choose neither the workspace nor the folder.
    if record.get("source") != SOURCE or record.get("workspace") != str(workspace):
        raise PathError(removed, f"is no draft that was removed from {workspace}.")
    try:
        items = {
            name: Item(_checked(_PLACE, found["place"]), _checked(_HASH, found["hash"]))
            for name, found in sorted(record["items"].items(), key=lambda one: one[0] != MAIN)
            if name in (MAIN, SCRIPT)
        }
        return Entry(removed, {MAIN: items.pop(MAIN), **items})
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise PathError(removed, "has a damaged record: move it back by hand.") from error


def _checked(form: re.Pattern[str], text: str) -> str:
    if not form.match(text):
        raise ValueError(text)
    return text


def json_in(root: Root, path: str) -> dict[str, Any]:
    """Return the mapping that a file holds; an empty one where it holds another value.

    Raises:
        PathError: it is no JSON, or cannot be read.
    """
    try:
        found = json.loads(root.read(path, _MAX_RECORD))
    except (ValueError, RecursionError) as error:
        problem = "is damaged: look at it, then move it away."
        raise PathError(shown(str(root.path / path)), problem) from error
    return found if isinstance(found, dict) else {}
