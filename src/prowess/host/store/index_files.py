"""Indexes of routing as files in the state folder, one for each set of skills.

They are worth nothing but time: what is missing, broken or too large is made anew, and the oldest
go first. A file is written whole or not at all, and is not read by another version of the code
that made it.
"""

import hashlib
import os
import stat
import tempfile
from contextlib import suppress
from typing import Self

from prowess import routing

_MOST_BYTES = 32 * 1024 * 1024
_MOST_FILES = 12
_FOLDER, _ENDING = "indexes", ".index"
_STAMP_CHARS = 12


class IndexFiles:
    """The files, by what the index was made from."""

    def __init__(self, folder: str, *, made_by: str = "", most: int = _MOST_FILES) -> None:
        self._folder, self._most = folder, most
        self._ending = f"-{made_by or code_stamp()}{_ENDING}"

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


def code_stamp() -> str:
    """Return what tells the code that makes indexes from every other version of it."""
    found = hashlib.sha256()
    for folder in routing.__path__:
        with os.scandir(folder) as entries:
            files = sorted((one.name, one.stat().st_size, one.stat().st_mtime_ns)
                           for one in entries if one.name.endswith(".py"))  # fmt: skip
        found.update(repr(files).encode())
    return found.hexdigest()[:_STAMP_CHARS]
