"""What routing keeps in the state folder: indexes, examples, thresholds, and what is stale.

All but the indexes are JSON files, small enough to be read whole and read again only when they
changed; where there is no file, nothing is read at all. What cannot be read counts as nothing:
routing works without, and a warning says so.
"""

import ctypes
import logging
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from prowess import routing
from prowess.host.files.kept_files import KeptFiles, stamp_code
from prowess.host.files.state_files import Hold, change_mapping, locked, read_mapping
from prowess.routing.model import Thresholds
from prowess.runtime.ports import Examples, StaleSkill

_FOLDER, _MOST_INDEXES = "indexes", 12


def open_indexes(state: str) -> KeptFiles:
    """Return the indexes of a state folder, by what they were made from."""
    return KeptFiles(
        os.path.join(state, _FOLDER), made_by=stamp_code(*routing.__path__), most=_MOST_INDEXES
    )


def give_back() -> None:
    """Hand freed memory back, where the system's library can."""
    if not sys.platform.startswith("linux"):
        return
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    # Other C libraries of Linux have no such function, and no need for it.
    if trim is not None:
        trim(0)


EXAMPLES_FILE = "routing-examples.json"
THRESHOLDS_FILE = "routing-thresholds.json"
_MOST_PER_KIND = 50
_LONGEST = 500


FRESHNESS_FILE = "freshness.json"
_MOST_SKILLS, _MOST_LISTED = 2_000, 600
_SPAN = 2
_T = TypeVar("_T")


class _JsonFile(Generic[_T]):
    """One file; `read` turns its JSON object into what is asked for, and `what` is for warnings."""

    def __init__(
        self, path: str, read: Callable[[dict[str, Any]], _T], what: str, hold: Hold = locked
    ) -> None:
        self._path, self._read, self._what, self._hold = path, read, what, hold
        self._stamp: tuple[int, ...] | None = None
        self._known = read({})

    def read(self) -> _T:
        """Return what the file says; what cannot be read counts as nothing."""
        stamp = self._find_stamp()
        if stamp != self._stamp:
            try:
                values = read_mapping(self._path)
            except (OSError, ValueError) as error:
                log = logging.getLogger(__name__)
                log.warning("%s.unreadable: %s: %s", self._what, self._path, error)
                values = {}
            self._known, self._stamp = self._read(values), stamp
        return self._known

    def put(self, found: Mapping[str, object], most: int | None = None) -> None:
        """Keep values by their keys, None for what is forgotten; the oldest above `most` go.

        Raises:
            StoreError: they cannot be kept.
        """

        def change(values: dict[str, Any]) -> None:
            for key, value in found.items():
                values.pop(key, None)
                if value is not None:
                    values[key] = value
            for key in list(values)[: max(len(values) - (most or len(values)), 0)]:
                del values[key]

        change_mapping(self._path, change, self._hold)

    def _find_stamp(self) -> tuple[int, ...] | None:
        try:
            found = os.stat(self._path)
        except OSError:
            # Not there, or not for us: the same as empty.
            return None
        # A file that was replaced within one tick of the clock is still another file.
        return found.st_mtime_ns, found.st_size, found.st_ino


class ExamplesFile:
    """Examples by the name of their skill."""

    def __init__(self, state: str, hold: Hold = locked) -> None:
        path = os.path.join(state, EXAMPLES_FILE)
        self._file = _JsonFile(path, _read_examples, "routing", hold)
        self._indexes = open_indexes(state)

    def read(self) -> Mapping[str, Examples]:
        """Return all of them; what cannot be read counts as none."""
        return self._file.read()

    def write(self, name: str, examples: Examples) -> None:
        """Replace the examples of one skill."""
        row = {
            "generated": _cut_texts(list(examples.generated)),
            # The latest stay: how people speak of a skill changes.
            "confirmed": _cut_texts(list(examples.confirmed)[-_MOST_PER_KIND:]),
            "nearMisses": _cut_texts(list(examples.near_misses)),
        }
        self._file.put({name: row if examples else None})
        # Indexes hold examples, too, and must not know longer what was taken back.
        self._indexes.forget()


class ThresholdsFile:
    """Calibrated thresholds by the id of the encoder that they belong to."""

    def __init__(self, state: str, hold: Hold = locked) -> None:
        path = os.path.join(state, THRESHOLDS_FILE)
        self._file = _JsonFile(path, dict[str, Any], "routing", hold)

    def read(self, encoder_id: str) -> Thresholds | None:
        """Return what was calibrated for an encoder, if anything."""
        found = self._file.read().get(encoder_id)
        if not isinstance(found, Mapping):
            return None
        load, offer = _share(found.get("load")), _share(found.get("offer"))
        return None if load is None or offer is None else Thresholds(load=load, offer=offer)

    def write(self, encoder_id: str, thresholds: Thresholds | None) -> None:
        """Keep the thresholds of an encoder, or forget them."""
        kept = None if thresholds is None else {"load": thresholds.load, "offer": thresholds.offer}
        self._file.put({encoder_id: kept})


class FreshnessFile:
    """What checks of freshness found, by the path of each skill."""

    def __init__(self, state: str) -> None:
        path = os.path.join(state, FRESHNESS_FILE)
        self._file = _JsonFile(path, _read_freshness, "freshness")

    def read(self) -> Mapping[str, StaleSkill]:
        """Return all of it; what cannot be read counts as nothing."""
        return self._file.read()

    def write(self, found: Mapping[str, StaleSkill]) -> None:
        """Keep what was found of some skills; the oldest are forgotten."""
        rows = {
            path: {
                "hash": one.content_hash,
                "held": list(one.held)[:_MOST_LISTED],
                "spans": [list(span) for span in one.spans],
                "notes": list(one.notes)[:_MOST_LISTED],
            }
            for path, one in found.items()
        }
        self._file.put(rows, _MOST_SKILLS)


def _share(value: object) -> float | None:
    """Return a number between 0 and 1; anything else that JSON can hold is none."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    # A number beyond every float is still an integer to JSON, and compares like one.
    return float(value) if 0 <= value <= 1 else None


def _read_examples(values: Mapping[str, Any]) -> dict[str, Examples]:
    return {
        name: Examples(
            generated=_cut_texts(entry.get("generated")),
            confirmed=_cut_texts(entry.get("confirmed")),
            near_misses=_cut_texts(entry.get("nearMisses")),
        )
        for name, entry in values.items()
        if isinstance(entry, Mapping)
    }


def _cut_texts(value: object) -> tuple[str, ...]:
    texts = (text.strip()[:_LONGEST] for text in _texts(value))
    return tuple(text for text in texts if text)[:_MOST_PER_KIND]


def _read_freshness(values: Mapping[str, Any]) -> dict[str, StaleSkill]:
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
