"""What a copy of skills remembers in its target, and how a folder there is held against it.

The file lies where strangers may write. So nothing in it is believed before it was checked: every
name in it is a plain one in its own folder, and none of them ever leads anywhere else.
"""

import hashlib
import json
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from prowess.errors import PathError
from prowess.host.files.containment import Root
from prowess.host.files.handles import is_folder
from prowess.runtime.sync_plan import FileMark, Record, is_folder_name
from prowess.safety.intake.ledger import Limits
from prowess.safety.paths import PathRefused, check_all, collision_key, shown

MANIFEST = ".prowess-sync.json"
MAX_BYTES = 64 * 1024 * 1024
VERSION = 1
STAGING = re.compile(r"\.prowess-staging-[0-9a-f]{16}\Z")
# Every manifest begins like this, so that a cut off one is known as ours.
HEADER = b'{\n "prowessSync": '
_HASH = re.compile(r"[0-9a-f]{64}\Z")
_MAX_FILE_BYTES = Limits().file_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What was copied, and while a sync is under way also what is being copied."""

    records: Mapping[str, Record] = field(default_factory=dict)
    # What folders are about to become, None where one is to go.
    pending: Mapping[str, Record | None] = field(default_factory=dict)
    # The folder in which it is made ready; empty where no sync is under way.
    staging: str = ""


def dump(manifest: Manifest) -> bytes:
    """Return a manifest as text for its file."""
    value = {
        "prowessSync": VERSION,
        "staging": manifest.staging,
        "folders": {name: _shown(record) for name, record in sorted(manifest.records.items())},
        "pending": {
            name: None if record is None else _shown(record)
            for name, record in sorted(manifest.pending.items())
        },
    }
    return (json.dumps(value, indent=1) + "\n").encode()


def load(content: bytes, path: str) -> Manifest:
    """Return the manifest in `content`; `path` is for messages.

    Raises:
        PathError: it is broken, or names something that no copy could have written.
    """
    try:
        return _manifest(_mapping(json.loads(content), "a list of copied skills"))
    except (ValueError, RecursionError) as error:
        problem = str(error) if type(error) is ValueError else "it is not JSON"
        message = (
            f"cannot be trusted: {problem}. Nothing was changed. Put the right file back, or move"
            " it away together with the folders that sync wrote, then sync again."
        )
        raise PathError(shown(path), message) from error


def matches(root: Root, place: str, record: Record | None) -> bool:
    """Return whether a folder holds exactly the files of a record, and nothing else."""
    if record is None:
        return False
    above = {"/".join(path.split("/")[:end]) for path in record.files for end in _depths(path)}
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


def _depths(path: str) -> range:
    return range(1, path.count("/") + 1)


def _is_marked(root: Root, place: str, mode: int, mark: FileMark | None) -> bool:
    if mark is None or not stat.S_ISREG(mode) or bool(mode & stat.S_IXUSR) != mark.executable:
        return False
    return hashlib.sha256(root.read(place, _MAX_FILE_BYTES)).hexdigest() == mark.sha256


def _shown(record: Record) -> dict[str, Any]:
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
    folders, pending = _named(value.get("folders", {})), _named(value.get("pending", {}))
    return Manifest(
        records={name: _record(name, found) for name, found in folders.items()},
        pending={
            name: None if found is None else _record(name, found) for name, found in pending.items()
        },
        staging=staging,
    )


def _named(value: object) -> dict[str, Any]:
    """Return folders by name, each a plain one of its own."""
    folders = _mapping(value, "a list of folders")
    for name in folders:
        if not is_folder_name(name):
            raise ValueError(f"{shown(name)!r} is no folder that sync could have written")
    if len({collision_key(name) for name in folders}) != len(folders):
        raise ValueError("two of its folders are the same on some systems")
    return folders


def _record(name: str, value: object) -> Record:
    found = _mapping(value, shown(name))
    files = {
        path: _mark(path, mark) for path, mark in _mapping(found.get("files"), "files").items()
    }
    try:
        check_all(files)
    except PathRefused as error:
        raise ValueError(f"{shown(name)} has a file that no copy has: {error}") from error
    return Record(source=_text(found.get("source")), skill=_text(found.get("skill")), files=files)


def _mark(path: str, value: object) -> FileMark:
    found = _mapping(value, shown(path))
    digest, executable = _text(found.get("sha256")), found.get("executable")
    if not _HASH.match(digest) or not isinstance(executable, bool):
        raise ValueError(f"{shown(path)} has no hash")
    return FileMark(digest, executable)


def _mapping(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        # The caller reports every kind of broken text in the same way.
        raise ValueError(f"{what} is missing")  # noqa: TRY004
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        # The same.
        raise ValueError("a text is missing")  # noqa: TRY004
    return value
