"""What routing keeps in the state folder: indexes, examples of skills, and calibrated thresholds.

Indexes are worth nothing but time: what is missing, broken or too large is made anew, the oldest
go first. A file is written whole or not at all, and is not read by another version of the code that
made it. Examples and thresholds are JSON, small enough to be read whole. What cannot be read counts
as nothing: routing works without, and a warning says so.
"""

import ctypes
import hashlib
import logging
import os
import stat
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Self

from prowess import routing
from prowess.host.files.state_files import change_mapping, read_mapping
from prowess.routing.model import Thresholds
from prowess.runtime.ports import Examples

_MOST_BYTES = 32 * 1024 * 1024
_MOST_FILES = 12
_FOLDER, _ENDING = "indexes", ".index"
_STAMP_CHARS = 12


class IndexFiles:
    """The files, by what the index was made from."""

    def __init__(self, folder: str, *, made_by: str = "", most: int = _MOST_FILES) -> None:
        self._folder, self._most = folder, most
        self._ending = f"-{made_by or stamp_code()}{_ENDING}"

    @classmethod
    def of(cls, state: str) -> Self:
        """Return those of a state folder."""
        return cls(os.path.join(state, _FOLDER))

    def load(self, key: str) -> bytes | None:
        """Return what was kept under `key`, if anything was."""
        # Missing is the usual case, and one that cannot be read is as good as none.
        with suppress(OSError):
            handle = os.open(self._path(key), os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
            with os.fdopen(handle, "rb") as file:
                found = os.fstat(handle)
                if stat.S_ISREG(found.st_mode) and found.st_size <= _MOST_BYTES:
                    return file.read(_MOST_BYTES)
        return None

    def save(self, key: str, raw: bytes) -> None:
        """Keep `raw`; a folder that cannot be written to keeps nothing."""
        if len(raw) > _MOST_BYTES:
            return
        with suppress(OSError):
            os.makedirs(self._folder, stat.S_IRWXU, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self._folder, suffix=".tmp")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(raw)
                os.replace(name, self._path(key))
            except OSError:
                os.unlink(name)
            self._forget_all_but(self._most)

    def forget(self) -> None:
        """Remove all: they hold what people said, and that was changed."""
        with suppress(OSError):
            self._forget_all_but(0)

    def _path(self, key: str) -> str:
        return os.path.join(self._folder, key + self._ending)

    def _forget_all_but(self, most: int) -> None:
        with os.scandir(self._folder) as entries:
            kept = sorted((entry.stat().st_mtime, entry.path) for entry in entries)
        # What a writer left behind that was ended in the middle goes the same way.
        for _, path in kept[: max(0, len(kept) - most)]:
            os.unlink(path)


def stamp_code() -> str:
    """Return what tells the code that makes indexes from every other version of it."""
    found = hashlib.sha256()
    for folder in routing.__path__:
        with os.scandir(folder) as entries:
            files = sorted((one.name, one.stat().st_size, one.stat().st_mtime_ns)
                           for one in entries if one.name.endswith(".py"))  # fmt: skip
        found.update(repr(files).encode())
    return found.hexdigest()[:_STAMP_CHARS]


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

        change_mapping(self._path, change)
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

        change_mapping(self._path, change)


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
