"""What Python assignments change: names, attributes, members, the environment."""

import ast

from prowess.safety.facts import Act
from prowess.safety.languages.python.expressions import evaluate
from prowess.safety.languages.python.python_state import State
from prowess.safety.languages.python.values import (
    UNKNOWN,
    Scope,
    Value,
    join,
    labelled,
    mapping,
    members,
    replace,
)

_MAX_ITEMS = 256


def bind(state: State, target: ast.expr, value: Value) -> None:
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


def _unpack(state: State, targets: list[ast.expr], value: Value) -> None:
    parts = members(value)
    if parts is None or len(parts) != len(targets):
        parts = (labelled(value.labels),) * len(targets)
    for target, part in zip(targets, parts, strict=True):
        bind(state, target, part)


def _set_attribute(state: State, target: ast.Attribute, value: Value) -> None:
    base = evaluate(state, target.value)
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


def _set_member(state: State, target: ast.Subscript, value: Value) -> None:
    base = evaluate(state, target.value)
    key = UNKNOWN if isinstance(target.slice, ast.Slice) else evaluate(state, target.slice)
    if base.name == "os.environ":
        state.emit(Act.SETENV, target, key.text, value.text, value.labels)
        return
    grown = base.named(value.labels)
    if base.keys is not None and len(base.keys) < _MAX_ITEMS and key.constant is not None:
        pairs = zip(base.keys, base.items or (), strict=True)
        kept = [(known, item) for known, item in pairs if known.constant != key.constant]
        grown = replace(mapping([*kept, (key, value)]), name=base.name).named(grown.labels)
    if grown is not base:
        update(state, target.value, grown)


def update(state: State, target: ast.expr, value: Value) -> None:
    """Let whatever an expression names hold more than before."""
    if isinstance(target, ast.Name):
        scope: Scope | None = state.scope
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
