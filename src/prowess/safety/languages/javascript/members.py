"""Names and members of the JavaScript world: what `a.b` reaches, and what setting it does."""

import ast
from functools import lru_cache

from prowess.safety.facts import Act
from prowess.safety.languages.code.effects import read_environment_variable
from prowess.safety.languages.code.expressions import update
from prowess.safety.languages.code.state import Site, Walker
from prowess.safety.languages.code.values import (
    NO_LABELS,
    UNKNOWN,
    Value,
    join,
    lookup,
    mapping,
    replace,
)
from prowess.safety.languages.tables import load_index, load_table, load_words

TABLE = "javascript/effects"
_MAX_NAME = 200
ENVIRONMENT = "os.environ"
SOCKET = "socket.socket()"
DECODED = frozenset(("decoded",))
INPUT = frozenset(("input",))
HARMLESS = frozenset(("input", "remote", "decoded"))


def words(key: str) -> frozenset[str]:
    """Return a list of `effects.toml`."""
    return load_words(TABLE, "names", key)


@lru_cache(maxsize=8192)
def spell(name: str) -> str:
    """Return the one name under which the tables know what `name` is."""
    if len(name) > _MAX_NAME:
        return ""
    flat = name.removeprefix("node:")
    for holder in ("globalThis.", "global.", "window.", "self.", "top.", "parent.", "frames."):
        flat = flat.removeprefix(holder) or flat
    for _ in range(3):
        changed = _respelled(flat)
        if changed == flat:
            break
        flat = changed
    return flat


def _respelled(name: str) -> str:
    aliases: dict[str, str] = load_table(TABLE, "aliases")
    end = len(name)
    while end > 0:
        if name[:end] in aliases:
            return aliases[name[:end]] + name[end:]
        end = name.rfind(".", 0, end)
    return name


def find_name(state: Walker, name: str) -> Value | None:
    """Return what a name means that the text declares nowhere."""
    bare: str | None = load_table(TABLE, "bare").get(name)
    if bare is not None:
        return Value(name=bare)
    if name in words("globals"):
        return name_thing(state, spell(name), None)
    return None


def name_thing(state: Walker, name: str, node: ast.expr | None) -> Value:
    """Return a thing of the world under its name, with where its data comes from."""
    label = load_index(TABLE, "origins").get(name, "")
    if label == "input":
        return Value(name=name, labels=INPUT | state.outside)
    if name in words("told_origins") and node is not None and not _is_own(node):
        state.emit(Act.READ, node, label, name)
    return Value(name=name, labels=frozenset((label,)) if label else NO_LABELS)


def _is_own(node: ast.expr) -> bool:
    """Whether an expression reaches through `this`: what that holds is told where it leaves."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return isinstance(node, ast.Name) and node.id == "this"


def get_member(state: Walker, base: Value, node: ast.expr, key: Value) -> Value | None:
    """Return `base.key` or `base[key]`; None where that is as in Python."""
    if base.function is not None or base.name.startswith("self:"):
        return _constructor(base) if key.constant == "constructor" else None
    if not isinstance(key.constant, str):
        return _unknown_member(state, base, node, key)
    if base.keys is not None and (held := lookup(base, key.constant)) is not None:
        return held
    if base.name == ENVIRONMENT:
        return read_variable(state, node, key)
    if key.constant == "constructor" or key.constant in words("not_content"):
        return _constructor(base) if key.constant == "constructor" else UNKNOWN
    return _named_member(state, base, node, key) if base.name else None


def _unknown_member(state: Walker, base: Value, node: ast.expr, key: Value) -> Value | None:
    if isinstance(key.constant, int):
        return None
    if base.name in words("computed_holders"):
        state.emit(Act.IMPORT, node, base.name + ".")
    return Value(name=base.name, labels=base.labels) if base.name == ENVIRONMENT else None


def read_variable(state: Walker, node: ast.expr, key: Value) -> Value:
    """Return a variable of the environment, and note that it is read."""
    if key.text in words("plain_variables") or key.text.startswith("npm_"):
        return UNKNOWN
    call = ast.copy_location(ast.Call(func=node, args=[], keywords=[]), node)
    site = Site(call, "", UNKNOWN, UNKNOWN, (), {})
    if key.text not in {"HOME", "USERPROFILE", "HOMEPATH"}:
        state.emit(Act.READ, node, f"env:{key.text}", key.text)
    return read_environment_variable(state, site, key, UNKNOWN)


def _constructor(base: Value) -> Value:
    # The constructor of a function is `Function`, and that of a list or a text is a function.
    if base.function is not None or base.name in {"Array", "Object", "String"}:
        return Value(name="Function")
    if base.items is not None and base.keys is None:
        return Value(name="Array")
    if base.constant is not None or base.sketch:
        return Value(name="String")
    if base.keys is not None or not (base.name or base.labels):
        return Value(name="Object")
    if base.name and "(" not in base.name:
        return Value(name="Function" if base.name != "module" else "module.constructor")
    return UNKNOWN


def _named_member(state: Walker, base: Value, node: ast.expr, key: Value) -> Value:
    name = spell(f"{base.name}.{key.constant!s}")
    if name in {"process.execPath", "process.argv0"}:
        return Value(sketch="node", node=node)
    if isinstance(node, ast.Subscript) and not key.plain and name in words("dangerous"):
        state.emit(Act.IMPORT, node, name)
    if name.endswith(("().stdin", "().stdout", "().stderr")):
        return base
    found = name_thing(state, name, node)
    return replace(found, labels=found.labels | base.labels, made_of=base.made_of)


def set_member(state: Walker, base: Value, node: ast.expr, key: Value, value: Value) -> bool:
    """Note what `base.key = value` does; False where it is as in Python."""
    if base.name == ENVIRONMENT:
        set_variable(state, node, key.text, value)
        return True
    name = spell(f"{base.name}.{key.text}") if base.name else key.text
    image = base.name in {"Image()", "document.createElement()"} and key.text in {"src", "href"}
    if value.labels and (image or name in words("locations")):
        state.emit(Act.SEND, node, value.text, "http", value.labels)
    if key.text.startswith("on") and value.function is not None:
        hand(state, (value,), base)
    if base.keys is not None and isinstance(node, ast.Attribute):
        pairs = zip(base.keys, base.items or (), strict=True)
        kept = [(known, item) for known, item in pairs if known.constant != key.constant]
        grown = mapping([*kept, (key, value)]).named(base.labels)
        update(state, node.value, replace(grown, name=base.name))
        return True
    return False


def set_variable(state: Walker, node: ast.expr, name: str, value: Value) -> None:
    """Note that a variable of the environment is set."""
    shown = str(value.constant) if isinstance(value.constant, int) else value.text
    state.emit(Act.SETENV, node, name, shown, value.labels)
    if name == "NODE_TLS_REJECT_UNAUTHORIZED" and shown == "0":
        state.emit(Act.DISABLE, node, "tls")


def hand(state: Walker, values: tuple[Value, ...], given: Value) -> Value | None:
    """Run callbacks with what they get; an error that comes first does not hold it."""
    found: Value | None = None
    for value in values:
        function = value.function
        if function is None or isinstance(function.node, ast.ClassDef):
            continue
        if given.labels or given.name or given.text:
            names = [one.arg.lower() for one in function.node.args.args]
            shy = len(names) > 1 and names[0].startswith(("e", "_"))
            args = [UNKNOWN if shy and not at else given for at in range(len(names) or 1)]
            state.handed.append((function, args))
            found = join(found, state.run(state, function, args, {}))
    return found


def find_host(value: Value) -> str:
    """Return the host that a connection was made to."""
    return value.made_of.text if value.made_of is not None else ""
