"""What routing keeps in the state folder: indexes, examples, thresholds, and what is stale.

All but the indexes are JSON files, small enough to be read whole and read again only when they
changed; where there is no file, nothing is read at all. What cannot be read counts as nothing:
routing works without, and a warning says so.
"""

import ctypes
import logging
import os
import sys
from collections.abc import Mapping
from typing import Any

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


class ExamplesFile:
    """Examples by the name of their skill; read again only when the file changed."""

    def __init__(self, state: str, hold: Hold = locked) -> None:
        self._path, self._hold = os.path.join(state, EXAMPLES_FILE), hold
        self._indexes = open_indexes(state)
        self._stamp: tuple[int, ...] | None = None
        self._known: Mapping[str, Examples] = {}

    def read(self) -> Mapping[str, Examples]:
        """Return all of them; what cannot be read counts as none."""
        stamp = _stamp(self._path)
        if stamp != self._stamp:
            self._known, self._stamp = _examples(_load(self._path)), stamp
        return self._known

    def write(self, name: str, examples: Examples) -> None:
        """Replace the examples of one skill."""

        def change(values: dict[str, Any]) -> None:
            values.pop(name, None)
            if examples:
                values[name] = {
                    "generated": _texts(list(examples.generated)),
                    # The latest stay: how people speak of a skill changes.
                    "confirmed": _texts(list(examples.confirmed)[-_MOST_PER_KIND:]),
                    "nearMisses": _texts(list(examples.near_misses)),
                }

        change_mapping(self._path, change, self._hold)
        # Indexes hold examples, too, and must not know longer what was taken back.
        self._indexes.forget()


class ThresholdsFile:
    """Calibrated thresholds by the id of the encoder that they belong to."""

    def __init__(self, state: str, hold: Hold = locked) -> None:
        self._path, self._hold = os.path.join(state, THRESHOLDS_FILE), hold
        self._stamp: tuple[int, ...] | None = None
        self._known: dict[str, Any] = {}

    def read(self, encoder_id: str) -> Thresholds | None:
        """Return what was calibrated for an encoder, if anything."""
        stamp = _stamp(self._path)
        if stamp != self._stamp:
            self._known, self._stamp = _load(self._path), stamp
        found = self._known.get(encoder_id)
        if not isinstance(found, Mapping):
            return None
        load, offer = _share(found.get("load")), _share(found.get("offer"))
        return None if load is None or offer is None else Thresholds(load=load, offer=offer)

    def write(self, encoder_id: str, thresholds: Thresholds | None) -> None:
        """Keep the thresholds of an encoder, or forget them.

        Raises:
            StoreError: they cannot be kept.
        """

        def change(values: dict[str, Any]) -> None:
            values.pop(encoder_id, None)
            if thresholds is not None:
                values[encoder_id] = {"load": thresholds.load, "offer": thresholds.offer}

        change_mapping(self._path, change, self._hold)


def _share(value: object) -> float | None:
    """Return a number between 0 and 1; anything else that JSON can hold is none."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    # A number beyond every float is still an integer to JSON, and compares like one.
    return float(value) if 0 <= value <= 1 else None


def _stamp(path: str) -> tuple[int, ...] | None:
    try:
        found = os.stat(path)
    except OSError:
        # Not there, or not for us: the same as empty.
        return None
    # A file that was replaced within one tick of the clock is still another file.
    return found.st_mtime_ns, found.st_size, found.st_ino


def _load(path: str) -> dict[str, Any]:
    try:
        return read_mapping(path)
    except (OSError, ValueError) as error:
        logging.getLogger(__name__).warning("routing.unreadable: %s: %s", path, error)
        return {}


def _examples(values: Mapping[str, Any]) -> dict[str, Examples]:
    return {
        name: Examples(
            generated=_texts(entry.get("generated")),
            confirmed=_texts(entry.get("confirmed")),
            near_misses=_texts(entry.get("nearMisses")),
        )
        for name, entry in values.items()
        if isinstance(entry, Mapping)
    }


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    texts = (text.strip()[:_LONGEST] for text in value if isinstance(text, str))
    return tuple(text for text in texts if text)[:_MOST_PER_KIND]


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
            self._known, self._stamp = _load_freshness(self._path), stamp
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


def _load_freshness(path: str) -> dict[str, StaleSkill]:
    try:
        values = read_mapping(path)
    except (OSError, ValueError) as error:
        logging.getLogger(__name__).warning("freshness.unreadable: %s: %s", path, error)
        return {}
    return {
        place: StaleSkill(
            content_hash=str(entry.get("hash", "")),
            held=_plain_texts(entry.get("held")),
            spans=_spans(entry.get("spans")),
            notes=_plain_texts(entry.get("notes")),
        )
        for place, entry in values.items()
        if isinstance(entry, Mapping)
    }


def _plain_texts(value: object) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def _spans(value: object) -> tuple[tuple[int, int], ...]:
    found = value if isinstance(value, list) else []
    return tuple(
        (one[0], one[1])
        for one in found
        if isinstance(one, list) and len(one) == _SPAN and all(isinstance(n, int) for n in one)
    )
