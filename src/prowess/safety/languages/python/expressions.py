"""What Python expressions come to, walked once each; calls are left to their own module."""

import ast
from collections.abc import Callable, Sequence
from typing import Any

from prowess.safety.facts import Act
from prowess.safety.languages.python import python_fold as fold
from prowess.safety.languages.python.effects import computed, environment_variable
from prowess.safety.languages.python.io import PATH
from prowess.safety.languages.python.python_builtins import backwards
from prowess.safety.languages.python.python_calls import EFFECTS
from prowess.safety.languages.python.python_modes import MODES
from prowess.safety.languages.python.python_names import canonical, is_bare_module
from prowess.safety.languages.python.python_operators import hint, operated
from prowess.safety.languages.python.python_state import Site, State
from prowess.safety.languages.python.values import (
    UNKNOWN,
    Function,
    Labels,
    Value,
    join,
    labelled,
    lookup,
    mapping,
    members,
    replace,
    sequence,
    words,
)

Evaluate = Callable[[State, Any], Value]

_SHORT = 3
# Names of a reply that say nothing of what it holds.
_STATUS = words("status_code status ok reason elapsed closed")
_BUILTINS = words(
    """
    eval exec compile open input raw_input getattr globals locals vars dict len isinstance
    issubclass bool id hash type callable hasattr any all print chr unichr ord int str bytes
    bytearray list tuple set sorted iter reversed range zip enumerate map filter __import__ execfile
    setattr delattr next sum min max repr format super object breakpoint
    """
)
_TABLE_ROOTS = frozenset(name.partition(".")[0] for name in EFFECTS)


def evaluate(state: State, node: ast.expr | None) -> Value:
    """Return what is known of an expression, noting what it does."""
    if node is None:
        return UNKNOWN
    handler = _HANDLERS.get(type(node))
    if handler is None or not state.enter(node):
        return UNKNOWN
    try:
        return handler(state, node)
    finally:
        state.depth -= 1


def all_of(state: State, nodes: Sequence[ast.expr | None]) -> list[Value]:
    """Return what is known of each expression."""
    return [evaluate(state, node) for node in nodes]


def _constant(state: State, node: ast.Constant) -> Value:
    value = node.value
    if isinstance(value, str):
        if "stratum+" in value:
            state.emit(Act.MINE, node, value[:200])
        return Value(constant=value, node=node, plain=True)
    if isinstance(value, bytes | int):
        return Value(constant=value, node=node, plain=True)
    return UNKNOWN


def _name(state: State, node: ast.Name) -> Value:
    found = state.find(node.id)
    if found is not None:
        return found
    if node.id in _BUILTINS:
        return Value(name=node.id)
    for module in state.stars:
        if f"{module}.{node.id}" in EFFECTS:
            return Value(name=f"{module}.{node.id}")
    if is_bare_module(node.id):
        return Value(name=canonical(node.id))
    return Value(sketch="", node=node)


def _attribute(state: State, node: ast.Attribute) -> Value:
    base = evaluate(state, node.value)
    return attribute_of(state, base, node)


def attribute_of(state: State, base: Value, node: ast.Attribute) -> Value:
    """Return an attribute of a value."""
    attr = node.attr
    if base.function is not None and isinstance(base.function.node, ast.ClassDef):
        return own_attribute(state, base.function.node.name, attr)
    if base.name.startswith("self:"):
        return own_attribute(state, base.name[5:], attr).named(base.labels)
    if isinstance(node.value, ast.Name):
        stored = state.find(f"{node.value.id}.{attr}")
        if stored is not None:
            return stored
    if base.name == PATH and attr == "parent":
        return replace(base, constant=None, sketch=base.text.rpartition("/")[0])
    if not base.name:
        return labelled(frozenset() if attr in _STATUS else base.labels)
    return _named_attribute(state, base, node)


def _named_attribute(state: State, base: Value, node: ast.Attribute) -> Value:
    name = canonical(f"{base.name}.{node.attr}")
    if name in MODES:
        return Value(constant=MODES[name])
    if name in {"ssl._create_unverified_context", "ssl.CERT_NONE"}:
        state.emit(Act.DISABLE, node, "tls")
    if name in _VALUES:
        labels = _VALUES[name]
        return Value(name=name, labels=labels | state.outside if "input" in labels else labels)
    if name == "sys.executable":
        return Value(sketch="python3", node=node)
    if name == "sys.stdin":
        return Value(name=name, labels=state.outside | {"input"})
    labels = frozenset() if node.attr in _STATUS else base.labels
    return Value(name=name, labels=labels)


_VALUES: dict[str, Labels] = {
    "os.environ": frozenset(["env"]),
    "sys.argv": frozenset(["input"]),
}


def own_attribute(state: State, owner: str, attr: str) -> Value:
    """Return an attribute of a class of this text."""
    found = state.attribute(owner, attr)
    if found is None:
        state.missing.add((owner, attr))
        return UNKNOWN
    return found


def _subscript(state: State, node: ast.Subscript) -> Value:
    base = evaluate(state, node.value)
    if isinstance(node.slice, ast.Slice):
        return _sliced(state, base, node.slice)
    key = evaluate(state, node.slice)
    if base.name == "os.environ":
        return environment_variable(state, _site(node, base), key, UNKNOWN)
    if base.name == "sys.modules" and isinstance(key.constant, str):
        return Value(name=canonical(key.constant))
    if base.name.startswith("namespace:") or base.name.endswith("__dict__"):
        return _from_namespace(state, node, base, key)
    return member(base, key)


def _site(node: ast.expr, base: Value) -> Site:
    # Subscripts act like calls of `__getitem__`; only the place of the node is used.
    call = ast.Call(func=node, args=[], keywords=[])
    return Site(ast.copy_location(call, node), base.name, base, base, (), {})


def _from_namespace(state: State, node: ast.expr, base: Value, key: Value) -> Value:
    if not isinstance(key.constant, str):
        return labelled(key.labels)
    owner = base.name.removeprefix("namespace:").removesuffix(".__dict__")
    if owner in {"", "__dict__", "builtins"}:
        held = state.find(key.constant)
        if held is not None:
            return held
        if key.constant == "__builtins__":
            return Value(name="namespace:builtins")
        owner = ""
    return computed(state, _site(node, base), owner, key)


def member(base: Value, key: Value) -> Value:
    """Return the member of a value under a key."""
    if key.constant is not None:
        found = lookup(base, key.constant)
        if found is not None:
            return found
        if isinstance(base.constant, str | bytes) and isinstance(key.constant, int):
            letter = base.constant[key.constant : key.constant + 1 or None]
            return Value(constant=letter, labels=base.labels, node=base.node)
    if base.items:
        return _any_of(base)
    return labelled(base.labels)


def _any_of(base: Value) -> Value:
    found: Value | None = None
    for item in (base.items or ())[:6]:
        found = join(found, item)
    return (found or UNKNOWN).named(base.labels)


def _sliced(state: State, base: Value, node: ast.Slice) -> Value:
    bounds = all_of(state, [node.lower, node.upper, node.step])
    given = (node.lower, node.upper, node.step)
    known = [bound.constant if isinstance(bound.constant, int) else None for bound in bounds]
    if any(n is not None and k is None for n, k in zip(given, known, strict=True)):
        return labelled(base.labels)
    lower, upper, step = known
    if base.items is not None and base.keys is None and step != 0:
        return replace(base, items=base.items[lower:upper:step])
    if not isinstance(base.constant, str | bytes):
        return replace(base, also=()) if base.labels or base.text else UNKNOWN
    result = fold.cut(base.constant, lower, upper, step)
    found = Value(constant=result, labels=base.labels, steps=base.steps, node=base.node)
    turned = step is not None and step < 0 and len(base.constant) > _SHORT
    return state.charge(backwards(found) if turned else found)


def _binary(state: State, node: ast.BinOp) -> Value:
    """Walk a long chain of `+` without going deeper at each term."""
    chain: list[ast.BinOp] = []
    left: ast.expr = node
    while isinstance(left, ast.BinOp):
        chain.append(left)
        left = left.left
    found = evaluate(state, left)
    for step in reversed(chain):
        found = operated(state, step, found, evaluate(state, step.right))
    return found


def _unary(state: State, node: ast.UnaryOp) -> Value:
    value = evaluate(state, node.operand)
    if isinstance(node.op, ast.USub) and isinstance(value.constant, int):
        return Value(constant=-value.constant, node=node)
    return UNKNOWN if isinstance(node.op, ast.Not) else labelled(value.labels)


def _joined_text(state: State, node: ast.JoinedStr) -> Value:
    parts: list[str] = []
    labels: Labels = frozenset()
    whole = True
    for part in node.values:
        inner = part.value if isinstance(part, ast.FormattedValue) else part
        value = evaluate(state, inner)
        simple = not isinstance(part, ast.FormattedValue) or part.format_spec is None
        whole = whole and simple and isinstance(value.constant, str)
        parts.append(hint(value, inner))
        labels |= value.labels
    text = "".join(parts)[: fold.MAX_TEXT]
    # Letters of a template stay on their lines, so it counts as standing there as it is.
    found = Value(sketch=text, labels=labels, node=node, plain=True)
    return state.charge(replace(found, constant=text, sketch="") if whole else found)


def _formatted(state: State, node: ast.FormattedValue) -> Value:
    return evaluate(state, node.value)


def _sequence(state: State, node: ast.List | ast.Tuple | ast.Set) -> Value:
    found: list[Value] = []
    open_ended = False
    labels: Labels = frozenset()
    for part in node.elts:
        value = evaluate(state, part)
        if isinstance(part, ast.Starred):
            inner = members(value)
            open_ended = open_ended or inner is None
            labels |= value.labels
            found.extend(inner or [value])
        else:
            found.append(value)
    return sequence(found, node).named(labels)


def _mapping(state: State, node: ast.Dict) -> Value:
    pairs: list[tuple[Value, Value]] = []
    labels: Labels = frozenset()
    for key, part in zip(node.keys, node.values, strict=True):
        value = evaluate(state, part)
        if key is None:
            labels |= value.labels
            pairs.extend(zip(value.keys or (), value.items or (), strict=False))
        else:
            pairs.append((evaluate(state, key), value))
    return mapping(pairs).named(labels)


def _choice(state: State, node: ast.BoolOp | ast.IfExp) -> Value:
    if isinstance(node, ast.IfExp):
        evaluate(state, node.test)
        parts = [node.body, node.orelse]
    else:
        parts = node.values
    found: Value | None = None
    # The first alternative stays the main one: `given or default`.
    for value in reversed(all_of(state, parts)):
        found = join(found, value) if value is not UNKNOWN else found
    return found or UNKNOWN


def _comparison(state: State, node: ast.Compare) -> Value:
    evaluate(state, node.left)
    all_of(state, node.comparators)
    return UNKNOWN


def _inner(state: State, node: ast.Await | ast.Starred) -> Value:
    return evaluate(state, node.value)


def _yielded(state: State, node: ast.Yield | ast.YieldFrom) -> Value:
    state.returned.append(evaluate(state, node.value))
    return UNKNOWN


def _walrus(state: State, node: ast.NamedExpr) -> Value:
    value = evaluate(state, node.value)
    state.assign(node.target.id, value)
    return value


def _lambda(state: State, node: ast.Lambda) -> Value:
    function = Function(node, state.scope)
    state.functions.append(function)
    return Value(function=function)


_HANDLERS: dict[type[ast.expr], Evaluate] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.JoinedStr: _joined_text,
    ast.FormattedValue: _formatted,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Set: _sequence,
    ast.Dict: _mapping,
    ast.BoolOp: _choice,
    ast.IfExp: _choice,
    ast.Compare: _comparison,
    ast.Await: _inner,
    ast.Starred: _inner,
    ast.Yield: _yielded,
    ast.YieldFrom: _yielded,
    ast.NamedExpr: _walrus,
    ast.Lambda: _lambda,
}


def register(kind: type[ast.expr], handler: Evaluate) -> None:
    """Let another module say what a kind of expression comes to."""
    _HANDLERS[kind] = handler
