"""Data of any format as one kind of tree, each text of which knows where it stands."""

import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from prowess.safety.facts import Act, Fact, Reading, Snippet
from prowess.safety.views import Spot, View

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def documents(root: Entry) -> list[Entry]:
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


def spot_of(view: View) -> Spot:
    """Return the place of a whole view."""
    return Spot(view, 0, len(view.text))


def place(entry: Entry) -> Spot | None:
    """Return where an entry stands: its own text, or its key."""
    return spot_of(entry.scalar) if entry.scalar is not None else entry.spot


def command_line(parts: list[Entry]) -> View | None:
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


def first_url(text: str) -> str:
    """Return the first address in a text, or an empty text."""
    match = _URL.search(text)
    return match[0] if match else ""
