"""What connecting made in which settings file, kept in the state folder.

Anything may happen to that file: what cannot be read, or has another shape, is as good as nothing,
and then taking out goes by what it sees. No contents are kept, only keys, folders and hashes.
"""

import json
import os
import re
from collections.abc import Mapping
from typing import Any

from prowess.errors import PathError
from prowess.hooks.edits import Path
from prowess.host.files.private_files import locked, write_private
from prowess.host.files.read import Content, read_bounded
from prowess.runtime.harness.connect_ports import Record

_MOST_BYTES, _MOST_FILES, _MOST_PARTS = 1_000_000, 500, 64
_HASH = re.compile(r"(?:[0-9a-f]{64})?")


class ConnectionRecords:
    """Keeps records in one file.

    Args:
        path: the file.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def get(self, path: str) -> Record | None:
        """Return what is known of a settings file; None where nothing is that makes sense."""
        found = self._read().get(path)
        return _record(found) if isinstance(found, dict) else None

    def keep(self, path: str, record: Record | None) -> None:
        """Keep what was made in a settings file, or forget it.

        Raises:
            PathError: it cannot be kept.
        """
        try:
            with locked(self._path):
                known = self._read()
                had = known.pop(path, None) is not None
                if record is not None:
                    known[path] = _shown(record)
                    # The newest stand last; the others were made long ago.
                    known = dict(list(known.items())[-_MOST_FILES:])
                if record is not None or had:
                    write_private(self._path, json.dumps({"files": known}, indent=1) + "\n")
        except OSError as error:
            problem = error.strerror or "the system refuses"
            raise PathError(self._path, f"cannot be written: {problem}.") from error

    def _read(self) -> dict[str, Any]:
        content = read_bounded(self._path, _MOST_BYTES)
        if not isinstance(content, Content):
            return {}
        try:
            found = json.loads(content.data)
        except (ValueError, RecursionError):
            # As good as none: what was made is then judged by its looks alone.
            return {}
        files = found.get("files") if isinstance(found, dict) else None
        return files if isinstance(files, dict) else {}


def _shown(record: Record) -> dict[str, object]:
    return {
        "was": record.was,
        "made": sorted([list(path) for path in record.made]),
        "folders": list(record.folders),
    }


def _record(found: Mapping[str, object]) -> Record | None:
    was, made, folders = (found.get(key) for key in ("was", "made", "folders"))
    if not isinstance(was, str) or not _HASH.fullmatch(was):
        return None
    paths = [_keys(one) for one in made] if isinstance(made, list) else [None]
    names = folders if isinstance(folders, list) else [None]
    known = [path for path in paths if path]
    places = [name for name in names if isinstance(name, str) and os.path.isabs(name)]
    if len(known) != len(paths) or len(places) != len(names) or len(paths) > _MOST_PARTS:
        return None
    return Record(was=was, made=frozenset(known), folders=tuple(places))


def _keys(found: object) -> Path | None:
    is_path = isinstance(found, list) and all(isinstance(key, str) for key in found)
    return tuple(found) if is_path and isinstance(found, list) else None
