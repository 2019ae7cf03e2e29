"""Which skills of other MCP servers a person approved: one small, private file of the state folder.

What cannot be read counts as nothing, and nothing is approved by it.
"""

import json
import logging
import os
from collections.abc import Callable

from prowess.errors import StoreError
from prowess.host.files.private_files import locked, write_private

FILE = "remote-skills.json"
_MAX_CHARS = 16_000_000
Known = dict[str, dict[str, str]]


class RemoteApprovals:
    """Approvals by server and address; each is the hash of what was approved."""

    def __init__(self, state: str) -> None:
        self._path = os.path.join(state, FILE)

    def approved(self, server: str, uri: str) -> str | None:
        """Return the hash of the content that was approved; None where nothing was."""
        return self._read().get(server, {}).get(uri)

    def approve(self, server: str, uri: str, content_hash: str) -> None:
        """Keep an approval in place of an older one.

        Raises:
            StoreError: it cannot be kept.
        """
        self._change(lambda known: known.setdefault(server, {}).__setitem__(uri, content_hash))

    def revoke(self, server: str, uri: str) -> None:
        """Forget an approval.

        Raises:
            StoreError: it cannot be forgotten.
        """
        self._change(lambda known: known.get(server, {}).pop(uri, None))

    def _read(self) -> Known:
        try:
            with open(self._path, encoding="utf-8") as file:
                # One character more than anything that was written: cut JSON is no JSON.
                return _checked(json.loads(file.read(_MAX_CHARS + 1)))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            logging.getLogger(__name__).warning(
                "remote.unreadable: %s: %s", self._path, type(error).__name__
            )
            return {}

    def _change(self, change: Callable[[Known], object]) -> None:
        try:
            with locked(self._path):
                known = self._read()
                change(known)
                text = json.dumps({"approved": known}, indent=2, sort_keys=True)
                write_private(self._path, text + "\n")
        except OSError as error:
            raise StoreError(self._path, f"cannot be changed: {error.strerror}.") from error


def _checked(parsed: object) -> Known:
    servers = parsed.get("approved") if isinstance(parsed, dict) else None
    rows = servers.items() if isinstance(servers, dict) else ()
    return {
        server: {uri: found for uri, found in one.items() if isinstance(found, str)}
        for server, one in rows
        if isinstance(one, dict)
    }
