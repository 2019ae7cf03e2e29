"""What checks of freshness found, by the path of each skill: one JSON file in the state folder.

It is looked at by every route and every read, so it is read again only when it changed; where
nobody ever checked anything there is no file, and nothing is read at all.
"""

import logging
import os
from collections.abc import Mapping
from typing import Any

from prowess.host.files.state_files import change_mapping, read_mapping
from prowess.runtime.ports import StaleSkill

FRESHNESS_FILE = "freshness.json"
_MOST_SKILLS, _MOST_LISTED = 2_000, 600
_SPAN = 2


class FreshnessFile:
    """The file of one state folder."""

    def __init__(self, state: str) -> None:
        self._path = os.path.join(state, FRESHNESS_FILE)
        self._stamp: tuple[int, ...] | None = None
        self._known: Mapping[str, StaleSkill] = {}

    def read(self) -> Mapping[str, StaleSkill]:
        """Return all of it; what cannot be read counts as nothing."""
        try:
            found = os.stat(self._path)
            stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
        except OSError:
            # Nobody checked anything yet.
            self._known, self._stamp = {}, None
            return self._known
        if stamp != self._stamp:
            self._known, self._stamp = _load(self._path), stamp
        return self._known

    def write(self, found: Mapping[str, StaleSkill]) -> None:
        """Keep what was found of some skills; the oldest are forgotten.

        Raises:
            StoreError: it cannot be kept.
        """

        def change(values: dict[str, Any]) -> None:
            for path, one in found.items():
                values.pop(path, None)
                values[path] = {
                    "hash": one.content_hash,
                    "held": list(one.held)[:_MOST_LISTED],
                    "spans": [list(span) for span in one.spans],
                    "notes": list(one.notes)[:_MOST_LISTED],
                }
            for path in list(values)[: max(len(values) - _MOST_SKILLS, 0)]:
                del values[path]

        change_mapping(self._path, change)


def _load(path: str) -> dict[str, StaleSkill]:
    try:
        values = read_mapping(path)
    except (OSError, ValueError) as error:
        logging.getLogger(__name__).warning("freshness.unreadable: %s: %s", path, error)
        return {}
    return {
        place: StaleSkill(
            content_hash=str(entry.get("hash", "")),
            held=_texts(entry.get("held")),
            spans=_spans(entry.get("spans")),
            notes=_texts(entry.get("notes")),
        )
        for place, entry in values.items()
        if isinstance(entry, Mapping)
    }


def _texts(value: object) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def _spans(value: object) -> tuple[tuple[int, int], ...]:
    found = value if isinstance(value, list) else []
    return tuple(
        (one[0], one[1])
        for one in found
        if isinstance(one, list) and len(one) == _SPAN and all(isinstance(n, int) for n in one)
    )
