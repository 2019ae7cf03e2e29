"""Taking ours out of a settings file: back to what was there, or as near as can be proved.

Where a kept copy explains what is there now, the file gets its bytes again. Otherwise each entry of
ours goes by itself, and along with it what holds nothing else: but never a list or an object that
somebody else made, as far as that is known, and none with a comment in it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from prowess.errors import PathError
from prowess.hooks.commands import Program
from prowess.hooks.edits import Edit, Insert, Path, Remove, applied
from prowess.hooks.registrations import (
    HOOKS,
    ShapeError,
    Target,
    emptied,
    own_places,
    registering,
    unregistering,
)
from prowess.runtime.harness.connect_ports import Record, SettingsFiles

# How a file without anything in it may have been written.
_BLANK = (b"", b"{}", b"{}\n", b"{\n}", b"{\n}\n", b"{ }", b"{\r\n}\r\n", b"\n", b" \n", b"\n\n")


def made_by(edits: Sequence[Edit]) -> frozenset[Path]:
    """Return the keys that these edits put where there were none."""
    made: set[Path] = set()
    for edit in edits:
        if isinstance(edit, Insert) and edit.key is not None:
            path = (*edit.path, edit.key)
            made.add(path)
            if not edit.path and isinstance(edit.value, dict):
                made |= {(*path, key) for key in edit.value}
    return frozenset(made)


def hash_of(content: bytes | None) -> str:
    """Return by what a file is known again; nothing where there was none."""
    return "" if content is None else sha256(content).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """One settings file that holds ours, and what is known of how that came."""

    files: SettingsFiles
    target: Target
    program: Program
    before: bytes | None
    document: dict[str, Any]
    record: Record | None = None

    def outcome(self) -> tuple[bytes | None, Sequence[str]]:
        """Return the bytes without ours, None for no file, and what a person should know.

        Raises:
            PathError: it cannot be edited.
            ShapeError: it holds something else where ours would be.
        """
        if not unregistering(self.document, self.target, self.program):
            return self.before, ()
        for earlier in self._earlier():
            if self._explains(earlier):
                return earlier, ()
        after = self._edited(self.before, self._edits())
        lost = self._comments(after) != self._comments(self.before)
        note = f"{self.target.path}: comments inside our own entries go with them."
        return self._as_it_was(after), (note,) if lost else ()

    def _earlier(self) -> Iterator[bytes | None]:
        yield from self.files.backups(self.target.path)
        if self.record is None or not self.record.was:
            yield None

    def _explains(self, earlier: bytes | None) -> bool:
        """Return whether connecting makes of `earlier` exactly what is there now."""
        try:
            document = self._document(earlier)
            if unregistering(document, self.target, self.program):
                return False
            for wanted in (self.target, self.target.without_server()):
                edits = registering(document, wanted, self.program)
                if self._edited(earlier, edits) == self.before:
                    return True
        except (PathError, ShapeError):
            # A backup from a time when the file was broken is nothing to go back to.
            return False
        return False

    def _edits(self) -> list[Edit]:
        """Return what takes out entry by entry, each with as much around it as is ours."""
        edits: list[Edit] = []
        made = None if self.record is None else self.record.made | self._former()
        # Last first: what comes after a removed item moves up.
        for path in reversed(own_places(self.document, self.target, self.program)):
            options = emptied(applied(self.document, edits), path, made)
            edits.append(self._widest(edits, options))
        for key, value in self.target.head.items():
            is_made = self.record is not None and (key,) in self.record.made
            if is_made and self.document.get(key) == value:
                edits.append(Remove(path=(key,)))
        return edits

    def _former(self) -> frozenset[Path]:
        """Return the lists that an earlier version made."""
        return frozenset((HOOKS, event) for event in self.target.former)

    def _widest(self, edits: Sequence[Edit], options: Sequence[Path]) -> Edit:
        """Return the removal of the most that costs no comment but those in our own entry."""
        least = Remove(path=options[0])
        kept = self._left(edits, least)
        for path in reversed(options[1:]):
            if self._left(edits, Remove(path=path)) == kept:
                return Remove(path=path)
        return least

    def _left(self, edits: Sequence[Edit], more: Edit) -> Sequence[str]:
        return self._comments(self._edited(self.before, [*edits, more]))

    def _as_it_was(self, after: bytes | None) -> bytes | None:
        """Return the very bytes from before where their hash is known, and can be met."""
        record = self.record
        if record is None or after is None:
            return after
        is_blank = not self._document(after) and not self._comments(after)
        if not record.was:
            # We made the file, and nobody put anything into it.
            return None if is_blank else after
        variants = [after, after[:-1], after.rstrip(b"\n"), after.rstrip(b"\r\n")]
        variants += _BLANK if is_blank else ()
        return next((one for one in variants if hash_of(one) == record.was), after)

    def _document(self, content: bytes | None) -> dict[str, Any]:
        return self.files.document(self.target.path, self.target.format, content)

    def _comments(self, content: bytes | None) -> Sequence[str]:
        return self.files.comments(self.target.path, self.target.format, content)

    def _edited(self, content: bytes | None, edits: Sequence[Edit]) -> bytes | None:
        if not edits:
            return content
        return self.files.edited(self.target.path, self.target.format, content, edits)
