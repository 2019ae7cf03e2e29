"""Session files of the harnesses on this machine: found in their folders and read within bounds.

The folders are a person's own, but what lies there was written by other programs and names places
of its own: links are not followed, sub-agents' files are left out, and what comes or goes meanwhile
is no trouble. A file that cannot be read is a value with the reason, and hides no other.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from prowess.errors import PathError
from prowess.hooks.harness import Harness
from prowess.host.files.read import Content, read_bounded
from prowess.host.harness.transcripts import read_transcript
from prowess.host.sources.harness_folders import ALIASES, PERSONAL, PROJECT, list_session_roots
from prowess.runtime.sessions import SessionFile
from prowess.transcripts.claude_code import read_claude_sessions
from prowess.transcripts.codex import read_codex_sessions
from prowess.transcripts.gemini import read_gemini_sessions
from prowess.transcripts.sessions import Session

READABLE = (Harness.CLAUDE_CODE, Harness.CODEX, Harness.GEMINI)

MOST_ENTRIES = 50_000
_MOST_LINE_BYTES = 4_000_000
_MOST_NOTE_BYTES = 1_000_000
_DEEPEST = {Harness.CLAUDE_CODE: 1, Harness.CODEX: 3, Harness.GEMINI: 2}
_SUFFIXES = (".jsonl", ".json")
_SHORT_ID = 8
# Folders that every harness but Claude Code reads besides its own.
_SHARED = os.path.join(".agents", "skills")


_READERS: Mapping[Harness, Callable[..., tuple[Session, ...]]] = {
    Harness.CLAUDE_CODE: read_claude_sessions,
    Harness.CODEX: read_codex_sessions,
    Harness.GEMINI: read_gemini_sessions,
}


class _Path(NamedTuple):
    changed_ms: int
    harness: Harness
    path: str


class SessionFolders:
    """The sessions of every harness whose files can be read."""

    def __init__(self, home: str, environ: Mapping[str, str]) -> None:
        self._roots = list_session_roots(home, environ)

    def files(
        self, since_ms: int, harness: Harness | None = None, session: str = ""
    ) -> Iterator[Callable[[], SessionFile]]:
        """Yield what reads each file that changed since then, newest first.

        `session` is the beginning of a session's id, by which files are chosen before they are
        opened.
        """
        wanted = READABLE if harness is None else (harness,)
        looks = [
            _Look(one, os.path.realpath(root))
            for one in wanted
            if one in _DEEPEST
            for root in self._roots[one]
        ]
        found = [
            path
            for look in looks
            for path in look.paths()
            if path.changed_ms >= since_ms and _may_be(path.path, session)
        ]
        for look in looks:
            if look.is_cut:
                yield look.problem
        for path in sorted(found, reverse=True):
            yield partial(_read, path)


def lies_in_folders(root: str, harness: str) -> bool:
    """Return whether a skills root is one in which a harness looks by itself."""
    name = ALIASES.get(harness, harness)
    own = {folder.path for folder in (*PERSONAL, *PROJECT) if folder.harness == name}
    if harness != Harness.CLAUDE_CODE:
        own.add(_SHARED)
    plain = root.replace("\\", "/").rstrip("/")
    return any(plain.endswith(f"/{path}") for path in own)


def project_of(folder: str, home: str) -> str:
    """Return the project that a folder belongs to: the nearest one above it that git keeps."""
    place = folder
    while place != home and os.path.dirname(place) != place:
        if os.path.exists(os.path.join(place, ".git")):
            return place
        place = os.path.dirname(place)
    return folder


def _may_be(path: str, session: str) -> bool:
    """Return whether a file can hold a session; each harness puts at least the id's beginning."""
    return session[:_SHORT_ID].lower() in os.path.basename(path).lower()


class _Look:
    """A look into one folder of a harness; it may be a link, below it none is followed."""

    def __init__(self, harness: Harness, root: str) -> None:
        self._harness, self._root = harness, root
        self._left = MOST_ENTRIES

    @property
    def is_cut(self) -> bool:
        """Whether the folder holds more than is looked at."""
        return self._left < 0

    def problem(self) -> SessionFile:
        """Say that not all was looked at."""
        problem = f"{self._root}: holds more than {MOST_ENTRIES} entries: the others are not read."
        return SessionFile(harness=self._harness, path=self._root, problem=problem)

    def paths(self) -> Iterator[_Path]:
        """Yield the files that can be sessions."""
        waiting = [(self._root, 0)]
        while waiting:
            folder, depth = waiting.pop()
            for entry in _entries(folder):
                self._left -= 1
                if self.is_cut:
                    return
                if entry.is_dir(follow_symlinks=False):
                    if depth < _DEEPEST[self._harness]:
                        waiting.append((entry.path, depth + 1))
                elif _is_session(self._harness, entry):
                    yield from _found(self._harness, entry)


def _found(harness: Harness, entry: "os.DirEntry[str]") -> Iterator[_Path]:
    try:
        changed = entry.stat(follow_symlinks=False)
    except OSError:
        # Gone since it was listed: a harness removes old sessions whenever it likes.
        return
    yield _Path(changed.st_mtime_ns // 1_000_000, harness, entry.path)


def _entries(folder: str) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        # Not there, or not ours to read: the others are looked at all the same.
        return []


def _is_session(harness: Harness, entry: "os.DirEntry[str]") -> bool:
    name = entry.name.lower()
    if not name.endswith(_SUFFIXES) or not entry.is_file(follow_symlinks=False):
        return False
    if harness is Harness.CLAUDE_CODE:
        return name.endswith(".jsonl") and not name.startswith("agent-")
    if harness is Harness.CODEX:
        return name.startswith("rollout-")
    return os.path.basename(os.path.dirname(entry.path)) == "chats"


def _read(found: _Path) -> SessionFile:
    try:
        raw = read_transcript(found.path, most_line_bytes=_MOST_LINE_BYTES)
    except PathError as error:
        return SessionFile(harness=found.harness, path=found.path, problem=str(error))
    read = partial(_READERS[found.harness], raw.records, path=found.path, skipped=raw.skipped)
    is_gemini = found.harness is Harness.GEMINI
    sessions = read(cwd=_gemini_folder(found.path)) if is_gemini else read()
    return SessionFile(harness=found.harness, path=found.path, sessions=sessions)


def _gemini_folder(path: str) -> str:
    """Return the project of a chat: Gemini CLI keeps chats by a short name or a hash of it."""
    project = os.path.dirname(os.path.dirname(path))
    told = _text(os.path.join(project, ".project_root")).strip()
    if told:
        return told
    name = os.path.basename(project)
    listed = _text(os.path.join(os.path.dirname(os.path.dirname(project)), "projects.json"))
    try:
        projects = json.loads(listed).get("projects") if listed else None
    except (ValueError, AttributeError, RecursionError):
        return ""
    for folder, short in projects.items() if isinstance(projects, dict) else ():
        digest = hashlib.sha256(folder.encode("utf-8", "surrogatepass")).hexdigest()
        if name in (short, digest):
            return str(folder)
    return ""


def _text(path: str) -> str:
    content = read_bounded(path, _MOST_NOTE_BYTES)
    return content.data.decode("utf-8", "replace") if isinstance(content, Content) else ""
