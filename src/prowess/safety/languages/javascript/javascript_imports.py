"""Modules in JavaScript: what their names bring into a file."""

from prowess.safety.facts import Act
from prowess.safety.languages.javascript import constants as fold
from prowess.safety.languages.javascript.javascript_machine import Machine
from prowess.safety.languages.javascript.javascript_names import canonical
from prowess.safety.languages.javascript.javascript_tree import Node
from prowess.safety.languages.javascript.state import member
from prowess.safety.languages.javascript.values import UNKNOWN, Value, literal


def read_import(machine: Machine, node: Node) -> Value:
    """Read an import statement: each name becomes what the module calls so."""
    source = node.field("source")
    if source is None:
        return UNKNOWN
    module = machine.eval(source).text or ""
    brought = from_module(machine, source, module)
    for kid in node.kids:
        if kid.kind == "import_clause":
            _import_names(machine, kid, brought)
    return UNKNOWN


def from_module(machine: Machine, node: Node, module: str) -> Value:
    """Return the value of a module; one of the same skill or from the network is noted."""
    if module.startswith(("http://", "https://")):
        machine.emit(Act.FETCH, node, module)
        return Value(labels=frozenset(("remote",)))
    if module.startswith("data:"):
        _inline_module(machine, node, module)
        return UNKNOWN
    if module.startswith("."):
        machine.imports[module] = None
        return Value(name="", labels=machine.outside)
    return Value(name=canonical(module))


def _import_names(machine: Machine, clause: Node, module: Value) -> None:
    for kid in clause.kids:
        if kid.kind == "identifier":
            machine.declare(machine.source(kid), module)
        elif kid.kind == "namespace_import" and kid.kids:
            machine.declare(machine.source(kid.kids[-1]), module)
        elif kid.kind == "named_imports":
            for name in kid.kids:
                original = name.field("name")
                alias = name.field("alias") or original
                if original is not None and alias is not None:
                    part = member(machine, name, module, machine.source(original))
                    machine.declare(machine.source(alias), part)


def _inline_module(machine: Machine, node: Node, module: str) -> None:
    """Note code that is imported out of its own address."""
    head, _comma, body = module.partition(",")
    code = literal(body, node.start, exact=False)
    code = fold.from_base64(code) if head.endswith(";base64") else fold.percent(code)
    machine.emit(Act.EXEC, node, "eval", code.shown[:500], flow=code.labels)
    machine.snippet("javascript", code, code.labels)
