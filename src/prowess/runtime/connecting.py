"""Connecting a harness: what would change in its settings files, and then changing exactly that.

A plan holds the bytes it was made from, and applying it writes nothing over other ones: what a
person agreed to is what happens. Taking out goes back to the bytes that were there before, where
putting in explains every difference between them and what is there now.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from prowess.errors import PathError
from prowess.hooks.commands import Program
from prowess.hooks.edits import Edit
from prowess.hooks.harness import Harness
from prowess.hooks.registrations import (
    Format,
    Registered,
    Scope,
    ShapeError,
    Target,
    registered,
    registering,
    unregistering,
)
from prowess.hooks.targets import ALSO_READ_BY, Places, default_scope, hint, targets

_TRUST = (
    "Codex runs a hook only after you trusted it: start `codex`, and review the hooks with /hooks."
)
_SHARED = (
    "Others who work on this project get these files too: they need `prowess` on their PATH, or"
    " the hook does nothing for them."
)
_DEEP = "is nested too deeply to be edited: connect it by hand. Nothing was changed."
_TWICE = (
    "{reader} may run the hooks of {other} in this project besides its own, and call us twice: it"
    " is told the same each time. Keep one if that is too much: prowess connect {other} --project"
    " --remove"
)
_KEPT = (
    "What was in a changed file is kept beside it (*.prowess-backup-*): leave that out of what you"
    " commit."
)
_THIS_MACHINE = (
    "`prowess` on your PATH is not this installation, so its full path was written: connect again"
    " after you move it."
)


class SettingsFiles(Protocol):
    """Reads, edits and writes settings files of others."""

    def leads_to(self, path: str) -> str:
        """Return where the file really is, if a link leads there; otherwise nothing."""

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

    def write(self, path: str, before: bytes | None, after: bytes | None) -> str:
        """Put `after` in the place of `before`; return where the old bytes were kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be connected, or taken out."""

    harness: Harness
    # None for what suits the harness.
    scope: Scope | None = None
    remove: bool = False
    with_mcp: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """What becomes of one settings file; None stands for no file."""

    path: str
    # Where the file really is, if that is somewhere else.
    leads_to: str = ""
    before: bytes | None = field(repr=False)
    after: bytes | None = field(repr=False)

    @property
    def needed(self) -> bool:
        """Whether there is anything to write."""
        return self.before != self.after


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What would be done, in order, and what a person should know about it."""

    harness: Harness
    scope: Scope
    remove: bool
    command: str
    files: tuple[FileChange, ...]
    notes: tuple[str, ...] = ()

    @property
    def needed(self) -> bool:
        """Whether there is anything to do."""
        return any(file.needed for file in self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """One file that was changed, and where its old bytes are."""

    path: str
    backup: str


class Connecting:
    """Plans and makes connections.

    Args:
        files: the settings files of this machine.
        places: where harnesses look for them.
        program: finds how this installation is started from a harness.
    """

    def __init__(
        self, files: SettingsFiles, places: Places, program: Callable[[], Program]
    ) -> None:
        self._files, self._places, self._program = files, places, program

    def plan(self, request: Request) -> Plan:
        """Say what would change; nothing is written.

        Raises:
            PathError: a settings file cannot be read, or holds something that is not edited.
        """
        scope = request.scope or default_scope(request.harness)
        program = self._program()
        changes, notes = [], list[str]()
        for target in targets(request.harness, scope, self._places, program):
            wanted = target if request.with_mcp else target.without_server()
            if not wanted.hooks and not wanted.servers:
                continue
            change, problems = self._change(wanted, program, remove=request.remove)
            changes.append(change)
            notes += problems
        if not request.remove and any(change.needed for change in changes):
            notes += _notes(request, scope, program)
            notes += self._doubled(request.harness, scope)
        if scope is Scope.PROJECT and any(one.before and one.needed for one in changes):
            notes.append(_KEPT)
        return Plan(
            harness=request.harness,
            scope=scope,
            remove=request.remove,
            command=program.hook,
            files=tuple(changes),
            notes=tuple(dict.fromkeys(note for note in notes if note)),
        )

    def apply(self, plan: Plan) -> tuple[Written, ...]:
        """Write what the plan says, file by file.

        Raises:
            PathError: a file cannot be written, or changed since the plan was made; the message
                says which ones were written before it.
        """
        done: list[Written] = []
        for file in plan.files:
            if not file.needed:
                continue
            try:
                backup = self._files.write(file.path, file.before, file.after)
            except PathError as error:
                if not done:
                    raise
                names = ", ".join(one.path for one in done)
                raise PathError(error.path, f"{error.problem} Already written: {names}.") from error
            done.append(Written(path=file.path, backup=backup))
        return tuple(done)

    def found(self, harness: Harness, scope: Scope) -> Mapping[str, Registered | str]:
        """Return what of ours each settings file holds, or why that cannot be said."""
        program, states = self._program(), dict[str, Registered | str]()
        for target in targets(harness, scope, self._places, program):
            try:
                content = self._files.read(target.path)
                document = self._files.document(target.path, target.format, content)
                states[target.path] = registered(document, target, program)
            except PathError as error:
                states[target.path] = error.problem
            except ShapeError as error:
                states[target.path] = str(error)
        return states

    def _doubled(self, harness: Harness, scope: Scope) -> Iterator[str]:
        """Yield which harness runs the hooks that another one has in this project."""
        pairs = [(reader, other) for reader in ALSO_READ_BY for other in ALSO_READ_BY[reader]]
        for reader, other in pairs:
            if harness is reader:
                is_so = self._has_hooks(other, Scope.PROJECT)
            else:
                # Only the hooks of a project are read by both.
                is_so = harness is other and scope is Scope.PROJECT
                is_so = is_so and any(self._has_hooks(reader, one) for one in Scope)
            if is_so:
                yield _TWICE.format(reader=reader, other=other)

    def _has_hooks(self, harness: Harness, scope: Scope) -> bool:
        found = self.found(harness, scope).values()
        return any(isinstance(one, Registered) and one.events for one in found)

    def _change(
        self, target: Target, program: Program, *, remove: bool
    ) -> tuple[FileChange, Sequence[str]]:
        before = self._files.read(target.path)
        document = self._files.document(target.path, target.format, before)
        try:
            if remove:
                after, notes = self._without(target, program, before, document)
            else:
                edits = registering(document, target, program)
                after, notes = self._edited(target, before, edits), ()
                notes = _conflicts(registered(document, target, program), target)
        except ShapeError as error:
            raise PathError(target.path, f"{error} Nothing was changed.") from error
        except RecursionError as error:
            # What reads a file goes deeper than what copies and compares it.
            raise PathError(target.path, _DEEP) from error
        leads_to = self._files.leads_to(target.path)
        return FileChange(path=target.path, leads_to=leads_to, before=before, after=after), notes

    def _edited(self, target: Target, content: bytes | None, edits: Sequence[Edit]) -> bytes | None:
        if not edits:
            return content
        return self._files.edited(target.path, target.format, content, edits)

    def _without(
        self, target: Target, program: Program, before: bytes | None, document: dict[str, Any]
    ) -> tuple[bytes | None, Sequence[str]]:
        edits = unregistering(document, target, program)
        if not edits:
            return before, ()
        for earlier in (*self._files.backups(target.path), None):
            if self._explains(target, program, earlier, before):
                return earlier, ()
        after = self._edited(target, before, edits)
        if self._comments(target, after) != self._comments(target, before):
            # Somebody wrote something into what would go as empty: then it is not.
            edits = unregistering(document, target, program, prune=False)
            after = self._edited(target, before, edits)
        lost = self._comments(target, after) != self._comments(target, before)
        note = f"{target.path}: comments inside our own entries go with them."
        return after, (note,) if lost else ()

    def _comments(self, target: Target, content: bytes | None) -> Sequence[str]:
        return self._files.comments(target.path, target.format, content)

    def _explains(
        self, target: Target, program: Program, earlier: bytes | None, now: bytes | None
    ) -> bool:
        """Return whether connecting makes of `earlier` exactly what is there now."""
        try:
            document = self._files.document(target.path, target.format, earlier)
            if unregistering(document, target, program):
                return False
            for wanted in (target, target.without_server()):
                edits = registering(document, wanted, program)
                if self._edited(wanted, earlier, edits) == now:
                    return True
        except (PathError, ShapeError):
            # A backup from a time when the file was broken is nothing to go back to.
            return False
        return False


def _notes(request: Request, scope: Scope, program: Program) -> list[str]:
    return [
        _TRUST if request.harness is Harness.CODEX else "",
        _SHARED if scope is Scope.PROJECT else "",
        _THIS_MACHINE if len(program.words) > 1 or program.words[0] != "prowess" else "",
        hint(request.harness, scope) if request.with_mcp else "",
    ]


def _conflicts(found: Registered, target: Target) -> list[str]:
    notes = []
    if found.foreign_server:
        notes.append(
            f"{target.path}: a server called prowess is there that is not ours: it stays, and ours"
            " was not added."
        )
    return notes + [
        f"{target.path}: {event} calls us more than once: keep one entry."
        for event in found.repeated
    ]
