"""Connecting a harness: what would change in its settings files, and then changing exactly that.

A plan holds the bytes it was made from, and applying it writes nothing over other ones: what a
person agreed to is what happens.

Taking out goes back to the bytes that were there before, where putting in explains every difference
between them and what is there now. Otherwise each entry of ours goes by itself, and along with it
what holds nothing else: but never a list or an object that somebody else made, as far as that is
known, and none with a comment in it. A note of what connecting made (keys, folders, a hash of the
file) only narrows that; nothing goes that does not look like ours without it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Protocol

from prowess.errors import PathError
from prowess.hooks.harness import Edit, Harness, Insert, Path, Remove, apply_edits
from prowess.hooks.registrations import (
    HOOKS,
    ConnectScope,
    Format,
    Program,
    Registered,
    SettingsTarget,
    ShapeError,
    emptied,
    find_registered,
    own_places,
    plan_registration,
    plan_removal,
)
from prowess.hooks.targets import (
    ALSO_READ_BY,
    RUNS_ONCE,
    HarnessHomes,
    default_scope,
    hint,
    targets,
)


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
class ConnectRecord:
    """What connecting made in one settings file that held nothing of ours before."""

    # What the bytes of the file were, by their SHA-256; empty where there was no file.
    was: str = ""
    # Keys that were not there, such as an object that holds the servers.
    made: frozenset[Path] = frozenset()
    # Folders that were not there.
    folders: tuple[str, ...] = ()


class Records(Protocol):
    """Keeps what connecting made, by the path of the file."""

    def get(self, path: str) -> ConnectRecord | None:
        """Return what is known of a file; None where nothing is, or nothing that makes sense."""

    def keep(self, path: str, record: ConnectRecord | None) -> None:
        """Keep what was made in a file, or forget it."""


# How a file without anything in it may have been written.
_BLANK = (b"", b"{}", b"{}\n", b"{\n}", b"{\n}\n", b"{ }", b"{\r\n}\r\n", b"\n", b" \n", b"\n\n")


def find_made_keys(edits: Sequence[Edit]) -> frozenset[Path]:
    """Return the keys that these edits put where there were none."""
    made: set[Path] = set()
    for edit in edits:
        if isinstance(edit, Insert) and edit.key is not None:
            path = (*edit.path, edit.key)
            made |= {path, *_keys_below(path, edit.value)}
    return frozenset(made)


def _keys_below(path: Path, value: object) -> Iterator[Path]:
    for key, inner in value.items() if isinstance(value, Mapping) else ():
        yield (*path, key)
        yield from _keys_below((*path, key), inner)


def hash_content(content: bytes | None) -> str:
    """Return by what a file is known again; nothing where there was none."""
    return "" if content is None else sha256(content).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """One settings file that holds ours, and what is known of how that came."""

    files: SettingsFiles
    target: SettingsTarget
    program: Program
    before: bytes | None
    document: dict[str, Any]
    record: ConnectRecord | None = None

    def outcome(self) -> tuple[bytes | None, Sequence[str]]:
        """Return the bytes without ours, None for no file, and what a person should know.

        Raises:
            PathError: it cannot be edited.
            ShapeError: it holds something else where ours would be.
        """
        if not plan_removal(self.document, self.target, self.program):
            return self.before, ()
        for earlier in self._read_earlier():
            if self._explains(earlier):
                return earlier, ()
        after = self._edit(self.before, self._edits())
        lost = self._comments(after) != self._comments(self.before)
        note = f"{self.target.path}: comments inside our own entries go with them."
        return self._as_it_was(after), (note,) if lost else ()

    def _read_earlier(self) -> Iterator[bytes | None]:
        yield from self.files.backups(self.target.path)
        if self.record is None or not self.record.was:
            yield None

    def _explains(self, earlier: bytes | None) -> bool:
        """Return whether connecting makes of `earlier` exactly what is there now."""
        try:
            document = self._document(earlier)
            if plan_removal(document, self.target, self.program):
                return False
            for wanted in (self.target, self.target.without_server()):
                edits = plan_registration(document, wanted, self.program)
                if self._edit(earlier, edits) == self.before:
                    return True
        except (PathError, ShapeError):
            # A backup from a time when the file was broken is nothing to go back to.
            return False
        return False

    def _edits(self) -> list[Edit]:
        """Return what takes out entry by entry, each with as much around it as is ours."""
        edits: list[Edit] = []
        # An earlier version made those lists.
        former = frozenset((HOOKS, event) for event in self.target.former)
        made = None if self.record is None else self.record.made | former
        # Last first: what comes after a removed item moves up.
        for path in reversed(own_places(self.document, self.target, self.program)):
            options = emptied(apply_edits(self.document, edits), path, made)
            edits.append(self._find_widest(edits, options))
        for key, value in self.target.head.items():
            is_made = self.record is not None and (key,) in self.record.made
            if is_made and self.document.get(key) == value:
                edits.append(Remove(path=(key,)))
        return edits

    def _find_widest(self, edits: Sequence[Edit], options: Sequence[Path]) -> Edit:
        """Return the removal of the most that costs no comment but those in our own entry."""
        least = Remove(path=options[0])
        kept = self._list_left(edits, least)
        for path in reversed(options[1:]):
            if self._list_left(edits, Remove(path=path)) == kept:
                return Remove(path=path)
        return least

    def _list_left(self, edits: Sequence[Edit], more: Edit) -> Sequence[str]:
        return self._comments(self._edit(self.before, [*edits, more]))

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
        return next((one for one in variants if hash_content(one) == record.was), after)

    def _document(self, content: bytes | None) -> dict[str, Any]:
        return self.files.document(self.target.path, self.target.format, content)

    def _comments(self, content: bytes | None) -> Sequence[str]:
        return self.files.comments(self.target.path, self.target.format, content)

    def _edit(self, content: bytes | None, edits: Sequence[Edit]) -> bytes | None:
        if not edits:
            return content
        return self.files.edited(self.target.path, self.target.format, content, edits)


_TRUST = (
    "Codex runs a hook only after you trusted it: start `codex`, and review the hooks with /hooks."
)
_SHARED = (
    "Others who work on this project get these files too: they need `prowess` on their PATH, or"
    " the hook does nothing for them."
)
_DEEP = "is nested too deeply to be edited: connect it by hand."
_HOOKS_ALONE = " --no-mcp leaves this file alone and connects the hooks."
_UNCHANGED = " Nothing was changed."
_BOTH = (
    "It is connected for {other} already ({place}), so each hook may run twice. Keep one: prowess"
    " connect {harness} --{scope} --remove"
)
_WATCHED = "{path} calls us at {events} already: no second entry was added."
_WATCHED_STAYS = "{path} calls us at {events}, which connecting did not write: take it out by hand."
_TWICE = (
    "{reader} may run the hooks of {other} in this project besides its own, and call us twice: it"
    " is told the same each time. Keep one if that is too much: prowess connect {other} --project"
    " --remove"
)
_KEPT = (
    "What was in a changed file is kept beside it (*.prowess-backup-*): leave that out of what you"
    " commit."
)
_ONE_PLACE = (
    "cannot have a connection of its own: {harness} has one configuration for all that you do."
    " Connect it for you: prowess connect {harness} --user"
)
_THIS_MACHINE = "{why}, so its full path was written: connect again after you move it."
_NOT_ON_PATH = "This installation is not on your PATH"
_OTHER_ON_PATH = "`prowess` on your PATH ({other}) is not this installation"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectRequest:
    """What is to be connected, or taken out."""

    harness: Harness
    # None for what suits the harness.
    scope: ConnectScope | None = None
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
    # What connecting made in it, as far as that is known.
    record: ConnectRecord | None = None

    @property
    def needed(self) -> bool:
        """Whether there is anything to write."""
        return self.before != self.after


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectPlan:
    """What would be done, in order, and what a person should know about it."""

    harness: Harness
    scope: ConnectScope
    remove: bool
    command: str
    files: tuple[FileChange, ...]
    notes: tuple[str, ...] = ()

    @property
    def needed(self) -> bool:
        """Whether there is anything to do."""
        return any(file.needed for file in self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenSettings:
    """One file that was changed, and where its old bytes are."""

    path: str
    backup: str


class Connecting:
    """Plans and makes connections.

    Args:
        files: the settings files of this machine.
        records: what connecting made in them.
        places: where harnesses look for them.
        program: finds how this installation is started from a harness.
    """

    def __init__(
        self,
        files: SettingsFiles,
        records: Records,
        places: HarnessHomes,
        program: Callable[[], Program],
    ) -> None:
        self._files, self._records = files, records
        self._places, self._program = places, program

    def plan(self, request: ConnectRequest) -> ConnectPlan:
        """Say what would change; nothing is written.

        Raises:
            PathError: a settings file cannot be read, or holds something that is not edited.
        """
        scope = request.scope or default_scope(request.harness)
        program = self._program()
        changes, notes = [], list[str]()
        every = targets(request.harness, scope, self._places, program)
        if not every:
            raise PathError(self._places.project, _ONE_PLACE.format(harness=request.harness))
        watched = self._find_watched(every, program)
        for target in every:
            wanted = target if request.with_mcp else target.without_server()
            if not request.remove:
                wanted = _leave_out(wanted, watched)
            if wanted.is_empty:
                continue
            change, problems = self._change(wanted, program, remove=request.remove)
            changes.append(change)
            notes += problems
        text = _WATCHED_STAYS if request.remove else _WATCHED
        notes += [text.format(path=path, events=", ".join(watched[path])) for path in watched]
        if not request.remove and any(change.needed for change in changes):
            notes += _notes(request, scope, program)
            notes += self._find_doubled(request.harness, scope)
            notes += self._in_both(request.harness, scope)
        if scope is ConnectScope.PROJECT and any(one.before and one.needed for one in changes):
            notes.append(_KEPT)
        return ConnectPlan(
            harness=request.harness,
            scope=scope,
            remove=request.remove,
            command=program.hook,
            files=tuple(changes),
            notes=tuple(dict.fromkeys(note for note in notes if note)),
        )

    def apply(self, plan: ConnectPlan) -> tuple[WrittenSettings, ...]:
        """Write what the plan says, file by file.

        Raises:
            PathError: a file cannot be written, or changed since the plan was made; the message
                says which ones were written before it.
        """
        done: list[WrittenSettings] = []
        for file in plan.files:
            if not file.needed:
                continue
            try:
                backup = self._write(file, remove=plan.remove)
            except PathError as error:
                if not done:
                    raise
                names = ", ".join(one.path for one in done)
                raise PathError(error.path, f"{error.problem} Already written: {names}.") from error
            done.append(WrittenSettings(path=file.path, backup=backup))
        return tuple(done)

    def _write(self, file: FileChange, *, remove: bool) -> str:
        if not remove:
            # First: a note of what was not made after all does no harm.
            self._records.keep(file.path, file.record)
            return self._files.write(file.path, file.before, file.after)
        backup = self._files.write(file.path, file.before, file.after)
        if file.after is None and file.record is not None:
            self._files.drop_folders(file.path, file.record.folders)
        self._records.keep(file.path, None)
        return backup

    def found(self, harness: Harness, scope: ConnectScope) -> Mapping[str, Registered | str]:
        """Return what of ours each settings file holds, or why that cannot be said."""
        program, states = self._program(), dict[str, Registered | str]()
        for target in targets(harness, scope, self._places, program):
            try:
                states[target.path] = find_registered(self._document(target), target, program)
            except PathError as error:
                states[target.path] = error.problem
            except ShapeError as error:
                states[target.path] = str(error)
        return states

    def _find_doubled(self, harness: Harness, scope: ConnectScope) -> Iterator[str]:
        """Yield which harness runs the hooks that another one has in this project."""
        pairs = [(reader, other) for reader in ALSO_READ_BY for other in ALSO_READ_BY[reader]]
        for reader, other in pairs:
            if harness is reader:
                is_so = self._has_hooks(other, ConnectScope.PROJECT)
            else:
                # Only the hooks of a project are read by both.
                is_so = harness is other and scope is ConnectScope.PROJECT
                is_so = is_so and any(self._has_hooks(reader, one) for one in ConnectScope)
            if is_so:
                yield _TWICE.format(reader=reader, other=other)

    def _in_both(self, harness: Harness, scope: ConnectScope) -> Iterator[str]:
        """Yield that the harness is connected for the other scope already."""
        if harness in RUNS_ONCE:
            return
        other = ConnectScope.USER if scope is ConnectScope.PROJECT else ConnectScope.PROJECT
        if not self._has_hooks(harness, other):
            return
        if any(one.hooks for one in targets(harness, scope, self._places, self._program())):
            place = "every project" if other is ConnectScope.USER else "this project"
            whom = "you" if other is ConnectScope.USER else "this project"
            yield _BOTH.format(other=whom, place=place, harness=harness, scope=other)

    def _find_watched(
        self, every: Sequence[SettingsTarget], program: Program
    ) -> dict[str, tuple[str, ...]]:
        """Return where the harness calls us by entries that connecting never writes."""
        found: dict[str, tuple[str, ...]] = {}
        for target in every:
            if not target.watched:
                continue
            try:
                document = self._document(target)
                events = find_registered(document, target, program).events
            except (PathError, ShapeError):
                # What is wrong with it is said where it is edited.
                continue
            if events:
                found[target.path] = events
        return found

    def _document(self, target: SettingsTarget) -> dict[str, Any]:
        content = self._files.read(target.path)
        return self._files.document(target.path, target.format, content)

    def _has_hooks(self, harness: Harness, scope: ConnectScope) -> bool:
        found = self.found(harness, scope).values()
        return any(isinstance(one, Registered) and one.events for one in found)

    def _change(
        self, target: SettingsTarget, program: Program, *, remove: bool
    ) -> tuple[FileChange, Sequence[str]]:
        try:
            before = self._files.read(target.path)
            document = self._files.document(target.path, target.format, before)
            one = _Open(target=target, program=program, before=before, document=document)
            change, notes = self._without(one) if remove else self._with(one)
        except PathError as error:
            only_servers = bool(target.servers) and not (target.hooks or target.plugins or remove)
            hint_at = _HOOKS_ALONE if only_servers else ""
            raise PathError(error.path, f"{error.problem}{_UNCHANGED}{hint_at}") from error
        except ShapeError as error:
            raise PathError(target.path, f"{error}{_UNCHANGED}") from error
        except RecursionError as error:
            # What reads a file goes deeper than what copies and compares it.
            raise PathError(target.path, f"{_DEEP}{_UNCHANGED}") from error
        guarded = self._files.protection(target.path) if change.needed else ""
        return change, [*notes, *([f"{target.path} {guarded}"] if guarded else [])]

    def _with(self, one: "_Open") -> tuple[FileChange, Sequence[str]]:
        target = one.target
        edits = plan_registration(one.document, target, one.program)
        after = one.before
        if edits:
            after = self._files.edited(target.path, target.format, one.before, edits)
        notes = _conflicts(find_registered(one.document, target, one.program), target)
        return self._make_change(one, after, self._record(one, edits)), notes

    def _without(self, one: "_Open") -> tuple[FileChange, Sequence[str]]:
        record = self._records.get(one.target.path)
        removal = Removal(
            files=self._files,
            target=one.target,
            program=one.program,
            before=one.before,
            document=one.document,
            record=record,
        )
        after, notes = removal.outcome()
        return self._make_change(one, after, record), notes

    def _make_change(
        self, one: "_Open", after: bytes | None, record: ConnectRecord | None
    ) -> FileChange:
        path = one.target.path
        leads_to = self._files.leads_to(path)
        return FileChange(
            path=path, leads_to=leads_to, before=one.before, after=after, record=record
        )

    def _record(self, one: "_Open", edits: Sequence[Edit]) -> ConnectRecord | None:
        """Return what connecting makes in a file, with what it made there before."""
        path = one.target.path
        if own_places(one.document, one.target, one.program):
            known = self._records.get(path)
            return known and replace(known, made=known.made | find_made_keys(edits))
        folders = self._files.missing_folders(path)
        return ConnectRecord(
            was=hash_content(one.before), made=find_made_keys(edits), folders=folders
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Open:
    """A settings file as it is now."""

    target: SettingsTarget
    program: Program
    before: bytes | None
    document: dict[str, Any]


def _leave_out(target: SettingsTarget, watched: Mapping[str, Sequence[str]]) -> SettingsTarget:
    """Return a target without the events at which the harness calls us from another file."""
    known = {event for events in watched.values() for event in events}
    hooks = {event: entry for event, entry in target.hooks.items() if event not in known}
    return replace(target, hooks=hooks)


def _notes(request: ConnectRequest, scope: ConnectScope, program: Program) -> list[str]:
    why = _OTHER_ON_PATH.format(other=program.other) if program.other else _NOT_ON_PATH
    return [
        _TRUST if request.harness is Harness.CODEX else "",
        _SHARED if scope is ConnectScope.PROJECT else "",
        _THIS_MACHINE.format(why=why) if program.is_by_path else "",
        hint(request.harness, scope) if request.with_mcp else "",
    ]


def _conflicts(found: Registered, target: SettingsTarget) -> list[str]:
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
