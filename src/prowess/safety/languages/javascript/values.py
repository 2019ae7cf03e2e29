"""What is known of a value while JavaScript is read: its text, where it comes from, what it is."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from prowess.safety.languages.javascript.javascript_tree import Node
from prowess.safety.views import View

NO_LABELS: frozenset[str] = frozenset()
_MAX_TEXT = 65_536
_MAX_PIECES = 256


class Piece(NamedTuple):
    """A part of a text and where it stands; `exact` where it stands there letter by letter."""

    text: str
    start: int
    exact: bool


Scope: TypeAlias = "dict[str, Value]"


@dataclass(slots=True, eq=False)
class Function:
    """A function of the file: what was seen to go in and to come out."""

    node: Node
    scopes: "tuple[Scope, ...]"
    given: "dict[int, Value]" = field(default_factory=dict)
    result: "Value | None" = None


@dataclass(slots=True, eq=False)
class Value:
    """One value. Nothing known is `Value()`."""

    # The text, or its shape with `${name}` for each part that is not known (`whole` is then false).
    text: str | None = None
    whole: bool = True
    pieces: tuple[Piece, ...] = ()
    labels: frozenset[str] = NO_LABELS
    # What it is called in the world: "child_process.exec", "process.env", "net.connect()".
    name: str = ""
    items: "list[Value] | None" = None
    fields: "dict[str, Value] | None" = None
    function: Function | None = None
    raw: bytes | None = None
    # Whether its name was put together while running, as `cp['ex' + 'ec']`.
    computed: bool = False
    # A number that is a constant.
    number: int | None = None

    @property
    def constant(self) -> str | None:
        """The text where all of it is known."""
        return self.text if self.whole else None

    @property
    def shown(self) -> str:
        """The text or its shape; empty where nothing is known."""
        return self.text or ""

    def everything(self) -> frozenset[str]:
        """Return the labels of the value and of all that it holds."""
        labels = self.labels
        queue: list[Value] = [*(self.items or ()), *(self.fields or {}).values()]
        for _ in range(200):
            if not queue:
                break
            value = queue.pop()
            labels |= value.labels
            queue.extend(value.items or ())
            queue.extend((value.fields or {}).values())
        return labels

    def view(self, view: View) -> View:
        """Return the text as a view whose characters know their place in `view`."""
        step = "decoded" if "decoded" in self.labels else ""
        if len(self.pieces) == 1 and not step:
            piece = self.pieces[0]
            if piece.exact:
                return view.cut(piece.start, piece.start + len(piece.text))
        indices: list[int] = []
        for piece in self.pieces:
            size = len(piece.text)
            indices.extend(
                range(piece.start, piece.start + size) if piece.exact else [piece.start] * size
            )
        return view.derive(self.text or "", indices, step)


UNKNOWN = Value()


def literal(text: str, start: int, *, exact: bool = True) -> Value:
    """Return the value of a constant text that stands at `start`."""
    return Value(text=text, pieces=(Piece(text, start, exact),))


def folded(text: str, like: Value, labels: frozenset[str] = NO_LABELS) -> Value:
    """Return a text that was computed from `like`: all of it stands where that one begins."""
    start = like.pieces[0].start if like.pieces else 0
    return Value(
        text=text,
        whole=like.whole,
        pieces=(Piece(text, start, exact=False),),
        labels=like.labels | labels,
    )


def labelled(labels: Iterable[str], name: str = "") -> Value:
    """Return a value of which only the origin is known."""
    return Value(labels=frozenset(labels), name=name)


def concat(parts: list[tuple[Value, str]], start: int) -> Value:
    """Join texts; each part comes with the name that stands in for it where it is not known."""
    pieces: list[Piece] = []
    labels: frozenset[str] = NO_LABELS
    whole, known = True, False
    for value, name in parts:
        labels |= value.labels
        if value.text is not None:
            pieces.extend(value.pieces)
            whole = whole and value.whole
            known = True
        elif value.number is not None:
            pieces.append(Piece(str(value.number), start, exact=False))
        else:
            pieces.append(Piece("${" + name + "}", start, exact=False))
            whole = False
            labels |= value.everything()
    if not known or sum(len(piece.text) for piece in pieces) > _MAX_TEXT:
        return Value(labels=labels)
    text = "".join(piece.text for piece in pieces)
    if len(pieces) > _MAX_PIECES:
        pieces = [Piece(text, pieces[0].start, exact=False)]
    return Value(text=text, whole=whole, pieces=tuple(pieces), labels=labels)


def join(old: Value, new: Value) -> Value:
    """Return what is true of a variable that may hold either."""
    if old is UNKNOWN or old is new:
        return new
    if new is UNKNOWN:
        return old
    keep = new if _weight(new) >= _weight(old) else old
    labels = old.labels | new.labels
    if labels == keep.labels:
        return keep
    return relabel(keep, labels)


def _weight(value: Value) -> int:
    parts = (value.text, value.name or None, value.items, value.fields, value.function)
    return sum(part is not None for part in parts)


def relabel(value: Value, labels: frozenset[str]) -> Value:
    """Return `value` with other labels."""
    return Value(
        value.text, value.whole, value.pieces, labels, value.name,
        value.items, value.fields, value.function, value.raw, value.computed, value.number,
    )  # fmt: skip


def same(old: Value | None, new: Value) -> bool:
    """Whether nothing was learned from `new`."""
    return old is not None and (
        old.labels == new.labels
        and old.text == new.text
        and old.name == new.name
        and old.function is new.function
    )
