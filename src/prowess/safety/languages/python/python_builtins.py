"""Python calls that only rewrite constants: text methods, conversions, `map`, `join`, `chr`."""

from collections.abc import Callable

from prowess.safety.facts import Act
from prowess.safety.languages.python import python_fold as fold
from prowess.safety.languages.python.effects import unpacked
from prowess.safety.languages.python.python_state import Site, State
from prowess.safety.languages.python.values import (
    UNKNOWN,
    Constant,
    Value,
    members,
    replace,
    sequence,
)

_DECODED = frozenset(["decoded"])
_MAX_RANGE = 4096
_MIN_PAYLOAD = 8


def _constants(values: tuple[Value, ...]) -> list[Constant] | None:
    found = [value.constant for value in values if value.constant is not None]
    return found if len(found) == len(values) else None


def _steps(values: tuple[Value, ...]) -> tuple[str, ...]:
    return next((value.steps for value in values if value.steps), ())


def text_method(state: State, site: Site, method: str) -> Value | None:
    """Return what a method of a constant text gives; None where it is not such a method."""
    subject = site.receiver
    if method == "format" and subject.text:
        return _formatted(state, site)
    if not isinstance(subject.constant, str | bytes):
        return None
    if method == "join":
        return _joined(state, subject.constant, site.arg(0))
    if method == "translate":
        return _translated(state, site)
    # Python 2 wrote "…".decode("base64").
    if method == "decode" and isinstance(subject.constant, str) and site.args:
        return unpacked(state, site, "hex" if site.args[0].text == "hex" else "base64", subject)
    return _rewritten(state, site, method, subject.constant)


def _rewritten(state: State, site: Site, method: str, text: str | bytes) -> Value | None:
    subject = site.receiver
    arguments = _constants(site.args)
    result = fold.method(text, method, arguments) if arguments is not None else None
    if result is None:
        return None
    labels, node = subject.labels | site.labels(), subject.node
    if isinstance(result, list):
        parts: list[str | bytes] = [*result]
        return sequence(Value(constant=part, labels=labels, node=node) for part in parts)
    # Encoding a literal leaves its letters where they are.
    plain = subject.plain and method in {"encode", "decode", "strip"}
    found = Value(constant=result, labels=labels, steps=subject.steps, node=node, plain=plain)
    return state.charge(found)


def _joined(state: State, separator: str | bytes, parts: Value) -> Value:
    values = members(parts)
    if values is None:
        return Value(labels=parts.labels, node=parts.node)
    constants = _constants(values)
    node = next((value.node for value in values if value.node is not None), parts.node)
    if constants is None:
        shown = separator if isinstance(separator, str) else ""
        sketch = shown.join(value.text or "$value" for value in values[:64])
        return Value(sketch=sketch, labels=parts.labels, node=node)
    steps = parts.steps or _steps(values)
    found = fold.joined(separator, constants)
    return state.charge(Value(constant=found, labels=parts.labels, steps=steps, node=node))


def _formatted(state: State, site: Site) -> Value:
    subject = site.receiver
    arguments = _constants(site.args)
    named = {key: value.constant for key, value in site.keywords.items()}
    known = {key: value for key, value in named.items() if value is not None}
    labels = subject.labels | site.labels()
    if arguments is not None and len(known) == len(named) and isinstance(subject.constant, str):
        result = fold.formatted(subject.constant, arguments, known)
        if result is not None:
            return state.charge(Value(constant=result, labels=labels, node=subject.node))
    sketch = subject.text.replace("{}", "$value").replace("{", "$").replace("}", "")
    return Value(sketch=sketch, labels=labels, node=subject.node)


def _translated(state: State, site: Site) -> Value | None:
    table, subject = site.arg(0), site.receiver
    pair = table.items if table.name == "maketrans" else None
    if pair is None or not isinstance(subject.constant, str):
        return None
    before, after = pair[0].text, pair[1].text
    result = fold.translated(subject.constant, before, after)
    labels = subject.labels | _DECODED
    steps = (*subject.steps, "substitution")
    return state.charge(Value(constant=result, labels=labels, steps=steps, node=subject.node))


def _maketrans(_state: State, site: Site) -> Value | None:
    before, after = site.arg(0), site.arg(1)
    if isinstance(before.constant, str) and isinstance(after.constant, str):
        return Value(items=(before, after), name="maketrans")
    return None


def _chr(_state: State, site: Site) -> Value:
    first = site.arg(0)
    letter = fold.character(first.constant)
    if letter is None:
        return Value(labels=first.labels)
    labels = first.labels | _DECODED
    return Value(constant=letter, labels=labels, steps=("char codes",), node=site.node)


def _ord(_state: State, site: Site) -> Value | None:
    text = site.arg(0).constant
    if isinstance(text, str | bytes) and len(text) == 1:
        return Value(constant=ord(text), labels=site.arg(0).labels, node=site.node)
    return None


def _int(_state: State, site: Site) -> Value | None:
    result = fold.number(site.arg(0).constant, site.arg(1, "base").constant)
    return None if result is None else Value(constant=result, labels=site.arg(0).labels)


def _str(state: State, site: Site) -> Value | None:
    first = site.arg(0)
    if isinstance(first.constant, bytes):
        return replace(first, constant=first.text)
    if isinstance(first.constant, int):
        return state.charge(Value(constant=str(first.constant), labels=first.labels))
    # A path or a text stays what it is.
    return replace(first, name="") if first.text else None


def _bytes(state: State, site: Site) -> Value | None:
    first = site.arg(0)
    if isinstance(first.constant, str):
        return replace(first, constant=first.constant.encode("utf-8", "replace"))
    if isinstance(first.constant, bytes):
        return first
    if first.items is None:
        return None
    result = fold.blob([item.constant for item in first.items])
    if result is None:
        return None
    if len(result) >= _MIN_PAYLOAD:
        state.emit(Act.DECODE, site.node, "char codes")
    node = next((item.node for item in first.items if item.node is not None), first.node)
    labels = first.labels | _DECODED
    return state.charge(Value(constant=result, labels=labels, steps=("char codes",), node=node))


def _listed(_state: State, site: Site) -> Value | None:
    found = members(site.arg(0))
    return None if found is None else replace(sequence(found), labels=site.arg(0).labels)


def _reversed(state: State, site: Site) -> Value | None:
    first = site.arg(0)
    if isinstance(first.constant, str | bytes):
        found = replace(first, constant=first.constant[::-1], plain=False)
        return state.charge(backwards(found))
    return None if first.items is None else sequence(first.items[::-1])


def backwards(value: Value) -> Value:
    """Return a text that stood backwards in the source, marked as such."""
    return replace(value, labels=value.labels | _DECODED, steps=(*value.steps, "reversed"))


def _range(state: State, site: Site) -> Value | None:
    numbers = [value.constant for value in site.args if isinstance(value.constant, int)]
    if len(numbers) != len(site.args) or not numbers or numbers[3:] or 0 in numbers[2:]:
        return None
    found = range(*numbers)
    if len(found) > _MAX_RANGE:
        return None
    state.spent += len(found) >> 3
    return Value(items=tuple(Value(constant=number) for number in found))


def _len(_state: State, site: Site) -> Value:
    first = site.arg(0)
    if isinstance(first.constant, str | bytes):
        return Value(constant=len(first.constant))
    return UNKNOWN if first.items is None else Value(constant=len(first.items))


def _zip(_state: State, site: Site) -> Value | None:
    columns = [found for value in site.args if (found := members(value)) is not None]
    if len(columns) != len(site.args):
        return None
    return sequence(sequence(row) for row in zip(*columns, strict=False))


def _enumerate(_state: State, site: Site) -> Value | None:
    found = members(site.arg(0))
    if found is None:
        return None
    return sequence(sequence([Value(constant=at), item]) for at, item in enumerate(found))


REWRITES: dict[str, Callable[[State, Site], Value | None]] = {
    "chr": _chr,
    "unichr": _chr,
    "ord": _ord,
    "int": _int,
    "str": _str,
    "bytes": _bytes,
    "bytearray": _bytes,
    "list": _listed,
    "tuple": _listed,
    "set": _listed,
    "sorted": _listed,
    "iter": _listed,
    "reversed": _reversed,
    "range": _range,
    "len": _len,
    "zip": _zip,
    "enumerate": _enumerate,
    "str.maketrans": _maketrans,
    "string.maketrans": _maketrans,
    "bytes.maketrans": _maketrans,
}
