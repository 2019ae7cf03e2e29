"""The settings files of harnesses: read within bounds, changed in one step, with a way back.

They belong to somebody else, who may write them at any time: what is written replaces only the
bytes that the change was made from. A link stays a link, and the file it leads to is changed. The
old bytes are kept beside the file, with the file's own permissions, since they may hold secrets.
"""

import errno
import os
import re
import stat
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from prowess.errors import PathError
from prowess.hooks.edits import Edit
from prowess.hooks.registrations import Format
from prowess.host.files.private_files import locked
from prowess.host.files.read import Content, read_bounded
from prowess.host.harness import jsonc as jsonc_edit
from prowess.host.harness import toml_edit
from prowess.host.harness.jsonc_text import MARK, DocumentError, JsoncText

_MOST_BYTES = 16_000_000
BACKUP = ".prowess-backup-"
_KEPT = 3
_CHANGED = "was changed meanwhile: nothing was written to it; run the command again."
_WRITTEN_BY_US = 0o600
_READ_ONLY = "is marked read-only"
# No settings file lies deeper in folders of its own.
_MOST_FOLDERS = 3


class HarnessSettings:
    """Reads and writes settings files.

    Args:
        lock: where one of our processes waits for another.
        stamp: gives the time, as it stands in the name of a backup.
    """

    def __init__(self, lock: str, stamp: Callable[[], str]) -> None:
        self._lock, self._stamp = lock, stamp

    def leads_to(self, path: str) -> str:
        """Return where the file really is, if a link leads there; otherwise nothing."""
        return os.path.realpath(path) if _links(path) else ""

    def protection(self, path: str) -> str:
        """Return what there is to say of a file that is marked read-only; otherwise nothing."""
        target = os.path.realpath(path)
        try:
            mode = os.stat(target).st_mode
        except OSError:
            # Not there, or not to be looked at: writing says what is wrong.
            return ""
        if mode & stat.S_IWUSR:
            return ""
        if os.access(target, os.W_OK):
            return f"{_READ_ONLY}: it is written all the same, and stays so."
        return f"{_READ_ONLY}: make it writable first, or nothing is written to it."

    def read(self, path: str) -> bytes | None:
        """Return what the file holds, or None where there is none.

        Raises:
            PathError: it cannot be read.
        """
        for link in _links(path):
            if not os.path.exists(link):
                # To make what it names would put a file wherever a project's author wants it.
                raise PathError(link, "is a link that leads nowhere: mend or remove it first.")
        found = read_bounded(os.path.realpath(path), _MOST_BYTES)
        if found is None:
            return None
        if isinstance(found, Content):
            return found.data
        raise PathError(path, f"{found.message}.")

    # A settings file can hold anything.
    def document(self, path: str, kind: Format, content: bytes | None) -> dict[str, Any]:
        """Return the document that these bytes of a file hold.

        Raises:
            PathError: they are not what the harness could read either.
        """
        text = _decoded(path, content)
        try:
            if kind is Format.TOML:
                return toml_edit.read(text)
            return JsoncText(text).document if text.strip().strip(MARK) else {}
        except DocumentError as error:
            raise _unusable(path, kind, error, "read") from error

    def comments(self, path: str, kind: Format, content: bytes | None) -> Sequence[str]:
        """Return the comments in these bytes of a file, as they are written."""
        text = _decoded(path, content)
        if kind is Format.TOML:
            return [line.strip() for line in text.splitlines() if line.lstrip().startswith("#")]
        return JsoncText(text).comment_texts() if text.strip().strip(MARK) else []

    def edited(
        self, path: str, kind: Format, content: bytes | None, edits: Sequence[Edit]
    ) -> bytes:
        """Return the bytes with these edits done, and everything else as it was.

        Raises:
            PathError: that cannot be done.
        """
        if not edits and content is not None:
            return content
        edit = toml_edit.edited if kind is Format.TOML else jsonc_edit.edited
        try:
            return edit(_decoded(path, content), edits).encode()
        except DocumentError as error:
            raise _unusable(path, kind, error, "edited") from error
        except UnicodeEncodeError as error:
            problem = DocumentError("the path of this program cannot be written as text")
            raise _unusable(path, kind, problem, "edited") from error

    def backups(self, path: str) -> Sequence[bytes]:
        """Return what was kept of a file, newest first; what cannot be read is left out."""
        found = [read_bounded(name, _MOST_BYTES) for name in _backups_of(os.path.realpath(path))]
        return [one.data for one in found if isinstance(one, Content)]

    def missing_folders(self, path: str) -> tuple[str, ...]:
        """Return the folders that writing a file would make, outermost first."""
        missing, folder = list[str](), os.path.dirname(os.path.realpath(path))
        while folder and not os.path.lexists(folder):
            missing.append(folder)
            folder = os.path.dirname(folder)
        return tuple(reversed(missing))

    def drop_folders(self, path: str, folders: Sequence[str]) -> None:
        """Take away those of the folders around a file that are empty; others stay."""
        folder = os.path.dirname(os.path.realpath(path))
        for _ in range(_MOST_FOLDERS):
            if folder not in folders or os.path.islink(folder):
                return
            try:
                # It refuses where anything is inside.
                os.rmdir(folder)
            except OSError:
                return
            folder = os.path.dirname(folder)

    def write(self, path: str, before: bytes | None, after: bytes | None) -> str:
        """Put `after` in the place of `before`, where that is what the file still holds.

        Returns:
            Where the old bytes were kept; nothing where there were none.

        Raises:
            PathError: it cannot be written, or holds something else by now.
        """
        try:
            with locked(self._lock):
                return self._replace(path, before, after)
        except OSError as error:
            raise PathError(path, f"cannot be written: {_reason(error)}.") from error

    def _replace(self, path: str, before: bytes | None, after: bytes | None) -> str:
        target = os.path.realpath(path)
        if self.read(path) != before:
            raise PathError(path, _CHANGED)
        if before is not None and not os.access(target, os.W_OK):
            raise PathError(path, "is read-only: nothing was written. Make it writable first.")
        mode = _WRITTEN_BY_US if before is None else stat.S_IMODE(os.stat(target).st_mode)
        if after is None:
            # Only a file that is ours from end to end is taken away: there is nothing to keep.
            os.unlink(target)
            return ""
        kept = "" if before is None else self._keep(target, before, mode)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with _Written(target, after, mode) as temporary:
            # The last look, with the new bytes ready beside it.
            if self.read(path) != before:
                raise PathError(path, _CHANGED)
            os.replace(temporary, target)
        return kept

    def _keep(self, target: str, content: bytes, mode: int) -> str:
        # Never over another one: two changes may fall into one second.
        stem, number = f"{target}{BACKUP}{self._stamp()}", 1
        name = stem
        while os.path.lexists(name):
            number += 1
            name = f"{stem}-{number}"
        with _Written(name, content, mode) as temporary:
            os.replace(temporary, name)
        for old in _backups_of(target)[_KEPT:]:
            os.unlink(old)
        return name


class _Written:
    """A file beside its target, whole and on the disk; gone afterwards unless it was renamed."""

    def __init__(self, target: str, content: bytes, mode: int) -> None:
        self._target, self._content, self._mode = target, content, mode
        self._name = ""

    def __enter__(self) -> str:
        handle, self._name = tempfile.mkstemp(dir=os.path.dirname(self._target), prefix=".prowess-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(self._content)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(self._name, self._mode)
        except BaseException:
            self.__exit__()
            raise
        return self._name

    def __exit__(self, *_problem: object) -> None:
        if os.path.lexists(self._name):
            os.unlink(self._name)


def _links(path: str) -> list[str]:
    """Return which of a file and the two folders around it are links."""
    folder = os.path.dirname(path)
    return [one for one in (os.path.dirname(folder), folder, path) if os.path.islink(one)]


def _backups_of(target: str) -> list[str]:
    """Return the names of what was kept of a file, newest first."""
    folder, name = os.path.split(target)
    pattern = re.compile(re.escape(name + BACKUP) + r"(\d{8}T\d{6}Z)(?:-(\d+))?")
    try:
        found = [pattern.fullmatch(one) for one in os.listdir(folder)]
    except OSError:
        # Where names cannot be listed, there is nothing to go back to.
        return []
    ordered = sorted((one[1], int(one[2] or 1), one[0]) for one in found if one)
    return [os.path.join(folder, one) for _, _, one in reversed(ordered)]


def _decoded(path: str, content: bytes | None) -> str:
    try:
        return "" if content is None else content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        problem = f"is not UTF-8 text (line {line}): save it as UTF-8."
        raise PathError(path, problem) from error


def _unusable(path: str, kind: Format, error: DocumentError, what: str) -> PathError:
    where = f", line {error.line}" if error.line else ""
    language = "TOML" if kind is Format.TOML else "JSON"
    return PathError(path, f"cannot be {what} as {language}{where}: {error.problem}.")


def _reason(error: OSError) -> str:
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return f"{error.strerror}, so change its permissions or do it by hand (--dry-run shows how)"
    return error.strerror or "the system refuses"
