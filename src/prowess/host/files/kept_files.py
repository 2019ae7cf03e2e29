"""Files of the state folder that save time: what was made once, by what it was made from.

Little is imported here: some of them are read while a client waits for its first answer.
"""

import hashlib
import os
import stat
from contextlib import suppress

_MOST_KEPT_BYTES = 64 * 1024 * 1024
_STAMP_CHARS = 12
_SUFFIX = ".tmp"
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class KeptFiles:
    """Bytes that are worth nothing but time, by what they were made from.

    What is missing, broken or too large is made anew, and the oldest go first. A file is written
    whole or not at all, and is not read by another version of the code that made it, nor where
    anybody else could have written it.
    """

    def __init__(self, folder: str, *, made_by: str, most: int) -> None:
        self._folder, self._most, self._ending = folder, most, f"-{made_by}.index"

    def load(self, key: str) -> bytes | None:
        """Return what was kept under `key`, if anything was."""
        # Missing is the usual case, and one that cannot be read is as good as none.
        with suppress(OSError):
            handle = os.open(self._path(key), _READ)
            with os.fdopen(handle, "rb") as file:
                found = os.fstat(handle)
                is_closed = os.name == "nt" or not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
                if is_closed and is_own(found) and found.st_size <= _MOST_KEPT_BYTES:
                    return file.read(_MOST_KEPT_BYTES)
        return None

    def save(self, key: str, raw: bytes) -> None:
        """Keep `raw`; a folder that cannot be written to keeps nothing."""
        if len(raw) > _MOST_KEPT_BYTES:
            return
        # Late: whoever only reads waits for nothing that it does not need.
        import tempfile

        with suppress(OSError):
            os.makedirs(self._folder, stat.S_IRWXU, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self._folder, suffix=_SUFFIX)
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


def stamp_code(*folders: str) -> str:
    """Return what tells the code in `folders`, and its tables, from every other version of it."""
    # The version stands there, where all files of a build have one time.
    with open(os.path.join(_PACKAGE, "__init__.py"), "rb") as file:
        found = hashlib.sha256(file.read())
    for folder in folders:
        with os.scandir(folder) as entries:
            files = sorted((one.name, one.stat().st_size, one.stat().st_mtime_ns)
                           for one in entries if one.name.endswith((".py", ".toml")))  # fmt: skip
        found.update(repr(files).encode())
    return found.hexdigest()[:_STAMP_CHARS]


def is_own(found: os.stat_result) -> bool:
    """Return whether a file is a regular one of ours, under one name alone."""
    is_ours = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
    return stat.S_ISREG(found.st_mode) and is_ours and found.st_nlink == 1
