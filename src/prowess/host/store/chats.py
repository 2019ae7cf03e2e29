"""The conversations of `prowess chat`, and the files of the workspace that its model may read.

Each session is one private file under `<state>/chats`, replaced in one step; the oldest go when
there are too many. Two chats on one session at once: the last to end a turn decides what is kept.
Files of the workspace are contained, regular, bounded and text; links are not followed on the way,
so that nothing in a workspace can point a model elsewhere.
"""

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from prowess.errors import ContainmentError, PathError, StoreError, explain_failure
from prowess.host.files.containment import Root
from prowess.host.files.state_files import locked, write_private
from prowess.safety.paths import shown

_MOST_TEXT_BYTES = 2 * 1024 * 1024


class WorkspaceFiles:
    """Reads text files below one folder."""

    def __init__(self, workspace: str) -> None:
        self._workspace = os.path.abspath(workspace)

    def real(self, path: str) -> str:
        """Return where a path leads: absolute, through links, and from the workspace on.

        Raises:
            PathError: it is no path.
        """
        if "\0" in path:
            raise PathError(shown(path), "is no path.")
        return os.path.realpath(os.path.join(self._workspace, path))

    def read(self, path: str) -> str:
        """Return a text file of the workspace."""
        with Root.open(self._workspace) as root:
            content = root.read(self._inside(path), _MOST_TEXT_BYTES)
        if b"\0" in content:
            raise PathError(shown(path), "is no text.")
        return content.decode("utf-8", "replace")

    def _inside(self, path: str) -> str:
        """Return a path relative to the workspace, whichever way it was written."""
        for root in (self._workspace, os.path.realpath(self._workspace)):
            full = os.path.normpath(os.path.join(root, path))
            if full.startswith(root.rstrip(os.sep) + os.sep):
                return os.path.relpath(full, root).replace(os.sep, "/")
        problem = "is not inside the workspace: name a file of the workspace or of a skill."
        raise ContainmentError(shown(path), problem)


MOST_CHATS = 200
_MOST_CHAT_BYTES = 32_000_000
_FOLDER, _ENDING = "chats", ".json"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_NAMES_TO_AVOID = re.compile(r"(?i)(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?")


class ChatFound(NamedTuple):
    """A session that is kept."""

    session_id: str
    turns: int


class ChatSessions:
    """Reads and writes conversations by the id of their session."""

    def __init__(self, state: str) -> None:
        self._folder = os.path.join(state, _FOLDER)

    def load(self, session_id: str) -> Mapping[str, Any] | None:
        """Return what is kept of a session; None where it is new.

        Raises:
            PathError: the id cannot name a file.
            StoreError: it is there and cannot be read.
        """
        path = self._path(session_id)
        try:
            with open(path, "rb") as file:
                raw = file.read(_MOST_CHAT_BYTES + 1)
            if len(raw) > _MOST_CHAT_BYTES:
                raise StoreError(path, "is too large for a chat: use --new to begin anew.")
            found = json.loads(raw)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(path, f"cannot be read: {explain_failure(error)}.") from error
        except (ValueError, RecursionError) as error:
            raise StoreError(path, "is not JSON: remove it, or use --new.") from error
        if not isinstance(found, dict):
            raise StoreError(path, "holds no chat: remove it, or use --new.")
        return found

    def save(self, session_id: str, conversation: Mapping[str, Any]) -> None:
        """Keep a conversation in place of what was kept before.

        Raises:
            PathError: the id cannot name a file.
            StoreError: it cannot be kept.
        """
        path = self._path(session_id)
        try:
            # Escapes only: half a surrogate pair in what a program printed cannot be written
            # otherwise.
            text = json.dumps(conversation)
            # What cannot be read again must not take the place of what can.
            json.loads(text)
        except (ValueError, TypeError, RecursionError) as error:
            raise StoreError(path, "cannot be kept: it is nothing that JSON can hold.") from error
        if len(text) > _MOST_CHAT_BYTES:
            raise StoreError(path, "is too large to be kept: begin anew with /new.")
        try:
            with locked(os.path.join(self._folder, ".chats")):
                write_private(path, text)
                self._prune()
        except OSError as error:
            raise StoreError(path, f"cannot be written: {explain_failure(error)}.") from error

    def latest(self, workspace: str, agent_id: str) -> ChatFound | None:
        """Return the session that was last used by an agent in a workspace."""
        for name in self._newest_first():
            session_id = name.removesuffix(_ENDING)
            try:
                kept = self.load(session_id)
            except (StoreError, PathError):
                # Another one may do; whoever asks for this one by name is told.
                continue
            if kept is None:
                continue
            if kept.get("workspaceDir") == workspace and kept.get("agentId") == agent_id:
                turns = kept.get("turns")
                return ChatFound(session_id, len(turns) if isinstance(turns, list) else 0)
        return None

    def listed(self) -> tuple[tuple[str, float], ...]:
        """Return the sessions that are kept and when each was last written, newest first."""
        found = []
        for name in self._newest_first():
            # One that goes meanwhile is not there.
            with suppress(OSError):
                changed = os.stat(os.path.join(self._folder, name)).st_mtime
                found.append((name.removesuffix(_ENDING), changed))
        return tuple(found)

    def check(self, session_id: str) -> None:
        """Make sure that an id can be kept.

        Raises:
            PathError: it cannot name a file.
        """
        self._path(session_id)

    def _path(self, session_id: str) -> str:
        if not _ID.fullmatch(session_id) or _NAMES_TO_AVOID.fullmatch(session_id):
            raise PathError(
                session_id[:80],
                "cannot be a session: use up to 64 letters, digits, dots, hyphens and underscores,"
                " a letter or digit first.",
            )
        return os.path.join(self._folder, session_id + _ENDING)

    def _newest_first(self) -> list[str]:
        try:
            with os.scandir(self._folder) as entries:
                found = [
                    (entry.stat(follow_symlinks=False).st_mtime_ns, entry.name)
                    for entry in entries
                    if entry.name.endswith(_ENDING) and not entry.name.startswith(".")
                ]
        except OSError:
            # No folder, no chats; a folder that cannot be read is told when one is saved.
            return []
        return [name for _, name in sorted(found, reverse=True)]

    def _prune(self) -> None:
        for name in self._newest_first()[MOST_CHATS:]:
            os.unlink(os.path.join(self._folder, name))
