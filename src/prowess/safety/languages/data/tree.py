"""Data of any format as one kind of tree, each text of which knows where it stands.

JSON and its relatives are read tolerantly here, as a strict parser loses where a text stands and
gives up at the first error; and which strings are commands is told from their keys and words.
"""

import re
import shlex
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from prowess.data import load_pattern, load_words
from prowess.reading.views import Spot, View, rewrite
from prowess.safety.facts import Act, Fact, Reading, Snippet
from prowess.safety.languages.decoding import LETTERS, character, join_halves

if TYPE_CHECKING:
    from collections.abc import Iterator


NAMES = "data/names"
MAX_DEPTH = 64
MAX_ENTRIES = 60_000
_MAX_FACTS = 4_000
LONG_TEXT = 40


@dataclass(slots=True, eq=False)
class Entry:
    """A map, a list or a scalar; scalars have a view of their text."""

    fields: "dict[str, Entry] | None" = None
    items: "list[Entry] | None" = None
    scalar: View | None = None
    # Whether the scalar was written as text, not as a number, `true` or a bare word.
    quoted: bool = False
    # Where its key stands, for facts about the entry as a whole.
    spot: Spot | None = None

    @property
    def text(self) -> str:
        """The text of a scalar; empty for all else."""
        return self.scalar.text if self.scalar is not None else ""

    @property
    def on(self) -> bool:
        """Whether it says yes."""
        return self.text.strip().lower() in {"true", "yes", "on", "1"}

    def get(self, *keys: str) -> "Entry":
        """Return what lies under these keys, one below the other, or an empty entry."""
        entry = self
        for key in keys:
            entry = (entry.fields or {}).get(key, EMPTY)
        return entry

    def pairs(self) -> "list[tuple[str, Entry]]":
        """Return keys and values of a map, nothing for all else."""
        return list((self.fields or {}).items())

    def scalars(self) -> "list[Entry]":
        """Return the entry as a list of scalars: itself, or those of its list."""
        if self.scalar is not None:
            return [self]
        return [item for item in self.items or () if item.scalar is not None]

    def walk(self) -> "Iterator[Found]":
        """Go over all entries below, in order, each with the keys that lead to it."""
        stack: list[Found] = [Found((), self)]
        while stack:
            found = stack.pop()
            yield found
            keys, entry = found
            if entry.fields:
                below = [Found((*keys, key), value) for key, value in entry.fields.items()]
                stack.extend(reversed(below))
            if entry.items:
                stack.extend(Found(keys, item) for item in reversed(entry.items))


class Found(NamedTuple):
    """An entry and the keys that lead to it; lists add none."""

    keys: tuple[str, ...]
    entry: Entry


EMPTY = Entry()


def put_field(fields: dict[str, Entry], name: str, entry: Entry) -> None:
    """Add a field; of a key that stands twice the last counts, and the first stays to be seen."""
    if name in fields:
        fields[f"{name} #{len(fields)}"] = fields.pop(name)
    fields[name] = entry


def list_documents(root: Entry) -> list[Entry]:
    """Return the documents of a file that may hold several."""
    return root.items if root.items is not None and root.spot is None else [root]


@dataclass(slots=True)
class Collector:
    """What was seen in one data file."""

    view: View
    facts: dict[tuple[Act, int, str, str], Fact] = field(default_factory=dict)
    snippets: dict[tuple[int, str, str], Snippet] = field(default_factory=dict)
    texts: dict[tuple[int, int], View] = field(default_factory=dict)
    unread: str = ""

    def emit(
        self, act: Act, spot: Spot | None, subject: str = "", target: str = "", *flow: str
    ) -> None:
        """Note a fact."""
        place = spot if spot is not None else Spot(self.view, 0, min(len(self.view.text), 80))
        if len(self.facts) < _MAX_FACTS:
            fact = Fact(act, place, subject, target, frozenset(flow))
            self.facts.setdefault((act, place.offset, subject, target), fact)

    def command(self, view: View, language: str = "shell") -> None:
        """Note a text that is run."""
        if view.text.strip():
            self.snippets.setdefault((view.origin(0), view.text, language), Snippet(language, view))

    def start(self, kind: str, view: View, text: str = "", language: str = "shell") -> None:
        """Note a command that runs by itself from now on."""
        self.emit(Act.PERSIST, make_spot(view), kind, text or view.text)
        self.command(view, language)

    def prose(self, view: View) -> None:
        """Note a text that a person or a model reads."""
        if len(view.text) >= LONG_TEXT and " " in view.text:
            self.texts.setdefault((view.origin(0), len(view.text)), view)

    def reading(self) -> Reading:
        """Return all of it."""
        return Reading(
            facts=tuple(self.facts.values()),
            snippets=tuple(self.snippets.values()),
            texts=tuple(self.texts.values()),
            unread=self.unread,
        )


def make_spot(view: View) -> Spot:
    """Return the place of a whole view."""
    return Spot(view, 0, len(view.text))


def find_place(entry: Entry) -> Spot | None:
    """Return where an entry stands: its own text, or its key."""
    return make_spot(entry.scalar) if entry.scalar is not None else entry.spot


def make_line(parts: list[Entry]) -> View | None:
    """Return a list of arguments as one line of shell, each part where it stands."""
    texts: list[str] = []
    origins: list[int] = []
    known = [part.scalar for part in parts if part.scalar is not None]
    for number, part in enumerate(known[:200]):
        if number:
            texts.append(" ")
            origins.append(part.origin(0))
        # The first part may be a whole line already; quoting it would hide that.
        quoted = part.text if number == 0 or len(known) == 1 else shlex.quote(part.text)
        texts.append(quoted)
        if quoted == part.text:
            origins.extend(part.origins)
        else:
            at = quoted.find(part.text)
            inner = part.origins if at >= 0 else [part.origin(0)] * len(quoted)
            before = max(at, 0)
            origins.extend([part.origin(0)] * before)
            origins.extend(inner)
            origins.extend([part.origin(len(part.text))] * (len(quoted) - before - len(inner)))
    if not known:
        return None
    return View(known[0].path, "".join(texts), origins, known[0].chain)


def align(view: View, value: str, start: int, end: int) -> View:
    """Return `value`, which a parser read between `start` and `end`, with its places."""
    raw = view.text
    if raw[start:end] == value:
        return view.cut(start, end)
    if raw[start + 1 : end - 1] == value:
        return view.cut(start + 1, end - 1)
    indices: list[int] = []
    at = start
    for char in value:
        if not char.isspace():
            # Indentation and the backslashes of escapes are in the file but not in the value.
            while at < end and raw[at] != char and (raw[at].isspace() or raw[at] in "\\|>-+'\""):
                at += 1
        indices.append(min(at, end - 1 if end > start else start))
        if at < end and raw[at] == char:
            at += 1
    return view.derive(value, indices)


_URL = re.compile(r"(?:https?|wss?|ftp)://[^\s'\"`<>)\]}]{1,500}", re.IGNORECASE)


def find_url(text: str) -> str:
    """Return the first address in a text, or an empty text."""
    match = _URL.search(text)
    return match[0] if match else ""


_MAX_COMMAND = 20_000
_MAX_KEY = 100
_SHORTEST = 4
_ADDRESS = re.compile(r"(?:https?|wss?)://\S{1,2000}")
_BEFORE_COMMAND = (
    r"\s*(?:\$\s+)?(?:sudo\s+(?:-\w+\s+)*)?(?:[A-Z_][A-Z0-9_]*=\S*\s+){{0,4}}"
    r"(?:/?(?:usr/|bin/|local/|opt/|homebrew/){{0,4}})"
)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SHELLY = re.compile(r"https?://|ftp://|\||&&|\$\(|`|/dev/tcp/|\s-{1,2}[a-zA-Z]|>\s*[~/.$]|\bsh\b")
_POWERSHELL = re.compile(
    r"\b(?:iex|irm|iwr|Invoke-\w{3,}|New-Object|powershell|Set-MpPreference)\b", re.IGNORECASE
)


def words(key: str) -> frozenset[str]:
    """Return a list of `names.toml`."""
    return load_words(NAMES, "names", key)


@cache
def _matcher(key: str, frame: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    return re.compile(frame.format(load_pattern(NAMES, "patterns", key).pattern), flags)


def is_command_key(key: str) -> bool:
    """Whether what stands under `key` is run."""
    return (
        len(key) < _MAX_KEY
        and not _matcher("listed_keys", "(?:{})").match(key)
        and _matcher("command_keys", r"(?:^|[_.\s-])(?:{})$").search(_CAMEL.sub("_", key))
        is not None
    )


def looks_like_command(text: str) -> bool:
    """Whether a text is a command line, not a sentence about one."""
    if len(text) > _MAX_COMMAND or len(text) < _SHORTEST:
        return False
    if _matcher("piped", "{}").search(text):
        return True
    begins = _matcher("commands", _BEFORE_COMMAND + r"(?:{})(?=\s|$)", 0)
    return begins.match(text) is not None and _SHELLY.search(text) is not None


def language_of(text: str) -> str:
    """Return the language of a command: shell unless it speaks PowerShell."""
    return "powershell" if _POWERSHELL.search(text) else "shell"


def read_scalar(collector: Collector, keys: tuple[str, ...], entry: Entry) -> None:
    """Note what any string of any data file may be: a command, an address, prose."""
    view = entry.scalar
    if view is None or len(view.text) < _SHORTEST:
        return
    text, key = view.text, keys[-1] if keys else ""
    if looks_like_command(text):
        collector.command(view, language_of(text))
        return
    if _is_run(key, text):
        collector.command(view, language_of(text))
    elif (
        _ADDRESS.fullmatch(text)
        and _matcher("endpoint_keys", r"(?:{})\d{{0,3}}$").search(key)
        and key not in words("schema_keys")
    ):
        collector.emit(Act.FETCH, make_spot(view), text, "endpoint")
    collector.prose(view)


def _is_run(key: str, text: str) -> bool:
    shaped = (" " in text or "/" in text) and len(text) < _MAX_COMMAND
    return shaped and is_command_key(key) and find_url(text) != text


def run(collector: Collector, entry: Entry, subject: str) -> None:
    """Note a command that is run by itself; a list is its arguments, a map several commands."""
    if entry.fields is not None:
        for _name, inner in entry.pairs():
            run(collector, Entry(items=inner.scalars()), subject)
        return
    parts = entry.scalars()
    line = make_line(parts)
    if line is None or not line.text.strip():
        return
    collector.emit(Act.EXEC, find_place(parts[0]), subject, line.text)
    collector.command(line, language_of(line.text))


def set_variables(collector: Collector, entry: Entry) -> None:
    """Note the variables of an environment block: a map, or a list of `NAME=value`."""
    for name, value in entry.pairs():
        if value.scalar is not None:
            collector.emit(Act.SETENV, make_spot(value.scalar), name, value.text)
    for item in entry.items or ():
        name, equals, value_text = item.text.partition("=")
        if equals and name.replace("_", "").isalnum() and item.scalar is not None:
            collector.emit(Act.SETENV, make_spot(item.scalar), name, value_text)


_TOKEN = re.compile(
    r"""(?P<space>[\s,;]+|//[^\n]*|\#[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/)?)"""
    r"""|(?P<long>\"{3}(?:[^"\\]|\\[\s\S]|\"(?!\"\"))*(?:\"{3})?|'{3}(?:[^']|'(?!''))*(?:'{3})?)"""
    r"""|(?P<string>"(?:[^"\\\n]|\\[\s\S])*"?|'(?:[^'\\\n]|\\[\s\S])*'?)"""
    r"""|(?P<mark>[{}\[\]:=])"""
    r"""|(?P<bare>[^\s,;{}\[\]:="'/]+|/)"""
)
_ESCAPE = re.compile(
    r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"
    r"|\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|(\r\n|[\s\S]))"
)
_MAX_LINE = 4_000
_AFTER_VALUE = re.compile(r"[ \t]*(?:[,}\]:]|$|//|#)", re.MULTILINE)


def unescape(view: View, start: int, end: int) -> View:
    """Return what stands between quotes, escapes decoded, each character at its place."""
    inner = view.cut(start, end)
    return rewrite(inner, _ESCAPE, _decode) if "\\" in inner.text else inner


def _decode(match: re.Match[str]) -> str:
    if match[1]:
        return join_halves(match[1], match[2])
    digits = match[3] or match[4] or match[5]
    if digits:
        return character(int(digits, 16))
    return LETTERS.get(match[6], match[6])


class TreeBuilder(ABC):
    """Builds entries one inside the other, with a stack instead of recursion."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.count = 0
        self.stack: list[Entry] = []
        # For each open map the key that waits for its value.
        self.keys: list[View | None] = []
        # How many entries are open that are nested too deeply to be read.
        self.skipped = 0

    @abstractmethod
    def add_root(self, entry: Entry) -> None:
        """Keep an entry that lies in no other."""

    def expects_key(self) -> bool:
        """Whether what comes next is the key of a map."""
        return bool(self.stack) and self.stack[-1].fields is not None and self.keys[-1] is None

    def push(self, entry: Entry) -> None:
        """Open an entry: what follows lies in it."""
        self.stack.append(entry)
        self.keys.append(None)

    def put(self, entry: Entry) -> None:
        """Add an entry to the innermost that is open."""
        self.count += 1
        if not self.stack:
            self.add_root(entry)
            return
        holder, key = self.stack[-1], self.keys[-1]
        if holder.items is not None:
            holder.items.append(entry)
        elif holder.fields is not None:
            if key is not None and entry.spot is not None:
                entry.spot = Spot(key, 0, len(key.text))
            put_field(holder.fields, key.text if key is not None else "", entry)
            self.keys[-1] = None


class JsonReader(TreeBuilder):
    """Builds entries from tokens."""

    def __init__(self, view: View) -> None:
        super().__init__(view)
        self.comments: list[View] = []
        self.unread = ""
        self.root: Entry | None = None

    def read(self) -> Entry:
        """Read a file: one value, or many as in JSON lines."""
        at, end = 0, len(self.view.text)
        while at < end:
            at = self.read_one(at)
        return self.root or Entry()

    def read_one(self, start: int) -> int:
        """Read one value, and return where it ends."""
        at, end = start, len(self.view.text)
        before = self.count
        while at < end and (self.stack or self.skipped or self.count == before):
            match = _TOKEN.match(self.view.text, at)
            if match is None:
                at += 1
                continue
            at = self._take(match)
            if self.count > MAX_ENTRIES:
                self.unread = "too many values"
                return end
        return at

    def _take(self, match: re.Match[str]) -> int:
        kind, start, end = match.lastgroup, match.start(), match.end()
        if kind == "space":
            if self.view.text[start] in "/#":
                self.comments.append(self.view.cut(start, end))
        elif kind == "mark":
            self._mark(match[0], start)
        elif kind == "bare":
            self._scalar(self.view.cut(start, end), quoted=False)
        else:
            return self._string(start, end, 3 if kind == "long" else 1)
        return end

    def _string(self, start: int, end: int, size: int) -> int:
        quote = self.view.text[start : start + size]
        closed = end - start >= 2 * size and self.view.text.endswith(quote, 0, end)
        inner_end = end - size if closed else end
        if (
            closed
            and size == 1
            and self.stack
            and not self.expects_key()
            and not _AFTER_VALUE.match(self.view.text, end)
        ):
            # A quote that was not escaped: the text goes on to the last one of the line.
            line_end = self.view.text.find("\n", end)
            last = self.view.text.rfind(quote, end, line_end if line_end >= 0 else None)
            if 0 <= last - end < _MAX_LINE:
                inner_end, end = last, last + 1
        if quote == "'''":
            value = self.view.cut(start + size, inner_end)
        else:
            value = unescape(self.view, start + size, inner_end)
        self._scalar(value, quoted=True)
        return end

    def _mark(self, mark: str, start: int) -> None:
        if mark in "{[":
            if len(self.stack) >= MAX_DEPTH:
                self.skipped += 1
                self.unread = "nested too deeply"
                return
            entry = Entry(fields={}) if mark == "{" else Entry(items=[])
            entry.spot = Spot(self.view, start, start + 1)
            self.put(entry)
            self.push(entry)
        elif mark in "}]":
            if self.skipped:
                self.skipped -= 1
            elif self.stack:
                self.stack.pop()
                self.keys.pop()

    def _scalar(self, value: View, *, quoted: bool) -> None:
        if self.expects_key():
            self.keys[-1] = value
            return
        self.put(Entry(scalar=value, quoted=quoted))

    def add_root(self, entry: Entry) -> None:
        """Keep a value of the file; several, as in JSON lines, are a list."""
        if self.root is None:
            self.root = entry
        elif self.root.items is not None and self.root.spot is None:
            self.root.items.append(entry)
        else:
            self.root = Entry(items=[self.root, entry])
