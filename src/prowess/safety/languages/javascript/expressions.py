"""What JavaScript's expressions and statements give, kind by kind of node.

Calls in JavaScript: which function is meant, what goes in, what comes out.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from prowess.safety.facts import Act
from prowess.safety.languages.javascript import constants as fold
from prowess.safety.languages.javascript.state import (
    DANGEROUS,
    INSTANCES,
    Machine,
    canonical,
    from_module,
    key_of,
    member,
    parameters,
    set_member,
)
from prowess.safety.languages.javascript.values import (
    NO_LABELS,
    UNKNOWN,
    Function,
    Node,
    Value,
    concat,
    join,
    literal,
    relabel,
    same,
)

_MINER = re.compile(
    r"stratum\+(?:tcp|ssl|tls)://[^\s'\"`]{1,100}|\b(?:coinhive|cryptonight|coin-hive|xmrig)\b",
    re.IGNORECASE,
)
_MAX_ITEMS = 20_000
_SHORTEST_MINER, _LONGEST_MINER = 6, 4_000
_LONG_CHAIN = 64
_LONG_EXPRESSION = 2_000


def read_children(machine: Machine, node: Node) -> Value:
    """Read whatever a node holds; it gives nothing itself."""
    for kid in node.kids:
        machine.eval(kid)
    return UNKNOWN


def read_block(machine: Machine, node: Node) -> Value:
    """Read statements, functions that they declare first."""
    hoist(machine, node)
    return read_children(machine, node)


def hoist(machine: Machine, node: Node) -> None:
    """Declare the functions of a block, which may be called above the place they stand at."""
    for kid in node.kids:
        inner = kid.field("declaration") if kid.kind == "export_statement" else kid
        if inner is not None and inner.kind.endswith("function_declaration"):
            name = inner.field("name")
            if name is not None:
                machine.declare(machine.source(name), machine.function(inner))


def read_branch(machine: Machine, node: Node) -> Value:
    """Read what may run never or often."""
    machine.branch += 1
    try:
        return read_block(machine, node)
    finally:
        machine.branch -= 1


def read_loop(machine: Machine, node: Node) -> Value:
    """Read a loop; what it goes over flows into its variable."""
    left, right = node.field("left"), node.field("right")
    if node.kind != "for_in_statement" or left is None or right is None:
        return read_branch(machine, node)
    source = machine.eval(right)
    element = UNKNOWN
    for item in (source.items or [])[:50]:
        element = join(element, item)
    labels = source.everything()
    if labels - element.labels:
        element = join(element, Value(labels=labels))
    machine.branch += 1
    try:
        bind(machine, left, element)
        return machine.eval(node.field("body"))
    finally:
        machine.branch -= 1


def read_string(machine: Machine, node: Node) -> Value:
    """Read a constant text."""
    start, end = node.start + 1, node.end - 1
    value = fold.string(machine.view.text[start:end], start)
    _note_text(machine, node, value)
    return value


def _note_text(machine: Machine, node: Node, value: Value) -> None:
    text = value.text or ""
    if len(text) >= _SHORTEST_MINER:
        machine.text(value)
        miner = _MINER.search(text) if len(text) < _LONGEST_MINER else None
        if miner:
            machine.emit(Act.MINE, node, miner[0])


def read_template(machine: Machine, node: Node) -> Value:
    """Read a template text; parts that are not known keep their place."""
    parts: list[tuple[Value, str]] = []
    at = node.start + 1
    for kid in node.kids:
        if kid.kind != "template_substitution":
            continue
        if kid.start > at:
            parts.append((fold.string(machine.view.text[at : kid.start], at), ""))
        inner = kid.kids[0] if kid.kids else None
        parts.append((machine.eval(inner), _stand_in(machine, inner)))
        at = kid.end
    if node.end - 1 > at:
        parts.append((fold.string(machine.view.text[at : node.end - 1], at), ""))
    if not parts:
        return literal("", node.start)
    value = concat(parts, node.start)
    _note_text(machine, node, value)
    return value


def _stand_in(machine: Machine, node: Node | None) -> str:
    if node is not None and node.kind == "member_expression":
        node = node.field("property")
    if node is not None and node.kind in {"identifier", "property_identifier"}:
        return machine.source(node)[:40]
    return "value"


def read_number(machine: Machine, node: Node) -> Value:
    """Read a number."""
    return Value(number=fold.number(machine.source(node)))


def read_regex(machine: Machine, node: Node) -> Value:
    """Read a regular expression, which has an `exec` of its own."""
    pattern = node.field("pattern")
    text = machine.source(pattern) if pattern is not None else ""
    return Value(name="RegExp()", text=text, pieces=literal(text, node.start).pieces)


def read_identifier(machine: Machine, node: Node) -> Value:
    """Read a variable or a global."""
    name = machine.source(node)
    if name in {"__dirname", "__filename"}:
        return literal(".", node.start, exact=False)
    return machine.lookup(name)


def read_this(_machine: Machine, _node: Node) -> Value:
    """Read `this`: an object of the file, or the global one."""
    return Value(name="this")


def read_member(machine: Machine, node: Node) -> Value:
    """Read `a.b` and `a[b]`."""
    receiver = machine.eval(node.field("object"))
    key, computed = key_of(machine, node)
    return member(machine, node, receiver, key, computed=computed)


def read_binary(machine: Machine, node: Node) -> Value:
    """Read an operator; a long chain of `+` is one text."""
    parts: list[Node] = []
    spine: Node | None = node
    plus = True
    while spine is not None and spine.kind == "binary_expression":
        left, right = spine.field("left"), spine.field("right")
        if left is None or right is None:
            break
        parts.append(right)
        plus = plus and machine.view.text[left.end : right.start].strip() == "+"
        spine = left
    if spine is not None:
        parts.append(spine)
    parts.reverse()
    values = [machine.eval(part) for part in parts]
    if plus:
        named = [(v, _stand_in(machine, p)) for v, p in zip(values, parts, strict=True)]
        value = concat(named, node.start)
        return fold.relocate(value) if len(named) > _LONG_CHAIN else value
    return _either(machine, node, values)


def _either(machine: Machine, node: Node, values: list[Value]) -> Value:
    operators = machine.source(node) if node.end - node.start < _LONG_EXPRESSION else ""
    if "||" in operators or "??" in operators or "&&" in operators:
        result = UNKNOWN
        for value in values:
            result = join(result, value)
        return result
    if "^" in operators or "-" in operators:
        return Value(labels=frozenset[str]().union(*(value.labels for value in values)))
    return UNKNOWN


def read_ternary(machine: Machine, node: Node) -> Value:
    """Read `a ? b : c`: either."""
    machine.eval(node.field("condition"))
    return join(machine.eval(node.field("consequence")), machine.eval(node.field("alternative")))


def read_last(machine: Machine, node: Node) -> Value:
    """Read parentheses, sequences, `await` and `yield`: what the last part gives."""
    value = UNKNOWN
    for kid in node.kids:
        value = machine.eval(kid)
    return value


def read_array(machine: Machine, node: Node) -> Value:
    """Read a list."""
    items: list[Value] = []
    for kid in node.kids[:_MAX_ITEMS]:
        value = machine.eval(kid.kids[0] if kid.kind == "spread_element" and kid.kids else kid)
        items.extend(value.items if kid.kind == "spread_element" and value.items else [value])
    return Value(items=items, pieces=literal("", node.start).pieces)


def read_object(machine: Machine, node: Node) -> Value:
    """Read an object; what is spread into it flows into it."""
    fields: dict[str, Value] = {}
    labels = NO_LABELS
    for kid in node.kids:
        if kid.kind == "pair":
            key, value = kid.field("key"), machine.eval(kid.field("value"))
            fields[_key_text(machine, key)] = value
            _note_option(machine, kid, _key_text(machine, key))
        elif kid.kind == "shorthand_property_identifier":
            fields[machine.source(kid)] = read_identifier(machine, kid)
        elif kid.kind == "spread_element":
            value = read_last(machine, kid)
            labels |= value.labels
            fields.update(value.fields or {})
        elif kid.kind == "method_definition":
            name = kid.field("name")
            fields[machine.source(name) if name is not None else ""] = machine.function(kid)
    return Value(fields=fields, labels=labels)


def _key_text(machine: Machine, key: Node | None) -> str:
    if key is None:
        return ""
    if key.kind in {"string", "computed_property_name"}:
        value = machine.eval(key) if key.kind == "string" else read_last(machine, key)
        return value.constant or ""
    return machine.source(key)


def _note_option(machine: Machine, pair: Node, key: str) -> None:
    value = pair.field("value")
    if value is not None and key in {"rejectUnauthorized", "strictSSL"} and value.kind == "false":
        machine.emit(Act.DISABLE, pair, "tls")


def read_function(machine: Machine, node: Node) -> Value:
    """Read a function; a declared one was made when its block began."""
    if node.kind.endswith("function_declaration"):
        name = node.field("name")
        known = machine.scopes[-1].get(machine.source(name)) if name is not None else None
        if known is not None and known.function is not None and known.function.node is node:
            return known
    return machine.function(node)


def read_body(machine: Machine, function: Function) -> Value:
    """Read the body of a function with what is known to go in; return what comes out."""
    outer = machine.scopes, machine.current, machine.branch
    machine.scopes = (*function.scopes, {})
    machine.current, machine.branch = function, 0
    try:
        for index, pattern in enumerate(parameters(function.node)):
            bind(machine, pattern, function.given.get(index, UNKNOWN))
        body = function.node.field("body")
        value = machine.eval(body)
        if body is not None and body.kind != "statement_block":
            note_result(machine, function, value)
    finally:
        machine.scopes, machine.current, machine.branch = outer
    return function.result or UNKNOWN


def note_result(machine: Machine, function: Function, value: Value) -> None:
    """Note what a function returns."""
    new = join(value, function.result or UNKNOWN)
    if new is not UNKNOWN and not same(function.result, new):
        function.result = new
        machine.changed = True


def read_return(machine: Machine, node: Node) -> Value:
    """Read `return`."""
    value = read_last(machine, node)
    if machine.current is not None:
        note_result(machine, machine.current, value)
    return value


def read_declarator(machine: Machine, node: Node) -> Value:
    """Read `name = value` of a declaration."""
    value = machine.eval(node.field("value"))
    name = node.field("name")
    if name is not None:
        bind(machine, name, value)
    return value


def read_assignment(machine: Machine, node: Node) -> Value:
    """Read `a = b` and `a += b`."""
    value = machine.eval(node.field("right"))
    left = node.field("left")
    if left is None:
        return value
    add = node.kind == "augmented_assignment_expression"
    if left.kind == "identifier":
        name = machine.source(left)
        if add:
            value = concat([(machine.lookup(name), name), (value, "value")], node.start)
        machine.assign(name, value, add=add)
    elif left.kind in {"member_expression", "subscript_expression"}:
        set_member(machine, node, left, value)
    else:
        bind(machine, left, value, assign=True)
    return value


def bind(machine: Machine, pattern: Node, value: Value, *, assign: bool = False) -> None:
    """Put a value into a name, or its parts into the names of a pattern."""
    if pattern.kind in {"identifier", "shorthand_property_identifier_pattern"}:
        change = machine.assign if assign else machine.declare
        change(machine.source(pattern), value)
    elif pattern.kind in {"assignment_pattern", "object_assignment_pattern"}:
        _bind_default(machine, pattern, value, assign=assign)
    elif pattern.kind == "object_pattern":
        for kid in pattern.kids:
            _bind_part(machine, kid, value, assign=assign)
    elif pattern.kind == "array_pattern":
        for index, kid in enumerate(pattern.kids):
            items = value.items
            inner = items[index] if items and index < len(items) else Value(labels=value.labels)
            bind(machine, kid, inner, assign=assign)
    elif pattern.kids:
        bind(machine, pattern.kids[0], value, assign=assign)


def _bind_default(machine: Machine, pattern: Node, value: Value, *, assign: bool) -> None:
    left, default = pattern.field("left"), machine.eval(pattern.field("right"))
    if left is not None:
        whole = left.kind == "shorthand_property_identifier_pattern"
        part = _part(machine, pattern, value, machine.source(left)) if whole else value
        bind(machine, left, join(default, part), assign=assign)


def _part(machine: Machine, node: Node, value: Value, key: str) -> Value:
    return member(machine, node, value, key, computed=False)


def _bind_part(machine: Machine, kid: Node, value: Value, *, assign: bool) -> None:
    if kid.kind == "pair_pattern":
        key, inner = kid.field("key"), kid.field("value")
        if inner is not None:
            part = _part(machine, kid, value, _key_text(machine, key))
            bind(machine, inner, part, assign=assign)
    elif kid.kind == "shorthand_property_identifier_pattern":
        bind(machine, kid, _part(machine, kid, value, machine.source(kid)), assign=assign)
    else:
        bind(machine, kid, value, assign=assign)


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
