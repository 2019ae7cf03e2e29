"""Calls in JavaScript: which function is meant, what goes in, what comes out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from prowess.safety.facts import Act
from prowess.safety.languages.javascript import constants as fold
from prowess.safety.languages.javascript.expressions import bind, read_body
from prowess.safety.languages.javascript.javascript_imports import from_module
from prowess.safety.languages.javascript.javascript_machine import Machine, parameters
from prowess.safety.languages.javascript.javascript_names import DANGEROUS, INSTANCES, canonical
from prowess.safety.languages.javascript.javascript_tree import Node
from prowess.safety.languages.javascript.state import key_of, member
from prowess.safety.languages.javascript.values import (
    NO_LABELS,
    UNKNOWN,
    Function,
    Value,
    join,
    relabel,
)

_MAX_INLINE = 600
_MAX_INLINED = 600
_MAX_MAPPED = 8_192
_MAX_INLINE_DEPTH = 3
# Methods that put their arguments into the object they are called on.
_FILLING = frozenset(
    ("push", "append", "set", "unshift", "add", "write", "update", "concat", "assign")
)
_PASSING = frozenset(("catch", "finally", "setEncoding", "unref", "ref", "setHeader", "setTimeout"))
# Functions that look at what they are given and keep it to themselves.
_SILENT = ("console.", "Math.", "Array.isArray", "Number.", "Boolean", "assert", "path.exists")


@dataclass(slots=True)
class Call:
    """A call: `receiver.method(args)` or `name(args)`."""

    node: Node
    callee: Value
    args: list[Value]
    receiver: Value = UNKNOWN
    method: str = ""
    # The variable that the receiver stands in, to be filled by the call.
    holder: str = ""
    made: bool = False
    flow: frozenset[str] = field(default=NO_LABELS)

    @property
    def name(self) -> str:
        """The canonical name of what is called."""
        return self.callee.name

    def arg(self, index: int) -> Value:
        """Return an argument, or nothing known."""
        return self.args[index] if index < len(self.args) else UNKNOWN

    def labels(self) -> frozenset[str]:
        """Return the labels of all arguments."""
        return NO_LABELS.union(*(arg.everything() for arg in self.args))


Handler = Callable[[Machine, Call], Value | None]


def reader(handlers: Mapping[str, Handler]) -> Callable[[Machine, Node], Value]:
    """Return what reads a call, given what to do for each well-known name."""

    def read(machine: Machine, node: Node) -> Value:
        call = _call(machine, node)
        return _dispatch(machine, call, handlers)

    return read


def _call(machine: Machine, node: Node) -> Call:
    made = node.kind == "new_expression"
    target = node.field("constructor" if made else "function")
    args = _arguments(machine, node.field("arguments"))
    if target is not None and target.kind in {"member_expression", "subscript_expression"}:
        holder = target.field("object")
        receiver = machine.eval(holder)
        key, computed = key_of(machine, target)
        callee = member(machine, target, receiver, key, computed=computed)
        held = machine.source(holder) if holder is not None and holder.kind == "identifier" else ""
        return Call(node, callee, args, receiver, key or "", held, made)
    if target is not None and target.kind == "import":
        return Call(node, Value(name="import"), args)
    return Call(node, machine.eval(target), args, made=made)


def _arguments(machine: Machine, node: Node | None) -> list[Value]:
    if node is None:
        return []
    if node.kind == "template_string":
        return [machine.eval(node)]
    values: list[Value] = []
    for kid in node.kids:
        if kid.kind == "comment":
            continue
        if kid.kind == "spread_element":
            spread = machine.eval(kid.kids[0]) if kid.kids else UNKNOWN
            values.extend(spread.items if spread.items is not None else [spread])
        else:
            values.append(machine.eval(kid))
    return values


def _dispatch(machine: Machine, call: Call, handlers: Mapping[str, Handler]) -> Value:
    _redirect(call)
    if call.name in {"require", "import"}:
        return _import(machine, call)
    if call.callee.function is not None:
        return apply(machine, call.callee.function, call.args)
    handler = handlers.get(call.name)
    if handler is None and call.receiver is not UNKNOWN:
        handler = handlers.get("." + call.method)
    result = handler(machine, call) if handler is not None else None
    if result is None:
        result = _by_list(machine, call) or fold.method(call.receiver, call.method, call.args)
    if result is None:
        result = _generic(machine, call)
    return result


def _redirect(call: Call) -> None:
    """Turn `f.call(t, x)`, `f.apply(t, [x])` and `Reflect.apply(f, t, [x])` into `f(x)`."""
    callable_ = call.receiver.name or call.receiver.function
    if call.method in {"call", "apply", "bind"} and callable_ and call.name != "Reflect.apply":
        rest = call.args[1:]
        if call.method == "apply":
            rest = rest[0].items or rest if rest else []
        call.callee, call.args = call.receiver, list(rest)
        call.made = False
        if call.method == "bind":
            call.callee = Value(name="bind")
            call.args = [call.receiver]
    elif call.name == "Reflect.apply" and call.args:
        inner = call.args[-1].items
        call.callee, call.args = call.args[0], list(inner) if inner is not None else call.args[2:]


def apply(machine: Machine, function: Function, args: list[Value]) -> Value:
    """Return what a function of the file gives for these arguments."""
    for index, arg in enumerate(args[:12]):
        machine.give(function, index, arg)
    small = function.node.end - function.node.start <= _MAX_INLINE
    if not small or machine.inlined >= _MAX_INLINED or machine.inline_depth >= _MAX_INLINE_DEPTH:
        return function.result or UNKNOWN
    machine.inlined += 1
    return inline(machine, function, args) or function.result or UNKNOWN


def inline(machine: Machine, function: Function, args: list[Value]) -> Value | None:
    """Read the body of a small function once more, for exactly these arguments."""
    outer = machine.scopes, machine.current, machine.branch, len(machine.pending)
    given = dict(enumerate(args))
    trial = Function(function.node, function.scopes, given)
    before = machine.changed
    machine.inline_depth += 1
    try:
        return _trial(machine, trial)
    finally:
        machine.inline_depth -= 1
        machine.changed = before
        machine.scopes, machine.current, machine.branch = outer[:3]


def _trial(machine: Machine, trial: Function) -> Value | None:
    body = trial.node.field("body")
    if body is None:
        return None
    if body.kind == "statement_block":
        read_body(machine, trial)
        return trial.result
    machine.scopes = (*trial.scopes, {})
    for index, pattern in enumerate(parameters(trial.node)):
        bind(machine, pattern, trial.given.get(index, UNKNOWN))
    return machine.eval(body)


def _by_list(machine: Machine, call: Call) -> Value | None:
    """Read `list.map(f)`: with few known items, item by item."""
    function = call.arg(0).function
    items = call.receiver.items
    if function is None or call.method not in {"map", "forEach", "flatMap", "reduce"}:
        return None
    labels = call.receiver.everything()
    if items is None or machine.inlined + len(items) > _MAX_MAPPED or machine.inline_depth:
        return None
    if call.method == "reduce":
        return _reduce(machine, call, function, items)
    machine.inlined += min(len(items), _MAX_INLINED // 4)
    results = []
    for index, item in enumerate(items):
        result = inline(machine, function, [item, Value(number=index)])
        results.append(relabel(result, result.labels | labels) if result else Value(labels=labels))
    for item in items[:8]:
        machine.give(function, 0, item)
    return Value(items=results)


def _reduce(machine: Machine, call: Call, function: Function, items: list[Value]) -> Value:
    machine.inlined += min(len(items), _MAX_INLINED // 4)
    total = call.arg(1) if len(call.args) > 1 else UNKNOWN
    for item in items[:2_000]:
        total = inline(machine, function, [total, item]) or UNKNOWN
    return total


def _import(machine: Machine, call: Call) -> Value:
    """Read `require(x)` and `import(x)`; a name put together while running is a fact."""
    value = call.arg(0)
    module = value.constant
    node = call.node.field("arguments")
    plain = (
        node is not None
        and len(node.kids) == 1
        and node.kids[0].kind in {"string", "template_string"}
    )
    plain = plain and "${" not in (machine.source(node) if node is not None else "")
    if module is None:
        machine.emit(Act.IMPORT, call.node, value.shown, flow=value.everything())
        return Value(labels=value.everything())
    result = from_module(machine, call.node, module.strip())
    if (
        not plain
        or call.callee.computed
        or "\\" in (machine.source(node) if node is not None else "")
    ):
        if result.name in DANGEROUS or not plain:
            machine.emit(Act.IMPORT, call.node, result.name or module, flow=value.labels)
        result.computed = True
    return result


def _generic(machine: Machine, call: Call) -> Value:
    """Read any other call: what goes in may come out, and callbacks see it."""
    labels = call.receiver.labels
    if call.receiver.items is not None or call.receiver.fields is not None:
        labels = call.receiver.everything()
    given = call.labels() if not call.name.startswith(_SILENT) else NO_LABELS
    result = labels | given
    # What was fetched knows what it is: `net.connect().on` hands its data to the callback.
    if call.receiver.labels or result:
        for arg in call.args:
            machine.give_all(arg, _handed(call, labels or result))
    if call.method in _FILLING and given and call.holder:
        machine.taint(call.holder, given)
    callback = call.arg(0).function
    if call.method == "then" and callback is not None:
        return callback.result or Value(labels=labels)
    if call.method in _PASSING or call.method in {"on", "once", "addListener"}:
        return call.receiver
    name = canonical(call.name + "()") if call.name in INSTANCES else ""
    return Value(labels=result, name=name)


def _handed(call: Call, labels: frozenset[str]) -> Value:
    if call.method == "then":
        return join(relabel(call.receiver, labels), UNKNOWN)
    return Value(labels=labels)
