"""Session files of the harnesses on this machine: found in their folders and read within bounds.

The folders are a person's own, but what lies there was written by other programs and names places
of its own: links are not followed, sub-agents' files are left out, and what comes or goes meanwhile
is no trouble. A file that cannot be read is a value with the reason, and hides no other. Two
harnesses keep all their sessions in a database, which is only ever opened for reading.
"""

import hashlib
import json
import os
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import NamedTuple
from urllib.parse import quote

from prowess.errors import PathError
from prowess.hooks.harness import Harness
from prowess.host.files.handles import Content, read_bounded
from prowess.host.harness.hook_client import list_session_roots
from prowess.host.harness.transcripts import read_transcript
from prowess.host.sources.harness_folders import ALIASES, PERSONAL, PROJECT
from prowess.runtime.sessions import SessionFile
from prowess.transcripts.chats import (
    read_copilot_sessions,
    read_gemini_sessions,
    read_openclaw_sessions,
    read_opencode_sessions,
    read_qwen_sessions,
)
from prowess.transcripts.claude_code import read_claude_sessions
from prowess.transcripts.codex import read_codex_sessions
from prowess.transcripts.sessions import Session
from prowess.transcripts.turns import TranscriptRecord

MOST_ENTRIES = 50_000
_MOST_LINE_BYTES = 4_000_000
_MOST_NOTE_BYTES = 1_000_000
# As many as OpenClaw packs into one event.
_MOST_EVENT_BYTES = 1 << 22
# Of a database, whose newest sessions come first.
_MOST_SESSIONS, _MOST_ROWS = 500, 200_000
_SUFFIXES = (".jsonl", ".json")
_SHORT_ID = 8
# Folders that every harness but Claude Code reads besides its own.
_SHARED = os.path.join(".agents", "skills")


# How deep below its folders the files lie, and who reads one.
_READERS: Mapping[Harness, tuple[int, Callable[..., tuple[Session, ...]]]] = {
    Harness.CLAUDE_CODE: (1, read_claude_sessions),
    Harness.CODEX: (3, read_codex_sessions),
    Harness.GEMINI: (2, read_gemini_sessions),
    Harness.COPILOT: (1, read_copilot_sessions),
    Harness.QWEN: (2, read_qwen_sessions),
    Harness.OPENCODE: (0, read_opencode_sessions),
    Harness.OPENCLAW: (2, read_openclaw_sessions),
}
READABLE = tuple(_READERS)
_DATABASES = {Harness.OPENCODE: "opencode.db", Harness.OPENCLAW: "openclaw-agent.sqlite"}
_EVENTS = "events.jsonl"


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
            if one in _READERS
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
            yield partial(_read, path, session)

    def find(self, harness: Harness, session: str) -> Session | None:
        """Return one session of a harness by its whole id; None where it cannot be found."""
        held = (one for read in self.files(0, harness, session) for one in read().sessions)
        return next((one for one in held if session and one.id == session), None)


def lies_in_folders(root: str, harness: str) -> bool:
    """Return whether a skills root is one in which a harness looks by itself."""
    name = ALIASES.get(harness, harness)
    own = {folder.path for folder in (*PERSONAL, *PROJECT) if folder.harness == name}
    if harness != Harness.CLAUDE_CODE:
        own.add(_SHARED)
    plain = root.replace("\\", "/").rstrip("/")
    return any(plain.endswith(f"/{path}") for path in own)


def _may_be(path: str, session: str) -> bool:
    """Return whether a file can hold a session; each harness puts at least the id's beginning.

    One names the folder by it, and a database may hold any.
    """
    name = os.path.basename(path)
    if name in _DATABASES.values():
        return True
    named = os.path.basename(os.path.dirname(path)) if name == _EVENTS else name
    return session[:_SHORT_ID].lower() in named.lower()


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
                    if depth < _READERS[self._harness][0]:
                        waiting.append((entry.path, depth + 1))
                elif _is_session(self._harness, entry):
                    yield from _find(self._harness, entry)


def _find(harness: Harness, entry: "os.DirEntry[str]") -> Iterator[_Path]:
    try:
        changed = entry.stat(follow_symlinks=False).st_mtime_ns
    except OSError:
        # Gone since it was listed: a harness removes old sessions whenever it likes.
        return
    if harness in _DATABASES and os.path.exists(f"{entry.path}-wal"):
        # What was written last is not in the file itself yet.
        changed = max(changed, os.stat(f"{entry.path}-wal").st_mtime_ns)
    yield _Path(changed // 1_000_000, harness, entry.path)


def _entries(folder: str) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        # Not there, or not ours to read: the others are looked at all the same.
        return []


def _is_session(harness: Harness, entry: "os.DirEntry[str]") -> bool:
    name = entry.name.lower()
    if harness in _DATABASES:
        return name == _DATABASES[harness] and entry.is_file(follow_symlinks=False)
    if not name.endswith(_SUFFIXES) or not entry.is_file(follow_symlinks=False):
        return False
    if harness is Harness.COPILOT:
        return name == _EVENTS
    if harness is Harness.CLAUDE_CODE:
        return name.endswith(".jsonl") and not name.startswith("agent-")
    if harness is Harness.CODEX:
        return name.startswith("rollout-")
    return os.path.basename(os.path.dirname(entry.path)) == "chats"


def _read(found: _Path, session: str = "") -> SessionFile:
    if found.harness in _DATABASES:
        return _read_database(found, session)
    try:
        raw = read_transcript(found.path, most_line_bytes=_MOST_LINE_BYTES)
    except PathError as error:
        return SessionFile(harness=found.harness, path=found.path, problem=str(error))
    read = partial(_READERS[found.harness][1], raw.records, path=found.path, skipped=raw.skipped)
    is_gemini = found.harness is Harness.GEMINI
    sessions = read(cwd=_gemini_folder(found.path)) if is_gemini else read()
    return SessionFile(harness=found.harness, path=found.path, sessions=sessions)


def _read_database(found: _Path, session: str) -> SessionFile:
    """Read those sessions of a database whose id begins like `session`, each as lines."""
    rows = _rows_of_opencode if found.harness is Harness.OPENCODE else _rows_of_openclaw
    address = f"file:{quote(os.path.realpath(found.path))}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=1)) as database:
            held = rows(database, session)
    except sqlite3.Error as error:
        problem = f"{found.path}: cannot be read as a database of {found.harness}: {error}."
        return SessionFile(harness=found.harness, path=found.path, problem=problem)
    read = _READERS[found.harness][1]
    sessions = [
        one
        for lines in held.values()
        for one in read([TranscriptRecord(line) for line in lines], path=found.path, skipped={})
    ]
    return SessionFile(harness=found.harness, path=found.path, sessions=tuple(sessions))


def _rows_of_opencode(database: sqlite3.Connection, session: str) -> Mapping[str, Sequence[object]]:
    held: dict[str, list[object]] = {}
    # A session that another one began is a sub-agent's.
    asked = (
        "SELECT id, directory, time_created FROM session WHERE parent_id IS NULL"
        " AND instr(id, ?) = 1 ORDER BY time_updated DESC LIMIT ?"
    )
    for name, folder, created in database.execute(asked, (session, _MOST_SESSIONS)):
        held[name] = [{"id": name, "directory": folder, "time_created": created}]
    parts: defaultdict[str, list[object]] = defaultdict(list)
    asked = (
        "SELECT message_id, data FROM part WHERE instr(session_id, ?) = 1 ORDER BY id DESC LIMIT ?"
    )
    for message, data in database.execute(asked, (session, _MOST_ROWS)):
        parts[message].insert(0, _loads(data))
    asked = "SELECT session_id, id, data FROM message WHERE instr(session_id, ?) = 1 ORDER BY id"
    for name, message, data in database.execute(asked, (session,)):
        told = _loads(data)
        if name in held and isinstance(told, dict):
            held[name].append({**told, "parts": parts[message]})
    return held


def _rows_of_openclaw(database: sqlite3.Connection, session: str) -> Mapping[str, Sequence[object]]:
    held: defaultdict[str, list[object]] = defaultdict(list)
    asked = (
        "SELECT current_session_id, entry_json FROM session_nodes ORDER BY updated_at DESC LIMIT ?"
    )
    for name, entry in database.execute(asked, (_MOST_SESSIONS,)):
        told = _loads(entry)
        shown = told.get("skillsSnapshot") if isinstance(told, dict) else None
        if isinstance(shown, dict):
            held[name].append({"type": "skills", "prompt": shown.get("prompt")})
    asked = (
        "SELECT session_id, event_json, event_zstd FROM transcript_events"
        " WHERE instr(session_id, ?) = 1 ORDER BY session_id, seq LIMIT ?"
    )
    for name, event, packed in database.execute(asked, (session, _MOST_ROWS)):
        held[name].append(_loads(_unpack(packed) if event is None else event))
    return held


def _unpack(packed: object) -> str:
    """Return an event that OpenClaw packed, as it does with the larger ones; empty where broken."""
    # Late: no other harness packs what it keeps.
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd

    if not isinstance(packed, bytes):
        return ""
    try:
        event = zstd.ZstdDecompressor().decompress(packed, max_length=_MOST_EVENT_BYTES)
    except zstd.ZstdError:
        return ""
    return event.decode("utf-8", "replace")


def _loads(text: object) -> object:
    try:
        return json.loads(str(text))
    except (ValueError, RecursionError):
        return None


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
