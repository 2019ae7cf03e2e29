"""What routing learnt, beside the index: examples of skills, and calibrated thresholds.

Two JSON files in the state folder, small enough to be read whole. What cannot be read counts as
nothing: routing works without, and a warning says so.
"""

import json
import logging
import os
from collections.abc import Callable, Mapping
from typing import Any

from prowess.errors import StoreError
from prowess.host.files.private_files import locked, write_private
from prowess.host.store.index_files import IndexFiles
from prowess.routing.model import Thresholds
from prowess.runtime.ports import Examples

EXAMPLES_FILE = "routing-examples.json"
THRESHOLDS_FILE = "routing-thresholds.json"
_MAX_CHARS = 16_000_000
_MOST_PER_KIND = 50
_LONGEST = 500


class ExamplesFile:
    """Examples by the name of their skill; read again only when the file changed."""

    def __init__(self, state: str) -> None:
        self._path = os.path.join(state, EXAMPLES_FILE)
        self._indexes = IndexFiles.of(state)
        self._stamp: tuple[int, ...] | None = None
        self._known: Mapping[str, Examples] = {}

    def read(self) -> Mapping[str, Examples]:
        """Return all of them; what cannot be read counts as none."""
        stamp = _stamp(self._path)
        if stamp != self._stamp:
            self._known, self._stamp = _examples(_load(self._path)), stamp
        return self._known

    def write(self, name: str, examples: Examples) -> None:
        """Replace the examples of one skill.

        Raises:
            StoreError: they cannot be kept.
        """

        def change(values: dict[str, Any]) -> None:
            values.pop(name, None)
            if examples:
                values[name] = {
                    "generated": _texts(list(examples.generated)),
                    # The latest stay: how people speak of a skill changes.
                    "confirmed": _texts(list(examples.confirmed)[-_MOST_PER_KIND:]),
                    "nearMisses": _texts(list(examples.near_misses)),
                }

        _change(self._path, change)
        # Indexes hold examples, too, and must not know longer what was taken back.
        self._indexes.forget()


class ThresholdsFile:
    """Calibrated thresholds by the id of the encoder that they belong to."""

    def __init__(self, state: str) -> None:
        self._path = os.path.join(state, THRESHOLDS_FILE)
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

        _change(self._path, change)


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
        return _parsed(path)
    except (OSError, ValueError, RecursionError) as error:
        logging.getLogger(__name__).warning("routing.unreadable: %s: %s", path, error)
        return {}


def _parsed(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            # One character more than anything that was written: cut JSON is no JSON.
            values = json.loads(file.read(_MAX_CHARS + 1))
    except FileNotFoundError:
        return {}
    return values if isinstance(values, dict) else {}


def _change(path: str, change: Callable[[dict[str, Any]], None]) -> None:
    try:
        with locked(path):
            try:
                values = _parsed(path)
            except (ValueError, RecursionError):
                # Somebody edited it by hand and slipped: their text is kept.
                os.replace(path, path + ".bak")
                values = {}
            change(values)
            write_private(path, _written(values))
    except OSError as error:
        raise StoreError(path, f"cannot be changed: {error.strerror}.") from error


def _written(values: Mapping[str, Any]) -> str:
    # Half of a character pair is no text that a file can hold.
    text = json.dumps(values, indent=2, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "replace").decode("utf-8")


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
