"""What expressions come to, walked once each, and what assignments change.

Calls are left to `functions`, which adds itself to the handlers.
"""

import ast
import stat
from collections.abc import Callable, Sequence
from typing import Any

from prowess.safety.facts import Act, narrow_to_entry
from prowess.safety.languages.code import values as fold
from prowess.safety.languages.code.calls import python_effects
from prowess.safety.languages.code.effects import (
    compute_name,
    mark_backwards,
    read_environment_variable,
)
from prowess.safety.languages.code.io import PATH, join_path, show_bits
from prowess.safety.languages.code.state import Site, Walker
from prowess.safety.languages.code.values import (
    UNKNOWN,
    Constant,
    Frame,
    Function,
    Labels,
    Value,
    canonical,
    common_words,
    join,
    labelled,
    lookup,
    mapping,
    members,
    python_words,
    replace,
    sequence,
)
from prowess.safety.languages.decoding import MAX_TEXT
from prowess.secrets.names import is_secret_name

MODES: dict[str, int] = {
    f"stat.{name}": value
    for name, value in vars(stat).items()
    if name.startswith("S_I") and isinstance(value, int)
}


_MAX_SKETCH = 1 << 14
_MAX_ITEMS = 512


def show_hint(value: Value, node: ast.expr) -> str:
    """Return the text of a value, or a name that stands for it."""
    if value.text:
        return value.text
    if isinstance(value.constant, int):
        return str(value.constant)
    if isinstance(node, ast.Name):
        return f"${node.id}"
    return f"${node.attr}" if isinstance(node, ast.Attribute) else "$value"


def apply_operator(state: Walker, node: ast.BinOp, left: Value, right: Value) -> Value:
    """Return what an operator makes of two values."""
    if isinstance(node.op, ast.Div) and left.name == PATH:
        return join_path((left, right))
    if isinstance(node.op, ast.Mod) and left.text:
        return _percent(state, left, right)
    result = fold.binary(node.op, left.constant, right.constant)
    labels = left.labels | right.labels
    steps = left.steps or right.steps
    where = left.node if left.node is not None else right.node
    if result is not None:
        return state.charge(Value(constant=result, labels=labels, steps=steps, node=where))
    if isinstance(node.op, ast.BitOr):
        return _merge(left, right, labels)
    if isinstance(node.op, ast.Add):
        return replace(_add(node, left, right), labels=labels, steps=steps, node=where)
    return labelled(labels)


def _add(node: ast.BinOp, left: Value, right: Value) -> Value:
    if left.items is not None and right.items is not None:
        return Value(items=(left.items + right.items)[:_MAX_ITEMS])
    if left.text or right.text:
        return Value(
            sketch=(show_hint(left, node.left) + show_hint(right, node.right))[:_MAX_SKETCH]
        )
    return UNKNOWN


def _merge(left: Value, right: Value, labels: Labels) -> Value:
    if left.keys is not None and right.keys is not None:
        pairs = [*zip(left.keys, left.items or (), strict=True)]
        return mapping([*pairs, *zip(right.keys, right.items or (), strict=True)])
    bits = next((v.constant for v in (left, right) if isinstance(v.constant, int)), None)
    return Value(sketch=show_bits(bits) if bits is not None else "", labels=labels)


def _percent(state: Walker, left: Value, right: Value) -> Value:
    labels = left.labels | right.labels
    values = right.items if right.items is not None and right.keys is None else (right,)
    known: list[Constant] = [v.constant for v in values if v.constant is not None]
    if len(known) == len(values) and isinstance(left.constant, str | bytes):
        result = fold.percent(left.constant, known)
        if result is not None:
            return state.charge(Value(constant=result, labels=labels, node=left.node))
    sketch = left.text
    for value in values[:16]:
        sketch = sketch.replace("%s", value.text or "$value", 1)
    return Value(sketch=sketch, labels=labels, node=left.node)


Evaluate = Callable[[Walker, Any], Value]


class Do(ast.expr):
    """Statements inside an expression, and then its value: no Python, but JavaScript has it."""

    _fields = ("body", "value")

    def __init__(self, body: list[ast.stmt], value: ast.expr) -> None:
        super().__init__()
        self.body = body
        self.value = value


_SHORT = 3


def evaluate(state: Walker, node: ast.expr | None) -> Value:
    """Return what is known of an expression, noting what it does."""
    if node is None:
        return UNKNOWN
    handler = HANDLERS.get(type(node))
    if handler is None or not state.enter(node):
        return UNKNOWN
    try:
        return handler(state, node)
    finally:
        state.depth -= 1


def evaluate_all(state: Walker, nodes: Sequence[ast.expr | None]) -> list[Value]:
    """Return what is known of each expression."""
    return [evaluate(state, node) for node in nodes]


def _constant(state: Walker, node: ast.Constant) -> Value:
    value = node.value
    if isinstance(value, str):
        if "stratum+" in value:
            state.emit(Act.MINE, node, value[:200])
        return Value(constant=value, node=node, plain=True)
    if isinstance(value, bytes | int):
        return Value(constant=value, node=node, plain=True)
    return UNKNOWN


def _name(state: Walker, node: ast.Name) -> Value:
    found = state.find(node.id) or state.language.find_name(state, node.id)
    return found or Value(node=node)


def find_python_name(state: Walker, name: str) -> Value | None:
    """Return what a name means that a Python text does not define."""
    if name in python_words("builtins"):
        return Value(name=name)
    for module in state.stars:
        if f"{module}.{name}" in python_effects():
            return Value(name=f"{module}.{name}")
    return Value(name=canonical(name)) if name in python_words("bare_modules") else None


def _attribute(state: Walker, node: ast.Attribute) -> Value:
    return find_attribute(state, evaluate(state, node.value), node)


def find_attribute(state: Walker, base: Value, node: ast.Attribute) -> Value:
    """Return an attribute of a value."""
    found = state.language.get_member(state, base, node, Value(constant=node.attr, plain=True))
    return found or _python_attribute(state, base, node)


def _python_attribute(state: Walker, base: Value, node: ast.Attribute) -> Value:
    attr = node.attr
    if base.function is not None and isinstance(base.function.node, ast.ClassDef):
        return find_own_attribute(state, base.function.node.name, attr)
    if base.name.startswith("self:"):
        return find_own_attribute(state, base.name[5:], attr).named(base.labels)
    if isinstance(node.value, ast.Name):
        stored = state.find(f"{node.value.id}.{attr}")
        if stored is not None:
            return stored
    if base.name == PATH and attr == "parent":
        return replace(base, constant=None, sketch=base.text.rpartition("/")[0])
    if not base.name:
        labels = narrow_to_entry(base.labels, attr) if is_secret_name(attr) else base.labels
        return labelled(frozenset() if attr in common_words("status") else labels)
    return _get_named_attribute(state, base, node)


def _get_named_attribute(state: Walker, base: Value, node: ast.Attribute) -> Value:
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
    labels = frozenset() if node.attr in common_words("status") else base.labels
    return Value(name=name, labels=labels)


_VALUES: dict[str, Labels] = {"os.environ": frozenset(["env"]), "sys.argv": frozenset(["input"])}


def find_own_attribute(state: Walker, owner: str, attr: str) -> Value:
    """Return an attribute of a class of this text."""
    found = state.attribute(owner, attr)
    if found is None:
        state.missing.add((owner, attr))
        return UNKNOWN
    return found


def _subscript(state: Walker, node: ast.Subscript) -> Value:
    base = evaluate(state, node.value)
    if isinstance(node.slice, ast.Slice):
        return _slice(state, base, node.slice)
    key = evaluate(state, node.slice)
    found = state.language.get_member(state, base, node, key)
    if found is not None:
        return found
    if base.name == "os.environ":
        return read_environment_variable(state, _site(node, base), key, UNKNOWN)
    if base.name == "sys.modules" and isinstance(key.constant, str):
        return Value(name=canonical(key.constant))
    if base.name.startswith("namespace:") or base.name.endswith("__dict__"):
        return _from_namespace(state, node, base, key)
    return find_member(base, key)


def _site(node: ast.expr, base: Value) -> Site:
    # Subscripts act like calls of `__getitem__`; only the place of the node is used.
    call = ast.Call(func=node, args=[], keywords=[])
    return Site(ast.copy_location(call, node), base.name, base, base, (), {})


def _from_namespace(state: Walker, node: ast.expr, base: Value, key: Value) -> Value:
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
    return compute_name(state, _site(node, base), owner, key)


def find_member(base: Value, key: Value) -> Value:
    """Return the member of a value under a key."""
    if key.constant is not None:
        found = lookup(base, key.constant)
        if found is not None:
            return found
        if isinstance(base.constant, str | bytes) and isinstance(key.constant, int):
            letter = base.constant[key.constant : key.constant + 1 or None]
            return Value(constant=letter, labels=base.labels, node=base.node)
    if base.items:
        return _join_items(base)
    return labelled(narrow_to_entry(base.labels, key.constant))


def _join_items(base: Value) -> Value:
    found: Value | None = None
    for item in (base.items or ())[:6]:
        found = join(found, item)
    return (found or UNKNOWN).named(base.labels)


def _slice(state: Walker, base: Value, node: ast.Slice) -> Value:
    bounds = evaluate_all(state, [node.lower, node.upper, node.step])
    given = (node.lower, node.upper, node.step)
    known = [bound.constant if isinstance(bound.constant, int) else None for bound in bounds]
    if any(n is not None and k is None for n, k in zip(given, known, strict=True)):
        return labelled(base.labels)
    lower, upper, step = known
    if base.items is not None and base.keys is None and step != 0:
        return replace(base, items=base.items[lower:upper:step])
    if not isinstance(base.constant, str | bytes):
        return replace(base, also=()) if base.labels or base.text else UNKNOWN
    result = None if step == 0 else base.constant[lower:upper:step]
    found = Value(constant=result, labels=base.labels, steps=base.steps, node=base.node)
    turned = step is not None and step < 0 and len(base.constant) > _SHORT
    return state.charge(mark_backwards(found) if turned else found)


def _binary(state: Walker, node: ast.BinOp) -> Value:
    """Walk a long chain of `+` without going deeper at each term."""
    chain: list[ast.BinOp] = []
    left: ast.expr = node
    while isinstance(left, ast.BinOp):
        chain.append(left)
        left = left.left
    found = evaluate(state, left)
    for step in reversed(chain):
        found = apply_operator(state, step, found, evaluate(state, step.right))
    return found


def _unary(state: Walker, node: ast.UnaryOp) -> Value:
    value = evaluate(state, node.operand)
    if isinstance(node.op, ast.USub) and isinstance(value.constant, int):
        return Value(constant=-value.constant, node=node)
    return UNKNOWN if isinstance(node.op, ast.Not) else labelled(value.labels)


def _join_text(state: Walker, node: ast.JoinedStr) -> Value:
    parts: list[str] = []
    labels: Labels = frozenset()
    whole = True
    for part in node.values:
        inner = part.value if isinstance(part, ast.FormattedValue) else part
        value = evaluate(state, inner)
        simple = not isinstance(part, ast.FormattedValue) or part.format_spec is None
        whole = whole and simple and isinstance(value.constant, str)
        parts.append(show_hint(value, inner))
        labels |= value.labels
    text = "".join(parts)[:MAX_TEXT]
    # Letters of a template stay on their lines, so it counts as standing there as it is.
    found = Value(sketch=text, labels=labels, node=node, plain=True)
    return state.charge(replace(found, constant=text, sketch="") if whole else found)


def _sequence(state: Walker, node: ast.List | ast.Tuple | ast.Set) -> Value:
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


def _evaluate_mapping(state: Walker, node: ast.Dict) -> Value:
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


def _choice(state: Walker, node: ast.BoolOp | ast.IfExp) -> Value:
    if isinstance(node, ast.IfExp):
        evaluate(state, node.test)
        parts = [node.body, node.orelse]
    else:
        parts = node.values
    found: Value | None = None
    # The first alternative stays the main one: `given or default`.
    for value in reversed(evaluate_all(state, parts)):
        found = join(found, value) if value is not UNKNOWN else found
    return found or UNKNOWN


def _comparison(state: Walker, node: ast.Compare) -> Value:
    evaluate(state, node.left)
    evaluate_all(state, node.comparators)
    return UNKNOWN


def _inner(state: Walker, node: ast.Await | ast.Starred | ast.FormattedValue) -> Value:
    return evaluate(state, node.value)


def _yield(state: Walker, node: ast.Yield | ast.YieldFrom) -> Value:
    state.returned.append(evaluate(state, node.value))
    return UNKNOWN


def _walrus(state: Walker, node: ast.NamedExpr) -> Value:
    value = evaluate(state, node.value)
    state.assign(node.target.id, value)
    return value


def _lambda(state: Walker, node: ast.Lambda) -> Value:
    function = Function(node, state.scope)
    state.functions.append(function)
    return Value(function=function)


# Calls and comprehensions are added by `functions`, statements in an expression by `statements`.
HANDLERS: dict[type[ast.expr], Evaluate] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.JoinedStr: _join_text,
    ast.FormattedValue: _inner,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Set: _sequence,
    ast.Dict: _evaluate_mapping,
    ast.BoolOp: _choice,
    ast.IfExp: _choice,
    ast.Compare: _comparison,
    ast.Await: _inner,
    ast.Starred: _inner,
    ast.Yield: _yield,
    ast.YieldFrom: _yield,
    ast.NamedExpr: _walrus,
    ast.Lambda: _lambda,
}


_TARGETS_MAX_ITEMS = 256


def bind(state: Walker, target: ast.expr, value: Value) -> None:
    """Let the target of an assignment hold a value."""
    if isinstance(target, ast.Name):
        state.assign(target.id, value)
    elif isinstance(target, ast.Tuple | ast.List):
        _unpack(state, target.elts, value)
    elif isinstance(target, ast.Starred):
        bind(state, target.value, labelled(value.labels))
    elif isinstance(target, ast.Attribute):
        _set_attribute(state, target, value)
    elif isinstance(target, ast.Subscript):
        _set_member(state, target, value)


def _unpack(state: Walker, targets: list[ast.expr], value: Value) -> None:
    parts = members(value)
    if parts is None or len(parts) != len(targets):
        parts = (labelled(value.labels),) * len(targets)
    for target, part in zip(targets, parts, strict=True):
        bind(state, target, part)


def _set_attribute(state: Walker, target: ast.Attribute, value: Value) -> None:
    base = evaluate(state, target.value)
    if state.language.set_member(state, base, target, Value(constant=target.attr), value):
        return
    if base.name.startswith("self:"):
        owner = base.name[5:]
        old = state.attribute(owner, target.attr)
        state.set_attribute(owner, target.attr, join(old, value))
        return
    if target.attr == "check_hostname" and value.constant is False:
        state.emit(Act.DISABLE, target, "tls")
    if isinstance(target.value, ast.Name):
        state.assign(f"{target.value.id}.{target.attr}", value)
    if value.labels:
        update(state, target.value, base.named(value.labels))


def _set_member(state: Walker, target: ast.Subscript, value: Value) -> None:
    base = evaluate(state, target.value)
    key = UNKNOWN if isinstance(target.slice, ast.Slice) else evaluate(state, target.slice)
    if state.language.set_member(state, base, target, key, value):
        return
    if base.name == "os.environ":
        state.emit(Act.SETENV, target, key.text, value.text, value.labels)
        return
    grown = base.named(value.labels)
    if base.keys is not None and len(base.keys) < _TARGETS_MAX_ITEMS and key.constant is not None:
        pairs = zip(base.keys, base.items or (), strict=True)
        kept = [(known, item) for known, item in pairs if known.constant != key.constant]
        grown = replace(mapping([*kept, (key, value)]), name=base.name).named(grown.labels)
    if grown is not base:
        update(state, target.value, grown)


def update(state: Walker, target: ast.expr, value: Value) -> None:
    """Let whatever an expression names hold more than before."""
    if isinstance(target, ast.Name):
        scope: Frame | None = state.scope
        while scope is not None and target.id not in scope.names:
            scope = scope.parent
        (scope or state.scope).names[target.id] = value
    elif isinstance(target, ast.Attribute):
        base = evaluate(state, target.value)
        if base.name.startswith("self:"):
            state.set_attribute(base.name[5:], target.attr, value)
    elif isinstance(target, ast.Subscript):
        base = evaluate(state, target.value)
        if not value.labels <= base.labels and isinstance(target.value, ast.Name | ast.Attribute):
            update(state, target.value, base.named(value.labels))
