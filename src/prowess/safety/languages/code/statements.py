"""Walks statements in order: assignments, branches, loops, functions, classes, imports."""

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from prowess.safety.facts import Act
from prowess.safety.languages.code.expressions import (
    HANDLERS,
    Do,
    apply_operator,
    bind,
    evaluate,
    evaluate_all,
    update,
)
from prowess.safety.languages.code.functions import apply, is_static, make_self, pick_element
from prowess.safety.languages.code.io import PATH
from prowess.safety.languages.code.state import Site, Walker
from prowess.safety.languages.code.values import (
    UNKNOWN,
    Frame,
    Function,
    Value,
    canonical,
    is_known_module,
    join,
    labelled,
    labels_of,
    mapping,
    members,
    replace_constant,
    sequence,
)

_MAX_ROUNDS = 256
_MAX_INHERITED = 64
_COMMANDS = frozenset(("command", "option", "argument", "callback"))

Execute = Callable[[Walker, Any], None]


def execute(state: Walker, body: Sequence[ast.stmt]) -> None:
    """Walk statements in order."""
    for node in body:
        handler = _HANDLERS.get(type(node))
        if handler is None or not state.enter(node):
            continue
        try:
            handler(state, node)
        finally:
            state.depth -= 1


def _branch(state: Walker, body: Sequence[ast.stmt]) -> None:
    state.nesting += 1
    try:
        execute(state, body)
    finally:
        state.nesting -= 1


def _do(state: Walker, node: Do) -> Value:
    # What stands inside the body of a class is no method of it.
    owner, state.owner = state.owner, ""
    execute(state, node.body)
    state.owner = owner
    return evaluate(state, node.value)


def _expression(state: Walker, node: ast.Expr | ast.Assert | ast.Raise) -> None:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            evaluate(state, child)


def _assign(state: Walker, node: ast.Assign) -> None:
    value = evaluate(state, node.value)
    for target in node.targets:
        bind(state, target, value)


def _annotate(state: Walker, node: ast.AnnAssign) -> None:
    if node.value is not None:
        bind(state, node.target, evaluate(state, node.value))


def _augment(state: Walker, node: ast.AugAssign) -> None:
    old = evaluate(state, _load(node.target))
    both = ast.copy_location(ast.BinOp(_load(node.target), node.op, node.value), node)
    new = apply_operator(state, both, old, evaluate(state, node.value))
    if state.looping:
        # A round that stands for many does not say what the sum is.
        new = replace_constant(new)
    if isinstance(node.target, ast.Name):
        update(state, node.target, new)
    else:
        bind(state, node.target, new)


def _load(target: ast.Name | ast.Attribute | ast.Subscript) -> ast.expr:
    return target


def _if(state: Walker, node: ast.If) -> None:
    """Walk a chain of `elif` without going deeper at each."""
    current = node
    while True:
        evaluate(state, current.test)
        _branch(state, current.body)
        rest = current.orelse
        if len(rest) != 1 or not isinstance(rest[0], ast.If):
            _branch(state, rest)
            return
        current = rest[0]


def _for(state: Walker, node: ast.For | ast.AsyncFor) -> None:
    source = evaluate(state, node.iter)
    size = len(source.constant) if isinstance(source.constant, str | bytes) else 0
    values = members(source) if size <= _MAX_ROUNDS else None
    if values is None or len(values) > _MAX_ROUNDS or not state.may_expand:
        _run_once(state, node, pick_element(source))
    else:
        _unroll(state, node, values, pick_element(source))
    _branch(state, node.orelse)


def _unroll(
    state: Walker, node: ast.For | ast.AsyncFor, values: Sequence[Value], other: Value
) -> None:
    for done, value in enumerate(values):
        if not state.may_expand:
            _run_once(state, node, other)
            return
        bind(state, node.target, value)
        # The first round is the visit that each node is due.
        state.expanding += 1 if done else 0
        try:
            _branch(state, node.body)
        finally:
            state.expanding -= 1 if done else 0
    if not values:
        _run_once(state, node, UNKNOWN)


def _run_once(state: Walker, node: ast.For | ast.AsyncFor, value: Value) -> None:
    bind(state, node.target, value)
    state.looping += 1
    try:
        _branch(state, node.body)
    finally:
        state.looping -= 1


def _while(state: Walker, node: ast.While) -> None:
    evaluate(state, node.test)
    state.looping += 1
    try:
        _branch(state, node.body)
    finally:
        state.looping -= 1
    _branch(state, node.orelse)


def _with(state: Walker, node: ast.With | ast.AsyncWith) -> None:
    for item in node.items:
        value = evaluate(state, item.context_expr)
        if item.optional_vars is not None:
            bind(state, item.optional_vars, value)
    execute(state, node.body)


def _try(state: Walker, node: ast.Try) -> None:
    _branch(state, node.body)
    for handler in node.handlers:
        if handler.name:
            state.assign(handler.name, UNKNOWN)
        _branch(state, handler.body)
    _branch(state, node.orelse)
    _branch(state, node.finalbody)


def _match(state: Walker, node: ast.Match) -> None:
    evaluate(state, node.subject)
    for case in node.cases:
        evaluate(state, case.guard)
        _branch(state, case.body)


def _return(state: Walker, node: ast.Return) -> None:
    state.returned.append(evaluate(state, node.value))


def _global(state: Walker, node: ast.Global) -> None:
    state.scope.shared.update(node.names)


def _import(state: Walker, node: ast.Import) -> None:
    for alias in node.names:
        _note_module(state, alias.name)
        root = alias.name.partition(".")[0]
        state.assign(
            alias.asname or root, Value(name=canonical(alias.name if alias.asname else root))
        )


def _import_from(state: Walker, node: ast.ImportFrom) -> None:
    module = node.module or ""
    if node.level:
        state.own_modules.update(
            [module.partition(".")[0]] if module else [alias.name for alias in node.names]
        )
    for alias in node.names:
        if alias.name == "*":
            state.stars.append(canonical(module))
        else:
            full = f"{module}.{alias.name}" if module else alias.name
            state.assign(alias.asname or alias.name, Value(name=canonical(full)))
    if module:
        _note_module(state, module)
    else:
        state.imports.update(dict.fromkeys(alias.name for alias in node.names))


def _note_module(state: Walker, name: str) -> None:
    state.imports.setdefault(name)
    if not is_known_module(name):
        state.own_modules.add(name.partition(".")[0])


def _function(state: Walker, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    evaluate_all(state, node.decorator_list)
    function = Function(node, state.scope, state.owner)
    # A class body is no scope for the functions in it.
    if state.owner and state.scope.parent is not None:
        function.scope = state.scope.parent
    state.functions.append(function)
    state.assign(node.name, Value(function=function))


def _class(state: Walker, node: ast.ClassDef) -> None:
    bases = evaluate_all(state, node.bases)
    evaluate_all(state, node.decorator_list)
    outer, owner = state.scope, state.owner
    state.scope, state.owner = Frame(parent=outer), node.name
    try:
        execute(state, node.body)
        names = state.scope.names
    finally:
        state.scope, state.owner = outer, owner
    for base in bases:
        _inherit(state, base, node.name)
    state.attributes.setdefault(node.name, {}).update(names)
    state.assign(node.name, Value(function=Function(node, outer)))


def _inherit(state: Walker, base: Value, name: str) -> None:
    if base.function is None or not isinstance(base.function.node, ast.ClassDef):
        return
    inherited = state.attributes.get(base.function.node.name, {})
    own = state.attributes.setdefault(name, {})
    for attr in list(inherited)[:_MAX_INHERITED]:
        own.setdefault(attr, inherited[attr])


def run_function(
    state: Walker, function: Function, args: Sequence[Value], keywords: Mapping[str, Value]
) -> Value:
    """Walk the body of a function with what it is called with, and return what it returns."""
    if function in state.active or not state.may_expand:
        return labelled(labels_of((*args, *keywords.values())))
    key = (
        id(function),
        tuple(map(_brief, args)),
        tuple((k, _brief(v)) for k, v in keywords.items()),
    )
    known = state.memory.get(key)
    if known is not None:
        return known
    state.expanding += 1
    try:
        state.memory[key] = result = walk_function(state, function, args, keywords)
    finally:
        state.expanding -= 1
    return result


def _brief(value: Value) -> object:
    parts = len(value.items) if value.items is not None else -1
    text = value.constant if parts < 0 else tuple(item.constant for item in (value.items or ())[:8])
    return text, value.name, value.labels, value.sketch, parts, id(value.function), len(value.also)


def walk_function(
    state: Walker, function: Function, args: Sequence[Value], keywords: Mapping[str, Value]
) -> Value:
    """Walk the body of a function, whatever it costs."""
    function.runs += 1
    saved = state.scope, state.nesting, state.returned, state.owner, state.looping
    state.scope = Frame(parent=function.scope)
    state.nesting, state.returned, state.owner, state.looping = 0, [], "", 0
    state.active.append(function)
    try:
        node = function.node
        if isinstance(node, ast.ClassDef):
            return UNKNOWN
        _parameters(state, function, args, keywords)
        if isinstance(node, ast.Lambda):
            return evaluate(state, node.body)
        execute(state, node.body)
        if node.name in {"__reduce__", "__reduce_ex__"}:
            _revive(state, node)
        return _join_returns(state)
    finally:
        state.active.pop()
        state.scope, state.nesting, state.returned, state.owner, state.looping = saved


def _join_returns(state: Walker) -> Value:
    found: Value | None = None
    for value in state.returned:
        found = join(found, value)
    return found or UNKNOWN


def _revive(state: Walker, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    """What `__reduce__` returns is a call that whoever loads the object makes."""
    for value in state.returned:
        if value.items and value.items[0].name and node.body:
            call = ast.Call(func=ast.Name("call"), args=[], keywords=[])
            where = ast.copy_location(call, node.body[-1])
            args = value.items[1].items or () if value.items[1:] else ()
            apply(state, Site(where, value.items[0].name, value.items[0], UNKNOWN, args, {}))


def _parameters(
    state: Walker, function: Function, args: Sequence[Value], keywords: Mapping[str, Value]
) -> None:
    node = function.node
    if isinstance(node, ast.ClassDef):
        return
    names = [*node.args.posonlyargs, *node.args.args]
    given = dict(zip((name.arg for name in names), args, strict=False)) | dict(keywords)
    defaults = dict(zip([n.arg for n in names[::-1]], node.args.defaults[::-1], strict=False))
    pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    defaults |= {name.arg: default for name, default in pairs if default is not None}
    outside = _find_outside(state, node)
    for name in (*names, *node.args.kwonlyargs):
        value = given.get(name.arg)
        if value is None:
            value = evaluate(state, defaults.get(name.arg)).named(outside)
            value = _annotation(state, name) if value is UNKNOWN else value
        state.assign(name.arg, value)
    if node.args.vararg:
        state.assign(node.args.vararg.arg, sequence(args[len(names) :]))
    if node.args.kwarg:
        extra = {k: v for k, v in keywords.items() if all(k != n.arg for n in names)}
        state.assign(node.args.kwarg.arg, mapping(extra))


def _find_outside(state: Walker, node: ast.AST) -> frozenset[str]:
    """Parameters of a command of a terminal are what its user types."""
    for decorator in getattr(node, "decorator_list", []):
        inner = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(inner, ast.Attribute) and inner.attr in _COMMANDS:
            return state.outside | {"input"}
    return frozenset()


def _annotation(state: Walker, parameter: ast.arg) -> Value:
    if not isinstance(parameter.annotation, ast.Name | ast.Attribute):
        return UNKNOWN
    name = evaluate(state, parameter.annotation).name
    if name == "pathlib.Path":
        return Value(name=PATH)
    return Value(name=f"{name}()") if "." in name else UNKNOWN


_HANDLERS: dict[type[ast.stmt], Execute] = {
    ast.Expr: _expression,
    ast.Assert: _expression,
    ast.Raise: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotate,
    ast.AugAssign: _augment,
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.TryStar: _try,
    ast.Match: _match,
    ast.Return: _return,
    ast.Global: _global,
    ast.Nonlocal: _global,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
}


HANDLERS[Do] = _do

_MAX_FUNCTIONS = 60_000
_MAX_HANDED = 200


def walk(state: Walker, body: list[ast.stmt]) -> None:
    """Walk a whole text, then the functions that it never calls."""
    for node in body:
        _guard(state, node)
    for function, args in state.handed[:_MAX_HANDED]:
        _run(state, function, args)
    done = 0
    while done < len(state.functions) and done < _MAX_FUNCTIONS:
        if not state.functions[done].runs:
            _run(state, state.functions[done])
        done += 1
    if done < len(state.functions):
        state.unread["too many functions"] = None
    # Some methods ask for an attribute before another method has set it.
    owners = {owner for owner, attr in state.missing if state.attribute(owner, attr)}
    for function in state.functions[:done]:
        if function.owner in owners and state.may_expand:
            _run(state, function)
    _reverse_shell(state)


def _guard(state: Walker, node: ast.stmt) -> None:
    try:
        execute(state, [node])
    except RecursionError:
        state.unread[f"nested too deeply{state.source.line(node)}"] = None


def _run(state: Walker, function: Function, given: Sequence[Value] | None = None) -> None:
    """Walk a function by itself: of its parameters only what is given is known."""
    if given is None:
        given = () if not function.owner or is_static(function) else (make_self(function),)
    try:
        walk_function(state, function, given, {})
    except RecursionError:
        state.unread[f"nested too deeply{state.source.line(function.node)}"] = None


def _reverse_shell(state: Walker) -> None:
    """A connection whose far end is given a terminal, or whose words are run and answered."""
    if "connected" not in state.parts:
        return
    if "pty" in state.parts:
        state.emit(Act.REVERSE_SHELL, state.parts["pty"], state.language.name, state.peer)
    elif {"runs-received", "sends"} <= state.parts.keys():
        state.emit(Act.REVERSE_SHELL, state.parts["runs-received"], state.language.name, state.peer)
