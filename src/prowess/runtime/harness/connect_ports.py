"""What connecting needs from the machine: settings files of others, and a note of what it made.

The note says which keys and folders connecting put where there were none, and what the file was by
its hash: never what stands in it. It only narrows what taking out does; nothing goes that does not
look like ours without it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from prowess.hooks.edits import Edit, Path
from prowess.hooks.registrations import Format


class SettingsFiles(Protocol):
    """Reads, edits and writes settings files of others."""

    def leads_to(self, path: str) -> str:
        """Return where the file really is, if a link leads there; otherwise nothing."""

    def protection(self, path: str) -> str:
        """Return what there is to say of a file that is marked read-only; otherwise nothing."""

    def read(self, path: str) -> bytes | None:
        """Return what the file holds, or None where there is none."""

    # A settings file can hold anything.
    def document(self, path: str, kind: Format, content: bytes | None) -> dict[str, Any]:
        """Return the document that these bytes hold."""

    def comments(self, path: str, kind: Format, content: bytes | None) -> Sequence[str]:
        """Return the comments in these bytes."""

    def edited(
        self, path: str, kind: Format, content: bytes | None, edits: Sequence[Edit]
    ) -> bytes:
        """Return the bytes with these edits done, and everything else as it was."""

    def backups(self, path: str) -> Sequence[bytes]:
        """Return what was kept of the file, newest first."""

    def missing_folders(self, path: str) -> tuple[str, ...]:
        """Return the folders that writing the file would make, outermost first."""

    def write(self, path: str, before: bytes | None, after: bytes | None) -> str:
        """Put `after` in the place of `before`; return where the old bytes were kept."""

    def drop_folders(self, path: str, folders: Sequence[str]) -> None:
        """Take away those of the folders around a file that are empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What connecting made in one settings file that held nothing of ours before."""

    # What the bytes of the file were, by their SHA-256; empty where there was no file.
    was: str = ""
    # Keys that were not there, such as an object that holds the servers.
    made: frozenset[Path] = frozenset()
    # Folders that were not there.
    folders: tuple[str, ...] = ()


class Records(Protocol):
    """Keeps what connecting made, by the path of the file."""

    def get(self, path: str) -> Record | None:
        """Return what is known of a file; None where nothing is, or nothing that makes sense."""

    def keep(self, path: str, record: Record | None) -> None:
        """Keep what was made in a file, or forget it."""
