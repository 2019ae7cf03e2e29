"""What connects a harness: which of its settings files say what, and which edits lead there.

An entry of ours is known by its command alone: a program called `prowess` with the one word `hook`,
the same across upgrades, since one harness trusts a command by its hash. The line around it fails
open: some harnesses refuse a prompt where a hook cannot be found or ends with an error, so whatever
becomes of the program, the line ends well, in time, and says nothing that is no answer. What a
person changed in an entry stays, entries of others are never touched, and where a file has another
shape than the harness reads, nothing is edited at all. A harness without commands for hooks gets a
plugin: a file that is ours from end to end, and says so in its first line.
"""

import json
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeGuard

from prowess.hooks.harness import (
    LIMIT_VARIABLE,
    Edit,
    Insert,
    Path,
    Remove,
    ReplaceValue,
    apply_edits,
    value_at,
)

NAME = "prowess"
# Safe (-P): where we are started is a project of strangers, and nothing in it may be imported.
MODULE = ("-P", "-m", NAME)
# `&` is how PowerShell calls a program whose path is quoted. What a shell would read as more than
# one command, or fill in, stands in no line of ours.
_LINE = re.compile(
    r"\s*(?:&\s+)?"
    r"(?:\"(?P<double>[^\"$`]+)\"|'(?P<single>[^']+)'|(?P<bare>[\w./\\:~+@%,=-]+))"
    r"(?P<module>(?P<safe>\s+-P)?\s+-m\s+prowess)?\s+hook\s*"
)
# `sh` by name, since a harness may use the shell of its user, whatever that is. What says more than
# any answer, or leaves a process that keeps the output open, ends with what reads it.
_OPEN_SH = (
    "exec 2>/dev/null; command -v timeout >/dev/null && set -- timeout -k 0.5 {seconds};"
    ' o=$({{ {variable}={seconds} "$@" {line} || echo .; }} | "$@" head -c 9999999);'
    ' case $o in {{\\"*}}) printf %s "$o";; esac; exit 0'
)
_OPEN_POWERSHELL = "{line}; exit 0"
# Read alike by `cmd` and by the shell that comes with Git.
_OPEN_WINDOWS = "{line} || exit 0"
_AROUND = re.compile(
    r"exec 2>/dev/null; .{0,60}; o=\$\((?:\{ )?\w+=\d+ \"\$@\" (?P<posix>.+?)"
    r"(?:\) && case| \|\| echo) .+ exit 0"
    r"|(?P<powershell>.+); exit 0|(?P<windows>.+) \|\| exit 0"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """How this installation is started: the words before the name of a command."""

    words: tuple[str, ...]
    windows: bool = False
    # Another installation, which the name alone would start.
    other: str = ""

    @property
    def is_by_path(self) -> bool:
        """Whether the name alone does not start it."""
        return self.words != (NAME,)

    @property
    def hook(self) -> str:
        """The command line of the hook."""
        return " ".join(self._quote(word) for word in (*self.words, "hook"))

    @property
    def hook_in_powershell(self) -> str:
        """The same for PowerShell, which takes a quoted path for mere text."""
        line = " ".join(_in_powershell(word) for word in (*self.words, "hook"))
        return f"& {line}" if line.startswith("'") else line

    def line(self, seconds: int) -> str:
        """The line that is registered for the hook, which a harness never sees fail."""
        if self.windows:
            return _OPEN_WINDOWS.format(line=self.hook)
        script = _OPEN_SH.format(seconds=seconds, line=self.hook, variable=LIMIT_VARIABLE)
        return f"sh -c {shlex.quote(script)}"

    @property
    def line_in_powershell(self) -> str:
        """The same for PowerShell."""
        return _OPEN_POWERSHELL.format(line=self.hook_in_powershell)

    @property
    def mcp(self) -> tuple[str, tuple[str, ...]]:
        """The program and the arguments of the MCP server; no shell reads them."""
        return self.words[0], (*self.words[1:], "mcp")

    def _quote(self, word: str) -> str:
        if not self.windows:
            return shlex.quote(word)
        return f'"{word}"' if re.search(r"[^\w.:\\/-]", word) else word


def _in_powershell(word: str) -> str:
    if re.fullmatch(r"[\w.:\\/-]+", word):
        return word
    return "'" + word.replace("'", "''") + "'"


def is_hook_command(line: object, program: Program | None = None) -> bool:
    """Return whether a registered command line is our hook, of this installation or another."""
    if not isinstance(line, str):
        return False
    line = bare_line(line)
    if program is not None and line in {program.hook, program.hook_in_powershell}:
        return True
    match = _LINE.fullmatch(line)
    if match is None:
        return False
    if match["module"]:
        return True
    return _is_us(match["double"] or match["single"] or match["bare"])


def bare_line(line: str) -> str:
    """Return the call of our program in a registered line; the line itself where none is around."""
    words = _words(line)
    inner = words[2] if words[:2] == ["sh", "-c"] and len(words) == len(("sh", "-c", "")) else line
    match = _AROUND.fullmatch(inner)
    return next(filter(None, match.groups())) if match else line


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return []


def is_misled(line: str) -> bool:
    """Return whether the folder that a command line runs in can put its own files in our place.

    Without `-P` Python looks for a module there first, and a project is written by strangers.
    """
    match = _LINE.fullmatch(bare_line(line))
    return match is not None and bool(match["module"]) and not match["safe"]


def program_of(line: str) -> str:
    """Return the program that one of our command lines starts, without its quotes."""
    line = bare_line(line)
    if match := _LINE.fullmatch(line):
        return match["double"] or match["single"] or match["bare"]
    return next(iter(_words(line)), "")


def is_mcp_entry(entry: object) -> TypeGuard[Mapping[str, Any]]:
    """Return whether a registered MCP server is ours, of this installation or another."""
    command, arguments = _command_of(entry)
    if not isinstance(command, str) or not isinstance(arguments, list):
        return False
    before = words_before(arguments)
    return bool(before) if before else _is_us(command) and arguments[:1] == ["mcp"]


def _command_of(entry: object) -> tuple[object, object]:
    """Return program and arguments of a server; one harness writes both as one list."""
    if not isinstance(entry, Mapping):
        return None, None
    command = entry.get("command")
    if isinstance(command, list):
        return (command[0], command[1:]) if command else (None, None)
    return command, entry.get("args")


def words_before(arguments: Sequence[object]) -> tuple[str, ...]:
    """Return the words before `mcp` that start us as a module; none where a program is started."""
    known = (MODULE, MODULE[1:])
    return next((one for one in known if tuple(arguments[: len(one) + 1]) == (*one, "mcp")), ())


def _is_us(path: str) -> bool:
    name = re.split(r"[\\/]", path)[-1].lower()
    return re.sub(r"\.(exe|cmd|bat)$", "", name) == NAME


# A settings file can hold anything.
def lines_of(handler: Any) -> tuple[str, ...]:  # noqa: ANN401
    """Return the fields of a registered handler that hold command lines."""
    if not isinstance(handler, Mapping):
        return ()
    fields = ("command", "bash", "powershell")
    return tuple(field for field in fields if isinstance(handler.get(field), str))


HOOKS = "hooks"
# In seconds and milliseconds.
_FORMER_WAITS = frozenset((5, 10, 5_000, 10_000))
# The steps to an entry: the hooks, an event, a place in its list.
_ENTRY = 3


class ConnectScope(StrEnum):
    """Whom a connection is for: everybody who works on a project, or one user everywhere."""

    PROJECT = "project"
    USER = "user"


class Format(StrEnum):
    """How a settings file is written."""

    # With comments and trailing commas.
    JSON = "json"
    JSON5 = "json5"
    TOML = "toml"
    # A plugin: the document is one text.
    TEXT = "text"


class ShapeError(ValueError):
    """A settings file holds something else where hooks or servers belong; says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsTarget:
    """One settings file, and what of ours belongs into it."""

    path: str
    format: Format = Format.JSON
    # Event -> the entry that its list gets, in the order they are written.
    hooks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # Events that are looked at in this file and never written: the harness reads them here too.
    watched: tuple[str, ...] = ()
    # Events that earlier versions registered: they are only taken out.
    former: tuple[str, ...] = ()
    # Where the handlers are listed inside an entry that has a matcher beside them.
    nested: bool = False
    # What the harness wants at the top of a file of hooks.
    head: Mapping[str, object] = field(default_factory=dict)
    # The keys that lead to the object that holds the servers, and our entry in it.
    servers: tuple[str, ...] = ()
    server: Mapping[str, Any] = field(default_factory=dict)
    # The keys that lead to the plugins of the harness, and what lets ours work.
    plugins: tuple[str, ...] = ()
    plugin: Mapping[str, Any] = field(default_factory=dict)
    # What a file says that is ours from end to end; `hooks` then only name its events.
    text: str = ""
    # Whether such a file is about the MCP server, and goes without it.
    is_for_server: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing of ours belongs into it."""
        return not (self.hooks or self.servers or self.plugins or self.text)

    def without_server(self) -> "SettingsTarget":
        """Return the same without the MCP server."""
        return replace(self, servers=(), server={}, text="" if self.is_for_server else self.text)


def plan_registration(
    document: Mapping[str, Any], target: SettingsTarget, program: Program
) -> list[Edit]:
    """Return what is missing of `target` in a document: nothing where all of it is there.

    Raises:
        ShapeError: the document holds something else where ours belongs.
    """
    if target.text:
        return _text_edits(document, target)
    edits: list[Edit] = []
    if target.hooks:
        edits += _add_heads(document, target)
        edits += _hook_edits(document, target, program)
    if target.servers:
        edits += _server_edits(document, target)
    if target.plugins and NAME not in _find_inside(document, target.plugins):
        edits.append(_insert_at(apply_edits(document, edits), target.plugins, target.plugin))
    return edits


def plan_removal(
    document: Mapping[str, Any], target: SettingsTarget, program: Program
) -> list[Edit]:
    """Return what takes ours out of a document, with what would be left empty.

    Raises:
        ShapeError: the document holds something else where ours would be.
    """
    edits: list[Edit] = []
    # Last first: what comes after a removed item moves up.
    for path in reversed(own_places(document, target, program)):
        edits.append(Remove(path=emptied(apply_edits(document, edits), path)[-1]))
    return edits


def own_places(document: Mapping[str, Any], target: SettingsTarget, program: Program) -> list[Path]:
    """Return where entries of ours are, in the order of the document; other installations count.

    Raises:
        ShapeError: the document holds something else where ours would be.
    """
    if target.text:
        return [(TEXT,)] if _is_own_text(document) else []
    ours = [place.handler for place in _places(document, target, program)]
    if is_mcp_entry(_find_inside(document, target.servers).get(NAME)):
        ours.append((*target.servers, NAME))
    if NAME in _find_inside(document, target.plugins):
        ours.append((*target.plugins, NAME))
    return ours


def emptied(
    document: Mapping[str, Any], path: Path, made: Collection[Path] | None = None
) -> list[Path]:
    """Return what may go with an entry of ours since it holds nothing else, innermost first.

    Args:
        document: what the file holds.
        path: the entry; the whole object that it is the only handler of counts as ours.
        made: the keys that connecting made; others stay even where they are left empty. None where
            nobody knows.
    """
    found = [path]
    while len(path) > 1:
        outer = path[:-1]
        container = value_at(document, outer)
        alone = len(container) == 1
        # A matcher without a handler does nothing: it goes along with our handler.
        if isinstance(container, Mapping) and isinstance(path[-1], str) and len(outer) > 1:
            alone = alone or (isinstance(outer[-1], int) and set(container) <= {"matcher", HOOKS})
        is_key = all(isinstance(step, str) for step in outer)
        if not alone or (made is not None and is_key and outer not in made):
            break
        path = outer
        found.append(path)
    whole = next((one for one in found if len(one) == _ENTRY and isinstance(one[-1], int)), None)
    return found[found.index(whole) :] if whole else found


def find_registered(
    document: Mapping[str, Any], target: SettingsTarget, program: Program
) -> "Registered":
    """Return what of ours a document holds.

    Raises:
        ShapeError: the document holds something else where ours would be.
    """
    if target.text:
        command = _command_in(document)
        return Registered(events=tuple(target.hooks) if command else (), commands=command)
    places = list(_places(document, target, program, target.watched))
    entry = _find_inside(document, target.servers).get(NAME)
    return Registered(
        events=tuple(dict.fromkeys(place.event for place in places)),
        repeated=tuple(
            event
            for event in dict.fromkeys(place.event for place in places)
            if sum(place.event == event for place in places) > 1
        ),
        commands=tuple(dict.fromkeys(line for place in places for line in place.lines)),
        server=is_mcp_entry(entry),
        server_command=str(_command_of(entry)[0]) if is_mcp_entry(entry) else "",
        foreign_server=entry is not None and not is_mcp_entry(entry),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """What of ours is in a settings file."""

    events: tuple[str, ...] = ()
    # Events at which we would be called more than once.
    repeated: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    server: bool = False
    server_command: str = ""
    # A server of our name that is none of ours.
    foreign_server: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a handler of ours is, and the command lines in it."""

    event: str
    handler: Path
    lines: tuple[str, ...]


def _add_heads(document: Mapping[str, Any], target: SettingsTarget) -> list[Edit]:
    return [
        Insert(path=(), key=key, value=value)
        for key, value in target.head.items()
        if key not in document
    ]


def _hook_edits(
    document: Mapping[str, Any], target: SettingsTarget, program: Program
) -> list[Edit]:
    places = list(_places(document, target, program))
    edits: list[Edit] = [edit for place in places for edit in _repairs(document, place, target)]
    known = {place.event for place in places}
    missing = {event: entry for event, entry in target.hooks.items() if event not in known}
    if HOOKS not in document:
        return [Insert(path=(), key=HOOKS, value={name: [one] for name, one in missing.items()})]
    for event, entry in missing.items():
        if event in document[HOOKS]:
            edits.append(Insert(path=(HOOKS, event), key=None, value=entry))
        else:
            edits.append(Insert(path=(HOOKS,), key=event, value=[entry]))
    return edits


def _repairs(document: Mapping[str, Any], place: _Place, target: SettingsTarget) -> Iterator[Edit]:
    """Yield what puts the command of an entry right that another installation wrote."""
    wanted = target.hooks.get(place.event)
    if wanted is None:
        return
    model = wanted[HOOKS][0] if target.nested else wanted
    handler = value_at(document, place.handler)
    for name in lines_of(handler):
        line = model.get(name)
        if isinstance(line, str) and handler[name] != line and is_hook_command(handler[name]):
            yield ReplaceValue(path=(*place.handler, name), value=line)
            if bare_line(handler[name]) == handler[name]:
                # Written before the line had a limit of its own, which has to come first.
                yield from _waits(place, handler, model)


def _waits(place: _Place, handler: Mapping[str, Any], model: Mapping[str, Any]) -> Iterator[Edit]:
    """Yield what puts a time to wait right that an earlier version wrote."""
    for name in ("timeout", "timeoutSec"):
        if handler.get(name) in _FORMER_WAITS and handler[name] != model.get(name):
            yield ReplaceValue(path=(*place.handler, name), value=model[name])


def _server_edits(document: Mapping[str, Any], target: SettingsTarget) -> list[Edit]:
    entry = _find_inside(document, target.servers).get(NAME)
    if entry is None:
        return [_insert_at(document, target.servers, target.server)]
    if not is_mcp_entry(entry):
        # Somebody else's server of that name stays.
        return []
    path: Path = (*target.servers, NAME)
    (now, arguments), (wanted, others) = _command_of(entry), _command_of(target.server)
    if not isinstance(arguments, list) or not isinstance(others, list):
        return []
    # Arguments that a person added to ours stay.
    rest = [*words_before(others), *arguments[len(words_before(arguments)) :]]
    if isinstance(entry["command"], list):
        is_same = entry["command"] == [wanted, *rest]
        return [] if is_same else [ReplaceValue(path=(*path, "command"), value=[wanted, *rest])]
    edits: list[Edit] = []
    if now != wanted:
        edits.append(ReplaceValue(path=(*path, "command"), value=wanted))
    if arguments != rest:
        edits.append(ReplaceValue(path=(*path, "args"), value=rest))
    return edits


def _insert_at(document: Mapping[str, Any], path: tuple[str, ...], value: object) -> Insert:
    """Return what puts our entry below keys of which some may not be there yet."""
    known = 0
    while known < len(path) and path[known] in value_at(document, path[:known]):
        known += 1
    for key in reversed((*path, NAME)[known + 1 :]):
        value = {key: value}
    return Insert(path=path[:known], key=(*path, NAME)[known], value=value)


def _find_inside(document: Mapping[str, Any], path: tuple[str, ...]) -> Mapping[str, Any]:
    """Return the object that keys lead to; empty where there is none, or no such place."""
    found: Mapping[str, Any] = document if path else {}
    for number, key in enumerate(path, 1):
        found = _expect(Mapping, found.get(key, {}), ".".join(path[:number]))
    return found


TEXT = "text"
# Stands in the first lines of every file of ours, which is known by that; and the command in it.
OWN_TEXT = "Written by `prowess connect`"
_OWN_WITHIN = 400
_COMMAND = re.compile(r"^const COMMAND = (\[.*\]);?$", re.MULTILINE)


def _is_own_text(document: Mapping[str, Any]) -> bool:
    return OWN_TEXT in str(document.get(TEXT, ""))[:_OWN_WITHIN]


def _text_edits(document: Mapping[str, Any], target: SettingsTarget) -> list[Edit]:
    if TEXT not in document:
        return [Insert(path=(), key=TEXT, value=target.text)]
    if document[TEXT] == target.text:
        return []
    if not _is_own_text(document):
        raise ShapeError("is there already and not ours: give it another name first.")
    return [ReplaceValue(path=(TEXT,), value=target.text)]


def _command_in(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the command line that a plugin of ours runs."""
    found = _COMMAND.search(str(document.get(TEXT, ""))) if _is_own_text(document) else None
    try:
        return (shlex.join(map(str, json.loads(found[1]))),) if found else ()
    except ValueError:
        # Somebody changed it: then it is no command.
        return ()


def _places(
    document: Mapping[str, Any], target: SettingsTarget, program: Program, also: Sequence[str] = ()
) -> Iterator[_Place]:
    """Yield every handler of ours, in the order of the document."""
    events = {*target.hooks, *target.former, *also}
    if not events:
        return
    for event, entries in _expect(Mapping, document.get(HOOKS, {}), HOOKS).items():
        if event not in events:
            continue
        for path, handler in _handlers(event, _expect(list, entries, f"{HOOKS}.{event}"), target):
            found = [handler[name] for name in lines_of(handler)]
            lines = tuple(line for line in found if is_hook_command(line, program))
            if lines:
                yield _Place(event=event, handler=path, lines=lines)


def _handlers(
    event: str, entries: Sequence[Any], target: SettingsTarget
) -> Iterator[tuple[Path, Any]]:
    for index, entry in enumerate(entries):
        path: Path = (HOOKS, event, index)
        if not target.nested:
            yield path, entry
            continue
        inner = entry.get(HOOKS) if isinstance(entry, Mapping) else None
        for place, handler in enumerate(inner if isinstance(inner, list) else ()):
            yield (*path, HOOKS, place), handler


# A settings file can hold anything.
def _expect(kind: type, value: Any, name: str) -> Any:  # noqa: ANN401
    if not isinstance(value, kind):
        wanted = "a list" if kind is list else "an object"
        raise ShapeError(f"`{name}` is {_kind(value)}, and should be {wanted}: correct it first.")
    return value


def _kind(value: object) -> str:
    if value is None:
        return "empty"
    names = {dict: "an object", list: "a list", str: "text", bool: "a yes or no"}
    return names.get(type(value), "a number")
