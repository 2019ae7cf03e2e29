"""The log of what the operator let through: it only grows, and whoever asks later finds why.

Findings that were accepted, and variables that a skill had by the operator's word. Names stand in
it and reasons, never values.
"""

import json
import os
import stat
from collections.abc import Iterable, Mapping

from prowess.errors import StoreError
from prowess.safety.paths import shown

LOG = "safety-log.jsonl"
_APPEND = (
    os.O_WRONLY
    | os.O_APPEND
    | os.O_CREAT
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
)


class SafetyLog:
    """A private file of JSON lines in the state folder."""

    def __init__(self, state: str) -> None:
        self._path = os.path.join(state, LOG)

    def note(self, rows: Iterable[Mapping[str, str]]) -> None:
        """Add one line for each row.

        Raises:
            StoreError: it cannot be written.
        """
        lines = [json.dumps(dict(row)).encode() + b"\n" for row in rows]
        if not lines:
            return
        try:
            os.makedirs(os.path.dirname(self._path), stat.S_IRWXU, exist_ok=True)
            handle = os.open(self._path, _APPEND, stat.S_IRUSR | stat.S_IWUSR)
            try:
                for line in lines:
                    # One write each, so that two processes never mix their lines.
                    os.write(handle, line)
            finally:
                os.close(handle)
        except OSError as error:
            raise StoreError(self._path, f"cannot be written: {error.strerror}.") from error

    def lent(self, at: str, agent_id: str, variables: Iterable[tuple[str, str]]) -> None:
        """Note which variables each skill has by the operator's word: skill and name.

        Raises:
            StoreError: it cannot be written.
        """
        self.note(
            {
                "time": at,
                "event": "env-allowed",
                "agent": shown(agent_id),
                "skill": shown(skill),
                "variable": shown(name),
            }
            for skill, name in variables
        )
