"""What is known of a value while JavaScript is read: its text, where it comes from, what it is.

The syntax tree of a JavaScript text, as plain objects with character offsets.

The parser is error tolerant: what it cannot read becomes an `ERROR` node whose children are still
there, which is also how TypeScript and JSX pass.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import tree_sitter_javascript
from tree_sitter import Language, Parser, Tree

from prowess.reading.views import View

# Spaces that are not ASCII, and characters that show nothing: none may split or join a name.
_BLANK = re.compile(
    "[\u00a0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff\ufe00-\ufe0f"
    "\U000e0000-\U000e0fff]"
)
_WIDE = re.compile(r"[^\x00-\x7f]")
# Types of TypeScript, where they are plainly types: names in capitals and the built-in ones.
_TYPE = (
    r"(?:readonly )?(?:string|number|boolean|any|unknown|void|never|object|bigint|null|undefined"
    r"|(?:[A-Za-z]\w{0,40}\.)?[A-Z]\w{0,60}(?:<[\w\s,.\[\]|'\"<>{}:;]{0,200}>)?)(?:\[\]){0,3}"
)
_TYPES = re.compile(
    rf"(?<=[\w\])}}])[?!]?:\s{{0,4}}{_TYPE}(?:\s{{0,4}}[|&]\s{{0,4}}{_TYPE}){{0,8}}"
    r"(?=\s{0,40}(?:[,)=;{]|\n|$))"
    rf"|\s(?:as|satisfies)\s(?:const|{_TYPE})"
    r"|(?<=\w)!(?=[.)\];,])"
    r"|(?:^|(?<=\n))(?:export )?(?:declare )?interface \w{1,60}[^{}\n]{0,100}\{[^{}]{0,4000}\}"
    r"|(?:^|(?<=\n))(?:export )?type \w{1,60}[^=\n]{0,60}=[^;{}\n]{0,400};"
    r"|(?<=\n)[ \t]{0,8}(?:private|public|protected|readonly|declare|abstract)(?= )"
)
_MAX_NODES = 400_000
_LARGE = 12_288
_WINDOW = 512
_FEW = 6
# Errors in a window; code that is only cut off somewhere stays far below, prose and noise above.
_MANY_ERRORS = 100
_ESCAPES = re.compile(rb"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4})")
_FEW_OTHERS = 40


class Node:
    """A named node: its kind, its stretch of the text, its named children."""

    __slots__ = ("end", "fields", "kids", "kind", "start")

    def __init__(self, kind: str, start: int, end: int) -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.kids: list[Node] = []
        self.fields: dict[str, Node] = {}

    def field(self, name: str) -> "Node | None":
        """Return the child that stands in the place `name` of the grammar."""
        return self.fields.get(name)


@lru_cache(maxsize=1)
def _parser() -> Parser:
    return Parser(Language(tree_sitter_javascript.language()))


def parse(text: str) -> tuple[Node, bool]:
    """Return the tree of `text`, and whether all of it was taken over."""
    # One byte for each character: offsets in bytes are then offsets in characters.
    flat = text if text.isascii() else _WIDE.sub("x", _BLANK.sub(" ", text))
    code = flat.encode("ascii")
    cleaned = _without_garbage(code) if len(code) > _LARGE else code
    tree = _parser().parse(cleaned)
    if tree.root_node.has_error and _TYPES.search(flat):
        tree = _parser().parse(_TYPES.sub(_blank, cleaned.decode("ascii")).encode("ascii"))
    root, complete = _copy(tree)
    return root, complete and cleaned is code


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _without_garbage(code: bytes) -> bytes:
    """Return the code with stretches blanked that are no JavaScript, where there are many.

    The parser's recovery from errors takes time that grows with the square of what it has to skip.
    """
    parts = [code[at : at + _WINDOW] for at in range(0, len(code), _WINDOW)]
    # Noise repeats itself; each stretch is judged once.
    known: dict[bytes, bool] = {}
    for part in parts[::4]:
        known[part] = known[part] if part in known else _is_garbage(part)
    if sum(known[part] for part in parts[::4]) < _FEW:
        return code
    for part in parts:
        known[part] = known[part] if part in known else _is_garbage(part)
    return b"".join(re.sub(rb"[^\n]", b" ", part) if known[part] else part for part in parts)


def _is_garbage(part: bytes) -> bool:
    if len(_ESCAPES.sub(b"", part)) < _FEW_OTHERS:
        return False
    # A stretch out of a large constant is code only inside its brackets, perhaps begun in a text.
    wrapped = [part, b"x={" + part + b"}", b"x=[" + part + b"]"]
    for quote in (b"'", b'"'):
        if part.count(quote) > _FEW:
            wrapped += [b"x=[" + quote + part + end for end in (b"]", quote + b"]")]
    return all(_errors(code) > _MANY_ERRORS for code in wrapped)


def _errors(code: bytes) -> int:
    """Return how much the parser stumbles: each error and what lies in it."""
    queue = [_parser().parse(code).root_node]
    errors = 0
    while queue:
        node = queue.pop()
        if node.type == "ERROR":
            errors += node.child_count + 1
        if node.has_error:
            queue.extend(node.children)
    return errors


def _copy(tree: Tree) -> tuple[Node, bool]:
    cursor = tree.walk()
    root = Node("program", 0, tree.root_node.end_byte)
    stack = [root]
    budget = _MAX_NODES
    if not cursor.goto_first_child():
        return root, True
    while budget:
        budget -= 1
        seen = cursor.node
        if seen is not None and seen.is_named:
            node = Node(seen.type, seen.start_byte, seen.end_byte)
            parent = stack[-1]
            parent.kids.append(node)
            name = cursor.field_name
            if name is not None:
                parent.fields.setdefault(name, node)
            if cursor.goto_first_child():
                stack.append(node)
                continue
        while not cursor.goto_next_sibling():
            stack.pop()
            if not stack or not cursor.goto_parent():
                return root, True
    return root, False


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
