"""The settings files of harnesses: read within bounds, changed in one step, with a way back.

They belong to somebody else, who may write them at any time: what is written replaces only the
bytes that the change was made from. A link stays a link, and the file it leads to is changed. The
old bytes are kept beside the file, with the file's own permissions, since they may hold secrets.

Of a TOML file only tables of two names (`[mcp_servers.prowess]`) are edited, each as lines of their
own, and what comes out is read again: where somebody wrote the same in another way (an inline
table, dotted keys), that is an error, and no text.

What connecting made is noted in the state folder by keys, folders and hashes. A note that cannot be
read is as good as none, and then taking out goes by what it sees.
"""

import errno
import json
import os
import re
import stat
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from prowess.errors import PathError
from prowess.hooks.harness import Edit, Insert, Path, Remove, ReplaceValue, apply_edits
from prowess.hooks.registrations import MODULE, NAME, TEXT, Format, Program
from prowess.host.files.handles import Content, read_bounded
from prowess.host.files.state_files import locked, write_private, writing_beside
from prowess.host.harness.jsonc import (
    MARK,
    DocumentError,
    Json5Text,
    JsoncText,
    edit_jsonc,
    find_newline,
)
from prowess.host.processes.facts import find_program
from prowess.runtime.harness.connect import ConnectRecord

_MOST_RECORD_BYTES, _MOST_FILES, _MOST_PARTS = 1_000_000, 500, 64
_HASH = re.compile(r"(?:[0-9a-f]{64})?")


class ConnectionRecords:
    """Keeps records in one file.

    Args:
        path: the file.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def get(self, path: str) -> ConnectRecord | None:
        """Return what is known of a settings file; None where nothing is that makes sense."""
        found = self._read().get(path)
        return _record(found) if isinstance(found, dict) else None

    def keep(self, path: str, record: ConnectRecord | None) -> None:
        """Keep what was made in a settings file, or forget it.

        Raises:
            PathError: it cannot be kept.
        """
        try:
            with locked(self._path):
                known = self._read()
                had = known.pop(path, None) is not None
                if record is not None:
                    # One folder may hold the files of two harnesses: who leaves last takes it away.
                    made = {*record.folders, *_find_made_around(path, known.values())}
                    known[path] = _dump_record(replace(record, folders=tuple(sorted(made))))
                    # The newest stand last; the others were made long ago.
                    known = dict(list(known.items())[-_MOST_FILES:])
                if record is not None or had:
                    write_private(self._path, json.dumps({"files": known}, indent=1) + "\n")
        except OSError as error:
            problem = error.strerror or "the system refuses"
            raise PathError(self._path, f"cannot be written: {problem}.") from error

    def _read(self) -> dict[str, Any]:
        content = read_bounded(self._path, _MOST_RECORD_BYTES)
        if not isinstance(content, Content):
            return {}
        try:
            found = json.loads(content.data)
        except (ValueError, RecursionError):
            # As good as none: what was made is then judged by its looks alone.
            return {}
        files = found.get("files") if isinstance(found, dict) else None
        return files if isinstance(files, dict) else {}


def _find_made_around(path: str, known: Iterable[object]) -> Iterator[str]:
    """Yield the folders around a file that connecting made for others."""
    place = os.path.realpath(path)
    for found in known:
        record = _record(found) if isinstance(found, dict) else None
        for folder in record.folders if record is not None else ():
            if place.startswith(folder + os.sep):
                yield folder


def _dump_record(record: ConnectRecord) -> dict[str, object]:
    return {
        "was": record.was,
        "made": sorted([list(path) for path in record.made]),
        "folders": list(record.folders),
    }


def _record(found: Mapping[str, object]) -> ConnectRecord | None:
    was, made, folders = (found.get(key) for key in ("was", "made", "folders"))
    if not isinstance(was, str) or not _HASH.fullmatch(was):
        return None
    paths = [_keys(one) for one in made] if isinstance(made, list) else [None]
    names = folders if isinstance(folders, list) else [None]
    known = [path for path in paths if path]
    places = [name for name in names if isinstance(name, str) and os.path.isabs(name)]
    if len(known) != len(paths) or len(places) != len(names) or len(paths) > _MOST_PARTS:
        return None
    return ConnectRecord(was=was, made=frozenset(known), folders=tuple(places))


def _keys(found: object) -> Path | None:
    is_path = isinstance(found, list) and all(isinstance(key, str) for key in found)
    return tuple(found) if is_path and isinstance(found, list) else None


def find_own_program(environ: Mapping[str, str]) -> Program:
    """Return the words that start us.

    The name alone is best: it stays true when another version is installed, and the same command
    line may be shared with others. It counts only where the search path leads to us.
    """
    windows = os.name == "nt"
    script = _find_own_script()
    found = find_program(NAME, environ).path
    if script and found and os.path.realpath(found) == os.path.realpath(script):
        return Program(words=(NAME,), windows=windows)
    if script:
        return Program(words=(script,), windows=windows, other=found)
    words = (os.path.abspath(sys.executable), *MODULE)
    return Program(words=words, windows=windows, other=found)


def _find_own_script() -> str:
    """Return the script beside the interpreter that runs us, or the one we were started by."""
    ending = ".exe" if os.name == "nt" else ""
    beside = os.path.join(os.path.dirname(os.path.abspath(sys.executable)), NAME + ending)
    started = os.path.abspath(sys.argv[0]) if sys.argv and sys.argv[0] else ""
    for path in (beside, started):
        if os.path.basename(path) == NAME + ending and os.access(path, os.X_OK):
            return path if os.path.isfile(path) else ""
    return ""


_HEADER = re.compile(r"\s*\[")
_BY_HAND = "it is written in a way that is not edited here: change it by hand"
_LINE = re.compile(r"at line (\d+)")


def read_toml(text: str) -> dict[str, Any]:
    """Return the document.

    Raises:
        DocumentError: the text is not TOML.
    """
    try:
        return tomllib.loads(text.removeprefix(MARK))
    except tomllib.TOMLDecodeError as error:
        line = _LINE.search(str(error))
        raise DocumentError(str(error), int(line[1]) if line else 0) from error
    except RecursionError as error:
        raise DocumentError("it is nested too deeply") from error


def edit_toml(text: str, edits: Sequence[Edit]) -> str:
    """Return the text with every edit done, one after the other.

    Raises:
        DocumentError: the text is not TOML, or would not say afterwards what was asked for.
    """
    for edit in edits:
        wanted = _without_empty(apply_edits(read_toml(text), [edit]))
        text = next((one for one in _candidates(text, edit) if _says(one, wanted)), "")
        if not text and wanted:
            raise DocumentError(_by_hand(edit))
    return text


def _by_hand(edit: Edit) -> str:
    """Say what a person has to write where a table is written as it is not edited here."""
    if not isinstance(edit, Insert):
        return _BY_HAND
    names, table = _table(edit)
    inside = ", ".join(f"{key} = {_value(table[key])}" for key in table)
    return (
        f"`{names[0]}` is written in one line or with dotted keys, which is not edited here: add"
        f" {names[-1]} = {{ {inside} }} to it by hand"
    )


def _says(text: str, wanted: Mapping[str, Any]) -> bool:
    try:
        return _without_empty(read_toml(text)) == wanted
    except DocumentError:
        # A way to write it that is none: there may be another.
        return False


def _without_empty(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document without empty tables at its top: they are there by their name alone."""
    return {key: value for key, value in document.items() if value != {}}


def _candidates(text: str, edit: Edit) -> Iterator[str]:
    """Yield texts that might say what is wanted; the first that does is taken."""
    if isinstance(edit, Insert):
        yield _with_table(text, edit)
    elif isinstance(edit, Remove):
        yield from _without_table(text, edit)
    else:
        yield from _with_value(text, edit)


def _with_table(text: str, edit: Insert) -> str:
    newline = find_newline(text)
    names, table = _table(edit)
    lines = [f"[{'.'.join(names)}]", *(f"{key} = {_value(table[key])}" for key in table)]
    apart = "" if not text.strip(MARK) else newline
    if text.strip(MARK) and not text.endswith(("\n", "\r")):
        apart += newline
    return text + apart + newline.join(lines) + newline


def _table(edit: Insert) -> tuple[tuple[str, ...], Mapping[str, Any]]:
    """Return the names of the table that an insertion makes, and what is in it."""
    names = (*(str(step) for step in edit.path), str(edit.key))
    value = edit.value
    while len(names) == 1 and isinstance(value, Mapping) and len(value) == 1:
        inner = next(iter(value))
        names, value = (*names, inner), value[inner]
    if not isinstance(value, Mapping):
        raise DocumentError(_BY_HAND)
    return names, value


def _value(value: object) -> str:
    # Text and lists of text are written alike in both.
    return json.dumps(value, ensure_ascii=False)


def _without_table(text: str, edit: Remove) -> Iterator[str]:
    names = [str(step) for step in edit.path]
    for start, end in _blocks(text, names if len(names) > 1 else [*names, r"[\w-]+"]):
        lines = text.splitlines(keepends=True)
        kept = [line for line in lines[start:end] if line.lstrip().startswith("#")]
        # The empty line that sets our table apart goes with it.
        first = start - 1 if start > 0 and not lines[start - 1].strip() else start
        yield "".join((*lines[:first], *kept, *lines[end:]))


def _with_value(text: str, edit: ReplaceValue) -> Iterator[str]:
    *names, key = (str(step) for step in edit.path)
    pattern = re.compile(
        rf"(\s*{re.escape(key)}\s*=\s*)(?:\"(?:[^\"\\]|\\.)*+\"|'[^']*+'|\[[^\]\n]*+\])"
    )
    for start, end in _blocks(text, names):
        lines = text.splitlines(keepends=True)
        for index in range(start + 1, end):
            found = pattern.match(lines[index])
            if found:
                rest = lines[index][found.end() :]
                lines[index] = found[1] + _value(edit.value) + rest
                yield "".join(lines)
                break


def _blocks(text: str, names: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last line but one of each table of these names, with what is below.

    What looks like one inside a text of several lines is yielded as well, and is found out later.
    """
    dotted = r"\s*\.\s*".join(rf"[\"']?{name}[\"']?" for name in names)
    header = re.compile(rf"\s*\[\s*{dotted}\s*\]")
    within = re.compile(rf"\s*\[\s*{dotted}\s*\.")
    lines = text.removeprefix(MARK).splitlines(keepends=True)
    for start, line in enumerate(lines):
        if not header.match(line):
            continue
        end = start + 1
        while end < len(lines) and (within.match(lines[end]) or not _HEADER.match(lines[end])):
            end += 1
        # Comments and empty lines before the next table belong to that.
        while end > start + 1 and _is_apart(lines[end - 1]):
            end -= 1
        yield start, end


def _is_apart(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


_MOST_SETTINGS_BYTES = 16_000_000
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
        found = read_bounded(os.path.realpath(path), _MOST_SETTINGS_BYTES)
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
        text = _decode(path, content)
        if kind is Format.TEXT:
            return {} if content is None else {TEXT: text}
        try:
            if kind is Format.TOML:
                return read_toml(text)
            return _READERS[kind](text).document if text.strip().strip(MARK) else {}
        except DocumentError as error:
            raise _refuse(path, kind, error, "read") from error

    def comments(self, path: str, kind: Format, content: bytes | None) -> Sequence[str]:
        """Return the comments in these bytes of a file, as they are written."""
        text = _decode(path, content)
        if kind is Format.TEXT:
            return []
        if kind is Format.TOML:
            return [line.strip() for line in text.splitlines() if line.lstrip().startswith("#")]
        return _READERS[kind](text).comment_texts() if text.strip().strip(MARK) else []

    def edited(
        self, path: str, kind: Format, content: bytes | None, edits: Sequence[Edit]
    ) -> bytes:
        """Return the bytes with these edits done, and everything else as it was.

        Raises:
            PathError: that cannot be done.
        """
        if not edits and content is not None:
            return content
        edit = _EDITORS[kind]
        try:
            return edit(_decode(path, content), edits).encode()
        except DocumentError as error:
            raise _refuse(path, kind, error, "edited") from error
        except UnicodeEncodeError as error:
            problem = DocumentError("the path of this program cannot be written as text")
            raise _refuse(path, kind, problem, "edited") from error

    def backups(self, path: str) -> Sequence[bytes]:
        """Return what was kept of a file, newest first; what cannot be read is left out."""
        found = [
            read_bounded(name, _MOST_SETTINGS_BYTES) for name in _backups_of(os.path.realpath(path))
        ]
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
        with writing_beside(target, after, mode) as temporary:
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
        with writing_beside(name, content, mode) as temporary:
            os.replace(temporary, name)
        for old in _backups_of(target)[_KEPT:]:
            os.unlink(old)
        return name


def _edit_text(text: str, edits: Sequence[Edit]) -> str:
    return str(apply_edits({TEXT: text}, edits).get(TEXT, ""))


_READERS = {Format.JSON: JsoncText, Format.JSON5: Json5Text}
_EDITORS: Mapping[Format, Callable[[str, Sequence[Edit]], str]] = {
    Format.JSON: edit_jsonc,
    Format.JSON5: partial(edit_jsonc, reader=Json5Text),
    Format.TOML: edit_toml,
    Format.TEXT: _edit_text,
}


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


def _decode(path: str, content: bytes | None) -> str:
    try:
        return "" if content is None else content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        problem = f"is not UTF-8 text (line {line}): save it as UTF-8."
        raise PathError(path, problem) from error


def _refuse(path: str, kind: Format, error: DocumentError, what: str) -> PathError:
    where = f", line {error.line}" if error.line else ""
    return PathError(path, f"cannot be {what} as {kind.upper()}{where}: {error.problem}.")


def _reason(error: OSError) -> str:
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return f"{error.strerror}, so change its permissions or do it by hand (--dry-run shows how)"
    return error.strerror or "the system refuses"
