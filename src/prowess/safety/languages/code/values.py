"""What is known of an expression without running it: its text, its origin, its name.

Constants are folded within bounds, so that no text of a few letters fills the memory; names have
one spelling each.
"""

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from prowess.data import load_table, load_words
from prowess.safety.languages.decoding import MAX_TEXT

COMMON_TABLE = "code/common"
PYTHON_TABLE = "code/python"
Constant = str | bytes | int
Labels = frozenset[str]

NO_LABELS: Labels = frozenset()
MAX_ALTERNATIVES = 6
# Marks a label of fetched data that still knows its address; facts show it as plain `remote`.
_REMOTE = "remote="


def common_words(key: str) -> frozenset[str]:
    """Return a list of `common.toml`."""
    return load_words(COMMON_TABLE, "names", key)


def python_words(key: str) -> frozenset[str]:
    """Return a list of `python.toml`."""
    return load_words(PYTHON_TABLE, "names", key)


@dataclass(slots=True)
class Frame:
    """The names of a module, a class or a function."""

    parent: "Frame | None" = None
    names: dict[str, "Value"] = field(default_factory=dict)
    # Names that a `global` statement sends to the module.
    shared: set[str] = field(default_factory=set)


@dataclass(slots=True, eq=False)
class Function:
    """A function, a lambda or a class that the text itself defines."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
    scope: Frame
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


_MAX_NUMBER = 1 << 64
_MAX_SHIFT = 64
_MAX_PIECES = 4096
_MAX_CODE_POINT = 0x10FFFF
_MAX_BYTE = 0xFF
# A width of four digits in a template makes megabytes of padding from nothing.
_WIDE = re.compile(r"\d{4}|\*")
_REFUSED = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError)

Folded = Constant | list[str] | list[bytes] | None


def _numbers(op: ast.operator, left: int, right: int) -> int | None:
    if abs(left) >= _MAX_NUMBER or abs(right) >= _MAX_NUMBER:
        return None
    if isinstance(op, ast.LShift | ast.RShift):
        if not 0 <= right < _MAX_SHIFT:
            return None
        return left << right if isinstance(op, ast.LShift) else left >> right
    operation = _NUMBERS.get(type(op))
    if operation is None or (right == 0 and isinstance(op, ast.FloorDiv | ast.Mod)):
        return None
    return operation(left, right)


_NUMBERS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.FloorDiv: lambda left, right: left // right,
    ast.Mod: lambda left, right: left % right,
    ast.BitXor: lambda left, right: left ^ right,
    ast.BitOr: lambda left, right: left | right,
    ast.BitAnd: lambda left, right: left & right,
}


def binary(op: ast.operator, left: Constant | None, right: Constant | None) -> Constant | None:
    """Return the constant that an operator gives, if it does."""
    if isinstance(left, int) and isinstance(right, int):
        return _numbers(op, left, right)
    if isinstance(op, ast.Add):
        if isinstance(left, str) and isinstance(right, str):
            return left + right if len(left) + len(right) <= MAX_TEXT else None
        if isinstance(left, bytes) and isinstance(right, bytes):
            return left + right if len(left) + len(right) <= MAX_TEXT else None
    if isinstance(op, ast.Mult):
        return _repeat(left, right)
    return None


def _repeat(left: Constant | None, right: Constant | None) -> Constant | None:
    if isinstance(left, int):
        left, right = right, left
    if not isinstance(left, str | bytes) or not isinstance(right, int):
        return None
    return left * right if len(left) * right <= MAX_TEXT else None


def percent(template: str | bytes, arguments: Sequence[Constant]) -> Constant | None:
    """Return `template % arguments`, if all is constant and small."""
    shown = template if isinstance(template, str) else template.decode("latin-1")
    if _WIDE.search(shown) or any(_is_large(value) for value in arguments):
        return None
    try:
        return template % tuple(arguments)
    except _REFUSED:
        return None


def formatted(
    template: str, arguments: Sequence[Constant], named: dict[str, Constant]
) -> str | None:
    """Return `template.format(...)`, if all is constant and small."""
    # Fields that reach into attributes or members of a value are not simple texts.
    if _WIDE.search(template) or re.search(r"\{[^{}]{0,64}[.\[]", template):
        return None
    if any(_is_large(value) for value in (*arguments, *named.values())):
        return None
    if template.count("{") * MAX_TEXT > MAX_TEXT * _MAX_PIECES:
        return None
    try:
        return template.format(*arguments, **named)
    except _REFUSED:
        return None


def _is_large(value: Constant) -> bool:
    return (
        len(value) > MAX_TEXT >> 6 if isinstance(value, str | bytes) else abs(value) > _MAX_NUMBER
    )


def joined(separator: str | bytes, parts: Sequence[Constant]) -> Constant | None:
    """Return `separator.join(parts)`, if all are of one kind and small."""
    if isinstance(separator, str):
        texts = [part for part in parts if isinstance(part, str)]
        size = sum(map(len, texts)) + len(separator) * len(texts)
        return separator.join(texts) if len(texts) == len(parts) and size <= MAX_TEXT else None
    blobs = [part for part in parts if isinstance(part, bytes)]
    size = sum(map(len, blobs)) + len(separator) * len(blobs)
    return separator.join(blobs) if len(blobs) == len(parts) and size <= MAX_TEXT else None


def method(subject: str | bytes, name: str, arguments: Sequence[Constant]) -> Folded:
    """Return what a method of a constant text gives, if it is one that only rewrites text."""
    if name in {"encode", "decode"}:
        return _recode(subject, name, arguments)
    if name == "replace":
        return _replace_text(subject, arguments)
    if name not in common_words("safe_methods"):
        return None
    try:
        result = getattr(subject, name)(*arguments)
    except _REFUSED:
        return None
    if isinstance(result, tuple):
        result = list(result)
    if isinstance(result, list):
        return result if len(result) <= _MAX_PIECES else None
    return result if isinstance(result, str | bytes | int) else None


def _recode(subject: str | bytes, name: str, arguments: Sequence[Constant]) -> Constant | None:
    codec = str(arguments[0]) if arguments else "utf-8"
    if re.sub(r"[-_ ]", "", codec.lower()) not in common_words("text_codecs"):
        return None
    if isinstance(subject, str):
        return subject.encode(codec, "replace") if name == "encode" else None
    return subject.decode(codec, "replace") if name == "decode" else None


def _replace_text(subject: str | bytes, arguments: Sequence[Constant]) -> Constant | None:
    match (subject, *arguments):
        case (str() as text, str() as old, str() as new, *_):
            growth = (text.count(old) if old else len(text) + 1) * len(new)
            return text.replace(old, new) if growth <= MAX_TEXT else None
        case (bytes() as blob, bytes() as before, bytes() as after, *_):
            growth = (blob.count(before) if before else len(blob) + 1) * len(after)
            return blob.replace(before, after) if growth <= MAX_TEXT else None
        case _:
            return None


def blob(numbers: Sequence[Constant | None]) -> bytes | None:
    """Return `bytes(numbers)`."""
    found = [n for n in numbers if isinstance(n, int) and 0 <= n <= _MAX_BYTE]
    return bytes(found) if len(found) == len(numbers) else None


def number(text: Constant | None, base: Constant | None) -> int | None:
    """Return `int(text, base)`."""
    if isinstance(text, int):
        return text
    if not isinstance(text, str) or len(text) > _MAX_SHIFT:
        return None
    try:
        return int(text, base if isinstance(base, int) else 10)
    except ValueError:
        return None


@lru_cache(maxsize=8192)
def canonical(name: str) -> str:
    """Return the usual spelling of a dotted name."""
    spellings: dict[str, str] = load_table(PYTHON_TABLE, "spellings")
    if name in spellings:
        return spellings[name]
    root, dot, rest = name.partition(".")
    better: str | None = load_table(PYTHON_TABLE, "modules").get(root)
    if better is not None:
        return better + dot + rest if better else rest or "builtins"
    return name.removeprefix("six.moves.")


def is_known_module(name: str) -> bool:
    """Whether a module belongs to the language or to a well-known package."""
    root = name.partition(".")[0]
    return root in sys.stdlib_module_names or root in load_words(
        PYTHON_TABLE, "names", "known_modules"
    )


def is_dangerous_module(name: str) -> bool:
    """Whether a module or anything in it starts code, processes or connections."""
    return name.partition(".")[0] in python_words("dangerous_modules")


def is_dangerous(name: str) -> bool:
    """Whether a dotted name starts code, processes or connections."""
    root, _, rest = name.partition(".")
    last = rest.rpartition(".")[2]
    if not rest:
        return is_dangerous_module(root) or root in {"eval", "exec", "compile", "__import__"}
    starts = last in python_words("dangerous_names")
    return is_dangerous_module(root) and (starts or last.startswith(("exec", "spawn")))
