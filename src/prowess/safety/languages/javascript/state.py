"""Members of values in JavaScript: what `a.b` and `a['b']` reach, and what setting one does."""

from prowess.safety.facts import Act
from prowess.safety.languages.javascript.javascript_machine import Machine
from prowess.safety.languages.javascript.javascript_names import DANGEROUS, canonical
from prowess.safety.languages.javascript.javascript_tree import Node
from prowess.safety.languages.javascript.values import (
    UNKNOWN,
    Value,
    join,
    labelled,
    literal,
    relabel,
)

# Facts about an answer that are not its content.
_NOT_CONTENT = frozenset((
    "length", "status", "statusCode", "ok", "statusText", "size", "byteLength", "readyState",
    "message", "code", "exitCode",
))  # fmt: skip
_MAX_DIGITS = 6
_HOMES = frozenset(("HOME", "USERPROFILE", "HOMEPATH"))
# Variables that say nothing about anybody.
_PLAIN_VARIABLES = frozenset((
    "PATH", "NODE_ENV", "DEBUG", "TERM", "LANG", "PORT", "CI", "TMPDIR", "TEMP", "TMP", "SHELL",
    "PWD", "NO_COLOR", "FORCE_COLOR", "EDITOR", "VISUAL", "LOG_LEVEL", "VERBOSE", "COLUMNS",
    "DISPLAY",
))  # fmt: skip
_BROWSER_READS = ("document.cookie", "localStorage.getItem", "sessionStorage.getItem")
_BROWSER = (*_BROWSER_READS, "localStorage", "sessionStorage", "indexedDB")
_INPUT = ("process.argv", "process.stdin", "Deno.args", "Bun.argv", "Deno.stdin", "Bun.stdin")
_SOURCES_OF_URL = frozenset(("src", "href", "location", "action"))
_LOCATIONS = frozenset(("location", "location.href", "document.location", "document.location.href"))


def key_of(machine: Machine, node: Node) -> tuple[str | None, bool]:
    """Return the name of the member that a node asks for, and whether it was computed."""
    name = node.field("property")
    if name is not None:
        return machine.source(name), False
    index = node.field("index")
    value = machine.eval(index)
    if value.number is not None:
        return str(value.number), False
    plain = index is not None and index.kind == "string"
    return value.constant, not plain or "\\" in (machine.source(index) if index is not None else "")


def member(machine: Machine, node: Node, receiver: Value, key: str | None, **how: bool) -> Value:
    """Return a member of a value; `computed` says that its name was put together."""
    if key is None:
        return Value(labels=receiver.everything(), name=_unknown_member(machine, node, receiver))
    held = _held(receiver, key)
    if held is not None:
        return held
    computed = how.get("computed", False)
    if receiver.name == "this":
        return _own(machine, key, computed=computed)
    if key == "constructor":
        return _constructor(receiver)
    if receiver.name:
        return _named(machine, node, receiver, key, computed=computed)
    return Value(labels=receiver.labels) if key not in _NOT_CONTENT else UNKNOWN


def _held(receiver: Value, key: str) -> Value | None:
    if receiver.fields is not None and key in receiver.fields:
        return receiver.fields[key]
    if receiver.items is not None and key.isdecimal() and len(key) <= _MAX_DIGITS:
        index = int(key)
        return receiver.items[index] if index < len(receiver.items) else UNKNOWN
    return None


def _own(machine: Machine, key: str, *, computed: bool) -> Value:
    known = machine.own.get(key)
    if known is not None:
        return known
    # At the top of a script `this` is the global object; only a computed name says so.
    return Value(name=canonical(key)) if computed and key in DANGEROUS else UNKNOWN


def _unknown_member(machine: Machine, node: Node, receiver: Value) -> str:
    if receiver.name in {"child_process", "vm", "globalThis", "global", "window"}:
        machine.emit(Act.IMPORT, node, receiver.name + ".")
    return receiver.name if receiver.name == "process.env" else ""


def _constructor(receiver: Value) -> Value:
    # The constructor of a function is `Function`, and that of a list or a text is a function.
    if receiver.function is not None or receiver.name in {"Array", "Object", "String"}:
        return Value(name="Function", computed=True)
    if receiver.items is not None:
        return Value(name="Array")
    if receiver.text is not None or receiver.number is not None:
        return Value(name="String")
    if receiver.fields is not None:
        return Value(name="Object")
    if receiver.name and "(" not in receiver.name:
        return Value(name="Function" if receiver.name != "module" else "module.constructor")
    return Value(name="Object") if not receiver.labels else UNKNOWN


def _named(machine: Machine, node: Node, receiver: Value, key: str, *, computed: bool) -> Value:
    if receiver.name == "process.env":
        return _variable(machine, node, key)
    name = canonical(f"{receiver.name}.{key}")
    if name in {"process.execPath", "process.argv0"}:
        return literal("node", node.start, exact=False)
    computed = computed or receiver.computed
    if computed and name in DANGEROUS:
        machine.emit(Act.IMPORT, node, name)
    labels = receiver.labels if key not in _NOT_CONTENT else frozenset[str]()
    text = receiver if name.endswith(("().stdin", "().stdout", "().stderr")) else UNKNOWN
    return Value(
        name=name,
        labels=labels | source_labels(machine, node, name),
        computed=computed,
        text=text.text,
        pieces=text.pieces,
        whole=text.whole,
    )


def source_labels(machine: Machine, node: Node, name: str) -> frozenset[str]:
    """Return where the data of a well-known object comes from."""
    if name == "process.env":
        return frozenset(("env",))
    if name in _BROWSER:
        if name in _BROWSER_READS:
            machine.emit(Act.READ, node, "browser", name)
        return frozenset(("browser",))
    if name in _INPUT:
        return frozenset(("input",)) | machine.outside
    return frozenset()


def _variable(machine: Machine, node: Node, key: str) -> Value:
    if key in _HOMES:
        return literal("~", node.start, exact=False)
    if key in _PLAIN_VARIABLES or key.startswith("npm_"):
        return UNKNOWN
    label = f"env:{key}"
    machine.emit(Act.READ, node, label, key)
    return labelled((label,))


def set_member(machine: Machine, node: Node, left: Node, value: Value) -> None:
    """Note what `a.b = value` does."""
    holder = left.field("object")
    receiver = machine.eval(holder)
    key, _computed = key_of(machine, left)
    if receiver.name == "process.env":
        set_variable(machine, node, key or "", value)
        return
    if receiver.name == "this" and key is not None:
        machine.own[key] = join(machine.own.get(key, UNKNOWN), value)
        return
    if key is not None and receiver.fields is not None:
        receiver.fields[key] = join(receiver.fields.get(key, UNKNOWN), value)
    _set_named(machine, node, f"{receiver.name}.{key}", value)
    if key is not None and key.startswith("on") and value.function is not None:
        machine.give_all(value, relabel(receiver, receiver.labels))
    if value.labels and holder is not None and holder.kind == "identifier":
        machine.taint(machine.source(holder), value.labels)


def _set_named(machine: Machine, node: Node, name: str, value: Value) -> None:
    flow = value.everything()
    image = name.startswith(("Image().", "document.createElement()."))
    place = canonical(name) in _LOCATIONS
    if flow and (place or (image and name.rpartition(".")[2] in _SOURCES_OF_URL)):
        machine.emit(Act.SEND, node, value.shown, "http", flow=flow)


def set_variable(machine: Machine, node: Node, name: str, value: Value) -> None:
    """Note that a variable of the environment is set."""
    shown = value.shown if value.number is None else str(value.number)
    machine.emit(Act.SETENV, node, name, shown, flow=value.everything())
    if name == "NODE_TLS_REJECT_UNAUTHORIZED" and shown == "0":
        machine.emit(Act.DISABLE, node, "tls")
