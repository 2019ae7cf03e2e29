"""What JavaScript's expressions and statements give, kind by kind of node."""

import re

from prowess.safety.facts import Act
from prowess.safety.languages.javascript import constants as fold
from prowess.safety.languages.javascript.javascript_machine import Machine, parameters
from prowess.safety.languages.javascript.javascript_tree import Node
from prowess.safety.languages.javascript.state import key_of, member, set_member
from prowess.safety.languages.javascript.values import (
    NO_LABELS,
    UNKNOWN,
    Function,
    Value,
    concat,
    join,
    literal,
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
