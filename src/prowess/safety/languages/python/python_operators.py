"""What Python operators make of values that are known in part."""

import ast

from prowess.safety.languages.python import python_fold as fold
from prowess.safety.languages.python.io import PATH, added_bits, join_path
from prowess.safety.languages.python.python_state import State
from prowess.safety.languages.python.values import (
    UNKNOWN,
    Constant,
    Labels,
    Value,
    labelled,
    mapping,
    replace,
)

_MAX_SKETCH = 1 << 14
_MAX_ITEMS = 512


def hint(value: Value, node: ast.expr) -> str:
    """Return the text of a value, or a name that stands for it."""
    if value.text:
        return value.text
    if isinstance(value.constant, int):
        return str(value.constant)
    if isinstance(node, ast.Name):
        return f"${node.id}"
    return f"${node.attr}" if isinstance(node, ast.Attribute) else "$value"


def operated(state: State, node: ast.BinOp, left: Value, right: Value) -> Value:
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
        return _merged(left, right, labels)
    if isinstance(node.op, ast.Add):
        return replace(_added(node, left, right), labels=labels, steps=steps, node=where)
    return labelled(labels)


def _added(node: ast.BinOp, left: Value, right: Value) -> Value:
    if left.items is not None and right.items is not None:
        return Value(items=(left.items + right.items)[:_MAX_ITEMS])
    if left.text or right.text:
        return Value(sketch=(hint(left, node.left) + hint(right, node.right))[:_MAX_SKETCH])
    return UNKNOWN


def _merged(left: Value, right: Value, labels: Labels) -> Value:
    if left.keys is not None and right.keys is not None:
        pairs = [*zip(left.keys, left.items or (), strict=True)]
        return mapping([*pairs, *zip(right.keys, right.items or (), strict=True)])
    bits = next((v.constant for v in (left, right) if isinstance(v.constant, int)), None)
    return Value(sketch=added_bits(bits) if bits is not None else "", labels=labels)


def _percent(state: State, left: Value, right: Value) -> Value:
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
