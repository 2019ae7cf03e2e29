"""What is known of a Python expression without running it: its text, its origin, its name."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

Constant = str | bytes | int
Labels = frozenset[str]

NO_LABELS: Labels = frozenset()
MAX_ALTERNATIVES = 6
# Marks a label of fetched data that still knows its address; facts show it as plain `remote`.
_REMOTE = "remote="


def words(text: str) -> frozenset[str]:
    """Return the words of a table that is written as text."""
    return frozenset(text.split())


@dataclass(slots=True)
class Scope:
    """The names of a module, a class or a function."""

    parent: "Scope | None" = None
    names: dict[str, "Value"] = field(default_factory=dict)
    # Names that a `global` statement sends to the module.
    shared: set[str] = field(default_factory=set)


@dataclass(slots=True, eq=False)
class Function:
    """A function, a lambda or a class that the text itself defines."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
    scope: Scope
    owner: str = ""
    runs: int = 0


# Values are never changed once made; `frozen` would double the time of the whole reader.
@dataclass(slots=True, eq=False)
class Value:
    """All that is known of one expression."""

    constant: Constant | None = None
    labels: Labels = NO_LABELS
    # What it is, as a dotted path: "os.environ", "socket.socket().recv"; "" where unknown.
    name: str = ""
    # A text of which parts are unknown; those stand as `$name`.
    sketch: str = ""
    # The members of a sequence, or the values of a mapping; None where unknown.
    items: "tuple[Value, ...] | None" = None
    keys: "tuple[Value, ...] | None" = None
    # What it was made from: the path of an open file, the body of a request.
    made_of: "Value | None" = None
    # Other values that the same name may hold.
    also: "tuple[Value, ...]" = ()
    # How its text was unpacked: ("base64", "zlib").
    steps: tuple[str, ...] = ()
    # Where its text stands in the source, and whether it stands there as it is.
    node: ast.expr | None = None
    plain: bool = False
    function: Function | None = None

    @property
    def text(self) -> str:
        """The text that it holds, as far as it is known."""
        if isinstance(self.constant, str):
            return self.constant
        if isinstance(self.constant, bytes):
            return self.constant.decode("utf-8", "replace")
        return self.sketch

    def every(self) -> "tuple[Value, ...]":
        """Return this value and the others that may stand in its place."""
        return (self, *self.also)

    def texts(self) -> tuple[str, ...]:
        """Return each text that it may be, unknown ones left out."""
        found = dict.fromkeys(value.text for value in self.every())
        return tuple(text for text in found if text)

    def named(self, label: Labels) -> "Value":
        """Return the same value with more labels."""
        if label <= self.labels:
            return self
        return replace(self, labels=self.labels | label)


UNKNOWN = Value()


def replace(value: Value, **changes: object) -> Value:
    """Return a copy with some fields changed; much faster than the one of `dataclasses`."""
    copy = Value(
        value.constant,
        value.labels,
        value.name,
        value.sketch,
        value.items,
        value.keys,
        value.made_of,
        value.also,
        value.steps,
        value.node,
        value.plain,
        value.function,
    )
    for name, change in changes.items():
        setattr(copy, name, change)
    return copy


def labelled(labels: Labels, name: str = "") -> Value:
    """Return a value of which only the origin is known."""
    return Value(labels=labels, name=name) if labels or name else UNKNOWN


def labels_of(values: Iterable[Value]) -> Labels:
    """Return all labels of `values`."""
    found: Labels = NO_LABELS
    for value in values:
        if value.labels:
            found |= value.labels
    return found


def remote_label(url: str) -> str:
    """Return the inner label of what was fetched from `url`."""
    return _REMOTE + url


def remote_url(labels: Labels) -> str | None:
    """Return where labelled data was fetched from; None where it was not fetched."""
    urls = sorted(label.removeprefix(_REMOTE) for label in labels if label.startswith(_REMOTE))
    return next((url for url in urls if url), "" if urls or "remote" in labels else None)


def public(labels: Labels) -> Labels:
    """Return labels as facts show them."""
    if not any(label.startswith(_REMOTE) for label in labels):
        return labels
    return frozenset("remote" if label.startswith(_REMOTE) else label for label in labels)


def join(old: Value | None, new: Value) -> Value:
    """Return what a name holds after a branch that may have set it to `new`."""
    if old is None or old is new or old is UNKNOWN:
        return new
    if not (old.constant or old.sketch or old.name or old.items or old.also):
        return new.named(old.labels)
    if new is UNKNOWN:
        return old
    if new.constant == old.constant and new.name == old.name and not new.items and not old.items:
        return new.named(old.labels)
    others = (*new.also, replace(old, also=()), *old.also)[:MAX_ALTERNATIVES]
    return replace(new, labels=new.labels | old.labels, also=others)


def members(value: Value) -> tuple[Value, ...] | None:
    """Return what iterating over `value` yields; None where that is unknown."""
    if value.keys is not None:
        return value.keys
    if value.items is not None:
        return value.items
    # Bytes iterate as numbers, texts as characters of one letter.
    if isinstance(value.constant, str | bytes):
        letters: Iterator[str | int] = iter(value.constant)
        return tuple(
            Value(constant=letter, labels=value.labels, steps=value.steps, node=value.node)
            for letter in letters
        )
    return None


def sequence(values: Iterable[Value], node: ast.expr | None = None) -> Value:
    """Return a sequence of known members."""
    items = tuple(values)
    return Value(items=items, labels=labels_of(items), node=node)


def mapping(pairs: Mapping[str, Value] | Iterable[tuple[Value, Value]]) -> Value:
    """Return a mapping of known keys and values."""
    found = (
        [(Value(constant=key), value) for key, value in pairs.items()]
        if isinstance(pairs, Mapping)
        else list(pairs)
    )
    keys, items = tuple(key for key, _ in found), tuple(value for _, value in found)
    return Value(keys=keys, items=items, labels=labels_of(items) | labels_of(keys))


def lookup(value: Value, key: Constant) -> Value | None:
    """Return the member of a mapping or sequence under a constant key, if known."""
    if value.keys is not None and value.items is not None:
        for known, item in zip(value.keys, value.items, strict=True):
            if known.constant == key:
                return item
        return None
    if value.items is not None and isinstance(key, int) and -len(value.items) <= key:
        return value.items[key] if key < len(value.items) else None
    return None


def replace_constant(value: Value) -> Value:
    """Return a value whose text is known only in part."""
    if value.constant is None:
        return value
    return Value(sketch=value.text, labels=value.labels, steps=value.steps, node=value.node)
